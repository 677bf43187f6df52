"""Rings against the shortest way back."""

from collections import Counter

import networkx as nx
import pytest

from helpers import ring_of
from sklofi import GraphSet
from sklofi.egonets import _rings as rings
from sklofi.egonets._rings import smallest_rings


def all_rings(graphs, max_size=8):
    return Counter(smallest_rings(GraphSet.from_networkx(graphs, None), max_size)[1].tolist())


def plain_rings(graphs, max_size=8):
    sizes = (ring_of(graph, u, v) for graph in graphs for u, v in graph.edges)
    return Counter(size for size in sizes if size is not None and size <= max_size)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("max_size", [0, 1, 2, 3, 4, 5, 8, 100])
def test_rings_equal_the_shortest_way_back_without_the_edge(max_size, directed):
    graphs = [
        nx.gnp_random_graph(n, p, seed=seed, directed=directed)
        for n, p in [(8, 0.2), (12, 0.15), (25, 0.06), (9, 0.6)]
        for seed in range(8)
    ]
    for graph in graphs[::3]:
        graph.add_edge(0, 0)
    assert all_rings(graphs, max_size) == plain_rings(graphs, max_size)


def test_rings_of_well_known_graphs():
    assert all_rings([nx.cycle_graph(6), nx.cycle_graph(9), nx.path_graph(5)]) == {6: 6}
    assert all_rings([nx.petersen_graph()]) == {5: 15}
    assert all_rings([nx.heawood_graph()]) == {6: 21}
    assert all_rings([nx.tutte_graph()], 30) == plain_rings([nx.tutte_graph()], 30)
    assert all_rings([nx.complete_bipartite_graph(3, 4), nx.complete_graph(5)]) == {4: 12, 3: 10}
    assert all_rings([nx.DiGraph([(0, 1), (1, 0), (1, 2)]), nx.Graph([(0, 0), (0, 1)])]) == {
        2: 2,
        1: 1,
    }


def test_rings_do_not_depend_on_how_many_are_searched_at_a_time(monkeypatch):
    graphs = [nx.gnp_random_graph(25, 0.07, seed=seed) for seed in range(10)]
    graphs.append(nx.complete_bipartite_graph(8, 9))
    expected = all_rings(graphs)
    assert len(expected) > 4
    monkeypatch.setattr(rings, "EDGES_TOGETHER", 7)
    monkeypatch.setattr(rings, "STEPS_TOGETHER", 5)
    assert all_rings(graphs) == expected


def test_edges_of_cliques_are_done_without_a_search(monkeypatch):
    """Of which social networks are made; a search would take long."""
    searched = []
    monkeypatch.setattr(rings, "_search_rings", lambda *args: searched.append(args))
    assert all_rings([nx.complete_graph(100)]) == {3: 4950}
    assert searched == []
