"""Draws of nodes and egonets, and their keys."""

import scipy.sparse as sp
import torch
from torch.testing import assert_close

from sklofi.nn import CountMatrix
from sklofi.nn import _drawing as drawing
from sklofi.nn._drawing import draw, first_keys, next_keys


def test_nodes_are_drawn_as_often_as_they_occur_whatever_their_order():
    counts, keys = torch.tensor([1.0, 6.0, 0.0, 3.0]), torch.tensor([0.3, -2.0, 0.5, 1.0])
    drawn = draw(counts, keys, 20_000, torch.Generator().manual_seed(0))
    assert_close(drawn.bincount(minlength=4) / 2000, counts, rtol=0.05, atol=0)
    order = torch.tensor([2, 0, 3, 1])
    again = draw(counts[order], keys[order], 20_000, torch.Generator().manual_seed(0))
    assert torch.equal(order[again], drawn)


def test_keys_differ_where_rows_and_egonets_do_whatever_the_order_of_nodes(monkeypatch):
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    keys = first_keys(x)
    assert keys[0] == keys[2] == keys[3] != keys[1]
    egonets = CountMatrix.from_scipy(sp.csr_array([[1, 1, 0, 0], [0, 1, 0, 1], [0, 1, 1, 1]]))
    of_egonets = next_keys(keys, egonets)
    assert_close(of_egonets[0], of_egonets[1])
    assert abs(of_egonets[2] - of_egonets[0]) > 0.01
    monkeypatch.setattr(drawing, "NUMBERS_IN_CACHE", 2)
    assert torch.equal(first_keys(x), keys)
