"""Small fitted estimators of every kind, and the files of them that have to stay readable.

`python tests/support/saved_models.py` writes the files of the present format, if they are not
there: a new version of the format gets a new folder, and the old ones are never written again.
"""

import json
from pathlib import Path

import networkx as nx
import numpy as np
from numpy.testing import assert_array_equal
from sklearn.base import is_regressor

from sklofi import LoFIClassifier, LoFIRegressor, baselines
from sklofi._storage import FORMAT
from sklofi.kernels import GraphKernelSVC, GraphKernelSVR, RandomWalkKernel, WLVectorizer

DATA = Path(__file__).parents[1] / "data"
BONDS = {"edge_label": "order"}
TINY = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 3,
    "n_words": 2,
    "max_epochs": 4,
    "random_state": 0,
}

# All networks, half of them as classifiers.
PEERS = (
    *(baselines.DeepMultisetsClassifier, baselines.GCNRegressor, baselines.GraphSAGEClassifier),
    *(baselines.GINRegressor, baselines.SGINClassifier, baselines.GATRegressor),
    *(baselines.ECCClassifier, baselines.SFAGNNRegressor, baselines.DGCNNClassifier),
    *(baselines.DiffPoolRegressor, baselines.RWGNNClassifier, baselines.KerGNNRegressor),
)
COUNTS = (baselines.FingerprintClassifier, baselines.LabelHistogramRegressor)


def small_peer(kind):
    small = {
        **{"n_layers": 2, "n_hidden": 3, "n_dense": 3, "n_last": 3, "n_filters": 3, "n_sorted": 10},
        **{"n_hidden_graphs": 2, "hidden_graph_size": 2, "filter_size": 2, "max_epochs": 4},
        **{"n_penultimate": 3, "n_edge_hidden": 3, "edge_label": "order", "random_state": 0},
    }
    return kind(**{name: small[name] for name in small if name in kind().get_params()})


def graphs_and_targets():
    """Graphs with labels of many types, weights and features, three classes, and numbers."""
    names = ["a", 1, 2.5, None, b"x", ("a", 1), frozenset([1, 2]), np.int64(9), np.str_("é")]
    graphs = [nx.cycle_graph(3 + i % 4) if i % 3 else nx.path_graph(2 + i % 5) for i in range(30)]
    for i, graph in enumerate(graphs):
        for node in graph:
            graph.nodes[node]["label"] = names[(i + node) % len(names)]
            graph.nodes[node]["size"] = [float(node), i / 7]
        for u, v in graph.edges:
            graph.edges[u, v]["order"] = names[(u + v) % 3]
            graph.edges[u, v]["strength"] = (u + v) % 4 / 2
            graph.edges[u, v]["angles"] = [float(u + v), i / 7]
    classes = np.array(["tree" if i % 3 == 0 else f"ring{i % 2}" for i in range(30)])
    return graphs, classes, np.array([len(graph) + i / 10 for i, graph in enumerate(graphs)])


def fitted_lofi():
    """LoFI as classifiers and regressors, fitted."""
    graphs, classes, y = graphs_and_targets()
    plain = {**TINY, "edge_label": None, "max_ring": 0}
    weighted = LoFIClassifier(
        **plain, node_features="size", class_weight="balanced", readout="last", pooling="max"
    )
    several = LoFIRegressor(**plain, distances=False, loss="squared_error", dropout=0.1)
    bonds = LoFIClassifier(**TINY, **BONDS, structure=("degree", "rings"))
    all_relations = LoFIRegressor(
        **{**TINY, **BONDS, "radius": 2, "max_ring": 4, "structure": "walks"},
        edge_weight="strength",
        edge_features="angles",
    )
    members = {**TINY, **BONDS, "n_members": 2, "counts": True}
    return {
        "classifier-members": LoFIClassifier(**members).fit(graphs, classes),
        "regressor-members": LoFIRegressor(**members).fit(graphs, np.column_stack([y, -y])),
        "classifier": LoFIClassifier(**plain).fit(graphs, classes),
        "classifier-features": weighted.fit(graphs, classes),
        "classifier-bonds": bonds.fit(graphs, classes),
        "regressor": LoFIRegressor(**plain, kernel="intersection").fit(graphs, y),
        "regressor-2": several.fit(graphs, np.column_stack([y, -y])),
        "regressor-relations": all_relations.fit(graphs, y),
    }


def fitted_estimators():
    """Estimators of every kind, fitted."""
    graphs, classes, y = graphs_and_targets()
    return {
        **fitted_lofi(),
        "svc": GraphKernelSVC(n_iter=2, **BONDS).fit(graphs, classes),
        "svc-probability": GraphKernelSVC(
            kernel="wl-oa", edge_label=None, probability=True, random_state=0
        ).fit(graphs, classes),
        "svc-linear": GraphKernelSVC(solver="linear", random_state=0, **BONDS).fit(graphs, classes),
        "svc-walks": GraphKernelSVC(kernel=RandomWalkKernel(**BONDS)).fit(graphs, classes),
        "svr": GraphKernelSVR(kernel="shortest-path").fit(graphs, y),
        "svr-linear": GraphKernelSVR(kernel="random-walk", solver="linear", n_iter=2, **BONDS).fit(
            graphs, y
        ),
        "vectorizer": WLVectorizer(n_iter=1, **BONDS).fit(graphs),
        "vectorizer-rings": WLVectorizer(n_iter=1, max_ring=4, **BONDS).fit(graphs),
        **{
            kind.__name__: small_peer(kind).fit(graphs, y if is_regressor(kind()) else classes)
            for kind in (*PEERS, *COUNTS)
        },
    }


def outputs(estimator, graphs):
    """All that a fitted estimator says about graphs.

    Decisions of networks are logarithms of their probabilities, which older files do not have.
    """
    said = []
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        is_new = method == "decision_function" and hasattr(estimator, "net_")
        if hasattr(estimator, method) and not is_new:
            values = getattr(estimator, method)(graphs)
            said.append(np.asarray(values.toarray() if hasattr(values, "toarray") else values))
    return said


def assert_says_the_same(estimator, other, graphs):
    for values, expected in zip(outputs(estimator, graphs), outputs(other, graphs), strict=True):
        assert_array_equal(values, expected)


def write():
    folder = DATA / f"format-{FORMAT}"
    folder.mkdir(parents=True)
    graphs, _, _ = graphs_and_targets()
    expected = {}
    for name, estimator in fitted_estimators().items():
        estimator.save(folder / f"{name}.safetensors")
        expected[name] = [values.tolist() for values in outputs(estimator, graphs)]
    (folder / "outputs.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    write()
