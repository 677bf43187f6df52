import igraph
import networkx as nx
import pytest
from edge_graphs import always_the_same
from hypothesis import given
from other_forms import NAMES, assert_same_graphs, graphs_with_all, to_igraph

from sklofi import GraphSet


@always_the_same
@given(graphs_with_all())
def test_fields_equal_those_by_way_of_networkx(graphs):
    found = GraphSet.from_igraph([*map(to_igraph, graphs)], **NAMES)
    assert_same_graphs(found, GraphSet.from_networkx(graphs, **NAMES))


@always_the_same
@given(graphs_with_all())
def test_graphs_without_attributes_equal_those_by_way_of_networkx(graphs):
    names = dict.fromkeys(NAMES)
    found = GraphSet.from_igraph([*map(to_igraph, graphs)], **names)
    assert_same_graphs(found, GraphSet.from_networkx(graphs, **names))


def ring(**attributes):
    graph = igraph.Graph.Ring(3)
    for name, values in attributes.items():
        graph.vs[name] = values
    return graph


@pytest.mark.parametrize(
    "X, names, error, match",
    [
        (ring(), {}, TypeError, r"single igraph Graph; .*\[graph\]"),
        ([ring(), nx.path_graph(2)], {}, TypeError, "Graph 1 is of type networkx.*not an igraph"),
        ([], {}, ValueError, "no graphs"),
        ([ring(), igraph.Graph()], {}, ValueError, "Graph 1 has no nodes"),
        (
            [ring(label=["a", None, "b"])],
            {},
            ValueError,
            r"Graph 0, node 1, has no attribute 'label', .*\(1 of 3 nodes lack it\)",
        ),
        (
            [ring(label="abc"), ring()],
            {},
            ValueError,
            r"Graph 1, node 0, has no attribute 'label', .*\(3 of 6",
        ),
        (
            [ring(z="abc")],
            {"node_label": "y"},
            ValueError,
            "No node of any graph has the attribute 'y' .node_label.; the nodes have the attributes"
            " 'z'. Pass node_label=None for graphs without node labels",
        ),
        (
            [ring(label=[1, 2, float("nan")])],
            {},
            ValueError,
            "Graph 0, node 2, has the label NaN under 'label'",
        ),
        (
            [ring(label=[1, 2, []])],
            {},
            TypeError,
            r"Graph 0, node 2, has the label \[\] .*pass vectors through node_features",
        ),
        (
            [ring(x=[[1, 2], [1], [1, 2]])],
            {"node_features": "x"},
            ValueError,
            "Graph 0, node 1, has features 'x' of shape",
        ),
        ([ring()], {"edge_weight": []}, TypeError, "edge_weight names one attribute, got"),
        ([ring()], {"edge_weight": "w"}, ValueError, "No edge of any graph has .*'w'.*no attrib"),
    ],
    ids=range(12),
)
def test_what_cannot_be_read_is_refused_by_graph_and_node(X, names, error, match):
    with pytest.raises(error, match=match):
        GraphSet.from_igraph(X, **names)


def test_attributes_that_may_be_meant_are_named():
    graph = ring(element="CNO")
    with pytest.warns(UserWarning, match="No node has the attribute 'label'.* 'element'") as caught:
        GraphSet.from_igraph([graph])
    assert caught[0].filename == __file__
    graph = ring()
    graph.es["weight"] = [1, 2, 2]
    with pytest.warns(UserWarning, match="differ in the attribute 'weight'") as caught:
        GraphSet.from_igraph([graph])
    assert caught[0].filename == __file__
