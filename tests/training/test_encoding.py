import dataclasses
from enum import Enum

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers import unseen_labels
from sklofi import GraphSet
from sklofi.training._encoding import EdgeEncoder, NodeEncoder, columns_of


def graph_with(*bonds):
    graph = nx.path_graph(len(bonds) + 1)
    nx.set_edge_attributes(graph, {(i, i + 1): bond for i, bond in enumerate(bonds)}, "label")
    return graph


def bonds(*graphs):
    return GraphSet.from_networkx([graph_with(*labels) for labels in graphs], edge_label="label")


def encode(encoder, graphs, edges):
    return encoder.features()[encoder.kinds(graphs)[edges]]


def test_labels_have_columns_and_unknown_ones_have_none():
    assert columns_of(["b", "x", "a"], ["a", "b"]).tolist() == [1, 2, 0]


def test_edges_are_one_hot_in_both_directions():
    graphs = bonds("-=", "=")
    encoder = EdgeEncoder.fit(graphs)
    assert encoder.labels == ("-", "=")
    # 0-1, 1-0, 1=2, 2=1 of the first graph, 0=1, 1=0 of the second
    x = encode(encoder, graphs, np.arange(len(graphs.neighbors)))
    assert x.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 1]]


@unseen_labels
def test_only_labels_of_the_training_graphs_have_a_column():
    graphs = bonds("-", "=", "#")
    encoder = EdgeEncoder.fit(graphs[:2])
    assert encoder.labels == ("-", "=")
    assert_array_equal(encode(encoder, graphs, np.array([4, 5])), np.zeros((2, 2)))
    encoder.check(graphs, "ignore", "ECC")
    with pytest.raises(ValueError, match=r"Graph 2, edge \(0, 1\), has the label '#', which no"):
        encoder.check(graphs, "error", "ECC")


def test_edges_without_labels_are_all_alike():
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    encoder = EdgeEncoder.fit(graphs)
    assert encode(encoder, graphs, np.arange(4)).tolist() == [[1]] * 4
    with pytest.raises(ValueError, match="X has graphs with edge labels, but ECC was fitted on"):
        encoder.check(bonds("-"), "ignore", "ECC")


def test_graphs_without_edges_can_be_encoded_after_any_others():
    lonely = GraphSet.from_networkx([nx.empty_graph(2)], edge_label="label")
    encoder = EdgeEncoder.fit(bonds("-"))
    encoder.check(lonely, "error", "ECC")
    assert encode(encoder, lonely, np.arange(0)).shape == (0, 1)
    # and the other way round: what comes later is unknown
    nothing = EdgeEncoder.fit(bonds("-", "")[1:])
    assert encode(nothing, bonds("-"), np.arange(2)).tolist() == [[0], [0]]


def test_labels_without_an_order_have_the_same_columns_in_a_list_and_in_a_slice():
    atoms = Enum("Atoms", "C N O")
    graphs = []
    for labels in [(atoms.O, atoms.N), (atoms.N, atoms.C), (atoms.C, atoms.N)]:
        graph = nx.path_graph(2)
        nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
        graphs.append(graph)
    sliced, listed = GraphSet.from_networkx(graphs)[1:], GraphSet.from_networkx(graphs[1:])
    weight = np.ones(2)
    expected = NodeEncoder.fit(listed, weight).labels
    assert NodeEncoder.fit(sliced, weight).labels == expected == (atoms.N, atoms.C)


def test_features_far_beyond_those_of_training_are_bounded_without_a_warning():
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    near, far = (
        dataclasses.replace(graphs, features=np.array([[1.0], [2.0]]) * size)
        for size in (1e-300, 1e30)
    )
    encoder = NodeEncoder.fit(near, np.ones(1))
    with np.errstate(all="raise"):
        x = encoder.encode(far, np.arange(2), encoder.label_columns(far))
    assert x[:, 1].tolist() == [np.float32(1e15)] * 2
