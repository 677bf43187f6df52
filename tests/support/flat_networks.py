"""Small flat graphs, and what every network over them promises.

A test module defines the fixture `make`, functions that make networks, and imports the promises,
which are collected there.
"""

import pickle

import numpy as np
import pytest
import torch

from sklofi.nn import FlatGraphs

N_FEATURES = 3


# Sizes and edges of single graphs: directed edges, loops, isolated nodes, no edges at all.
GRAPHS = [
    (4, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (0, 2), (2, 0)]),
    (1, []),
    (6, [(0, 1), (2, 1), (3, 4), (4, 4), (4, 3)]),
    (3, []),
    (1, [(0, 0)]),
    (5, [(i, j) for i in range(5) for j in range(5) if i != j]),
]


def flat(graphs, xs=None, seed=0, dtype=torch.float64, n_features=N_FEATURES):
    """Graphs of sizes and edges as FlatGraphs, with random features if there are none."""
    if xs is None:
        rng = np.random.default_rng(seed)
        xs = [rng.normal(size=(n_nodes, n_features)) for n_nodes, _ in graphs]
    first = np.cumsum([0, *[n_nodes for n_nodes, _ in graphs]])
    edges = [
        (i + shift, j + shift)
        for shift, (_, pairs) in zip(first, graphs, strict=False)
        for i, j in pairs
    ]
    return FlatGraphs(
        x=torch.tensor(np.concatenate(xs), dtype=dtype),
        edge_index=torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T.contiguous(),
        graph=torch.tensor(np.repeat(np.arange(len(graphs)), np.diff(first))),
        n_graphs=len(graphs),
    )


def build(make, seed=0, dtype=torch.float64, n_features=N_FEATURES, n_outputs=2):
    """As the estimators do it: nothing has a value until reset_parameters gives it one."""
    with torch.device("meta"):
        network = make(n_features, n_outputs)
    network = network.to_empty(device="cpu")
    with torch.no_grad():
        for value in network.state_dict().values():
            value.fill_(torch.nan if value.is_floating_point() else -1)
    network.to(dtype).reset_parameters(torch.Generator().manual_seed(seed))
    return network


def shaken(network, seed=0):
    """Biases, too, get values, so that formulas without them fail."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
        for name, buffer in network.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                buffer.uniform_(0.5, 2, generator=generator)
    return network


def gradients(network, value):
    parameters = list(network.parameters())
    return torch.autograd.grad(value, parameters, retain_graph=True, materialize_grads=True)


def assert_equal_values_and_gradients(network, value, expected):
    torch.testing.assert_close(value, expected)
    weights = torch.randn(value.shape, generator=torch.Generator().manual_seed(1)).double()
    pairs = zip(
        gradients(network, (value * weights).sum()),
        gradients(network, (expected * weights).sum()),
        strict=True,
    )
    for actual, wanted in pairs:
        torch.testing.assert_close(actual, wanted)


def assert_close_in_float32(actual, expected, beside):
    """Errors are those of the numbers that are beside: a small one may be a difference of them."""
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5 * beside.abs().max().item())


def adjacency(n_nodes, edges):
    """Entry (i, j) is 1 if a message goes from j to i."""
    matrix = torch.zeros(n_nodes, n_nodes, dtype=torch.float64)
    for source, target in edges:
        matrix[target, source] = 1
    return matrix


def single(graphs, i):
    """The features of one of the graphs."""
    return graphs.x[graphs.graph == i]


def test_outputs_depend_neither_on_the_batch_nor_on_the_order_of_nodes(make):
    graphs = flat(GRAPHS * 3, dtype=torch.float32)
    network = shaken(build(make)).float().eval()
    outputs, embedding = network(graphs), network.embed(graphs)
    torch.testing.assert_close(network.head(embedding), outputs)
    rng = np.random.default_rng(1)
    for i, (n_nodes, edges) in enumerate(GRAPHS * 3):
        order = rng.permutation(n_nodes)
        place = np.argsort(order)
        moved = [(place[a], place[b]) for a, b in rng.permutation(np.array(edges).reshape(-1, 2))]
        alone = flat([(n_nodes, moved)], [single(graphs, i)[order].numpy()], dtype=torch.float32)
        assert_close_in_float32(network(alone)[0], outputs[i], outputs)
        assert_close_in_float32(network.embed(alone)[0], embedding[i], embedding)


def test_nodes_that_are_alike_in_all_but_rounding_errors_can_be_swapped(make):
    """Symmetric graphs with constant features, where each node is in a tie with others."""
    network = shaken(build(make, n_features=1)).float().eval()
    ring = [(i, (i + s) % 9) for i in range(9) for s in (1, 8)]
    spokes = [(9, i) for i in range(9)] + [(i, 9) for i in range(9)]
    cases = [(10, ring + spokes), (9, ring), (10, spokes)]
    rng = np.random.default_rng(0)
    for n_nodes, edges in cases:
        outputs = []
        for _ in range(5):
            order = rng.permutation(n_nodes)
            moved = [(order[a], order[b]) for a, b in edges]
            graphs = flat([(n_nodes, moved)], [np.full((n_nodes, 1), 0.3)], dtype=torch.float32)
            outputs.append(network(graphs)[0])
        outputs = torch.stack(outputs)
        assert_close_in_float32(outputs, outputs[:1].expand(5, 2), outputs)


@pytest.mark.parametrize("scale", [0, 1, 1e15])
@pytest.mark.parametrize("cases", [GRAPHS, GRAPHS[1:2], GRAPHS[3:4], GRAPHS[1:4:2]])
def test_hostile_graphs_have_finite_outputs_and_gradients(make, scale, cases):
    graphs = flat(cases, dtype=torch.float32)
    graphs = FlatGraphs(scale * graphs.x, graphs.edge_index, graphs.graph, graphs.n_graphs)
    network = build(make, dtype=torch.float32)
    outputs, penalty = network(graphs), 0.0
    if isinstance(outputs, tuple):
        outputs, penalty = outputs
    for gradient in gradients(network, outputs.square().sum().clamp(max=1e30) + penalty):
        assert gradient.isfinite().all()
    for training in (True, False):
        network.train(training)
        assert network.embed(graphs).isfinite().all()
        assert network.head(network.embed(graphs)).shape == (len(cases), 2)


def test_training_on_small_features_leaves_large_ones_finite(make):
    network = build(make, dtype=torch.float32)
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    graphs = flat(GRAPHS, dtype=torch.float32)
    for _ in range(20):
        outputs = network(graphs, torch.Generator().manual_seed(0))
        outputs, penalty = outputs if isinstance(outputs, tuple) else (outputs, 0.0)
        optimizer.zero_grad()
        (torch.nn.functional.cross_entropy(outputs, torch.arange(6) % 2) + penalty).backward()
        optimizer.step()
    network.eval()
    for scale in (1e-15, 1e15):
        large = FlatGraphs(scale * graphs.x, graphs.edge_index, graphs.graph, graphs.n_graphs)
        assert network(large).isfinite().all()


def test_everything_follows_the_dtype_of_the_inputs_and_is_deterministic(make):
    network = build(make).eval()
    expected = network(flat(GRAPHS))
    assert expected.dtype == torch.float64
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float16)
        single_precision = network.float()(flat(GRAPHS, dtype=torch.float32))
    finally:
        torch.set_default_dtype(before)
    assert single_precision.dtype == torch.float32
    torch.testing.assert_close(single_precision.double(), expected, rtol=1e-4, atol=1e-5)
    again = pickle.loads(pickle.dumps(network))(flat(GRAPHS, dtype=torch.float32))
    assert torch.equal(again, single_precision)


def test_initial_values_come_from_the_generator_alone(make):
    networks = [build(make, seed) for seed in (0, 0, 1)]
    values = [torch.nn.utils.parameters_to_vector(n.parameters()) for n in networks]
    assert values[0].isfinite().all()
    assert torch.equal(values[0], values[1]) and not torch.equal(values[0], values[2])


def assert_declared_numbers_are_about_those_that_a_pass_keeps(make):
    n_graphs, n_nodes = 16, 20
    edges = [(i, j) for i in range(n_nodes) for j in (i - 1, i + 1) if 0 <= j < n_nodes]
    graphs = flat([(n_nodes, edges)] * n_graphs, dtype=torch.float32)
    network = build(make, dtype=torch.float32)
    weights = {parameter.data_ptr() for parameter in network.parameters()}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if tensor.is_floating_point() and storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage  # held, so that no other takes its place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        network(graphs, torch.Generator())
    declared = n_graphs * (
        network.numbers_per_node * n_nodes
        + network.numbers_per_edge * len(edges)
        + network.numbers_per_graph
    )
    actual = sum(storage.nbytes() for storage in kept.values()) / 4
    assert actual <= declared <= 3 * actual
