"""Whether every edge has its counterpart, as in undirected graphs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sklofi.graphs._graph_set import GraphSet


def is_symmetric(graphs: GraphSet, *, with_weights: bool = False) -> bool:
    """Return whether there are as many edges from each node to another as back.

    Those of undirected graphs are, unless they come from a file that was made by others. It is
    found out once for a set and all its slices.

    Parameters
    ----------
    graphs : GraphSet
        The graphs.

    with_weights : bool, default=False
        Whether the edges back have to have the same weights, too.

    Returns
    -------
    is_symmetric : bool
        Whether it is so. False if only a set that the graphs were sliced from is not symmetric.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi import GraphSet
    >>> is_symmetric(GraphSet.from_networkx([nx.path_graph(3), nx.path_graph(2)]))
    True
    >>> is_symmetric(GraphSet.from_networkx([nx.path_graph(3, create_using=nx.DiGraph)]))
    False
    """
    whole, _ = graphs.origin
    weights = whole.edge_weights if with_weights else None
    key = "is symmetric" if weights is None else "has symmetric weights"

    def find() -> bool:
        if whole.directed.any():
            return False
        shift = np.repeat(whole.node_offsets[:-1], np.diff(whole.edge_offsets[whole.node_offsets]))
        data = np.ones(len(whole.neighbors)) if weights is None else weights
        shape = (whole.n_nodes, whole.n_nodes)
        matrix = sp.csr_array((data, whole.neighbors + shift, whole.edge_offsets), shape=shape)
        # Twice transposed, rows are sorted, and parallel edges keep their order.
        back = matrix.tocsc()
        forth = back.tocsr()
        return bool(
            np.array_equal(back.indptr, forth.indptr)
            and np.array_equal(back.indices, forth.indices)
            and np.array_equal(back.data, forth.data)
        )

    return whole.tables.get(key, find)
