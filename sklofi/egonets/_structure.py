"""Structural labels of nodes: degrees, triangles, rings and short walks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sklofi.egonets._incidence import neighbor_nodes
from sklofi.egonets._rings import MAX_STEPS, portions, ring_sizes
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import segments_of, take_segments

STRUCTURES = ("degree", "triangles", "rings", "walks")

# The categories of these are numbers in steps, so that there is a nearest one.
ORDERED_STRUCTURES = ("degree", "triangles")

# Rings at a node are those of up to so many edges.
LARGEST_RING = 8

# Numbers are exact up to 8. Then a category begins at 9, and at each power of the square root of 2
# from 12 on: 12, 16, 23, 32, 46, 64, ...
STEPS = np.concatenate([np.arange(10), np.ceil(8 * 2 ** (np.arange(1, 80) / 2) - 1e-9)])

# Return probabilities are told apart down to 2^-6, in powers of 2.
N_WALK_LEVELS = 8


def structure_columns(graphs: GraphSet, names: Sequence[str]) -> NDArray[np.int32]:
    """Return structural labels of nodes, as whole numbers.

    Each depends on the graph of the node alone, so that slices and new graphs agree. Loops
    count for rings only, and parallel edges are one edge.

    - "degree": the number of neighbors, in a directed graph of successors. It is exact up to
      8; then come steps of half an octave (9 to 11, 12 to 15, 16 to 22, 23 to 31, ...);
    - "triangles": the number of triangles that the node is in, directions of edges left out,
      in the same steps;
    - "rings": which sizes the smallest rings through the edges of the node have, as the sum
      of 2^(size - 1) over these sizes, up to 8 (:func:`sklofi.egonets._rings.ring_sizes`). In
      a directed graph, rings are directed cycles;
    - "walks": the probabilities that a random walk of 2, 3 and 4 steps ends where it began, each
      in powers of 2: 0 below 2^-6.5, then 1 to 7 for the nearest of 1/64, 1/32, ..., 1. The label
      is 64 times the first level + 8 times the second + the third. In a directed graph walks
      follow the direction of edges, and end at a node without successors.

    Parameters
    ----------
    graphs : GraphSet
        The graphs.

    names : sequence of str
        Some of "degree", "triangles", "rings" and "walks".

    Returns
    -------
    columns : ndarray of shape (n_nodes, len(names))
        A label for each node and name.

    Raises
    ------
    ValueError
        If a name is unknown, or if a graph is too dense for walks.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi import GraphSet
    >>> from sklofi.egonets._structure import structure_columns
    >>> graphs = GraphSet.from_networkx([nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])])
    >>> structure_columns(graphs, ["degree", "triangles", "rings"])
    array([[2, 1, 4],
           [2, 1, 4],
           [3, 1, 4],
           [1, 0, 0]], dtype=int32)
    """
    columns = np.empty((graphs.n_nodes, len(names)), dtype=np.int32)
    for i, name in enumerate(check_structure(names)):
        columns[:, i] = structure_column(graphs, name)
    return columns


def structure_column(graphs: GraphSet, name: str) -> NDArray[np.int32]:
    """Return one structural label of each node, computed once and kept with the graphs."""
    key = ("structure", name)
    whole, rows = graphs.origin
    if whole is not graphs and key in whole.tables.structure:
        nodes, _ = take_segments(whole.node_offsets, rows)
        column: NDArray[np.int32] = structure_column(whole, name)[nodes]
        return column
    return graphs.tables.structure.get(key, lambda: _compute(graphs, name))


def check_structure(structure: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the value of a parameter `structure` as a tuple of names, if they are known."""
    if structure is None:
        return ()
    names = (structure,) if isinstance(structure, str) else tuple(structure)
    for name in names:
        if not isinstance(name, str) or name not in STRUCTURES:
            known = ", ".join(f'"{known}"' for known in STRUCTURES)
            raise ValueError(f"structure has to be some of {known}, got {name!r}.")
    if len(set(names)) < len(names):
        raise ValueError(f"structure names something twice: {names!r}.")
    return names


def _compute(graphs: GraphSet, name: str) -> NDArray[np.int32]:
    compute = {
        "degree": lambda: _in_steps(np.diff(_simple_adjacency(graphs).indptr)),
        "triangles": lambda: _in_steps(_count_triangles(_simple_adjacency(graphs))),
        "rings": lambda: _ring_sets(graphs),
        "walks": lambda: _walk_levels(graphs),
    }
    column = compute[name]().astype(np.int32)
    column.flags.writeable = False
    return column


def _in_steps(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.searchsorted(STEPS, numbers, side="right") - 1


def _simple_adjacency(graphs: GraphSet) -> sp.csr_array:
    """Return the adjacency of all graphs as zeros and ones, without loops."""
    source = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.edge_offsets))
    target = neighbor_nodes(graphs)
    source, target = source[source != target], target[source != target]
    shape = (graphs.n_nodes, graphs.n_nodes)
    matrix = sp.csr_array((np.ones(len(source)), (source, target)), shape=shape)
    matrix.data[:] = 1  # parallel edges were added
    return matrix


def _count_triangles(matrix: sp.csr_array) -> NDArray[np.int64]:
    """Return the number of triangles at each node, whatever the directions of edges.

    Each edge is directed to the end of higher degree, so that no node has many successors. A
    triangle has a first node, a middle one and a last one in this order.
    """
    matrix = (matrix + matrix.T).tocsr()
    rank = np.empty(matrix.shape[0], dtype=np.int64)
    rank[np.argsort(np.diff(matrix.indptr), kind="stable")] = np.arange(len(rank))
    start, end = matrix.nonzero()
    is_up = rank[start] < rank[end]
    ones = np.ones(is_up.sum())
    up = sp.csr_array((ones, (start[is_up], end[is_up])), shape=matrix.shape)
    n_triangles = np.zeros(len(rank))
    n_up = np.diff(up.indptr)
    for first_steps in (up, up.T.tocsr()):
        for rows in portions(first_steps @ n_up):
            # At first there is a middle node between row and column, then a first node before.
            closed = (first_steps[rows] @ up).multiply(up[rows]).tocsr()
            n_triangles[rows] += closed.sum(axis=1)
            if first_steps is not up:
                n_triangles += closed.sum(axis=0)
    return n_triangles.astype(np.int64)


def _ring_sets(graphs: GraphSet) -> NDArray[np.int64]:
    sizes = ring_sizes(graphs, LARGEST_RING)
    source = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.edge_offsets))
    column = np.zeros(graphs.n_nodes, dtype=np.int64)
    for size in range(1, LARGEST_RING + 1):
        has_size = np.zeros(graphs.n_nodes, dtype=bool)
        has_size[source[sizes == size]] = True
        column += has_size * 2 ** (size - 1)
    return column


def _walk_levels(graphs: GraphSet) -> NDArray[np.int64]:
    matrix = _simple_adjacency(graphs)
    degrees = np.diff(matrix.indptr)
    steps = sp.diags_array(1 / np.maximum(degrees, 1)) @ matrix
    back = steps.T.tocsr()
    # Of two steps from each node, and of two steps back.
    n_steps = matrix @ degrees + matrix.T @ np.diff(back.indptr)
    _check_steps(graphs, n_steps)
    returns = np.zeros((3, graphs.n_nodes))
    returns[0] = steps.multiply(back).sum(axis=1)
    for rows in portions(n_steps):
        two_steps = steps[rows] @ steps
        returns[1, rows] = two_steps.multiply(back[rows]).sum(axis=1)
        returns[2, rows] = two_steps.multiply(back[rows] @ back).sum(axis=1)
    # A fraction is never halfway between powers of 2 on this scale, so rounding is safe.
    levels = np.rint(np.log2(np.maximum(returns, 1e-9))) + N_WALK_LEVELS - 1
    two, three, four = levels.clip(0, N_WALK_LEVELS - 1).astype(np.int64)
    label: NDArray[np.int64] = (two * N_WALK_LEVELS + three) * N_WALK_LEVELS + four
    return label


def _check_steps(graphs: GraphSet, n_steps: NDArray[np.float64]) -> None:
    graph_of = segments_of(graphs.node_offsets, np.arange(graphs.n_nodes))
    of_graph = np.bincount(graph_of, n_steps, minlength=len(graphs))
    if of_graph.max(initial=0) > 32 * MAX_STEPS:
        graph = int(of_graph.argmax())
        raise ValueError(
            f"Graph {graph}, with {np.diff(graphs.node_offsets)[graph]:,} nodes, is too dense for"
            ' the return probabilities of walks. Leave "walks" out of structure, or leave this'
            " graph out."
        )
