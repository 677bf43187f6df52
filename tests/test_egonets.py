import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklofi import GraphSet
from sklofi.egonets import egonet_incidence


def odd_graphs():
    directed = nx.gnp_random_graph(9, 0.2, seed=1, directed=True)
    loops = nx.path_graph(4)
    loops.add_edge(2, 2)
    parts = nx.disjoint_union(nx.cycle_graph(5), nx.empty_graph(2))
    multi = nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    return [directed, loops, parts, multi, nx.empty_graph(1), nx.gnp_random_graph(12, 0.2, seed=2)]


@pytest.mark.parametrize("radius", [0, 1, 2, 3, 20])
def test_egonets_equal_networkx_ego_graph(radius):
    graphs = odd_graphs()
    incidence = egonet_incidence(GraphSet.from_networkx(graphs), radius)
    expected = np.zeros(incidence.shape)
    first = 0
    for graph in graphs:
        number = {node: first + i for i, node in enumerate(graph)}
        for node in graph:
            for member in nx.ego_graph(graph, node, radius=radius):
                expected[number[node], number[member]] = 1
        first += len(graph)
    assert_array_equal(incidence.toarray(), expected)
    assert incidence.has_sorted_indices


def test_egonets_of_a_slice_are_a_block_of_the_whole():
    graphs = GraphSet.from_networkx(odd_graphs())
    whole = egonet_incidence(graphs, 2).toarray()
    start, stop = graphs.node_offsets[[2, 3]]
    part = egonet_incidence(graphs[[2]], 2).toarray()
    assert_array_equal(part, whole[start:stop, start:stop])
