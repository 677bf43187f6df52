import pytest
import torch
from stacks import (
    EDGES,
    POOL,
    SIZES,
    adjacency,
    assert_same,
    build,
    flat_graphs,
    perceptron,
    pooled,
    scramble_,
)
from torch import nn

from sklofi.nn import GAT, GCN, GraphSAGE


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def graphs(generator):
    return flat_graphs(SIZES, EDGES, generator)


def test_gcn_equals_the_normalized_adjacency_formula(graphs, generator):
    network = scramble_(build(GCN, n_layers=2, n_hidden=4), generator)

    def formula(graphs):
        a = adjacency(graphs)
        a.fill_diagonal_(1)  # the loop that is there already is the loop
        scale = a.sum(1) ** -0.5
        a = scale[:, None] * a * scale
        x = graphs.x
        for layer in network.layers:
            x = torch.relu(a @ x @ layer.lin.weight.T + layer.bias)
        return perceptron(network.output, pooled(x, graphs, "mean"))

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
