"""Small flat graphs, networks over them, and the parts of which formulas are written out."""

from dataclasses import replace

import torch

from sklofi.nn import ECC, FlatGraphs

N_FEATURES, N_EDGE_FEATURES, N_KINDS, N_OUTPUTS = 3, 2, 4, 2

# Edges that go one way and both ways, a loop, a node without edges, a graph of one node, and
# a triangle with a tail.
SIZES = [5, 1, 4]
EDGES = [
    *[(0, 1), (1, 0), (1, 2), (3, 2), (2, 3), (2, 2), (0, 3)],
    *[(6, 7), (7, 6), (7, 8), (8, 7), (6, 8), (8, 6), (8, 9), (9, 8)],
]

POOL = {"sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "max": lambda x: x.amax(0)}


def flat_graphs(sizes, edges, generator, dtype=torch.float64, n_features=N_FEATURES):
    x = torch.randn(sum(sizes), n_features, generator=generator, dtype=dtype)
    edge_index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
    graph = torch.repeat_interleave(torch.tensor(sizes))
    edge_features = torch.randn(N_KINDS, N_EDGE_FEATURES, generator=generator, dtype=dtype)
    edge_kinds = torch.randint(N_KINDS, (len(edges),), generator=generator)
    return FlatGraphs(x, edge_index, graph, len(sizes), edge_features, edge_kinds)


def small_graphs():
    """The graphs above, and the generator of their features, for more numbers."""
    generator = torch.Generator().manual_seed(0)
    return flat_graphs(SIZES, EDGES, generator), generator


def weighted(graphs, generator):
    """The same graphs with weights of edges, of which one is zero."""
    n_edges = graphs.edge_index.shape[1]
    edge_weight = torch.rand(n_edges, generator=generator, dtype=graphs.x.dtype) * 3
    edge_weight[:1] = 0
    return replace(graphs, edge_weight=edge_weight)


def build(network_class, *, dtype=torch.float64, n_features=N_FEATURES, seed=0, **kwargs):
    """As the estimators do: without values first, then all values from the generator."""
    if network_class is ECC:
        kwargs.setdefault("n_edge_features", N_EDGE_FEATURES)
    with torch.device("meta"):
        network = network_class(n_features, N_OUTPUTS, **kwargs)
    network = network.to_empty(device="cpu").to(dtype)
    with torch.no_grad():
        for tensor in [*network.parameters(), *network.buffers()]:
            tensor.fill_(float("nan") if tensor.is_floating_point() else -1)
    network.reset_parameters(torch.Generator().manual_seed(seed))
    return network


def scramble_(network, generator):
    """Other values than those at the start, of which many are zero or one."""
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if name.endswith("running_var"):
                tensor.uniform_(0.5, 2, generator=generator)
            elif tensor.is_floating_point():
                tensor.normal_(0, 0.5, generator=generator)
    return network


def adjacency(graphs):
    """Row v holds the nodes that v hears, each as often as there are edges, or their weight."""
    a = graphs.x.new_zeros(len(graphs.x), len(graphs.x))
    for number, (u, v) in enumerate(graphs.edge_index.T.tolist()):
        a[v, u] += 1 if graphs.edge_weight is None else graphs.edge_weight[number]
    return a


def pooled(x, graphs, how):
    return torch.stack([POOL[how](x[graphs.graph == i]) for i in range(graphs.n_graphs)])


def perceptron(module, x):
    return module.output(torch.relu(module.hidden(x)))


def norm(module, x):
    mean, variance = module.running_mean, module.running_var
    if module.training:
        mean, variance = x.mean(0), x.var(0, unbiased=False)
    return (x - mean) / torch.sqrt(variance + module.eps) * module.weight + module.bias


def assert_same(network, formula, graphs):
    """The same outputs, and the same gradients of nodes and of all parameters."""
    x = graphs.x.clone().requires_grad_()
    graphs = replace(graphs, x=x)
    inputs = [x, *network.parameters()]
    results = []
    for function in (formula, network):  # first the formula: batch statistics are not changed
        outputs = function(graphs)
        assert outputs.shape == (graphs.n_graphs, N_OUTPUTS)
        weights = torch.arange(1.0, outputs.numel() + 1).to(outputs).reshape(outputs.shape)
        results.append([outputs, *torch.autograd.grad((outputs * weights).sum(), inputs)])
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)
    assert all(gradient.abs().sum() > 0 for gradient in results[0][1:3])
