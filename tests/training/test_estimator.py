import copy
import os
import pickle

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedGroupKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from skorch.callbacks import EarlyStopping, LRScheduler
from small_graphs import path_with
from training_helpers import FULL_BATCH, QUICK, RaisesIn

import sklofi.training._estimator
from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.datasets import make_motif_graphs

# Input of fit


def test_a_series_of_graphs_is_a_list(larger_motifs):
    graphs, y = larger_motifs
    series = pd.Series(graphs, index=range(100, 160))
    classifier = LoFIClassifier(**QUICK).fit(graphs, y)
    assert_array_equal(classifier.predict(series), classifier.predict(graphs))


@pytest.mark.parametrize(
    "change, match",
    [
        ({"y": [0, 1]}, "X has 60 graphs, but y has 2 targets"),
        ({"y": ["a"] * 60}, "only one class: 'a'"),
        ({"y": np.linspace(0, 1, 60)}, "Unknown label type"),
        ({"y": None}, "requires y to be passed"),
        ({"sample_weight": np.zeros(60)}, "All sample weights are zero"),
        ({"sample_weight": -np.ones(60)}, "[Nn]egative"),
        ({"sample_weight": np.ones(59)}, "sample_weight.shape"),
        ({"X_val": [nx.path_graph(2)]}, "given together"),
        ({"X_val": [path_with(label="C")], "y_val": [7]}, r"classes \[7\].*\[0, 1\]"),
    ],
    ids=range(9),
)
def test_bad_targets_and_weights_are_refused(larger_motifs, change, match):
    graphs, y = larger_motifs
    arguments = {"y": y, **change}
    with pytest.raises(ValueError, match=match):
        LoFIClassifier(**QUICK).fit(graphs, **arguments)


# Validation graphs


def test_the_validation_part_is_stratified(monkeypatch):
    graphs, _ = make_motif_graphs(60, random_state=0)
    y = np.array([0] * 50 + [1] * 10)
    strata = []
    original = sklofi.training._estimator.split_validation

    def spy(y, *args):
        train, validation = original(y, *args)
        strata.append(np.bincount(y[validation].astype(int)).tolist())
        return train, validation

    monkeypatch.setattr(sklofi.training._estimator, "split_validation", spy)
    for seed in range(10):
        LoFIClassifier(
            n_members=1, counts=False, max_epochs=1, validation_fraction=0.2, random_state=seed
        ).fit(graphs, y)
    np.testing.assert_allclose(strata, [[10, 2]] * 10, atol=1)


def test_given_validation_graphs_leave_all_of_x_for_training(larger_motifs):
    graphs, y = larger_motifs
    given = LoFIClassifier(**QUICK).fit(graphs, y, X_val=graphs[:7], y_val=y[:7])
    inside = LoFIClassifier(**QUICK).fit(graphs, y)
    n_train = [
        sum(batch.get("train_batch_size", 0) for batch in classifier.history_[-1]["batches"])
        for classifier in (given, inside)
    ]
    assert n_train == [60, 54]


class _EdgesToGraphs(sklearn.base.TransformerMixin, sklearn.base.BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        graphs = []
        for nodes, edges in X:
            graph = nx.Graph()
            graph.add_nodes_from((node, {"label": label}) for node, label in nodes)
            graph.add_edges_from(edges)
            graphs.append(graph)
        return graphs

    def __sklearn_is_fitted__(self):
        return True


def test_validation_graphs_pass_through_a_pipeline(larger_motifs):
    graphs, y = larger_motifs
    edges = [(list(graph.nodes(data="label")), list(graph.edges)) for graph in graphs]
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = LoFIClassifier(**QUICK, early_stopping=False)
        classifier.set_fit_request(X_val=True, y_val=True)
        pipeline = Pipeline(
            [("graphs", _EdgesToGraphs()), ("lofi", classifier)], transform_input=["X_val"]
        )
        pipeline.fit(edges, y, X_val=edges[:9], y_val=y[:9])
    assert "valid_loss" in pipeline[-1].history_[0]  # X_val is its only source


def test_labels_of_the_validation_part_are_known_too():
    graphs, y = make_motif_graphs(40, random_state=0)
    graphs[3].nodes[0]["label"] = "rare"
    for seed in range(8):
        options = {**QUICK, "max_epochs": 1, "random_state": seed}
        classifier = LoFIClassifier(**options, handle_unknown="error").fit(graphs, y)
        assert "rare" in classifier.node_labels_


def test_too_few_graphs_for_a_validation_part_still_train():
    graphs = [path_with(label="a"), path_with(label="b")]
    classifier = LoFIClassifier(**QUICK).fit(graphs, [0, 1])
    assert classifier.n_epochs_ == QUICK["max_epochs"]


# Weights of graphs


@pytest.mark.parametrize("make", [
    lambda **options: LoFIClassifier(**{**FULL_BATCH, **options}),
    lambda **options: LoFIRegressor(**{**FULL_BATCH, **options}, loss="squared_error"),
], ids=["classifier", "regressor"])  # fmt: skip
def test_weight_k_is_k_copies_in_a_full_batch(make):
    graphs, y = make_motif_graphs(12, random_state=0)
    for i, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {v: float(v * i) for v in graph}, "x")
    weight = np.arange(12) % 4
    copies = np.repeat(np.arange(12), weight)
    weighted = make(node_features="x").fit(graphs, y, sample_weight=weight)
    copied = make(node_features="x").fit([graphs[i] for i in copies], y[copies])
    assert_allclose(weighted.transform(graphs), copied.transform(graphs), rtol=1e-3, atol=1e-3)
    for epoch, other in zip(weighted.history_, copied.history_, strict=True):
        assert epoch["train_loss"] == pytest.approx(other["train_loss"], rel=1e-4)


def test_weights_of_one_are_bit_equal_to_none(larger_motifs):
    graphs, y = larger_motifs
    weighted = LoFIClassifier(**QUICK).fit(graphs, y, sample_weight=np.ones(60))
    plain = LoFIClassifier(**QUICK).fit(graphs, y)
    assert_array_equal(weighted.predict_proba(graphs), plain.predict_proba(graphs))
    for constant in (4, 1e308):
        scaled = LoFIClassifier(**QUICK).fit(graphs, y, sample_weight=np.full(60, constant))
        assert_array_equal(scaled.predict_proba(graphs), plain.predict_proba(graphs))


def test_metadata_routing_of_weights(larger_motifs):
    graphs, y = larger_motifs
    weight = np.where(y == 1, 50.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = LoFIClassifier(**QUICK).set_fit_request(sample_weight=True)
        classifier.set_score_request(sample_weight=True)
        search = GridSearchCV(classifier, {}, cv=2, error_score="raise")
        search.fit(graphs, y, sample_weight=weight)
    expected = LoFIClassifier(**QUICK).fit(graphs, y, sample_weight=weight)
    assert_array_equal(search.predict_proba(graphs), expected.predict_proba(graphs))


# partial_fit and warm_start


def test_partial_fit_is_an_epoch_of_fit(larger_motifs):
    graphs, y = larger_motifs
    fitted = LoFIClassifier(**{**QUICK, "max_epochs": 3}, early_stopping=False).fit(graphs, y)
    stepped = LoFIClassifier(**QUICK)
    for _ in range(3):
        stepped.partial_fit(graphs, y)
    assert stepped.n_epochs_ == 3
    assert_allclose(stepped.predict_proba(graphs), fitted.predict_proba(graphs), rtol=1e-4)


def test_warm_start_goes_on(larger_motifs):
    graphs, y = larger_motifs
    classifier = LoFIClassifier(**QUICK, warm_start=True, early_stopping=False)
    first = classifier.fit(graphs, y).history_[-1, "train_loss"]
    classifier.set_params(max_epochs=4, lr=0.001).fit(graphs, y)
    assert classifier.n_epochs_ == QUICK["max_epochs"] + 4
    assert classifier.history_[QUICK["max_epochs"], "train_loss"] < first * 1.2
    assert classifier.net_.optimizer_.param_groups[0]["lr"] == 0.001
    cold = classifier.set_params(warm_start=False).fit(graphs, y)
    assert cold.n_epochs_ == 4


# Other values than QUICK and the defaults have.
OTHER_NETWORKS = {
    "n_layers": 3,
    "n_masks": 5,
    "n_words": 2,
    "radius": 2,
    "kernel": "intersection",
    "pooling": "mean",
    "readout": "last",
    "dropout": 0.5,
    "node_label": None,
    "node_features": "x",
    "callbacks": [LRScheduler("StepLR", step_size=1)],
}


@pytest.mark.parametrize("name", OTHER_NETWORKS)
@pytest.mark.parametrize("way", ["as it is", "pickle", "save"])
def test_a_network_that_parameters_no_longer_describe_is_not_trained_further(
    larger_motifs, name, way, tmp_path
):
    graphs, y = larger_motifs
    classifier = LoFIClassifier(**{**QUICK, "max_epochs": 1}, warm_start=True).fit(graphs, y)
    before = getattr(classifier, name)
    if way == "pickle":
        classifier = pickle.loads(pickle.dumps(classifier))
    elif way == "save":
        classifier.save(tmp_path / "model.safetensors")
        classifier = LoFIClassifier.load(tmp_path / "model.safetensors")
    probabilities = classifier.predict_proba(graphs)
    classifier.set_params(**{name: OTHER_NETWORKS[name]})
    what = rf" goes on .* changed .*: {name} from {before!r} to .*warm_start=False\."
    with pytest.raises(ValueError, match=f"warm_start=True{what}"):
        classifier.fit(graphs, y)
    with pytest.raises(ValueError, match=f"partial_fit{what}"):
        classifier.partial_fit(graphs, y)
    classifier.set_params(**{name: before})
    assert_array_equal(classifier.predict_proba(graphs), probabilities)
    assert classifier.fit(graphs, y).partial_fit(graphs, y).n_epochs_ == 3


def test_all_parameters_that_have_changed_are_named(larger_motifs):
    classifier = LoFIClassifier(**QUICK, warm_start=True).fit(*larger_motifs)
    classifier.set_params(n_masks=16, pooling="max", max_epochs=1, lr=0.1)
    with pytest.raises(ValueError, match="made: n_masks from 8 to 16, pooling from 'sum' to 'max'"):
        classifier.fit(*larger_motifs)
    # A new network is what they describe.
    assert classifier.set_params(warm_start=False).fit(*larger_motifs).module_.pooling == "max"


def test_the_loss_stays_the_same_in_a_warm_start(larger_motifs):
    regressor = LoFIRegressor(**QUICK, warm_start=True).fit(*larger_motifs)
    with pytest.raises(ValueError, match="loss from 'absolute_error' to 'squared_error'"):
        regressor.set_params(loss="squared_error").fit(*larger_motifs)


def test_a_network_follows_to_another_device(larger_motifs):
    graphs, y = larger_motifs
    options = {**QUICK, "dropout": 0.2, "warm_start": True, "early_stopping": False}
    stays, moves = (LoFIClassifier(**options).fit(graphs, y) for _ in range(2))
    for classifier in (stays, moves.set_params(device="cpu:0")):  # another name, the same device
        classifier.fit(graphs, y).partial_fit(graphs, y)
    assert (stays.net_.device, moves.net_.device) == ("cpu", "cpu:0")
    assert_array_equal(stays.predict_proba(graphs), moves.predict_proba(graphs))
    with pytest.raises(ValueError, match="'cuda:63' cannot be used here"):
        stays.set_params(device="cuda:63").fit(graphs, y)


# A fit that fails


def test_an_error_in_training_leaves_no_half_trained_estimator(larger_motifs):
    callbacks = [RaisesIn(RuntimeError("boom"))]
    classifier = LoFIClassifier(**QUICK, callbacks=callbacks)
    with pytest.raises(RuntimeError, match="boom"):
        classifier.fit(*larger_motifs)
    with pytest.raises(NotFittedError):
        classifier.predict(larger_motifs[0])


def test_a_fit_that_fails_leaves_no_half_fitted_estimator(larger_motifs):
    graphs, y = larger_motifs
    classifier = LoFIClassifier(**QUICK).fit(graphs, y)
    with pytest.raises(ValueError, match="only one class"):
        classifier.fit(graphs, ["same"] * 60)
    with pytest.raises(NotFittedError):
        classifier.predict(graphs)


# Randomness


@pytest.mark.parallel
def test_random_state_fixes_everything(larger_motifs):
    graphs, y = larger_motifs
    options = {**QUICK, "dropout": 0.3}
    global_state = (np.random.get_state()[1].copy(), torch.get_rng_state())
    first, second = (LoFIClassifier(**options).fit(graphs, y) for _ in range(2))
    assert_array_equal(np.random.get_state()[1], global_state[0])
    assert torch.equal(torch.get_rng_state(), global_state[1])
    assert (
        first.history_[:, ("train_loss", "valid_loss")]
        == second.history_[:, ("train_loss", "valid_loss")]
    )
    in_worker = joblib.Parallel(n_jobs=2)(
        joblib.delayed(_fit_predict)(options, graphs, y) for _ in range(2)
    )
    for probabilities in in_worker:
        assert_allclose(probabilities, first.predict_proba(graphs), rtol=1e-5)
    different = LoFIClassifier(**{**options, "random_state": 1}).fit(graphs, y)
    assert not np.allclose(different.predict_proba(graphs), first.predict_proba(graphs))


def _fit_predict(options, graphs, y):
    return LoFIClassifier(**options).fit(graphs, y).predict_proba(graphs)


def test_refit_of_a_search_is_the_same_fit(larger_motifs):
    graphs, y = larger_motifs
    search = GridSearchCV(LoFIClassifier(**QUICK), {"n_masks": [4]}, cv=2).fit(graphs, y)
    alone = LoFIClassifier(**{**QUICK, "n_masks": 4}).fit(graphs, y)
    assert_array_equal(search.predict_proba(graphs), alone.predict_proba(graphs))


# Callbacks of scikit-learn


needs_callbacks = pytest.mark.skipif(
    not hasattr(LoFIClassifier, "set_callbacks"), reason="scikit-learn before 1.9"
)


GRAPHS = make_motif_graphs(4, random_state=3)[0]


class Recorder:
    """A callback of scikit-learn that writes down what it is told."""

    max_propagation_depth = None

    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.events = []
        self.scores = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if context.task_name == "epoch":
            self.scores.append(fitted_estimator.predict_proba(GRAPHS)[:, 0].mean())
        return len(self.scores) == self.stop_at


@needs_callbacks
def test_scikit_learn_callbacks_follow_the_epochs(larger_motifs):
    recorder = Recorder(stop_at=3)
    classifier = LoFIClassifier(**QUICK).set_callbacks(recorder).fit(*larger_motifs)
    epochs = ["begin epoch", "end epoch"] * 3
    assert recorder.events == ["setup", "begin fit", *epochs, "end fit", "teardown"]
    assert len(set(recorder.scores)) == 3  # the estimator can predict while it trains
    assert classifier.n_epochs_ == 3


@needs_callbacks
def test_every_epoch_that_begins_ends_whoever_stops_it(larger_motifs):
    recorder = Recorder()
    early = EarlyStopping("train_loss", patience=2, threshold=1e9, threshold_mode="abs")
    LoFIClassifier(**QUICK, callbacks=[early]).set_callbacks(recorder).fit(*larger_motifs)
    assert recorder.events.count("begin epoch") == recorder.events.count("end epoch") == 3


@needs_callbacks
def test_progress_bars_nest_in_a_search(larger_motifs, capsys):
    from sklearn.callback import ProgressBar

    search = GridSearchCV(LoFIClassifier(**QUICK), {"n_masks": [4, 8]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(*larger_motifs)
    out = capsys.readouterr().out
    assert "GridSearchCV" in out and "LoFIClassifier" in out
    depth = Recorder()
    search.set_callbacks(depth).fit(*larger_motifs)
    assert (
        depth.events.count("end epoch")
        == sum(event == "begin epoch" for event in depth.events)
        == 5 * QUICK["max_epochs"]
    )
    copy.deepcopy(search)


@needs_callbacks
def test_callbacks_are_torn_down_after_an_error(larger_motifs):
    graphs, _ = larger_motifs
    recorder = Recorder()
    with pytest.raises(ValueError, match="only one class"):
        LoFIClassifier(**QUICK).set_callbacks(recorder).fit(graphs, np.zeros(60))
    assert recorder.events[-1] == "teardown"


@needs_callbacks  # fitted attributes came with the same version
def test_html_representation_shows_parameters_and_what_was_fitted(larger_motifs):
    html = LoFIClassifier(**QUICK).fit(*larger_motifs)._repr_html_()
    assert "n_masks" in html
    assert "node_labels_" in html


# Tools of scikit-learn


def test_set_output_gives_a_data_frame(larger_motifs):
    graphs, y = larger_motifs
    classifier = LoFIClassifier(**QUICK).set_output(transform="pandas").fit(graphs, y)
    frame = classifier.transform(graphs)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == classifier.get_feature_names_out().tolist()


@pytest.mark.parallel
@pytest.mark.parametrize("form", [list, GraphSet.from_networkx], ids=["list", "GraphSet"])
def test_cross_validation(larger_motifs, form):
    graphs, y = larger_motifs
    X = form(graphs)
    scores = cross_val_score(LoFIClassifier(**QUICK), X, y, cv=3, error_score="raise")
    assert scores.shape == (3,)
    results = cross_validate(
        LoFIClassifier(**QUICK), X, y, cv=2, scoring=["accuracy", "roc_auc"], n_jobs=2,
        return_estimator=True, error_score="raise",
    )  # fmt: skip
    assert np.isfinite(results["test_roc_auc"]).all()


@pytest.mark.parallel
@pytest.mark.parametrize("form", [list, GraphSet.from_networkx], ids=["list", "GraphSet"])
def test_searches_in_parallel_pickle_and_copy(larger_motifs, form, tmp_path):
    graphs, y = larger_motifs
    X = form(graphs)
    grid = {"n_masks": [4, 8], "radius": [1, 2]}
    options = {"cv": 2, "n_jobs": 2, "error_score": "raise"}
    search = GridSearchCV(LoFIClassifier(**QUICK), grid, **options).fit(X, y)
    RandomizedSearchCV(LoFIClassifier(**QUICK), grid, n_iter=2, **options).fit(X, y)
    expected = search.predict_proba(X)
    joblib.dump(search, tmp_path / "search.joblib")
    for other in (
        copy.deepcopy(search),
        pickle.loads(pickle.dumps(search)),
        joblib.load(tmp_path / "search.joblib"),
    ):
        assert_array_equal(other.predict_proba(X), expected)


def n_threads(estimator, X, y):
    return torch.get_num_threads()


@pytest.mark.parallel
def test_workers_share_the_cores(larger_motifs):
    """joblib tells its workers how many threads to use, and torch obeys."""
    scores = cross_val_score(
        LoFIClassifier(**QUICK), *larger_motifs, cv=2, n_jobs=2, scoring=n_threads
    )
    wanted = os.environ.get("OMP_NUM_THREADS", max(1, joblib.cpu_count() // 2))
    assert_array_equal(scores, int(wanted))


def test_halving_search_over_epochs(larger_motifs):
    search = HalvingGridSearchCV(
        LoFIClassifier(**QUICK), {"n_masks": [2, 4, 8]}, resource="max_epochs",
        min_resources=2, max_resources=6, cv=2, error_score="raise",
    ).fit(*larger_motifs)  # fmt: skip
    assert search.best_estimator_.max_epochs == 6


def test_embedding_before_a_support_vector_machine(larger_motifs):
    graphs, y = larger_motifs
    pipeline = make_pipeline(LoFIClassifier(**QUICK), StandardScaler(), SVC())
    assert pipeline.fit(graphs, y).score(graphs, y) > 0.6
    assert cross_val_score(pipeline, graphs, y, cv=2, error_score="raise").shape == (2,)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda classifier: VotingClassifier(
            [("a", classifier), ("b", clone(classifier))], voting="soft"
        ),
        lambda classifier: StackingClassifier([("a", classifier)], LogisticRegression(), cv=2),
        lambda classifier: CalibratedClassifierCV(classifier, cv=2),
        lambda classifier: CalibratedClassifierCV(classifier, cv=2, ensemble=False),
        lambda classifier: TunedThresholdClassifierCV(classifier, cv=2),
    ],
    ids=["voting", "stacking", "calibrated", "calibrated once", "threshold"],
)
def test_meta_estimators(larger_motifs, wrap):
    graphs, y = larger_motifs
    y = np.array(["no", "yes"])[y]
    wrapped = wrap(LoFIClassifier(**QUICK)).fit(graphs, y)
    assert set(wrapped.predict(graphs)) <= {"no", "yes"}
    assert wrapped.predict_proba(graphs).shape == (60, 2)


def test_tags_tell_what_the_estimators_are():
    for estimator, kind in [(LoFIClassifier(), "classifier"), (LoFIRegressor(), "regressor")]:
        tags = sklearn.utils.get_tags(estimator)
        assert tags.estimator_type == kind
        assert not tags.input_tags.two_d_array
        assert tags.target_tags.required
        assert tags.target_tags.multi_output == (kind == "regressor")
        assert tags.transformer_tags is not None


# Validation


def test_a_single_network_takes_the_first_split_of_a_splitter(larger_motifs):
    graphs, y = GraphSet.from_networkx(larger_motifs[0]), larger_motifs[1]
    splitter = ShuffleSplit(3, test_size=0.3, random_state=1)
    options = {**QUICK, "max_epochs": 2}
    by_splitter = LoFIClassifier(**options, validation_fraction=splitter).fit(graphs, y)
    rows, held_out = map(np.sort, next(splitter.split(graphs)))
    by_hand = LoFIClassifier(**options)
    by_hand.fit(graphs[rows], y[rows], X_val=graphs[held_out], y_val=y[held_out])
    assert_array_equal(by_splitter.predict_proba(graphs), by_hand.predict_proba(graphs))


def test_the_members_of_an_ensemble_take_splits_in_turn(larger_motifs):
    graphs, y = GraphSet.from_networkx(larger_motifs[0]), larger_motifs[1]
    splitter = StratifiedGroupKFold(3)
    groups = np.arange(60) // 3
    options = {**QUICK, "max_epochs": 2, "n_members": 2, "counts": True}
    ensemble = LoFIClassifier(**options, validation_fraction=splitter)
    ensemble.fit(graphs, y, groups=groups)
    parts = [held_out for _, held_out in splitter.split(graphs, y, groups)][:2]
    predicted = np.flatnonzero(~np.isnan(ensemble.oof_prediction_).any(axis=1))
    assert predicted.tolist() == np.sort(np.concatenate(parts)).tolist()
    for member, part in zip(ensemble.members_, parts, strict=True):
        rest = np.setdiff1d(np.arange(60), part)
        alone = LoFIClassifier(**{**options, "n_members": 1, "counts": False})
        alone.set_params(random_state=member.random_state)
        alone.fit(graphs[rest], y[rest], X_val=graphs[part], y_val=y[part])
        assert_array_equal(member.predict_proba(graphs), alone.predict_proba(graphs))


def test_a_splitter_is_copied_but_not_saved(larger_motifs, tmp_path):
    graphs, y = larger_motifs
    options = {**QUICK, "max_epochs": 1}
    classifier = LoFIClassifier(**options, validation_fraction=ShuffleSplit(1, test_size=0.5))
    assert clone(classifier).validation_fraction.test_size == 0.5
    classifier.fit(graphs, y)
    with pytest.warns(UserWarning, match="validation_fraction is not saved"):
        classifier.save(tmp_path / "model.safetensors")
    loaded = LoFIClassifier.load(tmp_path / "model.safetensors")
    assert loaded.validation_fraction == 0.1
    assert_array_equal(loaded.predict_proba(graphs), classifier.predict_proba(graphs))


def test_what_is_no_splitter_is_refused(larger_motifs):
    for value in ("0.1", 0.0, [1, 2]):
        with pytest.raises(ValueError, match=r"'validation_fraction' .* implementing 'split'"):
            LoFIClassifier(**QUICK, validation_fraction=value).fit(*larger_motifs)


def test_weights_of_validation_graphs_are_copies_of_them(larger_motifs):
    graphs, y = larger_motifs
    X, X_val, y_val = graphs[:40], graphs[40:], y[40:]
    weight = np.arange(20) % 3
    copies = np.repeat(np.arange(20), weight)
    quick = {**QUICK, "max_epochs": 2}
    for options in (quick, {**quick, "n_members": 2, "counts": True}):
        weighted, copied, plain = (LoFIClassifier(**options) for _ in range(3))
        weighted.fit(X, y[:40], X_val=X_val, y_val=y_val, sample_weight_val=weight)
        copied.fit(X, y[:40], X_val=[X_val[i] for i in copies], y_val=y_val[copies])
        plain.fit(X, y[:40], X_val=X_val, y_val=y_val)
        for name in ("valid_loss", "valid_score"):
            assert_allclose(weighted.history_[:, name], copied.history_[:, name], rtol=1e-4)
        assert not np.allclose(weighted.history_[:, "valid_loss"], plain.history_[:, "valid_loss"])
        assert weighted.counts_share_ == copied.counts_share_
    with pytest.raises(ValueError, match="weights of X_val, which is not given"):
        LoFIClassifier(**QUICK).fit(graphs, y, sample_weight_val=weight)


# The epoch whose weights a network has


def validation_loss(classifier, X, y):
    probabilities = classifier.predict_proba(X)
    return -np.log(probabilities[np.arange(len(y)), y]).mean()


def test_the_best_epoch_is_that_of_the_weights(larger_motifs, tmp_path):
    graphs, y = larger_motifs
    X_val, y_val = graphs[40:], np.random.RandomState(0).permutation(y[40:])
    classifier = LoFIClassifier(**{**QUICK, "lr": 0.05, "patience": 3})
    classifier.fit(graphs[:40], y[:40], X_val=X_val, y_val=y_val)
    assert 1 <= classifier.best_epoch_ < classifier.n_epochs_
    recorded = classifier.history_[classifier.best_epoch_ - 1, "valid_loss"]
    assert validation_loss(classifier, X_val, y_val) == pytest.approx(recorded, rel=1e-4)
    classifier.save(tmp_path / "model.safetensors")
    loaded = LoFIClassifier.load(tmp_path / "model.safetensors")
    for other in (loaded, pickle.loads(pickle.dumps(classifier)), copy.deepcopy(classifier)):
        assert other.best_epoch_ == classifier.best_epoch_
    classifier.partial_fit(graphs, y)  # which keeps the weights of its epoch
    assert classifier.best_epoch_ == classifier.n_epochs_


def test_without_early_stopping_the_best_epoch_is_the_last(larger_motifs):
    options = {**QUICK, "max_epochs": 2, "early_stopping": False}
    classifier = LoFIClassifier(**options).fit(*larger_motifs)
    assert classifier.best_epoch_ == classifier.n_epochs_ == 2


def test_each_member_has_its_best_epoch(larger_motifs, tmp_path):
    graphs, y = larger_motifs
    ensemble = LoFIClassifier(**{**QUICK, "lr": 0.05, "n_members": 3}).fit(graphs, y)
    epochs = [member.best_epoch_ for member in ensemble.members_]
    assert ensemble.best_epoch_ == epochs[0]
    ensemble.save(tmp_path / "model.safetensors")
    loaded = LoFIClassifier.load(tmp_path / "model.safetensors")
    assert [member.best_epoch_ for member in loaded.members_] == epochs


@pytest.mark.filterwarnings("ignore:Training was interrupted")
@pytest.mark.parametrize("early_stopping", [True, False])
def test_after_an_interrupt_the_best_epoch_is_one_that_has_ended(larger_motifs, early_stopping):
    options = {**QUICK, "early_stopping": early_stopping}
    classifier = LoFIClassifier(**options, callbacks=[RaisesIn(KeyboardInterrupt, 1)])
    assert classifier.fit(*larger_motifs).best_epoch_ == 0
    classifier = LoFIClassifier(**options, callbacks=[RaisesIn(KeyboardInterrupt, 3)])
    assert classifier.fit(*larger_motifs).n_epochs_ == 2
    if early_stopping:
        losses = classifier.history_[:, "valid_loss"]
        assert classifier.best_epoch_ == 1 + int(np.argmin(losses))
    else:
        assert classifier.best_epoch_ == 2
