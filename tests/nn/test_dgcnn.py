"""DGCNN and DiffPool against plain formulas on dense matrices, and what every network promises."""

import functools
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.nn import dense_diff_pool

from sklofi.nn import DGCNN, DiffPool, FlatGraphs
from sklofi.nn._dgcnn import FEWEST_SORTED, SORTED_DECIMALS, Convolution, sorted_nodes

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
SMALL_DGCNN = functools.partial(DGCNN, n_layers=2, n_hidden=4, n_dense=7)
SMALL_DIFFPOOL = functools.partial(
    DiffPool, n_hidden=4, n_last=5, n_clusters=3, n_poolings=2, cluster_ratio=0.6, n_dense=6
)
NETWORKS = [
    SMALL_DGCNN,
    functools.partial(DGCNN, n_layers=1, n_hidden=3, n_sorted=1),
    SMALL_DIFFPOOL,
    functools.partial(SMALL_DIFFPOOL, n_poolings=1, pooling="mean", n_layers=1),
    functools.partial(SMALL_DIFFPOOL, pooling="sum", n_layers=2, n_poolings=3),
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


# DGCNN


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


# DiffPool


def sage_formula(layer, x, a):
    """Parameters of both kinds of layers by their shapes: two matrices and a bias."""
    named = dict(layer.named_parameters())
    of_neighbors = named.get("lin_l.weight", named.get("lin_rel.weight"))
    of_node = named.get("lin_r.weight", named.get("lin_root.weight"))
    bias = named.get("lin_l.bias", named.get("lin_root.bias"))
    mean = a @ x / a.sum(-1, keepdim=True).clamp(min=1)
    return mean @ of_neighbors.T + x @ of_node.T + bias


def normed(norm, xs):
    """Batch normalization of the nodes of all graphs; values before and after are lists."""
    nodes = torch.cat(xs)
    mean, variance = norm.running_mean, norm.running_var
    if norm.training:
        mean, variance = nodes.mean(0), nodes.var(0, correction=0)
    scale = norm.weight / (variance + norm.eps).sqrt()
    return [(x - mean) * scale + norm.bias for x in xs]


def stack_formula(stack, xs, adjacencies):
    outputs = []
    for i, layer in enumerate(stack.layers):
        xs = [sage_formula(layer, x, a) for x, a in zip(xs, adjacencies, strict=True)]
        if i < len(stack.norms):
            xs = normed(stack.norms[i], [x.relu() for x in xs])
        outputs.append(xs)
    return [torch.cat(of_graph, 1) for of_graph in zip(*outputs, strict=True)]


def diffpool_formula(network, xs, adjacencies):
    """Outputs and penalty, graph by graph but for the normalization."""
    how = {"max": torch.amax, "mean": torch.mean, "sum": torch.sum}[network.pooling]
    vectors, penalty = [], 0
    for level, describer in enumerate(network.describers):
        zs = stack_formula(describer, xs, adjacencies)
        vectors.append(torch.stack([how(z, 0) for z in zs]))
        if level < len(network.assigners):
            assigner = network.assigners[level]
            described = stack_formula(assigner.stack, xs, adjacencies)
            scores = [d @ assigner.output.weight.T + assigner.output.bias for d in described]
            pooled = [dense_diff_pool(*z) for z in zip(zs, adjacencies, scores, strict=True)]
            xs, adjacencies = [p[0][0] for p in pooled], [p[1][0] for p in pooled]
            penalty = penalty + sum(p[2] + p[3] for p in pooled) / len(pooled)
    hidden, output = network.output.hidden, network.output.output
    x = torch.relu(torch.cat(vectors, 1) @ hidden.weight.T + hidden.bias)
    return x @ output.weight.T + output.bias, penalty


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("make", NETWORKS[2:])
def test_diffpool_equals_the_formula_on_dense_matrices_of_each_graph(make, training):
    graphs = flat(GRAPHS)
    network = shaken(build(make)).train(training)
    xs = [single(graphs, i) for i in range(len(GRAPHS))]
    expected, penalty = diffpool_formula(network, xs, [adjacency(*case) for case in GRAPHS])
    actual = network(graphs)
    if training:
        actual, actual_penalty = actual
        assert actual_penalty.shape == ()
        assert_equal_values_and_gradients(network, actual_penalty, penalty)
    assert_equal_values_and_gradients(network, actual, expected)


def test_the_penalty_has_the_weight_that_is_asked_for():
    penalties = []
    for weight in (0.0, 1.0, 3.0):
        network = build(functools.partial(SMALL_DIFFPOOL, penalty=weight))
        penalties.append(network(flat(GRAPHS))[1].item())
    assert penalties[0] == 0 < penalties[1]
    assert penalties[2] == pytest.approx(3 * penalties[1])


def test_outputs_and_penalty_of_weighted_graphs_are_those_of_copies():
    network = shaken(build(SMALL_DIFFPOOL))
    xs = [single(flat(GRAPHS), i).numpy() for i in range(len(GRAPHS))]
    weight = np.array([1, 3, 1, 2, 1, 2])
    copies = np.repeat(np.arange(6), weight)
    copied = flat([GRAPHS[i] for i in copies], [xs[i] for i in copies])
    mean_of_one = torch.from_numpy(weight / weight.mean())
    weighted = replace(flat(GRAPHS, xs), weight=mean_of_one)
    expected, penalty = network(copied)
    found, found_penalty = network(weighted)
    assert_equal_values_and_gradients(network, found[copies], expected)
    assert_equal_values_and_gradients(network, found_penalty, penalty)


def test_a_pooling_merges_into_as_many_clusters_as_asked_for():
    network = DiffPool(7, 2, n_clusters=9, n_poolings=3, cluster_ratio=0.25)
    assert [a.output.out_features for a in network.assigners] == [9, 3, 1]
    assert [s.layers[-1].out_channels for s in network.describers] == [128] * 4


def test_perfect_clusters_cost_nothing():
    """Two triangles with loops at all nodes, each a cluster: nothing is left to be learned."""
    make = functools.partial(DiffPool, n_layers=1, n_last=1, n_poolings=1, n_clusters=2)
    network = build(make, n_features=2)
    block = [(i, j) for i in range(3) for j in range(3)]
    case = (6, [*block, *[(i + 3, j + 3) for i, j in block]])
    x = np.repeat([[1.0, 0.0], [0.0, 1.0]], 3, axis=0)
    with torch.no_grad():  # a share of one for the cluster of the node's own feature
        for parameter in network.assigners.parameters():
            parameter.zero_()
        network.assigners[0].stack.layers[0].lin_r.weight.copy_(100 * torch.eye(2))
        network.assigners[0].output.weight.copy_(torch.eye(2))
    penalty = network(flat([case], [x]))[1]
    assert penalty < 1e-4
    assert all(g.isfinite().all() for g in gradients(network, penalty))


# What every network promises


@pytest.mark.parametrize("make", NETWORKS)
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


@pytest.mark.parametrize("make", NETWORKS)
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


@pytest.mark.parametrize("make", NETWORKS)
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


@pytest.mark.parametrize("make", NETWORKS)
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


@pytest.mark.parametrize("make", NETWORKS)
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


@pytest.mark.parametrize("make", NETWORKS)
def test_initial_values_come_from_the_generator_alone(make):
    networks = [build(make, seed) for seed in (0, 0, 1)]
    values = [torch.nn.utils.parameters_to_vector(n.parameters()) for n in networks]
    assert values[0].isfinite().all()
    assert torch.equal(values[0], values[1]) and not torch.equal(values[0], values[2])


@pytest.mark.parametrize(
    "make",
    [
        functools.partial(DGCNN, n_sorted=20),
        functools.partial(DGCNN, n_sorted=20, n_layers=1, n_hidden=64),
        functools.partial(DiffPool, n_clusters=5),
        functools.partial(DiffPool, n_clusters=5, n_poolings=2, cluster_ratio=0.5),
        functools.partial(DiffPool, n_clusters=5, n_layers=2, n_hidden=16, n_last=16),
    ],
)
def test_declared_numbers_are_about_those_that_a_pass_keeps(make):
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
