"""What networks over nodes and edges share, as plain PyTorch.

A network turns graphs into vectors (`embed`) and those into outputs (`head`): logits for
classes, values for regression. The peers of LoFI are subclasses of :class:`FlatNetwork`; most
are layers over nodes one after the other, a :class:`StackedNetwork`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

POOLINGS = ("sum", "mean", "max")

# Sums over neighbours grow with each layer, by the degree of hubs. What is above this bound
# is cut, so that squares (in variances) and products with weights stay finite in 32 bits.
BOUND = 1e15

# Layers whose own reset_parameters draws no random numbers.
NORMS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)

# The graphs as they are, then the outputs of the layers: which of these are pooled.
LAST = slice(-1, None)
LAYERS = slice(1, None)
ALL = slice(0, None)

# What a network returns: outputs, or in training also a penalty to add to the loss.
Outputs = Tensor | tuple[Tensor, Tensor]


@dataclass(frozen=True, eq=False)
class FlatGraphs:
    """Some graphs as one: their nodes and edges one after the other."""

    x: Tensor  # (n_nodes, n_features)
    edge_index: Tensor  # (2, n_edges): messages go from nodes in row 0 to nodes in row 1
    graph: Tensor  # (n_nodes,): the graph of each node, ascending
    n_graphs: int
    edge_features: Tensor | None = None  # (n_kinds, n_edge_features): of each kind of edge
    edge_kinds: Tensor | None = None  # (n_edges,): rows of edge_features

    def to(self, device: str | torch.device) -> FlatGraphs:
        return FlatGraphs(
            self.x.to(device),
            self.edge_index.to(device),
            self.graph.to(device),
            self.n_graphs,
            None if self.edge_features is None else self.edge_features.to(device),
            None if self.edge_kinds is None else self.edge_kinds.to(device),
        )


class FlatNetwork(nn.Module):
    """Base of the networks that see graphs as nodes and edges.

    A subclass takes ``n_features`` and ``n_outputs`` and keyword arguments, and gives
    `embed`, the module `output` (a :class:`Perceptron`, say) as head, and the attributes
    `numbers_per_node`, `numbers_per_edge`, `numbers_per_graph` and `numbers_per_member` (for
    each member of an egonet of the attribute `radius`): about how many numbers a pass keeps.
    They decide whether there is memory for a batch.

    Randomness comes from the generator that is passed along, never from torch's own;
    initial values are those of :meth:`reset_parameters`, whatever the layers did.
    """

    dropout = 0.0
    output: Any
    radius: int
    numbers_per_node = 0
    numbers_per_edge = 0
    numbers_per_graph = 0
    numbers_per_member = 0

    def embed(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Tensor:
        """Vectors of graphs, of shape (n_graphs, n_embedding), the input of the head."""
        raise TypeError(f"{type(self).__name__} has no embed.")

    def head(self, embedding: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Outputs of graphs from their vectors."""
        return self.output(embedding, generator)

    @property
    def n_embedding(self) -> int:
        """Width of the vectors of graphs."""
        return int(self.output.in_features)

    def forward(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Outputs:
        """Outputs of shape (n_graphs, n_outputs)."""
        embedding = self.embed(graphs, generator)
        if len(embedding) != graphs.n_graphs:
            raise ValueError(
                f"{type(self).__name__}.embed returned {len(embedding)} rows for"
                f" {graphs.n_graphs} graphs with {len(graphs.x)} nodes in all. It has to return a"
                " row for each graph: return pool(nodes, graphs), with sklofi.networks.pool."
            )
        return self.head(embedding, generator)

    def constrain_(self) -> None:
        """Bring weights back within their bounds, after an optimiser's step."""

    def statistics(self) -> list[Tensor]:
        """Means and variances of layers that normalise, which change in training."""
        norms = [one for one in self.modules() if isinstance(one, nn.modules.batchnorm._NormBase)]
        pairs = [(one.running_mean, one.running_var) for one in norms]
        return [one for pair in pairs for one in pair if one is not None]

    @classmethod
    def build(cls, *, generator: torch.Generator, dtype: torch.dtype, **architecture: Any) -> Self:
        """A network with initial values from a generator alone.

        Layers fill themselves from torch's global generator; on the device "meta", where
        they have no values, they do not.
        """
        with torch.device("meta"):
            network = cls(**architecture)
        network = network.to(dtype).to_empty(device=generator.device)
        network.reset_parameters(generator)
        return network

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Glorot's uniform distribution for matrices, zero for biases.

        A submodule with a method ``reset_parameters_(generator)`` chooses for itself; one with
        buffers has to, unless it is a layer that normalises.
        """
        module: Any
        for module in self.modules():
            if isinstance(module, NORMS):
                module.reset_parameters()
            elif hasattr(module, "reset_parameters_"):
                module.reset_parameters_(generator)
            elif names := [name for name, _ in module.named_buffers(recurse=False)]:
                raise TypeError(
                    f"{type(module).__name__} has the buffer {names[0]}, whose first value nobody"
                    " knows: give it a method reset_parameters_(generator) that sets it."
                )
            else:
                for parameter in module.parameters(recurse=False):
                    glorot_(parameter, generator)


def glorot_(parameter: Tensor, generator: torch.Generator | None = None) -> None:
    """Fill a matrix, or a stack of them, by Glorot's rule, and vectors with zeros."""
    if parameter.ndim < 2:
        parameter.zero_()
    else:
        bound = (6 / (parameter.shape[-1] + parameter.shape[-2])) ** 0.5
        parameter.uniform_(-bound, bound, generator=generator)


class Norm(nn.BatchNorm1d):
    """Batch normalisation, also of single rows, by the mean and variance of other ones.

    In prediction these are the mean and variance of the last batch in training, which
    estimators average over many steps, along with the weights and at the same pace: a mean
    that lags behind the weights is far off where inputs hardly vary, as those of graphs without
    labels. The larger `eps` is for the same reason. Inputs are cut at a bound.
    """

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features, eps=1e-3, momentum=1.0)

    def forward(self, x: Tensor) -> Tensor:
        x = cut(x)
        if self.training and len(x) == 1:
            return F.batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(x)


def cut(x: Tensor, bound: float = BOUND) -> Tensor:
    """Numbers cut at a bound: as clamp, but with a derivative that is one pass."""
    return F.hardtanh(x, -bound, bound)


class Perceptron(nn.Module):
    """Two linear maps with a ReLU, and dropout between them."""

    def __init__(self, n_inputs: int, n_hidden: int, n_outputs: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.in_features = n_inputs  # as nn.Linear calls it
        self.hidden = nn.Linear(n_inputs, n_hidden)
        self.output = nn.Linear(n_hidden, n_outputs)

    def forward(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        x = torch.relu(self.hidden(x))
        return self.output(drop(x, self.dropout, self.training, generator))


def drop(
    x: Tensor, share: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    """As functional.dropout, which cannot be given a generator."""
    if not training or share == 0:
        return x
    keep = torch.empty_like(x).bernoulli_(1 - share, generator=generator)
    return x * (keep / (1 - share))


def pool(x: Tensor, graphs: FlatGraphs, how: str = "sum") -> Tensor:
    """Vectors of graphs from those of their nodes: their sum, mean or maximum."""
    if how not in POOLINGS:
        raise ValueError(f"pooling has to be one of {POOLINGS}, got {how!r}.")
    zeros = x.new_zeros(graphs.n_graphs, x.shape[1])
    if how == "max":
        index = graphs.graph[:, None].expand_as(x)
        return zeros.scatter_reduce(0, index, x, reduce="amax", include_self=False)
    total = zeros.index_add(0, graphs.graph, x)
    if how == "sum":
        return total
    sizes = torch.bincount(graphs.graph, minlength=graphs.n_graphs)
    return total / sizes[:, None].to(x.dtype)


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

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor, ...]:
        """What the layers are given beside the nodes, the same for all of them."""
        return (graphs.edge_index,)

    def activate(self, x: Tensor) -> Tensor:
        return torch.relu(x)

    def embed(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Tensor:
        edges = self.edges(graphs)
        nodes = [graphs.x]
        for layer in self.layers:
            x = cut(self.activate(layer(nodes[-1], *edges)))  # (n_nodes, width)
            nodes.append(drop(x, self.dropout, self.training and self.drops_nodes, generator))
        return pool(torch.cat(nodes[self.pooled], dim=1), graphs, self.pooling)


def widths(n_features: int, n_hidden: int, n_layers: int) -> Iterable[tuple[int, int]]:
    """Inputs and outputs of each of some layers."""
    return pairwise([n_features] + [n_hidden] * n_layers)
