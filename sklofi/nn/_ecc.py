"""Convolutions whose filter depends on the label of the edge: ECC."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sklofi.nn._choices import AGGREGATIONS, check_choice
from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._edges import AGGREGATE, edge_inputs
from sklofi.nn._flat import NUMBERS_PER_ENTRY, FlatGraphs, Perceptron
from sklofi.nn._norm import Norm
from sklofi.nn._stacked import StackedNetwork, widths


class ECCLayer(nn.Module):
    r"""A convolution whose filter depends on the edge, and batch normalization.

    The network that makes filters of edges is
    :math:`F(e) = \sum_k r_k(e) F_k + F_0` with :math:`r(e) = \mathrm{ReLU}(V e + c)`. Each
    node is filtered once for each kind of edge; or, if there are more kinds than
    :math:`F_k`, once by each of these, and edges mix the results. The numbers are those of
    PyTorch Geometric's ``NNConv``, without a matrix for each edge.
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        n_edge_features: int,
        n_edge_hidden: int,
        aggregation: str = "mean",
    ) -> None:
        super().__init__()
        self.aggregation = aggregation
        self.mixture = nn.Linear(n_edge_features, n_edge_hidden)
        # The last filter is the one that edges have in common.
        self.filters = nn.Parameter(torch.empty(n_edge_hidden + 1, n_inputs, n_outputs))
        self.root = nn.Linear(n_inputs, n_outputs)
        self.norm = Norm(n_outputs)

    def forward(
        self,
        x: Tensor,
        edges: CountMatrix | Tensor,
        edge_features: Tensor,
        edge_kinds: Tensor,
        weight: Tensor | None = None,
    ) -> Tensor:
        x = self.convolve(x, edges, edge_features, edge_kinds)  # (n_nodes, n_outputs)
        normed: Tensor = self.norm(x, weight)
        return normed

    def convolve(
        self,
        x: Tensor,
        edges: CountMatrix | Tensor,
        edge_features: Tensor,
        edge_kinds: Tensor,
    ) -> Tensor:
        """Return the convolved nodes, of shape (n_nodes, n_outputs)."""
        of_node: Tensor = self.root(x)  # (n_nodes, n_outputs)
        mixture = torch.relu(self.mixture(edge_features))
        mixture = F.pad(mixture, (0, 1), value=1.0)  # (n_kinds, n_filters)
        if isinstance(edges, CountMatrix):
            filters = torch.tensordot(mixture, self.filters, dims=1)
            # (n_nodes * n_kinds, n_outputs)
            return edges @ filter_nodes(x, filters).flatten(0, 1) + of_node
        source, target = edges
        if len(mixture) > len(self.filters):  # fewer products
            filtered = filter_nodes(x, self.filters).index_select(0, source)
            messages = torch.einsum("ek,eko->eo", mixture.index_select(0, edge_kinds), filtered)
        else:
            filters = torch.tensordot(mixture, self.filters, dims=1)
            rows = source * len(mixture) + edge_kinds
            messages = filter_nodes(x, filters).flatten(0, 1).index_select(0, rows)
        return AGGREGATE[self.aggregation](messages, target, len(x)) + of_node


def filter_nodes(x: Tensor, filters: Tensor) -> Tensor:
    """All nodes through all matrices, of shape (n_nodes, n_filters, n_outputs)."""
    n_filters, _, n_outputs = filters.shape
    return (x @ filters.transpose(0, 1).flatten(1)).view(len(x), n_filters, n_outputs)


class ECC(StackedNetwork):
    r"""Edge-conditioned convolution.

    .. math::
        h'_v = \mathrm{ReLU} \Bigl( \mathrm{norm} \Bigl( W h_v + b + \frac{1}{|\mathcal{N}(v)|}
        \sum_{u \in \mathcal{N}(v)} F(e_{uv}) \, h_u \Bigr) \Bigr)

    where the perceptron :math:`F` makes a matrix of the features of an edge, and norm is
    batch normalization. Graphs without edge features have the constant one.

    The mean over neighbors may also be their sum or maximum. The paper counts a node among its
    neighbors; here it has a filter :math:`W` of its own, outside of the mean, as in PyTorch
    Geometric. The graphs are not coarsened between layers, which would need an eigenvector and a
    new Laplacian of each of them at each level: there are layers, and one pooling at the end.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_edge_features : int, default=1
        Width of edges.

    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.

    n_layers : int, default=3
        Number of convolutions.

    n_hidden : int, default=32
        Width of the hidden layers.

    n_edge_hidden : int, default=16
        Hidden width of the perceptrons over edges.

    aggregation : {"mean", "max", "sum"}, default="mean"
        How the neighbors of a node become one vector.

    dropout : float, default=0.05
        Share of hidden numbers that are dropped in training.

    pooling : {"sum", "mean", "max"}, default="mean"
        How nodes become a graph.

    References
    ----------
    M. Simonovsky, N. Komodakis, Dynamic Edge-Conditioned Filters in Convolutional Neural
    Networks on Graphs, CVPR 2017.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import ECC, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> ECC(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_edge_features: int = 1,
        n_graph_features: int = 0,
        n_layers: int = 3,
        n_hidden: int = 32,
        n_edge_hidden: int = 16,
        aggregation: str = "mean",
        dropout: float = 0.05,
        pooling: str = "mean",
    ) -> None:
        check_choice("aggregation", aggregation, AGGREGATIONS)
        layers = [
            ECCLayer(*width, n_edge_features, n_edge_hidden, aggregation)
            for width in widths(n_features, n_hidden, n_layers)
        ]
        output = Perceptron(n_hidden + n_graph_features, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.aggregation = aggregation
        self.n_edge_features = n_edge_features
        self.n_edge_hidden = n_edge_hidden
        n_filtered = (min(n_edge_features, n_edge_hidden) + 1) * n_hidden
        self.numbers_per_node = n_filtered + 6 * n_layers * n_hidden
        is_mixed = n_edge_features > n_edge_hidden
        self.numbers_per_edge = 2 * NUMBERS_PER_ENTRY
        if is_mixed:
            self.numbers_per_edge = n_layers * (n_filtered + 2 * n_edge_hidden)
        elif aggregation == "max":  # keeps the messages
            self.numbers_per_edge = 2 * n_layers * n_hidden

    def edges(self, graphs: FlatGraphs) -> tuple[Any, ...]:
        # Edges, the features of each kind of edge, the kind of each edge, and weights of nodes.
        features, kinds = edge_inputs(graphs, self.n_edge_features)
        assert features is not None and kinds is not None
        is_mixed = len(features) > self.n_edge_hidden + 1
        edges: CountMatrix | Tensor = graphs.edge_index
        if self.aggregation != "max" and not is_mixed:
            edges = self._messages(graphs, kinds, len(features))
        return edges, features, kinds, graphs.node_weight()

    def _messages(self, graphs: FlatGraphs, kinds: Tensor, n_kinds: int) -> CountMatrix:
        """Return the matrix, of shape (n_nodes, n_nodes * n_kinds), that sums or averages."""
        source, target = graphs.edge_index
        ones = graphs.x.new_ones(len(kinds))
        matrix = CountMatrix.from_entries(target, source * n_kinds + kinds, ones, len(graphs.x))
        if torch.is_grad_enabled():
            matrix = matrix.with_transpose(len(graphs.x) * n_kinds)
        return matrix if self.aggregation == "sum" else matrix.average()
