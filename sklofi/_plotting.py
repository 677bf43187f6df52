"""What all figures share."""

from __future__ import annotations

from typing import Any

# The color of what a figure is about.
STRONG = "#b2182b"


def import_pyplot(needed_by: str) -> Any:
    """Return matplotlib.pyplot, or raise an ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        message = f"{needed_by} needs matplotlib: pip install matplotlib."
        raise ImportError(message) from error
    return plt


def place_on_figure(what: str, ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return a figure, and the place on it where several axes can be put."""
    plt = import_pyplot(what)
    if ax is None:
        figure = plt.figure(figsize=size, layout="constrained")
        return figure, figure.add_gridspec(1, 1)[0]
    if not hasattr(ax, "get_subplotspec"):
        raise TypeError(f"ax has to be one matplotlib Axes, got {type(ax).__name__}.")
    ax.set_axis_off()
    if (place := ax.get_subplotspec()) is not None:
        return ax.figure, place
    box = ax.get_position()  # put there by hand
    sides = {"left": box.x0, "right": box.x1, "bottom": box.y0, "top": box.y1}
    return ax.figure, ax.figure.add_gridspec(1, 1, **sides)[0]
