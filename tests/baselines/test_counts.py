"""Machines on top of fingerprints and of labels, against those of scikit-learn."""

import pickle

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from helpers import bonded_graphs, unseen_labels
from sklofi import GraphSet
from sklofi.baselines import (
    FingerprintClassifier,
    FingerprintRegressor,
    LabelHistogramClassifier,
    LabelHistogramRegressor,
)
from sklofi.kernels import FingerprintVectorizer, VertexHistogramVectorizer
from sklofi.testing import graph_estimator_checks

CLASSIFIERS = [FingerprintClassifier(), LabelHistogramClassifier()]
REGRESSORS = [FingerprintRegressor(), LabelHistogramRegressor()]
ESTIMATORS = {
    "FingerprintClassifier": FingerprintClassifier(),
    "FingerprintRegressor": FingerprintRegressor(),
    "LabelHistogramClassifier": LabelHistogramClassifier(),
    "LabelHistogramRegressor": LabelHistogramRegressor(),
    "forest": FingerprintClassifier(estimator=RandomForestClassifier(5)),
    "svm": LabelHistogramClassifier(estimator=LinearSVC()),
    "tree": FingerprintRegressor(radius=1, estimator=DecisionTreeRegressor(max_depth=3)),
}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{name}-{check_name}")
        for name, estimator in ESTIMATORS.items()
        for check_name, check in graph_estimator_checks(estimator)
    ],
)
def test_graph_checks_pass(check):
    check()  # raises what it finds; test_testing.py shows that it does


def targets(graphs):
    """Classes and numbers that depend on labels, edges and rings, and weights."""
    y = np.array(
        [
            sum(label == "a" for _, label in g.nodes(data="label"))
            + 2 * sum(label == "2" for *_, label in g.edges(data="label"))
            + len(nx.cycle_basis(g))
            for g in graphs
        ],
        dtype=float,
    )
    return np.array(["few", "some", "many"])[np.digitize(y, [2, 6])], y, 1 + np.arange(len(y)) % 3


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_the_default_classifier_is_logistic_regression_of_scaled_counts(estimator):
    graphs = bonded_graphs()
    y, _, weight = targets(graphs)
    is_fingerprint = isinstance(estimator, FingerprintClassifier)
    vectorizer = FingerprintVectorizer() if is_fingerprint else VertexHistogramVectorizer()
    estimator = clone(estimator).set_params(C=0.1).fit(graphs, y, sample_weight=weight)
    counts = vectorizer.fit_transform(graphs).toarray()
    scale = np.maximum(StandardScaler().fit(counts, sample_weight=weight).scale_, 1)
    assert (scale > 1).any()
    machine = LogisticRegression(C=0.1, max_iter=1000, tol=1e-8)
    machine.fit(counts / scale, y, sample_weight=weight)
    new = bonded_graphs(20, seed=5)
    expected = machine.predict_proba(vectorizer.transform(new).toarray() / scale)
    assert_allclose(estimator.predict_proba(new), expected, atol=2e-3)
    assert_array_equal(estimator.predict(new), machine.classes_[expected.argmax(axis=1)])
    assert_array_equal(estimator.classes_, ["few", "many", "some"])


@pytest.mark.parametrize("estimator", REGRESSORS, ids=repr)
@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-6])
def test_the_default_regressor_is_ridge_regression_of_scaled_counts(estimator, unit):
    graphs = bonded_graphs()
    _, y, weight = targets(graphs)
    is_fingerprint = isinstance(estimator, FingerprintRegressor)
    vectorizer = FingerprintVectorizer() if is_fingerprint else VertexHistogramVectorizer()
    estimator = clone(estimator).set_params(C=0.5).fit(graphs, unit * y, sample_weight=weight)
    counts = vectorizer.fit_transform(graphs).toarray()
    scale = np.maximum(StandardScaler().fit(counts, sample_weight=weight).scale_, 1)
    deviation = np.sqrt(np.cov(y, aweights=weight, ddof=0))  # of the target
    machine = Ridge(alpha=2).fit(counts / scale, y / deviation, sample_weight=weight)
    new = bonded_graphs(20, seed=5)
    expected = deviation * machine.predict(vectorizer.transform(new).toarray() / scale)
    assert_allclose(estimator.predict(new) / unit, expected, rtol=1e-5, atol=1e-5)


def test_structure_is_seen_by_fingerprints_and_not_by_labels():
    """Two triangles or one ring of six: the same neighborhoods at any radius."""
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    graphs, y = [triangles, nx.cycle_graph(6)] * 10, [0, 1] * 10
    assert FingerprintClassifier().fit(graphs, y).score(graphs, y) == 1
    assert FingerprintClassifier(max_ring=0).fit(graphs, y).score(graphs, y) == 0.5
    assert LabelHistogramClassifier().fit(graphs, y).score(graphs, y) == 0.5


@pytest.mark.parametrize("as_set", [False, True])
def test_labels_of_edges_are_seen_by_fingerprints_if_they_may(as_set):
    graphs = [nx.path_graph(4) for _ in range(20)]
    for i, graph in enumerate(graphs):
        nx.set_edge_attributes(graph, i % 2, "bond")
    y = np.arange(20) % 2
    X = GraphSet.from_networkx(graphs, edge_label="bond") if as_set else graphs
    assert FingerprintClassifier(edge_label="bond").fit(X, y).score(X, y) == 1
    assert FingerprintClassifier(edge_label=None).fit(X, y).score(X, y) == 0.5
    if as_set:  # which has made its choice
        assert FingerprintClassifier().fit(X, y).score(X, y) == 1


def test_an_estimator_is_cloned_and_seeded_where_it_has_no_seed():
    graphs = bonded_graphs()
    y = targets(graphs)[0]
    given = RandomForestClassifier(3)
    estimator = FingerprintClassifier(estimator=given, random_state=1).fit(graphs, y)
    assert not hasattr(given, "estimators_") and given.random_state is None
    again = FingerprintClassifier(estimator=given, random_state=1).fit(graphs, y)
    assert_array_equal(estimator.predict_proba(graphs), again.predict_proba(graphs))
    seeded = FingerprintClassifier(
        estimator=RandomForestClassifier(3, random_state=7), random_state=1
    )
    assert seeded.fit(graphs, y).estimator_.random_state == 7


def test_a_machine_has_the_methods_that_it_has():
    for estimator in (FingerprintClassifier(estimator=LinearSVC()), FingerprintClassifier()):
        graphs = bonded_graphs()
        has_probabilities = estimator.estimator is None
        assert hasattr(estimator, "predict_proba") == has_probabilities
        estimator.fit(graphs, targets(graphs)[0])
        assert hasattr(estimator, "predict_proba") == has_probabilities
        assert estimator.decision_function(graphs).shape == (len(graphs), 3)
    assert not hasattr(FingerprintRegressor(), "predict_proba")


def test_weights_are_not_ignored_by_machines_that_take_none():
    graphs = bonded_graphs()
    y, _, weight = targets(graphs)
    estimator = FingerprintClassifier(estimator=KNeighborsClassifier(1))
    with pytest.raises(ValueError, match=r"KNeighborsClassifier .* takes no weights in fit"):
        estimator.fit(graphs, y, sample_weight=weight)
    pipeline = make_pipeline(MaxAbsScaler(), LinearSVC())
    for classifier in (estimator, FingerprintClassifier(estimator=pipeline)):
        for equal in (None, np.full(len(y), 2.0), weight > 1):
            classifier.fit(graphs, y, sample_weight=equal)
    assert estimator.score(graphs, y) > 0.5


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=repr)
def test_weights_and_c_that_would_overflow_are_refused(estimator):
    graphs = bonded_graphs(2)
    for weight in (1e308, 5e-324):
        with pytest.raises(ValueError, match=r"C times the largest weight .* is (inf|3.95e-323)"):
            clone(estimator).set_params(C=8).fit(graphs, [0, 1], sample_weight=[weight, weight])
    with pytest.raises(ValueError, match=r"weight of a graph is 1e-11; .* or use another C"):
        clone(estimator).set_params(C=1e-11).fit(graphs, [0, 1])
    clone(estimator).fit(graphs, [0, 1], sample_weight=[1e10, 5e-324])


@pytest.mark.parametrize("name", ["radius", "max_ring"])
def test_bad_parameters_are_named(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        FingerprintClassifier().set_params(**{name: -1}).fit(bonded_graphs(2), [0, 1])


def test_a_machine_for_another_task_is_refused():
    graphs = bonded_graphs()
    classes, y, _ = targets(graphs)
    with pytest.raises(ValueError, match=r"has to be a classifier, got LinearRegression\(\)"):
        FingerprintClassifier(estimator=LinearRegression()).fit(graphs, classes)
    with pytest.raises(ValueError, match="has to be a regressor, got DecisionTreeClassifier"):
        LabelHistogramRegressor(estimator=DecisionTreeClassifier()).fit(graphs, y)
    with pytest.raises(ValueError, match="'estimator' parameter"):
        FingerprintClassifier(estimator="forest").fit(graphs, classes)
    with pytest.raises(TypeError, match="instance"):
        FingerprintClassifier(estimator=LinearSVC).fit(graphs, classes)


def test_a_fit_that_fails_leaves_nothing_half_fitted():
    graphs = bonded_graphs()
    estimator = FingerprintClassifier().fit(graphs, targets(graphs)[0])
    with pytest.raises(ValueError, match="at least 2 classes"):
        estimator.fit(graphs, ["same"] * len(graphs))
    with pytest.raises(NotFittedError):
        estimator.predict(graphs)


def test_a_search_reaches_into_the_machine():
    graphs = GraphSet.from_networkx(bonded_graphs(), edge_label="label")
    y = targets(graphs.to_networkx())[1]
    grid = {"radius": [0, 1], "estimator__alpha": [0.1, 1.0]}
    search = GridSearchCV(FingerprintRegressor(estimator=Ridge(solver="lsqr")), grid, cv=2)
    assert search.fit(graphs, y).best_params_.keys() == grid.keys()


@unseen_labels
@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=repr)
def test_what_was_saved_says_the_same_to_the_last_bit(estimator, tmp_path):
    graphs = bonded_graphs(labels=["a", 1, None, ("a", 1)])
    classes, y, _ = targets(graphs)
    estimator = clone(estimator).fit(graphs, classes if is_classifier(estimator) else y)
    path = tmp_path / "model.safetensors"
    estimator.save(path)
    new = bonded_graphs(20, seed=3, labels=["a", 1, "new"], bonds=(1, "2", "new"))
    for loaded in (type(estimator).load(path), pickle.loads(pickle.dumps(estimator))):
        assert vars(loaded).keys() == vars(estimator).keys()
        assert repr(loaded) == repr(estimator)
        assert_array_equal(loaded.predict(new), estimator.predict(new))
        if is_classifier(estimator):
            assert_array_equal(loaded.predict_proba(new), estimator.predict_proba(new))


def test_machines_of_the_default_kind_are_saved(tmp_path):
    graphs = bonded_graphs()
    path = tmp_path / "model.safetensors"
    estimator = FingerprintClassifier(estimator=LogisticRegression(C=3, max_iter=500))
    estimator.fit(graphs, targets(graphs)[0]).save(path)
    assert FingerprintClassifier.load(path).estimator.C == 3


def test_machines_of_others_are_not_saved_and_that_is_told(tmp_path):
    graphs = bonded_graphs()
    estimator = FingerprintClassifier(estimator=DecisionTreeClassifier())
    estimator.fit(graphs, targets(graphs)[0])
    with pytest.raises(TypeError, match=r"DecisionTreeClassifier.* cannot be saved.*joblib\.dump"):
        estimator.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


def test_a_method_that_is_not_there_says_why():
    with pytest.raises(AttributeError, match=r"no predict_proba, because LinearSVC .* has none\."):
        FingerprintClassifier(estimator=LinearSVC()).predict_proba  # noqa: B018


def table(graphs):
    """Three labels and two numbers, and which of them are known."""
    classes, y, _ = targets(graphs)
    labels = np.column_stack([classes == name for name in ("few", "some", "many")]).astype(int)
    return labels, np.column_stack([y, np.sqrt(y)]), np.random.RandomState(0).rand(len(y), 3) < 0.8


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=repr)
def test_each_of_several_columns_is_predicted_as_if_it_were_alone(estimator):
    graphs = bonded_graphs()
    labels, numbers, _ = table(graphs)
    y, weight = (labels if is_classifier(estimator) else numbers), targets(graphs)[2]
    several = clone(estimator).fit(graphs, y, weight)
    for column, values in enumerate(y.T):
        alone = clone(estimator).fit(graphs, values, weight)
        assert_array_equal(several.predict(graphs)[:, column], alone.predict(graphs))
        if is_classifier(estimator):
            probabilities = several.predict_proba(graphs)
            assert_array_equal(probabilities[:, column], alone.predict_proba(graphs)[:, 1])
            assert_array_equal(several.predict_log_proba(graphs), np.log(probabilities))
            scores = several.decision_function(graphs)
            assert_array_equal(scores[:, column], alone.decision_function(graphs))


def test_machines_learn_from_the_scaled_counts_of_what_is_known():
    graphs = bonded_graphs()
    labels, numbers, is_known = table(graphs)
    classifier = FingerprintClassifier().fit(graphs, np.where(is_known, labels, np.nan))
    regressor = FingerprintRegressor().fit(graphs, np.where(is_known[:, :2], numbers, np.nan))
    counts = FingerprintVectorizer().fit_transform(graphs).toarray()
    scaled = counts / np.maximum(counts.std(axis=0), 1)
    for column, rows in enumerate(is_known.T[:2]):
        plain = LogisticRegression(max_iter=1000, tol=1e-8).fit(scaled[rows], labels[rows, column])
        assert_allclose(
            classifier.predict_proba(graphs)[:, column],
            plain.predict_proba(scaled)[:, 1],
            atol=2e-3,
        )
        y = numbers[rows, column]
        plain = Ridge().fit(scaled[rows], (y - y.mean()) / y.std())
        expected = y.mean() + y.std() * plain.predict(scaled)
        assert_allclose(regressor.predict(graphs)[:, column], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:Column [02] of y has one class only")
def test_labels_are_saved_with_one_that_no_graph_has(tmp_path):
    graphs = bonded_graphs()
    labels = table(graphs)[0] * [1, 1, 0]
    classifier = FingerprintClassifier().fit(graphs, labels)
    assert_array_equal(classifier.predict_proba(graphs)[:, 2], 0)
    assert_array_equal(classifier.coef_[2], 0)
    classifier.save(tmp_path / "model.safetensors")
    loaded = FingerprintClassifier.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict_proba(graphs), classifier.predict_proba(graphs))
    first = FingerprintClassifier(estimator=LinearSVC()).fit(graphs, labels[:, ::-1])
    assert not hasattr(first, "predict_proba")  # though a constant has one


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=repr)
def test_coefficients_are_those_of_named_counts(estimator):
    graphs = bonded_graphs()
    classes, y, _ = targets(graphs)
    labels, numbers, _ = table(graphs)
    is_linear = clone(estimator)
    one, several = (
        ([classes, classes == "few"], labels) if is_classifier(estimator) else ([y], numbers)
    )
    for target in (*one, several):
        is_linear.fit(graphs, target)
        counts = is_linear.vectorizer_.transform(graphs)
        found = counts @ is_linear.coef_.T + is_linear.intercept_
        method = "decision_function" if is_classifier(estimator) else "predict"
        expected = getattr(is_linear, method)(graphs)
        assert_allclose(found.reshape(expected.shape), expected, atol=1e-10)
        names = is_linear.vectorizer_.get_feature_names_out()
        assert_array_equal(is_linear.feature_names_, names)
        assert is_linear.coef_.shape[-1] == len(names)


def test_machines_that_are_not_linear_have_no_coefficients():
    graphs = bonded_graphs()
    forest = FingerprintClassifier(estimator=DecisionTreeClassifier()).fit(
        graphs, targets(graphs)[0]
    )
    with pytest.raises(
        AttributeError, match=r"no coef_ .* DecisionTreeClassifier \(estimator\) has"
    ):
        forest.coef_  # noqa: B018
    assert not hasattr(forest, "intercept_") and len(forest.feature_names_) > 0
