"""Letters as outlines, which fit into nodes and stand beside bonds at every size."""

from __future__ import annotations

from typing import Any

import numpy as np

# Beyond this a label is cut.
N_LETTERS = 6


def shorten(label: Any, n_letters: int = N_LETTERS) -> str:
    """Return a label in one short line."""
    text = " ".join(str(label).split())
    return text if len(text) <= n_letters else text[: n_letters - 1] + "…"


def outline(text: str) -> Any:
    """Return the outline of a text as a matplotlib Path, of which capital letters have height 1."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.path import Path
    from matplotlib.textpath import text_to_path

    font = FontProperties()
    # Not as a formula: a label may hold any characters, such as "$".
    vertices, codes = text_to_path.get_text_path(font, text, ismath=False)
    capital, _ = text_to_path.get_text_path(font, "H", ismath=False)
    height = float(np.asarray(capital)[:, 1].max())
    return Path(np.asarray(vertices, dtype=float).reshape(-1, 2) / height, codes)


def moved(path: Any, scale: float, shift: Any) -> Any:
    """Return a path that is scaled first and shifted then."""
    from matplotlib.path import Path

    return Path(path.vertices * scale + np.asarray(shift, dtype=float), path.codes)


def box(path: Any) -> Any:
    """Return the corners (left, bottom) and (right, top) of a path."""
    if len(path.vertices) == 0:
        return np.zeros((2, 2))
    return np.array([path.vertices.min(axis=0), path.vertices.max(axis=0)])


def fitted(text: str, center: Any, radius: float) -> Any:
    """Return the outline of a text that fits into a circle."""
    path = outline(text)
    low, high = box(path)
    half = np.maximum((high - low) / 2, 1e-9)
    # The corners of the box stay inside of the circle, and short texts are not too large.
    scale = min(0.88 * radius / float(np.hypot(*half)), 0.95 * radius)
    return moved(path, scale, np.asarray(center) - (low + high) / 2 * scale)
