"""What tests of displays share."""

import io

from matplotlib.collections import EllipseCollection, PathCollection
from matplotlib.patches import PathPatch

QUICK = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 4,
    "n_words": 3,
    "max_epochs": 5,
    "random_state": 0,
}


def texts(ax):
    return [text.get_text() for text in ax.texts]


def letters(ax):
    """Texts that are drawn as outlines."""
    return [artist.get_label() for artist in ax.patches if isinstance(artist, PathPatch)]


def outlines(ax):
    """For each collection of outlines, from the back to the front, their closed polygons."""
    found = [artist for artist in ax.collections if isinstance(artist, PathCollection)]
    return [
        [polygon for path in artist.get_paths() for polygon in path.to_polygons()]
        for artist in sorted(found, key=lambda artist: artist.zorder)
    ]


def disc_colors(ax):
    """The colors of nodes or atoms."""
    found = [artist for artist in ax.collections if isinstance(artist, EllipseCollection)]
    return max(found, key=lambda artist: artist.zorder).get_facecolor()


def svg_of(figure):
    file = io.StringIO()
    figure.savefig(file, format="svg")
    return file.getvalue()
