"""Draw graphs with matplotlib."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import networkx as nx
import numpy as np

# The color of what a figure is about.
STRONG = "#b2182b"

# Beyond this a layout by all distances takes too long.
N_EXACT_LAYOUT = 200


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


def layout(graph: nx.Graph) -> dict[Hashable, Any]:
    """Return positions of the nodes; parts that are not connected stand side by side."""
    undirected = nx.Graph()
    undirected.add_nodes_from(graph)
    undirected.add_edges_from(edge[:2] for edge in graph.edges)
    positions: dict[Hashable, Any] = {}
    left = 0.0
    for part in sorted(nx.connected_components(undirected), key=len, reverse=True):
        # In the order of the graph, because sets of names have another one in every process.
        piece = nx.Graph()
        piece.add_nodes_from(node for node in graph if node in part)
        piece.add_edges_from(edge for edge in undirected.edges if edge[0] in part)
        if len(piece) <= N_EXACT_LAYOUT:
            found = nx.kamada_kawai_layout(piece)
        else:
            found = nx.spring_layout(piece, seed=0)
        places = np.array([found[node] for node in piece]).reshape(-1, 2)
        places = _lie_flat(places) * np.sqrt(len(piece))
        places += [left - places[:, 0].min(), -places[:, 1].mean()]
        left = places[:, 0].max() + 1
        positions.update(zip(piece, places, strict=True))
    return positions


def _lie_flat(places: Any) -> Any:
    """Turn points so that their longest extent is horizontal."""
    centered = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    # The sign of a singular vector is arbitrary: let the largest entry be positive.
    axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    return np.pad(centered @ axes.T, ((0, 0), (0, 2 - len(axes))))


def draw_graph(
    graph: nx.Graph,
    ax: Any,
    *,
    node_label: Hashable | None,
    label_names: Mapping[Hashable, str] | None = None,
    colors: Any = "0.92",
    outlined: Hashable | None = None,
    edge_label: Hashable | None = None,
) -> None:
    """Draw a graph with the labels of its nodes and edges, and a bold outline around a node."""
    positions = layout(graph)
    size = float(np.clip(2600 / (4 + len(graph)), 12, 260))
    ax.set_axis_off()
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.12)
    arrows = {"arrowsize": 7, "node_size": size} if graph.is_directed() else {}
    nx.draw_networkx_edges(graph, positions, ax=ax, width=1.1, edge_color="0.55", **arrows)
    nx.draw_networkx_nodes(
        graph,
        positions,
        ax=ax,
        node_size=size,
        node_color=colors,
        edgecolors="black",
        linewidths=[2.2 if node == outlined else 0.6 for node in graph],
    )
    if size < 40:  # no room for letters
        return
    _write_on_edges(graph, ax, positions, edge_label, np.sqrt(size) * 0.5)
    labels = {
        node: str((label_names or {}).get(label, label))
        for node, label in graph.nodes(data=node_label)
        if label is not None
    }
    shades = {node: _shade(color) for node, color in zip(graph, _rows(colors, graph), strict=True)}
    for shade in set(shades.values()):
        texts = {node: text for node, text in labels.items() if shades[node] == shade}
        nx.draw_networkx_labels(
            graph, positions, texts, ax=ax, font_size=np.sqrt(size) * 0.62, font_color=shade
        )


def _write_on_edges(
    graph: nx.Graph, ax: Any, positions: Any, edge_label: Hashable | None, font_size: float
) -> None:
    """Write labels on the middles of edges, those of parallel edges side by side."""
    if edge_label is None:
        return
    labels: dict[Any, list[str]] = {}
    for start, end, label in graph.edges(data=edge_label):
        if label is not None:
            text = str(label)
            # In a directed graph, both edges between two nodes are one line.
            key = (end, start) if (end, start) in labels else (start, end)
            if text not in labels.setdefault(key, []):
                labels[key].append(text)
    for (start, end), texts in labels.items():
        x, y = (positions[start] + positions[end]) / 2
        box = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none"}
        ax.text(
            *(x, y, ", ".join(texts)),
            size=font_size,
            color="0.3",
            ha="center",
            va="center",
            bbox=box,
        )


def _rows(colors: Any, graph: nx.Graph) -> Any:
    return [colors] * len(graph) if isinstance(colors, str) else colors


def _shade(color: Any) -> str:
    """Return the color of letters that can be read on a color."""
    from matplotlib.colors import to_rgb

    return "white" if np.dot(to_rgb(color), [0.299, 0.587, 0.114]) < 0.45 else "black"
