"""Categorical labels: which values can be one, and their fixed order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import show


def used_labels(ids: NDArray[np.int32], labels: Sequence[Hashable]) -> list[Hashable]:
    """The labels that occur, in the order that they would have if others had never been there.

    A slice has the labels of the whole set, some of which may be of types that have no order but
    that of their appearance.
    """
    present, first = np.unique(ids, return_index=True)
    return sort_labels(labels[i] for i in present[np.argsort(first)].tolist())


DEFAULT_NODE_LABEL = "label"


DEFAULT_EDGE_LABEL = "label"


# Of labels that are what they seem, as most are.
_PLAIN_TYPES = {str, int, float, bool}


def sort_labels(labels: Iterable[Hashable]) -> list[Hashable]:
    """Sort labels of any type in a way that is the same in every process.

    Neither ``hash`` nor ``repr`` may decide: both differ from process to process for some
    types. Labels of a type that is not known here stay in the order in which they come.
    """
    return sorted(labels, key=_label_key)


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


def _number_labels(
    values: list[Any], locate: Callable[[int], str], name: Hashable, advice: str = ""
) -> tuple[NDArray[np.int32], tuple[Hashable, ...]]:
    """Of each value its position among the distinct ones, and those in a fixed order."""
    try:
        if not _PLAIN_TYPES.issuperset(map(type, values)):
            values = [*map(_without_arrays, values)]
        distinct = dict.fromkeys(values)  # in the order of the values, unlike a set
        has_nan = any(map(_is_nan, distinct))
    except Exception:  # whatever a class of somebody else raises
        position = _first_unusable(values)
        raise TypeError(
            f"{locate(position)} has the label {show(values[position])} of type"
            f" {type(values[position]).__name__}, which cannot be hashed and compared. Labels"
            f" are categories such as strings or integers{advice}."
        ) from None
    if has_nan:
        position = next(i for i, value in enumerate(values) if _is_nan(value))
        is_inside = isinstance(values[position], (tuple, frozenset))
        what = f"NaN in its label {show(values[position])}" if is_inside else "the label NaN"
        raise ValueError(
            f"{locate(position)} has {what} under {show(name)}."
            " Replace missing labels by a category of their own."
        )
    labels = sort_labels(distinct)
    number = {label: i for i, label in enumerate(labels)}
    label_ids = np.fromiter(map(number.__getitem__, values), np.int32, count=len(values))
    return label_ids, tuple(labels)


def _enumerate(names: Sequence[Hashable]) -> str:
    shown = ", ".join(map(show, names[:5])) + (", ..." if len(names) > 5 else "")
    return f"the attributes {shown}" if names else "no attributes"


def _first_unusable(values: list[Any]) -> int:
    """The first value that cannot be hashed, or compared with itself or those before it."""
    seen = {}
    for position, value in enumerate(values):
        try:
            value = _without_arrays(value)
            seen[value] = _is_nan(value)
        except Exception:
            return position
    raise ValueError("All values can be used.")


def _is_nan(value: Any) -> bool:
    """Whether a value, or one inside it, is not equal to itself.

    A tuple compares its members by identity first, so that one with NaN equals itself until
    it is copied to another process or a file.
    """
    if isinstance(value, (tuple, frozenset)):
        return any(map(_is_nan, value))
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA does not even know that
        return True


def _without_arrays(value: Any) -> Any:
    """The same with numbers in place of the arrays and tensors that hold one.

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


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:
        return False
    return True
