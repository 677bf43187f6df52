"""Put outlines on matplotlib axes, and choose what part of the plane axes show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Width and height of a place in a grid of pictures, and of a picture alone, in inches.
CELL, LONE_CELL = (3.1, 2.7), (4.6, 3.6)
ASPECT = 1.3  # of what is left of it below a title
SMALLEST = 5.0  # what is shown at least, in units of an edge: a lone bond does not fill a page
INK = "0.1"


def add_outlines(ax: Any, outlines: Sequence[Any], colors: Any = INK, zorder: float = 2) -> None:
    """Fill polygons, with a hair line around them, so that they can be seen at every size.

    Those of one color are one path, which makes files smaller.
    """
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    paths = [Path(_close(outline), closed=True) for outline in outlines]
    collection = PathCollection(
        [Path.make_compound_path(*paths)] if isinstance(colors, str) else paths,
        facecolors=colors,
        edgecolors="face",
        linewidths=0.25,
        joinstyle="round",
        snap=False,
        zorder=zorder,
    )
    ax.add_collection(collection, autolim=False)


def _close(outline: Any) -> NDArray[np.float64]:
    """Return a closed polygon that turns left, so that those which overlap do not cancel out."""
    x, y = outline.T
    area = np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))
    corners = outline if area >= 0 else outline[::-1]
    return np.concatenate([corners, corners[:1]])


def add_discs(ax: Any, centers: Any, radius: float, colors: Any, zorder: float = 3) -> None:
    """Draw discs of equal size, in units of the axes."""
    from matplotlib.collections import EllipseCollection

    collection = EllipseCollection(
        [2 * radius],
        [2 * radius],
        [0],
        units="xy",
        offsets=np.reshape(centers, (-1, 2)),
        offset_transform=ax.transData,
        facecolors=colors,
        linewidths=0,
        zorder=zorder,
    )
    ax.add_collection(collection, autolim=False)


def add_letters(ax: Any, path: Any, text: str, color: Any = "black", zorder: float = 5) -> None:
    """Draw the outline of a text; the label of the artist is the text."""
    from matplotlib.patches import PathPatch

    # On the grid of pixels, thin parts of letters would be lost.
    style = {"facecolor": color, "linewidth": 0, "snap": False, "zorder": zorder}
    ax.add_artist(PathPatch(path, label=text, **style))


def frame(axes: Sequence[Any], extents: Sequence[NDArray[np.float64]], most: float = 2.0) -> None:
    """Let axes show what is drawn on them, at the same scale unless sizes differ too much.

    An extent has the corners (left, bottom) and (right, top) of what is drawn. For the sake of a
    common scale, axes show at most `most` times as much as they need.
    """
    sizes = np.diff(np.asarray(extents), axis=1)[:, 0]
    own = np.maximum(1.04 * np.maximum(sizes[:, 0], ASPECT * sizes[:, 1]), SMALLEST)
    shared = min(float(own.max()), 1.5 * float(np.median(own)))
    for ax, extent, shown in zip(axes, extents, np.clip(shared, own, most * own), strict=True):
        x, y = extent.mean(axis=0)
        ax.set_axis_off()
        ax.set_aspect("equal")
        ax.set(
            xlim=(x - shown / 2, x + shown / 2),
            ylim=(y - shown / ASPECT / 2, y + shown / ASPECT / 2),
        )


def points_per_unit(ax: Any) -> float:
    """Return about how many points of a page one unit of the axes is."""
    size = ax.bbox.size * 72 / ax.figure.dpi
    shown = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())])
    return float((size / shown).min())
