import warnings
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from small_graphs import NoComparison, NoHash, NoRepr, adjacency, bonded_path

from sklofi import GraphSet


def test_labels_of_edges_are_read_under_the_default_name_and_can_be_left_out():
    graph = bonded_path("ab", name="label")
    assert GraphSet.from_networkx([graph]).edge_labels == ("a", "b")
    graphs = GraphSet.from_networkx([graph], edge_label=None)
    assert graphs.edge_label_ids is None and graphs.edge_labels == ()
    assert list(graphs[0].edges(data=True)) == [(0, 1, {}), (1, 2, {})]
    assert repr(graphs) == "GraphSet(n_graphs=1, n_nodes=3)"


def test_labels_of_edges_stand_beside_the_neighbors():
    graph = bonded_path(["single", "double"])
    graphs = GraphSet.from_networkx([graph], edge_label="bond")
    assert graphs.edge_labels == ("double", "single")
    assert graphs.neighbors.tolist() == [1, 0, 2, 1]
    assert graphs.edge_label_ids.tolist() == [1, 1, 0, 0]
    assert graphs.edge_label_ids.dtype == np.int32
    assert repr(graphs) == "GraphSet(n_graphs=1, n_nodes=3, n_edge_labels=2)"
    graphs.check_arrays()


def test_a_view_with_two_labels_for_one_edge_is_refused():
    graph = nx.DiGraph()
    graph.add_edge("u", "v", bond=1)
    graph.add_edge("v", "u", bond=2)
    with pytest.raises(ValueError, match=r"Graph 1, edge \('u', 'v'\), of a graph that is not"):
        GraphSet.from_networkx([graph, graph.to_undirected(as_view=True)], edge_label="bond")


def test_labels_of_edges_that_cannot_be_read_say_how_to_ignore_them():
    """Nobody has asked for them: they are read by default."""
    graphs = [nx.MultiGraph([(0, 1, {"label": "a"}), (1, 2, {})])]
    with pytest.raises(ValueError, match="pass edge_label=None to ignore"):
        GraphSet.from_networkx(graphs)
    assert GraphSet.from_networkx(graphs, edge_label=None).edge_labels == ()


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_edges_are_separate_if_their_labels_differ(kind):
    graph = bonded_path("ab", kind)
    graph.add_edge(0, 1, bond="c")
    graph.add_edge(0, 1, bond="a")
    graphs = GraphSet.from_networkx([bonded_path("a"), graph], edge_label="bond")
    graphs.check_arrays()
    entries = zip(graphs.neighbors.tolist(), graphs.edge_label_ids.tolist(), strict=True)
    found = [(node, graphs.edge_labels[label]) for node, label in entries][2:]
    there = [(1, "a"), (1, "c")]
    if graph.is_directed():
        assert found == [*there, (2, "b")]
    else:
        assert found == [*there, (0, "a"), (0, "c"), (2, "b"), (1, "b")]


@pytest.mark.parametrize("name", ["label", "bond"])
def test_graphs_without_edges_need_no_labels_of_edges(name):
    bare = nx.empty_graph(3)
    assert GraphSet.from_networkx([bare], edge_label=name).edge_label_ids is None
    graphs = GraphSet.from_networkx([bonded_path("ab", name=name), bare], edge_label=name)
    assert graphs.edge_labels == ("a", "b")
    assert graphs[[1]].edge_label_ids.tolist() == []
    graphs[[1]].check_arrays()


def test_an_edge_label_that_nobody_has_is_an_error_unless_it_is_the_default():
    graph = bonded_path("ab")
    message = r"No edge of any graph has the attribute 'kind' \(edge_label\); the edges have the"
    with pytest.raises(ValueError, match=f"{message} attributes 'bond'"):
        GraphSet.from_networkx([graph], edge_label="kind")
    assert GraphSet.from_networkx([nx.path_graph(3)], edge_label="label").edge_label_ids is None
    with pytest.warns(UserWarning, match="No edge has the attribute 'label'.*'bond'.*edge_label="):
        assert GraphSet.from_networkx([graph], edge_label="label").edge_label_ids is None


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
def test_a_missing_label_of_an_edge_is_located_and_counted_once(kind):
    graph = nx.relabel_nodes(bonded_path("aba", kind), {2: ("x", 2)})
    del graph.edges[(1, ("x", 2), 0) if graph.is_multigraph() else (1, ("x", 2))]["bond"]
    message = r"Graph 1, edge \(1, \('x', 2\)\), has no attribute 'bond', .* \(1 of 5 edges lack it"
    with pytest.raises(ValueError, match=message):
        GraphSet.from_networkx([bonded_path("ab"), graph], edge_label="bond")


@pytest.mark.parametrize("label", [NoComparison(), NoHash(), [1], np.array([1, 2])])
def test_labels_of_edges_that_are_no_categories_are_located(label):
    message = r"Graph 0, edge \(1, 2\), has the label .* cannot be hashed and compared\. Labels are"
    with pytest.raises(TypeError, match=message):
        GraphSet.from_networkx([bonded_path(["a", label])], edge_label="bond")


@pytest.mark.parametrize("label", [float("nan"), pd.NA])
def test_nan_as_a_label_of_an_edge_is_located(label):
    with pytest.raises(ValueError, match=r"Graph 0, edge \(1, 2\), has the label NaN under 'bond'"):
        GraphSet.from_networkx([bonded_path(["a", label])], edge_label="bond")


def test_several_names_are_not_the_name_of_an_edge_attribute():
    with pytest.raises(TypeError, match=r"edge_label names one attribute, got \['a'\] of type"):
        GraphSet.from_networkx([bonded_path("a")], edge_label=["a"])


def read_weights(*values, kind=nx.Graph):
    graphs = [bonded_path([1], name="w"), bonded_path(values, kind, name="w")]
    return GraphSet.from_networkx(graphs, edge_weight="w")


def read_features(*values):
    return GraphSet.from_networkx([bonded_path(values, name="x")], edge_features="x")


def test_weights_stand_beside_the_neighbors():
    graphs = read_weights(2, 0.5)[1:]
    assert graphs.neighbors.tolist() == [1, 0, 2, 1]
    assert graphs.edge_weights.tolist() == [2, 2, 0.5, 0.5]
    assert graphs.edge_weights.dtype == np.float64 and graphs.edge_weight == "w"
    assert repr(graphs) == "GraphSet(n_graphs=1, n_nodes=3, weighted=True)"
    assert graphs[0].edges[1, 2] == {"w": 0.5}
    assert read_weights(2, 0.5, kind=nx.DiGraph)[1:].edge_weights.tolist() == [2, 0.5]


def test_a_weight_may_be_any_real_number_that_is_not_negative():
    graphs = read_weights(True, np.float32(0.5), Fraction(1, 4), np.array(3), -0.0)[1:]
    assert graphs.edge_weights[::2].tolist() == [1, 0.5, 0.25, 3, 0]
    assert not np.signbit(graphs.edge_weights).any()


@pytest.mark.parametrize(
    "values, match",
    [
        ([1, -2], r"Graph 1, edge \(1, 2\), has the negative weight -2 under 'w'.* zero or more"),
        (
            [1, np.nan],
            r"Graph 1, edge \(1, 2\), has NaN as its weight 'w'\. .* impute or remove it",
        ),
        ([np.inf, 1], r"Graph 1, edge \(0, 1\), has an infinite or too large value as its weight"),
        ([1, 2e15], r"edge \(1, 2\), has an infinite or too large value .* divide all weights"),
        ([1, "2"], r"Graph 1, edge \(1, 2\), has '2' as its weight 'w', .* through edge_label"),
        ([1, None], r"edge \(1, 2\), has (NaN|None)"),
        ([1, [2]], r"edge \(1, 2\), has \[2\] as its weight 'w', which is not a number"),
        ([[1], [2]], r"edge \(0, 1\), has \[1\] as its weight 'w'.* through edge_features"),
        ([1, 1j], r"edge \(1, 2\), has 1j as its weight"),
        ([NoRepr(), 1], r"edge \(0, 1\), has <NoRepr> as its weight"),
    ],
    ids=range(10),
)
def test_bad_weights_are_located(values, match):
    with pytest.raises(ValueError, match=match):
        read_weights(*values)


def test_weights_of_parallel_edges_that_are_too_large_together_are_located():
    graph = nx.MultiGraph([("u", "v", {"w": 9e14}), ("u", "v", {"w": 9e14})])
    with pytest.raises(
        ValueError, match=r"Graph 0, edge \('u', 'v'\), has an infinite or too large"
    ):
        GraphSet.from_networkx([graph], edge_weight="w")


@pytest.mark.parametrize("values", [[1, 2], [[1], [2]], [np.float32(1), 2.0], [True, 2]])
def test_a_feature_of_an_edge_may_be_a_number_or_a_vector(values):
    graphs = read_features(*values)
    assert graphs.edge_vectors.tolist() == [[1], [1], [2], [2]]
    assert repr(graphs) == "GraphSet(n_graphs=1, n_nodes=3, n_edge_features=1)"
    back = graphs[0].edges[0, 1]["x"]
    assert back.tolist() == [1] and back.flags.writeable


@pytest.mark.parametrize(
    "values, match",
    [
        ([[1, 2], [3]], r"Graph 0, edge \(1, 2\), has features 'x' of shape \(1,\).*every edge"),
        ([[1, 2], [3, np.nan]], r"Graph 0, edge \(1, 2\), has NaN in its features 'x'"),
        ([1e300, 1], r"Graph 0, edge \(0, 1\), has an infinite or too large value"),
        ([1, "single"], r"edge \(1, 2\), has 'single' as its features 'x'.*through edge_label"),
        ([[], []], r"Graph 0, edge \(0, 1\), has features 'x' of shape \(0,\)"),
        ([1, [2]], "mix numbers and vectors"),
    ],
    ids=range(6),
)
def test_bad_features_of_edges_are_located(values, match):
    with pytest.raises(ValueError, match=match):
        read_features(*values)


@pytest.mark.parametrize("parameter", ["edge_weight", "edge_features"])
def test_numbers_that_some_or_all_edges_lack_are_refused(parameter):
    graphs = [bonded_path([1, 2]), bonded_path([1, 2, 3])]
    with pytest.raises(ValueError, match=rf"'w' \({parameter}\).* 'bond'\. Pass {parameter}=None"):
        GraphSet.from_networkx(graphs, **{parameter: "w"})
    del graphs[1].edges[1, 2]["bond"]
    message = rf"Graph 1, edge \(1, 2\), has no attribute 'bond',.* \(1 of 5 .*{parameter}=None"
    with pytest.raises(ValueError, match=message):
        GraphSet.from_networkx(graphs, **{parameter: "bond"})
    with pytest.raises(TypeError, match=rf"{parameter} names one attribute, got \['bond'\] of"):
        GraphSet.from_networkx(graphs, **{parameter: ["bond"]})


def test_graphs_without_edges_need_no_numbers_on_edges():
    names = {"edge_weight": "w", "edge_features": "x"}
    bare = GraphSet.from_networkx([nx.empty_graph(2)], **names)
    assert bare.edge_weights is None and bare.edge_vectors is None
    assert (bare.edge_weight, bare.edge_features) == ("w", "x")
    graph = nx.Graph([(0, 1, {"w": 1, "x": [1, 2]})])
    part = GraphSet.from_networkx([nx.empty_graph(2), graph], **names)[:1]
    assert part.edge_weights.shape == (0,) and part.edge_vectors.shape == (0, 2)
    part.check_arrays()


@pytest.mark.parametrize(
    "parameter, word", [("edge_weight", "weight"), ("edge_features", "vector")]
)
def test_a_view_with_two_numbers_for_one_edge_is_refused(parameter, word):
    graph = nx.DiGraph()
    graph.add_edge("u", "v", x=1)
    graph.add_edge("v", "u", x=2)
    graphs = [graph, graph.to_undirected(as_view=True)]
    message = rf"Graph 1, edge \('u', 'v'\), of a graph .* two {word}s under 'x'.* {parameter}=None"
    with pytest.raises(ValueError, match=message):
        GraphSet.from_networkx(graphs, **{parameter: "x"})
    graph.edges["v", "u"]["x"] = 1
    GraphSet.from_networkx(graphs, **{parameter: "x"})


def test_a_view_with_an_edge_in_one_direction_only_is_named():
    """A union of parallel edges may have another label from each end."""
    graph = nx.MultiDiGraph()
    graph.add_edge(0, 3, label="a")
    graph.add_edge(1, 2, label="a")
    graph.add_edge(2, 1, label="b")
    with pytest.raises(ValueError, match=r"edge \((1, 2|2, 1)\), of a graph that is not directed"):
        GraphSet.from_networkx([graph.to_undirected(as_view=True)])


def test_the_same_attribute_may_be_label_and_weight():
    graph = bonded_path([2, 1], name="weight")
    graphs = GraphSet.from_networkx([graph], edge_label="weight", edge_weight="weight")
    assert graphs.edge_labels == (1, 2) and graphs.edge_weights.tolist() == [2, 2, 1, 1]
    assert adjacency(graphs[0]) == adjacency(graph)


def test_attributes_that_are_read_are_not_said_to_be_ignored():
    graph = nx.Graph([(0, 1, {"w": 2, "x": 1.0}), (1, 2, {"w": 1, "x": 3.0})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GraphSet.from_networkx([graph], edge_weight="w", edge_features="x")
    with pytest.warns(UserWarning, match="although they have the attributes 'x'"):
        GraphSet.from_networkx([graph], edge_weight="w")
