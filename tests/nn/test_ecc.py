from dataclasses import replace

import pytest
import torch
from stacks import (
    N_EDGE_FEATURES,
    N_FEATURES,
    N_KINDS,
    assert_same,
    build,
    norm,
    perceptron,
    pooled,
    scramble_,
    small_graphs,
)
from torch import nn
from torch_geometric.nn import NNConv

from sklofi.nn import ECC


def features_of_edges(graphs):
    return graphs.edge_features[graphs.edge_kinds]


JOIN = {
    "mean": lambda messages: sum(messages) / len(messages),
    "sum": sum,
    "max": lambda messages: torch.stack(messages).amax(0),
}


@pytest.mark.parametrize(
    ("aggregation", "n_edge_hidden"),
    [
        *(("mean", n) for n in (N_KINDS - 2, N_KINDS - 1, N_KINDS)),
        *((how, n) for how in ("sum", "max") for n in (N_KINDS - 1, N_KINDS)),
    ],
)
@pytest.mark.parametrize("labeled", [True, False])
def test_ecc_equals_a_matrix_for_each_edge(labeled, aggregation, n_edge_hidden):
    graphs, generator = small_graphs()
    n_edge_features = N_EDGE_FEATURES if labeled else 1
    if not labeled:
        graphs = replace(graphs, edge_features=None, edge_kinds=None)
    options = {"n_edge_features": n_edge_features, "n_edge_hidden": n_edge_hidden}
    options["aggregation"] = aggregation
    network = build(ECC, n_layers=2, n_hidden=4, dropout=0.0, **options)
    scramble_(network, generator).train()

    def formula(graphs):
        x = graphs.x
        for layer in network.layers:
            messages = [[] for _ in x]
            for number, (u, v) in enumerate(graphs.edge_index.T.tolist()):
                edge = features_of_edges(graphs)[number] if labeled else x.new_ones(1)
                weights = torch.relu(layer.mixture(edge))
                matrix = (weights[:, None, None] * layer.filters[:-1]).sum(0) + layer.filters[-1]
                messages[v].append(x[u] @ matrix)
            near = [JOIN[aggregation](sent) if sent else torch.zeros(4).to(x) for sent in messages]
            x = torch.relu(norm(layer.norm, torch.stack(near) + layer.root(x)))
        return perceptron(network.output, pooled(x, graphs, "mean"))

    assert_same(network, formula, graphs)


@pytest.mark.parametrize("n_edge_hidden", [N_KINDS - 2, 16])
def test_ecc_layer_equals_nnconv(n_edge_hidden):
    graphs, generator = small_graphs()
    network = build(ECC, n_layers=1, n_hidden=4, n_edge_hidden=n_edge_hidden)
    layer = scramble_(network, generator).layers[0]
    filters = nn.Linear(n_edge_hidden, N_FEATURES * 4)
    edge_network = nn.Sequential(layer.mixture, nn.ReLU(), filters)
    conv = NNConv(N_FEATURES, 4, edge_network, aggr="mean").double()
    with torch.no_grad():
        layer.mixture.weight.copy_(conv.nn[0].weight)
        conv.nn[2].weight.copy_(layer.filters[:-1].flatten(1).T)
        conv.nn[2].bias.copy_(layer.filters[-1].flatten())
        conv.lin.weight.copy_(layer.root.weight)
        conv.bias.copy_(layer.root.bias)
    ours = layer.convolve(graphs.x, *network.edges(graphs)[:3])  # without weights
    theirs = conv(graphs.x, graphs.edge_index, features_of_edges(graphs))
    torch.testing.assert_close(ours, theirs)
