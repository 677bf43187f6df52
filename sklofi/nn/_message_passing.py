"""Networks that pass messages along edges, on the layers of PyTorch Geometric.

Each is a :class:`StackedNetwork`, and differs from the others in its layer and in what is
pooled.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from sklofi.nn._flat import FlatGraphs, Perceptron
from sklofi.nn._pyg import PyGNetwork
from sklofi.nn._stacked import LAYERS, StackedNetwork, widths


class GCN(PyGNetwork, StackedNetwork):
    r"""Graph convolutional network.

    .. math::
        H' = \mathrm{ReLU} \bigl( \hat D^{-1/2} \hat A \hat D^{-1/2} H W + b \bigr), \qquad
        \hat A = A + I

    Nodes that have a loop already get no second one. In directed graphs :math:`\hat D`
    counts the edges that come in.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

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
        output = Perceptron(n_hidden, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        # Sums keep no messages: there are those of one layer at a time. Loops are edges, too.
        self.numbers_per_edge = 2 * n_hidden
        self.numbers_per_node = 4 * n_layers * n_hidden + self.numbers_per_edge

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor | None, ...]:
        # Edges, with a loop at every node, and their weights.
        from torch_geometric.nn.conv.gcn_conv import gcn_norm

        edges: tuple[Tensor, Tensor] = gcn_norm(
            graphs.edge_index, num_nodes=len(graphs.x), dtype=graphs.x.dtype
        )
        return edges


class GraphSAGE(PyGNetwork, StackedNetwork):
    r"""Sample and aggregate, here with all neighbors instead of a sample.

    .. math::
        h'_v = \mathrm{ReLU} \bigl( W_1 h_v + W_2
        \underset{u \in \mathcal{N}(v)}{\mathrm{aggregate}} \, h_u + b \bigr)

    The outputs of all layers are pooled, side by side, as in the comparison of Errica et
    al., which has no sampling and no scaling of nodes to unit length either. With
    ``aggregation="max"`` neighbors pass a layer with ReLU first, as in the paper.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

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
    pyg_layers = ("SAGEConv",)

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_layers: int = 3,
        n_hidden: int = 64,
        aggregation: str = "mean",
        dropout: float = 0.0,
        pooling: str = "max",
    ) -> None:
        from torch_geometric.nn import SAGEConv

        layers = [
            SAGEConv(*width, aggr=aggregation, project=aggregation == "max")
            for width in widths(n_features, n_hidden, n_layers)
        ]
        output = Perceptron(n_layers * n_hidden, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.numbers_per_node = 2 * n_features + 6 * n_layers * n_hidden
        self.numbers_per_edge = max(n_features, n_hidden)
        if aggregation == "max":  # keeps the messages
            self.numbers_per_edge = n_features + n_layers * n_hidden


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

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

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
        n_layers: int = 3,
        n_hidden: int = 16,
        n_heads: int = 4,
        dropout: float = 0.0,
        pooling: str = "mean",
    ) -> None:
        from torch_geometric.nn import GATConv

        n_all = n_heads * n_hidden
        layers = [
            GATConv(n_inputs, n_hidden, heads=n_heads)
            for n_inputs, _ in widths(n_features, n_all, n_layers)
        ]
        output = Perceptron(n_all, n_all, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.numbers_per_edge = n_layers * (2 * n_all + 6 * n_heads)
        self.numbers_per_node = 6 * n_layers * n_all + self.numbers_per_edge  # and loops

    def activate(self, x: Tensor) -> Tensor:
        return F.elu(x)
