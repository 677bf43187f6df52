from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from small_graphs import bonded_path, labeled_path

from sklofi import GraphSet
from sklofi.graphs._input import as_graph_set, check_same_edge_labeling, has_edge_labels


def test_a_set_is_not_taken_for_what_it_is_not():
    graphs = GraphSet.from_networkx([labeled_path("ab", x=[1, 2], element="CN")])
    with pytest.raises(ValueError, match="node_features='x', but X is a GraphSet that was made"):
        as_graph_set(graphs, "label", "x")
    with pytest.raises(ValueError, match="node_label='element', but X is a GraphSet with other"):
        as_graph_set(graphs, "element", None)
    assert as_graph_set(graphs, "label", None) is graphs
    assert as_graph_set(graphs, None, None).label_ids is None


@pytest.mark.parametrize(
    "X, error, match",
    [
        (nx.path_graph(2), TypeError, r"single networkx Graph; .*\[graph\]"),
        (iter([nx.path_graph(2)]), TypeError, "list_iterator, which can be read only once"),
        ((g for g in [nx.path_graph(2)]), TypeError, r"generator.*list\(X\)"),
        (np.array([nx.path_graph(3)] * 2), ValueError, "array of 2 dimensions.*node names"),
        ([], ValueError, "no graphs"),
        (["C1CC1"], TypeError, "Graph 0 is of type str, not a networkx graph"),
        ({"a": nx.path_graph(2)}, TypeError, "list of networkx graphs.*got dict"),
        ("graphs", TypeError, "got str"),
        (None, TypeError, "got NoneType"),
        ([nx.path_graph(2), nx.Graph()], ValueError, "Graph 1 has no nodes. Remove"),
        ([Fraction(1, 2)], TypeError, r"Graph 0 is of type fractions\.Fraction, not a networkx"),
        (Fraction(1, 2), TypeError, r"GraphSet, got fractions\.Fraction\."),
        (
            pd.DataFrame({"graph": [nx.path_graph(2)], "y": [1]}),
            ValueError,
            r"data frame with 2 columns \('graph', 'y'\).* Pass the column",
        ),
        (pd.DataFrame(), ValueError, r"data frame with 0 columns"),
    ],
    ids=range(14),
)
def test_what_is_not_a_list_of_graphs_is_refused(X, error, match):
    with pytest.raises(error, match=match):
        as_graph_set(X, "label", None)


def test_an_empty_set_is_refused():
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    with pytest.raises(ValueError, match="no graphs"):
        as_graph_set(graphs[:0], "label", None)


def test_a_set_is_not_taken_for_one_with_other_labels_of_edges():
    graphs = GraphSet.from_networkx([bonded_path("ab")], edge_label="bond")
    for edge_label in ("label", "bond"):
        assert as_graph_set(graphs, "label", None, edge_label) is graphs
    assert as_graph_set(graphs, "label", None, None).edge_label_ids is None
    with pytest.raises(ValueError, match="edge_label='kind', but X is a GraphSet that was made"):
        as_graph_set(graphs, "label", None, "kind")
    bare = GraphSet.from_networkx([bonded_path("ab")], edge_label=None)
    assert as_graph_set(bare, "label", None, "label") is bare
    with pytest.raises(ValueError, match=r"from_networkx\(graphs, edge_label='bond'\)"):
        as_graph_set(bare, "label", None, "bond")
    assert as_graph_set([bonded_path("ab")], "label", None, "bond").edge_labels == ("a", "b")


def test_edges_have_labels_at_both_times_or_at_none():
    bare = GraphSet.from_networkx([nx.path_graph(3)])
    graphs = GraphSet.from_networkx([bonded_path("ab"), nx.empty_graph(2)], edge_label="bond")
    labeled, empty = graphs[[0]], graphs[[1]]
    assert [has_edge_labels(graphs) for graphs in (bare, labeled, empty)] == [False, True, None]
    with pytest.raises(ValueError, match="X has graphs without edge labels, but Me was fitted on"):
        check_same_edge_labeling(bare, True, "Me")
    with pytest.raises(ValueError, match="X has graphs with edge labels, but Me was fitted on"):
        check_same_edge_labeling(labeled, False, "Me")
    for graphs, had_labels in [(bare, False), (labeled, True), (empty, True), (labeled, None)]:
        check_same_edge_labeling(graphs, had_labels, "Me")
