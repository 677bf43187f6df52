"""The reader of PyTorch Geometric data.

Neither torch nor PyTorch Geometric is imported: who has such data has imported them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, shorten, show
from sklofi.graphs._arrays import NO_LABELS, GraphArrays, Numbered, check_type, number_integers
from sklofi.graphs._graph_attributes import read_graph_features
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL, number_labels
from sklofi.graphs._lists import check_not_single
from sklofi.graphs._networkx import warn_of_weight
from sklofi.graphs._scipy import choose_directions, join_arrays
from sklofi.graphs._segments import offsets_of

# Where PyTorch Geometric keeps what nodes and edges have.
NODE_ARRAY, EDGE_ARRAY, EDGE_WEIGHT = "x", "edge_attr", "edge_weight"

# Attributes that say how many nodes there are, besides those that are read.
COUNTED = (NODE_ARRAY, "pos", "z")


def read_pyg(
    graphs: list[Any],
    node_label: Hashable | None,
    node_features: Hashable | None,
    edge_label: Hashable | None,
    edge_weight: Hashable | None,
    edge_features: Hashable | None,
    *,
    is_training: bool,
    directed: bool | None = None,
    graph_features: Any = None,
) -> dict[str, Any]:
    """Return the fields of a GraphSet of torch_geometric.data.Data.

    The names are those of attributes of the data. The default name of labels stands for `x` and
    `edge_attr` if the data have no such attribute.
    """
    check_type(graphs, is_pyg, "a torch_geometric Data of one graph")
    columns = _Columns(graphs, (node_label, node_features))
    arrays = columns.arrays
    node_labels, node_label, node_features = _read_nodes(columns, node_label, node_features)
    others = {edge_weight, edge_features}
    edge_labels, edge_label = _read_edge_labels(columns, edge_label, others)
    names: dict[str, Hashable | None] = {
        "node_label": node_label,
        "node_features": node_features,
        "edge_label": edge_label,
        "edge_weight": edge_weight,
        "edge_features": edge_features,
    }
    if is_training:
        _warn_of_unread(columns, {edge_label, edge_weight, edge_features}, edge_labels)
    read = [edge_label, edge_weight, edge_features, EDGE_ARRAY, EDGE_WEIGHT]
    kind = columns.number_edges([name for name in dict.fromkeys(read) if name is not None])
    is_directed = choose_directions(
        arrays, kind, directed, "torch_geometric.transforms.ToUndirected()"
    )
    fields = arrays.build(
        names,
        node_labels=node_labels,
        node_features=columns.require(node_features, "node_features"),
        edge_labels=edge_labels,
        edge_weights=_only_column(columns.require(edge_weight, "edge_weight")),
        edge_features=columns.require(edge_features, "edge_features"),
    )
    of_graphs = read_graph_features([_GraphAttributes(graph) for graph in graphs], graph_features)
    return fields | {"directed": is_directed} | of_graphs


class _GraphAttributes(Mapping[str, Any]):
    """The attributes of data, with tensors as numbers or vectors: graphs often have (1, n)."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str) or name not in self.graph:
            raise KeyError(name)
        array = attempt(_convert, self.graph[name])
        if isinstance(array, Exception) or array.size == 0:
            return self.graph[name]
        is_row = array.ndim == 2 and len(array) == 1
        return array[0] if is_row else array

    def __iter__(self) -> Iterator[str]:
        return iter(self.graph.keys())

    def __len__(self) -> int:
        return len(self.graph.keys())


def check_data_list(X: Any) -> None:
    """Check that X is neither a single graph of PyTorch Geometric nor a batch."""
    if _is_instance(X, "Batch"):
        raise TypeError("X is a torch_geometric Batch; pass X.to_data_list().")
    check_not_single(X, is_pyg(X))


def is_pyg(graph: Any) -> bool:
    """Return whether something is one graph of PyTorch Geometric, without importing it."""
    return _is_instance(graph, "Data") and not _is_instance(graph, "Batch")


def _is_instance(X: Any, name: str) -> bool:
    library = sys.modules.get("torch_geometric.data")
    return library is not None and isinstance(X, getattr(library, name))


class _Columns:
    """The attributes of all data, each as one array of all nodes or edges."""

    def __init__(self, graphs: list[Any], node_names: tuple[Hashable | None, ...]) -> None:
        self.graphs = graphs
        ends = [_read_ends(graph, index) for index, graph in enumerate(graphs)]
        n_edges = [pair.shape[1] for pair in ends]
        source, target = np.concatenate(ends, axis=1)
        n_nodes = [_count_nodes(graph, index, node_names) for index, graph in enumerate(graphs)]
        self.arrays = GraphArrays(
            n_nodes=np.array(n_nodes, np.int64),
            directed=np.ones(len(graphs), bool),
            graph_of=np.repeat(np.arange(len(graphs)), n_edges),
            source=source,
            target=target,
            both_ways=True,
        )
        self._n_items = {"node": self.arrays.n_nodes, "edge": np.array(n_edges, np.int64)}
        self._found: dict[tuple[str, Hashable], NDArray[Any] | None] = {}
        _check_ends(self.arrays)

    def get(self, name: Hashable, kind: str) -> NDArray[Any] | None:
        """Return an attribute as an array of one or two dimensions, or None if no data have it."""
        if isinstance(attempt(hash, name), Exception):
            raise TypeError(
                f"{kind}_label and the like name one attribute each, got {show(name)} of type"
                f" {type(name).__name__}."
            )
        if (kind, name) not in self._found:
            self._found[kind, name] = self._join(name, kind)
        return self._found[kind, name]

    def require(self, name: Hashable | None, parameter: str) -> NDArray[Any] | None:
        """Return an attribute that has to exist, or None without a name."""
        if name is None:
            return None
        kind, _, what = parameter.partition("_")
        values = self.get(name, kind)
        if values is None and (kind == "node" or len(self.arrays.source)):
            known = sorted({key for graph in self.graphs for key in graph.keys()})
            raise ValueError(
                f"No graph has the attribute {show(name)} ({parameter}); the data have"
                f" {', '.join(known)}. Pass {parameter}=None for graphs without {kind}"
                f" {what.rstrip('s')}s."
            )
        return values

    def number_edges(self, names: list[Hashable]) -> NDArray[np.int64]:
        """Return numbers that are equal for edges of a graph with equal attributes.

        Attributes that are not read may be missing in some graphs, or have the wrong size.
        """
        kind = np.zeros(len(self.arrays.source), np.int64)
        for name in names:
            values = attempt(self.get, name, "edge")
            if isinstance(values, Exception):
                bounds = offsets_of(self._n_items["edge"])
                for graph, begin, end in zip(self.graphs, bounds[:-1], bounds[1:], strict=True):
                    own = attempt(_convert, _attribute(graph, name))
                    if not isinstance(own, Exception) and own.shape[:1] == (end - begin,):
                        kind[begin:end] = _number_rows(kind[begin:end], own)
            elif values is not None:
                kind = _number_rows(kind, values)
        return kind

    def differ(self, name: str) -> bool:
        """Return whether edges have different values of an attribute, as far as it can be read."""
        values = attempt(self.get, name, "edge")
        return isinstance(values, np.ndarray) and bool((values != values[:1]).any())

    def locate(self, kind: str) -> Any:
        return self.arrays.locate_node if kind == "node" else self.arrays.locate_edge

    def _join(self, name: Hashable, kind: str) -> NDArray[Any] | None:
        parts = [_attribute(graph, name) for graph in self.graphs]
        n_items = self._n_items[kind]
        lacking = [i for i, part in enumerate(parts) if part is None and n_items[i]]
        if all(part is None for part in parts):
            return None
        if lacking:
            raise ValueError(
                f"Graph {lacking[0]} has no {show(name)}, which other graphs have ({len(lacking)}"
                f" of {len(parts)} graphs lack it). Set it in all of them."
            )
        if not n_items.any():
            return None
        found = [None if part is None else _to_array(part, i, name) for i, part in enumerate(parts)]
        return join_arrays(found, n_items, show(name))


def _attribute(graph: Any, name: Hashable) -> Any:
    return graph[name] if isinstance(name, str) and name in graph else None


def _to_array(value: Any, index: int, name: Hashable) -> NDArray[Any]:
    """Return a tensor, an array or a list as an array."""
    array = attempt(_convert, value)
    if isinstance(array, Exception):
        raise ValueError(
            f"Graph {index} has a {type(value).__name__} as {show(name)} that cannot be made an"
            f" array ({shorten(array)}). Pass a dense tensor of numbers."
        )
    return array


def _convert(value: Any) -> NDArray[Any]:
    if hasattr(value, "detach"):  # a tensor, perhaps on a GPU or with gradients
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        return np.asarray(value.numpy())
    return np.asarray(value)


def _read_ends(graph: Any, index: int) -> NDArray[np.int64]:
    """Return the ends of the edges of a graph, as an array of two rows."""
    value = _attribute(graph, "edge_index")
    if value is None:
        raise ValueError(
            f"Graph {index} has no edge_index. For a graph without edges, set it to"
            " torch.empty((2, 0), dtype=torch.long); for a sparse adj_t, to what"
            " torch_geometric.utils.to_edge_index returns."
        )
    ends = _to_array(value, index, "edge_index")
    if ends.ndim != 2 or len(ends) != 2 or ends.dtype.kind not in "iu":
        raise ValueError(
            f"Graph {index} has an edge_index of shape {ends.shape} and type {ends.dtype.name};"
            " two rows of whole numbers are expected, the first and the second node of each edge."
        )
    return ends.astype(np.int64)


def _count_nodes(graph: Any, index: int, names: tuple[Hashable | None, ...]) -> int:
    """Return the number of nodes of a graph, which edges alone do not say."""
    if (n_nodes := _attribute(graph, "num_nodes")) is not None:
        return int(n_nodes)
    for name in (*COUNTED, *names):
        if (value := _attribute(graph, name)) is not None:
            return len(value)
    raise ValueError(
        f"Graph {index} does not say how many nodes it has, and those without edges would be"
        " lost. Set num_nodes, or x."
    )


def _check_ends(arrays: GraphArrays) -> None:
    n_nodes = arrays.n_nodes[arrays.graph_of]
    low = np.minimum(arrays.source, arrays.target)
    is_wrong = (low < 0) | (np.maximum(arrays.source, arrays.target) >= n_nodes)
    if is_wrong.any():
        edge = int(is_wrong.argmax())
        raise ValueError(
            f"{arrays.locate_edge(edge)} of edge_index leads out of the graph, which has"
            f" {n_nodes[edge]} nodes, numbered from 0. Correct it, or num_nodes."
        )


def _read_nodes(
    columns: _Columns, node_label: Hashable | None, node_features: Hashable | None
) -> tuple[Numbered, Hashable | None, Hashable | None]:
    """Return the labels of nodes, and the names of the attributes with labels and features."""
    if node_label is None:  # labels are ignored, and numbers are read as by default
        takes_array = node_features is None and columns.get(DEFAULT_NODE_LABEL, "node") is None
        values = columns.get(NODE_ARRAY, "node") if takes_array else None
        is_read = values is not None and not _are_categories(values)
        return NO_LABELS, None, NODE_ARRAY if is_read else node_features
    if node_label != DEFAULT_NODE_LABEL or columns.get(node_label, "node") is not None:
        values = columns.require(node_label, "node_label")
        return _number_categories(columns, values, node_label, "node"), node_label, node_features
    values = None if node_features == NODE_ARRAY else columns.get(NODE_ARRAY, "node")
    if values is None:
        return NO_LABELS, node_label, node_features
    if _are_categories(values):
        labels = _number_categories(columns, values, NODE_ARRAY, "node")
        return labels, NODE_ARRAY, node_features
    return NO_LABELS, node_label, NODE_ARRAY if node_features is None else node_features


def _read_edge_labels(
    columns: _Columns, edge_label: Hashable | None, others: set[Hashable | None]
) -> tuple[Numbered, Hashable | None]:
    """Return the labels of edges, and the name of the attribute that holds them."""
    if edge_label is None:
        return NO_LABELS, None
    if edge_label == DEFAULT_EDGE_LABEL:  # as an attribute of data, that of nodes
        values = None if EDGE_ARRAY in others else columns.get(EDGE_ARRAY, "edge")
        if values is None or not _are_categories(values):
            return NO_LABELS, edge_label
        edge_label = EDGE_ARRAY
    values = columns.require(edge_label, "edge_label")
    if values is None:  # there are no edges
        return NO_LABELS, edge_label
    return _number_categories(columns, values, edge_label, "edge"), edge_label


def _are_categories(values: NDArray[Any]) -> bool:
    """Return whether values are categories without anybody having said so."""
    return values.dtype.kind in "biu" or _are_one_hot(values)


def _are_one_hot(values: NDArray[Any]) -> bool:
    """Return whether all rows have a single one among zeros, and at least two columns."""
    if values.ndim != 2 or values.shape[1] < 2 or values.dtype.kind not in "biuf":
        return False
    return bool(((values == 0) | (values == 1)).all() and (values.sum(axis=1) == 1).all())


def _number_categories(columns: _Columns, values: Any, name: Hashable, kind: str) -> Numbered:
    """Return the labels in an attribute: whole numbers, rows of them, or one-hot rows."""
    if _are_one_hot(values):
        return number_integers(values.argmax(axis=1))
    if values.dtype.kind in "biu" and (values.ndim == 1 or values.shape[1]):
        return number_integers(values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2:
        raise ValueError(
            f"{show(name)} ({kind}_label) has {values.shape[1]} columns of numbers that are neither"
            f" whole nor one-hot, so they are no categories; pass {kind}_features={show(name)}."
        )
    return number_labels(values.tolist(), columns.locate(kind), name)


def _only_column(values: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return weights without a second axis of length one."""
    is_column = values is not None and values.ndim == 2 and values.shape[1] == 1
    return values[:, 0] if is_column else values  # type: ignore[index]


def _number_rows(kind: NDArray[np.int64], values: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers that are equal where `kind` and the rows of an array are."""
    for column in values.reshape(len(kind), -1).T if len(kind) else []:
        ids = np.unique(column, return_inverse=True)[1].reshape(-1)
        codes = kind * (int(ids.max()) + 1) + ids
        kind = np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return kind


def _warn_of_unread(columns: _Columns, read: set[Hashable | None], labels: Numbered) -> None:
    """Warn of numbers on edges that differ and are not used."""
    if EDGE_WEIGHT not in read and columns.differ(EDGE_WEIGHT):
        warn_of_weight(EDGE_WEIGHT, f"Pass edge_weight={EDGE_WEIGHT!r} to use it", stacklevel=5)
    if DEFAULT_EDGE_LABEL in read and EDGE_ARRAY not in read:
        _warn_of_numbers(columns, labels, stacklevel=5)


def warn_of_edge_numbers(graphs: list[Any], read: set[Hashable | None]) -> None:
    """Warn of numbers in `edge_attr` that differ, for an estimator that reads no edge labels.

    `read` has the names of the attributes that it does read.
    """
    if EDGE_ARRAY in read:
        return
    columns = _Columns(graphs, ())
    labels, _ = _read_edge_labels(columns, DEFAULT_EDGE_LABEL, set())
    _warn_of_numbers(columns, labels, stacklevel=6)


def _warn_of_numbers(columns: _Columns, labels: Numbered, stacklevel: int) -> None:
    if labels is NO_LABELS and columns.differ(EDGE_ARRAY):
        warnings.warn(
            f"The edges of X differ in {EDGE_ARRAY!r}, whose numbers are no categories and are not"
            f" used. Pass edge_features={EDGE_ARRAY!r} or edge_weight={EDGE_ARRAY!r} to use them,"
            " or edge_label=None to ignore them.",
            UserWarning,
            stacklevel=stacklevel,
        )
