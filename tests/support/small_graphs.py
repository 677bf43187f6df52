"""Small graphs with labels, comparisons of graphs, and labels whose methods fail."""

import networkx as nx
import numpy as np


def labeled_path(labels, **attributes):
    """A path with a label on each node, and further attributes by their names."""
    graph = nx.path_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    for name, values in attributes.items():
        nx.set_node_attributes(graph, dict(enumerate(values)), name)
    return graph


def path_with(n_nodes=4, **attributes):
    """A path with attributes of nodes: one value for all nodes, or a dictionary of values."""
    graph = nx.path_graph(n_nodes)
    for name, value in attributes.items():
        nx.set_node_attributes(graph, value, name)
    return graph


def bonded_path(labels, kind=nx.Graph, name="bond"):
    """A path with a label, or another value, on each edge."""
    graph = nx.path_graph(len(labels) + 1, create_using=kind)
    for (_, _, data), label in zip(graph.edges(data=True), labels, strict=True):
        data[name] = label
    return graph


def odd_structures():
    """Graphs with directed, parallel and missing edges, loops, and several parts."""
    directed = nx.gnp_random_graph(9, 0.2, seed=1, directed=True)
    loops = nx.path_graph(4)
    loops.add_edge(2, 2)
    parts = nx.disjoint_union(nx.cycle_graph(5), nx.empty_graph(2))
    multi = nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    return [directed, loops, parts, multi, nx.empty_graph(1), nx.gnp_random_graph(12, 0.2, seed=2)]


def same_graph(graph, other):
    return (
        list(graph.nodes(data=True)) == list(other.nodes(data=True))
        and nx.utils.edges_equal(graph.edges, other.edges)
        and graph.is_directed() == other.is_directed()
    )


def adjacency(graph):
    """Neighbors and attributes of edges as dictionaries, in both directions if there are two."""
    return {node: dict(adjacent) for node, adjacent in graph.adjacency()}


class NoRepr:
    def __repr__(self):
        raise RuntimeError


class NoComparison:
    def __eq__(self, other):
        return np.array([True, False])

    def __hash__(self):
        return 1


class NoHash:
    def __hash__(self):
        raise RuntimeError
