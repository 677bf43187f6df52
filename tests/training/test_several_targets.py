"""Networks that learn several labels or numbers at once, some of which nobody knows."""

import pickle

import numpy as np
import pytest
import sklearn.metrics
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import get_tags
from training_helpers import FULL_BATCH, QUICK

from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi._multilabel import strata_of_labels
from sklofi.baselines import DeepMultisetsClassifier, DeepMultisetsRegressor
from sklofi.datasets import make_motif_graphs
from sklofi.inspection import AttributionDisplay, mask_importance, node_attribution
from sklofi.training._split import cross_parts

NAN = float("nan")
TINY = {**QUICK, "n_masks": 4, "max_epochs": 3}
ENSEMBLE = {**TINY, "n_members": 2, "counts": True}


@pytest.fixture(scope="module")
def motifs():
    """Graphs, and a table of three labels with holes; of one graph nothing is known."""
    graphs, y = make_motif_graphs(40, random_state=0)
    table = np.column_stack([y, np.arange(40) % 3 == 0, 1 - y]).astype(float)
    table[np.random.default_rng(0).random(table.shape) < 0.3] = NAN
    table[7] = NAN
    return GraphSet.from_networkx(graphs), table


@pytest.fixture(scope="module")
def classifier(motifs):
    return LoFIClassifier(**ENSEMBLE).fit(*motifs)


def weights(estimator):
    return torch.cat([w.flatten() for w in estimator.net_.module_.state_dict().values()]).numpy()


def loss_of(probabilities, y, weight=None):
    """Mean cross-entropy over what is known."""
    known = ~np.isnan(y)
    losses = -np.log(np.where(y == 1, probabilities, 1 - probabilities)[known])
    return np.average(losses, weights=None if weight is None else weight[known])


# One target, by the way of several


class OneLabel(LoFIClassifier):
    """Takes two classes as a table of a single label."""

    def _check_target(self, y, weight, *, reset):
        return super()._check_target(y[:, None].astype(np.int8), weight, reset=reset)


@pytest.mark.parametrize("options", [QUICK, ENSEMBLE], ids=["network", "ensemble"])
def test_one_label_is_two_classes_to_the_last_bit(motifs, options):
    graphs, _ = motifs
    _, y = make_motif_graphs(40, random_state=0)
    one, two = OneLabel(**options).fit(graphs, y), LoFIClassifier(**options).fit(graphs, y)
    assert one._n_labels == 1
    assert_array_equal(weights(one), weights(two))
    assert_array_equal(one.predict_proba(graphs)[:, 0], two.predict_proba(graphs)[:, 1])
    assert_array_equal(one.predict(graphs)[:, 0], two.predict(graphs))
    assert one.history_[:, "valid_loss"] == two.history_[:, "valid_loss"]
    assert one.counts_share_ == two.counts_share_
    assert one.oof_losses_ == two.oof_losses_
    if one.oof_prediction_ is not None:
        assert_array_equal(one.oof_prediction_[:, 0], two.oof_prediction_[:, 1])


@pytest.mark.parametrize("options", [QUICK, ENSEMBLE], ids=["network", "ensemble"])
def test_a_table_of_one_number_is_a_number_to_the_last_bit(motifs, options):
    graphs, _ = motifs
    y = np.diff(graphs.node_offsets).astype(float)
    table, plain = (LoFIRegressor(**options).fit(graphs, y_) for y_ in (y[:, None], y))
    assert_array_equal(weights(table), weights(plain))
    assert_array_equal(table.predict(graphs)[:, 0], plain.predict(graphs))


# What is not known


def test_half_of_what_is_known_twice_is_all_of_it_once(motifs):
    graphs, _ = motifs
    _, y = make_motif_graphs(40, random_state=0)
    table = np.column_stack([y, np.arange(40) % 3 == 0]).astype(float)
    halves = np.repeat(table, 2, axis=0)
    halves[::2, 0] = halves[1::2, 1] = NAN
    twice = np.repeat(np.arange(40), 2)
    for options in ({}, {"class_weight": "balanced"}, {"class_weight": {1: 4.0}}):
        whole = LoFIClassifier(**FULL_BATCH, **options).fit(graphs, table)
        parts = LoFIClassifier(**FULL_BATCH, **options).fit(graphs[twice], halves)
        expected = whole.predict_proba(graphs)
        assert_allclose(parts.predict_proba(graphs), expected, rtol=1e-2)
    numbers, halves = 5 + 3 * table, 5 + 3 * halves
    whole = LoFIRegressor(**FULL_BATCH).fit(graphs, numbers)
    parts = LoFIRegressor(**FULL_BATCH).fit(graphs[twice], halves)
    assert_allclose(parts.predict(graphs), whole.predict(graphs), rtol=1e-2)


def test_losses_and_scores_are_means_over_what_is_known(motifs):
    graphs, y = motifs
    y_val = y[20:].copy()
    y_val[:, 1] = NAN  # a column of which nothing is known there
    by_class = np.array([[1.0, 3.0], [1.0, 1.0], [2.0, 1.0]])  # of each label
    of_all, of_classes = np.ones_like(y_val), np.where(y_val == 1, by_class[:, 1], by_class[:, 0])
    for class_weight, weight in ((None, of_all), ([{1: 3.0}, {}, {0: 2.0}], of_classes)):
        fitted = LoFIClassifier(**{**TINY, "max_epochs": 1}, class_weight=class_weight).fit(
            graphs[:20], y[:20], X_val=graphs[20:], y_val=y_val
        )
        expected = loss_of(fitted.predict_proba(graphs[20:]), y_val, weight)
        assert fitted.history_[-1, "valid_loss"] == pytest.approx(expected, rel=1e-5)
        known = ~np.isnan(y_val)
        is_right = (fitted.predict(graphs[20:]) == y_val)[known]
        accuracy = np.average(is_right, weights=weight[known])
        assert fitted.history_[-1, "valid_score"] == pytest.approx(accuracy, rel=1e-5)


def test_numbers_that_are_not_known_are_left_out_of_losses_and_scores(motifs):
    graphs, y = motifs
    y = 10 * y
    y_val = y[20:].copy()
    y_val[:, 2] = NAN
    fitted = LoFIRegressor(**{**TINY, "max_epochs": 1}).fit(
        graphs[:20], y[:20], X_val=graphs[20:], y_val=y_val
    )
    assert_allclose(fitted._target_mean, np.nanmean(y[:20], axis=0))
    assert_allclose(fitted._target_scale, np.nanstd(y[:20], axis=0))
    errors = np.abs(fitted.predict(graphs[20:]) - y_val) / fitted._target_scale
    assert fitted.history_[-1, "valid_loss"] == pytest.approx(np.nanmean(errors), rel=1e-5)
    rows = [np.flatnonzero(~np.isnan(column)) for column in y_val.T[:2]]
    predicted = fitted.predict(graphs[20:])
    r2 = [sklearn.metrics.r2_score(y_val[r, i], predicted[r, i]) for i, r in enumerate(rows)]
    assert fitted.score(graphs[20:], y_val) == pytest.approx(np.mean(r2))
    assert fitted.score(graphs[:5], np.ones((5, 3))) <= 1


def test_ensembles_predict_what_they_have_not_seen(classifier, motifs):
    graphs, y = motifs
    known = np.flatnonzero(~np.isnan(y).all(axis=1))
    prediction = classifier.oof_prediction_
    assert prediction.shape == (len(known), 3)
    predicted = ~np.isnan(prediction).any(axis=1)
    expected = loss_of(prediction[predicted], y[known][predicted])
    assert classifier.oof_losses_["together"] == pytest.approx(expected, rel=1e-5)
    outputs = classifier.counts_.outputs(graphs)
    assert outputs.shape == (40, 6)


def test_a_label_that_never_changes_is_learned_with_a_warning(motifs):
    graphs, y = motifs
    y = y.copy()
    y[:, 1] = np.where(np.arange(40) < 30, NAN, 1)
    with pytest.warns(UserWarning, match="Column 1 of y has one class only: .* are 1"):
        fitted = LoFIClassifier(**ENSEMBLE).fit(graphs, y)
    assert np.isfinite(fitted.predict_proba(graphs)).all()
    assert (fitted.counts_.outputs(graphs)[:, 3] > fitted.counts_.outputs(graphs)[:, 2]).all()


def test_rare_labels_are_in_all_parts():
    labels = np.zeros((40, 2), dtype=np.int8)
    labels[:10, 1] = 1
    parts = cross_parts(strata_of_labels(labels), 0.2, 5, seed=0)
    assert [int(labels[part, 1].sum()) for part in parts] == [2] * 5


# What is predicted


def test_each_label_has_one_probability(classifier, motifs):
    graphs, _ = motifs
    probabilities = classifier.predict_proba(graphs)
    assert probabilities.shape == (40, 3)
    assert_array_equal(classifier.classes_, [0, 1, 2])
    assert_array_equal(classifier.predict(graphs), probabilities > 0.5)
    assert_allclose(classifier.predict_log_proba(graphs), np.log(probabilities), rtol=1e-6)
    odds = np.log(probabilities / (1 - probabilities))
    assert_allclose(classifier.decision_function(graphs), odds, rtol=1e-6, atol=1e-9)
    assert get_tags(classifier).classifier_tags.multi_label


def test_logarithms_of_probabilities_of_classes(motifs):
    graphs, _ = motifs
    fitted = LoFIClassifier(**TINY).fit(graphs, np.arange(40) % 3)
    logarithms = fitted.predict_log_proba(graphs)
    assert_allclose(logarithms, np.log(fitted.predict_proba(graphs)), rtol=1e-10)


def test_callbacks_see_labels(motifs):
    graphs, y = motifs
    fitted = LoFIClassifier(**TINY).fit(graphs, y)
    dataset = fitted._dataset(graphs)
    assert_array_equal(fitted.net_.classes_, [0, 1, 2])
    assert_allclose(fitted.net_.predict_proba(dataset), fitted.predict_proba(graphs))
    assert_array_equal(fitted.net_.predict(dataset), fitted.predict(graphs))


def test_accuracy_needs_all_labels(classifier, motifs):
    graphs, y = motifs
    predicted = classifier.predict(graphs)
    assert classifier.score(graphs, predicted.astype(float)) == 1
    predicted[:10] = 1 - predicted[:10]
    assert classifier.score(graphs, predicted) == 0.75
    with pytest.raises(ValueError, match=r"missing labels.*multilabel_roc_auc"):
        classifier.score(graphs, y)


@pytest.mark.parametrize("way", ["pickle", "file"])
def test_saved_networks_predict_the_same_labels(classifier, motifs, tmp_path, way):
    graphs, y = motifs
    if way == "pickle":
        loaded = pickle.loads(pickle.dumps(classifier))
    else:
        classifier.save(tmp_path / "labels.safetensors")
        loaded = LoFIClassifier.load(tmp_path / "labels.safetensors")
    assert_array_equal(loaded.predict_proba(graphs), classifier.predict_proba(graphs))
    assert_array_equal(loaded.partial_fit(graphs, y).classes_, [0, 1, 2])


def test_finished_fits_are_taken_from_checkpoints(motifs, tmp_path):
    graphs, y = motifs
    path = tmp_path / "fit.safetensors"
    options = {**TINY, "class_weight": "balanced"}
    first, second = (LoFIClassifier(**options).fit(graphs, y, checkpoint=path) for _ in range(2))
    assert_array_equal(first.predict_proba(graphs), second.predict_proba(graphs))
    with pytest.raises(ValueError, match="other graphs or targets"):
        LoFIClassifier(**options).fit(graphs, np.where(np.isnan(y), 0, y), checkpoint=path)


def test_rows_that_are_no_molecule_have_no_labels():
    pytest.importorskip("rdkit")
    molecules = ["CCO", "c1ccccc1", "CC", "CCN"] * 3
    y = np.arange(24).reshape(12, 2) // 3 % 2
    fitted = LoFIClassifier(**TINY, on_invalid="nan").fit(molecules, y)
    for method in (fitted.predict_proba, fitted.decision_function, fitted.predict_log_proba):
        assert method(["CCO", "no molecule"]).shape == (2, 2)
        assert np.isnan(method(["no molecule"])).tolist() == [[True, True]]


# Weights


def test_weights_of_classes_hold_for_each_label(motifs):
    graphs, y = motifs
    counts = [[(column == c).sum() for c in (0, 1)] for column in y.T]
    balanced = [{c: sum(n) / (2 * n[c]) for c in (0, 1)} for n in counts]

    def predict(class_weight):
        fitted = LoFIClassifier(**TINY, class_weight=class_weight).fit(graphs, y)
        return fitted.predict_proba(graphs)

    assert_allclose(predict("balanced"), predict(balanced), rtol=1e-6)
    assert_array_equal(predict({1: 9.0}), predict([{1: 9.0}] * 3))
    plain, heavy = predict(None).mean(axis=0), predict([{}, {1: 50.0}, {}]).mean(axis=0)
    assert heavy[1] - plain[1] > np.abs(heavy - plain)[[0, 2]].max()
    for bad in ([{1: 2.0}], [{}, {}, "balanced"]):
        with pytest.raises(ValueError, match="class_weight has to be a list of 3 dicts"):
            predict(bad)
    with pytest.raises(ValueError, match="class_weight is a list, which is for y with a column"):
        LoFIClassifier(**TINY, class_weight=[{}, {}]).fit(graphs, np.arange(40) % 2)


def test_graphs_of_weight_zero_are_left_out(motifs):
    graphs, y = motifs
    weight = (np.arange(40) % 4 > 0).astype(float)
    kept = np.flatnonzero(weight)
    weighted = LoFIClassifier(**TINY).fit(graphs, y, sample_weight=weight)
    removed = LoFIClassifier(**TINY).fit(graphs[kept], y[kept])
    assert_array_equal(weighted.predict_proba(graphs), removed.predict_proba(graphs))


# Parts of the training graphs, and other ways to go on


@pytest.mark.parametrize(
    "estimator", [LoFIClassifier(**TINY), DeepMultisetsClassifier(max_epochs=2)]
)
def test_labels_are_learned_in_parts(estimator, motifs):
    graphs, y = motifs
    first = y[:20].copy()
    first[:, 2] = NAN
    estimator.partial_fit(graphs[:20], first).partial_fit(graphs[20:], y[20:])
    assert np.isfinite(estimator.predict_proba(graphs)).all()
    with pytest.raises(ValueError, match=r"shape \(.n_graphs., 2\).*fitted to .*\('n_graphs', 3\)"):
        estimator.partial_fit(graphs, y[:, :2])
    with pytest.raises(ValueError, match=r"shape \(.n_graphs.,\).*\('n_graphs', 3\)"):
        estimator.partial_fit(graphs, np.arange(40) % 2)
    with pytest.raises(ValueError, match="Leave out classes="):
        estimator.partial_fit(graphs, y, classes=[0, 1])


def test_numbers_are_learned_in_parts(motifs):
    graphs, y = motifs
    regressor = DeepMultisetsRegressor(max_epochs=2)
    with pytest.raises(ValueError, match="Column 1 of y has no known value"):
        regressor.partial_fit(graphs[:2], [[1, NAN], [2, NAN]])
    regressor.partial_fit(graphs, y).partial_fit(graphs[:2], [[1, NAN, 2], [2, NAN, 3]])
    assert np.isfinite(regressor.predict(graphs)).all()


def test_warm_starts_go_on_with_the_same_labels(motifs):
    graphs, y = motifs
    fitted = LoFIClassifier(**TINY, warm_start=True).fit(graphs, y)
    fitted.set_params(class_weight={1: 2.0}).fit(graphs, y, groups=np.arange(40) // 2)
    assert fitted.n_epochs_ == 6
    with pytest.raises(ValueError, match="fitted to targets of shape"):
        fitted.fit(graphs, np.arange(40) % 2)
    fitted.set_params(warm_start=False).fit(graphs, np.arange(40) % 2)
    assert fitted.predict_proba(graphs).shape == (40, 2)


# What explains them


def test_attributions_sum_to_the_log_odds_of_a_label(classifier, motifs):
    graphs, _ = motifs
    result = node_attribution(classifier, graphs[:2], target=[0, 2])
    decisions = classifier.decision_function(graphs[:2])
    assert_allclose(result.outputs, [decisions[0, 0], decisions[1, 2]], rtol=1e-4, atol=1e-5)
    sums = [values.sum() for values in result.attributions]
    assert_allclose(sums + result.residuals, result.outputs - result.baselines, atol=1e-4)
    assert result.targets.tolist() == [0, 2]
    with pytest.raises(ValueError, match="has 3 labels; say with target="):
        node_attribution(classifier, graphs[:2])
    with pytest.raises(ValueError, match="target=3 is none of the labels 0 to 2"):
        node_attribution(classifier, graphs[:2], target=3)


def test_displays_name_the_label_and_what_is_known_of_it():
    pytest.importorskip("matplotlib")
    graphs, y = make_motif_graphs(20, random_state=0)
    table = np.column_stack([y, 1 - y]).astype(float)
    fitted = LoFIClassifier(**TINY).fit(graphs, table)
    table[0] = NAN
    display = AttributionDisplay.from_estimator(fitted, graphs[:2], table[:2], target=1, tol=0.1)
    assert display.unit == "evidence for label 1 (log-odds)"
    chance = fitted.predict_proba(graphs[:1])[0, 1]
    assert display.titles[0] == f"label 1: {chance:.0%}, true unknown"
    assert display.titles[1].endswith("true yes" if table[1, 1] else "true no")


def test_importances_of_masks_are_losses_over_what_is_known(motifs):
    graphs, y = motifs
    fitted = LoFIClassifier(**TINY).fit(graphs, y)
    known = np.flatnonzero(~np.isnan(y).all(axis=1))
    result = mask_importance(fitted, graphs, y, layer=0, n_resamples=2, random_state=0)
    expected = loss_of(fitted.predict_proba(graphs[known]), y[known])
    assert result.baseline == pytest.approx(expected, rel=1e-5)
