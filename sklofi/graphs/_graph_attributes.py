"""Features of whole graphs: attributes of the graphs themselves, or a table beside them.

Each error names the first graph that it is about, and the attribute or column.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, full_name, show
from sklofi.graphs._attributes import MISSING, describe_names, stack_vectors
from sklofi.graphs._labels import sort_labels

# The name of features that were given without one.
DEFAULT_GRAPH_FEATURES = "features"


def read_graph_features(attributes: Sequence[Mapping[Any, Any]], names: Any) -> dict[str, Any]:
    """Return the fields of a GraphSet with the features of graphs, none if `names` is None.

    Parameters
    ----------
    attributes : sequence of mapping
        The attributes of each graph.

    names : hashable, list of hashable or None
        An attribute that holds a number or a vector, or several that hold a number each.

    Returns
    -------
    fields : dict
        The fields `graph_vectors` and `graph_features`.
    """
    if names is None:
        return {}
    if isinstance(attempt(hash, tuple(names) if isinstance(names, list) else names), Exception):
        raise TypeError(
            "graph_features names an attribute of the graphs, or several in a list, got"
            f" {show(names)} of type {type(names).__name__}. An array is passed beside the graphs:"
            " GraphSet.from_networkx(graphs).with_graph_features(array)."
        )
    if not isinstance(names, (list, tuple)):
        return {"graph_vectors": _read_attribute(attributes, names), "graph_features": names}
    if not names:
        raise ValueError("graph_features is an empty list; pass None for graphs without features.")
    columns = [_read_attribute(attributes, name) for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.shape[1] != 1:
            raise ValueError(
                f"The graphs have vectors of {column.shape[1]} numbers as their features"
                f" {show(name)}. Where graph_features names several attributes, each has to be a"
                " number."
            )
    return {"graph_vectors": np.hstack(columns), "graph_features": tuple(names)}


def read_graph_table(values: Any, n_graphs: int, names: Any = None) -> dict[str, Any]:
    """Return the same fields of a table with a row for each graph, none if it is None.

    Parameters
    ----------
    values : array-like of shape (n_graphs,) or (n_graphs, n_features), or data frame
        The table.

    n_graphs : int
        The number of rows that it has to have.

    names : hashable or sequence of hashable, default=None
        The name of the features, or of each column; by default those of a data frame.

    Returns
    -------
    fields : dict
        The fields `graph_vectors` and `graph_features`.
    """
    if values is None:
        return {}
    n_rows = attempt(len, values)
    if isinstance(n_rows, Exception) or isinstance(values, (str, bytes, Mapping)):
        raise TypeError(
            "graph_features has to be an array or a data frame with a row for each graph, got"
            f" {full_name(type(values))}."
        )
    if n_rows != n_graphs:
        raise ValueError(
            f"graph_features has {n_rows} rows, but there are {n_graphs} graphs. Pass a row for"
            " each graph, in the same order."
        )
    if hasattr(values, "columns"):
        names = tuple(values.columns) if names is None else names
        columns = [_as_values(values[name]) for name in values.columns]
        if not columns:
            raise ValueError("graph_features is a data frame without columns.")
        labels = names if isinstance(names, (list, tuple)) else values.columns
        _check_names(labels, len(columns))
        pairs = zip(columns, labels, strict=True)
        vectors = np.hstack([_stack(column, name) for column, name in pairs])
    else:
        given = getattr(values, "name", None) if names is None else names
        names = DEFAULT_GRAPH_FEATURES if given is None else given
        vectors = _stack(_as_values(values), names)
    if isinstance(names, (list, tuple)):
        _check_names(names, vectors.shape[1])
        names = tuple(names)
    return {"graph_vectors": vectors, "graph_features": names}


def names_of_columns(name: Hashable, n_columns: int) -> list[str]:
    """Return a name for each graph feature; the numbers of a vector are numbered."""
    if isinstance(name, tuple) and len(name) == n_columns:
        return [str(one) for one in name]
    return [str(name)] if n_columns == 1 else [f"{name}{i}" for i in range(n_columns)]


def same_names(one: Any, other: Any) -> bool:
    """Return whether two names of graph features are the same, as a list, a tuple or alone."""
    return _as_tuple(one) == _as_tuple(other)


def _as_tuple(names: Any) -> tuple[Any, ...]:
    return tuple(names) if isinstance(names, (list, tuple)) else (names,)


def _check_names(names: Sequence[Hashable], n_columns: int) -> None:
    """Check that there is a name for each column, and that no two are the same."""
    if len(names) != n_columns:
        raise ValueError(f"graph_features has {n_columns} columns, but {len(names)} names.")
    texts = [str(name) for name in names]
    twice = [name for name in names if texts.count(str(name)) > 1]
    if twice:
        raise ValueError(
            f"graph_features has two columns {show(twice[0])}. Give each column a name of its own."
        )


def _as_values(values: Any) -> Any:
    """Return a column, or an array, in a form that numpy knows without loss."""
    array = values.to_numpy() if hasattr(values, "to_numpy") else values
    # Numbers of a type of pandas, or vectors.
    is_object = isinstance(array, np.ndarray) and array.dtype == object
    return array.tolist() if is_object else array


def _stack(values: Any, name: Hashable) -> NDArray[np.float64]:
    return stack_vectors(values, "Graph {}".format, name, "graph")


def _read_attribute(attributes: Sequence[Mapping[Any, Any]], name: Any) -> NDArray[np.float64]:
    """Return an attribute that every graph has to have."""
    values = [of_graph.get(name, MISSING) for of_graph in attributes]
    lacking = [index for index, value in enumerate(values) if value is MISSING]
    if len(lacking) == len(values):
        known = sort_labels({key for of_graph in attributes for key in of_graph})
        raise ValueError(
            f"No graph has the attribute {show(name)} (graph_features); the graphs have"
            f" {describe_names(known)}. Pass graph_features=None for graphs without features, or"
            " a table beside them with GraphSet.with_graph_features."
        )
    if lacking:
        raise ValueError(
            f"Graph {lacking[0]} has no attribute {show(name)} (graph_features), which other"
            f" graphs have ({len(lacking)} of {len(values)} graphs lack it). Set it on every"
            " graph."
        )
    return _stack(values, name)
