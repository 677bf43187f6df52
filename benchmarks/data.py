"""Benchmark data sets: from the folder that SKLOFI_DATA names, or downloaded."""

import networkx as nx
import numpy as np

from sklofi import GraphSet
from sklofi.datasets import fetch_tu


def read_tu(name: str, *, edge_labels: bool = False) -> tuple[list[nx.Graph], np.ndarray]:
    """Graphs and targets, with the node attribute "label" alone where the set has labels.

    Other attributes are taken away, so that nobody pays for what only some can use; with
    `edge_labels`, those of edges stay.
    """
    graphs, y = fetch_tu(name, return_X_y=True)
    for graph in graphs:
        for attributes in graph.nodes.values():
            attributes.pop("attributes", None)
        for attributes in graph.edges.values():
            attributes.pop("attributes", None)
            if not edge_labels:
                attributes.clear()
    return graphs, y


def label_by_degree(graphs: list[nx.Graph]) -> None:
    """Make the degrees of nodes their labels."""
    for graph in graphs:
        nx.set_node_attributes(graph, dict(graph.degree), "label")


def with_bonds(graphs: list[nx.Graph]) -> GraphSet:
    """A set that holds the labels of edges, if they have any, for those who ask for them."""
    if any("label" in edge for graph in graphs for *_, edge in graph.edges(data=True)):
        return GraphSet.from_networkx(graphs, edge_label="label")
    return GraphSet.from_networkx(graphs)
