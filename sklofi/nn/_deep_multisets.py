"""Graphs as multisets of their nodes, without edges: Deep Multisets."""

from __future__ import annotations

from torch import Tensor, nn

from sklofi.nn._flat import FlatGraphs, Perceptron
from sklofi.nn._stacked import StackedNetwork, widths


class DeepMultisets(StackedNetwork):
    r"""A graph as the multiset of its nodes, without edges.

    .. math::
        h_G = \sum_{v \in G} \phi(x_v), \qquad y_G = \rho(h_G)

    with perceptrons :math:`\phi` of `n_layers` layers and :math:`\rho` of two.

    Parameters
    ----------
    n_features, n_outputs : int
        Width of nodes and of outputs.

    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.

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

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import DeepMultisets, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> DeepMultisets(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_graph_features: int = 0,
        n_layers: int = 1,
        n_hidden: int = 128,
        dropout: float = 0.0,
        pooling: str = "sum",
    ) -> None:
        layers = [nn.Linear(*width) for width in widths(n_features, n_hidden, n_layers)]
        output = Perceptron(n_hidden + n_graph_features, n_hidden, n_outputs, dropout)
        super().__init__(layers, output, dropout=dropout, pooling=pooling)
        self.numbers_per_node = 3 * n_layers * n_hidden

    def edges(self, graphs: FlatGraphs) -> tuple[Tensor | None, ...]:
        return ()
