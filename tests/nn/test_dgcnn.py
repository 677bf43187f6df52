"""DGCNN against plain formulas on dense matrices."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import torch
from flat_networks import (  # noqa: F401
    GRAPHS,
    adjacency,
    assert_declared_numbers_are_about_those_that_a_pass_keeps,
    assert_equal_values_and_gradients,
    build,
    flat,
    shaken,
    single,
    test_everything_follows_the_dtype_of_the_inputs_and_is_deterministic,
    test_hostile_graphs_have_finite_outputs_and_gradients,
    test_initial_values_come_from_the_generator_alone,
    test_nodes_that_are_alike_in_all_but_rounding_errors_can_be_swapped,
    test_outputs_depend_neither_on_the_batch_nor_on_the_order_of_nodes,
    test_training_on_small_features_leaves_large_ones_finite,
)

from sklofi.nn import DGCNN
from sklofi.nn._dgcnn import FEWEST_SORTED, SORTED_DECIMALS, Convolution, sorted_nodes

SMALL_DGCNN = functools.partial(DGCNN, n_layers=2, n_hidden=4, n_dense=7)


NETWORKS = [
    SMALL_DGCNN,
    functools.partial(DGCNN, n_layers=1, n_hidden=3, n_sorted=1),
]


@pytest.fixture(params=NETWORKS)
def make(request):
    return request.param


def dgcnn_formula(network, x, a):
    a = a + torch.eye(len(a), dtype=a.dtype)
    outputs = []
    for layer in network.layers:
        x = torch.tanh(torch.diag(1 / a.sum(1)) @ a @ x @ layer.weight.T + layer.bias)
        outputs.append(x)
    h = torch.cat(outputs, 1)
    rows = sorted(h, key=lambda row: row.tolist()[::-1], reverse=True)[: network.n_sorted]
    padding = [torch.zeros_like(h[0])] * (network.n_sorted - len(rows))
    # One channel over all numbers of all rows, as the authors write it.
    x = torch.stack([*rows, *padding]).reshape(1, 1, -1)
    width = h.shape[1]
    x = torch.conv1d(x, network.row.weight[:, None], network.row.bias, stride=width)
    x = torch.relu(x)
    x = torch.stack([x[..., i : i + 2].amax(-1) for i in range(0, x.shape[2] - 1, 2)], -1)
    x = torch.relu(torch.conv1d(x, network.window.weight, network.window.bias))
    hidden, output = network.output.hidden, network.output.output
    x = torch.relu(x.reshape(1, -1) @ hidden.weight.T + hidden.bias)
    return x @ output.weight.T + output.bias


@pytest.mark.parametrize("n_sorted", [10, 13])
def test_dgcnn_equals_the_formula_on_dense_matrices(n_sorted):
    edges = [(i, i + 1) for i in range(11)] + [(3, 0), (7, 7), (5, 2)]
    cases = [*GRAPHS, (12, edges)]  # the last one has more nodes than 10
    graphs = flat(cases)
    network = shaken(build(functools.partial(SMALL_DGCNN, n_sorted=n_sorted))).eval()
    expected = [
        dgcnn_formula(network, single(graphs, i), adjacency(*case)) for i, case in enumerate(cases)
    ]
    assert_equal_values_and_gradients(network, network(graphs), torch.cat(expected))


def test_weights_of_edges_are_entries_of_the_adjacency():
    edges = [(i, i + 1) for i in range(11)] + [(3, 0), (7, 7), (5, 2)]
    graphs = flat([(12, edges)])
    weights = torch.rand(len(edges), generator=torch.Generator().manual_seed(0)).double() * 3
    weights[:1] = 0
    a = adjacency(12, edges)
    for (source, target), weight in zip(edges, weights, strict=True):
        a[target, source] = weight
    network = shaken(build(SMALL_DGCNN)).eval()
    found = network(replace(graphs, edge_weight=weights))
    assert_equal_values_and_gradients(network, found, dgcnn_formula(network, graphs.x, a))


def test_dgcnn_has_the_published_sizes():
    """Three layers of 32 channels and one, 16 and 32 channels, windows of 5, and 128 units."""
    shapes = [tuple(p.shape) for p in DGCNN(7, 2).parameters() if p.ndim > 1]
    convolutions = [(32, 7), (32, 32), (32, 32), (1, 32)]
    assert shapes == [*convolutions, (16, 97), (32, 16, 5), (128, 32 * 11), (2, 128)]


def test_few_sorted_nodes_are_as_many_as_the_windows_need():
    assert DGCNN(3, 2, n_sorted=1).n_sorted == DGCNN(3, 2, n_sorted=10).n_sorted == FEWEST_SORTED
    assert DGCNN(3, 2, n_sorted=11).n_sorted == 11


def test_nodes_are_sorted_by_channels_from_the_last_to_the_first():
    """With ties in the last one, two and four channels, as sorted() sorts lists."""
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.integers(2, size=(200, 7)), dtype=torch.float64)
    graph = torch.tensor(np.sort(rng.integers(5, size=200)))
    expected = sorted(zip(graph.tolist(), (-x).flip(1).tolist(), strict=True))
    order = sorted_nodes(x, graph)
    assert sorted(order.tolist()) == list(range(200))
    assert expected == list(zip(graph[order].tolist(), (-x[order]).flip(1).tolist(), strict=True))


def test_rounding_errors_do_not_decide_the_order():
    """The first node has the larger second channel; the last one differs by an error."""
    error = 10.0 ** -(SORTED_DECIMALS + 2)
    x = torch.tensor([[0.9, 0.5], [0.1, 0.5]], dtype=torch.float64)
    for errors in ([0, error], [error, 0]):
        noisy = x + torch.tensor([[0, e] for e in errors])
        assert sorted_nodes(noisy, torch.tensor([0, 0])).tolist() == [0, 1]


def test_dgcnn_drops_hidden_units_in_training_by_the_generator():
    graphs, network = flat(GRAPHS), shaken(build(SMALL_DGCNN))
    state = torch.random.get_rng_state()
    first, again, other = (network(graphs, torch.Generator().manual_seed(s)) for s in (0, 0, 1))
    assert torch.equal(first, again) and not torch.allclose(first, other)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_convolutions_start_as_glorot_says():
    window = Convolution(16, 32, 5)
    with torch.no_grad():
        window.reset_parameters_(torch.Generator().manual_seed(0))
    bound = (6 / (5 * 16 + 5 * 32)) ** 0.5
    assert 0.98 * bound < window.weight.abs().max() <= bound
    assert not window.bias.any()


@pytest.mark.parametrize(
    "kind",
    [
        functools.partial(DGCNN, n_sorted=20),
        functools.partial(DGCNN, n_sorted=20, n_layers=1, n_hidden=64),
    ],
)
def test_declared_numbers_are_about_those_that_a_pass_keeps(kind):
    assert_declared_numbers_are_about_those_that_a_pass_keeps(kind)
