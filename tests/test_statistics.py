"""Means, errors and tests of scores against scipy and closed forms."""

import numpy as np
import pytest
from scipy import stats

from sklofi._statistics import corrected_t_test, format_figures


def test_the_test_is_that_of_nadeau_and_bengio():
    differences = np.array([0.02, -0.01, 0.03, 0.05, 0.0, 0.01, 0.04, 0.02, 0.03, 0.01])
    plain = corrected_t_test(differences, test_share=0)
    assert plain == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    k, mean, variance = 10, differences.mean(), differences.var(ddof=1)
    t = mean / np.sqrt((1 / k + 1 / 9) * variance)
    assert corrected_t_test(differences, 1 / 9) == pytest.approx(2 * stats.t.sf(t, 9))
    assert corrected_t_test(-differences, 1 / 9) == pytest.approx(2 * stats.t.sf(t, 9))
    assert corrected_t_test(differences, 1 / 9) > 2 * plain


@pytest.mark.parametrize(
    "differences, p",
    [([0.0] * 5, 1.0), ([0.1] * 5, np.nan), ([0.3], np.nan), ([0.3, np.nan], np.nan)],
)
def test_the_test_of_constants_and_too_few(differences, p):
    assert corrected_t_test(differences, 0.1) == pytest.approx(p, nan_ok=True)


def test_equal_differences_by_chance_are_no_proof():
    """One graph more in both of two folds of ten means nothing, half of all does."""
    assert corrected_t_test([0.1, 0.1], 1.0, resolution=0.1) > 0.2
    assert corrected_t_test([0.5] * 5, 0.25, resolution=1 / 60) < 0.001


def test_the_correction_keeps_its_level():
    """Scores of ten folds that share nine tenths have a correlation of a tenth, as assumed."""
    rng = np.random.RandomState(0)
    share = np.sqrt(0.1) * rng.normal(size=(2000, 1)) + np.sqrt(0.9) * rng.normal(size=(2000, 10))
    alarms = np.mean([corrected_t_test(differences, 1 / 9) < 0.05 for differences in share])
    plain = np.mean([corrected_t_test(differences, 0) < 0.05 for differences in share])
    assert 0.035 < alarms < 0.065 < 0.12 < plain


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1.0, 1e200, 1e300])
def test_differences_of_any_size_can_be_squared(unit):
    differences = np.array([0.1, 0.0, 0.2, 0.1, 0.1])
    expected = corrected_t_test(differences, 1 / 4)
    assert corrected_t_test(unit * differences, 1 / 4) == pytest.approx(expected)


@pytest.mark.parametrize(
    "mean, error, expected",
    [
        (0.8125, 0.0123, "0.8125 ± 0.0123"),
        (-0.5, 0.25, "-0.5000 ± 0.2500"),
        (0.0, 0.0, "0.0000 ± 0.0000"),
        (1.0, np.nan, "1.0000 ± nan"),
        (np.nan, np.nan, "nan ± nan"),
        (-1.2345e-6, 1.2e-8, "(-1.2345 ± 0.0120)e-06"),
        (1e-6, 2e-3, "0.0000 ± 0.0020"),
        (1.5e7, 2.5e5, "(1.5000 ± 0.0250)e+07"),
        (99_999.5, 12.25, "99999.5000 ± 12.2500"),
        (0.999991, 5.6e-6, "0.999991 ± 0.000006"),
        (0.9, 1e-17, "0.9000 ± 0.0000"),
        (1e-300, 1e-302, "(1.0000 ± 0.0100)e-300"),
        (1e300, 1e298, "(1.0000 ± 0.0100)e+300"),
        (5e-324, 0.0, "(0.0000 ± 0.0000)e-300"),
    ],
)
def test_scores_of_any_size_can_be_read(mean, error, expected):
    assert format_figures([(mean, error)]) == [expected]


def test_scores_share_a_power_of_ten_unless_they_are_too_far_apart():
    means = [3e-7, 2.5e-6, 1e-12, 0.0, np.nan]
    assert format_figures([(mean, mean / 10) for mean in means]) == [
        "(0.3000 ± 0.0300)e-06",
        "(2.5000 ± 0.2500)e-06",
        "(1.0000 ± 0.1000)e-12",
        "(0.0000 ± 0.0000)e-06",
        "(nan ± nan)e-06",
    ]
