from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from sklofi import GraphKernelSVC
from sklofi._validation import check_training_data

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
    _, y, *_ = check([Fraction(1, 2), Decimal("1.5"), "2.5"], y_numeric=True)
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


def test_complex_weights_are_refused():
    graphs = [nx.path_graph(2)] * 3
    with pytest.raises(ValueError, match="Complex data not supported"):
        GraphKernelSVC().fit(graphs, [0, 1, 0], sample_weight=[1j, 1, 1])


def test_complex_numbers_among_other_objects_are_refused():
    graphs = [nx.path_graph(2)] * 3
    with pytest.raises(ValueError, match=r"Value 1 of sample_weight is .* which is not a real"):
        GraphKernelSVC().fit(graphs, [0, 1, 0], sample_weight=[Fraction(1), np.complex64(1j), 1])


# Tables with holes

NAN = float("nan")
NUMBERS = {"tables": True, "y_numeric": True, "multi_output": True}


@pytest.mark.parametrize(
    "y",
    [
        [[1, NAN], [NAN, NAN], [NAN, -1]],
        [[1, None], [None, None], [None, -1]],
        pd.DataFrame({"a": [1, None, None], "b": [None, None, -1]}, dtype="Int64"),
    ],
    ids=["NaN", "None", "Int64"],
)
def test_numbers_may_have_holes_and_empty_rows_are_left_out(y):
    data = check(y, **NUMBERS)
    assert_allclose(data.y, [[1, NAN], [NAN, -1]])
    assert len(data.graphs) == 2
    assert data.y.dtype == np.float64


def test_whole_numbers_have_no_holes():
    assert_allclose(check([[1, -1], [-1, -1], [2, 0]], **NUMBERS).y, [[1, -1], [-1, -1], [2, 0]])


@pytest.mark.parametrize("checks", [{"tables": True}, NUMBERS], ids=["labels", "numbers"])
def test_columns_of_which_nothing_is_known_are_refused(checks):
    y = [[1, NAN], [0, NAN], [1, 0]]
    assert check(y, **checks).y.shape == (3, 2)
    with pytest.raises(ValueError, match="Column 1 of y has no known value"):
        check(y, sample_weight=[1, 1, 0], **checks)
    assert len(check(y, sample_weight=[1, 1, 0], is_part=True, **checks).y) == 2
    with pytest.raises(ValueError, match="No target in y is known"):
        check([[NAN, NAN]] * 3, **checks)


@pytest.mark.parametrize("kind", [float, object])
def test_infinite_numbers_are_located(kind):
    y = np.array([[1, NAN], [float("-inf"), 2], [1, 2]], dtype=kind)
    with pytest.raises(ValueError, match=r"row 1, column 0 is -inf\."):
        check(y, **NUMBERS)


@pytest.mark.parametrize("checks", [NUMBERS, {"tables": True}])
def test_holes_in_a_single_target_are_located(checks):
    with pytest.raises(ValueError, match="Input y contains NaN: the target of graph 1 is not"):
        check([1.0, NAN, 2.0], **checks)


def test_texts_are_no_numbers_of_a_table():
    with pytest.raises(ValueError, match=r"row 0, column 1 is .*'a'"):
        check([[1, "a"], [None, 2], [1, 1]], **NUMBERS)
