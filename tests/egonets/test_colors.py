from collections import Counter
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from small_graphs import odd_structures

import helpers
from sklofi import GraphSet
from sklofi.egonets import _colors, _incidence, egonet_incidence
from sklofi.egonets._colors import color_table, distinct_rows, node_colors


def labeled_graphs():
    graphs = odd_structures()
    for i, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {v: (i + j) % 2 for j, v in enumerate(graph)}, "label")
    return GraphSet.from_networkx(graphs)


def colors(graphs, radius, n_layers):
    """For each level the color of each node, a nested tuple that holds all it depends on."""
    levels = [[(label,) for label in graphs.label_ids.tolist()]]
    incidence = egonet_incidence(graphs, radius)
    members = np.split(incidence.indices, incidence.indptr[1:-1])
    for _ in range(n_layers):
        below = levels[-1]
        levels.append([tuple(sorted(below[u] for u in egonet)) for egonet in members])
    return levels


@pytest.mark.parametrize("radius", [0, 1, 2])
def test_colors_are_nested_multisets_of_labels(radius):
    graphs = labeled_graphs()
    table = color_table(graphs, radius, 3)
    for level, color in enumerate(colors(graphs, radius, 3)[: table.n_levels]):
        first, last = table.level_offsets[level : level + 2]
        assert last - first == len(set(color))
        for g, (start, stop) in enumerate(pairwise(graphs.node_offsets)):
            segment = level * len(graphs) + g
            begin, end = table.color_offsets[segment : segment + 2]
            expected = Counter(color[start:stop])
            assert sorted(table.color_counts[begin:end]) == sorted(expected.values())
            assert ((table.colors[begin:end] >= first) & (table.colors[begin:end] < last)).all()


def test_members_of_an_egonet_are_counted_by_color():
    """A path a-a-b: egonets {2a}, {2a, b}, {a, b}."""
    path = nx.path_graph(3)
    nx.set_node_attributes(path, {0: "a", 1: "a", 2: "b"}, "label")
    table = color_table(GraphSet.from_networkx([path]), 1, 1)
    rows = [
        dict(zip(table.members[i:j].tolist(), table.member_counts[i:j].tolist(), strict=True))
        for i, j in pairwise(table.member_offsets)
    ]
    assert rows[:2] == [{}, {}]
    assert sorted(map(str, rows[2:])) == ["{0: 1.0, 1: 1.0}", "{0: 2.0, 1: 1.0}", "{0: 2.0}"]
    assert table.representatives.tolist() == [0, 2]


def test_levels_end_where_nothing_changes():
    """In a cycle all nodes are alike; in a path there are as many colors as distances
    from the end."""
    assert color_table(GraphSet.from_networkx([nx.cycle_graph(9)]), 1, 5).n_levels == 2
    path = color_table(GraphSet.from_networkx([nx.path_graph(30)]), 1, 30)
    sizes = np.diff(path.level_offsets).tolist()
    assert sizes == [*range(1, 16), 15]
    assert_array_equal(path.members[path.members >= path.level_offsets[-2]], [])


def test_a_partition_of_the_same_size_is_not_the_same_partition():
    """Egonets forget which of their members is the center: a-b has two colors at first,
    one at level 1; together with a-a, b-b there are two, then three."""
    graphs = [nx.path_graph(2) for _ in range(3)]
    for graph, labels in zip(graphs, ["ab", "aa", "bb"], strict=True):
        nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    table = color_table(GraphSet.from_networkx(graphs), 1, 4)
    assert np.diff(table.level_offsets).tolist() == [2, 3, 3]
    two = color_table(GraphSet.from_networkx(graphs[:2]), 1, 4)
    assert np.diff(two.level_offsets).tolist() == [2, 2, 2]
    assert two.color_counts.tolist()[:3] == [1, 1, 2]  # level 0: ab, aa
    assert two.color_counts.tolist()[3:5] == [2, 2]  # level 1: one color for each graph


def test_without_merging_every_node_has_a_color_of_its_own():
    graphs = labeled_graphs()
    table = color_table(graphs, 2, 5, merge=False)
    assert np.diff(table.level_offsets).tolist() == [graphs.n_nodes] * 2
    incidence = egonet_incidence(graphs, 2)
    assert_array_equal(table.members, incidence.indices)
    assert_array_equal(table.member_offsets[graphs.n_nodes :], incidence.indptr)


def test_nodes_that_are_nearly_all_different_are_not_merged():
    graph = nx.gnp_random_graph(30, 0.2, seed=0)
    nx.set_node_attributes(graph, {v: float(v) for v in graph}, "x")
    table = color_table(GraphSet.from_networkx([graph], node_features="x"), 1, 4)
    assert np.diff(table.level_offsets).tolist() == [30, 30]


def test_features_and_labels_decide_together_at_level_0():
    graph = nx.empty_graph(8)
    nx.set_node_attributes(graph, dict(enumerate("aaaabbbb")), "label")
    vectors = [(0, 1), (0, 1), (0, 2), (-0.0, 1), (0, 1), (1, 1), (1, 1), (0, 1)]
    nx.set_node_attributes(graph, dict(enumerate(vectors)), "x")
    table = color_table(GraphSet.from_networkx([graph], node_features="x"), 0, 1)
    assert sorted(table.color_counts[: table.color_offsets[1]].tolist()) == [1, 2, 2, 3]


def test_a_shallow_table_is_the_beginning_of_a_deep_one():
    graphs, same = labeled_graphs(), labeled_graphs()
    color_table(graphs, 1, 3)
    for depth in (2, 1, 3):
        table, expected = color_table(graphs, 1, depth), color_table(same, 1, depth)
        for name, value in vars(table).items():
            assert_array_equal(value, getattr(expected, name))


@pytest.mark.parametrize("directed", [False, True])
def test_colors_of_nodes_are_those_of_nested_multisets(directed):
    graphs = helpers.odd_graphs(directed=directed)
    colors = [dict(graph.nodes(data="label")) for graph in graphs]
    for n_layers in range(4):
        flat = [color for color_of in colors for color in color_of.values()]
        found = node_colors(GraphSet.from_networkx(graphs), 1, n_layers).tolist()
        assert len(set(zip(flat, found, strict=True))) == len(set(flat))
        assert len(set(found)) == len(set(flat))
        colors = [
            {v: tuple(sorted(repr(color_of[u]) for u in {v, *graph[v]})) for v in graph}
            for graph, color_of in zip(graphs, colors, strict=True)
        ]


def test_colliding_hashes_are_noticed(monkeypatch):
    attempts = []

    def factors(n_columns, attempt):
        attempts.append(attempt)
        if attempt < 2:  # all rows of the same size collide, then all but one column
            return np.full(n_columns, attempt, dtype=np.uint64)
        return hash_factors(n_columns, attempt)

    hash_factors = _colors._hash_factors
    rows = sp.csr_array([[1, 2, 0], [2, 1, 0], [1, 2, 0], [0, 0, 3], [2, 1, 0]])
    expected = distinct_rows(rows)
    monkeypatch.setattr(_colors, "_hash_factors", factors)
    found = distinct_rows(rows)
    assert attempts == [0, 1, 2]
    for colors in (expected, found):
        assert colors[0] == colors[2] and colors[1] == colors[4]
        assert len(set(colors.tolist())) == 3


def test_rows_of_round_weights_are_told_apart():
    """The binary digits of 0.5, 1 and 2 end in dozens of zeros."""
    rng = np.random.default_rng(0)
    counts = rng.choice([0, 0, 0.5, 1, 2], size=(3000, 20)).astype(np.float32)
    counts[:, 0] = 1
    color_of = distinct_rows(sp.csr_array(counts))
    _, expected = np.unique(counts, axis=0, return_inverse=True)
    assert len(np.unique(color_of)) == len(np.unique(expected))
    assert len(set(zip(color_of.tolist(), expected.tolist(), strict=True))) == color_of.max() + 1


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_thousands_of_rows_of_small_numbers_are_told_apart(dtype):
    """Numbers such as 1.0, 2.0 and 3.0 differ in the highest of their bits only."""
    dense = np.random.default_rng(0).integers(1, 4, (5000, 8)).astype(dtype)
    _, expected = np.unique(dense, axis=0, return_inverse=True)
    found = distinct_rows(sp.csr_array(dense))
    assert len(set(zip(found.tolist(), expected.ravel().tolist(), strict=True))) == found.max() + 1
    assert found.max() == expected.max()


def test_tables_are_computed_once(monkeypatch):
    computed = []
    for module, name in ((_incidence, "_compute_egonets"), (_colors, "_add_level")):
        original = getattr(module, name)

        def counted(*args, name=name, original=original):
            computed.append(name)
            return original(*args)

        monkeypatch.setattr(module, name, counted)
    graphs = labeled_graphs()
    for depth in (2, 3, 1, 2):
        color_table(graphs, 1, depth)
    assert computed == ["_compute_egonets", "_add_level", "_add_level", "_add_level"]
