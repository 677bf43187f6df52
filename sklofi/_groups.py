"""Groups of graphs that splits keep together, such as molecules of the same scaffold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, show


def check_groups(groups: Any, n_graphs: int) -> NDArray[np.int64]:
    """Return the groups of graphs as numbers from 0 on, in the order of their first graphs.

    Parameters
    ----------
    groups : array-like of shape (n_graphs,)
        The group of each graph: numbers, texts, or anything else that can be hashed.

    n_graphs : int
        How many graphs there are.

    Returns
    -------
    numbers : ndarray of shape (n_graphs,)
        The number of the group of each graph.

    Raises
    ------
    ValueError
        If there is not one value for each graph, or if a value is missing.
    """
    values = _read_values(groups)
    if len(values) != n_graphs:
        raise ValueError(
            f"X has {n_graphs} graphs, but groups has {len(values)} values; every graph needs one."
        )
    numbers: dict[Any, int] = {}
    result = np.empty(n_graphs, dtype=np.int64)
    for position, value in enumerate(values):
        if attempt(_is_missing, value) is not False:
            raise ValueError(
                f"Value {position} of groups is {show(value)}, which names no group. Every graph"
                " needs a group, even if it is the only one in it."
            )
        number = attempt(numbers.setdefault, value, len(numbers))
        if isinstance(number, Exception):
            raise ValueError(
                f"Value {position} of groups is {show(value)} of type {type(value).__name__},"
                " which cannot be hashed and compared. Groups are numbers or strings."
            )
        result[position] = number
    return result


def _read_values(groups: Any) -> list[Any]:
    array = groups if isinstance(groups, np.ndarray) else attempt(_read_list, groups)
    if isinstance(array, Exception):
        raise ValueError(
            f"groups cannot be made an array ({array}). Pass a list or an array with the group of"
            " each graph."
        )
    if array.ndim != 1:
        raise ValueError(
            f"groups has {array.ndim} dimensions; pass a list or an array with one value for each"
            " graph."
        )
    values: list[Any] = list(array) if array.dtype.kind in "mM" else array.tolist()
    return values


def _read_list(groups: Any) -> NDArray[Any]:
    if isinstance(groups, (str, bytes)):
        raise TypeError(f"it is the text {show(groups)}")
    if not isinstance(groups, (list, tuple)):
        return np.asarray(groups)
    values = np.empty(len(groups), dtype=object)  # numpy would make texts of 1 and "a"
    values[:] = groups
    return values


def _is_missing(value: Any) -> bool:
    return value is None or bool(value != value)
