import torch
from stacks import (
    adjacency,
    assert_same,
    build,
    perceptron,
    pooled,
    scramble_,
    small_graphs,
)

from sklofi.nn import SFAGNN


def test_sfagnn_equals_soft_alignment_written_out():
    graphs, generator = small_graphs()
    network = scramble_(build(SFAGNN, n_layers=2, n_hidden=4, n_points=3), generator)

    def formula(graphs):
        a, x, outputs = adjacency(graphs), graphs.x, []
        a.fill_diagonal_(1)
        for layer in network.layers:
            rows = []
            for h in x:
                row = []
                for points, t in zip(layer.points, layer.temperature, strict=True):
                    cosines = torch.stack([(h @ p) / (h.norm() * p.norm()) for p in points])
                    row.append(torch.softmax(t * cosines, 0) @ cosines)
                rows.append(torch.stack(row))
            x = a @ torch.stack(rows)
            outputs.append(x)
        return perceptron(network.output, pooled(torch.cat(outputs, 1), graphs, "sum"))

    assert_same(network, formula, graphs)
