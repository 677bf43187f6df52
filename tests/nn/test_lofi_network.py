"""The network against the formulas of the paper, one egonet at a time."""

import networkx as nx
import pytest
import scipy.sparse as sp
import torch
from lofi_loops import as_matrices, gradients, loop_network, random_graphs
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from sklofi.nn import CountMatrix, LoFINetwork
from sklofi.nn import _lofi as nn
from sklofi.nn._choices import POOLINGS, READOUTS
from sklofi.nn._lofi_network import max_pool


@pytest.mark.parametrize("kernel", ["intersection", "l1"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("readout", ["all", "last"])
@pytest.mark.parametrize("radius", [1, 2])
def test_network_equals_the_formulas_in_values_and_gradients(kernel, pooling, readout, radius):
    graphs = random_graphs()
    egonets, membership = as_matrices(graphs, radius)
    generator = torch.Generator().manual_seed(0)
    network = LoFINetwork(
        3, 2, n_layers=2, n_masks=3, n_words=4, kernel=kernel, pooling=pooling, readout=readout,
        generator=generator,
    ).double()  # fmt: skip
    network.calibrate_(torch.tensor(0.3), torch.tensor(2.0))
    x = torch.randn(len(egonets), 3, generator=generator).double()
    x[4] = 0  # an unknown label
    network.start_at_data_(x, egonets, membership, torch.ones(len(graphs)), generator)
    output = network(x, egonets, membership)
    expected = loop_network(network, graphs, x, radius)
    assert_close(output, expected)
    for got, wanted in zip(gradients(network, output), gradients(network, expected), strict=True):
        assert_close(got, wanted)


def test_features_of_graphs_stand_beside_their_pooled_vectors():
    graphs = random_graphs()
    egonets, membership = as_matrices(graphs, 1)
    features = torch.randn(len(graphs), 2)
    network = LoFINetwork(3, 2, n_layers=2, n_masks=3, n_words=4, n_graph_features=2)
    network.calibrate_(torch.linspace(-1, 1, 8), torch.linspace(1, 2, 8))
    x = torch.randn(len(egonets), 3)
    vectors = torch.cat([network.embed(x, egonets, membership), features], dim=1)
    assert_close(network.head_input(x, egonets, membership, features), vectors)
    standardized = (vectors - network.embedding_mean) / network.embedding_scale
    hidden = torch.relu(network.hidden(standardized))
    assert_close(network(x, egonets, membership, features), network.output(hidden))


@pytest.mark.parametrize("kernel", ["intersection", "l1"])
def test_a_node_that_is_not_there_is_as_if_removed(kernel):
    star, rest = nx.star_graph(4), nx.star_graph(3)
    network = LoFINetwork(2, 3, n_layers=3, n_masks=2, n_words=3, kernel=kernel).double()
    x = torch.randn(5, 2).double()
    presence = torch.tensor([1, 1, 1, 1, 0]).double()
    egonets, membership = as_matrices([star], 1)
    there = network.layer_outputs(x, egonets, presence=presence)
    alone = network.layer_outputs(x[:4], as_matrices([rest], 1)[0])
    for got, wanted in zip(there, alone, strict=True):
        assert_close(got[:4], wanted)
    assert_close(
        network.head(network.pool(there, membership, presence)),
        network(x[:4], *as_matrices([rest], 1)),
    )


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("readout", READOUTS)
def test_the_stations_of_the_network_add_up_to_it(pooling, readout):
    egonets, membership = as_matrices(random_graphs(), 1)
    network = LoFINetwork(2, 2, n_layers=3, n_masks=2, n_words=3, pooling=pooling, readout=readout)
    network.node_mean.uniform_()
    x = torch.randn(len(egonets), 2)
    outputs = network.layer_outputs(x, egonets)
    again = network.layer_outputs(outputs[0], egonets, first_layer=1)
    for got, wanted in zip(again, outputs[1:], strict=True):
        assert_close(got, wanted)
    assert_close(network.head(network.pool(outputs, membership)), network(x, egonets, membership))
    half = torch.full((len(x),), 0.5)
    factor = 0.5 if pooling == "sum" else 1.0
    assert_close(
        network.pool(outputs, membership, half), factor * network.pool(outputs, membership)
    )


def test_a_matrix_for_every_layer_or_the_last_again():
    """Two layers of classes by hand: a path of three, its ends are alike."""
    path = [nx.path_graph(3)]
    network = LoFINetwork(1, 2, n_layers=3, n_masks=2, n_words=3).double()
    nodes = network(torch.ones(3, 1).double(), *as_matrices(path, 1))
    from_scipy = CountMatrix.from_scipy
    egonets = [from_scipy(sp.csr_array([[2], [3]])), from_scipy(sp.csr_array([[1, 1], [2, 1]]))]
    graphs = [from_scipy(sp.csr_array([[2, 1]]))]
    classes = network(torch.ones(1, 1).double(), egonets, graphs)
    assert_close(classes, nodes)
    wanted = torch.autograd.grad(nodes.sum(), list(network.parameters()))
    got = torch.autograd.grad(classes.sum(), list(network.parameters()))
    for one, other in zip(got, wanted, strict=True):
        assert_close(one, other)


def test_layers_that_are_not_read_out_get_their_gradients_from_above():
    network = LoFINetwork(1, 2, n_layers=2, readout="last")
    output = network(torch.ones(9, 1), *as_matrices([nx.cycle_graph(9)], 1))
    output.sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


def test_nodes_that_share_the_maximum_share_its_gradient():
    """Two classes tie at 2: one of three nodes, one of a single node."""
    counts = CountMatrix.from_scipy(sp.csr_array([[3, 1, 2]]))
    x = torch.tensor([[2.0], [2.0], [1.0]], requires_grad=True)
    pooled = max_pool(counts, x)
    pooled.sum().backward()
    assert pooled.item() == 2
    assert x.grad.flatten().tolist() == [0.75, 0.25, 0.0]


class OneDevice(TorchDispatchMode):
    """Check that every operation takes and gives tensors of a single device."""

    def __init__(self, device):
        super().__init__()
        self.device = device

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        for leaf in tree_leaves((args, kwargs, result)):
            if isinstance(leaf, torch.Tensor) and leaf.device.type != self.device:
                raise AssertionError(f"{operation} meets a tensor on {leaf.device}")
        return result


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_everything_stays_on_the_device_of_the_network(pooling, dropout):
    """There may be no GPU here; the meta device computes nothing, but is not the CPU."""
    on_cpu = as_matrices(random_graphs(), 1)[0]
    matrix = on_cpu.to("meta")
    x = torch.ones(len(matrix), 3, device="meta")
    network = LoFINetwork(3, 2, pooling=pooling, dropout=dropout).to("meta")
    with OneDevice("meta"):
        output = network(x, matrix, matrix)
        output.sum().backward()
    with pytest.raises(AssertionError, match="meets a tensor on cpu"), OneDevice("meta"):
        network(x, matrix, on_cpu)


def test_graphs_of_a_batch_do_not_see_each_other():
    graphs = random_graphs()
    network = LoFINetwork(2, 3, n_layers=2, n_masks=4, n_words=3).double()
    x = torch.randn(sum(map(len, graphs)), 2).double()
    together = network(x, *as_matrices(graphs, 2))
    parts = x.split([len(graph) for graph in graphs])
    alone = [network(p, *as_matrices([g], 2)) for g, p in zip(graphs, parts, strict=True)]
    assert_close(together, torch.cat(alone))


def test_the_order_of_nodes_does_not_matter():
    graph = nx.gnp_random_graph(9, 0.3, seed=3)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(0))
    shuffled = nx.Graph()
    shuffled.add_nodes_from(order.tolist())
    shuffled.add_edges_from(graph.edges)
    network = LoFINetwork(2, 3).double()
    x = torch.randn(9, 2).double()
    assert_close(
        network(x, *as_matrices([graph], 1)), network(x[order], *as_matrices([shuffled], 1))
    )


def test_masks_start_at_nodes_and_egonets(monkeypatch):
    """Without noise, the egonet that a mask was drawn from fits it perfectly."""
    monkeypatch.setattr(nn, "INITIAL_NOISE", 0.0)
    graphs = random_graphs()
    egonets, membership = as_matrices(graphs, 1)
    x = torch.eye(3).double()[torch.arange(len(egonets)) % 3]
    network = LoFINetwork(3, 2, n_layers=3, n_masks=4, n_words=5, kernel="l1").double()
    network.start_at_data_(
        x, egonets, membership, torch.ones(len(graphs)), torch.Generator().manual_seed(0)
    )
    words = network.layers[0].dictionary.flatten(0, 1)
    assert all((word == x).all(dim=1).any() for word in words)
    inputs = x
    for depth, layer in enumerate(network.layers):
        z = layer(inputs, egonets)
        assert_close(z.amax(dim=0), torch.ones(4).double())
        if depth < 2:
            inputs = (z - network.node_mean[depth]) / network.node_scale[depth]
            assert_close(inputs.mean(dim=0), torch.zeros(4).double())
            assert_close(inputs.std(dim=0, correction=0), torch.ones(4).double())


def test_weights_at_the_start_are_copies():
    graphs = random_graphs()
    networks = []
    for copies, weight in (([1, 1, 1, 1, 1], [1.0, 2, 1, 3, 1]), ([1, 2, 1, 3, 1], [1.0] * 8)):
        repeated = [graph for graph, n in zip(graphs, copies, strict=True) for _ in range(n)]
        egonets, membership = as_matrices(repeated, 1)
        x = torch.cat([features_of(graph) for graph in repeated])
        network = LoFINetwork(3, 2, n_layers=3, n_masks=4, n_words=5).double()
        network.start_at_data_(
            x, egonets, membership, torch.tensor(weight), torch.Generator().manual_seed(0)
        )
        networks.append(network)
    for one, other in zip(*(network.layers.parameters() for network in networks), strict=True):
        assert_close(one, other)
    assert_close(networks[0].node_mean, networks[1].node_mean)
    assert_close(networks[0].node_scale, networks[1].node_scale)


def features_of(graph):
    """Numbers that belong to a graph and a node of it."""
    rows = [[graph.degree(v), i, len(graph)] for i, v in enumerate(graph)]
    return torch.tensor(rows).double()


def test_constant_outputs_are_not_blown_up():
    egonets, membership = as_matrices([nx.cycle_graph(5), nx.cycle_graph(4)], 1)
    network = LoFINetwork(1, 2, n_layers=3, generator=torch.Generator().manual_seed(0))
    x = torch.ones(9, 1)
    network.start_at_data_(x, egonets, membership, torch.ones(2), torch.Generator().manual_seed(0))
    assert torch.equal(network.node_mean, torch.zeros(2, 16))
    assert torch.equal(network.node_scale, torch.ones(2, 16))
    network(x, egonets, membership).sum().backward()
    assert max(parameter.grad.abs().max() for parameter in network.parameters()) < 100


def test_clipping_makes_histograms_non_negative_and_nothing_else():
    network = LoFINetwork(2, 2, n_layers=2)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with torch.no_grad():
        network.layers[1].histogram[0, 0] = -1.0
    network.constrain_()
    before["layers.1.histogram"][0, 0] = 0.0
    for name, value in network.state_dict().items():
        assert_close(value, before[name])


def test_dropout_drops_in_training_only_and_keeps_the_mean():
    matrices = as_matrices([nx.complete_graph(200)], 1)
    network = LoFINetwork(2, 2, n_layers=1, dropout=0.25, pooling="mean").double()
    x = torch.randn(200, 2).double()
    network.eval()
    exact = network.embed(x, *matrices)
    network.train()
    generator = torch.Generator().manual_seed(0)
    dropped = torch.cat([network.embed(x, *matrices, generator) for _ in range(200)])
    assert not torch.equal(dropped[:1], exact)
    assert_close(dropped.mean(dim=0, keepdim=True), exact, rtol=0.05, atol=0.01)


def test_what_is_dropped_is_at_the_mean_for_the_next_layer():
    egonets, membership = as_matrices([nx.path_graph(3)], 1)
    network = LoFINetwork(2, 2, n_layers=2, n_masks=3, dropout=0.5)
    network.node_mean.fill_(-7.0)
    seen = []
    network.layers[1].register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[0]))
    network.embed(torch.randn(3, 2), egonets, membership, torch.Generator().manual_seed(0))
    is_dropped = seen[0] == 0
    assert 0 < is_dropped.sum() < 9
    assert (seen[0][~is_dropped] > 1).all()  # twice a distance of more than 7 - |z|


def test_a_network_that_is_reset_has_forgotten_the_data():
    egonets, membership = as_matrices(random_graphs(), 1)
    network = LoFINetwork(1, 2, generator=torch.Generator().manual_seed(0))
    before = {name: value.clone() for name, value in network.state_dict().items()}
    network.start_at_data_(torch.ones(22, 1), egonets, membership, torch.ones(5))
    network.calibrate_(torch.tensor(1.0), torch.tensor(2.0))
    network.reset_parameters(torch.Generator().manual_seed(0))
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_generator_replaces_the_global_one():
    state = torch.get_rng_state()
    networks = [LoFINetwork(2, 2, generator=torch.Generator().manual_seed(4)) for _ in range(2)]
    assert torch.equal(torch.get_rng_state(), state)
    for one, other in zip(*(network.parameters() for network in networks), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", ["kernel", "pooling", "readout"])
def test_unknown_choices_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} has to be one of .*, got 'other'"):
        LoFINetwork(2, 2, **{name: "other"})
