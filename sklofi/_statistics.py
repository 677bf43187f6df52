"""Means of scores over folds, their errors, their text, and the test of a difference."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

# What differs by less, in relation to its size, differs by rounding errors only.
ROUNDING = 1e-12


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of the mean, NaN for fewer than two values."""
    if len(values) < 2:
        return float("nan")
    largest = np.abs(values).max() or 1.0  # as in corrected_t_test
    return float(largest * stats.sem(values / largest))


def mean_of(values: NDArray[np.float64]) -> float:
    """Return the mean of the values that are not NaN, NaN if there are none."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def _power(mean: float, error: float) -> int | None:
    size = np.nanmax([abs(mean), error, 0.0])
    if not 0 < size < np.inf:
        return None
    return max(int(np.floor(np.log10(size))), -300)  # smaller ones are inexact


def _figure(mean: float, error: float, power: int) -> str:
    power = 0 if -3 <= power < 5 else power  # plain decimals show these
    mean, error = mean / 10.0**power, error / 10.0**power
    n_decimals = 4
    if ROUNDING * abs(mean) < error < 1e-4:  # so small an error is shown as well
        n_decimals = min(int(np.ceil(-np.log10(error))), 12)
    text = f"{mean:.{n_decimals}f} ± {error:.{n_decimals}f}"
    return f"({text})e{power:+03d}" if power else text


def format_figures(figures: list[tuple[float, float]]) -> list[str]:
    """Return texts of means ± errors, with one power of ten where they can share it."""
    powers = [_power(*figure) for figure in figures]
    shared = max((power for power in powers if power is not None), default=0)
    return [
        _figure(*figure, shared if power is None or shared - power <= 3 else power)
        for figure, power in zip(figures, powers, strict=True)
    ]


def corrected_t_test(
    differences: Any, test_share: float, resolution: float = 0.0, rounding: float = 0.0
) -> float:
    """Return the two-sided p-value of a mean difference of scores over folds.

    Training sets of different folds overlap, so their scores are not independent, and an
    ordinary t-test finds differences where there are none. Nadeau and Bengio [1]_ replace the
    variance of the mean, ``s² / k``, by ``s² (1 / k + test_share)``.

    Parameters
    ----------
    differences : array-like of shape (n_folds,)
        Differences of the scores of two estimators; NaN is left out.

    test_share : float
        Number of test graphs for each training graph, 1 / 9 for ten folds.

    resolution : float, default=0.0
        The smallest difference between two scores, 1 over the number of test graphs for an
        accuracy, 0 for scores that are no shares of graphs. Folds that show the same
        difference by chance are taken to vary by half of it.

    rounding : float, default=0.0
        What differences may vary by because scores are rounded.

    Returns
    -------
    p_value : float
        NaN for less than two folds, and where differences vary by no more than rounding.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio, "Inference for the Generalization Error", Machine Learning
       52, 2003.

    Examples
    --------
    >>> from sklofi.comparison import corrected_t_test
    >>> round(corrected_t_test([0.1, 0.0, 0.2, 0.1, 0.1], test_share=1 / 4), 4)
    0.1027
    """
    differences = np.asarray(differences, dtype=np.float64)
    differences = differences[~np.isnan(differences)]
    n_folds = len(differences)
    if n_folds < 2:
        return float("nan")
    largest = np.abs(differences).max()
    if largest == 0:
        return 1.0
    # In this unit, neither tiny nor huge differences are lost when they are squared.
    differences = differences / largest
    spread = max(differences.std(ddof=1), resolution / largest / 2)
    if spread <= max(ROUNDING, rounding / largest):
        return float("nan")
    t = differences.mean() / (spread * np.sqrt(1 / n_folds + test_share))
    return float(2 * stats.t.sf(abs(t), df=n_folds - 1))
