"""DiffPool: nodes merged level by level."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import ceil
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sklofi.nn._choices import AGGREGATIONS, check_choice
from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._edges import largest_messages
from sklofi.nn._flat import (
    NUMBERS_PER_ENTRY,
    FlatGraphs,
    FlatNetwork,
    Outputs,
    Perceptron,
    beside,
    pool,
)
from sklofi.nn._norm import Norm

Convolution = Callable[[int, int], nn.Module]

DENSE_POOLINGS: dict[str, Any] = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}


class DiffPool(FlatNetwork):
    r"""GraphSAGE, whose nodes are merged into clusters level by level.

    On each level :math:`l`, one stack of GraphSAGE layers describes the nodes and another
    assigns them to the clusters that are the nodes of the next level:

    .. math::
        Z^{(l)} &= \mathrm{GNN}_\mathrm{embed}(A^{(l)}, X^{(l)}), &
        S^{(l)} &= \mathrm{softmax}(\mathrm{GNN}_\mathrm{pool}(A^{(l)}, X^{(l)})), \\
        X^{(l+1)} &= {S^{(l)}}^\top Z^{(l)}, &
        A^{(l+1)} &= {S^{(l)}}^\top A^{(l)} S^{(l)}.

    The vector of a graph is the maximum of :math:`Z^{(l)}` over the nodes, for all levels side
    by side; a perceptron gives the outputs. In training, `forward` returns a penalty, too: the
    mean over the graphs, weighted as their losses are, of

    .. math::
        \sum_l \frac{1}{n_l^2} \lVert A^{(l)} - S^{(l)} {S^{(l)}}^\top \rVert_F
        + \frac{1}{n_l} \sum_i \mathrm{entropy}\bigl(S^{(l)}_i\bigr),

    where :math:`n_l` is the number of nodes on the level. The nodes of the graphs themselves are
    never made a dense matrix of pairs: :math:`A S` is a sum over edges, and

    .. math::
        \lVert A - S S^\top \rVert_F^2
        = \lVert A \rVert_F^2 - 2\, \mathrm{tr}(S^\top A S) + \lVert S^\top S \rVert_F^2.

    Parameters
    ----------
    n_features : int
        Number of features of a node.
    n_outputs : int
        Number of classes or targets.
    n_graph_features : int, default=0
        Number of features of each graph, which the head is given beside its vector.
    n_layers : int, default=3
        Number of layers of each stack; all but the last with ReLU and batch normalization. The
        outputs of all layers are put side by side.
    n_hidden : int, default=64
        Width of all layers but the last.
    n_last : int, default=128
        Width of the last layer of the stacks that describe nodes.
    n_poolings : int, default=1
        How often nodes are merged.
    n_clusters : int, default=8
        Number of clusters that the nodes of a graph are assigned to. The authors take a tenth of
        the nodes of the largest graph for one pooling, and a quarter for two.
    aggregation : {"mean", "max", "sum"}, default="mean"
        How the neighbors of a node become one vector. All clusters of a graph are neighbors, more
        or less: with "max" they take the mean.
    cluster_ratio : float, default=0.1
        The number of clusters of the next pooling as a share of the number before.
    pooling : {"max", "mean", "sum"}, default="max"
        What makes one vector of those of the nodes of a level.
    n_dense : int, default=50
        Width of the hidden layer of the perceptron.
    dropout : float, default=0
        Share of the hidden layer of the perceptron to drop in training.
    penalty : float, default=1
        Weight of the penalty.

    References
    ----------
    R. Ying, J. You, C. Morris, X. Ren, W. L. Hamilton, J. Leskovec. Hierarchical Graph
    Representation Learning with Differentiable Pooling. NeurIPS 2018.

    Examples
    --------
    >>> import torch
    >>> from sklofi.nn import DiffPool, FlatGraphs
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # a path of three nodes
    >>> graphs = FlatGraphs(torch.eye(3), edges, torch.zeros(3, dtype=torch.int64), n_graphs=1)
    >>> DiffPool(n_features=3, n_outputs=2).eval()(graphs).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_graph_features: int = 0,
        n_layers: int = 3,
        n_hidden: int = 64,
        n_last: int = 128,
        n_poolings: int = 1,
        n_clusters: int = 8,
        aggregation: str = "mean",
        cluster_ratio: float = 0.1,
        pooling: str = "max",
        n_dense: int = 50,
        dropout: float = 0.0,
        penalty: float = 1.0,
    ) -> None:
        check_choice("aggregation", aggregation, AGGREGATIONS)
        super().__init__()
        self.dropout = dropout
        self.aggregation = aggregation
        self.pooling = pooling
        self.penalty = penalty
        hidden = [n_hidden] * (n_layers - 1)
        n_described = sum(hidden) + n_last
        self.describers = nn.ModuleList()
        self.assigners = nn.ModuleList()
        of_clusters: Convolution = partial(ClusterLayer, is_mean=aggregation != "sum")
        n_inputs, convolution, n_assigned = n_features, cast(Convolution, NodeLayer), n_clusters
        for _ in range(n_poolings):
            self.describers.append(SageStack(convolution, [n_inputs, *hidden, n_last]))
            stack = SageStack(convolution, [n_inputs, *hidden, n_assigned])
            self.assigners.append(Assigner(stack, sum(hidden) + n_assigned, n_assigned))
            n_inputs, convolution = n_described, of_clusters
            n_assigned = ceil(cluster_ratio * n_assigned)
        self.describers.append(SageStack(convolution, [n_inputs, *hidden, n_last]))
        self.output = Perceptron(
            (n_poolings + 1) * n_described + n_graph_features, n_dense, n_outputs, dropout
        )
        # Stacks keep inputs, means over neighbors and results of layers, for nodes and for
        # clusters, of which a graph has hardly more than nodes.
        self.numbers_per_node = 2 * n_features + 12 * n_described + 8 * n_clusters
        self.numbers_per_edge = NUMBERS_PER_ENTRY
        if aggregation == "max":  # keeps the messages
            self.numbers_per_edge += 2 * (n_features + sum(hidden))

    def forward(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Outputs:
        """Return the outputs of graphs, and in training the penalty.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        outputs : Tensor of shape (n_graphs, n_outputs), or tuple
            Logits of classes, or values of regression; in training a tuple of them and the penalty.
        """
        embedding, penalty = self.levels(graphs)
        outputs = self.head(beside(embedding, graphs.graph_features), generator)
        return (outputs, self.penalty * penalty) if self.training else outputs

    def embed(self, graphs: FlatGraphs, generator: torch.Generator | None = None) -> Tensor:
        return self.levels(graphs)[0]

    def _node_edges(self, graphs: FlatGraphs) -> CountMatrix | Tensor:
        """Return what layers over nodes are given: a matrix, or edges to find maxima along."""
        if self.aggregation == "max":
            return graphs.edge_index
        return graphs.links if self.aggregation == "sum" else graphs.links.average()

    def levels(self, graphs: FlatGraphs) -> tuple[Tensor, Tensor]:
        """Return the vectors of graphs, and the penalty.

        Parameters
        ----------
        graphs : FlatGraphs
            The graphs.

        Returns
        -------
        embedding : Tensor of shape (n_graphs, n_embedding - n_graph_features)
            Vectors of graphs.

        penalty : Tensor of shape ()
            The penalty, which is 0 unless in training.
        """
        adjacency: Any = self._node_edges(graphs)
        weight = graphs.node_weight()
        z = self.describers[0](graphs.x, adjacency, weight)  # (n_nodes, n_described)
        vectors, penalty = [pool(z, graphs, self.pooling)], z.new_zeros(())
        sizes = torch.bincount(graphs.graph, minlength=graphs.n_graphs)
        n_nodes = sizes.tolist()
        links = graphs.graph[graphs.edge_index[0]]
        links = torch.bincount(links, minlength=graphs.n_graphs).to(z.dtype)
        x = graphs.x
        for level, assigner in enumerate(self.assigners):
            log_s = assigner(x, adjacency, weight)
            s = log_s.exp()
            if level == 0:
                entropy = pool(-(s * log_s).sum(1, keepdim=True), graphs, "mean")
                # Graph by graph: padded to the size of the largest, there would be far more nodes.
                parts = torch.cat([z, graphs.links @ s, s], 1)
                pairs = zip(torch.split(s, n_nodes), torch.split(parts, n_nodes), strict=True)
                merged = torch.stack([shares.mT @ part for shares, part in pairs])
            else:
                entropy = -(s * log_s).sum(2).mean(1)
                sizes, links = torch.full_like(sizes, s.shape[1]), adjacency.square().sum((1, 2))
                merged = s.mT @ torch.cat([z, adjacency @ s, s], 2)
            # Entry (i, j) of an adjacency is what cluster i gets from j.
            widths = [z.shape[-1], s.shape[-1], s.shape[-1]]
            x, adjacency, overlap = torch.split(merged, widths, 2)
            if self.training:
                square = overlap.square().sum((1, 2)) + links
                square = square - 2 * adjacency.diagonal(0, 1, 2).sum(1)
                # The difference may be a rounding error, where the root has no gradient.
                distance = square.clamp(min=torch.finfo(square.dtype).eps).sqrt()
                distance = distance / sizes.to(z.dtype) ** 2
                penalty = penalty + graphs.weighted_mean(distance)
                penalty = penalty + graphs.weighted_mean(entropy.flatten())
            if graphs.weight is not None:
                weight = graphs.weight.repeat_interleave(x.shape[1])  # of clusters
            z = self.describers[level + 1](x, adjacency, weight)
            vectors.append(DENSE_POOLINGS[self.pooling](z, 1))
        return torch.cat(vectors, 1), penalty


class NodeLayer(nn.Module):
    """A layer of GraphSAGE over nodes. Weights have the names of those of ``SAGEConv``."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.lin_l = nn.Linear(n_inputs, n_outputs)
        self.lin_r = nn.Linear(n_inputs, n_outputs, bias=False)

    def forward(self, x: Tensor, edges: CountMatrix | Tensor) -> Tensor:
        if isinstance(edges, CountMatrix):
            near = edges @ x  # (n_nodes, n_inputs)
        else:
            source, target = edges
            near = largest_messages(x.index_select(0, source), target, len(x))
        updated: Tensor = self.lin_l(near) + self.lin_r(x)  # (n_nodes, n_outputs)
        return updated


class ClusterLayer(nn.Module):
    """A layer of GraphSAGE over clusters, whose neighbors are averaged or summed.

    Weights have the names of those of ``DenseSAGEConv`` and ``DenseGraphConv``.
    """

    def __init__(self, n_inputs: int, n_outputs: int, is_mean: bool) -> None:
        super().__init__()
        self.is_mean = is_mean
        self.lin_rel = nn.Linear(n_inputs, n_outputs, bias=not is_mean)
        self.lin_root = nn.Linear(n_inputs, n_outputs, bias=is_mean)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        near = adjacency @ x  # (n_graphs, n_clusters, n_inputs)
        if self.is_mean:
            near = near / adjacency.sum(-1, keepdim=True).clamp(min=1)
        updated: Tensor = self.lin_rel(near) + self.lin_root(x)
        return updated


class SageStack(nn.Module):
    """Layers of GraphSAGE over nodes or over clusters, their outputs side by side."""

    def __init__(self, convolution: Convolution, widths: list[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(convolution(*shape) for shape in pairwise(widths))
        self.norms = nn.ModuleList(Norm(width) for width in widths[1:-1])

    def forward(
        self, x: Tensor, edges: CountMatrix | Tensor, weight: Tensor | None = None
    ) -> Tensor:
        outputs = []
        for layer, norm in zip(self.layers[:-1], self.norms, strict=True):
            x = torch.relu(layer(x, edges))
            x = norm(x.flatten(0, -2), weight).view_as(x)
            outputs.append(x)
        return torch.cat([*outputs, self.layers[-1](x, edges)], -1)


class Assigner(nn.Module):
    """Logarithms of the shares of nodes in clusters."""

    def __init__(self, stack: SageStack, n_inputs: int, n_clusters: int) -> None:
        super().__init__()
        self.stack = stack
        self.output = nn.Linear(n_inputs, n_clusters)

    def forward(
        self, x: Tensor, edges: CountMatrix | Tensor, weight: Tensor | None = None
    ) -> Tensor:
        return F.log_softmax(self.output(self.stack(x, edges, weight)), -1)
