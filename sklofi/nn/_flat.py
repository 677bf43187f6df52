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

from sklofi.nn._choices import POOLINGS, check_choice

# Sums over neighbors grow with each layer, by the degree of hubs. What is above this bound
# is cut, so that squares (in variances) and products with weights stay finite in 32 bits.
BOUND = 1e15


# What varies by less than this share of its size is constant but for rounding.
CONSTANT = 1e-5


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
    """Several graphs as one: their nodes and edges one after the other.

    Parameters
    ----------
    x : Tensor of shape (n_nodes, n_features)
        Features of the nodes.

    edge_index : Tensor of shape (2, n_edges)
        Edges: messages go from nodes in row 0 to nodes in row 1.

    graph : Tensor of shape (n_nodes,)
        The graph of each node, ascending.

    n_graphs : int
        Number of graphs.

    edge_features : Tensor of shape (n_kinds, n_edge_features), default=None
        Features of each kind of edge.

    edge_kinds : Tensor of shape (n_edges,), default=None
        The kind of each edge, a row of `edge_features`.

    weight : Tensor of shape (n_graphs,), default=None
        How much each graph counts; by default all count the same.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import FlatGraphs
    >>> edges = torch.tensor([[0, 1], [1, 0]])  # an edge, and a single node
    >>> graphs = FlatGraphs(torch.ones(3, 1), edges, torch.tensor([0, 0, 1]), n_graphs=2)
    >>> graphs.node_weight() is None
    True
    """

    x: Tensor  # (n_nodes, n_features)
    edge_index: Tensor  # (2, n_edges): messages go from nodes in row 0 to nodes in row 1
    graph: Tensor  # (n_nodes,): the graph of each node, ascending
    n_graphs: int
    edge_features: Tensor | None = None  # (n_kinds, n_edge_features): of each kind of edge
    edge_kinds: Tensor | None = None  # (n_edges,): rows of edge_features
    weight: Tensor | None = None  # (n_graphs,): how much each graph counts; None: all the same

    def node_weight(self) -> Tensor | None:
        """Return how much each node counts: as much as its graph.

        Returns
        -------
        weight : Tensor of shape (n_nodes,) or None
            Weights of nodes; None if all count the same.
        """
        return None if self.weight is None else self.weight[self.graph]

    def weighted_mean(self, values: Tensor) -> Tensor:
        """Return the mean of a number of each graph, weighted as in the loss.

        Parameters
        ----------
        values : Tensor of shape (n_graphs,)
            The numbers.

        Returns
        -------
        mean : Tensor of shape ()
            Their mean.
        """
        if self.weight is None:
            return values.mean()
        return self.weight @ values / self.n_graphs

    def to(self, device: str | torch.device) -> FlatGraphs:
        """Move the graphs to a device.

        Parameters
        ----------
        device : str or torch.device
            Where to.

        Returns
        -------
        graphs : FlatGraphs
            The same graphs there.
        """
        return FlatGraphs(
            self.x.to(device),
            self.edge_index.to(device),
            self.graph.to(device),
            self.n_graphs,
            None if self.edge_features is None else self.edge_features.to(device),
            None if self.edge_kinds is None else self.edge_kinds.to(device),
            None if self.weight is None else self.weight.to(device),
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

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import FlatGraphs, FlatNetwork, Perceptron, pool
    >>> class Sums(FlatNetwork):
    ...     def __init__(self, n_features, n_outputs, *, n_hidden=8):
    ...         super().__init__()
    ...         self.output = Perceptron(n_features, n_hidden, n_outputs)
    ...
    ...     def embed(self, graphs, generator=None):
    ...         return pool(graphs.x, graphs)
    >>> no_edges = torch.empty(2, 0, dtype=torch.int64)
    >>> graphs = FlatGraphs(torch.ones(3, 4), no_edges, torch.tensor([0, 0, 1]), n_graphs=2)
    >>> Sums(n_features=4, n_outputs=3)(graphs).shape
    torch.Size([2, 3])
    """

    dropout = 0.0
    output: Any
    radius: int
    numbers_per_node = 0
    numbers_per_edge = 0
    numbers_per_graph = 0
    numbers_per_member = 0

    def embed(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Tensor:
        """Return the vectors of graphs, the input of the head.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        embedding : Tensor of shape (n_graphs, n_embedding)
            Vectors of graphs.
        """
        raise TypeError(f"{type(self).__name__} has no embed.")

    def head(self, embedding: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the outputs of graphs from their vectors.

        Parameters
        ----------
        embedding : Tensor of shape (n_graphs, n_embedding)
            Vectors of graphs.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        outputs : Tensor of shape (n_graphs, n_outputs)
            Logits of classes, or values of regression.
        """
        outputs: Tensor = self.output(embedding, generator)
        return outputs

    @property
    def n_embedding(self) -> int:
        """Width of the vectors of graphs."""
        return int(self.output.in_features)

    def forward(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Outputs:
        """Return the outputs of graphs.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        outputs : Tensor of shape (n_graphs, n_outputs), or tuple
            Logits of classes, or values of regression. A network may return a tuple of them and a
            penalty in training, which is added to the loss.
        """
        embedding = self.embed(graphs, generator)
        if len(embedding) != graphs.n_graphs:
            raise ValueError(
                f"{type(self).__name__}.embed returned {len(embedding)} rows for"
                f" {graphs.n_graphs} graphs with {len(graphs.x)} nodes in all. It has to return a"
                " row for each graph: return pool(nodes, graphs), with sklofi.nn.pool."
            )
        return self.head(embedding, generator)

    def constrain_(self) -> None:
        """Bring weights back within their bounds, after an optimizer's step."""

    def statistics(self) -> list[Tensor]:
        """Return the means and variances of layers that normalize, which change in training.

        Returns
        -------
        statistics : list of Tensor
            The mean and the variance of one layer after the other.
        """
        pairs = [(norm.running_mean, norm.running_var) for norm in self._norms()]
        return [statistic for pair in pairs for statistic in pair if statistic is not None]

    def _norms(self) -> list[Any]:
        norm_class = nn.modules.batchnorm._NormBase
        return [module for module in self.modules() if isinstance(module, norm_class)]

    @torch.no_grad()
    def find_statistics_(self, batches: Iterable[tuple[Any, ...]], earlier: float = 0.0) -> None:
        """Find the means and variances of layers that normalize for the weights as they are.

        As torch's ``update_bn``: each batch is normalized by itself, as in training, and each
        layer takes the mean and variance of all that it was given. But nothing is dropped, as
        in prediction: dropout keeps means and widens variances.

        Parameters
        ----------
        batches : iterable of tuple
            Arguments of the network.

        earlier : float, default=0.0
            The share that statistics keep as they were before.
        """
        norms = self._norms()
        before = [statistic.clone() for statistic in self.statistics()]
        momenta = [norm.momentum for norm in norms]
        self.eval()
        try:
            for norm in norms:
                norm.start_collecting() if isinstance(norm, Norm) else norm.reset_running_stats()
                norm.momentum = None  # which stands for a cumulative average
                norm.train()
            for batch in batches:
                self(*batch)
            for norm in norms:
                if isinstance(norm, Norm):
                    norm.stop_collecting()
        finally:
            for norm, momentum in zip(norms, momenta, strict=True):
                norm.momentum = momentum
            self.eval()
        if earlier > 0:
            found = self.statistics()
            pairs = zip(found[::2], found[1::2], before[::2], before[1::2], strict=True)
            for mean, variance, old_mean, old_variance in pairs:
                merge_statistics_(mean, variance, old_mean, old_variance, earlier)

    @classmethod
    def build(cls, *, generator: torch.Generator, dtype: torch.dtype, **architecture: Any) -> Self:
        """Build a network with initial values from a generator alone.

        Layers fill themselves from torch's global generator; on the device "meta", where they have
        no values, they do not.

        Parameters
        ----------
        generator : torch.Generator
            Source of the values, on the device where they start.

        dtype : torch.dtype
            Type of the parameters.

        **architecture : dict
            Arguments of the class.

        Returns
        -------
        network : FlatNetwork
            The network.
        """
        with torch.device("meta"):
            network = cls(**architecture)
        network = network.to(dtype).to_empty(device=generator.device)
        network.reset_parameters(generator)
        return network

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Fill matrices by Glorot's uniform distribution, and biases with zeros.

        A submodule with a method ``reset_parameters_(generator)`` chooses for itself; one with
        buffers has to, unless it is a layer that normalizes.

        Parameters
        ----------
        generator : torch.Generator, default=None
            Source of the values; None is torch's global generator.
        """
        module: Any
        for module in self.modules():
            if isinstance(module, NORMS):
                module.reset_parameters()
            elif hasattr(module, "reset_parameters_"):
                module.reset_parameters_(generator)
            elif names := [name for name, _ in module.named_buffers(recurse=False)]:
                raise TypeError(
                    f"{type(module).__name__} has the buffer {names[0]}, whose initial value"
                    " is unknown: give it a method reset_parameters_(generator) that sets it."
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
    r"""Batch normalization of weighted rows, also of single ones.

    .. math::
        y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta, \qquad
        \mu = \sum_i w_i x_i, \quad \sigma^2 = \sum_i w_i (x_i - \mu)^2,
        \quad \sum_i w_i = 1

    In training, the sums go over the rows of the batch. In prediction, and for a batch of a
    single row, mean and variance are those of the last batch in training, or of many batches
    after :meth:`FlatNetwork.find_statistics_`. A row of weight two is the same as two rows
    everywhere; so variances are not corrected by :math:`n / (n - 1)`.

    Where inputs do not vary, as those of graphs whose nodes are all alike, prediction would
    stretch errors of rounding by :math:`1 / \sqrt{\epsilon}`, layer by layer. There the variance
    is taken as one; the larger `eps` is for inputs that hardly vary. Inputs are cut at a bound.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features, eps=1e-3, momentum=1.0)
        self.start_collecting()

    def start_collecting(self) -> None:
        """From now on, while `momentum` is None, gather the statistics of all rows."""
        self.n_collected = 0.0

    def stop_collecting(self) -> None:
        """Take the variance of what was constant, but for rounding, as one."""
        if self.n_collected > 0:
            is_constant = self.running_var.sqrt() <= CONSTANT * (1 + self.running_mean.abs())
            self.running_var.masked_fill_(is_constant, 1)

    def forward(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        """Normalize rows, which have weights of shape (n_rows,), or all the same weight."""
        x = cut(x)
        if not self.training or len(x) == 1:
            statistics = self.running_mean, self.running_var
            return F.batch_norm(x, *statistics, self.weight, self.bias, eps=self.eps)
        if weight is None:
            mean, variance = torch.zeros_like(self.running_mean), torch.zeros_like(self.running_var)
            y = F.batch_norm(x, mean, variance, self.weight, self.bias, True, 1.0, self.eps)
            variance = variance * ((len(x) - 1) / len(x))  # which torch has corrected
        else:
            shares = as_shares(weight)
            mean = shares @ x
            centered = x - mean
            variance = shares @ centered.square()
            y = torch.addcmul(self.bias, centered, self.weight * torch.rsqrt(variance + self.eps))
        if self.momentum is not None:
            self._remember(mean, variance)
        elif weight is None:
            variance, mean = torch.var_mean(x, 0, correction=0)  # more exact than batch_norm
            self._collect(mean, variance, len(x))
        else:
            self._collect(mean, variance, weight.sum().item())
        return y

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        self.running_mean.copy_(mean)
        self.running_var.copy_(variance)

    def _collect(self, mean: Tensor, variance: Tensor, n_rows: float) -> None:
        self.n_collected += n_rows
        share = n_rows / self.n_collected if self.n_collected else 1.0
        merge_statistics_(self.running_mean, self.running_var, mean, variance, share)


def as_shares(weight: Tensor) -> Tensor:
    """Weights that add up to one; where they are too small to be seen, they are the same."""
    total = weight.sum()
    is_seen = total > torch.finfo(weight.dtype).tiny
    return torch.where(is_seen, weight / total, 1 / len(weight))


def merge_statistics_(
    mean: Tensor, variance: Tensor, other_mean: Tensor, other_variance: Tensor, share: float
) -> None:
    """Let means and variances become those of a mixture, in which others have a share."""
    if share == 1:
        mean.copy_(other_mean)
        variance.copy_(other_variance)
    else:
        between = (other_mean - mean).square_()
        variance.lerp_(other_variance, share).add_(between, alpha=share * (1 - share))
        mean.lerp_(other_mean, share)


def cut(x: Tensor, bound: float = BOUND) -> Tensor:
    """Numbers cut at a bound: as clamp, but with a derivative that is one pass."""
    return F.hardtanh(x, -bound, bound)


class Perceptron(nn.Module):
    """Two linear maps with a ReLU, and dropout between them.

    Parameters
    ----------
    n_inputs, n_hidden, n_outputs : int
        Widths of the input, of the layer between the maps, and of the output.

    dropout : float, default=0.0
        Share of the hidden numbers that are dropped in training.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import Perceptron
    >>> Perceptron(3, 8, 2)(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(self, n_inputs: int, n_hidden: int, n_outputs: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.in_features = n_inputs  # as nn.Linear calls it
        self.hidden = nn.Linear(n_inputs, n_hidden)
        self.output = nn.Linear(n_hidden, n_outputs)

    def forward(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the outputs of rows.

        Parameters
        ----------
        x : Tensor of shape (n_rows, n_inputs)
            The rows.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        outputs : Tensor of shape (n_rows, n_outputs)
            The outputs.
        """
        x = torch.relu(self.hidden(x))  # (n_rows, n_hidden)
        outputs: Tensor = self.output(drop(x, self.dropout, self.training, generator))
        return outputs


def dropout_mask(x: Tensor, share: float, generator: torch.Generator | None = None) -> Tensor:
    """Return factors of the shape of x: 0 for a share of its numbers, and 1 / (1 - share)."""
    return torch.empty_like(x).bernoulli_(1 - share, generator=generator) / (1 - share)


def drop(
    x: Tensor, share: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    """Drop a share of numbers in training, as functional.dropout, but with a generator."""
    if not training or share == 0:
        return x
    return x * dropout_mask(x, share, generator)


def pool(x: Tensor, graphs: FlatGraphs, how: str = "sum") -> Tensor:
    """Return the vectors of graphs from those of their nodes.

    Parameters
    ----------
    x : Tensor of shape (n_nodes, n_features)
        Vectors of nodes.

    graphs : FlatGraphs
        The graphs of the nodes.

    how : {"sum", "mean", "max"}, default="sum"
        Whether to take the sum, the mean or the maximum of the nodes.

    Returns
    -------
    pooled : Tensor of shape (n_graphs, n_features)
        Vectors of graphs.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import FlatGraphs, pool
    >>> x = torch.tensor([[1.0], [3.0], [5.0]])
    >>> no_edges = torch.empty(2, 0, dtype=torch.int64)
    >>> graphs = FlatGraphs(x, no_edges, torch.tensor([0, 0, 1]), n_graphs=2)
    >>> pool(x, graphs, "mean")
    tensor([[2.],
            [5.]])
    """
    check_choice("pooling", how, POOLINGS)
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

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor | None, ...]:
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
        """Return the vectors of graphs, the input of the head.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        embedding : Tensor of shape (n_graphs, n_embedding)
            Vectors of graphs.
        """
        edges = self.edges(graphs)
        nodes = [graphs.x]
        for layer in self.layers:
            x = cut(self.activate(layer(nodes[-1], *edges)))  # (n_nodes, width)
            nodes.append(drop(x, self.dropout, self.training and self.drops_nodes, generator))
        return pool(torch.cat(nodes[self.pooled], dim=1), graphs, self.pooling)


def widths(n_features: int, n_hidden: int, n_layers: int) -> Iterable[tuple[int, int]]:
    """Inputs and outputs of each of some layers."""
    return pairwise([n_features] + [n_hidden] * n_layers)
