"""What labels of atoms and bonds should hold: the same estimators on molecules read in other ways.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_atoms [--sets ESOL ...] [--seeds 0 1 2]
python -m benchmarks.bench_atoms table

ESOL, BBBP and BACE are read from moleculenet/*.csv, split at random into training (80 percent),
validation and test parts (10 percent each); the test part is not looked at. A single LoFI network
and the Fingerprint are fitted on the training part and scored on the validation part: RMSE of ESOL,
area under the ROC curve of the others. Every finished fit is appended to results/atoms.jsonl at
once, and a second call goes on from there.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score, root_mean_squared_error

from sklofi import (
    FingerprintClassifier,
    FingerprintRegressor,
    GraphSet,
    LoFIClassifier,
    LoFIRegressor,
)

RESULTS = Path(__file__).parent / "results" / "atoms.jsonl"
SETS = {"ESOL": "regression", "BBBP": "classification", "BACE": "classification"}
RICH = ("element", "hydrogens", "charge", "aromatic")
VARIANTS: dict[str, dict[str, Any]] = {
    "rich": {},
    "element": {"atom_label": "element"},
    "element, charge, aromatic": {"atom_label": ("element", "charge", "aromatic")},
    "rich, chirality": {"atom_label": (*RICH, "chirality")},
    "rich, ring": {"atom_label": (*RICH, "ring")},
    "hydrogens as nodes": {"explicit_hydrogens": True},
    "bond stereo": {"bond_label": ("order", "stereo")},
    "largest fragment": {"fragments": "largest"},
}
ESTIMATORS = {
    ("fingerprint", "regression"): FingerprintRegressor(),
    ("fingerprint", "classification"): FingerprintClassifier(),
    ("lofi", "regression"): LoFIRegressor(n_members=1, counts=False),
    ("lofi", "classification"): LoFIClassifier(n_members=1, counts=False),
}


@cache
def load(name: str) -> tuple[list[str], np.ndarray]:
    """Molecules that can be read, and their first target."""
    table = pd.read_csv(Path(os.environ["SKLOFI_DATA"]) / "moleculenet" / f"{name}.csv")
    smiles, y = table["smiles"], table.iloc[:, 1].to_numpy()
    missing = GraphSet.from_molecules(smiles, on_invalid="nan").missing | np.isnan(y)
    return smiles[~missing].tolist(), y[~missing]


def run(name: str, method: str, variant: str, seed: int) -> dict[str, float]:
    smiles, y = load(name)
    graphs = GraphSet.from_molecules(smiles, **VARIANTS[variant])
    order = np.random.RandomState(seed).permutation(len(y))
    train, validation, _ = np.split(order, [int(0.8 * len(y)), int(0.9 * len(y))])
    estimator = ESTIMATORS[method, SETS[name]]
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of labels that training has not seen
        estimator.fit(graphs[train], y[train])
        if SETS[name] == "regression":
            predicted = estimator.predict(graphs[validation])
            score = root_mean_squared_error(y[validation], predicted)
        else:
            predicted = estimator.predict_proba(graphs[validation])[:, 1]
            score = roc_auc_score(y[validation], predicted)
    seconds = time.process_time() - start
    return {"validation": round(float(score), 4), "seconds": round(seconds, 2)}


def tasks(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for seed in arguments.seeds:
        for method in ("fingerprint", "lofi"):
            for name in arguments.sets:
                for variant in VARIANTS:
                    yield {"set": name, "method": method, "variant": variant, "seed": seed}


def records() -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def print_table() -> None:
    """Mean over the seeds that all variants have, and the standard error of the differences."""
    frame = pd.DataFrame(records())
    for (method, name), rows in frame.groupby(["method", "set"], sort=False):
        scores = rows.pivot(index="seed", columns="variant", values="validation").dropna()
        if "rich" not in scores or len(scores) == 0:
            continue
        print(f"{method}, {name}, {len(scores)} splits; less rich")
        for variant in filter(scores.columns.__contains__, VARIANTS):
            difference = scores[variant] - scores["rich"]
            mean, error = difference.mean(), difference.sem() if len(scores) > 1 else np.nan
            print(f"  {variant:28s}{scores[variant].mean():8.3f}  {mean:+.3f} ± {error:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="run", choices=("run", "table"))
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.what == "table":
        return print_table()
    for task in tasks(arguments):
        if not any(task.items() <= record.items() for record in records()):
            result = task | run(task["set"], task["method"], task["variant"], task["seed"])
            with RESULTS.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(result, flush=True)


if __name__ == "__main__":
    main()
