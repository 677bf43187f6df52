import networkx as nx
import numpy as np
import pandas as pd
import pytest
from edge_graphs import always_the_same
from hypothesis import given
from hypothesis import strategies as st
from other_forms import NAMES, assert_same_graphs, graphs_with_all, to_tables

from sklofi import GraphSet

COLUMNS = NAMES | {"node_features": ["x", "y"], "edge_features": ["l", "m"]}
# What lists of columns are called.
NAMED_APART = ("node_features", "edge_features")


@always_the_same
@given(st.booleans(), st.data())
def test_fields_equal_those_by_way_of_networkx(directed, draws):
    kinds = (nx.DiGraph, nx.MultiDiGraph) if directed else (nx.Graph, nx.MultiGraph)
    graphs = draws.draw(graphs_with_all(kinds=kinds))
    names = draws.draw(st.sampled_from([None, "node {}".format, lambda node: (node, "a")]))
    edges, nodes = to_tables(graphs, names)
    found = GraphSet.from_edge_list(edges, nodes, directed=directed, **COLUMNS)
    if names is not None:
        graphs = [nx.relabel_nodes(graph, names) for graph in graphs]
    assert_same_graphs(found, GraphSet.from_networkx(graphs, **NAMES), but=NAMED_APART)
    assert found.node_features == ("x", "y")


@always_the_same
@given(graphs_with_all(kinds=(nx.MultiGraph,)), st.randoms())
def test_rows_may_be_in_any_order(graphs, random):
    edges, nodes = to_tables(graphs, "n{}".format)
    order = list(range(len(edges)))
    random.shuffle(order)
    found = GraphSet.from_edge_list(edges.iloc[order], nodes, **COLUMNS)
    assert_same_graphs(found, GraphSet.from_edge_list(edges, nodes, **COLUMNS))


def test_without_a_table_nodes_are_the_ends_of_edges_as_they_appear():
    edges = pd.DataFrame({"graph": [7, 7, 3], "source": ["b", "a", "a"], "target": ["c", "b", "a"]})
    found = GraphSet.from_edge_list(edges)
    expected = [nx.Graph([("b", "c"), ("a", "b")]), nx.Graph([("a", "a")])]
    assert_same_graphs(found, GraphSet.from_networkx(expected))
    assert list(found[0]) == ["b", "c", "a"]


def test_nodes_without_edges_come_from_the_table_of_nodes():
    edges = pd.DataFrame({"graph": ["b"], "source": [0], "target": [1]})
    nodes = pd.DataFrame(
        {"graph": ["a", "b", "b", "b"], "node": [0, 0, 1, 2], "label": list("CNOC")}
    )
    found = GraphSet.from_edge_list(edges, nodes)
    assert np.diff(found.node_offsets).tolist() == [1, 3]
    assert found.node_names is None
    assert found.labels == ("C", "N", "O")


def test_graphs_are_read_in_the_order_of_the_targets():
    graph = [2, 1, 1, 5]
    edges = pd.DataFrame({"graph": graph, "source": [0, 0, 1, 4], "target": [1, 1, 2, 4]})
    y = pd.Series([0.5, 1.5], index=[1, 2])
    found = GraphSet.from_edge_list(edges, graphs=y.index)
    assert np.diff(found.node_offsets).tolist() == [3, 2]
    assert np.diff(GraphSet.from_edge_list(edges).node_offsets).tolist() == [2, 3, 1]


@pytest.mark.parametrize("dtype", ["category", "string", "object"])
def test_columns_may_have_the_types_of_pandas(dtype):
    edges = pd.DataFrame({"graph": ["a", "a"], "source": ["u", "v"], "target": ["v", "w"]})
    edges["label"] = ["single", "double"]
    expected = GraphSet.from_edge_list(edges)
    assert_same_graphs(GraphSet.from_edge_list(edges.astype(dtype)), expected)


def test_labels_of_numbers_are_python_numbers():
    edges = pd.DataFrame({"graph": [0], "source": [0], "target": [1], "order": [2]})
    (label,) = GraphSet.from_edge_list(edges, edge_label="order").edge_labels
    assert type(label) is int


def test_vectors_in_a_column_are_features():
    edges = pd.DataFrame({"graph": [0], "source": [0], "target": [1], "v": [[1.0, 2.0]]})
    found = GraphSet.from_edge_list(edges, edge_features="v")
    assert found.edge_vectors.tolist() == [[1.0, 2.0]] * 2


def test_weights_that_differ_and_are_not_used_are_named():
    edges = pd.DataFrame({"graph": [0, 0], "source": [0, 1], "target": [1, 2], "weight": [1, 2]})
    with pytest.warns(UserWarning, match="The edges of X differ in the attribute 'weight'") as seen:
        GraphSet.from_edge_list(edges)
    assert seen[0].filename == __file__
    assert GraphSet.from_edge_list(edges, edge_label="weight").edge_labels == (1, 2)


def test_the_tables_are_not_changed():
    edges, nodes = to_tables([nx.MultiGraph()], str)
    edges = pd.DataFrame({"graph": [1, 0], "source": [0, 0], "target": [1, 2]}, index=[9, 9])
    before = edges.copy()
    GraphSet.from_edge_list(edges, graphs=[0])
    pd.testing.assert_frame_equal(edges, before)
    assert len(nodes) == 0


def edge_table(**columns):
    return pd.DataFrame({"graph": ["a", "a"], "source": [0, 1], "target": [1, 2]} | columns)


def node_table(**columns):
    return pd.DataFrame({"graph": ["a"] * 3, "node": [0, 1, 2]} | columns)


@pytest.mark.parametrize(
    "edges, options, error, match",
    [
        ([(0, 1)], {}, TypeError, "edges has to be a pandas DataFrame, got list; .*read_csv"),
        (edge_table(), {"nodes": 3}, TypeError, "nodes has to be a pandas DataFrame, got int"),
        (
            edge_table(),
            {"graph": "g"},
            ValueError,
            "edges needs one column 'g'; it has 'graph'",
        ),
        (edge_table(graph=["a", None]), {}, ValueError, "row 1 has no value in column 'graph'"),
        (edge_table(source=[0, np.nan]), {}, ValueError, "row 1 has no value in column 'source'"),
        (edge_table()[:0], {}, ValueError, "The tables hold no graphs"),
        (edge_table(), {"graphs": ["a", "b"]}, ValueError, "Graph 'b' of graphs is in no row"),
        (edge_table(), {"graphs": ["a", "a"]}, ValueError, "Graph 'a' is twice in graphs"),
        (edge_table(), {"node_label": "z"}, ValueError, "are columns of nodes: pass that table"),
        (
            edge_table(),
            {"nodes": node_table()[:2]},
            ValueError,
            r"Graph 'a', edge \(1, 2\), has the end 2, which is not in the table of nodes",
        ),
        (
            edge_table(),
            {"nodes": node_table(node=[0, 1, 1])},
            ValueError,
            "Graph 'a', node 1, is in more than one row of nodes",
        ),
        (
            edge_table(),
            {"nodes": node_table(label=["C", None, "O"])},
            ValueError,
            "Graph 'a', node 1, has no value in column 'label'",
        ),
        (
            edge_table(),
            {"nodes": node_table(label=["C", [], "O"])},
            TypeError,
            r"Graph 'a', node 1, has the label \[\] of type list",
        ),
        (
            edge_table(w=[1, -1]),
            {"edge_weight": "w"},
            ValueError,
            r"Graph 'a', edge \(1, 2\), has the negative weight",
        ),
        (
            edge_table(w=["1", "2"]),
            {"edge_weight": "w"},
            ValueError,
            r"Graph 'a', edge \(0, 1\), has '1' as its weight 'w', which is not a number",
        ),
        (
            edge_table(x=[1, np.nan]),
            {"edge_features": ["x"]},
            ValueError,
            r"Graph 'a', edge \(1, 2\), has NaN in its features",
        ),
        (edge_table(), {"edge_weight": "w"}, ValueError, "edges needs one column 'w'"),
        (
            edge_table(source=[0, 1], target=[1, 0], x=[1, 2]),
            {"edge_features": "x"},
            ValueError,
            r"Graph 'a', edge \(1, 0\), has parallel edges with different features 'x'",
        ),
    ],
    ids=range(18),
)
def test_what_cannot_be_read_is_refused_by_row_graph_or_edge(edges, options, error, match):
    with pytest.raises(error, match=match):
        GraphSet.from_edge_list(edges, **options)
