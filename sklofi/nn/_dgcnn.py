"""DGCNN: nodes sorted, and convolutions along them."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sklofi.nn._flat import NUMBERS_PER_ENTRY, FlatGraphs, FlatNetwork, Perceptron

# With fewer rows, nothing is left of them after pooling in pairs and windows of five.
FEWEST_SORTED = 10


WINDOW = 5


N_CHANNELS = (16, 32)  # of the two convolutions over the sorted nodes


# Channels that differ in later digits count as equal when nodes are sorted. Rounding errors
# depend on the order of nodes and on the rest of the batch; they must not decide.
SORTED_DECIMALS = 7


class DGCNN(FlatNetwork):
    r"""Graph convolutions, sorted nodes, and convolutions along the sorted nodes.

    Every layer averages over a node and the nodes with an edge to it,

    .. math::
        H^{(l+1)} = \tanh\bigl(\tilde D^{-1} \tilde A H^{(l)} W^{(l)} + b^{(l)}\bigr),
        \qquad \tilde A = A + I,

    and the last has a single channel. A node is described by the outputs of all layers side by
    side, :math:`H = [H^{(1)}, \dots, H^{(h)}]`. Nodes are sorted by the last channel of
    :math:`H`, the largest first, ties by the channel before it, and so on; the first
    ``n_sorted`` are kept, with rows of zeros where a graph has fewer. A linear map of each row
    with ReLU, the maximum of pairs of rows, and a convolution over windows of five rows with
    ReLU give the vector of the graph; a perceptron gives the outputs. If edges have weights,
    they are the entries of :math:`A`, and the average is weighted.

    Parameters
    ----------
    n_features : int
        Number of features of a node.
    n_outputs : int
        Number of classes or targets.
    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.
    n_layers : int, default=3
        Number of graph convolutions, without the last one of a single channel.
    n_hidden : int, default=32
        Channels of each of them.
    n_sorted : int, default=30
        Number of nodes to keep of each graph, at least 10. The authors take the size that 60 %
        of the graphs do not exceed.
    n_dense : int, default=128
        Width of the hidden layer of the perceptron.
    dropout : float, default=0.5
        Share of the hidden layer of the perceptron to drop in training.

    References
    ----------
    M. Zhang, Z. Cui, M. Neumann, Y. Chen. An End-to-End Deep Learning Architecture for Graph
    Classification. AAAI 2018.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import DGCNN, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> DGCNN(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_graph_features: int = 0,
        n_layers: int = 3,
        n_hidden: int = 32,
        n_sorted: int = 30,
        n_dense: int = 128,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.n_sorted = max(n_sorted, FEWEST_SORTED)
        widths = [n_features, *[n_hidden] * n_layers, 1]
        n_described = sum(widths[1:])
        n_windows = self.n_sorted // 2 - WINDOW + 1
        self.layers = nn.ModuleList(nn.Linear(*shape) for shape in pairwise(widths))
        self.row = nn.Linear(n_described, N_CHANNELS[0])
        self.window = Convolution(*N_CHANNELS, WINDOW)
        self.output = Perceptron(
            N_CHANNELS[1] * n_windows + n_graph_features, n_dense, n_outputs, dropout
        )
        # Double precision counts twice.
        self.numbers_per_node = 7 * n_described + 2 * n_features
        self.numbers_per_graph = self.n_sorted * (n_described + 3 * N_CHANNELS[0] + N_CHANNELS[1])
        self.numbers_per_edge = 2 * NUMBERS_PER_ENTRY

    def embed(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Tensor:
        rows = sorted_rows(self.describe(graphs), graphs, self.n_sorted)
        x = torch.relu(self.row(rows)).transpose(1, 2)  # (n_graphs, n_channels, n_sorted)
        x = torch.relu(self.window(F.max_pool1d(x, 2)))  # (n_graphs, n_channels, n_windows)
        return x.flatten(1)

    def describe(self, graphs: FlatGraphs) -> Tensor:
        """Return the outputs of all layers side by side.

        They are in double precision: a small error in the channel that nodes are sorted by can swap
        two of them, and that is not a small error any more.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        Returns
        -------
        described : Tensor of shape (n_nodes, n_layers * n_hidden + 1)
            Channels of the nodes.
        """
        x = graphs.x.double()
        means = graphs.adjacency.double().add_diagonal(x.new_ones(len(x))).average()
        outputs = []
        for layer in self.layers:
            x = F.linear(x, *(parameter.double() for parameter in layer.parameters()))
            x = torch.tanh(means @ x)
            outputs.append(x)
        return torch.cat(outputs, 1)


class Convolution(nn.Conv1d):
    """A convolution with Glorot's initial values, which count the whole window."""

    def reset_parameters_(self, generator: torch.Generator | None = None) -> None:
        n_inputs, n_outputs, window = self.in_channels, self.out_channels, self.kernel_size[0]
        bound = (6 / (window * (n_inputs + n_outputs))) ** 0.5
        for parameter in self.parameters():
            if parameter is self.weight:
                parameter.uniform_(-bound, bound, generator=generator)
            else:
                parameter.zero_()


def sorted_rows(x: Tensor, graphs: FlatGraphs, n_rows: int) -> Tensor:
    """The first nodes of each graph in sorted order, of shape (n_graphs, n_rows, n_channels)."""
    order = sorted_nodes(x.detach(), graphs.graph)
    sizes = torch.bincount(graphs.graph, minlength=graphs.n_graphs)
    first = sizes.cumsum(0) - sizes
    position = torch.arange(len(x), device=x.device) - first[graphs.graph]
    kept = position < n_rows
    row = graphs.graph[kept] * n_rows + position[kept]
    x = x[order[kept]].to(graphs.x.dtype)
    rows = x.new_zeros(graphs.n_graphs * n_rows, x.shape[1]).index_copy(0, row, x)
    return rows.view(graphs.n_graphs, n_rows, -1)


def sorted_nodes(x: Tensor, graph: Tensor) -> Tensor:
    """Nodes by graph, and then by their channels from the last to the first, descending.

    Nodes that are tied in the last channels are mostly the same in all. So a few channels are
    tried first, and more only if a tie hides a difference.
    """
    x = x.round(decimals=SORTED_DECIMALS)
    n_keys = 1
    while True:
        order = torch.arange(len(x), device=x.device)
        for key in (*-x[:, -n_keys:].T, graph):  # stable sorts, the most important one last
            order = order[key[order].argsort(stable=True)]
        if n_keys >= x.shape[1]:
            return order
        keys, graphs = x[order, -n_keys:], graph[order]
        tied = (keys[1:] == keys[:-1]).all(1) & (graphs[1:] == graphs[:-1])
        first = tied.nonzero().squeeze(1)
        if torch.equal(x[order[first]], x[order[first + 1]]):
            return order
        n_keys *= 2
