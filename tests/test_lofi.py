import copy
import dataclasses
import os
import pickle
import re
import sys
from inspect import getdoc, signature

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
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from skorch.callbacks import Callback, EarlyStopping, EpochScoring, LRScheduler

from helpers import unseen_labels
from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.datasets import load_graph_atlas, make_motif_graphs
from sklofi.egonets import _colors, _incidence
from sklofi.training._egonet_batches import EgonetDataset
from sklofi.training._progress import ProgressLog

QUICK = {"n_layers": 2, "n_masks": 8, "n_words": 4, "max_epochs": 8, "random_state": 0}
FULL_BATCH = {**QUICK, "batch_size": 1000, "early_stopping": False}


@pytest.fixture(scope="module")
def motifs():
    return make_motif_graphs(60, random_state=0)


@pytest.fixture(scope="module")
def paths():
    """Paths of different lengths, whose target is the length."""
    graphs = [nx.path_graph(2 + i % 7) for i in range(42)]
    return graphs, np.array([len(graph) for graph in graphs], dtype=float)


def graph_with(n_nodes=4, **attributes):
    graph = nx.path_graph(n_nodes)
    for name, value in attributes.items():
        nx.set_node_attributes(graph, value, name)
    return graph


# Learning


def test_classifier_learns_planted_motifs():
    graphs, y = make_motif_graphs(300, random_state=1)
    classifier = LoFIClassifier(random_state=0).fit(graphs[:200], y[:200])
    assert classifier.score(graphs[200:], y[200:]) > 0.95


def test_regressor_learns_a_property_of_the_atlas():
    graphs, y = load_graph_atlas(target="spectral_radius")
    regressor = LoFIRegressor(max_epochs=10, random_state=0).fit(graphs[::2], y[::2])
    assert regressor.score(graphs[1::2], y[1::2]) > 0.95


@pytest.mark.parametrize("options", [
    {"kernel": "intersection"}, {"pooling": "mean"}, {"pooling": "max"}, {"readout": "last"},
    {"dropout": 0.2}, {"radius": 0}, {"radius": 3}, {"n_layers": 1}, {"weight_decay": 0.1},
    {"n_words": 1}, {"n_masks": 1}, {"batch_size": 1, "max_epochs": 1},
], ids=str)  # fmt: skip
def test_every_option_trains(motifs, options):
    graphs, y = motifs
    classifier = LoFIClassifier(**{**QUICK, **options}).fit(graphs, y)
    losses = classifier.history_[:, "train_loss"]
    assert np.isfinite(losses).all()
    assert len(losses) == 1 or losses[-1] < losses[0]


@pytest.mark.parametrize("node_features", [None, "x"])
def test_merging_equal_nodes_changes_no_number(motifs, node_features, monkeypatch):
    """Losses and predictions of a whole fit, to 32 bits."""
    graphs = [graph.copy() for graph in motifs[0]]
    for graph in graphs:
        nx.set_node_attributes(graph, {v: graph.degree(v) % 2 for v in graph}, "x")
    options = {**QUICK, "node_features": node_features, "n_layers": 3, "max_epochs": 4}
    results, sizes = [], []
    table = EgonetDataset.table

    def table_of_single_nodes(self, merge):
        result = table(self, merge=False)
        sizes.append(len(result.representatives))
        return result

    for replacement in (table, table_of_single_nodes):
        monkeypatch.setattr(EgonetDataset, "table", replacement)
        classifier = LoFIClassifier(**options).fit(graphs, motifs[1])
        losses = classifier.history_[:, ("train_loss", "valid_loss")]
        results.append((losses, classifier.predict_proba(graphs)))
    assert_allclose(results[0][0], results[1][0], rtol=1e-4)
    assert_allclose(results[0][1], results[1][1], rtol=1e-3)
    assert min(sizes) == sum(map(len, graphs))


def test_dropout_treats_equal_nodes_differently(motifs, monkeypatch):
    """In training, from the epoch on in which it begins; in prediction there is none."""
    merged = []
    batches = EgonetDataset.batches

    def spy(self, rows, *, merge, gradients):
        merged.append((gradients, merge))
        return batches(self, rows, merge=merge, gradients=gradients)

    class DropLater(Callback):
        def on_epoch_end(self, net, **kwargs):
            net.module_.dropout = 0.2

    monkeypatch.setattr(EgonetDataset, "batches", spy)
    options = {**QUICK, "max_epochs": 2}
    LoFIClassifier(**options, dropout=0.2).fit(*motifs)
    assert set(merged) == {(True, False), (False, True)}
    merged.clear()
    LoFIClassifier(**options, callbacks=[DropLater()]).fit(*motifs)
    assert [merge for gradients, merge in merged if gradients] == [True, False]


def test_learned_histograms_stay_non_negative(motifs):
    classifier = LoFIClassifier(**{**QUICK, "lr": 0.5}).fit(*motifs)
    histograms = [layer.histogram for layer in classifier.module_.layers]
    assert min(histogram.min().item() for histogram in histograms) >= 0


def test_temperature_is_learned(motifs):
    classifier = LoFIClassifier(**QUICK).fit(*motifs)
    assert len(torch.unique(classifier.module_.layers[0].temperature)) > 1


# Input


def test_labels_features_both_or_neither():
    """Labels tell half of the class, features the other half."""
    y = np.arange(40) % 4
    graphs = [graph_with(5, label="ab"[c % 2], x=(float(c > 1), 1.0)) for c in y]
    for node_label, node_features, n_columns, score in [
        ("label", None, 2, 0.5), (None, "x", 3, 0.5), ("label", "x", 4, 1.0), (None, None, 1, 0.25),
    ]:  # fmt: skip
        classifier = LoFIClassifier(
            **{**QUICK, "max_epochs": 60, "early_stopping": False},
            node_label=node_label,
            node_features=node_features,
        ).fit(graphs, y)
        assert classifier.module_.layers[0].dictionary.shape[2] == n_columns
        assert classifier.score(graphs, y) == pytest.approx(score, abs=0.03)
        assert classifier.node_labels_ == (["a", "b"] if node_label else [])


def test_the_scale_of_features_does_not_matter():
    rng = np.random.RandomState(0)
    values = [rng.normal(i % 2, 1, size=(5, 2)) for i in range(30)]
    predictions = []
    for scale in (1, 2**20):
        graphs = [graph_with(5, x=dict(enumerate(scale * value))) for value in values]
        classifier = LoFIClassifier(**QUICK, node_features="x").fit(graphs, np.arange(30) % 2)
        predictions.append(classifier.predict_proba(graphs))
    assert_allclose(*predictions, rtol=1e-4)


def test_the_size_of_features_is_not_lost_in_their_direction():
    """LoFI compares directions; the magnitude of a single feature must still count."""
    graphs = [graph_with(3, x=[0.5, 1.0, 4.0][i % 3]) for i in range(60)]
    y = np.arange(60) % 3
    classifier = LoFIClassifier(random_state=0, node_features="x").fit(graphs, y)
    assert classifier.score(graphs, y) == 1


def test_features_far_from_zero_keep_their_differences():
    graphs = [graph_with(3, x=1.7e9 + i % 2) for i in range(40)]
    y = np.arange(40) % 2
    classifier = LoFIClassifier(**{**QUICK, "max_epochs": 30}, node_features="x").fit(graphs, y)
    assert classifier.score(graphs, y) == 1
    assert np.isfinite(classifier.predict_proba([graph_with(3, x=-3e38)])).all()


def test_a_series_of_graphs_is_a_list(motifs):
    graphs, y = motifs
    series = pd.Series(graphs, index=range(100, 160))
    classifier = LoFIClassifier(**QUICK).fit(graphs, y)
    assert_array_equal(classifier.predict(series), classifier.predict(graphs))


def test_labels_are_those_of_the_training_graphs_only(motifs):
    graphs, y = motifs
    odd = graph_with(label="unseen")
    X = GraphSet.from_networkx([*graphs, odd])
    classifier = LoFIClassifier(**QUICK).fit(X[: len(graphs)], y)
    assert classifier.node_labels_ == ["C", "H", "N", "O", "S"]


@unseen_labels
def test_unseen_labels_are_all_zero_vectors(motifs):
    """An all-zero vector is as far from every word: the softmax is even."""
    graphs, y = motifs
    classifier = LoFIClassifier(**{**QUICK, "n_layers": 1}).fit(graphs, y)
    alone = nx.Graph()
    alone.add_node("x", label="unseen")
    layer = classifier.module_.layers[0]
    with torch.no_grad():
        expected = 1 - (1 / 4 - layer.histogram).abs().sum(dim=1) / 2
    assert_allclose(classifier.transform([alone])[0], expected.numpy(), rtol=1e-5)


def test_unseen_labels_are_refused_on_request(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**QUICK, handle_unknown="error").fit(graphs, y)
    odd = nx.relabel_nodes(graph_with(3, label="C"), {1: "middle"})
    odd.nodes["middle"]["label"] = "Xe"
    with pytest.raises(ValueError, match=r"Graph 1, node 'middle', has the label 'Xe'.*ignore"):
        classifier.predict([graphs[0], odd])


@pytest.mark.parametrize(
    "fitted, given, match",
    [
        ({"x": 1.0}, {"x": [1.0, 2.0]}, "X has 2 node features, but LoFIClassifier is expecting 1"),
        ({"label": "a", "x": 1.0}, {"x": 1.0}, "without node labels, but LoFIClassifier was"),
        ({"x": 1.0}, {"label": "a", "x": 1.0}, "with node labels, but LoFIClassifier was"),
    ],
)
def test_prediction_needs_the_same_kind_of_graphs(fitted, given, match):
    def graphs(attributes):
        return [graph_with(**{k: dict.fromkeys(range(4), x) for k, x in attributes.items()})] * 10

    classifier = LoFIClassifier(**QUICK, node_features="x")
    classifier.fit(graphs(fitted), [0, 1] * 5)
    with pytest.raises(ValueError, match=match):
        classifier.predict(graphs(given))


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
        ({"X_val": [graph_with(label="C")], "y_val": [7]}, r"classes \[7\].*\[0, 1\]"),
    ],
    ids=range(9),
)
def test_bad_targets_and_weights_are_refused(motifs, change, match):
    graphs, y = motifs
    arguments = {"y": y, **change}
    with pytest.raises(ValueError, match=match):
        LoFIClassifier(**QUICK).fit(graphs, **arguments)


@pytest.mark.parametrize(
    "name, value",
    [
        ("kernel", "rbf"), ("pooling", "min"), ("readout", "first"), ("radius", -1),
        ("n_layers", 0), ("n_masks", 2.5), ("n_words", 0), ("dropout", 1.0), ("lr", 0.0),
        ("max_epochs", 0), ("batch_size", 0), ("weight_decay", -1), ("patience", 0),
        ("validation_fraction", 1.0), ("handle_unknown", "drop"), ("early_stopping", "yes"),
        ("device", 3), ("random_state", "seed"), ("class_weight", "heavy"), ("callbacks", 1),
    ],
)  # fmt: skip
def test_unknown_parameter_values_are_refused(motifs, name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of LoFIClassifier must be"):
        LoFIClassifier(**{**QUICK, name: value}).fit(*motifs)


def test_unknown_losses_and_devices_are_refused(paths):
    with pytest.raises(ValueError, match="The 'loss' parameter of LoFIRegressor must be"):
        LoFIRegressor(**QUICK, loss="hinge").fit(*paths)
    with pytest.raises(ValueError, match="device='gpu' cannot be used here"):
        LoFIRegressor(**QUICK, device="gpu").fit(*paths)


# Training


def test_early_stopping_restores_the_best_weights(motifs):
    graphs, y = motifs
    X_val, y_val = make_motif_graphs(30, random_state=5)
    classifier = LoFIClassifier(
        **{**QUICK, "max_epochs": 300, "lr": 0.05}, patience=3, callbacks=None
    ).fit(graphs[:20], y[:20], X_val=X_val, y_val=y_val)
    losses = classifier.history_[:, "valid_loss"]
    assert classifier.n_epochs_ == len(losses) < 300
    assert min(losses[-3:]) > min(losses)
    true_class = classifier.predict_proba(X_val)[np.arange(30), y_val]
    assert -np.log(true_class).mean() == pytest.approx(min(losses), rel=1e-4)


def test_without_early_stopping_all_epochs_are_run(motifs):
    classifier = LoFIClassifier(**QUICK, early_stopping=False, patience=1).fit(*motifs)
    assert classifier.n_epochs_ == QUICK["max_epochs"]
    assert "valid_loss" not in classifier.history_[0]


def test_given_validation_graphs_leave_all_of_x_for_training(motifs):
    graphs, y = motifs
    given = LoFIClassifier(**QUICK).fit(graphs, y, X_val=graphs[:7], y_val=y[:7])
    inside = LoFIClassifier(**QUICK).fit(graphs, y)
    n_train = [sum(b["train_batch_size"] for b in c.history_[-1]["batches"] if "train_batch_size" in b) for c in (given, inside)]  # noqa: E501  # fmt: skip
    assert n_train == [60, 54]


def test_validation_graphs_pass_through_a_pipeline(motifs):
    graphs, y = motifs
    edges = [(list(graph.nodes(data="label")), list(graph.edges)) for graph in graphs]
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = LoFIClassifier(**QUICK, early_stopping=False)
        classifier.set_fit_request(X_val=True, y_val=True)
        pipeline = Pipeline(
            [("graphs", _EdgesToGraphs()), ("lofi", classifier)], transform_input=["X_val"]
        )
        pipeline.fit(edges, y, X_val=edges[:9], y_val=y[:9])
    assert "valid_loss" in pipeline[-1].history_[0]  # X_val is its only source


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


def test_labels_of_the_validation_part_are_known_too():
    graphs, y = make_motif_graphs(40, random_state=0)
    graphs[3].nodes[0]["label"] = "rare"
    for seed in range(8):
        options = {**QUICK, "max_epochs": 1, "random_state": seed}
        classifier = LoFIClassifier(**options, handle_unknown="error").fit(graphs, y)
        assert "rare" in classifier.node_labels_


def test_too_few_graphs_for_a_validation_part_still_train():
    graphs = [graph_with(label="a"), graph_with(label="b")]
    classifier = LoFIClassifier(**QUICK).fit(graphs, [0, 1])
    assert classifier.n_epochs_ == QUICK["max_epochs"]


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


def test_weights_of_one_are_bit_equal_to_none(motifs):
    graphs, y = motifs
    weighted = LoFIClassifier(**QUICK).fit(graphs, y, sample_weight=np.ones(60))
    plain = LoFIClassifier(**QUICK).fit(graphs, y)
    assert_array_equal(weighted.predict_proba(graphs), plain.predict_proba(graphs))
    for constant in (4, 1e308):
        scaled = LoFIClassifier(**QUICK).fit(graphs, y, sample_weight=np.full(60, constant))
        assert_array_equal(scaled.predict_proba(graphs), plain.predict_proba(graphs))


def test_class_weight_is_sample_weight(motifs):
    graphs, y = motifs
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


def test_class_weights_belong_to_the_training_classes(motifs):
    graphs, y = motifs
    ones = [graph for graph, label in zip(graphs, y, strict=True) if label == 1]
    classifier = LoFIClassifier(**QUICK, class_weight={0: 2})
    classifier.fit(graphs, y, X_val=ones, y_val=[1] * len(ones))
    classifier.partial_fit(ones, [1] * len(ones))
    for bad in ({0: -1, 1: 1}, {0: np.nan}, {0: 0, 1: 0}):
        with pytest.raises(ValueError, match="class_weight has to be finite"):
            LoFIClassifier(**QUICK, class_weight=bad).fit(graphs, y)
    with pytest.raises(ValueError, match=r"names the classes \['one'\].* lacks \[1\]"):
        LoFIClassifier(**QUICK, class_weight={0: 1, "one": 2}).fit(graphs, y)


def test_partial_fit_is_an_epoch_of_fit(motifs):
    graphs, y = motifs
    fitted = LoFIClassifier(**{**QUICK, "max_epochs": 3}, early_stopping=False).fit(graphs, y)
    stepped = LoFIClassifier(**QUICK)
    for _ in range(3):
        stepped.partial_fit(graphs, y)
    assert stepped.n_epochs_ == 3
    assert_allclose(stepped.predict_proba(graphs), fitted.predict_proba(graphs), rtol=1e-4)


def test_partial_fit_takes_classes_in_parts(motifs):
    graphs, y = motifs
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
        LoFIClassifier(class_weight="balanced").partial_fit(graphs, y)


def test_regressor_partial_fit(paths):
    graphs, y = paths
    regressor = LoFIRegressor(**QUICK)
    for _ in range(20):
        regressor.partial_fit(graphs, y)
    assert regressor.score(graphs, y) > 0.8


def test_warm_start_goes_on(motifs):
    graphs, y = motifs
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
    motifs, name, way, tmp_path
):
    graphs, y = motifs
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


def test_all_parameters_that_have_changed_are_named(motifs):
    classifier = LoFIClassifier(**QUICK, warm_start=True).fit(*motifs)
    classifier.set_params(n_masks=16, pooling="max", max_epochs=1, lr=0.1)
    with pytest.raises(ValueError, match="made: n_masks from 8 to 16, pooling from 'sum' to 'max'"):
        classifier.fit(*motifs)
    # A new network is what they describe.
    assert classifier.set_params(warm_start=False).fit(*motifs).module_.pooling == "max"


def test_the_loss_stays_the_same_in_a_warm_start(motifs):
    regressor = LoFIRegressor(**QUICK, warm_start=True).fit(*motifs)
    with pytest.raises(ValueError, match="loss from 'absolute_error' to 'squared_error'"):
        regressor.set_params(loss="squared_error").fit(*motifs)


def test_training_parameters_may_change_in_a_warm_start(motifs):
    graphs, y = motifs
    labels = LoFIClassifier._training_parameters - {"device", "warm_start"}
    others = {
        **{"handle_unknown": "error", "max_epochs": 2, "lr": 0.1, "batch_size": 7},
        **{"weight_decay": 0.1, "early_stopping": False, "validation_fraction": 0.3},
        **{"patience": 1, "random_state": 1, "verbose": 0, "class_weight": {0: 2.0, 1: 1.0}},
    }
    assert set(others) == labels
    classifier = LoFIClassifier(**QUICK, warm_start=True).fit(graphs, y)
    classifier.set_params(**others).fit(graphs, y).partial_fit(graphs, y)
    assert classifier.n_epochs_ == QUICK["max_epochs"] + 2 + 1


def test_class_weights_may_change_in_a_warm_start(motifs):
    """They weigh graphs, as sample_weight does."""
    graphs, y = motifs
    one, other = (LoFIClassifier(**QUICK, warm_start=True).fit(graphs, y) for _ in range(2))
    one.set_params(class_weight={0: 5.0}).partial_fit(graphs, y)
    other.partial_fit(graphs, y, sample_weight=np.where(y == 0, 5.0, 1.0))
    assert_array_equal(one.predict_proba(graphs), other.predict_proba(graphs))
    only = np.flatnonzero(y == 0)
    with pytest.raises(ValueError, match=r'"balanced" needs graphs of all classes, .* \[1\]'):
        one.set_params(class_weight="balanced").fit([graphs[i] for i in only], y[only])


def test_a_network_follows_to_another_device(motifs):
    graphs, y = motifs
    options = {**QUICK, "dropout": 0.2, "warm_start": True, "early_stopping": False}
    stays, moves = (LoFIClassifier(**options).fit(graphs, y) for _ in range(2))
    for one in (stays, moves.set_params(device="cpu:0")):  # another name, the same device
        one.fit(graphs, y).partial_fit(graphs, y)
    assert (stays.net_.device, moves.net_.device) == ("cpu", "cpu:0")
    assert_array_equal(stays.predict_proba(graphs), moves.predict_proba(graphs))
    with pytest.raises(ValueError, match="'cuda:63' cannot be used here"):
        stays.set_params(device="cuda:63").fit(graphs, y)


def test_a_pickle_from_a_device_that_is_not_here_is_trained_further(motifs):
    classifier = LoFIClassifier(**QUICK, warm_start=True).fit(*motifs)
    classifier.device = classifier._made_with["device"] = "cuda:63"
    further = pickle.loads(pickle.dumps(classifier)).fit(*motifs)
    assert further.net_.device == "cpu"
    assert further.n_epochs_ > classifier.n_epochs_


def test_skorch_callbacks_are_used_and_copied(motifs):
    scheduler = LRScheduler("StepLR", step_size=1, gamma=0.5)
    scoring = EpochScoring("accuracy", lower_is_better=False, name="accuracy")
    callbacks = [scheduler, ("scoring", scoring)]
    classifier = LoFIClassifier(**{**QUICK, "max_epochs": 3}, callbacks=callbacks).fit(*motifs)
    assert classifier.net_.optimizer_.param_groups[0]["lr"] == pytest.approx(0.005 / 8)
    assert classifier.history_[:, "accuracy"] == pytest.approx(
        classifier.history_[:, "valid_score"]
    )
    assert not hasattr(scheduler, "lr_scheduler_")
    clone(classifier).fit(*motifs)


def test_scoring_callbacks_of_every_kind(motifs):
    callbacks = [
        EpochScoring("f1_macro", on_train=True, name="train_f1"),
        EpochScoring("roc_auc", lower_is_better=False, name="auc"),
        EpochScoring("accuracy", use_caching=False, name="accuracy"),
    ]
    classifier = LoFIClassifier(**QUICK, callbacks=callbacks).fit(*motifs)
    figures = np.array(classifier.history_[:, ("train_f1", "auc", "accuracy")])
    assert figures.shape == (8, 3) and (figures <= 1).all()
    with pytest.raises(TypeError, match="callbacks has to hold skorch callbacks"):
        LoFIClassifier(**QUICK, callbacks=["early stopping"]).fit(*motifs)


class RaisesIn(Callback):
    def __init__(self, error, epoch=3):
        self.error = error
        self.epoch = epoch

    def on_batch_end(self, net, **kwargs):
        if len(net.history) == self.epoch:
            raise self.error


def test_an_error_in_training_leaves_no_half_trained_estimator(motifs):
    callbacks = [RaisesIn(RuntimeError("boom"))]
    classifier = LoFIClassifier(**QUICK, callbacks=callbacks)
    with pytest.raises(RuntimeError, match="boom"):
        classifier.fit(*motifs)
    with pytest.raises(NotFittedError):
        classifier.predict(motifs[0])


def test_an_interrupt_is_told_and_leaves_a_usable_estimator(motifs):
    classifier = LoFIClassifier(**QUICK, callbacks=[RaisesIn(KeyboardInterrupt())])
    with pytest.warns(UserWarning, match="interrupted in epoch 3"):
        classifier.fit(*motifs)
    assert len(classifier.history_[:, "train_loss"]) == classifier.n_epochs_ == 2
    assert np.isfinite(classifier.predict_proba(motifs[0])).all()


@pytest.mark.parametrize("early_stopping", [True, False])
def test_an_interrupt_in_the_first_epoch_leaves_a_usable_estimator(motifs, early_stopping):
    callbacks = [RaisesIn(KeyboardInterrupt(), epoch=1)]
    classifier = LoFIClassifier(**{**QUICK, "early_stopping": early_stopping}, callbacks=callbacks)
    with pytest.warns(UserWarning, match=r"epoch 1\. .* weights with which it started"):
        classifier.fit(*motifs)
    assert classifier.n_epochs_ == 0
    assert np.isfinite(classifier.predict_proba(motifs[0])).all()


def test_an_interrupt_leaves_the_weights_of_the_last_complete_epoch(motifs):
    options = {**QUICK, "early_stopping": False}
    classifier = LoFIClassifier(**options, callbacks=[RaisesIn(KeyboardInterrupt(), epoch=3)])
    with pytest.warns(UserWarning, match="the weights of epoch 2"):
        classifier.fit(*motifs)
    expected = LoFIClassifier(**{**options, "max_epochs": 2}).fit(*motifs)
    assert_array_equal(classifier.predict_proba(motifs[0]), expected.predict_proba(motifs[0]))


def test_ctrl_c_between_epochs_is_told_as_well(motifs, monkeypatch):
    def interrupt(self, net, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLog, "on_epoch_end", interrupt)
    with pytest.warns(UserWarning, match="interrupted in epoch 2"):
        LoFIClassifier(**QUICK, verbose=2).fit(*motifs)


class Idle(Callback):
    pass


def test_ctrl_c_is_told_beside_callbacks_of_the_user(motifs, monkeypatch):
    def interrupt(self, net, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLog, "on_epoch_end", interrupt)
    with pytest.warns(UserWarning, match="interrupted in epoch 2"):
        LoFIClassifier(**QUICK, verbose=2, callbacks=[Idle()]).fit(*motifs)


def test_a_callback_of_the_user_ends_training_without_a_word(motifs):
    stop = EarlyStopping(monitor="train_loss", patience=1, threshold=10)
    classifier = LoFIClassifier(**{**QUICK, "early_stopping": False}, callbacks=[stop])
    classifier.fit(*motifs)
    assert classifier.n_epochs_ < 8
    again = pickle.loads(pickle.dumps(classifier))
    again.set_params(warm_start=True).fit(*motifs)


def test_a_callback_cannot_stop_with_weights_that_are_nan(motifs):
    stop = EarlyStopping(monitor="train_loss", patience=1)
    options = {**QUICK, "lr": 1e30, "early_stopping": False}
    with pytest.warns(ConvergenceWarning, match="can be used"):
        classifier = LoFIClassifier(**options, callbacks=[stop]).fit(*motifs)
    assert np.isfinite(classifier.predict_proba(motifs[0])).all()


@pytest.mark.parametrize("early_stopping", [True, False])
def test_a_diverging_loss_leaves_the_last_good_weights(motifs, early_stopping):
    classifier = LoFIClassifier(**{**QUICK, "lr": 1e30, "early_stopping": early_stopping})
    with pytest.warns(ConvergenceWarning, match=r"(became|grew to) .* in epoch \d.*lr=1e\+30"):
        classifier.fit(*motifs)
    assert np.isfinite(classifier.predict_proba(motifs[0])).all()
    # And it can be trained on, with another learning rate.
    classifier.set_params(lr=0.01, max_epochs=40, warm_start=True).fit(*motifs)
    assert classifier.score(*motifs) > 0.9


def test_the_last_good_weights_are_those_of_the_epoch_before(motifs):
    class Poison(Callback):
        def on_epoch_begin(self, net, **kwargs):
            if len(net.history) == 3:
                net.module_.layers[0].temperature.data.fill_(np.nan)

    options = {**QUICK, "early_stopping": False}
    classifier = LoFIClassifier(**options, callbacks=[Poison()])
    with pytest.warns(ConvergenceWarning, match=r"became nan in epoch 3.* weights of epoch 2"):
        classifier.fit(*motifs)
    expected = LoFIClassifier(**{**options, "max_epochs": 2}).fit(*motifs)
    assert_array_equal(classifier.predict_proba(motifs[0]), expected.predict_proba(motifs[0]))


def test_history_does_not_hoard_batches(motifs):
    history = LoFIClassifier(**QUICK).fit(*motifs).history_
    assert [len(epoch["batches"]) > 0 for epoch in history] == [False] * 7 + [True]


@pytest.mark.parallel
def test_random_state_fixes_everything(motifs):
    graphs, y = motifs
    options = {**QUICK, "dropout": 0.3}
    global_state = (np.random.get_state()[1].copy(), torch.get_rng_state())
    one, other = (LoFIClassifier(**options).fit(graphs, y) for _ in range(2))
    assert_array_equal(np.random.get_state()[1], global_state[0])
    assert torch.equal(torch.get_rng_state(), global_state[1])
    assert (
        one.history_[:, ("train_loss", "valid_loss")]
        == (other.history_[:, ("train_loss", "valid_loss")])
    )
    in_worker = joblib.Parallel(n_jobs=2)(
        joblib.delayed(_fit_predict)(options, graphs, y) for _ in range(2)
    )
    for probabilities in in_worker:
        assert_allclose(probabilities, one.predict_proba(graphs), rtol=1e-5)
    different = LoFIClassifier(**{**options, "random_state": 1}).fit(graphs, y)
    assert not np.allclose(different.predict_proba(graphs), one.predict_proba(graphs))


def _fit_predict(options, graphs, y):
    return LoFIClassifier(**options).fit(graphs, y).predict_proba(graphs)


def test_refit_of_a_search_is_the_same_fit(motifs):
    graphs, y = motifs
    search = GridSearchCV(LoFIClassifier(**QUICK), {"n_masks": [4]}, cv=2).fit(graphs, y)
    alone = LoFIClassifier(**{**QUICK, "n_masks": 4}).fit(graphs, y)
    assert_array_equal(search.predict_proba(graphs), alone.predict_proba(graphs))


def test_predictions_do_not_depend_on_the_batch(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**QUICK).fit(graphs, y)
    expected = classifier.predict_proba(graphs)
    assert_allclose(classifier.predict_proba(graphs * 10), np.tile(expected, (10, 1)), rtol=1e-5)
    one_by_one = [classifier.predict_proba([graph])[0] for graph in graphs]
    assert_allclose(one_by_one, expected, rtol=1e-5)
    classifier.net_.iterator_valid__max_rows = 50
    assert_allclose(classifier.predict_proba(graphs), expected, rtol=1e-5)


def test_a_fit_that_fails_leaves_no_half_fitted_estimator(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**QUICK).fit(graphs, y)
    with pytest.raises(ValueError, match="only one class"):
        classifier.fit(graphs, ["same"] * 60)
    with pytest.raises(NotFittedError):
        classifier.predict(graphs)


def test_parameters_set_after_fit_do_not_change_predictions(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**QUICK).fit(graphs, y)
    expected = classifier.predict_proba(graphs)
    classifier.set_params(radius=3, n_masks=2, pooling="max", kernel="intersection")
    assert_array_equal(classifier.predict_proba(graphs), expected)


# Regression


def test_the_scale_of_the_target_does_not_matter(paths):
    graphs, y = paths
    for scale, shift in [(1e-12, 0.0), (1e12, -5e12), (1000.0, 1e9)]:
        plain = LoFIRegressor(**QUICK).fit(graphs, y)
        scaled = LoFIRegressor(**QUICK).fit(graphs, scale * y + shift)
        expected = scale * plain.predict(graphs) + shift
        assert_allclose(scaled.predict(graphs), expected, rtol=1e-3, atol=1e-3 * scale)


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
    with pytest.raises(ValueError, match=r"y has the shape \(5,\).*\('n_graphs', 3\)"):
        LoFIRegressor(**QUICK).fit(graphs, Y, X_val=graphs[:5], y_val=y[:5])


def test_losses_have_their_minimizers():
    """On equal graphs the best constant is the median or the mean of the target."""
    graphs = [nx.path_graph(3)] * 50
    y = np.array([0.0] * 40 + [10.0] * 10)
    options = {**FULL_BATCH, "max_epochs": 300}
    median = LoFIRegressor(**options, loss="absolute_error").fit(graphs, y).predict(graphs)
    mean = LoFIRegressor(**options, loss="squared_error").fit(graphs, y).predict(graphs)
    assert median[0] == pytest.approx(0, abs=0.3)
    assert mean[0] == pytest.approx(2, abs=0.3)


# People see it work


def test_verbose_prints_lines_where_there_is_no_terminal(motifs, capsys):
    LoFIClassifier(**QUICK, verbose=1).fit(*motifs)
    out, err = capsys.readouterr()
    assert re.search(r"\[LoFIClassifier\] epoch 8/8: valid_score=[\d.]+, valid_loss=", out)
    assert "train_loss=" in out
    assert err == ""
    LoFIClassifier(**{**QUICK, "max_epochs": 1000}, patience=2, verbose=1).fit(*motifs)
    out, _ = capsys.readouterr()
    assert len(out.splitlines()) <= 22
    assert re.search(r"stopped after epoch \d+ of 1000", out)


def test_verbose_shows_a_bar_on_a_terminal(motifs, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)  # the bar would fit a narrow terminal
    LoFIClassifier(**QUICK, verbose=1).fit(*motifs)
    out, err = capsys.readouterr()
    bar = r"LoFIClassifier: 100%\|█+\| 8/8 \[[^\r]*, valid_score=[\d.]+, valid_loss=[\d.]+"
    shown = re.search(bar, err).group()
    assert len(shown.replace("█", "")) < 80  # a narrow terminal cuts what comes behind
    assert out == ""


def test_nothing_is_printed_by_default(motifs, capsys):
    LoFIClassifier(**{**QUICK, "max_epochs": 50}, patience=1).fit(*motifs)
    assert capsys.readouterr() == ("", "")


needs_callbacks = pytest.mark.skipif(
    not hasattr(LoFIClassifier, "set_callbacks"), reason="scikit-learn before 1.9"
)


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


GRAPHS = make_motif_graphs(4, random_state=3)[0]


@needs_callbacks
def test_scikit_learn_callbacks_follow_the_epochs(motifs):
    recorder = Recorder(stop_at=3)
    classifier = LoFIClassifier(**QUICK).set_callbacks(recorder).fit(*motifs)
    epochs = ["begin epoch", "end epoch"] * 3
    assert recorder.events == ["setup", "begin fit", *epochs, "end fit", "teardown"]
    assert len(set(recorder.scores)) == 3  # the estimator can predict while it trains
    assert classifier.n_epochs_ == 3


@needs_callbacks
def test_every_epoch_that_begins_ends_whoever_stops_it(motifs):
    recorder = Recorder()
    early = EarlyStopping("train_loss", patience=2, threshold=1e9, threshold_mode="abs")
    LoFIClassifier(**QUICK, callbacks=[early]).set_callbacks(recorder).fit(*motifs)
    assert recorder.events.count("begin epoch") == recorder.events.count("end epoch") == 3


@needs_callbacks
def test_progress_bars_nest_in_a_search(motifs, capsys):
    from sklearn.callback import ProgressBar

    search = GridSearchCV(LoFIClassifier(**QUICK), {"n_masks": [4, 8]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(*motifs)
    out = capsys.readouterr().out
    assert "GridSearchCV" in out and "LoFIClassifier" in out
    depth = Recorder()
    search.set_callbacks(depth).fit(*motifs)
    assert (
        depth.events.count("end epoch")
        == sum(event == "begin epoch" for event in depth.events)
        == 5 * QUICK["max_epochs"]
    )
    copy.deepcopy(search)


@needs_callbacks
def test_callbacks_are_torn_down_after_an_error(motifs):
    graphs, _ = motifs
    recorder = Recorder()
    with pytest.raises(ValueError, match="only one class"):
        LoFIClassifier(**QUICK).set_callbacks(recorder).fit(graphs, np.zeros(60))
    assert recorder.events[-1] == "teardown"


@needs_callbacks  # fitted attributes came with the same version
def test_html_representation_shows_parameters_and_what_was_fitted(motifs):
    html = LoFIClassifier(**QUICK).fit(*motifs)._repr_html_()
    assert "n_masks" in html
    assert "node_labels_" in html


# The embedding


def test_transform_is_the_pooled_output_of_the_layers(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**QUICK).fit(graphs, y)
    names = classifier.get_feature_names_out()
    assert names[[0, 7, 8, 15]].tolist() == [
        "layer0_mask0", "layer0_mask7", "layer1_mask0", "layer1_mask7",
    ]  # fmt: skip
    embedding = classifier.transform(graphs)
    last = LoFIClassifier(**QUICK, readout="last").fit(graphs, y)
    assert embedding.shape == (60, 16) and last.transform(graphs).shape == (60, 8)
    assert last.get_feature_names_out()[0] == "layer1_mask0"
    head = classifier.module_
    with torch.no_grad():
        hidden = (torch.from_numpy(embedding) - head.embedding_mean) / head.embedding_scale
        logits = head.output(torch.relu(head.hidden(hidden)))
    probabilities = torch.softmax(logits, dim=1).numpy()
    assert_allclose(classifier.predict_proba(graphs), probabilities, rtol=1e-4, atol=1e-6)


def test_set_output_gives_a_data_frame(motifs):
    graphs, y = motifs
    classifier = LoFIClassifier(**QUICK).set_output(transform="pandas").fit(graphs, y)
    frame = classifier.transform(graphs)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == classifier.get_feature_names_out().tolist()


# Among the tools of scikit-learn


@pytest.mark.parallel
@pytest.mark.parametrize("form", [list, GraphSet.from_networkx], ids=["list", "GraphSet"])
def test_cross_validation(motifs, form):
    graphs, y = motifs
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
def test_searches_in_parallel_pickle_and_copy(motifs, form, tmp_path):
    graphs, y = motifs
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


def test_a_search_computes_egonets_and_classes_once(motifs, monkeypatch):
    graphs, y = motifs
    computed = []
    for module, name in ((_incidence, "_compute_egonets"), (_colors, "_add_level")):
        original = getattr(module, name)

        def counted(*args, name=name, original=original):
            computed.append(name)
            return original(*args)

        monkeypatch.setattr(module, name, counted)
    grid = {"n_layers": [2, 3], "n_masks": [2, 4], "radius": [1, 2], "node_label": ["label", None]}
    estimator = LoFIClassifier(max_epochs=1, random_state=0)
    GridSearchCV(estimator, grid, cv=2).fit(GraphSet.from_networkx(graphs), y)
    # Two radii; three levels each, with labels and without; for 32 candidates and a refit.
    assert computed.count("_compute_egonets") == 2
    assert computed.count("_add_level") <= 12


def n_threads(estimator, X, y):
    return torch.get_num_threads()


@pytest.mark.parallel
def test_workers_share_the_cores(motifs):
    """joblib tells its workers how many threads to use, and torch obeys."""
    scores = cross_val_score(LoFIClassifier(**QUICK), *motifs, cv=2, n_jobs=2, scoring=n_threads)
    wanted = os.environ.get("OMP_NUM_THREADS", max(1, joblib.cpu_count() // 2))
    assert_array_equal(scores, int(wanted))


def test_halving_search_over_epochs(motifs):
    search = HalvingGridSearchCV(
        LoFIClassifier(**QUICK), {"n_masks": [2, 4, 8]}, resource="max_epochs",
        min_resources=2, max_resources=6, cv=2, error_score="raise",
    ).fit(*motifs)  # fmt: skip
    assert search.best_estimator_.max_epochs == 6


def test_embedding_before_a_support_vector_machine(motifs):
    graphs, y = motifs
    pipeline = make_pipeline(LoFIClassifier(**QUICK), StandardScaler(), SVC())
    assert pipeline.fit(graphs, y).score(graphs, y) > 0.6
    assert cross_val_score(pipeline, graphs, y, cv=2, error_score="raise").shape == (2,)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda one: VotingClassifier([("a", one), ("b", clone(one))], voting="soft"),
        lambda one: StackingClassifier([("a", one)], LogisticRegression(), cv=2),
        lambda one: CalibratedClassifierCV(one, cv=2),
        lambda one: CalibratedClassifierCV(one, cv=2, ensemble=False),
        lambda one: TunedThresholdClassifierCV(one, cv=2),
    ],
    ids=["voting", "stacking", "calibrated", "calibrated once", "threshold"],
)
def test_meta_estimators(motifs, wrap):
    graphs, y = motifs
    y = np.array(["no", "yes"])[y]
    wrapped = wrap(LoFIClassifier(**QUICK)).fit(graphs, y)
    assert set(wrapped.predict(graphs)) <= {"no", "yes"}
    assert wrapped.predict_proba(graphs).shape == (60, 2)


def test_metadata_routing_of_weights(motifs):
    graphs, y = motifs
    weight = np.where(y == 1, 50.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = LoFIClassifier(**QUICK).set_fit_request(sample_weight=True)
        classifier.set_score_request(sample_weight=True)
        search = GridSearchCV(classifier, {}, cv=2, error_score="raise")
        search.fit(graphs, y, sample_weight=weight)
    expected = LoFIClassifier(**QUICK).fit(graphs, y, sample_weight=weight)
    assert_array_equal(search.predict_proba(graphs), expected.predict_proba(graphs))


def test_tags_tell_what_the_estimators_are():
    for estimator, kind in [(LoFIClassifier(), "classifier"), (LoFIRegressor(), "regressor")]:
        tags = sklearn.utils.get_tags(estimator)
        assert tags.estimator_type == kind
        assert not tags.input_tags.two_d_array
        assert tags.target_tags.required
        assert tags.target_tags.multi_output == (kind == "regressor")
        assert tags.transformer_tags is not None


def test_targets_whose_differences_are_beyond_64_bits():
    y = [-1e308, 1.7e308, -1e308, -1e308, 1.7e308, 1e308]
    graphs = [nx.path_graph(2 + i) for i in range(6)]
    fitted = LoFIRegressor(**QUICK, early_stopping=False).fit(graphs, y)
    assert np.isfinite(fitted.predict(graphs)).all()


# Written once


def documented_parameters(estimator_class):
    section = getdoc(estimator_class).split("Attributes\n")[0]
    return dict(re.findall(r"^(\w+) : (.+)$", section, flags=re.MULTILINE))


@pytest.mark.parametrize("estimator_class", [LoFIClassifier, LoFIRegressor])
def test_every_parameter_is_documented_with_its_default(estimator_class):
    documented = documented_parameters(estimator_class)
    parameters = signature(estimator_class).parameters
    assert list(documented) == list(parameters) == list(estimator_class._parameter_constraints)
    for name, parameter in parameters.items():
        assert parameter.kind is parameter.KEYWORD_ONLY
        default = re.search(r"default=(.+)$", documented[name]).group(1)
        assert eval(default) == parameter.default, name


@pytest.mark.parametrize("estimator_class", [LoFIClassifier, LoFIRegressor])
def test_docstrings_say_what_the_parameters_say_of_themselves(estimator_class):
    words = " ".join(getdoc(estimator_class).split())
    words = words.replace(", stratified by class. Not", ". Not")  # what only classes know
    for one in dataclasses.fields(estimator_class):
        assert " ".join(one.metadata["text"].split()) in words, one.name


def test_classifier_and_regressor_share_parameters_and_their_words():
    classifier, regressor = map(documented_parameters, (LoFIClassifier, LoFIRegressor))
    assert set(classifier) - set(regressor) == {"class_weight"}
    assert set(regressor) - set(classifier) == {"loss"}
    shared = set(classifier) & set(regressor)
    assert {name: classifier[name] for name in shared} == {n: regressor[n] for n in shared}


# Devices


def test_a_model_from_the_gpu_predicts_on_the_cpu(motifs):
    """No device but the net's own, which skorch maps, may be remembered in a pickle."""
    net = LoFIClassifier(**QUICK).fit(*motifs).net_
    devices = [name for name, value in vars(net).items() if value in ("cpu", "cuda")]
    assert devices == ["device"]


def test_auto_takes_the_gpu_where_there_is_one(motifs):
    classifier = LoFIClassifier(**QUICK, device="auto").fit(*motifs)
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert classifier.net_.device == expected
    assert next(classifier.module_.parameters()).device.type == expected


@pytest.mark.cuda
@pytest.mark.parametrize(
    "options", [{}, {"pooling": "mean", "kernel": "intersection"}, {"pooling": "max"}]
)
def test_the_gpu_agrees_with_the_cpu(motifs, options):
    graphs, y = motifs
    results = [
        LoFIClassifier(**FULL_BATCH, **options, device=device).fit(graphs, y).predict_proba(graphs)
        for device in ("cpu", "cuda")
    ]
    assert_allclose(*results, rtol=1e-2, atol=1e-3)
