"""Sparse matrices of counts against dense ones."""

from dataclasses import replace

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


def test_products_have_second_derivatives():
    matrix, dense = random_matrix()
    x = torch.randn(7, 2, generator=torch.Generator().manual_seed(1)).double().requires_grad_()
    results = []
    for product in (matrix @ x, dense @ x):
        (first,) = torch.autograd.grad(product.pow(3).sum(), x, create_graph=True)
        results.append(torch.autograd.grad(first.square().sum(), x)[0])
    assert_close(*results)


def random_entries(seed=0, n_rows=6):
    """A square matrix that is not symmetric, with parallel entries, loops and an empty row."""
    generator = torch.Generator().manual_seed(seed)
    rows, columns = torch.randint(n_rows - 1, (2, 20), generator=generator)
    counts = torch.rand(20, generator=generator).double() + 0.1
    dense = torch.zeros(n_rows, n_rows).double().index_put((rows, columns), counts, accumulate=True)
    matrix = CountMatrix.from_entries(rows, columns, counts, n_rows).with_transpose(n_rows)
    return matrix, dense


def as_dense(matrix, n_columns):
    return matrix.sum_rows(torch.eye(n_columns).double())


def assert_matrix(matrix, dense):
    """The matrix and its transpose are those of the dense one."""
    assert_close(as_dense(matrix, dense.shape[1]), dense)
    assert_close(as_dense(matrix.transpose(), len(dense)), dense.T)
    assert_close(as_dense(matrix.transpose().transpose(), dense.shape[1]), dense)


def test_entries_may_come_in_any_order():
    assert_matrix(*random_entries())
    empty = torch.empty(0, dtype=torch.int64)
    nothing = CountMatrix.from_entries(empty, empty, torch.empty(0), 3).with_transpose(2)
    assert_matrix(nothing, torch.zeros(3, 2).double())


def test_square_matrices_are_normalized_averaged_and_given_other_diagonals():
    matrix, dense = random_entries()
    factors = torch.arange(1.0, 7).double()
    totals = dense.sum(1, keepdim=True)
    assert (totals == 0).any()
    roots = torch.where(totals == 0, 0, totals**-0.5)
    assert_matrix(matrix.normalize(), roots * dense * roots.T)
    assert_matrix(matrix.average(), dense / torch.where(totals == 0, 1, totals))
    off_diagonal = dense - torch.diag(dense.diagonal())
    assert (dense.diagonal() > 0).any()
    assert_matrix(matrix.without_diagonal(), off_diagonal)
    assert_matrix(matrix.add_diagonal(factors), dense + torch.diag(factors))
    bare = matrix.without_diagonal()
    assert bare.without_diagonal() is bare


def test_symmetric_matrices_are_their_own_transposes():
    matrix, dense = random_entries()
    rows, columns = matrix.rows(), matrix.columns.long()
    both = [torch.cat(pair) for pair in ((rows, columns), (columns, rows), (matrix.counts,) * 2)]
    symmetric = replace(CountMatrix.from_entries(*both, 6), is_symmetric=True)
    dense = dense + dense.T
    assert symmetric.transpose() is symmetric and symmetric.with_transpose(6) is symmetric
    factors = torch.arange(1.0, 7).double()
    assert_matrix(symmetric, dense)
    assert_matrix(symmetric.double().add_diagonal(factors), dense + torch.diag(factors))
    assert_matrix(symmetric.without_diagonal(), dense - torch.diag(dense.diagonal()))
    totals = dense.sum(1, keepdim=True)
    roots = torch.where(totals == 0, 0, totals**-0.5)
    assert_matrix(symmetric.normalize(), roots * dense * roots.T)
    assert_matrix(symmetric.average(), dense / torch.where(totals == 0, 1, totals))
    assert symmetric.to("cpu").is_symmetric


def test_products_have_gradients_with_respect_to_counts():
    entries = torch.rand(20, generator=torch.Generator().manual_seed(2)).double().requires_grad_()
    rows, columns = torch.randint(6, (2, 20), generator=torch.Generator().manual_seed(3))
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(4)).double().requires_grad_()

    def product(x, entries):
        matrix = CountMatrix.from_entries(rows, columns, entries, 6).with_transpose(6)
        return matrix.average() @ torch.tanh(matrix.normalize() @ x)

    assert torch.autograd.gradcheck(product, (x, entries))
    assert torch.autograd.gradgradcheck(product, (x, entries))


def test_a_matrix_without_its_transpose_has_no_gradient():
    counts = CountMatrix.from_scipy(sp.csr_array([[1, 1]])).transposed
    x = torch.ones(1, 1, requires_grad=True)
    with pytest.raises(RuntimeError, match="made without its transpose"):
        (counts @ x).sum().backward()
