import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklofi.training._split import split_validation


@pytest.mark.parametrize("seed", range(5))
def test_validation_parts_are_stratified(seed):
    strata = np.repeat([0, 1, 2], [60, 30, 10])
    train, validation = split_validation(strata, 0.2, np.random.RandomState(seed))
    assert_array_equal(np.sort(np.concatenate([train, validation])), np.arange(100))
    counts = np.bincount(strata[validation], minlength=3)
    assert counts.sum() == 20
    assert_allclose(counts, [12, 6, 2], atol=1)


@pytest.mark.parametrize("seed", range(20))
def test_no_class_disappears_from_training(seed):
    strata = np.array(["a", "b", "b", *"c" * 9])
    train, validation = split_validation(strata, 0.5, np.random.RandomState(seed))
    assert set(strata[train]) == {"a", "b", "c"}
    assert len(validation) == 6


def test_a_validation_part_may_be_impossible_or_smaller_than_the_classes():
    train, validation = split_validation(np.arange(4), 0.5, np.random.RandomState(0))
    assert len(train) == 4 and len(validation) == 0
    _, validation = split_validation(np.arange(20) // 2, 0.1, np.random.RandomState(0))
    assert len(validation) == 2
