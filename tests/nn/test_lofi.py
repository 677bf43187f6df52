"""The layer against the formula by hand."""

import math

import pytest
import torch
from lofi_loops import as_matrices, random_graphs
from torch.testing import assert_close

from sklofi.nn import LoFILayer


def as_sparse_tensor(matrix):
    size = (len(matrix), int(matrix.columns.max()) + 1)
    return torch.sparse_coo_tensor(
        torch.stack([torch.arange(len(matrix)).repeat_interleave(matrix.offsets.diff()),
                     matrix.columns]),
        matrix.counts.double(), size=size, check_invariants=True,
    )  # fmt: skip


def test_the_kernels_by_hand():
    """A node alone, two words, f = (0.5, 0.25): h is known in closed form."""
    egonets = torch.ones(1, 1)
    x = torch.tensor([[1.0, 0.0]])
    p = 1 / (1 + math.exp(-2.0))  # softmax of 2 * (1, 0)
    for kernel, expected in {
        "intersection": min(p, 0.5) + min(1 - p, 0.25),
        "l1": 1 - (abs(p - 0.5) + abs(1 - p - 0.25)) / 2,
    }.items():
        layer = LoFILayer(2, 1, 2, kernel)
        with torch.no_grad():
            layer.dictionary.copy_(3 * torch.eye(2)[None])
            layer.histogram.copy_(torch.tensor([[0.5, 0.25]]))
            layer.temperature.fill_(2.0)
        assert layer(x, egonets).item() == pytest.approx(expected)


def test_the_printed_equation_is_the_minimum():
    egonets, _ = as_matrices(random_graphs(), 1)
    layer = LoFILayer(2, 3, 4, "intersection").double()
    x = torch.randn(len(egonets), 2).double()
    l1 = LoFILayer(2, 3, 4, "l1").double()
    l1.load_state_dict(layer.state_dict())
    sizes = egonets @ torch.ones(len(egonets), 1).double()
    mass = (sizes + layer.histogram.sum(dim=1)) / 2
    assert_close(layer(x, egonets) - mass, l1(x, egonets) - 1)


def test_any_sparse_layout_will_do():
    egonets, _ = as_matrices(random_graphs(), 1)
    layer = LoFILayer(2, 3, 4).double()
    x = torch.randn(len(egonets), 2).double()
    tensor = as_sparse_tensor(egonets)
    assert_close(layer(x, tensor), layer(x, egonets))
    assert_close(layer(x, tensor.to_dense()), layer(x, egonets))


def test_shapes_and_names_are_the_documented_ones():
    layer = LoFILayer(5, 3, 4)
    shapes = {name: tuple(value.shape) for name, value in layer.named_parameters()}
    assert shapes == {"dictionary": (3, 4, 5), "histogram": (3, 4), "temperature": (3,)}
    assert all(parameter.requires_grad for parameter in layer.parameters())
