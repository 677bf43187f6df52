"""The reader of edge lists: a table of edges, perhaps a table of nodes, of all graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, full_name, show
from sklofi.graphs._arrays import NO_LABELS, GraphArrays, Numbered
from sklofi.graphs._graph_attributes import read_graph_table
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL, number_labels
from sklofi.graphs._networkx import WEIGHT, warn_of_weight
from sklofi.graphs._segments import offsets_of


class EdgeColumns(NamedTuple):
    """The columns of the two tables that are read, by what they hold."""

    graph: Hashable
    source: Hashable
    target: Hashable
    node: Hashable
    node_label: Hashable | None
    node_features: Hashable | Sequence[Hashable] | None
    edge_label: Hashable | None
    edge_weight: Hashable | None
    edge_features: Hashable | Sequence[Hashable] | None


def read_edge_list(
    edges: Any,
    nodes: Any,
    columns: EdgeColumns,
    graphs: Any,
    directed: bool,
    graph_features: Any = None,
) -> dict[str, Any]:
    """Return the fields of a GraphSet of a table of edges, and of one of nodes if it is not None.

    `graphs` are the names of the graphs to read, in their order; None reads all, in the order in
    which they appear. `graph_features` is a data frame whose index names the graphs, or an array
    in their order.
    """
    _check_frame(edges, "edges")
    if nodes is not None:
        _check_frame(nodes, "nodes")
    elif columns.node_features is not None or columns.node_label not in (None, DEFAULT_NODE_LABEL):
        raise ValueError("node_label and node_features are columns of nodes: pass that table.")
    _check_columns(edges, "edges", [columns.graph, columns.source, columns.target])
    if nodes is not None:
        _check_columns(nodes, "nodes", [columns.graph, columns.node])
    numbered = _number_graphs(edges, nodes, columns.graph, graphs)
    edges, nodes = numbered.edges, numbered.nodes
    n_listed = 0 if nodes is None else len(nodes)
    node_of, arrays = _number_nodes(numbered, columns, directed)
    if nodes is not None:
        _check_nodes(arrays, node_of, n_listed, numbered, columns)
    # Of each node its row in the table of nodes.
    row_of = np.empty(n_listed, np.int64)
    row_of[node_of[:n_listed]] = np.arange(n_listed)
    node_table = None if nodes is None else nodes.iloc[row_of]
    node_label, edge_label = columns.node_label, columns.edge_label
    if nodes is None or not _has(nodes, node_label, DEFAULT_NODE_LABEL):
        node_label = None
    if not _has(edges, edge_label, DEFAULT_EDGE_LABEL):
        edge_label = None
    is_read = WEIGHT in (columns.edge_label, columns.edge_weight, columns.edge_features)
    if not is_read and WEIGHT in edges.columns and _differ(edges[WEIGHT]):
        warn_of_weight(WEIGHT, f"Pass edge_weight={WEIGHT!r} to use it", stacklevel=4)
    names: dict[str, Hashable | None] = {
        "node_label": columns.node_label,
        "node_features": _as_name(columns.node_features),
        "edge_label": columns.edge_label,
        "edge_weight": columns.edge_weight,
        "edge_features": _as_name(columns.edge_features),
    }
    of_graphs = read_graph_table(_rows_of(graph_features, numbered.names), len(numbered.names))
    return of_graphs | arrays.build(
        names,
        node_labels=_number_column(node_table, node_label, arrays.locate_node, "nodes"),
        node_features=_take(node_table, columns.node_features, "nodes"),
        edge_labels=_number_column(edges, edge_label, arrays.locate_edge, "edges"),
        edge_weights=_take(edges, columns.edge_weight, "edges"),
        edge_features=_take(edges, columns.edge_features, "edges"),
    )


def _rows_of(table: Any, names: list[Hashable]) -> Any:
    """Return the rows of graphs, in their order, if the index of a table names them."""
    if not hasattr(table, "index") or not hasattr(table, "iloc"):
        return table  # an array
    if not table.index.is_unique:
        twice = table.index[table.index.duplicated()][0]
        raise ValueError(
            f"Graph {show(twice)} is twice in the index of graph_features; it has to name each"
            " graph once."
        )
    rows = table.index.get_indexer(names)
    if (rows < 0).any():
        lacking = names[int((rows < 0).argmax())]
        raise ValueError(
            f"Graph {show(lacking)} has no row in graph_features, a table whose index names the"
            " graphs. Add one, or use table.set_index(column) if a column names them."
        )
    return table.iloc[rows]


class _NumberedGraphs(NamedTuple):
    """The rows of both tables that belong to the graphs, and the number of the graph of each."""

    names: list[Hashable]
    edges: Any
    nodes: Any
    edge_graph: NDArray[np.int64]
    node_graph: NDArray[np.int64]


def _number_graphs(edges: Any, nodes: Any, column: Hashable, wanted: Any) -> _NumberedGraphs:
    """Return the graphs, in the order of `wanted`, or of the table of nodes and that of edges."""
    tables = [edges] if nodes is None else [nodes, edges]
    codes, distinct = _factorize([table[column] for table in tables])
    _check_complete(codes, tables, column)
    names = distinct
    if wanted is not None:
        names = list(wanted)
        position = {name: i for i, name in enumerate(distinct)}
        if unknown := [name for name in names if name not in position]:
            raise ValueError(
                f"Graph {show(unknown[0])} of graphs is in no row of column {show(column)}."
                " A graph without edges needs rows in the table of nodes."
            )
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ValueError(f"Graph {show(twice)} is twice in graphs; name each graph once.")
        order = np.full(len(distinct), -1)
        order[[position[name] for name in names]] = np.arange(len(names))
        codes = order[codes]
    if not names:
        raise ValueError("The tables hold no graphs (0 samples) while a minimum of 1 is required.")
    n_listed = 0 if nodes is None else len(nodes)
    node_graph, edge_graph = codes[:n_listed], codes[n_listed:]
    if (codes < 0).any():  # rows of other graphs
        edges = edges[edge_graph >= 0]
        nodes = None if nodes is None else nodes[node_graph >= 0]
        node_graph, edge_graph = node_graph[node_graph >= 0], edge_graph[edge_graph >= 0]
    return _NumberedGraphs(names, edges, nodes, edge_graph, node_graph)


def _number_nodes(
    numbered: _NumberedGraphs, columns: EdgeColumns, directed: bool
) -> tuple[NDArray[np.int64], GraphArrays]:
    """Return the numbers of the nodes in rows, through all graphs, and the graphs.

    The rows are those of nodes, and then the first and the second end of each edge. Nodes of a
    graph are in the order in which they appear there.
    """
    names, edges, nodes, edge_graph, node_graph = numbered
    ends = [edges[columns.source], edges[columns.target]]
    listed = [] if nodes is None else [nodes[columns.node]]
    codes, distinct = _factorize([*listed, *ends])
    _check_complete(codes[: len(node_graph)], [nodes], columns.node)
    n_listed, n_edges = len(node_graph), len(edge_graph)
    source, target = codes[n_listed : n_listed + n_edges], codes[n_listed + n_edges :]
    _check_complete(source, [edges], columns.source)
    _check_complete(target, [edges], columns.target)
    # As they appear: the ends of the first edge, of the second, and so on.
    interleaved = np.stack([source, target], axis=1).reshape(-1)
    graph = np.concatenate([node_graph, np.repeat(edge_graph, 2)])
    keys = graph * len(distinct) + np.concatenate([codes[:n_listed], interleaved])
    found, keys_of_nodes = _factorize([keys])
    key = np.array(keys_of_nodes, np.int64)
    order = np.argsort(key // max(len(distinct), 1), kind="stable")  # by graph
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    node_of = number[found]
    key = key[order]
    n_nodes = np.bincount(key // max(len(distinct), 1), minlength=len(names))
    ends_of_edges = node_of[n_listed:].reshape(-1, 2)
    first = offsets_of(n_nodes)[edge_graph]
    arrays = GraphArrays(
        n_nodes=n_nodes,
        directed=np.full(len(names), directed),
        graph_of=edge_graph,
        source=ends_of_edges[:, 0] - first,
        target=ends_of_edges[:, 1] - first,
        node_names=_name_nodes(distinct, key % max(len(distinct), 1), n_nodes),
        graph_names=names,
    )
    return node_of, arrays


def _name_nodes(
    distinct: list[Hashable], code: NDArray[np.int64], n_nodes: NDArray[np.int64]
) -> NDArray[Any] | None:
    """Return the names of all nodes, or None if every graph has the nodes 0, 1, 2, ..."""
    if all(type(name) is int and abs(name) < 2**63 for name in distinct):
        names = np.array(distinct, np.int64)[code]
        start = np.repeat(offsets_of(n_nodes)[:-1], n_nodes)
        return None if (names == np.arange(len(names)) - start).all() else names
    every = np.fromiter(distinct, dtype=object, count=len(distinct))
    return every[code]


def _check_nodes(
    arrays: GraphArrays,
    node_of: NDArray[np.int64],
    n_listed: int,
    numbered: _NumberedGraphs,
    columns: EdgeColumns,
) -> None:
    """Check that the table of nodes has every node once."""
    n_rows = np.bincount(node_of[:n_listed], minlength=int(arrays.n_nodes.sum()))
    if (n_rows > 1).any():
        where = arrays.locate_node(int((n_rows > 1).argmax()))
        raise ValueError(f"{where} is in more than one row of nodes. Keep one row for each node.")
    if (n_rows == 0).any():
        node = int((n_rows == 0).argmax())
        edge = int(np.flatnonzero(node_of[n_listed:] == node)[0]) // 2
        name = arrays.locate_node(node).rstrip(",").split(", node ", 1)[1]
        raise ValueError(
            f"{arrays.locate_edge(edge)} has the end {name}, which is not in the table of nodes."
            " Add a row for it, or leave out the edge."
        )


def _factorize(columns: list[Any]) -> tuple[NDArray[np.int64], list[Hashable]]:
    """Return columns, one after the other, as numbers of distinct values, and these.

    Values have their numbers by their first appearance; missing ones have -1.
    """
    import pandas as pd

    kinds = {str(column.dtype) for column in columns}
    if len(kinds) > 1 or isinstance(columns[0].dtype, pd.CategoricalDtype):
        columns = [column.astype(object) for column in columns]
    whole = columns[0] if len(columns) == 1 else pd.concat(columns, ignore_index=True)
    codes, distinct = pd.factorize(whole)
    return np.asarray(codes, np.int64), distinct.tolist()


def _check_complete(codes: NDArray[np.int64], tables: list[Any], column: Hashable) -> None:
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        n_first = len(tables[0])
        table = tables[0] if row < n_first else tables[1]
        label = table.index[row if row < n_first else row - n_first]
        raise ValueError(
            f"The row {show(label)} has no value in column {show(column)}. Fill it in, or drop the"
            " row."
        )


def _check_frame(table: Any, word: str) -> None:
    if not (hasattr(table, "iloc") and hasattr(table, "columns")):
        raise TypeError(
            f"{word} has to be a pandas DataFrame, got {full_name(type(table))}; of a file,"
            " pandas.read_csv or pandas.read_parquet makes one."
        )


def _check_columns(table: Any, word: str, names: Sequence[Hashable]) -> None:
    for name in names:
        if isinstance(attempt(hash, name), Exception) or list(table.columns).count(name) != 1:
            shown = ", ".join(map(show, table.columns[:10]))
            raise ValueError(
                f"The table {word} needs one column {show(name)}; it has {shown or 'none'}."
            )


def _has(table: Any, name: Hashable | None, default: Hashable) -> bool:
    """Return whether labels are to be read, which may be absent under their default name."""
    return name is not None and (name != default or name in table.columns)


def _as_name(names: Any) -> Hashable | None:
    """Return columns as the name of the attribute that they become: a tuple if it is a list."""
    name: Hashable | None = tuple(names) if isinstance(names, list) else names
    return name


def _take(table: Any, names: Any, word: str) -> Any:
    """Return numbers in one or several columns, as an array."""
    if names is None or table is None:
        return None
    is_several = isinstance(names, list)
    _check_columns(table, word, names if is_several else [names])
    values = table[names].to_numpy()
    if values.dtype == object:  # vectors, or numbers of a type of pandas
        values = values.tolist()
    return values


def _number_column(
    table: Any, name: Hashable | None, locate: Callable[[int], str], word: str
) -> Numbered:
    """Return the labels in a column: distinct values first, of which there are few."""
    if name is None or table is None:
        return NO_LABELS
    _check_columns(table, word, [name])
    column = table[name]
    found = attempt(_factorize, [column])
    if isinstance(found, Exception):  # values that cannot be hashed: find where
        return number_labels(column.tolist(), locate, name)
    codes, distinct = found
    if (codes < 0).any():
        raise ValueError(
            f"{locate(int((codes < 0).argmax()))} has no value in column {show(name)}."
            " Replace missing labels by a category of their own."
        )

    def locate_first(code: int) -> str:
        return locate(int((codes == code).argmax()))

    ids, labels = number_labels(distinct, locate_first, name)
    return ids[codes], labels


def _differ(column: Any) -> bool:
    found = attempt(_factorize, [column])
    return isinstance(found, Exception) or len(found[1]) > 1
