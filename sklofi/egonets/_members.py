"""Members of egonets: nodes, and what each of them is to the center."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sklofi.egonets._incidence import boolean_incidence, neighbor_nodes
from sklofi.egonets._rings import ring_sizes
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import offsets_of, segments_of

# What a relation does not tell, in place of a distance, of an edge label and of a ring size.
NOTHING = (-1, -1, 0)


class Relations(NamedTuple):
    """What of the relation between a member and the center of its egonet is told apart.

    By default nothing is, as in the published layer.
    """

    distances: bool = False  # of a member from the center, which is at distance 0
    edge_labels: bool = False  # of the edge to a neighbor
    max_ring: int = 0  # size of the largest rings; the smallest one through that edge counts
    edge_weights: bool = False  # how much a neighbor counts
    edge_vectors: bool = False  # continuous features of the edge to a neighbor

    @property
    def differ(self) -> bool:
        """Whether members can stand in different relations to the center."""
        return self.distances or self.edge_labels or self.max_ring > 0 or self.edge_vectors


@dataclass(frozen=True, eq=False)
class Members:
    """The members of the egonets of all nodes.

    Attributes
    ----------
    offsets : ndarray of shape (n_nodes + 1,)
        The members of the egonet of node ``v`` are those from ``offsets[v]`` up to
        ``offsets[v + 1]``.

    nodes : ndarray of shape (n_members,)
        The node that each member is.

    relations : ndarray of shape (n_members,) or None
        The number of its relation to the center; None if all relations are alike.

    weights : ndarray of shape (n_members,) or None
        How much each member counts; None if each counts once.

    kinds : ndarray of shape (n_relations, 3)
        Of each relation the distance, the position of the edge label in the labels of the
        graphs, and the size of the ring; :data:`NOTHING` where it does not tell them.

    vectors : ndarray of shape (n_relations, n_edge_features)
        The continuous features of the edge of each relation; NaN where there is no edge.
    """

    offsets: NDArray[np.integer]
    nodes: NDArray[np.integer]
    relations: NDArray[np.int32] | None
    weights: NDArray[np.float64] | None
    kinds: NDArray[np.int64]
    vectors: NDArray[np.float64]


def egonet_members(graphs: GraphSet, radius: int, relations: Relations) -> Members:
    """Return the members of all egonets with their relations to the centers.

    A node is a member by each way it is related to the center: the center itself is one, each
    edge to a neighbor makes one, and each node further away, up to the radius, is one. So a
    loop makes the center a member a second time, and so do parallel edges with their neighbor.
    Labels, rings, weights and features are those of the first step; what is further away
    counts once, and differs in the distance alone.

    Where nothing is told apart, members are the nodes within the radius, each of them once.

    Parameters
    ----------
    graphs : GraphSet
        The graphs.

    radius : int
        Radius of the egonets.

    relations : Relations
        What is told apart.

    Returns
    -------
    members : Members
        They are computed once and kept with the graphs.
    """
    key = ("members", radius, relations)
    return graphs.tables.get(key, lambda: _find_members(graphs, radius, relations))


def _find_members(graphs: GraphSet, radius: int, relations: Relations) -> Members:
    if not relations.differ and not relations.edge_weights:
        incidence = boolean_incidence(graphs, radius)
        return Members(incidence.indptr, incidence.indices, None, None, *_no_relations())
    rings = ring_sizes(graphs, relations.max_ring) if relations.max_ring else np.zeros(0, np.int32)
    code_of = _KindCodes(len(graphs.edge_labels) + 1, int(rings.max(initial=0)) + 1)
    parts = [_centers(graphs, relations, code_of)]
    if radius >= 1:
        parts.append(_neighbors(graphs, relations, code_of, rings))
    if radius >= 2:
        parts.append(_far_members(graphs, radius, relations, code_of))
    counts = [part.counts for part in parts]
    offsets = offsets_of(np.sum(counts, axis=0))
    n_members = offsets[-1]
    nodes, codes = np.empty(n_members, dtype=np.int32), np.empty(n_members, dtype=np.int64)
    edges = np.full(n_members, -1) if relations.edge_vectors else np.empty(0, dtype=np.int64)
    weights = np.ones(n_members) if relations.edge_weights else None
    first = offsets[:-1]
    for part in parts:
        place = np.arange(len(part.nodes))
        place += np.repeat(first - offsets_of(part.counts)[:-1], part.counts)
        nodes[place], codes[place] = part.nodes, part.codes
        if part.edges is not None and relations.edge_vectors:
            edges[place] = part.edges
        if part.edges is not None and weights is not None and graphs.edge_weights is not None:
            weights[place] = graphs.edge_weights[part.edges]
        first = first + part.counts
    numbers, occurring, vectors = _number_relations(graphs, codes, edges)
    kinds = code_of.kinds(occurring)
    return Members(offsets, nodes, numbers if relations.differ else None, weights, kinds, vectors)


class _KindCodes(NamedTuple):
    """Numbers of kinds, in their lexicographic order: a row of three would take more memory."""

    n_labels: int
    n_sizes: int

    def __call__(
        self,
        distances: NDArray[np.integer] | int,
        labels: NDArray[np.integer] | int,
        sizes: NDArray[np.integer] | int,
    ) -> NDArray[np.int64]:
        code: NDArray[np.int64] = (np.asarray(distances, dtype=np.int64) + 1) * self.n_labels
        return (code + labels + 1) * self.n_sizes + sizes

    def kinds(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        rest, sizes = np.divmod(codes, self.n_sizes)
        distances, labels = np.divmod(rest, self.n_labels)
        return np.column_stack([distances - 1, labels - 1, sizes])


class _Part(NamedTuple):
    """Some of the members of all egonets, in the order of their centers."""

    counts: NDArray[np.int64]  # of members in each egonet
    nodes: NDArray[np.integer]
    codes: NDArray[np.int64]  # of their kinds
    edges: NDArray[np.int64] | None = None  # positions in `neighbors`


def _centers(graphs: GraphSet, relations: Relations, code_of: _KindCodes) -> _Part:
    nodes = np.arange(graphs.n_nodes)
    return _Part(np.ones_like(nodes), nodes, _codes_without_edges(nodes * 0, relations, code_of))


def _neighbors(
    graphs: GraphSet, relations: Relations, code_of: _KindCodes, rings: NDArray[np.int32]
) -> _Part:
    nodes = neighbor_nodes(graphs)
    counts, edges = np.diff(graphs.edge_offsets).astype(np.int64), np.arange(len(nodes))
    no_distance, no_label, no_ring = NOTHING
    has_labels = relations.edge_labels and graphs.edge_label_ids is not None
    codes = code_of(
        np.full(len(nodes), 1 if relations.distances else no_distance),
        cast("NDArray[np.int32]", graphs.edge_label_ids) if has_labels else no_label,
        rings if relations.max_ring else no_ring,
    )
    if relations.differ:
        return _Part(counts, nodes, codes, edges)
    # A loop would only repeat the center.
    centers = np.repeat(np.arange(graphs.n_nodes), counts)
    edges = np.flatnonzero(centers != nodes)
    counts = np.bincount(centers[edges], minlength=graphs.n_nodes)
    return _Part(counts, nodes[edges], codes[edges], edges)


def _far_members(graphs: GraphSet, radius: int, relations: Relations, code_of: _KindCodes) -> _Part:
    """Return the members that are two steps away, or more."""
    within = incidence = boolean_incidence(graphs, 1).astype(np.int32)
    n_added = 1
    for steps in range(2, radius + 1):
        wider = boolean_incidence(graphs, steps).astype(np.int32)
        if wider.nnz == incidence.nnz:
            break  # no egonet has grown, and none will
        within, incidence, n_added = within + wider, wider, steps
    distances = n_added + 1 - within.data  # at least 1
    far = np.flatnonzero(distances >= 2)
    centers = segments_of(within.indptr, far)
    return _Part(
        np.bincount(centers, minlength=graphs.n_nodes),
        within.indices[far],
        _codes_without_edges(distances[far], relations, code_of),
    )


def _codes_without_edges(
    distances: NDArray[np.integer], relations: Relations, code_of: _KindCodes
) -> NDArray[np.int64]:
    """Return the kinds of members that are no neighbors."""
    no_distance, no_label, no_ring = NOTHING
    told = distances if relations.distances else np.full(len(distances), no_distance)
    return code_of(told, no_label, no_ring)


def _number_relations(
    graphs: GraphSet, codes: NDArray[np.int64], edges: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
    """Return the number of the relation of each member, their kinds and their vectors."""
    if graphs.edge_vectors is None or len(edges) == 0:
        occurring, numbers = distinct(codes)
        return numbers.astype(np.int32), occurring, np.zeros((len(occurring), 0))
    no_edge = np.full(graphs.edge_vectors.shape[1], np.nan)
    vectors = np.vstack([graphs.edge_vectors, no_edge])[edges]  # -1 is the last
    numbers = codes
    for column in vectors.T:
        values, value_of = np.unique(column, return_inverse=True)
        _, numbers = np.unique(numbers * len(values) + value_of, return_inverse=True)
    _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
    return numbers.astype(np.int32), codes[first], vectors[first]


def distinct(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Return the values that occur, in ascending order, and the position of each code in them.

    As numpy's unique for numbers from zero on, without a sort where there are few.
    """
    n_codes = int(codes.max(initial=-1)) + 1
    if n_codes > max(len(codes), 1024):
        values, position_of = np.unique(codes, return_inverse=True)
        return values, position_of
    values = np.flatnonzero(np.bincount(codes, minlength=n_codes)).astype(np.int64, copy=False)
    positions = np.empty(n_codes, dtype=np.int32)
    positions[values] = np.arange(len(values))
    return values, positions[codes]


def _no_relations() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    return np.empty((0, 3), dtype=np.int64), np.empty((0, 0))
