"""Does other code give the same predictions, to the last bit?

``python -m benchmarks.same_predictions write FILE`` fits all estimators with fixed seeds on three
data sets and keeps what they say; run it on the code before and after a change of shape, with one
thread. ``python -m benchmarks.same_predictions compare BEFORE AFTER`` lists what differs and
exits with 1 if anything does. The data sets are in the folder that SKLOFI_DATA names.
"""

import os
import sys
import warnings

import numpy as np
import torch

from sklofi import (
    GraphKernelSVC,
    GraphKernelSVR,
    GraphSet,
    LoFIClassifier,
    LoFIRegressor,
    WLVectorizer,
    baselines,
    kernels,
)
from sklofi.datasets import fetch_tu, fetch_zinc

PUBLISHED_LOFI = {
    **{"distances": False, "edge_label": None, "max_ring": 0},
    **{"n_members": 1, "counts": False, "patience": 30},
}

N_GRAPHS = 200
N_TRAIN = 150

KERNELS = ("wl", "wl-oa", "vertex-histogram", "shortest-path", "random-walk")

# Ways to configure LoFI beyond its defaults.
LOFI = {
    "": {},
    " intersection": {"kernel": "intersection", "pooling": "max", "readout": "last"},
    " radius 2": {"radius": 2, "pooling": "mean", "dropout": 0.1, "n_layers": 2},
    " not stopped": {"early_stopping": False, "weight_decay": 0.01},
}


def data_sets():
    """Graphs, targets, and whether these are classes, by the name of the set."""
    for name in ("MUTAG", "PTC_MR"):
        graphs, y = fetch_tu(name, return_X_y=True)
        order = np.random.RandomState(0).permutation(len(y))[:N_GRAPHS]
        yield name, [graphs[i] for i in order], y[order], True
    graphs, y = fetch_zinc(return_X_y=True)
    yield "ZINC", graphs[:N_GRAPHS], y[:N_GRAPHS], False


def estimators(is_classification):
    """All estimators for a task, by name."""
    task = "Classifier" if is_classification else "Regressor"
    lofi, machine = (
        (LoFIClassifier, GraphKernelSVC) if is_classification else (LoFIRegressor, GraphKernelSVR)
    )
    network = {"max_epochs": 6, "random_state": 0, "device": "cpu"}
    for name, parameters in LOFI.items():
        yield f"LoFI{task}{name}", published(lofi(**network, **parameters))
    for name in sorted(baselines.__all__):
        if name.endswith(task):
            kind = getattr(baselines, name)
            is_network = "max_epochs" in kind().get_params()
            yield name, kind(**network) if is_network else kind()
    for name in KERNELS:
        yield f"{machine.__name__} {name}", without_bonds(machine(kernel=name, n_iter=3))
    if is_classification:
        calibrated = GraphKernelSVC(probability=True, random_state=0)
        yield "GraphKernelSVC calibrated", without_bonds(calibrated)
        balanced = LoFIClassifier(**network, class_weight="balanced")
        yield "LoFIClassifier balanced", published(balanced)


def published(lofi):
    """The network without relations, also in versions that have no others."""
    names = PUBLISHED_LOFI.keys() & lofi.get_params().keys()
    return lofi.set_params(**{name: PUBLISHED_LOFI[name] for name in names})


def without_bonds(estimator):
    """Let it ignore edge labels, as former versions did that had no such parameter."""
    has_parameter = "edge_label" in estimator.get_params()
    return estimator.set_params(edge_label=None) if has_parameter else estimator


def vectorizers():
    yield "WLVectorizer", without_bonds(WLVectorizer(normalize=True))
    for name in sorted(kernels.__all__):
        if name.endswith("Vectorizer"):
            vectorizer = getattr(kernels, name)()
            yield name, vectorizer if "Fingerprint" in name else without_bonds(vectorizer)


def said(estimator, X):
    """What a fitted estimator says of graphs, by method."""
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(estimator, method):
            values = getattr(estimator, method)(X)
            yield method, values.toarray() if hasattr(values, "toarray") else np.asarray(values)


def write(path):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = {}
    for data, graphs, y, is_classification in data_sets():
        for name, estimator in estimators(is_classification):
            estimator.fit(graphs[:N_TRAIN], y[:N_TRAIN])
            for method, values in said(estimator, graphs[N_TRAIN:]):
                found[f"{data}, {name}, {method}"] = values
            print(data, name, flush=True)
        as_set = GraphSet.from_networkx(graphs)
        for name, vectorizer in vectorizers():
            found[f"{data}, {name}, fit_transform"] = vectorizer.fit_transform(as_set).toarray()
    np.savez_compressed(path, **found)


def compare(before, after):
    """The number of outputs that differ, which are listed."""
    before, after = np.load(before), np.load(after)
    differing = 0
    for name in sorted({*before.files, *after.files}):
        if name not in after.files or name not in before.files:
            print(f"only {'before' if name in before.files else 'after'}: {name}")
        elif not np.array_equal(before[name], after[name]):
            differing += 1
            print(f"differs: {name}")
    print(f"{len(before.files)} outputs before, {len(after.files)} after, {differing} differ")
    return differing


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    if command == "write":
        write(*paths)
    else:
        sys.exit(os.EX_OK if compare(*paths) == 0 else 1)
