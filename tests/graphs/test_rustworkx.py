import networkx as nx
import pytest
import rustworkx as rx
from edge_graphs import always_the_same
from hypothesis import given
from other_forms import NAMES, assert_same_graphs, graphs_with_all, to_rustworkx

from sklofi import GraphSet


@always_the_same
@given(graphs_with_all())
def test_fields_equal_those_by_way_of_networkx(graphs):
    found = GraphSet.from_rustworkx([*map(to_rustworkx, graphs)], **NAMES)
    assert_same_graphs(found, GraphSet.from_networkx(graphs, **NAMES))


def test_nodes_that_were_removed_leave_the_names_of_the_others():
    graph = rx.generators.path_graph(5)
    graph.remove_node(1)
    by_networkx = nx.Graph([(2, 3), (3, 4)])
    found = GraphSet.from_rustworkx([graph])
    expected = GraphSet.from_networkx([nx.compose(nx.empty_graph([0]), by_networkx)])
    assert_same_graphs(found, expected)
    assert list(found[0]) == [0, 2, 3, 4]


def test_what_is_no_dictionary_is_the_label_of_a_node_and_the_weight_of_an_edge():
    graph = rx.PyDiGraph()
    graph.add_nodes_from(["C", "O"])
    graph.add_edge(0, 1, 2.5)
    found = GraphSet.from_rustworkx([graph], edge_weight="weight")
    assert found.labels == ("C", "O")
    assert found.edge_weights.tolist() == [2.5]
    assert GraphSet.from_rustworkx([graph], edge_label="weight").edge_labels == (2.5,)


@pytest.mark.parametrize(
    "X, names, error, match",
    [
        (rx.PyGraph(), {}, TypeError, r"single rustworkx PyGraph; .*\[graph\]"),
        ([rx.PyGraph()], {}, ValueError, "Graph 0 has no nodes"),
        (["C"], {}, TypeError, "Graph 0 is of type str, not a rustworkx PyGraph or PyDiGraph"),
        (
            [rx.generators.path_graph(weights=[{"label": "a"}, {}])],
            {},
            ValueError,
            "Graph 0, node 1, has no attribute 'label'",
        ),
        (
            [rx.generators.path_graph(2)],
            {"edge_weight": "weight"},
            ValueError,
            "No edge of any graph has the attribute 'weight'",
        ),
    ],
    ids=range(5),
)
def test_what_cannot_be_read_is_refused_by_graph_and_node(X, names, error, match):
    with pytest.raises(error, match=match):
        GraphSet.from_rustworkx(X, **names)


def test_a_weight_that_is_negative_is_refused_by_its_edge():
    graph = rx.PyGraph()
    graph.add_nodes_from([None, None])
    graph.add_edge(0, 1, -1)
    with pytest.raises(ValueError, match=r"Graph 0, edge \(0, 1\), has the negative weight -1"):
        GraphSet.from_rustworkx([graph], edge_weight="weight")
