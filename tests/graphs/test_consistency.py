import dataclasses

import networkx as nx
import numpy as np
import pytest

from sklofi import GraphSet


@pytest.mark.parametrize(
    "ids, labels", [([0, 0, 0], "a"), ([0, 0, 0, 1], "a"), ([0, 0, 0, -1], "a")]
)
def test_labels_of_edges_that_do_not_fit_are_noticed(ids, labels):
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    wrong = dataclasses.replace(graphs, edge_label_ids=np.array(ids), edge_labels=("a",))
    with pytest.raises(ValueError, match="do not fit together"):
        wrong.check_arrays()


@pytest.mark.parametrize(
    "fields",
    [
        {"edge_weights": np.ones(3)},
        {"edge_weights": np.ones((4, 1))},
        {"edge_weights": np.ones(4, int)},
        {"edge_weights": np.array([1, 1, 1, -1.0])},
        {"edge_weights": np.array([1, 1, 1, np.nan])},
        {"edge_weights": np.array([1, 1, 1, np.inf])},
        {"edge_vectors": np.ones(4)},
        {"edge_vectors": np.ones((3, 2))},
        {"edge_vectors": np.ones((4, 2, 1))},
        {"edge_vectors": np.full((4, 2), np.nan)},
        {"edge_vectors": np.ones((4, 2), object)},
    ],
    ids=range(11),
)
def test_numbers_on_edges_that_do_not_fit_are_noticed(fields):
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    right = {"edge_weights": np.zeros(4), "edge_vectors": np.ones((4, 2))}
    dataclasses.replace(graphs, **right).check_arrays()
    with pytest.raises(ValueError, match="do not fit together"):
        dataclasses.replace(graphs, **(right | fields)).check_arrays()


@pytest.mark.parametrize(
    "name",
    [
        *("node_offsets", "edge_offsets", "neighbors", "label_ids", "edge_label_ids", "features"),
        *("edge_weights", "edge_vectors", "graph_vectors"),
    ],
)
def test_short_numbers_that_would_overflow_are_noticed(name):
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, "C", "label")
    nx.set_node_attributes(graph, 1.0, "x")
    nx.set_edge_attributes(graph, {edge: {"label": "s", "w": 1.0} for edge in graph.edges})
    graph.graph["t"] = 20.0
    graphs = GraphSet.from_networkx([graph], "label", "x", "label", "w", "w", "t")
    graphs.check_arrays()
    array = getattr(graphs, name)
    short = array.astype(np.int8 if array.dtype.kind == "i" else np.float16)
    with pytest.raises(ValueError, match="do not fit together"):
        dataclasses.replace(graphs, **{name: short}).check_arrays()


@pytest.mark.parametrize("names", ["long " * 4_000, ("a",) * 3, "short"])
def test_names_of_graph_features_fit_into_memory(names):
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    n_columns = 2**24 if names == "short" else 4_000
    few = {"graph_vectors": np.ones((1, 4)), "graph_features": "long"}
    dataclasses.replace(graphs, **few).check_arrays()
    many = np.broadcast_to(np.ones(1), (1, n_columns))
    with pytest.raises(ValueError, match="do not fit together"):
        dataclasses.replace(graphs, graph_vectors=many, graph_features=names).check_arrays()
