"""Small graphs with labels of nodes and edges, and what a neighbor is among them."""

import networkx as nx
from hypothesis import strategies as st

LABELS, BONDS = "abc", (1, "2", None)


@st.composite
def edge_labeled_graphs(draw, *, is_multi=False, may_be_directed=True, labels=LABELS, bonds=BONDS):
    """A graph with loops and isolated nodes; in a multigraph, parallel edges."""
    directed = may_be_directed and draw(st.booleans())
    graph = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    n_nodes = draw(st.integers(1, 5))
    for node in range(n_nodes):
        graph.add_node(node, label=draw(st.sampled_from(labels)))
    node = st.integers(0, n_nodes - 1)
    for u, v, bond in draw(
        st.lists(st.tuples(node, node, st.sampled_from(bonds)), max_size=2 * n_nodes)
    ):
        graph.add_edge(u, v, label=bond)
    return graph if is_multi else (nx.DiGraph if directed else nx.Graph)(graph)


def edge_labeled_lists(**kinds):
    return st.lists(edge_labeled_graphs(**kinds), min_size=1, max_size=6)


def steps_from(graph, node):
    """Neighbors with the labels of the edges to them: parallel edges with one label are one."""
    return sorted({(v, bond) for _, v, bond in graph.edges(node, data="label")}, key=repr)
