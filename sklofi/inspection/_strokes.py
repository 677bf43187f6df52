"""The outlines of bonds and of letters, in units of the length of a bond.

Everything is an outline that is filled, so that lines and letters keep their proportions to each
other however large a picture is, and are vectors in files that can have them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Outline = NDArray[np.float64]  # (n_corners, 2)

WIDTH = 0.055  # of a line
GAP = 0.17  # between the lines of a double bond
N_DASHES = 5

SINGLE, AROMATIC, DOUBLE, TRIPLE, QUADRUPLE = 1.0, 1.5, 2.0, 3.0, 4.0
DASHED = 0.0  # a bond without an order
SHIFTS = {TRIPLE: (-0.85, 0.0, 0.85), QUADRUPLE: (-1.0, -0.35, 0.35, 1.0)}  # in gaps

NAMES = {
    **dict.fromkeys(["single", "-"], SINGLE),
    **dict.fromkeys(["aromatic", ":"], AROMATIC),
    **dict.fromkeys(["double", "="], DOUBLE),
    **dict.fromkeys(["triple", "#"], TRIPLE),
}
NUMBERS = {SINGLE, AROMATIC, DOUBLE, TRIPLE}


def bond_orders(labels: Iterable[Hashable]) -> dict[Hashable, float]:
    """Return the orders of bonds that labels of edges name, by label.

    Names and numbers are orders. If one of the numbers is none, as in 0, 1, 2 and 3, all
    numbers are taken for names of something else.
    """
    labels = set(labels)
    numbers = {label for label in labels if _is_number(label)}
    orders: dict[Hashable, float] = {}
    if numbers <= NUMBERS:
        orders.update((label, float(label)) for label in numbers)  # type: ignore[arg-type]
    for label in labels - numbers:
        name = str(getattr(label, "name", label)).lower()  # the types of RDKit have names
        if name in NAMES:
            orders[label] = NAMES[name]
    return orders


def _is_number(label: Hashable) -> bool:
    is_number = isinstance(label, (int, float, np.integer, np.floating))
    return is_number and not isinstance(label, bool) and not hasattr(label, "name")


def line_outline(start: Any, end: Any, width: float = WIDTH) -> Outline:
    """Return a straight line."""
    across = _across(start, end) * width / 2
    return np.array([start + across, end + across, end - across, start - across])


def strokes(
    start: Any,
    end: Any,
    order: float,
    *,
    side: int = 0,
    trim: Any = (0, 0),
    scale: float = 1.0,
) -> list[Outline]:
    """Return the lines of a bond.

    Parameters
    ----------
    start, end : ndarray of shape (2,)
        Where the bond begins and ends.

    order : float
        Its order; 1.5 is an aromatic bond.

    side : int, default=0
        Of a double or an aromatic bond, whether the second line is on the left (1) or right
        (-1) of the first one; 0 puts both at equal distances from the middle.

    trim : tuple of float, default=(0, 0)
        What is cut off both ends of a second line on a side.

    scale : float, default=1.0
        How wide lines and gaps are, relative to the usual width.
    """
    across, width = _across(start, end) * GAP * scale, WIDTH * scale
    along = _unit(end - start)
    if order == DASHED:
        return dashes(start, end, width)
    if order in (AROMATIC, DOUBLE):
        shift = across * (side or 0.5)
        first = (start, end) if side else (start - shift, end - shift)
        second = start + shift + along * trim[0], end + shift - along * trim[1]
        is_dashed = order == AROMATIC
        return [
            line_outline(*first, width),
            *(dashes(*second, width) if is_dashed else [line_outline(*second, width)]),
        ]
    shifts = SHIFTS.get(order, (0.0,))
    return [line_outline(start + shift * across, end + shift * across, width) for shift in shifts]


def dashes(start: Any, end: Any, width: float = WIDTH) -> list[Outline]:
    """Return a dashed line."""
    at = np.linspace(0, 1, 2 * N_DASHES)
    ends = start + at[:, None] * (end - start)
    return [line_outline(*pair, width) for pair in zip(ends[::2], ends[1::2], strict=True)]


def wedge(start: Any, end: Any) -> Outline:
    """Return a bond towards the reader, which begins at a stereocenter."""
    across = _across(start, end)
    tip, base = across * WIDTH / 2, across * GAP / 2
    return np.array([start + tip, end + base, end - base, start - tip])


def hashes(start: Any, end: Any) -> list[Outline]:
    """Return a bond away from the reader, which begins at a stereocenter."""
    across = _across(start, end)
    n_lines = max(4, round(float(np.linalg.norm(end - start)) / (1.9 * WIDTH)))
    lines = []
    for at in np.linspace(0.06, 1, n_lines):
        middle, half = start + at * (end - start), across * (WIDTH + at * (GAP - WIDTH)) / 2
        lines.append(line_outline(middle - half, middle + half, 0.9 * WIDTH))
    return lines


def wave(start: Any, end: Any) -> Outline:
    """Return a bond of which it is not known whether it is a wedge."""
    at = np.linspace(0, 1, 41)
    swing = np.sin(at * 8 * np.pi) * GAP / 3
    middle = start + at[:, None] * (end - start) + swing[:, None] * _across(start, end)
    half = _across(start, end) * WIDTH / 2
    return np.concatenate([middle + half, (middle - half)[::-1]])


def arrow_head(start: Any, end: Any, size: float = 0.2) -> Outline:
    """Return the head of an arrow that ends at `end`."""
    back = end - _unit(end - start) * size
    across = _across(start, end) * size * 0.4
    return np.array([end, back + across, back - across])


def ring_outline(center: Any, radius: float, width: float = WIDTH) -> Outline:
    """Return a circle of a line, for an edge from a node to itself."""
    angles = np.linspace(0, 2 * np.pi, 33)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate(
        [center + circle * (radius + width / 2), center + circle[::-1] * (radius - width / 2)]
    )


def _unit(vector: Any) -> Any:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def _across(start: Any, end: Any) -> Any:
    """Return a vector of length 1 to the left of the direction from start to end."""
    x, y = _unit(end - start)
    return np.array([-y, x])
