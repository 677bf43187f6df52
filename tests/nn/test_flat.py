from dataclasses import replace

import pytest
import torch
from stacks import EDGES, SIZES, adjacency, build, flat_graphs, scramble_, weighted
from torch import nn
from torch.testing import assert_close

from sklofi.nn import (
    DGCNN,
    GCN,
    GIN,
    SGIN,
    FlatGraphs,
    FlatNetwork,
    GraphSAGE,
    Perceptron,
    pool,
)
from sklofi.nn._choices import POOLINGS
from sklofi.nn._flat import drop, glorot_, largest_rows
from sklofi.nn._norm import Norm


def three_graphs(x):
    """Of two, one and three nodes, without edges."""
    return FlatGraphs(x, torch.empty(2, 0, dtype=torch.int64), torch.tensor([0, 0, 1, 2, 2, 2]), 3)


@pytest.mark.parametrize("how", POOLINGS)
def test_pooling_is_that_of_each_graph(how):
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    parts = x.split([2, 1, 3])
    plain = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[how]
    assert_close(pool(x, three_graphs(x), how), torch.stack([plain(part, 0) for part in parts]))
    with pytest.raises(ValueError, match="pooling has to be one of"):
        pool(x, three_graphs(x), "median")


def test_the_maximum_of_a_group_shares_its_gradient_among_all_that_have_it():
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(3, (40, 5), generator=generator).double().requires_grad_()  # many ties
    group = torch.randint(6, (40,), generator=generator) + (torch.arange(40) % 2)  # 0 to 6
    index = group[:, None].expand_as(x)
    zeros = x.new_zeros(9, 5)  # two groups are empty
    plain = zeros.scatter_reduce(0, index, x, reduce="amax", include_self=False)
    factors = torch.arange(45.0).double().view(9, 5)
    results = []
    for maxima in (largest_rows(x, group, 9), plain):
        (first,) = torch.autograd.grad((maxima.square() * factors).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((first * x.detach()).sum(), x)
        results.append((maxima, first, second))
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize("edges", [EDGES, [*EDGES, (8, 9), (2, 2)][::-1], []])
@pytest.mark.parametrize("has_weights", [True, False])
def test_matrices_of_edges_in_any_order_sum_what_nodes_receive(edges, has_weights):
    generator = torch.Generator().manual_seed(0)
    graphs = flat_graphs(SIZES, edges, generator)
    if has_weights:
        graphs = weighted(graphs, generator)
    x = torch.randn(10, 3, generator=generator).double().requires_grad_()
    factors = torch.arange(30.0).double().view(10, 3)
    plain = replace(graphs, edge_weight=None)
    for matrix, dense in (
        (graphs.adjacency, adjacency(graphs)),
        (graphs.links, adjacency(plain)),
    ):
        assert_close(matrix @ x, dense @ x)
        gradients = [
            torch.autograd.grad((y * factors).sum(), x)[0] for y in (matrix @ x, dense @ x)
        ]
        assert_close(*gradients)
    assert graphs.adjacency is graphs.adjacency and graphs.links is graphs.links
    assert (graphs.adjacency is graphs.links) == (not has_weights)


def test_matrices_have_transposes_when_gradients_need_them():
    graphs = flat_graphs(SIZES, EDGES, torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert not graphs.adjacency.has_transpose
    assert graphs.adjacency.has_transpose
    with torch.inference_mode():
        assert not replace(graphs).adjacency.has_transpose
        fresh = replace(graphs)
        assert len(fresh.adjacency) == 10
    x = graphs.x.clone().requires_grad_()
    (fresh.adjacency @ x).sum().backward()
    assert_close(x.grad, adjacency(graphs).sum(0)[:, None].expand(10, 3))


def test_other_edges_have_other_matrices():
    graphs = flat_graphs(SIZES, EDGES, torch.Generator().manual_seed(0))
    assert len(graphs.adjacency.columns) == len(EDGES)
    other = replace(graphs, edge_index=graphs.edge_index[:, 1:])
    assert len(other.adjacency.columns) == len(EDGES) - 1
    moved = graphs.to("meta")
    assert moved.adjacency.columns.is_meta and moved.adjacency.has_transpose


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("network_class", [GCN, GIN, SGIN, GraphSAGE, DGCNN])
def test_weights_of_edges_have_gradients(network_class, training):
    generator = torch.Generator().manual_seed(0)
    graphs = flat_graphs(SIZES, EDGES, generator)
    network = scramble_(build(network_class, n_hidden=4, dropout=0.0), generator).train(training)
    weight = torch.rand(len(EDGES), generator=generator).double() + 0.1
    weight.requires_grad_()

    def outputs(weight):
        return network(replace(graphs, edge_weight=weight))

    assert torch.autograd.gradcheck(outputs, weight)
    shared = replace(graphs, edge_weight=weight)
    for _ in range(2):  # no matrix is left of the first pass
        network(shared).sum().backward()


def test_dropout_keeps_the_mean_and_draws_from_the_generator():
    x = torch.ones(1000, 10)
    state = torch.get_rng_state()
    dropped = drop(x, 0.25, True, torch.Generator().manual_seed(0))
    assert_close(dropped.unique(), torch.tensor([0, 4 / 3]))
    assert dropped.mean().item() == pytest.approx(1, abs=0.03)
    assert torch.equal(dropped, drop(x, 0.25, True, torch.Generator().manual_seed(0)))
    assert torch.equal(state, torch.get_rng_state())
    assert drop(x, 0.25, False) is x and drop(x, 0.0, True) is x


def test_glorot_is_uniform_within_its_bound():
    matrices = torch.empty(3, 40, 60)
    glorot_(matrices, torch.Generator().manual_seed(0))
    bound = (6 / 100) ** 0.5
    assert bound * 0.99 < matrices.abs().max() <= bound
    vector = torch.ones(5)
    glorot_(vector)
    assert not vector.any()


class Conditioned(FlatNetwork):
    def __init__(self, n_features, n_outputs, *, n_graph_features=0):
        super().__init__()
        self.output = Perceptron(n_features + n_graph_features, 4, n_outputs)

    def embed(self, graphs, generator=None):
        return pool(graphs.x, graphs)


def test_the_head_sees_features_of_graphs_beside_their_vectors():
    x, features = torch.randn(6, 4), torch.randn(3, 2)
    network = Conditioned(4, 2, n_graph_features=2)
    graphs = replace(three_graphs(x), graph_features=features)
    vectors = torch.cat([pool(x, graphs), features], dim=1)
    assert torch.equal(network.head_input(graphs), vectors)
    assert torch.equal(network(graphs), network.output(vectors))
    assert torch.equal(network.embed(graphs), pool(x, graphs))
    assert network.n_embedding == 6
    bare = Conditioned(4, 2)
    assert torch.equal(bare.head_input(three_graphs(x)), bare.embed(three_graphs(x)))


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


class Normed(FlatNetwork):
    """Two layers that normalize nodes, and one that normalizes graphs."""

    def __init__(self, n_features, n_outputs, *, dropout=0.5, norm=Norm):
        super().__init__()
        self.dropout = dropout
        self.first, self.second, self.last = (norm(n_features) for _ in range(3))
        self.output = nn.Linear(n_features, n_outputs)

    def embed(self, graphs, generator=None):
        nodes, of_graphs = [], []  # weights, which other layers that normalize do not take
        if isinstance(self.first, Norm):
            nodes, of_graphs = [graphs.node_weight()], [graphs.weight]
        x = torch.relu(self.first(graphs.x, *nodes))
        x = drop(x, self.dropout, self.training, generator)
        return self.last(pool(self.second(x, *nodes), graphs), *of_graphs)

    def head(self, embedding, generator=None):
        return self.output(embedding)


def normed(**options):
    return Normed.build(
        generator=torch.Generator().manual_seed(0),
        dtype=torch.float64,
        n_features=3,
        n_outputs=2,
        **options,
    )


def batch_of(n_graphs, seed=0, n_nodes=4):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n_graphs * n_nodes, 3, generator=generator, dtype=torch.float64) * 3 + 1
    graph = torch.arange(n_graphs).repeat_interleave(n_nodes)
    return FlatGraphs(x, torch.empty(2, 0, dtype=torch.int64), graph, n_graphs)


def test_statistics_are_those_of_all_rows_of_all_batches():
    network, batches = normed(), [batch_of(3, 1), batch_of(5, 2), batch_of(2, 3), batch_of(1, 4)]
    network.find_statistics_((batch,) for batch in batches)
    x = torch.cat([batch.x for batch in batches])
    assert_close(network.first.running_mean, x.mean(0))
    assert_close(network.first.running_var, x.var(0, unbiased=False))
    assert not any(module.training for module in network.modules())
    assert all(norm.momentum == 1 for norm in network._norms())


def test_with_its_statistics_a_batch_is_predicted_as_it_is_trained_on_without_dropout():
    network, batch = normed(), batch_of(6)
    network.find_statistics_([(batch,)])
    predicted = network(batch)
    network.dropout = 0.0
    assert_close(network.train()(batch), predicted)


def test_statistics_of_weighted_graphs_are_those_of_copies():
    batch, weight = batch_of(4), torch.tensor([1, 3, 1, 2])
    copies = torch.repeat_interleave(weight)
    x = batch.x.view(4, 4, 3)[copies].flatten(0, 1)
    copied = replace(batch, x=x, graph=torch.arange(7).repeat_interleave(4), n_graphs=7)
    results = []
    for batches in (
        [replace(batch, weight=0.5 * weight.double()), replace(batch, weight=weight.double())],
        [copied, copied, copied],
    ):
        network = normed()
        network.find_statistics_((one,) for one in batches)
        results.append(network.statistics())
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected)


def test_earlier_statistics_may_keep_a_share():
    network = normed()
    network.find_statistics_([(batch_of(9, 1),)])
    network.find_statistics_([(batch_of(3, 2),)], earlier=0.75)
    x = torch.cat([batch_of(9, 1).x, batch_of(3, 2).x])
    assert_close(network.first.running_mean, x.mean(0))
    assert_close(network.first.running_var, x.var(0, unbiased=False))


def test_single_rows_leave_statistics_as_they_are():
    network = normed()
    network.find_statistics_([(batch_of(9),)])
    before = [one.clone() for one in network.statistics()]
    network.find_statistics_([(batch_of(1, 3, n_nodes=1),)])
    for found, expected in zip(network.statistics(), before, strict=True):
        assert torch.equal(found, expected)


def test_what_does_not_vary_is_not_stretched():
    network, batch = normed(), batch_of(9)
    x = batch.x.clone()
    x[:, 1] = 1 / 3  # a mean of which is hardly ever the same
    network.find_statistics_([(replace(batch, x=x),)])
    assert network.first.running_var[1] == 1
    assert_close(network.first.running_var[[0, 2]], x.var(0, unbiased=False)[[0, 2]])


def test_statistics_of_other_layers_that_normalize_are_found_as_torch_does():
    network = normed(norm=nn.BatchNorm1d)
    batches = [batch_of(3, 1), batch_of(3, 2)]
    network.find_statistics_((batch,) for batch in batches)
    expected = torch.stack([batch.x.mean(0) for batch in batches]).mean(0)
    assert_close(network.first.running_mean, expected)
    assert network.first.momentum == 0.1


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.full((3,), 2.0))


def test_buffers_that_nobody_sets_are_refused():
    with pytest.raises(
        TypeError, match="Scaled has the buffer scale, whose initial value is unknown"
    ):
        Own.build(
            generator=torch.Generator(),
            dtype=torch.float32,
            n_features=3,
            n_outputs=2,
            layer=Scaled,
        )
