"""Learning on graphs for people who think in scikit-learn."""

import os
from importlib import import_module
from typing import Any

from sklofi.graphs import GraphSet
from sklofi.storage import brief, read_file

__version__ = "0.1.0.dev0"

__all__ = [
    "GraphKernelSVC",
    "GraphKernelSVR",
    "GraphSet",
    "LoFIClassifier",
    "LoFIRegressor",
    "WLVectorizer",
    "compare",
    "load",
]

# Imported on first use, so that graphs and data sets do not wait for torch.
_LAZY = {
    "GraphKernelSVC": "sklofi.kernels",
    "GraphKernelSVR": "sklofi.kernels",
    "LoFIClassifier": "sklofi.estimators",
    "LoFIRegressor": "sklofi.estimators",
    "WLVectorizer": "sklofi.kernels",
    "compare": "sklofi.comparison",
}

# What a file may hold. It cannot name anything else.
_SAVED = {
    **{name: module for name, module in _LAZY.items() if name != "compare"},
    "RandomWalkKernel": "sklofi.kernels",
    "RandomWalkVectorizer": "sklofi.kernels",
    "ShortestPathVectorizer": "sklofi.kernels",
    "VertexHistogramVectorizer": "sklofi.kernels",
    **{
        f"{name}{task}": "sklofi.baselines"
        for name in (
            *("DeepMultisets", "GCN", "GraphSAGE", "GIN", "SGIN", "GAT", "ECC", "SFAGNN"),
            *("DGCNN", "DiffPool", "RWGNN", "KerGNN"),
        )
        for task in ("Classifier", "Regressor")
    },
    "FingerprintVectorizer": "sklofi.fingerprints",
    "FingerprintClassifier": "sklofi.count_machines",
    "FingerprintRegressor": "sklofi.count_machines",
    "LabelHistogramClassifier": "sklofi.count_machines",
    "LabelHistogramRegressor": "sklofi.count_machines",
}

# Where the other public names are, for those who look for them here.
_ELSEWHERE = {
    **_SAVED,
    **{
        name: module
        for module, names in {
            "sklofi.base": ("parameter",),
            "sklofi.cluster": ("on_cluster",),
            "sklofi.comparison": ("Comparison", "Failure", "corrected_t_test"),
            "sklofi.datasets": ("fetch_tu", "fetch_zinc", "load_graph_atlas", "make_motif_graphs"),
            "sklofi.inspection": (
                *("AttributionDisplay", "MaskDisplay", "TrainingDisplay", "best_egonets"),
                *("mask_evidence", "mask_importance", "node_attribution", "read_mask"),
            ),
            "sklofi.kernels": ("intersection_kernel", "linear_kernel", "normalize_kernel"),
            "sklofi.networks": (
                "FlatGraphs",
                "FlatNetwork",
                "Perceptron",
                "StackedNetwork",
                "pool",
            ),
            "sklofi.nn": ("LoFILayer", "LoFINetwork"),
            "sklofi.peers": ("Peer", "parameters", "peer", "width"),
            "sklofi.tasks": ("NetworkClassifier", "NetworkRegressor"),
            "sklofi.testing": ("check_graph_estimator", "graph_estimator_checks"),
        }.items()
        for name in names
    },
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator of any class from a file that its method ``save`` has written.

    Nothing is unpickled and no code from the file is run, whatever is in it, and a later fit
    of what was loaded opens nothing that you did not give it. Loading takes memory in
    proportion to the file, at most 200 bytes for each of its bytes.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator : object
        The fitted estimator. To choose the device, use the method `load` of its class.

    Examples
    --------
    >>> import os, tempfile, sklofi
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y = make_motif_graphs(60, random_state=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "model.safetensors")
    >>> sklofi.GraphKernelSVC(n_iter=2).fit(graphs, y).save(path)
    >>> sklofi.load(path).score(graphs, y)
    1.0
    """
    name = read_file(path)[0].get("class")
    if not isinstance(name, str) or name not in _SAVED:
        raise ValueError(
            f"{os.fspath(path)} holds a {brief(name)}, which is no estimator of sklofi."
        )
    return getattr(import_module(_SAVED[name]), name).load(path)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    hint = f"; write from {_ELSEWHERE[name]} import {name}" if name in _ELSEWHERE else ""
    raise AttributeError(f"module 'sklofi' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
