"""What is true of all stacks of layers."""

import copy
import pickle
from dataclasses import replace
from functools import partial

import pytest
import torch
from stacks import (
    EDGES,
    N_EDGE_FEATURES,
    N_OUTPUTS,
    SIZES,
    build,
    flat_graphs,
    pooled,
    scramble_,
    weighted,
)

from sklofi.nn import ECC, GAT, GCN, GIN, SFAGNN, SGIN, DeepMultisets, FlatGraphs, GraphSAGE
from sklofi.nn._choices import POOLINGS

# Those that read edge labels by option.
LABELED = [partial(network, n_edge_features=N_EDGE_FEATURES) for network in (GraphSAGE, GIN, GAT)]
NETWORKS = [DeepMultisets, GCN, GraphSAGE, GIN, SGIN, GAT, ECC, SFAGNN, *LABELED]
WEIGHTED = [GCN, GraphSAGE, GIN, SGIN, *LABELED[:2]]


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def graphs(generator):
    return flat_graphs(SIZES, EDGES, generator)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("network_class", NETWORKS)
def test_embeddings_are_pooled_nodes(graphs, network_class, pooling):
    network = build(network_class, pooling=pooling).eval()
    assert network(graphs).shape == (3, N_OUTPUTS)
    nodes = replace(graphs, graph=torch.arange(len(graphs.x)), n_graphs=len(graphs.x))
    torch.testing.assert_close(network.embed(graphs), pooled(network.embed(nodes), graphs, pooling))


@pytest.mark.parametrize("network_class", NETWORKS)
def test_all_values_come_from_the_generator(graphs, network_class):
    first, again, other = (build(network_class, seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(not tensor.isnan().any() for tensor in first.values())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("network_class", NETWORKS)
def test_randomness_comes_from_the_generator(graphs, generator, network_class):
    network = scramble_(build(network_class, dropout=0.5), generator).train()
    state = torch.get_rng_state()
    first, again, other = (
        network(graphs, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(network.eval()(graphs), network(graphs, torch.Generator()))


@pytest.mark.parametrize("network_class", NETWORKS)
def test_graphs_do_not_see_each_other_in_evaluation(generator, network_class):
    graphs = flat_graphs(SIZES, EDGES, generator, dtype=torch.float32)
    network = build(network_class, dtype=torch.float32)
    network.train()(graphs, generator)  # moves the statistics of batches
    network.eval()
    together = network(graphs)
    start = 0
    for number, size in enumerate(SIZES):
        inside = (graphs.edge_index[0] >= start) & (graphs.edge_index[0] < start + size)
        alone = FlatGraphs(
            graphs.x[start : start + size],
            graphs.edge_index[:, inside] - start,
            torch.zeros(size, dtype=torch.int64),
            1,
            graphs.edge_features,
            graphs.edge_kinds[inside],
        )
        torch.testing.assert_close(
            network(alone), together[number : number + 1], rtol=1e-4, atol=1e-5
        )
        start += size


@pytest.mark.parametrize("network_class", WEIGHTED)
def test_weights_of_one_are_no_weights_and_others_are_seen(graphs, generator, network_class):
    network = scramble_(build(network_class), generator).eval()
    ones = replace(graphs, edge_weight=torch.ones(len(EDGES)).double())
    torch.testing.assert_close(network(ones), network(graphs))
    assert not torch.allclose(network(weighted(graphs, generator)), network(graphs))


@pytest.mark.parametrize("network_class", LABELED)
def test_labels_of_edges_are_seen(graphs, generator, network_class):
    network = scramble_(build(network_class), generator).eval()
    other = replace(graphs, edge_kinds=(graphs.edge_kinds + 1) % 4)
    assert not torch.allclose(network(other), network(graphs))


@pytest.mark.parametrize("size", [1e-30, 1e15])
@pytest.mark.parametrize("network_class", WEIGHTED)
def test_weights_of_any_size_give_finite_outputs_and_gradients(generator, network_class, size):
    graphs = weighted(flat_graphs(SIZES, EDGES, generator, torch.float32), generator)
    weights = size * graphs.edge_weight
    graphs = replace(graphs, x=1e15 * graphs.x, edge_weight=weights)
    network = build(network_class, dtype=torch.float32)
    outputs = network.train()(graphs, generator)
    gradients = torch.autograd.grad(outputs.sum(), [*network.parameters()])
    values = [outputs, network.eval()(graphs), *gradients, *network.buffers()]
    assert all(value.isfinite().all() for value in values)


@pytest.mark.parametrize("network_class", NETWORKS)
def test_the_order_of_nodes_and_edges_does_not_matter(graphs, generator, network_class):
    network = build(network_class).eval()
    order = torch.tensor([3, 0, 4, 1, 2, 5, 9, 8, 6, 7])  # inside of graphs
    edge_order = torch.randperm(len(EDGES), generator=generator)
    shuffled = FlatGraphs(
        graphs.x[order],
        order.argsort()[graphs.edge_index][:, edge_order],
        graphs.graph,
        graphs.n_graphs,
        graphs.edge_features,
        graphs.edge_kinds[edge_order],
    )
    torch.testing.assert_close(network(shuffled), network(graphs))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e15])
@pytest.mark.parametrize(
    "sizes, edges, n_features",
    [
        ([1], [], 1),
        ([1], [(0, 0)], 1),
        ([3, 2], [], 2),
        ([2, 1, 1], [(0, 1)], 1),
        ([60, 1], [(0, v) for v in range(60)] + [(v, 0) for v in range(1, 60)], 2),
    ],
)
@pytest.mark.parametrize("network_class", NETWORKS)
def test_outputs_and_gradients_are_finite(
    generator, network_class, sizes, edges, n_features, scale, training
):
    graphs = flat_graphs(sizes, edges, generator, torch.float32, n_features)
    x = (graphs.x.abs() * scale).requires_grad_()
    graphs = replace(graphs, x=x)
    network = build(network_class, n_features=n_features, dtype=torch.float32, n_layers=5)
    network.train()(graphs, generator)
    outputs = network.train(training)(graphs, generator)
    assert outputs.shape == (len(sizes), N_OUTPUTS)
    gradients = torch.autograd.grad(outputs.sum(), [x, *network.parameters()])
    values = [outputs, *gradients, *network.buffers()]
    assert all(value.isfinite().all() for value in values)


@pytest.mark.parametrize("network_class", NETWORKS)
def test_deep_stacks_stay_finite_on_data_of_another_size(generator, network_class):
    """The statistics are those of small numbers, the nodes large, the degrees, too."""
    small = flat_graphs(SIZES, EDGES, generator, torch.float32)
    n_nodes = 40
    edges = [(u, v) for u in range(n_nodes) for v in range(n_nodes) if u != v]
    large = flat_graphs([n_nodes], edges, generator, torch.float32)
    is_sage = getattr(network_class, "func", network_class) is GraphSAGE
    kwargs = {"aggregation": "sum"} if is_sage else {}
    network = build(network_class, dtype=torch.float32, n_layers=30, **kwargs)
    network.train()(small, generator)
    assert network.eval()(replace(large, x=large.x.abs() * 1e15)).isfinite().all()


@pytest.mark.parametrize("network_class", NETWORKS)
def test_torch_defaults_do_not_matter(graphs, network_class):
    network = build(network_class).train()
    expected = copy.deepcopy(network)(graphs, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(0)
    dtype = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float16)
        with torch.device("meta"):
            found = network(graphs, generator)
    finally:
        torch.set_default_dtype(dtype)
    assert found.dtype == torch.float64
    assert torch.equal(found, expected)


@pytest.mark.parametrize("network_class", NETWORKS)
def test_networks_keep_no_state_between_calls_and_can_be_pickled(graphs, network_class):
    network = build(network_class).eval()
    state = copy.deepcopy(network.state_dict())
    expected = network(graphs)
    network(replace(graphs, x=graphs.x + 1))
    assert torch.equal(network(graphs), expected)
    assert all(torch.equal(state[name], value) for name, value in network.state_dict().items())
    assert torch.equal(pickle.loads(pickle.dumps(network))(graphs), expected)


@pytest.mark.parametrize("n_edges", [0, 2000])
@pytest.mark.parametrize("network_class", NETWORKS)
def test_memory_is_about_what_the_network_says(generator, network_class, n_edges):
    edges = torch.randint(0, 200, (n_edges, 2), generator=generator).tolist()
    graphs = flat_graphs([100, 100], edges, generator, torch.float32)
    network = build(network_class, dtype=torch.float32, dropout=0.1, n_hidden=16).train()
    own = {p.data_ptr() for p in network.parameters()} | {graphs.x.data_ptr()}
    kept = {}

    def keep(tensor):
        if tensor.is_floating_point() and tensor.data_ptr() not in own:
            kept[tensor.data_ptr()] = tensor  # held, so that addresses are not used twice
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        network(graphs, generator)
    n_numbers = sum(tensor.untyped_storage().nbytes() // 4 for tensor in kept.values())
    said = 200 * network.numbers_per_node + n_edges * network.numbers_per_edge
    n_passing = 2 * n_edges * 16  # messages that are summed and forgotten, and matrices
    assert 0.9 * n_numbers <= said <= 2 * (n_numbers + n_passing)
