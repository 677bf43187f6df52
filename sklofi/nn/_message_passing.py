"""Networks that pass messages along edges: sums, means, maxima and attention.

Each is a :class:`StackedNetwork`, and differs from the others in its layer and in what is
pooled.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._edges import (
    AGGREGATE,
    edge_inputs,
    labeled_messages,
)
from sklofi.nn._flat import NUMBERS_PER_ENTRY, FlatGraphs, Perceptron
from sklofi.nn._pyg import PyGNetwork
from sklofi.nn._stacked import LAYERS, StackedNetwork, widths


def normalized_adjacency(graphs: FlatGraphs) -> CountMatrix:
    """Return D^-1/2 (A + I) D^-1/2, where loops that are there already are those of I.

    Parameters
    ----------
    graphs : FlatGraphs
        The graphs.

    Returns
    -------
    normalized : CountMatrix of shape (n_nodes, n_nodes)
        The matrix.
    """
    loops = graphs.x.new_ones(len(graphs.x))
    if graphs.edge_weight is not None:
        source, target = graphs.edge_index
        is_loop = source == target
        weights = graphs.edge_weight[is_loop]
        loops = loops.to(weights.dtype).index_put((source[is_loop],), weights)
    return graphs.adjacency.without_diagonal().add_diagonal(loops).normalize()


class GCNLayer(nn.Module):
    """A convolution of GCN. Weights have the names of those of ``GCNConv``."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(n_outputs))
        self.lin = nn.Linear(n_inputs, n_outputs, bias=False)

    def forward(self, x: Tensor, edges: CountMatrix) -> Tensor:
        n_outputs, n_inputs = self.lin.weight.shape
        if n_inputs <= n_outputs:  # sums of the shorter vectors
            return F.linear(edges @ x, self.lin.weight, self.bias)  # (n_nodes, n_outputs)
        convolved: Tensor = edges @ self.lin(x) + self.bias
        return convolved


class GCN(StackedNetwork):
    r"""Graph convolutional network.

    .. math::
        H' = \mathrm{ReLU} \bigl( \hat D^{-1/2} \hat A \hat D^{-1/2} H W + b \bigr), \qquad
        \hat A = A + I

    Nodes that have a loop already get no second one. In directed graphs :math:`\hat D`
    counts the edges that come in. If edges have weights, they are the entries of :math:`A`, and
    :math:`\hat D` has the sums of :math:`\hat A`, as in ``GCNConv`` of PyTorch Geometric.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.

    n_layers : int, default=3
        Number of convolutions.

    n_hidden : int, default=64
        Width of the hidden layers.

    dropout : float, default=0.0
        Share of hidden numbers that are dropped in training.

    pooling : {"sum", "mean", "max"}, default="mean"
        How nodes become a graph. The paper classifies nodes and has none.

    References
    ----------
    T. Kipf, M. Welling, Semi-Supervised Classification with Graph Convolutional Networks,
    ICLR 2017.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import GCN, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> GCN(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_graph_features: int = 0,
        n_layers: int = 3,
        n_hidden: int = 64,
        dropout: float = 0.0,
        pooling: str = "mean",
    ) -> None:
        layers = [GCNLayer(*width) for width in widths(n_features, n_hidden, n_layers)]
        output = Perceptron(n_hidden + n_graph_features, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.numbers_per_edge = NUMBERS_PER_ENTRY  # loops are edges, too
        self.numbers_per_node = 4 * n_layers * n_hidden + self.numbers_per_edge

    def edges(self, graphs: FlatGraphs) -> tuple[Any, ...]:
        return (normalized_adjacency(graphs),)


class SAGELayer(nn.Module):
    """A convolution of GraphSAGE, whose messages may depend on edges.

    Without labels and weights of edges it is ``SAGEConv`` of PyTorch Geometric, and weights have
    the same names.
    """

    def __init__(
        self, n_inputs: int, n_outputs: int, aggregation: str, n_edge_features: int = 0
    ) -> None:
        super().__init__()
        self.aggregation = aggregation
        if aggregation == "max":
            self.lin = nn.Linear(n_inputs, n_inputs)
        self.lin_l = nn.Linear(n_inputs, n_outputs)
        self.lin_r = nn.Linear(n_inputs, n_outputs, bias=False)
        if n_edge_features:
            self.lin_edge = nn.Linear(n_edge_features, n_inputs)

    def forward(
        self,
        x: Tensor,
        edges: CountMatrix | Tensor,
        edge_weight: Tensor | None = None,
        edge_features: Tensor | None = None,
        edge_kinds: Tensor | None = None,
    ) -> Tensor:
        if isinstance(edges, CountMatrix):
            near = edges @ x  # (n_nodes, n_inputs)
        else:
            source, target = edges
            sent = self.lin(x) if self.aggregation == "max" else x  # (n_nodes, n_inputs)
            if edge_features is not None and edge_kinds is not None:
                messages = labeled_messages(sent, source, self.lin_edge(edge_features), edge_kinds)
            else:
                messages = torch.relu(sent).index_select(0, source)
            near = AGGREGATE[self.aggregation](messages, target, len(x), edge_weight)
        updated: Tensor = self.lin_l(near) + self.lin_r(x)  # (n_nodes, n_outputs)
        return updated


class GraphSAGE(StackedNetwork):
    r"""Sample and aggregate, here with all neighbors instead of a sample.

    .. math::
        h'_v = \mathrm{ReLU} \bigl( W_1 h_v + W_2
        \underset{u \in \mathcal{N}(v)}{\mathrm{aggregate}} \, h_u + b \bigr)

    The outputs of all layers are pooled, side by side, as in the comparison of Errica et
    al., which has no sampling and no scaling of nodes to unit length either. With
    ``aggregation="max"`` neighbors pass a layer with ReLU first, as in the paper.

    The paper has no edge features. With them, a neighbor sends
    :math:`\mathrm{ReLU}(h_u + V e_{uv} + c)` in place of :math:`h_u`, as in GINE, and with
    ``aggregation="max"`` the vector of the edge is added before the ReLU of that layer. If edges
    have weights, the mean is :math:`\sum_u w_{uv} h_u / \sum_u w_{uv}`, the sum is weighted, and
    the maximum is that of :math:`w_{uv} h_u`.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_edge_features : int, default=0
        Width of edges; 0 if their features are not read.

    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.

    n_layers : int, default=3
        Number of convolutions.

    n_hidden : int, default=64
        Width of the hidden layers.

    aggregation : {"mean", "max", "sum"}, default="mean"
        How the neighbors of a node become one vector.

    dropout : float, default=0.0
        Share of hidden numbers that are dropped in training.

    pooling : {"sum", "mean", "max"}, default="max"
        How nodes become a graph.

    References
    ----------
    W. Hamilton, R. Ying, J. Leskovec, Inductive Representation Learning on Large Graphs,
    NeurIPS 2017; F. Errica, M. Podda, D. Bacciu, A. Micheli, A Fair Comparison of Graph
    Neural Networks for Graph Classification, ICLR 2020.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import GraphSAGE, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> GraphSAGE(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    pooled = LAYERS

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_edge_features: int = 0,
        n_graph_features: int = 0,
        n_layers: int = 3,
        n_hidden: int = 64,
        aggregation: str = "mean",
        dropout: float = 0.0,
        pooling: str = "max",
    ) -> None:
        layers = [
            SAGELayer(*width, aggregation, n_edge_features)
            for width in widths(n_features, n_hidden, n_layers)
        ]
        output = Perceptron(n_layers * n_hidden + n_graph_features, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.aggregation = aggregation
        self.numbers_per_node = 2 * n_features + 6 * n_layers * n_hidden
        self.n_edge_features = n_edge_features
        self.numbers_per_edge = NUMBERS_PER_ENTRY
        # The maximum keeps the messages, and so does the ReLU of messages with labels.
        if aggregation == "max":
            self.numbers_per_edge = n_features + n_layers * n_hidden
        if n_edge_features:  # there are sums of one layer at a time, too
            self.numbers_per_edge += n_features + (n_layers - 1) * n_hidden
            self.numbers_per_edge += max(n_features, n_hidden)

    def edges(self, graphs: FlatGraphs) -> tuple[Any, ...]:
        # Edges, their weights, features of kinds of edges, and these kinds.
        features, kinds = edge_inputs(graphs, self.n_edge_features)
        if features is None and self.aggregation != "max":
            matrix = graphs.adjacency
            return (matrix if self.aggregation == "sum" else matrix.average(),)
        return graphs.edge_index, graphs.edge_weight, features, kinds


class GAT(PyGNetwork, StackedNetwork):
    r"""Graph attention network.

    .. math::
        \alpha_{vu} &= \underset{u \in \mathcal{N}(v) \cup \{v\}}{\mathrm{softmax}} \;
        \mathrm{LeakyReLU} \bigl( a^\top [W h_v, W h_u] \bigr) \\
        h'_v &= \mathrm{ELU} \Bigl( \sum_{u \in \mathcal{N}(v) \cup \{v\}}
        \alpha_{vu} W h_u + b \Bigr)

    in each of `n_heads` heads, whose outputs stand side by side. This is the attention of
    the paper (``GATConv``), not its later correction (``GATv2Conv``), in which the order of
    the neighbors may depend on the node. Dropout acts on nodes, not on attention.

    With edge features, the attention is that of :math:`a^\top [W h_v, W h_u, V e_{uv}]`, as in
    ``GATConv`` of PyTorch Geometric. The loop of a node has the mean of the features of the other
    edges that lead to it, also where the graph has a loop; those of a node without such edges are
    zero.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_edge_features : int, default=0
        Width of edges; 0 if their features are not read.

    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.

    n_layers : int, default=3
        Number of convolutions.

    n_hidden : int, default=16
        Width of each head; the hidden layers are ``n_heads * n_hidden`` wide.

    n_heads : int, default=4
        Number of heads.

    dropout : float, default=0.0
        Share of hidden numbers that are dropped in training.

    pooling : {"sum", "mean", "max"}, default="mean"
        How nodes become a graph. The paper classifies nodes and has none.

    References
    ----------
    P. Velickovic, G. Cucurull, A. Casanova, A. Romero, P. Lio, Y. Bengio, Graph Attention
    Networks, ICLR 2018.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import GAT, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> GAT(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    pyg_layers = ("GATConv",)

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_edge_features: int = 0,
        n_graph_features: int = 0,
        n_layers: int = 3,
        n_hidden: int = 16,
        n_heads: int = 4,
        dropout: float = 0.0,
        pooling: str = "mean",
    ) -> None:
        from torch_geometric.nn import GATConv

        n_all = n_heads * n_hidden
        layers = [
            GATConv(n_inputs, n_hidden, heads=n_heads, edge_dim=n_edge_features or None)
            for n_inputs, _ in widths(n_features, n_all, n_layers)
        ]
        output = Perceptron(n_all + n_graph_features, n_all, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.n_edge_features = n_edge_features
        self.numbers_per_edge = n_layers * (2 * n_all + 6 * n_heads)
        if n_edge_features:  # features with those of loops, and what the layer makes of them
            self.numbers_per_edge += n_layers * (n_edge_features + n_all + n_heads)
        self.numbers_per_node = 6 * n_layers * n_all + self.numbers_per_edge  # and loops

    def edges(self, graphs: FlatGraphs) -> tuple[Any, ...]:
        # Edges, and the features of each.
        features, kinds = edge_inputs(graphs, self.n_edge_features)
        if features is None or kinds is None:
            return (graphs.edge_index,)
        return graphs.edge_index, features.index_select(0, kinds)

    def activate(self, x: Tensor) -> Tensor:
        return F.elu(x)
