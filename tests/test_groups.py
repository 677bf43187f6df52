import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from sklofi._groups import check_groups


@pytest.mark.parametrize(
    "groups",
    [
        ["b", "a", "b", "c"],
        np.array(["b", "a", "b", "c"]),
        [7, 1.5, 7, -2],
        [7, "7", 7, "a"],  # numpy would make one group of 7 and "7"
        [(1, 2), (2, 1), (1, 2), ()],
        np.array(["2020-01-01", "2021-01-01", "2020-01-01", "2022-01-01"], dtype="datetime64[D]"),
        pd.Series(["b", "a", "b", "c"], index=[3, 2, 1, 0]),
        pd.Categorical(["b", "a", "b", "c"]),
        pd.array([5, 2, 5, 1], dtype="Int64"),
    ],
)
def test_groups_are_numbered_by_their_first_graphs(groups):
    assert_array_equal(check_groups(groups, 4), [0, 1, 0, 2])


@pytest.mark.parametrize(
    "groups, message",
    [
        ([1, 2], r"^X has 3 graphs, but groups has 2 values; every graph needs one\.$"),
        ([1, None, 2], r"^Value 1 of groups is None, which names no group\. Every graph needs a"),
        ([1, 2, float("nan")], "Value 2 of groups is nan, which names no group"),
        (np.array([1, np.nan, 2]), "Value 1 of groups is nan, which names no group"),
        (pd.array([1, 2, None], dtype="Int64"), r"Value 2 of groups is (<NA>|nan), which names no"),
        (np.array(["2020", "NaT", "2021"], dtype="datetime64[D]"), "Value 1 of groups is .*NaT"),
        ([1, {}, 2], "Value 1 of groups is {} of type dict, which cannot be hashed and compared"),
        (np.zeros((3, 1)), r"^groups has 2 dimensions; pass a list or an array with one value"),
        (3, "groups has 0 dimensions"),
        ("abc", r"groups cannot be made an array \(it is the text 'abc'\)"),
    ],
)
def test_what_is_no_group_is_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        check_groups(groups, 3)
