import copy

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_graphs import odd_structures

from sklofi import GraphSet
from sklofi import _memory as memory
from sklofi.egonets import egonet_incidence
from sklofi.egonets._incidence import BYTES_PER_MEMBER, boolean_incidence, has_egonets


@pytest.mark.parametrize("radius", [0, 1, 2, 3, 20, 10**12])
def test_egonets_equal_networkx_ego_graph(radius):
    graphs = odd_structures()
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
    graphs = GraphSet.from_networkx(odd_structures())
    whole = egonet_incidence(graphs, 2).toarray()
    start, stop = graphs.node_offsets[[2, 3]]
    part = egonet_incidence(graphs[[2]], 2).toarray()
    assert_array_equal(part, whole[start:stop, start:stop])


def test_a_hub_with_a_large_radius_is_refused_before_it_is_built(monkeypatch):
    """The leaves of a star with 200,000 of them all see each other within two steps."""
    monkeypatch.setattr(memory, "memory_size", lambda: 64 * 2.0**30)
    graphs = GraphSet.from_networkx([nx.path_graph(3), nx.star_graph(200_000)])
    egonet_incidence(graphs, 1)
    with pytest.raises(
        MemoryError,
        match=r"Egonets of radius 2 could have 40,000,400,0\d\d members .* take 894\.\d GiB"
        r".* graph 1, with 200,001 nodes\. Use a smaller radius",
    ):
        egonet_incidence(graphs, 2)


def test_many_small_parts_are_not_taken_for_a_large_one(monkeypatch):
    """Egonets end at the border of their component, cliques at their own size."""
    cliques = nx.disjoint_union_all([nx.complete_graph(50)] * 20)
    ring = nx.ring_of_cliques(20, 50)
    for graph, slack in [(cliques, 1), (ring, 20)]:
        graphs = GraphSet.from_networkx([graph])
        n_members = egonet_incidence(graphs, 2).nnz
        needed = BYTES_PER_MEMBER * n_members
        with monkeypatch.context() as patch:
            patch.setattr(memory, "memory_size", lambda n=needed * slack: 2 * n)
            assert egonet_incidence(copy.copy(graphs), 2).nnz == n_members


@pytest.mark.parametrize("radius", [2, 3, 5])
def test_the_bound_on_the_size_is_an_upper_one(radius, monkeypatch):
    graphs = GraphSet.from_networkx(odd_structures())
    n_members = egonet_incidence(graphs, radius).nnz
    needed = BYTES_PER_MEMBER * n_members
    monkeypatch.setattr(memory, "memory_size", lambda: 2 * (needed - 1))
    with pytest.raises(MemoryError):
        egonet_incidence(copy.copy(graphs), radius)


def test_egonets_are_computed_once_and_without_labels_too():
    graphs = odd_structures()
    for graph in graphs:
        nx.set_node_attributes(graph, "a", "label")
    labeled = GraphSet.from_networkx(graphs)
    assert not has_egonets(labeled, 2)
    incidence = boolean_incidence(labeled, 2)
    assert has_egonets(labeled, 2) and not has_egonets(labeled, 1)
    assert boolean_incidence(labeled, 2) is incidence
    assert boolean_incidence(labeled.without_labels(), 2) is incidence
