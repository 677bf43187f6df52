"""What is asked of targets and weights, the same for every estimator of graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from sklofi._messages import show
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set

# In standard deviations. Only targets without any weight to speak of are so far away; squares
# of larger ones would keep solvers busy for ever.
FARTHEST_TARGET = 1e8


# Targets and weights are small: they become arrays of numpy, and are looked through for NaN,
# whatever the user has set for other estimators.
always_checked = config_context(array_api_dispatch=False, assume_finite=False)


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
    """X, y and weights as arrays of the same length, without weights of zero.

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
    """y as an array, checked by scikit-learn once it is certain that it can be read."""
    is_numeric = target_checks.get("y_numeric", False)
    y = _read_numbers(y, "y") if is_numeric else _read_classes(y)
    return validate_data(estimator, X="no_validation", y=y, **target_checks)


def _read_numbers(values: Any, name: str) -> Any:
    """Values as they are, or as an array of floats if numpy does not take them for numbers."""
    if values is None:
        return None
    array = _read_array(values, name)
    if array.dtype.kind == "c":
        return array  # which scikit-learn refuses in words, but not a list of them
    if array.dtype.kind not in "OSUMmV":
        return values
    numbers = np.empty(array.size)
    for position, value in enumerate(array.flat):
        try:
            if isinstance(value, np.complexfloating):
                raise TypeError("numpy would drop the imaginary part")
            numbers[position] = float(value)
        except Exception:  # whatever a class of somebody else raises
            raise ValueError(
                f"Value {position} of {name} is {show(value)} of type {type(value).__name__},"
                " which is not a real number."
            ) from None
    return numbers.reshape(array.shape)


def _read_classes(values: Any) -> Any:
    """Values as they are, if they can be compared with each other."""
    array = _read_array(values, "y")
    if values is not None and array.dtype == object:
        for position, value in enumerate(array.flat):
            try:
                hash(value), bool(value != value)
            except Exception:  # whatever a class of somebody else raises
                raise TypeError(
                    f"Value {position} of y is {show(value)} of type {type(value).__name__}, which"
                    " cannot be hashed and compared. Classes are strings or integers."
                ) from None
        try:
            np.unique(array)
        except Exception:
            kinds = sorted({type(value).__name__ for value in array.flat})
            raise TypeError(
                f"y has classes of the types {', '.join(kinds)}, which cannot be sorted. Classes"
                " are all strings, or all integers."
            ) from None
    return values


def _read_array(values: Any, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except Exception as error:  # lists of different lengths, or whatever a class raises
        raise ValueError(
            f"{name} cannot be made an array ({error}). Pass a list or an array with one value"
            " for each graph."
        ) from error
    if array.size == 0:
        raise ValueError(f"{name} is empty; pass one value for each graph.")
    return array


def check_classes(y: NDArray[Any]) -> NDArray[Any]:
    """The distinct classes, at least two, in ascending order."""
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
    """The weight of each of the classes, given those of the graphs."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):  # "balanced"
        # By weight, not by number, so that graphs of weight 2 count as two.
        mass = np.bincount(np.searchsorted(classes, y), weight, minlength=len(classes))
        if absent := classes[mass == 0].tolist():
            raise ValueError(
                f'class_weight="balanced" needs graphs of all classes, but y has none of {absent}.'
            )
        return mass.sum() / (len(mass) * mass)
    names = classes.tolist()
    without = [name for name in names if name not in class_weight]
    unknown = [name for name in class_weight if name not in names]
    if without and unknown:
        raise ValueError(
            f"class_weight names the classes {unknown}, which y does not have, and lacks {without}."
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
    """Column means and standard deviations; the latter 1 for constant columns.

    A column counts as constant if it varies by no more than rounding does, `eps` being
    the precision with which the values were computed.
    """
    largest = np.abs(values).max(axis=0)
    largest[largest == 0] = 1
    # Also for those who let numpy raise errors. Nothing overflows, but numpy 1 says so of the
    # smallest numbers.
    with np.errstate(under="ignore", over="ignore"):
        values = values / largest  # so that squares neither overflow nor vanish
        weight = weight / weight.max()  # nor sums
        mean = np.average(values, axis=0, weights=weight)
        scale = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weight))
        spread = largest * scale
        # Of numbers near the smallest there are, nothing may be left of it.
        is_constant = (scale <= 10 * eps) | (spread == 0)
        return largest * mean, np.where(is_constant, 1.0, spread)


def weighted_quantile(
    values: NDArray[Any], weight: NDArray[np.float64], share: float
) -> np.number[Any]:
    """The least value that this share of the weight does not exceed.

    As numpy's "inverted_cdf", which takes weights since its version 2 only; rounding of
    weights to 32 bits does not count.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    return values[order][np.searchsorted(reached, (share - 1e-6) * reached[-1])]


def standardize_target(
    y: NDArray[Any], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], np.float64, np.float64]:
    """Numbers for a machine to learn, and their mean and standard deviation before."""
    y = y.astype(np.float64)
    (mean,), (scale,) = weighted_mean_and_scale(y[:, None], weight)
    with np.errstate(under="ignore", over="ignore"):
        standardized = (y - mean) / scale
    return standardized.clip(-FARTHEST_TARGET, FARTHEST_TARGET), mean, scale


def restore_target(standardized: NDArray[Any], mean: Any, scale: Any) -> NDArray[np.float64]:
    """What a machine or a network predicts, on the scale of the target, within 64 bits."""
    largest = np.finfo(np.float64).max
    with np.errstate(under="ignore", over="ignore"):
        return np.clip(mean + scale * standardized, -largest, largest)


Method = Callable[..., Any]


def available_unless(reason: Callable[[Any], str | None]) -> Callable[[Method], Any]:
    """Decorator of methods that an estimator has, unless there is a reason why not.

    As scikit-learn's `available_if`, but the AttributeError tells the reason.

    Parameters
    ----------
    reason : callable
        Takes the estimator, returns None or a sentence.

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
    def __init__(self, method: Method, reason: Callable[[Any], str | None]) -> None:
        self.method = method
        self.reason = reason

    def __get__(self, estimator: Any, owner: type | None = None) -> Method:
        if estimator is None:
            return self.method
        if (text := self.reason(estimator)) is not None:
            raise AttributeError(text)
        return MethodType(self.method, estimator)
