"""Rings against the shortest way back."""

import pickle
from collections import Counter
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from helpers import ring_of
from sklofi import GraphSet
from sklofi.egonets import _rings as rings
from sklofi.egonets._rings import edges_once, ring_sizes


def sizes_of(graphs, max_size=8):
    return ring_sizes(GraphSet.from_networkx(graphs, None), max_size)


def all_rings(graphs, max_size=8):
    """How many edges have a smallest ring of each size; an undirected edge is one."""
    graphs = GraphSet.from_networkx(graphs, None)
    sizes = ring_sizes(graphs, max_size)[edges_once(graphs)[0]]
    return Counter(sizes[sizes > 0].tolist())


def plain_sizes(graphs, max_size=8):
    """The size at each entry of `neighbors`, by a plain loop."""
    sizes = []
    for graph in graphs:
        of_edge = {}
        for u, v in graph.edges:
            size = ring_of(graph, u, v) or 0
            of_edge[u, v] = size if size <= max_size else 0
            if not graph.is_directed():
                of_edge[v, u] = of_edge[u, v]
        sizes += [of_edge[u, v] for u in graph for v in graph[u]]
    return sizes


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
    assert sizes_of(graphs, max_size).tolist() == plain_sizes(graphs, max_size)


@st.composite
def small_graphs(draw):
    """Graphs of few nodes, half of them cycles with some chords, directed or not, with loops."""
    n_nodes = draw(st.integers(1, 14))
    directed = draw(st.booleans())
    graph = nx.empty_graph(n_nodes, create_using=nx.DiGraph if directed else nx.Graph)
    if draw(st.booleans()):
        nx.add_cycle(graph, range(n_nodes))
    node = st.integers(0, n_nodes - 1)
    graph.add_edges_from(draw(st.lists(st.tuples(node, node), max_size=2 * n_nodes)))
    return graph


@settings(max_examples=250, deadline=None)
@given(st.lists(small_graphs(), min_size=1, max_size=8), st.integers(0, 12))
def test_rings_of_any_small_graphs_equal_a_plain_loop(graphs, max_size):
    assert sizes_of(graphs, max_size).tolist() == plain_sizes(graphs, max_size)


def test_rings_of_thousands_of_random_graphs_equal_a_plain_loop():
    rng = np.random.RandomState(0)
    graphs = []
    for i in range(2000):
        n_nodes = rng.randint(2, 16)
        density = rng.choice([1.2, 2.0, 3.0, 5.0]) / n_nodes
        graph = nx.gnp_random_graph(n_nodes, density, seed=i, directed=bool(i % 4 == 0))
        graph.add_edges_from([(0, 0)] * (i % 5 == 0))
        graphs.append(graph)
    sizes = sizes_of(graphs, 8)
    assert sizes.tolist() == plain_sizes(graphs, 8)
    assert set(sizes.tolist()) == set(range(9))


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


def test_sets_without_edges_have_no_rings():
    assert sizes_of([nx.empty_graph(3), nx.empty_graph(2, create_using=nx.DiGraph)]).shape == (0,)


@pytest.mark.parametrize("directed", [False, True])
def test_parallel_entries_are_one_edge_and_make_no_ring(directed):
    """Node 0 has the neighbor 1 twice, say by two labels; 1, 2 and 3 are a triangle."""
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 1)])
    if directed:
        graph = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 1)])
    plain = GraphSet.from_networkx([graph])
    copies = np.where((plain.neighbors == 1) & (np.arange(len(plain.neighbors)) == 0), 2, 1)
    if not directed:
        copies[1] = 2  # the same edge, seen from node 1
    n_entries = np.add.reduceat(copies, plain.edge_offsets[:-1])
    parallel = replace(
        plain,
        edge_offsets=np.concatenate([[0], np.cumsum(n_entries)]),
        neighbors=np.repeat(plain.neighbors, copies),
    )
    expected = np.repeat(ring_sizes(plain, 8), copies)
    assert ring_sizes(parallel, 8).tolist() == expected.tolist()
    assert expected[:2].tolist() == [0, 0]


def test_rings_are_computed_once_and_slices_take_them(monkeypatch):
    graphs = [nx.gnp_random_graph(12, 0.2, seed=seed, directed=seed % 2 > 0) for seed in range(9)]
    whole = GraphSet.from_networkx(graphs)
    sizes = ring_sizes(whole, 7)
    assert not sizes.flags.writeable
    monkeypatch.setattr(rings, "_compute_rings", None)
    assert ring_sizes(whole, 7) is sizes
    rows = [5, 0, 0, 8]
    assert ring_sizes(whole[rows], 7).tolist() == plain_sizes([graphs[i] for i in rows], 7)


def test_rings_of_graphs_that_differ_in_direction_only_are_not_mixed_up_by_pickle():
    """A process keeps the tables of graphs that it receives, by their fingerprint."""
    path = nx.path_graph(3)
    for graph, expected in ((path, 0), (nx.DiGraph(path), 2)):
        received = pickle.loads(pickle.dumps(GraphSet.from_networkx([graph])))
        assert set(ring_sizes(received, 8).tolist()) == {expected}


def test_rings_do_not_depend_on_how_many_are_searched_at_a_time(monkeypatch):
    graphs = [nx.gnp_random_graph(25, 0.07, seed=seed) for seed in range(10)]
    graphs += [nx.gnp_random_graph(25, 0.07, seed=seed, directed=True) for seed in range(10)]
    graphs.append(nx.complete_bipartite_graph(8, 9))
    expected = all_rings(graphs)
    assert len(expected) > 4
    monkeypatch.setattr(rings, "EDGES_TOGETHER", 7)
    monkeypatch.setattr(rings, "STEPS_TOGETHER", 5)
    assert all_rings(graphs) == expected


def test_edges_of_cliques_are_done_without_a_search(monkeypatch):
    """Of which social networks are made; a search would take long."""
    monkeypatch.setattr(rings, "_search_from", None)
    assert all_rings([nx.complete_graph(100)]) == {3: 4950}


@pytest.mark.parametrize("directed", [False, True])
def test_larger_rings_are_looked_for_where_walks_are_few(monkeypatch, directed):
    """By a rule for each graph: others of the set change nothing."""
    ring = nx.cycle_graph(8, create_using=nx.DiGraph if directed else nx.Graph)
    n_walks = 1 if directed else 2**4  # of four steps from each node
    monkeypatch.setattr(rings, "WALKS_PER_NODE", n_walks)
    others = [nx.complete_graph(9), nx.path_graph(2)]
    assert sizes_of([ring, *others])[: ring.number_of_edges()].tolist() == [8] * 8
    monkeypatch.setattr(rings, "WALKS_PER_NODE", n_walks - 1)
    assert sizes_of([ring, *others]).max() == 3


def test_dense_graphs_have_triangles_and_squares_only(monkeypatch):
    monkeypatch.setattr(rings, "WALKS_PER_NODE", 5)
    graphs = [nx.petersen_graph(), nx.complete_bipartite_graph(3, 3), nx.complete_graph(4)]
    assert all_rings(graphs) == {4: 9, 3: 6}


@pytest.mark.parametrize("degree, largest", [(8, 8), (10, 6), (16, 6), (18, 4), (64, 4)])
def test_the_limits_of_regular_graphs_are_those_of_the_docstring(degree, largest):
    """In a circulant graph all nodes have the same degree."""
    graphs = GraphSet.from_networkx([nx.circulant_graph(150, range(1, degree // 2 + 1))])
    source = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.edge_offsets))
    simple, _ = rings._SimpleGraphs.from_edges(graphs, source, graphs.neighbors)
    assert set(simple.largest_sizes(8, directed=False).tolist()) == {largest}


def test_rings_of_a_graph_that_would_take_too_long_are_left_out_with_a_warning(monkeypatch):
    monkeypatch.setattr(rings, "MAX_STEPS", 100)
    graphs = [nx.cycle_graph(4), nx.complete_bipartite_graph(10, 10)]
    with pytest.warns(UserWarning, match=r"1 of the 2 graphs .* graph 1, with 20 nodes of degree"):
        assert sizes_of(graphs, 4).tolist() == 8 * [4] + 200 * [0]
    assert sizes_of(graphs, 3).max() == 0  # so many are tried at first
    monkeypatch.setattr(rings, "FIRST_TRIES", 4)
    with pytest.warns(UserWarning, match="such as graph 1"):
        sizes_of(graphs, 3)
    assert sizes_of(graphs, 2).max() == 0


def test_a_directed_graph_that_would_take_too_long_is_named(monkeypatch):
    """Four layers of ten nodes, each joined to the next: there are no triangles."""
    monkeypatch.setattr(rings, "FIRST_TRIES", 4)
    monkeypatch.setattr(rings, "MAX_STEPS", 100)
    layers = nx.empty_graph(40, create_using=nx.DiGraph)
    layers.add_edges_from(
        (u, v) for u in range(40) for v in range(40) if (v // 10 - u // 10) % 4 == 1
    )
    with pytest.warns(UserWarning, match="such as graph 1, with 40 nodes of degree 10"):
        assert sizes_of([nx.cycle_graph(3, nx.DiGraph), layers], 3).tolist() == 3 * [3] + 400 * [0]


def test_cliques_are_searched_whatever_their_size(monkeypatch):
    monkeypatch.setattr(rings, "MAX_STEPS", 100)
    assert all_rings([nx.complete_graph(60)]) == {3: 1770}


def test_sizes_beyond_the_graphs_cost_nothing():
    """A file may ask for any size of rings."""
    graphs = [nx.cycle_graph(12), nx.path_graph(3), nx.Graph([(0, 1)]), nx.DiGraph([(0, 1)])]
    graphs = GraphSet.from_networkx([*graphs, nx.gnp_random_graph(30, 0.1, seed=0)])
    assert_array_equal(ring_sizes(graphs, 10**30), ring_sizes(graphs, 30))
