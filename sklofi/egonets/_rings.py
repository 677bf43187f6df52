"""The smallest ring through each edge."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from sklofi.egonets._incidence import neighbor_nodes
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import offsets_of, segments_of, take_segments

# Rings of more than 4 edges (of more than 3 in directed graphs) are looked for up to the size s
# for which a node has at most so many walks of (s + 1) // 2 steps (s // 2 + 1 in directed graphs),
# on the average of its graph. It bounds the search to about a millisecond for a node; molecules
# have 30 walks of 4 steps. benchmarks/bench_rings.py measures it.
WALKS_PER_NODE = 2**12

# Triangles and squares take a step for each edge and each neighbor of that end of it which has
# fewer. In a graph that would take more steps (some seconds) they are not looked for. Edges that
# are in triangles are mostly found at the first tries, and are not counted.
MAX_STEPS = 2**25
FIRST_TRIES = 32

# So many steps are made at a time (unless a single node or edge needs more), which bounds the
# working arrays.
STEPS_TOGETHER = 2**20
EDGES_TOGETHER = 2**14

# Leaves are taken off so many times before rings are looked for. It saves time only.
ROUNDS_OF_LEAVES = 4


def ring_sizes(graphs: GraphSet, max_size: int) -> NDArray[np.int32]:
    """Return the size of the smallest ring through each edge.

    A ring is a cycle of the simple graph: parallel edges are one edge and make no ring. In a
    directed graph rings are directed cycles, so that two opposite edges are a ring of size 2. A
    loop is a ring of size 1.

    The time is linear in the number of edges for molecules and other sparse graphs, and is
    bounded for dense ones by a rule that looks at each graph alone:

    - triangles and squares take a step for each edge and each neighbor of that end of it which
      has fewer. If this is more than 2^25 steps, they are not looked for in this graph, which
      is said in a warning. Edges that are found to be in a triangle at one of the first tries
      do not count, so that nothing is missed in large cliques;
    - larger rings are found up to the largest size s for which the nodes of the graph have at
      most 4096 walks of (s + 1) // 2 steps on average. A graph where all nodes have the degree 8
      is searched for rings up to 8, one of degree 16 up to 6, and one of degree 17 or more for
      triangles and squares only. In a directed graph it is s // 2 + 1 steps, for squares too.

    The result is computed once and kept with the graphs.

    Parameters
    ----------
    graphs : GraphSet
        The graphs.

    max_size : int
        Number of edges of the largest rings to look for.

    Returns
    -------
    sizes : ndarray of shape (n_edges,)
        For each entry of `graphs.neighbors` the size of the smallest ring through that edge, 0
        if there is none of up to `max_size` edges. Both entries of an undirected edge have it.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi import GraphSet
    >>> from sklofi.egonets._rings import ring_sizes
    >>> triangle_with_a_tail = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> ring_sizes(GraphSet.from_networkx([triangle_with_a_tail]), max_size=8)
    array([3, 3, 3, 3, 3, 3, 0, 0], dtype=int32)
    """
    key = ("rings", max_size)
    whole, rows = graphs.origin
    if whole is not graphs and key in whole.tables.structure:
        nodes, _ = take_segments(whole.node_offsets, rows)
        edges, _ = take_segments(whole.edge_offsets, nodes)
        sizes: NDArray[np.int32] = ring_sizes(whole, max_size)[edges]
        return sizes
    return graphs.tables.structure.get(key, lambda: _compute_rings(graphs, max_size))


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


def _compute_rings(graphs: GraphSet, max_size: int) -> NDArray[np.int32]:
    # No ring has more edges than its graph has nodes; a file may ask for any size.
    max_size = min(max_size, int(np.diff(graphs.node_offsets).max(initial=0)))
    source = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.edge_offsets))
    target = neighbor_nodes(graphs)
    is_loop = source == target
    sizes = np.zeros(len(source), dtype=np.int32)
    if max_size >= 1:
        sizes[is_loop] = 1
    is_directed = np.repeat(graphs.directed, np.diff(graphs.node_offsets))[source]
    for directed, find in ((False, _undirected_rings), (True, _directed_rings)):
        here = np.flatnonzero((is_directed == directed) & ~is_loop)
        if len(here) and max_size >= 2:
            simple, entry_of = _SimpleGraphs.from_edges(graphs, source[here], target[here])
            sizes[here] = find(simple, max_size)[entry_of]
    sizes.flags.writeable = False
    return sizes


@dataclass(frozen=True, eq=False)
class _SimpleGraphs:
    """Where edges lead, without loops and parallel edges; neighbors are in ascending order."""

    node_offsets: NDArray[np.int64]  # of the graphs
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    codes: NDArray[np.int64]  # start * n_nodes + end, ascending

    @classmethod
    def from_edges(
        cls, graphs: GraphSet, source: NDArray[np.integer], target: NDArray[np.integer]
    ) -> tuple[_SimpleGraphs, NDArray[np.int64]]:
        """Return the graphs of given edges, and the place of each edge in them."""
        codes, entry_of = np.unique(source * np.int64(graphs.n_nodes) + target, return_inverse=True)
        return cls.from_codes(graphs.node_offsets, codes), entry_of

    @classmethod
    def from_codes(cls, node_offsets: NDArray[np.int64], codes: NDArray[np.int64]) -> _SimpleGraphs:
        n_nodes = int(node_offsets[-1])
        starts, ends = np.divmod(codes, np.int64(n_nodes))
        offsets = offsets_of(np.bincount(starts, minlength=n_nodes))
        return cls(node_offsets, offsets, starts, ends, codes)

    def part(self, edges: NDArray[np.int64]) -> _SimpleGraphs:
        """Return the graphs with some of the edges, in ascending order."""
        return self.from_codes(self.node_offsets, self.codes[edges])

    @property
    def n_nodes(self) -> int:
        return len(self.offsets) - 1

    @property
    def degrees(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def matrix(self) -> sp.csr_array:
        ones = np.ones(len(self.ends))
        return sp.csr_array((ones, self.ends, self.offsets), shape=(self.n_nodes, self.n_nodes))

    def graph_of(self, nodes: NDArray[np.integer]) -> NDArray[np.int64]:
        return segments_of(self.node_offsets, nodes)

    def find(
        self, starts: NDArray[np.integer], ends: NDArray[np.integer]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the places of edges, and whether there are such edges."""
        return _find(self.codes, starts * np.int64(self.n_nodes) + ends)

    def reversed(self) -> tuple[_SimpleGraphs, NDArray[np.int64]]:
        """Return the graphs with all edges turned round, and for each edge its place here."""
        codes = self.ends * np.int64(self.n_nodes) + self.starts
        order = np.argsort(codes, kind="stable")
        return self.from_codes(self.node_offsets, codes[order]), order

    def largest_sizes(self, max_size: int, *, directed: bool) -> NDArray[np.int64]:
        """Return up to which size rings are looked for, by the rule of walks, for each node."""
        n_nodes = np.diff(self.node_offsets)
        limits = np.full(len(n_nodes), 3)
        is_sparse = np.ones(len(n_nodes), dtype=bool)
        walks = self.degrees.astype(float)
        matrix = self.matrix
        for n_steps in range(2, max_size // 2 + 2):
            walks = matrix @ walks
            of_graph = np.bincount(
                np.repeat(np.arange(len(n_nodes)), n_nodes), walks, minlength=len(n_nodes)
            )
            is_sparse &= of_graph <= WALKS_PER_NODE * n_nodes
            limits[is_sparse] = 2 * n_steps - directed
            is_sparse &= limits < n_nodes
            if not is_sparse.any():
                break
        return np.repeat(np.minimum(limits, max_size), n_nodes)

    def affordable(self, edges: NDArray[np.int64], steps: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return positions of the edges of graphs that take few enough steps together.

        Warn of the others.
        """
        n_graphs = len(self.node_offsets) - 1
        graph_of = self.graph_of(self.starts[edges])
        n_steps = np.bincount(graph_of, steps, minlength=n_graphs)
        is_dense = n_steps > MAX_STEPS
        if is_dense.any():
            graph = int(n_steps.argmax())
            first, last = self.node_offsets[graph], self.node_offsets[graph + 1]
            degree = (self.offsets[last] - self.offsets[first]) / (last - first)
            warnings.warn(
                f"{np.count_nonzero(is_dense):,} of the {n_graphs:,} graphs are too dense to look"
                f" for all rings, such as graph {graph}, with {last - first:,} nodes of degree"
                f" {degree:,.0f} on average. Edges of which no ring is known yet count as edges"
                " outside rings there. Pass max_ring=0 to look for none.",
                UserWarning,
                stacklevel=2,
            )
        return np.flatnonzero(~is_dense[graph_of])


def _find(
    codes: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the places of wanted codes among ascending ones, and whether they are there."""
    if len(codes) == 0:
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    places = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    return places, codes[places] == wanted


def portions(steps: NDArray[np.integer] | NDArray[np.float64]) -> Iterator[slice]:
    """Cut a sequence into parts of limited steps."""
    part = np.floor_divide(np.cumsum(steps), STEPS_TOGETHER)
    bounds = np.flatnonzero(np.diff(part)) + 1
    for first, last in zip([0, *bounds], [*bounds, len(steps)], strict=True):
        yield slice(int(first), int(last))


# Graphs without direction.


def _undirected_rings(simple: _SimpleGraphs, max_size: int) -> NDArray[np.int32]:
    """Return the size of the smallest ring through each edge, which stands there twice."""
    sizes = np.zeros(len(simple.codes), dtype=np.int32)
    if max_size < 3:
        return sizes
    limits = simple.largest_sizes(max_size, directed=False)
    inner = _without_leaves(simple)
    simple = simple.part(inner)
    _, other_way = simple.reversed()  # the place of the other entry of each edge
    found = np.zeros(len(inner), dtype=np.int32)
    for size, find in ((3, _in_triangles), (4, _in_squares)):
        if size <= max_size:
            is_new = find(simple, found == 0)
            found[(is_new | is_new[other_way]) & (found == 0)] = size
    if max_size >= 5:
        _search_from_nodes(simple, found, other_way, limits)
    sizes[inner] = found
    return sizes


def _without_leaves(simple: _SimpleGraphs) -> NDArray[np.int64]:
    """Return the edges that are left when nodes of degree 1 are taken off, a few times."""
    edges = np.arange(len(simple.codes))
    for _ in range(ROUNDS_OF_LEAVES):
        starts, ends = simple.starts[edges], simple.ends[edges]
        is_leaf = np.bincount(starts, minlength=simple.n_nodes) == 1
        is_inner = ~(is_leaf[starts] | is_leaf[ends])
        if is_inner.all():
            break
        edges = edges[is_inner]
    return edges


def _in_triangles(simple: _SimpleGraphs, is_open: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which edges are in triangles, at one of both entries.

    The neighbors of the end that has fewer are tried one after the other, those of all
    edges at once: in dense graphs nearly all edges are in triangles, which are found soon.
    """
    degrees = simple.degrees
    in_triangle = np.zeros(len(is_open), dtype=bool)
    left = np.flatnonzero(is_open & (simple.starts < simple.ends))
    start, end = simple.starts[left], simple.ends[left]
    swaps = degrees[end] < degrees[start]
    near, far = np.where(swaps, end, start), np.where(swaps, start, end)
    for i in range(int(degrees[near].max(initial=0))):
        if i == FIRST_TRIES:
            kept = simple.affordable(left, degrees[near])
            left, near, far = left[kept], near[kept], far[kept]
        goes_on = degrees[near] > i
        left, near, far = left[goes_on], near[goes_on], far[goes_on]
        _, found = simple.find(simple.ends[simple.offsets[near] + i], far)
        in_triangle[left[found]] = True
        left, near, far = left[~found], near[~found], far[~found]
    return in_triangle


def _in_squares(simple: _SimpleGraphs, is_open: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which edges are in squares, at one of both entries at least, where edges are open.

    Let u be the node of a square that comes last by degree (Chiba and Nishizeki, 1985). Two of
    the paths u - v - w in which u comes after v and w make a square if they have the same ends.
    """
    in_square = np.zeros(len(is_open), dtype=bool)
    has_open = np.zeros(len(simple.node_offsets) - 1, dtype=bool)
    has_open[simple.graph_of(simple.starts[is_open])] = True
    rank = np.empty(simple.n_nodes, dtype=np.int64)
    rank[np.argsort(simple.degrees, kind="stable")] = np.arange(simple.n_nodes)
    is_first = (rank[simple.starts] > rank[simple.ends]) & has_open[simple.graph_of(simple.starts)]
    steps = np.flatnonzero(is_first)
    steps = steps[simple.affordable(steps, simple.degrees[simple.ends[steps]])]
    # Paths from the same u stay together.
    step_offsets = offsets_of(np.bincount(simple.starts[steps], minlength=simple.n_nodes))
    path_offsets = offsets_of(simple.degrees[simple.ends[steps]])
    for tops in portions(np.diff(path_offsets[step_offsets])):
        first = steps[step_offsets[tops.start] : step_offsets[tops.stop]]
        second, ends = take_segments(simple.offsets, simple.ends[first])
        first = np.repeat(first, np.diff(ends))
        comes_last = rank[simple.ends[second]] < rank[simple.starts[first]]
        first, second = first[comes_last], second[comes_last]
        codes = simple.starts[first] * np.int64(simple.n_nodes) + simple.ends[second]
        ordered = np.sort(codes)
        _, is_twice = _find(ordered[1:][ordered[1:] == ordered[:-1]], codes)
        in_square[first[is_twice]] = True
        in_square[second[is_twice]] = True
    return in_square


def _search_from_nodes(
    simple: _SimpleGraphs,
    sizes: NDArray[np.int32],
    other_way: NDArray[np.int64],
    limits: NDArray[np.int64],
) -> None:
    """Set the sizes that are still zero, by a breadth-first search from nodes.

    Take all shortest paths from a node u, each with its first edge. In the smallest ring through
    an edge (u, v) both ways round are shortest paths, up to the point where they meet: a shorter
    way to a node of the ring would make a smaller ring through that edge. So the smallest ring is
    found where a path with that first edge and a path with another one meet, at a node or at
    both ends of an edge. A search from one end of each edge is enough.
    """
    is_open = (sizes == 0) & (limits[simple.starts] >= 5)
    if not is_open.any():
        return
    # No search is needed from nodes that come last among their neighbors, in any order. Hubs are
    # last; the others are in disorder, so that many come last.
    order = np.arange(simple.n_nodes) * 2654435761 % 2**32 + simple.degrees // 8 * 2**32
    is_root = np.zeros(simple.n_nodes, dtype=bool)
    is_root[simple.starts[is_open & (order[simple.starts] <= order[simple.ends])]] = True
    roots = np.flatnonzero(is_root)
    steps = np.ones(simple.n_nodes)
    for _ in range((int(limits.max()) + 1) // 2):
        steps = simple.matrix @ steps
    for portion in portions(steps[roots]):
        _search_from(simple, sizes, roots[portion], limits[roots[portion]])
    np.maximum(sizes, sizes[other_way], out=sizes)  # the same if both are found


def _search_from(
    simple: _SimpleGraphs,
    sizes: NDArray[np.int32],
    roots: NDArray[np.int64],
    limits: NDArray[np.int64],
) -> None:
    """Set the sizes of rings through open edges that begin at some nodes."""
    n_nodes, n_marks = np.int64(simple.n_nodes), np.int64(simple.degrees.max() + 1)
    first_edge = simple.offsets[roots]
    edges, bounds = take_segments(simple.offsets, roots)
    root_of_edge = np.repeat(np.arange(len(roots)), np.diff(bounds))
    # A place is a pair of root and node. Its mark is 1 + the number of the first edge of the
    # paths from the root to it, or 0 if they differ: then these edges are in rings, none of
    # them is open any more, and what an open edge leads to differs from all of them.
    before = np.arange(len(roots)) * n_nodes + roots
    front = root_of_edge * n_nodes + simple.ends[edges]
    mark = edges - first_edge[root_of_edge] + 1

    def set_size(edge_root: NDArray[np.int64], edge_mark: NDArray[np.int64], size: int) -> None:
        is_edge = edge_mark > 0
        found = first_edge[edge_root[is_edge]] + edge_mark[is_edge] - 1
        sizes[found[sizes[found] == 0]] = size

    for n_steps in range(1, (int(limits.max()) + 1) // 2):
        size = 2 * n_steps + 1
        is_open = np.bincount(root_of_edge[sizes[edges] == 0], minlength=len(roots)) > 0
        goes_on = is_open & (limits >= size)
        root, node = np.divmod(front, n_nodes)
        kept = goes_on[root]
        front, mark, root, node = front[kept], mark[kept], root[kept], node[kept]
        if len(front) == 0:
            return
        steps, ends = take_segments(simple.offsets, node)
        n_ways = np.diff(ends)
        way_root, way_mark = np.repeat(root, n_ways), np.repeat(mark, n_ways)
        reached = way_root * n_nodes + simple.ends[steps]
        place, is_beside = _find(front, reached)
        meets = is_beside & (mark[place] != way_mark)
        set_size(way_root[meets], way_mark[meets], size)
        is_ahead = ~is_beside & ~_find(before, reached)[1] & (limits[way_root] > size)
        # Sorted by place, then by mark.
        codes = np.sort(reached[is_ahead] * n_marks + way_mark[is_ahead])
        codes, mark = np.divmod(codes, n_marks)
        if len(codes) == 0:
            return
        first = np.append(0, np.flatnonzero(codes[1:] != codes[:-1]) + 1)
        last = np.append(first[1:], len(codes)) - 1
        differs = mark[first] != mark[last]
        meets = np.repeat(differs, last - first + 1)
        set_size(codes[meets] // n_nodes, mark[meets], size + 1)
        before, front, mark = front, codes[first], np.where(differs, 0, mark[first])


# Directed graphs.


def _directed_rings(simple: _SimpleGraphs, max_size: int) -> NDArray[np.int32]:
    """Return the size of the smallest directed cycle through each edge."""
    sizes = np.zeros(len(simple.codes), dtype=np.int32)
    limits = simple.largest_sizes(max_size, directed=True)
    # All edges of a cycle are in one strongly connected component.
    _, component = csgraph.connected_components(simple.matrix, connection="strong")
    inner = np.flatnonzero(component[simple.starts] == component[simple.ends])
    simple = simple.part(inner)
    found = np.zeros(len(inner), dtype=np.int32)
    found[simple.find(simple.ends, simple.starts)[1]] = 2
    if max_size >= 3:
        ways = _TwoWays.of(simple)
        found[_in_directed_triangles(simple, ways, found == 0)] = 3
        left = np.flatnonzero((found == 0) & (limits[simple.starts] >= 4))
        for first in range(0, len(left), EDGES_TOGETHER):
            edges = left[first : first + EDGES_TOGETHER]
            start, goal = simple.ends[edges], simple.starts[edges]
            found[edges] = _search_ways_back(ways, start, goal, limits[goal])
    sizes[inner] = found
    return sizes


@dataclass(frozen=True, eq=False)
class _TwoWays:
    """Where edges lead.

    Forwards from the nodes 0 to n - 1, and backwards from the same nodes under the numbers n to
    2 n - 1.
    """

    n_nodes: int
    offsets: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, simple: _SimpleGraphs) -> _TwoWays:
        backwards, _ = simple.reversed()
        offsets = np.append(simple.offsets[:-1], backwards.offsets + len(simple.ends))
        ends = np.append(simple.ends, backwards.ends + simple.n_nodes)
        return cls(simple.n_nodes, offsets, ends)


def _in_directed_triangles(
    simple: _SimpleGraphs, ways: _TwoWays, is_open: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which edges are in directed triangles.

    These are edges from goal to start if two steps lead from start to goal. The neighbors of
    the end that has fewer are tried one after the other, those of all edges at once.
    """
    n_nodes, degrees = ways.n_nodes, np.diff(ways.offsets)
    in_triangle = np.zeros(len(is_open), dtype=bool)
    left = np.flatnonzero(is_open)
    start, goal = simple.ends, simple.starts
    side = np.where(degrees[start] <= degrees[goal + n_nodes], start, goal + n_nodes)
    for i in range(int(degrees[side[left]].max(initial=0))):
        if i == FIRST_TRIES:
            left = left[simple.affordable(left, degrees[side[left]])]
        left = left[degrees[side[left]] > i]
        middle = ways.ends[ways.offsets[side[left]] + i]
        is_ahead = middle < n_nodes  # of start, and not behind goal
        _, found = simple.find(
            np.where(is_ahead, middle, start[left]),
            np.where(is_ahead, goal[left], middle - n_nodes),
        )
        in_triangle[left[found]] = True
        left = left[~found]
    return in_triangle


def _search_ways_back(
    ways: _TwoWays,
    start: NDArray[np.int64],
    goal: NDArray[np.int64],
    limits: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Return the size of the smallest cycle through edges from goal to start, 0 if too large.

    A breadth-first search from both ends of all edges at once; of each edge the smaller of the
    two fronts goes one step ahead, until they meet.
    """
    n_edges, n_nodes = len(start), ways.n_nodes
    sizes = np.zeros(n_edges, dtype=np.int32)
    # Node v of the search for edge e is 2 * n_nodes * e + v; backwards it has a second number.
    span = np.int64(2 * n_nodes)
    edges = np.arange(n_edges)
    front = np.concatenate([edges * span + start, edges * span + goal + n_nodes])
    edge, node, is_back, n_front = _split_front(front, n_nodes, n_edges)
    seen = np.sort(front)
    for size in range(2, int(limits.max()) + 1):
        goes = is_back == (n_front[:, 1] < n_front[:, 0])[edge]
        edge, node = edge[goes], node[goes]
        n_steps = (ways.offsets[node + 1] - ways.offsets[node]).sum()
        if n_edges > 1 and n_steps > STEPS_TOGETHER:
            halves = np.array_split(np.arange(n_edges), 2)
            parts = [(ways, start[half], goal[half], limits[half]) for half in halves]
            return np.concatenate([_search_ways_back(*part) for part in parts])
        steps, ends = take_segments(ways.offsets, node)
        new = np.unique(np.repeat(edge, np.diff(ends)) * span + ways.ends[steps])
        new = np.setdiff1d(new, seen, assume_unique=True)
        front = np.concatenate([front[~goes], new])
        edge, node, is_back, n_front = _split_front(front, n_nodes, n_edges)
        place = edge * np.int64(n_nodes) + node % n_nodes
        met = np.intersect1d(place[is_back], place[~is_back], assume_unique=True) // n_nodes
        sizes[met] = size
        is_open = (sizes == 0) & n_front.all(axis=1) & (limits > size)
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
