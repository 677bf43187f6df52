"""Networks that compare graphs, or egonets, with small graphs that they learn.

The comparison is a random walk kernel: it counts walks that a part of an input graph and a
learned graph have in common. :class:`RWGNN` compares whole graphs, :class:`KerGNN` the
egonet of each node, layer by layer. Both hold :class:`GraphFilters`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._flat import FlatGraphs, FlatNetwork, Perceptron, drop, pool
from sklofi.nn._norm import Norm, cut
from sklofi.nn._subgraphs import Subgraphs, egonets, whole_graphs

# Walks multiply with each step, and kernels square what they are given. These bounds are far
# above the values of sensible graphs, and with them squares of sums stay below 1e38.
LARGEST_WALK = 1e12


LARGEST_KERNEL = 1e15


# Egonets that an edge is in, for the estimate of memory: those of its ends, and one for each
# triangle that it is in.
EGONETS_PER_EDGE = 64


class GraphFilters(nn.Module):
    r"""Small graphs that are learned, and a random walk kernel that compares with them.

    The walks of :math:`p` steps that a graph with adjacency :math:`A` and node features
    :math:`X` has in common with a filter of adjacency :math:`W` and node features :math:`Z`
    are the walks in the product of both graphs. With :math:`S = X Z^\top`, the similarities
    of their nodes, and :math:`s = \operatorname{vec}(S)`,

    .. math::
        k_p = s^\top (W \otimes A)^p s
            = \sum_{v, i} S_{v i} \left(A^p X (W^p Z)^\top\right)_{v i},

    and the second form needs no product graph. :math:`W = \operatorname{relu}(U) +
    \operatorname{relu}(U)^\top`, where :math:`U` is a strict upper triangle.

    Parameters
    ----------
    n_features : int
        Width of the node features.

    n_filters : int
        Number of filters.

    size : int
        Number of nodes of a filter.

    n_steps : int
        Length of the longest walks.

    add_up : bool
        Whether to add up the kernels of all lengths.

    dropout : float
        Share of the similarities :math:`S` that are dropped in training, where walks start.
    """

    def __init__(
        self,
        n_features: int,
        n_filters: int,
        size: int,
        n_steps: int,
        add_up: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.n_steps = n_steps
        self.add_up = add_up
        self.dropout = dropout
        self.edges = nn.Parameter(torch.empty(n_filters, size * (size - 1) // 2))
        self.features = nn.Parameter(torch.empty(n_filters, size, n_features))

    def reset_parameters_(self, generator: torch.Generator | None = None) -> None:
        """The published initial values: about half of the edges are there."""
        self.edges.uniform_(-1, 1, generator=generator)
        self.features.uniform_(0, 1, generator=generator)

    def adjacency(self) -> Tensor:
        """Weights of the edges, of shape (n_filters, size, size)."""
        n_filters, size, _ = self.features.shape
        rows, columns = torch.triu_indices(size, size, 1, device=self.edges.device)
        adjacency = self.edges.new_zeros(n_filters, size, size)
        adjacency[:, rows, columns] = torch.relu(self.edges)
        return adjacency + adjacency.mT

    def forward(
        self, x: Tensor, subgraphs: Subgraphs, generator: torch.Generator | None = None
    ) -> Tensor:
        """Kernels of subgraphs and filters.

        Their shape is (n_subgraphs, n_steps + 1, n_filters), or (n_subgraphs, n_filters) if
        lengths are added up. Node features must not be negative.
        """
        similarities = self._compare(x, self.features)  # (n_nodes, size * n_filters)
        starts = drop(similarities, self.dropout, self.training, generator)
        # Without a step, it does not matter whose member a node is.
        common = subgraphs.members(self._sum(starts * similarities))
        kernels = [subgraphs.owners @ common]  # (n_subgraphs, n_filters)
        if self.n_steps > 0:
            starts = subgraphs.members(starts)  # (n_members, size * n_filters)
            for walked, ends in self._walk(subgraphs.members(x), subgraphs.edges):
                kernels.append(subgraphs.owners @ self._sum(starts * self._compare(walked, ends)))
        stacked = cut(torch.stack(kernels, 1), LARGEST_KERNEL)
        return stacked.sum(1) if self.add_up else stacked

    def _walk(self, walked: Tensor, edges: CountMatrix) -> list[tuple[Tensor, Tensor]]:
        """:math:`A^p X` and :math:`W^p Z` for each number of steps, or side by side."""
        adjacency = self.adjacency()
        ends: Tensor = self.features
        walks = []
        for _ in range(self.n_steps):
            walked = cut(edges @ walked, LARGEST_WALK)  # (n_members, n_features)
            ends = adjacency @ ends  # (n_filters, size, n_features)
            walks.append((walked, ends))
        if not self.add_up:
            return walks
        # The sum of products of matrices is one product.
        all_walked, all_ends = zip(*walks, strict=True)
        return [(torch.cat(all_walked, -1), torch.cat(all_ends, -1))]

    def _compare(self, x: Tensor, features: Tensor) -> Tensor:
        # Filters last: sums over their nodes are faster so.
        return x @ features.transpose(0, 1).flatten(0, 1).T

    def _sum(self, x: Tensor) -> Tensor:
        n_filters, size, _ = self.features.shape
        return x.reshape(-1, size, n_filters).sum(1)


class RWGNN(FlatNetwork):
    r"""Random walk graph neural network: graphs compared with learned graphs.

    Node features are mapped to :math:`X = \sigma(\text{features} \cdot V + b)`. The vector
    of a graph :math:`G` holds, for each hidden graph :math:`H_j` and each length of walks,

    .. math::
        k_p(G, H_j) = s_j^\top (W_j \otimes A)^p s_j, \quad p = 0, \dots, P,

    normalized over the batch, where :math:`A` and :math:`W_j` are the adjacencies of both
    graphs and :math:`s_j` has the similarities of their nodes. A perceptron with one hidden
    layer gives the outputs.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of the input and of the output.

    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.

    n_hidden_graphs : int, default=16
        Number of graphs to compare with.

    hidden_graph_size : int, default=5
        Number of nodes of each of them.

    n_steps : int, default=2
        Length :math:`P` of the longest walks.

    n_hidden : int, default=16
        Width that node features are mapped to.

    n_penultimate : int, default=32
        Width of the hidden layer of the perceptron.

    dropout : float, default=0.2
        Share of the similarities of nodes, and of the hidden layer, dropped in training.

    References
    ----------
    Giannis Nikolentzos and Michalis Vazirgiannis, "Random Walk Graph Neural Networks",
    NeurIPS 2020.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import RWGNN, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> RWGNN(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_graph_features: int = 0,
        n_hidden_graphs: int = 16,
        hidden_graph_size: int = 5,
        n_steps: int = 2,
        n_hidden: int = 16,
        n_penultimate: int = 32,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.inputs = nn.Linear(n_features, n_hidden)
        self.hidden_graphs = GraphFilters(
            n_hidden, n_hidden_graphs, hidden_graph_size, n_steps, dropout=dropout
        )
        n_kernels = (n_steps + 1) * n_hidden_graphs
        self.norm = Norm(n_kernels)
        self.output = Perceptron(n_kernels + n_graph_features, n_penultimate, n_outputs, dropout)
        self.numbers_per_node = _numbers_per_member(self.hidden_graphs)
        self.numbers_per_edge = 12  # indices in both directions, and while they are sorted

    def embed(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Tensor:
        x = torch.sigmoid(self.inputs(graphs.x))  # (n_nodes, n_hidden)
        # (n_graphs, n_steps + 1, n_hidden_graphs)
        kernels = self.hidden_graphs(x, whole_graphs(graphs), generator)
        # (n_graphs, (n_steps + 1) * n_hidden_graphs)
        vectors: Tensor = self.norm(kernels.flatten(1), graphs.weight)
        return vectors


class KerGNN(FlatNetwork):
    r"""Kernel graph neural network: egonets compared with learned graphs, layer by layer.

    Node features are first mapped to
    :math:`X^{(0)} = \operatorname{relu}(\text{features} \cdot V + b)`.
    A layer compares the egonet :math:`G_v` of each node, with all edges between its members,
    with graph filters :math:`H_j` by the sum of random walk kernels (see :class:`RWGNN`),

    .. math::
        X^{(l+1)}_{v j} = \operatorname{relu} \operatorname{norm}
            \sum_{p=0}^P k_p(G_v, H_j),

    where norm is batch normalization over nodes.

    The vector of a graph holds its pooled :math:`X^{(0)}, X^{(1)}, \dots` side by side,
    normalized over the batch. A perceptron with one hidden layer gives the outputs.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of the input and of the output.

    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.

    n_layers : int, default=2
        Number of layers.

    n_filters : int, default=16
        Number of graph filters of a layer.

    filter_size : int, default=6
        Number of nodes of each of them.

    n_steps : int, default=2
        Length :math:`P` of the longest walks.

    radius : int, default=1
        Largest distance of members of an egonet from its center.

    n_hidden : int, default=16
        Width that node features are mapped to.

    n_penultimate : int, default=32
        Width of the hidden layer of the perceptron.

    pooling : {"sum", "mean", "max"}, default="sum"
        How vectors of nodes become vectors of graphs.

    dropout : float, default=0.2
        Share of the similarities of nodes, and of the hidden layer, dropped in training.

    References
    ----------
    Aosong Feng, Chenyu You, Shiqiang Wang and Leandros Tassiulas, "KerGNNs: Interpretable
    Graph Neural Networks with Graph Kernels", AAAI 2022.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import KerGNN, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> KerGNN(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_graph_features: int = 0,
        n_layers: int = 2,
        n_filters: int = 16,
        filter_size: int = 6,
        n_steps: int = 2,
        radius: int = 1,
        n_hidden: int = 16,
        n_penultimate: int = 32,
        pooling: str = "sum",
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.radius = radius
        self.pooling = pooling
        self.dropout = dropout
        self.inputs = nn.Linear(n_features, n_hidden)
        widths = [n_hidden] + [n_filters] * n_layers
        layers = [
            GraphFilters(width, n_filters, filter_size, n_steps, add_up=True, dropout=dropout)
            for width in widths[:-1]
        ]
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList([Norm(n_filters) for _ in layers])
        self.norm = Norm(sum(widths))
        self.output = Perceptron(sum(widths) + n_graph_features, n_penultimate, n_outputs, dropout)
        # Besides what filters keep, indices of members and of edges, a few of each member.
        self.numbers_per_member = 20 + sum(map(_numbers_per_member, layers))
        self.numbers_per_edge = 2 * EGONETS_PER_EDGE

    def embed(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Tensor:
        subgraphs = egonets(graphs, self.radius)
        x = torch.relu(self.inputs(graphs.x))  # (n_nodes, n_hidden)
        weight = graphs.node_weight()
        pooled = [pool(x, graphs, self.pooling)]
        for layer, norm in zip(self.layers, self.norms, strict=True):
            kernels = layer(x, subgraphs, generator)  # (n_nodes, n_filters)
            x = torch.relu(norm(kernels, weight))
            pooled.append(pool(x, graphs, self.pooling))
        # (n_graphs, n_hidden + n_layers * n_filters)
        vectors: Tensor = self.norm(torch.cat(pooled, 1), graphs.weight)
        return vectors


def _numbers_per_member(filters: GraphFilters) -> int:
    """About how many numbers a pass keeps for each member of a subgraph."""
    n_filters, size, n_features = filters.features.shape
    n_steps = filters.n_steps
    n_products = 2 if filters.add_up else n_steps + 1
    # Features of each length, twice; starts and their mask; what they meet, and the product.
    return 2 * (n_steps + 1) * n_features + (2 + 2 * n_products) * n_filters * size
