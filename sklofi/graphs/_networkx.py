"""The reader of networkx graphs, and the way back."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Iterable
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sklofi._messages import full_name
from sklofi.graphs._arrays import check_nodes
from sklofi.graphs._attributes import (
    describe_names,
    node_attribute_names,
    read_node_features,
    read_node_labels,
)
from sklofi.graphs._edge_attributes import (
    edge_attribute_names,
    edges_differ,
    read_edge_attributes,
)
from sklofi.graphs._graph_attributes import read_graph_features
from sklofi.graphs._lists import FORMS, as_list, check_not_single
from sklofi.graphs._segments import offsets_of

if TYPE_CHECKING:
    from sklofi.graphs._graph_set import GraphSet

WEIGHT = "weight"  # of an edge, as networkx calls it


def check_graph_list(X: Any) -> list[nx.Graph]:
    """Return the networkx graphs that a user passes as X, in whatever container, as a list."""
    check_not_single(X, isinstance(X, nx.Graph))
    graphs = as_list(X)
    for index, graph in enumerate(graphs):
        if not isinstance(graph, nx.Graph):
            raise TypeError(
                f"Graph {index} is of type {full_name(type(graph))}, not a networkx graph."
                f" X has to be a list of {FORMS}, all of one form, or a GraphSet."
            )
    return graphs


def read_networkx(
    graphs: list[nx.Graph],
    node_label: Hashable | None,
    node_features: Hashable | None,
    edge_label: Hashable | None,
    edge_weight: Hashable | None,
    edge_features: Hashable | None,
    *,
    is_training: bool,
    graph_features: Any = None,
) -> dict[str, Any]:
    """Return the fields of a GraphSet of networkx graphs.

    Attributes whose name is None are not read. With `is_training`, warn of attributes that may
    have been meant as labels.
    """
    nodes = [list(graph) for graph in graphs]
    n_nodes = np.fromiter(map(len, nodes), dtype=np.int64, count=len(graphs))
    check_nodes(n_nodes)
    degrees, neighbors, node_names = _read_adjacency(graphs, nodes)
    label_ids, labels = read_node_labels(graphs, nodes, node_label)
    edges = read_edge_attributes(
        graphs, nodes, degrees, neighbors, edge_label, edge_weight, edge_features
    )
    if is_training and label_ids is None and node_label is not None and node_features is None:
        _warn_of_other_node_attributes(graphs)
    if is_training and edges.edge_label_ids is None and edge_label is not None:
        _warn_of_other_edge_attributes(graphs, {edge_weight, edge_features})
    names = {
        "node_label": node_label,
        "node_features": node_features,
        "edge_label": edge_label,
        "edge_weight": edge_weight,
        "edge_features": edge_features,
    }
    return {
        "node_offsets": offsets_of(n_nodes),
        "edge_offsets": offsets_of(edges.degrees),
        "neighbors": edges.neighbors,
        "directed": np.array([graph.is_directed() for graph in graphs]),
        "label_ids": label_ids,
        "labels": labels,
        "features": read_node_features(graphs, nodes, node_features),
        "node_names": node_names,
        "edge_label_ids": edges.edge_label_ids,
        "edge_labels": edges.edge_labels,
        "edge_weights": edges.edge_weights,
        "edge_vectors": edges.edge_vectors,
        **{key: name for key, name in names.items() if name is not None},
        **read_graph_features([graph.graph for graph in graphs], graph_features),
    }


_KINDS = {
    (False, False): nx.Graph,
    (True, False): nx.DiGraph,
    (False, True): nx.MultiGraph,
    (True, True): nx.MultiDiGraph,
}


def build_networkx(graphs: GraphSet, index: int) -> nx.Graph:
    """Return a graph of a set as a networkx graph."""
    start, stop = graphs.node_offsets[index : index + 2].tolist()
    bounds = graphs.edge_offsets[start : stop + 1].tolist()
    rows = [graphs.neighbors[begin:end].tolist() for begin, end in pairwise(bounds)]
    is_multigraph = any(len(set(row)) < len(row) for row in rows)
    is_directed = bool(graphs.directed[index])
    graph = _KINDS[is_directed, is_multigraph]()
    names = list(range(stop - start))
    if graphs.node_names is not None:
        names = graphs.node_names[start:stop].tolist()
    graph.add_nodes_from(names)
    data = _build_edge_data(graphs, bounds[0], bounds[-1])
    for node, (begin, end) in enumerate(pairwise(bounds)):
        edges = zip(rows[node], data[begin - bounds[0] : end - bounds[0]], strict=True)
        # A multigraph would take an undirected edge that is added from both ends for two.
        graph.add_edges_from(
            (names[node], names[other], attributes)
            for other, attributes in edges
            if not is_multigraph or is_directed or node <= other
        )
    if graphs.label_ids is not None:
        labels = (graphs.labels[i] for i in graphs.label_ids[start:stop].tolist())
        nx.set_node_attributes(graph, dict(zip(names, labels, strict=True)), graphs.node_label)
    if graphs.features is not None:
        features = dict(zip(names, graphs.features[start:stop].copy(), strict=True))
        nx.set_node_attributes(graph, features, graphs.node_features)
    if graphs.graph_vectors is not None:
        _set_graph_features(graph, graphs.graph_features, graphs.graph_vectors[index])
    return graph


def _set_graph_features(graph: nx.Graph, names: Hashable, vector: NDArray[np.float64]) -> None:
    """Set the features of a graph: a number under each name, or a vector under one."""
    if isinstance(names, tuple):
        graph.graph.update(zip(names, vector.tolist(), strict=True))
    else:
        graph.graph[names] = vector.copy()


def _build_edge_data(graphs: GraphSet, begin: int, end: int) -> list[dict[Hashable, Any]]:
    """Return the attributes of a range of entries of `neighbors`, a dictionary for each."""
    data: list[dict[Hashable, Any]] = [{} for _ in range(begin, end)]
    values: list[tuple[Hashable, Iterable[Any]]] = []
    if graphs.edge_label_ids is not None:
        ids = graphs.edge_label_ids[begin:end].tolist()
        values.append((graphs.edge_label, (graphs.edge_labels[i] for i in ids)))
    if graphs.edge_weights is not None:
        values.append((graphs.edge_weight, graphs.edge_weights[begin:end].tolist()))
    if graphs.edge_vectors is not None:
        values.append((graphs.edge_features, graphs.edge_vectors[begin:end].copy()))
    for name, column in values:
        for attributes, value in zip(data, column, strict=True):
            attributes[name] = value
    return data


def warn_of_weights(
    graphs: Iterable[nx.Graph], read_names: Collection[Hashable | None], *, can_be_read: bool
) -> None:
    """Warn that edges with different weights count the same.

    `read_names` are the attributes of edges that are read. `can_be_read` says whether there is a
    parameter `edge_weight`, which the warning then names.
    """
    if WEIGHT not in read_names and edges_differ(graphs, WEIGHT):
        advice = (
            f"Pass edge_weight={WEIGHT!r} to use it"
            if can_be_read
            else ("Leave out edges that should not count")
        )
        warn_of_weight(WEIGHT, advice, stacklevel=4)


def warn_of_weight(name: str, advice: str, *, stacklevel: int) -> None:
    """Warn of an attribute that holds different weights of edges, and is not read."""
    warnings.warn(
        f"The edges of X differ in the attribute {name!r}, which is not used: every edge counts"
        f" the same, whatever its weight. {advice}, or remove the attribute.",
        UserWarning,
        stacklevel=stacklevel,
    )


def _read_adjacency(
    graphs: list[nx.Graph], nodes: list[list[Hashable]]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any] | None]:
    """Return the degrees of all nodes, their neighbors, and their names unless those are 0, 1, ...

    Neighbors are numbered within their graph.
    """
    degrees: list[int] = []
    neighbors: list[int] = []
    are_numbers = True
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
            are_numbers = False
    node_names = None if are_numbers else _join_names(nodes)
    return np.array(degrees, dtype=np.int64), np.array(neighbors, np.int32), node_names


def _join_names(nodes: list[list[Hashable]]) -> NDArray[Any]:
    n_nodes = sum(map(len, nodes))
    if all(type(name) is int and abs(name) < 2**63 for name in chain.from_iterable(nodes)):
        return np.fromiter(chain.from_iterable(nodes), np.int64, count=n_nodes)
    return np.fromiter(chain.from_iterable(nodes), dtype=object, count=n_nodes)


def _warn_of_other_node_attributes(graphs: list[nx.Graph]) -> None:
    advice = " (categories) or node_features= (numbers)"
    warn_of_other_attributes("node", node_attribute_names(graphs), advice)


def _warn_of_other_edge_attributes(
    graphs: list[nx.Graph], read_names: Collection[Hashable | None]
) -> None:
    read_names = {WEIGHT, *read_names}
    names = [name for name in edge_attribute_names(graphs) if name not in read_names]
    warn_of_other_attributes("edge", names, advice="")


def warn_of_other_attributes(
    kind: str, names: list[Hashable], advice: str, *, stacklevel: int = 5
) -> None:
    """Warn that nodes or edges have attributes, though not the one that holds labels."""
    if names:
        warnings.warn(
            f"No {kind} has the attribute 'label', so all {kind}s are taken as"
            f" alike, although they have {describe_names(names)}. Name the attribute to use with"
            f" {kind}_label={advice}, or pass {kind}_label=None to ignore them.",
            UserWarning,
            stacklevel=stacklevel,
        )
