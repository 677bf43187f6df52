"""Labels: their numbers in a vocabulary, and their names."""

import networkx as nx
import pytest

from sklofi import GraphSet
from sklofi.kernels._labels import (
    edge_label_columns,
    edge_labels_of,
    label_columns,
    label_names,
    labels_of,
)


def labeled_path(labels, bonds):
    graph = nx.path_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    nx.set_edge_attributes(graph, dict(zip(graph.edges, bonds, strict=True)), "label")
    return GraphSet.from_networkx([graph], edge_label="label")


def test_labels_that_are_not_known_get_numbers_beyond_the_end():
    graphs = labeled_path("bcad", bonds=[2, 1, 3])
    assert labels_of(graphs) == ["a", "b", "c", "d"]
    columns, n_columns = label_columns(graphs, ["c", "a"])
    assert columns.tolist() == [2, 0, 1, 3] and n_columns == 4
    assert edge_labels_of(graphs) == [1, 2, 3]
    columns, n_columns = edge_label_columns(graphs, [3])
    assert columns.tolist() == [2, 2, 1, 1, 0, 0] and n_columns == 3


def test_without_labels_all_are_alike():
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    assert labels_of(graphs) == edge_labels_of(graphs) == [None]
    assert label_columns(graphs, [None])[0].tolist() == [0, 0, 0]
    assert edge_label_columns(graphs, [None])[0].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "labels, names",
    [
        (["C", "N"], ["C", "N"]),
        ([1, "1"], ["1", "'1'"]),
        ([None, "None"], ["None", "'None'"]),
        ([("a", 1), frozenset("ba")], ["(a,1)", "{a,b}"]),
    ],
)
def test_names_tell_labels_apart(labels, names):
    assert label_names(labels) == names


def test_labels_that_look_the_same_are_numbered():
    class Same:
        def __repr__(self):
            return "same"

    assert label_names([Same(), Same(), "b"]) == ["same#0", "same#1", "b#2"]
