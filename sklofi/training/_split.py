"""Split validation graphs off the training graphs, for early stopping."""

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
