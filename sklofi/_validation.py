"""Check targets and weights, and scale them, in the same way in every estimator."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import MethodType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from sklofi._messages import attempt, show
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set

# In standard deviations. Only targets of almost no weight are so far away; solvers would not
# come to an end with the squares of larger ones.
FARTHEST_TARGET = 1e8

Method = TypeVar("Method", bound=Callable[..., Any])


def always_checked(function: Method) -> Method:
    """Let a function check arrays of numpy for NaN, whatever the user has configured.

    Targets and weights are small, so that this costs nothing.
    """
    return cast(Method, config_context(array_api_dispatch=False, assume_finite=False)(function))


@always_checked
def check_training_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    node_label: Hashable | None,
    node_features: Hashable | None = None,
    edge_label: Hashable | None = None,
    **target_checks: Any,
) -> tuple[GraphSet, NDArray[Any], NDArray[np.float64]]:
    """Return X, y and weights as arrays of the same length, without graphs of weight zero.

    `target_checks` are the arguments of scikit-learn's validation of y.
    """
    graphs = as_graph_set(X, node_label, node_features, edge_label, is_training=True)
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
    if not weight.all():
        weighted = np.flatnonzero(weight)
        return graphs[weighted], y[weighted], weight[weighted]
    return graphs, y, weight


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


def weighted_mean_and_scale(
    values: NDArray[np.float64],
    weight: NDArray[np.float64],
    eps: float = float(np.finfo(np.float64).eps),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and standard deviations of columns; the latter are 1 for constant columns.

    A column counts as constant if it varies by no more than rounding does, `eps` being
    the precision with which the values were computed.
    """
    largest = np.abs(values).max(axis=0)
    largest[largest == 0] = 1
    # Also where the user lets numpy raise errors. Nothing overflows, but numpy 1 warns of it for
    # the smallest numbers.
    with np.errstate(under="ignore", over="ignore"):
        values = values / largest  # so that squares neither overflow nor vanish
        weight = weight / weight.max()  # nor sums
        mean = np.average(values, axis=0, weights=weight)
        scale = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weight))
        spread = largest * scale
        # The spread of the smallest numbers there are may vanish.
        is_constant = (scale <= 10 * eps) | (spread == 0)
        return largest * mean, np.where(is_constant, 1.0, spread)


def weighted_quantile(
    values: NDArray[Any], weight: NDArray[np.float64], share: float
) -> np.number[Any]:
    """Return the least value at which this share of the weight is reached.

    As numpy's "inverted_cdf", which takes weights since its version 2 only; rounding of
    weights to 32 bits does not count.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    position = np.searchsorted(reached, (share - 1e-6) * reached[-1])
    return cast("np.number[Any]", values[order][position])


def standardize_target(
    y: NDArray[Any], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], np.float64, np.float64]:
    """Return targets of mean 0 and standard deviation 1, and the former mean and deviation."""
    y = y.astype(np.float64)
    (mean,), (scale,) = weighted_mean_and_scale(y[:, None], weight)
    with np.errstate(under="ignore", over="ignore"):
        standardized = (y - mean) / scale
    return standardized.clip(-FARTHEST_TARGET, FARTHEST_TARGET), mean, scale


def restore_target(standardized: NDArray[Any], mean: Any, scale: Any) -> NDArray[np.float64]:
    """Return standardized predictions on the scale of the target, within 64 bits."""
    largest = np.finfo(np.float64).max
    with np.errstate(under="ignore", over="ignore"):
        restored: NDArray[np.float64] = np.clip(mean + scale * standardized, -largest, largest)
    return restored


def available_unless(reason: Callable[[Any], str | None]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a method that an estimator has unless there is a reason against it.

    As scikit-learn's `available_if`, but the AttributeError gives the reason.

    Parameters
    ----------
    reason : callable
        Takes the estimator, returns None or a sentence.

    Returns
    -------
    decorator : callable
        Takes the method.

    Examples
    --------
    >>> from sklofi._validation import available_unless
    >>> class Box:
    ...     is_open = False
    ...
    ...     @available_unless(lambda self: None if self.is_open else "The box is not open.")
    ...     def look(self):
    ...         return "empty"
    >>> box = Box()
    >>> hasattr(box, "look")
    False
    >>> box.is_open = True
    >>> box.look()
    'empty'
    """
    return lambda method: _ConditionalMethod(method, reason)


class _ConditionalMethod:
    def __init__(self, method: Callable[..., Any], reason: Callable[[Any], str | None]) -> None:
        self.method = method
        self.reason = reason

    def __get__(self, estimator: Any, owner: type | None = None) -> Callable[..., Any]:
        if estimator is None:
            return self.method
        if (text := self.reason(estimator)) is not None:
            raise AttributeError(text)
        return MethodType(self.method, estimator)
