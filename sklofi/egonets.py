"""Who belongs to whose neighbourhood: the egonets of all nodes as one sparse matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sklofi.graphs import GraphSet


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
        Largest distance from the centre, 0 or more.

    Returns
    -------
    incidence : scipy.sparse.csr_array of shape (n_nodes, n_nodes)
        Zeros and ones, with sorted indices.

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
    n_nodes = graphs.n_nodes
    first_node = np.repeat(graphs.node_offsets[:-1], np.diff(graphs.node_offsets))
    columns = graphs.neighbors + np.repeat(first_node, np.diff(graphs.edge_offsets))
    itself = sp.eye_array(n_nodes, dtype=bool, format="csr")
    one_step = itself + sp.csr_array(
        (np.ones(len(columns), dtype=bool), columns, graphs.edge_offsets),
        shape=(n_nodes, n_nodes),
    )
    incidence = itself
    for _ in range(radius):
        incidence = incidence @ one_step
    incidence.sort_indices()
    return incidence.astype(np.float32)
