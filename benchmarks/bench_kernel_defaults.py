"""The default of C of kernel machines: cross-validation on sets of classes, numbers and molecules.

SKLOFI_DATA=folder python -m benchmarks.bench_kernel_defaults [--sets MUTAG ...]
python -m benchmarks.bench_kernel_defaults --tables

Two kernels and three values of C, all else by default, on random folds that no other table has
(five, twice): accuracy of classes, ROC AUC of classes of molecules, RMSE of numbers. At most 1,000
molecules of a set take part. Every set is a line of results/kernel_defaults.jsonl; what is there is
not run again.
"""

import argparse
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, cross_val_score

from benchmarks import bench_default, bench_molecules
from sklofi import GraphKernelSVC, GraphKernelSVR

RESULTS = Path(__file__).parent / "results" / "kernel_defaults.jsonl"
GRAPHS = ("MUTAG", "PTC_MR", "ENZYMES", "IMDB-BINARY")
MOLECULES = ("ESOL", "BBBP", "BACE")
KERNELS, C = ("wl", "wl-oa"), (1, 10, 100)
MOST_MOLECULES = 1000


def load(name: str) -> tuple[Any, np.ndarray, Any, str]:
    """Graphs, targets, the machine and the score of a set."""
    if name in GRAPHS:
        X, y, _ = bench_default.load(name)
        return X, y, GraphKernelSVC(), "accuracy"
    X, y = bench_molecules.load(name)[1:3]
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_MOLECULES]
    if bench_molecules.TARGETS[name][1]:
        return X[rows], y[rows], GraphKernelSVC(), "roc_auc"
    return X[rows], y[rows], GraphKernelSVR(), "neg_root_mean_squared_error"


def run(name: str) -> dict[str, Any]:
    X, y, machine, scoring = load(name)
    splitter = RepeatedStratifiedKFold if is_classifier(machine) else RepeatedKFold
    folds = splitter(n_splits=5, n_repeats=2, random_state=1)
    record: dict[str, Any] = {"set": name, "score": scoring}
    for kernel, strength in product(KERNELS, C):
        machine.set_params(kernel=kernel, C=strength, max_iter=1_000_000)
        scores = np.abs(cross_val_score(machine, X, y, cv=folds, scoring=scoring))
        record[f"{kernel}, C={strength}"] = round(float(scores.mean()), 4)
    return record


def read_results() -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def print_table() -> None:
    names = [f"{kernel}, C={strength}" for kernel, strength in product(KERNELS, C)]
    print(f"| | {' | '.join(names)} |\n" + "|---" * (len(names) + 1) + "|")
    for record in read_results():
        cells = " | ".join(f"{record[name]:.3f}" for name in names)
        print(f"| {record['set']}, {record['score']} | {cells} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=GRAPHS + MOLECULES, default=GRAPHS + MOLECULES)
    parser.add_argument("--tables", action="store_true", help="only print what is there")
    arguments = parser.parse_args()
    if not arguments.tables:
        for name in arguments.sets:
            if name not in {record["set"] for record in read_results()}:
                record = run(name)
                with RESULTS.open("a") as file:
                    file.write(json.dumps(record) + "\n")
    print_table()


if __name__ == "__main__":
    main()
