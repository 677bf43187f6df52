"""Is a search needed? The untouched default of LoFI beside the best of 20 random configurations.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_search [--sets MUTAG ...] [--folds 0 1]
SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_search --compare Fingerprint [--sets ESOL]
python -m benchmarks.bench_search --tables

Configurations are drawn from `param_distributions()`, 20 of them.

With `--compare` the default of a method stands beside `RandomizedSearchCV` with 20 draws, each
judged by three folds inside the training graphs, in the five folds of `compare`: accuracy of
classes, RMSE of numbers. LoFI is a single network there (`n_members=1, counts=False`). Each
comparison is a line of results/search_compare.jsonl.

Without it, ensembles of LoFI are searched. A configuration is judged by its loss on graphs that its
networks have left out, all inside the training graphs of a fold, as an ensemble reports it
(`oof_losses_`). The one with the least loss is tested beside the default. Configurations are drawn
anew for every fold. Every fit is appended to results/search.jsonl.

Either way what is there is not run again.
"""

import argparse
import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import ParameterSampler, RandomizedSearchCV

from benchmarks import bench_molecules
from benchmarks.bench_default import SETS, load, measure, rounded
from sklofi import (
    FingerprintClassifier,
    FingerprintRegressor,
    GraphKernelSVC,
    GraphKernelSVR,
    LoFIClassifier,
    LoFIRegressor,
    compare,
)

RESULTS = Path(__file__).parent / "results" / "search.jsonl"
COMPARISONS = Path(__file__).parent / "results" / "search_compare.jsonl"
N_CONFIGURATIONS = 20
COMPARED_SETS = ("MUTAG", "PTC_MR", "ENZYMES", "IMDB-BINARY", "ESOL", "Lipophilicity")
ONE = {"n_members": 1, "counts": False, "random_state": 0}
METHODS = {  # classifier and regressor
    "Fingerprint": (FingerprintClassifier(), FingerprintRegressor()),
    "kernel machine": (GraphKernelSVC(max_iter=1_000_000), GraphKernelSVR(max_iter=1_000_000)),
    "LoFI": (LoFIClassifier(**ONE), LoFIRegressor(**ONE)),
}


def configurations(fold: int) -> list[dict[str, Any]]:
    """The default first, then random ones."""
    space = LoFIClassifier.param_distributions()
    return [{}, *ParameterSampler(space, N_CONFIGURATIONS, random_state=fold)]


def run(name: str, fold: int, number: int) -> dict[str, Any]:
    X, y, folds = load(name)
    training, test = folds[fold]
    parameters = configurations(fold)[number]
    start = time.process_time()
    classifier = LoFIClassifier(**parameters, random_state=fold).fit(X[training], y[training])
    seconds = time.process_time() - start
    return {
        "set": name,
        "fold": fold,
        "number": number,
        "parameters": parameters,
        "oof_loss": classifier.oof_losses_["together"],
        **measure(classifier, X[test], y[test]),
        "cpu_seconds": seconds,
    }


def compare_with_search(name: str, method: str) -> dict[str, Any]:
    """The default of a method, and a random search around it, on five folds."""
    is_class = name in SETS
    X, y = load(name)[:2] if is_class else bench_molecules.load(name)[1:3]
    estimator = METHODS[method][0 if is_class else 1]
    scoring = "accuracy" if is_class else "neg_root_mean_squared_error"
    search = RandomizedSearchCV(
        estimator,
        estimator.param_distributions(),
        n_iter=N_CONFIGURATIONS,
        scoring=scoring,
        cv=3,
        random_state=0,
    )
    start = time.process_time()
    found = compare({"default": estimator, "searched": search}, X, y, cv=5, scoring=scoring)
    return {
        "set": name,
        "method": method,
        **{label: abs(float(mean)) for label, mean in found.means().items()},
        "p_value": float(found.p_values()["searched"]),
        "cpu_seconds": time.process_time() - start,
    }


def read_results(path: Path = RESULTS) -> list[dict[str, Any]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def append(path: Path, record: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(rounded(record)) + "\n")
    print(rounded(record), flush=True)


def print_comparisons() -> None:
    """Print the default of each method beside what a search has found."""
    everything = read_results(COMPARISONS)
    print("| | " + " | ".join(f"{method}: default | searched" for method in METHODS) + " |")
    print("|---" * (1 + 2 * len(METHODS)) + "|")
    for name in COMPARED_SETS:
        cells = []
        for method in METHODS:
            key = {"set": name, "method": method}
            found = next((r for r in everything if key.items() <= r.items()), None)
            if found is None:
                cells += ["", ""]
            else:
                cells += [
                    f"{found['default']:.3f}",
                    f"{found['searched']:.3f} (p = {found['p_value']:.2f})",
                ]
        print(f"| {name} | {' | '.join(cells)} |")


def print_tables() -> None:
    """Of each set: the default, the best by held-out loss, and their difference, fold by fold."""
    everything = read_results()
    for name in SETS:
        pairs = []
        for fold in range(10):
            fits = [r for r in everything if (r["set"], r["fold"]) == (name, fold)]
            if len(fits) <= N_CONFIGURATIONS:
                continue
            default = next(r for r in fits if r["number"] == 0)
            pairs.append((default, min(fits, key=lambda r: r["oof_loss"])))
        if not pairs:
            continue
        cells = [f"{name}, {len(pairs)} folds"]
        for score in ("oof_loss", "accuracy", "log_loss"):
            values = np.array([[fit[score] for fit in pair] for pair in pairs])
            d = values[:, 0] - values[:, 1]
            error = d.std(ddof=1) / np.sqrt(len(d)) if len(d) > 1 else np.nan
            default, best = values.mean(axis=0)
            cells.append(
                f"{score} {default:.4f}, searched {best:.4f} ({d.mean():+.4f} ± {error:.4f})"
            )
        n_default = sum(best["number"] == 0 for _, best in pairs)
        print("; ".join(cells) + f"; the default had the least held-out loss {n_default} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=(*SETS, *COMPARED_SETS[-2:]))
    parser.add_argument("--compare", nargs="+", choices=list(METHODS), default=[])
    parser.add_argument("--folds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--tables", action="store_true", help="only print what is there")
    arguments = parser.parse_args()
    if arguments.tables:
        print_comparisons()
        print_tables()
        return
    torch.set_num_threads(1)
    if arguments.compare:
        for name, method in product(arguments.sets or COMPARED_SETS, arguments.compare):
            task = {"set": name, "method": method}
            if not any(task.items() <= record.items() for record in read_results(COMPARISONS)):
                append(COMPARISONS, compare_with_search(name, method))
        return
    for name in arguments.sets or SETS:
        for fold in arguments.folds:
            for number in range(1 + N_CONFIGURATIONS):
                task = {"set": name, "fold": fold, "number": number}
                if any(task.items() <= record.items() for record in read_results()):
                    continue
                append(RESULTS, run(name, fold, number))


if __name__ == "__main__":
    main()
