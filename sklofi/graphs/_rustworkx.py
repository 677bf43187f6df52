"""The reader of rustworkx graphs."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from itertools import chain
from typing import Any

import numpy as np

from sklofi.graphs._arrays import GraphArrays, check_type
from sklofi.graphs._attributes import MISSING
from sklofi.graphs._graph_attributes import read_graph_features
from sklofi.graphs._labels import DEFAULT_NODE_LABEL, sort_labels
from sklofi.graphs._lists import as_list, check_not_single
from sklofi.graphs._named_attributes import collect_attributes
from sklofi.graphs._networkx import WEIGHT


def read_rustworkx(
    X: Any, names: dict[str, Hashable | None], graph_features: Any = None
) -> dict[str, Any]:
    """Return the fields of a GraphSet of rustworkx graphs.

    `names` are those of the attributes to read, by parameter; None is not read.
    """
    check_not_single(X, is_rustworkx(X))
    graphs = as_list(X)
    check_type(graphs, is_rustworkx, "a rustworkx PyGraph or PyDiGraph")
    indices = [list(graph.node_indices()) for graph in graphs]
    edges = [list(graph.weighted_edge_list()) for graph in graphs]
    ends = [_number_ends(*pair) for pair in zip(indices, edges, strict=True)]
    source, target = np.concatenate(ends).T
    is_numbered = all(index == list(range(len(index))) for index in indices)
    arrays = GraphArrays(
        n_nodes=np.array([*map(len, indices)], np.int64),
        directed=np.array([_is_directed(graph) for graph in graphs]),
        graph_of=np.repeat(np.arange(len(graphs)), [*map(len, ends)]),
        source=source,
        target=target,
        node_names=None if is_numbered else np.array([*chain.from_iterable(indices)], np.int64),
    )
    nodes = [_as_attributes(data, DEFAULT_NODE_LABEL) for graph in graphs for data in graph.nodes()]
    links = [_as_attributes(data, WEIGHT) for *_, data in chain.from_iterable(edges)]
    found = collect_attributes(
        arrays,
        names,
        lambda name: [data.get(name, MISSING) for data in nodes],
        lambda name: [data.get(name, MISSING) for data in links],
        lambda kind: sort_labels({*chain.from_iterable(nodes if kind == "node" else links)}),
    )
    attributes = [graph.attrs if isinstance(graph.attrs, dict) else {} for graph in graphs]
    return arrays.build(names, **found) | read_graph_features(attributes, graph_features)


def is_rustworkx(graph: Any) -> bool:
    """Return whether something is a rustworkx graph, without importing rustworkx."""
    rustworkx = sys.modules.get("rustworkx")
    return rustworkx is not None and isinstance(graph, rustworkx.PyGraph | rustworkx.PyDiGraph)


def _is_directed(graph: Any) -> bool:
    return isinstance(graph, sys.modules["rustworkx"].PyDiGraph)


def _number_ends(indices: list[int], edges: list[tuple[int, int, Any]]) -> Any:
    """Return the ends of edges, counted among the nodes, of which some may have been removed."""
    number = dict(zip(indices, range(len(indices)), strict=True))
    ends = [(number[source], number[target]) for source, target, _ in edges]
    return np.array(ends, np.int64).reshape(-1, 2)


def _as_attributes(data: Any, name: str) -> dict[Hashable, Any]:
    """Return what a node or an edge holds as attributes: a dictionary, or one value by a name."""
    if isinstance(data, dict):
        return data
    return {} if data is None else {name: data}
