"""The graph isomorphism network, and its variant with an enlarged neighborhood, (s)GIN."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._edges import edge_inputs, labeled_messages, sum_messages
from sklofi.nn._flat import NUMBERS_PER_ENTRY, FlatGraphs, drop
from sklofi.nn._norm import Norm, cut
from sklofi.nn._stacked import ALL, StackedNetwork, widths


def count_returns(graphs: FlatGraphs) -> Tensor:
    """How many walks of two steps lead from a node back to it, of shape (n_nodes, 1).

    If edges have weights, a walk counts as the product of its two.
    """
    if graphs.edge_weight is not None:
        return weigh_returns(graphs, graphs.edge_weight)
    n_nodes = len(graphs.x)
    source, target = graphs.edge_index
    names = (source * n_nodes + target).sort().values
    back = target * n_nodes + source
    n_back = torch.searchsorted(names, back, right=True) - torch.searchsorted(names, back)
    n_returns = graphs.x.new_zeros(n_nodes)
    return n_returns.index_add(0, target, n_back.to(graphs.x.dtype))[:, None]


def weigh_returns(graphs: FlatGraphs, edge_weight: Tensor) -> Tensor:
    """The sum of the products of weights along these walks, of shape (n_nodes, 1)."""
    n_nodes = len(graphs.x)
    source, target = graphs.edge_index
    names, row = (source * n_nodes + target).unique(return_inverse=True)
    weight_of_name = edge_weight.new_zeros(len(names)).index_add(0, row, edge_weight)
    back = target * n_nodes + source
    row_back = torch.searchsorted(names, back).clamp(max=len(names) - 1)
    is_there = names[row_back] == back
    weight_back = torch.where(is_there, weight_of_name[row_back], 0)
    returns = graphs.x.new_zeros(n_nodes)
    return returns.index_add(0, target, edge_weight * weight_back)[:, None]


class NormedPerceptron(nn.Sequential):
    """Layers one after the other, of which those that normalize are given weights."""

    def forward(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        for layer in self:
            x = layer(x, weight) if isinstance(layer, Norm) else layer(x)
        return x


class GINLayer(nn.Module):
    """A GIN convolution whose update is a perceptron with batch normalization.

    With edge features it is GINE: a message is the ReLU of the node and a linear map of the edge.
    """

    eps: Tensor

    def __init__(
        self, n_inputs: int, n_hidden: int, train_eps: bool, n_edge_features: int = 0
    ) -> None:
        super().__init__()
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
        if n_edge_features:
            self.lin = nn.Linear(n_edge_features, n_inputs)  # as GINEConv calls it

    def reset_parameters_(self, generator: torch.Generator | None = None) -> None:
        self.eps.zero_()

    def forward(
        self,
        x: Tensor,
        edges: CountMatrix | Tensor,
        weight: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_features: Tensor | None = None,
        edge_kinds: Tensor | None = None,
    ) -> Tensor:
        if isinstance(edges, CountMatrix):
            near = edges @ x  # (n_nodes, n_inputs)
        else:
            assert edge_features is not None and edge_kinds is not None
            source, target = edges
            messages = labeled_messages(x, source, self.lin(edge_features), edge_kinds)
            near = sum_messages(messages, target, len(x), edge_weight)
        return self.update(x, near, weight)

    def update(self, x: Tensor, near: Tensor, weight: Tensor | None) -> Tensor:
        """Return the new vectors of nodes, of shape (n_nodes, n_hidden)."""
        updated: Tensor = self.nn(torch.addcmul(near, x, 1 + self.eps), weight)
        return updated


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
    normalization behind both. The readouts of all layers are one linear map of their pooled
    nodes side by side, which is zero at first. Dropout acts on these; in the published code,
    on the scores of each layer, where a single output of a regression would be dropped as a
    whole. Features of graphs as a whole are not dropped.

    If edges have weights, the sum over neighbors is weighted. With edge features, the network
    is GINE: in place of :math:`h_u` a neighbor sends
    :math:`\mathrm{ReLU}(h_u + V_k e_{uv} + c_k)`, as in ``GINEConv`` of PyTorch Geometric.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_edge_features : int, default=0
        Width of edges; 0 if their features are not read.

    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.

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
    ICLR 2019; W. Hu, B. Liu, J. Gomes, M. Zitnik, P. Liang, V. Pande, J. Leskovec,
    Strategies for Pre-training Graph Neural Networks, ICLR 2020 (edge features).

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
    drops_nodes = False
    layer_class: type[GINLayer] = GINLayer

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_edge_features: int = 0,
        n_graph_features: int = 0,
        n_layers: int = 4,
        n_hidden: int = 32,
        train_eps: bool = False,
        dropout: float = 0.5,
        pooling: str = "sum",
    ) -> None:
        layers = [
            self.layer_class(*width, train_eps, n_edge_features)
            for width in widths(n_features, n_hidden, n_layers)
        ]
        output = Readout(n_features + n_layers * n_hidden + n_graph_features, n_outputs)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.numbers_per_node = 3 * n_features + 10 * n_layers * n_hidden
        self.n_edge_features = n_edge_features
        self.n_graph_features = n_graph_features
        self.numbers_per_edge = NUMBERS_PER_ENTRY
        if n_edge_features:  # keeps the messages
            self.numbers_per_edge += n_features + (n_layers - 1) * n_hidden
            self.numbers_per_edge += max(n_features, n_hidden)

    def edges(self, graphs: FlatGraphs) -> tuple[Any, ...]:
        # Edges, weights of nodes and of edges, features of kinds of edges, and these kinds.
        features, kinds = edge_inputs(graphs, self.n_edge_features)
        if features is None:
            return graphs.adjacency, graphs.node_weight()
        return graphs.edge_index, graphs.node_weight(), graphs.edge_weight, features, kinds

    def head(self, embedding: Tensor, generator: torch.Generator | None = None) -> Tensor:
        n_pooled = self.n_embedding - self.n_graph_features
        pooled = drop(embedding[:, :n_pooled], self.dropout, self.training, generator)
        outputs: Tensor = self.output(torch.cat([pooled, embedding[:, n_pooled:]], dim=1))
        return outputs


class SGINLayer(GINLayer):
    """A GIN convolution over neighbors and their neighbors."""

    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        edges: CountMatrix,
        n_returns: Tensor,
        weight: Tensor | None = None,
        has_weights: bool = False,
    ) -> Tensor:
        near = edges @ x  # (n_nodes, n_inputs)
        # All walks of two steps, without those that lead back to where they began.
        if not has_weights:
            far = torch.addcmul(edges @ near, n_returns, x, value=-1)
        else:  # products of two weights may be too large for 32 bits
            near = cut(near)
            far = cut(edges @ near) - cut(n_returns * x)
        return self.update(x, near + far, weight)  # (n_nodes, n_hidden)


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
    authors: a node that is reached in several ways counts several times. If edges have
    weights, they are the entries of :math:`A`. The rest is :class:`GIN`; but for edge features,
    which powers of :math:`A` do not have.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.

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

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_graph_features: int = 0,
        n_layers: int = 4,
        n_hidden: int = 32,
        train_eps: bool = False,
        dropout: float = 0.5,
        pooling: str = "sum",
    ) -> None:
        super().__init__(
            n_features,
            n_outputs,
            n_graph_features=n_graph_features,
            n_layers=n_layers,
            n_hidden=n_hidden,
            train_eps=train_eps,
            dropout=dropout,
            pooling=pooling,
        )

    def edges(self, graphs: FlatGraphs) -> tuple[Any, ...]:
        # Edges, how many walks of two steps lead back to each node, weights of nodes, and whether
        # edges have weights.
        has_weights = graphs.edge_weight is not None
        return graphs.adjacency, count_returns(graphs), graphs.node_weight(), has_weights
