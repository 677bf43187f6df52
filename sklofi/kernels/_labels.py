"""Labels of nodes and edges: their numbers in a vocabulary, and their names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import show
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._labels import used_labels

# Strings that would be taken for something else if they stood without quotes.
LOOK_LIKE_VALUES = {"None", "True", "False", "inf", "nan"}


def labels_of(graphs: GraphSet) -> list[Hashable]:
    """Return the labels of nodes that occur; a single None if there are none."""
    return [None] if graphs.label_ids is None else used_labels(graphs.label_ids, graphs.labels)


def edge_labels_of(graphs: GraphSet) -> list[Hashable]:
    """Return the labels of edges that occur; a single None if there are none."""
    if graphs.edge_label_ids is None:
        return [None]
    return used_labels(graphs.edge_label_ids, graphs.edge_labels)


def label_columns(graphs: GraphSet, known: list[Hashable]) -> tuple[NDArray[np.int32], int]:
    """Return the column of each node's label, and the number of columns.

    A known label has its position in the list. Each label that is not in the list gets a column
    beyond its end.
    """
    if graphs.label_ids is None:
        return np.zeros(graphs.n_nodes, dtype=np.int32), 1
    return _columns_of(graphs.label_ids, graphs.labels, known)


def edge_label_columns(graphs: GraphSet, known: list[Hashable]) -> tuple[NDArray[np.int32], int]:
    """Return the column of each edge's label, and the number of columns, as for nodes."""
    if graphs.edge_label_ids is None:
        return np.zeros(len(graphs.neighbors), dtype=np.int32), 1
    return _columns_of(graphs.edge_label_ids, graphs.edge_labels, known)


def _columns_of(
    ids: NDArray[np.int32], labels: Sequence[Hashable], known: list[Hashable]
) -> tuple[NDArray[np.int32], int]:
    column_of = {label: column for column, label in enumerate(known)}
    columns = np.zeros(len(labels), dtype=np.int32)
    for i in np.unique(ids).tolist():
        columns[i] = column_of.setdefault(labels[i], len(column_of))
    return columns[ids], len(column_of)


def label_names(labels: Sequence[Hashable]) -> list[str]:
    """Return readable names of labels, all different."""
    names = [_label_name(label) for label in labels]
    if len(set(names)) < len(names):  # labels of a type that shows nothing of itself
        names = [f"{name}#{i}" for i, name in enumerate(names)]
    return names


def _label_name(label: Hashable) -> str:
    """Return a readable name, different for "1" and 1, and the same in every process."""
    match label:
        case str() if label.isidentifier() and label not in LOOK_LIKE_VALUES:
            return label
        case tuple():
            return f"({','.join(map(_label_name, label))})"
        case frozenset():
            return f"{{{','.join(sorted(map(_label_name, label)))}}}"
        case _:
            return show(label)
