import copy
import dataclasses
import pickle
import sys
import weakref

import networkx as nx
import numpy as np
import pytest
from sklearn.utils import _safe_indexing
from small_graphs import (
    adjacency,
    bonded_path,
    labeled_path,
    same_graph,
)

from sklofi import GraphSet


@pytest.mark.parametrize(
    "key",
    [[2, 0, 2], np.array([1]), np.array([True, False, True, False]), slice(1, None, 2), [-1]],
    ids=str,
)
def test_slicing_is_slicing_the_list(key):
    graphs = [labeled_path("ab"), labeled_path("c"), labeled_path("aba"), labeled_path("bb")]
    graphs = [nx.relabel_nodes(graph, lambda node: f"n{node}") for graph in graphs]
    expected = [graphs[i] for i in np.arange(4)[key]]
    sliced = GraphSet.from_networkx(graphs)[key]
    assert len(sliced) == len(expected)
    assert all(map(same_graph, sliced, expected))


def test_scikit_learn_can_slice():
    graphs = GraphSet.from_networkx([nx.path_graph(n) for n in (1, 2, 3)])
    assert graphs.shape == (3,)
    assert [len(g) for g in _safe_indexing(graphs, np.array([2, 0]))] == [3, 1]
    assert [len(g) for g in graphs[np.array([True, False, True]), ...]] == [1, 3]


def test_one_graph_of_a_set_is_a_networkx_graph():
    graphs = GraphSet.from_networkx([nx.path_graph(2), nx.star_graph(3)])
    assert same_graph(graphs[-1], nx.star_graph(3))
    with pytest.raises(IndexError):
        graphs[2]
    with pytest.raises(IndexError, match="one axis"):
        graphs[0, 1]


def test_a_set_is_cheap_to_ship():
    graphs = [nx.gnp_random_graph(30, 0.1, seed=i) for i in range(50)]
    converted = GraphSet.from_networkx(graphs)
    shipped = pickle.dumps(converted)
    arrays = (converted.node_offsets, converted.edge_offsets, converted.neighbors)
    assert len(shipped) < sum(array.nbytes for array in arrays) + 2000
    assert all(map(same_graph, pickle.loads(shipped), graphs))


def test_size_counts_the_arrays_and_the_names():
    numbers = GraphSet.from_networkx([nx.path_graph(1000)])
    arrays = (numbers.node_offsets, numbers.edge_offsets, numbers.neighbors)
    assert sys.getsizeof(numbers) > sum(array.nbytes for array in arrays)
    named = nx.relabel_nodes(nx.path_graph(1000), lambda node: f"{node:100}")
    assert sys.getsizeof(GraphSet.from_networkx([named])) > sys.getsizeof(numbers) + 100_000


def test_a_set_can_be_weakly_referenced():
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    assert weakref.ref(graphs)() is graphs


def test_a_set_cannot_be_changed():
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    with pytest.raises(AttributeError):
        graphs.labels = ("a",)


def test_arrays_are_read_only_though_not_those_of_the_caller():
    """Tables are derived from them; a change would go unnoticed."""
    mine = np.zeros((3, 2))
    graph = GraphSet.from_networkx([nx.path_graph(3)])
    graphs = dataclasses.replace(graph, features=mine)
    for same in (graphs, graphs[:1], pickle.loads(pickle.dumps(graphs))):
        for array in (same.features, same.neighbors, same.node_offsets):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
    mine[0] = 1


def test_slices_know_where_they_came_from():
    graphs = GraphSet.from_networkx([nx.path_graph(n) for n in (3, 4, 5, 6)])
    whole, rows = graphs.origin
    assert whole is graphs and rows.tolist() == [0, 1, 2, 3]
    whole, rows = graphs[1:][[2, 0], ...].origin
    assert whole is graphs and rows.tolist() == [3, 1]
    for alone in (pickle.loads(pickle.dumps(graphs[[2]])), copy.copy(graphs[[2]])):
        assert alone.origin[0] is alone and len(alone) == 1


@pytest.mark.parametrize(
    "key", [[2, 0, 2], np.array([False, True, False]), slice(1, None)], ids=str
)
def test_slices_keep_the_labels_of_their_edges(key):
    graphs = [bonded_path("ab"), bonded_path("c", nx.DiGraph), bonded_path("bca")]
    sliced = GraphSet.from_networkx(graphs, edge_label="bond")[key]
    sliced.check_arrays()
    for graph, expected in zip(sliced, [graphs[i] for i in np.arange(3)[key]], strict=True):
        assert adjacency(graph) == adjacency(expected)


def test_labels_of_edges_count_in_the_fingerprint_and_in_the_size():
    graphs = [bonded_path("ab"), bonded_path("ba"), nx.path_graph(3)]
    forward, backward = (GraphSet.from_networkx([graph], edge_label="bond") for graph in graphs[:2])
    assert forward.fingerprint != backward.fingerprint
    bare, plain = (GraphSet.from_networkx([graph], edge_label=None) for graph in graphs[1:])
    assert bare.fingerprint == plain.fingerprint != forward.fingerprint
    assert sys.getsizeof(forward) > sys.getsizeof(bare) + forward.edge_label_ids.nbytes
    with pytest.raises(ValueError, match="read-only"):
        forward.edge_label_ids[0] = 1


def test_the_fingerprint_of_graphs_without_labels_of_edges_is_that_of_former_versions():
    graphs = GraphSet.from_networkx([labeled_path("aba")])
    assert graphs.fingerprint.hex() == "be73c9aae376ec73508584490d8202e8"


def test_sets_that_former_versions_have_pickled_can_be_loaded():
    state = GraphSet.from_networkx([labeled_path("aba")]).__getstate__()
    later = ("edge_label", "edge_weight", "edge_vectors", "edge_features", "molecule", "graph_")
    former = {name: value for name, value in state.items() if not name.startswith(later)}
    assert len(former) == 11  # ten arrays and names, and the fingerprint
    graphs = GraphSet.__new__(GraphSet)
    graphs.__setstate__(former)
    assert graphs[:1].edge_label_ids is graphs[:1].edge_weights is graphs[:1].edge_vectors is None
    assert same_graph(copy.copy(graphs)[0], labeled_path("aba"))


def test_without_labels_of_nodes_edges_keep_theirs():
    graph = bonded_path("ab")
    nx.set_node_attributes(graph, "a", "label")
    graphs = GraphSet.from_networkx([graph], edge_label="bond").without_labels()
    assert graphs.label_ids is None and graphs.edge_labels == ("a", "b")


def test_a_set_has_one_axis_and_is_no_array():
    graphs = GraphSet.from_networkx([nx.path_graph(3)] * 2)
    for key in [(0, 1), (0, slice(None)), (..., 0), [[0, 1]]]:
        with pytest.raises(IndexError, match="A GraphSet has one axis"):
            graphs[key]
    with pytest.raises(TypeError, match=r"cannot be made an array, .* BaggingClassifier"):
        np.asarray(graphs)


def test_numbers_on_edges_count_in_the_fingerprint_and_in_the_size():
    graph = nx.Graph([(0, 1, {"w": 1.0, "v": 2.0})])
    options = [{}, {"edge_weight": "w"}, {"edge_weight": "v"}, {"edge_features": "w"}]
    sets = [GraphSet.from_networkx([graph], edge_label=None, **option) for option in options]
    assert len({graphs.fingerprint for graphs in sets}) == 4
    assert sys.getsizeof(sets[1]) > sys.getsizeof(sets[0]) + sets[1].edge_weights.nbytes
    for array in (sets[1].edge_weights, sets[3].edge_vectors):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_without_edge_labels_everything_else_stays():
    graph = bonded_path("ab")
    nx.set_node_attributes(graph, "a", "label")
    nx.set_edge_attributes(graph, 2.0, "w")
    whole = GraphSet.from_networkx([graph], edge_label="bond", edge_weight="w", edge_features="w")
    graphs = whole.without_edge_labels()
    assert graphs.edge_label_ids is None and graphs.edge_labels == ()
    assert graphs.labels == ("a",) and graphs.edge_label == "bond"
    assert graphs.edge_weights.tolist() == [2] * 4 and graphs.edge_vectors.shape == (4, 1)
    assert graphs.without_edge_labels() is graphs
    plain = GraphSet.from_networkx([graph], edge_label=None, edge_weight="w", edge_features="w")
    assert graphs.fingerprint == plain.fingerprint
