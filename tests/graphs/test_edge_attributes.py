import networkx as nx
import numpy as np
import pandas as pd
import pytest
from small_graphs import NoComparison, NoHash, bonded_path

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
