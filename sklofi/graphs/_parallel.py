"""Parallel edges: which of them are one entry of `neighbors`, and what it holds."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import show
from sklofi.graphs._segments import offsets_of, segments_of

if TYPE_CHECKING:
    from sklofi.graphs._graph_set import GraphSet


class Groups(NamedTuple):
    """Edges in groups that become one entry each, numbered by their first edges."""

    first: NDArray[np.int64]  # of each group the position of its first edge
    group_of: NDArray[np.int64]  # of each edge its group

    @classmethod
    def from_codes(cls, codes: NDArray[np.integer]) -> Groups:
        """Return the groups of edges with equal codes.

        >>> Groups.from_codes(np.array([7, 5, 7, 7]))
        Groups(first=array([0, 1]), group_of=array([0, 1, 0, 0]))
        """
        _, first, group_of = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        return cls(first[order], number[group_of.reshape(-1)])

    @property
    def are_single(self) -> bool:
        """Whether each group has one edge."""
        return len(self.first) == len(self.group_of)

    def add(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the weights of each group."""
        # In ascending order, so that the sum is the same to the bit from both ends of an edge.
        order = np.lexsort((weights, self.group_of))
        sums = np.bincount(self.group_of[order], weights[order], minlength=len(self.first))
        return sums.astype(np.float64)  # bincount of nothing is of integers

    def first_difference(self, vectors: NDArray[np.float64]) -> int | None:
        """Return the first edge that has another vector than the first of its group."""
        differs = (vectors != vectors[self.first][self.group_of]).any(axis=1)
        return int(differs.argmax()) if differs.any() else None


def pair_directions(
    start: NDArray[np.integer], end: NDArray[np.integer], kind: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int | None]:
    """Return edges in an order, the same edges in the other direction, and the first without.

    `kind` tells parallel edges apart. Where an edge has no counterpart, the two orders do not
    agree from there on.

    >>> there, back, lonely = pair_directions(
    ...     np.array([0, 1, 1]), np.array([1, 0, 1]), np.array([5, 5, 5])
    ... )
    >>> there, back, lonely
    (array([0, 1, 2]), array([1, 0, 2]), None)
    """
    there, back = np.lexsort((kind, end, start)), np.lexsort((kind, start, end))
    out = np.stack([start, end, kind])[:, there]
    home = np.stack([end, start, kind])[:, back]
    differs = (out != home).any(axis=0)
    if not differs.any():
        return there, back, None
    place = int(differs.argmax())
    # Both lists ascend, so that the lesser of the two is missing in the other.
    is_out = out[:, place].tolist() < home[:, place].tolist()
    return there, back, int((there if is_out else back)[place])


def group_parallel(graphs: GraphSet) -> Groups:
    """Return the entries of `neighbors` in groups between the same nodes, kept with the graphs."""
    return graphs.tables.structure.get("parallel edges", lambda: _compute_groups(graphs))


def _compute_groups(graphs: GraphSet) -> Groups:
    n_nodes, degrees = np.diff(graphs.node_offsets), np.diff(graphs.edge_offsets)
    # Node pairs (v, u) have the numbers from start[v] on, u counted in its graph.
    start = offsets_of(np.repeat(n_nodes, n_nodes))[:-1]
    return Groups.from_codes(np.repeat(start, degrees) + graphs.neighbors)


def merge_parallel(graphs: GraphSet) -> dict[str, Any]:
    """Return the fields of the same graphs without edge labels, with one entry for each neighbor.

    Weights of parallel edges are added, and their vectors have to be equal.
    """
    bare = {"edge_label_ids": None, "edge_labels": ()}
    groups = group_parallel(graphs)
    if groups.are_single:
        return bare
    source = segments_of(graphs.edge_offsets, groups.first)
    weights, vectors = graphs.edge_weights, graphs.edge_vectors
    if vectors is not None and (edge := groups.first_difference(vectors)) is not None:
        raise parallel_features_error(
            _locate_edge(graphs, edge),
            graphs.edge_features,
            "leave the features out: GraphSet.from_networkx(graphs, edge_features=None)",
        )
    return bare | {
        "edge_offsets": offsets_of(np.bincount(source, minlength=graphs.n_nodes)),
        "neighbors": graphs.neighbors[groups.first],
        "edge_weights": None if weights is None else groups.add(weights),
        "edge_vectors": None if vectors is None else vectors[groups.first],
    }


def parallel_features_error(where: str, name: Hashable, advice: str) -> ValueError:
    """Return the error about parallel edges that become one and have different features."""
    return ValueError(
        f"{where} has parallel edges with different features {show(name)}. Parallel edges count"
        " as one, unless edge labels are read and tell them apart: give them the same features,"
        f" or {advice}."
    )


def _locate_edge(graphs: GraphSet, edge: int) -> str:
    """Return 'Graph 3, edge ('a', 'b'),' for a position in `neighbors`."""
    node = int(segments_of(graphs.edge_offsets, edge))
    graph = int(segments_of(graphs.node_offsets, node))
    first, neighbor = int(graphs.node_offsets[graph]), int(graphs.neighbors[edge])
    ends: list[Hashable] = [node - first, neighbor]
    if graphs.node_names is not None:
        ends = graphs.node_names[[node, first + neighbor]].tolist()
    return f"Graph {graph}, edge ({show(ends[0])}, {show(ends[1])}),"
