"""What closes the gap between LoFI and kernels on small sets: one change at a time, cross-fitted.

SKLOFI_DATA=folder/with/zips python -m benchmarks.study nets [--sets MUTAG ...] [--variants ...]
SKLOFI_DATA=folder/with/zips python -m benchmarks.study counts [--sets MUTAG ...]
python -m benchmarks.study tables

The graphs outside the test part of a fold are cut into ten parts. A network is trained on all of
them but one, which stops it early and is predicted by it, so that ten networks predict every graph
once. What counts is the loss of these predictions: accuracies of a part decide nothing. Test
graphs are predicted as well, by the mean of the networks; nothing is chosen by them. Of the larger
sets only some of the ten parts are left out (`N_MEMBERS`).

`nets` trains networks, `counts` linear machines on counts of colors, over a path of strengths.
Outputs are kept in results/study, one file for each fit; what is there is not run again. `tables`
prints losses, paired with those of the default, and what networks and counts give together.
"""

import argparse
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from skorch.callbacks import Callback
from torch import nn

from benchmarks import protocol
from benchmarks.bench_relations import one_cycle
from benchmarks.data import read_tu, with_bonds
from sklofi import GraphSet, LoFIClassifier, WLVectorizer
from sklofi.kernels import FingerprintVectorizer

FOLDER = Path(__file__).parent / "results" / "study"
SETS = ("MUTAG", "PTC_MR", "ENZYMES", "IMDB-BINARY", "PROTEINS", "IMDB-MULTI", "NCI1")
N_PARTS = 10
PATIENCES = (5, 10, 15, 20)  # what less patience would have given is known from the losses
N_MEMBERS = {"PROTEINS": 5, "IMDB-MULTI": 5, "NCI1": 3}  # of the ten parts, those left out

# What is changed of the default, and how the network is trained.
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "published": {"distances": False, "edge_label": None, "max_ring": 0},
    "no rings": {"max_ring": 0},
    "structure": {"structure": ("degree", "triangles")},
    "2 layers": {"n_layers": 2},
    "3 layers": {"n_layers": 3},
    "8 masks": {"n_masks": 8},
    "32 masks": {"n_masks": 32},
    "mean": {"pooling": "mean"},
    "intersection": {"kernel": "intersection"},
    "lr 0.002": {"lr": 0.002},
    "weight decay 0.1": {"weight_decay": 0.1},
    "weight decay 1": {"weight_decay": 1.0},
    "dropout 0.2": {"dropout": 0.2},
    "one cycle, 20": {"lr": 0.01, "max_epochs": 20, "one_cycle": True},
    "one cycle, 40": {"lr": 0.01, "max_epochs": 40, "one_cycle": True},
    "one cycle, 80": {"lr": 0.01, "max_epochs": 80, "one_cycle": True},
    "label smoothing 0.1": {"label_smoothing": 0.1},
    "head dropout 0.5": {"head_dropout": 0.5},
}


class Trial(LoFIClassifier):
    """A classifier with what is tried here and is not in the library."""

    label_smoothing = 0.0
    head_dropout = 0.0

    def _build_net(self, training: Any, random_state: Any) -> None:
        super()._build_net(training, random_state)
        if self.label_smoothing:
            criterion = nn.CrossEntropyLoss(reduction="none", label_smoothing=self.label_smoothing)
            plain = self.net_.criterion_
            self.net_.criterion_ = _InTraining(self.net_, criterion, plain)
        if self.head_dropout:
            module = self.net_.module_
            module.hidden.register_forward_pre_hook(
                lambda _, inputs: nn.functional.dropout(
                    inputs[0], self.head_dropout, training=module.training
                )
            )


class RecordOutputs(Callback):
    """Records the outputs for held-out graphs in the history, epoch by epoch."""

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        self.batches: list[np.ndarray] = []

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        if not training:
            self.batches.append(kwargs["y_pred"].detach().numpy())

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        net.history.record("outputs", np.concatenate(self.batches))


class _InTraining(nn.Module):
    """One loss in training, another in validation."""

    def __init__(self, net: Any, training: nn.Module, validation: nn.Module) -> None:
        super().__init__()
        self.net = [net]
        self.losses = training, validation

    def forward(self, y_pred: Any, y_true: Any) -> Any:
        return self.losses[0 if self.net[0].module_.training else 1](y_pred, y_true)


@cache
def load(name: str) -> tuple[GraphSet, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Graphs, classes, and the rows of each fold: those to learn from, and those of the test."""
    if name in protocol.CLASSIFICATION:
        X, y, splits = protocol.load(name)
        return X, y, [(np.sort(np.concatenate(rows[:2])), rows[2]) for rows in splits]
    graphs, y = read_tu(name, edge_labels=True)
    splitter = StratifiedKFold(10, shuffle=True, random_state=0)
    return with_bonds(graphs), y, list(splitter.split(y, y))


def parts_of(y: np.ndarray, fold: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(StratifiedKFold(N_PARTS, shuffle=True, random_state=fold).split(y, y))


def log_odds(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probabilities, 1e-12))


def fit_net(name: str, fold: int, variant: str, member: int) -> dict[str, Any]:
    X, y, splits = load(name)
    rows, test = splits[fold]
    training, held_out = (rows[part] for part in parts_of(y[rows], fold)[member])
    settings = dict(VARIANTS[variant])
    tried = {k: settings.pop(k) for k in ("label_smoothing", "head_dropout") if k in settings}
    recorder = RecordOutputs()
    settings["callbacks"] = [recorder]
    if settings.pop("one_cycle", False):
        settings["patience"] = settings["max_epochs"]
        settings["callbacks"] += one_cycle(len(training), {"batch_size": 32, **settings})
    classifier = Trial(**settings, n_members=1, counts=False, random_state=100 * fold + member)
    for attribute, value in tried.items():
        setattr(classifier, attribute, value)
    start = time.process_time()
    classifier.fit(X[training], y[training], X_val=X[held_out], y_val=y[held_out])
    seconds = time.process_time() - start
    return {
        "rows": held_out,
        "epochs": np.array([row["outputs"] for row in classifier.history_]),
        "test": log_odds(classifier.predict_proba(X[test])),
        "train_loss": classifier.history_[:, "train_loss"][-1],
        "n_epochs": classifier.n_epochs_,
        "cpu_seconds": seconds,
    }


STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
COUNTS: dict[str, Any] = {
    "fingerprint 2": FingerprintVectorizer(2, unary=True),
    "wl 2": WLVectorizer(2, unary=True),
    "wl 4": WLVectorizer(4, unary=True),
    "wl 2, rings": WLVectorizer(2, max_ring=8, unary=True),
    "wl 3, rings": WLVectorizer(3, max_ring=8, unary=True),
    "wl 4, rings": WLVectorizer(4, max_ring=8, unary=True),
    "wl 3, rings, linear": WLVectorizer(3, max_ring=8),
    "wl 3, rings, unit norm": WLVectorizer(3, max_ring=8, unary=True, normalize=True),
}


def fit_counts(name: str, fold: int, counts: str) -> dict[str, Any]:
    X, y, splits = load(name)
    rows, test = splits[fold]
    start = time.process_time()
    vectorizer = COUNTS[counts]
    features = sp.csr_array(vectorizer.fit_transform(X[rows]))
    scale = np.sqrt(features.power(2).sum(axis=1).mean())
    features, test_features = features / scale, sp.csr_array(vectorizer.transform(X[test])) / scale
    held_out = np.zeros((len(STRENGTHS), len(rows), len(np.unique(y))))
    for training, part in parts_of(y[rows], fold):
        for i, probabilities in enumerate(
            path(features[training], y[rows[training]], features[part])
        ):
            held_out[i, part] = log_odds(probabilities)
    on_test = log_odds(np.array(list(path(features, y[rows], test_features))))
    return {
        "held_out": held_out,
        "test": on_test,
        "cpu_seconds": time.process_time() - start,
    }


def path(features: Any, y: np.ndarray, others: Any) -> Any:
    """Yield the probabilities of other graphs for one strength after the other."""
    machine = LogisticRegression(max_iter=100, tol=1e-5, warm_start=True)
    for strength in STRENGTHS:
        yield machine.set_params(C=strength).fit(features, y).predict_proba(others)


def file_of(*task: Any) -> Path:
    return FOLDER / ("--".join(map(str, task)) + ".npz")


def run(function: Any, *task: Any) -> None:
    path = file_of(*task)
    if path.exists():
        return
    FOLDER.mkdir(exist_ok=True)
    result = function(*task)
    unfinished = path.with_suffix(".tmp.npz")
    np.savez(unfinished, **result)
    unfinished.rename(path)
    print(*task, f"{result['cpu_seconds']:.1f} s", flush=True)


def losses(outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The log loss of each graph, for log-odds of the classes 0, 1, ..."""
    return -log_softmax(outputs, axis=-1)[..., np.arange(len(y)), y]


def n_epochs_run(curve: np.ndarray, patience: int) -> int:
    """How many epochs a training would have had with less patience, given its losses."""
    best, misses = np.inf, 0
    for epoch, loss in enumerate(curve, start=1):
        misses = 0 if loss < best - 1e-4 else misses + 1
        best = min(best, loss)
        if misses >= patience:
            return epoch
    return len(curve)


def read_nets(
    name: str, fold: int, variant: str, y: np.ndarray, patience: int | None = None
) -> dict[str, Any] | None:
    """Held-out rows and the log losses of all networks there, and their mean test outputs.

    A network that is stopped by a few graphs is too good on them. So all have the losses of the
    same epoch, which is the best for all of them together.
    """
    files = [file_of(name, fold, variant, member) for member in range(N_MEMBERS.get(name, N_PARTS))]
    if not all(path.exists() for path in files):
        return None
    fits = [dict(np.load(path)) for path in files]
    by_epoch = [losses(fit["epochs"], y[fit["rows"]]) for fit in fits]
    n_all = np.array([len(epochs) for epochs in by_epoch])
    if patience is not None:
        stops = [n_epochs_run(epochs.mean(axis=1), patience) for epochs in by_epoch]
        by_epoch = [epochs[:stop] for epochs, stop in zip(by_epoch, stops, strict=True)]
    n_epochs = np.array([len(epochs) for epochs in by_epoch])
    alike = np.hstack(
        [np.pad(e, ((0, n_epochs.max() - len(e)), (0, 0)), mode="edge") for e in by_epoch]
    )
    seconds = np.array([float(fit["cpu_seconds"]) for fit in fits])
    return {
        "losses": alike[alike.mean(axis=1).argmin()],
        "test": np.mean([fit["test"] for fit in fits], axis=0),
        "n_epochs": n_epochs.mean(),
        "cpu_seconds": (seconds * n_epochs / n_all).mean(),
        "is_whole": patience is None,
    }


def print_nets(name: str, fold: int) -> None:
    """Losses of the variants, and differences to the default, graph by graph."""
    _, y, splits = load(name)
    codes = np.unique(y, return_inverse=True)[1]
    test = splits[fold][1]
    default = read_nets(name, fold, "default", codes)
    cases = [("default", patience) for patience in PATIENCES]
    for variant, patience in [*((variant, None) for variant in VARIANTS), *cases]:
        fits = read_nets(name, fold, variant, codes, patience)
        if fits is None or default is None:
            continue
        difference = fits["losses"] - default["losses"]
        error = difference.std() / np.sqrt(len(difference))
        title = variant if patience is None else f"patience {patience}"
        print(
            f"{name:12} {title:20} loss {fits['losses'].mean():.4f}"
            f" ({difference.mean():+.4f} ± {error:.4f});"
            f" {fits['n_epochs']:.0f} epochs, {fits['cpu_seconds']:.1f} s a net",
            end="",
        )
        if fits["is_whole"]:
            on_test = losses(fits["test"], codes[test]).mean()
            accuracy = (fits["test"].argmax(axis=1) == codes[test]).mean()
            print(f"; test, all nets: loss {on_test:.4f}, accuracy {accuracy:.3f}", end="")
        print()


def print_counts(name: str, fold: int) -> None:
    """Losses of counts with the best strength."""
    _, y, splits = load(name)
    codes = np.unique(y, return_inverse=True)[1]
    rows, test = splits[fold]
    for counts in COUNTS:
        path = file_of(name, fold, counts)
        if not path.exists():
            continue
        fit = np.load(path)
        means = [losses(outputs, codes[rows]).mean() for outputs in fit["held_out"]]
        best = int(np.argmin(means))
        accuracy = (fit["held_out"][best].argmax(axis=1) == codes[rows]).mean()
        on_test = losses(fit["test"][best], codes[test]).mean()
        test_accuracy = (fit["test"][best].argmax(axis=1) == codes[test]).mean()
        print(
            f"{name:12} {counts:20} C {STRENGTHS[best]:g}, loss {means[best]:.4f}, accuracy"
            f" {accuracy:.3f}; test: loss {on_test:.4f}, accuracy {test_accuracy:.3f};"
            f" {float(fit['cpu_seconds']):.1f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("nets", "counts", "tables"))
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--folds", nargs="*", type=int, default=[0])
    arguments = parser.parse_args()
    for fold in arguments.folds:
        if arguments.what == "nets":
            for variant in arguments.variants:
                for name in arguments.sets:
                    for member in range(N_MEMBERS.get(name, N_PARTS)):
                        run(fit_net, name, fold, variant, member)
        elif arguments.what == "counts":
            for name in arguments.sets:
                for counts in COUNTS:
                    run(fit_counts, name, fold, counts)
        else:
            for name in arguments.sets:
                print_nets(name, fold)
                print_counts(name, fold)


if __name__ == "__main__":
    main()
