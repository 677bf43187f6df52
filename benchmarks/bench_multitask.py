"""Several labels at once: one LoFI for all of Tox21, a LoFI for each label, and chemprop.

SKLOFI_DATA=folder python -m benchmarks.bench_multitask [--splits random ...] [--methods ...]
python -m benchmarks.bench_multitask --tables

Tox21 has twelve assays, and a sixth of their results are missing. Three random and three scaffold
splits; a fifth of the molecules, or of the scaffolds, is the test part. Methods "for all" learn
all labels together, those "for each" one label after the other, from the molecules of which it is
known. The score is the mean over labels of the area under the ROC curve, over what is known.
Networks, splits and chemprop are as in bench_molecules. With --limit N, only N molecules take part;
their records are apart. Every fit is appended to results/multitask.jsonl at once; what is there is
not run again.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from sklofi import GraphSet, LoFIClassifier
from sklofi.datasets import fetch_moleculenet
from sklofi.graphs import scaffold_groups

RESULTS = Path(__file__).parent / "results" / "multitask.jsonl"
SPLITS = ("random", "scaffold")
N_SEEDS = 3


class Molecules(NamedTuple):
    """SMILES, the same as graphs, a table of labels with NaN, and scaffolds."""

    smiles: np.ndarray
    graphs: GraphSet
    y: np.ndarray
    groups: np.ndarray

    def take(self, rows: np.ndarray) -> "Molecules":
        return Molecules(self.smiles[rows], self.graphs[rows], self.y[rows], self.groups[rows])


@cache
def load(limit: int | None) -> Molecules:
    smiles, y = fetch_moleculenet("Tox21", return_X_y=True)
    smiles, y = np.asarray(smiles, dtype=object), np.asarray(y, dtype=float)
    graphs = GraphSet.from_molecules(smiles, on_invalid="nan")
    rows = np.flatnonzero(~graphs.missing & ~np.isnan(y).all(axis=1))
    if limit is not None and limit < len(rows):
        rows = np.sort(np.random.default_rng(0).choice(rows, limit, replace=False))
    smiles = smiles[rows]
    return Molecules(smiles, GraphSet.from_molecules(smiles), y[rows], scaffold_groups(smiles))


def parts_of(y: np.ndarray, groups: np.ndarray, kind: str, share: float, seed: int) -> Any:
    splitter = ShuffleSplit if kind == "random" else GroupShuffleSplit
    return next(splitter(1, test_size=share, random_state=seed).split(y, y, groups))


def fit_lofi(estimator: LoFIClassifier, data: Molecules, y: np.ndarray, kind: str) -> Any:
    """Early stopping shares no scaffold with training where the test does not."""
    inside = {"groups": data.groups} if kind == "scaffold" else {}
    return clone(estimator).fit(data.graphs, y, **inside)


def for_all(**parameters: Any) -> Callable[..., np.ndarray]:
    def run(training: Molecules, test: Molecules, kind: str, seed: int) -> np.ndarray:
        estimator = LoFIClassifier(**parameters, random_state=seed)
        return fit_lofi(estimator, training, training.y, kind).decision_function(test.graphs)

    return run


def for_each(**parameters: Any) -> Callable[..., np.ndarray]:
    def run(training: Molecules, test: Molecules, kind: str, seed: int) -> np.ndarray:
        estimator = LoFIClassifier(**parameters, random_state=seed)
        decisions = np.zeros(test.y.shape)
        for column in range(training.y.shape[1]):
            known = training.take(np.flatnonzero(~np.isnan(training.y[:, column])))
            y = known.y[:, column].astype(int)
            if len(np.unique(y)) == 2:  # otherwise, of few molecules, there is nothing to learn
                fitted = fit_lofi(estimator, known, y, kind)
                decisions[:, column] = fitted.decision_function(test.graphs)
        return decisions

    return run


def fit_chemprop(training: Molecules, test: Molecules, kind: str, seed: int) -> np.ndarray:
    """The network of chemprop, as its command line trains it; it takes NaN as missing."""
    from chemprop import data, featurizers, models, nn
    from lightning import pytorch as lightning
    from lightning.pytorch.callbacks import ModelCheckpoint

    inner = parts_of(training.y, training.groups, kind, 0.1, seed)
    lightning.seed_everything(seed, verbose=False)
    featurizer = featurizers.SimpleMoleculeMolGraphFeaturizer()
    sets = [
        data.MoleculeDataset(
            [
                data.MoleculeDatapoint.from_smi(text, row)
                for text, row in zip(part.smiles, part.y, strict=True)
            ],
            featurizer,
        )
        for part in (*(training.take(rows) for rows in inner), test)
    ]
    loaders = [
        data.build_dataloader(part, batch_size=64, num_workers=0, shuffle=i == 0)
        for i, part in enumerate(sets)
    ]
    predictor = nn.BinaryClassificationFFN(n_tasks=training.y.shape[1])
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
        return torch.cat(trainer.predict(model, loaders[2])).numpy()


ONE = {"n_members": 1, "counts": False}
METHODS: dict[str, Callable[..., np.ndarray]] = {
    "LoFI for all": for_all(),
    "LoFI for each": for_each(),
    "LoFI for all, one network": for_all(**ONE),
    "LoFI for each, one network": for_each(**ONE),
    "chemprop for all": fit_chemprop,
}


def score_of(y: np.ndarray, decisions: np.ndarray) -> float:
    """Mean over labels of the area under the ROC curve; labels of one known class are left out."""
    areas = []
    for column, values in zip(y.T, decisions.T, strict=True):
        known = ~np.isnan(column)
        if len(np.unique(column[known])) == 2:
            areas.append(roc_auc_score(column[known], values[known]))
    return float(np.mean(areas))


def run(task: dict[str, Any]) -> dict[str, Any]:
    data = load(task["limit"])
    rows = parts_of(data.y, data.groups, task["split"], 0.2, task["seed"])
    training, test = (data.take(part) for part in rows)
    start = time.process_time()
    decisions = METHODS[task["method"]](training, test, task["split"], task["seed"])
    seconds = time.process_time() - start
    score = score_of(test.y, decisions)
    return {**task, "score": round(score, 5), "cpu_seconds": round(seconds, 2)}


def read_results() -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def print_tables(limit: int | None) -> None:
    """Mean scores and CPU seconds, of the splits that are there."""
    records = [record for record in read_results() if record["limit"] == limit]
    print("| | " + " | ".join(f"{kind} splits" for kind in SPLITS) + " |\n|---|---|---|")
    for method in METHODS:
        cells = []
        for kind in SPLITS:
            found = [r for r in records if r["split"] == kind and r["method"] == method]
            mean, cost = (
                np.mean([r[name] for r in found]) if found else np.nan
                for name in ("score", "cpu_seconds")
            )
            few = f", {len(found)} of {N_SEEDS}" if len(found) < N_SEEDS else ""
            cells.append(f"{mean:.3f} ({cost:.0f} s{few})" if found else "")
        print(f"| {method} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(N_SEEDS)))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--limit", type=int, help="number of molecules; by default all")
    parser.add_argument("--tables", action="store_true", help="only print what is there")
    arguments = parser.parse_args()
    if arguments.tables:
        print_tables(arguments.limit)
        return
    torch.set_num_threads(1)
    for seed in arguments.seeds:
        for kind in arguments.splits:
            for method in arguments.methods:
                key = {"split": kind, "seed": seed, "method": method, "limit": arguments.limit}
                if any(key.items() <= record.items() for record in read_results()):
                    continue
                try:
                    record = run(key)
                except ModuleNotFoundError as error:
                    print(f"{method} is left out: {error}")
                    continue
                with RESULTS.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(record, flush=True)


if __name__ == "__main__":
    main()
