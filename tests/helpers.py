"""Graphs and plain formulas that several test files use."""

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
