"""Networks that pass messages along edges, on the layers of PyTorch Geometric.

Each is a :class:`StackedNetwork`, and differs from the others in its layer and in what is
pooled.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sklofi.nn._edges import (
    average_messages,
    edge_inputs,
    labeled_messages,
    largest_messages,
    sum_messages,
)
from sklofi.nn._flat import FlatGraphs, Perceptron
from sklofi.nn._pyg import PyGNetwork
from sklofi.nn._stacked import LAYERS, StackedNetwork, widths


class GCN(PyGNetwork, StackedNetwork):
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

    pyg_layers = ("GCNConv",)

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
        from torch_geometric.nn import GCNConv

        # The weights of edges are the same in all layers: `edges` finds them once.
        layers = [
            GCNConv(*width, normalize=False) for width in widths(n_features, n_hidden, n_layers)
        ]
        output = Perceptron(n_hidden + n_graph_features, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        # Sums keep no messages: there are those of one layer at a time. Loops are edges, too.
        self.numbers_per_edge = 2 * n_hidden
        self.numbers_per_node = 4 * n_layers * n_hidden + self.numbers_per_edge

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor | None, ...]:
        # Edges, with a loop at every node, and their weights.
        from torch_geometric.nn.conv.gcn_conv import gcn_norm

        edges: tuple[Tensor, Tensor] = gcn_norm(
            graphs.edge_index, graphs.edge_weight, len(graphs.x), dtype=graphs.x.dtype
        )
        return edges


# How messages become one vector where edges have labels or weights.
AGGREGATE = {"mean": average_messages, "max": largest_messages, "sum": sum_messages}


class SAGELayer(nn.Module):
    """A convolution of GraphSAGE, whose messages may depend on edges.

    Without labels and weights of edges it is ``SAGEConv`` of PyTorch Geometric, and weights have
    the same names.
    """

    def __init__(
        self, n_inputs: int, n_outputs: int, aggregation: str, n_edge_features: int = 0
    ) -> None:
        from torch_geometric.nn import SimpleConv

        super().__init__()
        self.aggregation = aggregation
        self.neighbors = SimpleConv(aggr=aggregation)
        if aggregation == "max":
            self.lin = nn.Linear(n_inputs, n_inputs)
        self.lin_l = nn.Linear(n_inputs, n_outputs)
        self.lin_r = nn.Linear(n_inputs, n_outputs, bias=False)
        if n_edge_features:
            self.lin_edge = nn.Linear(n_edge_features, n_inputs)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        edge_features: Tensor | None = None,
        edge_kinds: Tensor | None = None,
    ) -> Tensor:
        sent = self.lin(x) if self.aggregation == "max" else x  # (n_nodes, n_inputs)
        source, target = edge_index
        if edge_features is not None and edge_kinds is not None:
            messages = labeled_messages(sent, source, self.lin_edge(edge_features), edge_kinds)
            near = self.aggregate(messages, target, len(x), edge_weight)
        else:
            sent = torch.relu(sent) if self.aggregation == "max" else sent
            if edge_weight is None:
                near = self.neighbors(sent, edge_index)
            else:
                messages = sent.index_select(0, source)
                near = self.aggregate(messages, target, len(x), edge_weight)
        updated: Tensor = self.lin_l(near) + self.lin_r(x)  # (n_nodes, n_outputs)
        return updated

    def aggregate(
        self, messages: Tensor, target: Tensor, n_nodes: int, edge_weight: Tensor | None
    ) -> Tensor:
        """Return one vector for each node, of shape (n_nodes, n_inputs)."""
        return AGGREGATE[self.aggregation](messages, target, n_nodes, edge_weight)


class GraphSAGE(PyGNetwork, StackedNetwork):
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
    pyg_layers = ("SimpleConv",)

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
        self.numbers_per_node = 2 * n_features + 6 * n_layers * n_hidden
        self.n_edge_features = n_edge_features
        self.numbers_per_edge = max(n_features, n_hidden)
        # The maximum keeps the messages, and so does the ReLU of messages with labels.
        if aggregation == "max":
            self.numbers_per_edge = n_features + n_layers * n_hidden
        if n_edge_features:
            self.numbers_per_edge += n_features + (n_layers - 1) * n_hidden

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor | None, ...]:
        # Edges, their weights, features of kinds of edges, and these kinds.
        features, kinds = edge_inputs(graphs, self.n_edge_features)
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

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor | None, ...]:
        # Edges, and the features of each.
        features, kinds = edge_inputs(graphs, self.n_edge_features)
        if features is None or kinds is None:
            return (graphs.edge_index,)
        return graphs.edge_index, features.index_select(0, kinds)

    def activate(self, x: Tensor) -> Tensor:
        return F.elu(x)
