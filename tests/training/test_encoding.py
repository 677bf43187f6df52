import dataclasses
from enum import Enum

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from small_graphs import path_with
from training_helpers import QUICK

from helpers import unseen_labels
from sklofi import GraphSet, LoFIClassifier, load
from sklofi.baselines import DeepMultisetsClassifier
from sklofi.training._encoding import EdgeEncoder, NodeEncoder, columns_of


def graph_with(*bonds):
    graph = nx.path_graph(len(bonds) + 1)
    nx.set_edge_attributes(graph, {(i, i + 1): bond for i, bond in enumerate(bonds)}, "label")
    return graph


def bonds(*graphs):
    return GraphSet.from_networkx([graph_with(*labels) for labels in graphs], edge_label="label")


def encode(encoder, graphs, edges):
    return encoder.features()[encoder.kinds(graphs)[edges]]


def test_labels_have_columns_and_unknown_ones_have_none():
    assert columns_of(["b", "x", "a"], ["a", "b"]).tolist() == [1, 2, 0]


def test_edges_are_one_hot_in_both_directions():
    graphs = bonds("-=", "=")
    encoder = EdgeEncoder.fit(graphs)
    assert encoder.labels == ("-", "=")
    # 0-1, 1-0, 1=2, 2=1 of the first graph, 0=1, 1=0 of the second
    x = encode(encoder, graphs, np.arange(len(graphs.neighbors)))
    assert x.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 1]]


@unseen_labels
def test_only_labels_of_the_training_graphs_have_a_column():
    graphs = bonds("-", "=", "#")
    encoder = EdgeEncoder.fit(graphs[:2])
    assert encoder.labels == ("-", "=")
    assert_array_equal(encode(encoder, graphs, np.array([4, 5])), np.zeros((2, 2)))
    encoder.check(graphs, "ignore", "ECC")
    with pytest.raises(ValueError, match=r"Graph 2, edge \(0, 1\), has the label '#', which no"):
        encoder.check(graphs, "error", "ECC")


def test_edges_without_labels_are_all_alike():
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    encoder = EdgeEncoder.fit(graphs)
    assert encode(encoder, graphs, np.arange(4)).tolist() == [[1]] * 4
    with pytest.raises(ValueError, match="X has graphs with edge labels, but ECC was fitted on"):
        encoder.check(bonds("-"), "ignore", "ECC")


def test_graphs_without_edges_can_be_encoded_after_any_others():
    lonely = GraphSet.from_networkx([nx.empty_graph(2)], edge_label="label")
    encoder = EdgeEncoder.fit(bonds("-"))
    encoder.check(lonely, "error", "ECC")
    assert encode(encoder, lonely, np.arange(0)).shape == (0, 1)
    # and the other way round: what comes later is unknown
    nothing = EdgeEncoder.fit(bonds("-", "")[1:])
    assert encode(nothing, bonds("-"), np.arange(2)).tolist() == [[0], [0]]


def test_labels_without_an_order_have_the_same_columns_in_a_list_and_in_a_slice():
    atoms = Enum("Atoms", "C N O")
    graphs = []
    for labels in [(atoms.O, atoms.N), (atoms.N, atoms.C), (atoms.C, atoms.N)]:
        graph = nx.path_graph(2)
        nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
        graphs.append(graph)
    sliced, listed = GraphSet.from_networkx(graphs)[1:], GraphSet.from_networkx(graphs[1:])
    weight = np.ones(2)
    expected = NodeEncoder.fit(listed, weight).labels
    assert NodeEncoder.fit(sliced, weight).labels == expected == (atoms.N, atoms.C)


def test_features_far_beyond_those_of_training_are_bounded_without_a_warning():
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    near, far = (
        dataclasses.replace(graphs, features=np.array([[1.0], [2.0]]) * size)
        for size in (1e-300, 1e30)
    )
    encoder = NodeEncoder.fit(near, np.ones(1))
    with np.errstate(all="raise"):
        x = encoder.encode(far, np.arange(2), encoder.label_columns(far))
    assert x[:, 1].tolist() == [np.float32(1e15)] * 2


def structure_of(encoder, graphs):
    x = encoder.encode(graphs, np.arange(graphs.n_nodes), encoder.label_columns(graphs))
    return x[:, len(encoder.labels) + len(encoder.feature_mean) :].astype(int).tolist()


def test_structure_is_one_hot_after_labels_and_features():
    graphs = GraphSet.from_networkx([nx.path_graph(3), nx.cycle_graph(3)])
    graphs = dataclasses.replace(graphs, features=np.arange(6.0)[:, None])
    encoder = NodeEncoder.fit(graphs, np.ones(2), ("degree", "rings"))
    assert encoder.structure == ("degree", "rings")
    assert encoder.structure_columns == ["degree 1", "degree 2", "rings 0", "rings 4"]
    assert encoder.n_columns == 6
    end, middle, corner = [1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]
    assert structure_of(encoder, graphs) == [end, middle, end, corner, corner, corner]


def test_without_structure_nothing_is_added():
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    encoder = NodeEncoder.fit(graphs, np.ones(1))
    assert (encoder.structure, encoder.structure_columns, encoder.n_columns) == ((), [], 1)


def test_unknown_degrees_are_the_nearest_and_unknown_rings_are_zeros():
    graphs = GraphSet.from_networkx([nx.path_graph(3), nx.star_graph(5), nx.cycle_graph(6)])
    encoder = NodeEncoder.fit(graphs[:2], np.ones(2), ["degree", "rings"])
    assert encoder.structure_columns == ["degree 1", "degree 2", "degree 5", "rings 0"]
    assert structure_of(encoder, graphs[2:]) == [[0, 1, 0, 0]] * 6
    hubs = GraphSet.from_networkx([nx.star_graph(n) for n in (3, 4, 100)] + [nx.empty_graph(1)])
    places = [np.flatnonzero(row[:3]).tolist() for row in structure_of(encoder, hubs)]
    centers = hubs.node_offsets[:-1]
    assert [places[center] for center in centers] == [[1], [2], [2], [0]]
    encoder.check(hubs, "error", "GIN")  # which is about labels


def triangles_and_hexagons(n_graphs=24):
    """Two triangles or a hexagon: all nodes have two neighbors, and one label."""
    two_triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    graphs = [nx.cycle_graph(6), two_triangles] * (n_graphs // 2)
    return graphs, np.arange(n_graphs) % 2


@pytest.mark.parametrize("structure", ["triangles", ("rings",), ["degree", "walks"]])
def test_graphs_that_differ_in_structure_only_are_told_apart(structure):
    graphs, y = triangles_and_hexagons()
    settings = {"max_epochs": 40, "early_stopping": False, "random_state": 0}
    blind = DeepMultisetsClassifier(**settings).fit(graphs, y)
    assert blind.score(graphs, y) == 0.5
    sighted = DeepMultisetsClassifier(**settings, structure=structure).fit(graphs, y)
    assert sighted.score(graphs, y) == 1


def test_lofi_tells_graphs_apart_that_differ_in_structure_only():
    graphs, y = triangles_and_hexagons()
    settings = {**QUICK, "max_epochs": 40, "early_stopping": False}
    assert LoFIClassifier(**settings, structure="triangles").fit(graphs, y).score(graphs, y) == 1


def test_structure_is_remembered_by_the_fitted_estimator_and_its_file(tmp_path):
    graphs, y = triangles_and_hexagons()
    settings = {"max_epochs": 3, "early_stopping": False, "random_state": 0}
    names = ["triangles"]
    classifier = DeepMultisetsClassifier(**settings, structure=names).fit(graphs, y)
    expected = classifier.predict_proba(graphs)
    names.append("degree")  # the list is the user's
    classifier.set_params(structure="degree")
    assert_array_equal(classifier.predict_proba(graphs), expected)
    classifier.set_params(structure="triangles").save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.structure == "triangles"
    assert_array_equal(loaded.predict_proba(graphs), expected)


def test_the_names_of_structure_are_checked_in_fit():
    graphs, y = triangles_and_hexagons()
    with pytest.raises(ValueError, match="structure"):
        DeepMultisetsClassifier(structure="squares").fit(graphs, y)
    with pytest.raises(ValueError, match="structure has to be some of"):
        DeepMultisetsClassifier(structure=("rings", "squares")).fit(graphs, y)


def test_labels_features_both_or_neither():
    """Labels tell half of the class, features the other half."""
    y = np.arange(40) % 4
    graphs = [path_with(5, label="ab"[c % 2], x=(float(c > 1), 1.0)) for c in y]
    for node_label, node_features, n_columns, score in [
        ("label", None, 2, 0.5), (None, "x", 3, 0.5), ("label", "x", 4, 1.0), (None, None, 1, 0.25),
    ]:  # fmt: skip
        classifier = LoFIClassifier(
            **{**QUICK, "max_epochs": 60, "early_stopping": False},
            node_label=node_label,
            node_features=node_features,
        ).fit(graphs, y)
        assert classifier.module_.layers[0].dictionary.shape[2] == n_columns
        assert classifier.score(graphs, y) == pytest.approx(score, abs=0.03)
        assert classifier.node_labels_ == (["a", "b"] if node_label else [])


def test_the_scale_of_features_does_not_matter():
    rng = np.random.RandomState(0)
    values = [rng.normal(i % 2, 1, size=(5, 2)) for i in range(30)]
    predictions = []
    for scale in (1, 2**20):
        graphs = [path_with(5, x=dict(enumerate(scale * value))) for value in values]
        classifier = LoFIClassifier(**QUICK, node_features="x").fit(graphs, np.arange(30) % 2)
        predictions.append(classifier.predict_proba(graphs))
    assert_allclose(*predictions, rtol=1e-4)


def test_the_size_of_features_is_not_lost_in_their_direction():
    """LoFI compares directions; the magnitude of a single feature must still count."""
    graphs = [path_with(3, x=[0.5, 1.0, 4.0][i % 3]) for i in range(60)]
    y = np.arange(60) % 3
    classifier = LoFIClassifier(n_members=1, counts=False, random_state=0, node_features="x").fit(
        graphs, y
    )
    assert classifier.score(graphs, y) == 1


def test_features_far_from_zero_keep_their_differences():
    graphs = [path_with(3, x=1.7e9 + i % 2) for i in range(40)]
    y = np.arange(40) % 2
    classifier = LoFIClassifier(**{**QUICK, "max_epochs": 30}, node_features="x").fit(graphs, y)
    assert classifier.score(graphs, y) == 1
    assert np.isfinite(classifier.predict_proba([path_with(3, x=-3e38)])).all()


def test_labels_are_those_of_the_training_graphs_only(larger_motifs):
    graphs, y = larger_motifs
    odd = path_with(label="unseen")
    X = GraphSet.from_networkx([*graphs, odd])
    classifier = LoFIClassifier(**QUICK).fit(X[: len(graphs)], y)
    assert classifier.node_labels_ == ["C", "H", "N", "O", "S"]


@unseen_labels
def test_unseen_labels_are_all_zero_vectors(larger_motifs):
    """An all-zero vector is as far from every word: the softmax is even."""
    graphs, y = larger_motifs
    classifier = LoFIClassifier(**{**QUICK, "n_layers": 1}, distances=False).fit(graphs, y)
    alone = nx.Graph()
    alone.add_node("x", label="unseen")
    layer = classifier.module_.layers[0]
    with torch.no_grad():
        expected = 1 - (1 / 4 - layer.histogram).abs().sum(dim=1) / 2
    assert_allclose(classifier.transform([alone])[0], expected.numpy(), rtol=1e-5)


def test_unseen_labels_are_refused_on_request(larger_motifs):
    graphs, y = larger_motifs
    classifier = LoFIClassifier(**QUICK, handle_unknown="error").fit(graphs, y)
    odd = nx.relabel_nodes(path_with(3, label="C"), {1: "middle"})
    odd.nodes["middle"]["label"] = "Xe"
    with pytest.raises(ValueError, match=r"Graph 1, node 'middle', has the label 'Xe'.*ignore"):
        classifier.predict([graphs[0], odd])


@pytest.mark.parametrize(
    "fitted, given, match",
    [
        ({"x": 1.0}, {"x": [1.0, 2.0]}, "X has 2 node features, but LoFIClassifier is expecting 1"),
        ({"label": "a", "x": 1.0}, {"x": 1.0}, "without node labels, but LoFIClassifier was"),
        ({"x": 1.0}, {"label": "a", "x": 1.0}, "with node labels, but LoFIClassifier was"),
    ],
)
def test_prediction_needs_the_same_kind_of_graphs(fitted, given, match):
    def graphs(attributes):
        return [path_with(**{k: dict.fromkeys(range(4), x) for k, x in attributes.items()})] * 10

    classifier = LoFIClassifier(**QUICK, node_features="x")
    classifier.fit(graphs(fitted), [0, 1] * 5)
    with pytest.raises(ValueError, match=match):
        classifier.predict(graphs(given))
