"""A million molecules, from SMILES to predictions: time and memory of each step.

``python -m benchmarks.bench_million --n 1000000`` reads SMILES, converts them to a GraphSet, saves
it, loads it, fits one network on some of the molecules, and predicts all of them from the file. The
SMILES are those of the CSV files in ``moleculenet`` of the folder that SKLOFI_DATA names, repeated
to the number that is asked for; those that are no molecules stay, with NaN as prediction. The
target is the number of atoms, so that any set will do. The time of a fit is for each molecule that
was fitted on.
"""

import argparse
import copy
import csv
import json
import os
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from benchmarks.timing import peak_memory
from sklofi import GraphSet, LoFIRegressor

# Predictions of so many molecules are computed at a time.
N_PREDICTED = 50_000


def read_smiles(folder, n_molecules):
    """SMILES of all sets, repeated to a number."""
    found = []
    for path in sorted((folder / "moleculenet").glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            found += [row["smiles"] for row in csv.DictReader(file)]
    if not found:
        raise FileNotFoundError(f"There are no CSV files in {folder / 'moleculenet'}.")
    return list(islice(cycle(found), n_molecules))


class Steps:
    """Measures steps one after the other, and prints each."""

    def __init__(self):
        self.rows = []
        print(f"{'step':10} {'seconds':>9} {'CPU':>9} {'us/molecule':>12} {'peak MB':>9}")

    def run(self, name, n_molecules, function, *args, **options):
        wall, cpu = time.perf_counter(), time.process_time()
        result = function(*args, **options)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        row = {"step": name, "seconds": round(wall, 2), "cpu": round(cpu, 2)}
        row |= {"us_per_molecule": round(1e6 * wall / n_molecules, 2)}
        row |= {"peak_mb": round(peak_memory() / 2**20)}
        self.rows.append(row)
        print(
            f"{name:10} {row['seconds']:9} {row['cpu']:9} {row['us_per_molecule']:12}"
            f" {row['peak_mb']:9}",
            flush=True,
        )
        return result


def fit(graphs, n_fitted, n_epochs, seed):
    """One network on molecules that are chosen at random."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(~graphs.missing))[:n_fitted]
    part = graphs[np.sort(rows)]
    options = {"n_members": 1, "counts": False, "max_epochs": n_epochs, "on_invalid": "nan"}
    network = LoFIRegressor(**options, random_state=seed)
    return network.fit(part, np.diff(part.node_offsets).astype(float))


def predict(network, path):
    """Predictions of all molecules of a file, some at a time."""
    graphs = GraphSet.load(path)
    # A copy of a slice has tables of its own, which go with it.
    parts = (
        network.predict(copy.copy(graphs[start : start + N_PREDICTED]))
        for start in range(0, len(graphs), N_PREDICTED)
    )
    return np.concatenate([*parts])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20_000, help="molecules")
    parser.add_argument("--n-fitted", type=int, default=10_000, help="molecules to fit on")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes that read molecules")
    parser.add_argument("--output", type=Path, help="a file for the rows, as JSON lines")
    arguments = parser.parse_args()
    n = arguments.n
    folder = Path(os.environ.get("SKLOFI_DATA", "."))
    steps = Steps()
    smiles = steps.run("read", n, read_smiles, folder, n)
    options = {"on_invalid": "nan", "n_jobs": arguments.jobs}
    graphs = steps.run("convert", n, GraphSet.from_molecules, smiles, **options)
    del smiles
    n_nodes, missing = np.diff(graphs.node_offsets), graphs.missing
    print(f"{'':10} {missing.sum():,} rows are no molecules")
    n_fitted = min(arguments.n_fitted, n)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "molecules.safetensors"
        steps.run("save", n, graphs.save, path)
        print(f"{'':10} {path.stat().st_size / n:.0f} bytes of file for each molecule")
        graphs = steps.run("load", n, GraphSet.load, path)
        network = steps.run("fit", n_fitted, fit, graphs, n_fitted, arguments.epochs, 0)
        predicted = steps.run("predict", n, predict, network, path)
    assert (np.isnan(predicted) == missing).all()
    error = np.abs(predicted - n_nodes)[~missing].mean()
    print(f"mean absolute error of the number of atoms: {error:.2f}")
    assert error < np.abs(n_nodes - np.median(n_nodes)).mean(), "nothing was learned"
    if arguments.output:
        with arguments.output.open("a", encoding="utf-8") as file:
            for row in steps.rows:
                file.write(json.dumps({"n": n, **row}) + "\n")


if __name__ == "__main__":
    main()
