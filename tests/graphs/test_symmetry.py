from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from helpers import odd_graphs
from sklofi import GraphSet
from sklofi.graphs._symmetry import is_symmetric


def test_undirected_graphs_are_symmetric_with_loops_and_parallel_edges():
    assert is_symmetric(GraphSet.from_networkx(odd_graphs()))
    parallel = nx.MultiGraph([(0, 1, {"label": "a"}), (0, 1, {"label": "b"}), (1, 1), (2, 1)])
    for edge in parallel.edges(data=True):
        edge[2].setdefault("label", "c")
    assert is_symmetric(GraphSet.from_networkx([nx.path_graph(1), parallel][1:]))
    assert is_symmetric(GraphSet.from_networkx([nx.empty_graph(3)]))


def test_directed_graphs_are_not():
    directed = [nx.path_graph(3), nx.path_graph(3, create_using=nx.DiGraph)]
    graphs = GraphSet.from_networkx(directed)
    assert not is_symmetric(graphs)
    assert not is_symmetric(graphs[[0]])  # known of the whole set


def test_weights_may_be_other_ones_on_the_way_back():
    path = nx.path_graph(3)
    nx.set_edge_attributes(path, {(0, 1): 2.0, (1, 2): 3.0}, "w")
    graphs = GraphSet.from_networkx([path], edge_weight="w")
    assert is_symmetric(graphs, with_weights=True)
    other = replace(graphs, edge_weights=np.array([2.0, 1.0, 3.0, 3.0]))
    assert is_symmetric(other)
    assert not is_symmetric(other, with_weights=True)


@pytest.mark.parametrize("neighbors", [[1, 0, 0], [1, 2, 0]])
def test_arrays_of_others_are_looked_at(neighbors):
    """As those of a file, which say that the graph is not directed."""
    arrays = {"node_offsets": np.array([0, 3]), "directed": np.array([False])}
    graphs = GraphSet(
        edge_offsets=np.array([0, 1, 2, 3]), neighbors=np.array(neighbors, np.int32), **arrays
    )
    assert not is_symmetric(graphs)
