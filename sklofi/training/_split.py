"""Set graphs aside for early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def split_validation(
    strata: NDArray[Any], fraction: float, random_state: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Set a part of every stratum aside, but never its last member.

    Unlike scikit-learn's stratified splits this works for classes of one or two members
    and for parts too small to hold every class; the validation part may then be empty.
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
