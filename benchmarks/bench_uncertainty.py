"""What several networks add: to predictions, and to what is known of how sure they are.

SKLOFI_DATA=folder python -m benchmarks.bench_uncertainty [--sets MUTAG ...] [--splits 0 1 2]
python -m benchmarks.bench_uncertainty --tables

On each split one LoFI ensemble of the default number of networks is trained, with counts. Fewer
networks are groups of its members: each member alone, the first five and the last five. Their
scores are averaged over these groups. Classes: folds of bench_default, with accuracy, log loss and
expected calibration error. Numbers: random splits of molecules (a fifth is the test part), with the
RMSE and the rank correlation of the standard deviation over members with the absolute error. Of
Lipophilicity, whose 4200 molecules take long, `--most` molecules are drawn for each split. Every
fit is appended to results/uncertainty.jsonl at once; what is there is not run again.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import softmax
from scipy.stats import spearmanr
from sklearn.metrics import log_loss, root_mean_squared_error

from benchmarks import bench_default, bench_molecules
from benchmarks.bench_default import calibration_error, rounded, with_share
from sklofi import LoFIClassifier, LoFIRegressor

RESULTS = Path(__file__).parent / "results" / "uncertainty.jsonl"
CLASSES = ("MUTAG", "PTC_MR", "ENZYMES", "IMDB-BINARY")
NUMBERS = ("ESOL", "Lipophilicity")
SIZES = (1, 5)  # of groups of members, beside all of them
OF_CLASSES = ("accuracy", "log_loss", "calibration_error")
OF_NUMBERS = ("rmse", "rank_correlation")

# Of the log-probabilities or predictions of some networks, (n_networks, n_graphs, ...).
Scores = dict[str, float]


def groups_of(n_members: int, size: int) -> list[slice]:
    """Disjoint groups of members: as many of one as there are, the first five and the last."""
    return [slice(i, i + size) for i in range(0, n_members - size + 1, size)]


def classification_scores(outputs: np.ndarray, y: np.ndarray, classes: np.ndarray) -> Scores:
    probabilities = softmax(outputs, axis=1)
    is_right = classes[probabilities.argmax(axis=1)] == y
    return {
        "accuracy": float(is_right.mean()),
        "log_loss": float(log_loss(y, probabilities, labels=classes)),
        "calibration_error": calibration_error(probabilities, is_right),
    }


def regression_scores(outputs: np.ndarray, spread: np.ndarray, y: np.ndarray) -> Scores:
    scores = {"rmse": float(root_mean_squared_error(y, outputs))}
    if spread.any():
        correlation = spearmanr(spread, np.abs(outputs - y)).statistic
        scores["rank_correlation"] = float(correlation)
    return scores


def load(name: str, number: int, n_most: int | None) -> tuple[Any, ...]:
    """Graphs and targets of the training part, and of the test part."""
    if name in CLASSES:
        X, y, folds = bench_default.load(name)
        training, test = folds[number]
    else:
        _, X, y, _ = bench_molecules.load(name)
        training, test = bench_molecules.split(name, "random", number)
        if n_most is not None and len(y) > n_most:
            share = n_most / len(y)
            training, test = (part[: round(share * len(part))] for part in (training, test))
    return X[training], y[training], X[test], y[test]


def run(name: str, number: int, n_most: int | None) -> dict[str, Any]:
    X, y, X_test, y_test = load(name, number, n_most)
    estimator = (LoFIClassifier if name in CLASSES else LoFIRegressor)(random_state=number)
    start = time.process_time()
    estimator.fit(X, y)
    seconds = time.process_time() - start

    def outputs_of(one: Any) -> np.ndarray:
        if name in NUMBERS:
            return one.predict(X_test)
        return np.log(np.maximum(one.predict_proba(X_test), np.finfo(float).tiny))

    nets = np.array([outputs_of(member) for member in estimator.members_])
    counts, share = outputs_of(with_share(estimator, 1.0)), estimator.counts_share_

    def scores(chosen: np.ndarray, share: float) -> Scores:
        outputs = (1 - share) * chosen.mean(axis=0) + share * counts
        if name in CLASSES:
            return classification_scores(outputs, y_test, estimator.classes_)
        return regression_scores(outputs, (1 - share) * chosen.std(axis=0), y_test)

    found: dict[str, Scores] = {}
    for size in (*SIZES, len(nets)):
        parts = [scores(nets[group], 0.0) for group in groups_of(len(nets), size)]
        if parts:
            found[str(size)] = {key: float(np.mean([p[key] for p in parts])) for key in parts[0]}
    found["all, with counts"] = scores(nets, share)
    if name in NUMBERS:  # by the method that users have
        predicted, std = estimator.predict(X_test, return_std=True)
        expected = found["all, with counts"]
        assert np.isclose(root_mean_squared_error(y_test, predicted), expected["rmse"])
        assert np.allclose(std, (1 - share) * nets.std(axis=0), rtol=1e-4)
    return {
        "set": name,
        "split": number,
        "n_graphs": len(y),
        "n_members": len(nets),
        "counts_share": share,
        "scores": found,
        "cpu_seconds": seconds,
    }


def read_results() -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def tables() -> list[str]:
    """Return means over splits for each number of networks: of sets of classes, and of numbers."""
    everything = read_results()
    texts = []
    for names, columns in ((CLASSES, OF_CLASSES), (NUMBERS, OF_NUMBERS)):
        lines = [f"| | networks | {' | '.join(column.replace('_', ' ') for column in columns)} |"]
        lines.append("|---" * (2 + len(columns)) + "|")
        for name in names:
            records = [record for record in everything if record["set"] == name]
            kinds = dict.fromkeys(kind for record in records for kind in record["scores"])
            for kind in kinds:
                having = [r["scores"][kind] for r in records if kind in r["scores"]]
                cells = [
                    f"{np.mean([s[column] for s in having]):.3f}" if column in having[0] else ""
                    for column in columns
                ]
                label = f"{name} ({len(records)} splits)"
                lines.append(f"| {label} | {kind} | {' | '.join(cells)} |")
        texts.append("\n".join(lines))
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=CLASSES + NUMBERS, default=CLASSES + NUMBERS)
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--most", type=int, help="most molecules that a split has")
    parser.add_argument("--tables", action="store_true", help="only print what is there")
    arguments = parser.parse_args()
    if arguments.tables:
        print("\n\n".join(tables()))
        return
    torch.set_num_threads(1)
    for name in arguments.sets:
        for number in arguments.splits:
            task = {"set": name, "split": number}
            if any(task.items() <= record.items() for record in read_results()):
                continue
            record = rounded(run(name, number, arguments.most))
            with RESULTS.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(record, flush=True)


if __name__ == "__main__":
    main()
