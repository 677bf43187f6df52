"""Benchmark data sets: from the folder that SKLOFI_DATA names, or downloaded."""

import networkx as nx
import numpy as np

from sklofi.datasets import fetch_tu


def read_tu(name: str) -> tuple[list[nx.Graph], np.ndarray]:
    """Graphs and targets, with the node attribute "label" alone where the set has labels.

    Other attributes are taken away, so that nobody pays for what only some can use.
    """
    graphs, y = fetch_tu(name, return_X_y=True)
    for graph in graphs:
        for attributes in graph.nodes.values():
            attributes.pop("attributes", None)
        for attributes in graph.edges.values():
            attributes.clear()
    return graphs, y
