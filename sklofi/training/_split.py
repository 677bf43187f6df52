"""Split validation graphs off the training graphs, for early stopping and cross-fitting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def split_validation(
    strata: NDArray[Any], fraction: float, random_state: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the members of all strata into a training part and a validation part.

    Every stratum keeps a member in the training part. Unlike the stratified splits of
    scikit-learn, this works for strata of one or two members, and for a validation part too small
    to have all strata. The validation part may be empty.

    Parameters
    ----------
    strata : ndarray of shape (n_graphs,)
        The stratum of each graph.

    fraction : float
        Share of the graphs in the validation part.

    random_state : RandomState
        Source of randomness.

    Returns
    -------
    training, validation : ndarray
        The graphs of each part, in ascending order.
    """
    order = random_state.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    _, first = np.unique(strata[order], return_index=True)
    candidates = np.delete(order, first)
    n_validation = min(max(1, round(fraction * len(strata))), len(candidates))
    # Evenly spaced positions in an order sorted by stratum: a stratified sample.
    step = len(candidates) / max(1, n_validation)
    positions = (np.arange(n_validation) + random_state.uniform()) * step
    validation = np.sort(candidates[positions.astype(np.int64)])
    return np.setdiff1d(order, validation), validation


def cross_parts(
    strata: NDArray[Any], fraction: float, n_members: int, seed: int
) -> list[NDArray[np.int64]]:
    """Return the graphs that each member of an ensemble leaves out.

    Graphs are cut into parts, each with all strata in proportion, and every member leaves out
    another one. If there are more members than parts, graphs are cut anew. A graph that is the
    only one of its stratum is never left out.

    Parameters
    ----------
    strata : ndarray of shape (n_graphs,)
        The stratum of each graph.

    fraction : float
        Share of the graphs in a part.

    n_members : int
        Number of members.

    seed : int
        Seed of all that is random.

    Returns
    -------
    parts : list of ndarray
        Of each member the graphs that it leaves out, in ascending order; there may be none.
    """
    random_state = np.random.RandomState(seed)
    _, codes, sizes = np.unique(strata, return_inverse=True, return_counts=True)
    n_parts = min(max(2, round(1 / fraction)), int(sizes[sizes > 1].sum()))
    if n_parts == 0:
        return [np.empty(0, dtype=np.int64)] * n_members
    parts: list[NDArray[np.int64]] = []
    while len(parts) < n_members:
        order = random_state.permutation(len(strata))
        order = order[np.argsort(codes[order], kind="stable")]
        order = order[sizes[codes[order]] > 1]
        # Dealt out in an order sorted by stratum, from some part on, to all parts in turn.
        part_of = (np.arange(len(order)) + random_state.randint(n_parts)) % n_parts
        parts += [np.sort(order[part_of == part]) for part in range(n_parts)]
    return parts[:n_members]
