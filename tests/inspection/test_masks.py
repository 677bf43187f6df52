"""Masks switched off by hand, and egonets found by hand."""

from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose
from related_members import members_of
from related_outputs import ATTRIBUTES, bonded_graphs, related_outputs
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.graphs._input import as_graph_set
from sklofi.inspection import best_egonets, mask_importance, read_mask

pytestmark = pytest.mark.filterwarnings("ignore:The edges of X differ in the attribute")

QUICK = {
    "n_members": 1,
    "counts": False,
    "n_layers": 3,
    "n_masks": 4,
    "n_words": 3,
    "max_epochs": 8,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def classifier(motifs):
    return LoFIClassifier(**QUICK).fit(*motifs)


def probabilities_without(classifier, graphs, layer, mask):
    """Layer by layer, node by node, with one column of one layer set to zero."""
    module = classifier.module_
    (batch,) = classifier._node_batches(GraphSet.from_networkx(graphs), max_rows=10**6)
    x, pooled = batch.x, []
    for depth, one in enumerate(module.layers):
        z = one(x, batch.egonets[0]).detach().clone()
        if depth == layer:
            z[:, mask] = 0
        pooled.append(batch.graphs[0].sum_rows(z))
        if depth + 1 < len(module.layers):
            x = (z - module.node_mean[depth]) / module.node_scale[depth]
    with torch.no_grad():
        return module.head(torch.cat(pooled, dim=1)).double().softmax(dim=1).numpy()


def test_importance_is_what_the_loss_grows_by_without_a_mask(motifs, classifier):
    graphs, y = motifs
    result = mask_importance(classifier, graphs, y)
    full = log_loss(y, classifier.predict_proba(graphs))
    assert result.baseline == pytest.approx(full, rel=1e-4)
    expected = [
        [log_loss(y, probabilities_without(classifier, graphs, i, j)) - full for j in range(4)]
        for i in range(3)
    ]
    assert_allclose(result.importances_mean, expected, rtol=1e-3, atol=1e-4)


def test_importance_is_by_bonds_rings_weights_features_and_structure():
    graphs, y = bonded_graphs()
    classifier = LoFIClassifier(
        **{**QUICK, "n_layers": 2},
        **ATTRIBUTES,
        max_ring=6,
        structure="degree",
    ).fit(graphs, y)
    result = mask_importance(classifier, graphs, y)

    def loss(without=None):
        rows = [related_outputs(classifier, graph, without=without)[0] for graph in graphs]
        return log_loss(y, torch.stack(rows).detach().softmax(dim=1).numpy())

    full = loss()
    assert result.baseline == pytest.approx(full, rel=1e-4)
    expected = [[loss((i, j)) - full for j in range(4)] for i in range(2)]
    assert_allclose(result.importances_mean, expected, rtol=1e-3, atol=1e-4)


def test_importance_by_a_score(motifs, classifier):
    graphs, y = motifs
    result = mask_importance(classifier, graphs, y, scoring="accuracy")
    assert result.baseline == classifier.score(graphs, y)
    for (i, j), importance in np.ndenumerate(result.importances_mean):
        predicted = probabilities_without(classifier, graphs, i, j).argmax(axis=1)
        assert importance == pytest.approx(result.baseline - (predicted == y).mean())
    by_loss = mask_importance(classifier, graphs, y)
    by_score = mask_importance(classifier, graphs, y, scoring="neg_log_loss")
    assert_allclose(by_score.importances_mean, by_loss.importances_mean, rtol=1e-3, atol=1e-4)


def test_the_spread_is_that_of_bootstrap_samples(motifs, classifier):
    graphs, y = motifs
    first = mask_importance(classifier, graphs, y, n_resamples=500, random_state=0)
    again = mask_importance(classifier, graphs, y, n_resamples=500, random_state=0)
    other = mask_importance(classifier, graphs, y, n_resamples=500, random_state=1)
    assert first.importances.shape == (3, 4, 500)
    assert (first.importances == again.importances).all()
    assert (first.importances_mean == other.importances_mean).all()
    assert_allclose(first.importances_std, other.importances_std, rtol=0.3, atol=1e-3)
    assert_allclose(first.importances_std, first.importances.std(axis=-1))
    # The standard error of a stratified mean, by the textbook.
    i, j = np.unravel_index(first.importances_mean.argmax(), (3, 4))
    rows = np.arange(len(y))
    losses = [
        -np.log(p[rows, y])
        for p in (probabilities_without(classifier, graphs, i, j), classifier.predict_proba(graphs))
    ]
    growth = losses[0] - losses[1]
    variance = sum((y == c).sum() * growth[y == c].var() for c in (0, 1)) / len(y) ** 2
    assert first.importances_std[i, j] == pytest.approx(np.sqrt(variance), rel=0.2)
    rare = mask_importance(classifier, graphs[:3], y[:3], scoring="neg_log_loss")
    assert set(y[:3]) == {0, 1} and np.isfinite(rare.importances).all()  # in every sample


def test_the_loss_has_the_class_weights_of_the_training(motifs):
    graphs, y = motifs
    rows = np.flatnonzero((y == 0) | (np.arange(len(y)) < 12))
    graphs, y = [graphs[i] for i in rows], y[rows]
    classifier = LoFIClassifier(**QUICK, class_weight="balanced").fit(graphs, y)
    weight = (len(y) / (2 * np.bincount(y)))[y]
    expected = log_loss(y, classifier.predict_proba(graphs), sample_weight=weight)
    assert mask_importance(classifier, graphs, y).baseline == pytest.approx(expected, rel=1e-4)


def test_one_layer_is_a_row_of_all(motifs, classifier):
    every = mask_importance(classifier, *motifs, random_state=0)
    one = mask_importance(classifier, *motifs, layer=1, random_state=0)
    for name in ("importances_mean", "importances_std", "importances"):
        assert_allclose(one[name], every[name][1])


def test_importance_for_regression_and_other_readouts(motifs):
    graphs, y = motifs
    targets = np.column_stack([y, -2.0 * y])
    regressor = LoFIRegressor(**QUICK, readout="last", pooling="max").fit(graphs, targets)
    result = mask_importance(regressor, graphs, targets, scoring="neg_mean_absolute_error")
    expected = -np.abs(regressor.predict(graphs) - targets).mean()
    assert result.baseline == pytest.approx(expected, rel=1e-4)
    assert mask_importance(regressor, graphs, targets).importances_mean.shape == (3, 4)
    with pytest.raises(AttributeError, match="predict_proba"):
        mask_importance(regressor, graphs, targets, scoring="neg_log_loss")


def test_what_is_wrong_is_said(motifs, classifier):
    with pytest.raises(ValueError, match="layer == 3, must be <= 2"):
        mask_importance(classifier, *motifs, layer=3)
    with pytest.raises(ValueError, match="mask == -1, must be >= 0"):
        read_mask(classifier, 0, -1)
    with pytest.raises(ValueError, match="mask == 4, must be <= 3"):
        best_egonets(classifier, motifs[0], 0, 4)
    with pytest.raises(TypeError, match="k must be an instance of int"):
        best_egonets(classifier, motifs[0], k=1.5)
    with pytest.raises(ValueError, match="n_resamples == 0, must be >= 1"):
        mask_importance(classifier, *motifs, n_resamples=0)
    with pytest.raises(TypeError, match="scoring has to be one score"):
        mask_importance(classifier, *motifs, scoring=["accuracy"])
    search = GridSearchCV(classifier, {"radius": [1]}, cv=2, refit=False).fit(*motifs)
    with pytest.raises(TypeError, match="search with refit=True"):
        read_mask(search)
    with pytest.raises(ValueError, match="40 graphs, but y has 39 targets"):
        mask_importance(classifier, motifs[0], motifs[1][1:])


def test_a_mask_is_read_by_the_names_of_labels(classifier):
    reading = read_mask(classifier, 0, 2)
    assert reading.input_names == ["C", "H", "N", "O", "S"]
    layer = classifier.module_.layers[0]
    word = layer.dictionary[2, 1].detach().numpy()
    assert_allclose(reading.similarities[1], word / np.linalg.norm(word), rtol=1e-5)
    logits = reading.temperature * reading.similarities.T
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert_allclose(reading.assignments, expected, rtol=1e-4)
    assert_allclose(reading.histogram, layer.histogram[2].detach().numpy())
    assert read_mask(classifier, 1, 0).input_names == ["mask 0", "mask 1", "mask 2", "mask 3"]


def test_a_mask_is_read_with_its_relations():
    graphs, y = bonded_graphs()
    classifier = LoFIClassifier(**QUICK, **ATTRIBUTES, max_ring=6).fit(graphs, y)
    layer = classifier.module_.layers[0]
    reading = read_mask(classifier, 0, 2)
    names = reading.relation_names
    assert names[:3] == ["center", "edge 'double' outside rings", "edge 'double' in a ring of 3"]
    assert "edge 'single' in a ring of 6" in names
    assert names[-2:] == ["edge feature 0", "edge feature 1"]
    offset = layer.offset[2].detach().double().numpy()
    assert_allclose(reading.offsets, offset - offset.mean(axis=0), rtol=1e-4, atol=1e-5)
    relation, node = names.index("edge 'single' in a ring of 6"), 1
    logits = reading.temperature * reading.similarities[:, node] + offset[:, relation]
    expected = np.exp(logits) / np.exp(logits).sum()
    assert_allclose(reading.related_assignments[relation, node], expected, rtol=1e-4)
    assert reading.related_assignments.shape == (len(names), 3, 3)
    assert len(reading.descriptions) == 3
    for word, text in enumerate(reading.descriptions):
        strongest = reading.similarities[word].argmax(), reading.offsets[word].argmax()
        share = reading.related_assignments[strongest[1], strongest[0], word]
        assert text.startswith(f"{reading.input_names[strongest[0]]}, {names[strongest[1]]} (")
        assert text.endswith(f"({share:.0%})")
    deeper = read_mask(classifier, 1, 0)
    assert deeper.relation_names == names and deeper.related_assignments.shape[1] == 4


def test_a_mask_without_relations_is_read_by_its_inputs(motifs):
    classifier = LoFIClassifier(**QUICK, distances=False, max_ring=0).fit(*motifs)
    reading = read_mask(classifier, 0, 1)
    assert reading.relation_names == []
    assert reading.offsets.shape == (3, 0)
    assert reading.related_assignments.shape == (0, 5, 3)
    best = reading.similarities[0].argmax()
    share = reading.assignments[best, 0]
    assert reading.descriptions[0] == f"{reading.input_names[best]} ({share:.0%})"


def test_what_a_word_stands_for_is_said_in_words():
    """Graphs with an O by a double bond outside rings, and without."""
    rng = np.random.RandomState(0)
    graphs, y = [], np.arange(160) % 2
    for label in y:
        graph = nx.cycle_graph(6)
        nx.set_edge_attributes(graph, {edge: "="[: i % 2] or "-" for i, edge in
                                       enumerate(graph.edges)}, "label")  # fmt: skip
        nx.set_node_attributes(graph, "C", "label")
        for node, is_double in ((6, label), (7, 0)):
            graph.add_node(node, label="O" if node == 6 else "C")
            graph.add_edge(node, int(rng.randint(6)), label="=" if is_double else "-")
        if not label:  # the double bond is at a C
            graph.edges[next(iter(graph[7])), 7]["label"] = "="
        graphs.append(graph)
    classifier = LoFIClassifier(
        n_members=1, counts=False, n_layers=1, n_masks=4, max_epochs=60, random_state=0
    )
    assert classifier.fit(graphs[:120], y[:120]).score(graphs[120:], y[120:]) == 1
    descriptions = [
        text for mask in range(4) for text in read_mask(classifier, 0, mask).descriptions
    ]
    assert any(text.startswith("O, edge '=' outside rings (") for text in descriptions)


def test_features_and_unlabeled_nodes_have_names_too():
    graphs = [nx.path_graph(4), nx.star_graph(3)] * 6
    for graph in graphs:
        nx.set_node_attributes(graph, {v: [v, 1.0 * v**2] for v in graph}, "place")
    y = [0, 1] * 6
    plain = LoFIClassifier(**QUICK, node_label=None).fit(graphs, y)
    assert read_mask(plain).input_names == ["any node"]
    both = LoFIClassifier(**QUICK, node_label=None, node_features="place").fit(graphs, y)
    assert read_mask(both).input_names == ["any node", "place 0", "place 1"]


def colors_by_loop(graphs, n_layers, relations, structure=None):
    """A number for each node, the same for nodes with the same nested multisets of members."""
    color_of = {
        (i, v): (graph.nodes[v]["label"], graph.degree[v] if structure == "degree" else 0)
        for i, graph in enumerate(graphs)
        for v in graph
    }
    for _ in range(n_layers):
        rows = {}
        for i, v in color_of:
            counts = Counter()
            for u, kind, vector, weight in members_of(graphs[i], v, 1, relations):
                counts[kind, vector, color_of[i, u]] += weight
            rows[i, v] = frozenset((pair, count) for pair, count in counts.items() if count)
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows.values()))}
        color_of = {node: numbers[row] for node, row in rows.items()}
    return list(color_of.values())


def with_plain_edges(graph):
    graph = graph.copy()
    for *_, data in graph.edges(data=True):
        data.update(bond=None, weight=1, length=[])
    return graph


def assert_best(best, z, colors):
    """The best egonets are those of the colors with the largest outputs."""
    outputs = {color: max(z[np.array(colors) == color]) for color in colors}
    scores = sorted(outputs.values(), reverse=True)[: len(best.scores)]
    assert_allclose(best.scores, scores, rtol=1e-4, atol=1e-5)
    counts = Counter(colors)
    for score, count in zip(best.scores, best.counts, strict=True):
        alike = [counts[color] for color in counts if np.isclose(outputs[color], score, atol=1e-5)]
        assert count in alike


def outputs_at_nodes(classifier, graphs, layer):
    graphs = as_graph_set(graphs, **classifier._graph_attributes())
    (batch,) = classifier._node_batches(graphs, max_rows=10**6)
    with torch.no_grad():
        return classifier.module_.layer_outputs(batch.x, batch.egonets)[layer].numpy()


def test_best_egonets_differ_in_bonds_rings_weights_and_structure():
    graphs, y = bonded_graphs(12)
    for options in (
        {"edge_label": "bond", "max_ring": 0, "edge_weight": "weight"},
        {"edge_label": "bond", "max_ring": 6, "edge_weight": "weight", "structure": "degree"},
        {**ATTRIBUTES, "max_ring": 6},
    ):
        classifier = LoFIClassifier(**QUICK, **options).fit(graphs, y)
        relations = classifier._relation_encoder.relations
        for layer in (0, 1):
            best = best_egonets(classifier, graphs, layer, mask=1, k=1000)
            colors = colors_by_loop(graphs, layer + 1, relations, options.get("structure"))
            assert len(best.egonets) == len(set(colors))
            assert sorted(best.counts) == sorted(Counter(colors).values())
            assert_best(best, outputs_at_nodes(classifier, graphs, layer)[:, 1], colors)


@pytest.mark.parametrize("layer", [0, 1])
def test_best_egonets_are_those_with_the_largest_output(motifs, classifier, layer):
    graphs = motifs[0]
    best = best_egonets(classifier, graphs, layer, mask=1, k=4)
    relations = classifier._relation_encoder.relations
    colors = colors_by_loop([with_plain_edges(graph) for graph in graphs], layer + 1, relations)
    assert_best(best, outputs_at_nodes(classifier, graphs, layer)[:, 1], colors)
    series = pd.Series(graphs, range(40)[::-1])
    shuffled = best_egonets(classifier, series, layer, mask=1, k=4)
    framed = best_egonets(classifier, pd.DataFrame({"graph": series}), layer, mask=1, k=4)
    assert framed.centers == shuffled.centers
    assert shuffled.centers == best.centers
    for egonet, same in zip(shuffled.egonets, best.egonets, strict=True):
        assert nx.utils.graphs_equal(egonet, same)
    for egonet, center, position in zip(best.egonets, best.centers, best.graphs, strict=True):
        expected = nx.ego_graph(graphs[position], center, radius=layer + 1)
        assert nx.utils.graphs_equal(egonet, expected)


def test_best_egonets_of_directed_graphs_with_names_follow_the_edges():
    graphs = []
    for i in range(12):
        graph = nx.DiGraph([("a", "b"), ("b", "c"), ("d", "a")])
        graph.add_edges_from([("d", "e")] if i % 2 else [])
        nx.set_node_attributes(graph, {v: v in "ab" for v in graph}, "label")
        nx.set_node_attributes(graph, i, "number")  # what the library does not know stays
        graphs.append(graph)
    classifier = LoFIClassifier(**QUICK, radius=2).fit(graphs, np.arange(12) % 2)
    best = best_egonets(classifier, graphs, k=100)
    assert best.counts.sum() == sum(map(len, graphs))
    for egonet, center, position in zip(best.egonets, best.centers, best.graphs, strict=True):
        expected = nx.ego_graph(graphs[position], center, radius=2)
        assert nx.utils.graphs_equal(egonet, expected)
    as_set = best_egonets(classifier, GraphSet.from_networkx(graphs), k=100)
    assert as_set.centers == best.centers
