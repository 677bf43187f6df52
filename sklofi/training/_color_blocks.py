"""Cut the matrices of several batches from a table of colors.

A :class:`~sklofi.egonets._colors.ColorTable` describes a whole set of graphs. A batch of some of
these graphs needs two matrices for each layer: how many members of each color an egonet has, and
how many nodes of each color a graph has. Several batches are cut together, in three steps,
because on small graphs a call of numpy costs more than its work:

1. gather the entries of the table that belong to the graphs (:func:`gather_graphs`),
2. renumber the colors that occur in them (:func:`number_colors`), which says what egonets have to
   be gathered as well (:func:`gather_egonets`), and, where members stand in relations to the
   center, the pairs of a color and a relation that occur in these (:func:`number_pairs`),
3. cut the blocks of each batch and level (:func:`cut_blocks`).

Examples
--------
The paths a-b and a-b-a. There are the colors 0 (a) and 1 (b) at level 0. At level 1 there is
color 2, with one a and one b in the egonet: both nodes of the first path and the ends of the
second. And there is color 3, with two a and one b: the middle of the second path.

>>> table = ColorTable(
...     n_graphs=2,
...     level_offsets=np.array([0, 2, 4]),
...     representatives=np.array([0, 1]),
...     member_offsets=np.array([0, 0, 0, 2, 4]),
...     members=np.array([0, 1, 0, 1], dtype=np.int32),
...     member_counts=np.array([1, 1, 2, 1], dtype=np.float32),
...     color_offsets=np.array([0, 2, 4, 5, 7]),
...     colors=np.array([0, 1, 0, 1, 2, 2, 3], dtype=np.int32),
...     color_counts=np.array([1, 1, 2, 1, 2, 2, 1], dtype=np.float32),
...     pair_offsets=np.array([0, 2]),
... )

Each of the graphs becomes a batch. In the first step a row of entries is gathered for each level
of each batch. The second batch counts its 4 colors from 4 on, so that no two batches share one.

>>> rows = [np.array([0]), np.array([1])]
>>> in_graphs = gather_graphs(table, rows)
>>> in_graphs.offsets.tolist()
[0, 2, 3, 5, 7]
>>> in_graphs.colors.tolist()
[0, 1, 2, 4, 5, 6, 7]
>>> in_graphs.counts.tolist()
[1.0, 1.0, 2.0, 2.0, 1.0, 2.0, 1.0]

In the second step these colors are numbered. The first graph has no node of color 3, so color 4
has the number 3. Levels begin at the numbers 0 and 2 of the first batch, 3 and 5 of the second.

>>> scratch = np.empty(8, dtype=np.int32)
>>> numbering = number_colors(table, in_graphs.colors, n_batches=2, scratch=scratch)
>>> numbering.colors.tolist()
[0, 1, 2, 4, 5, 6, 7]
>>> numbering.starts.tolist()
[0, 2, 3, 5, 7]

Of each of these colors, the egonet is gathered. Colors of level 0 have none.

>>> in_egonets = gather_egonets(table, numbering)
>>> in_egonets.offsets.tolist()
[0, 0, 0, 2, 2, 2, 4, 6]
>>> in_egonets.colors.tolist()
[0, 1, 4, 5, 4, 5]

In the third step, the columns of level 1 are cut from the rows of the graphs, and those of level 0
from the rows of the egonets. The second graph has two nodes whose egonets have one a and one b,
and one whose egonet has two a and one b.

>>> first, second = cut_blocks(table, rows, numbering, in_graphs, in_egonets, gradients=False)
>>> [(level.columns.tolist(), level.counts.tolist()) for level in second.graphs]
[([0, 1], [2.0, 1.0])]
>>> [(level.columns.tolist(), level.counts.tolist()) for level in second.egonets]
[([0, 1, 0, 1], [1.0, 1.0, 2.0, 1.0])]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from sklofi.egonets._colors import ColorTable
from sklofi.graphs._segments import offsets_of, take_segments
from sklofi.nn._count_matrix import CountMatrix


@dataclass(frozen=True, eq=False)
class ColorCounts:
    """Rows of counts of colors: row ``i`` has ``counts[j]`` of ``colors[j]``, for ``j`` from
    ``offsets[i]`` to ``offsets[i + 1]``."""

    offsets: NDArray[np.int64]  # (n_rows + 1,)
    colors: NDArray[np.int32]  # (n_entries,), those of batch b counted from b * n_colors
    counts: NDArray[np.float32]  # (n_entries,)


@dataclass(frozen=True, eq=False)
class Numbering:
    """The numbers of the colors that occur in several batches."""

    n_levels: int
    colors: NDArray[np.int32]  # (n_numbers,), sorted: the color that has each number
    shifts: NDArray[np.int32]  # (n_batches,): where the colors of each batch begin
    starts: NDArray[np.int64]  # (n_batches * n_levels + 1,): where the numbers of each level begin
    number_of: NDArray[np.int32]  # (at least n_batches * n_colors,), defined where colors occur


@dataclass(frozen=True, eq=False)
class EgonetBlock:
    """The egonets of a level of a batch, in terms of pairs of a color and a relation."""

    members: CountMatrix  # (n_colors of the level, n_pairs)
    pairs: CountMatrix  # (n_pairs, n_colors of the level below + n_kinds), as in RelatedEgonets


@dataclass(frozen=True, eq=False)
class BatchBlocks:
    """The matrices of a batch, one for each level but level 0."""

    colors: NDArray[np.int32]  # (n_colors of level 0,), as in the table
    # Each (n_colors of the level, n_colors of the level below), if all relations are alike.
    egonets: tuple[CountMatrix, ...] | tuple[EgonetBlock, ...]
    graphs: tuple[CountMatrix, ...]  # each (n_graphs, n_colors of the level)
    kinds: NDArray[np.int64] | None = None  # (n_kinds,), the relations that columns stand for


def gather_graphs(table: ColorTable, rows: Sequence[NDArray[np.int64]]) -> ColorCounts:
    """Gather the colors of the graphs of several batches.

    Parameters
    ----------
    table : ColorTable
        The table of all graphs.

    rows : sequence of ndarray of shape (n_graphs,)
        The graphs of each batch.

    Returns
    -------
    in_graphs : ColorCounts
        A row for each graph: of each batch the levels, of each level the graphs.
    """
    n_colors = int(table.level_offsets[-1])
    levels = table.n_graphs * np.arange(table.n_levels)[:, None]
    segments = np.concatenate([(levels + graphs).ravel() for graphs in rows])
    entries, offsets = take_segments(table.color_offsets, segments)
    first_rows = table.n_levels * offsets_of(np.array([len(graphs) for graphs in rows]))
    shifts = n_colors * np.arange(len(rows), dtype=np.int32)
    shift = shifts.repeat(np.diff(offsets[first_rows]))  # (n_entries,)
    return ColorCounts(
        offsets, table.colors.take(entries) + shift, table.color_counts.take(entries)
    )


def number_colors(
    table: ColorTable, colors: NDArray[np.int32], n_batches: int, scratch: NDArray[np.int32]
) -> Numbering:
    """Number the colors that occur, batch by batch and level by level.

    Parameters
    ----------
    table : ColorTable
        The table of all graphs.

    colors : ndarray of shape (n_entries,)
        The colors of all batches; those of batch ``b`` are counted from ``b * n_colors``.

    n_batches : int
        Number of batches.

    scratch : ndarray of shape (at least n_batches * n_colors,)
        The array to write the number of each color into. Only the places of colors that occur
        are written, so it need not be cleared, and clearing it would cost more than the rest.

    Returns
    -------
    numbering : Numbering
    """
    n_colors = int(table.level_offsets[-1])
    present = _sorted_distinct(colors, n_batches * n_colors)
    shifts = n_colors * np.arange(n_batches, dtype=np.int32)
    starts = np.searchsorted(present, np.add.outer(shifts, table.level_offsets[:-1]).ravel())
    starts = np.append(starts, len(present))
    scratch[present] = np.arange(len(present), dtype=np.int32)
    return Numbering(table.n_levels, present, shifts, starts, number_of=scratch)


def gather_egonets(table: ColorTable, numbering: Numbering) -> ColorCounts:
    """Gather the members of the egonets of all colors that occur.

    These members are of colors that occur as well: an egonet is a part of its graph. Where
    members stand in relations to the center, they are pairs in place of colors, and those of
    batch ``b`` are counted from ``b * n_pairs``.

    Returns
    -------
    in_egonets : ColorCounts
        A row for each number. The rows of level 0 are empty.
    """
    n_numbers = np.diff(numbering.starts[:: numbering.n_levels])  # of each batch
    shift = numbering.shifts.repeat(n_numbers)  # (n_numbers,)
    entries, offsets = take_segments(table.member_offsets, numbering.colors - shift)
    if table.pair_colors is not None:
        n_pairs = np.int32(len(table.pair_colors))
        shift = np.arange(len(n_numbers), dtype=np.int32).repeat(n_numbers) * n_pairs
    members = table.members.take(entries) + shift.repeat(np.diff(offsets))
    return ColorCounts(offsets, members, table.member_counts.take(entries))


def cut_blocks(
    table: ColorTable,
    rows: Sequence[NDArray[np.int64]],
    numbering: Numbering,
    in_graphs: ColorCounts,
    in_egonets: ColorCounts,
    pairs: PairParts | None = None,
    *,
    gradients: bool,
) -> Iterator[BatchBlocks]:
    """Cut the matrices of each batch, one for each level but level 0.

    With `gradients`, matrices get their transposes. `pairs` are the pairs of a color and a
    relation that occur, where members stand in relations to the center.
    """
    columns, n_columns = numbering.number_of.take(in_graphs.colors), len(numbering.colors)
    graphs = _BlockMatrix.from_counts(in_graphs, columns, n_columns, gradients)
    if pairs is None:
        columns = numbering.number_of.take(in_egonets.colors)
    else:
        columns, n_columns = pairs.members, len(pairs.colors)
    egonets = _BlockMatrix.from_counts(in_egonets, columns, n_columns, gradients)
    n_levels = numbering.n_levels
    bounds = list(pairwise(numbering.starts.tolist()))  # of each level of each batch
    first_row = 0  # of the batch, in the matrix of the graphs
    cut_pairs = None if pairs is None else pairs.cutter(numbering, gradients)
    for batch, batch_rows in enumerate(rows):
        levels = bounds[n_levels * batch : n_levels * (batch + 1)]
        ends = range(first_row, first_row + n_levels * len(batch_rows) + 1, len(batch_rows))
        if pairs is None or cut_pairs is None:
            in_batch: Any = (egonets.block(level, below) for below, level in pairwise(levels))
        else:
            in_batch = (
                EgonetBlock(egonets.block(level, of_pairs), parts)
                for level, (of_pairs, parts) in zip(levels[1:], cut_pairs(batch), strict=True)
            )
        yield BatchBlocks(
            numbering.colors[slice(*levels[0])] - numbering.shifts[batch],
            tuple(in_batch),
            tuple(map(graphs.block, list(pairwise(ends))[1:], levels[1:])),
            None if pairs is None else pairs.kinds_of(batch),
        )
        first_row = ends[-1]


_Bounds = tuple[int, int]


@dataclass(frozen=True, eq=False)
class PairParts:
    """The pairs of a color and a relation in several batches.

    They are numbered batch by batch and level by level, sorted by color and relation.
    """

    colors: NDArray[np.int64]  # (n_pairs,), numbers of the colors in all batches
    kinds: NDArray[np.integer]  # (n_pairs,), numbers of the relations within the batch
    kind_starts: NDArray[np.int64]  # (n_batches + 1,), where the kinds of each batch begin
    relations: NDArray[np.int64]  # the relations of the kinds of all batches
    members: NDArray[np.int32]  # (n_entries,), the number of the pair of each member

    def kinds_of(self, batch: int) -> NDArray[np.int64]:
        """Return the relations of the kinds of a batch."""
        return self.relations[self.kind_starts[batch] : self.kind_starts[batch + 1]]

    def cutter(
        self, numbering: Numbering, gradients: bool
    ) -> Callable[[int], Iterator[tuple[_Bounds, CountMatrix]]]:
        """Return a function that yields, for each level below the last of a batch, its pairs.

        These are their bounds, and the matrix of their two parts, as `pair_matrix` makes it.
        """
        n_levels, color_starts = numbering.n_levels, numbering.starts
        starts = np.searchsorted(self.colors, color_starts)  # of the pairs of each level
        sizes, n_colors = np.diff(starts), np.diff(color_starts)
        n_kinds = np.diff(self.kind_starts).repeat(n_levels)  # of each level
        columns = np.empty((len(self.colors), 2), dtype=np.int32)
        np.subtract(
            self.colors, color_starts[:-1].repeat(sizes), out=columns[:, 0], casting="unsafe"
        )
        np.add(self.kinds, n_colors.repeat(sizes), out=columns[:, 1], casting="unsafe")
        # All levels share these: every pair has two parts, each of them once.
        most = int(sizes.max())
        counting = np.arange(2 * most + 1, dtype=np.int32)
        evens = torch.from_numpy(counting[::2].copy())
        ones = torch.from_numpy(np.ones(2 * most, dtype=np.float32))
        if gradients:
            n_pairs = np.bincount(self.colors, minlength=color_starts[-1])
            first_pairs = offsets_of(n_pairs).astype(np.int32)
            kind_starts = offsets_of(n_kinds)
            codes = np.add(self.kinds, kind_starts[:-1].repeat(sizes), dtype=np.int32)
            by_kind = sp.csr_array(
                (np.ones(len(codes), dtype=bool), codes, np.arange(len(codes) + 1, dtype=np.int32)),
                shape=(len(codes), int(kind_starts[-1])),
            ).tocsc()

        def transpose(level: int, start: int, stop: int) -> CountMatrix:
            nodes = slice(color_starts[level], color_starts[level + 1] + 1)
            kinds = slice(kind_starts[level] + 1, kind_starts[level + 1] + 1)
            ends = by_kind.indptr[kinds] + (stop - 2 * start)  # they follow those of the nodes
            rows = by_kind.indices[start:stop] - start
            return CountMatrix(
                torch.from_numpy(np.concatenate([first_pairs[nodes] - start, ends])),
                torch.from_numpy(np.concatenate([counting[: stop - start], rows])),
                ones[: 2 * (stop - start)],
            )

        def cut(batch: int) -> Iterator[tuple[_Bounds, CountMatrix]]:
            for level in range(n_levels * batch, n_levels * (batch + 1) - 1):
                start, stop = starts[level : level + 2].tolist()
                yield (
                    (start, stop),
                    CountMatrix(
                        evens[: stop - start + 1],
                        torch.from_numpy(columns[start:stop].ravel()),
                        ones[: 2 * (stop - start)],
                        transpose(level, start, stop) if gradients else None,
                    ),
                )

        return cut


def number_pairs(
    table: ColorTable,
    numbering: Numbering,
    members: NDArray[np.int32],
    scratch: NDArray[np.int32],
    n_relations: int,
    most_kinds: int,
) -> PairParts:
    """Number the pairs of a color and a relation, batch by batch and level by level.

    If there are few relations, a batch has all pairs of the colors that occur in it. Almost all of
    them occur as well: a color is what its neighbors are, and most relations look the same from
    both ends. Of many relations, a batch has only the pairs that occur.

    Parameters
    ----------
    table : ColorTable
        The table of all graphs.

    numbering : Numbering
        The numbers of the colors.

    members : ndarray of shape (n_entries,)
        The pairs of all members; those of batch ``b`` are counted from ``b * n_pairs``.

    scratch : ndarray of shape (at least n_batches * n_pairs,)
        As in :func:`number_colors`.

    n_relations : int
        Number of relations.

    most_kinds : int
        More relations than this are many: of these, a batch has only those that occur in it.

    Returns
    -------
    parts : PairParts
    """
    assert table.pair_colors is not None
    assert table.pair_relations is not None
    assert table.first_pairs is not None
    n_batches, n_pairs = len(numbering.shifts), table.pair_offsets[-1]
    n_numbers = np.diff(numbering.starts[:: numbering.n_levels])  # of each batch
    batch_of_color = np.arange(n_batches).repeat(n_numbers)
    if n_relations <= most_kinds:
        in_table = numbering.colors - numbering.shifts.take(batch_of_color)
        colors = np.flatnonzero(in_table < table.level_offsets[-2])  # the last level has no pairs
        pairs, offsets = take_segments(table.first_pairs, in_table[colors])
        colors = colors.repeat(np.diff(offsets))
        batch_of = batch_of_color.take(colors)
        present = pairs + n_pairs * batch_of
        kinds: NDArray[np.integer] = table.pair_relations.take(pairs)
        kind_starts = n_relations * np.arange(n_batches + 1)
        relations = np.tile(np.arange(n_relations), n_batches)
    else:
        present = _sorted_distinct(members, n_batches * int(n_pairs)).astype(np.int64)
        batch_of, pairs = np.divmod(present, n_pairs)
        colors = numbering.number_of[table.pair_colors[pairs] + numbering.shifts[batch_of]]
        codes = batch_of * n_relations + table.pair_relations[pairs]
        in_batches, kinds = np.unique(codes, return_inverse=True)
        relations = in_batches % n_relations
        kind_starts = np.searchsorted(in_batches, n_relations * np.arange(n_batches + 1))
        kinds = kinds - kind_starts[batch_of]
    scratch[present] = np.arange(len(present), dtype=np.int32)
    return PairParts(colors, kinds, kind_starts, relations, scratch.take(members))


# Up to so many places for each number, marking those that occur is faster than sorting.
PLACES_PER_NUMBER = 64


def _sorted_distinct(numbers: NDArray[np.int32], n_places: int) -> NDArray[np.int32]:
    # As numpy.unique of numbers below n_places, at a fraction of its overhead.
    if n_places <= PLACES_PER_NUMBER * len(numbers):
        is_present = np.zeros(n_places, dtype=bool)
        is_present[numbers] = True
        return np.flatnonzero(is_present).astype(np.int32)
    numbers = np.sort(numbers)
    is_first = np.empty(len(numbers), dtype=bool)
    is_first[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]


@dataclass(frozen=True, eq=False)
class _BlockMatrix:
    """A sparse matrix that is zero outside of some rectangles, which become CountMatrices."""

    offsets: NDArray[np.int32]  # (n_rows + 1,)
    columns: NDArray[np.int32]  # (n_entries,)
    counts: NDArray[np.float32]  # (n_entries,)
    transposed: _BlockMatrix | None = None

    @classmethod
    def from_counts(
        cls, entries: ColorCounts, columns: NDArray[np.int32], n_columns: int, gradients: bool
    ) -> _BlockMatrix:
        """Return the matrix of these counts, with the number of each color as its column."""
        n_entries = entries.offsets[-1]
        if n_entries >= 2**31:
            raise MemoryError(
                f"A batch has {n_entries:,} entries; at most {2**31 - 1:,} are possible."
                " Use a smaller batch_size or radius."
            )
        offsets, transposed = entries.offsets.astype(np.int32), None
        if gradients:
            shape = (len(offsets) - 1, n_columns)
            by_column = sp.csr_array((entries.counts, columns, offsets), shape=shape).tocsc()
            transposed = cls(by_column.indptr, by_column.indices, by_column.data)
        return cls(offsets, columns, entries.counts, transposed)

    def block(self, rows: tuple[int, int], columns: tuple[int, int]) -> CountMatrix:
        """Return the rows from the first to the second number, and these columns of them.

        The rows must have no entries in other columns.
        """
        first_row, last_row = rows
        offsets = self.offsets[first_row : last_row + 1]
        start, stop = offsets[0], offsets[-1]
        return CountMatrix(
            torch.from_numpy(offsets - start),
            torch.from_numpy(self.columns[start:stop] - np.int32(columns[0])),
            torch.from_numpy(self.counts[start:stop]),
            None if self.transposed is None else self.transposed.block(columns, rows),
        )
