import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklofi import GraphSet
from sklofi.egonets._colors import color_table
from sklofi.egonets._members import Relations
from sklofi.nn._related_egonets import pair_matrix
from sklofi.training import _color_blocks
from sklofi.training._color_blocks import (
    ColorCounts,
    cut_blocks,
    gather_egonets,
    gather_graphs,
    number_colors,
    number_pairs,
)


def random_table(seed, *, merge=True):
    graphs = [nx.gnp_random_graph(4 + i % 5, 0.4, seed=10 * seed + i) for i in range(8)]
    return color_table(GraphSet.from_networkx(graphs), radius=1, n_layers=3, merge=merge)


def cut(table, rows, *, gradients=False):
    in_graphs = gather_graphs(table, rows)
    scratch = np.empty(len(rows) * int(table.level_offsets[-1]), dtype=np.int32)
    numbering = number_colors(table, in_graphs.colors, len(rows), scratch)
    in_egonets = gather_egonets(table, numbering)
    return list(cut_blocks(table, rows, numbering, in_graphs, in_egonets, gradients=gradients))


def arrays_of(matrix):
    arrays = [matrix.offsets.numpy(), matrix.columns.numpy(), matrix.counts.numpy()]
    return arrays if matrix.transposed is None else [*arrays, *arrays_of(matrix.transposed)]


ROWS = [np.array([3, 0]), np.array([5]), np.array([7, 1, 2])]


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("merge", [False, True])
def test_batches_that_are_cut_together_equal_batches_that_are_cut_alone(merge, gradients):
    table = random_table(0, merge=merge)
    for together, rows in zip(cut(table, ROWS, gradients=gradients), ROWS, strict=True):
        (alone,) = cut(table, [rows], gradients=gradients)
        assert_array_equal(together.colors, alone.colors)
        for first, second in zip(
            (*together.egonets, *together.graphs), (*alone.egonets, *alone.graphs), strict=True
        ):
            for got, expected in zip(arrays_of(first), arrays_of(second), strict=True):
                assert_array_equal(got, expected)
                assert got.dtype == expected.dtype


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_the_table(seed):
    """Every graph has all its nodes at every level, and every egonet all its members."""
    table = random_table(seed)
    sizes = 4 + np.arange(8) % 5
    for blocks, rows in zip(cut(table, ROWS), ROWS, strict=True):
        assert len(blocks.egonets) == len(blocks.graphs) == table.n_levels - 1
        for matrix in blocks.graphs:
            assert_array_equal(matrix.row_sums(), sizes[rows])
        for matrix, counts in zip(blocks.egonets, blocks.graphs, strict=True):
            assert len(matrix) == counts.columns.max() + 1


def test_the_scratch_array_need_not_be_cleared():
    table = random_table(0)
    in_graphs = gather_graphs(table, ROWS)
    n_colors = int(table.level_offsets[-1])
    numbers = []
    for content in (-1, 2**31 - 1):
        scratch = np.full(3 * n_colors + 5, content, dtype=np.int32)
        numbering = number_colors(table, in_graphs.colors, 3, scratch)
        numbers.append(numbering.number_of[in_graphs.colors])
    assert_array_equal(*numbers)
    assert_array_equal(np.unique(numbers[0]), np.arange(len(numbering.colors)))


def test_batches_of_too_many_entries_are_refused():
    table = random_table(0)
    in_graphs = gather_graphs(table, ROWS)
    scratch = np.empty(3 * int(table.level_offsets[-1]), dtype=np.int32)
    numbering = number_colors(table, in_graphs.colors, 3, scratch)
    huge = ColorCounts(np.array([0, 2**31]), in_graphs.colors, in_graphs.counts)
    with pytest.raises(MemoryError, match="has 2,147,483,648 entries; at most 2,147,483,647 are"):
        next(cut_blocks(table, ROWS, numbering, in_graphs, huge, gradients=False))


@pytest.mark.parametrize("seed", range(3))
def test_marking_and_sorting_find_the_same_numbers(seed, monkeypatch):
    numbers = np.random.default_rng(seed).integers(50, size=30, dtype=np.int32)
    marked = _color_blocks._sorted_distinct(numbers, 50)
    monkeypatch.setattr(_color_blocks, "PLACES_PER_NUMBER", 0)
    for found in (marked, _color_blocks._sorted_distinct(numbers, 50)):
        assert_array_equal(found, np.unique(numbers))
        assert found.dtype == np.int32


@pytest.mark.parametrize("most_kinds", [0, 100])
@pytest.mark.parametrize("gradients", [False, True])
def test_pairs_of_batches_that_are_cut_together_are_those_of_each_batch(gradients, most_kinds):
    """Here each level of a batch is cut alone, and its matrix is made by the layer's room."""
    graphs = [nx.gnp_random_graph(4 + i % 5, 0.4, seed=i) for i in range(8)]
    graph_set = GraphSet.from_networkx(graphs)
    relations = Relations(distances=True, max_ring=4)
    table = color_table(graph_set, 1, 3, relations)
    n_relations = int(table.pair_relations.max()) + 1

    def cut_pairs(rows):
        in_graphs = gather_graphs(table, rows)
        scratch = np.empty((2, len(rows) * len(table.members)), dtype=np.int32)
        numbering = number_colors(table, in_graphs.colors, len(rows), scratch[0])
        in_egonets = gather_egonets(table, numbering)
        members = in_egonets.colors
        pairs = number_pairs(table, numbering, members, scratch[1], n_relations, most_kinds)
        return list(
            cut_blocks(table, rows, numbering, in_graphs, in_egonets, pairs, gradients=gradients)
        )

    for blocks, rows in zip(cut_pairs(ROWS), ROWS, strict=True):
        (alone,) = cut_pairs([rows])
        assert_array_equal(blocks.kinds, alone.kinds)
        assert len(blocks.kinds) <= n_relations
        sizes = [len(blocks.colors), *(len(level.members) for level in blocks.egonets)]
        found = set()
        for level, other, n_colors in zip(blocks.egonets, alone.egonets, sizes, strict=False):
            parts = level.pairs.columns.reshape(-1, 2)
            found |= set(blocks.kinds[parts[:, 1].numpy() - n_colors])
            matrix = pair_matrix(
                parts[:, 0],
                parts[:, 1] - n_colors,
                n_colors,
                len(blocks.kinds),
                gradients=gradients,
            )
            for expected in (matrix, other.pairs):
                for got, array in zip(arrays_of(level.pairs), arrays_of(expected), strict=True):
                    assert_array_equal(got, array)
                    assert got.dtype == array.dtype
            for got, array in zip(arrays_of(level.members), arrays_of(other.members), strict=True):
                assert_array_equal(got, array)
        if most_kinds == 0:  # no relations but those that occur
            assert found == set(blocks.kinds)


def test_all_pairs_of_colors_and_pairs_that_occur_are_of_the_same_members():
    """At level 0 a color stands in more relations here than it does in a batch."""
    graphs = [nx.gnp_random_graph(4 + i % 5, 0.4, seed=i) for i in range(8)]
    table = color_table(GraphSet.from_networkx(graphs), 1, 3, Relations(max_ring=4))
    in_graphs = gather_graphs(table, ROWS)
    scratch = np.empty((2, len(ROWS) * len(table.members)), dtype=np.int32)
    numbering = number_colors(table, in_graphs.colors, len(ROWS), scratch[0])
    members = gather_egonets(table, numbering).colors
    n_relations = int(table.pair_relations.max()) + 1
    few, many = (
        number_pairs(table, numbering, members, scratch[1], n_relations, most_kinds)
        for most_kinds in (n_relations, 0)
    )
    assert len(few.colors) > len(many.colors) == len(np.unique(members))
    assert_array_equal(few.colors[few.members], many.colors[many.members])
    batch_of = members // table.pair_offsets[-1]
    relations = [
        pairs.relations[pairs.kinds[pairs.members] + pairs.kind_starts[batch_of]]
        for pairs in (few, many)
    ]
    assert_array_equal(*relations)
