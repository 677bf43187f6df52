import pytest
import torch
from stacks import (
    EDGES,
    N_EDGE_FEATURES,
    N_FEATURES,
    POOL,
    SIZES,
    adjacency,
    assert_same,
    build,
    flat_graphs,
    perceptron,
    pooled,
    scramble_,
    weighted,
)
from torch import nn
from torch_geometric.nn import GCNConv, SAGEConv

from sklofi.nn import GAT, GCN, GraphSAGE


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def graphs(generator):
    return flat_graphs(SIZES, EDGES, generator)


def assert_same_layers(layer, edges, published, published_edges, x):
    """The same outputs and gradients as a layer of PyTorch Geometric with the same weights."""
    results = []
    for module, of_module in ((layer, edges), (published, published_edges)):
        leaf = x.clone().requires_grad_()
        outputs = module(leaf, *of_module)
        factors = torch.arange(1.0, outputs.numel() + 1).to(outputs).view_as(outputs)
        inputs = [leaf, *dict(sorted(module.named_parameters())).values()]
        results.append([outputs, *torch.autograd.grad((outputs * factors).sum(), inputs)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("has_weights", [True, False])
def test_gcn_equals_the_normalized_adjacency_formula(graphs, generator, has_weights):
    if has_weights:
        graphs = weighted(graphs, generator)
    network = scramble_(build(GCN, n_layers=2, n_hidden=4), generator)

    def formula(graphs):
        a = adjacency(graphs)
        has_loop = a.diagonal() > 0  # the loop that is there already is the loop
        a = a + torch.diag((~has_loop).to(a))
        scale = a.sum(1) ** -0.5
        a = scale[:, None] * a * scale
        x = graphs.x
        for layer in network.layers:
            x = torch.relu(a @ x @ layer.lin.weight.T + layer.bias)
        return perceptron(network.output, pooled(x, graphs, "mean"))

    assert_same(network, formula, graphs)


@pytest.mark.parametrize("has_weights", [True, False])
def test_gcn_layers_equal_those_of_pytorch_geometric(graphs, generator, has_weights):
    if has_weights:
        graphs = weighted(graphs, generator)
    network = scramble_(build(GCN, n_layers=1, n_hidden=4), generator)
    published = GCNConv(N_FEATURES, 4).double()
    published.load_state_dict(network.layers[0].state_dict())
    edges = [graphs.edge_index, graphs.edge_weight]
    assert_same_layers(network.layers[0], network.edges(graphs), published, edges, graphs.x)


@pytest.mark.parametrize("aggregation", ["mean", "max", "sum"])
def test_graph_sage_layers_equal_those_of_pytorch_geometric(graphs, generator, aggregation):
    network = build(GraphSAGE, n_layers=1, n_hidden=4, aggregation=aggregation)
    layer = scramble_(network, generator).layers[0]
    published = SAGEConv(N_FEATURES, 4, aggr=aggregation, project=aggregation == "max").double()
    published.load_state_dict(layer.state_dict())
    assert_same_layers(layer, network.edges(graphs), published, [graphs.edge_index], graphs.x)


@pytest.mark.parametrize("has_labels, has_weights", [(1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("aggregation", ["mean", "max", "sum"])
def test_graph_sage_with_edges_equals_a_loop_over_them(aggregation, has_labels, has_weights):
    generator = torch.Generator().manual_seed(1)
    graphs = flat_graphs(SIZES, [*EDGES, (8, 9), (2, 2)], generator)  # two edges are parallel
    if has_weights:
        graphs = weighted(graphs, generator)
    n_edge_features = N_EDGE_FEATURES if has_labels else 0
    options = {"aggregation": aggregation, "n_edge_features": n_edge_features}
    network = scramble_(build(GraphSAGE, n_layers=2, n_hidden=4, **options), generator)

    def formula(graphs):
        x, outputs = graphs.x, []
        for layer in network.layers:
            heard = [[] for _ in x]
            weights = [[] for _ in x]
            for number, (u, v) in enumerate(graphs.edge_index.T.tolist()):
                message = layer.lin(x[u]) if aggregation == "max" else x[u]
                if has_labels:
                    edge = graphs.edge_features[graphs.edge_kinds[number]]
                    message = message + layer.lin_edge(edge)
                if has_labels or aggregation == "max":
                    message = torch.relu(message)
                weight = graphs.edge_weight[number] if has_weights else torch.ones(()).to(x)
                heard[v].append(weight * message)
                weights[v].append(weight)
            near = []
            for messages, total in zip(heard, map(sum, weights), strict=True):
                one = POOL["sum" if aggregation == "mean" else aggregation](
                    torch.stack(messages or [torch.zeros_like(x[0])])
                )
                near.append(one / (total or 1) if aggregation == "mean" else one)
            x = torch.relu(layer.lin_l(torch.stack(near)) + layer.lin_r(x))
            outputs.append(x)
        return perceptron(network.output, pooled(torch.cat(outputs, 1), graphs, "max"))

    assert_same(network, formula, graphs)


@pytest.mark.parametrize("aggregation", ["mean", "max", "sum"])
def test_graph_sage_equals_the_aggregation_of_neighbors(graphs, generator, aggregation):
    network = build(GraphSAGE, n_layers=2, n_hidden=4, aggregation=aggregation)
    scramble_(network, generator)

    def formula(graphs):
        a, x, outputs = adjacency(graphs), graphs.x, []
        for layer in network.layers:
            messages = torch.relu(layer.lin(x)) if aggregation == "max" else x
            aggregated = []
            for v in range(len(x)):
                neighbors = messages[a[v] > 0]
                if len(neighbors) == 0:
                    neighbors = torch.zeros_like(messages[:1])
                aggregated.append(POOL[aggregation](neighbors))
            x = torch.relu(layer.lin_l(torch.stack(aggregated)) + layer.lin_r(x))
            outputs.append(x)
        return perceptron(network.output, pooled(torch.cat(outputs, 1), graphs, "max"))

    assert_same(network, formula, graphs)


def test_gat_equals_attention_written_out(graphs, generator):
    network = scramble_(build(GAT, n_layers=2, n_hidden=4, n_heads=3), generator)

    def formula(graphs):
        a, x = adjacency(graphs), graphs.x
        a.fill_diagonal_(1)
        for layer in network.layers:
            h = (x @ layer.lin.weight.T).reshape(len(x), 3, 4)
            rows = []
            for v in range(len(x)):
                heard = h[a[v] > 0]  # (n_neighbors, n_heads, n_hidden)
                scores = (h[v] * layer.att_dst[0]).sum(-1) + (heard * layer.att_src[0]).sum(-1)
                attention = torch.softmax(nn.functional.leaky_relu(scores, 0.2), dim=0)
                rows.append((attention[..., None] * heard).sum(0).flatten())
            x = nn.functional.elu(torch.stack(rows) + layer.bias)
        return perceptron(network.output, pooled(x, graphs, "mean"))

    assert_same(network, formula, graphs)


def test_gat_with_edge_labels_equals_attention_written_out(generator):
    graphs = flat_graphs(SIZES, [*EDGES, (8, 9)], generator)  # two edges are parallel
    options = {"n_heads": 3, "n_edge_features": N_EDGE_FEATURES}
    network = scramble_(build(GAT, n_layers=2, n_hidden=4, **options), generator)

    def formula(graphs):
        x = graphs.x
        for layer in network.layers:
            h = (x @ layer.lin.weight.T).reshape(len(x), 3, 4)
            rows = []
            for v in range(len(x)):
                heard, edges = [], []  # all but loops, which have the mean of the others
                for number, (u, w) in enumerate(graphs.edge_index.T.tolist()):
                    if w == v and u != v:
                        heard.append(h[u])
                        edges.append(graphs.edge_features[graphs.edge_kinds[number]])
                loop = torch.stack(edges).mean(0) if edges else torch.zeros(2).to(x)
                heard, edges = torch.stack([*heard, h[v]]), torch.stack([*edges, loop])
                edges = (edges @ layer.lin_edge.weight.T).reshape(-1, 3, 4)
                scores = (h[v] * layer.att_dst[0]).sum(-1) + (heard * layer.att_src[0]).sum(-1)
                scores = scores + (edges * layer.att_edge[0]).sum(-1)
                attention = torch.softmax(nn.functional.leaky_relu(scores, 0.2), dim=0)
                rows.append((attention[..., None] * heard).sum(0).flatten())
            x = nn.functional.elu(torch.stack(rows) + layer.bias)
        return perceptron(network.output, pooled(x, graphs, "mean"))

    assert_same(network, formula, graphs)
