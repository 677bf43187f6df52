"""Tests of tables of labels."""

import numpy as np
import pandas as pd
import pytest

from sklofi._multilabel import UNKNOWN, read_labels, strata_of_labels

NAN = float("nan")
EXPECTED = [[1, 0], [UNKNOWN, 1], [0, UNKNOWN]]


@pytest.mark.parametrize(
    "y",
    [
        [[1, 0], [NAN, 1], [0, NAN]],
        np.array([[1, 0], [NAN, 1], [0, NAN]], dtype=np.float32),
        [[True, False], [None, True], [False, None]],
        pd.DataFrame({"a": [1.0, NAN, 0.0], "b": [0.0, 1.0, NAN]}),
        pd.DataFrame({"a": [1, None, 0], "b": [0, 1, None]}, dtype="Int64"),
        pd.DataFrame({"a": [True, None, False], "b": [False, True, None]}, dtype="boolean"),
    ],
    ids=["list", "float32", "None", "DataFrame", "Int64", "boolean"],
)
def test_labels_are_read_with_holes(y):
    np.testing.assert_array_equal(read_labels(y), EXPECTED)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64])
def test_labels_without_holes_are_read(dtype):
    y = np.array([[1, 0], [0, 1]], dtype=dtype)
    np.testing.assert_array_equal(read_labels(y), [[1, 0], [0, 1]])


@pytest.mark.parametrize("y", [[0, 1, 1], [[0], [1]], ["a", "b"], [[1, 0], [1]], np.zeros((0, 2))])
def test_other_targets_are_no_table_of_labels(y):
    assert read_labels(y) is None


@pytest.mark.parametrize(
    "value, shown",
    [(2, "2"), (0.5, "0.5"), (float("inf"), "inf"), (2**70, "1180591620717411303424")],
)
def test_what_is_no_label_is_located(value, shown):
    with pytest.raises(ValueError, match=f"row 1, column 0 is .*{shown}"):
        read_labels([[0, 1], [value, 1]])


@pytest.mark.parametrize("y", [[["0", "1"], ["1", "1"]], [[0j, 1], [1, 1]]])
def test_texts_and_complex_numbers_are_no_labels(y):
    with pytest.raises(ValueError, match="row 0, column 0"):
        read_labels(y)


def test_a_column_of_which_nothing_is_known_is_refused():
    with pytest.raises(ValueError, match="Column 1 of y has no known value"):
        read_labels([[0, NAN], [1, NAN]])
    assert read_labels([[0, NAN], [1, NAN]], is_part=True).tolist() == [[0, UNKNOWN], [1, UNKNOWN]]


def test_strata_are_the_rarest_things_known():
    labels = np.array([[0, 0], [0, 1], [0, UNKNOWN], [1, 0], [UNKNOWN, UNKNOWN], [0, 0]])
    strata = strata_of_labels(labels.astype(np.int8))
    # Rarest first: having label 0, having label 1, then not having label 1, not having label 0.
    assert strata.tolist() == [2, 1, 3, 0, 4, 2]
