"""Read the attributes of networkx edges: labels, weights and features.

Each error names the first graph and edge that it is about. `graphs` is always the list of
networkx graphs, `nodes` the list of their lists of node names.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, show
from sklofi.graphs._attributes import (
    MISSING,
    as_numbers,
    describe_names,
    describe_unusable,
    stack_vectors,
)
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, number_labels, sort_labels
from sklofi.graphs._parallel import Groups, pair_directions, parallel_features_error
from sklofi.graphs._segments import offsets_of, segments_of

# Networks compute with 32 bits, in which products of gradients have to fit.
LARGEST_WEIGHT = 1e15

# What an edge has under each parameter, and what all edges have.
WORDS = {
    "edge_label": ("label", "labels"),
    "edge_weight": ("weight", "weights"),
    "edge_features": ("vector", "features"),
}


class EdgeArrays(NamedTuple):
    """Edges of graphs with their attributes, as the fields of a GraphSet have them."""

    degrees: NDArray[np.int64]
    neighbors: NDArray[np.int32]
    edge_label_ids: NDArray[np.int32] | None = None
    edge_labels: tuple[Hashable, ...] = ()
    edge_weights: NDArray[np.float64] | None = None
    edge_vectors: NDArray[np.float64] | None = None


def read_edge_attributes(
    graphs: list[nx.Graph],
    nodes: list[list[Hashable]],
    degrees: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    edge_label: Hashable | None,
    edge_weight: Hashable | None,
    edge_features: Hashable | None,
) -> EdgeArrays:
    """Return the edges of graphs with those of their attributes whose name is not None.

    Parallel edges with different labels are separate entries, all others one. `degrees` and
    `neighbors` are the adjacency of the graphs, in which each neighbor stands once.
    """
    if edge_weight is None and edge_features is None and not _may_have(graphs, edge_label):
        return EdgeArrays(degrees, neighbors)
    edges = _ParallelEdges.from_graphs(graphs, nodes, degrees, neighbors)
    ids, labels = _read_labels(edges, edge_label)
    values = edges.values(edge_weight, "edge_weight")
    weights = None if values is None else read_weights(values, edges.locate, edge_weight)
    vectors = _read_vectors(edges, edge_features)
    groups = edges.group(ids, len(labels))
    entries = edges.take(groups.first)
    if weights is not None:
        weights = groups.add(weights)
        check_finite(weights, entries.locate, edge_weight)
    if vectors is not None:
        if (edge := groups.first_difference(vectors)) is not None:
            advice = "pass edge_features=None to ignore them"
            raise parallel_features_error(edges.locate(edge), edge_features, advice)
        vectors = vectors[groups.first]
    if ids is not None:
        ids = ids[groups.first]
    _check_symmetry(entries, (edge_label, edge_weight, edge_features), ids, weights, vectors)
    degrees = np.bincount(entries.source, minlength=len(degrees))
    return EdgeArrays(degrees, entries.target, ids, labels, weights, vectors)


def _may_have(graphs: list[nx.Graph], edge_label: Hashable | None) -> bool:
    """Return whether there may be labels. The default one is mostly absent, and looked for."""
    if isinstance(edge_label, str) and edge_label == DEFAULT_EDGE_LABEL:
        return any(edge_label in data for graph in graphs for data in _edge_data(graph))
    return edge_label is not None


class _ParallelEdges(NamedTuple):
    """Edges as networkx has them, parallel ones one by one, undirected ones from both ends."""

    graphs: list[nx.Graph]
    nodes: list[list[Hashable]]
    source: NDArray[np.int64]  # numbered through all graphs
    target: NDArray[np.int32]  # numbered within their graph
    data: list[Any]  # dictionaries of attributes
    neighbor_of: NDArray[np.int64]  # equal for parallel edges

    @classmethod
    def from_graphs(
        cls,
        graphs: list[nx.Graph],
        nodes: list[list[Hashable]],
        degrees: NDArray[np.int64],
        neighbors: NDArray[np.int32],
    ) -> _ParallelEdges:
        data: list[Any] = []
        n_parallel = np.ones(len(neighbors), dtype=np.int64)
        n_neighbors = 0
        for graph in graphs:
            adjacent = [d for _, row in graph.adjacency() for d in row.values()]
            if graph.is_multigraph():
                rows = [list(parallel.values()) for parallel in adjacent]
                n_parallel[n_neighbors : n_neighbors + len(rows)] = [*map(len, rows)]
                data.extend(d for row in rows for d in row)
            else:
                data.extend(adjacent)
            n_neighbors += len(adjacent)
        source = np.repeat(np.arange(len(degrees)), degrees)
        neighbor_of = np.repeat(np.arange(len(neighbors)), n_parallel)
        return cls(graphs, nodes, source[neighbor_of], neighbors[neighbor_of], data, neighbor_of)

    def values(self, name: Hashable | None, parameter: str) -> list[Any] | None:
        """Return an attribute of all edges, or None if no edge has it or may have it."""
        if name is None:
            return None
        if isinstance(attempt(hash, name), Exception):
            raise TypeError(
                f"{parameter} names one attribute, got {show(name)} of type {type(name).__name__}."
            )
        values = [data.get(name, MISSING) for data in self.data]
        n_missing = sum(value is MISSING for value in values)
        if n_missing == len(values):
            may_be_absent = parameter == "edge_label" and name == DEFAULT_EDGE_LABEL
            if values and not may_be_absent:
                raise ValueError(
                    f"No edge of any graph has the attribute {show(name)} ({parameter}); the edges"
                    f" have {describe_names(edge_attribute_names(self.graphs))}. Pass"
                    f" {parameter}=None for graphs without edge {WORDS[parameter][1]}."
                )
            return None
        if n_missing:
            position = next(i for i, value in enumerate(values) if value is MISSING)
            # Counted anew, because an undirected edge has been read from both of its ends.
            all_data = [data for graph in self.graphs for *_, data in graph.edges(data=True)]
            n_missing = sum(name not in data for data in all_data)
            raise ValueError(
                f"{self.locate(position)} has no attribute {show(name)}, which other edges have"
                f" ({n_missing} of {len(all_data)} edges lack it). Set it on every edge, for"
                f" example with networkx.set_edge_attributes, or pass {parameter}=None to ignore"
                " it."
            )
        return values

    def group(self, ids: NDArray[np.int32] | None, n_labels: int) -> Groups:
        """Return parallel edges of the same label in groups."""
        is_parallel = len(self.neighbor_of) and self.neighbor_of[-1] + 1 < len(self.neighbor_of)
        if not is_parallel:
            every = np.arange(len(self.neighbor_of))
            return Groups(every, every)
        codes = self.neighbor_of if ids is None else self.neighbor_of * n_labels + ids
        return Groups.from_codes(codes)

    def take(self, positions: NDArray[np.int64]) -> _ParallelEdges:
        """Return some of the edges, without their data."""
        return self._replace(
            source=self.source[positions],
            target=self.target[positions],
            data=[],
            neighbor_of=self.neighbor_of[positions],
        )

    def locate(self, edge: int) -> str:
        """Return 'Graph 3, edge ('a', 'b'),' for a position."""
        offsets = self._node_offsets()
        graph = int(segments_of(offsets, int(self.source[edge])))
        names = self.nodes[graph]
        u, v = names[self.source[edge] - offsets[graph]], names[self.target[edge]]
        return f"Graph {graph}, edge ({show(u)}, {show(v)}),"

    def both_ways(
        self, ids: NDArray[np.int32] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int | None]:
        """Return the undirected edges, the same in the other direction, and the first without.

        `ids` are the numbers of labels, which tell parallel edges apart.
        """
        offsets = self._node_offsets()
        first_node = np.repeat(offsets[:-1], np.diff(offsets))[self.source]
        is_directed = np.array([graph.is_directed() for graph in self.graphs])
        edges = np.flatnonzero(~np.repeat(is_directed, np.diff(offsets))[self.source])
        start, end = self.source[edges], (self.target + first_node)[edges]
        label = np.zeros(len(edges), np.int32) if ids is None else ids[edges]
        there, back, lonely = pair_directions(start, end, label)
        if lonely is not None:
            lonely = int(edges[lonely])
        return edges[there], edges[back], lonely

    def _node_offsets(self) -> NDArray[np.int64]:
        return offsets_of(np.fromiter(map(len, self.nodes), np.int64, count=len(self.nodes)))


def _read_labels(
    edges: _ParallelEdges, edge_label: Hashable | None
) -> tuple[NDArray[np.int32] | None, tuple[Hashable, ...]]:
    """Return the number of the label of each edge, and the labels; None and () without labels."""
    values = edges.values(edge_label, "edge_label")
    if values is None:
        return None, ()
    return number_labels(values, edges.locate, edge_label)


def read_weights(
    values: Sequence[Any] | NDArray[Any], locate: Callable[[int], str], name: Hashable
) -> NDArray[np.float64]:
    """Return the weights of edges as an array, of values that may be anything.

    `locate` takes a position in `values` and returns the beginning of an error message, `name` is
    the attribute that holds the weights.
    """
    weights = as_numbers(values)
    if weights is None or weights.ndim != 1:
        position = next(i for i, value in enumerate(values) if not _is_number(value))
        raise ValueError(
            f"{locate(position)} has {show(values[position])} as its weight {show(name)},"
            " which is not a number below 1e15; pass categories through edge_label, and vectors"
            " through edge_features."
        )
    check_finite(weights, locate, name)
    if (weights < 0).any():
        position = int((weights < 0).argmax())
        raise ValueError(
            f"{locate(position)} has the negative weight {show(values[position])} under"
            f" {show(name)}. Weights say how much an edge counts, and are zero or more; pass"
            " numbers of either sign through edge_features."
        )
    return weights + 0.0  # which turns -0.0 into 0.0


def _is_number(value: Any) -> bool:
    array = as_numbers([value])
    return array is not None and array.ndim == 1


def check_finite(
    weights: NDArray[np.float64], locate: Callable[[int], str], name: Hashable
) -> None:
    """Check that weights are finite, and small enough to compute with."""
    usable = np.abs(weights) <= LARGEST_WEIGHT  # False for NaN
    if not usable.all():
        position = int(usable.argmin())
        raise ValueError(
            f"{locate(position)} has {describe_unusable(weights[position])} as its weight"
            f" {show(name)}. Weights, those of parallel edges together, have to be finite and at"
            " most 1e15: impute or remove it, or divide all weights by the same number."
        )


def _read_vectors(edges: _ParallelEdges, name: Hashable | None) -> NDArray[np.float64] | None:
    """Return the features of each edge, or None without features."""
    values = edges.values(name, "edge_features")
    return None if values is None else stack_vectors(values, edges.locate, name, "edge")


def _check_symmetry(
    edges: _ParallelEdges,
    names: Sequence[Hashable | None],
    ids: NDArray[np.int32] | None,
    weights: NDArray[np.float64] | None,
    vectors: NDArray[np.float64] | None,
) -> None:
    """Check that undirected edges have the same attributes in both directions.

    In a view of a directed graph they may differ.
    """
    there, back, edge = edges.both_ways(ids)
    parameter = "edge_label"
    if edge is None and weights is not None:
        edge = _first_true(there, weights[there] != weights[back])
        parameter = "edge_weight"
    if edge is None and vectors is not None:
        edge = _first_true(there, (vectors[there] != vectors[back]).any(axis=1))
        parameter = "edge_features"
    if edge is not None:
        name = dict(zip(WORDS, names, strict=True))[parameter]
        one, all_of_them = WORDS[parameter]
        raise ValueError(
            f"{edges.locate(edge)} of a graph that is not directed has two {one}s under"
            f" {show(name)}, one in each direction. Such a graph is a view of a directed one: pass"
            f" that, or a copy whose edges have one {one} each, or {parameter}=None to ignore"
            f" {all_of_them} of edges."
        )


def _first_true(edges: NDArray[np.int64], is_chosen: NDArray[np.bool_]) -> int | None:
    return int(edges[is_chosen.argmax()]) if is_chosen.any() else None


def edge_attribute_names(graphs: list[nx.Graph]) -> list[Hashable]:
    """Return the names of all attributes that an edge has."""
    return sort_labels({key for graph in graphs for data in _edge_data(graph) for key in data})


def edges_differ(graphs: Iterable[nx.Graph], name: Hashable) -> bool:
    """Return whether an attribute of edges has more than one value, as far as they have it.

    Graphs whose first edge does not have it are not looked at any further.
    """
    first: Any = MISSING
    for graph in graphs:
        values = list(_leading_values(graph, name))
        if values and first is MISSING:
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
