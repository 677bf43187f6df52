"""Networks that pass messages along edges, on the layers of PyTorch Geometric.

Each is a :class:`StackedNetwork`, and differs from the others in its layer and in what is
pooled.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sklofi.nn._flat import ALL, LAYERS, FlatGraphs, Norm, Perceptron, StackedNetwork, drop, widths
from sklofi.nn._pyg import PyGNetwork


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
        """Return what the layers are given beside the nodes, the same for all of them.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        Returns
        -------
        edges : tuple
            Edges, with a loop at every node, and their weights.
        """
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


class NormedPerceptron(nn.Sequential):
    """Layers one after the other, of which those that normalize are given weights."""

    def forward(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        for layer in self:
            x = layer(x, weight) if isinstance(layer, Norm) else layer(x)
        return x


class GINLayer(nn.Module):
    """A GIN convolution whose update is a perceptron with batch normalization."""

    eps: Tensor

    def __init__(self, n_inputs: int, n_hidden: int, train_eps: bool) -> None:
        from torch_geometric.nn import SimpleConv

        super().__init__()
        self.neighbors = SimpleConv(aggr="sum")
        self.nn = NormedPerceptron(  # as GINConv calls it, and files of saved networks
            nn.Linear(n_inputs, n_hidden),
            Norm(n_hidden),
            nn.ReLU(),
            nn.Linear(n_hidden, n_hidden),
            Norm(n_hidden),
        )
        if train_eps:
            self.eps = nn.Parameter(torch.zeros(1))
        else:
            self.register_buffer("eps", torch.zeros(1))

    def reset_parameters_(self, generator: torch.Generator | None = None) -> None:
        self.eps.zero_()

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor | None = None) -> Tensor:
        near = self.neighbors(x, edge_index)  # (n_nodes, n_inputs)
        updated: Tensor = self.nn(near + (1 + self.eps) * x, weight)  # (n_nodes, n_hidden)
        return updated


class Readout(nn.Linear):
    """A linear map that is zero at first.

    Sums over graphs are large. With random weights the loss would begin far above that of a
    guess, and on small data sets it hardly comes down again.
    """

    def reset_parameters_(self, generator: torch.Generator | None = None) -> None:
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)


class GIN(PyGNetwork, StackedNetwork):
    r"""Graph isomorphism network.

    .. math::
        h^{(k+1)}_v &= \mathrm{ReLU} \Bigl( \mathrm{MLP}_k \Bigl( (1 + \epsilon_k) h^{(k)}_v
        + \sum_{u \in \mathcal{N}(v)} h^{(k)}_u \Bigr) \Bigr) \\
        y_G &= \sum_{k=0}^{n_\mathrm{layers}} W_k \sum_{v \in G} h^{(k)}_v + b

    where :math:`h^{(0)}` are the node features, and each MLP has two layers, with batch
    normalization behind both. The readouts of all layers are one linear map of their pooled
    nodes side by side, which is zero at first. Dropout acts on these; in the published code,
    on the scores of each layer, where a single output of a regression would be dropped as a
    whole.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_layers : int, default=4
        Number of convolutions.

    n_hidden : int, default=32
        Width of the hidden layers.

    train_eps : bool, default=False
        Whether the weight of the node itself is learned (GIN-epsilon), or is one (GIN-0).

    dropout : float, default=0.5
        Share of the pooled numbers that are dropped in training.

    pooling : {"sum", "mean", "max"}, default="sum"
        How nodes become a graph. In the paper, "mean" for social networks.

    References
    ----------
    K. Xu, W. Hu, J. Leskovec, S. Jegelka, How Powerful are Graph Neural Networks?,
    ICLR 2019.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import GIN, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> GIN(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    pooled = ALL
    pyg_layers = ("SimpleConv",)
    drops_nodes = False
    layer_class: type[GINLayer] = GINLayer

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_layers: int = 4,
        n_hidden: int = 32,
        train_eps: bool = False,
        dropout: float = 0.5,
        pooling: str = "sum",
    ) -> None:
        layers = [
            self.layer_class(*width, train_eps) for width in widths(n_features, n_hidden, n_layers)
        ]
        output = Readout(n_features + n_layers * n_hidden, n_outputs)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.numbers_per_node = 3 * n_features + 10 * n_layers * n_hidden
        self.numbers_per_edge = max(n_features, n_hidden)

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor | None, ...]:
        """Return what the layers are given beside the nodes, the same for all of them.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        Returns
        -------
        edges : tuple
            Edges, and weights of nodes.
        """
        return graphs.edge_index, graphs.node_weight()

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
        outputs: Tensor = self.output(drop(embedding, self.dropout, self.training, generator))
        return outputs


class SGINLayer(GINLayer):
    """A GIN convolution over neighbors and their neighbors."""

    def forward(  # type: ignore[override]
        self, x: Tensor, edge_index: Tensor, n_returns: Tensor, weight: Tensor | None = None
    ) -> Tensor:
        near = self.neighbors(x, edge_index)  # (n_nodes, n_inputs)
        # All walks of two steps, without those that lead back to where they began.
        far = self.neighbors(near, edge_index) - n_returns * x
        updated: Tensor = self.nn((1 + self.eps) * x + near + far, weight)  # (n_nodes, n_hidden)
        return updated


class SGIN(GIN):
    r"""GIN with an enlarged neighborhood, (s)GIN.

    The paper enlarges the neighborhood over which a layer aggregates, so that less
    information between nodes is lost on the way; nothing is added to the loss. A node
    aggregates its neighbors, and theirs except itself:

    .. math::
        h'_v = \mathrm{ReLU} \Bigl( \mathrm{MLP} \Bigl( (1 + \epsilon) h_v
        + \sum_{u \in \mathcal{N}(v)} h_u
        + \sum_{u \in \mathcal{N}(v)} \sum_{w \in \mathcal{N}(u), w \ne v} h_w
        \Bigr) \Bigr)

    or :math:`A + A^2 - \mathrm{diag}(A^2)` in place of :math:`A`, as in the code of the
    authors: a node that is reached in several ways counts several times. The rest is
    :class:`GIN`.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_layers : int, default=4
        Number of convolutions.

    n_hidden : int, default=32
        Width of the hidden layers.

    train_eps : bool, default=False
        Whether the weight of the node itself is learned, or is one.

    dropout : float, default=0.5
        Share of the pooled numbers that are dropped in training.

    pooling : {"sum", "mean", "max"}, default="sum"
        How nodes become a graph.

    References
    ----------
    X. Di, P. Yu, R. Bu, M. Sun, Mutual Information Maximization in Graph Neural Networks,
    IJCNN 2020.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import SGIN, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> SGIN(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    layer_class = SGINLayer

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor | None, ...]:
        """Return what the layers are given beside the nodes, the same for all of them.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        Returns
        -------
        edges : tuple
            Edges, how many walks of two steps lead back to each node, and weights of nodes.
        """
        return graphs.edge_index, count_returns(graphs), graphs.node_weight()


def count_returns(graphs: FlatGraphs) -> Tensor:
    """How many walks of two steps lead from a node back to it, of shape (n_nodes, 1)."""
    n_nodes = len(graphs.x)
    source, target = graphs.edge_index
    names = (source * n_nodes + target).sort().values
    back = target * n_nodes + source
    n_back = torch.searchsorted(names, back, right=True) - torch.searchsorted(names, back)
    n_returns = graphs.x.new_zeros(n_nodes)
    return n_returns.index_add(0, target, n_back.to(graphs.x.dtype))[:, None]


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
        """Return the activations of the outputs of a layer.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_outputs)
            Outputs of a layer.

        Returns
        -------
        activated : Tensor of shape (n_nodes, n_outputs)
            Their exponential linear units.
        """
        return F.elu(x)
