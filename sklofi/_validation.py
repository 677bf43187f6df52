"""Check targets and weights in the same way in every estimator."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from sklofi._groups import check_groups
from sklofi._messages import attempt, show
from sklofi._multilabel import (
    UNKNOWN,
    check_columns_known,
    is_missing,
    known_values,
    read_labels,
)
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import AS_MADE, UNUSED, as_graph_set
from sklofi.graphs._molecule_options import MoleculeOptions

Method = TypeVar("Method", bound=Callable[..., Any])


def always_checked(function: Method) -> Method:
    """Let a function check arrays of numpy for NaN, whatever the user has configured.

    Targets and weights are small, so that this costs nothing.
    """
    return cast(Method, config_context(array_api_dispatch=False, assume_finite=False)(function))


class TrainingData(NamedTuple):
    """Graphs, targets, weights and groups, checked and of the same length.

    Where weights of single targets in a table are not those of their graphs, they are here, too.
    """

    graphs: GraphSet
    y: NDArray[Any]
    weight: NDArray[np.float64]
    groups: NDArray[np.int64] | None = None
    value_weight: NDArray[np.float64] | None = None

    def take(self, rows: NDArray[np.integer]) -> TrainingData:
        """Return the data of some of the graphs."""
        groups, by_value = (
            None if array is None else array[rows] for array in (self.groups, self.value_weight)
        )
        return TrainingData(self.graphs[rows], self.y[rows], self.weight[rows], groups, by_value)

    @property
    def loss_weight(self) -> NDArray[np.float64]:
        """What losses are multiplied by: the weights of targets, or else those of graphs."""
        return self.weight if self.value_weight is None else self.value_weight


@always_checked
def check_training_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any = None,
    *,
    node_label: Hashable | None,
    node_features: Hashable | None = None,
    edge_label: Hashable | None = None,
    edge_weight: Hashable | None = None,
    edge_features: Hashable | None = UNUSED,
    graph_features: Any = None,
    molecules: MoleculeOptions | str | None = AS_MADE,
    is_part: bool = False,
    **target_checks: Any,
) -> TrainingData:
    """Return X, y, weights and groups as arrays of the same length, without weights of zero.

    `target_checks` are the arguments of :func:`check_targets`. Of tables, rows are left out, too,
    of which nothing is known. A column of which nothing is known is refused, unless these graphs
    are a part of those that are learned from.
    """
    names = (node_label, node_features, edge_label, edge_weight, edge_features)
    graphs = as_graph_set(
        X, *names, graph_features=graph_features, molecules=molecules, is_training=True
    )
    y = check_targets(estimator, y, **target_checks)
    if len(y) != len(graphs):
        raise ValueError(
            f"X has {len(graphs)} graphs, but y has {len(y)} targets; every graph needs one."
        )
    sample_weight = _read_numbers(sample_weight, "sample_weight")
    if sample_weight is not None and np.asarray(sample_weight).ndim == 0:
        sample_weight = np.full(len(y), sample_weight)  # scikit-learn checks arrays only
    if sample_weight is not None and not np.asarray(sample_weight).any():
        raise ValueError(
            "All sample weights are zero (sample_weight); at least one graph needs a"
            " weight above zero to be fitted to."
        )
    weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
    groups = None if groups is None else check_groups(groups, len(graphs))
    data = TrainingData(graphs, y, weight, groups)
    counts = weight > 0
    is_table = target_checks.get("tables", False) and y.ndim == 2
    if is_table:
        counts &= known_values(y).any(axis=1)
        if not counts.any():
            raise ValueError(
                "No target in y is known of a graph of weight above zero: all values are missing."
            )
    if not counts.all():
        data = data.take(np.flatnonzero(counts))
    if is_table and not is_part:
        check_columns_known(known_values(data.y))
    return data


@always_checked
def check_targets(
    estimator: Any, y: Any, *, tables: bool = False, **target_checks: Any
) -> NDArray[Any]:
    """Return y as an array that scikit-learn has checked, or as a table.

    With `tables`, y of two dimensions may have holes: it becomes the labels that
    :func:`sklofi._multilabel.read_labels` returns, or numbers of 64 bits, some of them NaN.
    `target_checks` are the arguments of scikit-learn's validation of y.
    """
    is_numeric = target_checks.get("y_numeric", False)
    holes: NDArray[np.bool_] | bool = False
    if tables and is_numeric:
        y, holes = fill_holes(y)
    elif tables and (labels := read_labels(y, is_part=True)) is not None:
        return labels
    y = _read_numbers(y, "y") if is_numeric else _read_classes(y)
    _refuse_nan(y)
    checked: NDArray[Any] = validate_data(estimator, X="no_validation", y=y, **target_checks)
    if tables and is_numeric and checked.ndim == 2:
        checked = checked.astype(np.float64)
        checked[holes] = np.nan
    return checked


def _refuse_nan(y: Any) -> None:
    """Refuse NaN in targets that are no table."""
    targets = np.asarray(y)
    if targets.dtype.kind == "f" and (missing := np.isnan(targets)).any():
        raise ValueError(
            f"Input y contains NaN: the target of graph {np.argwhere(missing)[0, 0]} is not known."
            " Leave such graphs out; only where y has several columns may values be missing."
        )


def fill_holes(y: Any) -> tuple[Any, NDArray[np.bool_] | bool]:
    """Return a table of numbers with zeros for those that are missing, and where these are."""
    table = attempt(np.asarray, y)
    if isinstance(table, Exception) or table.ndim != 2 or table.dtype.kind not in "fO":
        return y, False
    if table.dtype.kind == "f":
        holes, infinite = np.isnan(table), np.isinf(table)
    else:
        holes = np.vectorize(is_missing, otypes=[bool])(table)
        infinite = np.vectorize(_is_infinite, otypes=[bool])(table)
    if infinite.any():
        row, column = np.argwhere(infinite)[0].tolist()
        raise ValueError(
            f"The value of y in row {row}, column {column} is"
            f" {show(table[row].tolist()[column])}. Targets"
            " are finite numbers, or NaN where they are not known."
        )
    return (np.where(holes, 0, table), holes) if holes.any() else (y, False)


def _is_infinite(value: Any) -> bool:
    number = attempt(_convert_to_float, value)
    return isinstance(number, float) and bool(np.isinf(number))


def _read_numbers(values: Any, name: str) -> Any:
    """Return values as they are, or as an array of floats if numpy sees no numbers in them."""
    if values is None:
        return None
    array = _read_array(values, name)
    if array.dtype.kind == "c":
        return array  # scikit-learn has an error for complex arrays, but not for lists
    if array.dtype.kind not in "OSUMmV":
        return values
    numbers = np.empty(array.size)
    for position, value in enumerate(array.flat):
        number = attempt(_convert_to_float, value)
        if isinstance(number, Exception):
            place = f"Value {position} of {name}"
            if array.ndim == 2:
                row, column = divmod(position, array.shape[1])
                place = f"The value of {name} in row {row}, column {column}"
            raise ValueError(
                f"{place} is {show(value)} of type {type(value).__name__}, which is not a real"
                " number."
            )
        numbers[position] = number
    return numbers.reshape(array.shape)


def _convert_to_float(value: Any) -> float:
    if isinstance(value, np.complexfloating):
        raise TypeError("numpy would drop the imaginary part")
    return float(value)


def _read_classes(values: Any) -> Any:
    """Return values as they are, if they can be compared with each other."""
    array = _read_array(values, "y")
    if values is not None and array.dtype == object:
        for position, value in enumerate(array.flat):
            if isinstance(attempt(_hash_and_compare, value), Exception):
                raise TypeError(
                    f"Value {position} of y is {show(value)} of type {type(value).__name__}, which"
                    " cannot be hashed and compared. Classes are strings or integers."
                )
        if isinstance(attempt(np.unique, array), Exception):
            kinds = sorted({type(value).__name__ for value in array.flat})
            raise TypeError(
                f"y has classes of the types {', '.join(kinds)}, which cannot be sorted. Classes"
                " are all strings, or all integers."
            )
    return values


def _hash_and_compare(value: Any) -> None:
    hash(value), bool(value != value)


def _read_array(values: Any, name: str) -> NDArray[Any]:
    """Return values as an array that is not empty."""
    array = attempt(np.asarray, values)
    if isinstance(array, Exception):  # also of lists of different lengths
        raise ValueError(
            f"{name} cannot be made an array ({array}). Pass a list or an array with one value"
            " for each graph."
        ) from array
    if array.size == 0:
        raise ValueError(f"{name} is empty; pass one value for each graph.")
    return array


def check_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct classes, at least two, in ascending order."""
    with np.errstate(invalid="ignore"):  # scikit-learn tries whether floats are integers
        check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            "Classification needs graphs of at least 2 classes, but there is only one"
            f" class: {classes.tolist()[0]!r}."
        )
    return classes


def weights_of_classes(
    class_weight: dict[Any, float] | list[dict[Any, float]] | str | None,
    classes: NDArray[Any],
    y: NDArray[Any],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weight of each class, given the weights of the graphs."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, list):
        raise ValueError(
            "class_weight is a list, which is for y with a column for each of several labels. Here"
            " y has one dimension; pass a dict."
        )
    if isinstance(class_weight, str):  # "balanced"
        # By weight, not by number, so that graphs of weight 2 count as two.
        mass = np.bincount(np.searchsorted(classes, y), weight, minlength=len(classes))
        if absent := classes[mass == 0].tolist():
            raise ValueError(
                f'class_weight="balanced" needs graphs of all classes, but y has none of {absent}.'
            )
        balanced: NDArray[np.float64] = mass.sum() / (len(mass) * mass)
        return balanced
    names = classes.tolist()
    absent = [name for name in names if name not in class_weight]
    unknown = [name for name in class_weight if name not in names]
    if absent and unknown:
        raise ValueError(
            f"class_weight names the classes {unknown}, which y does not have, and lacks {absent}."
        )
    weights = np.array([class_weight.get(name, 1) for name in names], dtype=float)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            f"class_weight has to be finite, not negative, and not zero for all classes,"
            f" got {class_weight}."
        )
    return weights


def weights_of_labels(
    class_weight: dict[Any, float] | list[dict[Any, float]] | str | None,
    y: NDArray[np.int8],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weights of both classes of each label, of shape (n_labels, 2).

    `y` are labels as :func:`sklofi._multilabel.read_labels` returns them, and `weight` is that of
    the graphs.
    """
    n_labels = y.shape[1]
    if isinstance(class_weight, list):
        if len(class_weight) != n_labels or not all(isinstance(w, dict) for w in class_weight):
            raise ValueError(
                f"class_weight has to be a list of {n_labels} dicts, one for each column of y, got"
                f" {show(class_weight)}."
            )
        by_label: list[Any] = class_weight
    else:
        by_label = [class_weight] * n_labels
    weights = np.ones((n_labels, 2))
    for column, of_label in enumerate(by_label):
        known = np.flatnonzero(y[:, column] != UNKNOWN)
        values = y[known, column]
        # A class that nobody has cannot be balanced, and does not need to be.
        classes = np.unique(values) if isinstance(of_label, str) else np.arange(2)
        weights[column, classes] = weights_of_classes(of_label, classes, values, weight[known])
    return weights
