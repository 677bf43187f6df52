"""The reader of igraph graphs."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from itertools import chain
from typing import Any

import numpy as np

from sklofi.graphs._arrays import GraphArrays, check_type
from sklofi.graphs._attributes import MISSING
from sklofi.graphs._graph_attributes import read_graph_features
from sklofi.graphs._labels import sort_labels
from sklofi.graphs._lists import as_list, check_not_single
from sklofi.graphs._named_attributes import collect_attributes


def read_igraph(
    X: Any, names: dict[str, Hashable | None], graph_features: Any = None
) -> dict[str, Any]:
    """Return the fields of a GraphSet of igraph graphs.

    `names` are those of the attributes to read, by parameter; None is not read.
    """
    check_not_single(X, is_igraph(X))
    graphs = as_list(X)
    check_type(graphs, is_igraph, "an igraph Graph")
    ends = [np.array(graph.get_edgelist(), np.int64).reshape(-1, 2) for graph in graphs]
    source, target = np.concatenate(ends).T
    arrays = GraphArrays(
        n_nodes=np.array([graph.vcount() for graph in graphs], np.int64),
        directed=np.array([graph.is_directed() for graph in graphs]),
        graph_of=np.repeat(np.arange(len(graphs)), [*map(len, ends)]),
        source=source,
        target=target,
    )

    def known_names(kind: str) -> list[Hashable]:
        return sort_labels({name for graph in graphs for name in _parts(graph, kind).attributes()})

    def values(name: Hashable, kind: str) -> list[Any]:
        parts = (_attribute(_parts(graph, kind), name) for graph in graphs)
        return list(chain.from_iterable(parts))

    found = collect_attributes(
        arrays,
        names,
        lambda name: values(name, "node"),
        lambda name: values(name, "edge"),
        known_names,
    )
    attributes = [{name: graph[name] for name in graph.attributes()} for graph in graphs]
    return arrays.build(names, **found) | read_graph_features(attributes, graph_features)


def is_igraph(graph: Any) -> bool:
    """Return whether something is an igraph graph, without importing igraph."""
    igraph = sys.modules.get("igraph")
    return igraph is not None and isinstance(graph, igraph.Graph)


def _parts(graph: Any, kind: str) -> Any:
    return graph.vs if kind == "node" else graph.es


def _attribute(parts: Any, name: Hashable) -> list[Any]:
    """Return an attribute of nodes or edges, for which igraph says None where it is missing."""
    if name not in parts.attributes():
        return [MISSING] * len(parts)
    return [MISSING if value is None else value for value in parts[name]]
