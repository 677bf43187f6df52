"""The smallest ring through each edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklofi.egonets._incidence import neighbor_nodes
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import take_segments

# Rings are searched through so many edges at a time, and by at most so many steps at a time
# (unless a single edge needs more), which bounds the working arrays.
EDGES_TOGETHER = 2**14
STEPS_TOGETHER = 2**21


def smallest_rings(
    graphs: GraphSet, max_size: int
) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """Return the size of the smallest ring through each edge that is in one of limited size.

    Parameters
    ----------
    graphs : GraphSet
        The graphs.

    max_size : int
        Number of edges of the largest rings to look for.

    Returns
    -------
    nodes : ndarray of shape (n_ring_edges,)
        An end of each edge that is in a ring.

    sizes : ndarray of shape (n_ring_edges,)
        The size of the smallest such ring.
    """
    _, goal, start, is_directed = edges_once(graphs)
    sizes = np.zeros(len(goal), dtype=np.int64)
    is_loop = start == goal
    sizes[is_loop] = 1
    open_edges = np.flatnonzero(~is_loop)
    if max_size >= 2 and len(open_edges):
        adjacency = _TwoWayAdjacency.from_graphs(graphs)
        # The edge goes from goal to start; a ring is a way back that does not use it.
        returns = is_directed[open_edges] & adjacency.has_edges(start[open_edges], goal[open_edges])
        sizes[open_edges[returns]] = 2
        open_edges = open_edges[~returns]
        # In dense graphs nearly all are in triangles, which are found without a search.
        if max_size >= 3:
            in_triangle = _in_triangles(adjacency, start[open_edges], goal[open_edges])
            sizes[open_edges[in_triangle]] = 3
            open_edges = open_edges[~in_triangle]
        if max_size >= 4:
            for first in range(0, len(open_edges), EDGES_TOGETHER):
                batch = open_edges[first : first + EDGES_TOGETHER]
                sizes[batch] = _search_rings(
                    adjacency, start[batch], goal[batch], is_directed[batch], max_size
                )
    found = np.flatnonzero((sizes > 0) & (sizes <= max_size))
    return goal[found], sizes[found]


def edges_once(
    graphs: GraphSet,
) -> tuple[NDArray[np.int64], NDArray[np.integer], NDArray[np.integer], NDArray[np.bool_]]:
    """Return the position of each edge in `neighbors`, both ends, and whether it is directed.

    An undirected edge, which stands there twice, is returned once.
    """
    source = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.edge_offsets))
    target = neighbor_nodes(graphs)
    is_directed = np.repeat(graphs.directed, np.diff(graphs.node_offsets))[source]
    edges = np.flatnonzero(is_directed | (source <= target))
    return edges, source[edges], target[edges], is_directed[edges]


@dataclass(frozen=True, eq=False)
class _TwoWayAdjacency:
    """Where edges lead, loops left out.

    Forwards from the nodes 0 to n - 1, and backwards from the same nodes under the numbers n to
    2 n - 1.
    """

    n_nodes: int
    offsets: NDArray[np.int64]
    ends: NDArray[np.int64]
    codes: NDArray[np.int64]  # of all edges, ascending: source * n_nodes + target

    @classmethod
    def from_graphs(cls, graphs: GraphSet) -> _TwoWayAdjacency:
        source = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.edge_offsets))
        target = neighbor_nodes(graphs)
        source, target = source[source != target], target[source != target]
        n_nodes = graphs.n_nodes
        starts, ends = np.concatenate([source, target + n_nodes]), np.concatenate([target, source])
        ends[len(source) :] += n_nodes
        order = np.argsort(starts, kind="stable")
        offsets = np.searchsorted(starts[order], np.arange(2 * n_nodes + 1))
        codes = np.sort(source * np.int64(n_nodes) + target)
        return cls(n_nodes, offsets, ends[order], codes)

    def has_edges(
        self, source: NDArray[np.integer], target: NDArray[np.integer]
    ) -> NDArray[np.bool_]:
        """Return whether there are edges from sources to targets."""
        codes = source * np.int64(self.n_nodes) + target
        places = np.searchsorted(self.codes, codes)
        found: NDArray[np.bool_] = self.codes[np.minimum(places, len(self.codes) - 1)] == codes
        return found


def _in_triangles(
    adjacency: _TwoWayAdjacency, start: NDArray[np.integer], goal: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Return whether two steps lead from start to goal.

    The neighbors of the end that has fewer are tried one after the other, those of all
    edges at once.
    """
    n_nodes = adjacency.n_nodes
    degrees = np.diff(adjacency.offsets)
    side = np.where(degrees[start] <= degrees[goal + n_nodes], start, goal + n_nodes)
    is_found = np.zeros(len(start), dtype=bool)
    left = np.arange(len(start))
    for i in range(int(degrees[side].max(initial=0))):
        left = left[degrees[side[left]] > i]
        middle = adjacency.ends[adjacency.offsets[side[left]] + i]
        is_ahead = middle < n_nodes  # of start, and not behind goal
        found = adjacency.has_edges(
            np.where(is_ahead, middle, start[left]),
            np.where(is_ahead, goal[left], middle - n_nodes),
        )
        is_found[left[found]] = True
        left = left[~found]
    return is_found


def _search_rings(
    adjacency: _TwoWayAdjacency,
    start: NDArray[np.integer],
    goal: NDArray[np.integer],
    is_directed: NDArray[np.bool_],
    max_size: int,
) -> NDArray[np.int64]:
    """Return the size of the smallest ring through edges from goal to start, 0 if too large.

    A breadth-first search for a way back from both ends of all edges at once; of each edge
    the smaller of the two fronts goes one step ahead, until they meet.
    """
    n_edges, n_nodes = len(start), adjacency.n_nodes
    sizes = np.zeros(n_edges, dtype=np.int64)
    # Node v of the search for edge e is 2 * n_nodes * e + v; backwards it has a second number.
    span = np.int64(2 * n_nodes)
    edges = np.arange(n_edges)
    front = np.concatenate([edges * span + start, edges * span + goal + n_nodes])
    edge, node, is_back, n_front = _split_front(front, n_nodes, n_edges)
    seen = np.sort(front)
    for size in range(2, max_size + 1):
        goes = is_back == (n_front[:, 1] < n_front[:, 0])[edge]
        edge, node = edge[goes], node[goes]
        n_steps = (adjacency.offsets[node + 1] - adjacency.offsets[node]).sum()
        if n_edges > 1 and n_steps > STEPS_TOGETHER:
            halves = np.array_split(np.arange(n_edges), 2)
            parts = [(adjacency, start[h], goal[h], is_directed[h], max_size) for h in halves]
            return np.concatenate([_search_rings(*part) for part in parts])
        steps, ends = take_segments(adjacency.offsets, node)
        edge, node = np.repeat(edge, np.diff(ends)), np.repeat(node, np.diff(ends))
        reached = adjacency.ends[steps]
        is_itself = ~is_directed[edge] & (
            ((node == start[edge]) & (reached == goal[edge]))
            | ((node == goal[edge] + n_nodes) & (reached == start[edge] + n_nodes))
        )
        new = np.unique((edge * span + reached)[~is_itself])
        new = np.setdiff1d(new, seen, assume_unique=True)
        front = np.concatenate([front[~goes], new])
        edge, node, is_back, n_front = _split_front(front, n_nodes, n_edges)
        place = edge * np.int64(n_nodes) + node % n_nodes
        met = np.intersect1d(place[is_back], place[~is_back], assume_unique=True) // n_nodes
        sizes[met] = size
        is_open = (sizes == 0) & n_front.all(axis=1)
        goes_on = is_open[edge]
        front, edge, node, is_back = front[goes_on], edge[goes_on], node[goes_on], is_back[goes_on]
        if len(front) == 0:
            break
        seen = np.sort(np.concatenate([seen, new]))
        seen = seen[is_open[seen // span]]
    return sizes


def _split_front(
    front: NDArray[np.int64], n_nodes: int, n_edges: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return the edge, the node and the direction of each place in the fronts, and front sizes.

    The direction is whether it was reached backwards; each edge has two fronts.
    """
    edge, node = np.divmod(front, np.int64(2 * n_nodes))
    is_back = node >= n_nodes
    n_front = np.bincount(2 * edge + is_back, minlength=2 * n_edges)
    return edge, node, is_back, n_front.reshape(n_edges, 2)
