"""Networks of layers over nodes one after the other, pooled to vectors of graphs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from sklofi.nn._flat import FlatGraphs, FlatNetwork, drop, pool
from sklofi.nn._norm import cut

# The graphs as they are, then the outputs of the layers: which of these are pooled.
LAST = slice(-1, None)


LAYERS = slice(1, None)


ALL = slice(0, None)


def widths(n_features: int, n_hidden: int, n_layers: int) -> Iterable[tuple[int, int]]:
    """Inputs and outputs of each of some layers."""
    return pairwise([n_features] + [n_hidden] * n_layers)


class StackedNetwork(FlatNetwork):
    """Layers over nodes one after the other, pooled to vectors of graphs, and a head.

    A subclass hands over its layers, and may override `edges` and `activate`.

    Parameters
    ----------
    layers : iterable of Module
        Called with the nodes of shape (n_nodes, n_inputs) and what `edges` returns.

    output : Module
        The head, called with vectors of graphs and a generator.

    dropout : float
        Share of the numbers that are dropped after each layer, if `drops_nodes`.

    pooling : {"sum", "mean", "max"}
        How nodes become a graph.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from sklofi.nn import FlatGraphs, Perceptron, StackedNetwork
    >>> class Multisets(StackedNetwork):
    ...     def __init__(self, n_features, n_outputs, *, n_hidden=8):
    ...         layers = [nn.Linear(n_features, n_hidden), nn.Linear(n_hidden, n_hidden)]
    ...         head = Perceptron(n_hidden, n_hidden, n_outputs)
    ...         super().__init__(layers, head, dropout=0.0, pooling="sum")
    ...
    ...     def edges(self, graphs):
    ...         return ()
    >>> no_edges = torch.empty(2, 0, dtype=torch.int64)
    >>> graphs = FlatGraphs(torch.ones(3, 4), no_edges, torch.tensor([0, 0, 1]), n_graphs=2)
    >>> Multisets(n_features=4, n_outputs=3)(graphs).shape
    torch.Size([2, 3])
    """

    pooled = LAST
    drops_nodes = True

    def __init__(
        self, layers: Iterable[nn.Module], output: nn.Module, *, dropout: float, pooling: str
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.pooling = pooling
        self.layers = nn.ModuleList(layers)
        self.output = output

    def edges(self, graphs: FlatGraphs) -> tuple[Any, ...]:
        """Return what the layers are given beside the nodes, the same for all of them.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        Returns
        -------
        edges : tuple
            The edges. A network whose layers normalize adds weights of nodes.
        """
        return (graphs.edge_index,)

    def activate(self, x: Tensor) -> Tensor:
        """Return the activations of the outputs of a layer.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_outputs)
            Outputs of a layer.

        Returns
        -------
        activated : Tensor of shape (n_nodes, n_outputs)
            The outputs with ReLU.
        """
        return torch.relu(x)

    def embed(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Tensor:
        edges = self.edges(graphs)
        nodes = [graphs.x]
        for layer in self.layers:
            x = cut(self.activate(layer(nodes[-1], *edges)))  # (n_nodes, width)
            nodes.append(drop(x, self.dropout, self.training and self.drops_nodes, generator))
        return pool(torch.cat(nodes[self.pooled], dim=1), graphs, self.pooling)
