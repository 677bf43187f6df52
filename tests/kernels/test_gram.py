import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import pairwise_distances

from sklofi.kernels import _gram as gram
from sklofi.kernels import intersection_kernel, linear_kernel, normalize_kernel


def counts(n_rows, density, seed=0, n_columns=40):
    rng = np.random.RandomState(seed)
    values = rng.randint(1, 9, size=(n_rows, n_columns))
    # From columns that nearly all rows have to columns that nearly none has.
    return sp.csr_array(values * (rng.uniform(size=values.shape) < density) * 1.0)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 2.0])
def test_linear_kernel_is_the_product_however_it_is_split(share, monkeypatch):
    monkeypatch.setattr(gram, "DENSE_SHARE", share)
    density = np.linspace(0, 1, 40)
    X, Y = counts(30, density), counts(20, density, seed=1)
    assert_array_equal(linear_kernel(X), X.toarray() @ X.toarray().T)
    assert_array_equal(linear_kernel(X, Y), X.toarray() @ Y.toarray().T)


def test_intersection_kernel_is_the_sum_of_the_smaller():
    X, Y = counts(30, 0.5), counts(20, 0.5, seed=1)

    def smaller(a, b):
        return np.minimum(a, b).sum()

    expected = pairwise_distances(X.toarray(), Y.toarray(), metric=smaller)
    assert_array_equal(intersection_kernel(X, Y), expected)
    full = np.minimum(X.toarray()[:, None], X.toarray()).sum(axis=2)
    assert_array_equal(intersection_kernel(X), full)


@pytest.mark.parametrize("value", [-1.0, 0.5])
def test_intersections_are_for_counts(value):
    with pytest.raises(ValueError, match="needs counts: whole numbers, none negative"):
        intersection_kernel(sp.csr_array([[1.0, value]]))


def test_matrices_of_different_vectorizers_are_refused():
    with pytest.raises(ValueError, match="X has 40 columns and Y has 41"):
        linear_kernel(counts(3, 0.5), counts(3, 0.5, n_columns=41))


def test_normalizing_gives_no_nan():
    X = counts(6, 0.5)
    X = sp.csr_array(X.toarray() * np.array([1, 1, 0, 1, 1, 1])[:, None])
    kernel = normalize_kernel(linear_kernel(X))
    assert_allclose(np.diagonal(kernel), [1, 1, 0, 1, 1, 1])
    assert_array_equal(kernel[2], 0)
    block = linear_kernel(X[:2], X)
    self_x, self_y = (np.diagonal(linear_kernel(rows)) for rows in (X[:2], X))
    assert_allclose(normalize_kernel(block, self_x, self_y), kernel[:2])


def test_counts_that_stand_in_pieces_are_put_together():
    pieces = sp.csr_array((np.ones(2), np.zeros(2, int), np.array([0, 2])), shape=(1, 1))
    assert_array_equal(intersection_kernel(pieces), [[2]])
    assert pieces.nnz == 2  # the caller's matrix stays as it is
