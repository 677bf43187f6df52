"""Do conformal intervals and sets hold what they promise? Coverage on five sets.

SKLOFI_DATA=folder python -m benchmarks.bench_conformal [--sets MUTAG ...] [--seeds 5]
python -m benchmarks.bench_conformal --tables

Intervals of numbers and sets of classes that MAPIE makes, at a confidence of 90 %. "split": three
fifths of the graphs are learned from, a fifth is for calibration, a fifth is the test part.
"cross": four fifths are learned from, in five folds. Molecules are split in three ways:

- "random": everything at random, so that all parts are alike;
- "new scaffolds": the test part has scaffolds that no other part has; calibration is at random;
- "by scaffold": no part or fold shares a scaffold with another, neither in the test nor before.

LoFI is a single network without counts (`n_members=1, counts=False`). Every fit is appended to
results/conformal.jsonl at once; what is there is not run again.
"""

import argparse
import json
import time
import warnings
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mapie.classification import CrossConformalClassifier, SplitConformalClassifier
from mapie.regression import CrossConformalRegressor, SplitConformalRegressor
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, ShuffleSplit

from benchmarks import bench_molecules
from benchmarks.bench_default import rounded
from benchmarks.data import read_tu, with_bonds
from sklofi import FingerprintClassifier, FingerprintRegressor, LoFIClassifier, LoFIRegressor

RESULTS = Path(__file__).parent / "results" / "conformal.jsonl"
CONFIDENCE = 0.9
SETS = ("MUTAG", "ENZYMES", "BBBP", "ESOL", "Lipophilicity")
KINDS = ("random", "new scaffolds", "by scaffold")
WAYS = ("split", "cross")
ONE = {"n_members": 1, "counts": False}
METHODS = {
    "Fingerprint": lambda seed: (FingerprintClassifier(), FingerprintRegressor()),
    "LoFI": lambda seed: (
        LoFIClassifier(**ONE, random_state=seed),
        LoFIRegressor(**ONE, random_state=seed),
    ),
}

# MAPIE looks for attributes that estimators of tables have.
warnings.filterwarnings("ignore", message="Estimator does not appear fitted")


@cache
def load(name: str) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Graphs, targets, and the scaffolds of molecules."""
    if name in bench_molecules.TARGETS:
        _, X, y, groups = bench_molecules.load(name)
        return X, y, groups
    graphs, y = read_tu(name, edge_labels=True)
    return with_bonds(graphs), y, None


def part(rows: np.ndarray, share: float, groups: np.ndarray | None, seed: int) -> Any:
    """Divide rows in two parts, which share no group if there are groups."""
    splitter = ShuffleSplit if groups is None else GroupShuffleSplit
    of_rows = None if groups is None else groups[rows]
    first, second = next(splitter(1, test_size=share, random_state=seed).split(rows, None, of_rows))
    return rows[first], rows[second]


def conformal(estimator: Any, is_class: bool, way: str, **options: Any) -> Any:
    kinds = {
        ("split", True): SplitConformalClassifier,
        ("split", False): SplitConformalRegressor,
        ("cross", True): CrossConformalClassifier,
        ("cross", False): CrossConformalRegressor,
    }
    return kinds[way, is_class](estimator, confidence_level=CONFIDENCE, **options)


def run(name: str, kind: str, method: str, way: str, seed: int) -> dict[str, Any]:
    X, y, groups = load(name)
    is_class = y.dtype.kind != "f"
    at_test = None if kind == "random" else groups
    before = groups if kind == "by scaffold" else None
    rest, test = part(np.arange(len(y)), 0.2, at_test, seed)
    estimator = METHODS[method](seed)[0 if is_class else 1]
    start = time.process_time()
    if way == "split":
        training, calibration = part(rest, 0.25, before, seed)
        inside = {"groups": before[training]} if before is not None and method == "LoFI" else {}
        estimator.fit(X[training], y[training], **inside)
        found = conformal(estimator, is_class, way, prefit=True)
        found.conformalize(X[calibration], y[calibration])
    else:
        folds = KFold(5, shuffle=True, random_state=seed) if before is None else GroupKFold(5)
        of_rest = None if before is None else before[rest]
        found = conformal(estimator, is_class, way, cv=folds)
        found.fit_conformalize(X[rest], y[rest], groups=of_rest)
    seconds = time.process_time() - start
    record = {"set": name, "split": kind, "method": method, "way": way, "seed": seed}
    if is_class:
        predicted, sets = found.predict_set(X[test])
        column = np.searchsorted(np.unique(y), y[test])
        is_in, size = sets[np.arange(len(test)), column, 0], sets[:, :, 0].sum(axis=1)
        score = float((predicted == y[test]).mean())
    else:
        predicted, intervals = found.predict_interval(X[test])
        low, high = intervals[:, 0, 0], intervals[:, 1, 0]
        is_in, size = (low <= y[test]) & (y[test] <= high), high - low
        score = float(root_mean_squared_error(y[test], predicted))
    return {
        **record,
        "coverage": float(is_in.mean()),
        "size": float(size.mean()),
        "score": score,
        "cpu_seconds": seconds,
    }


def read_results() -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def table() -> str:
    """Return mean coverage and its standard error over seeds, and mean sizes."""
    everything = read_results()
    lines = ["| | test part | method | split: coverage in % | size | cross: coverage in % | size |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name in SETS:
        for kind in KINDS:
            for method in METHODS:
                cells = []
                for way in WAYS:
                    key = {"set": name, "split": kind, "method": method, "way": way}
                    found = [r for r in everything if key.items() <= r.items()]
                    coverage = 100 * np.array([record["coverage"] for record in found])
                    if len(found) < 2:
                        cells += ["", ""]
                        continue
                    error = coverage.std(ddof=1) / np.sqrt(len(found))
                    size = np.mean([record["size"] for record in found])
                    cells += [
                        f"{coverage.mean():.1f} ± {error:.1f} ({len(found)})",
                        f"{size:.2f}",
                    ]
                if any(cells):
                    lines.append(f"| {name} | {kind} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tables", action="store_true", help="only print what is there")
    arguments = parser.parse_args()
    if arguments.tables:
        print(table())
        return
    torch.set_num_threads(1)
    for name in arguments.sets:
        kinds = KINDS if name in bench_molecules.TARGETS else KINDS[:1]
        seeds = range(arguments.seeds)
        for seed, method, kind, way in product(seeds, arguments.methods, kinds, arguments.ways):
            task = {"set": name, "split": kind, "method": method, "way": way, "seed": seed}
            if any(task.items() <= record.items() for record in read_results()):
                continue
            record = rounded(run(name, kind, method, way, seed))
            with RESULTS.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(record, flush=True)


if __name__ == "__main__":
    main()
