"""Attributions of edges against the integral by loops over networkx, and against their axioms."""

import warnings

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from related_members import random_multigraph
from related_outputs import ATTRIBUTES, bonded_graphs, integral, log_odds, numbered_edges
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.graphs._input import as_graph_set
from sklofi.inspection import _attribution as attribution
from sklofi.inspection import edge_attribution
from sklofi.inspection._edge_attribution import EdgePresence, _edge_table
from sklofi.inspection._fitted import told_apart

pytestmark = pytest.mark.filterwarnings("ignore:The edges of X differ in the attribute 'weight'")

QUICK = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 4,
    "n_words": 3,
    "max_epochs": 5,
    "random_state": 0,
}
PUBLISHED = {"distances": False, "edge_label": None, "max_ring": 0}
SETTINGS = {
    "distances": {"edge_label": None, "max_ring": 0},
    "published": PUBLISHED,
    "bonds": {"edge_label": "bond", "max_ring": 0},
    "bonds alone": {**PUBLISHED, "edge_label": "bond"},
    "rings alone": {**PUBLISHED, "max_ring": 6},
    "weights alone": {**PUBLISHED, "edge_weight": "weight"},
    "everything": {**ATTRIBUTES, "max_ring": 6, "structure": "degree"},
}


@pytest.fixture(scope="module")
def bonded():
    return bonded_graphs()


def assert_exact(result, tol=0.01):
    sums = np.array([values.sum() for values in result.attributions])
    assert_allclose(sums + result.residuals, result.outputs - result.baselines, atol=1e-9)
    sizes = np.array([np.abs(values).sum() for values in result.attributions])
    rounding = 1e-5 * np.maximum(np.abs(result.outputs), np.abs(result.baselines))
    assert (np.abs(result.residuals) <= tol * sizes + rounding).all()


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kernel", ["l1", "intersection"])
def test_attributions_are_the_integral_and_sum_to_the_difference_from_the_baseline(
    bonded, name, kernel
):
    graphs, y = bonded
    pooling = {"bonds": "mean", "rings alone": "max"}.get(name, "sum")
    classifier = LoFIClassifier(**QUICK, **SETTINGS[name], kernel=kernel, pooling=pooling)
    classifier.fit(graphs, y)
    result = edge_attribution(classifier, graphs[:6], target=1, tol=1e-3)
    assert_exact(result, tol=1e-3)
    probability = classifier.predict_proba(graphs[:6])[:, 1]
    assert_allclose(result.outputs, np.log(probability / (1 - probability)), atol=1e-4)
    for i in (0, 5):
        none = torch.zeros(1, graphs[i].number_of_edges()).double()
        baseline = log_odds(classifier, graphs[i], of_edges=none).item()
        assert result.baselines[i] == pytest.approx(baseline, rel=1e-4, abs=1e-4)
        expected = integral(classifier, graphs[i], "of_edges")
        error = np.abs(result.attributions[i] - expected).sum()
        assert error <= 0.02 * np.abs(expected).sum() + 1e-5
        assert [tuple(edge) for edge in result.edges[i].tolist()] == list(graphs[i].edges)
        reads_bonds = classifier.edge_label == "bond"
        bonds = [bond if reads_bonds else None for *_, bond in graphs[i].edges(data="bond")]
        assert result.edge_labels[i] == bonds
    weightless = [w == 0 for graph in graphs[:6] for *_, w in graph.edges(data="weight")]
    if classifier.edge_weight is not None:
        assert not np.concatenate(result.attributions)[weightless].any()


def test_derivatives_equal_finite_differences(bonded):
    graphs, y = bonded
    classifier = LoFIClassifier(**QUICK, **SETTINGS["everything"]).fit(graphs, y)
    presence = EdgePresence(
        _edge_table(as_graph_set(graphs, **classifier._graph_attributes()), told_apart(classifier))
    )
    module = classifier.module_.double()
    graph_set = as_graph_set(graphs, **classifier._graph_attributes())
    (batch,) = presence.prepare(classifier._node_batches(graph_set, max_rows=10**6, gradients=True))
    batch = batch.copies(torch.tensor([3, 0, 3]))
    vars(batch)["x"] = batch.x.double()
    weight = torch.tensor([[-1.0, 1.0]]).double().expand(3, -1)
    place = torch.rand(len(presence.parts(batch).columns), generator=torch.manual_seed(0)).double()
    _, (gradient,) = presence.derive(module, batch, weight, place.clone().requires_grad_())
    step = 1e-6
    for edge in range(len(place)):
        there = [place.clone(), place.clone()]
        there[0][edge] -= step
        there[1][edge] += step
        low, high = (presence._outputs(module, batch, weight, p).sum() for p in there)
        assert gradient[edge].item() == pytest.approx(
            ((high - low) / (2 * step)).item(), rel=1e-4, abs=1e-6
        )
    classifier.module_.float()


@pytest.mark.parametrize("name", ["published", "bonds", "weights alone", "everything"])
def test_directed_graphs_multigraphs_and_loops_are_explained(name):
    """Where parallel edges with different labels are two, and others one."""
    graphs = [random_multigraph(seed, n_labels=3) for seed in range(60)]
    classifier = LoFIClassifier(**{**QUICK, "n_layers": 1}, **SETTINGS[name])
    if "structure" in SETTINGS[name]:
        classifier.set_params(structure=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(graphs, np.arange(60) % 2)
    result = edge_attribution(classifier, graphs, target=1, tol=1e-3)
    assert_exact(result, tol=1e-3)
    n_with_edges = 0
    for i, graph in enumerate(graphs):
        edges = numbered_edges(graph, classifier.edge_label)
        by_edge = {
            (u, v, label): value
            for (u, v), label, value in zip(
                result.edges[i].tolist(), result.edge_labels[i], result.attributions[i], strict=True
            )
        }
        assert len(by_edge) == len(edges)
        if not edges or i % 4:
            continue
        n_with_edges += 1
        expected = integral(classifier, graph, "of_edges", n_steps=512)
        keys = [
            (*((u, v) if graph.is_directed() else sorted((u, v))), data.get(classifier.edge_label))
            for u, v, data in edges
        ]
        error = np.abs(np.array([by_edge[key] for key in keys]) - expected).sum()
        assert error <= 0.03 * np.abs(expected).sum() + 1e-4
    assert n_with_edges > 8


def test_graphs_without_edges_have_nothing_to_explain(bonded):
    graphs, y = bonded
    classifier = LoFIClassifier(**QUICK, edge_label=None).fit(graphs, y)
    lonely = nx.empty_graph(3)
    nx.set_node_attributes(lonely, "C", "label")
    result = edge_attribution(classifier, [lonely, graphs[0], lonely], target=1)
    assert [len(values) for values in result.attributions] == [0, graphs[0].number_of_edges(), 0]
    assert result.edges[0].shape == (0, 2) and result.edge_labels[2] == []
    assert_allclose(result.outputs[[0, 2]], result.baselines[[0, 2]])
    alone = edge_attribution(classifier, [graphs[0]], target=1)
    assert_allclose(result.attributions[1], alone.attributions[0], rtol=1e-4, atol=1e-5)


def test_edges_that_are_alike_get_the_same_and_rows_and_sets_give_the_same(bonded, monkeypatch):
    graphs, y = bonded
    classifier = LoFIClassifier(**QUICK, edge_label=None, max_ring=6).fit(graphs, y)
    ring = nx.cycle_graph(6)
    nx.set_node_attributes(ring, "C", "label")
    values = edge_attribution(classifier, [ring]).attributions[0]
    assert_allclose(values, values[0], rtol=1e-3, atol=1e-6)
    expected = edge_attribution(classifier, graphs).attributions
    rows = [5, 2, 5]
    some = edge_attribution(
        classifier, GraphSet.from_networkx(graphs, edge_label=None)[rows]
    ).attributions
    for row, got in zip(rows, some, strict=True):
        assert_allclose(got, expected[row], rtol=1e-3, atol=1e-4)
    monkeypatch.setattr(attribution, "NUMBERS_IN_CACHE", 1)  # every graph is a batch of its own
    for got, wanted in zip(
        edge_attribution(classifier, graphs[:5]).attributions, expected[:5], strict=True
    ):
        assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)


def test_regression_is_explained_in_units_of_the_target(bonded):
    graphs, _ = bonded
    n_double = [sum(b == "double" for *_, b in g.edges(data="bond")) for g in graphs]
    regressor = LoFIRegressor(**QUICK, edge_label="bond").fit(graphs, 100.0 * np.array(n_double))
    result = edge_attribution(regressor, graphs)
    assert_allclose(result.outputs, regressor.predict(graphs), rtol=1e-4, atol=1e-2)
    assert_exact(result)


def test_the_edge_that_decides_is_found():
    """Graphs of one class have a double bond, which is at any place."""
    rng = np.random.RandomState(0)
    graphs, y = [], np.arange(120) % 2
    for label in y:
        graph = nx.path_graph(7)
        nx.set_edge_attributes(graph, "single", "label")
        if label:
            place = int(rng.randint(6))
            graph.edges[place, place + 1]["label"] = "double"
        graphs.append(graph)
    classifier = LoFIClassifier(n_members=1, counts=False, max_epochs=30, random_state=0).fit(
        graphs[:80], y[:80]
    )
    assert classifier.score(graphs[80:], y[80:]) == 1
    result = edge_attribution(classifier, graphs[80:], target=1)
    for values, labels, label in zip(result.attributions, result.edge_labels, y[80:], strict=True):
        if label:
            assert values.argmax() == labels.index("double")


def test_what_cannot_be_explained_is_said(bonded):
    graphs, y = bonded
    for radius in (0, 2):
        classifier = LoFIClassifier(**QUICK, edge_label=None, radius=radius).fit(graphs, y)
        with pytest.raises(ValueError, match=f"for radius=1, and .* with radius={radius}"):
            edge_attribution(classifier, graphs)
    with pytest.raises(NotFittedError):
        edge_attribution(LoFIClassifier(), graphs)
    classifier = LoFIClassifier(**QUICK, edge_label=None).fit(graphs, y)
    with pytest.warns(ConvergenceWarning, match="do not reach tol=1e-06") as record:
        edge_attribution(classifier, graphs, tol=1e-6, n_steps=1)
    assert record[0].filename == __file__


def test_edges_that_explain_nothing_are_said_to(bonded):
    """All zeros of counts that have the whole share are no finding about edges."""
    graphs, y = bonded
    classifier = LoFIClassifier(**{**QUICK, "n_members": 2, "counts": True}, edge_label=None).fit(
        graphs, y
    )
    classifier.counts_share_ = 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        edge_attribution(classifier, graphs[:3])
    classifier.counts_share_ = 1.0
    with pytest.warns(UserWarning, match="Counts alone make the predictions") as record:
        result = edge_attribution(classifier, graphs[:3])
    assert record[0].filename == __file__
    assert not np.concatenate(result.attributions).any()


def test_graphs_without_edges_are_explained_where_numpy_raises_errors():
    graphs = [nx.path_graph(2 + i % 3) for i in range(12)] + [nx.empty_graph(2)]
    classifier = LoFIClassifier(max_epochs=2, n_members=1, counts=False, random_state=0)
    classifier.fit(graphs, [0, 1] * 6 + [0])
    with np.errstate(all="raise"):
        attributions = edge_attribution(classifier, graphs).attributions
    assert [len(values) for values in attributions] == [graph.size() for graph in graphs]
