from dataclasses import replace

import pytest
import torch
from stacks import (
    EDGES,
    N_EDGE_FEATURES,
    SIZES,
    adjacency,
    assert_same,
    build,
    flat_graphs,
    norm,
    pooled,
    scramble_,
    weighted,
)
from torch_geometric.nn import GINConv, GINEConv

from sklofi.nn import GIN, SGIN, CountMatrix
from sklofi.nn._gin import count_returns


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def graphs(generator):
    return flat_graphs(SIZES, EDGES, generator)


def gin_formula(network, a):
    def formula(graphs):
        x, readouts = graphs.x, []
        for layer in [None, *network.layers]:
            if layer is not None:
                first, first_norm, _, second, second_norm = layer.nn
                x = a @ x + (1 + layer.eps) * x
                x = second(torch.relu(norm(first_norm, first(x))))
                x = torch.relu(norm(second_norm, x))
            readouts.append(pooled(x, graphs, "sum"))
        weights = network.output.weight.split([r.shape[1] for r in readouts], dim=1)
        return sum(r @ w.T for r, w in zip(readouts, weights, strict=True)) + network.output.bias

    return formula


@pytest.mark.parametrize("train_eps", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_gin_equals_the_sum_of_linear_readouts(graphs, generator, train_eps, training):
    network = build(GIN, n_layers=2, n_hidden=4, dropout=0.0, train_eps=train_eps)
    scramble_(network, generator).train(training)
    assert_same(network, gin_formula(network, adjacency(graphs)), graphs)


def test_gin_zero_weighs_a_node_as_its_neighbors():
    assert [layer.eps.tolist() for layer in build(GIN, n_layers=2).layers] == [[0.0], [0.0]]
    n_parameters = [len(list(build(GIN, train_eps=t).parameters())) for t in (False, True)]
    assert n_parameters[1] == n_parameters[0] + 4


def test_gin_layers_equal_those_of_pytorch_geometric(generator):
    layer = build(GIN, n_layers=1, n_hidden=4, train_eps=True).layers[0]
    with torch.no_grad():
        layer.eps.fill_(0.5)
    x = torch.randn(5, 3, generator=generator, dtype=layer.eps.dtype)
    edges = torch.tensor([[0, 1, 1, 2, 4, 4], [1, 0, 2, 1, 4, 3]])
    published = GINConv(layer.nn, train_eps=True).to(x.dtype)
    published.load_state_dict(layer.state_dict())
    matrix = CountMatrix.from_entries(edges[1], edges[0], x.new_ones(6), 5).with_transpose(5)
    results = []
    for module, neighbors in ((layer, matrix), (published, edges)):
        leaf = x.clone().requires_grad_()
        outputs = module(leaf, neighbors)
        inputs = [leaf, module.eps, *layer.nn.parameters()]
        factors = torch.arange(1.0, 21).to(outputs).reshape(5, 4)
        results.append([outputs, *torch.autograd.grad((outputs * factors).sum(), inputs)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)


def test_weights_of_edges_are_entries_of_the_adjacency(graphs, generator):
    graphs = weighted(graphs, generator)
    network = scramble_(build(GIN, n_layers=2, n_hidden=4, dropout=0.0), generator)
    assert_same(network, gin_formula(network, adjacency(graphs)), graphs)


def edge_layer(generator):
    """A layer of GINE, and edges with a loop and with two parallel ones, whose labels differ."""
    network = build(GIN, n_layers=1, n_hidden=4, train_eps=True, n_edge_features=N_EDGE_FEATURES)
    layer = scramble_(network, generator).layers[0]
    edges = torch.tensor([[0, 1, 1, 2, 4, 4, 4], [1, 0, 2, 1, 4, 3, 3]])
    features = torch.randn(4, N_EDGE_FEATURES, generator=generator, dtype=layer.eps.dtype)
    return layer, edges, features, torch.tensor([0, 0, 1, 1, 2, 3, 0])


def test_layers_with_edge_labels_equal_gine_of_pytorch_geometric(generator):
    layer, edges, features, kinds = edge_layer(generator)
    published = GINEConv(layer.nn, train_eps=True, edge_dim=N_EDGE_FEATURES).to(features.dtype)
    published.load_state_dict(layer.state_dict())
    published.nn = layer.nn  # which GINEConv has reset
    layer.load_state_dict(published.state_dict())
    x = torch.randn(5, 3, generator=generator, dtype=features.dtype, requires_grad=True)
    results = []
    for module, options in (
        (layer, {"edge_features": features, "edge_kinds": kinds}),
        (published, {"edge_attr": features[kinds]}),
    ):
        outputs = module(x, edges, **options)
        inputs = [x, module.lin.weight, module.lin.bias, module.eps, *layer.nn.parameters()]
        factors = torch.arange(1.0, 21).to(outputs).reshape(5, 4)
        results.append([outputs, *torch.autograd.grad((outputs * factors).sum(), inputs)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)
        assert expected.abs().sum() > 0


@pytest.mark.parametrize("has_weights", [True, False])
def test_gine_equals_a_loop_over_edges(graphs, generator, has_weights):
    if has_weights:
        graphs = weighted(graphs, generator)
    options = {"dropout": 0.0, "n_edge_features": N_EDGE_FEATURES}
    network = scramble_(build(GIN, n_layers=2, n_hidden=4, **options), generator)

    def formula(graphs):
        x, readouts = graphs.x, [pooled(graphs.x, graphs, "sum")]
        for layer in network.layers:
            sums = [(1 + layer.eps) * own for own in x]
            for number, (u, v) in enumerate(graphs.edge_index.T.tolist()):
                edge = layer.lin(graphs.edge_features[graphs.edge_kinds[number]])
                factor = graphs.edge_weight[number] if has_weights else 1
                sums[v] = sums[v] + factor * torch.relu(x[u] + edge)
            first, first_norm, _, second, second_norm = layer.nn
            x = second(torch.relu(norm(first_norm, first(torch.stack(sums)))))
            x = torch.relu(norm(second_norm, x))
            readouts.append(pooled(x, graphs, "sum"))
        return network.output(torch.cat(readouts, 1))

    assert_same(network, formula, graphs)


def test_an_edge_of_zeros_has_the_vector_that_all_edges_have_in_common(generator):
    """As edges have whose labels no training graph has."""
    layer, edges, features, kinds = edge_layer(generator)
    layer.eval()
    features[3] = 0
    x = torch.randn(5, 3, generator=generator, dtype=features.dtype)
    single = layer(x, edges[:, 5:6], edge_features=features, edge_kinds=kinds[5:6])
    sums = (1 + layer.eps) * x
    sums[3] = sums[3] + torch.relu(x[4] + layer.lin.bias)
    torch.testing.assert_close(single, layer.nn(sums))


@pytest.mark.parametrize("has_weights", [True, False])
def test_sgin_equals_gin_over_walks_of_one_and_two_steps(graphs, generator, has_weights):
    if has_weights:
        graphs = weighted(graphs, generator)
    network = scramble_(build(SGIN, n_layers=2, n_hidden=4, dropout=0.0), generator)
    n_nodes = len(graphs.x)
    edges = graphs.edge_index.T.tolist()
    weights = graphs.edge_weight.tolist() if has_weights else [1.0] * len(edges)
    a = adjacency(graphs)
    for (w, u), first in zip(edges, weights, strict=True):
        for (u_again, v), second in zip(edges, weights, strict=True):
            if u == u_again and w != v:
                a[v, w] += first * second
    assert a.max() > 1  # in a triangle, two ways lead to a neighbor
    assert_same(network, gin_formula(network, a), graphs)
    dense = adjacency(graphs)
    torch.testing.assert_close(count_returns(graphs)[:, 0], (dense @ dense).diagonal())
    assert count_returns(graphs).shape == (n_nodes, 1)


def test_returns_count_edges_as_often_as_they_are_there(generator):
    graphs = flat_graphs([3], [(0, 1), (0, 1), (1, 0), (1, 0), (1, 0), (2, 2), (1, 2)], generator)
    assert count_returns(graphs)[:, 0].tolist() == [6, 6, 1]


def test_returns_weigh_edges_as_often_as_they_are_there(generator):
    edges = [(0, 1), (0, 1), (1, 0), (2, 2), (1, 2)]
    graphs = flat_graphs([3], edges, generator)
    weights = torch.tensor([2.0, 3.0, 0.5, 4.0, 7.0]).double()
    assert count_returns(replace(graphs, edge_weight=weights))[:, 0].tolist() == [2.5, 2.5, 16]
    alone = flat_graphs([2], [], generator)
    assert count_returns(replace(alone, edge_weight=weights[:0]))[:, 0].tolist() == [0, 0]


@pytest.mark.parametrize("network_class", [GIN, SGIN])
def test_sums_over_graphs_begin_with_a_guess(graphs, network_class):
    network = build(network_class)
    assert (network(graphs) == 0).all()
    assert network.embed(graphs).abs().max() > 1
