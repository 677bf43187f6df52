"""The published protocol: ten folds, in each a validation part that decides, one test.

SKLOFI_DATA=folder/with/zips python -m benchmarks.protocol --grid small [--sets MUTAG ...]
SKLOFI_DATA=folder/with/zips python -m benchmarks.protocol --published [--sets MUTAG ...]

`--sets` takes the name of any data set of classes of the TU collection. Rows of the methods are
printed at the end, beside what the paper of GNN-LoFI says of them. With `--published` LoFI has the
network, the training and the grid of the paper, which is searched by halving.

The folds are in folds.json, the same for every method; those of further sets are drawn in the
same way. In each, a tenth of the training part is set aside: for early stopping, and for choosing
among the configurations of a grid the one with the lowest validation loss (of machines without
probabilities, the highest validation score). It is not refitted. With --halving, most
configurations of the grid are trained for a few epochs only. Every finished fit is appended to
results/protocol.jsonl at once; what is there is not run again, so that a run which was killed goes
on where it was, and one with nothing to do changes no file. The test score of every fit is in the
file, but of a fold `Run.chosen` gives only that of the configuration which the validation part
chose.

All see the same graphs: node labels, no other attributes of nodes, and types of bonds where
the data set has them (`WITH_BONDS`), of which only a few methods take notice
(`Method.sees_bonds`). The nodes of the IMDB sets have no labels and are all alike; these sets are
there once more with the degrees of nodes as labels (`WITH_DEGREES`), without which many networks
see next to nothing in them.

Any estimator can enter: add a `Method`, and its grid to grids.py. Jobs run through joblib, on
whatever backend `joblib.parallel_config` names.
"""

import argparse
import json
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from sklearn.metrics import log_loss
from sklearn.model_selection import ParameterGrid, StratifiedKFold, train_test_split
from sklearn.utils.validation import has_fit_parameter
from tqdm import tqdm

from benchmarks import grids
from benchmarks.averages import AveragedClassifier, AveragedRegressor
from benchmarks.data import label_by_degree, read_tu, with_bonds
from benchmarks.published import published_score
from sklofi import GraphKernelSVC, GraphKernelSVR, GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.datasets import fetch_zinc

FOLDS = Path(__file__).parent / "folds.json"
RESULTS = Path(__file__).parent / "results" / "protocol.jsonl"
CLASSIFICATION = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "NCI1")
SETS = (*CLASSIFICATION, "ZINC")
WITH_BONDS = ("MUTAG", "PTC_MR", "ZINC")  # edges have labels
WITH_DEGREES = {f"{name}, degrees": name for name in ("IMDB-BINARY", "IMDB-MULTI")}
# The order of a run, by the cost of all folds: one that is cut leaves whole columns.
CHEAP_FIRST = (
    *("MUTAG", "PTC_MR", "IMDB-BINARY", "IMDB-MULTI", *WITH_DEGREES, "PROTEINS", "ZINC", "NCI1"),
)
N_FOLDS = 10
AS_PUBLISHED = "LoFI, published"  # runs only if it is asked for
TASK = ("name", "method", "fold", "configuration")  # the arguments of `run`

# Successive halving: epochs of each rung (None is as many as it takes), and by how much the
# number of candidates shrinks from rung to rung.
RUNGS = (4, 12, 36, None)
SHRINK = 3


def plain(name: str) -> str:
    """The data set itself, whatever the labels of its nodes."""
    return WITH_DEGREES.get(name, name)


def has_classes(name: str) -> bool:
    return name != "ZINC"


@dataclass(frozen=True)
class Method:
    """Two estimators and their grids, by name of the grid: for all data sets, or for one."""

    classifier: Any  # what makes it, or "module:class" if it needs more than sklofi itself
    regressor: Any
    grids: dict[str, Any]  # as scikit-learn's ParameterGrid takes them
    fixed: dict[str, Any] = field(default_factory=dict)
    keep_history: bool = False  # whether to write down the losses of all epochs
    sees_bonds: bool = False  # whether it knows the types of edges, too
    family: str = "network"  # or "kernel", or "baseline": without learned structure

    def estimator(self, name: str, configuration: dict[str, Any], seed: int) -> Any:
        kind = self.classifier if has_classes(name) else self.regressor
        kind = resolve_name(kind) if isinstance(kind, str) else kind
        return kind(**{**self.fixed, **configuration}, random_state=seed)

    def configurations(self, name: str, grid: str) -> list[dict[str, Any]]:
        """All of a grid; none if the method has no such grid."""
        chosen = self.grids.get(f"{grid}, {plain(name)}", self.grids.get(grid))
        return [] if chosen is None else list(ParameterGrid(chosen))

    def why_not(self) -> str:
        """What is missing to run the method; empty if nothing is."""
        try:
            for kind in (self.classifier, self.regressor):
                if isinstance(kind, str):
                    resolve_name(kind)
        except (ImportError, AttributeError) as error:
            return str(error)
        return ""


def kernel_method(kernel: str) -> Method:
    # Without edge labels, as the kernels were published and our results were made.
    fixed = {"kernel": kernel, "max_iter": 1_000_000, "edge_label": None}
    return Method(GraphKernelSVC, GraphKernelSVR, grids.KERNEL, fixed, family="kernel")


def peer(name: str, its_grids: dict[str, Any], module: str = "baselines", **more: Any) -> Method:
    """A peer by its name only: without PyTorch Geometric, tables can still be written."""
    pair = (f"sklofi.{module}:{name}{kind}" for kind in ("Classifier", "Regressor"))
    return Method(*pair, its_grids, **more)


METHODS = {
    "LoFI": Method(LoFIClassifier, LoFIRegressor, grids.LOFI, grids.PUBLISHED_LOFI),
    "LoFI, defaults": Method(
        LoFIClassifier, LoFIRegressor, grids.NO_GRID, grids.PUBLISHED_LOFI, keep_history=True
    ),
    AS_PUBLISHED: Method(
        LoFIClassifier.published, LoFIRegressor.published, grids.LOFI_AS_PUBLISHED
    ),
    "LoFI, 5 seeds averaged": Method(AveragedClassifier, AveragedRegressor, grids.NO_GRID),
    "WL": kernel_method("wl"),
    "WL-OA": kernel_method("wl-oa"),
    "GCN": peer("GCN", grids.GCN),
    "GraphSAGE": peer("GraphSAGE", grids.GRAPH_SAGE),
    "GIN": peer("GIN", grids.GIN),
    "GAT": peer("GAT", grids.GAT),
    "ECC": peer("ECC", grids.ECC, sees_bonds=True),
    "DGCNN": peer("DGCNN", grids.DGCNN),
    "DiffPool": peer("DiffPool", grids.DIFF_POOL),
    "sGIN": peer("SGIN", grids.SGIN),
    "SFA-GNN": peer("SFAGNN", grids.SFA_GNN),
    "RWGNN": peer("RWGNN", grids.RW_GNN),
    "KerGNN": peer("KerGNN", grids.KER_GNN),
    "DeepMultisets": peer("DeepMultisets", grids.DEEP_MULTISETS, family="baseline"),
    "Fingerprint": peer("Fingerprint", grids.FINGERPRINT, sees_bonds=True, family="baseline"),
    "LabelHistogram": peer("LabelHistogram", grids.LABEL_HISTOGRAM, family="baseline"),
}

GRIDS = tuple(grid for grid in grids.LOFI if "," not in grid)


Fold = dict[str, list[int]]


def make_folds() -> dict[str, list[Fold]]:
    """Test and validation graphs of each fold of all sets; all others are for training."""
    return {name: draw_folds(read_tu(name)[1]) for name in CLASSIFICATION}


def draw_folds(y: np.ndarray) -> list[Fold]:
    """Test and validation graphs of each fold of a set."""
    folds = []
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    for fold, (rest, test) in enumerate(splitter.split(y, y)):
        n_validation = round(len(rest) / 10)
        _, validation = train_test_split(
            rest, test_size=n_validation, stratify=y[rest], random_state=fold
        )
        folds.append({"test": test.tolist(), "validation": sorted(validation.tolist())})
    return folds


@cache
def load(name: str) -> tuple[GraphSet, np.ndarray, list[tuple[np.ndarray, ...]]]:
    """Graphs, targets, and training, validation and test rows of each fold."""
    if name == "ZINC":
        zinc = fetch_zinc()
        rows = tuple(np.flatnonzero(zinc.split == part) for part in ("train", "val", "test"))
        return with_bonds(zinc.data), zinc.target, [rows]
    graphs, y = read_tu(plain(name), edge_labels=True)
    if name in WITH_DEGREES:
        label_by_degree(graphs)
    splits = []
    in_file = json.loads(FOLDS.read_text())
    for fold in in_file[plain(name)] if plain(name) in in_file else draw_folds(y):
        validation, test = np.array(fold["validation"]), np.array(fold["test"])
        training = np.setdiff1d(np.arange(len(y)), np.concatenate([validation, test]))
        splits.append((training, validation, test))
    return with_bonds(graphs), y, splits


def run(name: str, method: str, fold: int, configuration: dict[str, Any]) -> dict[str, Any]:
    """Fit once; what the validation part says, and what the test part says."""
    X, y, splits = load(name)
    training, validation, test = splits[fold]
    estimator = METHODS[method].estimator(name, configuration, seed=fold)
    start = time.process_time()
    if has_fit_parameter(estimator, "X_val"):
        estimator.fit(X[training], y[training], X_val=X[validation], y_val=y[validation])
    else:
        estimator.fit(X[training], y[training])
    seconds = time.process_time() - start
    if not has_classes(name):
        error = [float(np.abs(estimator.predict(X[p]) - y[p]).mean()) for p in (validation, test)]
        scores = {"validation": error[0], "test": error[1], "loss": error[0]}
    else:
        accuracy = [float(estimator.score(X[p], y[p])) for p in (validation, test)]
        loss = 1 - accuracy[0]
        if hasattr(estimator, "predict_proba"):
            probabilities = estimator.predict_proba(X[validation])
            loss = float(log_loss(y[validation], probabilities, labels=estimator.classes_))
        scores = {"validation": accuracy[0], "test": accuracy[1], "loss": loss}
    record = {"set": name, "method": method, "fold": fold, "configuration": configuration}
    record |= {key: round(value, 6) for key, value in scores.items()}
    record["cpu_seconds"] = round(seconds, 3)
    if hasattr(estimator, "n_epochs_"):
        record["n_epochs"] = estimator.n_epochs_
    if METHODS[method].keep_history:
        for key in ("train_loss", "valid_loss", "valid_score"):
            record[key] = [round(value, 4) for value in estimator.history_[:, key]]
    return record


def key_of(record: dict[str, Any]) -> str:
    return json.dumps([record[k] for k in ("set", "method", "fold", "configuration")])


def read_results() -> dict[str, dict[str, Any]]:
    """All fits that are finished."""
    records = {}
    for line in RESULTS.read_text().splitlines() if RESULTS.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:  # cut off by a crash: not finished, so run again
            continue
        records[key_of(record)] = record
    return records


def folds_of(name: str, folds: list[int]) -> list[int]:
    return folds if has_classes(name) else [0]  # ZINC has its own split


class Run:
    """Fits that are done, and a way to do more of them."""

    def __init__(self, n_jobs: int = 1) -> None:
        self.records = read_results()
        self.n_jobs = n_jobs

    def fit(self, tasks: list[dict[str, Any]]) -> None:
        """Do what is not done yet, and write down each fit when it is finished."""
        tasks = [task for task in tasks if json.dumps(list(task.values())) not in self.records]
        print(f"{len(tasks)} fits to do, {len(self.records)} are done.", flush=True)
        if not tasks:
            return
        finished = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")(
            delayed(run)(**task) for task in tasks
        )
        with RESULTS.open("a") as file:
            file.write("\n" if RESULTS.stat().st_size else "")  # after a line that was cut off
            for record in tqdm(finished, total=len(tasks)):
                file.write(json.dumps(record) + "\n")
                file.flush()
                self.records[key_of(record)] = record

    def fits(
        self, name: str, method: str, fold: int, candidates: list[dict[str, Any]]
    ) -> list[dict[str, Any]] | None:
        """The fits of all candidates, or None if some are missing."""
        keys = [json.dumps([name, method, fold, candidate]) for candidate in candidates]
        return [self.records[key] for key in keys] if set(keys) <= set(self.records) else None

    def chosen(self, name: str, method: str, grid: str) -> list[dict[str, Any]]:
        """Of each finished fold the fit that the validation part chose, with the cost of all."""
        best = []
        for fold in folds_of(name, list(range(N_FOLDS))):
            if fits := self.fits(name, method, fold, METHODS[method].configurations(name, grid)):
                best.append(winner_of(fits, fits))
        return best

    def halve(
        self, name: str, method: str, fold: int, grid: str
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]], bool]:
        """How far successive halving has come in a fold.

        All configurations are trained for a few epochs; the best third of them, by
        validation loss, three times as long; and so on, until the last are trained to
        their end.

        Returns all fits so far, the candidates of the present rung, and whether they are
        fitted, too.
        """
        candidates, fits = METHODS[method].configurations(name, grid), []
        for rung, epochs in enumerate(RUNGS):
            limit = {} if epochs is None else {"max_epochs": epochs}
            limited = [candidate | limit for candidate in candidates]
            done = self.fits(name, method, fold, limited)
            if done is None:
                return fits, limited, False
            fits += done
            if rung < len(RUNGS) - 1:
                n_left = max(1, round(len(candidates) / SHRINK))
                order = sorted(range(len(done)), key=lambda i: done[i]["loss"])
                candidates = [candidates[i] for i in order[:n_left]]
        return fits, limited, True

    def chosen_by_halving(self, name: str, method: str, grid: str) -> list[dict[str, Any]]:
        """The same as `chosen`, by successive halving."""
        best = []
        for fold in folds_of(name, list(range(N_FOLDS))):
            fits, last, is_done = self.halve(name, method, fold, grid)
            if is_done and last:
                best.append(winner_of(fits[-len(last) :], fits))
        return best


def available(methods: list[str]) -> list[str]:
    """Those that can run here; about others, a sentence is printed."""
    missing: dict[str, list[str]] = {}
    for method in methods:
        if reason := METHODS[method].why_not():
            missing.setdefault(reason, []).append(method)
    for reason, names in missing.items():
        print(
            f"Left out because of what is missing ({reason}): {', '.join(names)}."
            ' pip install ".[benchmark]" in a clone brings what the peers need.'
        )
    return [method for method in methods if not METHODS[method].why_not()]


def winner_of(finalists: list[dict[str, Any]], fits: list[dict[str, Any]]) -> dict[str, Any]:
    winner = min(finalists, key=lambda fit: fit["loss"])  # the first of equals
    return winner | {"total_cpu_seconds": sum(fit["cpu_seconds"] for fit in fits)}


def describe(fits: list[dict[str, Any]], name: str) -> str:
    """The scores of a method's folds in a line."""
    values = np.array([fit["test"] for fit in fits]) * (100 if has_classes(name) else 1)
    digits = 1 if has_classes(name) else 3
    error = f" ± {stats.sem(values):.{digits}f}" if len(values) > 1 else ""
    seconds = np.mean([fit["total_cpu_seconds"] for fit in fits])
    folds = f"{len(fits)} fold{'s' * (len(fits) > 1)}"
    return f"{values.mean():.{digits}f}{error} ({folds}, {seconds:.0f} CPU s each)"


def print_rows(run: Run, names: list[str], methods: list[str], grid: str, halving: bool) -> None:
    """Print accuracies in %, or errors, with their standard errors, and the published ones."""
    chosen = run.chosen_by_halving if halving else run.chosen
    for name in names:
        print(f"\n{name}, {'accuracy in %' if has_classes(name) else 'mean absolute error'}")
        for method in methods:
            if fits := chosen(name, method, grid):
                there = published_score(method, name)
                beside = "" if there is None else f", published {there:g}"
                print(f"  {method}: {describe(fits, name)}{beside}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grid", choices=GRIDS, default="small")
    parser.add_argument("--halving", action="store_true", help="search the grid by halving")
    parser.add_argument("--published", action="store_true", help="LoFI as the paper trains it")
    parser.add_argument("--sets", nargs="*", default=list(CHEAP_FIRST))
    parser.add_argument("--methods", nargs="*", default=[m for m in METHODS if m != AS_PUBLISHED])
    parser.add_argument("--folds", nargs="*", type=int, default=list(range(N_FOLDS)))
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.published:
        arguments.methods, arguments.grid, arguments.halving = [AS_PUBLISHED], "paper", True
    if not FOLDS.exists():
        FOLDS.write_text(json.dumps(make_folds()) + "\n")
    methods = available(arguments.methods)
    parts = [
        (name, method, fold)
        for name in arguments.sets
        for fold in folds_of(name, arguments.folds)
        for method in methods
    ]
    everything = Run(arguments.n_jobs)
    if arguments.halving:
        fit_by_halving(everything, parts, arguments.grid)
    else:
        everything.fit(
            [
                dict(zip(TASK, (*part, configuration), strict=True))
                for part in parts
                for configuration in METHODS[part[1]].configurations(part[0], arguments.grid)
            ]
        )
    print_rows(everything, arguments.sets, methods, arguments.grid, arguments.halving)


def fit_by_halving(everything: Run, parts: list[tuple[str, str, int]], grid: str) -> None:
    """Fit rung by rung."""
    while tasks := [
        dict(zip(TASK, (*part, candidate), strict=True))
        for part in parts
        for _, candidates, is_done in [everything.halve(*part, grid)]
        if not is_done
        for candidate in candidates
    ]:
        everything.fit(tasks)


if __name__ == "__main__":
    # By its name, so that workers find the functions where they are and not in __main__.
    from benchmarks import protocol

    protocol.main()
