"""Graph filters against a second path: walks in explicit product graphs, one at a time."""

import networkx as nx
import pytest
import torch
from networkx_batches import assert_same_with_gradients, flatten
from torch.testing import assert_close

from sklofi.nn import RWGNN, FlatGraphs, KerGNN
from sklofi.nn._subgraphs import egonets, whole_graphs
from sklofi.nn._walk_filters import GraphFilters

NETWORKS = [RWGNN, KerGNN]


def small_graphs():
    """A path, a clique, a single node, a loop, two components, and a directed graph."""
    loop = nx.path_graph(3)
    loop.add_edge(1, 1)
    return [
        nx.path_graph(4),
        nx.complete_graph(4),
        nx.empty_graph(1),
        loop,
        nx.disjoint_union(nx.star_graph(3), nx.empty_graph(1)),
        nx.gnp_random_graph(6, 0.4, seed=0, directed=True),
    ]


def split(x, graphs):
    return x.split([len(graph) for graph in graphs])


def make(network, n_features=3, n_outputs=2, seed=0, dtype=torch.float64, **parameters):
    """A network as estimators make it, in 64 bits, with batch norms that are not trivial."""
    with torch.device("meta"):
        module = network(n_features, n_outputs, **parameters)
    module.to_empty(device="cpu").to(dtype)
    generator = torch.Generator().manual_seed(seed)
    module.reset_parameters(generator)
    with torch.no_grad():
        for norm in module.modules():
            if isinstance(norm, torch.nn.BatchNorm1d):
                for values in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
                    values.uniform_(0.5, 1.5, generator=generator)
    return module.eval()


def plain_filters(filters):
    """Adjacency and features of each filter, entry by entry."""
    n_filters, size, _ = filters.features.shape
    for j in range(n_filters):
        adjacency = torch.zeros(size, size, dtype=torch.float64)
        weights = iter(filters.edges[j])
        for a in range(size):
            for b in range(a + 1, size):
                weight = next(weights)
                adjacency[a, b] = adjacency[b, a] = weight if weight > 0 else 0
        yield adjacency, filters.features[j]


def product_kernel(x, adjacency, filter_features, filter_adjacency, n_steps):
    """Walks in the direct product of two graphs, weighted by the similarity of their ends."""
    similarities = (filter_features @ x.T).flatten()
    product = torch.kron(filter_adjacency, adjacency)
    return similarities @ torch.linalg.matrix_power(product, n_steps) @ similarities


def plain_kernels(filters, x, graph, nodes):
    """Kernels of an induced subgraph, of shape (n_steps + 1, n_filters)."""
    nodes = sorted(nodes)
    adjacency = torch.from_numpy(nx.to_numpy_array(graph, nodes, weight=None))
    return torch.stack([
        torch.stack([
            product_kernel(x[nodes], adjacency, features, weights, p)
            for weights, features in plain_filters(filters)
        ])
        for p in range(filters.n_steps + 1)
    ])  # fmt: skip


def plain_egonet_kernels(filters, x, graphs, radius):
    return torch.stack([
        plain_kernels(filters, part, graph, nx.ego_graph(graph, v, radius))
        for part, graph in zip(split(x, graphs), graphs, strict=True)
        for v in graph
    ])  # fmt: skip


def make_filters(n_steps, add_up=False, size=4):
    filters = GraphFilters(3, 2, size, n_steps, add_up=add_up).double()
    with torch.no_grad():
        filters.reset_parameters_(torch.Generator().manual_seed(1))
    return filters


@pytest.mark.parametrize("n_steps", [1, 3])
def test_kernels_of_graphs_count_walks_in_product_graphs(n_steps):
    graphs = small_graphs()
    flat = flatten(graphs)
    x = flat.x.requires_grad_()
    filters = make_filters(n_steps)
    plain = torch.stack([
        plain_kernels(filters, part, graph, graph)
        for part, graph in zip(split(x, graphs), graphs, strict=True)
    ])  # fmt: skip
    ours = filters(x, whole_graphs(flat))
    assert_same_with_gradients(ours, plain, [x, *filters.parameters()])


@pytest.mark.parametrize("radius", [0, 1, 2])
@pytest.mark.parametrize("n_steps", [1, 3])
def test_kernels_of_egonets_count_walks_in_product_graphs(n_steps, radius):
    graphs = small_graphs()
    flat = flatten(graphs)
    x = flat.x.requires_grad_()
    filters = make_filters(n_steps)
    plain = plain_egonet_kernels(filters, x, graphs, radius)
    ours = filters(x, egonets(flat, radius))
    assert_same_with_gradients(ours, plain, [x, *filters.parameters()])


def test_kernels_of_all_lengths_can_be_added_up():
    flat = flatten(small_graphs())
    x = flat.x.requires_grad_()
    one_by_one, together = make_filters(3), make_filters(3, add_up=True)
    together.load_state_dict(one_by_one.state_dict())
    subgraphs = egonets(flat)
    total = one_by_one(x, subgraphs).sum(1)
    leaves = [x, *one_by_one.parameters()]
    assert_close(together(x, subgraphs), total)
    gradients = torch.autograd.grad(together(x, subgraphs).sum(), [x, *together.parameters()])
    assert_close(gradients, torch.autograd.grad(total.sum(), leaves))


def test_without_steps_nodes_are_compared_but_not_edges():
    graphs = small_graphs()
    flat = flatten(graphs)
    filters = make_filters(0)
    similarities = torch.einsum("vd,jid->vji", flat.x, filters.features)
    of_nodes = (similarities**2).sum(2)
    expected = torch.stack([part.sum(0) for part in split(of_nodes, graphs)])
    assert_close(filters(flat.x, whole_graphs(flat))[:, 0], expected)
    assert_close(make_filters(0, add_up=True)(flat.x, whole_graphs(flat)), expected)


def test_a_filter_of_one_node_has_no_edge_and_so_no_walk():
    flat = flatten(small_graphs())
    kernels = make_filters(2, size=1)(flat.x, whole_graphs(flat))
    assert (kernels[:, 0] > 0).all()
    assert (kernels[:, 1:] == 0).all()


def test_adjacency_of_filters_is_symmetric_not_negative_and_without_loops():
    adjacency = make_filters(1).adjacency()
    assert_close(adjacency, adjacency.mT)
    assert (adjacency >= 0).all()
    assert (adjacency > 0).any()
    assert (adjacency.diagonal(dim1=1, dim2=2) == 0).all()


def plain_norm(norm, x):
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    return (x - norm.running_mean) * scale + norm.bias


def plain_perceptron(perceptron, x):
    hidden = torch.relu(x @ perceptron.hidden.weight.T + perceptron.hidden.bias)
    return hidden @ perceptron.output.weight.T + perceptron.output.bias


def plain_rwgnn(network, x, graphs):
    x = 1 / (1 + torch.exp(-(x @ network.inputs.weight.T + network.inputs.bias)))
    kernels = [
        plain_kernels(network.hidden_graphs, part, graph, graph).flatten()
        for part, graph in zip(split(x, graphs), graphs, strict=True)
    ]
    return plain_perceptron(network.output, plain_norm(network.norm, torch.stack(kernels)))


def plain_kergnn(network, x, graphs):
    x = torch.relu(x @ network.inputs.weight.T + network.inputs.bias)
    layers = [x]
    for layer, norm in zip(network.layers, network.norms, strict=True):
        kernels = plain_egonet_kernels(layer, x, graphs, network.radius)
        x = torch.relu(plain_norm(norm, kernels.sum(1)))
        layers.append(x)
    x = torch.cat(layers, 1)
    reduce = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[network.pooling]
    pooled = torch.stack([reduce(part, dim=0) for part in split(x, graphs)])
    return plain_perceptron(network.output, plain_norm(network.norm, pooled))


SMALL = {
    RWGNN: {"n_hidden_graphs": 3, "hidden_graph_size": 3, "n_hidden": 2, "n_penultimate": 4},
    KerGNN: {"n_layers": 2, "n_filters": 2, "filter_size": 3, "n_hidden": 3, "n_penultimate": 4},
}


@pytest.mark.parametrize(
    ("network", "formula", "parameters"),
    [
        (RWGNN, plain_rwgnn, {"n_steps": 1}),
        (RWGNN, plain_rwgnn, {"n_steps": 3}),
        (KerGNN, plain_kergnn, {"n_steps": 1}),
        (KerGNN, plain_kergnn, {"n_steps": 2, "radius": 2, "pooling": "mean"}),
        (KerGNN, plain_kergnn, {"n_steps": 1, "pooling": "max"}),
    ],
)
def test_networks_equal_their_formulas(network, formula, parameters):
    graphs = small_graphs()
    flat = flatten(graphs)
    module = make(network, **SMALL[network], **parameters)
    leaves = [p for name, p in module.named_parameters() if "output.bias" not in name]
    x = flat.x.requires_grad_()
    assert_same_with_gradients(module(flat), formula(module, x, graphs), [x, *leaves])


@pytest.mark.parametrize("network", NETWORKS)
def test_a_graph_is_seen_alone(network):
    graphs = small_graphs()
    flat = flatten(graphs, dtype=torch.float32)
    module = make(network, dtype=torch.float32)
    together = module(flat)
    alone = []
    for graph, x in zip(graphs, split(flat.x, graphs), strict=True):
        single = flatten([graph], dtype=torch.float32)
        single = FlatGraphs(x, single.edge_index, single.graph, 1)
        alone.append(module(single))
    assert_close(together, torch.cat(alone), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("network", NETWORKS)
def test_the_order_of_nodes_and_edges_does_not_matter(network):
    flat = flatten(small_graphs()[-1:])
    order = torch.tensor([3, 1, 5, 0, 4, 2])
    edges = torch.argsort(order)[flat.edge_index].flip(1)
    module = make(network)
    shuffled = FlatGraphs(flat.x[order], edges, flat.graph, 1)
    assert_close(module(flat), module(shuffled))


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "graphs",
    [
        [nx.empty_graph(1)],
        [nx.empty_graph(1), nx.empty_graph(3)],
        [nx.star_graph(1000), nx.path_graph(3)],
        [nx.complete_graph(60), nx.path_graph(2)],
    ],
    ids=["one node", "no edges", "star", "clique"],
)
@pytest.mark.parametrize("scale", [0, 1, 1e15])
def test_outputs_and_gradients_are_finite(network, training, graphs, scale):
    flat = flatten(graphs, n_features=1, dtype=torch.float32)
    flat = FlatGraphs(flat.x * scale, flat.edge_index, flat.graph, flat.n_graphs)
    # So many steps that numbers would overflow: each is up to 60 times as many walks.
    module = make(network, n_features=1, dtype=torch.float32, n_steps=20)
    module.train(training)
    outputs = module(flat, torch.Generator().manual_seed(0))
    outputs.sum().backward()
    assert outputs.shape == (len(graphs), 2)
    assert outputs.isfinite().all()
    assert all(p.grad.isfinite().all() for p in module.parameters())
    assert all(values.isfinite().all() for values in module.state_dict().values())


def test_what_grows_from_layer_to_layer_does_not_overflow():
    """A graph that is far from those in training: each layer squares the distance."""
    module = make(KerGNN, dtype=torch.float32, n_layers=4, n_steps=10)
    with torch.no_grad():
        for layer in module.layers:
            layer.features.uniform_(-10, 10, generator=torch.Generator().manual_seed(0))
    outputs = module(flatten([nx.complete_graph(30)], dtype=torch.float32))
    outputs.sum().backward()
    assert outputs.isfinite().all()
    assert all(p.grad.isfinite().all() for p in module.parameters())


@pytest.mark.parametrize("network", NETWORKS)
def test_large_features_of_many_nodes_do_not_overflow(network):
    x = torch.ones(20_000, 50)
    x[::2] = 1e15
    flat = FlatGraphs(x, torch.empty(2, 0, dtype=torch.int64), torch.arange(20_000) // 9_000, 3)
    module = make(network, n_features=50, dtype=torch.float32).train()
    outputs = module(flat, torch.Generator())
    assert outputs.isfinite().all()
    assert all(values.isfinite().all() for values in module.state_dict().values())


@pytest.mark.parametrize("network", NETWORKS)
def test_dropout_comes_from_the_generator(network):
    flat = flatten(small_graphs(), dtype=torch.float32)
    module = make(network, dtype=torch.float32, dropout=0.5).train()

    def embed(seed):
        return module.embed(flat, torch.Generator().manual_seed(seed))

    torch.manual_seed(0)
    first = embed(0)
    state = torch.get_rng_state()
    assert torch.equal(first, embed(0))
    assert not torch.equal(first, embed(1))
    assert torch.equal(state, torch.get_rng_state())


def test_dropped_similarities_leave_the_kernel_as_it_is_on_average():
    flat = flatten([nx.complete_graph(4)])
    filters = make_filters(2)
    subgraphs = whole_graphs(flat)
    expected = filters.eval()(flat.x, subgraphs)
    filters.train()
    filters.dropout = 0.3
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        samples = torch.stack([filters(flat.x, subgraphs, generator) for _ in range(2000)])
    assert (samples.std(0) > 0.01 * expected).all()
    assert_close(samples.mean(0), expected, rtol=0.03, atol=0)


@pytest.mark.parametrize("network", NETWORKS)
def test_initial_values_come_from_the_generator(network):
    first, same, other = (make(network, seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], same[name]) for name in first)
    for name, values in first.items():
        if name.endswith(("edges", "features", "weight")):
            assert not torch.equal(values, other[name])


@pytest.mark.parametrize("network", NETWORKS)
def test_gradients_keep_about_as_much_memory_as_they_say(network):
    flat = flatten([nx.gnp_random_graph(40, 0.1, seed=seed) for seed in range(32)])
    module = make(network, dropout=0.5).train()
    sizes = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes() / 8
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        outputs = module(flat, torch.Generator())
    n_members = len(egonets(flat, 1).nodes) if module.numbers_per_member else 0
    said = module.numbers_per_node * len(flat.x) + module.numbers_per_member * n_members
    said += module.numbers_per_edge * len(flat.edge_index[0])
    assert outputs.requires_grad
    assert 0.25 * said < sum(sizes.values()) < 1.2 * said
