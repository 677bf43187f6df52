"""Several networks that answer together, and counts beside them."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.metrics import log_loss

import sklofi
from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.baselines import DeepMultisetsClassifier, GINClassifier
from sklofi.datasets import load_graph_atlas, make_motif_graphs
from sklofi.inspection import edge_attribution, mask_evidence, node_attribution, read_mask
from sklofi.training._split import cross_parts

QUICK = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 4,
    "n_words": 4,
    "max_epochs": 4,
    "random_state": 0,
}
ENSEMBLE = {**QUICK, "n_members": 3, "counts": True}


@pytest.fixture(scope="module")
def motifs():
    graphs, y = make_motif_graphs(60, random_state=0)
    return GraphSet.from_networkx(graphs), np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def classifier(motifs):
    return LoFIClassifier(**ENSEMBLE).fit(*motifs)


@pytest.fixture(scope="module")
def regressor():
    graphs, y = load_graph_atlas(target="spectral_radius")
    return LoFIRegressor(**ENSEMBLE).fit(graphs[:100], y[:100]), graphs[:30], y[:30]


def log_odds(estimator, X):
    probabilities = estimator.predict_proba(X)
    return np.log(probabilities[:, 1] / probabilities[:, 0])


def test_outputs_are_the_mean_of_members_and_the_share_of_counts(classifier, motifs):
    graphs, _ = motifs
    members = [log_odds(member, graphs) for member in classifier.members_]
    assert len(members) == 3
    counts = classifier.counts_.outputs(graphs)
    share = classifier.counts_share_
    expected = (1 - share) * np.mean(members, axis=0) + share * (counts[:, 1] - counts[:, 0])
    np.testing.assert_allclose(log_odds(classifier, graphs), expected, atol=1e-5)


def test_regression_is_the_mean_of_members_and_the_share_of_counts(regressor):
    estimator, graphs, _ = regressor
    members = [member.predict(graphs) for member in estimator.members_]
    counts = estimator.counts_.outputs(GraphSet.from_networkx(graphs))[:, 0]
    counts = estimator._target_mean + estimator._target_scale * counts
    share = estimator.counts_share_
    expected = (1 - share) * np.mean(members, axis=0) + share * counts
    np.testing.assert_allclose(estimator.predict(graphs), expected, rtol=1e-5)


def test_members_are_single_networks_on_parts_of_the_graphs(classifier, motifs):
    graphs, y = motifs
    parts = cross_parts(y, 0.1, 3, classifier._seed)
    for member, part in zip(classifier.members_, parts, strict=True):
        rest = np.setdiff1d(np.arange(len(y)), part)
        alone = LoFIClassifier(**{**QUICK, "random_state": member.random_state})
        # What nodes are is learned from all graphs; here both parts have all labels.
        alone.fit(graphs[rest], y[rest], X_val=graphs[part], y_val=y[part])
        np.testing.assert_array_equal(member.predict_proba(graphs), alone.predict_proba(graphs))
        assert member.members_ == [member]
        assert member.counts_ is None


def test_the_share_has_the_least_loss_on_graphs_that_were_left_out(classifier, motifs):
    _, y = motifs
    losses = classifier.oof_losses_
    assert losses["together"] <= min(losses["networks"], losses["counts"])
    predicted = ~np.isnan(classifier.oof_prediction_).any(axis=1)
    parts = cross_parts(y, 0.1, 3, classifier._seed)
    assert np.flatnonzero(predicted).tolist() == np.sort(np.concatenate(parts)).tolist()
    loss = log_loss(y[predicted], classifier.oof_prediction_[predicted])
    assert loss == pytest.approx(losses["together"], rel=1e-5)


def test_every_graph_is_predicted_by_a_network_that_has_not_seen_it(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**{**QUICK, "max_epochs": 1, "n_members": 10}).fit(graphs, y)
    assert classifier.oof_prediction_.shape == (60, 2)
    np.testing.assert_allclose(classifier.oof_prediction_.sum(axis=1), 1)
    assert classifier.counts_ is None and classifier.counts_share_ == 0


def test_held_out_outputs_are_of_one_epoch(motifs):
    """Not of the epochs at which networks were stopped by just these graphs."""
    graphs, y = motifs
    classifier = LoFIClassifier(**{**QUICK, "max_epochs": 12, "lr": 0.05, "n_members": 4})
    classifier.fit(graphs, y)
    curves = [member.history_[:, "valid_loss"] for member in classifier.members_]
    n_epochs = max(map(len, curves))
    padded = np.array([np.pad(curve, (0, n_epochs - len(curve)), mode="edge") for curve in curves])
    weight = [len(part) for part in cross_parts(y, 0.1, 4, classifier._seed)]
    common = np.average(padded, axis=0, weights=weight).min()
    assert classifier.oof_losses_["networks"] == pytest.approx(common, rel=1e-4)
    assert common > np.average(padded.min(axis=1), weights=weight)
    assert "valid_outputs" not in classifier.history_[-1]


def test_given_validation_graphs_take_the_place_of_parts(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**ENSEMBLE)
    classifier.fit(graphs[:40], y[:40], X_val=graphs[40:], y_val=y[40:])
    assert classifier.oof_prediction_.shape == (20, 2)
    assert not np.isnan(classifier.oof_prediction_).any()
    for member in classifier.members_:
        alone = LoFIClassifier(**{**QUICK, "random_state": member.random_state})
        alone.fit(graphs[:40], y[:40], X_val=graphs[40:], y_val=y[40:])
        np.testing.assert_array_equal(member.predict_proba(graphs), alone.predict_proba(graphs))


@pytest.mark.parametrize("is_table", [False, True])
@pytest.mark.parametrize("size", [{}, {"n_members": 1, "counts": False}])
def test_validation_graphs_of_no_weight_are_refused(motifs, size, is_table):
    """Their loss is zero from the first epoch on, which would then be the best."""
    graphs, y = motifs
    is_second, class_weight = y == np.unique(y)[1], {np.unique(y)[0]: 0}
    if is_table:
        y = np.column_stack([is_second, ~is_second])
        class_weight = [{0: 0, 1: 1}, {0: 1, 1: 0}]
    classifier = LoFIClassifier(**{**ENSEMBLE, **size}, class_weight=class_weight)
    some = np.flatnonzero(~is_second)[:5]
    with pytest.raises(
        ValueError, match=r"All graphs of X_val are of classes whose weight is zero"
    ):
        classifier.fit(graphs, y, X_val=graphs[some], y_val=y[some])


@pytest.mark.parallel
def test_members_in_other_processes_are_the_same(classifier, motifs):
    graphs, y = motifs
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        other = LoFIClassifier(**ENSEMBLE, n_jobs=2).fit(graphs, y)
    np.testing.assert_allclose(
        other.predict_proba(graphs), classifier.predict_proba(graphs), atol=1e-5
    )
    assert other.members_[1]._encoder is other._encoder
    assert other.net_ is other.members_[0].net_


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_predict_the_same(classifier, motifs, duplicate):
    other = duplicate(classifier)
    expected = classifier.predict_proba(motifs[0])
    np.testing.assert_array_equal(other.predict_proba(motifs[0]), expected)
    assert other.net_ is other.members_[0].net_
    assert other.members_[2]._encoder is other._encoder


def test_files_hold_all_members_and_counts(classifier, regressor, motifs, tmp_path):
    classifier.save(tmp_path / "classifier.safetensors")
    loaded = sklofi.load(tmp_path / "classifier.safetensors")
    expected = classifier.predict_proba(motifs[0])
    np.testing.assert_array_equal(loaded.predict_proba(motifs[0]), expected)
    assert len(loaded.members_) == 3
    assert loaded.oof_losses_ == classifier.oof_losses_
    np.testing.assert_array_equal(loaded.oof_prediction_, classifier.oof_prediction_)
    for member, other in zip(loaded.members_, classifier.members_, strict=True):
        expected = other.predict_proba(motifs[0])
        np.testing.assert_array_equal(member.predict_proba(motifs[0]), expected)
        assert member.random_state == other.random_state
    estimator, graphs, _ = regressor
    estimator.save(tmp_path / "regressor.safetensors")
    loaded = sklofi.load(tmp_path / "regressor.safetensors")
    np.testing.assert_array_equal(loaded.predict(graphs), estimator.predict(graphs))


def test_a_loaded_ensemble_is_trained_further(classifier, motifs, tmp_path):
    classifier.save(tmp_path / "model.safetensors")
    loaded = sklofi.load(tmp_path / "model.safetensors").set_params(warm_start=True)
    loaded.fit(*motifs)
    assert [member.n_epochs_ for member in loaded.members_] == [8, 8, 8]
    loaded.partial_fit(*motifs)
    assert [member.n_epochs_ for member in loaded.members_] == [9, 9, 9]
    assert loaded.n_epochs_ == 9
    loaded.members_[1].partial_fit(*motifs)
    assert [member.n_epochs_ for member in loaded.members_] == [9, 10, 9]


def test_a_changed_number_of_members_is_not_trained_further(motifs):
    classifier = LoFIClassifier(**ENSEMBLE, warm_start=True).fit(*motifs)
    with pytest.raises(ValueError, match="n_members from 3 to 2"):
        classifier.set_params(n_members=2).fit(*motifs)
    with pytest.raises(ValueError, match="counts from True to False"):
        classifier.set_params(n_members=3, counts=False).partial_fit(*motifs)


def test_a_new_fit_forgets_members(motifs):
    classifier = LoFIClassifier(**ENSEMBLE).fit(*motifs)
    classifier.set_params(n_members=1, counts=False).fit(*motifs)
    single = LoFIClassifier(**QUICK).fit(*motifs)
    np.testing.assert_array_equal(
        classifier.predict_proba(motifs[0]), single.predict_proba(motifs[0])
    )
    assert classifier.members_ == [classifier]
    assert classifier.counts_ is None and classifier.oof_losses_ is None


def test_a_failing_warm_start_leaves_the_ensemble_as_it_was(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**ENSEMBLE, warm_start=True).fit(graphs, y)
    expected = classifier.predict_proba(graphs)
    strange = graphs[0].copy()
    strange.add_node("new", label="Xe")
    with pytest.raises(ValueError, match="Xe"):
        classifier.set_params(handle_unknown="error").fit([strange, graphs[1]] * 9, y[:18])
    np.testing.assert_array_equal(classifier.predict_proba(graphs), expected)
    assert len(classifier.members_) == 3
    assert not any("_title" in vars(member) for member in classifier.members_)


def test_a_warm_start_may_lack_a_class(motifs):
    graphs, y = motifs
    three = np.where(np.arange(len(y)) % 3 == 0, "maybe", y)
    classifier = LoFIClassifier(**ENSEMBLE, warm_start=True).fit(graphs, three)
    classifier.fit(graphs, y)
    assert classifier.predict_proba(graphs).shape == (60, 3)
    assert classifier.counts_.coefficients.shape[1] == 3


def test_losses_are_those_of_the_predictions(motifs):
    """Also if a graph is left out by several networks, whose mean counts."""
    graphs, y = motifs
    few = {"n_members": 5, "validation_fraction": 0.5}
    classifier = LoFIClassifier(**{**ENSEMBLE, **few}).fit(graphs, y)
    loss = log_loss(y, classifier.oof_prediction_)
    assert loss == pytest.approx(classifier.oof_losses_["together"], rel=1e-5)
    classifier.fit(graphs[:40], y[:40], X_val=graphs[40:], y_val=y[40:])
    loss = log_loss(y[40:], classifier.oof_prediction_)
    assert loss == pytest.approx(classifier.oof_losses_["together"], rel=1e-5)


def test_without_early_stopping_the_last_epoch_counts(motifs):
    graphs, y = motifs
    parameters = {**QUICK, "max_epochs": 12, "lr": 0.05, "early_stopping": False, "n_members": 4}
    classifier = LoFIClassifier(**parameters).fit(graphs, y)
    parts = cross_parts(y, 0.1, 4, classifier._seed)
    for member, part in zip(classifier.members_, parts, strict=True):
        expected = member.predict_proba(graphs[part])
        np.testing.assert_allclose(classifier.oof_prediction_[part], expected, atol=1e-5)


def test_partial_fit_trains_all_members(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**{**ENSEMBLE, "counts": False})
    for _ in range(2):
        classifier.partial_fit(graphs, y)
    assert [member.n_epochs_ for member in classifier.members_] == [2, 2, 2]
    members = [log_odds(member, graphs) for member in classifier.members_]
    np.testing.assert_allclose(log_odds(classifier, graphs), np.mean(members, axis=0), atol=1e-5)
    # Where the number of graphs is not known, and counts cannot be taken part by part.
    single = LoFIClassifier(**{**ENSEMBLE, "n_members": "auto"}).partial_fit(graphs, y)
    assert single.members_ == [single]
    assert single.counts_ is None
    single.set_params(warm_start=True).fit(graphs, y)
    assert single.members_ == [single]
    assert single.n_epochs_ == 1 + QUICK["max_epochs"]


def test_a_member_is_an_estimator_like_others(motifs):
    graphs, y = motifs
    member = LoFIClassifier(**ENSEMBLE).fit(graphs, y).members_[1]
    alone = LoFIClassifier(**{**QUICK, "random_state": member.random_state}).fit(graphs, y)
    assert member.get_params() == alone.get_params()
    member.fit(graphs, y)
    np.testing.assert_array_equal(member.predict_proba(graphs), alone.predict_proba(graphs))
    assert "valid_outputs" not in member.history_[-1]


def test_checkpoints_of_members(classifier, motifs, tmp_path):
    expected = classifier.predict_proba(motifs[0])
    for path in (tmp_path, tmp_path / "state.safetensors"):
        for _ in range(2):  # the second takes all from the files
            other = LoFIClassifier(**ENSEMBLE).fit(*motifs, checkpoint=path)
            np.testing.assert_array_equal(other.predict_proba(motifs[0]), expected)
            assert other.oof_losses_ == pytest.approx(classifier.oof_losses_)
    assert sorted(file.name for file in tmp_path.glob("state*")) == [
        f"state-{number}.safetensors" for number in range(3)
    ]
    with pytest.raises(ValueError, match="only if random_state is set"):
        LoFIClassifier(**{**ENSEMBLE, "random_state": None}).fit(*motifs, checkpoint=tmp_path)


def test_vectors_of_members_stand_side_by_side(classifier, motifs):
    vectors = classifier.transform(motifs[0])
    assert vectors.shape == (60, 3 * 2 * 4)
    np.testing.assert_array_equal(vectors[:, 8:16], classifier.members_[1].transform(motifs[0]))
    assert classifier.get_feature_names_out()[8] == "member1_layer0_mask0"


@pytest.mark.parametrize("target", [None, "no"])
def test_attributions_sum_to_what_is_explained(classifier, motifs, target):
    graphs, _ = motifs
    result = node_attribution(classifier, graphs[:5], target=target)
    sums = [values.sum() for values in result.attributions]
    np.testing.assert_allclose(
        sums, result.outputs - result.baselines - result.residuals, atol=1e-5
    )
    sign = np.where(result.targets == "yes", 1, -1)
    np.testing.assert_allclose(result.outputs, sign * log_odds(classifier, graphs[:5]), atol=1e-4)
    if target is None:
        assert result.targets.tolist() == classifier.predict(graphs[:5]).tolist()


def test_attributions_of_numbers_sum_to_them(regressor):
    estimator, graphs, _ = regressor
    result = node_attribution(estimator, graphs[10:14])
    np.testing.assert_allclose(result.outputs, estimator.predict(graphs[10:14]), rtol=1e-4)
    sums = [values.sum() for values in result.attributions]
    np.testing.assert_allclose(
        sums, result.outputs - result.baselines - result.residuals, atol=1e-4
    )


def test_edges_explain_the_networks(classifier, motifs):
    graphs, _ = motifs
    classifier = copy.copy(classifier)
    classifier.counts_share_ = 0.25
    result = edge_attribution(classifier, graphs[:2], target="yes")
    members = [edge_attribution(m, graphs[:2], target="yes") for m in classifier.members_]
    expected = np.mean([member.attributions[1] for member in members], axis=0)
    expected *= 1 - classifier.counts_share_
    assert expected.any()
    np.testing.assert_allclose(result.attributions[1], expected, atol=1e-6)


def test_masks_are_those_of_the_first_member(classifier, motifs):
    graphs, _ = motifs
    first = classifier.members_[0]
    similarities = read_mask(classifier, 0, 1).similarities
    np.testing.assert_array_equal(similarities, read_mask(first, 0, 1).similarities)
    evidence = mask_evidence(classifier, graphs[:2], target="yes")
    expected = mask_evidence(first, graphs[:2], target="yes")
    np.testing.assert_array_equal(evidence.attributions[0], expected.attributions[0])


@pytest.mark.parametrize("decades", [60, 600])
@pytest.mark.parametrize("kind", [LoFIClassifier, LoFIRegressor])
def test_weights_may_be_wildly_mixed(motifs, kind, decades):
    graphs, y = motifs
    weight = 10.0 ** np.random.default_rng(0).uniform(-decades / 2, decades / 2, size=len(y))
    ensemble = kind(**ENSEMBLE).fit(graphs, y == "yes", weight)
    assert np.isfinite(ensemble.counts_.outputs(graphs)).all()
    assert np.isfinite(ensemble.predict(graphs)).all()


def test_weights_of_two_are_two_copies_for_counts(motifs):
    """With given validation graphs, so that both fits leave out the same."""
    graphs, y = motifs
    data = {"X_val": graphs[40:], "y_val": y[40:]}
    twice = np.repeat(np.arange(20), 2)
    weighted = LoFIClassifier(**ENSEMBLE).fit(graphs[:20], y[:20], np.full(20, 2.0), **data)
    copied = LoFIClassifier(**ENSEMBLE).fit(graphs[twice], y[twice], **data)
    np.testing.assert_allclose(
        weighted.counts_.outputs(graphs), copied.counts_.outputs(graphs), atol=1e-3
    )


def test_peers_can_be_ensembles(motifs, tmp_path):
    graphs, y = motifs
    for kind in (DeepMultisetsClassifier, GINClassifier):
        peer = kind(n_members=2, counts=True, max_epochs=2, random_state=0).fit(graphs, y)
        assert len(peer.members_) == 2
        peer.save(tmp_path / "peer.safetensors")
        loaded = sklofi.load(tmp_path / "peer.safetensors")
        np.testing.assert_array_equal(loaded.predict_proba(graphs), peer.predict_proba(graphs))


@pytest.mark.parametrize(("n_graphs", "n_members"), [(100, 10), (1000, 6), (4000, 3), (6001, 1)])
def test_fewer_members_for_more_graphs(n_graphs, n_members):
    assert LoFIClassifier(n_members="auto")._n_members(n_graphs) == n_members


def test_sets_of_a_few_graphs(motifs):
    graphs, y = motifs
    few = np.array([np.flatnonzero(y == "yes")[0], *np.flatnonzero(y == "no")[:3]])
    classifier = LoFIClassifier(**{**ENSEMBLE, "n_members": "auto"}).fit(graphs[few], y[few])
    assert np.isnan(classifier.oof_prediction_).any(axis=1).tolist() == [True] + [False] * 3
    one_each = few[:2]
    classifier.fit(graphs[one_each], y[one_each])  # nothing can be left out
    assert classifier.oof_losses_ is None and classifier.counts_ is None
    assert np.isfinite(classifier.predict_proba(graphs)).all()


def test_no_warnings_but_those_of_one_network(motifs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LoFIClassifier(**ENSEMBLE).fit(*motifs).predict(motifs[0])
    assert [str(one.message) for one in caught] == []


def test_parts_are_disjoint_and_keep_all_strata():
    strata = np.array(["a"] * 23 + ["b"] * 5 + ["c"] * 2 + ["d"])
    parts = cross_parts(strata, 0.25, 4, seed=0)
    assert np.sort(np.concatenate(parts)).tolist() == list(range(30))  # but for the only d
    for part in parts:
        assert set(np.delete(strata, part)) == {"a", "b", "c", "d"}
        assert 7 <= len(part) <= 8
    more = cross_parts(strata, 0.25, 6, seed=0)
    assert len(more) == 6
    assert more[4].tolist() != parts[0].tolist()
    np.testing.assert_array_equal(more[3], parts[3])
