"""LoFI layers in fewer operations: the numbers of the formula, the derivative by hand.

The formula itself is in :meth:`sklofi.nn.LoFILayer.forward`, and the tests hold what is
here equal to it. A training step on small graphs is hundreds of calls of tiny operations:
by hand, a layer needs half as many, and all layers together are one step for autograd.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from sklofi.nn._count_matrix import CountMatrix, refuse_second_derivatives, sum_groups
from sklofi.nn._related_egonets import RelatedEgonets

# Dictionary, histogram, temperature, and the offsets of relations if members have them.
LayerParameters = tuple[Tensor, Tensor, Tensor, Tensor | None]

N_PARAMETERS = 4

Egonets = CountMatrix | RelatedEgonets


Constants = tuple[Tensor, Tensor]  # mean, scale


# The smallest norm that a vector is divided by, as in torch.nn.functional.normalize.
EPS = 1e-12


# Numbers in an array that stays in the cache of a core (2 MiB).
NUMBERS_IN_CACHE = 2**19


LOG2_E = 1 / math.log(2)

# Logits up to this size have powers, and sums of powers, that are ordinary numbers of 32 bits.
LARGEST_LOGIT = 70

# In arrays of fewer numbers than this, softmax is faster than powers of 2: it is a single call.
MANY_NUMBERS = 2**16


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


def _compare_histograms(h: Tensor, histogram: Tensor, kernel: str) -> Tensor:
    """Return the kernel of soft histograms and the learned one; h becomes their difference."""
    h = _by_word(h, histogram)
    mass = None if kernel == "l1" else h.sum(1).add_(histogram.abs().sum(-1))
    h -= histogram.T.contiguous()  # in the order of h: ten times as fast
    difference = h.abs().sum(1)
    if mass is None:
        return torch.rsub(difference, 1, alpha=0.5)  # 1 - difference / 2
    return mass.sub_(difference).div_(2)


def _parts_of_pairs(
    x: Tensor, words: Tensor, temperature: Tensor, egonets: RelatedEgonets, offset: Tensor | None
) -> tuple[Tensor, bool]:
    """Return logits of nodes and offsets of kinds, and whether they are to base 2.

    The logit of a pair is the sum of two of these rows.
    """
    if offset is None:
        raise ValueError(
            "Members of egonets have relations to the center, but the layer was made without"
            " them: pass n_relations to LoFILayer."
        )
    vectors = egonets.vectors.to(offset.dtype)
    rows = x.new_empty(len(x) + len(vectors), len(words))
    logits, offsets = rows.tensor_split([len(x)])
    torch.mm(vectors, offset.permute(2, 1, 0).flatten(1), out=offsets)
    is_base_2 = (
        len(egonets.pairs) * len(words) >= MANY_NUMBERS
        and temperature.abs().max().item() + offsets.abs().max().item() <= LARGEST_LOGIT
    )
    if is_base_2:
        words = words * LOG2_E
        offsets *= LOG2_E
    torch.mm(x, words.T, out=logits)
    return rows, is_base_2


def _assign_pairs(logits: Tensor, histogram: Tensor, is_base_2: bool, out: Tensor) -> Tensor:
    """Turn the logits of pairs into their soft assignment to words.

    Powers of 2 take a fraction of the time of torch's softmax, and those of small logits need
    no maximum to stay finite.
    """
    by_word, out_by_word = _by_word(logits, histogram), _by_word(out, histogram)
    if is_base_2:
        n_masks, n_words = histogram.shape
        masses = sum_groups(by_word.exp2_().view(-1, n_masks), n_words)
        torch.mul(by_word, masses.reciprocal_().unsqueeze(1), out=out_by_word)
    else:
        torch.softmax(by_word, dim=1, out=out_by_word)
    return out


def _compare(
    x: Tensor,
    egonets: Egonets,
    kernel: str,
    dictionary: Tensor,
    histogram: Tensor,
    temperature: Tensor,
    offset: Tensor | None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The output of a layer, and what its derivative needs."""
    x, x_norm = _unit(x)
    words, word_norm, stretch = _stretched(dictionary, temperature)
    if isinstance(egonets, RelatedEgonets):
        rows, is_base_2 = _parts_of_pairs(x, words, temperature, egonets, offset)
        logits = egonets.pairs.sum_rows(rows)
        assignment = _assign_pairs(logits, histogram, is_base_2, out=logits)
        egonets = egonets.members
    else:
        by_word = _by_word(x @ words.T, histogram)
        # Softmax in place, here and below: less memory to pass.
        assignment = torch.softmax(by_word, dim=1, out=by_word).flatten(1)
    h = egonets.sum_rows(assignment)
    z = _compare_histograms(h, histogram, kernel)
    return z, (x, x_norm, words, dictionary, word_norm, stretch, histogram, assignment, h)


def _compare_in_pieces(
    x: Tensor,
    egonets: Egonets,
    kernel: str,
    dictionary: Tensor,
    histogram: Tensor,
    temperature: Tensor,
    offset: Tensor | None,
) -> Tensor:
    """The output of a layer, computed some rows at a time, which stay in the cache."""
    members = egonets.members if isinstance(egonets, RelatedEgonets) else egonets
    n_assigned = len(egonets.pairs) if isinstance(egonets, RelatedEgonets) else len(x)
    n_rows = max(1, NUMBERS_IN_CACHE // histogram.numel())
    if x.device.type != "cpu" or max(n_assigned, len(egonets)) <= n_rows:
        return _compare(x, egonets, kernel, dictionary, histogram, temperature, offset)[0]
    x, _ = _unit(x)
    words, _, _ = _stretched(dictionary, temperature)
    assignment = x.new_empty(n_assigned, histogram.numel())
    results = torch.split(assignment, n_rows)
    if isinstance(egonets, RelatedEgonets):
        rows, is_base_2 = _parts_of_pairs(x, words, temperature, egonets, offset)
        for piece, result in zip(egonets.pairs.pieces(n_rows), results, strict=True):
            _assign_pairs(piece.sum_rows(rows), histogram, is_base_2, out=result)
    else:
        for part, result in zip(torch.split(x, n_rows), results, strict=True):
            logits, by_word = _by_word(part @ words.T, histogram), _by_word(result, histogram)
            torch.softmax(logits, dim=1, out=by_word)
    pieces = members.pieces(n_rows)
    return torch.cat(
        [_compare_histograms(piece.sum_rows(assignment), histogram, kernel) for piece in pieces]
    )


def _compare_backward(
    d_z: Tensor,
    saved: tuple[Tensor, ...],
    egonets: Egonets,
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
    members = egonets.members if isinstance(egonets, RelatedEgonets) else egonets
    d_assignment = members.sum_rows_backward(d_h.view_as(difference))
    d_presence = None
    if presence is not None:
        d_presence = torch.linalg.vecdot(d_assignment, assignment)
        if kernel == "intersection":  # besides, it adds to the mass of h
            d_presence += members.sum_rows_backward(half.sum(-1, keepdim=True))[:, 0]
        if isinstance(egonets, RelatedEgonets):
            d_presence = egonets.pairs.sum_rows_backward(d_presence[:, None])[: len(x), 0]
            presence = presence[egonets.nodes]
    if not (needs_d_x or needs_d_parameters):
        return None, d_presence, None, None, None, None
    by_word = _by_word(d_assignment, histogram)
    d_logits = torch._softmax_backward_data(
        by_word, _by_word(assignment, histogram), 1, assignment.dtype, grad_input=by_word
    ).view_as(assignment)
    if presence is not None:
        d_logits *= presence[:, None]
    d_offset = None
    if isinstance(egonets, RelatedEgonets):
        d_logits, d_table = egonets.pairs.sum_rows_backward(d_logits).tensor_split([len(x)])
        vectors = egonets.vectors.to(d_table.dtype)
        d_offset = _by_word(vectors.T @ d_table, histogram).permute(2, 1, 0).contiguous()
    d_x = None
    if needs_d_x:
        # Of a unit vector only the part of a gradient that turns it counts.
        d_x = d_logits @ words
        d_x = d_x.addcmul_(x, (d_x * x).sum(-1, keepdim=True), value=-1).div_(x_norm)
    if not needs_d_parameters:
        return d_x, d_presence, None, None, None, None
    d_histogram = d_h.sum(0).neg_().T.contiguous()
    if kernel == "intersection":
        # The mass of h is the size of the egonet: it does not depend on the words.
        d_histogram += histogram.sign() * half.sum(0).unsqueeze(-1)
    # The same for words; the part along a stretched word is the gradient of its stretch.
    d_words = _by_word(x.T @ d_logits, histogram).permute(2, 1, 0).contiguous()
    unit_words = dictionary / word_norm
    along = (d_words * unit_words).sum(-1, keepdim=True)
    d_dictionary = d_words.addcmul_(unit_words, along, value=-1).mul_(stretch)
    return d_x, d_presence, d_dictionary, d_histogram, along.sum((1, 2)), d_offset


def standardize(x: Tensor, constants: Constants) -> Tensor:
    mean, scale = constants
    return (x - mean) / scale


class _FastLoFI(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        egonets: Sequence[Egonets],
        graphs: Sequence[CountMatrix] | None,
        kernel: str,
        between: Sequence[Constants],
        presence: Tensor | None,
        *parameters: Tensor | None,
    ) -> tuple[Tensor, ...]:
        outputs: list[Tensor] = []
        saved: list[Tensor] = []
        for depth, matrix in enumerate(egonets):
            if presence is not None:
                matrix = matrix.scale_columns(presence)
            of_layer: Any = parameters[N_PARAMETERS * depth : N_PARAMETERS * (depth + 1)]
            z, intermediates = _compare(x, matrix, kernel, *of_layer)
            outputs.append(z if graphs is None else graphs[depth].sum_rows(z))
            saved += intermediates
            if depth < len(egonets) - 1:
                x = standardize(z, between[depth])
        ctx.save_for_backward(*saved)
        ctx.egonets, ctx.graphs, ctx.kernel, ctx.between = egonets, graphs, kernel, between
        ctx.presence = presence
        ctx.set_materialize_grads(False)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *d_outputs: Tensor | None) -> tuple[Any, ...]:
        refuse_second_derivatives()
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
            if d_z is None:  # the loss does not depend on this layer's output
                d_parameters[:0] = [None] * N_PARAMETERS
                continue
            saved = all_saved[n_saved * depth : n_saved * (depth + 1)]
            d_x, d_layer_presence, *d_layer = _compare_backward(
                d_z,
                saved,
                ctx.egonets[depth],
                ctx.kernel,
                ctx.presence,
                needs_d_x=depth > 0 or ctx.needs_input_grad[0],
                needs_d_parameters=any(ctx.needs_input_grad[-N_PARAMETERS * n_layers :]),
            )
            d_parameters[:0] = d_layer
            if d_layer_presence is not None:
                d_presence = d_layer_presence + (0 if d_presence is None else d_presence)
        return d_x, None, None, None, None, d_presence, *d_parameters


def fast_lofi(
    x: Tensor,
    egonets: Sequence[Egonets],
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

    egonets : sequence of CountMatrix or RelatedEgonets
        Egonets as each layer sees them.

    kernel : {"l1", "intersection"}

    parameters : sequence of (dictionary, histogram, temperature, offset)
        Of each layer.

    graphs : sequence of CountMatrix, default=None
        If given, the outputs of each layer are summed over graphs.

    between : sequence of (mean, scale)
        What standardizes the output of a layer as the input of the next, for all layers
        but the last.

    presence : Tensor of shape (n_nodes,), default=None
        How much of each node is a member of egonets, from 0 to 1; by default all of it.
        All layers have to see the same nodes.

    Returns
    -------
    outputs : tuple of Tensor of shape (n_egonets, n_masks), or (n_graphs, n_masks)
    """
    if torch.is_grad_enabled():
        recorded: tuple[Tensor, ...] = _FastLoFI.apply(  # type: ignore[no-untyped-call]
            x, egonets, graphs, kernel, between, presence, *chain.from_iterable(parameters)
        )
        return recorded
    if presence is not None:
        egonets = [matrix.scale_columns(presence) for matrix in egonets]
    outputs: list[Tensor] = []
    for depth, (matrix, of_layer) in enumerate(zip(egonets, parameters, strict=True)):
        if depth:
            x = standardize(outputs[-1], between[depth - 1])
        outputs.append(_compare_in_pieces(x, matrix, kernel, *of_layer))
    if graphs is None:
        return tuple(outputs)
    return tuple(matrix.sum_rows(z) for matrix, z in zip(graphs, outputs, strict=True))
