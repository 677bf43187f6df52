"""How the default parameters were chosen: by validation loss on several data sets.

    SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_defaults

Every candidate is fitted to the training part of the same outer folds. What decides is the
loss on the validation graphs inside that part (relative to the first candidate, averaged
over data sets); the test folds are scored as well, and only reported. Finished fits are
kept in results/defaults.jsonl, so a run that was interrupted goes on where it was.
"""

import json
import time
from pathlib import Path

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import read_tu
from sklofi import GraphSet, LoFIClassifier

RESULTS = Path(__file__).parent / "results" / "defaults.jsonl"

N_FOLDS = {"MUTAG": 10, "PTC_MR": 10, "PROTEINS": 3, "IMDB-BINARY": 3, "IMDB-MULTI": 3, "NCI1": 1}

START = {"n_layers": 3, "n_masks": 16, "n_words": 8, "lr": 0.01, "patience": 30}
CANDIDATES = {
    "start": {},
    "lr 0.005": {"lr": 0.005},
    "32 masks": {"n_masks": 32},
    "32 masks, lr 0.005": {"n_masks": 32, "lr": 0.005},
    "4 layers, lr 0.005": {"n_layers": 4, "lr": 0.005},
    "16 words, lr 0.005": {"n_words": 16, "lr": 0.005},
    "dropout 0.1": {"dropout": 0.1},
    "mean pooling": {"pooling": "mean"},
    "intersection": {"kernel": "intersection"},
}


def fit_one(X, y, name, fold, candidate):
    torch.set_num_threads(1)
    folds = StratifiedKFold(10, shuffle=True, random_state=1)
    train, test = list(folds.split(y, y))[fold]
    classifier = LoFIClassifier(**{**START, **CANDIDATES[candidate]}, max_epochs=200)
    classifier.set_params(random_state=fold)
    start = time.perf_counter()
    classifier.fit(X[train], y[train])
    seconds = time.perf_counter() - start
    losses = np.array(classifier.history_[:, "valid_loss"])
    result = {
        "data": name,
        "candidate": candidate,
        "fold": fold,
        "valid_loss": round(float(losses.min()), 4),
        "valid_score": round(classifier.history_[int(losses.argmin()), "valid_score"], 4),
        "test_score": round(classifier.score(X[test], y[test]), 4),
        "n_epochs": classifier.n_epochs_,
        "seconds": round(seconds, 2),
    }
    with RESULTS.open("a") as file:
        file.write(json.dumps(result) + "\n")


def main():
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    done = {(row["data"], row["candidate"], row["fold"]) for row in map(json.loads, lines)}
    for name, n_folds in N_FOLDS.items():
        graphs, y = read_tu(name)
        X = GraphSet.from_networkx(graphs)
        Parallel(n_jobs=2)(
            delayed(fit_one)(X, y, name, fold, candidate)
            for candidate in CANDIDATES
            for fold in range(n_folds)
            if (name, candidate, fold) not in done
        )
    report()


def report():
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]

    def mean(candidate, name, what):
        values = [r[what] for r in rows if r["data"] == name and r["candidate"] == candidate]
        return np.mean(values) if values else np.nan

    print(f"{'':20}" + "".join(f"{name:>22}" for name in N_FOLDS) + f"{'relative loss':>16}")
    for candidate in CANDIDATES:
        cells, relative = "", []
        for name in N_FOLDS:
            loss = mean(candidate, name, "valid_loss")
            relative.append(loss / mean("start", name, "valid_loss"))
            score, seconds = (mean(candidate, name, what) for what in ("test_score", "seconds"))
            cells += f"{loss:10.3f} {100 * score:5.1f}% {seconds:4.0f}s"
        print(f"{candidate:20}{cells}{np.mean(relative):16.3f}")
    print("In each cell: validation loss, test accuracy, seconds per fit on one core.")


if __name__ == "__main__":
    main()
