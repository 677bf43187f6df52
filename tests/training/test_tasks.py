import copy
import pickle

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import Pipeline
from training_helpers import FULL_BATCH, QUICK

from sklofi import LoFIClassifier, LoFIRegressor


@pytest.fixture(scope="module")
def paths():
    """Paths of different lengths, whose target is the length."""
    graphs = [nx.path_graph(2 + i % 7) for i in range(42)]
    return graphs, np.array([len(graph) for graph in graphs], dtype=float)


# Classes


def test_class_weight_is_sample_weight(larger_motifs):
    graphs, y = larger_motifs
    graphs, y = graphs[:40], np.array(["no", "yes"])[y[:40]]
    frequent = (y == "yes").mean()
    for class_weight, weights in [
        ({"no": 1, "yes": 5}, {"no": 1, "yes": 5}),
        ("balanced", {"no": 1 / (2 * (1 - frequent)), "yes": 1 / (2 * frequent)}),
    ]:
        by_class = LoFIClassifier(**FULL_BATCH, class_weight=class_weight).fit(graphs, y)
        weight = np.array([weights[label] for label in y])
        by_graph = LoFIClassifier(**FULL_BATCH).fit(graphs, y, sample_weight=weight)
        assert_allclose(by_class.predict_proba(graphs), by_graph.predict_proba(graphs), rtol=1e-4)
    doubled = LoFIClassifier(**FULL_BATCH, class_weight="balanced").fit(
        graphs, y, sample_weight=1 + (np.arange(40) < 10)
    )
    copies = np.r_[:40, :10]
    copied = LoFIClassifier(**FULL_BATCH, class_weight="balanced").fit(
        [graphs[i] for i in copies], y[copies]
    )
    assert_allclose(doubled.predict_proba(graphs), copied.predict_proba(graphs), rtol=1e-2)
    plain = LoFIClassifier(**FULL_BATCH).fit(graphs, y)
    heavy = LoFIClassifier(**FULL_BATCH, class_weight={"yes": 9}).fit(graphs, y)
    assert heavy.predict_proba(graphs)[:, 1].mean() > plain.predict_proba(graphs)[:, 1].mean()


def test_class_weights_belong_to_the_training_classes(larger_motifs):
    graphs, y = larger_motifs
    ones = [graph for graph, label in zip(graphs, y, strict=True) if label == 1]
    classifier = LoFIClassifier(**QUICK, class_weight={0: 2})
    classifier.fit(graphs, y, X_val=ones, y_val=[1] * len(ones))
    classifier.partial_fit(ones, [1] * len(ones))
    for bad in ({0: -1, 1: 1}, {0: np.nan}, {0: 0, 1: 0}):
        with pytest.raises(ValueError, match="class_weight has to be finite"):
            LoFIClassifier(**QUICK, class_weight=bad).fit(graphs, y)
    with pytest.raises(ValueError, match=r"names the classes \['one'\].* lacks \[1\]"):
        LoFIClassifier(**QUICK, class_weight={0: 1, "one": 2}).fit(graphs, y)


def test_balanced_weights_are_those_of_the_training_graphs(larger_motifs):
    """Whatever classes the graphs for early stopping have."""
    graphs, y = larger_motifs
    rows = np.r_[np.flatnonzero(y == 0)[:20], np.flatnonzero(y == 1)[:5]]
    some, classes = [graphs[i] for i in rows], y[rows]
    ones = [graphs[i] for i in np.flatnonzero(y == 1)]
    for table, expected in [
        (classes, {0: 25 / 40, 1: 25 / 10}),
        (np.column_stack([classes, classes]), [{0: 25 / 40, 1: 25 / 10}] * 2),
    ]:
        y_val = np.ones((len(ones), *table.shape[1:]))
        balanced, given = (
            LoFIClassifier(**QUICK, class_weight=class_weight, warm_start=True)
            for class_weight in ("balanced", expected)
        )
        for _ in range(2):
            balanced.fit(some, table, X_val=ones, y_val=y_val)
            given.fit(some, table, X_val=ones, y_val=y_val)
        assert_allclose(balanced.history_[:, "valid_loss"], given.history_[:, "valid_loss"])
        assert_array_equal(balanced.predict_proba(graphs), given.predict_proba(graphs))


def test_class_weights_may_change_in_a_warm_start(larger_motifs):
    """They weigh graphs, as sample_weight does."""
    graphs, y = larger_motifs
    by_class, by_graph = (LoFIClassifier(**QUICK, warm_start=True).fit(graphs, y) for _ in range(2))
    by_class.set_params(class_weight={0: 5.0}).partial_fit(graphs, y)
    by_graph.partial_fit(graphs, y, sample_weight=np.where(y == 0, 5.0, 1.0))
    assert_array_equal(by_class.predict_proba(graphs), by_graph.predict_proba(graphs))
    only = np.flatnonzero(y == 0)
    with pytest.raises(ValueError, match=r'"balanced" needs graphs of all classes, .* \[1\]'):
        by_class.set_params(class_weight="balanced").fit([graphs[i] for i in only], y[only])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_log_odds(larger_motifs, n_classes):
    graphs, _ = larger_motifs
    classifier = LoFIClassifier(**QUICK).fit(graphs, np.arange(len(graphs)) % n_classes)
    logarithms = np.log(classifier.predict_proba(graphs))
    expected = logarithms[:, 1] - logarithms[:, 0] if n_classes == 2 else logarithms
    assert_allclose(classifier.decision_function(graphs), expected, rtol=1e-10, atol=1e-12)
    assert_array_equal(classifier.predict(graphs), logarithms.argmax(axis=1))


def test_partial_fit_takes_classes_in_parts(larger_motifs):
    graphs, y = larger_motifs
    classifier = LoFIClassifier(**QUICK)
    only_zeros = [graph for graph, label in zip(graphs, y, strict=True) if label == 0]
    classifier.partial_fit(only_zeros, [0] * len(only_zeros), classes=[0, 1, 2])
    assert classifier.predict_proba(graphs).shape == (60, 3)
    classifier.partial_fit(graphs, y)
    with pytest.raises(ValueError, match="not the same as in the first call"):
        classifier.partial_fit(graphs, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes \[5\], which are not among"):
        classifier.partial_fit(graphs, np.where(y == 1, 5, 0))
    with pytest.raises(ValueError, match="needs all of y at once"):
        LoFIClassifier(n_members=1, counts=False, class_weight="balanced").partial_fit(graphs, y)


# Numbers


def test_regressor_partial_fit(paths):
    graphs, y = paths
    regressor = LoFIRegressor(**QUICK)
    for _ in range(20):
        regressor.partial_fit(graphs, y)
    assert regressor.score(graphs, y) > 0.8


def test_the_scale_of_the_target_does_not_matter(paths):
    graphs, y = paths
    for scale, shift in [(1e-12, 0.0), (1e12, -5e12), (1000.0, 1e9)]:
        plain = LoFIRegressor(**QUICK).fit(graphs, y)
        scaled = LoFIRegressor(**QUICK).fit(graphs, scale * y + shift)
        expected = scale * plain.predict(graphs) + shift
        assert_allclose(scaled.predict(graphs), expected, rtol=1e-3, atol=1e-3 * scale)


def test_targets_whose_differences_are_beyond_64_bits():
    y = [-1e308, 1.7e308, -1e308, -1e308, 1.7e308, 1e308]
    graphs = [nx.path_graph(2 + i) for i in range(6)]
    fitted = LoFIRegressor(**QUICK, early_stopping=False).fit(graphs, y)
    assert np.isfinite(fitted.predict(graphs)).all()


def test_targets_of_several_columns(paths):
    graphs, y = paths
    Y = np.column_stack([y, -1000 * y, np.ones_like(y)])
    regressor = LoFIRegressor(**{**QUICK, "max_epochs": 100}).fit(graphs, Y)
    predicted = regressor.predict(graphs)
    assert predicted.shape == Y.shape
    assert np.corrcoef(predicted[:, 1], Y[:, 1])[0, 1] > 0.95
    assert_allclose(predicted[:, 2], 1, atol=0.2)
    assert LoFIRegressor(**QUICK).fit(graphs, Y[:, :1]).predict(graphs).shape == (42, 1)
    with pytest.raises(ValueError, match="y has the shape"):
        regressor.partial_fit(graphs, y)
    with pytest.raises(ValueError, match=r"shape \('n_graphs',\).*\('n_graphs', 3\)"):
        LoFIRegressor(**QUICK).fit(graphs, Y, X_val=graphs[:5], y_val=y[:5])


def test_errors_about_shapes_do_not_count_the_rows_that_are_left_out(paths):
    graphs, y = paths
    wide = np.column_stack([y, y, y])[:5]
    wide[:2] = np.nan
    with pytest.raises(ValueError, match=r"y has the shape \('n_graphs', 3\).*\('n_graphs', 2\)"):
        LoFIRegressor(**QUICK).fit(graphs, np.column_stack([y, y]), X_val=graphs[:5], y_val=wide)


def test_losses_have_their_minimizers():
    """On equal graphs the best constant is the median or the mean of the target."""
    graphs = [nx.path_graph(3)] * 50
    y = np.array([0.0] * 40 + [10.0] * 10)
    options = {**FULL_BATCH, "max_epochs": 300}
    median = LoFIRegressor(**options, loss="absolute_error").fit(graphs, y).predict(graphs)
    mean = LoFIRegressor(**options, loss="squared_error").fit(graphs, y).predict(graphs)
    assert median[0] == pytest.approx(0, abs=0.3)
    assert mean[0] == pytest.approx(2, abs=0.3)


def test_unknown_losses_are_refused(paths):
    with pytest.raises(ValueError, match="The 'loss' parameter of LoFIRegressor must be"):
        LoFIRegressor(**QUICK, loss="hinge").fit(*paths)


# How far networks are apart


@pytest.fixture(scope="module", params=[1, 2], ids=["one target", "two targets"])
def ensemble(request, paths):
    graphs, y = paths
    y = y if request.param == 1 else np.column_stack([y, 100 - 10 * y])
    options = {**QUICK, "max_epochs": 3, "n_members": 3, "counts": True}
    regressor = LoFIRegressor(**options).fit(graphs, y)
    regressor.counts_share_ = 0.25  # counts alone have no spread, and are best on paths
    return regressor


@pytest.mark.filterwarnings("ignore:The counts make the whole prediction")
def test_the_spread_is_that_of_the_networks_with_their_share_of_counts(ensemble, paths):
    graphs, _ = paths
    y, std = ensemble.predict(graphs, return_std=True)
    assert_array_equal(y, ensemble.predict(graphs))
    ensemble_of_counts = copy.copy(ensemble)
    ensemble_of_counts.counts_share_ = 1.0
    of_counts = ensemble_of_counts.predict(graphs)
    for share in (0.0, 0.25, 1.0):
        other = copy.copy(ensemble)
        other.counts_share_ = share
        blended = [
            (1 - share) * member.predict(graphs) + share * of_counts for member in other.members_
        ]
        y, std = other.predict(graphs, return_std=True)
        assert std.shape == y.shape
        assert_allclose(y, np.mean(blended, axis=0), rtol=1e-5)
        assert_allclose(std, np.std(blended, axis=0), atol=1e-4)
        assert (std > 0).any() == (share < 1)


def test_a_spread_that_says_nothing_comes_with_a_warning(ensemble, paths):
    other = copy.copy(ensemble)
    other.counts_share_ = 1.0
    with pytest.warns(UserWarning, match="deviation is 0, and says nothing of errors") as caught:
        _, std = other.predict(paths[0], return_std=True)
    assert caught[0].filename == __file__
    assert not std.any()


def test_the_spread_passes_through_files_and_pipelines(ensemble, paths, tmp_path):
    graphs, _ = paths
    expected = ensemble.predict(graphs, return_std=True)
    ensemble.save(tmp_path / "model.safetensors")
    loaded = LoFIRegressor.load(tmp_path / "model.safetensors")
    pipeline = Pipeline([("nothing", "passthrough"), ("lofi", ensemble)])
    for estimator in (loaded, pickle.loads(pickle.dumps(ensemble)), pipeline):
        for array, other in zip(estimator.predict(graphs, return_std=True), expected, strict=True):
            assert_array_equal(array, other)


def test_the_spread_has_the_unit_of_the_target(paths):
    graphs, y = paths
    options = {**QUICK, "max_epochs": 1, "n_members": 2}
    _, std = LoFIRegressor(**options).fit(graphs, y).predict(graphs, return_std=True)
    _, larger = LoFIRegressor(**options).fit(graphs, 1e200 * y).predict(graphs, return_std=True)
    assert_allclose(larger, 1e200 * std, rtol=1e-4)


def test_a_single_network_has_no_spread(paths):
    regressor = LoFIRegressor(**{**QUICK, "max_epochs": 1}).fit(*paths)
    with pytest.raises(ValueError, match=r"LoFIRegressor has a single network.* n_members=5"):
        regressor.predict(paths[0], return_std=True)
