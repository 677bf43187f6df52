import networkx as nx
import numpy as np
import pytest

from sklofi.inspection._layout import N_EXACT, layout


def numbered(graph):
    graph = nx.convert_node_labels_to_integers(graph)
    return graph, [edge[:2] for edge in graph.edges]


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


@pytest.mark.parametrize(
    "graph",
    [
        nx.empty_graph(1),
        nx.empty_graph(3),
        nx.path_graph(2),
        nx.star_graph(6),
        nx.complete_graph(9),
        nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(3)),
        nx.MultiDiGraph([(0, 1), (0, 1), (1, 1)]),
        nx.path_graph(300),
        nx.balanced_tree(3, 6),
        nx.star_graph(N_EXACT),
    ],
)
def test_layouts_keep_nodes_apart_and_are_the_same_every_time(graph):
    graph, edges = numbered(graph)
    places = layout(len(graph), edges)
    assert places.shape == (len(graph), 2)
    assert np.isfinite(places).all()
    # Large graphs are not optimized pair by pair.
    least = 0.01 if len(graph) <= N_EXACT else 1e-6
    assert (distances(places) + np.eye(len(places)) > least).all()
    assert (layout(len(graph), edges) == places).all()


def test_distances_on_paper_are_those_in_the_graph():
    found = distances(layout(*path_of(7)))
    assert np.allclose(found, abs(np.subtract.outer(np.arange(7), np.arange(7))), atol=0.05)
    ring = distances(layout(6, [(i, (i + 1) % 6) for i in range(6)]))
    sides, diagonals = ring[0, [1, 5]], ring[[0, 1, 2], [3, 4, 5]]
    assert np.allclose(sides, sides[0], rtol=0.05)
    assert np.allclose(diagonals, 2 * sides[0], rtol=0.1)


def path_of(n_nodes):
    return n_nodes, [(i, i + 1) for i in range(n_nodes - 1)]


def crossings(places, edges):
    """Number of pairs of edges that cross, by the sides on which the ends of the others are."""
    start, end = places[np.array(edges)].transpose(1, 0, 2)

    def side(a, b, c):
        ab, ac = b - a, c - a
        return np.sign(ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0])

    a, b, c, d = start[:, None], end[:, None], start[None], end[None]
    found = (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)
    return found.sum() // 2


def test_four_hundred_nodes_are_not_a_tangle():
    graph, edges = numbered(nx.grid_2d_graph(20, 20))
    assert crossings(layout(400, edges), edges) == 0
    graph, edges = numbered(nx.random_labeled_tree(400, seed=0))
    spring = np.array(list(nx.spring_layout(graph, seed=0).values()))
    assert crossings(layout(400, edges), edges) < crossings(spring, edges) / 5


def test_edges_have_about_the_same_length():
    _, edges = numbered(nx.grid_2d_graph(20, 20))
    ends = layout(400, edges)[np.array(edges)]
    lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    assert lengths.min() > 0.5 and lengths.max() < 1.5


def test_parts_that_are_not_connected_stand_apart_in_rows():
    parts = [nx.cycle_graph(8), nx.path_graph(4), *[nx.empty_graph(1)] * 20]
    graph, edges = numbered(nx.disjoint_union_all(parts))
    places = layout(len(graph), edges)
    boxes = [(places[sorted(nodes)].min(axis=0), places[sorted(nodes)].max(axis=0))
             for nodes in nx.connected_components(graph)]  # fmt: skip
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:i]:
            assert ((low > other_high + 0.5) | (other_low > high + 0.5)).any()
    width, height = np.ptp(places, axis=0)
    assert 1 / 3 < width / height < 3


def test_directions_loops_and_repetitions_change_nothing():
    once = layout(4, [(0, 1), (1, 2), (1, 3)])
    assert (layout(4, [(1, 0), (0, 1), (2, 1), (2, 2), (1, 3), (1, 3)]) == once).all()
