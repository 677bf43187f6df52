"""Random graphs in every form, each with the networkx graphs that it stands for.

Weights are multiples of a quarter, so that their sums are exact.
"""

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import rustworkx as rx
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import KINDS, single_graphs

from sklofi import GraphSet

NAMES = {
    "node_label": "element",
    "node_features": "position",
    "edge_label": "bond",
    "edge_weight": "w",
    "edge_features": "length",
}
LENGTHS = {"a": [0.5, 2.0], "b": [1.0, -3.0], "c": [0.0, 0.0]}


@st.composite
def graphs_with_all(draw, kinds=tuple(KINDS[:4]), max_graphs=4):
    """Graphs of the nodes 0, 1, ... with labels and features of nodes and edges, and weights."""
    graphs = []
    for _ in range(draw(st.integers(1, max_graphs))):
        drawn = draw(single_graphs(names=st.integers(0, 5)))
        graph = draw(st.sampled_from(kinds))()
        number = {node: i for i, node in enumerate(drawn)}
        for i in number.values():
            position = draw(st.tuples(st.floats(-9, 9, width=32), st.just(1.0)))
            graph.add_node(i, element=draw(st.sampled_from([1, 6, 8])), position=position)
        for u, v in drawn.edges():
            bond = draw(st.sampled_from("abc"))
            w = draw(st.integers(1, 8)) / 4
            graph.add_edge(number[u], number[v], bond=bond, w=w, length=LENGTHS[bond])
        graphs.append(graph)
    # At least one edge, because an attribute that is named has to exist.
    last = kinds[0]()
    last.add_nodes_from([0, 1, 2], element=6, position=(0.0, 1.0))
    last.add_edge(0, 1, bond="a", w=1.0, length=LENGTHS["a"])
    return [*graphs, last]


def to_igraph(graph):
    other = igraph.Graph(len(graph), list(graph.edges()), directed=graph.is_directed())
    for name in ("element", "position"):
        other.vs[name] = [data[name] for _, data in graph.nodes(data=True)]
    for name in ("bond", "w", "length"):
        if graph.number_of_edges():
            other.es[name] = [data[name] for *_, data in graph.edges(data=True)]
    return other


def to_rustworkx(graph):
    other = rx.PyDiGraph() if graph.is_directed() else rx.PyGraph()
    other.add_nodes_from([data for _, data in graph.nodes(data=True)])
    other.add_edges_from(list(graph.edges(data=True)))
    return other


def to_tables(graphs, names=None):
    """Tables of edges and nodes; graphs have names, nodes have them if `names` is given."""
    name = names or (lambda node: node)
    nodes = [
        {"graph": f"g{i}", "node": name(v), "element": data["element"]}
        | dict(zip("xy", data["position"], strict=True))
        for i, graph in enumerate(graphs)
        for v, data in graph.nodes(data=True)
    ]
    edges = [
        {"graph": f"g{i}", "source": name(u), "target": name(v), "bond": data["bond"]}
        | {"w": data["w"], "l": data["length"][0], "m": data["length"][1]}
        for i, graph in enumerate(graphs)
        for u, v, data in graph.edges(data=True)
    ]
    return pd.DataFrame(edges), pd.DataFrame(nodes)


def both_ways(graph):
    """Edges with their data, undirected ones in both directions, loops once."""
    edges = list(graph.edges(data=True))
    if graph.is_directed():
        return edges
    return edges + [(v, u, data) for u, v, data in edges if u != v]


def assert_same_graphs(found, expected, *, but=()):
    """All fields are equal, but the order of the neighbors of a node, and other names."""
    assert len(found) == len(expected)
    one, other = (_canonical(graphs) for graphs in (found, expected))
    for name, value in one.items():
        if name in but:
            continue
        if isinstance(value, np.ndarray):
            assert value.dtype == other[name].dtype, name
            assert_array_equal(value, other[name], err_msg=name)
        else:
            assert value == other[name], name


def _canonical(graphs: GraphSet):
    """The fields with the neighbors of each node in the order of their numbers and labels."""
    source = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.edge_offsets))
    ids = graphs.edge_label_ids
    order = np.lexsort((np.zeros(len(source)) if ids is None else ids, graphs.neighbors, source))
    by_edge = ("neighbors", "edge_label_ids", "edge_weights", "edge_vectors")
    fields = graphs._data()
    return fields | {k: fields[k][order] for k in by_edge if fields[k] is not None}


def path_of(kind=nx.Graph, **edge):
    graph = nx.path_graph(3, create_using=kind)
    for *_, data in graph.edges(data=True):
        data |= edge
    return graph
