"""Networks that pass messages along edges, on the layers of PyTorch Geometric.

Each is a stack of layers over nodes, pooled to vectors of graphs, with a head behind
(:class:`StackedNetwork`), and differs from the others in its layer and in what is pooled.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from sklofi.networks import FlatGraphs, FlatNetwork, Norm, Perceptron, cut, drop, pool

# As in LoFI: cosines lie in [-1, 1], and at a temperature of 1 a node would be aligned
# to all points almost equally.
INITIAL_TEMPERATURE = 5.0

# The graphs as they are, then the outputs of the layers: which of these are pooled.
LAST = slice(-1, None)
LAYERS = slice(1, None)
ALL = slice(0, None)


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


class DeepMultisets(StackedNetwork):
    r"""A graph as the multiset of its nodes, without edges.

    .. math::
        h_G = \sum_{v \in G} \phi(x_v), \qquad y_G = \rho(h_G)

    with perceptrons :math:`\phi` of `n_layers` layers and :math:`\rho` of two.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_layers : int, default=1
        Layers over nodes.

    n_hidden : int, default=128
        Width of the hidden layers.

    dropout : float, default=0.0
        Share of hidden numbers that are dropped in training.

    pooling : {"sum", "mean", "max"}, default="sum"
        How nodes become a graph.

    References
    ----------
    M. Zaheer, S. Kottur, S. Ravanbakhsh, B. Poczos, R. Salakhutdinov, A. Smola, Deep Sets,
    NeurIPS 2017; as in F. Errica, M. Podda, D. Bacciu, A. Micheli, A Fair Comparison of
    Graph Neural Networks for Graph Classification, ICLR 2020.
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_layers: int = 1,
        n_hidden: int = 128,
        dropout: float = 0.0,
        pooling: str = "sum",
    ) -> None:
        layers = [nn.Linear(*width) for width in widths(n_features, n_hidden, n_layers)]
        output = Perceptron(n_hidden, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.numbers_per_node = 3 * n_layers * n_hidden

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor, ...]:
        return ()


class GCN(StackedNetwork):
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
    """

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
        # The weights of edges are the same in all layers: `edges` finds them once.
        layers = [
            GCNConv(*width, normalize=False) for width in widths(n_features, n_hidden, n_layers)
        ]
        output = Perceptron(n_hidden, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        # Sums keep no messages: there are those of one layer at a time. Loops are edges, too.
        self.numbers_per_edge = 2 * n_hidden
        self.numbers_per_node = 4 * n_layers * n_hidden + self.numbers_per_edge

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor, ...]:
        return gcn_norm(graphs.edge_index, num_nodes=len(graphs.x), dtype=graphs.x.dtype)


class GraphSAGE(StackedNetwork):
    r"""Sample and aggregate, here with all neighbours instead of a sample.

    .. math::
        h'_v = \mathrm{ReLU} \bigl( W_1 h_v + W_2
        \underset{u \in \mathcal{N}(v)}{\mathrm{aggregate}} \, h_u + b \bigr)

    The outputs of all layers are pooled, side by side, as in the comparison of Errica et
    al., which has no sampling and no scaling of nodes to unit length either. With
    ``aggregation="max"`` neighbours pass a layer with ReLU first, as in the paper.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_layers : int, default=3
        Number of convolutions.

    n_hidden : int, default=64
        Width of the hidden layers.

    aggregation : {"mean", "max", "sum"}, default="mean"
        How the neighbours of a node become one vector.

    dropout : float, default=0.0
        Share of hidden numbers that are dropped in training.

    pooling : {"sum", "mean", "max"}, default="max"
        How nodes become a graph.

    References
    ----------
    W. Hamilton, R. Ying, J. Leskovec, Inductive Representation Learning on Large Graphs,
    NeurIPS 2017; F. Errica, M. Podda, D. Bacciu, A. Micheli, A Fair Comparison of Graph
    Neural Networks for Graph Classification, ICLR 2020.
    """

    pooled = LAYERS

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


class GINLayer(GINConv):
    """A GIN convolution whose update is a perceptron with batch normalisation."""

    def __init__(self, n_inputs: int, n_hidden: int, train_eps: bool) -> None:
        update = nn.Sequential(
            nn.Linear(n_inputs, n_hidden),
            Norm(n_hidden),
            nn.ReLU(),
            nn.Linear(n_hidden, n_hidden),
            Norm(n_hidden),
        )
        super().__init__(update, train_eps=train_eps)

    def reset_parameters_(self, generator: torch.Generator | None = None) -> None:
        self.eps.zero_()  # a buffer if it is not trained


class Readout(nn.Linear):
    """A linear map that is zero at first.

    Sums over graphs are large. With random weights the loss would begin far above that of a
    guess, and on small data sets it hardly comes down again.
    """

    def reset_parameters_(self, generator: torch.Generator | None = None) -> None:
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)


class GIN(StackedNetwork):
    r"""Graph isomorphism network.

    .. math::
        h^{(k+1)}_v &= \mathrm{ReLU} \Bigl( \mathrm{MLP}_k \Bigl( (1 + \epsilon_k) h^{(k)}_v
        + \sum_{u \in \mathcal{N}(v)} h^{(k)}_u \Bigr) \Bigr) \\
        y_G &= \sum_{k=0}^{n_\mathrm{layers}} W_k \sum_{v \in G} h^{(k)}_v + b

    where :math:`h^{(0)}` are the node features, and each MLP has two layers, with batch
    normalisation behind both. The readouts of all layers are one linear map of their pooled
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
    """

    pooled = ALL
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

    def head(self, embedding: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return self.output(drop(embedding, self.dropout, self.training, generator))


class SGINLayer(GINLayer):
    """A GIN convolution over neighbours and their neighbours."""

    def forward(self, x: Tensor, edge_index: Tensor, n_returns: Tensor) -> Tensor:
        near = self.propagate(edge_index, x=(x, x))  # (n_nodes, n_inputs)
        # All walks of two steps, without those that lead back to where they began.
        far = self.propagate(edge_index, x=(near, near)) - n_returns * x
        return self.nn((1 + self.eps) * x + near + far)


class SGIN(GIN):
    r"""GIN with an enlarged neighbourhood, (s)GIN.

    The paper enlarges the neighbourhood over which a layer aggregates, so that less
    information between nodes is lost on the way; nothing is added to the loss. A node
    aggregates its neighbours, and theirs except itself:

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
    """

    layer_class = SGINLayer

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor, ...]:
        return graphs.edge_index, count_returns(graphs)


def count_returns(graphs: FlatGraphs) -> Tensor:
    """How many walks of two steps lead from a node back to it, of shape (n_nodes, 1)."""
    n_nodes = len(graphs.x)
    source, target = graphs.edge_index
    names = (source * n_nodes + target).sort().values
    back = target * n_nodes + source
    n_back = torch.searchsorted(names, back, right=True) - torch.searchsorted(names, back)
    n_returns = graphs.x.new_zeros(n_nodes)
    return n_returns.index_add(0, target, n_back.to(graphs.x.dtype))[:, None]


class GAT(StackedNetwork):
    r"""Graph attention network.

    .. math::
        \alpha_{vu} &= \underset{u \in \mathcal{N}(v) \cup \{v\}}{\mathrm{softmax}} \;
        \mathrm{LeakyReLU} \bigl( a^\top [W h_v, W h_u] \bigr) \\
        h'_v &= \mathrm{ELU} \Bigl( \sum_{u \in \mathcal{N}(v) \cup \{v\}}
        \alpha_{vu} W h_u + b \Bigr)

    in each of `n_heads` heads, whose outputs stand side by side. This is the attention of
    the paper (``GATConv``), not its later correction (``GATv2Conv``), in which the order of
    the neighbours may depend on the node. Dropout acts on nodes, not on attention.

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
    """

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


class ECCLayer(nn.Module):
    r"""A convolution whose filter depends on the edge, and batch normalisation.

    The network that makes filters of edges is
    :math:`F(e) = \sum_k r_k(e) F_k + F_0` with :math:`r(e) = \mathrm{ReLU}(V e + c)`. Each
    node is filtered once for each kind of edge; or, if there are more kinds than
    :math:`F_k`, once by each of these, and edges mix the results. The numbers are those of
    PyTorch Geometric's ``NNConv``, without a matrix for each edge.
    """

    def __init__(
        self, n_inputs: int, n_outputs: int, n_edge_features: int, n_edge_hidden: int
    ) -> None:
        super().__init__()
        self.mixture = nn.Linear(n_edge_features, n_edge_hidden)
        # The last filter is the one that edges have in common.
        self.filters = nn.Parameter(torch.empty(n_edge_hidden + 1, n_inputs, n_outputs))
        self.root = nn.Linear(n_inputs, n_outputs)
        self.norm = Norm(n_outputs)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_features: Tensor, edge_kinds: Tensor
    ) -> Tensor:
        return self.norm(self.convolve(x, edge_index, edge_features, edge_kinds))

    def convolve(
        self, x: Tensor, edge_index: Tensor, edge_features: Tensor, edge_kinds: Tensor
    ) -> Tensor:
        source, target = edge_index
        mixture = torch.relu(self.mixture(edge_features))
        mixture = F.pad(mixture, (0, 1), value=1.0)  # (n_kinds, n_filters)
        if len(mixture) <= len(self.filters):
            filtered = filter_nodes(x, torch.tensordot(mixture, self.filters, dims=1))
            rows = source * len(mixture) + edge_kinds
            messages = filtered.flatten(0, 1).index_select(0, rows)  # (n_edges, n_outputs)
        else:
            filtered = filter_nodes(x, self.filters).index_select(0, source)
            messages = torch.einsum("ek,eko->eo", mixture.index_select(0, edge_kinds), filtered)
        total = x.new_zeros(len(x), self.filters.shape[2]).index_add(0, target, messages)
        n_neighbours = torch.bincount(target, minlength=len(x)).clamp(min=1)
        return total / n_neighbours[:, None] + self.root(x)


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
    batch normalisation. Graphs without edge features have the constant one.

    The paper counts a node among its neighbours; here it has a filter :math:`W` of its own,
    outside of the mean, as in PyTorch Geometric. The graphs are not coarsened between
    layers, which would need an eigenvector and a new Laplacian of each of them at each
    level: there are layers, and one pooling at the end.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_edge_features : int, default=1
        Width of edges.

    n_layers : int, default=3
        Number of convolutions.

    n_hidden : int, default=32
        Width of the hidden layers.

    n_edge_hidden : int, default=16
        Hidden width of the perceptrons over edges.

    dropout : float, default=0.05
        Share of hidden numbers that are dropped in training.

    pooling : {"sum", "mean", "max"}, default="mean"
        How nodes become a graph.

    References
    ----------
    M. Simonovsky, N. Komodakis, Dynamic Edge-Conditioned Filters in Convolutional Neural
    Networks on Graphs, CVPR 2017.
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_edge_features: int = 1,
        n_layers: int = 3,
        n_hidden: int = 32,
        n_edge_hidden: int = 16,
        dropout: float = 0.05,
        pooling: str = "mean",
    ) -> None:
        layers = [
            ECCLayer(*width, n_edge_features, n_edge_hidden)
            for width in widths(n_features, n_hidden, n_layers)
        ]
        output = Perceptron(n_hidden, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        n_filtered = (min(n_edge_features, n_edge_hidden) + 1) * n_hidden
        self.numbers_per_node = n_filtered + 6 * n_layers * n_hidden
        is_mixed = n_edge_features > n_edge_hidden
        self.numbers_per_edge = n_layers * (
            n_filtered + 2 * n_edge_hidden if is_mixed else 2 * n_hidden
        )

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor, ...]:
        if graphs.edge_features is None or graphs.edge_kinds is None:
            one_kind = torch.zeros_like(graphs.edge_index[0])
            return graphs.edge_index, graphs.x.new_ones(1, 1), one_kind
        return graphs.edge_index, graphs.edge_features, graphs.edge_kinds


class SFALayer(nn.Module):
    """How well the nodes of an egonet can be aligned to each of some sets of points."""

    def __init__(self, n_inputs: int, n_sets: int, n_points: int) -> None:
        super().__init__()
        self.points = nn.Parameter(torch.empty(n_sets, n_points, n_inputs))
        self.temperature = nn.Parameter(torch.empty(n_sets, 1))

    def reset_parameters_(self, generator: torch.Generator | None = None) -> None:
        self.points.normal_(generator=generator)
        self.temperature.fill_(INITIAL_TEMPERATURE)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        n_sets, n_points, _ = self.points.shape
        # Points before sets: a softmax over a short last axis is slow on some processors.
        points = F.normalize(self.points, dim=-1).transpose(0, 1).flatten(0, 1)
        cosines = F.normalize(x, dim=-1) @ points.T  # (n_nodes, n_points * n_sets)
        cosines = cosines.view(len(x), n_points, n_sets)
        alignment = torch.softmax(self.temperature.T * cosines, dim=1)
        similarity = (alignment * cosines).sum(dim=1)  # (n_nodes, n_sets)
        source, target = edge_index
        return similarity.index_add(0, target, similarity[source])


class SFAGNN(StackedNetwork):
    r"""Network based on the soft alignment of node features, SFA-GNN.

    Each layer has sets :math:`P_j` of learned points. A node is aligned softly to the
    points of a set, its similarity with the set is that with the points it is aligned to,
    and nodes pass their similarities on:

    .. math::
        a_{u,j,i} &= \mathrm{softmax}_i \bigl( t_j \cos(h_u, p_{j,i}) \bigr) \\
        s_{u,j} &= \sum_i a_{u,j,i} \cos(h_u, p_{j,i}) \\
        h'_{v,j} &= \sum_{u \in \mathcal{N}(v) \cup \{v\}} s_{u,j}

    The outputs of all layers are pooled, side by side.

    **This is a reconstruction.** From the abstract of the paper: sets of learned points, soft
    alignment, new features that are similarities, and their propagation to neighbours, one
    message for each node. From GNN-LoFI, by the same authors: cosines, softmax and
    temperature, the sum over the egonet, the readout of all layers, dropout after each. Our
    own guess: that the similarity with a set is the mean cosine under the alignment.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_layers : int, default=3
        Number of layers.

    n_hidden : int, default=16
        Number of sets of points, the width of the layers.

    n_points : int, default=8
        Number of points in each set.

    dropout : float, default=0.0
        Share of hidden numbers that are dropped in training.

    pooling : {"sum", "mean", "max"}, default="sum"
        How nodes become a graph.

    References
    ----------
    A. Bicciato, L. Cosmo, G. Minello, L. Rossi, A. Torsello, Classifying Me Softly: A Novel
    Graph Neural Network Based on Features Soft-Alignment, S+SSPR 2022.
    """

    pooled = LAYERS

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_layers: int = 3,
        n_hidden: int = 16,
        n_points: int = 8,
        dropout: float = 0.0,
        pooling: str = "sum",
    ) -> None:
        layers = [SFALayer(*width, n_points) for width in widths(n_features, n_hidden, n_layers)]
        output = Perceptron(n_layers * n_hidden, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.numbers_per_node = n_features + n_layers * n_hidden * (4 * n_points + 4)
        self.numbers_per_edge = n_layers * n_hidden

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor, ...]:
        # A node is in its egonet once, with a loop or without.
        source, target = graphs.edge_index
        return (graphs.edge_index[:, source != target],)

    def activate(self, x: Tensor) -> Tensor:
        return x
