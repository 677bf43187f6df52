"""Graphs and plain formulas that several test files use."""

import zipfile

import networkx as nx
import numpy as np


def odd_graphs(n_graphs=30, seed=0, labels="abc", directed=False):
    """Random graphs with isolated nodes, several components, loops, and single nodes."""
    rng = np.random.RandomState(seed)
    graphs = []
    for i in range(n_graphs):
        n_nodes = 1 if i % 7 == 0 else int(rng.randint(2, 12))
        graph = nx.gnp_random_graph(n_nodes, 0.2, seed=int(rng.randint(10**6)), directed=directed)
        if i % 5 == 0:
            graph.add_edge(0, 0)
        nx.set_node_attributes(graph, {v: labels[rng.randint(len(labels))] for v in graph}, "label")
        graphs.append(graph)
    return graphs


def gram_of_counters(counters, others, smaller=False):
    pair = min if smaller else (lambda a, b: a * b)
    return [[sum(pair(n, b[c]) for c, n in a.items() if c in b) for b in others] for a in counters]


# Two graphs: a labelled path of three nodes and an edge, as in the TUDataset format.
SMALL_SET = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "-1\n1\n",
    "node_labels": "0\n7\n0\n7\n7\n",
}


def write_tu(folder, name="SMALL", files=None, *, as_zip=True, **more):
    """Write a data set; further files and replacements by name, None leaves one out."""
    files = {**(SMALL_SET if files is None else files), **more}
    texts = {f"{name}_{what}.txt": text for what, text in files.items() if text is not None}
    if as_zip:
        with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file_name, text in texts.items():
                archive.writestr(f"{name}/{file_name}", text)
    else:
        (folder / name).mkdir()
        for file_name, text in texts.items():
            (folder / name / file_name).write_text(text)
