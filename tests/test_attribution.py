"""Attributions against the integral written out, and against their axioms."""

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from sklofi import GraphKernelSVC, GraphSet, LoFIClassifier, LoFIRegressor, attribution
from sklofi.attribution import mask_evidence, node_attribution

QUICK = {"n_layers": 2, "n_masks": 4, "n_words": 3, "max_epochs": 5, "random_state": 0}


@pytest.fixture(scope="module")
def classifier(motifs):
    return LoFIClassifier(**QUICK).fit(*motifs)


def sums(result):
    return [values.sum() for values in result.attributions]


def output_by_formula(classifier, graph, presence):
    """Logit of class 1 less that of class 0, with dense matrices and plain operations."""
    module = classifier.module_.double()
    adjacency = torch.from_numpy(nx.to_numpy_array(graph, weight=None))
    egonets = ((adjacency + torch.eye(len(graph))) > 0).double()
    labels = [classifier.node_labels_.index(graph.nodes[v]["label"]) for v in graph]
    x = torch.eye(len(classifier.node_labels_)).double()[labels]
    pooled = []
    for depth, layer in enumerate(module.layers):
        words = layer.dictionary / layer.dictionary.norm(dim=-1, keepdim=True)
        cosine = torch.einsum("uf,mwf->umw", x / x.norm(dim=1, keepdim=True), words)
        assignment = (layer.temperature[:, None] * cosine).softmax(dim=-1)
        h = torch.einsum("vu,u,umw->vmw", egonets, presence, assignment)
        z = 1 - (h - layer.histogram).abs().sum(dim=-1) / 2
        pooled.append(presence @ z)
        if depth + 1 < len(module.layers):
            x = (z - module.node_mean[depth]) / module.node_scale[depth]
    logits = module.head(torch.cat(pooled)[None])[0]
    return logits[1] - logits[0]


def test_attributions_are_the_integral(motifs):
    graph = motifs[0][3]
    classifier = LoFIClassifier(**QUICK).fit(*motifs)
    result = node_attribution(classifier, [graph], target=1, n_steps=7)
    expected = np.zeros(len(graph))
    for step in range(7):
        presence = torch.full((len(graph),), (step + 0.5) / 7).double().requires_grad_()
        output = output_by_formula(classifier, graph, presence)
        expected += torch.autograd.grad(output, presence)[0].numpy() / 7
    share = result.residuals[0] / np.abs(expected).sum()
    assert_allclose(
        result.attributions[0], expected + share * np.abs(expected), rtol=1e-3, atol=1e-4
    )
    for values, presence in [(result.outputs, 1.0), (result.baselines, 0.0)]:
        output = output_by_formula(classifier, graph, torch.full((len(graph),), presence).double())
        assert_allclose(values[0], output.item(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("pooling", ["sum", "mean", "max"])
@pytest.mark.parametrize("kernel", ["l1", "intersection"])
@pytest.mark.parametrize("readout", ["all", "last"])
def test_attributions_of_a_graph_sum_to_its_difference_from_the_baseline(
    motifs, pooling, kernel, readout
):
    graphs, y = motifs
    classifier = LoFIClassifier(**QUICK, pooling=pooling, kernel=kernel, readout=readout)
    classifier.fit(graphs, y)
    result = node_attribution(classifier, graphs, target=1, n_steps=64)
    assert_allclose(sums(result), result.outputs - result.baselines, atol=1e-10)
    probability = classifier.predict_proba(graphs)[:, 1]
    assert_allclose(result.outputs, np.log(probability / (1 - probability)), atol=1e-4)
    difference = np.abs(result.outputs - result.baselines).mean()
    assert np.abs(result.residuals).mean() < 0.2 * max(difference, 0.1)


def test_the_residual_vanishes_with_more_steps(motifs, classifier):
    errors = [
        np.abs(node_attribution(classifier, motifs[0], n_steps=n).residuals).mean()
        for n in (4, 64, 1024)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


def test_several_classes_are_explained_by_their_logit_less_the_mean_of_the_others():
    rng = np.random.RandomState(0)
    graphs = [
        nx.gnp_random_graph(6, p, seed=i) for i, p in enumerate(rng.choice([0.2, 0.5, 0.9], 30))
    ]
    y = np.digitize([graph.number_of_edges() for graph in graphs], [5, 9])
    classifier = LoFIClassifier(**QUICK).fit(graphs, y)
    result = node_attribution(classifier, graphs)
    assert (result.targets == classifier.predict(graphs)).all()
    logits = np.log(classifier.predict_proba(graphs))
    expected = logits.max(axis=1) - (logits.sum(axis=1) - logits.max(axis=1)) / 2
    assert_allclose(result.outputs, expected, atol=1e-4)
    assert_allclose(sums(result), result.outputs - result.baselines, atol=1e-10)
    # The attributions of a sum are the sums of the attributions; here the sum is 0.
    parts = [node_attribution(classifier, graphs, target=c, n_steps=512) for c in range(3)]
    total = sum(np.concatenate(part.attributions) for part in parts)
    size = np.abs(np.concatenate(parts[0].attributions)).mean()
    assert np.abs(total).mean() < 0.02 * size


def test_regression_is_explained_in_units_of_the_target(motifs):
    graphs, y = motifs
    targets = 1000 + 50 * y
    regressor = LoFIRegressor(**QUICK).fit(graphs, targets)
    result = node_attribution(regressor, graphs)
    assert_allclose(result.outputs, regressor.predict(graphs), rtol=1e-5)
    assert_allclose(sums(result), result.outputs - result.baselines, atol=1e-8)
    both = LoFIRegressor(**QUICK).fit(graphs, np.column_stack([targets, -targets]))
    with pytest.raises(ValueError, match="has 2 outputs; say with target= which"):
        node_attribution(both, graphs)
    result = node_attribution(both, graphs, target=1)
    assert_allclose(result.outputs, both.predict(graphs)[:, 1], rtol=1e-5)
    with pytest.raises(ValueError, match="target=2 is none of the outputs 0 to 1"):
        node_attribution(both, graphs, target=2)


def test_nodes_that_are_alike_get_the_same_and_names_and_order_are_those_of_the_user(classifier):
    graph = nx.Graph([("n", "left"), ("n", "right"), ("right", "tail"), ("left", "end")])
    nx.set_node_attributes(graph, dict(zip(graph, "NOOCC", strict=True)), "label")
    by_name = dict(zip(graph, node_attribution(classifier, [graph]).attributions[0], strict=True))
    assert by_name["left"] == pytest.approx(by_name["right"], rel=1e-4)
    turned = nx.Graph()
    turned.add_nodes_from((v, graph.nodes[v]) for v in reversed(list(graph)))
    turned.add_edges_from(graph.edges)
    again = dict(zip(turned, node_attribution(classifier, [turned]).attributions[0], strict=True))
    assert again == pytest.approx(by_name, rel=1e-4)


@pytest.mark.parametrize("pooling", ["sum", "mean", "max"])
def test_automorphic_nodes_get_the_same_whatever_their_order(motifs, pooling):
    classifier = LoFIClassifier(**{**QUICK, "n_layers": 3}, pooling=pooling).fit(*motifs)
    tree = nx.balanced_tree(3, 3)
    depth = nx.shortest_path_length(tree, 0)
    mixed = nx.Graph()
    order = np.random.RandomState(5).permutation(len(tree)).tolist()
    mixed.add_nodes_from((v, {"label": "CHNO"[depth[v]]}) for v in order)
    mixed.add_edges_from(tree.edges)
    values = node_attribution(classifier, [mixed]).attributions[0]
    for level in range(4):
        alike = values[[depth[v] == level for v in mixed]]
        assert_allclose(alike, alike[0], rtol=1e-3, atol=1e-4 * np.abs(values).max())


def test_a_node_that_changes_nothing_gets_nothing(motifs):
    classifier = LoFIClassifier(**QUICK).fit(*motifs)
    with torch.no_grad():
        classifier.module_.output.weight.zero_()
    result = node_attribution(classifier, motifs[0])
    assert not np.concatenate(result.attributions).any()
    assert_allclose(result.outputs, result.baselines)


@pytest.mark.parametrize("pooling", ["sum", "max"])
def test_masks_and_pooling_share_the_whole(motifs, pooling):
    """Through all masks of all layers, and through the pooled sum, comes everything."""
    classifier = LoFIClassifier(**QUICK, pooling=pooling).fit(*motifs)
    graphs = motifs[0][:5]
    result = node_attribution(classifier, graphs, target=1)
    through = [
        np.concatenate(mask_evidence(classifier, graphs, i, j, target=1).attributions)
        for i in range(2)
        for j in range(4)
    ]
    if pooling == "max":  # presence does not act on it
        pooled = 0.0
    else:
        module = classifier.module_
        (batch,) = classifier._node_batches(
            GraphSet.from_networkx(graphs), max_rows=10**6, gradients=True
        )
        pooled = np.zeros(len(batch.x))
        for step in range(32):
            presence = torch.full((len(batch.x),), (step + 0.5) / 32).requires_grad_()
            outputs = module.layer_outputs(batch.x, batch.egonets, presence=presence.detach())
            logits = module.head(module.pool(outputs, batch.graphs, presence))
            explained = (logits[:, 1] - logits[:, 0]).sum()
            pooled += torch.autograd.grad(explained, presence)[0].numpy() / 32
    raw = sum(through) + pooled
    sums_of_raw = np.array([part.sum() for part in np.split(raw, np.cumsum([*map(len, graphs)]))])
    assert_allclose(sums_of_raw[:5], np.array(sums(result)) - result.residuals, atol=1e-3)


def test_evidence_through_a_mask_by_label(motifs, classifier):
    graphs = motifs[0][:8]
    result = mask_evidence(classifier, graphs, 0, 1, target=1)
    flat = np.concatenate(result.attributions)
    labels = np.array([label for graph in graphs for _, label in graph.nodes(data="label")])
    assert list(result.by_label.values()) == sorted(result.by_label.values(), reverse=True)
    for label, mean in result.by_label.items():
        assert mean == pytest.approx(flat[labels == label].mean())
    with pytest.raises(ValueError, match="mask == 4, must be <= 3"):
        mask_evidence(classifier, graphs, 0, 4)
    graphs = [nx.path_graph(3), nx.star_graph(4)] * 5
    regressor = LoFIRegressor(**QUICK).fit(graphs, np.arange(10) * 100.0)
    assert list(mask_evidence(regressor, graphs).by_label) == [None]


def test_classes_may_be_objects(motifs):
    names = np.array(["no", "yes"], dtype=object)[motifs[1]]
    classifier = LoFIClassifier(**QUICK).fit(motifs[0], names)
    result = node_attribution(classifier, motifs[0], target=names)
    assert (result.targets == names).all()


def test_lists_sets_slices_and_batches_give_the_same(motifs, classifier, monkeypatch):
    graphs = motifs[0]
    expected = node_attribution(classifier, graphs).attributions
    whole = GraphSet.from_networkx(graphs)
    rows = [5, 2, 5, 30]
    for some, got in [
        (range(len(graphs)), node_attribution(classifier, whole)),
        (rows, node_attribution(classifier, whole[rows])),
        (rows, node_attribution(classifier, [graphs[i] for i in rows])),
    ]:
        for i, values in zip(some, got.attributions, strict=True):
            assert_allclose(values, expected[i], rtol=1e-3, atol=1e-4)
    monkeypatch.setattr(attribution, "PIECE_SIZE", 1)  # every graph is a batch of its own
    for got, wanted in zip(
        node_attribution(classifier, graphs).attributions, expected, strict=True
    ):
        assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)


def test_targets_may_differ_from_graph_to_graph(motifs, classifier):
    graphs, y = motifs
    own = node_attribution(classifier, graphs, target=y)
    assert (own.targets == y).all()
    other = node_attribution(classifier, graphs, target=1 - y)
    for one, opposite in zip(own.attributions, other.attributions, strict=True):
        assert_allclose(one, -opposite, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match=r"target='x' is none of the classes \[0, 1\]"):
        node_attribution(classifier, graphs, target="x")
    with pytest.raises(TypeError, match=r"target has to be one of the classes \[0, 1\]"):
        node_attribution(classifier, graphs, target={0})
    with pytest.raises(ValueError, match=r"shape \(2,\); pass one for all graphs, or one for each"):
        node_attribution(classifier, graphs, target=[0, 1])


def test_what_can_be_explained(motifs, classifier):
    with pytest.raises(NotFittedError):
        node_attribution(LoFIClassifier(), motifs[0])
    with pytest.raises(TypeError, match="is a class; pass a fitted estimator"):
        node_attribution(LoFIClassifier, motifs[0])
    with pytest.raises(TypeError, match=r"Only LoFI estimators .* got GraphKernelSVC"):
        node_attribution(GraphKernelSVC().fit(*motifs), motifs[0])
    with pytest.raises(ValueError, match="n_steps == 0, must be >= 1"):
        node_attribution(classifier, motifs[0], n_steps=0)
    search = GridSearchCV(LoFIClassifier(**QUICK), {"radius": [1]}, cv=2).fit(*motifs)
    result = node_attribution(search, motifs[0][:2])
    assert [len(values) for values in result.attributions] == [len(g) for g in motifs[0][:2]]


def test_explaining_changes_nothing(motifs, classifier):
    before = classifier.predict_proba(motifs[0])
    gradients = [parameter.grad for parameter in classifier.module_.parameters()]
    state = torch.get_rng_state()
    node_attribution(classifier, motifs[0])
    assert torch.equal(torch.get_rng_state(), state)
    for parameter, gradient in zip(classifier.module_.parameters(), gradients, strict=True):
        assert parameter.grad is gradient
    assert (classifier.predict_proba(motifs[0]) == before).all()


def test_continuous_features_dropout_and_directed_graphs():
    rng = np.random.RandomState(0)
    graphs = [nx.gnp_random_graph(7, 0.3, seed=i, directed=True) for i in range(20)]
    for graph in graphs:
        nx.set_node_attributes(graph, {v: rng.randn(3) for v in graph}, "position")
    y = np.arange(20) % 2
    classifier = LoFIClassifier(**QUICK, node_features="position", node_label=None, dropout=0.2)
    classifier.fit(graphs, y)
    result = node_attribution(classifier, graphs)
    assert_allclose(sums(result), result.outputs - result.baselines, atol=1e-10)
