"""A display draws the losses of a fit."""

import numpy as np
import pytest
from display_helpers import QUICK, texts

from sklofi import GraphKernelSVC, LoFIClassifier, baselines
from sklofi.inspection import TrainingDisplay


def test_training_curves_are_those_of_the_history(motifs, classifier):
    display = TrainingDisplay.from_estimator(classifier)
    train, valid = display.ax_.lines[:2]
    assert list(train.get_ydata()) == classifier.history_[:, "train_loss"]
    assert list(valid.get_ydata()) == classifier.history_[:, "valid_loss"]
    best = 1 + int(np.argmin(classifier.history_[:, "valid_loss"]))
    assert texts(display.ax_) == [f" lowest after epoch {best}"]
    without = LoFIClassifier(**QUICK, early_stopping=False).fit(*motifs)
    assert len(TrainingDisplay.from_estimator(without).ax_.lines) == 1
    more = LoFIClassifier(**QUICK).fit(*motifs).partial_fit(*motifs)
    valid = TrainingDisplay.from_estimator(more).ax_.lines[1].get_ydata()
    assert np.isnan(valid).tolist() == [False] * 5 + [True]


@pytest.mark.parametrize("name", ["DeepMultisetsClassifier", "GINClassifier", "RWGNNClassifier"])
def test_peers_have_training_curves(motifs, name):
    peer = getattr(baselines, name)(max_epochs=3, random_state=0).fit(*motifs)
    train, valid = TrainingDisplay.from_estimator(peer).ax_.lines[:2]
    assert list(train.get_ydata()) == peer.history_[:, "train_loss"]
    assert list(valid.get_ydata()) == peer.history_[:, "valid_loss"]


def test_each_network_of_an_ensemble_has_its_curves(motifs):
    ensemble = LoFIClassifier(**{**QUICK, "n_members": 3, "lr": 0.05}).fit(*motifs)
    ax = TrainingDisplay.from_estimator(ensemble).ax_
    for member, train, valid in zip(ensemble.members_, ax.lines[:3], ax.lines[3:6], strict=True):
        assert list(train.get_ydata()) == member.history_[:, "train_loss"]
        assert list(valid.get_ydata()) == member.history_[:, "valid_loss"]
    lowest = [1 + int(np.argmin(member.history_[:, "valid_loss"])) for member in ensemble.members_]
    assert [dot.get_xdata()[0] for dot in ax.lines[6:9]] == lowest
    assert f"{min(lowest)}" in texts(ax)[0] and f"{max(lowest)}" in texts(ax)[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["training", "validation"]


def test_losses_may_be_given_without_an_estimator():
    ax = TrainingDisplay([3.0, 2.0, 1.0], [2.0, 1.0, 3.0]).plot().ax_
    assert texts(ax) == [" lowest after epoch 2"]
    assert len(TrainingDisplay([3.0, 2.0]).plot().ax_.lines) == 1


def test_machines_have_no_epochs(motifs):
    with pytest.raises(TypeError, match=r"Only networks have losses .* got GraphKernelSVC"):
        TrainingDisplay.from_estimator(GraphKernelSVC().fit(*motifs))
