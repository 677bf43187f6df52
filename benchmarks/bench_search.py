"""Is a search needed? The untouched default of LoFI beside the best of 20 random configurations.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_search [--sets MUTAG ...] [--folds 0 1]
python -m benchmarks.bench_search --tables

A configuration is judged by its loss on graphs that its networks have left out, all inside the
training graphs of a fold, as an ensemble reports it (`oof_losses_`). The one with the least loss
is tested beside the default. Configurations are drawn anew for every fold. Every fit is appended
to results/search.jsonl at once; what is there is not run again.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import ParameterSampler

from benchmarks.bench_default import SETS, load, measure, rounded
from sklofi import LoFIClassifier

RESULTS = Path(__file__).parent / "results" / "search.jsonl"
N_CONFIGURATIONS = 20
SPACE = {
    "n_layers": [1, 2, 3, 5, 7],
    "n_masks": [8, 16, 32],
    "n_words": [4, 8, 16],
    "radius": [1, 2],
    "lr": [0.001, 0.002, 0.005, 0.01],
    "dropout": [0.0, 0.1, 0.3],
    "weight_decay": [0.0, 0.1, 1.0],
    "pooling": ["sum", "mean"],
    "kernel": ["l1", "intersection"],
    "max_ring": [0, 8],
    "structure": [None, "degree", ("degree", "triangles")],
}


def configurations(fold: int) -> list[dict[str, Any]]:
    """The default first, then random ones."""
    return [{}, *ParameterSampler(SPACE, N_CONFIGURATIONS, random_state=fold)]


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


def read_results() -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


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
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--folds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--tables", action="store_true", help="only print what is there")
    arguments = parser.parse_args()
    if arguments.tables:
        print_tables()
        return
    torch.set_num_threads(1)
    for name in arguments.sets:
        for fold in arguments.folds:
            for number in range(1 + N_CONFIGURATIONS):
                task = {"set": name, "fold": fold, "number": number}
                if any(task.items() <= record.items() for record in read_results()):
                    continue
                record = rounded(run(name, fold, number))
                with RESULTS.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print({key: record[key] for key in (*task, "oof_loss", "accuracy")}, flush=True)


if __name__ == "__main__":
    main()
