"""Categorical labels: which values can be one, and their fixed order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, show

# The names of attributes that may be absent.
DEFAULT_NODE_LABEL = "label"
DEFAULT_EDGE_LABEL = "label"

# The types of most labels. Their values hold no arrays and need no further look.
_PLAIN_TYPES = {str, int, float, bool}


def number_labels(
    values: list[Any], locate: Callable[[int], str], name: Hashable, advice: str = ""
) -> tuple[NDArray[np.int32], tuple[Hashable, ...]]:
    """Return the position of each value among the distinct ones, and those in a fixed order.

    Parameters
    ----------
    values : list
        Labels, one for each node or edge.

    locate : callable
        Takes a position in `values` and returns the beginning of an error message.

    name : hashable
        The attribute that holds the labels.

    advice : str, default=""
        What to do with values that are no categories, for error messages.

    Returns
    -------
    label_ids : ndarray of shape (n_values,)
        Positions in `labels`.

    labels : tuple
        The distinct labels.
    """
    distinct = attempt(_distinct_labels, values)
    if isinstance(distinct, Exception):
        position = _first_unusable(values)
        value = values[position]
        raise TypeError(
            f"{locate(position)} has the label {show(value)} of type {type(value).__name__},"
            " which cannot be hashed and compared. Labels are categories such as strings or"
            f" integers{advice}."
        )
    values, labels, has_nan = distinct
    if has_nan:
        position = next(i for i, value in enumerate(values) if _is_nan(value))
        is_inside = isinstance(values[position], (tuple, frozenset))
        what = f"NaN in its label {show(values[position])}" if is_inside else "the label NaN"
        raise ValueError(
            f"{locate(position)} has {what} under {show(name)}."
            " Replace missing labels by a category of their own."
        )
    labels = sort_labels(labels)
    number = {label: i for i, label in enumerate(labels)}
    label_ids = np.fromiter(map(number.__getitem__, values), np.int32, count=len(values))
    return label_ids, tuple(labels)


def sort_labels(labels: Iterable[Hashable]) -> list[Hashable]:
    """Return labels of any type in an order that is the same in every process.

    Neither ``hash`` nor ``repr`` may decide: both differ from process to process for some
    types. Labels of a type that is not known here stay in the order in which they come.
    """
    return sorted(labels, key=_label_key)


def used_labels(ids: NDArray[np.int32], labels: Sequence[Hashable]) -> list[Hashable]:
    """Return the labels that occur, in the order that they would have if there were no others.

    A slice has the labels of the whole set, some of which may be of types that have no order but
    that of their appearance.
    """
    present, first = np.unique(ids, return_index=True)
    return sort_labels(labels[i] for i in present[np.argsort(first)].tolist())


def _label_key(label: Hashable) -> tuple[Any, ...]:
    match label:
        case None:
            return ("0",)
        case Real() if not isinstance(label, np.timedelta64):
            # numpy would compare within the range of a type of 16 bits.
            return ("1 number", label.item() if isinstance(label, np.generic) else label)
        case str():
            return ("2 str", label)
        case bytes():
            return ("3 bytes", label)
        case tuple():
            return ("4 tuple", [_label_key(member) for member in label])
        case frozenset():
            return ("5 frozenset", sorted(map(_label_key, label)))
        case _:
            return ("6 " + type(label).__qualname__,)


def _distinct_labels(values: list[Any]) -> tuple[list[Any], list[Hashable], bool]:
    """Return values without arrays, the distinct ones in order, and whether any is NaN."""
    if not _PLAIN_TYPES.issuperset(map(type, values)):
        values = [*map(_without_arrays, values)]
    distinct = list(dict.fromkeys(values))  # in the order of the values, unlike a set
    return values, distinct, any(map(_is_nan, distinct))


def _first_unusable(values: list[Any]) -> int:
    """Return the first value that cannot be hashed, or compared with itself or those before it."""
    seen: dict[Hashable, bool] = {}
    for position, value in enumerate(values):
        if isinstance(attempt(_add_label, seen, value), Exception):
            return position
    raise ValueError("All values can be used.")


def _add_label(seen: dict[Hashable, bool], value: Any) -> None:
    value = _without_arrays(value)
    seen[value] = _is_nan(value)


def _is_nan(value: Any) -> bool:
    """Return whether a value, or one inside it, is not equal to itself.

    A tuple compares its members by identity first, so that one with NaN equals itself until
    it is copied to another process or a file.
    """
    if isinstance(value, (tuple, frozenset)):
        return any(map(_is_nan, value))
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA cannot even say that
        return True


def _without_arrays(value: Any) -> Any:
    """Return the same with numbers in place of the arrays and tensors that hold one.

    Those of torch are hashed by their identity: each would be a label of its own.
    """
    if isinstance(value, (tuple, frozenset)):
        members = [*map(_without_arrays, value)]
        is_same = all(map(operator.is_, members, value))
        return value if is_same else (tuple if isinstance(value, tuple) else frozenset)(members)
    if isinstance(value, np.generic) or not hasattr(value, "ndim"):
        return value
    if value.ndim > 0:
        raise TypeError("an array is not a category")
    return value.item()
