"""Molecules: LoFI beside other networks, kernels, fingerprints and chemprop; scores and costs.

SKLOFI_DATA=folder python -m benchmarks.bench_molecules [--sets ESOL ...] [--methods LoFI ...]
python -m benchmarks.bench_molecules --tables

Six sets of MoleculeNet, three random and three scaffold splits of each: a fifth of the molecules,
or of the scaffolds, is the test part. All methods have their defaults and one thread. LoFI and GIN
stop early on parts of the training molecules; in scaffold splits no scaffold is on both sides of
these (`groups`). chemprop 2.3 has its command line's defaults (50 epochs, batches of 64, the best
epoch on a tenth of the training molecules) and is left out where it is not installed. The score
is the RMSE of numbers and the area under the ROC curve of classes. Molecules that RDKit cannot
read, and rows without a target, are left out for all. Every fit is appended to
results/molecules.jsonl at once; what is there is not run again.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score, root_mean_squared_error
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from sklofi import (
    FingerprintClassifier,
    FingerprintRegressor,
    GraphKernelSVC,
    GraphKernelSVR,
    GraphSet,
    LoFIClassifier,
    LoFIRegressor,
)
from sklofi.baselines import GINClassifier, GINRegressor
from sklofi.datasets import fetch_moleculenet
from sklofi.graphs import scaffold_groups

RESULTS = Path(__file__).parent / "results" / "molecules.jsonl"
TARGETS = {  # of each set its target, and whether it is a class
    "ESOL": (None, False),
    "Lipophilicity": (None, False),
    "BBBP": (None, True),
    "BACE": (None, True),
    "ClinTox": ("CT_TOX", True),
    "Tox21": ("NR-AhR", True),
}
SPLITS = ("random", "scaffold")
N_SEEDS = 3


@cache
def load(name: str) -> tuple[np.ndarray, GraphSet, np.ndarray, np.ndarray]:
    """SMILES, the same as graphs, targets and scaffolds."""
    target, is_class = TARGETS[name]
    smiles, y = fetch_moleculenet(name, target=target, return_X_y=True)
    smiles, y = np.asarray(smiles, dtype=object), np.asarray(y, dtype=float).reshape(-1)
    graphs = GraphSet.from_molecules(smiles, on_invalid="nan")
    rows = np.flatnonzero(~graphs.missing & np.isfinite(y))
    y = y[rows].astype(int) if is_class else y[rows]
    return smiles[rows], GraphSet.from_molecules(smiles[rows]), y, scaffold_groups(smiles[rows])


def split(name: str, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from, and rows of the test."""
    _, _, y, groups = load(name)
    splitter = ShuffleSplit if kind == "random" else GroupShuffleSplit
    return next(splitter(1, test_size=0.2, random_state=seed).split(y, y, groups))


def fit_network(classifier: type, regressor: type, **parameters: Any) -> Callable[..., np.ndarray]:
    """A method that trains a network of sklofi on graphs."""

    def run(name: str, kind: str, seed: int) -> np.ndarray:
        _, X, y, groups = load(name)
        training, test = split(name, kind, seed)
        estimator = (classifier if TARGETS[name][1] else regressor)(**parameters, random_state=seed)
        inside = {"groups": groups[training]} if kind == "scaffold" else {}
        return scores_of(estimator.fit(X[training], y[training], **inside), X[test])

    return run


def fit_counts(classifier: type, regressor: type, **parameters: Any) -> Callable[..., np.ndarray]:
    """A method that fits a machine of sklofi to graphs."""

    def run(name: str, kind: str, seed: int) -> np.ndarray:
        _, X, y, _ = load(name)
        training, test = split(name, kind, seed)
        estimator = (classifier if TARGETS[name][1] else regressor)(**parameters)
        return scores_of(estimator.fit(X[training], y[training]), X[test])

    return run


def scores_of(estimator: Any, X: Any) -> np.ndarray:
    """Decisions of a classifier, predictions of a regressor."""
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(X)[:, 1]
    return estimator.predict(X)


def fit_forest(name: str, kind: str, seed: int) -> np.ndarray:
    """ECFP4 and 500 trees."""
    from rdkit import Chem
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    smiles, _, y, _ = load(name)
    training, test = split(name, kind, seed)
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    X = np.array([generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles])
    forest = RandomForestClassifier if TARGETS[name][1] else RandomForestRegressor
    return scores_of(forest(500, random_state=seed).fit(X[training], y[training]), X[test])


def fit_chemprop(name: str, kind: str, seed: int) -> np.ndarray:
    """The network of chemprop, as its command line trains it."""
    from chemprop import data, featurizers, models, nn
    from lightning import pytorch as lightning
    from lightning.pytorch.callbacks import ModelCheckpoint

    smiles, _, y, groups = load(name)
    training, test = split(name, kind, seed)
    splitter = ShuffleSplit if kind == "random" else GroupShuffleSplit
    inner = next(
        splitter(1, test_size=0.1, random_state=seed).split(training, None, groups[training])
    )
    lightning.seed_everything(seed, verbose=False)
    featurizer = featurizers.SimpleMoleculeMolGraphFeaturizer()
    sets = [
        data.MoleculeDataset(
            [data.MoleculeDatapoint.from_smi(smiles[i], [float(y[i])]) for i in rows], featurizer
        )
        for rows in (*(training[part] for part in inner), test)
    ]
    if TARGETS[name][1]:
        predictor = nn.BinaryClassificationFFN()
    else:
        scaler = sets[0].normalize_targets()
        sets[1].normalize_targets(scaler)
        predictor = nn.RegressionFFN(
            output_transform=nn.UnscaleTransform.from_standard_scaler(scaler)
        )
    loaders = [
        data.build_dataloader(part, batch_size=64, num_workers=0, shuffle=i == 0)
        for i, part in enumerate(sets)
    ]
    model = models.MPNN(nn.BondMessagePassing(), nn.NormAggregation(), predictor, batch_norm=False)
    with tempfile.TemporaryDirectory() as folder:
        best = ModelCheckpoint(folder, monitor="val_loss", mode="min")
        trainer = lightning.Trainer(
            accelerator="cpu",
            max_epochs=50,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[best],
        )
        trainer.fit(model, loaders[0], loaders[1])
        model = models.MPNN.load_from_checkpoint(best.best_model_path)
        return torch.cat(trainer.predict(model, loaders[2])).numpy().reshape(-1)


METHODS: dict[str, Callable[[str, str, int], np.ndarray]] = {
    "LoFI": fit_network(LoFIClassifier, LoFIRegressor),
    "LoFI, one network": fit_network(LoFIClassifier, LoFIRegressor, n_members=1, counts=False),
    "GIN": fit_network(GINClassifier, GINRegressor, edge_label="label"),
    "WL-OA": fit_counts(GraphKernelSVC, GraphKernelSVR, kernel="wl-oa"),
    "Fingerprint": fit_counts(FingerprintClassifier, FingerprintRegressor),
    "ECFP4, 500 trees": fit_forest,
    "chemprop": fit_chemprop,
}


def run(name: str, kind: str, seed: int, method: str) -> dict[str, Any]:
    _, _, y, _ = load(name)
    _, test = split(name, kind, seed)
    start = time.process_time()
    predicted = METHODS[method](name, kind, seed)
    seconds = time.process_time() - start
    score = roc_auc_score if TARGETS[name][1] else root_mean_squared_error
    return {
        "set": name,
        "split": kind,
        "seed": seed,
        "method": method,
        "score": round(float(score(y[test], predicted)), 5),
        "cpu_seconds": round(seconds, 2),
    }


def read_results() -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def print_tables() -> None:
    """Mean scores and CPU seconds, of the splits that are there."""
    records = read_results()
    for kind in SPLITS:
        print(f"\n| {kind} splits | " + " | ".join(TARGETS) + " |\n|" + "---|" * (1 + len(TARGETS)))
        for method in METHODS:
            cells = []
            for name in TARGETS:
                key = {"set": name, "split": kind, "method": method}
                found = [r for r in records if key.items() <= r.items()]
                mean = np.mean([r["score"] for r in found]) if found else np.nan
                cost = np.mean([r["cpu_seconds"] for r in found]) if found else np.nan
                few = f", {len(found)} of {N_SEEDS}" if 0 < len(found) < N_SEEDS else ""
                cells.append(f"{mean:.3f} ({cost:.0f} s{few})" if found else "")
            print(f"| {method} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(N_SEEDS)))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--tables", action="store_true", help="only print what is there")
    arguments = parser.parse_args()
    if arguments.tables:
        print_tables()
        return
    torch.set_num_threads(1)
    for name in arguments.sets:
        for seed in arguments.seeds:
            for kind in arguments.splits:
                for method in arguments.methods:
                    task = {"set": name, "split": kind, "seed": seed, "method": method}
                    if any(task.items() <= record.items() for record in read_results()):
                        continue
                    try:
                        record = run(name, kind, seed, method)
                    except ModuleNotFoundError as error:
                        print(f"{method} is left out: {error}")
                        continue
                    with RESULTS.open("a") as file:
                        file.write(json.dumps(record) + "\n")
                    print(record, flush=True)


if __name__ == "__main__":
    main()
