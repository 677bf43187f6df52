"""Sparse matrices of counts against dense ones."""

import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from sklofi.nn import CountMatrix


def random_matrix():
    """Counts from 0 to 3, with an empty row."""
    dense = torch.randint(0, 4, (5, 7), generator=torch.Generator().manual_seed(0)).double()
    dense[2] = 0
    return CountMatrix.from_scipy(sp.csr_array(dense.numpy())), dense


def test_products_and_their_gradients_are_those_of_the_dense_matrix():
    matrix, dense = random_matrix()
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(1)).double().requires_grad_()
    weights = torch.arange(15.0).double().view(5, 3)
    assert_close(matrix @ x, dense @ x)
    found, expected = (
        torch.autograd.grad((weights * product).sum(), x)[0] for product in (matrix @ x, dense @ x)
    )
    assert_close(found, expected)


def test_sums_and_pieces_are_those_of_the_dense_matrix():
    matrix, dense = random_matrix()
    weights = torch.arange(5.0)
    assert_close(matrix.row_sums().double(), dense.sum(1))
    assert_close(matrix.column_sums(weights, 7), weights.double() @ dense)
    x = torch.eye(7).double()
    assert_close(torch.cat([piece.sum_rows(x) for piece in matrix.pieces(2)]), dense)
    factors = torch.arange(7.0).double()
    assert_close(matrix.scale_columns(factors).sum_rows(x), dense * factors)


def test_second_derivatives_are_refused():
    """They would be wrong: the derivative by hand is not recorded."""
    matrix, _ = random_matrix()
    x = torch.randn(7, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad((matrix @ x).sum(), x, create_graph=True)


def test_a_matrix_without_its_transpose_has_no_gradient():
    counts = CountMatrix.from_scipy(sp.csr_array([[1, 1]])).transposed
    x = torch.ones(1, 1, requires_grad=True)
    with pytest.raises(RuntimeError, match="made without its transpose"):
        (counts @ x).sum().backward()
