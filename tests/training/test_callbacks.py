import numpy as np
import pytest
import torch
from skorch.callbacks import Callback
from torch.testing import assert_close

from sklofi import LoFIClassifier
from sklofi.datasets import make_motif_graphs


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
    (recorder,) = (item for _, item in classifier.net_.callbacks_ if isinstance(item, Recorder))
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


class LoadZeros(Callback):
    """Put weights of zero in when training begins, but for the first time."""

    def on_train_begin(self, net, **kwargs):
        with torch.no_grad():
            for parameter in net.module_.parameters() if net.history else ():
                parameter.zero_()


def test_weights_that_others_put_in_are_where_training_goes_on():
    graphs, y = make_motif_graphs(20, random_state=0)
    classifier = LoFIClassifier(
        max_epochs=2, early_stopping=False, warm_start=True, callbacks=[LoadZeros()], random_state=0
    ).fit(graphs, y)
    assert weights_of(classifier.module_).abs().max() > 1
    classifier.set_params(lr=1e-6).fit(graphs, y)
    assert weights_of(classifier.module_).abs().max() < 1e-4


@pytest.mark.parametrize("lr, stops", [(1e-6, True), (1e-3, False)])
def test_a_validation_loss_that_falls_by_less_than_a_ten_thousandth_does_not_count(lr, stops):
    graphs, y = make_motif_graphs(60, random_state=0)
    classifier = LoFIClassifier(
        n_layers=2, n_masks=4, max_epochs=8, lr=lr, patience=4, random_state=0
    ).fit(graphs, y, X_val=graphs, y_val=y)
    losses = classifier.history_[:, "valid_loss"]
    assert (np.diff(losses) < 0).all()  # it fell in every epoch
    assert (losses[0] - losses[4] < 1e-4) == stops
    assert classifier.n_epochs_ == (5 if stops else 8)
