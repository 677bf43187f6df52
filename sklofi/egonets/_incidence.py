"""Egonets of all nodes as one sparse matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from sklofi._memory import is_too_large, memory_size
from sklofi.graphs._graph_set import GraphSet

# What the construction of an incidence takes at its peak, for each entry of the result.
BYTES_PER_MEMBER = 24


def egonet_incidence(graphs: GraphSet, radius: int) -> sp.csr_array:
    """Sparse incidence of the egonets of all nodes.

    Row ``v`` marks the members of the egonet of node ``v``: the node itself and every
    node that can be reached from it in at most ``radius`` steps (in a directed graph,
    along the direction of the edges). It is the boolean power ``(A + I) ** radius`` of
    the block-diagonal adjacency ``A`` of all graphs.

    Parameters
    ----------
    graphs : GraphSet
        The graphs; row and column ``v`` of the result are node ``v`` of the whole set.

    radius : int
        Largest distance from the center, 0 or more.

    Returns
    -------
    incidence : scipy.sparse.csr_array of shape (n_nodes, n_nodes)
        Zeros and ones, with sorted indices.

    Raises
    ------
    MemoryError
        If the incidence would not fit into the memory of this machine. This is known
        before it is built.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi import GraphSet
    >>> from sklofi.egonets import egonet_incidence
    >>> path = GraphSet.from_networkx([nx.path_graph(4)])
    >>> egonet_incidence(path, radius=1).toarray().astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1],
           [0, 0, 1, 1]])
    """
    return boolean_incidence(graphs, radius).astype(np.float32)


def egonet_sizes(graphs: GraphSet, radius: int) -> NDArray[np.integer]:
    """Return the number of members of the egonet of each node."""
    sizes: NDArray[np.integer] = np.diff(boolean_incidence(graphs, radius).indptr)
    return sizes


def boolean_incidence(graphs: GraphSet, radius: int) -> sp.csr_array:
    """Return the incidence as booleans, computed once and kept with the graphs."""
    key = ("egonets", radius)
    return graphs.tables.structure.get(key, lambda: _compute_egonets(graphs, radius))


def has_egonets(graphs: GraphSet, radius: int) -> bool:
    """Return whether the egonets of a radius have been computed already."""
    return ("egonets", radius) in graphs.tables.structure


def _compute_egonets(graphs: GraphSet, radius: int) -> sp.csr_array:
    itself = sp.eye_array(graphs.n_nodes, dtype=bool, format="csr")
    one_step = itself + adjacency(graphs)
    _, component = csgraph.connected_components(one_step, directed=False)
    largest = np.bincount(component)[component]  # possible size of each egonet
    incidence = itself if radius == 0 else one_step
    for step in range(2, radius + 1):
        # Within r steps are the neighbors of all within r - 1 steps, and all within r - 1
        # steps of the neighbors.
        size, first_size = np.diff(incidence.indptr), np.diff(one_step.indptr)
        bound = np.minimum(incidence @ first_size.astype(float), one_step @ size.astype(float))
        _check_memory(graphs, np.minimum(bound, largest), step)
        incidence = _grow_rows(incidence, one_step, np.flatnonzero(size < largest))
        if incidence.nnz == size.sum():
            break  # no egonet has grown
    incidence.sort_indices()
    return incidence


def _grow_rows(
    incidence: sp.csr_array, one_step: sp.csr_array, rows: NDArray[np.integer]
) -> sp.csr_array:
    """Return the incidence with egonets one step larger in `rows`; the others are complete."""
    grown = incidence[rows] @ one_step
    if len(rows) == incidence.shape[0]:
        return grown
    others = np.setdiff1d(np.arange(incidence.shape[0]), rows)
    both = sp.vstack([grown, incidence[others]], format="csr")
    return both[np.argsort(np.concatenate([rows, others]))]


def adjacency(graphs: GraphSet, dtype: type = bool) -> sp.csr_array:
    """Return the block-diagonal adjacency of all graphs.

    Parallel edges are one if `dtype` is bool. As numbers they add up, each an entry of its own.
    """
    n_nodes, columns = graphs.n_nodes, neighbor_nodes(graphs)
    # 32-bit indices halve the work of everything that follows.
    index = np.int32 if max(n_nodes, len(columns)) < 2**31 else np.int64
    matrix = sp.csr_array(
        (np.ones(len(columns), dtype), columns.astype(index), graphs.edge_offsets.astype(index)),
        shape=(n_nodes, n_nodes),
    )
    # Without edge labels there are no parallel edges.
    if dtype is bool and graphs.edge_label_ids is not None:
        matrix.sum_duplicates()
    return matrix


def neighbor_nodes(graphs: GraphSet) -> NDArray[np.integer]:
    """Return the neighbors of all nodes, numbered through the whole set."""
    first_node = np.repeat(graphs.node_offsets[:-1], np.diff(graphs.node_offsets))
    return graphs.neighbors + np.repeat(first_node, np.diff(graphs.edge_offsets))


def _check_memory(graphs: GraphSet, bound: NDArray[np.float64], radius: int) -> None:
    """Check that egonets fit into memory, given an upper bound of the size of each."""
    n_members = bound.sum()
    needed = BYTES_PER_MEMBER * n_members
    if is_too_large(needed):
        graph = int(np.add.reduceat(bound, graphs.node_offsets[:-1]).argmax())
        n_nodes = int(np.diff(graphs.node_offsets)[graph])
        raise MemoryError(
            f"Egonets of radius {radius} could have {n_members:,.0f} members in all, which"
            f" take {needed / 2**30:.1f} GiB to compute; this machine has"
            f" {memory_size() / 2**30:.1f} GiB of memory. The most are in graph {graph}, with"
            f" {n_nodes:,} nodes. Use a smaller radius, or leave out the largest graphs."
        )
