import pytest
import torch
from torch import nn
from torch.testing import assert_close

from sklofi.networks import FlatGraphs, FlatNetwork, Norm, Perceptron, drop, glorot_, pool


def three_graphs(x):
    """Of two, one and three nodes, without edges."""
    return FlatGraphs(x, torch.empty(2, 0, dtype=torch.int64), torch.tensor([0, 0, 1, 2, 2, 2]), 3)


@pytest.mark.parametrize("how", ["sum", "mean", "max"])
def test_pooling_is_that_of_each_graph(how):
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    parts = x.split([2, 1, 3])
    plain = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[how]
    assert_close(pool(x, three_graphs(x), how), torch.stack([plain(part, 0) for part in parts]))
    with pytest.raises(ValueError, match="pooling has to be one of"):
        pool(x, three_graphs(x), "median")


def test_dropout_keeps_the_mean_and_draws_from_the_generator():
    x = torch.ones(1000, 10)
    state = torch.get_rng_state()
    dropped = drop(x, 0.25, True, torch.Generator().manual_seed(0))
    assert_close(dropped.unique(), torch.tensor([0, 4 / 3]))
    assert dropped.mean().item() == pytest.approx(1, abs=0.03)
    assert torch.equal(dropped, drop(x, 0.25, True, torch.Generator().manual_seed(0)))
    assert torch.equal(state, torch.get_rng_state())
    assert drop(x, 0.25, False) is x and drop(x, 0.0, True) is x


def test_norm_is_batch_normalisation_and_takes_single_rows():
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


def test_glorot_is_uniform_within_its_bound():
    matrices = torch.empty(3, 40, 60)
    glorot_(matrices, torch.Generator().manual_seed(0))
    bound = (6 / 100) ** 0.5
    assert bound * 0.99 < matrices.abs().max() <= bound
    vector = torch.ones(5)
    glorot_(vector)
    assert not vector.any()


class Own(FlatNetwork):
    def __init__(self, n_features, n_outputs, layer):
        super().__init__()
        self.layer = layer()
        self.output = Perceptron(n_features, 4, n_outputs)


def test_networks_are_built_from_the_generator_alone():
    state = torch.get_rng_state()
    make = lambda seed: Own.build(  # noqa: E731
        generator=torch.Generator().manual_seed(seed),
        dtype=torch.float32,
        n_features=3,
        n_outputs=2,
        layer=lambda: nn.LayerNorm(3),
    )
    one, same, other = make(0), make(0), make(1)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(one.output.hidden.weight, same.output.hidden.weight)
    assert not torch.equal(one.output.hidden.weight, other.output.hidden.weight)
    assert torch.equal(one.layer.weight, torch.ones(3))
    assert one.n_embedding == 3


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.full((3,), 2.0))


def test_buffers_that_nobody_sets_are_refused():
    with pytest.raises(TypeError, match="Scaled has the buffer scale, whose first value nobody"):
        Own.build(
            generator=torch.Generator(),
            dtype=torch.float32,
            n_features=3,
            n_outputs=2,
            layer=Scaled,
        )
