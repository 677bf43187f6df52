"""The network: LoFI layers, pooling and a head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from sklofi.nn._choices import POOLINGS, READOUTS, check_choice
from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._drawing import first_keys, next_keys
from sklofi.nn._flat import beside, dropout_mask
from sklofi.nn._lofi import LoFILayer, tensor_options
from sklofi.nn._lofi_autograd import Constants, Egonets, fast_lofi, standardize
from sklofi.nn._related_egonets import RelatedEgonets

Matrices = CountMatrix | Sequence[CountMatrix]
EgonetMatrices = Egonets | Sequence[Egonets]

M = TypeVar("M", CountMatrix, CountMatrix | RelatedEgonets)


def max_pool(graphs: CountMatrix, x: Tensor) -> Tensor:
    """Return the largest value of the nodes of each graph.

    Parameters
    ----------
    graphs : CountMatrix of shape (n_graphs, n_nodes)
        How many nodes of each class a graph has; no graph is empty.

    x : Tensor of shape (n_nodes, n_features)
        Features of nodes, or of classes of equal nodes.

    Returns
    -------
    pooled : Tensor of shape (n_graphs, n_features)
    """
    graph = graphs.rows()
    entries = x[graphs.columns]  # (n_entries, n_features)
    zeros = x.new_zeros(len(graphs), x.shape[1])
    with torch.no_grad():
        largest = zeros.scatter_reduce(
            0, graph[:, None].expand_as(entries), entries, reduce="amax", include_self=False
        )
        # All nodes that share the maximum, but for rounding, share its gradient.
        lowest = largest - 100 * torch.finfo(x.dtype).eps * (1 + largest.abs())
        share = (entries >= lowest[graph]) * graphs.counts[:, None].to(x.dtype)
        share /= zeros.index_add(0, graph, share)[graph]
    mean = zeros.index_add(0, graph, share * entries)
    return mean + (largest - mean).detach()  # the maximum itself, without rounding


class LoFINetwork(nn.Module):
    r"""Stacked LoFI layers, pooled per graph, with a perceptron as head.

    .. math::
        Z^{(1)} &= \mathrm{LoFI}_1 (X), \quad
        Z^{(l+1)} = \mathrm{LoFI}_{l+1} \bigl( (Z^{(l)} - \mu_l) / \sigma_l \bigr) \\
        g &= \bigl[ \mathrm{pool}(Z^{(1)}), \dots, \mathrm{pool}(Z^{(L)}) \bigr] \\
        \hat y &= W_2 \, \mathrm{relu} ( W_1 \, (g - \mu) / \sigma + b_1 ) + b_2

    where all constants :math:`\mu` and :math:`\sigma` are 0 and 1 until
    :meth:`start_at_data_` and :meth:`calibrate_` set them. If graphs have features, these stand
    beside the pooled vectors in :math:`g`. The output is raw: logits for classes, values for
    regression.

    Parameters
    ----------
    n_features : int
        Width of the node features.

    n_outputs : int
        Number of classes or regression targets.

    n_layers, n_masks, n_words : int
        Number of layers, masks in each layer, and words in each mask's dictionary.

    kernel : {"l1", "intersection"}, default="l1"
        How histograms are compared; see :class:`LoFILayer`.

    pooling : {"sum", "mean", "max"}, default="sum"
        How the nodes of a graph become one vector.

    readout : {"all", "last"}, default="all"
        Whether the head sees the pooled output of every layer or of the last one.

    dropout : float, default=0.0
        Share of the node features that are dropped after each layer in training.

    n_relations : int, default=0
        Width of the vectors of relations of members to the center; see :class:`LoFILayer`.

    n_graph_features : int, default=0
        Number of features of each graph, which the head sees beside its pooled vector.

    generator : torch.Generator, default=None
        Source of the initial values, on the device where they start; None is torch's global
        generator.

    dtype : torch.dtype, default=None
        Of the parameters; None is torch's default.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> import torch
    >>> from sklofi.nn import CountMatrix, LoFINetwork
    >>> egonets = CountMatrix.from_scipy(sp.csr_array([[1, 1, 0], [1, 1, 1], [0, 1, 1]]))
    >>> graphs = CountMatrix.from_scipy(sp.csr_array([[1, 1, 1]]))  # a path of three nodes
    >>> network = LoFINetwork(n_features=3, n_outputs=2)
    >>> network(torch.eye(3), egonets, graphs).shape
    torch.Size([1, 2])
    """

    node_mean: Tensor
    node_scale: Tensor
    embedding_mean: Tensor
    embedding_scale: Tensor

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_layers: int = 5,
        n_masks: int = 16,
        n_words: int = 8,
        kernel: str = "l1",
        pooling: str = "sum",
        readout: str = "all",
        dropout: float = 0.0,
        n_relations: int = 0,
        n_graph_features: int = 0,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_choice("pooling", pooling, POOLINGS)
        check_choice("readout", readout, READOUTS)
        self.kernel = kernel
        self.pooling = pooling
        self.readout = readout
        self.dropout = dropout
        self.n_graph_features = n_graph_features
        widths = [n_features] + [n_masks] * (n_layers - 1)
        options = tensor_options(generator, dtype)
        self.layers = nn.ModuleList(
            LoFILayer(
                width,
                n_masks,
                n_words,
                kernel,
                n_relations=n_relations,
                generator=generator,
                dtype=dtype,
            )
            for width in widths
        )
        self.register_buffer("node_mean", torch.zeros(n_layers - 1, n_masks, **options))
        self.register_buffer("node_scale", torch.ones(n_layers - 1, n_masks, **options))
        n_embedding = n_masks * (n_layers if readout == "all" else 1) + n_graph_features
        self.register_buffer("embedding_mean", torch.zeros(n_embedding, **options))
        self.register_buffer("embedding_scale", torch.ones(n_embedding, **options))
        # skip_init, because nn.Linear fills itself from the global generator.
        options["device"] = self.embedding_mean.device  # it does not know torch's default
        skip_init: Any = nn.utils.skip_init
        self.hidden = skip_init(nn.Linear, n_embedding, n_embedding, **options)
        self.output = skip_init(nn.Linear, n_embedding, n_outputs, **options)
        self._reset_head(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Fill the parameters with initial values, and forget what examples have set.

        Parameters
        ----------
        generator : torch.Generator, default=None
            Source of the values; None is torch's global generator.
        """
        for layer in self.layers:
            layer.reset_parameters(generator)  # type: ignore[operator]
        for mean, scale in (
            (self.node_mean, self.node_scale),
            (self.embedding_mean, self.embedding_scale),
        ):
            mean.zero_()
            scale.fill_(1)
        self._reset_head(generator)

    @torch.no_grad()
    def _reset_head(self, generator: torch.Generator | None) -> None:
        for linear in (self.hidden, self.output):
            bound = linear.in_features**-0.5  # as nn.Linear does
            linear.weight.uniform_(-bound, bound, generator=generator)
            linear.bias.uniform_(-bound, bound, generator=generator)

    @torch.no_grad()
    def start_at_data_(
        self,
        x: Tensor,
        egonets: EgonetMatrices,
        graphs: Matrices,
        weight: Tensor,
        generator: torch.Generator | None = None,
    ) -> None:
        """Choose initial values by example graphs, layer by layer.

        Words start near nodes and learned histograms near egonets. What deeper layers get
        is brought to zero mean and unit variance: the outputs of a layer all shrink as an
        egonet grows, so that without this they point in nearly the same direction, and
        the cosine sees nothing but directions.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of the nodes of all graphs.

        egonets : CountMatrix of shape (n_nodes, n_nodes), or sequence of them
            Egonets in terms of their members; see :meth:`forward`.

        graphs : CountMatrix of shape (n_graphs, n_nodes), or sequence of them
            Graphs in terms of their nodes; see :meth:`forward`.

        weight : Tensor of shape (n_graphs,)
            Weights of the graphs.

        generator : torch.Generator, default=None
            Source of what is drawn; None is torch's global generator.
        """
        keys = first_keys(x)
        steps = zip(self.layers, self.per_layer(egonets), self.per_layer(graphs), strict=True)
        for depth, (layer, matrix, in_graphs) in enumerate(steps):
            counts = in_graphs.column_sums(weight, len(matrix)).to(x.dtype)
            layer.start_at_data_(x, matrix, counts, keys, generator)  # type: ignore[operator]
            if depth == len(self.layers) - 1:
                break
            z = layer(x, matrix)
            mean = counts @ z / counts.sum()
            scale = (counts @ (z - mean).square() / counts.sum()).sqrt()
            # What is constant but for rounding stays as it is: less its mean, nothing but
            # rounding would be left, for the next layer to stretch to unit vectors.
            is_constant = scale <= 1e-5 * (1 + mean.abs())
            self.node_mean[depth] = mean.masked_fill(is_constant, 0)
            self.node_scale[depth] = scale.masked_fill(is_constant, 1)
            x = standardize(z, self.node_constants()[depth])
            keys = next_keys(keys, matrix)

    @torch.no_grad()
    def calibrate_(self, mean: Tensor, scale: Tensor) -> None:
        """Set the constants that bring pooled vectors to zero mean and unit variance.

        Batch normalization would do the same anew for every batch, but then a graph's
        output would depend on its neighbors in the batch and on their weights.

        Parameters
        ----------
        mean, scale : Tensor of shape (n_embedding,)
            What is subtracted from the input of the head, and what the difference is divided by.
        """
        self.embedding_mean.copy_(mean)
        self.embedding_scale.copy_(scale)

    def constrain_(self) -> None:
        """Make all learned histograms non-negative again, after an optimizer's step."""
        for layer in self.layers:
            layer.clip_histogram_()  # type: ignore[operator]

    def embed(
        self,
        x: Tensor,
        egonets: EgonetMatrices,
        graphs: Matrices,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return the pooled vectors of graphs.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of the nodes of all graphs.

        egonets : CountMatrix of shape (n_nodes, n_nodes), or sequence of them
            Egonets in terms of their members; see :meth:`forward`.

        graphs : CountMatrix of shape (n_graphs, n_nodes), or sequence of them
            Graphs in terms of their nodes; see :meth:`forward`.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        embedding : Tensor of shape (n_graphs, n_layers * n_masks)
            Vectors of graphs, of shape (n_graphs, n_masks) for ``readout="last"``.
        """
        egonets, graphs = self.per_layer(egonets), self.per_layer(graphs)
        if self.training and self.dropout > 0:
            return self.pool(self._dropped(x, egonets, generator), graphs)
        if self.pooling == "max":
            return self.pool(self.layer_outputs(x, egonets), graphs)
        # Given the graphs, layers return sums over their nodes, not the nodes themselves.
        return self._join(self.layer_outputs(x, egonets, graphs), graphs[-1])

    def head_input(
        self,
        x: Tensor,
        egonets: EgonetMatrices,
        graphs: Matrices,
        graph_features: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return what the head sees: the pooled vectors, and the features of graphs beside them.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of the nodes of all graphs.

        egonets : CountMatrix of shape (n_nodes, n_nodes), or sequence of them
            Egonets in terms of their members; see :meth:`forward`.

        graphs : CountMatrix of shape (n_graphs, n_nodes), or sequence of them
            Graphs in terms of their nodes; see :meth:`forward`.

        graph_features : Tensor of shape (n_graphs, n_graph_features), default=None
            Features of the graphs; None if the network takes none.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        vectors : Tensor of shape (n_graphs, n_embedding)
            Vectors of graphs.
        """
        return beside(self.embed(x, egonets, graphs, generator), graph_features)

    def forward(
        self,
        x: Tensor,
        egonets: EgonetMatrices,
        graphs: Matrices,
        graph_features: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return the outputs of all graphs of a batch.

        What is called a node here may as well be a color: all nodes that are alike at that
        depth. Colors then differ from layer to layer, and so do the matrices.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of the nodes of all graphs.

        egonets : CountMatrix of shape (n_nodes, n_nodes), or sequence of them
            Egonets in terms of their members; with relations, RelatedEgonets. In a sequence
            each layer takes the next one; where they run out, the last is used again.

        graphs : CountMatrix of shape (n_graphs, n_nodes), or sequence of them
            Graphs in terms of their nodes, as each layer gives them.

        graph_features : Tensor of shape (n_graphs, n_graph_features), default=None
            Features of the graphs; None if the network takes none.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        outputs : Tensor of shape (n_graphs, n_outputs)
            Logits of classes, or values of regression.
        """
        return self.head(self.head_input(x, egonets, graphs, graph_features, generator))

    def head(self, embedding: Tensor) -> Tensor:
        """Return the outputs of graphs from their vectors.

        Parameters
        ----------
        embedding : Tensor of shape (n_graphs, n_embedding)
            What :meth:`head_input` returns.

        Returns
        -------
        outputs : Tensor of shape (n_graphs, n_outputs)
            Logits of classes, or values of regression.
        """
        standardized = (embedding - self.embedding_mean) / self.embedding_scale
        hidden = torch.relu(self.hidden(standardized))  # (n_graphs, n_embedding)
        outputs: Tensor = self.output(hidden)
        return outputs

    def layer_outputs(
        self,
        x: Tensor,
        egonets: EgonetMatrices,
        graphs: Matrices | None = None,
        *,
        first_layer: int = 0,
        presence: Tensor | None = None,
    ) -> list[Tensor]:
        """Return the outputs of all layers from `first_layer` on, without dropout.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of the nodes; for a deeper first layer, outputs of the one below it.

        egonets : CountMatrix of shape (n_nodes, n_nodes), or sequence of them
            Egonets in terms of their members; see :meth:`forward`.

        graphs : CountMatrix of shape (n_graphs, n_nodes), or sequence of them, default=None
            If given, outputs are summed over graphs.

        first_layer : int, default=0
            Where to begin; beyond the last layer there is nothing.

        presence : Tensor of shape (n_nodes,), default=None
            How much of each node is a member of egonets, from 0 to 1; by default all of
            it. Nodes have to be nodes then, the same in every layer, not classes of them.

        Returns
        -------
        outputs : list of Tensor of shape (n_egonets, n_masks), or (n_graphs, n_masks)
            The outputs of one layer after the other.
        """
        if first_layer == len(self.layers):
            return []
        between = self.node_constants()
        if first_layer > 0:
            x = standardize(x, between[first_layer - 1])
        parameters: Any = [layer.weights for layer in self.layers]
        outputs = fast_lofi(
            x,
            self.per_layer(egonets)[first_layer:],
            self.kernel,
            parameters[first_layer:],
            None if graphs is None else self.per_layer(graphs)[first_layer:],
            between[first_layer:],
            presence,
        )
        return list(outputs)

    def pool(
        self, outputs: Sequence[Tensor], graphs: Matrices, presence: Tensor | None = None
    ) -> Tensor:
        """Return the pooled vectors of graphs from the outputs of all layers.

        Sums and means weight each node by its presence. The maximum is over all nodes,
        whatever their presence.

        Parameters
        ----------
        outputs : sequence of Tensor of shape (n_nodes, n_masks)
            Outputs of all layers.

        graphs : CountMatrix of shape (n_graphs, n_nodes), or sequence of them
            Graphs in terms of their nodes; see :meth:`forward`.

        presence : Tensor of shape (n_nodes,), default=None
            How much of each node is there, from 0 to 1; by default all of it.

        Returns
        -------
        embedding : Tensor of shape (n_graphs, n_embedding)
            Vectors of graphs.
        """
        graphs = self.per_layer(graphs)
        if self.pooling == "max":
            return self._join([*map(max_pool, graphs, outputs)], graphs[-1])
        if presence is not None:
            outputs = [z * presence[:, None] for z in outputs]
        pooled = [matrix @ z for matrix, z in zip(graphs, outputs, strict=True)]
        return self._join(pooled, graphs[-1], presence)

    def _join(
        self, pooled: Sequence[Tensor], graphs: CountMatrix, presence: Tensor | None = None
    ) -> Tensor:
        """Return the vectors of the layers that are read out, side by side."""
        embedding = pooled[-1] if self.readout == "last" else torch.cat([*pooled], dim=1)
        if self.pooling in ("sum", "max"):
            return embedding
        check_choice("pooling", self.pooling, ("mean",))  # what is left: sums, to be divided
        size = graphs.row_sums()[:, None] if presence is None else graphs @ presence[:, None]
        return embedding / size

    def per_layer(self, matrices: M | Sequence[M]) -> list[M]:
        """Return a matrix for each layer.

        Parameters
        ----------
        matrices : CountMatrix or RelatedEgonets, or sequence of them
            One for all layers, or one for each; where they run out, the last is used again.

        Returns
        -------
        matrices : list of CountMatrix or RelatedEgonets
            As many as layers.
        """
        if not isinstance(matrices, Sequence):
            matrices = [matrices]
        last = len(matrices) - 1
        return [matrices[min(depth, last)] for depth in range(len(self.layers))]

    def node_constants(self) -> list[Constants]:
        """Return what standardizes the outputs of each layer as inputs of the next.

        Returns
        -------
        constants : list of (mean, scale)
            One pair for each layer but the last.
        """
        return list(zip(self.node_mean, self.node_scale, strict=True))

    def _dropped(
        self, x: Tensor, egonets: Sequence[Egonets], generator: torch.Generator | None
    ) -> list[Tensor]:
        """Return the outputs of all layers, a share of whose numbers is dropped on the way."""
        outputs: list[Tensor] = []
        between = self.node_constants()
        for depth, (layer, matrix) in enumerate(zip(self.layers, egonets, strict=True)):
            z = layer(x, matrix)
            keep = dropout_mask(z, self.dropout, generator)
            outputs.append(z * keep)
            if depth < len(between):  # what is dropped is at the mean, not far from all others
                x = standardize(z, between[depth]) * keep
        return outputs
