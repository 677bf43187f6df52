"""Names of relations."""

import networkx as nx
import numpy as np

from sklofi import GraphSet
from sklofi.training._relation_encoder import RelationEncoder


def encode(radius=1, *, distances=True, edge_labels=True, max_ring=0, features=None):
    graph = nx.cycle_graph(3)
    nx.add_path(graph, [2, 3, 4])
    labels = ["double", 1, None, np.str_("single"), "double"]
    nx.set_edge_attributes(graph, dict(zip(graph.edges, labels, strict=True)), "label")
    nx.set_edge_attributes(graph, [0.5, 1.0], "length")
    graphs = GraphSet.from_networkx([graph], edge_features=features)
    return RelationEncoder.fit(
        graphs, np.ones(1), radius,
        distances=distances, edge_labels=edge_labels, max_ring=max_ring,
    )  # fmt: skip


def test_relations_are_named_by_distances_labels_and_rings():
    assert encode(2, edge_labels=False).names == ["center", "edge", "distance 2"]
    assert encode(0).names == ["center"]
    assert set(encode().names) == {
        "center",
        "edge 'double'",
        "edge 1",
        "edge 'single'",
        "edge without label",
    }
    assert set(encode(max_ring=3, distances=False).names) == {
        "edge 'double' in a ring of 3",
        "edge 'double' outside rings",
        "edge 1 in a ring of 3",
        "edge 'single' outside rings",
        "edge without label in a ring of 3",
    }
    rings = encode(max_ring=3, distances=False, edge_labels=False)
    assert rings.names == ["edge in a ring of 3"]  # others are as the center


def test_every_column_has_a_name():
    for radius in (0, 1, 2):
        for max_ring in (0, 3):
            encoder = encode(radius, max_ring=max_ring, features="length")
            assert len(encoder.names) == len(set(encoder.names)) == encoder.n_columns
            assert encoder.names[-2:] == ["edge feature 0", "edge feature 1"]
    nothing = encode(distances=False, edge_labels=False)
    assert nothing.names == [] and nothing.n_columns == 0
