"""What features of whole graphs are worth, and attributions of nodes beside them."""

import copy

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

from sklofi import FingerprintRegressor, GraphSet, LoFIRegressor
from sklofi.inspection import (
    edge_attribution,
    graph_feature_importance,
    mask_importance,
    node_attribution,
)

SMALL = {"n_layers": 2, "n_masks": 4, "n_words": 2, "max_epochs": 30, "random_state": 0}
NAMES = ["day", "dose", "pH"]


@pytest.fixture(scope="module")
def planted():
    rng = np.random.RandomState(0)
    graphs = [nx.gnp_random_graph(5, 0.5, seed=i) for i in range(60)]
    features = rng.normal(size=(60, 3))
    y = np.array([graph.number_of_edges() for graph in graphs]) + 3 * features[:, 1]
    return GraphSet.from_networkx(graphs).with_graph_features(features, NAMES), y


@pytest.fixture(scope="module")
def lofi(planted):
    return LoFIRegressor(n_members=1, counts=True, **SMALL).fit(*planted)


def test_the_planted_feature_comes_first(planted, lofi):
    X, y = planted
    search = GridSearchCV(FingerprintRegressor(), {"C": [1.0]}, cv=2).fit(X, y)
    for estimator in (lofi, search):
        result = graph_feature_importance(estimator, X, y, random_state=0)
        assert result.feature_names == NAMES
        assert result.importances_mean.argmax() == 1 and result.importances_mean[1] > 0.3
        assert result.importances.shape == (3, 5)
        assert_allclose(result.importances_mean, result.importances.mean(axis=1))
        assert_allclose(result.importances_std, result.importances.std(axis=1))


class OfFeatures(LinearRegression):
    """A machine of tables that takes the features of a GraphSet."""

    def predict(self, X):
        return super().predict(getattr(X, "graph_vectors", X))


def test_it_is_the_permutation_importance_of_scikit_learn(planted):
    X, y = planted
    machine = OfFeatures().fit(X.graph_vectors, y)
    found = graph_feature_importance(machine, X, y, n_repeats=200, random_state=0)
    expected = permutation_importance(machine, X.graph_vectors, y, n_repeats=200, random_state=0)
    assert_allclose(found.importances_mean, expected.importances_mean, atol=0.05)
    assert_allclose(found.importances_std, expected.importances_std, atol=0.05)


def test_the_same_seed_permutes_in_the_same_way(planted):
    X, y = planted
    regressor = FingerprintRegressor().fit(X, y)
    calls = [
        graph_feature_importance(
            regressor, X, y, scoring="neg_mean_absolute_error", n_repeats=2, random_state=seed
        )
        for seed in (0, 0, 1)
    ]
    assert_array_equal(calls[0].importances, calls[1].importances)
    assert (calls[0].importances != calls[2].importances).any()


def test_graphs_are_read_as_the_estimator_reads_them(planted):
    X, y = planted
    regressor = FingerprintRegressor(graph_features=NAMES).fit(X, y)
    of_set = graph_feature_importance(regressor, X, y, random_state=0)
    of_list = graph_feature_importance(regressor, X.to_networkx(), y, random_state=0)
    assert_array_equal(of_set.importances, of_list.importances)
    search = GridSearchCV(regressor, {"C": [1.0]}, cv=2).fit(X, y)
    with pytest.raises(TypeError, match=r"^GridSearchCV does not say how it reads graphs. Pass a"):
        graph_feature_importance(search, X.to_networkx(), y)


def test_graphs_without_features_are_refused(planted):
    X, y = planted
    bare = X.with_graph_features(None)
    regressor = FingerprintRegressor().fit(bare, y)
    with pytest.raises(ValueError, match=r"^X has no graph features whose importance"):
        graph_feature_importance(regressor, bare, y)


# Attributions.


def test_attributions_of_nodes_are_complete_and_features_are_in_the_baseline(planted, lofi):
    X, _ = planted
    graphs = X[:6]
    result = node_attribution(lofi, graphs, tol=0.001)
    sums = np.array([values.sum() for values in result.attributions])
    assert_allclose(result.outputs, lofi.predict(graphs), rtol=1e-4)
    assert_allclose(sums + result.residuals, result.outputs - result.baselines, atol=1e-4)
    assert (np.abs(result.residuals) < 0.05).all()
    # The baseline is what is predicted without nodes, under the conditions of the graph.
    other = graphs.with_graph_features(graphs.graph_vectors + np.array([0, 2, 0]), NAMES)
    moved = node_attribution(lofi, other, tol=0.001)
    assert (moved.baselines > result.baselines + 1).all()


def test_attributions_of_edges_are_complete(planted, lofi):
    X, _ = planted
    lofi = copy.copy(lofi)
    lofi.counts_share_ = 0.25  # not 1, where edges explain nothing
    result = edge_attribution(lofi, X[:4], tol=0.001)
    sums = np.array([values.sum() for values in result.attributions])
    assert sums.all()
    assert_allclose(sums + result.residuals, result.outputs - result.baselines, atol=1e-4)
    assert (np.abs(result.residuals) < 0.05).all()


def test_masks_are_left_out_under_the_features_of_the_graphs(planted, lofi):
    X, y = planted
    found = mask_importance(lofi, X, y, scoring="r2", n_resamples=2, random_state=0)
    member = lofi.members_[0]
    assert_allclose(found.baseline, member.score(X, y), atol=1e-5)
