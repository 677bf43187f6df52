import dataclasses
import re
from inspect import getdoc, signature

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch.testing import assert_close
from training_helpers import QUICK, weights_of

from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi import _lofi as lofi
from sklofi.datasets import load_graph_atlas, make_motif_graphs
from sklofi.nn import LoFINetwork

# Learning


def test_the_published_training_is_that_of_the_paper(larger_motifs):
    graphs, y = larger_motifs
    published = LoFIClassifier.published(n_layers=3, random_state=0)
    assert {name: published.get_params()[name] for name in ("lr", "batch_size", "max_epochs")} == {
        "lr": 0.001,
        "batch_size": 32,
        "max_epochs": 2000,
    }
    assert published.early_stopping and published.validation_fraction == pytest.approx(1 / 10)
    published.set_params(max_epochs=2).fit(graphs, y)
    assert len(published.members_) == 1 and published.counts_ is None
    assert "n_relations" not in published.net_.get_params_for("module")
    assert all("offset" not in name for name, _ in published.module_.named_parameters())
    assert LoFIRegressor.published().loss == "absolute_error"


def test_parameters_of_the_published_network_can_be_changed():
    assert LoFIClassifier.published(lr=0.01, max_ring=6).get_params()["lr"] == 0.01
    assert LoFIClassifier.published(max_ring=6).get_params()["max_ring"] == 6


def test_classifier_learns_planted_motifs():
    graphs, y = make_motif_graphs(300, random_state=1)
    classifier = LoFIClassifier(max_epochs=10, random_state=0).fit(graphs[:200], y[:200])
    assert classifier.score(graphs[200:], y[200:]) > 0.95


def test_regressor_learns_a_property_of_the_atlas():
    graphs, y = load_graph_atlas(target="spectral_radius")
    regressor = LoFIRegressor(n_members=2, max_epochs=10, random_state=0).fit(graphs[::2], y[::2])
    assert regressor.score(graphs[1::2], y[1::2]) > 0.95


@pytest.mark.parametrize("options", [
    {"kernel": "intersection"}, {"pooling": "mean"}, {"pooling": "max"}, {"readout": "last"},
    {"dropout": 0.2}, {"radius": 0}, {"radius": 3}, {"n_layers": 1}, {"weight_decay": 0.1},
    {"n_words": 1}, {"n_masks": 1}, {"batch_size": 1, "max_epochs": 1},
], ids=str)  # fmt: skip
def test_every_option_trains(larger_motifs, options):
    graphs, y = larger_motifs
    classifier = LoFIClassifier(**{**QUICK, **options}).fit(graphs, y)
    losses = classifier.history_[:, "train_loss"]
    assert np.isfinite(losses).all()
    assert len(losses) == 1 or losses[-1] < losses[0]


def test_learned_histograms_stay_non_negative(larger_motifs):
    classifier = LoFIClassifier(**{**QUICK, "lr": 0.5}).fit(*larger_motifs)
    histograms = [layer.histogram for layer in classifier.module_.layers]
    assert min(histogram.min().item() for histogram in histograms) >= 0


def test_temperature_is_learned(larger_motifs):
    classifier = LoFIClassifier(**QUICK).fit(*larger_motifs)
    assert len(torch.unique(classifier.module_.layers[0].temperature)) > 1


# Initial masks


def start_of(graphs, n_layers=3, weight=None):
    """The layers as they are before training."""
    classifier = LoFIClassifier(
        n_members=1,
        counts=False,
        n_layers=n_layers,
        n_masks=4,
        max_epochs=1,
        lr=1e-30,
        early_stopping=False,
        random_state=0,
    ).fit(graphs, np.arange(len(graphs)) % 2, sample_weight=weight)
    return weights_of(classifier.module_.layers)


def test_a_list_and_a_slice_start_alike_however_deep():
    cliques = [nx.ring_of_cliques(2 + i % 4, 3 + i % 5) for i in range(40)]
    for i, graph in enumerate(cliques):
        graph.add_edge(0, len(graph) // (2 + i % 3))
    others = [nx.gnp_random_graph(9, 0.4, seed=i) for i in range(40)]
    whole = GraphSet.from_networkx(
        [graph for pair in zip(others, cliques, strict=True) for graph in pair]
    )
    alike = start_of(cliques, n_layers=13), start_of(whole[1::2], n_layers=13)
    assert_close(*alike, rtol=1e-3, atol=1e-3)


def test_masks_start_at_few_graphs_of_large_sets_and_none_without_weight(monkeypatch):
    started = []
    start = LoFINetwork.start_at_data_

    def recorded(self, x, egonets, graphs, weight, generator):
        started.append((len(weight), len(x), graphs[0].row_sums()))
        start(self, x, egonets, graphs, weight, generator)

    monkeypatch.setattr(LoFINetwork, "start_at_data_", recorded)
    monkeypatch.setattr(lofi, "N_EXAMPLES", 10)
    graphs = [nx.path_graph(5 + i % 2) for i in range(60)]
    heavy = np.where(np.arange(60) % 2, 1.0, 1e-60)  # gone in 32 bits
    start_of(graphs, weight=heavy)
    assert started[-1][0] == 10 and (started[-1][2] == 6).all()
    monkeypatch.setattr(lofi, "N_EXAMPLE_NODES", 27)
    start_of(graphs)
    assert started[-1][0] in (4, 5)
    monkeypatch.setattr(lofi, "N_EXAMPLE_NODES", 1)
    start_of(graphs)
    assert started[-1][0] == 1


# Embedding and prediction


def test_transform_is_the_pooled_output_of_the_layers(larger_motifs):
    graphs, y = larger_motifs
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


def test_parameters_set_after_fit_do_not_change_predictions(larger_motifs):
    graphs, y = larger_motifs
    classifier = LoFIClassifier(**QUICK).fit(graphs, y)
    expected = classifier.predict_proba(graphs)
    classifier.set_params(radius=3, n_masks=2, pooling="max", kernel="intersection")
    assert_array_equal(classifier.predict_proba(graphs), expected)


# Parameters


@pytest.mark.parametrize(
    "name, value",
    [
        ("kernel", "rbf"), ("pooling", "min"), ("readout", "first"), ("radius", -1),
        ("n_layers", 0), ("n_masks", 2.5), ("n_words", 0), ("dropout", 1.0),
    ],
)  # fmt: skip
def test_unknown_parameter_values_are_refused(larger_motifs, name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of LoFIClassifier must be"):
        LoFIClassifier(**{**QUICK, name: value}).fit(*larger_motifs)


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
    for field in dataclasses.fields(estimator_class):
        assert " ".join(field.metadata["text"].split()) in words, field.name


def test_classifier_and_regressor_share_parameters_and_their_words():
    classifier, regressor = map(documented_parameters, (LoFIClassifier, LoFIRegressor))
    assert set(classifier) - set(regressor) == {"class_weight"}
    assert set(regressor) - set(classifier) == {"loss"}
    shared = set(classifier) & set(regressor)
    assert {name: classifier[name] for name in shared} == {n: regressor[n] for n in shared}


@pytest.mark.parametrize("kernel", ["l1", "intersection"])
def test_the_largest_weights_of_edges_can_be_trained_with(kernel):
    """Found by torture: with weights of 1e25 and more, gradients became NaN."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        graphs = [nx.gnp_random_graph(4, 0.7, seed=int(rng.integers(2**31))) for _ in range(3)]
        for graph in graphs:
            for u, v in graph.edges:
                graph.edges[u, v]["weight"] = float(rng.choice([0, 1, 1e15]))
        parameters = {"n_layers": 2, "n_masks": 2, "n_words": 3, "max_epochs": 3, "random_state": 0}
        regressor = LoFIRegressor(**parameters, edge_weight="weight", kernel=kernel)
        regressor.fit(graphs, [0, 0, 0])
        assert np.isfinite(regressor.predict(graphs)).all()
        assert np.isfinite(regressor.history_[:, "train_loss"]).all()
