import pytest
import torch
from stacks import (
    EDGES,
    SIZES,
    adjacency,
    assert_same,
    build,
    flat_graphs,
    norm,
    pooled,
    scramble_,
)
from torch_geometric.nn import GINConv

from sklofi.nn import GIN, SGIN
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
    assert torch.equal(layer(x, edges), published(x, edges))


def test_sgin_equals_gin_over_walks_of_one_and_two_steps(graphs, generator):
    network = scramble_(build(SGIN, n_layers=2, n_hidden=4, dropout=0.0), generator)
    n_nodes = len(graphs.x)
    edges = graphs.edge_index.T.tolist()
    a = adjacency(graphs)
    for w, u in edges:
        for u_again, v in edges:
            if u == u_again and w != v:
                a[v, w] += 1
    assert a.max() > 1  # in a triangle, two ways lead to a neighbor
    assert_same(network, gin_formula(network, a), graphs)
    dense = adjacency(graphs)
    torch.testing.assert_close(count_returns(graphs)[:, 0], (dense @ dense).diagonal())
    assert count_returns(graphs).shape == (n_nodes, 1)


def test_returns_count_edges_as_often_as_they_are_there(generator):
    graphs = flat_graphs([3], [(0, 1), (0, 1), (1, 0), (1, 0), (1, 0), (2, 2), (1, 2)], generator)
    assert count_returns(graphs)[:, 0].tolist() == [6, 6, 1]


@pytest.mark.parametrize("network_class", [GIN, SGIN])
def test_sums_over_graphs_begin_with_a_guess(graphs, network_class):
    network = build(network_class)
    assert (network(graphs) == 0).all()
    assert network.embed(graphs).abs().max() > 1
