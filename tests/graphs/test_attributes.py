from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from small_graphs import NoComparison, NoHash, NoRepr, bonded_path, labeled_path

from sklofi import GraphSet


@pytest.mark.parametrize("values", [[1, 2], [[1], [2]], [np.float32(1), 2.0], [True, 2]])
def test_a_feature_may_be_a_number_or_a_vector(values):
    graphs = GraphSet.from_networkx([labeled_path("ab", x=values)], node_features="x")
    assert_array_equal(graphs.features, [[1], [2]])


def test_a_missing_label_is_located():
    graphs = [labeled_path("ab"), labeled_path("abc")]
    del graphs[1].nodes[2]["label"]
    with pytest.raises(ValueError, match=r"Graph 1, node 2, has no attribute 'label'.*1 of 5"):
        GraphSet.from_networkx(graphs)


@pytest.mark.parametrize(
    "values, match",
    [
        ([[1, 2], [3]], r"Graph 0, node 1, has features 'x' of shape \(1,\).*first \(2\)"),
        ([[1, 2], [3, np.nan]], "Graph 0, node 1, has NaN in its features 'x'"),
        ([[1, -np.inf], [3, 4]], "Graph 0, node 0, has an infinite"),
        ([1e300, 1], "Graph 0, node 0, has an infinite or too large value"),
        ([1, "carbon"], "Graph 0, node 1, has 'carbon' as its features 'x'.*node_label"),
        ([1, None], "node 1, has NaN|node 1, has None"),
        (["1", "2.5"], "node 0, has '1' as its features 'x'"),
        ([[], []], r"Graph 0, node 0, has features 'x' of shape \(0,\)"),
        ([[[1]], [[2]]], r"Graph 0, node 0, has features 'x' of shape \(1, 1\)"),
        ([1, [2]], "mix numbers and vectors"),
    ],
    ids=range(10),
)
def test_bad_features_are_located(values, match):
    with pytest.raises(ValueError, match=match):
        GraphSet.from_networkx([labeled_path("ab", x=values)], node_features="x")


def test_a_label_name_that_nobody_has_is_an_error_unless_it_is_the_default():
    graph = nx.path_graph(2)
    assert GraphSet.from_networkx([graph]).label_ids is None
    with pytest.raises(ValueError, match="No node of any graph has the attribute 'atom'"):
        GraphSet.from_networkx([graph], node_label="atom")
    with pytest.raises(ValueError, match=r"'x' \(node_features\)"):
        GraphSet.from_networkx([graph], node_features="x")


def test_names_and_values_that_cannot_be_shown_are_named_by_their_type():
    graph = nx.Graph([(NoRepr(), 10**5000)])
    with pytest.raises(ValueError, match="Graph 0, node <int>, has no attribute 'label'"):
        next(iter(graph.nodes(data=True)))[1]["label"] = "a"
        GraphSet.from_networkx([graph])
    with pytest.raises(ValueError, match="node 0, has <NoRepr> as its features 'x'"):
        GraphSet.from_networkx([labeled_path("a", x=[NoRepr()])], node_features="x")


@pytest.mark.parametrize(
    "value",
    [
        1j,
        np.datetime64("2020-01-01"),
        np.timedelta64(1),
        10**400,
        NoRepr(),
        b"1",
        [Fraction(1), "1"],
    ],
    ids=range(7),
)
def test_what_numpy_would_turn_into_other_numbers_is_no_feature(value):
    with pytest.raises(ValueError, match=r"node 0, has .* which is not a number"):
        GraphSet.from_networkx([labeled_path("a", x=[value])], node_features="x")


def test_several_names_are_not_the_name_of_an_attribute():
    graph = labeled_path("ab", x=[1, 2], y=[3, 4])
    with pytest.raises(TypeError, match=r"name one attribute each, got \['x', 'y'\] of type list"):
        GraphSet.from_networkx([graph], node_features=["x", "y"])


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


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1, {"label": "a"}), (1, 2, {})],
        [(0, 1, {"label": "a"}), (0, 1, {"label": "b"})],
    ],
    ids=["a missing label", "two labels"],
)
def test_labels_of_edges_that_cannot_be_read_say_how_to_ignore_them(edges):
    """Nobody has asked for them: they are read by default."""
    graphs = [nx.MultiGraph(edges)]
    with pytest.raises(ValueError, match="pass edge_label=None to ignore"):
        GraphSet.from_networkx(graphs)
    assert GraphSet.from_networkx(graphs, edge_label=None).edge_labels == ()


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_edges_with_different_labels_are_refused(kind):
    graph = bonded_path("aba", kind)
    graph.add_edge(1, 2, bond="c")
    message = r"Graph 1, edge \(1, 2\), has parallel edges with the labels 'b' and 'c' under 'bond'"
    with pytest.raises(ValueError, match=message):
        GraphSet.from_networkx([bonded_path("a"), graph], edge_label="bond")


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
