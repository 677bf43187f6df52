"""The fast layer against the formula."""

import pytest
import scipy.sparse as sp
import torch
from lofi_loops import as_matrices, random_graphs
from torch.testing import assert_close

from sklofi.nn import CountMatrix, LoFILayer, LoFINetwork
from sklofi.nn import _lofi_autograd as fast


@pytest.mark.parametrize("in_part", [False, True])
@pytest.mark.parametrize("kernel", ["intersection", "l1"])
def test_the_fast_way_equals_the_formula(kernel, in_part):
    """Counts above one, a rectangular matrix, a zero vector, h equal to f; nodes in part."""
    generator = torch.Generator().manual_seed(3)
    layer = LoFILayer(4, 3, 5, kernel, generator=generator).double()
    dense = torch.randint(0, 4, (6, 8), generator=generator).double()
    dense[5] = 0
    with torch.no_grad():
        layer.histogram[1] = 0  # where it meets the empty egonet
    egonets = CountMatrix.from_scipy(sp.csr_array(dense.numpy()))
    x = torch.randn(8, 4, generator=generator).double()
    x[2] = 0
    presence = torch.rand(8, generator=generator).double() if in_part else None
    results = []
    for path in (dense.to_sparse_coo(), egonets):
        inputs = [x.clone().requires_grad_(), *layer.parameters()]
        if in_part:
            inputs.append(presence.clone().requires_grad_())
        z = layer(inputs[0], path, inputs[-1] if in_part else None)
        weights = torch.randn(z.shape, generator=torch.Generator().manual_seed(5)).double()
        results.append([z, *torch.autograd.grad((weights * z).sum(), inputs)])
    for got, wanted in zip(*results, strict=True):
        assert_close(got, wanted)
    with torch.no_grad():
        assert_close(layer(x, egonets, presence), results[0][0])
    layer.requires_grad_(False)  # parameters whose gradients nobody needs
    inputs = [x.clone().requires_grad_()]
    if in_part:
        inputs.append(presence.clone().requires_grad_())
    z = layer(inputs[0], egonets, inputs[1] if in_part else None)
    got = torch.autograd.grad((weights * z).sum(), inputs)
    assert_close(got, (results[0][1], results[0][-1])[: len(inputs)])


@pytest.mark.parametrize("kernel", ["intersection", "l1"])
def test_without_gradients_pieces_equal_the_whole(kernel, monkeypatch):
    egonets, membership = as_matrices(random_graphs(), 2)
    network = LoFINetwork(2, 2, n_layers=2, n_masks=2, n_words=3, kernel=kernel).double()
    x = torch.randn(len(egonets), 2).double()
    expected = network(x, egonets, membership)
    sizes = []
    embedding_bag = torch.embedding_bag

    def counted(x, columns, offsets, **kwargs):
        sizes.append(len(offsets) - 1)
        return embedding_bag(x, columns, offsets, **kwargs)

    monkeypatch.setattr(torch, "embedding_bag", counted)
    monkeypatch.setattr(fast, "NUMBERS_IN_CACHE", 5 * 2 * 3)
    with torch.no_grad():
        assert_close(network(x, egonets, membership), expected)
    # 22 nodes in pieces of five, twice, and the graphs of both layers.
    assert sizes == [5, 5, 5, 5, 2, 5, 5, 5, 5, 2, 5, 5]


@pytest.mark.parametrize("kernel", ["intersection", "l1"])
def test_gradients_equal_finite_differences(kernel):
    egonets, _ = as_matrices(random_graphs(), 1)
    layer = LoFILayer(2, 2, 3, kernel, generator=torch.Generator().manual_seed(1)).double()
    x = torch.randn(len(egonets), 2, generator=torch.Generator().manual_seed(2)).double()
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: layer(x, egonets), (x, *layer.parameters()))


def test_second_derivatives_are_refused():
    """They would be wrong: the derivative by hand is not recorded."""
    egonets, _ = as_matrices(random_graphs(), 1)
    x = torch.randn(len(egonets), 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(LoFILayer(2, 2, 3)(x, egonets).sum(), x, create_graph=True)
