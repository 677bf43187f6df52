"""Nodes that are aligned softly to learned points: SFA-GNN."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._flat import NUMBERS_PER_ENTRY, FlatGraphs, Perceptron
from sklofi.nn._lofi import INITIAL_TEMPERATURE
from sklofi.nn._stacked import LAYERS, StackedNetwork, widths


class SFALayer(nn.Module):
    """How well the nodes of an egonet can be aligned to each of some sets of points."""

    def __init__(self, n_inputs: int, n_sets: int, n_points: int) -> None:
        super().__init__()
        self.points = nn.Parameter(torch.empty(n_sets, n_points, n_inputs))
        self.temperature = nn.Parameter(torch.empty(n_sets, 1))

    def reset_parameters_(self, generator: torch.Generator | None = None) -> None:
        self.points.normal_(generator=generator)
        self.temperature.fill_(INITIAL_TEMPERATURE)

    def forward(self, x: Tensor, members: CountMatrix) -> Tensor:
        n_sets, n_points, _ = self.points.shape
        # Points before sets: a softmax over a short last axis is slow on some processors.
        points = F.normalize(self.points, dim=-1).transpose(0, 1).flatten(0, 1)
        cosines = F.normalize(x, dim=-1) @ points.T  # (n_nodes, n_points * n_sets)
        cosines = cosines.view(len(x), n_points, n_sets)
        alignment = torch.softmax(self.temperature.T * cosines, dim=1)
        similarity = (alignment * cosines).sum(dim=1)  # (n_nodes, n_sets)
        return members @ similarity


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
    alignment, new features that are similarities, and their propagation to neighbors, one
    message for each node. From GNN-LoFI, by the same authors: cosines, softmax and
    temperature, the sum over the egonet, the readout of all layers, dropout after each. Our
    own guess: that the similarity with a set is the mean cosine under the alignment.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.

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

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import SFAGNN, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> SFAGNN(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    pooled = LAYERS

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_graph_features: int = 0,
        n_layers: int = 3,
        n_hidden: int = 16,
        n_points: int = 8,
        dropout: float = 0.0,
        pooling: str = "sum",
    ) -> None:
        layers = [SFALayer(*width, n_points) for width in widths(n_features, n_hidden, n_layers)]
        output = Perceptron(n_layers * n_hidden + n_graph_features, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.numbers_per_node = n_features + n_layers * n_hidden * (4 * n_points + 4)
        self.numbers_per_edge = NUMBERS_PER_ENTRY

    def edges(self, graphs: FlatGraphs) -> tuple[Any, ...]:
        # A node is in its egonet once, with a loop or without.
        neighbors = graphs.links.without_diagonal()
        return (neighbors.add_diagonal(graphs.x.new_ones(len(graphs.x))),)

    def activate(self, x: Tensor) -> Tensor:
        return x
