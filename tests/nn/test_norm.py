import pytest
import torch
from torch.testing import assert_close

from sklofi.nn._norm import Norm


def test_norm_is_batch_normalization_and_takes_single_rows():
    x = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)) * 5 + 2
    norm = Norm(3)
    expected = (x - x.mean(0)) / (x.var(0, unbiased=False) + 1e-3).sqrt()
    assert_close(norm(x), expected)
    alone = norm(x[:1])  # in training
    assert_close(alone, norm.eval()(x[:1]))
    assert_close(alone, expected[:1])  # by the mean and variance of the batch before
    assert (
        norm.train()(torch.full((4, 3), 3e38) * torch.tensor([[1], [-1], [1], [-1]]))
        .isfinite()
        .all()
    )


def weighted_and_copied():
    """Rows with weights, and the numbers of the rows of which there are as many copies."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(7, 3, generator=generator, dtype=torch.float64) * 5 + 2
    weight = torch.tensor([1, 2, 1, 3, 1, 1, 4])
    return x, weight, torch.repeat_interleave(weight)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_norm_of_weighted_rows_is_that_of_copies(scale):
    x, weight, copies = weighted_and_copied()
    results = []
    for rows, weights in ((torch.arange(7), scale * weight.double()), (copies, None)):
        norm = Norm(3).double()
        with torch.no_grad():
            norm.weight.uniform_(0.5, 2, generator=torch.Generator().manual_seed(1))
        inputs = x.clone().requires_grad_()
        y = norm(inputs[rows], weights)
        # The loss weighs rows as well.
        losses = (y * torch.arange(1.0, 4)).cos().sum(1)
        loss = losses.sum() if weights is None else weight.double() @ losses
        gradients = torch.autograd.grad(loss, [inputs, norm.weight, norm.bias])
        predicted = norm.eval()(x)
        results.append([loss, *gradients, norm.running_mean, norm.running_var, predicted])
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected)
    assert_close(results[0][5], x[copies].var(0, unbiased=False))


def test_norm_takes_weights_that_vanish_in_32_bits():
    x = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    assert_close(Norm(2)(x, torch.zeros(5)), Norm(2)(x))
