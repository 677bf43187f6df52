"""What networks over nodes and edges share, as plain PyTorch.

A network turns graphs into vectors (`embed`) and those into outputs (`head`): logits for
classes, values for regression. The peers of LoFI are subclasses of :class:`FlatNetwork`; most
are layers over nodes one after the other, a :class:`~sklofi.nn.StackedNetwork`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor, nn

from sklofi.nn._choices import POOLINGS, check_choice
from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._norm import Norm, merge_statistics_

# Layers whose own reset_parameters draws no random numbers.
NORMS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)


# Numbers that matrices of the edges have for each edge: an adjacency, its transpose, and a pair
# that a network makes of them.
NUMBERS_PER_ENTRY = 8


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

    edge_weight : Tensor of shape (n_edges,), default=None
        The weight of each edge, for networks that use it; by default there are none.

    graph_features : Tensor of shape (n_graphs, n_graph_features), default=None
        Features of the graphs as a whole, which the head is given; by default there are none.

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
    edge_weight: Tensor | None = None  # (n_edges,): None if edges have no weights, or not to use
    graph_features: Tensor | None = None  # (n_graphs, n_graph_features)

    # Not data: matrices that are made of the edges once, for all layers.
    matrices: dict[str, CountMatrix] = field(default_factory=dict, init=False, repr=False)

    @property
    def adjacency(self) -> CountMatrix:
        """Matrix of shape (n_nodes, n_nodes) that sums what each node receives.

        Entries are the weights of edges, or ones. Gradients go to the weights, too.
        """
        if self.edge_weight is None:
            return self.links
        return self._matrix("adjacency", self.edge_weight)

    @property
    def links(self) -> CountMatrix:
        """The same matrix without weights: the number of edges from node to node."""
        return self._matrix("links", self.x.new_ones(()))

    def _matrix(self, name: str, entries: Tensor) -> CountMatrix:
        matrix = self.matrices.get(name)
        if matrix is None:
            source, target = self.edge_index
            entries = entries.expand(len(target))
            matrix = CountMatrix.from_entries(target, source, entries, len(self.x))
        if torch.is_grad_enabled():
            matrix = matrix.with_transpose(len(self.x))
        if not matrix.counts.requires_grad:  # else it belongs to a single backward pass
            self.matrices[name] = matrix
        return matrix

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
        moved = FlatGraphs(
            self.x.to(device),
            self.edge_index.to(device),
            self.graph.to(device),
            self.n_graphs,
            None if self.edge_features is None else self.edge_features.to(device),
            None if self.edge_kinds is None else self.edge_kinds.to(device),
            None if self.weight is None else self.weight.to(device),
            None if self.edge_weight is None else self.edge_weight.to(device),
            None if self.graph_features is None else self.graph_features.to(device),
        )
        moved.matrices.update({name: one.to(device) for name, one in self.matrices.items()})
        return moved


def glorot_(parameter: Tensor, generator: torch.Generator | None = None) -> None:
    """Fill a matrix, or a stack of them, by Glorot's rule, and vectors with zeros."""
    if parameter.ndim < 2:
        parameter.zero_()
    else:
        bound = (6 / (parameter.shape[-1] + parameter.shape[-2])) ** 0.5
        parameter.uniform_(-bound, bound, generator=generator)


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


class _Maxima(torch.autograd.Function):
    """The maximum of each group of rows; those that share it share its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Tensor, n_groups: int) -> Tensor:
        index = group[:, None].expand_as(x)
        zeros = x.new_zeros(n_groups, x.shape[1])
        maxima = zeros.scatter_reduce(0, index, x, reduce="amax", include_self=False)
        ctx.save_for_backward(x, group, maxima)
        return maxima

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        # As torch has it, without scatter and gather, which take most of the time there.
        x, group, maxima = ctx.saved_tensors
        is_largest = maxima.index_select(0, group).eq_(x)  # ones and zeros
        n_largest = torch.zeros_like(maxima).index_add_(0, group, is_largest)
        share = gradient / n_largest.clamp_(min=1)
        return share.index_select(0, group) * is_largest, None, None


def largest_rows(x: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """Return the maximum of each group of rows, of shape (n_groups, n_features).

    Parameters
    ----------
    x : Tensor of shape (n_rows, n_features)
        The rows.

    group : Tensor of shape (n_rows,)
        The group of each row.

    n_groups : int
        Number of groups.

    Returns
    -------
    maxima : Tensor of shape (n_groups, n_features)
        The maxima; 0 for a group without rows.
    """
    maxima: Tensor = _Maxima.apply(x, group, n_groups)  # type: ignore[no-untyped-call]
    return maxima


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
    if how == "max":
        return largest_rows(x, graphs.graph, graphs.n_graphs)
    total = x.new_zeros(graphs.n_graphs, x.shape[1]).index_add(0, graphs.graph, x)
    if how == "sum":
        return total
    check_choice("pooling", how, ("mean",))  # what is left
    sizes = torch.bincount(graphs.graph, minlength=graphs.n_graphs)
    return total / sizes[:, None].to(x.dtype)


def beside(embedding: Tensor, graph_features: Tensor | None) -> Tensor:
    """Return the vectors of graphs with the features of the graphs beside them, if any."""
    if graph_features is None:
        return embedding
    return torch.cat([embedding, graph_features.to(embedding.dtype)], dim=1)


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


class FlatNetwork(nn.Module):
    """Base of the networks that see graphs as nodes and edges.

    A subclass takes ``n_features`` and ``n_outputs`` and keyword arguments, and gives
    `embed`, the module `output` (a :class:`Perceptron`, say) as head, and the attributes
    `numbers_per_node`, `numbers_per_edge`, `numbers_per_graph` and `numbers_per_member` (for
    each member of an egonet of the attribute `radius`): about how many numbers a pass keeps.
    They decide whether there is memory for a batch.

    A network with the keyword argument ``n_graph_features=0`` is also given the features of graphs
    as a whole, where they have some: `n_graph_features` columns, which stand beside what `embed`
    returns in the input of the head. The head has to be so much wider.

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

    def __init__(self) -> None:
        super().__init__()

    def embed(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Tensor:
        """Return the vectors of graphs, without features that graphs have as a whole.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        embedding : Tensor of shape (n_graphs, n_embedding - n_graph_features)
            Vectors of graphs.
        """
        raise TypeError(f"{type(self).__name__} has no embed.")

    def head_input(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Tensor:
        """Return what the head sees: the vectors of graphs, and their features beside them.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        vectors : Tensor of shape (n_graphs, n_embedding)
            Vectors of graphs.
        """
        embedding = self.embed(graphs, generator)
        if len(embedding) != graphs.n_graphs:
            raise ValueError(
                f"{type(self).__name__}.embed returned {len(embedding)} rows for"
                f" {graphs.n_graphs} graphs with {len(graphs.x)} nodes in all. It has to return a"
                " row for each graph: return pool(nodes, graphs), with sklofi.nn.pool."
            )
        return beside(embedding, graphs.graph_features)

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
        """Width of the vectors that the head sees."""
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
        return self.head(self.head_input(graphs, generator), generator)

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
