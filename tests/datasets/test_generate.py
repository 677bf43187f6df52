import networkx as nx
import numpy as np
import pytest

from sklofi.datasets import load_graph_atlas, make_motif_graphs


@pytest.mark.parametrize("target, kind", [
    ("bipartite", bool), ("connected", bool), ("has_triangle", bool),
    ("n_triangles", float), ("average_clustering", float), ("spectral_radius", float),
])  # fmt: skip
def test_atlas_has_all_graphs_and_a_target_that_varies(target, kind):
    graphs, y = load_graph_atlas(target=target)
    assert len(graphs) == len(y) == 1252
    assert min(map(len, graphs)) == 1 and max(map(len, graphs)) == 7
    assert y.dtype == kind
    assert len(np.unique(y)) > 1


def test_atlas_targets_by_a_second_path():
    graphs, n_triangles = load_graph_atlas(target="n_triangles")
    _, radius = load_graph_atlas(target="spectral_radius")
    for i in (30, 500, 1251):
        A = nx.to_numpy_array(graphs[i])
        assert n_triangles[i] == np.trace(A @ A @ A) / 6
        assert radius[i] == pytest.approx(max(abs(np.linalg.eigvals(A))))
    assert radius[1251] == pytest.approx(6)  # the complete graph of seven nodes


def test_unknown_atlas_target_is_refused():
    with pytest.raises(ValueError, match="target has to be one of"):
        load_graph_atlas(target="beauty")


def test_motifs_are_where_they_are_said_to_be():
    square = nx.cycle_graph(4)
    nx.set_node_attributes(square, "P", "label")
    star = nx.star_graph(2)
    nx.set_node_attributes(star, {0: "N", 1: "O", 2: "O"}, "label")
    graphs, y, motif_nodes = make_motif_graphs(
        60, motifs=[square, star], return_motif_nodes=True, random_state=0
    )
    assert np.bincount(y).tolist() == [20, 20, 20]
    same_label = nx.algorithms.isomorphism.categorical_node_match("label", None)
    for graph, label, nodes in zip(graphs, y, motif_nodes, strict=True):
        assert list(graph) == list(range(27))
        assert nx.is_connected(graph)
        planted = graph.subgraph(nodes)
        if label == 0:
            assert not nodes
        else:
            motif = [square, star][label - 1]
            assert nx.is_isomorphic(planted, motif, node_match=same_label)


def test_labels_alone_do_not_tell_the_classes():
    graphs, y = make_motif_graphs(40, random_state=0)
    for graph in graphs:
        labels = [label for _, label in graph.nodes(data="label")]
        assert labels.count("N") == 1 and labels.count("O") == 2
    # In class 0 no special label touches another.
    for graph, label in zip(graphs, y, strict=True):
        special = {node for node, name in graph.nodes(data="label") if name in "NO"}
        n_edges = graph.subgraph(special).number_of_edges()
        assert n_edges == (2 if label else 0)


def test_motif_graphs_follow_their_seed():
    def edges(seed):
        return [sorted(graph.edges) for graph in make_motif_graphs(5, random_state=seed)[0]]

    assert edges(1) == edges(1) != edges(2)


def test_too_few_background_nodes_are_refused():
    with pytest.raises(ValueError, match="n_nodes=2 is too small"):
        make_motif_graphs(4, n_nodes=2)
