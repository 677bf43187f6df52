"""What masks gain from seeing centers, bonds and rings: paired with the published layer.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_relations zinc [--seeds 0 1 2 3 4]
SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_relations folds [--sets MUTAG ...]
SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_relations molecules [--sets ESOL ...]
SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_relations speed [--sets MUTAG ...]
python -m benchmarks.bench_relations tables

`zinc` trains on the official split of ZINC-12k with one cycle of learning rates. Its target is
the logarithm of the octanol-water partition coefficient less a synthetic accessibility score and
a penalty for long cycles, so that it has a term for rings by construction. `folds` uses the folds
and the validation parts of benchmarks.protocol, `molecules` three random splits of SMILES (80, 10
and 10 percent), which rdkit reads. Every finished fit is appended to results/relations.jsonl at
once; what is there is not run again. `tables` prints what is there. `speed` prints CPU seconds of
an epoch, with and without relations, which take turns.
"""

import argparse
import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import log_loss, roc_auc_score

from sklofi import GraphSet, LoFIClassifier, LoFIRegressor

RESULTS = Path(__file__).parent / "results" / "relations.jsonl"

VARIANTS: dict[str, dict[str, Any]] = {
    "published": {"distances": False, "edge_label": None, "max_ring": 0},
    "center": {"edge_label": None, "max_ring": 0},
    "bonds": {"max_ring": 0},
    "bonds and rings": {"max_ring": 8},
    "rings": {"edge_label": None, "max_ring": 8},
    "center, degree and triangles": {"max_ring": 0, "structure": ("degree", "triangles")},
}
ZINC_VARIANTS = ("published", "center", "bonds", "bonds and rings")
FOLD_VARIANTS = {
    "MUTAG": ("published", "center", "bonds", "bonds and rings"),
    "PTC_MR": ("published", "center", "bonds", "bonds and rings"),
    "NCI1": ("published", "center", "rings"),
    "PROTEINS": ("published", "center", "rings", "center, degree and triangles"),
    "IMDB-BINARY": ("published", "center", "rings", "center, degree and triangles"),
    "IMDB-MULTI": ("published", "center", "rings", "center, degree and triangles"),
}
MOLECULE_VARIANTS = ("published", "center", "bonds", "bonds and rings")
MOLECULES = {"ESOL": False, "Lipophilicity": False, "BBBP": True, "BACE": True}
N_SPLITS = 3

# Single networks, with the patience that they were measured with.
SINGLE: dict[str, Any] = {"n_members": 1, "counts": False, "patience": 30}
ZINC = {"n_layers": 5, "n_masks": 32, "batch_size": 128, "lr": 0.01, "max_epochs": 70}


def one_cycle(n_graphs: int, training: dict[str, Any]) -> list[Any]:
    """A learning rate that rises for a fifth of the training and then falls to nothing."""
    from skorch.callbacks import LRScheduler

    n_batches = -(-n_graphs // training["batch_size"])
    cycle = {
        "max_lr": training["lr"],
        "total_steps": 1 + n_batches * training["max_epochs"],
        "pct_start": 0.2,
        "cycle_momentum": False,
    }
    return [LRScheduler(torch.optim.lr_scheduler.OneCycleLR, step_every="batch", **cycle)]


def run_zinc(variant: str, seed: int, more: dict[str, Any]) -> dict[str, Any]:
    X, y, (training, validation, test) = load_zinc()
    settings = {**SINGLE, **ZINC, **more}
    regressor = LoFIRegressor(
        **VARIANTS[variant],
        **{**settings, "patience": settings["max_epochs"]},
        callbacks=one_cycle(len(training), settings),
        random_state=seed,
    )
    start = time.process_time()
    regressor.fit(X[training], y[training], X_val=X[validation], y_val=y[validation])
    seconds = time.process_time() - start
    predictions = {part: regressor.predict(X[rows]) for part, rows in parts(validation, test)}
    errors = {part: np.abs(predictions[part] - y[rows]) for part, rows in parts(validation, test)}
    return {
        "validation": errors["validation"].mean(),
        "largest": errors["validation"].max(),
        "test": errors["test"].mean(),
        "cpu_seconds": seconds,
        "predictions": {part: values.round(3).tolist() for part, values in predictions.items()},
    }


def parts(validation: np.ndarray, test: np.ndarray) -> list[tuple[str, np.ndarray]]:
    return [("validation", validation), ("test", test)]


@cache
def load_zinc() -> tuple[GraphSet, np.ndarray, tuple[np.ndarray, ...]]:
    from benchmarks.protocol import load

    X, y, (rows,) = load("ZINC")
    return X, y, rows


def run_fold(name: str, variant: str, fold: int) -> dict[str, Any]:
    from benchmarks.protocol import load

    X, y, splits = load(name)
    training, validation, test = splits[fold]
    return fit_classifier(X, y, training, validation, test, variant, seed=fold)


def fit_classifier(
    X: GraphSet,
    y: np.ndarray,
    training: np.ndarray,
    validation: np.ndarray,
    test: np.ndarray,
    variant: str,
    seed: int,
) -> dict[str, Any]:
    classifier = LoFIClassifier(**VARIANTS[variant], **SINGLE, random_state=seed)
    start = time.process_time()
    classifier.fit(X[training], y[training], X_val=X[validation], y_val=y[validation])
    seconds = time.process_time() - start
    scores = {}
    for part, rows in parts(validation, test):
        probabilities = classifier.predict_proba(X[rows])
        scores[f"{part} loss"] = log_loss(y[rows], probabilities, labels=classifier.classes_)
        scores[f"{part} accuracy"] = classifier.score(X[rows], y[rows])
        if len(classifier.classes_) == 2:
            scores[f"{part} AUC"] = roc_auc_score(y[rows], probabilities[:, 1])
    return {**scores, "cpu_seconds": seconds}


def run_molecules(name: str, variant: str, split: int) -> dict[str, Any]:
    X, y = load_molecules(name)
    order = np.random.default_rng(split).permutation(len(y))
    n_part = len(y) // 10
    test, validation, training = np.split(order, [n_part, 2 * n_part])
    if MOLECULES[name]:
        return fit_classifier(X, y, training, validation, test, variant, seed=split)
    regressor = LoFIRegressor(**VARIANTS[variant], **SINGLE, random_state=split)
    start = time.process_time()
    regressor.fit(X[training], y[training], X_val=X[validation], y_val=y[validation])
    scores = {"cpu_seconds": time.process_time() - start}
    for part, rows in parts(validation, test):
        error = regressor.predict(X[rows]) - y[rows]
        scores[f"{part} MAE"] = np.abs(error).mean()
        scores[f"{part} RMSE"] = np.sqrt(np.square(error).mean())
    return scores


@cache
def load_molecules(name: str) -> tuple[GraphSet, np.ndarray]:
    """Molecules with rich atoms: element, charge, hydrogens and aromaticity."""
    import os

    import networkx as nx
    import pandas as pd
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")
    table = pd.read_csv(Path(os.environ["SKLOFI_DATA"]) / "moleculenet" / f"{name}.csv")
    molecules = [Chem.MolFromSmiles(text) for text in table.iloc[:, 0]]
    graphs, targets = [], []
    for molecule, target in zip(molecules, table.iloc[:, 1], strict=True):
        if molecule is None or molecule.GetNumAtoms() == 0 or pd.isna(target):
            continue
        graph = nx.Graph()
        for atom in molecule.GetAtoms():
            label = (
                atom.GetSymbol(),
                atom.GetFormalCharge(),
                atom.GetTotalNumHs(),
                atom.GetIsAromatic(),
            )
            graph.add_node(atom.GetIdx(), label=label)
        for bond in molecule.GetBonds():
            ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            graph.add_edge(*ends, label=str(bond.GetBondType()))
        graphs.append(graph)
        targets.append(target)
    return GraphSet.from_networkx(graphs), np.array(targets)


def records() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def append(task: dict[str, Any], result: dict[str, Any]) -> None:
    rounded = {k: round(float(v), 5) if np.isscalar(v) else v for k, v in result.items()}
    with RESULTS.open("a") as file:
        file.write(json.dumps(task | rounded) + "\n")
    print(task, {k: v for k, v in rounded.items() if k != "predictions"}, flush=True)


def is_done(task: dict[str, Any]) -> bool:
    return any(task.items() <= record.items() for record in records())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("zinc", "folds", "molecules", "speed", "tables"))
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--variants", nargs="+")
    parser.add_argument("--seeds", nargs="+", type=int)
    parser.add_argument("--more", type=json.loads, default={}, help="settings of ZINC, as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.what == "tables":
        print_tables()
    if arguments.what == "speed":
        for name in arguments.sets or (*FOLD_VARIANTS, "ZINC"):
            time_epochs(name)
    for task in tasks(arguments):
        if not is_done(task):
            append(task, perform(task))


def tasks(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    what, variants = arguments.what, arguments.variants
    if what == "zinc":
        return [
            {"task": what, "set": "ZINC", "variant": v, "seed": seed, "more": arguments.more}
            for seed in arguments.seeds or range(3)
            for v in variants or ZINC_VARIANTS
        ]
    if what == "folds":
        return [
            {"task": what, "set": name, "variant": v, "seed": fold}
            for name in arguments.sets or FOLD_VARIANTS
            for fold in arguments.seeds or range(10)
            for v in variants or FOLD_VARIANTS[name]
        ]
    if what == "molecules":
        return [
            {"task": what, "set": name, "variant": v, "seed": split}
            for name in arguments.sets or MOLECULES
            for split in arguments.seeds or range(N_SPLITS)
            for v in variants or MOLECULE_VARIANTS
        ]
    return []


def perform(task: dict[str, Any]) -> dict[str, Any]:
    name, variant, seed = task["set"], task["variant"], task["seed"]
    if task["task"] == "zinc":
        return run_zinc(variant, seed, task["more"])
    return (run_fold if task["task"] == "folds" else run_molecules)(name, variant, seed)


def time_epochs(name: str, n_turns: int = 7) -> None:
    """Print the median CPU seconds of an epoch, and the median ratio to the published layer."""
    from benchmarks.protocol import load

    X, y, splits = load(name)
    training = splits[0][0]
    kind = LoFIRegressor if name == "ZINC" else LoFIClassifier
    size = {"n_masks": 32, "batch_size": 128} if name == "ZINC" else {}
    going_on = {"max_epochs": 1, "early_stopping": False, "warm_start": True, "random_state": 0}
    X, y = X[training], y[training]
    variants = ("published", "center", "bonds and rings")
    nets = {v: kind(**VARIANTS[v], **SINGLE, **going_on, **size).fit(X, y) for v in variants}
    seconds: dict[str, list[float]] = {variant: [] for variant in variants}
    for _ in range(n_turns):
        for variant, net in nets.items():
            start = time.process_time()
            net.fit(X, y)
            seconds[variant].append(time.process_time() - start)
    for variant, taken in seconds.items():
        ratio = np.median(np.divide(taken, seconds["published"]))
        print(f"{name}, {variant}: {np.median(taken):.3f} s, ratio {ratio:.2f}", flush=True)


def print_tables() -> None:
    """Print means over folds, splits or seeds, and paired differences to the published layer."""
    found = records()
    for name in dict.fromkeys(record["set"] for record in found):
        of_set = [record for record in found if record["set"] == name]
        groups: dict[str, dict[int, dict[str, Any]]] = {}
        for record in of_set:
            key = record["variant"] + (f" {record['more']}" if record.get("more") else "")
            groups.setdefault(key, {})[record["seed"]] = record
        print(f"\n{name}")
        for variant, fits in groups.items():
            first = next(iter(fits.values()))
            scores = [k for k, v in first.items() if isinstance(v, float)]
            text = ", ".join(describe(fits, groups.get("published", {}), k) for k in scores)
            print(f"  {variant} ({len(fits)}): {text}")
            if "predictions" in first and len(fits) > 1:
                print(f"    mean of {len(fits)} nets: {describe_average(fits)}")


def describe(fits: dict[int, Any], published: dict[int, Any], score: str) -> str:
    values = np.array([record[score] for record in fits.values()])
    text = f"{score} {values.mean():.4g}"
    both = fits.keys() & published.keys()
    if len(both) > 1 and fits is not published and score != "cpu_seconds":
        d = np.array([fits[seed][score] - published[seed][score] for seed in both])
        text += f" ({d.mean():+.4f} ± {d.std(ddof=1) / len(d) ** 0.5:.4f})"
    return text


def describe_average(fits: dict[int, Any]) -> str:
    _, y, (_, validation, test) = load_zinc()
    errors = []
    for part, rows in parts(validation, test):
        mean = np.mean([record["predictions"][part] for record in fits.values()], axis=0)
        errors.append(f"{part} {np.abs(mean - y[rows]).mean():.4f}")
    return ", ".join(errors)


if __name__ == "__main__":
    main()
