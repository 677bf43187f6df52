"""The published protocol: ten folds, in each a validation part that decides, one test.

SKLOFI_DATA=folder/with/zips python -m benchmarks.protocol --grid small [--sets MUTAG ...]

The folds are in folds.json, the same for every method. In each, a tenth of the training
part is set aside: for early stopping, and for choosing among the configurations of a grid
the one with the lowest validation loss (of machines without probabilities, the highest
validation score). It is not refitted. Every finished fit is appended to
results/protocol.jsonl at once; what is there is not run again, so that a run which was
killed goes on where it was. The test score of every fit is in the file, but of a fold
`chosen` gives only that of the configuration which the validation part chose.

Any estimator can enter: add a `Method`. Jobs run through joblib, on whatever backend
`joblib.parallel_config` names.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import log_loss
from sklearn.model_selection import ParameterGrid, StratifiedKFold, train_test_split
from sklearn.utils.validation import has_fit_parameter
from tqdm import tqdm

from benchmarks.data import read_tu
from sklofi import GraphKernelSVC, GraphKernelSVR, GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.datasets import fetch_zinc

FOLDS = Path(__file__).parent / "folds.json"
RESULTS = Path(__file__).parent / "results" / "protocol.jsonl"
CLASSIFICATION = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "NCI1")
SETS = (*CLASSIFICATION, "ZINC")
N_FOLDS = 10


@dataclass(frozen=True)
class Method:
    """Two estimators and their grids, by name of the grid."""

    classifier: Any
    regressor: Any
    grids: dict[str, dict[str, list[Any]]]
    fixed: dict[str, Any] = field(default_factory=dict)

    def estimator(self, name: str, configuration: dict[str, Any], seed: int) -> Any:
        kind = self.classifier if name in CLASSIFICATION else self.regressor
        return kind(**self.fixed, **configuration, random_state=seed)


def kernel_method(kernel):
    grid = {"C": [0.01, 0.1, 1, 10, 100, 1000], "n_iter": [1, 2, 3, 4, 5, 6]}
    fixed = {"kernel": kernel, "max_iter": 1_000_000}
    return Method(GraphKernelSVC, GraphKernelSVR, {"small": grid, "paper": grid}, fixed)


METHODS = {
    "LoFI": Method(
        LoFIClassifier,
        LoFIRegressor,
        {
            "small": {"n_layers": [1, 3, 5], "radius": [1, 2], "n_masks": [16, 32]},
            "paper": {
                "n_layers": [1, 3, 5, 7, 9, 11, 13],
                "dropout": [0.0, 0.1],
                "radius": [1, 2, 3],
                "n_masks": [4, 8, 16, 32],
                "n_words": [6, 8, 16, 32],
            },
        },
    ),
    "LoFI, defaults": Method(LoFIClassifier, LoFIRegressor, {"small": {}, "paper": {}}),
    "WL": kernel_method("wl"),
    "WL-OA": kernel_method("wl-oa"),
}


def make_folds() -> dict[str, list[dict[str, list[int]]]]:
    """Test and validation graphs of each fold; all others are for training."""
    folds = {}
    for name in CLASSIFICATION:
        _, y = read_tu(name)
        folds[name] = []
        splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
        for fold, (rest, test) in enumerate(splitter.split(y, y)):
            n_validation = round(len(rest) / 10)
            _, validation = train_test_split(
                rest, test_size=n_validation, stratify=y[rest], random_state=fold
            )
            folds[name].append({"test": test.tolist(), "validation": sorted(validation.tolist())})
    return folds


@cache
def load(name: str) -> tuple[GraphSet, np.ndarray, list[tuple[np.ndarray, ...]]]:
    """Graphs, targets, and training, validation and test rows of each fold."""
    if name == "ZINC":
        zinc = fetch_zinc()
        rows = tuple(np.flatnonzero(zinc.split == part) for part in ("train", "val", "test"))
        return GraphSet.from_networkx(zinc.data), zinc.target, [rows]
    graphs, y = read_tu(name)
    splits = []
    for fold in json.loads(FOLDS.read_text())[name]:
        validation, test = np.array(fold["validation"]), np.array(fold["test"])
        training = np.setdiff1d(np.arange(len(y)), np.concatenate([validation, test]))
        splits.append((training, validation, test))
    return GraphSet.from_networkx(graphs), y, splits


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
    if name not in CLASSIFICATION:
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


def tasks_of(
    sets: list[str], methods: list[str], grid: str, folds: list[int]
) -> Iterator[dict[str, Any]]:
    for name in sets:
        for fold in folds if name in CLASSIFICATION else [0]:
            for method in methods:
                for configuration in ParameterGrid(METHODS[method].grids[grid]):
                    yield {
                        "name": name,
                        "method": method,
                        "fold": fold,
                        "configuration": configuration,
                    }


def chosen(
    records: dict[str, dict[str, Any]], name: str, method: str, grid: str
) -> list[dict[str, Any]]:
    """Of each finished fold the fit that the validation part chose, with the cost of all."""
    best = []
    for fold in range(N_FOLDS):
        tasks = list(tasks_of([name], [method], grid, [fold]))
        fits = [
            records.get(json.dumps([name, method, t["fold"], t["configuration"]])) for t in tasks
        ]
        if all(fits) and (name in CLASSIFICATION or fold == 0):
            winner = min(fits, key=lambda fit: fit["loss"])  # the first of equals
            best.append(winner | {"total_cpu_seconds": sum(fit["cpu_seconds"] for fit in fits)})
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grid", choices=["small", "paper"], default="small")
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--folds", nargs="*", type=int, default=list(range(N_FOLDS)))
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    if not FOLDS.exists():
        FOLDS.write_text(json.dumps(make_folds()) + "\n")
    done = read_results()
    tasks = [
        task
        for task in tasks_of(arguments.sets, arguments.methods, arguments.grid, arguments.folds)
        if json.dumps(list(task.values())) not in done
    ]
    print(f"{len(tasks)} fits to do, {len(done)} are done.")
    finished = Parallel(n_jobs=arguments.n_jobs, return_as="generator_unordered")(
        delayed(run)(**task) for task in tasks
    )
    with RESULTS.open("a") as file:
        file.write("\n" if RESULTS.stat().st_size else "")  # after a line that was cut off
        for record in tqdm(finished, total=len(tasks)):
            file.write(json.dumps(record) + "\n")
            file.flush()


if __name__ == "__main__":
    # By its name, so that workers find the functions where they are and not in __main__.
    from benchmarks import protocol

    protocol.main()
