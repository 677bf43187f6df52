"""Read benchmark data sets (zips in the TUDataset layout) from a folder.

The folder is named by the environment variable SKLOFI_DATA.
"""

import os
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np


def read_tu(name: str) -> tuple[list[nx.Graph], np.ndarray]:
    """Graphs with the node attribute "label" where the set has labels, and targets."""
    folder = os.environ.get("SKLOFI_DATA")
    if folder is None:
        raise SystemExit("Set SKLOFI_DATA to the folder that holds the data sets as zips.")
    with zipfile.ZipFile(Path(folder) / f"{name}.zip") as archive:

        def table(what, dtype=int):
            with archive.open(f"{name}/{name}_{what}.txt") as file:
                return np.loadtxt(file, delimiter=",", dtype=dtype, ndmin=2)

        has = {Path(path).name for path in archive.namelist()}
        graph_of = table("graph_indicator")[:, 0] - 1
        edges = table("A") - 1
        graphs = [nx.Graph() for _ in range(graph_of[-1] + 1)]
        first = np.searchsorted(graph_of, np.arange(len(graphs)))
        for node, graph in enumerate(graph_of.tolist()):
            graphs[graph].add_node(node - int(first[graph]))
        for u, v in edges.tolist():
            start = int(first[graph_of[u]])
            graphs[graph_of[u]].add_edge(u - start, v - start)
        if f"{name}_node_labels.txt" in has:
            labels = table("node_labels")[:, 0].tolist()
            for node, label in enumerate(labels):
                graph = graph_of[node]
                graphs[graph].nodes[node - int(first[graph])]["label"] = label
        if f"{name}_graph_labels.txt" in has:
            return graphs, table("graph_labels")[:, 0]
        return graphs, table("graph_attributes", dtype=float)[:, 0]
