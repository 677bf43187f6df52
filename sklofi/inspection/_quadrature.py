"""Integrals of gradients along paths, with steps as short as they have to be.

The components of a gradient sum to the derivative along the path, so their integrals have to
sum to what the function gains from one end to the other. This checks every single step, and
those that miss something are halved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklofi.graphs._segments import offsets_of, take_segments

Floats = NDArray[np.floating]


Ints = NDArray[np.integer]


# Takes paths and places t on them, both of shape (n_points,). Returns the values there, and the
# components of all gradients, point after point, of shape (n_entries, n_columns).
Evaluate = Callable[[Ints, Floats], tuple[Floats, Floats]]


# Equal steps to begin with. What goes up and down again within one of them may go unseen.
FIRST_STEPS = 16


# Steps that are as short as this are not halved any further, because 32-bit numbers would soon
# not tell their ends apart. They are left out of integrals: gradients beside a jump say nothing
# of it, and may be as large as numbers can be.
SHORTEST = 2.0**-20


# What may be missed anyway, in units of the relative rounding error of the largest value.
ROUNDING = 64


@dataclass(frozen=True, eq=False)
class Integrals:
    """Integrals along several paths, and what they miss."""

    components: Floats  # of all paths, of shape (n_components, n_columns)
    starts: Floats  # values at t = 0, and at t = 1
    ends: Floats
    residuals: Floats  # of each path, ends - starts - the sum of its components
    n_steps: Ints
    rounding: Floats  # what may be missed of each path whatever the tolerance
    is_reached: NDArray[np.bool_]  # whether residuals are within the tolerance


def integrate(
    evaluate: Evaluate, sizes: Ints, *, tol: float, n_steps: int, eps: float
) -> Integrals:
    r"""Integrate gradients along paths from t = 0 to t = 1, by the trapezoidal rule.

    A step from :math:`a` to :math:`b` misses the difference between :math:`f(b) - f(a)` and
    its trapezoid. Steps are halved until what the steps of a path miss is within the
    tolerance, both in sum and as the root of the sum of squares: the sum alone can be small by
    chance, where steps miss as much in one direction as in the other.

    Parameters
    ----------
    evaluate : callable
        Takes paths and places t on them, both of shape (n_points,). Returns the values there,
        and the components of all gradients, point after point, of shape (n_entries, n_columns).
        The first column is the gradient of the values, which is checked. Others, such as a part
        of it, are integrated along.

    sizes : ndarray of shape (n_paths,)
        Number of components of the gradients of each path, at least 1.

    tol : float
        What may be missed, as a share of the summed sizes of the integrals of a path.

    n_steps : int
        Largest number of steps of a path.

    eps : float
        Relative rounding error of values.

    Returns
    -------
    integrals : Integrals
    """
    n_first = min(n_steps, FIRST_STEPS)
    path: Ints = np.repeat(np.arange(len(sizes)), n_first + 1)
    t: Floats = np.tile(np.linspace(0, 1, n_first + 1), len(sizes))
    points = _Points(sizes)
    while True:
        points.add(path, t, *evaluate(path, t))
        steps = points.steps()
        components = points.integrate(steps)
        total: Floats = np.bincount(steps.path, steps.missed)  # type: ignore[assignment]
        spread = np.sqrt(np.bincount(steps.path, steps.missed**2))
        size = np.add.reduceat(np.abs(components[:, 0]), points.offsets[:-1])
        with np.errstate(under="ignore"):  # also where the user lets numpy raise errors
            allowed = tol * np.maximum(size, np.finfo(size.dtype).tiny)  # tol may be infinite
        rounding = ROUNDING * eps * points.largest_values()
        allowed += rounding
        is_reached = np.maximum(np.abs(total), spread) <= allowed
        n_taken = np.bincount(steps.path)
        # What misses too much: more than its share, or, if only the sum does, than the average.
        share = np.minimum(allowed, spread) / np.sqrt(n_taken)
        is_bad = ~is_reached[steps.path] & (np.abs(steps.missed) >= share[steps.path])
        chosen = _worst(steps, is_bad & (steps.width > 0), n_steps - n_taken)
        if len(chosen) == 0:
            break
        path, t = points.middles(steps, chosen)
    starts, ends = points.values_at(0), points.values_at(1)
    return Integrals(components, starts, ends, total, n_taken, rounding, is_reached)


@dataclass(frozen=True, eq=False)
class _Steps:
    """Steps between neighboring points, path after path."""

    path: Ints
    left: Ints  # points
    right: Ints
    width: Floats  # or 0 of the shortest, which are left out
    missed: Floats  # of the difference between the values at both ends


class _Points:
    """What is known of some paths at the points where it was asked for."""

    def __init__(self, sizes: Ints) -> None:
        self.offsets = offsets_of(sizes)  # of the components of each path
        self.path = np.empty(0, dtype=np.int64)
        self.t = self.value = self.slope = np.empty(0)
        self.gradients: list[tuple[Floats, Ints, Ints]] = []  # with their components and points

    def add(self, path: Ints, t: Floats, value: Floats, gradient: Floats) -> None:
        component, offsets = take_segments(self.offsets, path)
        point = np.repeat(len(self.path) + np.arange(len(path)), np.diff(offsets))
        self.gradients.append((gradient, component.astype(np.int32), point.astype(np.int32)))
        self.path = np.append(self.path, path)
        self.t = np.append(self.t, t)
        self.value = np.append(self.value, value)
        slope = np.add.reduceat(gradient[:, 0], offsets[:-1], dtype=np.float64)
        self.slope = np.append(self.slope, slope)

    def steps(self) -> _Steps:
        order = np.lexsort((self.t, self.path))
        is_step = np.diff(self.path[order]) == 0
        left, right = order[:-1][is_step], order[1:][is_step]
        width = self.t[right] - self.t[left]
        width[width <= SHORTEST] = 0
        trapezoid = width * (self.slope[left] + self.slope[right]) / 2
        missed = self.value[right] - self.value[left] - trapezoid
        return _Steps(self.path[left], left, right, width, missed)

    def integrate(self, steps: _Steps) -> Floats:
        """The components of all paths."""
        weight = np.bincount(steps.left, steps.width / 2, len(self.t))
        weight += np.bincount(steps.right, steps.width / 2, len(self.t))
        components = np.zeros((self.offsets[-1], self.gradients[0][0].shape[1]))
        for gradient, component, point in self.gradients:
            for column, sums in zip(gradient.T, components.T, strict=True):
                sums += np.bincount(component, weight[point] * column, len(sums))
        return components

    def middles(self, steps: _Steps, chosen: Ints) -> tuple[Ints, Floats]:
        """Points where steps are halved."""
        ends = self.t[steps.left[chosen]], self.t[steps.right[chosen]]
        return steps.path[chosen], (ends[0] + ends[1]) / 2

    def largest_values(self) -> Floats:
        """The largest size of a value on each path."""
        largest = np.zeros(len(self.offsets) - 1)
        np.maximum.at(largest, self.path, np.abs(self.value))
        return largest

    def values_at(self, t: float) -> Floats:
        """Values at one end of all paths."""
        is_there = self.t == t
        values: Floats = self.value[is_there][np.argsort(self.path[is_there])]
        return values


def _worst(steps: _Steps, is_bad: NDArray[np.bool_], room: Ints) -> Ints:
    """The bad steps of each path, those first that miss most, as far as there is room."""
    bad = np.flatnonzero(is_bad)
    bad = bad[np.lexsort((-np.abs(steps.missed[bad]), steps.path[bad]))]
    path = steps.path[bad]
    rank = np.arange(len(bad)) - np.searchsorted(path, path)
    return bad[rank < room[path]]
