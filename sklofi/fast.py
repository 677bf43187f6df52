"""LoFI layers by a shorter way: the numbers of the formula, the derivative by hand.

The formula itself is in :meth:`sklofi.nn.LoFILayer.forward`, and the tests hold what is
here equal to it. A training step on small graphs is hundreds of calls of tiny operations:
by hand, a layer needs half as many, and all layers together are one step for autograd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

LayerParameters = tuple[Tensor, Tensor, Tensor]  # dictionary, histogram, temperature
Constants = tuple[Tensor, Tensor]  # mean, scale

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

    def column_sums(self, row_weights: Tensor, n_columns: int) -> Tensor:
        """Sum of the entries of each column, with weights for the rows."""
        # In 64 bits, so that the order of the rows does not matter.
        entries = self.counts.double() * row_weights.double()[self.rows()]
        return entries.new_zeros(n_columns).index_add(0, self.columns, entries)

    def scale_columns(self, factors: Tensor) -> CountMatrix:
        """The same matrix with a factor for each column, without its transpose."""
        counts = self.counts * factors[self.columns]
        return CountMatrix(self.offsets, self.columns, counts)

    def take_blocks(self, blocks: Tensor, rows: Tensor, columns: Tensor) -> CountMatrix:
        """Some blocks of a block-diagonal matrix, perhaps several times.

        Parameters
        ----------
        blocks : Tensor of shape (n_taken,)
            Which blocks.

        rows, columns : Tensor of shape (n_blocks + 1,)
            Where the rows and the columns of each block begin, and where the last ones end.

        Returns
        -------
        matrix : CountMatrix
            Their block-diagonal matrix.
        """
        sizes = self.offsets.diff()[take_rows(rows, blocks)[0]]
        entries, taken = take_rows(self.offsets[rows], blocks)
        first_columns = F.pad(columns.diff()[blocks].cumsum(0), (1, 0))[:-1]
        shift = (first_columns - columns[blocks]).repeat_interleave(taken.diff())
        return CountMatrix(
            F.pad(sizes.cumsum(0), (1, 0)).to(self.offsets.dtype),
            (self.columns[entries] + shift).to(self.columns.dtype),
            self.counts[entries],
            None if self.transposed is None else self.transposed.take_blocks(blocks, columns, rows),
        )

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


def take_rows(offsets: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of the items of some segments of a flat array, and their new offsets.

    >>> take_rows(torch.tensor([0, 2, 5, 6]), torch.tensor([2, 0]))
    (tensor([5, 0, 1]), tensor([0, 1, 3]))
    """
    starts = offsets[segments].long()
    lengths = offsets[segments + 1].long() - starts
    taken = F.pad(lengths.cumsum(0), (1, 0))
    shift = (starts - taken[:-1]).repeat_interleave(lengths)
    return torch.arange(len(shift), device=shift.device) + shift, taken


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: CountMatrix, x: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix.sum_rows(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        _refuse_second_derivatives()
        return None, ctx.matrix.sum_rows_backward(gradient)


def _refuse_second_derivatives() -> None:
    # Autograd records a backward only for create_graph=True.
    if torch.is_grad_enabled():
        raise RuntimeError(
            "A CountMatrix has no second derivatives (create_graph=True); a LoFILayer has them"
            " if egonets are a sparse tensor."
        )


def fast_lofi(
    x: Tensor,
    egonets: Sequence[CountMatrix],
    kernel: str,
    parameters: Sequence[LayerParameters],
    graphs: Sequence[CountMatrix] | None = None,
    between: Sequence[Constants] = (),
    presence: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """The outputs of stacked layers, each by the formula of LoFILayer.

    Parameters
    ----------
    x : Tensor of shape (n_nodes, n_features)
        Input of the first layer.

    egonets : sequence of CountMatrix
        Egonets as each layer sees them.

    kernel : {"l1", "intersection"}

    parameters : sequence of (dictionary, histogram, temperature)
        Of each layer.

    graphs : sequence of CountMatrix, default=None
        If given, the outputs of each layer are summed over graphs.

    between : sequence of (mean, scale)
        What standardises the output of a layer as the input of the next, for all layers
        but the last.

    presence : Tensor of shape (n_nodes,), default=None
        How much of each node is a member of egonets, from 0 to 1; by default all of it.
        All layers have to see the same nodes.

    Returns
    -------
    outputs : tuple of Tensor of shape (n_egonets, n_masks), or (n_graphs, n_masks)
    """
    if torch.is_grad_enabled():
        return _FastLoFI.apply(
            x, egonets, graphs, kernel, between, presence, *chain.from_iterable(parameters)
        )
    if presence is not None:
        egonets = [matrix.scale_columns(presence) for matrix in egonets]
    outputs: list[Tensor] = []
    for depth, (matrix, of_layer) in enumerate(zip(egonets, parameters, strict=True)):
        if depth:
            x = standardise(outputs[-1], between[depth - 1])
        outputs.append(_compare_in_pieces(x, matrix, kernel, *of_layer))
    if graphs is None:
        return tuple(outputs)
    return tuple(matrix.sum_rows(z) for matrix, z in zip(graphs, outputs, strict=True))


def standardise(x: Tensor, constants: Constants) -> Tensor:
    mean, scale = constants
    return (x - mean) / scale


class _FastLoFI(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        egonets: Sequence[CountMatrix],
        graphs: Sequence[CountMatrix] | None,
        kernel: str,
        between: Sequence[Constants],
        presence: Tensor | None,
        *parameters: Tensor,
    ) -> tuple[Tensor, ...]:
        outputs: list[Tensor] = []
        saved: list[Tensor] = []
        for depth, matrix in enumerate(egonets):
            if presence is not None:
                matrix = matrix.scale_columns(presence)
            z, intermediates = _compare(x, matrix, kernel, *parameters[3 * depth : 3 * depth + 3])
            outputs.append(z if graphs is None else graphs[depth].sum_rows(z))
            saved += intermediates
            if depth < len(egonets) - 1:
                x = standardise(z, between[depth])
        ctx.save_for_backward(*saved)
        ctx.egonets, ctx.graphs, ctx.kernel, ctx.between = egonets, graphs, kernel, between
        ctx.presence = presence
        ctx.set_materialize_grads(False)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *d_outputs: Tensor | None) -> tuple[Any, ...]:
        _refuse_second_derivatives()
        n_layers = len(d_outputs)
        all_saved = ctx.saved_tensors
        n_saved = len(all_saved) // n_layers
        d_parameters: list[Tensor | None] = []
        d_x = d_presence = None
        for depth in reversed(range(n_layers)):
            d_z = d_outputs[depth]
            if d_z is not None and ctx.graphs is not None:
                d_z = ctx.graphs[depth].sum_rows_backward(d_z)
            if d_x is not None:
                d_x = d_x.div_(ctx.between[depth][1])
                d_z = d_x if d_z is None else d_x.add_(d_z)
            if d_z is None:  # nobody has asked for this layer's output
                d_parameters[:0] = [None, None, None]
                continue
            saved = all_saved[n_saved * depth : n_saved * (depth + 1)]
            d_x, d_layer_presence, *d_layer = _compare_backward(
                d_z,
                saved,
                ctx.egonets[depth],
                ctx.kernel,
                ctx.presence,
                needs_d_x=depth > 0 or ctx.needs_input_grad[0],
                needs_d_parameters=any(ctx.needs_input_grad[-3 * n_layers :]),
            )
            d_parameters[:0] = d_layer
            if d_layer_presence is not None:
                d_presence = d_layer_presence + (0 if d_presence is None else d_presence)
        return d_x, None, None, None, None, d_presence, *d_parameters


def _compare(
    x: Tensor,
    egonets: CountMatrix,
    kernel: str,
    dictionary: Tensor,
    histogram: Tensor,
    temperature: Tensor,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The output of a layer, and what its derivative needs."""
    x, x_norm = _unit(x)
    words, word_norm, stretch = _stretched(dictionary, temperature)
    assignment = torch.softmax(_by_word(x @ words.T, histogram), dim=1).flatten(1)
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
    """The output of a layer, computed some rows at a time, which stay in the cache."""
    n_rows = max(1, PIECE_SIZE // histogram.numel())
    if x.device.type != "cpu" or max(len(x), len(egonets)) <= n_rows:
        return _compare(x, egonets, kernel, dictionary, histogram, temperature)[0]
    x, _ = _unit(x)
    words, _, _ = _stretched(dictionary, temperature)
    assignment = x.new_empty(len(x), histogram.numel())
    for some, result in zip(x.split(n_rows), assignment.split(n_rows), strict=True):
        logits = _by_word(some @ words.T, histogram)
        torch.softmax(logits, dim=1, out=_by_word(result, histogram))
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
    return (dictionary * stretch).transpose(0, 1).flatten(0, 1), norm, stretch


def _by_word(numbers: Tensor, histogram: Tensor) -> Tensor:
    """Numbers for all words of all masks, as an array of shape (n_rows, n_words, n_masks).

    The masks come last, because there are often more of them than words: along an axis as
    short as 8, torch's softmax is 20 times slower on processors with long registers.
    """
    return numbers.view(-1, *histogram.T.shape)


def _fit(h: Tensor, histogram: Tensor, kernel: str) -> Tensor:
    """The kernel of soft histograms and the learned one, which is then subtracted from h."""
    h = _by_word(h, histogram)
    mass = None if kernel == "l1" else h.sum(1).add_(histogram.abs().sum(-1))
    h -= histogram.T
    difference = h.abs().sum(1)
    if mass is None:
        return torch.rsub(difference, 1, alpha=0.5)  # 1 - difference / 2
    return mass.sub_(difference).div_(2)


def _compare_backward(
    d_z: Tensor,
    saved: tuple[Tensor, ...],
    egonets: CountMatrix,
    kernel: str,
    presence: Tensor | None,
    *,
    needs_d_x: bool,
    needs_d_parameters: bool,
) -> tuple[Tensor | None, ...]:
    """Gradients with respect to the input, the presence and the parameters of a layer."""
    x, x_norm, words, dictionary, word_norm, stretch, histogram, assignment, difference = saved
    half = d_z / 2
    d_h = _by_word(difference, histogram).sign()
    d_h *= half.neg().unsqueeze(1)
    d_assignment = egonets.sum_rows_backward(d_h.view_as(difference))
    d_presence = None
    if presence is not None:
        d_presence = torch.linalg.vecdot(d_assignment, assignment)
        if kernel == "intersection":  # besides, it adds to the mass of h
            d_presence += egonets.sum_rows_backward(half.sum(-1, keepdim=True))[:, 0]
    if not (needs_d_x or needs_d_parameters):
        return None, d_presence, None, None, None
    d_logits = torch._softmax_backward_data(
        _by_word(d_assignment, histogram), _by_word(assignment, histogram), 1, assignment.dtype
    ).view_as(assignment)
    if presence is not None:
        d_logits *= presence[:, None]
    d_x = None
    if needs_d_x:
        # Of a unit vector only the part of a gradient that turns it counts.
        d_x = d_logits @ words
        d_x = d_x.addcmul_(x, (d_x * x).sum(-1, keepdim=True), value=-1).div_(x_norm)
    if not needs_d_parameters:
        return d_x, d_presence, None, None, None
    d_histogram = d_h.sum(0).neg_().T.contiguous()
    if kernel == "intersection":
        # The mass of h is the size of the egonet: it does not depend on the words.
        d_histogram += histogram.sign() * half.sum(0).unsqueeze(-1)
    # The same for words; the part along a stretched word is the gradient of its stretch.
    d_words = _by_word(x.T @ d_logits, histogram).permute(2, 1, 0).contiguous()
    unit_words = dictionary / word_norm
    along = (d_words * unit_words).sum(-1, keepdim=True)
    d_dictionary = d_words.addcmul_(unit_words, along, value=-1).mul_(stretch)
    return d_x, d_presence, d_dictionary, d_histogram, along.sum((1, 2))
