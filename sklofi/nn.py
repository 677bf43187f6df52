"""The network: LoFI layers, pooling and head, as plain PyTorch modules.

``LoFILayer`` is the formula of the paper, line by line; ``LoFINetwork`` stacks layers,
pools their outputs per graph and ends in a small perceptron. Nothing here knows about
graphs, estimators or training: tensors in, logits out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sklofi.fast import PIECE_SIZE, Constants, CountMatrix, fast_lofi, standardise

KERNELS = ("intersection", "l1")
POOLINGS = ("sum", "mean", "max")
READOUTS = ("all", "last")

# Cosines lie in [-1, 1]: at a temperature of 1 a node would start out spread almost
# evenly over the words, and histograms would hold little but the size of an egonet.
INITIAL_TEMPERATURE = 5.0

# How far from the data it was drawn from a parameter starts, as a share of its size: masks
# that were drawn from the same egonet have to be able to part.
INITIAL_NOISE = 0.5

Matrices = CountMatrix | Sequence[CountMatrix]


class LoFILayer(nn.Module):
    r"""Localized feature-based histogram intersection.

    Each mask :math:`j` holds a dictionary of words :math:`w_i`, a learned histogram
    :math:`f_j` over these words and a temperature :math:`t_j`. A node is softly assigned
    to the words by cosine similarity, an egonet is the histogram of its members, and the
    node's new feature is how well that histogram fits the learned one:

    .. math::
        s(x_u)_i &= \mathrm{softmax}_i \bigl( t_j \cos(x_u, w_i) \bigr) \\
        h_v &= \sum_{u \in N_v} s(x_u) \\
        z_{v,j} &= K(h_v, f_j)

    with :math:`K(h, f) = \tfrac12 (|h|_1 + |f|_1 - |h - f|_1)` for
    ``kernel="intersection"`` (which is :math:`\sum_i \min(h_i, f_i)`), and
    :math:`K(h, f) = 1 - \tfrac12 |h - f|_1` for ``kernel="l1"``.

    Parameters
    ----------
    n_features : int
        Width of the node features.

    n_masks : int
        Number of masks, the width of the output.

    n_words : int
        Number of words in each mask's dictionary.

    kernel : {"l1", "intersection"}, default="l1"
        How histograms are compared.

    generator : torch.Generator, default=None
        Source of the initial values, on the device where they start; None is torch's global
        generator.

    dtype : torch.dtype, default=None
        Of the parameters; None is torch's default.

    Attributes
    ----------
    dictionary : Parameter of shape (n_masks, n_words, n_features)

    histogram : Parameter of shape (n_masks, n_words)
        Non-negative; :meth:`clip_histogram_` restores this after an optimiser's step.

    temperature : Parameter of shape (n_masks,)
    """

    def __init__(
        self,
        n_features: int,
        n_masks: int,
        n_words: int,
        kernel: str = "l1",
        *,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        _check_choice("kernel", kernel, KERNELS)
        self.kernel = kernel
        kind = _kind(generator, dtype)
        self.dictionary = nn.Parameter(torch.empty(n_masks, n_words, n_features, **kind))
        self.histogram = nn.Parameter(torch.empty(n_masks, n_words, **kind))
        self.temperature = nn.Parameter(torch.empty(n_masks, **kind))
        self.reset_parameters(generator)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        n_words = self.histogram.shape[1]
        self.dictionary.normal_(generator=generator)
        self.histogram.uniform_(0, 2 / n_words, generator=generator)
        self.temperature.fill_(INITIAL_TEMPERATURE)

    @torch.no_grad()
    def start_at_data_(
        self,
        x: Tensor,
        egonets: CountMatrix,
        egonet_counts: Tensor,
        keys: Tensor,
        generator: torch.Generator | None = None,
    ) -> None:
        """Start words near nodes, and learned histograms near egonets, of given graphs.

        Histograms drawn from nowhere can be far from all egonets, which may have dozens
        of members, and then compare nothing but sizes.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of nodes, or of classes of equal nodes.

        egonets : CountMatrix of shape (n_egonets, n_nodes)
            Egonets in terms of their members.

        egonet_counts : Tensor of shape (n_egonets,)
            How often each egonet occurs.

        keys : Tensor of shape (n_nodes,)
            Numbers that tell nodes apart, whatever their order; see :func:`draw`.

        generator : torch.Generator, default=None
            Source of what is drawn; None is torch's global generator.
        """
        n_masks, _, n_features = self.dictionary.shape
        member_counts = egonets.column_sums(egonet_counts, len(x))
        words = x[draw(member_counts, keys, self.histogram.numel(), generator)]
        kind = _kind(generator, self.dictionary.dtype)
        noise = torch.empty(self.dictionary.shape, **kind).normal_(generator=generator)
        self.dictionary.copy_(noise * (INITIAL_NOISE * n_features**-0.5))
        self.dictionary.add_(F.normalize(words, dim=-1).view_as(self.dictionary))

        factor = torch.empty(self.histogram.shape, **kind)
        factor.uniform_(1 - INITIAL_NOISE, 1 + INITIAL_NOISE, generator=generator)
        self.histogram.copy_(factor)
        drawn = draw(egonet_counts, next_keys(keys, egonets), n_masks, generator)
        for mask, egonet in enumerate(drawn.tolist()):
            members = slice(*egonets.offsets[egonet : egonet + 2].tolist())
            own = slice(mask, mask + 1)
            assignment = self.assign(x[egonets.columns[members]], own)[:, 0]
            self.histogram[mask] *= egonets.counts[members].to(x.dtype) @ assignment

    def assign(self, x: Tensor, masks: slice = slice(None)) -> Tensor:
        """Soft assignment of nodes to words, of shape (n_nodes, n_masks, n_words)."""
        x = F.normalize(x, dim=-1)  # (n_nodes, n_features)
        words = F.normalize(self.dictionary[masks], dim=-1)  # (n_masks, n_words, n_features)
        cosine = (x @ words.flatten(0, 1).T).unflatten(1, words.shape[:2])
        return torch.softmax(self.temperature[masks, None] * cosine, dim=-1)

    def clip_histogram_(self) -> None:
        """Project the learned histogram back onto the non-negative numbers."""
        self.histogram.detach().clamp_(min=0)

    def forward(
        self, x: Tensor, egonets: Tensor | CountMatrix, presence: Tensor | None = None
    ) -> Tensor:
        """Compare every egonet with every mask.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of nodes, or of classes of equal nodes.

        egonets : sparse Tensor or CountMatrix of shape (n_egonets, n_nodes)
            How often each node, or class of nodes, is a member of each egonet. Both give
            the same result; a CountMatrix is faster, but has no second derivatives.

        presence : Tensor of shape (n_nodes,) or (n_nodes, n_masks), default=None
            How much of each node is there, from 0 to 1, for all masks or for each; by
            default all of it.

        Returns
        -------
        z : Tensor of shape (n_egonets, n_masks)
        """
        if isinstance(egonets, CountMatrix) and (presence is None or presence.ndim == 1):
            parameters = (self.dictionary, self.histogram, self.temperature)
            return fast_lofi(x, [egonets], self.kernel, [parameters], presence=presence)[0]
        assignment = self.assign(x)  # (n_nodes, n_masks, n_words)
        if presence is not None:
            assignment = assignment * presence.view(len(x), -1, 1)
        # A node is assigned alike in every egonet that it belongs to, so the histograms
        # of all egonets are one sparse product.
        h = (egonets @ assignment.flatten(1)).unflatten(1, self.histogram.shape)
        difference = (h - self.histogram).abs().sum(-1)  # (n_egonets, n_masks)
        if self.kernel == "l1":
            return 1 - difference / 2
        return (h.sum(-1) + self.histogram.abs().sum(-1) - difference) / 2

    def extra_repr(self) -> str:
        n_masks, n_words, n_features = self.dictionary.shape
        return f"{n_features}, {n_masks}, {n_words}, kernel={self.kernel!r}"


def _kind(generator: torch.Generator | None, dtype: torch.dtype | None) -> dict[str, Any]:
    """Device and dtype of tensors that are filled by a generator, whatever torch's defaults."""
    return {"device": None if generator is None else generator.device, "dtype": dtype}


def draw(
    counts: Tensor, keys: Tensor, n_draws: int, generator: torch.Generator | None = None
) -> Tensor:
    """Positions of things, drawn as often as they occur.

    They are drawn along the order of their keys, so that neither their numbering matters
    nor whether equal ones were merged: only what is there.
    """
    order = keys.argsort().cpu()
    ends = counts.cpu().double()[order].cumsum(0)
    places = ends.new_empty(n_draws).uniform_(generator=generator) * ends[-1]
    return order[torch.searchsorted(ends, places, right=True).clamp_max(len(order) - 1)]


def first_keys(x: Tensor) -> Tensor:
    """Numbers that differ where rows do."""
    directions = torch.linspace(1, 2, x.shape[1], dtype=torch.float64, device=x.device)
    pieces = x.split(max(1, PIECE_SIZE // x.shape[1]))  # of rows: one number is left of each
    return torch.cat([torch.sin(directions * (1 + piece.double())).sum(1) for piece in pieces])


def next_keys(keys: Tensor, egonets: CountMatrix) -> Tensor:
    """Numbers that differ where egonets do, from those of their members.

    A mean and a small factor, so that rounding does not grow from layer to layer.
    """
    sums = egonets.sum_rows(torch.stack([torch.sin(keys), torch.ones_like(keys)], dim=1))
    total, size = sums.unbind(1)
    return 3 * total / size.clamp_min(1) + torch.sin(size)


def max_pool(graphs: CountMatrix, x: Tensor) -> Tensor:
    """Largest value of the nodes of each graph.

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
    :meth:`start_at_data_` and :meth:`calibrate_` set them. The output is raw: logits for
    classes, values for regression.

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

    generator : torch.Generator, default=None
        Source of the initial values, on the device where they start; None is torch's global
        generator.

    dtype : torch.dtype, default=None
        Of the parameters; None is torch's default.
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
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        _check_choice("pooling", pooling, POOLINGS)
        _check_choice("readout", readout, READOUTS)
        self.kernel = kernel
        self.pooling = pooling
        self.readout = readout
        self.dropout = dropout
        widths = [n_features] + [n_masks] * (n_layers - 1)
        kind = _kind(generator, dtype)
        self.layers = nn.ModuleList(
            LoFILayer(width, n_masks, n_words, kernel, generator=generator, dtype=dtype)
            for width in widths
        )
        self.register_buffer("node_mean", torch.zeros(n_layers - 1, n_masks, **kind))
        self.register_buffer("node_scale", torch.ones(n_layers - 1, n_masks, **kind))
        n_embedding = n_masks * (n_layers if readout == "all" else 1)
        self.register_buffer("embedding_mean", torch.zeros(n_embedding, **kind))
        self.register_buffer("embedding_scale", torch.ones(n_embedding, **kind))
        # skip_init, because nn.Linear fills itself from the global generator.
        kind["device"] = self.embedding_mean.device  # it does not know torch's default
        self.hidden = nn.utils.skip_init(nn.Linear, n_embedding, n_embedding, **kind)
        self.output = nn.utils.skip_init(nn.Linear, n_embedding, n_outputs, **kind)
        self._reset_head(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
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
        egonets: Matrices,
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
        x, egonets, graphs
            As for :meth:`forward`.

        weight : Tensor of shape (n_graphs,)
            Weights of the graphs.

        generator : torch.Generator, default=None
            Source of what is drawn; None is torch's global generator.
        """
        keys = first_keys(x)
        steps = zip(self.layers, self._per_layer(egonets), self._per_layer(graphs), strict=True)
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
            x = standardise(z, self._between()[depth])
            keys = next_keys(keys, matrix)

    @torch.no_grad()
    def calibrate_(self, mean: Tensor, scale: Tensor) -> None:
        """Set the constants that bring pooled vectors to zero mean and unit variance.

        Batch normalisation would do the same anew for every batch, but then a graph's
        output would depend on its neighbours in the batch and on their weights.
        """
        self.embedding_mean.copy_(mean)
        self.embedding_scale.copy_(scale)

    def constrain_(self) -> None:
        """Make all learned histograms non-negative again, after an optimiser's step."""
        for layer in self.layers:
            layer.clip_histogram_()  # type: ignore[operator]

    def embed(
        self,
        x: Tensor,
        egonets: Matrices,
        graphs: Matrices,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Pooled vectors of the graphs, the input of the head.

        The arguments are those of :meth:`forward`; the result is of shape
        (n_graphs, n_layers * n_masks), or (n_graphs, n_masks) for ``readout="last"``.
        """
        egonets, graphs = self._per_layer(egonets), self._per_layer(graphs)
        if self.training and self.dropout > 0:
            return self.pool(self._dropped(x, egonets, generator), graphs)
        if self.pooling == "max":
            return self.pool(self.layer_outputs(x, egonets), graphs)
        return self._join(self.layer_outputs(x, egonets, graphs), graphs[-1])

    def forward(
        self,
        x: Tensor,
        egonets: Matrices,
        graphs: Matrices,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Outputs of all graphs of a batch.

        What is called a node here may as well be a class of nodes that are alike at that
        depth. The classes then differ from layer to layer, and so do the matrices.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of the nodes of all graphs.

        egonets : CountMatrix of shape (n_nodes, n_nodes), or sequence of them
            Egonets in terms of their members. In a sequence each layer takes the next
            one; where they run out, the last is used again.

        graphs : CountMatrix of shape (n_graphs, n_nodes), or sequence of them
            Graphs in terms of their nodes, as each layer gives them.

        generator : torch.Generator, default=None
            Source of the dropout; None is torch's global generator.

        Returns
        -------
        outputs : Tensor of shape (n_graphs, n_outputs)
        """
        return self.head(self.embed(x, egonets, graphs, generator))

    def head(self, embedding: Tensor) -> Tensor:
        """Outputs of graphs from their pooled vectors."""
        standardised = (embedding - self.embedding_mean) / self.embedding_scale
        return self.output(torch.relu(self.hidden(standardised)))

    def layer_outputs(
        self,
        x: Tensor,
        egonets: Matrices,
        graphs: Matrices | None = None,
        *,
        first_layer: int = 0,
        presence: Tensor | None = None,
    ) -> list[Tensor]:
        """Outputs of all layers, or of those from `first_layer` on; without dropout.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of the nodes; for a deeper first layer, outputs of the one below it.

        egonets
            As for :meth:`forward`.

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
        """
        if first_layer == len(self.layers):
            return []
        between = self._between()
        if first_layer > 0:
            x = standardise(x, between[first_layer - 1])
        layers = [(one.dictionary, one.histogram, one.temperature) for one in self.layers]
        outputs = fast_lofi(
            x,
            self._per_layer(egonets)[first_layer:],
            self.kernel,
            layers[first_layer:],  # type: ignore[arg-type]
            None if graphs is None else self._per_layer(graphs)[first_layer:],
            between[first_layer:],
            presence,
        )
        return list(outputs)

    def pool(
        self, outputs: Sequence[Tensor], graphs: Matrices, presence: Tensor | None = None
    ) -> Tensor:
        """Pooled vectors of the graphs, from the outputs of all layers.

        Where nodes are there in part, sums and means are weighted by how much; the largest
        value is that of all nodes.
        """
        graphs = self._per_layer(graphs)
        if self.pooling == "max":
            return self._join([*map(max_pool, graphs, outputs)], graphs[-1])
        if presence is not None:
            outputs = [z * presence[:, None] for z in outputs]
        pooled = [matrix @ z for matrix, z in zip(graphs, outputs, strict=True)]
        return self._join(pooled, graphs[-1], presence)

    def _join(
        self, pooled: Sequence[Tensor], graphs: CountMatrix, presence: Tensor | None = None
    ) -> Tensor:
        """The vectors of the layers that are read out, as one."""
        embedding = pooled[-1] if self.readout == "last" else torch.cat([*pooled], dim=1)
        if self.pooling != "mean":
            return embedding
        size = graphs.row_sums()[:, None] if presence is None else graphs @ presence[:, None]
        return embedding / size

    def _per_layer(self, matrices: Matrices) -> list[CountMatrix]:
        if isinstance(matrices, CountMatrix):
            matrices = [matrices]
        last = len(matrices) - 1
        return [matrices[min(depth, last)] for depth in range(len(self.layers))]

    def _between(self) -> list[Constants]:
        """What standardises the outputs of each layer as inputs of the next."""
        return list(zip(self.node_mean, self.node_scale, strict=True))

    def _dropped(
        self, x: Tensor, egonets: Sequence[CountMatrix], generator: torch.Generator | None
    ) -> list[Tensor]:
        """Outputs of all layers, some of whose numbers are dropped on the way."""
        outputs: list[Tensor] = []
        between = self._between()
        for depth, (layer, matrix) in enumerate(zip(self.layers, egonets, strict=True)):
            z = layer(x, matrix)
            # As functional.dropout, which cannot be given a generator.
            keep = torch.empty_like(z).bernoulli_(1 - self.dropout, generator=generator)
            keep /= 1 - self.dropout
            outputs.append(z * keep)
            if depth < len(between):  # what is dropped is at the mean, not far from all others
                x = standardise(z, between[depth]) * keep
        return outputs


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} has to be one of {choices}, got {value!r}.")
