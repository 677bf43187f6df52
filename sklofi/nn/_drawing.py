"""Nodes and egonets that are drawn as often as they occur, whatever their order.

The same graphs give the same draws, whether their nodes are numbered otherwise or merged where
they are alike. So what is drawn goes along keys: numbers that are made of features and
neighborhoods alone.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._lofi_autograd import NUMBERS_IN_CACHE
from sklofi.nn._related_egonets import RelatedEgonets


def draw(
    counts: Tensor, keys: Tensor, n_draws: int, generator: torch.Generator | None = None
) -> Tensor:
    """Return positions of nodes or egonets, drawn as often as they occur.

    They are drawn along the order of their keys, so that neither their numbering matters
    nor whether equal ones were merged.

    Parameters
    ----------
    counts : Tensor of shape (n_items,)
        How often each of them occurs.

    keys : Tensor of shape (n_items,)
        Numbers that differ where they do.

    n_draws : int
        How many to draw.

    generator : torch.Generator, default=None
        Source of randomness; None is torch's global generator.

    Returns
    -------
    positions : Tensor of shape (n_draws,)
        Positions in `counts`, on CPU.
    """
    order = keys.argsort().cpu()
    ends = counts.cpu().double()[order].cumsum(0)
    places = ends.new_empty(n_draws).uniform_(generator=generator) * ends[-1]
    return order[torch.searchsorted(ends, places, right=True).clamp_max(len(order) - 1)]


def first_keys(x: Tensor) -> Tensor:
    """Return numbers that differ where rows do, of shape (n_nodes,)."""
    directions = torch.linspace(1, 2, x.shape[1], dtype=torch.float64, device=x.device)
    pieces = torch.split(x, max(1, NUMBERS_IN_CACHE // x.shape[1]))  # one number is left of a row
    return torch.cat([torch.sin(directions * (1 + piece.double())).sum(1) for piece in pieces])


def member_keys(keys: Tensor, egonets: CountMatrix | RelatedEgonets) -> Tensor:
    """Return numbers that differ where members do, from those of nodes."""
    if isinstance(egonets, CountMatrix):
        return keys
    of_kinds = first_keys(egonets.vectors)
    # An irrational factor, so that no node in one relation looks like another in another.
    return torch.sin(keys[egonets.nodes]) + math.e * of_kinds[egonets.kinds(len(keys))]


def next_keys(keys: Tensor, egonets: CountMatrix | RelatedEgonets) -> Tensor:
    """Return numbers that differ where egonets do, from those of nodes.

    A mean and a small factor, so that rounding does not grow from layer to layer.
    """
    keys = member_keys(keys, egonets)
    members = egonets if isinstance(egonets, CountMatrix) else egonets.members
    sums = members.sum_rows(torch.stack([torch.sin(keys), torch.ones_like(keys)], dim=1))
    total, size = sums.unbind(1)
    return 3 * total / size.clamp_min(1) + torch.sin(size)
