"""DiffPool against plain formulas on dense matrices."""

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
    gradients,
    shaken,
    single,
    test_everything_follows_the_dtype_of_the_inputs_and_is_deterministic,
    test_hostile_graphs_have_finite_outputs_and_gradients,
    test_initial_values_come_from_the_generator_alone,
    test_nodes_that_are_alike_in_all_but_rounding_errors_can_be_swapped,
    test_outputs_depend_neither_on_the_batch_nor_on_the_order_of_nodes,
    test_training_on_small_features_leaves_large_ones_finite,
)
from torch_geometric.nn import DenseGraphConv, DenseSAGEConv, SAGEConv, dense_diff_pool

from sklofi.nn import DiffPool

SMALL_DIFFPOOL = functools.partial(
    DiffPool, n_hidden=4, n_last=5, n_clusters=3, n_poolings=2, cluster_ratio=0.6, n_dense=6
)


NETWORKS = [
    SMALL_DIFFPOOL,
    functools.partial(SMALL_DIFFPOOL, n_poolings=1, pooling="mean", n_layers=1),
    functools.partial(SMALL_DIFFPOOL, pooling="sum", n_layers=2, n_poolings=3),
    functools.partial(SMALL_DIFFPOOL, aggregation="sum"),
    functools.partial(SMALL_DIFFPOOL, aggregation="max"),
]


@pytest.fixture(params=NETWORKS)
def make(request):
    return request.param


def sage_formula(layer, x, a, how):
    """Of layers for nodes, and of those for clusters: two matrices and a bias."""
    named = dict(layer.named_parameters())
    of_neighbors = named.get("lin_l.weight", named.get("lin_rel.weight"))
    of_node = named.get("lin_r.weight", named.get("lin_root.weight"))
    (bias,) = (value for name, value in named.items() if name.endswith("bias"))
    near = a @ x
    if how == "max":
        of_edges = torch.where(a[:, :, None] > 0, x, -torch.inf).amax(1)
        near = torch.where(a.sum(-1, keepdim=True) > 0, of_edges, 0)
    elif how == "mean":
        near = near / a.sum(-1, keepdim=True).clamp(min=1)
    return near @ of_neighbors.T + x @ of_node.T + bias


def normed(norm, xs):
    """Batch normalization of the nodes of all graphs; values before and after are lists."""
    nodes = torch.cat(xs)
    mean, variance = norm.running_mean, norm.running_var
    if norm.training:
        mean, variance = nodes.mean(0), nodes.var(0, correction=0)
    scale = norm.weight / (variance + norm.eps).sqrt()
    return [(x - mean) * scale + norm.bias for x in xs]


def stack_formula(stack, xs, adjacencies, how):
    outputs = []
    for i, layer in enumerate(stack.layers):
        xs = [sage_formula(layer, x, a, how) for x, a in zip(xs, adjacencies, strict=True)]
        if i < len(stack.norms):
            xs = normed(stack.norms[i], [x.relu() for x in xs])
        outputs.append(xs)
    return [torch.cat(of_graph, 1) for of_graph in zip(*outputs, strict=True)]


def diffpool_formula(network, xs, adjacencies):
    """Outputs and penalty, graph by graph but for the normalization."""
    how = {"max": torch.amax, "mean": torch.mean, "sum": torch.sum}[network.pooling]
    vectors, penalty = [], 0
    for level, describer in enumerate(network.describers):
        aggregation = network.aggregation
        if level > 0 and aggregation == "max":
            aggregation = "mean"
        zs = stack_formula(describer, xs, adjacencies, aggregation)
        vectors.append(torch.stack([how(z, 0) for z in zs]))
        if level < len(network.assigners):
            assigner = network.assigners[level]
            described = stack_formula(assigner.stack, xs, adjacencies, aggregation)
            scores = [d @ assigner.output.weight.T + assigner.output.bias for d in described]
            pooled = [dense_diff_pool(*z) for z in zip(zs, adjacencies, scores, strict=True)]
            xs, adjacencies = [p[0][0] for p in pooled], [p[1][0] for p in pooled]
            penalty = penalty + sum(p[2] + p[3] for p in pooled) / len(pooled)
    hidden, output = network.output.hidden, network.output.output
    x = torch.relu(torch.cat(vectors, 1) @ hidden.weight.T + hidden.bias)
    return x @ output.weight.T + output.bias, penalty


@pytest.mark.parametrize("how", ["mean", "sum", "max"])
def test_layers_over_nodes_equal_those_of_pytorch_geometric(how):
    graphs = flat(GRAPHS)
    network = shaken(build(functools.partial(SMALL_DIFFPOOL, aggregation=how)))
    layer = network.describers[0].layers[0]
    published = SAGEConv(3, 4, aggr=how).double()
    published.load_state_dict(layer.state_dict())
    assert_equal_values_and_gradients(
        layer,
        layer(graphs.x, network._node_edges(graphs)),
        layer_outputs(published, layer, graphs.x, graphs.edge_index),
    )


@pytest.mark.parametrize("how, layer_class", [("mean", DenseSAGEConv), ("sum", DenseGraphConv)])
def test_layers_over_clusters_equal_those_of_pytorch_geometric(how, layer_class):
    network = shaken(build(functools.partial(SMALL_DIFFPOOL, aggregation=how)))
    layer = network.describers[1].layers[0]
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 5, 13, generator=generator).double()
    a = torch.rand(2, 5, 5, generator=generator).double()
    published = layer_class(13, 4).double()
    published.load_state_dict(layer.state_dict())
    assert_equal_values_and_gradients(layer, layer(x, a), layer_outputs(published, layer, x, a))


def layer_outputs(published, layer, *inputs):
    """What a layer of PyTorch Geometric makes of inputs with the parameters of ours."""
    return torch.func.functional_call(published, dict(layer.named_parameters()), inputs)


@pytest.mark.parametrize("training", [False, True])
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
    last = [len(next(iter(s.layers[-1].parameters()))) for s in network.describers]
    assert last == [128] * 4


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


@pytest.mark.parametrize(
    "kind",
    [
        functools.partial(DiffPool, n_clusters=5),
        functools.partial(DiffPool, n_clusters=5, n_poolings=2, cluster_ratio=0.5),
        functools.partial(DiffPool, n_clusters=5, n_layers=2, n_hidden=16, n_last=16),
    ],
)
def test_declared_numbers_are_about_those_that_a_pass_keeps(kind):
    assert_declared_numbers_are_about_those_that_a_pass_keeps(kind)
