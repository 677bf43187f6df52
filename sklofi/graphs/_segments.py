"""Arithmetic of offsets: flat arrays cut into segments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def offsets_of(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where segments of given lengths begin, and where the last one ends.

    >>> offsets_of(np.array([2, 3, 1]))
    array([0, 2, 5, 6])
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def segments_of(
    offsets: NDArray[np.integer], positions: NDArray[np.integer] | int
) -> NDArray[np.int64]:
    """Return the segment of a flat array that each position is in.

    >>> segments_of(np.array([0, 2, 5, 6]), np.array([5, 0, 1]))
    array([2, 0, 0])
    """
    return np.searchsorted(offsets, positions, side="right") - 1


def take_segments(
    offsets: NDArray[np.integer], segments: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the items of given segments, and their new offsets.

    >>> take_segments(np.array([0, 2, 5, 6]), np.array([2, 0]))
    (array([5, 0, 1]), array([0, 1, 3]))
    """
    starts = offsets[segments]
    lengths = offsets[segments + 1] - starts
    taken = offsets_of(lengths)
    return np.arange(taken[-1]) + np.repeat(starts - taken[:-1], lengths), taken
