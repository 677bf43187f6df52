import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklofi import GraphSet
from sklofi.egonets._colors import color_table
from sklofi.training._color_blocks import (
    ColorCounts,
    cut_blocks,
    gather_egonets,
    gather_graphs,
    number_colors,
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
