import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklofi._scaling import restore_target, tame_weights, weighted_mean_and_scale


def test_constant_columns_are_centerd_but_not_blown_up():
    mean, scale = weighted_mean_and_scale(np.array([[0.1, 1.0], [0.1, 3.0]]), np.ones(2))
    assert_allclose(mean, [0.1, 2.0])
    assert_allclose(scale, [1.0, 1.0])


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e300])
def test_location_and_scale_of_numbers_of_any_size(size):
    values = size * np.array([[1.0], [2.0], [4.0]])
    mean, scale = weighted_mean_and_scale(values, np.array([1.0, 1.0, 2.0]))
    assert_allclose([mean / size, scale / size], [[2.75], [np.std([1, 2, 4, 4])]])


def test_weights_that_sum_to_infinity_still_average():
    values, weight = np.array([[1.0], [2.0], [3.0]]), np.full(3, 1e308)
    assert np.array(weighted_mean_and_scale(values, weight)).ravel() == pytest.approx(
        [2, np.sqrt(2 / 3)]
    )


def test_what_vanishes_is_no_error_for_those_who_let_numpy_raise():
    values, weight = np.array([[1e300], [1e-300]]), np.array([1.0, 1e-320])
    with np.errstate(all="raise"):
        mean, _ = weighted_mean_and_scale(values, weight)
    assert mean == [1e300]


@pytest.mark.parametrize("size", [5e-324, 1e308])
def test_weights_of_any_size_have_a_mean(size):
    mean, scale = weighted_mean_and_scale(np.array([[1.0], [3.0], [2.0]]), np.full(3, size))
    assert_allclose([mean, scale], [[2], [np.std([1, 3, 2])]])


def test_the_smallest_numbers_there_are_count_as_constant():
    """Half of the smallest is zero, and cannot be divided by."""
    _, scale = weighted_mean_and_scale(np.array([[0.0], [5e-324]]), np.ones(2))
    assert scale.tolist() == [1.0]


def test_predictions_beyond_all_numbers_are_the_largest():
    found = restore_target(np.array([-20.0, 0.0, 20.0]), 5e307, 5e307)
    assert_allclose(found, [-np.finfo(float).max, 5e307, np.finfo(float).max])


def test_ordinary_weights_stay_as_they_are():
    weight = np.array([0.1, 2.0, 1e-3])
    assert tame_weights(weight) is not weight and (tame_weights(weight) == weight).all()


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e12, 1e307])
def test_weights_of_any_size_are_tamed(size):
    weight = size * np.array([1.0, 2.0, 3.0])
    assert_allclose(tame_weights(weight), [0.5, 1.0, 1.5])


def test_weights_that_change_nothing_are_none():
    assert (tame_weights(np.array([1e300, 1e-300, 0.0])) == [1, 0, 0]).all()
    assert (tame_weights(np.array([1.0, 1e-300])) == [1, 0]).all()
