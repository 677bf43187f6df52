"""Sparse matrices of counts: a row for each graph, a column for each thing to count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sklofi._memory import is_too_large
from sklofi.graphs._segments import offsets_of

# What counts written in unary take at the peak, for each one; at most 2 ** 31 are possible.
BYTES_PER_ONE = 40
MOST_ONES = 2**31


def column_maxima(counts: sp.csr_array) -> NDArray[np.int64]:
    """Return the largest count of each column."""
    largest = np.zeros(counts.shape[1], dtype=np.int64)
    np.maximum.at(largest, counts.indices, counts.data.astype(np.int64))
    return largest


def with_short_indices(matrix: sp.csr_array) -> sp.csr_array:
    """Return the matrix with indices of 32 bits if they suffice; liblinear knows no others."""
    if max(matrix.nnz, *matrix.shape) < 2**31:
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def unary_counts(counts: sp.csr_array, largest: NDArray[np.int64] | None = None) -> sp.csr_array:
    """Write counts in unary, so that inner products become histogram intersections.

    Parameters
    ----------
    counts : scipy.sparse.csr_array of shape (n_rows, n_columns)
        Whole numbers, none negative.

    largest : ndarray of shape (n_columns,), default=None
        How many columns each column becomes, by default as many as its largest count.
        Larger counts are cut off.

    Returns
    -------
    ones : scipy.sparse.csr_array of shape (n_rows, largest.sum())
        A matrix of zeros and ones.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklofi.kernels._sparse_counts import unary_counts
    >>> unary_counts(sp.csr_array([[2.0, 1.0], [0.0, 3.0]])).toarray()
    array([[1., 1., 1., 0., 0.],
           [0., 0., 1., 1., 1.]])
    """
    n_all = counts.sum()
    if n_all > MOST_ONES or is_too_large(BYTES_PER_ONE * n_all):
        raise MemoryError(
            f"Counts of {n_all:,.0f} in all are too many to be written in unary, as histogram"
            f" intersection (unary=True) needs them. Use the linear kernel."
        )
    largest = column_maxima(counts) if largest is None else largest
    offsets = offsets_of(largest)
    n_ones = np.minimum(counts.data.astype(np.int64), largest[counts.indices])
    ends = offsets_of(n_ones)
    columns = np.arange(ends[-1]) + np.repeat(offsets[counts.indices] - ends[:-1], n_ones)
    return sp.csr_array(
        (np.ones(len(columns)), columns, ends[counts.indptr]),
        shape=(counts.shape[0], int(offsets[-1])),
    )


def number_codes(
    codes: NDArray[np.int64], known: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the position of each code in a list, and that list.

    It has the known codes first, then the others in ascending order.
    """
    distinct, which = np.unique(codes, return_inverse=True)
    listed = np.concatenate([known, np.setdiff1d(distinct, known)])
    order = np.argsort(listed)
    return order[np.searchsorted(listed, distinct, sorter=order)][which], listed


def count_codes(
    codes: NDArray[np.int64],
    known: NDArray[np.int64],
    graph_of: NDArray[np.int64],
    n_graphs: int,
    n_times: NDArray[np.int64] | None = None,
) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Return how often each graph has each code, and the list of :func:`number_codes`.

    A code occurs in the graph `graph_of`, once or `n_times`.
    """
    columns, listed = number_codes(codes, known)
    counts = np.ones(len(codes)) if n_times is None else n_times.astype(np.float64)
    shape = (n_graphs, len(listed))
    return sp.coo_array((counts, (graph_of, columns)), shape=shape).tocsr(), listed


def known_first(levels: Sequence[sp.csr_array], n_known: Sequence[int]) -> sp.csr_array:
    """Return matrices side by side: the known columns of each, then all others."""
    parts = [
        *(level[:, :n] for level, n in zip(levels, n_known, strict=True)),
        *(level[:, n:] for level, n in zip(levels, n_known, strict=True)),
    ]
    return sp.hstack(parts, format="csr", dtype=np.float64)
