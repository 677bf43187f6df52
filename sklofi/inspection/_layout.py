"""Where the nodes of a graph are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, dijkstra

Points = NDArray[np.float64]

# The distances of all pairs of nodes are kept for so many nodes at most.
N_EXACT = 1000
# Of larger graphs, distances to so many of their nodes.
N_PIVOTS = 60
N_ITERATIONS = 300
# Room between parts that are not connected, in units of an edge.
ROOM = 1.0


def layout(n_nodes: int, edges: Any) -> Points:
    """Return positions of the nodes of a graph, in which an edge has a length of about 1.

    Distances on paper are those in the graph as far as possible: they minimize the stress
    :math:`\\sum_{u < v} d_{uv}^{-2} (\\|x_u - x_v\\| - d_{uv})^2` of Kamada and Kawai by
    majorization (Gansner, Koren and North, "Graph Drawing by Stress Majorization", 2004), which
    takes a second for 400 nodes. Graphs of more than a thousand nodes are placed by their
    distances to some of them (Brandes and Pich, "Eigensolver Methods for Progressive
    Multidimensional Scaling of Large Data", 2006). Parts that are not connected stand in rows.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.

    edges : array-like of shape (n_edges, 2)
        The nodes that edges connect. Directions, loops and repetitions change nothing.

    Returns
    -------
    positions : ndarray of shape (n_nodes, 2)
        The positions, the same for the same graph.
    """
    ends = np.asarray(edges, dtype=np.int32).reshape(-1, 2)  # scipy's dijkstra takes no longer ones
    values = np.ones(len(ends))
    matrix = sp.csr_array((values, (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    matrix = ((matrix + matrix.T) > 0).astype(np.float64).tocsr()
    n_parts, part_of = connected_components(matrix, directed=False)
    positions = np.zeros((n_nodes, 2))
    members = [np.flatnonzero(part_of == part) for part in range(n_parts)]
    for nodes in members:
        positions[nodes] = _lie_flat(_place_connected(matrix[nodes][:, nodes]))
    stand_in_rows(positions, members)
    return positions


def _place_connected(matrix: Any) -> Points:
    n_nodes = matrix.shape[0]
    if n_nodes == 1:
        return np.zeros((1, 2))
    if n_nodes > N_EXACT:
        return _scale_by_pivots(matrix)
    distances = dijkstra(matrix, directed=False, unweighted=True)
    # Nodes with the same neighbors would begin, and so stay, in the same place.
    noise = np.random.default_rng(0).normal(scale=0.01, size=(n_nodes, 2))
    return _minimize_stress(distances, _scale_classically(distances) + noise)


def _scale_classically(distances: NDArray[np.float64]) -> Points:
    """Return the main components of nodes, of which rows are distances to nodes."""
    squares = distances**2
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True)
    products = -(centered + squares.mean()) / 2
    vectors, sizes, _ = np.linalg.svd(products, full_matrices=False)
    places: Points = vectors[:, :2] * np.sqrt(sizes[:2])
    # The sign of a singular vector is arbitrary: let the largest entry be positive.
    signs = np.sign(places[np.abs(places).argmax(axis=0), np.arange(places.shape[1])])
    places *= np.where(signs == 0, 1, signs)
    return places


def _minimize_stress(distances: NDArray[np.float64], places: Points) -> Points:
    n_nodes = len(distances)
    weights = 1 / np.where(distances > 0, distances, np.inf) ** 2
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.inv(laplacian + 1 / n_nodes)
    stress = np.inf
    for _ in range(N_ITERATIONS):
        lengths = np.linalg.norm(places[:, None] - places[None], axis=-1)
        before, stress = stress, float((weights * (lengths - distances) ** 2).sum())
        if before - stress <= 1e-4 * stress:
            break
        pull = -weights * distances / np.where(lengths > 1e-9, lengths, np.inf)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        places = inverse @ (pull @ places)
    return places


def _scale_by_pivots(matrix: Any) -> Points:
    """Return positions by the distances to some nodes, each the farthest from those before."""
    pivot, columns = 0, []
    nearest = np.full(matrix.shape[0], np.inf)
    for _ in range(N_PIVOTS):
        columns.append(dijkstra(matrix, directed=False, unweighted=True, indices=pivot))
        nearest = np.minimum(nearest, columns[-1])
        pivot = int(nearest.argmax())
    places = _scale_classically(np.column_stack(columns))
    rows, others = matrix.nonzero()
    lengths = np.linalg.norm(places[rows] - places[others], axis=1)
    places = places / max(float(lengths.mean()), 1e-9)
    # Leaves of one node are in the same place, because they are as far from everything.
    return places + np.random.default_rng(0).normal(scale=0.2, size=places.shape)


def _lie_flat(places: Points) -> Points:
    """Turn points so that their longest extent is horizontal."""
    centered = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    return np.pad(centered @ axes.T, ((0, 0), (0, 2 - len(axes))))


def stand_in_rows(positions: Points, parts: Sequence[Any], room: float = ROOM) -> None:
    """Move parts side by side, the largest first, into rows of about the same width."""
    parts = [np.asarray(part) for part in parts]
    sizes = np.array([np.ptp(positions[nodes], axis=0) + room for nodes in parts]).reshape(-1, 2)
    width = max(sizes[:, 0].max(initial=0), np.sqrt(1.3 * sizes.prod(axis=1).sum()))
    rows: list[list[int]] = []
    free = 0.0
    for part in sorted(range(len(parts)), key=lambda i: (-len(parts[i]), i)):
        if sizes[part, 0] > free + 1e-9:
            rows.append([])
            free = width
        rows[-1].append(part)
        free -= sizes[part, 0]
    top = 0.0
    for row in rows:
        height = sizes[row, 1].max()
        left = -sizes[row, 0].sum() / 2  # centered
        for part in row:
            nodes = parts[part]
            middle = (positions[nodes].min(axis=0) + positions[nodes].max(axis=0)) / 2
            positions[nodes] += [left + sizes[part, 0] / 2, top - height / 2] - middle
            left += sizes[part, 0]
        top -= height
