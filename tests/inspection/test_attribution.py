"""Attributions against the integral written out, and against their axioms."""

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from related_outputs import ATTRIBUTES, bonded_graphs, integral, log_odds
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from sklofi import GraphKernelSVC, GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.datasets import make_motif_graphs
from sklofi.inspection import _attribution as attribution
from sklofi.inspection import mask_evidence, node_attribution
from sklofi.nn._choices import POOLINGS
from sklofi.training._egonet_batches import EgonetBatch

PUBLISHED = {"distances": False, "edge_label": None, "max_ring": 0}
QUICK = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 4,
    "n_words": 3,
    "max_epochs": 5,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def classifier(motifs):
    return LoFIClassifier(**QUICK).fit(*motifs)


def sums(result):
    return np.array([values.sum() for values in result.attributions])


def assert_exact(result, tol=0.01):
    """Attributions sum to outputs less baselines, but for residuals within the tolerance."""
    assert_allclose(sums(result) + result.residuals, result.outputs - result.baselines, atol=1e-9)
    sizes = np.array([np.abs(values).sum() for values in result.attributions])
    rounding = 1e-5 * np.maximum(np.abs(result.outputs), np.abs(result.baselines))
    assert (np.abs(result.residuals) <= tol * sizes + rounding).all()


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("kernel", ["l1", "intersection"])
@pytest.mark.parametrize("relations", [{}, PUBLISHED], ids=["related", "published"])
def test_attributions_are_the_integral_and_sum_to_the_difference_from_the_baseline(
    motifs, pooling, kernel, relations
):
    graphs, y = motifs
    readout = "last" if pooling == "mean" else "all"
    classifier = LoFIClassifier(**QUICK, pooling=pooling, kernel=kernel, readout=readout)
    classifier.set_params(**relations).fit(graphs, y)
    result = node_attribution(classifier, graphs, target=1, tol=1e-3)
    assert_exact(result, tol=1e-3)
    probability = classifier.predict_proba(graphs)[:, 1]
    assert_allclose(result.outputs, np.log(probability / (1 - probability)), atol=1e-4)
    for i in (3, 4):
        expected = integral(classifier, graphs[i], n_steps=4096)
        error = np.abs(result.attributions[i] - expected).sum()
        assert error <= 0.02 * np.abs(expected).sum() + 1e-5
        ends = torch.tensor([[1e-9], [1.0]]).double().expand(2, len(graphs[i]))
        baseline, output = log_odds(classifier, graphs[i], of_nodes=ends).tolist()
        assert result.outputs[i] == pytest.approx(output, rel=1e-4, abs=1e-4)
        assert result.baselines[i] == pytest.approx(baseline, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("kernel", ["l1", "intersection"])
def test_nodes_are_explained_by_bonds_rings_weights_features_and_structure(kernel):
    graphs, y = bonded_graphs()
    classifier = LoFIClassifier(
        **QUICK,
        **ATTRIBUTES,
        max_ring=6,
        structure="degree",
        kernel=kernel,
    ).fit(graphs, y)
    result = node_attribution(classifier, graphs, target=1, tol=1e-3)
    assert_exact(result, tol=1e-3)
    for i in (0, 3):
        output = log_odds(classifier, graphs[i]).item()
        assert result.outputs[i] == pytest.approx(output, rel=1e-4, abs=1e-4)
        expected = integral(classifier, graphs[i], n_steps=4096)
        error = np.abs(result.attributions[i] - expected).sum()
        assert error <= 0.02 * np.abs(expected).sum() + 1e-5
    as_set = GraphSet.from_networkx(graphs, **ATTRIBUTES)[[3, 0]]
    again = node_attribution(classifier, as_set, target=1, tol=1e-3).attributions
    for i, values in zip((3, 0), again, strict=True):
        size = np.abs(result.attributions[i]).max()
        assert_allclose(values, result.attributions[i], atol=0.03 * size)


def test_evidence_through_a_mask_is_by_bonds_rings_and_weights():
    """With one layer and the largest value pooled, all evidence comes through its masks."""
    graphs, y = bonded_graphs()
    options = {**QUICK, "n_layers": 1, "pooling": "max"}
    classifier = LoFIClassifier(**options, **ATTRIBUTES, max_ring=6).fit(graphs, y)
    parts = [mask_evidence(classifier, graphs[:4], 0, j, target=1, tol=1e-3) for j in range(4)]
    for i in range(4):
        expected = integral(classifier, graphs[i])
        # Where the largest value is pooled, presence acts on members of egonets alone.
        total = sum(part.attributions[i] for part in parts)
        assert np.abs(total - expected).sum() <= 0.02 * np.abs(expected).sum() + 1e-5
    assert max(np.abs(part.attributions[0]).max() for part in parts) > 0


@pytest.mark.parametrize("pooling", POOLINGS)
def test_too_few_steps_leave_a_residual_and_a_warning(motifs, pooling):
    graphs, y = motifs
    classifier = LoFIClassifier(**QUICK, pooling=pooling).fit(graphs, y)
    with pytest.warns(ConvergenceWarning) as record:
        result = node_attribution(classifier, graphs, target=1, n_steps=1)
    assert (result.n_steps == 1).all()
    difference = result.outputs - result.baselines
    worst = np.abs(result.residuals).argmax()
    assert np.abs(result.residuals[worst]) > 0.1 * np.abs(difference[worst])
    assert np.abs(sums(result) - difference).max() > 0.1
    (warning,) = record
    assert warning.filename == __file__
    assert f"of graph {worst}, which miss {result.residuals[worst]:.3g}" in str(warning.message)
    assert "of 40 graphs do not reach tol=0.01" in str(warning.message)
    assert "Allow more steps than n_steps=1" in str(warning.message)


def test_smaller_tolerances_take_more_steps_and_leave_less(motifs, classifier):
    results = [node_attribution(classifier, motifs[0], tol=tol) for tol in (0.1, 0.01, 0.001)]
    errors = [np.abs(result.residuals).mean() for result in results]
    assert errors[0] > errors[1] > errors[2]
    n_steps = [result.n_steps.mean() for result in results]
    assert n_steps[0] < n_steps[1] < n_steps[2]


def test_outputs_that_move_at_the_very_end_of_the_path_only_are_explained(motifs):
    """The only hidden unit is dead, but for the last ten-thousandth of the path."""
    graphs, y = motifs
    classifier = LoFIClassifier(
        **{**QUICK, "n_layers": 1, "n_masks": 1},
        kernel="intersection",
        readout="last",
    ).fit(graphs, y)
    module, graph = classifier.module_, graphs[:1]
    embedding = torch.from_numpy(classifier.transform(graph))
    with torch.no_grad():
        full = (embedding - module.embedding_mean) / module.embedding_scale
        nearly = (0.9999 * embedding - module.embedding_mean) / module.embedding_scale
        module.hidden.weight.fill_(1)
        module.hidden.bias.copy_(-nearly[0])
        module.output.weight.copy_(torch.tensor([[-1.0], [1.0]]) / (full - nearly))
    result = node_attribution(classifier, graph, target=1)
    assert result.outputs - result.baselines == pytest.approx(2, rel=1e-2)
    assert_exact(result)


def test_jumps_of_the_output_stay_in_the_residual_with_a_warning(motifs):
    """Scaled to unit norm, a vector of one number jumps from -1 to 1."""
    graphs, y = motifs
    classifier = LoFIClassifier(
        **{**QUICK, "n_masks": 1},
        kernel="intersection",
        readout="last",
        pooling="sum",
    ).fit(graphs, y)
    module = classifier.module_
    with torch.no_grad():
        module.layers[0].histogram.fill_(100)  # its output is the size of an egonet
        module.node_mean.fill_(1)  # which is crossed by all nodes with neighbors
        module.layers[1].dictionary.copy_(torch.tensor([[[1.0], [-1.0], [-1.0]]]))
        module.layers[1].histogram.copy_(torch.tensor([[3.0, 0.0, 0.0]]))
        module.hidden.weight.fill_(1)
        module.hidden.bias.fill_(100)
        module.output.weight.copy_(torch.tensor([[-1.0], [1.0]]))
    with pytest.warns(ConvergenceWarning, match=r"More steps do not help: .* the output jumps"):
        result = node_attribution(classifier, graphs, target=1)
    difference = result.outputs - result.baselines
    assert_allclose(sums(result) + result.residuals, difference, atol=1e-9)
    assert np.abs(result.residuals).min() > 0.01 * np.abs(difference).min()
    assert max(np.abs(values).max() for values in result.attributions) < np.abs(difference).max()


@pytest.mark.parametrize("options", [{"radius": 2}, {"radius": 0}, {"n_layers": 4}])
def test_attributions_are_exact_for_other_egonets_and_depths(motifs, options):
    classifier = LoFIClassifier(**{**QUICK, **options}).fit(*motifs)
    assert_exact(node_attribution(classifier, motifs[0]))


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
    assert_exact(result)
    # The attributions of a sum are the sums of the attributions; here the sum is 0.
    parts = [node_attribution(classifier, graphs, target=c, tol=1e-3) for c in range(3)]
    total = sum(np.concatenate(part.attributions) for part in parts)
    size = np.abs(np.concatenate(parts[0].attributions)).mean()
    assert np.abs(total).mean() < 0.02 * size


def test_regression_is_explained_in_units_of_the_target(motifs):
    graphs, y = motifs
    targets = 1000 + 50 * y
    regressor = LoFIRegressor(**QUICK).fit(graphs, targets)
    result = node_attribution(regressor, graphs)
    assert_allclose(result.outputs, regressor.predict(graphs), rtol=1e-5)
    assert_exact(result)
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


@pytest.mark.parametrize("pooling", POOLINGS)
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
    result = node_attribution(classifier, graphs, target=1, tol=1e-3)
    through = [
        np.concatenate(mask_evidence(classifier, graphs, i, j, target=1, tol=1e-3).attributions)
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
        for step in range(1024):
            presence = torch.full((len(batch.x),), (step + 0.5) / 1024).requires_grad_()
            outputs = module.layer_outputs(batch.x, batch.egonets, presence=presence.detach())
            logits = module.head(module.pool(outputs, batch.graphs, presence))
            explained = (logits[:, 1] - logits[:, 0]).sum()
            pooled += torch.autograd.grad(explained, presence)[0].numpy() / 1024
    attributions = np.concatenate(result.attributions)
    size = np.abs(attributions).max()
    assert_allclose(sum(through) + pooled, attributions, rtol=1e-2, atol=1e-2 * size)


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
    assert_exact(node_attribution(regressor, graphs))
    with pytest.warns(ConvergenceWarning, match="do not reach tol=1e-06"):
        result = mask_evidence(regressor, graphs, tol=1e-6, n_steps=2)
    assert np.abs(result.residuals).max() > 0


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
    monkeypatch.setattr(attribution, "NUMBERS_IN_CACHE", 1)  # every graph is a batch of its own
    alone = node_attribution(classifier, graphs[:10]).attributions
    for got, wanted in zip(alone, expected[:10], strict=True):
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
    for explain in (node_attribution, mask_evidence):
        with pytest.raises(ValueError, match="n_steps == 0, must be >= 1"):
            explain(classifier, motifs[0], n_steps=0)
        with pytest.raises(ValueError, match="tol == 0, must be > 0"):
            explain(classifier, motifs[0], tol=0)
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
    assert_exact(node_attribution(classifier, graphs))


def test_dense_graphs_are_computed_in_pieces(monkeypatch):
    """Of so many members of egonets, not of so many nodes: a complete graph has their square."""
    graphs = [nx.complete_graph(40) for _ in range(8)]
    classifier = LoFIClassifier(
        n_members=1, counts=False, n_layers=1, n_masks=1, n_words=2, max_epochs=1, random_state=0
    )
    classifier.fit([*graphs, *map(nx.path_graph, range(2, 10))], np.arange(16) // 8)
    n_members, copies = [], EgonetBatch.copies

    def spy(batch, rows):
        copied = copies(batch, rows)
        n_members.append(len(copied.egonets[0].members.columns))
        return copied

    monkeypatch.setattr(EgonetBatch, "copies", spy)
    monkeypatch.setattr(attribution, "NUMBERS_IN_CACHE", 2**15)
    node_attribution(classifier, graphs)
    assert max(n_members) <= 2**15 / 8 + 40**2


def test_the_tolerance_holds_for_the_sum_of_networks_that_cancel(monkeypatch):
    graphs, _ = make_motif_graphs(20, random_state=0)
    y = np.random.default_rng(0).integers(2, size=20)  # noise: each network says another thing
    options = {"n_masks": 2, "n_words": 2, "n_layers": 2, "max_ring": 0, "edge_label": None}
    classifier = LoFIClassifier(
        **options, n_members=10, counts=False, max_epochs=1, random_state=0
    ).fit(graphs, y)

    def shares():
        result = node_attribution(classifier, graphs, target=1)
        sizes = np.array([np.abs(values).sum() for values in result.attributions])
        return np.abs(result.residuals) / (0.01 * sizes + 1e-5 * np.abs(result.outputs))

    assert shares().max() <= 1
    monkeypatch.setattr(attribution, "TRIES", 1)
    with pytest.warns(ConvergenceWarning, match="cancel each other. Pass a smaller tol."):
        assert shares().max() > 1


def test_networks_that_say_nothing_beside_counts_need_no_steps(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**{**QUICK, "n_members": 2, "counts": True}).fit(graphs, y)
    classifier.counts_share_ = 1.0  # as where the networks do not lower the out-of-fold loss
    result = node_attribution(classifier, graphs[:5], n_steps=64)
    assert (result.n_steps == 1).all()
    assert_exact(result)
