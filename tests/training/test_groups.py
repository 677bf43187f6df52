"""Groups of graphs: early stopping does not look at graphs that are like the training graphs."""

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.baselines import DeepMultisetsClassifier, GINClassifier, GINRegressor
from sklofi.datasets import make_motif_graphs
from sklofi.training._estimator import NetworkEstimator

TINY = {"max_epochs": 2, "random_state": 0}
ALONE = {"n_layers": 1, "n_masks": 2, "n_words": 2, "n_members": 1, "counts": False}
NETWORKS = [
    LoFIClassifier(**ALONE, **TINY),
    LoFIRegressor(**ALONE, **TINY),
    LoFIClassifier(**{**ALONE, "n_members": 4, "counts": True}, **TINY),
    GINClassifier(n_layers=1, **TINY),
    GINRegressor(n_layers=1, n_members=3, **TINY),
    DeepMultisetsClassifier(**TINY),
]


def name_of(network):
    return f"{type(network).__name__}-{network.n_members}"


@pytest.fixture(scope="module")
def motifs():
    graphs, y = make_motif_graphs(60, random_state=0)
    return GraphSet.from_networkx(graphs), y


GROUPS = np.arange(60) // 4 % 13


class Parts:
    """Remember which rows networks are trained and validated on."""

    def __init__(self, monkeypatch):
        self.rows = []
        train = NetworkEstimator._train

        def remember(estimator, training, validation, *args):
            none = np.empty(0, dtype=np.int64)
            held_out = none if validation is None else validation.graphs.origin[1]
            self.rows.append((training.graphs.origin[1], held_out))
            return train(estimator, training, validation, *args)

        monkeypatch.setattr(NetworkEstimator, "_train", remember)


@pytest.fixture
def parts(monkeypatch):
    return Parts(monkeypatch).rows


@pytest.mark.parametrize("network", NETWORKS, ids=name_of)
def test_no_group_is_on_both_sides_of_early_stopping(network, motifs, parts):
    sklearn.base.clone(network).fit(*motifs, groups=GROUPS)
    assert len(parts) == network.n_members
    for train, validation in parts:
        assert_array_equal(np.sort(np.concatenate([train, validation])), np.arange(60))
        assert not set(GROUPS[train]) & set(GROUPS[validation])
    parts.clear()
    sklearn.base.clone(network).fit(*motifs)  # without groups there are such
    assert any(set(GROUPS[train]) & set(GROUPS[validation]) for train, validation in parts)


@given(st.lists(st.sampled_from("abcdefg"), min_size=60, max_size=60), st.integers(0, 9))
@settings(max_examples=15, deadline=None)
@pytest.mark.filterwarnings("ignore:None of the groups can be set aside")
def test_any_groups_are_kept_together(motifs, groups, seed):
    with pytest.MonkeyPatch.context() as monkeypatch:
        rows = Parts(monkeypatch).rows
        classifier = LoFIClassifier(**ALONE, max_epochs=1, random_state=seed)
        classifier.fit(*motifs, groups=groups)
    ((train, validation),) = rows
    assert not set(np.array(groups)[train]) & set(np.array(groups)[validation])


@pytest.mark.parametrize("network", NETWORKS[:3], ids=name_of)
def test_groups_of_one_graph_each_are_bit_equal_to_none(network, motifs):
    graphs, y = motifs
    plain = sklearn.base.clone(network).fit(graphs, y)
    grouped = sklearn.base.clone(network).fit(graphs, y, groups=[f"group {i}" for i in range(60)])
    assert_array_equal(plain.transform(graphs), grouped.transform(graphs))
    assert_array_equal(plain.predict(graphs), grouped.predict(graphs))


def test_graphs_of_weight_zero_leave_with_their_groups(motifs, parts):
    weight = (GROUPS != 3).astype(float)
    NETWORKS[0].fit(*motifs, sample_weight=weight, groups=GROUPS)
    ((train, validation),) = parts
    assert set(GROUPS[train]) | set(GROUPS[validation]) == set(GROUPS) - {3}
    assert not set(GROUPS[train]) & set(GROUPS[validation])


def test_groups_have_to_fit_to_graphs(motifs):
    with pytest.raises(ValueError, match="X has 60 graphs, but groups has 59 values"):
        NETWORKS[0].fit(*motifs, groups=GROUPS[1:])
    with pytest.raises(ValueError, match="Value 5 of groups is nan, which names no group"):
        NETWORKS[0].fit(*motifs, groups=np.where(np.arange(60) == 5, np.nan, GROUPS))


@pytest.mark.parametrize("network", [NETWORKS[0], NETWORKS[2]], ids=name_of)
def test_a_single_group_leaves_nothing_for_early_stopping_and_says_so(network, motifs):
    network = sklearn.base.clone(network)
    message = r"None of the groups can be set aside .* LoFIClassifier is trained without early"
    with pytest.warns(UserWarning, match=message) as warnings:
        network.fit(*motifs, groups=np.zeros(60))
    assert len(warnings) == 1
    assert all(member.n_epochs_ == 2 for member in network.members_)
    assert "valid_loss" not in network.history_[0]


def test_groups_are_not_needed_beside_validation_graphs(motifs, parts):
    graphs, y = motifs
    NETWORKS[0].fit(graphs[:40], y[:40], X_val=graphs[40:], y_val=y[40:], groups=GROUPS[:40])
    ((train, validation),) = parts
    assert (len(train), len(validation)) == (40, 20)


# Metadata routing


def test_searches_and_pipelines_route_groups(motifs, parts):
    graphs, y = motifs
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(FunctionTransformer(), NETWORKS[0])
        search = GridSearchCV(
            pipeline, {"loficlassifier__n_masks": [2]}, cv=GroupKFold(3), error_score="raise"
        )
        search.fit(graphs, y, groups=GROUPS)
        cross_validate(
            sklearn.base.clone(NETWORKS[0]).set_fit_request(groups=True),
            graphs,
            y,
            cv=GroupKFold(3),
            params={"groups": GROUPS},
            error_score="raise",
        )
    assert len(parts) == 3 + 1 + 3
    for train, validation in parts:
        assert not set(GROUPS[train]) & set(GROUPS[validation])


def test_groups_that_are_not_requested_are_not_routed(motifs, parts):
    graphs, y = motifs
    with sklearn.config_context(enable_metadata_routing=True):
        network = sklearn.base.clone(NETWORKS[0]).set_fit_request(groups=False)
        cross_validate(network, graphs, y, cv=GroupKFold(3), params={"groups": GROUPS})
    assert any(set(GROUPS[train]) & set(GROUPS[validation]) for train, validation in parts)


# Checkpoints


def test_a_checkpoint_knows_its_groups(motifs, tmp_path):
    graphs, y = motifs
    network, path = sklearn.base.clone(NETWORKS[0]), tmp_path / "fit.safetensors"
    first = network.fit(graphs, y, groups=GROUPS, checkpoint=path).transform(graphs)
    other_names = np.array(list("zyxwvutsrqpon"))[GROUPS]
    again = sklearn.base.clone(network).fit(graphs, y, groups=other_names, checkpoint=path)
    assert_array_equal(again.transform(graphs), first)
    for others in (np.roll(GROUPS, 1), None):
        with pytest.raises(ValueError, match="belongs to a fit of other groups"):
            network.fit(graphs, y, groups=others, checkpoint=path)
