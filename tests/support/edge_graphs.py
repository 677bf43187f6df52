"""Graphs with attributes of edges, and their edges by a plain loop over networkx."""

import networkx as nx
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from strategies import single_graphs

BONDS = {"a": [0.5, 2.0], "b": [1.0, -3.0], None: [0.0, 0.0]}
NAMES = {"edge_label": "bond", "edge_weight": "w", "edge_features": "x"}

always_the_same = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@st.composite
def edge_graph_lists(draw, max_graphs=4):
    """Graphs with a label, a weight and, by their label, features on each edge.

    Weights are multiples of a quarter, so that their sums are exact.
    """
    graph = single_graphs(
        names=st.integers(0, 5),
        edge_attributes={
            "bond": st.sampled_from(list(BONDS)),
            "w": st.integers(0, 8).map(lambda quarters: quarters / 4),
        },
    )
    graphs = draw(st.lists(graph, min_size=1, max_size=max_graphs))
    # At least one edge, because an attribute that is named has to exist.
    graphs.append(nx.Graph([(0, 1, {"bond": "a", "w": 1.0})]))
    for graph in graphs:
        for *_, data in graph.edges(data=True):
            data["x"] = BONDS[data["bond"]]
    return graphs


def plain_edges(graph, with_labels=True):
    """Of each pair of nodes and label the weight and the features, by a loop over all edges."""
    position = {node: i for i, node in enumerate(graph)}
    found = {}
    for u, row in graph.adjacency():
        for v, data in row.items():
            for edge in data.values() if graph.is_multigraph() else [data]:
                key = position[u], position[v], edge["bond"] if with_labels else None
                weight = found.get(key, (0.0, None))[0] + edge["w"]
                found[key] = weight, tuple(edge["x"]) if with_labels else None
    return found


def stored_edges(graphs):
    """The same of each graph of a set, by its arrays."""
    found = []
    for start, stop in zip(graphs.node_offsets[:-1], graphs.node_offsets[1:], strict=True):
        edges = {}
        for node in range(start, stop):
            for i in range(graphs.edge_offsets[node], graphs.edge_offsets[node + 1]):
                label = None
                if graphs.edge_label_ids is not None:
                    label = graphs.edge_labels[graphs.edge_label_ids[i]]
                vectors = graphs.edge_vectors
                key = int(node - start), int(graphs.neighbors[i]), label
                assert key not in edges  # each entry is another edge
                vector = None if vectors is None else tuple(vectors[i].tolist())
                edges[key] = float(graphs.edge_weights[i]), vector
        found.append(edges)
    return found


def parallel_graphs(n_graphs=20, seed=0, kind=nx.MultiGraph):
    """Random multigraphs with parallel edges and loops, labels of nodes and labels of edges."""
    rng = np.random.RandomState(seed)
    graphs = []
    for _ in range(n_graphs):
        n_nodes = rng.randint(2, 8)
        graph = kind()
        graph.add_nodes_from((i, {"label": "CN"[rng.randint(2)]}) for i in range(n_nodes))
        for u, v in rng.randint(n_nodes, size=(2 * n_nodes, 2)):
            for _ in range(rng.randint(1, 4)):
                graph.add_edge(int(u), int(v), label="-="[rng.randint(2)])
        graphs.append(graph)
    return graphs
