"""Several labels of a graph at once, of which some may be unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, show

# How a label is written that is not known.
UNKNOWN = -1


def read_labels(y: Any, *, is_part: bool = False) -> NDArray[np.int8] | None:
    """Return the labels of graphs, or None if `y` is not a table of labels.

    Parameters
    ----------
    y : array-like of shape (n_graphs, n_labels)
        For each label 1 where a graph has it, 0 where it does not, and NaN (or None, or the
        missing value of pandas) where nobody knows. A single column is no table: as everywhere
        in scikit-learn, it is taken for targets of one dimension.

    is_part : bool, default=False
        Whether these are some graphs of several, so that a label may be unknown of all of them.

    Returns
    -------
    labels : ndarray of shape (n_graphs, n_labels) or None
        The same as small integers, with `UNKNOWN` for labels that are not known.
    """
    table = attempt(np.asarray, y)
    if isinstance(table, Exception) or table.ndim != 2 or table.shape[1] < 2 or len(table) == 0:
        return None
    labels = np.full(table.shape, UNKNOWN, dtype=np.int8)
    if table.dtype.kind in "biuf":
        is_known = ~np.isnan(table) if table.dtype.kind == "f" else np.ones(table.shape, bool)
        is_label = (table == 0) | (table == 1)
        labels[is_label] = table[is_label].astype(np.int8)
    else:
        values = table.astype(object)
        is_known = ~np.vectorize(is_missing, otypes=[bool])(values)
        is_label = np.zeros(table.shape, dtype=bool)
        for at in zip(*is_known.nonzero(), strict=True):
            if isinstance(values[at], bool | int | float | np.bool_ | np.number):
                is_label[at] = values[at] in (0, 1)
                labels[at] = int(values[at]) if is_label[at] else UNKNOWN
    if (wrong := is_known & ~is_label).any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise ValueError(
            f"The value of y in row {row}, column {column} is"
            f" {show(table[row].tolist()[column])}."
            " Where y has several columns, each one is a label: 1 for graphs that have it, 0 for"
            " those that do not, NaN where it is not known. For one target with several classes,"
            " pass y of one dimension."
        )
    if not is_part:
        check_columns_known(is_known)
    return labels


def read_true_classes(y: Any) -> Any:
    """Return classes as they are, and several labels as integers, all of which are known."""
    labels = read_labels(y, is_part=True)
    if labels is not None and (labels == UNKNOWN).any():
        raise ValueError(
            "y has missing labels, and the share of graphs whose labels are all right is not"
            " known then. Use sklofi.comparison.multilabel_roc_auc, which leaves out what is"
            " missing."
        )
    return y if labels is None else labels


def check_columns_known(is_known: NDArray[np.bool_]) -> None:
    """Refuse a column of which nothing is known."""
    if len(empty := np.flatnonzero(~is_known.any(axis=0))):
        raise ValueError(
            f"Column {empty[0]} of y has no known value: all of its values are missing. Leave the"
            " column out."
        )


def known_values(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are known of labels that :func:`read_labels` returns, or of floats."""
    known: NDArray[np.bool_] = ~np.isnan(y) if y.dtype.kind == "f" else y != UNKNOWN
    return known


def is_missing(value: Any) -> bool:
    """Return whether a value of any type says that nothing is known."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return attempt(lambda: bool(value != value)) is True  # only NaN differs from itself


def strata_of_labels(labels: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the strata that a split is balanced over: the rarest thing known of each graph.

    A thing is a label that is there, or one that is not. Parts with the same share of each
    stratum have about the same share of what is rare, and so about the same share of all.

    Parameters
    ----------
    labels : ndarray of shape (n_graphs, n_labels)
        Labels as :func:`read_labels` returns them.

    Returns
    -------
    strata : ndarray of shape (n_graphs,)
        A number for each graph; those of which nothing is known are one stratum.
    """
    things = np.concatenate([labels == 0, labels == 1], axis=1)
    sizes = things.sum(axis=0)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(sizes, kind="stable")] = np.arange(len(sizes))
    strata: NDArray[np.int64] = np.where(things, rank, len(sizes)).min(axis=1)
    return strata
