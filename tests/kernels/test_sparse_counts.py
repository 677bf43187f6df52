"""Sparse matrices of counts."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sklofi import WLVectorizer
from sklofi.kernels._sparse_counts import count_codes, known_first, number_codes, unary_counts


def test_counts_too_large_for_unary_are_refused():
    with pytest.raises(MemoryError, match="Counts of 3,000,000,000 in all are too many"):
        unary_counts(sp.csr_array([[3e9]]))


def test_unary_counts_are_cut_at_what_is_known():
    counts = WLVectorizer(0).fit_transform([nx.empty_graph(3), nx.empty_graph(5)])
    assert_array_equal(unary_counts(counts, np.array([4])).toarray(), [[1, 1, 1, 0], [1, 1, 1, 1]])


def test_known_codes_keep_their_numbers_and_others_get_further_ones():
    numbers, codes = number_codes(np.array([7, 3, 9, 7, 1]), known=np.array([9, 7]))
    assert numbers.tolist() == [1, 3, 0, 1, 2]
    assert codes.tolist() == [9, 7, 1, 3]


def test_codes_are_counted_in_their_graphs():
    codes, graph_of = np.array([5, 5, 2, 5]), np.array([0, 0, 0, 1])
    counts, listed = count_codes(codes, np.array([5]), graph_of, 3)
    assert listed.tolist() == [5, 2]
    assert_array_equal(counts.toarray(), [[2, 1], [1, 0], [0, 0]])
    counts, _ = count_codes(codes, np.array([5]), graph_of, 3, n_times=np.array([1, 10, 2, 4]))
    assert_array_equal(counts.toarray(), [[11, 2], [4, 0], [0, 0]])


def test_known_columns_of_all_levels_come_first():
    levels = [sp.csr_array([[1.0, 2.0]]), sp.csr_array([[3.0, 4.0, 5.0]])]
    assert_array_equal(known_first(levels, [1, 2]).toarray(), [[1, 3, 4, 2, 5]])
