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
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import AS_MADE, as_graph_set
from sklofi.graphs._molecule_options import MoleculeOptions

Method = TypeVar("Method", bound=Callable[..., Any])


def always_checked(function: Method) -> Method:
    """Let a function check arrays of numpy for NaN, whatever the user has configured.

    Targets and weights are small, so that this costs nothing.
    """
    return cast(Method, config_context(array_api_dispatch=False, assume_finite=False)(function))


class TrainingData(NamedTuple):
    """Graphs, targets, weights and groups, checked and of the same length."""

    graphs: GraphSet
    y: NDArray[Any]
    weight: NDArray[np.float64]
    groups: NDArray[np.int64] | None = None

    def take(self, rows: NDArray[np.integer]) -> TrainingData:
        """Return the data of some of the graphs."""
        groups = None if self.groups is None else self.groups[rows]
        return TrainingData(self.graphs[rows], self.y[rows], self.weight[rows], groups)


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
    edge_features: Hashable | None = None,
    graph_features: Any = None,
    molecules: MoleculeOptions | str | None = AS_MADE,
    **target_checks: Any,
) -> TrainingData:
    """Return X, y, weights and groups as arrays of the same length, without weights of zero.

    `target_checks` are the arguments of scikit-learn's validation of y.
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
    return data if weight.all() else data.take(np.flatnonzero(weight))


@always_checked
def check_targets(estimator: Any, y: Any, **target_checks: Any) -> NDArray[Any]:
    """Return y as an array that scikit-learn has checked."""
    is_numeric = target_checks.get("y_numeric", False)
    y = _read_numbers(y, "y") if is_numeric else _read_classes(y)
    checked: NDArray[Any] = validate_data(estimator, X="no_validation", y=y, **target_checks)
    return checked


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
            raise ValueError(
                f"Value {position} of {name} is {show(value)} of type {type(value).__name__},"
                " which is not a real number."
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
    class_weight: dict[Any, float] | str | None,
    classes: NDArray[Any],
    y: NDArray[Any],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weight of each class, given the weights of the graphs."""
    if class_weight is None:
        return np.ones(len(classes))
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
