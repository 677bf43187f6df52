import numpy as np
from numpy.testing import assert_array_equal

from sklofi.graphs._segments import offsets_of, segments_of, take_segments


def test_take_segments_of_nothing_is_nothing():
    positions, offsets = take_segments(np.array([0, 2, 5]), np.array([], dtype=int))
    assert len(positions) == 0
    assert_array_equal(offsets, [0])


def test_empty_segments_hold_no_positions():
    offsets = offsets_of(np.array([0, 2, 0, 1]))
    assert_array_equal(offsets, [0, 0, 2, 2, 3])
    assert_array_equal(segments_of(offsets, np.arange(3)), [1, 1, 3])


def test_segments_can_be_taken_twice_and_in_any_order():
    values = np.array(list("abcdef"))
    positions, offsets = take_segments(np.array([0, 2, 5, 6]), np.array([2, 1, 2]))
    assert "".join(values[positions]) == "fcdef"
    assert_array_equal(offsets, [0, 1, 4, 5])
