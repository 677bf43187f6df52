"""Labels beside points, each as near as there is room for it.

Everything is in pixels. A box is a row (left, bottom, right, top); a line is many points.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

# Where a label may stand: direction and distance from its point (in points of 1/72 inch).
ANGLES = np.deg2rad(np.arange(0, 360, 15))
DISTANCES = np.array([5, 8, 12, 17, 23, 30, 38, 48, 60])
NEAR = 8  # a label no farther than this needs no line to its point


def place_labels(
    ax: Axes,
    points: np.ndarray,
    texts: Sequence[Text],
    keep_free: np.ndarray,
    lines: Sequence[np.ndarray] = (),
) -> np.ndarray:
    """Move texts beside their points, the first ones first.

    Parameters
    ----------
    ax : Axes
        With its final limits and size.

    points : ndarray of shape (n_points, 2)
        What the texts name.

    texts : sequence of Text
        One for each point, centered, with coordinates of the axes (`transform=ax.transAxes`).

    keep_free : ndarray of shape (n_boxes, 4)
        What labels should not hide, such as markers.

    lines : sequence of ndarrays of shape (n, 2)
        What they should not be written on.

    Returns
    -------
    boxes : ndarray of shape (n_points, 4)
        Where the texts stand.
    """
    unit = ax.figure.dpi / 72
    to_axes = ax.transAxes.inverted()
    boxes, lines = np.empty((0, 4)), list(lines)
    for text, point in zip(texts, points, strict=True):
        extent = text.get_window_extent()
        places, edges, distances = around(point, extent.width, extent.height, unit)
        penalties = distances + clutter(places, edges, point, ax.bbox.extents, boxes, lines)
        penalties += 100 * n_overlaps(places, keep_free)
        best = int(np.argmin(penalties))
        boxes = np.vstack([boxes, places[best]])
        text.set_position(to_axes.transform(places[best].reshape(2, 2).mean(axis=0)))
        if distances[best] > NEAR + 3:
            lines.append(np.linspace(point, edges[best], 12))
            ends = to_axes.transform([point, edges[best]])
            ax.plot(*ends.T, color=text.get_color(), linewidth=0.5, alpha=0.6, zorder=1,
                    transform=ax.transAxes, scalex=False, scaley=False)  # fmt: skip
    return boxes


def around(
    point: np.ndarray, width: float, height: float, unit: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes around a point, the place where each is nearest to it, and how far that is."""
    directions = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    edges = point + unit * (DISTANCES[:, None, None] * directions).reshape(-1, 2)
    half = np.array([width, height]) / 2
    centers = edges + np.tile(directions, (len(DISTANCES), 1)) * half
    # Beside a point reads better than above it.
    distances = (DISTANCES[:, None] + 3 * np.abs(directions[:, 1])).ravel()
    return np.hstack([centers - half, centers + half]), edges, distances


def clutter(
    places: np.ndarray,
    edges: np.ndarray,
    point: np.ndarray,
    inside: np.ndarray,
    boxes: np.ndarray,
    lines: list[np.ndarray],
) -> np.ndarray:
    """What speaks against places: the border, other labels, and lines across labels."""
    is_out = (places[:, :2] < inside[:2]).any(axis=1) | (places[:, 2:] > inside[2:]).any(axis=1)
    penalties = 10_000.0 * is_out + 2_000 * n_overlaps(places, boxes)
    for line in lines:
        penalties += 300 * (n_overlaps(places, np.hstack([line, line])) > 0)
    for step in np.linspace(0, 1, 8):
        ends = point + step * (edges - point)
        penalties += 100 * n_overlaps(np.hstack([ends, ends]), boxes)
    return penalties


def n_overlaps(boxes: np.ndarray, others: np.ndarray, margin: float = 1.0) -> np.ndarray:
    """How many of the others each box meets."""
    lower = np.maximum(boxes[:, None, :2], others[None, :, :2])
    upper = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return (lower <= upper + margin).all(axis=-1).sum(axis=1)
