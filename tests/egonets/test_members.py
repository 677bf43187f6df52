"""Members of egonets and their relations, against a loop over networkx graphs."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from related_members import members_of, random_multigraph

from sklofi import GraphSet
from sklofi.egonets._colors import color_table, node_colors
from sklofi.egonets._members import Relations, egonet_members

pytestmark = pytest.mark.filterwarnings("ignore:The edges of X differ", "ignore:No edge has")

RELATIONS = st.builds(
    Relations,
    distances=st.booleans(),
    edge_labels=st.booleans(),
    max_ring=st.sampled_from([0, 4, 6]),
    edge_weights=st.booleans(),
    edge_vectors=st.booleans(),
)


def found(graphs, radius, relations):
    """For each node a Counter of (node, kind, vector), counted by weight."""
    members = egonet_members(graphs, radius, relations)
    rows = []
    for v in range(graphs.n_nodes):
        row = Counter()
        for i in range(members.offsets[v], members.offsets[v + 1]):
            kind, vector = (), ()
            if members.relations is not None:
                distance, label, ring = members.kinds[members.relations[i]].tolist()
                kind = (distance, None if label < 0 else graphs.edge_labels[label], ring)
                if relations.edge_vectors:
                    vector = tuple(members.vectors[members.relations[i]].tolist())
                    vector = None if np.isnan(vector).any() or vector == () else vector
            weight = 1 if members.weights is None else members.weights[i]
            row[int(members.nodes[i]), kind, vector] += weight
        rows.append(row)
    return rows


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3), RELATIONS)
def test_members_are_those_of_a_loop(seed, radius, relations):
    graphs = [random_multigraph(seed + i) for i in range(2)]
    labels = "bond" if relations.edge_labels else None
    graph_set = GraphSet.from_networkx(
        graphs,
        node_label=None,
        edge_label=labels,
        edge_weight="weight" if relations.edge_weights else None,
        edge_features="length" if relations.edge_vectors else None,
    )
    expected, first = [], 0
    for graph in graphs:
        for v in graph:
            row = Counter()
            for u, kind, vector, weight in members_of(graph, v, radius, relations):
                row[first + u, kind, vector] += weight
            expected.append(row)
        first += len(graph)
    got = found(graph_set, radius, relations)
    assert [set(row) for row in got] == [set(row) for row in expected]
    for row, wanted in zip(got, expected, strict=True):
        assert all(row[key] == pytest.approx(wanted[key]) for key in wanted)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2), RELATIONS, st.integers(0, 4))
def test_colors_are_nested_multisets_of_pairs(seed, radius, relations, n_layers):
    graphs = [random_multigraph(seed + i, n_labels=2) for i in range(3)]
    graph_set = GraphSet.from_networkx(
        graphs,
        edge_label="bond" if relations.edge_labels else None,
        edge_weight="weight" if relations.edge_weights else None,
        edge_features="length" if relations.edge_vectors else None,
    )
    colors = [data["label"] for graph in graphs for _, data in graph.nodes(data=True)]
    members, first = [], 0
    for graph in graphs:
        for v in graph:
            row = members_of(graph, v, radius, relations)
            members.append([(first + u, kind, vector, weight) for u, kind, vector, weight in row])
        first += len(graph)
    for _ in range(n_layers):
        refined = []
        for row in members:
            counts = Counter()
            for u, kind, vector, weight in row:
                counts[colors[u], kind, vector] += weight
            refined.append(frozenset((pair, np.float32(n)) for pair, n in counts.items() if n))
        number = {color: i for i, color in enumerate(dict.fromkeys(refined))}
        colors = [number[color] for color in refined]
    got = node_colors(graph_set, radius, n_layers, relations).tolist()
    assert len(set(zip(got, colors, strict=True))) == len(set(got)) == len(set(colors))


def test_a_radius_beyond_all_graphs_takes_no_longer():
    """Found by torture: a file with a radius of billions was worked on for ever."""
    graphs = GraphSet.from_networkx([nx.path_graph(5), nx.cycle_graph(6), nx.empty_graph(2)])
    relations = Relations(distances=True)
    assert found(graphs, 10**9, relations) == found(graphs, 4, relations)


def test_pairs_are_sorted_and_belong_to_their_level():
    graphs = GraphSet.from_networkx([random_multigraph(i, n_labels=3) for i in range(20)])
    table = color_table(graphs, 1, 3, Relations(distances=True))
    order = table.pair_colors.astype(np.int64) * 10 + table.pair_relations
    assert (np.diff(order) > 0).all()
    levels = np.searchsorted(table.level_offsets, table.pair_colors, side="right") - 1
    assert (levels == np.repeat(np.arange(table.n_levels - 1), np.diff(table.pair_offsets))).all()
    shallow = table.first_levels(2)
    assert len(shallow.pair_colors) == shallow.pair_offsets[-1] == table.pair_offsets[1]


def test_colors_are_in_the_order_of_nodes():
    graphs = GraphSet.from_networkx([random_multigraph(i, n_labels=3) for i in range(20)])
    table = color_table(graphs, 1, 3, Relations(distances=True))
    for level in range(1, table.n_levels):
        colors = table.colors[slice(*table.color_offsets[[level * 20, (level + 1) * 20]])]
        _, first = np.unique(colors, return_index=True)
        graphs_of = np.searchsorted(table.color_offsets[level * 20 :], first, side="right")
        assert (np.diff(graphs_of) >= 0).all()


def test_a_stable_level_keeps_the_numbers_of_the_level_below():
    graph = nx.Graph([(0, 1), (2, 3)])  # labels are numbered b, a: not as the nodes come
    nx.set_node_attributes(graph, {0: "b", 1: "b", 2: "a", 3: "a"}, "label")
    table = color_table(GraphSet.from_networkx([graph]), 1, 5, Relations(distances=True))
    assert table.pair_colors[table.members].tolist() == [0, 0, 1, 1]


def test_weights_that_repeat_are_merged():
    """Paths whose weights are the same in another order have the same colors."""
    paths = []
    for weights in ([0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]):
        star = nx.star_graph(3)
        nx.set_edge_attributes(
            star, {(0, i + 1): weight for i, weight in enumerate(weights)}, "weight"
        )
        paths.append(star)
    graphs = GraphSet.from_networkx(paths, edge_weight="weight")
    table = color_table(graphs, 1, 1, Relations(distances=True, edge_weights=True))
    assert np.diff(table.level_offsets).tolist() == [1, 4]
