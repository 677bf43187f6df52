"""Members of egonets: nodes, and what each of them is to the center."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklofi.egonets._incidence import boolean_incidence, neighbor_nodes
from sklofi.egonets._rings import ring_sizes
from sklofi.graphs._graph_set import GraphSet

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
    parts = [_centers(graphs, relations)]
    if radius >= 1:
        parts.append(_neighbors(graphs, relations))
    if radius >= 2:
        parts.append(_far_members(graphs, radius, relations))
    centers, nodes, kinds, weights, edges = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    order = np.argsort(centers, kind="stable")
    offsets = np.searchsorted(centers[order], np.arange(graphs.n_nodes + 1))
    numbers, kinds, vectors = _number_relations(graphs, relations, kinds[order], edges[order])
    return Members(
        offsets,
        nodes[order],
        numbers if relations.differ else None,
        weights[order] if relations.edge_weights else None,
        kinds,
        vectors,
    )


# Centers, nodes, kinds, weights, and positions in `neighbors` or -1: a row for each member.
_Part = tuple[
    NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]
]


def _centers(graphs: GraphSet, relations: Relations) -> _Part:
    nodes = np.arange(graphs.n_nodes)
    return nodes, nodes, *_without_edges(np.zeros_like(nodes), relations)


def _neighbors(graphs: GraphSet, relations: Relations) -> _Part:
    centers = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.edge_offsets))
    nodes = neighbor_nodes(graphs).astype(np.int64)
    edges = np.arange(len(nodes))
    kinds = np.empty((len(nodes), 3), dtype=np.int64)
    kinds[:] = NOTHING
    if relations.distances:
        kinds[:, 0] = 1
    if relations.edge_labels and graphs.edge_label_ids is not None:
        kinds[:, 1] = graphs.edge_label_ids
    if relations.max_ring:
        kinds[:, 2] = ring_sizes(graphs, relations.max_ring)
    weights = np.ones(len(nodes)) if graphs.edge_weights is None else graphs.edge_weights
    if not relations.differ:  # then a loop would only repeat the center
        edges = np.flatnonzero(centers != nodes)
    return centers[edges], nodes[edges], kinds[edges], weights[edges], edges


def _far_members(graphs: GraphSet, radius: int, relations: Relations) -> _Part:
    """Return the members that are two steps away, or more."""
    within = boolean_incidence(graphs, 1).astype(np.int32)
    for steps in range(2, radius + 1):
        within = within + boolean_incidence(graphs, steps).astype(np.int32)
    distances = radius + 1 - within.data  # at least 1
    centers = np.repeat(np.arange(graphs.n_nodes), np.diff(within.indptr))
    far = np.flatnonzero(distances >= 2)
    nodes = within.indices[far].astype(np.int64)
    return centers[far], nodes, *_without_edges(distances[far], relations)


def _without_edges(
    distances: NDArray[np.integer], relations: Relations
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the kinds, weights and positions of members that are no neighbors."""
    n_members = len(distances)
    kinds = np.empty((n_members, 3), dtype=np.int64)
    kinds[:] = NOTHING
    if relations.distances:
        kinds[:, 0] = distances
    return kinds, np.ones(n_members), np.full(n_members, -1)


def _number_relations(
    graphs: GraphSet, relations: Relations, kinds: NDArray[np.int64], edges: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
    """Return the number of the relation of each member, their kinds and their vectors."""
    n_labels, n_sizes = len(graphs.edge_labels) + 1, relations.max_ring + 1
    codes = ((kinds[:, 0] + 1) * n_labels + kinds[:, 1] + 1) * n_sizes + kinds[:, 2]
    vectors = np.zeros((len(edges), 0))
    if relations.edge_vectors and graphs.edge_vectors is not None:
        no_edge = np.full(graphs.edge_vectors.shape[1], np.nan)
        vectors = np.vstack([graphs.edge_vectors, no_edge])[edges]  # -1 is the last
        for column in vectors.T:
            values, value_of = np.unique(column, return_inverse=True)
            _, codes = np.unique(codes * len(values) + value_of, return_inverse=True)
    _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
    return numbers.astype(np.int32), kinds[first], vectors[first]


def _no_relations() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    return np.empty((0, 3), dtype=np.int64), np.empty((0, 0))
