import copy
import pickle

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_graphs import (
    NoComparison,
    adjacency,
    bonded_path,
    labeled_path,
    same_graph,
)

from sklofi import GraphSet

ODD_NAMES = ["b", ("a", 1), frozenset(), 3, 2.5, True]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_any_graph_with_any_node_names_comes_back(kind):
    graph = kind()
    graph.add_nodes_from(ODD_NAMES)
    graph.add_edges_from([("b", ("a", 1)), (("a", 1), 3), ("b", ("a", 1)), (3, 3), (2.5, True)])
    back = GraphSet.from_networkx([nx.path_graph(3), graph]).to_networkx()[1]
    simple = nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph)
    assert same_graph(back, simple)
    assert [type(name) for name in back] == [type(name) for name in graph]


def test_numbers_out_of_order_keep_their_names_and_order():
    graph = nx.Graph([(7, 2), (2, 5)])
    back = GraphSet.from_networkx([graph])[0]
    assert list(back) == [7, 2, 5]
    assert GraphSet.from_networkx([graph]).node_names.dtype == np.int64


def test_nodes_named_by_their_number_need_no_names():
    assert GraphSet.from_networkx([nx.path_graph(3), nx.star_graph(2)]).node_names is None


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_views_are_read_like_their_copies(kind):
    graph = kind([(0, 1), (0, 2), (1, 2), (3, 0), (3, 0)])
    edges = [(0, 1), (1, 2), (3, 0)]
    views = [
        graph.subgraph([0, 1, 3]),
        graph.edge_subgraph([(*e, 0) for e in edges] if graph.is_multigraph() else edges),
        nx.subgraph_view(graph, filter_edge=lambda u, v, *key: 2 not in (u, v)),
        nx.freeze(graph.copy()),
        graph.reverse(copy=False) if graph.is_directed() else graph,
    ]
    for view in views:
        back, copied = GraphSet.from_networkx([view, view.copy()])
        assert same_graph(back, copied)


def test_labels_and_features_come_back():
    graph = labeled_path("ab", x=[[1, 2], (3.5, 4)], element=["C", "N"])
    back = GraphSet.from_networkx([graph], node_label="element", node_features="x")[0]
    assert dict(back.nodes(data="element")) == {0: "C", 1: "N"}
    assert_array_equal(back.nodes[1]["x"], [3.5, 4])
    assert set(back.nodes[0]) == {"element", "x"}


def test_graphs_are_not_changed():
    graph = labeled_path("ab", x=[[1.0], [2.0]])
    before = graph.copy()
    converted = GraphSet.from_networkx([graph], node_features="x")
    converted[0].nodes[0]["x"][:] = 9
    assert same_graph(graph, before)
    assert converted.features[0] == 1


def test_attributes_under_another_name_are_not_ignored_silently():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, "C", "element")
    with pytest.warns(UserWarning, match="although they have the attributes 'element'"):
        GraphSet.from_networkx([graph])
    assert GraphSet.from_networkx([graph], node_label=None).label_ids is None
    assert GraphSet.from_networkx([graph], node_label="element").labels == ("C",)


def test_names_that_do_not_compare_to_numbers_are_read():
    name = NoComparison()
    graph = nx.Graph()
    graph.add_node(name)
    assert next(iter(GraphSet.from_networkx([graph])[0])) is name


def stored_labels(graphs, edge_label="bond"):
    """Of each entry of `neighbors` the label, as the networkx graphs of the set have it."""
    return [
        data[edge_label]
        for graph in graphs
        for _, adjacent in graph.adjacency()
        for data in adjacent.values()
    ]


ODD_LABELS = [None, "a", 1, 2.5, ("a", 1), frozenset({1}), np.int64(7), np.str_("é"), b"x"]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_labels_of_edges_come_back_whatever_they_are(kind):
    names = [("a", 1), "b", 3, 2.5, True, frozenset(), ((),), b"", (1, 2), -1]
    graph = nx.relabel_nodes(bonded_path(ODD_LABELS, kind), dict(enumerate(names)))
    u, v = names[:2]
    graph.add_edge(u, u, bond="loop")
    if graph.is_directed():
        graph.add_edge(v, u, bond="back")  # another label in the other direction
    if graph.is_multigraph():
        graph.add_edge(u, v, bond=None)  # which is the label it has
    simple = nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph)
    converted = GraphSet.from_networkx([bonded_path("ab"), graph], edge_label="bond")
    shipped = pickle.loads(pickle.dumps(converted))
    for graphs in (converted, shipped, copy.copy(converted), copy.deepcopy(converted)):
        graphs.check_arrays()
        assert graphs.edge_label == "bond"
        back = graphs.to_networkx()
        assert adjacency(back[1]) == adjacency(simple)
        assert [graphs.edge_labels[i] for i in graphs.edge_label_ids] == stored_labels(back)
        types = {type(data["bond"]) for *_, data in back[1].edges(data=True)}
        assert types == {type(label) for label in ODD_LABELS}


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_labels_of_edges_of_views_are_those_of_their_copies(kind):
    graph = kind()
    edges = [(0, 1, "a"), (0, 2, "b"), (1, 2, "c"), (3, 0, "d"), (3, 0, "d"), (2, 3, "a")]
    graph.add_edges_from((u, v, {"bond": bond}) for u, v, bond in edges)
    chosen = [(0, 1), (1, 2), (3, 0)]
    views = [
        graph.subgraph([0, 1, 3]),
        graph.edge_subgraph([(*e, 0) for e in chosen] if graph.is_multigraph() else chosen),
        nx.subgraph_view(graph, filter_edge=lambda u, v, *key: 2 not in (u, v)),
        nx.freeze(graph.copy()),
        graph.reverse(copy=False) if graph.is_directed() else graph.to_directed(as_view=True),
        graph.to_undirected(as_view=True),
    ]
    for view in views:
        back, copied = GraphSet.from_networkx([view, view.copy()], edge_label="bond")
        assert adjacency(back) == adjacency(copied)
        assert back.number_of_edges() > 0
