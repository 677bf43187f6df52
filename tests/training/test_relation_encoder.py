"""Relations of members to the center, from graphs to the outputs of a fitted network."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lofi_loops import loop_network
from numpy.testing import assert_allclose, assert_array_equal
from related_members import members_of, random_multigraph

from sklofi import GraphSet, LoFIClassifier
from sklofi.egonets._members import Relations, egonet_members
from sklofi.nn import RelatedEgonets
from sklofi.training._relation_encoder import RelationEncoder

pytestmark = pytest.mark.filterwarnings("ignore:The edges of X differ", "ignore:No edge has")

SETTINGS = {
    "n_members": 1,
    "counts": False,
    "max_epochs": 1,
    "n_layers": 2,
    "n_masks": 2,
    "n_words": 3,
    "early_stopping": False,
}
SEES_ALL = {"edge_label": "bond", "edge_weight": "weight", "edge_features": "length"}


def multigraphs(seed, n_graphs=6):
    graphs = [random_multigraph(seed + i, n_labels=2) for i in range(n_graphs - 1)]
    everything = nx.complete_graph(4)
    for v in everything:
        everything.nodes[v]["label"] = v % 2
    for i, edge in enumerate(everything.edges.values()):
        edge.update(bond=("single", "double", 3)[i % 3], weight=1.0, length=[1.0, i])
    return [everything, *graphs]


def fitted(graphs, **parameters):
    y = np.arange(len(graphs)) % 2
    return LoFIClassifier(**SETTINGS, random_state=0, **parameters).fit(graphs, y)


def log_odds(classifier, graphs):
    zero, one = classifier.predict_proba(graphs).T
    return np.log(one / zero)


def loop_outputs(classifier, graphs):
    """The outputs of a fitted classifier, by loops over networkx graphs."""
    encoder = classifier._relation_encoder
    number_of = {tuple(kind): i for i, kind in enumerate(encoder.kinds.tolist())}

    def vector_of(kind, features):
        vector = torch.zeros(encoder.n_columns, dtype=torch.float64)
        if kind:
            distance, label, ring = kind
            position = -1 if label is None else encoder.edge_labels.index(label)
            if (distance, position, ring) in number_of:
                vector[number_of[distance, position, ring]] = 1
        if features:
            scaled = (np.array(features) - encoder.feature_mean) / encoder.feature_scale
            vector[len(encoder.kinds) :] = torch.from_numpy(scaled)
        return vector

    def members(graph, node):
        found = members_of(graph, node, classifier.radius, encoder.relations)
        return [(u, vector_of(kind, features), weight) for u, kind, features, weight in found]

    labels = classifier.node_labels_
    x = [data["label"] for graph in graphs for _, data in graph.nodes(data=True)]
    one_hot = torch.eye(len(labels), dtype=torch.float64)[[labels.index(label) for label in x]]
    network = classifier.module_.double()
    outputs = loop_network(network, graphs, one_hot, classifier.radius, members)
    network.float()
    return outputs.detach().numpy()


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from([0, 5]),
    st.sets(st.sampled_from(list(SEES_ALL))),
)
def test_outputs_of_a_fitted_network_are_those_of_a_loop(seed, radius, distances, ring, sees):
    graphs = multigraphs(seed)
    reads = {"edge_label": None, **{name: SEES_ALL[name] for name in sees}}
    classifier = fitted(graphs, radius=radius, distances=distances, max_ring=ring, **reads)
    outputs = loop_outputs(classifier, graphs)
    expected = outputs[:, 1] - outputs[:, 0]
    assert_allclose(log_odds(classifier, graphs), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("radius", [1, 2])
def test_merged_members_give_what_single_members_give(radius):
    graphs = multigraphs(7, n_graphs=12)
    classifier = fitted(graphs, radius=radius, **SEES_ALL)
    dataset = classifier._dataset(GraphSet.from_networkx(graphs, **SEES_ALL))
    rows = np.arange(len(graphs))
    outputs = []
    for merge in (True, False):
        batch, _ = dataset.batch(rows, merge=merge)
        outputs.append(classifier.module_(*batch.inputs))
        assert isinstance(batch.egonets[0], RelatedEgonets)
    assert_allclose(*[output.detach().numpy() for output in outputs], rtol=1e-4, atol=1e-5)


def test_many_relations_are_those_that_occur_in_a_batch(monkeypatch):
    from sklofi.training import _egonet_batches

    graphs = multigraphs(3, n_graphs=10)
    expected = fitted(graphs, **SEES_ALL).predict_proba(graphs)
    monkeypatch.setattr(_egonet_batches, "MANY_RELATIONS", 2)
    assert_allclose(fitted(graphs, **SEES_ALL).predict_proba(graphs), expected, rtol=1e-5)


def test_the_published_network_has_no_relations():
    graphs = multigraphs(0)
    classifier = fitted(graphs, distances=False, edge_label=None, max_ring=0)
    assert classifier.module_.layers[0].offset is None
    assert classifier._relation_encoder.relations == Relations()
    batch, _ = classifier._dataset(GraphSet.from_networkx(graphs)).batch(np.arange(2))
    assert not isinstance(batch.egonets[0], RelatedEgonets)


def test_kinds_are_those_of_the_training_graphs_alone():
    """A slice does not learn from the set that it was taken from."""
    ring, path = nx.cycle_graph(5), nx.path_graph(4)
    nx.set_edge_attributes(ring, "double", "label")
    nx.set_edge_attributes(path, "single", "label")
    graphs = GraphSet.from_networkx([ring, path])
    choice = {"distances": True, "edge_labels": True, "max_ring": 8}
    encoder = RelationEncoder.fit(graphs[[1]], np.ones(1), 1, **choice)
    assert encoder.edge_labels == ("single",)
    assert encoder.kinds.tolist() == [[0, -1, 0], [1, 0, 0]]
    members = egonet_members(graphs, 1, encoder.relations)
    vectors = encoder.encode(graphs, members)
    unknown = members.kinds[:, 2] == 5
    assert_array_equal(vectors[unknown], 0)
    assert vectors[~unknown].sum() == 2


def bonds(*labels):
    graph = nx.path_graph(len(labels) + 1)
    for edge, label in zip(graph.edges.values(), labels, strict=True):
        edge["label"] = label
    return graph


def test_edges_with_labels_unseen_in_training_shift_nothing_or_are_refused():
    training = [bonds("single", "double"), bonds("single"), bonds("double"), bonds("single")]
    odd = bonds("triple", "single")
    lenient = fitted(training)
    with pytest.warns(UserWarning, match="Edge labels that no training graph has"):
        lenient.predict([odd])
    # As the only edge it is no relation at all.
    layer = lenient.module_.layers[0]
    with torch.no_grad():
        encoder = lenient._relation_encoder
        graphs = GraphSet.from_networkx([odd])
        members = egonet_members(graphs, 1, encoder.relations)
        vectors = encoder.encode(graphs, members)
        triple = [graphs.edge_labels[kind] == "triple" for kind in members.kinds[:, 1]]
        assert not vectors[np.array(triple) & (members.kinds[:, 1] >= 0)].any()
        assert layer.offset.shape[-1] == vectors.shape[1]
    strict = fitted(training, handle_unknown="error")
    with pytest.raises(ValueError, match=r"Graph 0, edge \(0, 1\), has the label 'triple'"):
        strict.predict([odd])


def test_graphs_have_to_be_of_the_kind_of_training():
    plain, weighted = nx.path_graph(3), nx.path_graph(3)
    nx.set_edge_attributes(weighted, 2.0, "weight")
    nx.set_edge_attributes(weighted, {edge: [1.0, 2.0] for edge in weighted.edges}, "length")
    unlabeled = fitted([plain, nx.path_graph(4)])
    by_weight = fitted(GraphSet.from_networkx([weighted, weighted], edge_weight="weight"))
    for classifier, graph, message in (
        (unlabeled, bonds("single"), "with edge labels, but LoFIClassifier was fitted on graphs"),
        (by_weight, plain, "without edge weights, but LoFIClassifier was fitted on graphs with"),
    ):
        with pytest.raises(ValueError, match=message):
            classifier.predict([graph])
    with_features = GraphSet.from_networkx([weighted], edge_features="length")
    with pytest.raises(ValueError, match="with edge features, but LoFIClassifier was fitted on"):
        unlabeled.predict(with_features)


def differ_in(what):
    """Two classes of graphs that differ in one respect only."""
    graphs, y = [], []
    for i in range(40):
        graph = nx.cycle_graph(6 + 2 * (i // 2 % 3))
        alternating = i % 2
        for j, edge in enumerate(graph.edges.values()):
            first = j % 2 if alternating else j < len(graph) // 2
            if what == "bonds":
                edge["label"] = "double" if first else "single"
            elif what == "weights":
                edge["weight"] = 2.0 if first else 1.0
            else:
                edge["length"] = [1.0 + first, float(first)]
        graphs.append(graph)
        y.append(alternating)
    return graphs, y


@pytest.mark.parametrize(
    ("what", "reads"),
    [
        ("bonds", {}),
        ("weights", {"edge_weight": "weight"}),
        ("features", {"edge_features": "length"}),
    ],
)
def test_graphs_that_differ_in_their_edges_only_are_told_apart(what, reads):
    graphs, y = differ_in(what)
    training = {"max_epochs": 60, "early_stopping": False, "random_state": 0, "lr": 0.01}
    training |= {"n_members": 1, "counts": False}
    assert LoFIClassifier(**training, **reads).fit(graphs, y).score(graphs, y) == 1
    blind = LoFIClassifier(**training, edge_label=None).fit(graphs, y)
    assert len(np.unique(log_odds(blind, graphs).round(3))) <= 3  # one for each size


def test_parameters_of_relations_shape_the_network():
    graphs = multigraphs(0)
    classifier = fitted(graphs, edge_label="bond", warm_start=True)
    for changed in ({"distances": False}, {"max_ring": 3}, {"edge_label": None}):
        before = classifier.get_params()
        classifier.set_params(**changed)
        with pytest.raises(ValueError, match=f"changed since it was made: {next(iter(changed))}"):
            classifier.fit(graphs, np.arange(len(graphs)) % 2)
        classifier.set_params(**{name: before[name] for name in changed})
    expected = classifier.predict_proba(graphs)
    classifier.set_params(distances=False, max_ring=0)  # prediction looks as training did
    assert_array_equal(classifier.predict_proba(graphs), expected)


def fitted_encoder(radius=1, *, distances=True, edge_labels=True, max_ring=0, features=None):
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
    assert fitted_encoder(2, edge_labels=False).names == ["center", "edge", "distance 2"]
    assert fitted_encoder(0).names == ["center"]
    assert set(fitted_encoder().names) == {
        "center",
        "edge 'double'",
        "edge 1",
        "edge 'single'",
        "edge without label",
    }
    assert set(fitted_encoder(max_ring=3, distances=False).names) == {
        "edge 'double' in a ring of 3",
        "edge 'double' outside rings",
        "edge 1 in a ring of 3",
        "edge 'single' outside rings",
        "edge without label in a ring of 3",
    }
    rings = fitted_encoder(max_ring=3, distances=False, edge_labels=False)
    assert rings.names == ["edge in a ring of 3"]  # others are as the center


def test_every_column_has_a_name():
    for radius in (0, 1, 2):
        for max_ring in (0, 3):
            encoder = fitted_encoder(radius, max_ring=max_ring, features="length")
            assert len(encoder.names) == len(set(encoder.names)) == encoder.n_columns
            assert encoder.names[-2:] == ["edge feature 0", "edge feature 1"]
    nothing = fitted_encoder(distances=False, edge_labels=False)
    assert nothing.names == [] and nothing.n_columns == 0
