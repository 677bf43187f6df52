import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from skorch.callbacks import Callback
from torch.testing import assert_close

from sklofi import LoFIClassifier
from sklofi.datasets import make_motif_graphs
from sklofi.training import split_validation


@pytest.mark.parametrize("seed", range(5))
def test_validation_parts_are_stratified(seed):
    strata = np.repeat([0, 1, 2], [60, 30, 10])
    train, validation = split_validation(strata, 0.2, np.random.RandomState(seed))
    assert_array_equal(np.sort(np.concatenate([train, validation])), np.arange(100))
    counts = np.bincount(strata[validation], minlength=3)
    assert counts.sum() == 20
    assert_allclose(counts, [12, 6, 2], atol=1)


@pytest.mark.parametrize("seed", range(20))
def test_no_class_disappears_from_training(seed):
    strata = np.array(["a", "b", "b", *"c" * 9])
    train, validation = split_validation(strata, 0.5, np.random.RandomState(seed))
    assert set(strata[train]) == {"a", "b", "c"}
    assert len(validation) == 6


def test_a_validation_part_may_be_impossible_or_smaller_than_the_classes():
    train, validation = split_validation(np.arange(4), 0.5, np.random.RandomState(0))
    assert len(train) == 4 and len(validation) == 0
    _, validation = split_validation(np.arange(20) // 2, 0.1, np.random.RandomState(0))
    assert len(validation) == 2


class Recorder(Callback):
    """Weights after every step, and at the end of every epoch."""

    def on_train_begin(self, net, **kwargs):
        self.start = weights_of(net.module_)
        self.steps, self.epochs = [], []

    def on_batch_end(self, net, training=False, **kwargs):
        if training:
            self.steps.append(weights_of(net.module_))

    def on_epoch_end(self, net, **kwargs):
        self.epochs.append((len(self.steps), weights_of(net.module_)))


def weights_of(module):
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()]).clone()


@pytest.mark.parametrize("validate", [False, True])
def test_the_weights_that_are_kept_are_an_average_and_training_goes_on_from_the_last_step(validate):
    graphs, y = make_motif_graphs(40, random_state=0)
    validation = {"X_val": graphs[:10], "y_val": y[:10]} if validate else {}
    classifier = LoFIClassifier(
        max_epochs=4, batch_size=8, early_stopping=False, callbacks=[Recorder()], random_state=0
    ).fit(graphs, y, **validation)
    (recorder,) = (one for _, one in classifier.net_.callbacks_ if isinstance(one, Recorder))
    average = recorder.start
    averages = []
    for i, step in enumerate(recorder.steps, start=1):
        average = average + (step - average) * (1 - (1 + i) / (10 + i))
        averages.append(average)
    for n_steps, weights in recorder.epochs:
        assert_close(weights, averages[n_steps - 1])
    assert_close(weights_of(classifier.module_), averages[-1])
    # The first step of an epoch is one step away from the last, not from the average.
    assert [n for n, _ in recorder.epochs] == [5, 10, 15, 20]
    for last in (5, 10, 15):
        first = recorder.steps[last]
        away = (first - recorder.steps[last - 1]).abs().max()
        assert away <= 1.5 * classifier.lr < (first - averages[last - 1]).abs().max()
