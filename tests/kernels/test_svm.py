"""Kernel machines: what they compute, share, keep and refuse."""

import copy
import pickle
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from inspect import getdoc, signature

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from saved_models import DATA, graphs_and_targets
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_classification
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC

import sklofi
from helpers import odd_graphs, unseen_labels
from sklofi import GraphKernelSVC, GraphKernelSVR, GraphSet, WLVectorizer
from sklofi.datasets import load_graph_atlas, make_motif_graphs
from sklofi.kernels import (
    FingerprintVectorizer,
    RandomWalkKernel,
    RandomWalkVectorizer,
    ShortestPathVectorizer,
    VertexHistogramVectorizer,
    linear_kernel,
)
from sklofi.kernels import _gram as gram
from sklofi.kernels import _svm as kernels

VECTORIZERS = {
    "wl": WLVectorizer(2, normalize=True),
    "wl-oa": WLVectorizer(2, normalize=True, unary=True),
    "vertex-histogram": VertexHistogramVectorizer(normalize=True),
    "shortest-path": ShortestPathVectorizer(normalize=True),
    "random-walk": RandomWalkVectorizer(2, normalize=True),
}


@pytest.fixture(scope="module")
def motifs():
    return make_motif_graphs(90, random_state=0)


@pytest.mark.parametrize("kernel", VECTORIZERS)
def test_classifier_is_libsvm_on_the_kernel_matrix(kernel, motifs):
    graphs, y = motifs
    classifier = GraphKernelSVC(kernel=kernel, n_iter=2, C=3).fit(graphs[:60], y[:60])
    vectorizer = clone(VECTORIZERS[kernel])
    train = vectorizer.fit_transform(graphs[:60])
    plain = SVC(kernel="precomputed", C=3).fit(linear_kernel(train), y[:60])
    block = linear_kernel(vectorizer.transform(graphs[60:]), train)
    assert_allclose(
        classifier.decision_function(graphs[60:]), plain.decision_function(block), atol=1e-12
    )
    assert_array_equal(classifier.predict(graphs[60:]), plain.predict(block))
    assert classifier.solver_ == "gram"
    # The vectorizer itself says the same as its name.
    same = GraphKernelSVC(kernel=vectorizer, C=3).fit(graphs[:60], y[:60])
    assert_array_equal(
        same.decision_function(graphs[60:]), classifier.decision_function(graphs[60:])
    )


def test_regressor_is_libsvm_on_the_standardized_target():
    graphs, y = load_graph_atlas(target="spectral_radius")
    graphs, y = graphs[::5], y[::5]
    vectors = WLVectorizer(2, normalize=True).fit_transform(graphs)
    standardized = (y - y.mean()) / y.std()
    plain = SVR(kernel="precomputed", C=2, epsilon=0.05).fit(linear_kernel(vectors), standardized)
    expected = y.mean() + y.std() * plain.predict(linear_kernel(vectors))
    regressor = GraphKernelSVR(kernel="wl", n_iter=2, C=2, epsilon=0.05)
    assert_allclose(regressor.fit(graphs, y).predict(graphs), expected)
    scaled = regressor.fit(graphs, 1e6 * y - 7).predict(graphs)
    assert_allclose(scaled, 1e6 * expected - 7, rtol=1e-5)


def test_linear_solver_is_liblinear_on_the_features(motifs):
    graphs, y = motifs
    classifier = GraphKernelSVC(kernel="wl", n_iter=2, solver="linear", random_state=0).fit(
        graphs, y
    )
    vectors = WLVectorizer(2, normalize=True).fit_transform(graphs)
    plain = LinearSVC(C=10, max_iter=10_000, random_state=0).fit(vectors, y)
    assert_array_equal(classifier.decision_function(graphs), plain.decision_function(vectors))
    gram = clone(classifier).set_params(solver="gram").fit(graphs, y)
    assert np.mean(gram.predict(graphs) == classifier.predict(graphs)) > 0.95


@pytest.mark.parametrize("estimator", [GraphKernelSVC(), GraphKernelSVR()])
def test_many_graphs_need_no_matrix(estimator, motifs, monkeypatch):
    graphs, y = motifs
    assert estimator.fit(graphs, y).solver_ == "gram"
    monkeypatch.setattr(kernels, "LARGEST_MATRIX", 50)
    monkeypatch.setattr(gram, "linear_kernel", None)  # whoever calls it fails
    monkeypatch.setattr(kernels, "linear_kernel", None)
    assert estimator.fit(graphs, y).solver_ == "linear"
    assert estimator.score(graphs, y) > 0.6


def test_linear_solver_needs_features(motifs):
    with pytest.raises(ValueError, match='solver="linear" needs a kernel with features'):
        GraphKernelSVC(kernel=RandomWalkKernel(), solver="linear").fit(*motifs)


def count_calls(monkeypatch):
    calls = []
    original = gram.linear_kernel

    def counted(X, Y=None):
        calls.append((X.shape[0], None if Y is None else Y.shape[0]))
        return original(X, Y)

    monkeypatch.setattr(gram, "linear_kernel", counted)
    monkeypatch.setattr(kernels, "linear_kernel", counted)
    return calls


def test_a_search_over_a_graph_set_computes_one_matrix_per_kernel(motifs, monkeypatch):
    calls = count_calls(monkeypatch)
    X, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    grid = {"C": [0.1, 1, 10, 100], "n_iter": [1, 2]}
    fits = []
    original = WLVectorizer.fit_graphs
    monkeypatch.setattr(
        WLVectorizer, "fit_graphs", lambda self, X: fits.append(len(X)) or original(self, X)
    )
    search = GridSearchCV(GraphKernelSVC(), grid, cv=5).fit(X, y)
    assert calls == [(90, None), (90, None)]  # n_iter=1 and n_iter=2, whole
    # For each, the vocabularies of five folds and the matrix; and the refit of the best.
    assert sorted(fits) == [72] * 10 + [90] * 3
    listed = GridSearchCV(GraphKernelSVC(), grid, cv=5).fit(motifs[0], y)
    assert_allclose(
        search.cv_results_["mean_test_score"], listed.cv_results_["mean_test_score"], atol=0.012
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"normalize": False},
        {"kernel": "wl"},
        {"node_label": None},
        {"n_iter": 1},
        {"kernel": "shortest-path"},
        {"kernel": WLVectorizer(5, unary=True)},
    ],
    ids=repr,
)
def test_kernels_of_one_set_are_not_taken_for_each_other(parameters, motifs):
    X, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    GraphKernelSVC().fit(X, y)  # leaves its matrix with the set
    shared = GraphKernelSVC(**parameters).fit(X, y)
    alone = GraphKernelSVC(**parameters).fit(motifs[0], y)
    assert_allclose(shared.decision_function(X), alone.decision_function(motifs[0]), atol=1e-9)
    plain = GraphKernelSVC().fit(X, y)
    assert not np.allclose(shared.decision_function(X), plain.decision_function(X))


@unseen_labels
def test_sets_that_name_labels_differently_are_not_taken_for_each_other(motifs):
    graphs, y = [graph.copy() for graph in motifs[0]], motifs[1]
    for graph in graphs:
        for _, data in graph.nodes(data=True):
            data["charge"] = "q" + data["label"]
    labeled, charged = (
        pickle.loads(pickle.dumps(GraphSet.from_networkx(graphs, node_label=name)))
        for name in ("label", "charge")
    )
    classifier = GraphKernelSVC().fit(labeled[:60], y[:60])
    copied = pickle.loads(pickle.dumps(classifier))
    GraphKernelSVC().fit(charged[:60], y[:60])
    assert_allclose(
        classifier.decision_function(charged[60:]),
        copied.decision_function(charged[60:]),
        atol=1e-9,
    )


def test_a_set_can_be_used_by_several_threads(motifs, monkeypatch):
    monkeypatch.setattr(gram, "KEPT_BYTES", 2 * 90 * 90 * 8)
    X, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    expected = [GraphKernelSVC(n_iter=n).fit(motifs[0], y).predict(motifs[0]) for n in range(4)]
    with ThreadPoolExecutor(6) as pool:
        fits = [pool.submit(GraphKernelSVC(n_iter=i % 4).fit, X, y) for i in range(40)]
        predictions = [pool.submit(fit.result().predict, X) for fit in fits]
        for i, prediction in enumerate(predictions):
            assert_array_equal(prediction.result(), expected[i % 4])


def test_shared_blocks_are_what_the_graphs_alone_would_give(motifs):
    X, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    rows, rest = np.arange(0, 90, 2), np.arange(1, 90, 2)
    shared = GraphKernelSVC().fit(X[rows], y[rows])
    alone = GraphKernelSVC().fit([motifs[0][i] for i in rows], y[rows])
    others = [motifs[0][i] for i in rest]
    expected = alone.decision_function(others)
    assert shared._shared.values_of(X[rest]) is not None
    assert_allclose(shared.decision_function(X[rest]), expected, atol=2e-3)  # libsvm's precision
    # Graphs from elsewhere, and a copy that has lost the set.
    assert_allclose(shared.decision_function(others), expected, atol=2e-3)
    copy = pickle.loads(pickle.dumps(shared))
    assert copy._shared is None
    assert_allclose(copy.decision_function(X[rest]), shared.decision_function(X[rest]), atol=1e-9)
    # Another set with the same rows is not taken for this one.
    backwards = motifs[0][::-1]
    assert_allclose(
        shared.decision_function(GraphSet.from_networkx(backwards)[rest]),
        alone.decision_function([backwards[i] for i in rest]),
        atol=2e-3,
    )


def test_a_small_slice_does_not_ask_for_the_whole_matrix(motifs, monkeypatch):
    calls = count_calls(monkeypatch)
    X, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    GraphKernelSVC().fit(X[:10], y[:10])
    assert calls == [(10, None)]
    monkeypatch.setattr(gram, "KEPT_BYTES", 8 * 90 * 90 - 1)  # the whole is too large to keep
    GraphKernelSVC().fit(X[:60], y[:60])
    assert calls == [(10, None), (60, None)]


def test_folds_of_a_set_choose_the_solver_that_the_whole_set_chooses(motifs, monkeypatch):
    X, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    monkeypatch.setattr(kernels, "LARGEST_MATRIX", 80)
    assert GraphKernelSVC().fit(X[:60], y[:60]).solver_ == "linear"
    assert GraphKernelSVC().fit(motifs[0][:60], y[:60]).solver_ == "gram"


def test_kept_matrices_are_bounded(motifs, monkeypatch):
    features = WLVectorizer(3).fit_transform(motifs[0])
    monkeypatch.setattr(gram, "KEPT_BYTES", 2 * (90 * 90 * 8 + 24 * features.nnz))
    calls = count_calls(monkeypatch)
    X, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    for n_iter in (1, 2, 1, 3, 1, 2):  # when 3 comes, 2 was used longest ago and goes
        GraphKernelSVC(n_iter=n_iter).fit(X, y)
        sizes = [size for _, size in gram.kernel_cache(X)._items.values()]
        assert sum(sizes) <= gram.KEPT_BYTES
    assert len(calls) == 4


def test_memory_keeps_matrices_on_disk(motifs, tmp_path, monkeypatch):
    calls = count_calls(monkeypatch)
    graphs, y = motifs
    grid = {"C": [0.1, 1, 10]}
    for memory in (str(tmp_path), joblib.Memory(str(tmp_path), verbose=0)):
        search = GridSearchCV(GraphKernelSVC(memory=memory), grid, cv=3).fit(graphs, y)
        assert search.best_score_ > 0.9
    training = [call for call in calls if call[1] is None]
    assert len(training) == 4  # three folds and the refit, once for all candidates and searches


def test_results_with_and_without_memory_are_the_same(motifs, tmp_path):
    graphs, y = motifs[0][:25], motifs[1][:25]
    for kernel in ("wl-oa", RandomWalkKernel()):
        for _ in range(2):
            kept = GraphKernelSVC(kernel=kernel, memory=str(tmp_path)).fit(graphs, y)
            plain = GraphKernelSVC(kernel=kernel).fit(graphs, y)
            assert_array_equal(kept.decision_function(graphs), plain.decision_function(graphs))


@pytest.mark.parametrize("solver", ["gram", "linear"])
def test_probabilities_are_calibrated(solver):
    graphs, y = make_motif_graphs(300, random_state=1)
    y = np.where(np.random.RandomState(0).uniform(size=300) < 0.2, 1 - y, y)  # noise
    classifier = GraphKernelSVC(probability=True, solver=solver, random_state=0).fit(
        graphs[:200], y[:200]
    )
    probabilities = classifier.predict_proba(graphs[200:])
    assert_allclose(probabilities.sum(axis=1), 1)
    sure = probabilities.max(axis=1)
    right = classifier.predict(graphs[200:]) == y[200:]
    assert abs(sure.mean() - right.mean()) < 0.12
    assert classifier.svm_.__class__ in (SVC, LinearSVC)
    assert not hasattr(GraphKernelSVC(), "predict_proba")


def test_calibration_needs_two_of_a_class(motifs):
    graphs, y = motifs[0][:10], [0] * 9 + [1]
    with pytest.raises(
        ValueError, match=r"at least 2 graphs of each class .* only one of class 1\."
    ):
        GraphKernelSVC(probability=True).fit(graphs, y)
    GraphKernelSVC(probability=True).fit(graphs, [0] * 8 + [1] * 2)


def sorted_families():
    """Families of graphs one after the other, whose labels say nothing of other families."""
    graphs, y = [], []
    for family in range(5):
        for is_second in [0] * 6 + [1] * 4:
            graph = nx.path_graph(3)
            nx.set_node_attributes(graph, f"{family} {is_second}", "label")
            graphs.append(graph)
            y.append(is_second)
    return graphs, np.array(y)


@pytest.mark.parametrize("solver", ["gram", "linear"])
def test_probabilities_do_not_depend_on_the_order_of_the_graphs(solver):
    """With consecutive folds each family would be held out whole, and nothing be known of it."""
    graphs, y = sorted_families()
    classifier = GraphKernelSVC(probability=True, solver=solver, random_state=0).fit(graphs, y)
    assert_array_equal(classifier.predict_proba(graphs).argmax(axis=1), y)


@pytest.mark.parametrize("solver", ["gram", "linear"])
@pytest.mark.parametrize("random_state", [0, np.random.RandomState(0)])
def test_predictions_with_and_without_probabilities_agree(motifs, solver, random_state):
    graphs, y = motifs
    flipped = np.random.RandomState(0).uniform(size=len(y)) < 0.3
    y = np.where(flipped | (np.arange(len(y)) % 3 == 0), 0, y)  # the first class is frequent
    options = {"kernel": "vertex-histogram", "C": 1, "class_weight": "balanced", "solver": solver}
    plain = GraphKernelSVC(**options, random_state=copy.deepcopy(random_state)).fit(graphs, y)
    calibrated = clone(plain).set_params(probability=True, random_state=random_state)
    calibrated.fit(graphs, y)
    assert_array_equal(calibrated.predict(graphs), plain.predict(graphs))
    assert_array_equal(calibrated.decision_function(graphs), plain.decision_function(graphs))
    # Here the most probable class is often another one.
    assert (calibrated.predict_proba(graphs).argmax(axis=1) != plain.predict(graphs)).any()


def test_an_int_as_random_state_fixes_the_folds(motifs):
    graphs, y = motifs

    def probabilities(random_state):
        classifier = GraphKernelSVC(probability=True, random_state=random_state)
        return classifier.fit(graphs, y).predict_proba(graphs)

    before = np.random.get_state()[1].tolist()
    assert_array_equal(probabilities(0), probabilities(0))
    assert (probabilities(0) != probabilities(1)).any()
    assert np.random.get_state()[1].tolist() == before
    assert (probabilities(None) != probabilities(None)).any()


def test_predict_proba_says_what_it_needs(motifs):
    graphs, y = motifs
    with pytest.raises(AttributeError, match="predict_proba only with probability=True"):
        GraphKernelSVC().predict_proba  # noqa: B018
    # What was fitted decides, not what the parameter says later.
    classifier = GraphKernelSVC().fit(graphs, y).set_params(probability=True)
    with pytest.raises(ValueError, match="fitted with probability=False"):
        classifier.predict_proba(graphs)


@pytest.mark.parametrize("solver", ["gram", "linear"])
@pytest.mark.parametrize(
    "estimator, method",
    [
        (GraphKernelSVC(random_state=0), "predict"),
        (GraphKernelSVC(random_state=0, probability=True), "predict_proba"),
        (GraphKernelSVR(random_state=0), "predict"),
    ],
)
def test_weights_matter(estimator, method, solver):
    """Graphs of large weight pull predictions towards their target."""
    graphs = [nx.path_graph(n) for n in (3, 4, 5)] * 20
    y = np.tile([0, 1, 0, 0, 1, 1], 10)  # paths of five nodes are 0 and 1 in turn
    outputs = []
    for heavy in (0, 1):
        weight = np.where(y == heavy, 10.0, 1.0)
        fitted = estimator.set_params(solver=solver).fit(graphs, y, sample_weight=weight)
        outputs.append(getattr(fitted, method)([nx.path_graph(5)]).ravel()[-1])
    assert outputs[0] < 0.5 < outputs[1]


@pytest.mark.parametrize("solver", ["gram", "linear"])
@pytest.mark.parametrize("probability", [False, True])
def test_classes_of_weight_zero_are_not_there(solver, probability):
    graphs = [nx.star_graph(5), nx.cycle_graph(6), nx.complete_graph(5)] * 10
    y = np.array(["star", "cycle", "complete"] * 10)
    for zero in ("star", "cycle", "complete"):
        options = {"kernel": "wl", "C": 100, "solver": solver, "probability": probability}
        classifier = GraphKernelSVC(**options, class_weight={zero: 0}, random_state=0)
        classifier.fit(graphs, y)
        rest = [name for name in ("star", "cycle", "complete") if name != zero]
        assert classifier.classes_.tolist() == sorted(rest)
        is_left = y != zero
        expected = GraphKernelSVC(**options, random_state=0).fit(
            [graphs[i] for i in np.flatnonzero(is_left)], y[is_left]
        )
        assert_array_equal(classifier.predict(graphs), expected.predict(graphs))
        assert (classifier.predict(graphs)[is_left] == y[is_left]).all()
    with pytest.raises(ValueError, match="at least 2 classes"):
        GraphKernelSVC(class_weight={0: 0}).fit(graphs, np.arange(30) % 2)


def test_class_weight_is_sample_weight(motifs):
    graphs, y = motifs
    y = np.where(np.arange(90) % 3 == 0, y, 0)
    weight = np.where(y == 1, 5.0, 1.0)
    by_class = GraphKernelSVC(class_weight={1: 5.0}).fit(graphs, y)
    by_sample = GraphKernelSVC().fit(graphs, y, sample_weight=weight)
    expected = by_sample.decision_function(graphs)
    assert_array_equal(by_class.decision_function(graphs), expected)
    balanced = GraphKernelSVC(C=1, class_weight="balanced").fit(graphs, y)
    plain = GraphKernelSVC(C=1).fit(graphs, y)
    assert balanced.predict(graphs).sum() > plain.predict(graphs).sum()


def shared_edges(graphs, others):
    """A kernel that looks at an attribute which sklofi does not know."""
    weights = [
        [sum(w for *_, w in graph.edges(data="weight", default=1.0)) for graph in part]
        for part in (graphs, others)
    ]
    return np.outer(*weights)


def test_a_callable_sees_the_users_own_graphs():
    graphs = [nx.path_graph(3) for _ in range(20)]
    y = np.arange(20) % 2
    for graph, value in zip(graphs, y, strict=True):
        nx.set_edge_attributes(graph, 1.0 + value, "weight")
    classifier = GraphKernelSVC(kernel=shared_edges, C=100).fit(graphs, y)
    assert classifier.score(graphs, y) == 1
    weight = np.ones(20)
    weight[:5] = 0
    classifier.fit(graphs, y, sample_weight=weight)
    assert classifier.kernel_.graphs == graphs[5:]
    classifier.fit(graphs, y, sample_weight=2.0)  # as for every estimator of scikit-learn
    assert classifier.kernel_.graphs == graphs
    with pytest.warns(UserWarning, match="'weight', which is not used"):
        X = GraphSet.from_networkx(graphs)
    assert classifier.fit(X, y).score(graphs, y) == 0.5


@pytest.mark.parametrize(
    "values, message",
    [
        (np.ones((2, 3)), r"returned an array of shape \(2, 3\) for 20 and 20 graphs"),
        (np.full((20, 20), np.nan), "returned nan for graph 0 and training graph 0"),
    ],
)
def test_bad_kernel_values_are_refused(values, message):
    graphs = odd_graphs(20)
    with pytest.raises(ValueError, match=message):
        GraphKernelSVC(kernel=lambda a, b: values).fit(graphs, np.arange(20) % 2)


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"kernel": "wll"}, ValueError, "The 'kernel' parameter of GraphKernelSVC must be a str"),
        ({"kernel": WLVectorizer}, TypeError, re.escape("write kernel=WLVectorizer().")),
        ({"kernel": make_pipeline(WLVectorizer())}, TypeError, "gives features, not kernel values"),
        ({"C": 0}, ValueError, "'C' parameter"),
        ({"solver": "fast"}, ValueError, "'solver' parameter"),
        ({"class_weight": {5: 1.0}}, ValueError, "names the classes"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message, motifs):
    with pytest.raises(error, match=message):
        GraphKernelSVC(**parameters).fit(*motifs)


def test_a_fit_that_fails_leaves_no_fitted_estimator(motifs):
    classifier = GraphKernelSVC().fit(*motifs)
    with pytest.raises(ValueError, match="X has 90 graphs, but y has 1 targets"):
        classifier.fit(motifs[0], [1])
    with pytest.raises(ValueError, match="not fitted"):
        classifier.predict(motifs[0])


def test_labels_of_another_name(motifs):
    graphs, y = [graph.copy() for graph in motifs[0]], motifs[1]
    for graph in graphs:
        for _, data in graph.nodes(data=True):
            data["element"] = data.pop("label")
    expected = GraphKernelSVC().fit(*motifs).decision_function(motifs[0])
    for parameters in (
        {"node_label": "element"},
        {"kernel": WLVectorizer(5, normalize=True, unary=True, node_label="element")},
    ):
        classifier = GraphKernelSVC(**parameters).fit(graphs, y)
        assert_array_equal(classifier.decision_function(graphs), expected)


def test_parameters_of_a_kernel_object_can_be_searched(motifs):
    search = GridSearchCV(GraphKernelSVC(kernel=WLVectorizer()), {"kernel__n_iter": [0, 2]}, cv=3)
    assert search.fit(*motifs).best_params_ == {"kernel__n_iter": 2}


def test_nothing_to_count(motifs):
    graphs, y = [nx.empty_graph(3)] * 10, np.arange(10) % 2
    classifier = GraphKernelSVC(kernel="shortest-path")
    assert_array_equal(classifier.fit(graphs, y).decision_function(graphs), 0)
    with pytest.raises(ValueError, match="ShortestPathVectorizer finds nothing to count"):
        classifier.set_params(solver="linear").fit(graphs, y)


def test_prediction_in_pieces(motifs, monkeypatch):
    graphs, y = motifs
    classifier = GraphKernelSVC().fit(graphs, y)
    expected = classifier.decision_function(graphs)
    monkeypatch.setattr(kernels, "VALUES_TOGETHER", 7 * 90)
    assert_allclose(classifier.decision_function(graphs), expected, atol=1e-12)


@pytest.mark.parallel
def test_three_classes_and_workers(motifs):
    graphs, _ = motifs
    y = np.array([len(graph.edges) % 3 for graph in graphs])
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    X = GraphSet.from_networkx(graphs)
    classifier = GraphKernelSVC(kernel="shortest-path")
    alone, parallel = (cross_val_score(classifier, X, y, cv=folds, n_jobs=n) for n in (1, 2))
    assert_array_equal(alone, parallel)
    assert classifier.fit(X, y).decision_function(X).shape == (90, 3)


def test_a_pipeline_of_vectorizer_and_linear_machine_is_the_linear_solver(motifs):
    graphs, y = motifs
    vectorizer = WLVectorizer(5, normalize=True, unary=True)
    machine = LinearSVC(C=10, max_iter=10_000, random_state=0)
    pipeline = make_pipeline(vectorizer, machine).fit(graphs, y)
    classifier = GraphKernelSVC(kernel="wl-oa", solver="linear", random_state=0).fit(graphs, y)
    assert_array_equal(classifier.decision_function(graphs), pipeline.decision_function(graphs))


def test_docstrings_tell_the_same():
    """Both list parameters as their signatures do, and describe shared ones in the same words."""
    sections = []
    for kind in (GraphKernelSVC, GraphKernelSVR):
        text = getdoc(kind).split("Parameters\n----------\n")[1].split("\nAttributes")[0]
        parts = re.split(r"^(?=\w+ : )", text, flags=re.M)[1:]
        section = {part.split(" : ")[0]: part for part in parts}
        assert list(section) == list(signature(kind).parameters)
        assert set(section) == set(kind().get_params(deep=False))
        sections.append(section)
    for name in sections[0].keys() & sections[1].keys():
        assert sections[0][name].strip() == sections[1][name].strip(), name


def test_tables_are_not_for_kernels():
    X, y = make_classification(20, random_state=0)
    with pytest.raises(ValueError, match="array of 2 dimensions, but a list of graphs"):
        GraphKernelSVC().fit(X, y)


@pytest.mark.parametrize("machine", [GraphKernelSVC, GraphKernelSVR])
def test_weights_with_which_the_solver_would_not_end_are_refused(machine):
    graphs = [nx.path_graph(2), nx.path_graph(2), nx.path_graph(3)]
    with pytest.raises(ValueError, match=r"weight of a graph is 1e\+31; .* Scale sample_weight"):
        machine().fit(graphs, [0, 1, 1], sample_weight=[1, 1e30, 1])
    with pytest.raises(ValueError, match=r"weight of a graph is inf; .* Scale sample_weight"):
        machine().fit(graphs, [0, 1, 1], sample_weight=[1, 1e308, 1])


def test_a_kernel_matrix_that_does_not_fit_is_refused(motifs, monkeypatch):
    graphs, y = motifs
    monkeypatch.setattr("sklofi._memory.memory_size", lambda: 24 * len(y) ** 2 * 2 - 1)
    with pytest.raises(MemoryError, match=r'kernel matrix of \d+ graphs .* Use solver="linear"'):
        GraphKernelSVC(kernel="wl").fit(graphs, y)
    GraphKernelSVC(kernel="wl", solver="linear").fit(graphs, y)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("size", [5e-324, 1e-300])
def test_the_linear_solver_ends_or_refuses(motifs, size):
    """liblinear would go round in circles in compiled code, whatever max_iter is."""
    graphs, y = motifs
    regressor = GraphKernelSVR(solver="linear", n_iter=1)
    with pytest.raises(ValueError, match="linear solver may never end"):
        regressor.fit(graphs, y, sample_weight=np.full(len(y), size))
    weight = np.where(np.arange(len(y)) % 2, 1.0, size)
    assert np.isfinite(regressor.fit(graphs, y, sample_weight=weight).predict(graphs)).all()


def bonded_set(names, directed=False):
    graphs = []
    for i in range(30):
        graph = nx.path_graph(4 + i % 3)
        for j, edge in enumerate(graph.edges.values()):
            edge["label"] = names[(i + j * (i % 2)) % 2]
        graphs.append(graph.to_directed() if directed else graph)
    return GraphSet.from_networkx(graphs, edge_label="label")


@unseen_labels
@pytest.mark.parametrize("other", [bonded_set("cd"), bonded_set("ab", directed=True)])
def test_sets_that_differ_in_edges_are_not_taken_for_each_other(other):
    """In a process that was sent both, which share what is derived from the same arrays."""
    y = np.arange(30) % 2

    def sent(graphs):
        return pickle.loads(pickle.dumps(graphs))

    def fitted(graphs):
        return GraphKernelSVC(kernel=FingerprintVectorizer()).fit(graphs, y)

    first = bonded_set("ab")
    expected = fitted(copy.copy(first)).decision_function(copy.copy(other))
    assert_allclose(fitted(sent(first)).decision_function(sent(other)), expected)
    alone = fitted(copy.copy(other))
    after = fitted(sent(other))
    assert [*after.kernel_.get_feature_names_out()] == [*alone.kernel_.get_feature_names_out()]
    assert_allclose(after.decision_function(sent(other)), alone.decision_function(other))


def rings_of_bonds():
    """Rings that differ in which bonds are beside each other, and the same without bonds."""
    graphs = [nx.cycle_graph(4 * n) for n in (1, 2, 3, 4, 5) for _ in "ab"]
    bare = copy.deepcopy(graphs)
    for i, graph in enumerate(graphs):
        for j in graph:
            graph.edges[j, (j + 1) % len(graph)]["label"] = ("-=-=", "--==")[i % 2][j % 4]
    return graphs, bare, np.arange(10) % 2


@pytest.mark.parametrize("as_set", [False, True])
@pytest.mark.parametrize("kernel", ["wl", "wl-oa", "random-walk"])
def test_kernels_by_name_read_edge_labels_unless_told_not_to(kernel, as_set):
    graphs, bare, y = rings_of_bonds()
    X = GraphSet.from_networkx(graphs) if as_set else graphs
    classifier = GraphKernelSVC(kernel=kernel, n_iter=3)
    assert classifier.fit(X[:6], y[:6]).score(X[6:], y[6:]) == 1
    expected = clone(classifier).fit(bare[:6], y[:6]).decision_function(bare[6:])
    classifier.set_params(edge_label=None).fit(X[:6], y[:6])
    assert_allclose(classifier.decision_function(X[6:]), expected, atol=1e-12)
    # A vectorizer has its own choice.
    kernel = WLVectorizer(3, edge_label=None, normalize=True)
    classifier = GraphKernelSVC(kernel=kernel, edge_label="nowhere").fit(X[:6], y[:6])
    assert len(set(classifier.predict(X[6:]))) == 1
    for graph in graphs:
        for *_, data in graph.edges(data=True):
            data["bond"] = data.pop("label")
    renamed = GraphKernelSVC(n_iter=3, edge_label="bond").fit(graphs[:6], y[:6])
    assert renamed.score(graphs[6:], y[6:]) == 1


def test_folds_share_a_matrix_if_edge_labels_are_ignored(monkeypatch):
    graphs, _, y = rings_of_bonds()
    fits = []
    original = WLVectorizer.fit_graphs
    monkeypatch.setattr(
        WLVectorizer, "fit_graphs", lambda self, X: fits.append(len(X)) or original(self, X)
    )
    search = GridSearchCV(GraphKernelSVC(edge_label=None), {"C": [1, 10]}, cv=2, refit=False)
    search.fit(GraphSet.from_networkx(graphs), y)
    assert fits.count(10) == 1


def test_a_callable_sees_the_edge_labels_of_a_set():
    graphs, _, y = rings_of_bonds()

    def bonds(rows, columns):
        counts = [
            [g.edges[0, 1]["label"] == g.edges[1, 2]["label"] for g in x] for x in (rows, columns)
        ]
        return np.equal.outer(*counts).astype(float)

    X = GraphSet.from_networkx(graphs)
    for part in (X, X[2:]):
        weight = np.arange(len(part)) != 3  # which leaves out a graph
        classifier = GraphKernelSVC(kernel=bonds).fit(part, y[-len(part) :], weight)
        assert classifier.score(part, y[-len(part) :]) == 1


def test_a_callable_sees_the_graph_features_that_a_slice_was_given():
    graphs = GraphSet.from_networkx([nx.path_graph(3)] * 12)
    sizes = np.arange(12.0)
    whole = graphs.with_graph_features(-sizes, "size")

    def by_size(rows, columns):
        x, y = ([graph.graph["size"].item() for graph in some] for some in (rows, columns))
        return np.exp(-(np.subtract.outer(x, y) ** 2))

    y = np.arange(12) % 2
    expected = None
    for part in (graphs[2:], whole[2:]):  # one without features, one with others
        part = part.with_graph_features(sizes[2:] ** 2, "size")
        for X in (part, list(part)):
            found = GraphKernelSVC(kernel=by_size).fit(X, y[2:]).decision_function(X)
            expected = found if expected is None else expected
            assert_array_equal(found, expected)


def test_a_callable_sees_node_labels_that_are_ignored_whatever_the_container():
    graphs = [nx.path_graph(3) for _ in range(12)]
    y = np.arange(12) % 2
    for graph, label in zip(graphs, y, strict=True):
        nx.set_node_attributes(graph, "NC"[label], "label")

    def by_label(rows, columns):
        a, b = ([graph.nodes[0]["label"] for graph in some] for some in (rows, columns))
        return np.equal.outer(a, b).astype(float)

    for X in (graphs, GraphSet.from_networkx(graphs)):
        machine = GraphKernelSVC(kernel=by_label, node_label=None).fit(X, y)
        assert machine.score(X, y) == 1


def test_kernels_without_edge_labels_do_not_ask_for_them():
    _, bare, y = rings_of_bonds()
    for kernel in ("shortest-path", "vertex-histogram"):
        GraphKernelSVC(kernel=kernel, edge_label="nowhere").fit(bare, y).predict(bare)
    with pytest.raises(ValueError, match=r"'nowhere' \(edge_label\)"):
        GraphKernelSVC(edge_label="nowhere").fit(bare, y)


@pytest.mark.parametrize(
    "name", ["svc", "svc-probability", "svc-linear", "svc-walks", "svr-linear"]
)
@pytest.mark.parametrize("file_format", [1, 2])
def test_files_of_before_edge_labels_ignore_them(file_format, name):
    """That they predict what they did is in test_storage.py."""
    with warnings.catch_warnings():  # of another version of scikit-learn
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        machine = sklofi.load(DATA / f"format-{file_format}" / f"{name}.safetensors")
    assert machine.edge_label is None and machine.kernel_.edge_label is None
    graphs, classes, y = graphs_and_targets()
    expected = machine.predict(graphs)
    for graph in graphs:
        for number, data in enumerate(graph.edges.values()):
            data["label"] = number % 2
    for X in (graphs, GraphSet.from_networkx(graphs)):
        assert_array_equal(machine.predict(X), expected)
    machine.fit(graphs, y if is_regressor(machine) else classes)
    assert machine.kernel_.edge_label is None


def test_a_data_frame_of_one_column_is_a_list_of_graphs(motifs):
    """Also for functions, which are given the graphs themselves."""
    graphs, y = motifs[0][:20], motifs[1][:20]
    frame = pd.DataFrame({"graph": graphs}, index=range(20, 0, -1))

    def sizes(rows, columns):
        return np.outer([len(graph) for graph in rows], [len(graph) for graph in columns])

    for kernel in ("wl", sizes):
        expected = GraphKernelSVC(kernel=kernel).fit(graphs, y).decision_function(graphs)
        found = GraphKernelSVC(kernel=kernel).fit(frame, y).decision_function(frame)
        assert_array_equal(found, expected)


def test_a_function_gets_the_edge_labels_of_a_set():
    """Also of a slice, and without the graphs of weight zero."""
    graphs = [nx.Graph([(0, 1, {"label": "-=#"[i % 3]})]) for i in range(24)]
    y, weight = np.arange(24) % 3 == 0, np.ones(24)
    weight[5] = 0

    def bonds(rows, columns):
        left, right = ([graph.edges[0, 1]["label"] for graph in part] for part in (rows, columns))
        return np.equal.outer(left, right).astype(float)

    X = GraphSet.from_networkx(graphs[::-1] + graphs)[24:]
    expected, found = (
        GraphKernelSVC(kernel=bonds).fit(data, y, weight).decision_function(data)
        for data in (graphs, X)
    )
    assert_allclose(found, expected)
    assert_array_equal(expected > 0, y)  # which only bonds can tell


def tables(graphs, y):
    """Labels and numbers that graphs know, and the same with holes."""
    sizes = np.array([sum(degree == 1 for _, degree in graph.degree) for graph in graphs])
    labels = np.column_stack([y, sizes % 2, sizes > np.median(sizes)]).astype(int)
    numbers = np.column_stack([sizes + y, np.sqrt(sizes)])
    is_known = np.random.RandomState(0).uniform(size=labels.shape) < 0.7
    return labels, numbers, *(np.where(is_known[:, : t.shape[1]], t, np.nan)
                              for t in (labels, numbers))  # fmt: skip


@pytest.mark.parametrize(
    "classifier",
    [
        GraphKernelSVC(n_iter=1, class_weight="balanced"),
        GraphKernelSVC(n_iter=1, solver="linear", random_state=0),
        GraphKernelSVC(n_iter=1, probability=True, random_state=0),
        GraphKernelSVC(kernel=RandomWalkKernel(), class_weight={0: 2.0}),
    ],
    ids=repr,
)
def test_each_of_several_labels_is_predicted_as_if_it_were_alone(classifier, motifs):
    graphs, y = motifs[0][:40], motifs[1][:40]
    labels = tables(graphs, y)[0]
    weight = 1 + np.arange(40) % 3
    for X in (graphs, GraphSet.from_networkx(graphs)):
        several = clone(classifier).fit(X, labels, weight)
        assert several.classes_.tolist() == [0, 1, 2]
        for column, values in enumerate(labels.T):
            alone = clone(classifier).fit(X, values, weight)
            for method in ("predict", "decision_function", "predict_proba"):
                if hasattr(alone, method):
                    expected = getattr(alone, method)(X)
                    expected = expected[:, 1] if expected.ndim == 2 else expected
                    assert_array_equal(getattr(several, method)(X)[:, column], expected)


@pytest.mark.parametrize("solver", ["gram", "linear"])
def test_each_of_several_numbers_is_predicted_as_if_it_were_alone(solver, motifs):
    graphs, y = motifs[0][:40], motifs[1][:40]
    numbers = tables(graphs, y)[1]
    regressor = GraphKernelSVR(n_iter=1, solver=solver, random_state=0).fit(graphs, numbers)
    for column, values in enumerate(numbers.T):
        alone = clone(regressor).fit(graphs, values)
        assert_array_equal(regressor.predict(graphs)[:, column], alone.predict(graphs))


@pytest.mark.parametrize("as_set", [False, True])
def test_machines_learn_from_the_kernel_values_of_what_is_known(as_set, motifs):
    graphs, y = motifs
    _, _, labels, numbers = tables(graphs, y)
    X = GraphSet.from_networkx(graphs) if as_set else graphs
    values = linear_kernel(WLVectorizer(2, normalize=True).fit_transform(graphs[:60]))
    classifier = GraphKernelSVC(kernel="wl", n_iter=2).fit(X[:60], labels[:60])
    regressor = GraphKernelSVR(kernel="wl", n_iter=2).fit(X[:60], numbers[:60])
    for column in (0, 1):
        rows = np.flatnonzero(~np.isnan(labels[:60, column]))
        block = values[np.ix_(rows, rows)]
        plain = SVC(C=10, kernel="precomputed").fit(block, labels[rows, column])
        assert_array_equal(classifier.svm_[column].support_, plain.support_)
        found = classifier.decision_function(X[:60])[:, column]
        assert_allclose(found, plain.decision_function(values[:, rows]), atol=1e-9)
        target = numbers[rows, column]
        plain = SVR(C=10, kernel="precomputed").fit(block, (target - target.mean()) / target.std())
        expected = target.mean() + target.std() * plain.predict(values[:, rows])
        assert_allclose(regressor.predict(X[:60])[:, column], expected, rtol=1e-6)
    assert regressor.score(X[:60], numbers[:60]) > 0.3


def test_one_kernel_matrix_serves_all_columns(motifs, monkeypatch):
    calls = count_calls(monkeypatch)
    labels = tables(*motifs)[2]
    GraphKernelSVC().fit(motifs[0], labels)
    assert calls == [(np.count_nonzero(~np.isnan(labels).all(axis=1)), None)]


def test_weights_of_classes_are_those_of_each_label(motifs):
    graphs, y = motifs[0][:40], motifs[1][:40]
    labels = tables(graphs, y)[2]
    weights = [{1: 5.0}, {0: 3.0}, {0: 1.0}]
    several = GraphKernelSVC(n_iter=1, class_weight=weights).fit(graphs, labels)
    for number, of_label in enumerate(weights):
        alone = GraphKernelSVC(n_iter=1, class_weight=of_label).fit(graphs, labels)
        assert_array_equal(
            several.decision_function(graphs)[:, number],
            alone.decision_function(graphs)[:, number],
        )
    with pytest.raises(ValueError, match="list of 3 dicts, one for each column of y"):
        GraphKernelSVC(class_weight=weights[:2]).fit(graphs, labels)
    with pytest.raises(ValueError, match="class_weight is a list"):
        GraphKernelSVC(class_weight=weights).fit(graphs, y)


def test_classes_of_weight_zero_are_not_known(motifs):
    graphs, y = motifs[0][:40], motifs[1][:40]
    labels = np.column_stack([y, 1 - y])
    with pytest.warns(UserWarning, match="Column 0 of y has one class only: .* are 1"):
        classifier = GraphKernelSVC(class_weight=[{0: 0}, {}]).fit(graphs, labels)
    assert (classifier.predict(graphs)[:, 0] == 1).all()
    labels[:, 0] = 0
    with pytest.raises(ValueError, match=r"class_weight is zero for all .* column 0 of y"):
        GraphKernelSVC(class_weight=[{0: 0}, {}]).fit(graphs, labels)


def test_a_label_that_is_too_rare_to_calibrate_is_named(motifs):
    graphs, y = motifs[0][:20], motifs[1][:20]
    labels = np.column_stack([y, np.arange(20) == 3])
    with pytest.raises(ValueError, match="only one of class 1 in column 1 of y"):
        GraphKernelSVC(probability=True).fit(graphs, labels)


@pytest.mark.parametrize("solver", ["gram", "linear"])
@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.filterwarnings("ignore:Column 3 of y has one class only")
def test_machines_of_several_columns_are_saved_and_copied(solver, probability, motifs, tmp_path):
    graphs, y = motifs
    labels = np.column_stack([tables(graphs, y)[2], np.ones(90)])
    classifier = GraphKernelSVC(
        n_iter=1, solver=solver, probability=probability, random_state=0
    ).fit(GraphSet.from_networkx(graphs)[:60], labels[:60])
    classifier.save(tmp_path / "model.safetensors")
    loaded = sklofi.load(tmp_path / "model.safetensors")
    assert vars(loaded).keys() == vars(classifier).keys()
    for other in (loaded, pickle.loads(pickle.dumps(classifier))):
        assert_array_equal(
            other.decision_function(graphs[60:]), classifier.decision_function(graphs[60:])
        )
        assert hasattr(other, "predict_proba") == probability
    assert (classifier.predict(graphs)[:, 3] == 1).all()
    if probability:
        assert_array_equal(loaded.predict_proba(graphs[60:])[:, 3], 1)
        assert loaded.svm_[0] is loaded._calibrated[0].calibrated_classifiers_[0].estimator
    regressor = GraphKernelSVR(n_iter=1, solver=solver).fit(graphs, tables(graphs, y)[3])
    regressor.save(tmp_path / "model.safetensors")
    loaded = sklofi.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict(graphs), regressor.predict(graphs))


def test_after_several_labels_a_single_one_can_be_fitted(motifs):
    graphs, y = motifs[0][:30], motifs[1][:30]
    classifier = GraphKernelSVC(n_iter=1).fit(graphs, tables(graphs, y)[2])
    expected = GraphKernelSVC(n_iter=1).fit(graphs, y).decision_function(graphs)
    assert_array_equal(classifier.fit(graphs, y).decision_function(graphs), expected)


@pytest.mark.parametrize("kernel", ["wl", "wl-oa"])
def test_coefficients_of_the_linear_solver_are_those_of_named_features(kernel, motifs):
    graphs, y = motifs
    labels, numbers, *_ = tables(graphs, y)
    options = {"kernel": kernel, "n_iter": 1, "solver": "linear"}
    for targets in (y, np.arange(90) % 3, labels):
        classifier = GraphKernelSVC(**options).fit(graphs, targets)
        found = classifier.kernel_.transform(graphs) @ classifier.coef_.T + classifier.intercept_
        expected = classifier.decision_function(graphs)
        assert_allclose(found.reshape(expected.shape), expected, atol=1e-12)
        assert classifier.coef_.shape[1] == len(classifier.feature_names_)
    for targets in (numbers[:, 0], numbers):
        regressor = GraphKernelSVR(**options).fit(graphs, targets)
        found = regressor.kernel_.transform(graphs) @ regressor.coef_.T + regressor.intercept_
        assert_allclose(found, regressor.predict(graphs))


def test_a_kernel_matrix_has_no_coefficients(motifs):
    graphs, y = motifs[0][:20], motifs[1][:20]
    classifier = GraphKernelSVC(n_iter=1).fit(graphs, y)
    with pytest.raises(AttributeError, match='coef_ and intercept_ with solver="linear" only'):
        classifier.coef_  # noqa: B018
    assert len(classifier.feature_names_) == classifier.kernel_.n_features_out_
    walks = GraphKernelSVC(kernel=RandomWalkKernel()).fit(graphs, y)
    with pytest.raises(AttributeError, match="its kernel counts nothing"):
        walks.feature_names_  # noqa: B018
