"""Draw networkx graphs, with colored nodes and edges, and with the orders of bonds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi.inspection._canvas import (
    INK,
    add_discs,
    add_letters,
    add_outlines,
    points_per_unit,
)
from sklofi.inspection._layout import layout
from sklofi.inspection._letters import fitted, shorten
from sklofi.inspection._strokes import (
    WIDTH,
    arrow_head,
    bond_orders,
    line_outline,
    ring_outline,
    strokes,
)

LARGEST, SMALLEST = 0.27, 0.09  # radius of a node
BESIDE_TEXT = 0.19  # the largest one where edges have texts
NARROW = 0.75  # width of lines, relative to molecules
LINE = 0.03  # width of the line around it
BOLD = 0.08  # the same of a node that stands out
BAND = 0.24  # width of a colored edge
PLAIN = "0.45"  # the color of edges
# Letters in smaller nodes, in points, cannot be read.
READABLE = 2.8


class GraphDrawing:
    """A graph on a plane, in units of the length of an edge.

    Parameters
    ----------
    graph : networkx graph
        The graph.

    node_label : hashable or None
        The node attribute that is written into nodes.

    edge_label : hashable or None, default=None
        The edge attribute that is drawn as the order of a bond, or else written on edges.

    orders : dict, default=None
        The labels of edges that are orders of bonds; see :func:`bond_orders`.

    label_names : dict, default=None
        What to write in place of node labels.
    """

    def __init__(
        self,
        graph: Any,
        *,
        node_label: Hashable | None,
        edge_label: Hashable | None = None,
        orders: Mapping[Hashable, float] | None = None,
        label_names: Mapping[Hashable, str] | None = None,
    ) -> None:
        self.graph = graph
        self.texts = _node_texts(graph, node_label, label_names or {})
        self.lines = _lines(graph, edge_label)
        self.orders = orders or {}
        pairs = [pair for pair in self.lines if pair[0] != pair[1]]
        self.positions = layout(len(graph), pairs)
        has_texts = any(
            line["labels"] and self._order(pair) is None for pair, line in self.lines.items()
        )
        self.radius = _radius(self.positions, BESIDE_TEXT if has_texts else LARGEST)

    @property
    def extent(self) -> NDArray[np.float64]:
        """The corners (left, bottom) and (right, top) of what is drawn."""
        reach = self.radius * (3.2 if any(i == j for i, j in self.lines) else 1) + BOLD
        return np.array([self.positions.min(axis=0) - reach, self.positions.max(axis=0) + reach])

    def draw(
        self,
        ax: Any,
        *,
        colors: Any = "0.92",
        edge_colors: Mapping[tuple[int, int], Any] | None = None,
        outlined: Hashable | None = None,
    ) -> None:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib Axes
            Where to draw. What they show is to be set before, see :func:`frame`.

        colors : color or array-like of shape (n_nodes, 4), default="0.92"
            The colors of nodes.

        edge_colors : dict, default=None
            The color behind each edge, by the numbers of its nodes, the smaller one first.

        outlined : hashable or None, default=None
            A node with a bold line around it.
        """
        is_readable = self.radius * points_per_unit(ax) >= READABLE
        if edge_colors:
            bands = [self._band(pair) for pair in edge_colors]
            add_outlines(ax, bands, list(edge_colors.values()), zorder=1)
        if self.lines:
            outlines_of = self._bond if is_readable else self._line
            drawn = [part for pair in self.lines for part in outlines_of(pair)]
            add_outlines(ax, drawn, INK if edge_colors and is_readable else PLAIN)
        add_discs(ax, self.positions, self.radius + LINE, INK, zorder=3)
        if outlined is not None:
            which = list(self.graph).index(outlined)
            add_discs(ax, self.positions[which], self.radius + BOLD, INK, zorder=3)
        add_discs(ax, self.positions, self.radius, colors, zorder=4)
        if is_readable:
            self._write(ax, colors)

    def _band(self, pair: tuple[int, int]) -> Any:
        if pair[0] == pair[1]:
            return ring_outline(*self._loop(pair[0]), width=BAND * self._thin)
        return line_outline(*self._ends(pair), width=BAND * self._thin)

    @property
    def _thin(self) -> float:
        """How wide lines are where nodes have to be small, as a share of the usual width."""
        return self.radius / LARGEST

    def _loop(self, node: int) -> tuple[Any, float]:
        return self.positions[node] + [0, 1.7 * self.radius], self.radius

    def _ends(self, pair: tuple[int, int]) -> tuple[Any, Any]:
        return self.positions[pair[0]], self.positions[pair[1]]

    def _bond(self, pair: tuple[int, int]) -> list[Any]:
        """Return the outlines of the edges between two nodes, of a bond by its order."""
        order = self._order(pair)
        if order is None or pair[0] == pair[1]:
            return self._line(pair)
        start, end = self._ends(pair)
        lines = strokes(start, end, order, scale=NARROW * self._thin)
        return lines + self._arrows(pair)

    def _line(self, pair: tuple[int, int]) -> list[Any]:
        """Return the outlines of the edges between two nodes."""
        width = NARROW * self._thin * WIDTH
        if pair[0] == pair[1]:
            return [ring_outline(*self._loop(pair[0]), width=width)]
        return [line_outline(*self._ends(pair), width=width), *self._arrows(pair)]

    def _arrows(self, pair: tuple[int, int]) -> list[Any]:
        """Return the heads of arrows, which touch the nodes."""
        if not self.graph.is_directed():
            return []
        heads = []
        for first, last in sorted(self.lines[pair]["directions"]):
            start, end = self.positions[[first, last]]
            away = (end - start) * (self.radius + LINE) / max(np.linalg.norm(end - start), 1e-9)
            heads.append(arrow_head(start, end - away, 0.7 * self.radius))
        return heads

    def _order(self, pair: tuple[int, int]) -> float | None:
        """Return the order of the only bond between two nodes, None if there is none."""
        labels = self.lines[pair]["labels"]
        return self.orders.get(labels[0]) if len(labels) == 1 else None

    def _write(self, ax: Any, colors: Any) -> None:
        shades = [_shade(color) for color in _rows(colors, len(self.graph))]
        for position, text, shade in zip(self.positions, self.texts, shades, strict=True):
            if text:
                add_letters(ax, fitted(text, position, self.radius), text, shade)
        for pair, line in self.lines.items():
            if line["labels"] and self._order(pair) is None:
                self._write_on(ax, pair, ", ".join(map(str, line["labels"])))

    def _write_on(self, ax: Any, pair: tuple[int, int], text: str) -> None:
        """Write a text on the middle of an edge, on a white ground."""
        start, end = self._ends(pair)
        middle = (start + end) / 2
        if pair[0] == pair[1]:
            center, radius = self._loop(pair[0])
            middle = center + np.array([0, radius])
        room = float(np.linalg.norm(end - start)) / 2 - self.radius
        path = fitted(shorten(text, 12), middle, max(0.95 * room, 0.75 * self.radius))
        path = _limited(path, middle, self.radius)
        low, high = path.vertices.min(axis=0) - 0.05, path.vertices.max(axis=0) + 0.05
        ground = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
        add_outlines(ax, [ground], "white", zorder=2.5)
        add_letters(ax, path, text, "0.3")


def all_orders(graphs: Iterable[Any], edge_label: Hashable | None) -> dict[Hashable, float]:
    """Return the labels of the edges of graphs that are drawn as orders of bonds."""
    if edge_label is None:
        return {}
    return bond_orders(
        label for graph in graphs for *_, label in graph.edges(data=edge_label) if label is not None
    )


def _limited(path: Any, center: Any, height: float) -> Any:
    """Return a path that is at most so high."""
    from matplotlib.path import Path

    scale = min(1.0, height / max(float(np.ptp(path.vertices[:, 1])), 1e-9))
    return Path(center + (path.vertices - center) * scale, path.codes)


def _node_texts(
    graph: Any, node_label: Hashable | None, names: Mapping[Hashable, str]
) -> list[str]:
    if node_label is None:
        return [""] * len(graph)
    labels = [label for _, label in graph.nodes(data=node_label)]
    return ["" if label is None else shorten(names.get(label, label)) for label in labels]


def _lines(graph: Any, edge_label: Hashable | None) -> dict[tuple[int, int], Any]:
    """Return the pairs of nodes with edges between them, and what these edges are.

    Parallel edges, and those of both directions, are one line.
    """
    number = {node: i for i, node in enumerate(graph)}
    lines: dict[tuple[int, int], Any] = {}
    for start, end, data in graph.edges(data=True):
        i, j = number[start], number[end]
        line = lines.setdefault((min(i, j), max(i, j)), {"labels": [], "directions": set()})
        line["directions"].add((i, j))
        label = None if edge_label is None else data.get(edge_label)
        if label is not None and label not in line["labels"]:
            line["labels"].append(label)
    return lines


def _radius(positions: NDArray[np.float64], largest: float) -> float:
    """Return a radius of nodes with which hardly any overlap."""
    from scipy.spatial import cKDTree

    if len(positions) < 2:
        return largest
    nearest = cKDTree(positions).query(positions, k=2)[0][:, 1]
    return float(np.clip(0.42 * np.quantile(nearest, 0.05), SMALLEST, largest))


def _rows(colors: Any, n_rows: int) -> Any:
    return [colors] * n_rows if isinstance(colors, str) else colors


def _shade(color: Any) -> str:
    """Return the color of letters that can be read on a color."""
    from matplotlib.colors import to_rgb

    return "white" if np.dot(to_rgb(color), [0.299, 0.587, 0.114]) < 0.47 else "black"
