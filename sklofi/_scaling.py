"""Means, scales and quantiles of features and targets, by weight."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

# In standard deviations. Only targets of almost no weight are so far away; solvers would not
# come to an end with the squares of larger ones.
FARTHEST_TARGET = 1e8

# The largest weight of a graph that is taken as it is.
ORDINARY = 1e6

# A share of the largest weight that changes no number.
NOTHING = float(np.finfo(np.float64).eps) ** 2


def weighted_mean_and_scale(
    values: NDArray[np.float64],
    weight: NDArray[np.float64],
    eps: float = float(np.finfo(np.float64).eps),
    constant: float = 1.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and standard deviations of columns; the latter are `constant` where those are.

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
        return largest * mean, np.where(is_constant, constant, spread)


def tame_weights(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights that machines of scikit-learn can compute with, at least one above zero.

    To them a weight of two is two graphs, so that ordinary weights stay as they are. If the
    largest is beyond `ORDINARY` or below its inverse, they are divided by their mean, and those
    that are too small beside it to change any number become zero.
    """
    largest = weight.max()
    if 1 / ORDINARY <= largest <= ORDINARY:
        return np.where(weight < largest * NOTHING, 0, weight)
    with np.errstate(under="ignore", over="ignore"):
        weight = weight / largest
        weight = np.where(weight < NOTHING, 0, weight)
        tame: NDArray[np.float64] = weight / weight[weight > 0].mean()
    return tame


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
