"""The reader of scipy sparse adjacency matrices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sklofi._messages import attempt, show
from sklofi.graphs._arrays import NO_LABELS, GraphArrays, Numbered, check_type, number_integers
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL, number_labels
from sklofi.graphs._networkx import WEIGHT, warn_of_weight


def read_scipy(
    matrices: list[Any],
    node_label: Hashable | None,
    node_features: Hashable | None,
    edge_label: Hashable | None,
    edge_weight: Hashable | None,
    edge_features: Hashable | None,
    *,
    is_training: bool,
    labels: Sequence[Any] | None = None,
    features: Sequence[Any] | None = None,
    directed: bool | None = None,
    graph_features: Any = None,
) -> dict[str, Any]:
    """Return the fields of a GraphSet of adjacency matrices.

    The entries of a matrix are an attribute of edges that is called "weight". Nodes have no
    attributes but `labels` and `features`, arrays for each matrix.
    """
    check_type(matrices, sp.issparse, "a scipy sparse matrix")
    _check_names(node_label, node_features, labels, features)
    if graph_features is not None:
        raise ValueError(
            f"graph_features={show(graph_features)}, but a matrix has no attributes. Pass the"
            " features of the graphs besides, with GraphSet.from_scipy(matrices,"
            " graph_features=...)."
        )
    names = {"edge_label": edge_label, "edge_weight": edge_weight, "edge_features": edge_features}
    is_read = {parameter: _is_read(parameter, name) for parameter, name in names.items()}
    entries = [_read_matrix(matrix, index) for index, matrix in enumerate(matrices)]
    source, target, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    arrays = GraphArrays(
        n_nodes=np.array([matrix.shape[0] for matrix in matrices], np.int64),
        directed=np.ones(len(matrices), bool),
        graph_of=np.repeat(np.arange(len(matrices)), [len(part) for _, _, part in entries]),
        source=source.astype(np.int64),
        target=target.astype(np.int64),
        both_ways=True,
    )
    _check_entries(arrays, values)
    if is_training and not any(is_read.values()) and (values != values[:1]).any():
        warn_of_weight(WEIGHT, f"Pass edge_weight={WEIGHT!r} to use it", stacklevel=4)
    kind = np.unique(values, return_inverse=True)[1].reshape(-1)
    is_directed = choose_directions(arrays, kind, directed, "matrix.maximum(matrix.T)")
    fields = arrays.build(
        {"node_label": node_label, "node_features": node_features, **names},
        node_labels=_join_labels(arrays, labels),
        node_features=_join_features(arrays, features),
        edge_labels=_number_entries(arrays, values) if is_read["edge_label"] else NO_LABELS,
        edge_weights=values if is_read["edge_weight"] else None,
        edge_features=values if is_read["edge_features"] else None,
    )
    return fields | {"directed": is_directed}


def choose_directions(
    arrays: GraphArrays, kind: NDArray[np.integer], directed: bool | None, remedy: str
) -> NDArray[np.bool_]:
    """Return which graphs are directed, if an undirected edge stands in both directions.

    By default those are in which some edge has no counterpart. `kind` numbers what edges have
    besides their ends. `remedy` makes a graph undirected.
    """
    if directed:
        return np.ones(len(arrays.n_nodes), dtype=bool)
    is_directed, lonely = arrays.find_directed(kind)
    if directed is False and lonely is not None:
        raise ValueError(
            f"{arrays.locate_edge(lonely)} has no equal edge in the other direction, although"
            f" directed=False. Pass directed=None or True, or make the graph undirected, for"
            f" example by {remedy}."
        )
    return is_directed


def join_arrays(parts: Sequence[Any], n_items: NDArray[np.int64], what: str) -> NDArray[Any]:
    """Return arrays of graphs as one array; `what` they are, such as 'x', is for messages.

    Of a graph without nodes or edges nothing is taken, so that its array may have any shape.
    """
    arrays: list[NDArray[Any]] = []
    for index, (part, n) in enumerate(zip(parts, n_items.tolist(), strict=True)):
        if n == 0:
            continue
        array = attempt(np.asarray, part)
        if isinstance(array, Exception) or array.ndim not in (1, 2):
            raise ValueError(
                f"Graph {index} has {what} that is no array of one or two dimensions; its first"
                f" axis has to have {n} entries."
            )
        if len(array) != n:
            raise ValueError(
                f"Graph {index} has {what} with {len(array)} rows, but {n} are needed, one for"
                " each of its nodes or edges."
            )
        if arrays and array.shape[1:] != arrays[0].shape[1:]:
            raise ValueError(
                f"Graph {index} has {what} of shape {array.shape}, but that of another graph has"
                f" the shape {arrays[0].shape}: all graphs need the same columns."
            )
        arrays.append(array)
    return np.concatenate(arrays)


def _check_names(
    node_label: Hashable | None,
    node_features: Hashable | None,
    labels: Sequence[Any] | None,
    features: Sequence[Any] | None,
) -> None:
    """Check that an estimator does not read attributes that matrices do not have."""
    for parameter, name, default, word, values in [
        ("node_label", node_label, DEFAULT_NODE_LABEL, "labels", labels),
        ("node_features", node_features, None, "features", features),
    ]:
        if values is None and name is not None and name != default:
            raise ValueError(
                f"{parameter}={show(name)}, but a matrix has no attributes of nodes. Pass them"
                f" besides, with GraphSet.from_scipy(matrices, {word}=...)."
            )


def _is_read(parameter: str, name: Hashable | None) -> bool:
    """Return whether a parameter asks for the entries of matrices."""
    if name is None or (parameter == "edge_label" and name == DEFAULT_EDGE_LABEL):
        return False
    if name != WEIGHT:
        raise ValueError(
            f"{parameter}={show(name)}, but edges of a matrix have one attribute, its entries: pass"
            f" {parameter}={WEIGHT!r} to use them, or {parameter}=None."
        )
    return True


def _read_matrix(
    matrix: Any, index: int
) -> tuple[NDArray[np.integer], NDArray[np.integer], NDArray[Any]]:
    """Return the rows, columns and values of the entries of a matrix that are not zero."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"Graph {index} is a matrix of shape {matrix.shape}; an adjacency matrix is square,"
            " with a row and a column for each node."
        )
    if matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"Graph {index} is a matrix of {matrix.dtype.name} numbers; pass real numbers."
        )
    table = sp.coo_array(matrix, copy=True)
    table.sum_duplicates()
    is_edge = table.data != 0
    row, column = table.coords if hasattr(table, "coords") else (table.row, table.col)
    order = np.lexsort((column[is_edge], row[is_edge]))
    return row[is_edge][order], column[is_edge][order], table.data[is_edge][order]


def _check_entries(arrays: GraphArrays, values: NDArray[Any]) -> None:
    if values.dtype.kind == "f" and np.isnan(values).any():
        edge = int(np.isnan(values).argmax())
        raise ValueError(
            f"{arrays.locate_edge(edge)} has the entry NaN, of which nobody can tell whether it"
            " is an edge. Replace it by a number; zero stands for no edge."
        )


def _number_entries(arrays: GraphArrays, values: NDArray[Any]) -> Numbered:
    if values.dtype.kind in "biu":
        return number_integers(values)
    return number_labels(values.tolist(), arrays.locate_edge, WEIGHT)


def _check_number(parts: Any, n_graphs: int, word: str) -> Sequence[Any]:
    """Check that there are labels or features of every graph."""
    n_parts = attempt(len, parts)
    if n_parts != n_graphs:
        raise ValueError(
            f"{word} has to be a list of {n_graphs} arrays, one for each graph, got {show(parts)}."
        )
    found: Sequence[Any] = list(parts)
    return found


def _join_labels(arrays: GraphArrays, parts: Any) -> Numbered:
    """Return the labels of nodes that were given as an array for each graph."""
    if parts is None:
        return NO_LABELS
    lists = [
        part.tolist() if isinstance(part, np.ndarray) else attempt(list, part)
        for part in _check_number(parts, len(arrays.n_nodes), "labels")
    ]
    for index, (part, n_nodes) in enumerate(zip(lists, arrays.n_nodes.tolist(), strict=True)):
        if not isinstance(part, list) or len(part) != n_nodes:
            raise ValueError(
                f"Graph {index} has {n_nodes} nodes, but labels[{index}] is"
                f" {show(parts[index])}: pass a label for each node."
            )
    values = list(chain.from_iterable(lists))
    advice = "; pass vectors through features"
    return number_labels(values, arrays.locate_node, DEFAULT_NODE_LABEL, advice)


def _join_features(arrays: GraphArrays, parts: Any) -> NDArray[Any] | None:
    if parts is None:
        return None
    parts = _check_number(parts, len(arrays.n_nodes), "features")
    return join_arrays(parts, arrays.n_nodes, "features")
