"""A display draws the losses of a fit."""

import numpy as np
from display_helpers import QUICK, texts

from sklofi import LoFIClassifier
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
