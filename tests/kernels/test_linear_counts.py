"""Linear machines on counts, beside scikit-learn's own."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss

from sklofi import GraphSet, WLVectorizer
from sklofi.datasets import make_motif_graphs
from sklofi.egonets._rings import ring_sizes
from sklofi.kernels._linear_counts import STRENGTHS, LinearCounts, _merge_equal_columns

SPLITS = [(np.arange(20, 80), np.arange(20)), (np.r_[:20, 40:80], np.arange(20, 40))]


@pytest.fixture(scope="module")
def motifs():
    graphs, y = make_motif_graphs(80, random_state=0)
    return GraphSet.from_networkx(graphs), y


def vectorizer():
    return WLVectorizer(2, max_ring=6, unary=True)


def fit(graphs, target, splits=SPLITS, *, weight=None, loss):
    weight = np.ones(len(target)) if weight is None else weight
    n_outputs = target.shape[1] if target.ndim > 1 else 1 + target.max()
    return LinearCounts.fit(vectorizer(), graphs, target, n_outputs, weight, splits, loss)


def n_edges(graphs):
    return np.diff(graphs.edge_offsets[graphs.node_offsets])


def probabilities(outputs):
    exponentials = np.exp(outputs)
    return exponentials / exponentials.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_those_of_logistic_regression(motifs, n_classes):
    graphs, y = motifs
    y = y if n_classes == 2 else np.where(n_edges(graphs) > np.median(n_edges(graphs)), 2, y)
    rows = np.arange(40)
    losses = []

    def loss(outputs):
        losses.append(log_loss(y[rows], probabilities(outputs), labels=range(n_classes)))
        return losses[-1]

    counts, held_out = fit(graphs, y, loss=loss)
    assert counts.strength == STRENGTHS[int(np.argmin(losses))]
    features = vectorizer().fit_transform(graphs) / counts.scale
    machine = LogisticRegression(C=counts.strength, tol=1e-6, max_iter=5000)
    expected = np.vstack(
        [machine.fit(features[a], y[a]).predict_proba(features[b]) for a, b in SPLITS]
    )
    np.testing.assert_allclose(probabilities(held_out), expected, atol=0.01)
    expected = machine.fit(features, y).predict_proba(features)
    np.testing.assert_allclose(probabilities(counts.outputs(graphs)), expected, atol=0.01)


def test_numbers_are_those_of_ridge_regression(motifs):
    graphs, _ = motifs
    target = n_edges(graphs).astype(float)[:, None]
    target = (target - target.mean()) / target.std()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(target))
    losses = []

    def loss(outputs):
        losses.append(np.abs(outputs - target[:40]).mean())
        return losses[-1]

    counts, held_out = fit(graphs, target, weight=weight, loss=loss)
    assert counts.strength == STRENGTHS[int(np.argmin(losses))]
    features = vectorizer().fit_transform(graphs) / counts.scale
    machine = Ridge(alpha=1 / counts.strength, solver="sparse_cg", tol=1e-10)
    expected = np.vstack(
        [machine.fit(features[a], target[a], weight[a]).predict(features[b])[:, None]
         for a, b in SPLITS]
    )  # fmt: skip
    np.testing.assert_allclose(held_out, expected, atol=1e-3)
    expected = machine.fit(features, target, weight).predict(features)
    np.testing.assert_allclose(counts.outputs(graphs)[:, 0], expected, atol=1e-3)


def test_classes_that_are_missing_are_improbable(motifs):
    graphs, y = motifs
    counts, held_out = LinearCounts.fit(
        vectorizer(), graphs, 2 * y, 4, np.ones(len(y)), SPLITS, np.std
    )
    assert held_out.shape == (40, 4)
    assert (probabilities(counts.outputs(graphs))[:, [1, 3]] < 0.01).all()


def test_each_label_is_learned_from_the_graphs_of_which_it_is_known(motifs):
    graphs, y = motifs
    table = np.column_stack([y, n_edges(graphs) > np.median(n_edges(graphs)), y]).astype(int)
    weight = np.random.default_rng(0).integers(0, 3, table.shape).astype(float)
    weight[20:, 2] = 0  # nothing is known in the first split, and one class in the second
    table[:20, 2] = 1

    arguments = vectorizer(), graphs, table, 6, weight, SPLITS
    counts, held_out = LinearCounts.fit(*arguments, np.std)
    assert held_out.shape == (40, 6)
    features = vectorizer().fit_transform(graphs) / counts.scale
    for column in range(2):
        rows = np.flatnonzero(weight[:, column])
        machine = LogisticRegression(C=counts.strength, tol=1e-6, max_iter=5000)
        machine.fit(features[rows], table[rows, column], weight[rows, column])
        outputs = counts.outputs(graphs)[:, 2 * column : 2 * column + 2]
        expected = machine.predict_proba(features)
        np.testing.assert_allclose(probabilities(outputs), expected, atol=0.02)
    np.testing.assert_array_equal(held_out[:20, 4:], 0)
    assert (held_out[20:, 5] > held_out[20:, 4]).all()


def test_each_number_is_learned_from_the_graphs_of_which_it_is_known(motifs):
    graphs, _ = motifs
    target = np.column_stack([n_edges(graphs), np.diff(graphs.node_offsets)]).astype(float)
    target -= target.mean(axis=0)
    weight = (np.random.default_rng(0).uniform(size=target.shape) > 0.4).astype(float)
    counts, _ = fit(graphs, np.where(weight, target, 1e6), weight=weight, loss=np.std)
    features = vectorizer().fit_transform(graphs) / counts.scale
    for column in range(2):
        rows = np.flatnonzero(weight[:, column])
        machine = Ridge(alpha=1 / counts.strength, solver="sparse_cg", tol=1e-10)
        expected = machine.fit(features[rows], target[rows, column]).predict(features)
        np.testing.assert_allclose(counts.outputs(graphs)[:, column], expected, atol=1e-2)


def test_other_graphs_can_be_held_out(motifs):
    graphs, y = motifs
    training = graphs[:60]

    def loss(outputs):
        return log_loss(y[60:], probabilities(outputs))

    splits = [(np.arange(60), graphs[60:])]
    counts, held_out = fit(training, y[:60], splits=splits, loss=loss)
    np.testing.assert_allclose(held_out, counts.outputs(graphs[60:]), atol=0.02)


def test_contributions_of_nodes_sum_to_outputs(motifs):
    graphs, y = motifs
    counts, _ = fit(graphs[:60], y[:60], [(np.arange(30), np.arange(30, 60))], loss=np.std)
    contributions = counts.contributions(graphs)  # of colors, too, that are not known
    sums = np.add.reduceat(contributions, graphs.node_offsets[:-1])
    np.testing.assert_allclose(sums, counts.outputs(graphs) - counts.intercepts, atol=1e-9)


def test_nodes_of_a_color_contribute_the_same(motifs):
    graphs, y = motifs
    counts, _ = fit(graphs, y, loss=np.std)
    ring = GraphSet.from_networkx([_labeled(nx.cycle_graph(5))])
    contributions = counts.contributions(ring)
    np.testing.assert_allclose(contributions, np.tile(contributions[:1], (5, 1)))


def _labeled(graph):
    nx.set_node_attributes(graph, "C", "label")
    return graph


@pytest.mark.parametrize("bonds", [False, True])
def test_rings_are_as_good_as_labels_of_edges(motifs, bonds):
    """Colors with rings are those of graphs whose edges have the ring in their labels."""
    graphs, _ = make_motif_graphs(40, random_state=1)
    rng = np.random.default_rng(0)
    if bonds:
        for graph in graphs:
            for u, v in graph.edges:
                graph.edges[u, v]["label"] = int(rng.integers(2))
    others = []
    for graph in graphs:
        single = GraphSet.from_networkx([graph], edge_label=None)
        sizes = ring_sizes(single, 6)
        nodes = list(graph)
        other = graph.copy()
        for v in range(len(nodes)):
            for e in range(single.edge_offsets[v], single.edge_offsets[v + 1]):
                u = nodes[single.neighbors[e]]
                label = graph.edges[nodes[v], u].get("label")
                other.edges[nodes[v], u]["label"] = (label, int(sizes[e]))
        others.append(other)
    with_rings = WLVectorizer(3, max_ring=6)
    training = with_rings.fit_transform(graphs[:30])
    plain = WLVectorizer(3)
    expected = plain.fit_transform(others[:30])
    assert (training @ training.T != expected @ expected.T).nnz == 0
    some, same = with_rings.transform(graphs[30:]), plain.transform(others[30:])
    assert (some @ training.T != same @ expected.T).nnz == 0
    assert len(set(with_rings.get_feature_names_out())) == training.shape[1]


@pytest.mark.parametrize("seed", range(20))
def test_equal_columns_are_merged_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    distinct = rng.random((12, 9)) * (rng.random((12, 9)) < 0.4)
    distinct[0, 0] = np.nextafter(distinct[0, 1] + 1, 2)  # differs in the last digit only
    distinct[0, 1] += 1
    which = np.concatenate([np.arange(9), rng.integers(9, size=15)])
    rng.shuffle(which)
    plain = distinct[:, which]
    merged, column_of, share = _merge_equal_columns(sp.csr_array(plain))
    assert merged.shape[1] == len(np.unique(distinct, axis=1).T)
    np.testing.assert_allclose(merged.toarray()[:, column_of] * share, plain)
    # Inner products are the same, and so are the norms of coefficients.
    np.testing.assert_allclose((merged @ merged.T).toarray(), plain @ plain.T)
    coefficients = rng.normal(size=merged.shape[1])
    spread = coefficients[column_of] * share
    np.testing.assert_allclose(plain @ spread, merged @ coefficients)
    np.testing.assert_allclose(spread @ spread, coefficients @ coefficients)


def test_of_a_part_whose_graphs_weigh_nothing_nothing_is_learned(motifs):
    graphs, y = motifs
    weight = np.where(np.arange(80) < 20, 1.0, 0.0)  # the first split is trained on the others
    _, held_out = fit(graphs, y, weight=weight, loss=np.std)
    assert not held_out[:20].any()
    assert held_out[20:].any()
    lighter, _ = fit(graphs, y, splits=SPLITS[1:], weight=weight, loss=np.std)
    alone, _ = fit(
        graphs, np.where(weight, y, 1 - y), splits=SPLITS[1:], weight=weight, loss=np.std
    )
    np.testing.assert_array_equal(lighter.coefficients, alone.coefficients)
