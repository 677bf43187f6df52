"""Features of whole graphs in estimators: what is learned of them, and what is refused."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sklofi
from helpers import odd_graphs
from sklofi import (
    FingerprintClassifier,
    FingerprintRegressor,
    GraphSet,
    LoFIClassifier,
    LoFIRegressor,
    MoleculesToGraphs,
    baselines,
)
from sklofi._graph_features import GraphEncoder
from sklofi._storage import CHECKS
from sklofi.baselines import GINRegressor, LabelHistogramRegressor
from sklofi.nn import FlatNetwork, Perceptron, pool
from sklofi.training import FlatEstimator, NetworkRegressor

ONE = {"n_members": 1, "counts": False, "random_state": 0}
SMALL = {**ONE, "n_layers": 2, "n_masks": 4, "n_words": 2, "max_epochs": 3}
NAMES = ["dose", "day"]
PEERS = [name for name in baselines.__all__ if hasattr(getattr(baselines, name), "_network")]


def planted(n_graphs=90, seed=0):
    """Graphs whose target is a number of edges, times and plus a dose; the day says nothing."""
    rng = np.random.RandomState(seed)
    graphs = [nx.gnp_random_graph(6, 0.5, seed=i) for i in range(n_graphs)]
    features = rng.normal(size=(n_graphs, 2))
    n_edges = np.array([graph.number_of_edges() for graph in graphs])
    y = n_edges * (1 + 0.1 * features[:, 0]) + 4 * features[:, 0]
    return GraphSet.from_networkx(graphs).with_graph_features(features, NAMES), y


X, Y = planted()


def encoder_of(columns, weight=None):
    graphs = GraphSet.from_networkx([nx.path_graph(2)] * len(columns)).with_graph_features(columns)
    weight = np.ones(len(graphs)) if weight is None else np.asarray(weight, float)
    return GraphEncoder.fit(graphs, weight), graphs


# The encoder.


def test_columns_are_standardized_by_weight():
    values = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, -1.0]])
    encoder, graphs = encoder_of(values, [1, 2, 1])
    copied, _ = encoder_of(values[[0, 1, 1, 2]])
    assert_allclose(encoder.mean, copied.mean)
    encoded = encoder.encode(graphs, "it")
    expected = values[[0, 1, 1, 2]]
    assert_allclose(encoded, (values - expected.mean(axis=0)) / expected.std(axis=0))


def test_a_constant_column_is_zero_wherever_it_is_encoded():
    encoder, graphs = encoder_of([[0.1, 1.0], [0.1, 2.0]])
    assert_array_equal(encoder.encode(graphs, "it")[:, 0], 0)
    other = graphs.with_graph_features([[7.0, 1.0], [0.1, 2.0]])
    assert_array_equal(encoder.encode(other, "it")[:, 0], 0)


def test_huge_numbers_stay_within_32_bits():
    encoder, graphs = encoder_of([[0.0], [1e-30]])
    far = encoder.encode(graphs.with_graph_features([[3e38], [-3e38]]), "it")
    assert (np.abs(far.astype(np.float32) ** 2) < np.inf).all() and far[0] > 0 > far[1]


def test_columns_of_tables_have_to_be_the_same():
    encoder, graphs = encoder_of(pd.DataFrame({"a": [1, 2], "b": [3, 5]}))
    with pytest.raises(ValueError, match="graph features 'b', 'a', but it was fitted on 'a', 'b'"):
        encoder.encode(graphs.with_graph_features(pd.DataFrame({"b": [3, 5], "a": [1, 2]})), "it")
    encoder.encode(graphs.with_graph_features([[1, 2], [3, 4]]), "it")  # which has no names


@pytest.mark.parametrize(
    "forged",
    [
        {"names": ["a"]},
        {"names": ("a", "b")},
        {"names": (1,)},
        {"mean": np.array([np.nan])},
        {"scale": np.zeros(1)},
        {"scale": np.ones(1, np.float32)},
        {"mean": [0.0]},
    ],
)
def test_an_encoder_in_a_file_has_to_fit_together(forged):
    encoder, _ = encoder_of([[1.0], [2.0]])
    CHECKS[GraphEncoder](encoder)
    with pytest.raises(ValueError, match="not described by names, means and scales"):
        CHECKS[GraphEncoder](replace(encoder, **forged))


# What is learned.


@pytest.mark.parametrize(
    "estimator",
    [
        LoFIRegressor(**{**SMALL, "max_epochs": 40}),
        GINRegressor(max_epochs=60, lr=0.02, random_state=0),
        FingerprintRegressor(),
        LabelHistogramRegressor(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_effect_of_a_feature_is_learned(estimator):
    with_features = clone(estimator).fit(X[:60], Y[:60]).score(X[60:], Y[60:])
    bare = X.with_graph_features(None)
    without = clone(estimator).fit(bare[:60], Y[:60]).score(bare[60:], Y[60:])
    assert with_features > max(without, 0) + 0.2


def test_a_head_learns_that_a_feature_turns_the_effect_of_structure_around():
    """A linear machine cannot: no feature has an effect alone."""
    sign = np.where(X.graph_vectors[:, 0] > 0, 1.0, -1.0)
    graphs = X.with_graph_features(sign)
    sizes = np.diff(graphs.edge_offsets[graphs.node_offsets])
    y = sign * (sizes - sizes.mean())
    regressor = LoFIRegressor(**{**SMALL, "n_masks": 8, "max_epochs": 60}, lr=0.02)
    linear = FingerprintRegressor().fit(graphs[:60], y[:60])
    assert regressor.fit(graphs[:60], y[:60]).score(graphs[60:], y[60:]) > 0.5
    assert linear.score(graphs[60:], y[60:]) < 0.3


def test_counts_beside_networks_learn_from_them():
    regressor = LoFIRegressor(**{**SMALL, "counts": True}).fit(X, Y)
    assert regressor.counts_share_ > 0
    encoded = regressor.counts_.graph_encoder.encode(X, "it")
    n_counts = regressor.counts_.vectorizer.n_features_out_
    slopes = regressor.counts_.coefficients[n_counts:]
    assert slopes.shape == (2, 1) and abs(slopes[0]) > 5 * abs(slopes[1])
    assert_allclose(regressor.counts_.outputs_of_features(X), encoded @ slopes)


def test_coefficients_are_in_units_of_the_features():
    regressor = FingerprintRegressor().fit(X, Y)
    assert regressor.feature_names_[-2:].tolist() == ["graph_dose", "graph_day"]
    counts = regressor.vectorizer_.transform(X.with_graph_features(None)).toarray()
    inputs = np.hstack([counts, X.graph_vectors])
    assert_allclose(inputs @ regressor.coef_ + regressor.intercept_, regressor.predict(X))
    constant = X.with_graph_features(np.full(len(X), 7.0))
    assert FingerprintRegressor().fit(constant, Y).coef_[-1] == 0


@pytest.mark.parametrize("name", PEERS)
def test_every_network_sees_them(name):
    """Outputs follow the features of a graph, and are as before without them."""
    peer = getattr(baselines, name)
    y = (Y > np.median(Y)).astype(int) if name.endswith("Classifier") else Y
    if name.endswith("Classifier") and name not in ("DGCNNClassifier", "DiffPoolClassifier"):
        pytest.skip("the network is that of the regressor")
    graphs = X[:16]
    fitted = peer(max_epochs=2, early_stopping=False, random_state=0).fit(graphs, y[:16])
    assert fitted.net_.get_params_for("module")["n_graph_features"] == 2
    other = graphs.with_graph_features(graphs.graph_vectors + np.array([3, 0]), NAMES)
    method = "predict_proba" if hasattr(fitted, "predict_proba") else "predict"
    assert (getattr(fitted, method)(graphs) != getattr(fitted, method)(other)).any()
    embedding = fitted.transform(graphs)
    assert_allclose(embedding[:, -2:], fitted._graph_encoder.encode(graphs, ""), rtol=1e-6)
    assert_array_equal(fitted.transform(other)[:, :-2], embedding[:, :-2])
    names = fitted.get_feature_names_out()
    assert len(names) == embedding.shape[1] and names[-2:].tolist() == ["graph_dose", "graph_day"]
    bare = clone(fitted).fit(graphs.with_graph_features(None), y[:16])
    assert "n_graph_features" not in bare.net_.get_params_for("module")
    assert bare.transform(graphs.with_graph_features(None)).shape[1] == embedding.shape[1] - 2


def test_the_vector_of_a_graph_ends_with_them():
    regressor = LoFIRegressor(**{**SMALL, "n_members": 2}).fit(X[:20], Y[:20])
    names = regressor.get_feature_names_out()
    (columns,) = np.nonzero([name.endswith("graph_dose") for name in names])
    assert names[columns].tolist() == ["member0_graph_dose", "member1_graph_dose"]
    embedding = regressor.transform(X)
    assert_allclose(embedding[:, columns[0]], embedding[:, columns[1]])
    assert abs(np.corrcoef(embedding[:, columns[0]], X.graph_vectors[:, 0])[0, 1]) > 0.999


class NodeSums(FlatNetwork):
    """A network that was written before graphs had features."""

    def __init__(self, n_features, n_outputs, *, n_hidden=4):
        super().__init__()
        self.output = Perceptron(n_features, n_hidden, n_outputs)

    def embed(self, graphs, generator=None):
        return pool(graphs.x, graphs)


class NodeSumsRegressor(NetworkRegressor, FlatEstimator):
    n_hidden: int = sklofi.training.count("Width.", default=4)
    _network = NodeSums


def test_a_network_without_the_argument_leaves_them_out_and_says_so():
    regressor = NodeSumsRegressor(max_epochs=2, random_state=0)
    with pytest.warns(UserWarning, match="NodeSumsRegressor does not use the graph features of X"):
        predicted = regressor.fit(X, Y).predict(X)
    bare = X.with_graph_features(None)
    assert_array_equal(clone(regressor).fit(bare, Y).predict(bare), predicted)


# What is the same in other ways.


def test_lists_whose_graphs_have_attributes_are_like_a_graph_set():
    graphs = X[:20].to_networkx()
    read = GraphSet.from_networkx(graphs, graph_features=NAMES)
    for estimator in (LoFIRegressor(**SMALL), FingerprintRegressor()):
        of_set = clone(estimator).fit(read, Y[:20])
        of_list = clone(estimator).set_params(graph_features=NAMES).fit(graphs, Y[:20])
        assert_array_equal(of_list.predict(graphs), of_set.predict(read))


@pytest.mark.parametrize(
    "estimator",
    [
        LoFIRegressor(**{**SMALL, "counts": True}),
        GINRegressor(max_epochs=2, random_state=0),
        FingerprintRegressor(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_saved_estimators_predict_the_same(estimator, tmp_path):
    fitted = clone(estimator).fit(X[:20], Y[:20])
    fitted.save(tmp_path / "model.safetensors")
    loaded = sklofi.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    with pytest.raises(ValueError, match=r"^X has 0 graph features, but .* is expecting 2 graph"):
        loaded.predict(X.with_graph_features(None))


@pytest.mark.parametrize("estimator", [LoFIRegressor(**SMALL), FingerprintRegressor()])
def test_other_features_than_in_training_are_refused(estimator):
    with_features = clone(estimator).fit(X[:20], Y[:20])
    bare = X[:20].with_graph_features(None)
    without = clone(estimator).fit(bare, Y[:20])
    for fitted, graphs, numbers in [
        (with_features, bare, "0 .* expecting 2"),
        (without, X, "2 .* expecting 0"),
        (with_features, X.with_graph_features(X.graph_vectors[:, 0]), "1 .* expecting 2"),
    ]:
        with pytest.raises(ValueError, match=rf"^X has {numbers} graph features as input.$"):
            fitted.predict(graphs)
    with pytest.raises(ValueError, match=r"^graph_features='dose', but X has no graph features"):
        clone(estimator).set_params(graph_features="dose").fit(bare, Y[:20])


def test_a_checkpoint_belongs_to_the_features(tmp_path):
    path, regressor = tmp_path / "fit.safetensors", LoFIRegressor(**SMALL)
    fitted = clone(regressor).fit(X[:20], Y[:20], checkpoint=path)
    again = clone(regressor).fit(X[:20], Y[:20], checkpoint=path)
    assert_array_equal(again.predict(X), fitted.predict(X))
    other = X[:20].with_graph_features(X.graph_vectors[:20] + np.array([1, 0]), NAMES)
    with pytest.raises(ValueError, match="belongs to a fit of other graphs or targets"):
        clone(regressor).fit(other, Y[:20], checkpoint=path)


def test_early_stopping_on_other_graphs_sees_theirs():
    regressor = LoFIRegressor(**SMALL).fit(X[:20], Y[:20], X_val=X[20:30], y_val=Y[20:30])
    assert len(regressor.history_) == 3
    with pytest.raises(ValueError, match=r"^X has 0 graph features"):
        bare = X[20:30].with_graph_features(None)
        LoFIRegressor(**SMALL).fit(X[:20], Y[:20], X_val=bare, y_val=Y[20:30])


def test_searches_and_partial_fits_slice_them():
    search = GridSearchCV(FingerprintRegressor(), {"C": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.5
    classifier = LoFIClassifier(**SMALL).partial_fit(X, Y > 5)
    assert classifier.partial_fit(X[:5], Y[:5] > 5).predict_proba(X).shape == (len(X), 2)


def test_molecules_keep_theirs_in_a_pipeline():
    smiles, y = ["CO", "CCO", "CCCO", "CCCCO"] * 5, np.arange(20.0)
    graphs = GraphSet.from_molecules(smiles, atom_label="element", graph_features=y)
    pipeline = make_pipeline(MoleculesToGraphs(atom_label="element"), FingerprintRegressor())
    assert pipeline.fit(graphs, y).score(graphs, y) > 0.9
    with pytest.raises(ValueError, match="in another way than MoleculesToGraphs reads them: with"):
        make_pipeline(MoleculesToGraphs(), FingerprintRegressor()).fit(graphs, y)
    with pytest.raises(ValueError, match="that are no molecules"):
        MoleculesToGraphs().fit_transform(X)


def test_rows_of_nan_leave_the_others_theirs():
    smiles, y = ["CO", "CCO", "CCCO", "CCCCO"] * 3, np.arange(12.0)
    regressor = FingerprintRegressor(on_invalid="nan").fit(
        GraphSet.from_molecules(smiles, graph_features=y), y
    )
    mixed = GraphSet.from_molecules(
        ["CO", "C1CC", "CCO"], graph_features=[0.0, 5.0, 1.0], on_invalid="nan"
    )
    predicted = regressor.predict(mixed)
    assert_array_equal(np.isnan(predicted), [False, True, False])
    assert_array_equal(predicted[~mixed.missing], regressor.predict(mixed[~mixed.missing]))


def test_batches_move_and_copy_them():
    regressor = LoFIRegressor(**SMALL).fit(X[:12], Y[:12])
    (batch,) = regressor._node_batches(X[:12], max_rows=10**6)
    copies = batch.copies(torch.tensor([3, 3, 0])).to("meta")
    assert copies.graph_features.shape == (3, 2) and copies.graph_features.is_meta
    torch.testing.assert_close(
        batch.copies(torch.tensor([3, 0])).graph_features, batch.graph_features[[3, 0]]
    )
    dataset = GINRegressor(max_epochs=1).fit(X[:12], Y[:12])._prediction_data(X[:3])
    flat, _ = dataset.batch(np.array([2, 0]))
    assert_array_equal(flat.graphs.graph_features, dataset.graph_features[[2, 0]])
    assert flat.to("meta").graphs.graph_features.is_meta


def test_a_classifier_of_odd_graphs_takes_hostile_but_finite_features():
    graphs = GraphSet.from_networkx(odd_graphs(20, labels="ab"))
    y = np.arange(20) % 2
    values = np.column_stack([np.full(20, 3e38), 3e38 * (-1.0) ** y, 1e-300 * y, np.zeros(20)])
    for estimator in (LoFIClassifier(**SMALL), FingerprintClassifier()):
        X = graphs.with_graph_features(values)
        probabilities = clone(estimator).fit(X, y).predict_proba(X.with_graph_features(-values))
        assert np.isfinite(probabilities).all()
