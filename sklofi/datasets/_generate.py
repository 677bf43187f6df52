"""Graphs that are generated here, with their targets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def _spectral_radius(graph: nx.Graph) -> float:
    return float(np.linalg.eigvalsh(nx.to_numpy_array(graph))[-1])


def _n_triangles(graph: nx.Graph) -> float:
    return float(sum(nx.triangles(graph).values()) / 3)


def _has_triangle(graph: nx.Graph) -> bool:
    return _n_triangles(graph) > 0


_ATLAS_TARGETS: dict[str, Callable[[nx.Graph], bool | float]] = {
    "bipartite": nx.is_bipartite,
    "connected": nx.is_connected,
    "has_triangle": _has_triangle,
    "n_triangles": _n_triangles,
    "average_clustering": nx.average_clustering,
    "spectral_radius": _spectral_radius,
}


def load_graph_atlas(*, target: str = "bipartite") -> tuple[list[nx.Graph], NDArray[Any]]:
    """Load all graphs of up to seven nodes, with a property to learn.

    The atlas of Read and Wilson ships inside networkx: every unlabeled graph of up to
    seven nodes exactly once. Its first entry, the graph without nodes, is left out,
    which leaves 1,252 of its 1,253 graphs.

    Parameters
    ----------
    target : str, default="bipartite"
        Property to return. For classification: "bipartite", "connected" or
        "has_triangle"; for regression: "n_triangles", "average_clustering" or
        "spectral_radius" (the largest eigenvalue of the adjacency matrix).

    Returns
    -------
    graphs : list of networkx.Graph
        1,252 graphs without node attributes.

    y : ndarray of shape (1252,)
        The property: boolean for classification, floating-point for regression.

    Examples
    --------
    >>> from sklofi.datasets import load_graph_atlas
    >>> graphs, y = load_graph_atlas(target="connected")
    >>> len(graphs), int(y.sum())
    (1252, 996)
    """
    if target not in _ATLAS_TARGETS:
        raise ValueError(f"target has to be one of {sorted(_ATLAS_TARGETS)}, got {target!r}.")
    graphs = nx.graph_atlas_g()[1:]
    return graphs, np.array([_ATLAS_TARGETS[target](graph) for graph in graphs])


def make_motif_graphs(
    n_graphs: int = 200,
    *,
    motifs: Sequence[nx.Graph] | None = None,
    n_nodes: int = 20,
    background_labels: Sequence[Hashable] = ("C", "H", "S"),
    return_motif_nodes: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Any, ...]:
    """Generate labeled graphs whose class is decided by a planted motif.

    Every graph starts as a random tree with a few more edges and random labels. A graph
    of class ``c > 0`` carries ``motifs[c - 1]``, tied to the rest by one edge. The labels
    of all other motifs are there as well, but scattered over single nodes, so counting
    labels does not tell the classes apart: only neighborhoods do. Graphs of class 0
    carry no motif.

    Parameters
    ----------
    n_graphs : int, default=200
        Number of graphs, spread evenly over the classes.

    motifs : sequence of networkx graphs, default=None
        Motifs with the node attribute "label", one for each class but class 0. By
        default a single one that looks like a nitro group: an "N" between two "O".

    n_nodes : int, default=20
        Number of background nodes in each graph, at least as many as all motifs have.

    background_labels : sequence of hashable, default=("C", "H", "S")
        Labels of the background nodes.

    return_motif_nodes : bool, default=False
        Whether to return which nodes carry the motif, to check explanations against.

    random_state : int, RandomState instance or None, default=None
        Determines the graphs.

    Returns
    -------
    graphs : list of networkx.Graph
        Graphs with the node attribute "label"; nodes are 0, 1, 2, ... in random roles.

    y : ndarray of shape (n_graphs,)
        Classes: 0, and 1 to ``len(motifs)``.

    motif_nodes : list of set
        The nodes of the planted motif of each graph, empty for class 0. Only with
        ``return_motif_nodes=True``.

    Examples
    --------
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y, motif_nodes = make_motif_graphs(4, random_state=0, return_motif_nodes=True)
    >>> y
    array([0, 1, 1, 0])
    >>> sorted(graphs[1].nodes[node]["label"] for node in motif_nodes[1])
    ['N', 'O', 'O']
    """
    rng: np.random.RandomState = check_random_state(random_state)
    motifs = [_nitro_group()] if motifs is None else list(motifs)
    if n_nodes < sum(map(len, motifs)):
        raise ValueError(
            f"n_nodes={n_nodes} is too small to scatter the labels of all motifs, which"
            f" have {sum(map(len, motifs))} nodes together."
        )
    y = rng.permutation(np.arange(n_graphs) % (len(motifs) + 1))
    graphs, motif_nodes = [], []
    for planted in y:
        graph = _background(n_nodes, background_labels, rng)
        nodes: set[int] = set()
        # No two scattered nodes hang on the same background node.
        anchors = iter(rng.permutation(n_nodes).tolist())
        for number, motif in enumerate(motifs, start=1):
            first = len(graph)
            new = {node: first + i for i, node in enumerate(motif)}
            graph.add_nodes_from(
                (new[node], {"label": motif.nodes[node]["label"]}) for node in motif
            )
            if number == planted:
                nodes.update(new.values())
                graph.add_edges_from((new[u], new[v]) for u, v in motif.edges)
                graph.add_edge(first + rng.randint(len(motif)), next(anchors))
            else:
                graph.add_edges_from((node, next(anchors)) for node in new.values())
        role = rng.permutation(len(graph)).tolist()
        graphs.append(_renumber(graph, role))
        motif_nodes.append({role[node] for node in nodes})
    return (graphs, y, motif_nodes) if return_motif_nodes else (graphs, y)


def _nitro_group() -> nx.Graph:
    motif = nx.star_graph(2)
    nx.set_node_attributes(motif, {0: "N", 1: "O", 2: "O"}, "label")
    return motif


def _background(
    n_nodes: int, labels: Sequence[Hashable], random_state: np.random.RandomState
) -> nx.Graph:
    graph = nx.Graph()
    for node, label in enumerate(random_state.randint(len(labels), size=n_nodes)):
        graph.add_node(node, label=labels[label])
        if node:
            graph.add_edge(node, int(random_state.randint(node)))
    for u, v in random_state.randint(n_nodes, size=(n_nodes // 5, 2)).tolist():
        if u != v:
            graph.add_edge(u, v)
    return graph


def _renumber(graph: nx.Graph, role: list[int]) -> nx.Graph:
    """Rename node i to role[i] and bring the nodes into the order of their new names."""
    renamed = nx.Graph()
    old = sorted(range(len(role)), key=role.__getitem__)
    renamed.add_nodes_from((role[node], graph.nodes[node]) for node in old)
    renamed.add_edges_from((role[u], role[v]) for u, v in graph.edges)
    return renamed
