"""Several networks and counts beside their parts and beside kernels: ten folds, no search for LoFI.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_default [--sets MUTAG ...] [--methods ...]
python -m benchmarks.bench_default --tables
python -m benchmarks.bench_default --ranks

Every method learns from all graphs outside the test part of a fold and may use them as it likes:
ensembles leave out parts of them, kernel machines are searched by five-fold cross-validation
inside. So nobody has fewer graphs than others. All see the types of bonds where a set has them.
Folds are those of the protocol; sets that are not in it have ten folds of their own.

`motifs` and `blocks` are made here, to see that nothing is tuned to seven sets: a tenth of their
labels are wrong, so that no method can expect more than 90 %. In `motifs` one class has a planted
motif. In `blocks` graphs of one class have two communities, and those of the other have the same
degrees, node by node, and no communities.

ZINC has numbers to predict and its own split: networks are stopped by its validation part, and
the score is the mean absolute error.

Every fit is appended to results/default.jsonl at once; what is there is not run again.
"""

import argparse
import copy
import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils.validation import has_fit_parameter

from benchmarks import protocol
from benchmarks.data import read_tu, with_bonds
from benchmarks.grids import MACHINE
from benchmarks.ranking import REFERENCE, rank_table
from sklofi import (
    FingerprintClassifier,
    FingerprintRegressor,
    GraphKernelSVC,
    GraphSet,
    LoFIClassifier,
    LoFIRegressor,
)
from sklofi.baselines import GINClassifier
from sklofi.datasets import make_motif_graphs

RESULTS = Path(__file__).parent / "results" / "default.jsonl"
N_FOLDS = 10
SCORES = ("accuracy", "log_loss", "calibration_error", "absolute_error", "cpu_seconds")
N_MADE = 400
NOISE = 0.1  # share of the labels of made graphs that are wrong
N_BINS = 10  # of the calibration error

Folds = list[tuple[np.ndarray, np.ndarray]]


class SearchedKernel:
    """A kernel machine that is searched and then fitted to all graphs, with probabilities."""

    def __init__(self, kernel: str, random_state: int) -> None:
        self.machine = GraphKernelSVC(kernel=kernel, max_iter=1_000_000, random_state=random_state)
        self.folds = StratifiedKFold(5, shuffle=True, random_state=random_state)

    def fit(self, X: GraphSet, y: np.ndarray) -> GraphKernelSVC:
        search = GridSearchCV(self.machine, MACHINE, cv=self.folds, refit=False).fit(X, y)
        best = clone(self.machine).set_params(**search.best_params_, probability=True)
        return best.fit(X, y)


METHODS: dict[str, Callable[[int], Any]] = {
    "LoFI, one network": lambda seed: LoFIClassifier(n_members=1, counts=False, random_state=seed),
    "LoFI": lambda seed: LoFIClassifier(random_state=seed),
    "WL-OA, searched": lambda seed: SearchedKernel("wl-oa", seed),
    "WL, searched": lambda seed: SearchedKernel("wl", seed),
    "Fingerprint": lambda seed: FingerprintClassifier(random_state=seed),
    "GIN, one network": lambda seed: GINClassifier(
        n_members=1, counts=False, edge_label="label", random_state=seed
    ),
    "GIN": lambda seed: GINClassifier(
        n_members="auto", counts=True, edge_label="label", random_state=seed
    ),
}

REGRESSORS: dict[str, Callable[[int], Any]] = {
    "LoFI, one network": lambda seed: LoFIRegressor(n_members=1, counts=False, random_state=seed),
    "LoFI": lambda seed: LoFIRegressor(random_state=seed),
    "Fingerprint": lambda seed: FingerprintRegressor(random_state=seed),
}


def make_motifs() -> tuple[list[nx.Graph], np.ndarray]:
    return make_motif_graphs(N_MADE, random_state=1)


def make_blocks() -> tuple[list[nx.Graph], np.ndarray]:
    """Graphs with two communities, and graphs with the same degrees without them."""
    rng = np.random.default_rng(0)
    graphs, y = [], np.arange(N_MADE) % 2
    for has_blocks in y:
        sizes = rng.integers(8, 15, size=2).tolist()
        seed = int(rng.integers(2**31))
        graph = nx.stochastic_block_model(sizes, [[0.5, 0.06], [0.06, 0.5]], seed=seed)
        plain = nx.Graph()
        plain.add_nodes_from(graph)
        plain.add_edges_from(graph.edges)
        if not has_blocks:
            n_edges = plain.number_of_edges()
            nx.double_edge_swap(plain, 5 * n_edges, max_tries=10**6, seed=seed)
        graphs.append(plain)
    return graphs, y


MADE = {"motifs": make_motifs, "blocks": make_blocks}
SETS = (
    *("MUTAG", "PTC_MR", "ENZYMES", *MADE, "IMDB-BINARY", "PROTEINS", "IMDB-MULTI", "NCI1"),
    "ZINC",
)


@cache
def load(name: str) -> tuple[GraphSet, np.ndarray, Folds]:
    """Graphs, classes, and the rows of each fold: those to learn from, and those of the test."""
    if name in protocol.CLASSIFICATION:
        X, y, splits = protocol.load(name)
        return X, y, [(np.sort(np.concatenate(rows[:2])), rows[2]) for rows in splits]
    graphs, y = MADE[name]() if name in MADE else read_tu(name, edge_labels=True)
    if name in MADE:
        is_wrong = np.random.default_rng(1).random(len(y)) < NOISE
        y = np.where(is_wrong, 1 - y, y)
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    return with_bonds(graphs), y, list(splitter.split(y, y))


def calibration_error(probabilities: np.ndarray, is_right: np.ndarray) -> float:
    """Expected calibration error: how far confidence is from accuracy, in bins of confidence."""
    confidence = probabilities.max(axis=1)
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, weights=confidence - is_right, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(confidence))


def measure(classifier: Any, X: GraphSet, y: np.ndarray) -> dict[str, float]:
    probabilities = classifier.predict_proba(X)
    is_right = classifier.predict(X) == y
    return {
        "accuracy": float(is_right.mean()),
        "log_loss": float(log_loss(y, probabilities, labels=classifier.classes_)),
        "calibration_error": calibration_error(probabilities, is_right),
    }


def run_zinc(method: str, seed: int) -> dict[str, Any]:
    """One seed of a method on the official split of ZINC."""
    X, y, (rows,) = protocol.load("ZINC")
    training, validation, test = rows
    regressor = REGRESSORS[method](seed)
    start = time.process_time()
    if has_fit_parameter(regressor, "X_val"):
        regressor.fit(X[training], y[training], X_val=X[validation], y_val=y[validation])
    else:
        regressor.fit(X[training], y[training])
    return {
        "absolute_error": float(np.abs(regressor.predict(X[test]) - y[test]).mean()),
        "validation_error": float(np.abs(regressor.predict(X[validation]) - y[validation]).mean()),
        "counts_share": getattr(regressor, "counts_share_", None),
        "cpu_seconds": time.process_time() - start,
    }


def with_share(classifier: Any, share: float) -> Any:
    """The same ensemble with another share of counts."""
    other = copy.copy(classifier)
    other.counts_share_ = share
    return other


def run(name: str, method: str, fold: int) -> dict[str, Any]:
    record: dict[str, Any] = {"set": name, "method": method, "fold": fold}
    if name == "ZINC":
        return record | run_zinc(method, fold)
    X, y, folds = load(name)
    training, test = folds[fold]
    start = time.process_time()
    classifier = METHODS[method](fold).fit(X[training], y[training])
    seconds = time.process_time() - start
    record |= measure(classifier, X[test], y[test]) | {"cpu_seconds": seconds}
    if getattr(classifier, "counts_", None) is not None:
        record["n_members"] = len(classifier.members_)
        record["counts_share"] = classifier.counts_share_
        record["oof_losses"] = classifier.oof_losses_
        for part, share in (("networks", 0.0), ("counts", 1.0)):
            record[part] = measure(with_share(classifier, share), X[test], y[test])
    return record


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return round(value, 5) if isinstance(value, float) else value


def read_results() -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def scores_by_fold(records: list[dict[str, Any]]) -> dict[str, dict[int, dict[str, float]]]:
    """Of one set: the scores of each method and of the parts of ensembles, fold by fold."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    for record in records:
        found.setdefault(record["method"], {})[record["fold"]] = record
        for part in ("networks", "counts"):
            if part in record:
                label = f"{record['method']}: {part} alone"
                found.setdefault(label, {})[record["fold"]] = record[part]
    return found


def print_tables(reference: str = "LoFI") -> None:
    """Print means over folds, and differences to the reference on the folds that both have."""
    everything = read_results()
    for name in SETS:
        found = scores_by_fold([record for record in everything if record["set"] == name])
        shares = [
            r["counts_share"] for r in everything if (r["set"], r["method"]) == (name, "LoFI")
        ]
        if found:
            print(f"\n{name}" + (f", share of counts {np.mean(shares):.2f}" if shares else ""))
        for method, folds in found.items():
            cells = [f"{method} ({len(folds)} folds)"]
            for score in SCORES:
                values = np.array([fold[score] for fold in folds.values() if score in fold])
                if len(values):
                    cells.append(f"{score} {values.mean():.4g}")
                both = sorted(folds.keys() & found.get(reference, {}).keys())
                if not len(values):
                    continue
                if len(both) > 1 and method != reference and score in ("accuracy", "log_loss"):
                    of_reference = found[reference]
                    d = np.array([of_reference[f][score] - folds[f][score] for f in both])
                    error = d.std(ddof=1) / np.sqrt(len(d))
                    cells[-1] += f" ({reference} {d.mean():+.4f} ± {error:.4f})"
            print("  " + ", ".join(cells))


ROWS = {
    "LoFI": "LoFI, default",
    "LoFI: networks alone": "its networks alone",
    "LoFI: counts alone": "its counts alone",
    "LoFI, one network": "LoFI, one network",
    "WL-OA, searched": "WL-OA, searched",
    "WL, searched": "WL, searched",
    "Fingerprint": "Fingerprint",
    "GIN": "GIN, several and counts",
    "GIN, one network": "GIN, one network",
}


def print_markdown(score: str) -> None:
    """Print the means of a score over ten folds, in the form of docs/results.md."""
    everything = read_results()
    names = [name for name in SETS if name != "ZINC"]
    found = {
        name: scores_by_fold([record for record in everything if record["set"] == name])
        for name in names
    }
    print("| | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 1) + "|")
    scale, digits = (100, 1) if score in ("accuracy", "calibration_error") else (1, 3)
    for method, label in ROWS.items():
        cells = []
        for name in names:
            values = [fold[score] for fold in found[name].get(method, {}).values() if score in fold]
            is_whole = len(values) == N_FOLDS
            cells.append(f"{scale * np.mean(values):.{digits}f}" if is_whole else "")
        if any(cells):
            print(f"| {label} | " + " | ".join(cells) + " |")


def print_ranks() -> None:
    """Print the ranks of all methods of the protocol, with the default in the place of LoFI."""
    run = protocol.Run()
    names = (*protocol.CLASSIFICATION, "ZINC")
    fits = {(m, name): run.chosen(name, m, "small") for m in protocol.METHODS for name in names}
    records = [record for record in read_results() if record["method"] == "LoFI"]
    for name in names:
        score = "absolute_error" if name == "ZINC" else "accuracy"
        fits[REFERENCE, name] = [
            {"fold": record["fold"], "test": record[score]}
            for record in records
            if record["set"] == name
        ]
    print(rank_table(fits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--folds", nargs="+", type=int, default=list(range(N_FOLDS)))
    parser.add_argument("--tables", action="store_true", help="only print what is there")
    parser.add_argument("--markdown", choices=SCORES, help="only print a table of this score")
    parser.add_argument("--ranks", action="store_true", help="only print ranks among all methods")
    arguments = parser.parse_args()
    if arguments.ranks:
        print_ranks()
        return
    if arguments.tables:
        print_tables()
        return
    if arguments.markdown:
        print_markdown(arguments.markdown)
        return
    torch.set_num_threads(1)
    for name in arguments.sets:
        for fold in arguments.folds:
            for method in arguments.methods:
                task = {"set": name, "method": method, "fold": fold}
                if name == "ZINC" and method not in REGRESSORS:
                    continue
                if any(task.items() <= record.items() for record in read_results()):
                    continue
                record = rounded(run(name, method, fold))
                with RESULTS.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print({key: record[key] for key in (*task, *SCORES) if key in record}, flush=True)


if __name__ == "__main__":
    main()
