"""Whether the arrays of a GraphSet fit together, which compiled code relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sklofi.graphs._molecule_options import MoleculeOptions

if TYPE_CHECKING:
    from sklofi.graphs._graph_set import GraphSet

# Of the numbered names of all columns of graph features, together.
MOST_LETTERS = 2**24

# Arithmetic with shorter numbers would overflow.
INTEGERS = [np.dtype(kind) for kind in (np.int32, np.int64)]
FLOATS = [np.dtype(kind) for kind in (np.float32, np.float64)]


def is_consistent(graphs: GraphSet) -> bool:
    """Return whether the arrays of graphs, perhaps from a file of unknown origin, fit together."""
    return _have_right_sizes(graphs) and _have_right_numbers(graphs)


def _have_right_sizes(graphs: GraphSet) -> bool:
    """Return whether the arrays are as long as the offsets say.

    The offsets may be made up and describe any number of nodes, so nothing of that size is
    allocated here.
    """
    nodes, edges = graphs.node_offsets, graphs.edge_offsets
    integers = (nodes, edges, graphs.label_ids, graphs.neighbors, graphs.edge_label_ids)
    return (
        all(a is None or (a.ndim == 1 and a.dtype in INTEGERS) for a in integers)
        and len(nodes) > 0
        and len(edges) > 0
        and nodes[0] == edges[0] == 0
        and _have_nodes(graphs)
        and bool((edges[1:] >= edges[:-1]).all())
        and nodes[-1] == len(edges) - 1
        and (graphs.label_ids is None or len(graphs.label_ids) == nodes[-1])
        and all(a is None or len(a) == edges[-1] for a in (graphs.neighbors, graphs.edge_label_ids))
        and graphs.directed.shape == (len(graphs),)
        and graphs.directed.dtype == bool
        and _are_floats(graphs.features, int(nodes[-1]), n_dims=2)
        and (graphs.node_names is None or graphs.node_names.shape == (nodes[-1],))
        and _are_floats(graphs.edge_weights, int(edges[-1]), n_dims=1)
        and _are_floats(graphs.edge_vectors, int(edges[-1]), n_dims=2)
        and _are_floats(graphs.graph_vectors, len(graphs), n_dims=2)
        and _have_names(graphs.graph_vectors, graphs.graph_features)
    )


def _have_nodes(graphs: GraphSet) -> bool:
    """Return whether every graph has nodes; molecules that could not be read have none."""
    nodes, options = graphs.node_offsets, graphs.molecule_options
    if options is None:
        return bool((nodes[1:] > nodes[:-1]).all())  # differences could overflow
    return type(options) is MoleculeOptions and bool((nodes[1:] >= nodes[:-1]).all())


def _are_floats(array: NDArray[np.float64] | None, length: int, n_dims: int) -> bool:
    return array is None or (
        array.dtype in FLOATS and array.ndim == n_dims and len(array) == length
    )


def _have_names(vectors: NDArray[np.float64] | None, names: object) -> bool:
    """Return whether each column has a name, if columns have names, and these fit into memory."""
    if vectors is None:
        return True
    n_columns = vectors.shape[1]
    if isinstance(names, tuple):
        return bool(len(names) == n_columns)
    length = len(names) if isinstance(names, str | bytes) else 1
    return bool(n_columns * length <= MOST_LETTERS)


def _have_right_numbers(graphs: GraphSet) -> bool:
    """Return whether labels and neighbors exist and numbers are finite, given the right sizes."""
    n_nodes, degrees = np.diff(graphs.node_offsets), np.diff(graphs.edge_offsets)
    n_reachable = np.repeat(np.repeat(n_nodes, n_nodes), degrees)  # nodes of the same graph
    nothing = np.zeros(0, np.int32)
    ids = nothing if graphs.label_ids is None else graphs.label_ids
    edge_ids = nothing if graphs.edge_label_ids is None else graphs.edge_label_ids
    weights = np.zeros(0) if graphs.edge_weights is None else graphs.edge_weights
    vectors = np.zeros((0, 1)) if graphs.edge_vectors is None else graphs.edge_vectors
    return bool(
        ((graphs.neighbors >= 0) & (graphs.neighbors < n_reachable)).all()
        and ((ids >= 0) & (ids < len(graphs.labels))).all()
        and ((edge_ids >= 0) & (edge_ids < len(graphs.edge_labels))).all()
        and ((weights >= 0) & (weights < np.inf)).all()
        and np.isfinite(vectors).all()
        and (graphs.features is None or np.isfinite(graphs.features).all())
        and (graphs.graph_vectors is None or np.isfinite(graphs.graph_vectors).all())
        and (graphs.label_ids is not None or not graphs.labels)
        and (graphs.edge_label_ids is not None or not graphs.edge_labels)
    )
