"""Networks that compare graphs, or egonets, with small graphs that they learn.

The comparison is a random walk kernel: it counts walks that a part of an input graph and a
learned graph have in common. :class:`RWGNN` compares whole graphs, :class:`KerGNN` the
egonet of each node, layer by layer. Both hold :class:`GraphFilters`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor, nn

from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._flat import FlatGraphs, FlatNetwork, Norm, Perceptron, cut, drop, pool

# Walks multiply with each step, and kernels square what they are given. These bounds are far
# above the values of sensible graphs, and with them squares of sums stay below 1e38.
LARGEST_WALK = 1e12


LARGEST_KERNEL = 1e15


# Pairs that are looked at together when edges inside egonets are found: some 30 MB.
PAIRS_AT_ONCE = 2**19


# Egonets that an edge is in, for the estimate of memory: those of its ends, and one for each
# triangle that it is in.
EGONETS_PER_EDGE = 64


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """Parts of graphs, side by side as one graph. A node stands here once for each part."""

    nodes: CountMatrix | None  # (n_members, n_nodes): who the members are; None: each node once
    edges: CountMatrix  # (n_members, n_members)
    owners: CountMatrix  # (n_subgraphs, n_members): whose members they are

    def members(self, x: Tensor) -> Tensor:
        """Rows of members from those of nodes."""
        return x if self.nodes is None else self.nodes @ x


def whole_graphs(graphs: FlatGraphs) -> Subgraphs:
    """Each graph as one part."""
    edges = [_ones(way.counts, way.targets) for way in _both_ways(graphs)]
    return Subgraphs(
        nodes=None,
        edges=replace(edges[0], transposed=edges[-1]),
        owners=grouping(graphs.graph, graphs.n_graphs),
    )


def egonets(graphs: FlatGraphs, radius: int = 1) -> Subgraphs:
    """The egonet of each node as a part.

    It has the nodes that can be reached from its owner in at most ``radius`` steps, and
    all edges between them.
    """
    ways = _both_ways(graphs)
    n_nodes = len(graphs.x)
    # A member is the pair of its owner and itself, as one number.
    members = torch.arange(n_nodes, device=graphs.x.device) * (n_nodes + 1)
    for _ in range(radius):
        nodes = members % n_nodes
        rows, positions = _ranges(ways[0].offsets[nodes], ways[0].counts[nodes])
        farther = (members - nodes)[rows] + ways[0].targets[positions]
        n_before, members = len(members), torch.unique(torch.cat([members, farther]))
        if len(members) == n_before:
            break  # all that can be reached
    edges = [_ones(*_inner_edges(members, way)) for way in ways]
    return Subgraphs(
        nodes=picking(members % n_nodes, n_nodes),
        edges=replace(edges[0], transposed=edges[-1]),
        owners=grouping(members // n_nodes, n_nodes),
    )


def picking(columns: Tensor, n_columns: int) -> CountMatrix:
    """A one in each row: ``picking @ x`` is ``x[columns]``."""
    counts = torch.bincount(columns, minlength=n_columns)
    transposed = _ones(counts, torch.argsort(columns, stable=True))
    return _ones(torch.ones_like(columns), columns, transposed)


def grouping(rows: Tensor, n_rows: int) -> CountMatrix:
    """A one in each column, in row ``rows[column]``; these have to ascend."""
    columns = torch.arange(len(rows), device=rows.device)
    transposed = _ones(torch.ones_like(rows), rows)
    return _ones(torch.bincount(rows, minlength=n_rows), columns, transposed)


def _ones(counts: Tensor, columns: Tensor, transposed: CountMatrix | None = None) -> CountMatrix:
    """A matrix of zeros and ones: how many are in each row, and in which columns."""
    # 32 bits are faster, and half of the memory; offsets and columns must agree.
    dtype = torch.int32 if len(columns) < 2**31 else torch.int64
    ones = torch.ones(len(columns), dtype=torch.float32, device=columns.device)
    return CountMatrix(_offsets(counts).to(dtype), columns.to(dtype), ones, transposed)


@dataclass(frozen=True, eq=False)
class _Edges:
    """Edges, each once, in the order of their sources and targets."""

    codes: Tensor  # (n_edges,): n_nodes * source + target
    targets: Tensor  # (n_edges,)
    counts: Tensor  # (n_nodes,): the number of edges from each node
    offsets: Tensor  # (n_nodes + 1,): where they begin


def _both_ways(graphs: FlatGraphs) -> list[_Edges]:
    """The edges, and the same backwards if that is a difference: the last is the transpose."""
    n_nodes = len(graphs.x)

    def sort(sources: Tensor, targets: Tensor) -> _Edges:
        codes = torch.unique(sources * n_nodes + targets)
        counts = torch.bincount(codes // n_nodes, minlength=n_nodes)
        return _Edges(codes, codes % n_nodes, counts, _offsets(counts))

    sources, targets = graphs.edge_index
    edges, backwards = sort(sources, targets), sort(targets, sources)
    return [edges] if torch.equal(edges.codes, backwards.codes) else [edges, backwards]


def _inner_edges(members: Tensor, edges: _Edges) -> tuple[Tensor, Tensor]:
    """How many neighbors of each member are in the same egonet, and which.

    An edge inside the egonet of ``v`` is a pair of a member ``w`` and a node ``u`` that is
    both a neighbor of ``w`` and a member. The shorter of these two lists is tried, so that
    a hub, which has many neighbors and is in many egonets, does no harm.
    """
    n_nodes, n_edges = len(edges.counts), len(edges.codes)
    owners, nodes = members // n_nodes, members % n_nodes
    sizes = torch.bincount(owners, minlength=n_nodes)
    # What can be tried and looked up, in ascending order: edges, then members.
    codes = torch.cat([edges.codes, members + n_nodes * n_nodes])
    ends = torch.cat([edges.targets, nodes])
    try_edges = edges.counts[nodes] <= sizes[owners]
    n_tries = torch.where(try_edges, edges.counts[nodes], sizes[owners])
    starts = torch.where(try_edges, edges.offsets[nodes], n_edges + _offsets(sizes)[owners])
    # The end of an edge must be a member (v, u), and a member the end of an edge (w, u).
    wanted_codes = n_nodes * torch.where(try_edges, n_nodes + owners, nodes)

    counts, columns = [], []
    for begin, end in pairwise(_cuts(n_tries)):
        piece = slice(begin, end)
        rows, tried = _ranges(starts[piece], n_tries[piece])
        wanted = wanted_codes[piece][rows] + ends[tried]
        places = torch.searchsorted(codes, wanted)
        found = codes[places.clamp_(max=len(codes) - 1)] == wanted
        rows, tried, places = rows[found], tried[found], places[found]
        column = torch.where(try_edges[piece][rows], places, tried) - n_edges
        counts.append(torch.bincount(rows, minlength=end - begin))
        columns.append(column.to(torch.int32) if len(members) < 2**31 else column)
    return torch.cat(counts), torch.cat(columns)


def _cuts(sizes: Tensor) -> list[int]:
    """Where to cut rows of these sizes into pieces of about `PAIRS_AT_ONCE`, with both ends."""
    totals = sizes.cumsum(0)
    marks = totals.new_tensor(range(PAIRS_AT_ONCE, int(totals[-1]), PAIRS_AT_ONCE))
    return sorted({0, *torch.searchsorted(totals, marks).tolist(), len(sizes)})


def _ranges(starts: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """For each row some numbers in sequence: the row and the value of each."""
    offsets = _offsets(counts)
    n_numbers = int(offsets[-1])
    rows = torch.arange(len(counts), device=counts.device)
    rows = rows.repeat_interleave(counts, output_size=n_numbers)
    numbers = torch.arange(n_numbers, device=counts.device)
    return rows, numbers + (starts - offsets[:-1])[rows]


def _offsets(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


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
        k_p(G, H_j) = s_j^\top (W_j \otimes A)^p s_j, \quad p = 0, \dots, P

    (see :class:`GraphFilters`), normalized over the batch. A perceptron with one hidden layer
    gives the outputs.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of the input and of the output.

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
        self.output = Perceptron(n_kernels, n_penultimate, n_outputs, dropout)
        self.numbers_per_node = _numbers_per_member(self.hidden_graphs)
        self.numbers_per_edge = 12  # indices in both directions, and while they are sorted

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
    with graph filters :math:`H_j` by the sum of random walk kernels (see
    :class:`GraphFilters`),

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
        self.output = Perceptron(sum(widths), n_penultimate, n_outputs, dropout)
        # Besides what filters keep, indices of members and of edges, a few of each member.
        self.numbers_per_member = 20 + sum(map(_numbers_per_member, layers))
        self.numbers_per_edge = 2 * EGONETS_PER_EDGE

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
