"""Counts of pairs of nodes by their labels and the length of the shortest path between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import offsets_of, take_segments
from sklofi.kernels._labels import label_columns
from sklofi.kernels._sparse_counts import count_codes
from sklofi.kernels._vectorizer import UnaryVectorizer

# Shortest paths are searched between so many pairs of nodes at a time, and by so many steps
# at a time, which bounds the working arrays.
PAIRS_TOGETHER = 2**20

# Pairs of nodes of all graphs; some millions are done in a second, so these take an hour.
MOST_PAIRS = 2**33

# Counts are added up when there are so many of them; a long path has a few for each of its
# nodes and distances.
PARTS_TOGETHER = 2**14


# Of each pair of a graph and a triplet, how often it was found.
Counts = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class ShortestPathVectorizer(UnaryVectorizer):
    """Counts of pairs of nodes by their labels and their distance.

    For every ordered pair of different nodes of which the second can be reached from the
    first, the triplet (first label, second label, number of steps) is counted. The inner
    product is the shortest-path kernel [1]_ of labeled graphs. It is defined without labels
    of edges: there may be several shortest paths, with different ones.

    References
    ----------
    .. [1] K. M. Borgwardt, H.-P. Kriegel, "Shortest-Path Kernels on Graphs", ICDM, 2005.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi.kernels import ShortestPathVectorizer
    >>> graph = nx.path_graph(3)
    >>> nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a"}, "label")
    >>> vectorizer = ShortestPathVectorizer()
    >>> vectorizer.fit_transform([graph]).toarray()
    array([[2., 2., 2.]])
    >>> vectorizer.get_feature_names_out().tolist()
    ['a->b:1', 'b->a:1', 'a->a:2']
    """

    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "triplets_": (
            "ndarray of shape (n_triplets, 3)",
            "Of each triplet the positions of the two labels in `labels_` and the distance.",
        )
    }

    def _learn(self, graphs: GraphSet) -> sp.csr_array:
        self.triplets_ = np.empty((0, 3), dtype=np.int64)
        counts, self.triplets_ = self._count_triplets(graphs)
        return counts

    def _count(self, graphs: GraphSet) -> sp.csr_array:
        return self._count_triplets(graphs)[0]

    def _count_triplets(self, graphs: GraphSet) -> tuple[sp.csr_array, NDArray[np.int64]]:
        """Return how often each graph has each triplet: known triplets first, then the others."""
        label_of, n_labels = label_columns(graphs, self.labels_)
        if n_labels**2 * max(len(graphs), graphs.n_nodes) >= 2**63:
            raise ValueError(
                f"X has {n_labels:,} distinct node labels, too many to count pairs of them."
                " Labels are categories that nodes share; names of nodes are not."
            )
        _check_number_of_pairs(graphs)
        graph_of = np.repeat(np.arange(len(graphs)), np.diff(graphs.node_offsets))
        n_pairs = np.int64(n_labels) ** 2
        found: list[Counts] = []
        for distance, sources, targets in _shortest_paths(graphs):
            pair = label_of[sources] * np.int64(n_labels) + label_of[targets]
            code, n_times = np.unique(graph_of[sources] * n_pairs + pair, return_counts=True)
            graph, pair = np.divmod(code, n_pairs)
            found.append((graph, distance * n_pairs + pair, n_times))
            if len(found) == PARTS_TOGETHER:
                found = [_add_up(found)]
        if not found:
            return sp.csr_array((len(graphs), len(self.triplets_))), self.triplets_
        graph, triplet, n_times = _add_up(found)
        known = self.triplets_ @ np.array([n_labels, 1, n_pairs])
        counts, codes = count_codes(triplet, known, graph, len(graphs), n_times)
        distances, pairs = np.divmod(codes, n_pairs)
        return counts, np.column_stack([*np.divmod(pairs, n_labels), distances])

    def _names(self) -> list[str]:
        labels = self._label_names()
        return [f"{labels[a]}->{labels[b]}:{steps}" for a, b, steps in self.triplets_.tolist()]


def _check_number_of_pairs(graphs: GraphSet) -> None:
    """Refuse graphs with so many pairs of nodes that it would take hours."""
    n_nodes = np.diff(graphs.node_offsets).astype(float)
    n_pairs = (n_nodes**2).sum()
    if n_pairs > MOST_PAIRS:
        graph = int(n_nodes.argmax())
        raise ValueError(
            f"The graphs have {n_pairs:,.0f} pairs of nodes in all, too many to find the shortest"
            f" path of each ({MOST_PAIRS:,} are possible). The most are in graph {graph}, with"
            f" {n_nodes[graph]:,.0f} nodes. Leave out the largest graphs, or use another kernel"
            ' such as "wl".'
        )


def _add_up(parts: list[Counts]) -> Counts:
    """Add up counts of the same triplet in the same graph."""
    graph, triplet, n_times = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((triplet, graph))
    graph, triplet = graph[order], triplet[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (np.diff(graph) != 0) | (np.diff(triplet) != 0)
    first = np.flatnonzero(is_first)
    return graph[first], triplet[first], np.add.reduceat(n_times[order], first)


def _shortest_paths(
    graphs: GraphSet,
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield distances, with the sources and targets of pairs of nodes that are so far apart.

    Distances begin with 1, and each may come several times. This is a breadth-first search from
    many nodes at once, each with the nodes of its graph.
    """
    n_targets = np.repeat(np.diff(graphs.node_offsets), np.diff(graphs.node_offsets))
    first_node = np.repeat(graphs.node_offsets[:-1], np.diff(graphs.node_offsets))
    block_of = offsets_of(n_targets)[:-1] // PAIRS_TOGETHER
    for block in np.split(np.arange(graphs.n_nodes), np.flatnonzero(np.diff(block_of)) + 1):
        # The pair (u, v) is at position start[u - block[0]] + v, v counted in its graph.
        offsets = offsets_of(n_targets[block])
        start = offsets[:-1]
        is_new = np.ones(offsets[-1], dtype=bool)
        winner = np.empty(offsets[-1], dtype=np.int32)
        is_new[start + block - first_node[block]] = False
        n_new = len(is_new) - len(block)
        frontier = [(block, block)]
        for distance in range(1, graphs.n_nodes):
            found = []
            for sources, targets in _portions(graphs, frontier):
                edges, ends = take_segments(graphs.edge_offsets, targets)
                sources = np.repeat(sources, np.diff(ends))
                pairs = start[sources - block[0]] + graphs.neighbors[edges]
                new = np.flatnonzero(is_new[pairs])
                sources, pairs = sources[new], pairs[new]
                # Of several ways to the same node, one goes on.
                winner[pairs] = np.arange(len(pairs), dtype=np.int32)
                winning = np.flatnonzero(winner[pairs] == np.arange(len(pairs)))
                sources, pairs = sources[winning], pairs[winning]
                is_new[pairs] = False
                n_new -= len(pairs)
                if len(pairs):
                    found.append((sources, pairs - start[sources - block[0]] + first_node[sources]))
            if not found:
                break
            yield from ((distance, *pairs) for pairs in found)
            if n_new == 0:  # which dense graphs reach long before their edges are all walked
                break
            frontier = found


def _portions(
    graphs: GraphSet, frontier: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the same pairs in portions from which about as many steps lead as a block has pairs."""
    for sources, targets in frontier:
        n_steps = graphs.edge_offsets[targets + 1] - graphs.edge_offsets[targets]
        portion_of = np.cumsum(n_steps) // PAIRS_TOGETHER
        cuts = np.flatnonzero(np.diff(portion_of)) + 1
        yield from zip(np.split(sources, cuts), np.split(targets, cuts), strict=True)
