"""The network: LoFI layers, pooling and head, as plain PyTorch modules.

``LoFILayer`` is the formula of the paper, line by line; ``LoFINetwork`` stacks layers,
pools their outputs per graph and ends in a small perceptron. Nothing here knows about
graphs, estimators or training: tensors in, logits out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

KERNELS = ("intersection", "l1")
POOLINGS = ("sum", "mean", "max")
READOUTS = ("all", "last")

# Cosines lie in [-1, 1]: at a temperature of 1 a node would start out spread almost
# evenly over the words, and histograms would hold little but the size of an egonet.
INITIAL_TEMPERATURE = 5.0

# The smallest norm that a vector is divided by, as in torch.nn.functional.normalize.
EPS = 1e-12

# Numbers in an array that stays in the cache of a core (2 MiB).
PIECE_SIZE = 2**19

# How torch.embedding_bag calls its way to reduce.
_SUM = 0


@dataclass(frozen=True, eq=False)
class CountMatrix:
    """Sparse matrix of counts, for products with dense matrices that have gradients.

    ``counts @ x`` sums rows of ``x``. On CPU this is several times faster than a product
    with a sparse tensor of torch, forwards and above all backwards, where torch builds
    the transpose anew each time.

    Parameters
    ----------
    offsets : Tensor of shape (n_rows + 1,)
        The entries of row ``i`` are those from ``offsets[i]`` up to ``offsets[i + 1]``.

    columns : Tensor of shape (n_entries,)
        Column of each entry.

    counts : Tensor of shape (n_entries,)
        The entries.

    transposed : CountMatrix, default=None
        The same matrix, transposed; only gradients need it.
    """

    offsets: Tensor
    columns: Tensor
    counts: Tensor
    transposed: CountMatrix | None = None

    @classmethod
    def from_scipy(cls, matrix: Any) -> CountMatrix:
        """Convert a scipy.sparse matrix or array."""

        def convert(csr: Any, transposed: CountMatrix | None = None) -> CountMatrix:
            return cls(
                torch.from_numpy(csr.indptr.astype("int32")),
                torch.from_numpy(csr.indices.astype("int32")),
                torch.from_numpy(csr.data.astype("float32")),
                transposed,
            )

        return convert(matrix.tocsr(), convert(matrix.T.tocsr()))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __matmul__(self, x: Tensor) -> Tensor:
        return _Product.apply(self, x)

    def to(self, device: str | torch.device) -> CountMatrix:
        return CountMatrix(
            self.offsets.to(device),
            self.columns.to(device),
            self.counts.to(device),
            None if self.transposed is None else self.transposed.to(device),
        )

    def rows(self) -> Tensor:
        """Row of each entry."""
        rows = torch.arange(len(self), device=self.offsets.device)
        return rows.repeat_interleave(self.offsets.diff(), output_size=len(self.columns))

    def row_sums(self) -> Tensor:
        """Sum of the entries of each row."""
        return self.counts.new_zeros(len(self)).index_add(0, self.rows(), self.counts)

    def pieces(self, n_rows: int) -> list[CountMatrix]:
        """The same matrix in pieces of some rows each."""
        if len(self) <= n_rows:
            return [self]
        starts = [*range(0, len(self), n_rows), len(self)]
        return [
            CountMatrix(
                self.offsets[i : j + 1] - start, self.columns[start:stop], self.counts[start:stop]
            )
            for (i, j), (start, stop) in zip(
                pairwise(starts), pairwise(self.offsets[starts].tolist()), strict=True
            )
        ]

    def sum_rows(self, x: Tensor) -> Tensor:
        """The product itself, without gradients."""
        # Of all ways to write this in torch, the fastest on CPU (benchmarks/bench_sparse.py).
        # Not through torch.nn.functional, whose checks take as long as a small product.
        return torch.embedding_bag(
            x,
            self.columns,
            self.offsets,
            mode=_SUM,
            per_sample_weights=self.counts if x.dtype == self.counts.dtype else self.counts.to(x),
            include_last_offset=True,
        )[0]

    def sum_rows_backward(self, gradient: Tensor) -> Tensor:
        """Gradient of the product with respect to the dense matrix."""
        if self.transposed is None:
            raise RuntimeError("This CountMatrix was made without its transpose.")
        return self.transposed.sum_rows(gradient.contiguous())


Matrices = CountMatrix | Sequence[CountMatrix]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: CountMatrix, x: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix.sum_rows(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix.sum_rows_backward(gradient)


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
        # All nodes that share the maximum share its gradient.
        share = (entries == largest[graph]) * graphs.counts[:, None].to(x.dtype)
        share /= zeros.index_add(0, graph, share)[graph]
    return zeros.index_add(0, graph, share * entries)


def lofi(
    x: Tensor,
    egonets: Tensor | CountMatrix,
    kernel: str,
    dictionary: Tensor,
    histogram: Tensor,
    temperature: Tensor,
) -> Tensor:
    """The formula of :class:`LoFILayer`, for its arguments and parameters."""
    n_masks, n_words, _ = dictionary.shape
    x = F.normalize(x, dim=-1)  # (n_nodes, n_features)
    words = F.normalize(dictionary, dim=-1)  # (n_masks, n_words, n_features)
    cosine = (x @ words.flatten(0, 1).T).unflatten(1, (n_masks, n_words))
    assignment = torch.softmax(temperature[:, None] * cosine, dim=-1)  # as cosine
    # A node is assigned alike in every egonet that it belongs to, so the histograms
    # of all egonets are one sparse product.
    h = (egonets @ assignment.flatten(1)).unflatten(1, (n_masks, n_words))
    difference = (h - histogram).abs().sum(-1)  # (n_egonets, n_masks)
    if kernel == "l1":
        return 1 - difference / 2
    return (h.sum(-1) + histogram.abs().sum(-1) - difference) / 2


def fast_lofi(
    x: Tensor,
    egonets: Sequence[CountMatrix],
    layers: Sequence[LoFILayer],
    graphs: Sequence[CountMatrix] | None = None,
) -> tuple[Tensor, ...]:
    """The outputs of stacked layers, or their sums over graphs, by a shorter way.

    A training step on small graphs is hundreds of calls of tiny operations. By hand, a
    layer needs half as many as by autograd, and all layers together are one step of it.
    """
    kernel = layers[0].kernel
    parameters = [(layer.dictionary, layer.histogram, layer.temperature) for layer in layers]
    if torch.is_grad_enabled():
        return _FastLoFI.apply(x, egonets, graphs, kernel, *chain.from_iterable(parameters))
    outputs = []
    for matrix, of_layer in zip(egonets, parameters, strict=True):
        x = _compare_in_pieces(x, matrix, kernel, *of_layer)
        outputs.append(x)
    if graphs is None:
        return tuple(outputs)
    return tuple(matrix.sum_rows(z) for matrix, z in zip(graphs, outputs, strict=True))


class _FastLoFI(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        egonets: Sequence[CountMatrix],
        graphs: Sequence[CountMatrix] | None,
        kernel: str,
        *parameters: Tensor,
    ) -> tuple[Tensor, ...]:
        outputs: list[Tensor] = []
        saved: list[Tensor] = []
        for depth, matrix in enumerate(egonets):
            x, intermediates = _compare(x, matrix, kernel, *parameters[3 * depth : 3 * depth + 3])
            outputs.append(x if graphs is None else graphs[depth].sum_rows(x))
            saved += intermediates
        ctx.save_for_backward(*saved)
        ctx.egonets, ctx.graphs, ctx.kernel = egonets, graphs, kernel
        ctx.set_materialize_grads(False)
        return tuple(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *d_outputs: Tensor | None) -> tuple[Any, ...]:
        n_layers = len(d_outputs)
        n_saved = len(ctx.saved_tensors) // n_layers
        d_parameters: list[Tensor | None] = []
        d_x = None  # from the layer above
        for depth in reversed(range(n_layers)):
            d_z = d_outputs[depth]
            if d_z is not None and ctx.graphs is not None:
                d_z = ctx.graphs[depth].sum_rows_backward(d_z)
            if d_x is not None:
                d_z = d_x if d_z is None else d_x.add_(d_z)
            if d_z is None:  # nobody has asked for this layer's output
                d_parameters[:0] = [None, None, None]
                continue
            saved = ctx.saved_tensors[n_saved * depth : n_saved * (depth + 1)]
            needs_d_x = depth > 0 or ctx.needs_input_grad[0]
            d_x, *d_layer = _compare_backward(d_z, saved, ctx.egonets[depth], ctx.kernel, needs_d_x)
            d_parameters[:0] = d_layer
        return d_x, None, None, None, *d_parameters


def _compare(
    x: Tensor,
    egonets: CountMatrix,
    kernel: str,
    dictionary: Tensor,
    histogram: Tensor,
    temperature: Tensor,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """:func:`lofi`, and what its derivative needs."""
    x, x_norm = _unit(x)
    words, word_norm, stretch = _stretched(dictionary, temperature)
    assignment = torch.softmax((x @ words.T).view(-1, *histogram.shape), dim=-1).flatten(1)
    h = egonets.sum_rows(assignment)
    z = _fit(h, histogram, kernel)
    return z, (x, x_norm, words, dictionary, word_norm, stretch, histogram, assignment, h)


def _compare_in_pieces(
    x: Tensor,
    egonets: CountMatrix,
    kernel: str,
    dictionary: Tensor,
    histogram: Tensor,
    temperature: Tensor,
) -> Tensor:
    """:func:`lofi` without gradients, some rows at a time, which stay in the cache."""
    n_rows = max(1, PIECE_SIZE // histogram.numel())
    if x.device.type != "cpu" or max(len(x), len(egonets)) <= n_rows:
        return _compare(x, egonets, kernel, dictionary, histogram, temperature)[0]
    x, _ = _unit(x)
    words, _, _ = _stretched(dictionary, temperature)
    assignment = x.new_empty(len(x), *histogram.shape)
    for some, result in zip(x.split(n_rows), assignment.split(n_rows), strict=True):
        torch.softmax((some @ words.T).view_as(result), dim=-1, out=result)
    assignment = assignment.flatten(1)
    pieces = egonets.pieces(n_rows)
    return torch.cat([_fit(piece.sum_rows(assignment), histogram, kernel) for piece in pieces])


def _unit(x: Tensor) -> tuple[Tensor, Tensor]:
    """Unit vectors and the norms of the vectors."""
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min_(EPS)
    return x / norm, norm


def _stretched(dictionary: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Unit words times their temperature, which saves stretching all the cosines."""
    norm = torch.linalg.vector_norm(dictionary, dim=-1, keepdim=True).clamp_min_(EPS)
    stretch = temperature.view(-1, 1, 1) / norm
    return (dictionary * stretch).flatten(0, 1), norm, stretch


def _fit(h: Tensor, histogram: Tensor, kernel: str) -> Tensor:
    """The kernel of soft histograms and the learned one, which is then subtracted from h."""
    n_masks, n_words = histogram.shape
    h = h.view(-1, n_masks, n_words)
    mass = None if kernel == "l1" else h.sum(-1).add_(histogram.abs().sum(-1))
    h -= histogram
    difference = h.abs().sum(-1)
    if mass is None:
        return torch.rsub(difference, 1, alpha=0.5)  # 1 - difference / 2
    return mass.sub_(difference).div_(2)


def _compare_backward(
    d_z: Tensor,
    saved: tuple[Tensor, ...],
    egonets: CountMatrix,
    kernel: str,
    needs_d_x: bool,
) -> tuple[Tensor | None, Tensor, Tensor, Tensor]:
    """Gradients of :func:`lofi` with respect to x and to the parameters."""
    x, x_norm, words, dictionary, word_norm, stretch, histogram, assignment, difference = saved
    half = d_z / 2
    d_h = difference.view(-1, *histogram.shape).sign()
    d_h *= half.neg().unsqueeze(-1)
    d_histogram = d_h.sum(0).neg_()
    if kernel == "intersection":
        # The mass of h is the size of the egonet: it does not depend on the words.
        d_histogram += histogram.sign() * half.sum(0).unsqueeze(-1)
    d_assignment = egonets.sum_rows_backward(d_h.view_as(difference))
    by_mask = (-1, *histogram.shape)
    d_logits = torch._softmax_backward_data(
        d_assignment.view(by_mask), assignment.view(by_mask), -1, assignment.dtype
    ).view_as(assignment)
    # Of a unit vector only the part of a gradient that turns it counts; the part along
    # a stretched word is the gradient of its stretch.
    d_words = (d_logits.T @ x).view_as(dictionary)
    unit_words = dictionary / word_norm
    along = (d_words * unit_words).sum(-1, keepdim=True)
    d_dictionary = d_words.addcmul_(unit_words, along, value=-1).mul_(stretch)
    d_x = None
    if needs_d_x:
        d_x = d_logits @ words
        d_x = d_x.addcmul_(x, (d_x * x).sum(-1, keepdim=True), value=-1).div_(x_norm)
    return d_x, d_dictionary, d_histogram, along.sum((1, 2))


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

    egonet_size : float, default=1.0
        Typical number of members of an egonet. Learned histograms start with this mass,
        so that they are within reach of the data.

    generator : torch.Generator, default=None
        Source of the initial values; None is torch's global generator.

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
        egonet_size: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        _check_choice("kernel", kernel, KERNELS)
        self.kernel = kernel
        self.egonet_size = egonet_size
        self.dictionary = nn.Parameter(torch.empty(n_masks, n_words, n_features))
        self.histogram = nn.Parameter(torch.empty(n_masks, n_words))
        self.temperature = nn.Parameter(torch.empty(n_masks))
        self.reset_parameters(generator)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        n_words = self.histogram.shape[1]
        self.dictionary.normal_(generator=generator)
        self.histogram.uniform_(0, 2 * self.egonet_size / n_words, generator=generator)
        self.temperature.fill_(INITIAL_TEMPERATURE)

    def clip_histogram_(self) -> None:
        """Project the learned histogram back onto the non-negative numbers."""
        self.histogram.detach().clamp_(min=0)

    def forward(self, x: Tensor, egonets: Tensor | CountMatrix) -> Tensor:
        """Compare every egonet with every mask.

        Parameters
        ----------
        x : Tensor of shape (n_nodes, n_features)
            Features of nodes, or of classes of equal nodes.

        egonets : sparse Tensor or CountMatrix of shape (n_egonets, n_nodes)
            How often each node, or class of nodes, is a member of each egonet. The
            result is the same for both, but a CountMatrix is faster.

        Returns
        -------
        z : Tensor of shape (n_egonets, n_masks)
        """
        if isinstance(egonets, CountMatrix):
            return fast_lofi(x, [egonets], [self])[0]
        return lofi(x, egonets, self.kernel, self.dictionary, self.histogram, self.temperature)

    def extra_repr(self) -> str:
        n_masks, n_words, n_features = self.dictionary.shape
        return f"{n_features}, {n_masks}, {n_words}, kernel={self.kernel!r}"


class LoFINetwork(nn.Module):
    r"""Stacked LoFI layers, pooled per graph, with a perceptron as head.

    .. math::
        Z^{(l)} &= \mathrm{LoFI}_l (Z^{(l-1)}), \quad Z^{(0)} = X \\
        g &= \bigl[ \mathrm{pool}(Z^{(1)}), \dots, \mathrm{pool}(Z^{(L)}) \bigr] \\
        \hat y &= W_2 \, \mathrm{relu} ( W_1 \, (g - \mu) / \sigma + b_1 ) + b_2

    where the constants :math:`\mu` and :math:`\sigma` are 0 and 1 until
    :meth:`calibrate_` sets them. The output is raw: logits for classes, values for
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

    egonet_size : float, default=1.0
        Typical number of members of an egonet; see :class:`LoFILayer`.

    generator : torch.Generator, default=None
        Source of the initial values; None is torch's global generator.
    """

    embedding_mean: Tensor
    embedding_scale: Tensor

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        n_layers: int = 3,
        n_masks: int = 16,
        n_words: int = 8,
        kernel: str = "l1",
        pooling: str = "sum",
        readout: str = "all",
        dropout: float = 0.0,
        egonet_size: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        _check_choice("pooling", pooling, POOLINGS)
        _check_choice("readout", readout, READOUTS)
        self.pooling = pooling
        self.readout = readout
        self.dropout = dropout
        widths = [n_features] + [n_masks] * (n_layers - 1)
        self.layers = nn.ModuleList(
            LoFILayer(width, n_masks, n_words, kernel, egonet_size=egonet_size, generator=generator)
            for width in widths
        )
        n_embedding = n_masks * (n_layers if readout == "all" else 1)
        self.register_buffer("embedding_mean", torch.zeros(n_embedding))
        self.register_buffer("embedding_scale", torch.ones(n_embedding))
        # skip_init, because nn.Linear fills itself from the global generator.
        self.hidden = nn.utils.skip_init(nn.Linear, n_embedding, n_embedding)
        self.output = nn.utils.skip_init(nn.Linear, n_embedding, n_outputs)
        self._reset_head(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        for layer in self.layers:
            layer.reset_parameters(generator)  # type: ignore[operator]
        self._reset_head(generator)

    @torch.no_grad()
    def _reset_head(self, generator: torch.Generator | None) -> None:
        for linear in (self.hidden, self.output):
            bound = linear.in_features**-0.5  # as nn.Linear does
            linear.weight.uniform_(-bound, bound, generator=generator)
            linear.bias.uniform_(-bound, bound, generator=generator)

    @torch.no_grad()
    def calibrate_(self, mean: Tensor, scale: Tensor) -> None:
        """Set the constants that bring pooled vectors to zero mean and unit variance.

        Batch normalisation would do the same anew for every batch, but then a graph's
        output would depend on its neighbours in the batch and on their weights.
        """
        self.embedding_mean.copy_(mean)
        self.embedding_scale.copy_(scale)

    def clip_histograms_(self) -> None:
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
        layers: list[LoFILayer] = list(self.layers)  # type: ignore[arg-type]
        egonets, graphs = self._per_layer(egonets), self._per_layer(graphs)
        drops = self.training and self.dropout > 0
        pooled: Sequence[Tensor]  # (n_graphs, n_masks) for each layer
        if drops or self.pooling == "max":
            outputs = (
                self._dropped(x, egonets, generator) if drops else fast_lofi(x, egonets, layers)
            )
            pool = max_pool if self.pooling == "max" else CountMatrix.__matmul__
            pooled = [pool(matrix, z) for matrix, z in zip(graphs, outputs, strict=True)]
        else:
            pooled = fast_lofi(x, egonets, layers, graphs)
        embedding = pooled[-1] if self.readout == "last" else torch.cat(pooled, dim=1)
        if self.pooling == "mean":
            embedding = embedding / graphs[-1].row_sums()[:, None]
        return embedding

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
        embedding = self.embed(x, egonets, graphs, generator)
        standardised = (embedding - self.embedding_mean) / self.embedding_scale
        return self.output(torch.relu(self.hidden(standardised)))

    def _per_layer(self, matrices: Matrices) -> list[CountMatrix]:
        if isinstance(matrices, CountMatrix):
            matrices = [matrices]
        last = len(matrices) - 1
        return [matrices[min(depth, last)] for depth in range(len(self.layers))]

    def _dropped(
        self, x: Tensor, egonets: Sequence[CountMatrix], generator: torch.Generator | None
    ) -> list[Tensor]:
        """Outputs of all layers, some of whose numbers are dropped on the way."""
        outputs = []
        for layer, matrix in zip(self.layers, egonets, strict=True):
            x = layer(x, matrix)
            # As functional.dropout, which cannot be given a generator.
            keep = torch.empty_like(x).bernoulli_(1 - self.dropout, generator=generator)
            x = x * keep / (1 - self.dropout)
            outputs.append(x)
        return outputs


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} has to be one of {choices}, got {value!r}.")
