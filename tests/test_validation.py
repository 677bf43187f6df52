from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from sklofi import GraphKernelSVC
from sklofi._validation import check_training_data, restore_target, weighted_mean_and_scale


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


GRAPHS = [nx.path_graph(n) for n in (1, 2, 3)]


def check(y, sample_weight=None, **checks):
    return check_training_data(
        GraphKernelSVC(), GRAPHS, y, sample_weight, node_label="label", **checks
    )


@pytest.mark.parametrize(
    "y, match",
    [
        (["a", "b", "c"], "Value 0 of y is .*'a'.* of type str_, which is not a real number"),
        ([1, 2j, 3], "Complex data not supported"),
        ([1, 2, 10**400], r"Value 2 of y is 10000*\.\.\. of type int, which is not a real number"),
        ([1, [2, 3], 4], r"y cannot be made an array \(.*Pass a list"),
        (["1", "nan", "2"], "Input y contains NaN"),
        ([], "y is empty; pass one value for each graph"),
        (np.array(["2020-01-01"] * 3, "M8[D]"), "Value 0 of y is .*2020.*not a real number"),
    ],
)
def test_targets_that_are_no_numbers_are_located(y, match):
    with pytest.raises(ValueError, match=match):
        check(y, y_numeric=True)


def test_numbers_of_any_type_are_targets():
    _, y, _ = check([Fraction(1, 2), Decimal("1.5"), "2.5"], y_numeric=True)
    assert_allclose(y, [0.5, 1.5, 2.5])


@pytest.mark.parametrize(
    "y, match",
    [
        ([None, 1, "a"], "y has classes of the types NoneType, int, str, which cannot be sorted"),
        ([pd.NA, "a", "b"], "Value 0 of y is <NA> of type NAType, which cannot be hashed"),
        ([{}, {}, {}], "Value 0 of y is {} of type dict, which cannot be hashed"),
    ],
)
def test_classes_that_cannot_be_told_apart_are_located(y, match):
    with pytest.raises(TypeError, match=match):
        check(y)


@pytest.mark.parametrize(
    "weight, match",
    [
        ("balanced", "Value 0 of sample_weight is .*'balanced'.*not a real number"),
        ([1, "a", 2], "Value 1 of sample_weight is .*'a'.*not a real number"),
        ([1, [2], 3], "sample_weight cannot be made an array"),
        ([1, 10**400, 2], "Value 1 of sample_weight"),
        ([], "sample_weight is empty"),
        (float("nan"), "Input sample_weight contains NaN"),
        (-1, "Negative values in data passed to `sample_weight`"),
    ],
)
def test_weights_that_are_no_numbers_are_located(weight, match):
    with pytest.raises(ValueError, match=match):
        check([0, 1, 1], weight)


def test_the_smallest_numbers_there_are_count_as_constant():
    """Half of the smallest is zero, and cannot be divided by."""
    _, scale = weighted_mean_and_scale(np.array([[0.0], [5e-324]]), np.ones(2))
    assert scale.tolist() == [1.0]


def test_predictions_beyond_all_numbers_are_the_largest():
    found = restore_target(np.array([-20.0, 0.0, 20.0]), 5e307, 5e307)
    assert_allclose(found, [-np.finfo(float).max, 5e307, np.finfo(float).max])


def test_complex_weights_are_refused():
    graphs = [nx.path_graph(2)] * 3
    with pytest.raises(ValueError, match="Complex data not supported"):
        GraphKernelSVC().fit(graphs, [0, 1, 0], sample_weight=[1j, 1, 1])


def test_complex_numbers_among_other_objects_are_refused():
    graphs = [nx.path_graph(2)] * 3
    with pytest.raises(ValueError, match=r"Value 1 of sample_weight is .* which is not a real"):
        GraphKernelSVC().fit(graphs, [0, 1, 0], sample_weight=[Fraction(1), np.complex64(1j), 1])
