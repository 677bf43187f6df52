"""Members of egonets with their relations to the center, found by loops over networkx graphs."""

import networkx as nx
import numpy as np

BONDS = ("single", "double", 3)
WEIGHTS = (0.0, 0.5, 1.0, 2.5)
LENGTHS = ([1.0, 0.0], [0.0, 0.0], [1.5, -1.0])


def random_multigraph(seed, n_labels=None, bonds=BONDS):
    """A small graph, directed or not, with loops and parallel edges, weights and lengths."""
    rng = np.random.default_rng(seed)
    kinds = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
    graph = kinds[rng.integers(4)]()
    n_nodes = int(rng.integers(1, 8))
    graph.add_nodes_from(range(n_nodes))
    if n_labels is not None:
        labels = {v: int(rng.integers(n_labels)) for v in graph}
        nx.set_node_attributes(graph, labels, "label")
    for _ in range(int(rng.integers(0, 2 * n_nodes))):
        u, v = rng.integers(n_nodes, size=2).tolist()
        bond = bonds[rng.integers(len(bonds))]
        parallel = graph.get_edge_data(u, v) or {}
        # Parallel edges that become one have to have the same features.
        length = LENGTHS[rng.integers(len(LENGTHS))]
        if graph.is_multigraph() and parallel:
            length = next(iter(parallel.values()))["length"]
        weight = WEIGHTS[rng.integers(len(WEIGHTS))]
        graph.add_edge(u, v, bond=bond, weight=weight, length=length)
    return graph


def edges_between(graph, u, v):
    """The attributes of all edges from u to v."""
    data = graph.get_edge_data(u, v)
    if data is None:
        return []
    return list(data.values()) if graph.is_multigraph() else [data]


def smallest_ring(graph, u, v, max_size):
    """The size of the smallest ring through an edge of the simple graph, 0 if it is too large."""
    if u == v:
        return 1 if max_size >= 1 else 0
    simple = nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph)
    simple.remove_edge(u, v)
    if not nx.has_path(simple, v, u):
        return 0
    size = nx.shortest_path_length(simple, v, u) + 1
    return size if size <= max_size else 0


def members_of(graph, center, radius, relations):
    """All members of an egonet: (node, kind, vector of the edge, weight) each.

    A kind is (distance, label, size of the smallest ring); () if all relations are alike.
    """
    differ = any(relations[i] for i in (0, 1, 2, 4))
    distances = nx.single_source_shortest_path_length(graph, center, radius)

    def related(node, kind, vector, weight):
        if not differ:
            return node, (), (), weight
        return node, kind, vector if relations.edge_vectors else (), weight

    nothing = (-1, None, 0)
    found = []
    for node, distance in distances.items():
        if distance != 1:
            kind = (distance, None, 0) if relations.distances else nothing
            found.append(related(node, kind, None, 1))
    if radius >= 1:
        for node in graph[center]:
            if node == center and not differ:
                continue
            merged = {}
            for data in edges_between(graph, center, node):
                label = data["bond"] if relations.edge_labels else None
                before = merged.get(label, (0, None))[0]
                merged[label] = (before + data["weight"], tuple(data["length"]))
            for label, (weight, vector) in merged.items():
                ring = smallest_ring(graph, center, node, relations.max_ring)
                kind = (1 if relations.distances else -1, label, ring if relations.max_ring else 0)
                found.append(related(node, kind, vector, weight if relations.edge_weights else 1))
    return found
