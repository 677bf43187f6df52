"""Colors: nodes that no network can tell apart, so that each color is computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sklofi.egonets._members import Members, Relations, distinct, egonet_members
from sklofi.egonets._structure import structure_columns
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import offsets_of, take_segments

# Where more than this share of the nodes are of a color of their own, looking for equals
# costs more than it saves.
WORTHWHILE_SHARE = 0.9

PUBLISHED = Relations()


@dataclass(frozen=True, eq=False)
class ColorTable:
    """Graphs and egonets in terms of colors of nodes that a network cannot tell apart.

    At level 0 two nodes are of the same color if they have the same label and features;
    at level ``l`` if their egonets hold the same number of members of each pair of a color
    of level ``l - 1`` and a relation to the center. What layer ``l`` computes at a node
    depends on nothing else, so that it has to be computed only once for each color. With
    distances and edge labels as relations, these are the colors of Weisfeiler and Lehman.

    The colors of all levels are numbered through, level by level. Where the last two
    levels are the same partition, all deeper levels would be, too: a network of more
    layers uses the last level again and again.

    Attributes
    ----------
    n_graphs : int

    level_offsets : ndarray of shape (n_levels + 1,)
        The first color of each level.

    representatives : ndarray of shape (n_colors of level 0,)
        A node of each color of level 0.

    member_offsets, members, member_counts : ndarray
        The egonets of color ``c`` have ``member_counts[i]`` members of the pair
        ``members[i]``, for ``i`` from ``member_offsets[c]`` to ``member_offsets[c + 1]``.
        Colors of level 0 have none.

    pair_offsets : ndarray of shape (n_levels,)
        The first pair with a color of each level; the last level is in no pair.

    pair_colors, pair_relations : ndarray of shape (n_pairs,) or None
        The color and the relation of each pair, sorted by both. None if all relations are
        alike: then pairs are colors.

    first_pairs : ndarray of shape (n_colors of all levels but the last + 1,) or None
        The first pair of each color.

    color_offsets, colors, color_counts : ndarray
        Graph ``g`` has ``color_counts[i]`` nodes of the color ``colors[i]`` of level
        ``l``, for ``i`` in segment ``l * n_graphs + g`` of `color_offsets`.
    """

    n_graphs: int
    level_offsets: NDArray[np.int64]
    representatives: NDArray[np.int64]
    member_offsets: NDArray[np.int64]
    members: NDArray[np.int32]
    member_counts: NDArray[np.float32]
    color_offsets: NDArray[np.int64]
    colors: NDArray[np.int32]
    color_counts: NDArray[np.float32]
    pair_offsets: NDArray[np.int64]
    pair_colors: NDArray[np.int32] | None = None
    pair_relations: NDArray[np.int32] | None = None
    first_pairs: NDArray[np.int64] | None = None

    @property
    def n_levels(self) -> int:
        """Number of levels, level 0 included."""
        return len(self.level_offsets) - 1

    def first_levels(self, n_levels: int) -> ColorTable:
        """Return the table of a shallower network: a prefix of every array."""
        if n_levels >= self.n_levels:
            return self
        level_offsets = self.level_offsets[: n_levels + 1]
        member_offsets = self.member_offsets[: level_offsets[-1] + 1]
        color_offsets = self.color_offsets[: n_levels * self.n_graphs + 1]
        return ColorTable(
            n_graphs=self.n_graphs,
            level_offsets=level_offsets,
            representatives=self.representatives,
            member_offsets=member_offsets,
            members=self.members[: member_offsets[-1]],
            member_counts=self.member_counts[: member_offsets[-1]],
            color_offsets=color_offsets,
            colors=self.colors[: color_offsets[-1]],
            color_counts=self.color_counts[: color_offsets[-1]],
            pair_offsets=self.pair_offsets[:n_levels],
            pair_colors=_first(self.pair_colors, self.pair_offsets[n_levels - 1]),
            pair_relations=_first(self.pair_relations, self.pair_offsets[n_levels - 1]),
            first_pairs=_first(self.first_pairs, level_offsets[-2] + 1),
        )


def color_table(
    graphs: GraphSet,
    radius: int,
    n_layers: int,
    relations: Relations = PUBLISHED,
    *,
    structure: tuple[str, ...] = (),
    merge: bool = True,
) -> ColorTable:
    """Return the colors of nodes that a network of so many layers cannot tell apart.

    The table is computed once and kept with the graphs.

    Parameters
    ----------
    graphs : GraphSet
        The graphs.

    radius : int
        Radius of the egonets.

    n_layers : int
        Number of layers, the number of levels beyond level 0.

    relations : Relations, default=PUBLISHED
        What of the relations of members to the center is told apart; by default nothing.

    structure : tuple of str, default=()
        Structural descriptors of nodes that are told apart.

    merge : bool, default=True
        False puts every node into a color of its own, for networks that treat equal
        nodes differently, as dropout does.

    Returns
    -------
    table : ColorTable
    """
    key = ("colors", radius, relations, structure, merge)
    state = graphs.tables.get(key, lambda: _first_level(graphs, structure, merge))
    while state.table.n_levels <= n_layers and not state.is_stable:
        state = _add_level(graphs, egonet_members(graphs, radius, relations), state)
        graphs.tables.put(key, state)
    return state.table.first_levels(n_layers + 1)


def node_colors(
    graphs: GraphSet,
    radius: int,
    n_layers: int,
    relations: Relations = PUBLISHED,
    structure: tuple[str, ...] = (),
) -> NDArray[np.int32]:
    """Return the color of each node at the last level of a network of so many layers."""
    members = egonet_members(graphs, radius, relations)
    color_of = _equal_nodes(graphs, structure)
    for _ in range(n_layers):
        color_of = distinct_rows(_count_pairs(members, color_of)[0])
    return color_of


@dataclass(frozen=True, eq=False)
class _Refinement:
    """A table that can grow by a level."""

    table: ColorTable
    color_of: NDArray[np.int32]  # of each node, within the last level
    is_stable: bool = False  # whether the last two levels are the same partition


def _first_level(graphs: GraphSet, structure: tuple[str, ...], merge: bool) -> _Refinement:
    nodes = np.arange(graphs.n_nodes, dtype=np.int32)
    color_of = _equal_nodes(graphs, structure) if merge else nodes
    representatives = first_positions(color_of)
    in_graphs = count_colors(color_of, graphs.node_offsets, len(representatives))
    table = ColorTable(
        n_graphs=len(graphs),
        level_offsets=np.array([0, len(representatives)]),
        representatives=representatives,
        member_offsets=np.zeros(len(representatives) + 1, dtype=np.int64),
        members=np.empty(0, dtype=np.int32),
        member_counts=np.empty(0, dtype=np.float32),
        color_offsets=in_graphs.indptr.astype(np.int64),
        colors=in_graphs.indices.astype(np.int32),
        color_counts=in_graphs.data.astype(np.float32),
        pair_offsets=np.zeros(1, dtype=np.int64),
    )
    return _Refinement(table, color_of)


def _add_level(graphs: GraphSet, members: Members, state: _Refinement) -> _Refinement:
    table, below = state.table, state.color_of
    first_below, first_new = table.level_offsets[-2:]
    # Row v counts the pairs in the egonet of node v.
    rows, colors, relations = _count_pairs(members, below)
    color_of, is_stable = _partition(rows, below, int(first_new - first_below))
    if relations is not None and not is_stable:  # a stable level keeps the numbers of that below
        color_of = in_order(color_of)
    rows = rows[first_positions(color_of)]
    in_graphs = count_colors(color_of, graphs.node_offsets, rows.shape[0])
    first_pair = table.pair_offsets[-1]
    grown = ColorTable(
        n_graphs=table.n_graphs,
        level_offsets=np.append(table.level_offsets, first_new + rows.shape[0]),
        representatives=table.representatives,
        member_offsets=_append_offsets(table.member_offsets, rows.indptr),
        members=_append(table.members, first_pair + rows.indices),
        member_counts=_append(table.member_counts, rows.data),
        color_offsets=_append_offsets(table.color_offsets, in_graphs.indptr),
        colors=_append(table.colors, first_new + in_graphs.indices),
        color_counts=_append(table.color_counts, in_graphs.data),
        pair_offsets=np.append(table.pair_offsets, first_pair + rows.shape[1]),
    )
    if relations is not None:
        nothing = np.empty(0, dtype=np.int32)
        colors_before = nothing if table.pair_colors is None else table.pair_colors
        first_pairs = offsets_of(nothing) if table.first_pairs is None else table.first_pairs
        relations_before = nothing if table.pair_relations is None else table.pair_relations
        grown = replace(
            grown,
            pair_colors=_append(colors_before, first_below + colors),
            pair_relations=_append(relations_before, relations),
            first_pairs=_append_offsets(first_pairs, offsets_of(np.bincount(colors))),
        )
    return _Refinement(grown, color_of, is_stable)


def _count_pairs(
    members: Members, color_of: NDArray[np.int32]
) -> tuple[sp.csr_array, NDArray[np.integer], NDArray[np.integer] | None]:
    """Return how much of each pair is in each egonet, and the color and relation of the pairs."""
    n_colors = int(color_of.max()) + 1
    pair_of, n_pairs = color_of[members.nodes], n_colors
    colors, relations = np.arange(n_colors), None
    if members.relations is not None:
        n_relations = len(members.kinds)
        codes = pair_of * np.int64(n_relations) + members.relations
        pairs, pair_of = distinct(codes)
        colors, relations = np.divmod(pairs, n_relations)
        n_pairs = len(pairs)
    rows = count_colors(
        pair_of.astype(np.int32, copy=False), members.offsets, n_pairs, members.weights
    )
    return rows, colors, relations


def _partition(
    rows: sp.csr_array, below: NDArray[np.int32], n_below: int
) -> tuple[NDArray[np.int32], bool]:
    """Return the colors of equal rows, and whether they are those of the level below."""
    n_nodes = len(below)
    if n_below == n_nodes:  # every node has a color of its own and keeps it
        return below, True
    color_of = distinct_rows(rows)
    representatives = first_positions(color_of)
    if len(representatives) > WORTHWHILE_SHARE * n_nodes:
        return np.arange(n_nodes, dtype=np.int32), False
    if len(representatives) == n_below and (below[representatives[color_of]] == below).all():
        return below, True
    return color_of, False


def distinct_rows(rows: sp.csr_array) -> NDArray[np.int32]:
    """Return a number for each row of a sparse matrix of counts, the same for equal rows.

    Rows are compared by a 64-bit hash, a random linear function of the counts. Equal rows
    have equal hashes; that equal hashes come from equal rows is verified entry by entry,
    and should two different rows ever collide, another random function is tried.

    Parameters
    ----------
    rows : scipy.sparse.csr_array of shape (n_rows, n_columns)
        Counts in canonical form (columns sorted, no duplicates); no row is empty.

    Returns
    -------
    color_of : ndarray of shape (n_rows,)
        The same number for equal rows.
    """
    for attempt in range(100):  # the first suffices with a probability of almost 1
        factor = _hash_factors(rows.shape[1], attempt)
        hashes = np.add.reduceat(factor[rows.indices] * _as_bits(rows.data), rows.indptr[:-1])
        _, first, color_of = np.unique(hashes, return_index=True, return_inverse=True)
        entries, offsets = take_segments(rows.indptr, first[color_of])
        if (
            np.array_equal(offsets, rows.indptr)
            and np.array_equal(rows.indices[entries], rows.indices)
            and np.array_equal(rows.data[entries], rows.data)
        ):
            return color_of.astype(np.int32)
    raise ValueError("The rows are not in canonical form.")


def _hash_factors(n_columns: int, attempt: int) -> NDArray[np.uint64]:
    return np.random.default_rng(attempt).integers(2**64, size=n_columns, dtype=np.uint64)


def _as_bits(counts: NDArray[Any]) -> NDArray[np.uint64]:
    """Return numbers as integers, different ones for different numbers."""
    if counts.dtype.kind == "f":
        bits = (counts.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 becomes 0.0
        return bits.byteswap()  # the last bits of 0.5 are zeros, which would cancel most factors
    return counts.astype(np.uint64)


def _equal_nodes(graphs: GraphSet, structure: tuple[str, ...] = ()) -> NDArray[np.int32]:
    """Return the same color for nodes with the same label, structure and features."""
    n_nodes = graphs.n_nodes
    color_of = np.zeros(n_nodes, dtype=np.int32)
    if graphs.label_ids is not None:
        is_present = np.bincount(graphs.label_ids, minlength=len(graphs.labels)) > 0
        color_of = (np.cumsum(is_present, dtype=np.int32) - 1)[graphs.label_ids]
    columns = [] if graphs.features is None else [*graphs.features.T]
    for column in (*structure_columns(graphs, structure).T, *columns):
        values, value_of = np.unique(column, return_inverse=True)
        pairs = color_of * np.int64(len(values)) + value_of
        colors, inverse = np.unique(pairs, return_inverse=True)
        color_of = inverse.astype(np.int32)
        if len(colors) > WORTHWHILE_SHARE * n_nodes:
            return np.arange(n_nodes, dtype=np.int32)
    return color_of


def count_colors(
    colors: NDArray[np.int32],
    offsets: NDArray[np.integer],
    n_colors: int,
    weights: NDArray[np.float64] | None = None,
) -> sp.csr_array:
    """Return how often each color occurs in each segment of a flat array, or how much of it."""
    ones = np.ones(len(colors), dtype=np.int32) if weights is None else weights
    counts = sp.csr_array((ones, colors, offsets), shape=(len(offsets) - 1, n_colors), copy=True)
    counts.sum_duplicates()
    if weights is not None:
        # In 32 bits sums of the same weights are the same, in whatever order they were added.
        counts = counts.astype(np.float32)
        counts.eliminate_zeros()
    return counts


def first_positions(color_of: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the first node of each color."""
    positions = np.empty(color_of.max() + 1, dtype=np.int64)
    positions[color_of[::-1]] = np.arange(len(color_of))[::-1]
    return positions


def in_order(color_of: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the same colors, numbered in the order of the first node of each.

    Then the colors of a graph lie together, and what a batch reads is mostly in the cache.

    >>> in_order(np.array([2, 0, 2, 1], dtype=np.int32))
    array([0, 1, 0, 2], dtype=int32)
    """
    positions = first_positions(color_of)
    numbers = np.empty(len(positions), dtype=np.int32)
    numbers[positions.argsort()] = np.arange(len(positions), dtype=np.int32)
    return numbers[color_of]


def _first(array: NDArray[Any] | None, n_items: int) -> NDArray[Any] | None:
    return None if array is None else array[:n_items]


def _append_offsets(offsets: NDArray[np.int64], new: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.concatenate([offsets, offsets[-1] + new[1:].astype(np.int64)])


def _append(array: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([array, new.astype(array.dtype)])
