"""All peers hold the contract of LoFI; what is special about one is in the tests of its network."""

import copy
import pickle
import warnings
from dataclasses import fields
from inspect import getdoc, signature

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import sklofi
import sklofi._memory
import sklofi.training._checkpoint
import sklofi.training._flat_estimator
import sklofi.training._net
from helpers import SURROUNDINGS, global_state
from sklofi import GraphSet, LoFIClassifier, baselines, compare
from sklofi.datasets import make_motif_graphs
from sklofi.nn import GIN
from sklofi.testing import graph_estimator_checks
from sklofi.training import FlatEstimator, NetworkClassifier, NetworkEstimator

ESTIMATORS = [getattr(baselines, name) for name in baselines.__all__]
PEERS = [kind for kind in ESTIMATORS if issubclass(kind, NetworkEstimator)]
CLASSIFIERS = [one for one in PEERS if issubclass(one, NetworkClassifier)]

# Those that read edge labels by option, and those that use weights of edges.
BY_OPTION = [getattr(baselines, f"{name}Classifier") for name in ("GAT", "GIN", "GraphSAGE")]
WEIGHING = [
    getattr(baselines, f"{name}Classifier") for name in ("DGCNN", "GCN", "GIN", "GraphSAGE", "SGIN")
]

# What makes the checks fast, and what some need to learn anything from so little.
SMALL = {
    "max_epochs": 5,
    "n_hidden": 8,
    "n_dense": 8,
    "n_penultimate": 8,
    "n_last": 8,
    "n_layers": 2,
    "n_heads": 2,
    "dropout": 0.1,
    "lr": 0.01,
    "random_state": 0,
}


def small(kind, **more):
    names = signature(kind).parameters
    return kind(**{name: value for name, value in {**SMALL, **more}.items() if name in names})


@pytest.fixture(scope="module")
def motifs():
    return make_motif_graphs(120, random_state=0)


def test_there_is_a_classifier_and_a_regressor_of_every_peer():
    names = {kind.__name__.removesuffix("Classifier") for kind in CLASSIFIERS}
    assert names == {
        *("DeepMultisets", "GCN", "GraphSAGE", "GIN", "SGIN", "GAT", "ECC", "SFAGNN"),
        *("DGCNN", "DiffPool", "RWGNN", "KerGNN"),
    }
    assert {kind.__name__ for kind in PEERS} == {
        f"{name}{task}" for name in names for task in ("Classifier", "Regressor")
    }


def checks_of(kind, **more):
    """All checks with few epochs, but for the one that asks whether something was learned."""
    patient = {"max_epochs": 60, "dropout": 0.0, "early_stopping": False}
    longer = dict(graph_estimator_checks(small(kind, **patient, **more)))
    for name, check in graph_estimator_checks(small(kind, **more)):
        yield name, longer[name] if name == "check_learns_from_labels" else check


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{kind.__name__}-{name}")
        for kind in PEERS
        for name, check in checks_of(kind)
    ],
)
def test_graph_checks_pass(check):
    check()  # raises what it finds


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{kind.__name__}-{name}")
        for kind in BY_OPTION
        for name, check in checks_of(kind, edge_label="label")
    ],
)
def test_graph_checks_pass_with_edge_labels(check):
    check()


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_peers_learn_to_find_a_motif(kind, motifs):
    graphs, y = motifs
    score = kind(random_state=0).fit(graphs[:90], y[:90]).score(graphs[90:], y[90:])
    # Labels are permuted, so that the motif shows in its edges only.
    assert score > (0.4 if "Multisets" in kind.__name__ else 0.75)


@pytest.mark.parametrize("kind", [one for one in PEERS if one not in CLASSIFIERS])
def test_peers_learn_a_number(kind):
    """How many of twelve nodes are of the rarer kind."""
    rng = np.random.RandomState(0)
    y = rng.randint(0, 7, 160)
    graphs = [nx.cycle_graph(12) for _ in y]
    for graph, n_rare in zip(graphs, y, strict=True):
        kinds = ["N"] * n_rare + ["C"] * (12 - n_rare)
        nx.set_node_attributes(graph, dict(enumerate(rng.permutation(kinds).tolist())), "label")
    fitted = kind(random_state=0, max_epochs=40).fit(graphs[:120], y[:120])
    assert fitted.score(graphs[120:], y[120:]) > 0.5


FOUND_IN_DATA = {"n_features", "n_outputs", "n_edge_features", "n_graph_features"}


@pytest.mark.parametrize("kind", PEERS)
def test_parameters_are_those_of_the_network(kind):
    of_network = signature(kind._network).parameters
    own = {one.name: one for one in fields(kind)}
    shared = {one.name for one in fields(NetworkEstimator)}
    shared |= {"class_weight", "loss", "edge_label", "edge_weight"}
    assert set(own) - shared == set(of_network) - FOUND_IN_DATA
    for name in set(own) - shared - {"n_sorted", "n_clusters"}:  # found there, too
        assert own[name].default == of_network[name].default, name


@pytest.mark.parametrize("kind", PEERS)
def test_docstrings_list_all_parameters(kind):
    text = getdoc(kind)
    assert f":class:`sklofi.nn.{kind._network.__name__}`" in text
    for one in fields(kind):
        assert f"\n{one.name} : " in text
    assert ".. math::\n" in kind._network.__doc__ and "References" in kind._network.__doc__


@pytest.mark.parametrize("kind", PEERS)
def test_saved_peers_predict_the_same(kind, motifs, tmp_path):
    graphs, y = motifs
    fitted = small(kind, max_epochs=3).fit(graphs[:40], y[:40])
    path = tmp_path / "peer.safetensors"
    fitted.save(path)
    for restored in (
        sklofi.load(path),
        kind.load(path, device="cpu"),
        pickle.loads(pickle.dumps(fitted)),
    ):
        assert type(restored) is kind
        assert_array_equal(restored.transform(graphs), fitted.transform(graphs))
        assert_array_equal(restored.predict(graphs), fitted.predict(graphs))
    # and training goes on as if nothing had happened
    for one in (fitted, restored):
        one.set_params(warm_start=True).fit(graphs[:40], y[:40])
    assert_array_equal(restored.predict(graphs), fitted.predict(graphs))


@pytest.mark.parametrize("kind", PEERS)
def test_a_peer_that_parameters_no_longer_describe_is_not_trained_further(kind, motifs):
    graphs, y = motifs
    fitted = small(kind, max_epochs=1, warm_start=True).fit(graphs[:40], y[:40])
    own = {one.name for one in fields(kind)} - kind._may_change
    assert {"n_layers", "n_hidden", "dropout", "pooling", "edge_label", "loss"} & own
    for name in own:
        peer = pickle.loads(pickle.dumps(fitted))
        setattr(peer, name, value := object())
        with pytest.raises(ValueError, match=f"{name} from .* to <object"):
            peer._check_same_network("warm_start=True")
        assert getattr(peer, name) is value
    fitted.set_params(lr=1e-4, batch_size=5).fit(graphs[:40], y[:40]).partial_fit(graphs, y)


class Crash(Exception):
    pass


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_fit_that_crashed_ends_in_the_same_model(kind, motifs, tmp_path, monkeypatch):
    monkeypatch.setattr(sklofi.training._checkpoint, "SECONDS_BETWEEN", 0)
    graphs, y = motifs
    peer = small(kind, max_epochs=4)
    expected = clone(peer).fit(graphs, y).predict_proba(graphs)
    written = sklofi.training._checkpoint.Checkpoint.on_epoch_end
    epochs = []

    def crash(self, net, **kwargs):
        written(self, net, **kwargs)
        epochs.append(len(net.history))
        if len(epochs) == 2:
            raise Crash

    monkeypatch.setattr(sklofi.training._checkpoint.Checkpoint, "on_epoch_end", crash)
    with pytest.raises(Crash):
        clone(peer).fit(graphs, y, checkpoint=tmp_path / "fit")
    found = clone(peer).fit(graphs, y, checkpoint=tmp_path / "fit").predict_proba(graphs)
    assert epochs == [1, 2, 3, 4]
    assert_array_equal(found, expected)


# Normalization


NORMALIZING = [
    getattr(baselines, f"{name}Classifier")
    for name in ("DiffPool", "ECC", "GIN", "KerGNN", "RWGNN", "SGIN")
]


def normalized_as_in_training(fitted, graphs):
    """Logits as they are predicted, and in training if all graphs are a batch."""
    net = fitted.net_
    batch = fitted._prediction_data(graphs).batch(np.arange(len(graphs)))[0]
    with torch.no_grad():
        predicted = net.module_.eval()(*batch.inputs)
        for module in net.module_.modules():
            if isinstance(module, torch.nn.BatchNorm1d):
                module.train()
        trained = net.module_(*batch.inputs)
    net.module_.eval()
    return predicted, trained


@pytest.mark.parametrize("kind", NORMALIZING)
def test_statistics_belong_to_the_weights_that_are_kept(kind, motifs):
    """Averages of them would not: they would be those of other weights."""
    graphs, y = motifs
    graphs, y = graphs[:40], y[:40]
    peer = small(kind, batch_size=16, max_epochs=4)
    for fitted in (
        clone(peer).fit(graphs, y, X_val=graphs[:10], y_val=y[:10]),
        clone(peer).set_params(early_stopping=False).fit(graphs, y),
        clone(peer).partial_fit(graphs, y),
    ):
        predicted, trained = normalized_as_in_training(fitted, graphs)
        torch.testing.assert_close(predicted, trained, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", NORMALIZING)
def test_the_validation_loss_is_that_of_a_guess_where_there_is_nothing_to_learn(kind):
    """All nodes are alike, which batch normalization makes nothing of, or of rounding, anything."""
    sizes = np.random.RandomState(0).randint(3, 23, 80)
    graphs, y = [nx.cycle_graph(n) for n in sizes.tolist()], np.arange(80) % 2
    fitted = small(kind, n_layers=4, max_epochs=12, patience=12).fit(
        graphs[:60], y[:60], X_val=graphs[60:], y_val=y[60:]
    )
    assert max(fitted.history_[:, "valid_loss"]) < 1.5  # of a guess: 0.69


@pytest.mark.parametrize("kind", NORMALIZING)
def test_few_graphs_do_not_make_partial_fit_forget_the_statistics_of_all_others(kind, motifs):
    graphs, y = motifs
    fitted = small(kind).fit(graphs, y)
    statistics = [one.clone() for one in fitted.module_.statistics()]
    single = nx.star_graph(60)
    nx.set_node_attributes(single, "C", "label")
    fitted.partial_fit([single, graphs[0]], y[:2])
    batch = fitted._prediction_data([single, graphs[0]]).batch(np.arange(2))[0]
    alone = copy.deepcopy(fitted.module_)
    alone.find_statistics_([batch.inputs])
    share = 2 / (2 + fitted.batch_size)
    for before, found, kept in zip(
        statistics[::2], alone.statistics()[::2], fitted.module_.statistics()[::2], strict=True
    ):  # the means
        torch.testing.assert_close(kept, before.lerp(found, share), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", NORMALIZING)
def test_weights_that_vanish_in_32_bits_give_finite_predictions(kind, motifs):
    graphs, y = motifs
    weight = np.where(np.arange(40) < 2, 1.0, 1e-60)
    peer = small(kind, batch_size=4, max_epochs=2)
    fitted = peer.fit(graphs[:40], y[:40], sample_weight=weight)
    assert np.isfinite(fitted.predict_proba(graphs)).all()


def test_statistics_of_large_sets_are_found_in_some_of_their_graphs(motifs, monkeypatch):
    graphs, y = motifs
    n_graphs = []
    find = GIN.find_statistics_

    def counted(self, batches, earlier):
        batches = list(batches)
        n_graphs.append(sum(graphs.n_graphs for (graphs,) in batches))
        find(self, batches, earlier)

    monkeypatch.setattr(GIN, "find_statistics_", counted)
    monkeypatch.setattr(sklofi.training._net, "N_STATISTICS", 50)
    peer = small(baselines.GINClassifier, max_epochs=1, early_stopping=False)
    for batch_size, weight, expected in (
        (20, None, 50),  # the largest batch of prediction, but for this
        (100, None, 100),  # a batch of training
        (20, 1 + y, 120),  # few of them may have most of the weight
    ):
        net = clone(peer).set_params(batch_size=batch_size)
        monkeypatch.setattr(sklofi.training._flat_estimator, "PREDICTION_GRAPHS", 25)
        net.fit(graphs, y, sample_weight=weight)
        assert n_graphs.pop() == expected


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_what_the_user_has_set_changes_no_number(kind, surroundings, motifs):
    graphs, y = motifs
    peer = small(kind, max_epochs=2)
    expected = clone(peer).fit(graphs[:40], y[:40]).predict_proba(graphs[:40])
    before = global_state()
    with SURROUNDINGS[surroundings]():
        found = clone(peer).fit(graphs[:40], y[:40]).predict_proba(graphs[:40])
    assert global_state() == before
    assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_features_of_any_size_give_finite_predictions(kind):
    graphs = [nx.star_graph(3 + i % 5) for i in range(24)]
    for i, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {v: [1e30 * (v - 2), i * 1e-30] for v in graph}, "x")
    peer = small(kind, node_features="x").fit(graphs, np.arange(24) % 2)
    far = nx.star_graph(50)
    nx.set_node_attributes(far, {v: [1e38, -1e38] for v in far}, "x")
    assert np.isfinite(peer.predict_proba([*graphs, far])).all()


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("early_stopping", [True, False])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learning_rates_of_any_size_give_finite_predictions(kind, early_stopping, motifs):
    graphs, y = motifs
    for lr in (10.0, 1e3, 1e5, 1e10, 1e38):
        peer = small(kind, max_epochs=3, lr=lr, early_stopping=early_stopping)
        assert np.isfinite(peer.fit(graphs[:30], y[:30]).predict_proba(graphs)).all()
        peer = small(kind, lr=lr).partial_fit(graphs[:30], y[:30])
        assert np.isfinite(peer.predict_proba(graphs)).all()


def test_peers_and_lofi_stand_side_by_side_in_a_comparison(motifs):
    candidates = {
        "LoFI": LoFIClassifier(max_epochs=5, random_state=0),
        "GIN": small(baselines.GINClassifier),
        "fingerprint": baselines.FingerprintClassifier(),
    }
    result = compare(candidates, *motifs, cv=3)
    assert set(result.means()) == set(candidates)


# Edge labels


def colored(graphs):
    """Nodes at both ends of a bond are of two kinds, so that averages see which bond it is."""
    for graph in graphs:
        nx.set_node_attributes(graph, dict(enumerate("CNONCO")), "label")


def bonds(kind):
    """Rings of six with bonds that alternate, or come in threes."""
    graphs, y = [], []
    for i in range(60):
        graph = nx.cycle_graph(6)
        pattern = "-=-=-=" if i % 2 else "---==="
        for (u, v), bond in zip(graph.edges, pattern, strict=True):
            graph.edges[u, v][kind] = bond
        graphs.append(graph)
        y.append(i % 2)
    return graphs, np.array(y)


def test_ecc_sees_edge_labels_and_can_be_told_not_to():
    graphs, y = bonds("label")
    options = {"random_state": 0, "n_layers": 2, "max_epochs": 60, "lr": 0.01}
    ecc = baselines.ECCClassifier(**options).fit(graphs, y)
    assert ecc.score(graphs, y) == 1
    X = GraphSet.from_networkx(graphs, edge_label="label")
    for some in (graphs, X):
        blind = baselines.ECCClassifier(**options, edge_label=None).fit(some, y)
        assert blind.score(graphs, y) == blind.score(X, y) == 0.5
    assert_allclose(ecc.predict_proba(X), ecc.predict_proba(graphs), rtol=1e-5)
    with pytest.raises(ValueError, match="without edge labels, but ECCClassifier was fitted on"):
        ecc.predict(GraphSet.from_networkx(graphs, edge_label=None))


@pytest.mark.parametrize("kind", BY_OPTION)
def test_by_option_peers_see_edge_labels(kind):
    graphs, y = bonds("label")
    colored(graphs)
    X = GraphSet.from_networkx(graphs)
    options = {"random_state": 0, "n_layers": 2, "max_epochs": 100, "lr": 0.01}
    for some in (graphs, X):
        with pytest.warns(UserWarning, match="does not use edge labels.* Pass edge_label='label'"):
            blind = kind(**options).fit(some, y)
        assert blind.score(graphs, y) == blind.score(X, y) == 0.5
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            peer = kind(**options, edge_label="label").fit(some, y)
        assert peer.score(graphs, y) == peer.score(X, y) == 1
        assert peer.net_.module__n_edge_features == 2
        assert blind.module_.n_edge_features == 0


@pytest.mark.parametrize("kind", BY_OPTION)
def test_parallel_edges_of_different_labels_are_two_messages(kind):
    graphs, y = [], np.arange(40) % 2
    for i in range(40):
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(["u", "v", "w"])
        graph.add_edge("u", "u", label="loop")
        graph.add_edge("u", "v", label="-")
        graph.add_edge("u", "v", label="=" if i % 2 else "-")
        graph.add_edge("w", "v", label="=")
        graphs.append(graph)
    peer = small(kind, edge_label="label", max_epochs=2).fit(graphs, y)
    flat = peer._prediction_data(graphs).batch(np.array([0, 1]))[0].graphs
    # Messages go from v to u. Labels are sorted: "-", "=", "loop".
    messages = {*zip(*flat.edge_index.tolist(), flat.edge_kinds.tolist(), strict=True)}
    assert messages == {(0, 0, 2), (1, 0, 0), (1, 2, 1), (3, 3, 2), (4, 3, 0), (4, 3, 1), (4, 5, 1)}
    assert flat.edge_index.shape[1] == 7
    blind = small(kind, max_epochs=1).fit(GraphSet.from_networkx(graphs, edge_label=None), y)
    assert blind._prediction_data(graphs).batch(np.array([1]))[0].graphs.edge_index.shape[1] == 3


@pytest.mark.parametrize("kind", [baselines.ECCClassifier, *BY_OPTION])
def test_peers_are_saved_with_their_edge_labels(kind, tmp_path):
    graphs, y = bonds("order")
    for graph in graphs:  # attention sees edges only where neighbors differ
        nx.set_node_attributes(graph, {node: node for node in graph}, "label")
    peer = small(kind, edge_label="order").fit(graphs, y)
    peer.save(tmp_path / "peer")
    expected = peer.predict_proba(graphs)
    for restored in (sklofi.load(tmp_path / "peer"), pickle.loads(pickle.dumps(peer))):
        assert_array_equal(restored.predict_proba(graphs), expected)
    graphs[3].edges[0, 1]["order"] = "?"
    found = peer.predict_proba(graphs)
    assert np.isfinite(found).all() and np.abs(found[3] - expected[3]).max() > 1e-6
    with pytest.raises(ValueError, match=r"Graph 3, edge \(0, 1\), has the label '\?', which no"):
        peer.set_params(handle_unknown="error").predict(graphs)


@pytest.mark.filterwarnings("ignore:Edge labels that no training graph has:UserWarning")
def test_labels_that_training_did_not_have_are_vectors_of_zeros():
    graphs, y = bonds("label")
    peer = small(baselines.GINClassifier, edge_label="label").fit(graphs, y)
    graphs[0].edges[0, 1]["label"] = "?"
    flat = peer._prediction_data(graphs[:1]).batch(np.array([0]))[0].graphs
    vectors = flat.edge_features[flat.edge_kinds]
    assert (vectors.sum(1) == 0).sum() == 2 and vectors.sum() == 10


@pytest.mark.parametrize("kind", [baselines.ECCClassifier, *BY_OPTION])
def test_edge_labels_tell_checkpoints_apart(kind, tmp_path):
    graphs, y = bonds("label")
    peer = small(kind, edge_label="label")
    expected = clone(peer).fit(graphs, y, checkpoint=tmp_path / "fit").predict_proba(graphs)
    again = clone(peer).fit(graphs, y, checkpoint=tmp_path / "fit").predict_proba(graphs)
    assert_array_equal(again, expected)
    for graph in graphs:
        for edge in graph.edges.values():
            edge["label"] = edge["label"].replace("=", "#")
    with pytest.raises(ValueError, match="belongs to a fit of other graphs or targets"):
        clone(peer).fit(graphs, y, checkpoint=tmp_path / "fit")


# Edge weights


def weighted_rings():
    """Rings of C C N N C C N N, in which edges of equal or of different nodes are heavy."""
    graphs, y = [], np.arange(60) % 2
    for is_between in y.tolist():
        graph = nx.cycle_graph(8)
        nx.set_node_attributes(graph, dict(enumerate("CCNNCCNN")), "label")
        for u, v in graph.edges:
            differ = graph.nodes[u]["label"] != graph.nodes[v]["label"]
            graph.edges[u, v]["load"] = 3.0 if differ == bool(is_between) else 0.5
        graphs.append(graph)
    return graphs, y


@pytest.mark.parametrize("kind", WEIGHING)
def test_graphs_that_differ_in_weights_only_are_told_apart(kind, tmp_path):
    graphs, y = weighted_rings()
    options = {"random_state": 0, "n_layers": 2, "max_epochs": 100, "lr": 0.01}
    assert kind(**options).fit(graphs, y).score(graphs, y) == 0.5
    peer = kind(**options, edge_weight="load").fit(graphs, y)
    assert peer.score(graphs, y) == 1
    X = GraphSet.from_networkx(graphs, edge_label=None, edge_weight="load")
    of_set = kind(**options, edge_weight="load").fit(X, y)
    assert_array_equal(of_set.predict_proba(X), peer.predict_proba(graphs))
    peer.save(tmp_path / "peer")
    for restored in (sklofi.load(tmp_path / "peer"), pickle.loads(pickle.dumps(peer))):
        assert_array_equal(restored.predict_proba(graphs), peer.predict_proba(graphs))


@pytest.mark.parametrize("kind", WEIGHING)
def test_weights_have_to_be_there_if_they_were_in_training(kind):
    graphs, y = weighted_rings()
    weighted = GraphSet.from_networkx(graphs, edge_label=None, edge_weight="load")
    plain = GraphSet.from_networkx(graphs, edge_label=None)
    name = kind.__name__
    for X, other in ((weighted, plain), (plain, weighted)):
        here, there = ("without", "with") if other is plain else ("with", "without")
        message = f"graphs {here} edge weights, but {name} was fitted on graphs {there} edge"
        with pytest.raises(ValueError, match=message):
            small(kind, max_epochs=1).fit(X, y).predict(other)


@pytest.mark.parametrize("kind", [one for one in CLASSIFIERS if one not in WEIGHING])
def test_peers_that_do_not_use_weights_say_so(kind):
    graphs, y = weighted_rings()
    X = GraphSet.from_networkx(graphs, edge_weight="load")
    with pytest.warns(UserWarning, match=f"{kind.__name__} does not use edge weights"):
        fitted = small(kind, max_epochs=1).fit(X, y)
    first, second = fitted.predict_proba(X[:2])
    assert_allclose(first, second, rtol=1e-6)  # to rounding: old versions sum a batch otherwise


@pytest.mark.parametrize("size", [1e-40, 1e15])
@pytest.mark.parametrize("kind", WEIGHING)
def test_the_smallest_and_largest_weights_give_finite_predictions(kind, size):
    graphs, y = weighted_rings()
    peer = small(kind, max_epochs=2, edge_weight="load").fit(graphs, y)
    for edge in graphs[0].edges.values():
        edge["load"] = size
    assert np.isfinite(peer.predict_proba(graphs)).all()
    assert np.isfinite(peer.fit(graphs, y).predict_proba(graphs)).all()


# What networks find in the data


def test_dgcnn_keeps_the_size_that_60_percent_of_the_graphs_do_not_exceed():
    graphs = [nx.path_graph(n) for n in range(11, 31)]
    peer = small(baselines.DGCNNClassifier, early_stopping=False)
    assert peer.fit(graphs, np.arange(20) % 2).module_.n_sorted == 22  # twelve of twenty
    weight = np.where(np.arange(20) < 16, 1, 10)
    copies = np.repeat(np.arange(20), weight)
    weighted = clone(peer).fit(graphs, np.arange(20) % 2, sample_weight=weight)
    copied = clone(peer).fit([graphs[i] for i in copies], copies % 2)
    assert weighted.module_.n_sorted == copied.module_.n_sorted == 28
    fitted = small(baselines.DGCNNClassifier, n_sorted=12).fit(graphs, np.arange(20) % 2)
    assert fitted.module_.n_sorted == 12


def test_diffpool_has_clusters_in_proportion_to_the_largest_graph():
    graphs = [nx.path_graph(n) for n in range(11, 31)]
    for ratio, n_clusters in ((0.1, 3), (0.25, 8)):
        peer = small(baselines.DiffPoolClassifier, early_stopping=False, cluster_ratio=ratio)
        assert peer.fit(graphs, np.arange(20) % 2).net_.module__n_clusters == n_clusters


@pytest.mark.parametrize("n_features", [0, 1, 50])
def test_rwgnn_tells_nodes_apart_from_the_start(n_features):
    """Neither are all nodes alike to its sigmoid, nor is it saturated."""
    rng = np.random.RandomState(0)
    graphs = [nx.path_graph(10) for _ in range(20)]
    for graph in graphs:
        for node in graph.nodes.values():
            node["label"] = rng.choice(list("CNO"))
            node["x"] = rng.randn(n_features) if n_features else 0.0
    options = {"node_features": "x" if n_features else None, "lr": 1e-9, "max_epochs": 1}
    X = GraphSet.from_networkx(graphs, node_features=options["node_features"])
    fitted = baselines.RWGNNClassifier(**options, random_state=0).fit(X, np.arange(20) % 2)
    with torch.no_grad():
        nodes = fitted.module_.inputs(fitted._prediction_data(X).batch(np.arange(20))[0].graphs.x)
    assert 1 < nodes.std() < 4


def test_numbers_of_numpy_can_be_searched(motifs):
    graphs, y = motifs
    for kind in CLASSIFIERS:
        names = [one.name for one in fields(kind) if type(getattr(small(kind), one.name)) is int]
        own = {"n_hidden", "n_heads", "n_layers", "n_sorted", "filter_size"} & {*names}
        peer = small(kind, max_epochs=1)
        peer.set_params(**{name: np.uint8(getattr(peer, name)) for name in own})
        peer.fit(graphs[:20], y[:20])
        expected = small(kind, max_epochs=1).fit(graphs[:20], y[:20])
        assert_array_equal(peer.predict_proba(graphs), expected.predict_proba(graphs))


def test_egonets_of_hubs_are_counted_before_they_are_made(monkeypatch):
    graphs = [nx.star_graph(300)] * 4
    peer = baselines.KerGNNClassifier(radius=2, early_stopping=False, max_epochs=1)
    monkeypatch.setattr(sklofi._memory, "memory_size", lambda: 2**30)
    with pytest.raises(MemoryError, match="A batch of 4 graphs with 1,204 nodes and 2,400 edges"):
        peer.fit(graphs, [0, 1, 0, 1])
    peer.set_params(radius=70).fit([nx.path_graph(4 + i % 3) for i in range(4)], [0, 1, 0, 1])


def test_diffpool_takes_large_graphs_beside_small_ones(motifs):
    graphs, y = motifs
    fitted = small(baselines.DiffPoolClassifier).fit(graphs, y)
    large = nx.path_graph(3000)
    nx.set_node_attributes(large, "C", "label")
    assert np.isfinite(fitted.predict_proba([graphs[0]] * 50 + [large])).all()


def test_a_first_partial_fit_that_fails_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr(sklofi._memory, "memory_size", lambda: 2**20)
    peer = baselines.GINClassifier()
    with pytest.raises(MemoryError):
        peer.partial_fit([nx.path_graph(500)] * 4, [0, 1, 0, 1])
    assert not hasattr(peer, "net_")


def test_a_peer_may_change_the_default_of_a_shared_parameter():
    for kind in (baselines.GINClassifier, baselines.GINRegressor, baselines.SGINClassifier):
        assert kind().lr == 0.001
        assert signature(kind).parameters["lr"].default == 0.001
    assert baselines.GCNClassifier().lr == LoFIClassifier().lr == 0.005
    with pytest.raises(ValueError, match="'lr' parameter of GINClassifier must be a float in"):
        baselines.GINClassifier(lr=0).fit(*make_motif_graphs(4, random_state=0))


@pytest.mark.parametrize("width", [10**6, 2**60])  # the weights of the latter cannot be counted
@pytest.mark.parametrize(
    "kind, name", [(LoFIClassifier, "n_masks"), (baselines.GATClassifier, "n_hidden")]
)
def test_a_network_that_does_not_fit_is_refused(motifs, kind, name, width):
    message = rf"A network of .* weights takes .* Use a smaller network: .* {name}={width},"
    with pytest.raises(MemoryError, match=message):
        kind(**{name: width}).fit(*motifs)


def test_a_batch_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(sklofi._memory, "memory_size", lambda: 2**20)
    graphs = [nx.path_graph(500)] * 4
    with pytest.raises(MemoryError, match="A batch of 4 graphs with 2,000 nodes and 3,992 edges"):
        baselines.GINClassifier(early_stopping=False).fit(graphs, [0, 1, 0, 1])


def test_a_peer_is_a_network_and_a_few_lines(motifs):
    """As promised to those who bring their own."""
    from sklofi.nn import FlatNetwork, Perceptron, pool
    from sklofi.training import width

    class Sums(FlatNetwork):
        r"""Sums of what neighbors have.

        .. math:: h = \sum_v \sum_{u \in N(v)} x_u
        """

        def __init__(self, n_features, n_outputs, *, n_hidden=8):
            super().__init__()
            self.output = Perceptron(n_features, n_hidden, n_outputs)

        def embed(self, graphs, generator=None):
            source, target = graphs.edge_index
            return pool(torch.zeros_like(graphs.x).index_add(0, target, graphs.x[source]), graphs)

    class BaseSums(FlatEstimator):
        n_hidden: int = width(default=8)

        _network = Sums

    class SumsClassifier(NetworkClassifier, BaseSums):
        """Sums."""

    fitted = SumsClassifier(random_state=0, max_epochs=5).fit(*motifs)
    assert fitted.predict_proba(motifs[0]).shape == (120, 2)
