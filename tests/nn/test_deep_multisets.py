import torch
from stacks import (
    assert_same,
    build,
    perceptron,
    pooled,
    scramble_,
    small_graphs,
)

from sklofi.nn import DeepMultisets


def test_deep_multisets_equal_a_perceptron_of_sums():
    graphs, generator = small_graphs()
    network = scramble_(build(DeepMultisets, n_layers=2, n_hidden=4), generator)

    def formula(graphs):
        x = graphs.x
        for layer in network.layers:
            x = torch.relu(layer(x))
        return perceptron(network.output, pooled(x, graphs, "sum"))

    assert_same(network, formula, graphs)
