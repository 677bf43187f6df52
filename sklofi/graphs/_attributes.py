"""Read the attributes of networkx nodes and edges: labels and features.

Each error names the first graph and node or edge that it is about. `graphs` is always the list
of networkx graphs, `nodes` the list of their lists of node names.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, show
from sklofi.graphs._labels import (
    DEFAULT_EDGE_LABEL,
    DEFAULT_NODE_LABEL,
    number_labels,
    sort_labels,
)

_MISSING = object()


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
    array = _as_numbers(values)
    if array is None:  # ragged or not numbers: the search finds where
        raise _features_error(nodes, values, node_features)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise _features_error(nodes, values, node_features)
    usable = np.abs(array) <= np.finfo(np.float32).max  # False for NaN
    if not usable.all():
        position = int(np.flatnonzero(~usable.all(axis=1))[0])
        value = array[position][~usable[position]][0]
        what = "NaN" if math.isnan(value) else "an infinite or too large value"
        raise ValueError(
            f"{_locate_node(nodes, position)} has {what} in its features {show(node_features)}."
            " Impute or remove it: features have to be finite, and below 3.4e38."
        )
    return array


def read_edge_labels(
    graphs: list[nx.Graph],
    nodes: list[list[Hashable]],
    degrees: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    edge_label: Hashable | None,
) -> tuple[NDArray[np.int32] | None, tuple[Hashable, ...]]:
    """Return the number of the label of each entry of `neighbors`, and the labels.

    `degrees` and `neighbors` are the adjacency of the graphs; None and () without labels.
    """
    if edge_label is None:
        return None, ()
    if isinstance(attempt(hash, edge_label), Exception):
        raise TypeError(
            f"edge_label names one attribute, got {show(edge_label)} of type"
            f" {type(edge_label).__name__}."
        )
    values, n_parallel = _read_edge_attribute(graphs, edge_label)
    n_missing = sum(value is _MISSING for value in values)
    if n_missing == len(values):
        if values and edge_label != DEFAULT_EDGE_LABEL:
            raise ValueError(
                f"No edge of any graph has the attribute {show(edge_label)} (edge_label); the"
                f" edges have {describe_names(edge_attribute_names(graphs))}. Pass edge_label=None"
                " for graphs without edge labels."
            )
        return None, ()
    edge_of = np.repeat(np.arange(len(neighbors)), n_parallel)  # of each value

    def locate(position: int) -> str:
        return _locate_edge(nodes, degrees, neighbors, int(edge_of[position]))

    if n_missing:
        position = next(i for i, value in enumerate(values) if value is _MISSING)
        # Counted anew, because an undirected edge has been read from both of its ends.
        is_missing = [edge_label not in data for g in graphs for *_, data in g.edges(data=True)]
        raise ValueError(
            f"{locate(position)} has no attribute {show(edge_label)}, which other edges have"
            f" ({sum(is_missing)} of {len(is_missing)} edges lack it). Set it on every edge, for"
            " example with networkx.set_edge_attributes, or pass edge_label=None to ignore it."
        )
    ids, labels = number_labels(values, locate, edge_label)
    first = np.cumsum(n_parallel) - n_parallel
    differs = np.flatnonzero(ids != ids[first][edge_of])
    if len(differs):
        position = int(differs[0])
        label, other = labels[ids[first[edge_of[position]]]], labels[ids[position]]
        raise ValueError(
            f"{locate(position)} has parallel edges with the labels {show(label)} and {show(other)}"
            f" under {show(edge_label)}. Parallel edges count as one: give them the same label,"
            " or one that stands for both, or pass edge_label=None to ignore labels of edges."
        )
    ids = ids[first]
    edge = _first_asymmetric_edge(graphs, nodes, degrees, neighbors, ids)
    if edge is not None:
        raise ValueError(
            f"{_locate_edge(nodes, degrees, neighbors, edge)} of a graph that is not directed has"
            f" two labels under {show(edge_label)}, one in each direction. Such a graph is a view"
            " of a directed one: pass that, or a copy whose edges have one label each, or"
            " edge_label=None to ignore labels of edges."
        )
    return ids, labels


def node_attribute_names(graphs: list[nx.Graph]) -> list[Hashable]:
    """Return the names of all attributes that a node has."""
    return sort_labels({key for g in graphs for _, data in g.nodes(data=True) for key in data})


def edge_attribute_names(graphs: list[nx.Graph]) -> list[Hashable]:
    """Return the names of all attributes that an edge has."""
    return sort_labels({key for graph in graphs for data in _edge_data(graph) for key in data})


def describe_names(names: Sequence[Hashable]) -> str:
    """Return the first names of attributes as a part of a sentence."""
    shown = ", ".join(map(show, names[:5])) + (", ..." if len(names) > 5 else "")
    return f"the attributes {shown}" if names else "no attributes"


def edges_differ(graphs: Iterable[nx.Graph], name: Hashable) -> bool:
    """Return whether an attribute of edges has more than one value, as far as they have it.

    Graphs whose first edge does not have it are not looked at any further.
    """
    first: Any = _MISSING
    for graph in graphs:
        values = list(_leading_values(graph, name))
        if values and first is _MISSING:
            first = values[0]
        differ = attempt(_any_differs, values, first)
        if isinstance(differ, Exception) or differ:  # vectors cannot be compared
            return True
    return False


def _leading_values(graph: nx.Graph, name: Hashable) -> Iterator[Any]:
    """Yield the attribute of the edges up to the first that does not have it."""
    for data in _edge_data(graph):
        if name not in data:
            return
        yield data[name]


def _any_differs(values: list[Any], first: Any) -> bool:
    return any(value is not first and value != first for value in values)


def _edge_data(graph: nx.Graph) -> Iterator[Any]:
    # Not by graph.edges: networkx keeps that view, and a cycle of references with it.
    edges: Iterator[Any] = (data for _, row in graph.adjacency() for data in row.values())
    if graph.is_multigraph():
        return (data for parallel in edges for data in parallel.values())
    return edges


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
        attributes.get(name, _MISSING)
        for graph in graphs
        for _, attributes in graph.nodes(data=True)
    ]
    n_missing = sum(value is _MISSING for value in values)
    if n_missing == len(values):
        return None
    if n_missing:
        position = next(i for i, value in enumerate(values) if value is _MISSING)
        raise ValueError(
            f"{_locate_node(nodes, position)} has no attribute {show(name)}, which other nodes"
            f" have ({n_missing} of {len(values)} nodes lack it). Set it on every node,"
            f" for example with networkx.set_node_attributes."
        )
    return values


def _read_edge_attribute(
    graphs: list[nx.Graph], name: Hashable
) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the attribute of all edges, and how many parallel ones each neighbor stands for."""
    values: list[Any] = []
    n_parallel: list[int] = []
    for graph in graphs:
        n_before = len(values)
        edges = (data for _, adjacent in graph.adjacency() for data in adjacent.values())
        if graph.is_multigraph():
            for parallel in edges:
                found = [data.get(name, _MISSING) for data in parallel.values()]
                values.extend(found)
                n_parallel.append(len(found))
        else:
            values.extend(data.get(name, _MISSING) for data in edges)
            n_parallel.extend(repeat(1, len(values) - n_before))
    return values, np.array(n_parallel, dtype=np.int64)


def _first_asymmetric_edge(
    graphs: list[nx.Graph],
    nodes: list[list[Hashable]],
    degrees: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    ids: NDArray[np.int32],
) -> int | None:
    """Return the first edge of an undirected graph with another label in the other direction."""
    n_nodes = np.fromiter(map(len, nodes), np.int64, count=len(nodes))
    is_directed = np.array([graph.is_directed() for graph in graphs])
    first_node = np.repeat(np.cumsum(n_nodes) - n_nodes, n_nodes)
    source = np.repeat(np.arange(len(degrees)), degrees)
    target = neighbors + first_node[source]
    edges = np.flatnonzero(~np.repeat(is_directed, n_nodes)[source])
    there = edges[np.lexsort((target[edges], source[edges]))]
    back = edges[np.lexsort((source[edges], target[edges]))]
    differs = there[ids[there] != ids[back]]
    return int(differs.min()) if len(differs) else None


def _features_error(nodes: list[list[Hashable]], values: list[Any], name: Hashable) -> ValueError:
    """Return the error about the first node whose features do not fit."""
    width: int | None = None
    for position, value in enumerate(values):
        array = _as_numbers([value])
        if array is None:
            return ValueError(
                f"{_locate_node(nodes, position)} has {show(value)} as its features {show(name)},"
                " which is not a number or a vector of numbers below 3.4e38; pass categories"
                " through node_label."
            )
        vector = np.atleast_1d(array[0])
        width = len(vector) if width is None else width
        if vector.ndim != 1 or vector.size == 0 or len(vector) != width:
            return ValueError(
                f"{_locate_node(nodes, position)} has features {show(name)} of shape"
                f" {vector.shape}, but every node needs a vector of the same length as the first"
                f" ({width})."
            )
    return ValueError(f"The features {show(name)} mix numbers and vectors of numbers.")


def _as_numbers(values: list[Any]) -> NDArray[np.float64] | None:
    """Return values as one array, or None if they are ragged or not all of them real numbers."""
    array = attempt(_convert_to_floats, values)
    return None if isinstance(array, Exception) else array


def _convert_to_floats(values: list[Any]) -> NDArray[np.float64]:
    array = np.array(values)
    kind = array.dtype.kind
    # numpy would read texts, count days, and drop imaginary parts.
    if kind in "SUMmc" or (kind == "O" and any(isinstance(v, str | bytes) for v in array.flat)):
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


def _locate_edge(
    nodes: Sequence[Sequence[Hashable]],
    degrees: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    edge: int,
) -> str:
    """Return 'Graph 3, edge ('a', 'b'),' for a position in the flat list of all neighbors."""
    source = int(np.searchsorted(np.cumsum(degrees), edge, side="right"))
    for index, names in enumerate(nodes):
        if source < len(names):
            u, v = names[source], names[neighbors[edge]]
            return f"Graph {index}, edge ({show(u)}, {show(v)}),"
        source -= len(names)
    raise IndexError(edge)
