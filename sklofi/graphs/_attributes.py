"""Read the attributes of networkx nodes: labels and features.

Each error names the first graph and node that it is about. `graphs` is always the list of
networkx graphs, `nodes` the list of their lists of node names. Numbers on nodes and on edges are
read by the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, show
from sklofi.graphs._labels import DEFAULT_NODE_LABEL, number_labels, sort_labels

MISSING = object()

# Networks compute with 32 bits.
LARGEST_NUMBER = float(np.finfo(np.float32).max)

# What to do with categories that are passed as features.
CATEGORIES = {
    "node": "pass categories through node_label",
    "edge": "pass categories through edge_label",
    "graph": "write categories as numbers, such as 0 and 1",
}

# What numpy turns into a float all the same, with a loss or by reading it.
NOT_REAL = (str, bytes, np.complexfloating)


def read_node_labels(
    graphs: list[nx.Graph], nodes: list[list[Hashable]], node_label: Hashable | None
) -> tuple[NDArray[np.int32] | None, tuple[Hashable, ...]]:
    """Return the number of the label of each node, and the labels; None and () without labels."""
    if node_label is None:
        return None, ()
    values = _read_node_attribute(graphs, nodes, node_label)
    if values is None:
        if node_label != DEFAULT_NODE_LABEL:
            raise ValueError(
                f"No node of any graph has the attribute {show(node_label)} (node_label); the"
                f" nodes have {describe_names(node_attribute_names(graphs))}. Pass node_label=None"
                " for graphs without labels."
            )
        return None, ()
    return number_labels(
        values,
        lambda position: _locate_node(nodes, position),
        node_label,
        "; pass vectors through node_features",
    )


def read_node_features(
    graphs: list[nx.Graph], nodes: list[list[Hashable]], node_features: Hashable | None
) -> NDArray[np.float64] | None:
    """Return the features of all nodes as an array of two dimensions, or None without a name."""
    if node_features is None:
        return None
    values = _read_node_attribute(graphs, nodes, node_features)
    if values is None:
        raise ValueError(
            f"No node of any graph has the attribute {show(node_features)} (node_features)."
        )
    return stack_vectors(
        values, lambda position: _locate_node(nodes, position), node_features, "node"
    )


def stack_vectors(
    values: Sequence[Any] | NDArray[Any], locate: Callable[[int], str], name: Hashable, kind: str
) -> NDArray[np.float64]:
    """Return numbers, or vectors of the same length, as an array of two dimensions.

    Parameters
    ----------
    values : list or ndarray
        Features, one number or vector for each node, edge or graph.

    locate : callable
        Takes a position in `values` and returns the beginning of an error message.

    name : hashable
        The attribute that holds the features.

    kind : {"node", "edge", "graph"}
        What the features belong to, for error messages.

    Returns
    -------
    vectors : ndarray of shape (n_values, n_features)
        Finite numbers.
    """
    array = as_numbers(values)
    if array is None:  # ragged or not numbers: the search finds where
        raise _features_error(values, locate, name, kind)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise _features_error(values, locate, name, kind)
    usable = np.abs(array) <= LARGEST_NUMBER  # False for NaN
    if not usable.all():
        position = int(np.flatnonzero(~usable.all(axis=1))[0])
        value = array[position][~usable[position]][0]
        raise ValueError(
            f"{locate(position)} has {describe_unusable(value)} in its features {show(name)}."
            " Impute or remove it: features have to be finite, and below 3.4e38."
        )
    return array


def describe_unusable(value: float) -> str:
    """Return what is wrong with a number that is not finite, or too large."""
    return "NaN" if math.isnan(value) else "an infinite or too large value"


def node_attribute_names(graphs: list[nx.Graph]) -> list[Hashable]:
    """Return the names of all attributes that a node has."""
    return sort_labels({key for g in graphs for _, data in g.nodes(data=True) for key in data})


def describe_names(names: Sequence[Hashable]) -> str:
    """Return the first names of attributes as a part of a sentence."""
    shown = ", ".join(map(show, names[:5])) + (", ..." if len(names) > 5 else "")
    return f"the attributes {shown}" if names else "no attributes"


def _read_node_attribute(
    graphs: list[nx.Graph], nodes: list[list[Hashable]], name: Hashable
) -> list[Any] | None:
    """Return the attribute of every node, or None if no node has it."""
    if isinstance(attempt(hash, name), Exception):
        raise TypeError(
            f"node_label and node_features name one attribute each, got {show(name)} of type"
            f" {type(name).__name__}. Put several numbers into one attribute, as a vector."
        )
    values = [
        attributes.get(name, MISSING)
        for graph in graphs
        for _, attributes in graph.nodes(data=True)
    ]
    n_missing = sum(value is MISSING for value in values)
    if n_missing == len(values):
        return None
    if n_missing:
        position = next(i for i, value in enumerate(values) if value is MISSING)
        raise ValueError(
            f"{_locate_node(nodes, position)} has no attribute {show(name)}, which other nodes"
            f" have ({n_missing} of {len(values)} nodes lack it). Set it on every node,"
            f" for example with networkx.set_node_attributes."
        )
    return values


def _features_error(
    values: Sequence[Any] | NDArray[Any], locate: Callable[[int], str], name: Hashable, kind: str
) -> ValueError:
    """Return the error about the first node or edge whose features do not fit."""
    width: int | None = None
    for position, value in enumerate(values):
        array = as_numbers([value])
        if array is None:
            return ValueError(
                f"{locate(position)} has {show(value)} as its features {show(name)},"
                " which is not a number or a vector of numbers below 3.4e38;"
                f" {CATEGORIES[kind]}."
            )
        vector = np.atleast_1d(array[0])
        width = len(vector) if width is None else width
        if vector.ndim != 1 or vector.size == 0 or len(vector) != width:
            return ValueError(
                f"{locate(position)} has features {show(name)} of shape"
                f" {vector.shape}, but every {kind} needs a vector of the same length as the first"
                f" ({width})."
            )
    return ValueError(f"The features {show(name)} mix numbers and vectors of numbers.")


def as_numbers(values: Sequence[Any] | NDArray[Any]) -> NDArray[np.float64] | None:
    """Return values as one array, or None if they are ragged or not all of them real numbers."""
    array = attempt(_convert_to_floats, values)
    return None if isinstance(array, Exception) else array


def _convert_to_floats(values: Sequence[Any] | NDArray[Any]) -> NDArray[np.float64]:
    array = np.array(values)
    kind = array.dtype.kind
    # numpy would read texts, count days, and drop imaginary parts.
    if kind in "SUMmc" or (kind == "O" and any(isinstance(v, NOT_REAL) for v in array.flat)):
        raise TypeError("not real numbers")
    with np.errstate(over="ignore"):  # what is too large becomes infinite
        return array.astype(np.float64)


def _locate_node(nodes: Sequence[Sequence[Hashable]], position: int) -> str:
    """Return 'Graph 3, node 'a',' for a position in the flat list of all nodes."""
    for index, names in enumerate(nodes):
        if position < len(names):
            return f"Graph {index}, node {show(names[position])},"
        position -= len(names)
    raise IndexError(position)
