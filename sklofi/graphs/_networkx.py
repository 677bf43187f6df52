"""Read networkx graphs into flat arrays, and say where something is wrong with them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sklofi._messages import _full_name, show
from sklofi.graphs._labels import (
    DEFAULT_EDGE_LABEL,
    DEFAULT_NODE_LABEL,
    _enumerate,
    _is_hashable,
    _number_labels,
    sort_labels,
)

WEIGHT = "weight"  # of an edge, as networkx calls it


# Who in scikit-learn makes tables of graphs.
TABLES_ONLY = (
    "a meta-estimator for tables only, such as BaggingClassifier, AdaBoostClassifier,"
    " OneVsOneClassifier, SelfTrainingClassifier, a chain or permutation_importance; searches,"
    " pipelines, voting, stacking, calibration and OneVsRestClassifier take graphs"
)


_MISSING = object()


def check_graph_list(graphs: Any) -> list[nx.Graph]:
    """The graphs that a user passes as X, if they are a list of graphs or a column of them."""
    if isinstance(graphs, nx.Graph):
        raise TypeError(
            f"X is a single networkx {type(graphs).__name__}; pass a list of graphs,"
            " for one graph [graph]."
        )
    if isinstance(graphs, Iterator):
        raise TypeError(
            f"X is a {type(graphs).__name__}, which can be read only once;"
            " pass a list of graphs: list(X)."
        )
    n_dims = getattr(graphs, "ndim", None)
    if n_dims == 2 and hasattr(graphs, "columns"):
        graphs, n_dims = _only_column(graphs), 1
    if n_dims is not None and n_dims != 1:
        raise ValueError(
            f"X is an array of {n_dims} dimensions, but a list of networkx graphs is"
            " expected. numpy.asarray turns graphs of equal size into a 2-D array of node"
            " names: pass the list itself, or an object array of shape (n_graphs,). If you"
            f" did, it was {TABLES_ONLY}."
        )
    if n_dims is None and not isinstance(graphs, (list, tuple)):
        raise TypeError(
            f"X has to be a list of networkx graphs or a GraphSet, got {_full_name(type(graphs))}."
        )
    graphs = list(graphs)
    if not graphs:
        raise ValueError("X holds no graphs (0 samples) while a minimum of 1 is required.")
    for index, graph in enumerate(graphs):
        if not isinstance(graph, nx.Graph):
            raise TypeError(
                f"Graph {index} is of type {_full_name(type(graph))}, not a networkx graph."
                " X has to be a list of networkx graphs or a GraphSet."
            )
    return graphs


def _only_column(frame: Any) -> Any:
    """The column of a data frame that has one."""
    names = list(frame.columns)
    if len(names) != 1:
        raise ValueError(
            f"X is a data frame with {len(names)} columns ({show(names)[1:-1]}), but a list of"
            " networkx graphs is expected. Pass the column that holds them, X[name]."
        )
    return frame[names[0]]


def read_adjacency(
    graphs: list[nx.Graph], nodes: list[list[Hashable]]
) -> tuple[NDArray[np.int64], NDArray[np.int32], bool]:
    degrees: list[int] = []
    neighbors: list[int] = []
    names_are_numbers = True
    for graph, names in zip(graphs, nodes, strict=True):
        # Lists, because the rows of some views are longer than what they iterate over.
        rows = [list(adjacent) for _, adjacent in graph.adjacency()]
        degrees.extend(map(len, rows))
        # Where nodes are named by their number, names can be taken as they are. The
        # type matters too: True == 1, but to_networkx has to give True back.
        if set(map(type, names)) == {int} and names == list(range(len(names))):
            neighbors.extend(chain.from_iterable(rows))
        else:
            number = dict(zip(names, range(len(names)), strict=True))
            neighbors.extend(map(number.__getitem__, chain.from_iterable(rows)))
            names_are_numbers = False
    return np.array(degrees, dtype=np.int64), np.array(neighbors, np.int32), names_are_numbers


def names_array(nodes: list[list[Hashable]]) -> NDArray[Any]:
    n_nodes = sum(map(len, nodes))
    if all(type(name) is int and abs(name) < 2**63 for name in chain.from_iterable(nodes)):
        return np.fromiter(chain.from_iterable(nodes), np.int64, count=n_nodes)
    return np.fromiter(chain.from_iterable(nodes), dtype=object, count=n_nodes)


def _read_attribute(
    graphs: list[nx.Graph], nodes: list[list[Hashable]], name: Hashable
) -> list[Any] | None:
    """The attribute of every node, or None if no node has it."""
    if not _is_hashable(name):
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
            f"{_locate(nodes, position)} has no attribute {show(name)}, which other nodes"
            f" have ({n_missing} of {len(values)} nodes lack it). Set it on every node,"
            f" for example with networkx.set_node_attributes."
        )
    return values


def read_labels(
    graphs: list[nx.Graph],
    nodes: list[list[Hashable]],
    node_label: Hashable | None,
) -> tuple[NDArray[np.int32] | None, tuple[Hashable, ...]]:
    if node_label is None:
        return None, ()
    values = _read_attribute(graphs, nodes, node_label)
    if values is None:
        if node_label != DEFAULT_NODE_LABEL:
            raise ValueError(
                f"No node of any graph has the attribute {show(node_label)} (node_label);"
                f" the nodes have {_enumerate(_node_attributes(graphs))}. Pass node_label=None for"
                " graphs without labels."
            )
        return None, ()
    return _number_labels(
        values,
        lambda position: _locate(nodes, position),
        node_label,
        "; pass vectors through node_features",
    )


def read_edge_labels(
    graphs: list[nx.Graph],
    nodes: list[list[Hashable]],
    degrees: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    edge_label: Hashable | None,
) -> tuple[NDArray[np.int32] | None, tuple[Hashable, ...]]:
    """Labels of the edges in the order of :func:`read_adjacency`, which gave the arrays."""
    if edge_label is None:
        return None, ()
    if not _is_hashable(edge_label):
        raise TypeError(
            f"edge_label names one attribute, got {show(edge_label)} of type"
            f" {type(edge_label).__name__}."
        )
    values, n_parallel = _read_edge_attribute(graphs, edge_label)
    n_missing = sum(value is _MISSING for value in values)
    if n_missing == len(values):
        if values and edge_label != DEFAULT_EDGE_LABEL:
            raise ValueError(
                f"No edge of any graph has the attribute {show(edge_label)} (edge_label); the edges"
                f" have {_enumerate(_edge_attributes(graphs))}. Pass edge_label=None for graphs"
                " without edge labels."
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
    ids, labels = _number_labels(values, locate, edge_label)
    first = np.cumsum(n_parallel) - n_parallel
    differs = np.flatnonzero(ids != ids[first][edge_of])
    if len(differs):
        position = int(differs[0])
        one, other = labels[ids[first[edge_of[position]]]], labels[ids[position]]
        raise ValueError(
            f"{locate(position)} has parallel edges with the labels {show(one)} and {show(other)}"
            f" under {show(edge_label)}. Parallel edges count as one: give them the same label,"
            " or one that stands for both, or pass edge_label=None to ignore labels of edges."
        )
    ids = ids[first]
    edge = _first_asymmetry(graphs, nodes, degrees, neighbors, ids)
    if edge is not None:
        raise ValueError(
            f"{_locate_edge(nodes, degrees, neighbors, edge)} of a graph that is not directed has"
            f" two labels under {show(edge_label)}, one in each direction. Such a graph is a view"
            " of a directed one: pass that, or a copy whose edges have one label each, or"
            " edge_label=None to ignore labels of edges."
        )
    return ids, labels


def _read_edge_attribute(
    graphs: list[nx.Graph], name: Hashable
) -> tuple[list[Any], NDArray[np.int64]]:
    """The attribute of all edges, and how many parallel ones each neighbor stands for."""
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


def warn_of_other_labels(graphs: list[nx.Graph], kind: str) -> None:
    """Say which attributes nodes or edges have, though not the one that holds labels."""
    if kind == "node":
        others, advice = _node_attributes(graphs), " (categories) or node_features= (numbers)"
    else:
        others, advice = [name for name in _edge_attributes(graphs) if name != WEIGHT], ""
    if others:
        warnings.warn(
            f"No {kind} has the attribute 'label', so all {kind}s are taken as"
            f" alike, although they have {_enumerate(others)}. Name the attribute to use with"
            f" {kind}_label={advice}, or pass {kind}_label=None to ignore them.",
            UserWarning,
            stacklevel=4,
        )


def _node_attributes(graphs: list[nx.Graph]) -> list[Hashable]:
    return sort_labels({key for g in graphs for _, data in g.nodes(data=True) for key in data})


def _edge_attributes(graphs: list[nx.Graph]) -> list[Hashable]:
    return sort_labels({key for graph in graphs for data in _edge_data(graph) for key in data})


def warn_of_weights(graphs: Iterable[nx.Graph], edge_label: Hashable | None) -> None:
    """Say that edges with different weights count the same."""
    if edge_label != WEIGHT and edges_differ(graphs, WEIGHT):
        warnings.warn(
            f"The edges of X differ in the attribute {WEIGHT!r}, which is not used: every edge"
            " counts the same, whatever its weight. Leave out edges that should not count, or"
            " remove the attribute.",
            UserWarning,
            stacklevel=3,
        )


def edges_differ(graphs: Iterable[nx.Graph], name: Hashable) -> bool:
    """Whether an attribute of edges has more than one value, as far as they have it.

    Graphs whose first edge does not have it are not looked at any further.
    """
    values = (value for graph in graphs for value in _edge_values(graph, name))
    first = next(values, _MISSING)
    return any(map(partial(_differ, first), values))


def _edge_values(graph: nx.Graph, name: Hashable) -> Iterator[Any]:
    for data in _edge_data(graph):
        if name not in data:
            return
        yield data[name]


def _edge_data(graph: nx.Graph) -> Iterator[Any]:
    # Not by graph.edges: networkx keeps that view, and a cycle of references with it.
    edges: Iterator[Any] = (data for _, row in graph.adjacency() for data in row.values())
    if graph.is_multigraph():
        return (data for parallel in edges for data in parallel.values())
    return edges


def _differ(value: Any, other: Any) -> bool:
    try:
        return value is not other and bool(value != other)
    except Exception:  # vectors, or whatever a class of somebody else raises
        return True


def _first_asymmetry(
    graphs: list[nx.Graph],
    nodes: list[list[Hashable]],
    degrees: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    ids: NDArray[np.int32],
) -> int | None:
    """The first edge of an undirected graph with another label in the other direction."""
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


def read_features(
    graphs: list[nx.Graph], nodes: list[list[Hashable]], node_features: Hashable | None
) -> NDArray[np.float64] | None:
    if node_features is None:
        return None
    values = _read_attribute(graphs, nodes, node_features)
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
            f"{_locate(nodes, position)} has {what} in its features {show(node_features)}."
            " Impute or remove it: features have to be finite, and below 3.4e38."
        )
    return array


def _features_error(nodes: list[list[Hashable]], values: list[Any], name: Hashable) -> ValueError:
    """Find the first node whose features do not fit, and say why."""
    width: int | None = None
    for position, value in enumerate(values):
        array = _as_numbers([value])
        if array is None:
            return ValueError(
                f"{_locate(nodes, position)} has {show(value)} as its features {show(name)}, which"
                " is not a number or a vector of numbers below 3.4e38; pass categories through"
                " node_label."
            )
        vector = np.atleast_1d(array[0])
        width = len(vector) if width is None else width
        if vector.ndim != 1 or vector.size == 0 or len(vector) != width:
            return ValueError(
                f"{_locate(nodes, position)} has features {show(name)} of shape {vector.shape},"
                f" but every node needs a vector of the same length as the first ({width})."
            )
    return ValueError(f"The features {show(name)} mix numbers and vectors of numbers.")


def _as_numbers(values: list[Any]) -> NDArray[np.float64] | None:
    """Values as one array, or None if they are ragged or not all of them real numbers."""
    try:
        array = np.array(values)
        kind = array.dtype.kind
        # numpy would read texts, count days, and drop imaginary parts.
        if kind in "SUMmc" or (kind == "O" and any(isinstance(v, str | bytes) for v in array.flat)):
            return None
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            return array.astype(np.float64)
    except Exception:  # whatever a class of somebody else raises
        return None


def _locate(nodes: Sequence[Sequence[Hashable]], position: int) -> str:
    """'Graph 3, node 'a'' for a position in the flat list of all nodes."""
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
    """'Graph 3, edge ('a', 'b')' for a position in the flat list of all neighbors."""
    source = int(np.searchsorted(np.cumsum(degrees), edge, side="right"))
    for index, names in enumerate(nodes):
        if source < len(names):
            u, v = names[source], names[neighbors[edge]]
            return f"Graph {index}, edge ({show(u)}, {show(v)}),"
        source -= len(names)
    raise IndexError(edge)
