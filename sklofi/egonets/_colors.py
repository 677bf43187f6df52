"""Colors: nodes that no network can tell apart, so that each color is computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sklofi.egonets._incidence import _egonets
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import take_segments

# Where more than this share of the nodes are in a class of their own, looking for equals
# costs more than it saves.
WORTHWHILE_SHARE = 0.9


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Graphs and egonets in terms of classes of nodes that a network cannot tell apart.

    At level 0 two nodes are in the same class if they have the same label and features;
    at level ``l`` if their egonets hold the same number of nodes of each class of level
    ``l - 1``. What layer ``l`` computes at a node depends on nothing else, so that it has
    to be computed only once for each class.

    The classes of all levels are numbered through, level by level. Where the last two
    levels are the same partition, all deeper levels would be, too: a network of more
    layers uses the last level again and again.

    Attributes
    ----------
    n_graphs : int

    level_offsets : ndarray of shape (n_levels + 1,)
        The first class of each level.

    representatives : ndarray of shape (n_classes of level 0,)
        A node of each class of level 0.

    member_offsets, members, member_counts : ndarray
        The egonets of class ``c`` have ``member_counts[i]`` members of the class
        ``members[i]``, for ``i`` from ``member_offsets[c]`` to ``member_offsets[c + 1]``.
        Classes of level 0 have none.

    class_offsets, classes, class_counts : ndarray
        Graph ``g`` has ``class_counts[i]`` nodes of the class ``classes[i]`` of level
        ``l``, for ``i`` in segment ``l * n_graphs + g`` of `class_offsets`.
    """

    n_graphs: int
    level_offsets: NDArray[np.int64]
    representatives: NDArray[np.int64]
    member_offsets: NDArray[np.int64]
    members: NDArray[np.int32]
    member_counts: NDArray[np.float32]
    class_offsets: NDArray[np.int64]
    classes: NDArray[np.int32]
    class_counts: NDArray[np.float32]

    @property
    def n_levels(self) -> int:
        return len(self.level_offsets) - 1

    def first_levels(self, n_levels: int) -> ClassTable:
        """The table of a shallower network: a prefix of every array."""
        if n_levels >= self.n_levels:
            return self
        level_offsets = self.level_offsets[: n_levels + 1]
        member_offsets = self.member_offsets[: level_offsets[-1] + 1]
        class_offsets = self.class_offsets[: n_levels * self.n_graphs + 1]
        return ClassTable(
            n_graphs=self.n_graphs,
            level_offsets=level_offsets,
            representatives=self.representatives,
            member_offsets=member_offsets,
            members=self.members[: member_offsets[-1]],
            member_counts=self.member_counts[: member_offsets[-1]],
            class_offsets=class_offsets,
            classes=self.classes[: class_offsets[-1]],
            class_counts=self.class_counts[: class_offsets[-1]],
        )


def class_table(graphs: GraphSet, radius: int, n_layers: int, *, merge: bool = True) -> ClassTable:
    """The classes of nodes that a network of some layers cannot tell apart.

    It is computed once and kept with the graphs.

    Parameters
    ----------
    graphs : GraphSet
        The graphs.

    radius : int
        Radius of the egonets.

    n_layers : int
        Number of layers, the number of levels beyond level 0.

    merge : bool, default=True
        False puts every node into a class of its own, for networks that treat equal
        nodes differently, as dropout does.

    Returns
    -------
    table : ClassTable
    """
    kept = graphs.keep(("classes", radius, merge), lambda: [_first_level(graphs, merge)])
    state = kept[0]
    while state.table.n_levels <= n_layers and not state.is_stable:
        state = kept[0] = _add_level(graphs, radius, state)
    return state.table.first_levels(n_layers + 1)


def node_classes(graphs: GraphSet, radius: int, n_layers: int) -> NDArray[np.int32]:
    """Of each node its class, as far as a network of some layers can tell nodes apart."""
    egonets = _egonets(graphs, radius)
    class_of = _equal_nodes(graphs)
    for _ in range(n_layers):
        rows = count_classes(class_of[egonets.indices], egonets.indptr, int(class_of.max()) + 1)
        class_of = distinct_rows(rows)
    return class_of


@dataclass(frozen=True, eq=False)
class _Refinement:
    """A table that can grow by a level."""

    table: ClassTable
    class_of: NDArray[np.int32]  # of each node, within the last level
    is_stable: bool = False  # whether the last two levels are the same partition


def _first_level(graphs: GraphSet, merge: bool) -> _Refinement:
    class_of = _equal_nodes(graphs) if merge else np.arange(graphs.n_nodes, dtype=np.int32)
    representatives = first_positions(class_of)
    in_graphs = count_classes(class_of, graphs.node_offsets, len(representatives))
    table = ClassTable(
        n_graphs=len(graphs),
        level_offsets=np.array([0, len(representatives)]),
        representatives=representatives,
        member_offsets=np.zeros(len(representatives) + 1, dtype=np.int64),
        members=np.empty(0, dtype=np.int32),
        member_counts=np.empty(0, dtype=np.float32),
        class_offsets=in_graphs.indptr.astype(np.int64),
        classes=in_graphs.indices.astype(np.int32),
        class_counts=in_graphs.data.astype(np.float32),
    )
    return _Refinement(table, class_of)


def _add_level(graphs: GraphSet, radius: int, state: _Refinement) -> _Refinement:
    table, below = state.table, state.class_of
    first_below, first_new = table.level_offsets[-2:]
    egonets = _egonets(graphs, radius)
    # Row v counts the classes in the egonet of node v.
    rows = count_classes(below[egonets.indices], egonets.indptr, int(first_new - first_below))
    class_of, is_stable = _partition(rows, below)
    rows = rows[first_positions(class_of)]
    in_graphs = count_classes(class_of, graphs.node_offsets, rows.shape[0])
    grown = ClassTable(
        n_graphs=table.n_graphs,
        level_offsets=np.append(table.level_offsets, first_new + rows.shape[0]),
        representatives=table.representatives,
        member_offsets=_append_offsets(table.member_offsets, rows.indptr),
        members=_append(table.members, first_below + rows.indices),
        member_counts=_append(table.member_counts, rows.data),
        class_offsets=_append_offsets(table.class_offsets, in_graphs.indptr),
        classes=_append(table.classes, first_new + in_graphs.indices),
        class_counts=_append(table.class_counts, in_graphs.data),
    )
    return _Refinement(grown, class_of, is_stable)


def _partition(rows: sp.csr_array, below: NDArray[np.int32]) -> tuple[NDArray[np.int32], bool]:
    """Classes of equal rows, and whether they are the classes of the level below."""
    n_nodes, n_below = rows.shape
    if n_below == n_nodes:  # every node is in a class of its own, and stays there
        return below, True
    class_of = distinct_rows(rows)
    representatives = first_positions(class_of)
    if len(representatives) > WORTHWHILE_SHARE * n_nodes:
        return np.arange(n_nodes, dtype=np.int32), False
    if len(representatives) == n_below and (below[representatives[class_of]] == below).all():
        return below, True
    return class_of, False


def distinct_rows(rows: sp.csr_array) -> NDArray[np.int32]:
    """Number the distinct rows of a sparse matrix of counts, exactly.

    Rows are compared by a 64-bit hash, a random linear function of the counts. Equal rows
    have equal hashes; that equal hashes come from equal rows is verified entry by entry,
    and should two different rows ever collide, another random function is tried.

    Parameters
    ----------
    rows : scipy.sparse.csr_array of shape (n_rows, n_columns)
        Counts in canonical form (columns sorted, no duplicates); no row is empty.

    Returns
    -------
    class_of : ndarray of shape (n_rows,)
        The same number for equal rows.
    """
    for attempt in range(100):  # one is enough, with a probability of almost 1
        factor = _hash_factors(rows.shape[1], attempt)
        hashes = np.add.reduceat(
            factor[rows.indices] * rows.data.astype(np.uint64), rows.indptr[:-1]
        )
        _, first, class_of = np.unique(hashes, return_index=True, return_inverse=True)
        entries, offsets = take_segments(rows.indptr, first[class_of])
        if (
            np.array_equal(offsets, rows.indptr)
            and np.array_equal(rows.indices[entries], rows.indices)
            and np.array_equal(rows.data[entries], rows.data)
        ):
            return class_of.astype(np.int32)
    raise ValueError("The rows are not in canonical form.")


def _hash_factors(n_columns: int, attempt: int) -> NDArray[np.uint64]:
    return np.random.default_rng(attempt).integers(2**64, size=n_columns, dtype=np.uint64)


def _equal_nodes(graphs: GraphSet) -> NDArray[np.int32]:
    """Classes of nodes with the same label and the same features."""
    n_nodes = graphs.n_nodes
    class_of = np.zeros(n_nodes, dtype=np.int32)
    if graphs.label_ids is not None:
        is_present = np.bincount(graphs.label_ids, minlength=len(graphs.labels)) > 0
        class_of = (np.cumsum(is_present, dtype=np.int32) - 1)[graphs.label_ids]
    for column in () if graphs.features is None else graphs.features.T:
        values, value_of = np.unique(column, return_inverse=True)
        pairs = class_of * np.int64(len(values)) + value_of
        classes, inverse = np.unique(pairs, return_inverse=True)
        class_of = inverse.astype(np.int32)
        if len(classes) > WORTHWHILE_SHARE * n_nodes:
            return np.arange(n_nodes, dtype=np.int32)
    return class_of


def count_classes(
    classes: NDArray[np.int32], offsets: NDArray[np.integer], n_classes: int
) -> sp.csr_array:
    """How often each class occurs in each segment of a flat array."""
    ones = np.ones(len(classes), dtype=np.int32)
    counts = sp.csr_array((ones, classes, offsets), shape=(len(offsets) - 1, n_classes), copy=True)
    counts.sum_duplicates()
    return counts


def first_positions(class_of: NDArray[np.int32]) -> NDArray[np.int64]:
    """The first member of each class."""
    positions = np.empty(class_of.max() + 1, dtype=np.int64)
    positions[class_of[::-1]] = np.arange(len(class_of))[::-1]
    return positions


def _append_offsets(offsets: NDArray[np.int64], more: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.concatenate([offsets, offsets[-1] + more[1:].astype(np.int64)])


def _append(array: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([array, more.astype(array.dtype)])
