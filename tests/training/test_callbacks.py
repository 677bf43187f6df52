import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from skorch.callbacks import Callback, EarlyStopping, EpochScoring, LRScheduler
from torch.testing import assert_close
from training_helpers import QUICK, RaisesIn, weights_of

from sklofi import LoFIClassifier
from sklofi.datasets import make_motif_graphs
from sklofi.training._progress import ProgressLog

# Averaged weights


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


@pytest.mark.parametrize("validate", [False, True])
def test_the_weights_that_are_kept_are_an_average_and_training_goes_on_from_the_last_step(validate):
    graphs, y = make_motif_graphs(40, random_state=0)
    validation = {"X_val": graphs[:10], "y_val": y[:10]} if validate else {}
    classifier = LoFIClassifier(
        n_members=1,
        counts=False,
        max_epochs=4,
        batch_size=8,
        early_stopping=False,
        callbacks=[Recorder()],
        random_state=0,
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
        n_members=1,
        counts=False,
        max_epochs=2,
        early_stopping=False,
        warm_start=True,
        callbacks=[LoadZeros()],
        random_state=0,
    ).fit(graphs, y)
    assert weights_of(classifier.module_).abs().max() > 1
    classifier.set_params(lr=1e-6).fit(graphs, y)
    assert weights_of(classifier.module_).abs().max() < 1e-4


# Early stopping


@pytest.mark.parametrize("lr, stops", [(1e-6, True), (1e-3, False)])
def test_a_validation_loss_that_falls_by_less_than_a_ten_thousandth_does_not_count(lr, stops):
    graphs, y = make_motif_graphs(60, random_state=0)
    classifier = LoFIClassifier(
        n_members=1,
        counts=False,
        n_layers=2,
        n_masks=4,
        max_epochs=8,
        lr=lr,
        patience=4,
        random_state=0,
    ).fit(graphs, y, X_val=graphs, y_val=y)
    losses = classifier.history_[:, "valid_loss"]
    assert (np.diff(losses) < 0).all()  # it fell in every epoch
    assert (losses[0] - losses[4] < 1e-4) == stops
    assert classifier.n_epochs_ == (5 if stops else 8)


def test_early_stopping_restores_the_best_weights(larger_motifs):
    graphs, y = larger_motifs
    X_val, y_val = make_motif_graphs(30, random_state=5)
    classifier = LoFIClassifier(
        **{**QUICK, "max_epochs": 300, "lr": 0.05},
        patience=3,
        callbacks=None,
    ).fit(graphs[:20], y[:20], X_val=X_val, y_val=y_val)
    losses = classifier.history_[:, "valid_loss"]
    assert classifier.n_epochs_ == len(losses) < 300
    assert min(losses[-3:]) > min(losses)
    true_class = classifier.predict_proba(X_val)[np.arange(30), y_val]
    assert -np.log(true_class).mean() == pytest.approx(min(losses), rel=1e-4)


def test_without_early_stopping_all_epochs_are_run(larger_motifs):
    classifier = LoFIClassifier(**QUICK, early_stopping=False, patience=1).fit(*larger_motifs)
    assert classifier.n_epochs_ == QUICK["max_epochs"]
    assert "valid_loss" not in classifier.history_[0]


# Callbacks of the user


def test_skorch_callbacks_are_used_and_copied(larger_motifs):
    scheduler = LRScheduler("StepLR", step_size=1, gamma=0.5)
    scoring = EpochScoring("accuracy", lower_is_better=False, name="accuracy")
    callbacks = [scheduler, ("scoring", scoring)]
    classifier = LoFIClassifier(**{**QUICK, "max_epochs": 3}, callbacks=callbacks).fit(
        *larger_motifs
    )
    assert classifier.net_.optimizer_.param_groups[0]["lr"] == pytest.approx(0.005 / 8)
    assert classifier.history_[:, "accuracy"] == pytest.approx(
        classifier.history_[:, "valid_score"]
    )
    assert not hasattr(scheduler, "lr_scheduler_")
    clone(classifier).fit(*larger_motifs)


def test_scoring_callbacks_of_every_kind(larger_motifs):
    callbacks = [
        EpochScoring("f1_macro", on_train=True, name="train_f1"),
        EpochScoring("roc_auc", lower_is_better=False, name="auc"),
        EpochScoring("accuracy", use_caching=False, name="accuracy"),
    ]
    classifier = LoFIClassifier(**QUICK, callbacks=callbacks).fit(*larger_motifs)
    figures = np.array(classifier.history_[:, ("train_f1", "auc", "accuracy")])
    assert figures.shape == (8, 3) and (figures <= 1).all()
    with pytest.raises(TypeError, match="callbacks has to hold skorch callbacks"):
        LoFIClassifier(**QUICK, callbacks=["early stopping"]).fit(*larger_motifs)


# Ctrl-C


def test_an_interrupt_is_told_and_leaves_a_usable_estimator(larger_motifs):
    classifier = LoFIClassifier(**QUICK, callbacks=[RaisesIn(KeyboardInterrupt())])
    with pytest.warns(UserWarning, match="interrupted in epoch 3"):
        classifier.fit(*larger_motifs)
    assert len(classifier.history_[:, "train_loss"]) == classifier.n_epochs_ == 2
    assert np.isfinite(classifier.predict_proba(larger_motifs[0])).all()


@pytest.mark.parametrize("early_stopping", [True, False])
def test_an_interrupt_in_the_first_epoch_leaves_a_usable_estimator(larger_motifs, early_stopping):
    callbacks = [RaisesIn(KeyboardInterrupt(), epoch=1)]
    classifier = LoFIClassifier(**{**QUICK, "early_stopping": early_stopping}, callbacks=callbacks)
    with pytest.warns(UserWarning, match=r"epoch 1\. .* weights with which it started"):
        classifier.fit(*larger_motifs)
    assert classifier.n_epochs_ == 0
    assert np.isfinite(classifier.predict_proba(larger_motifs[0])).all()


def test_an_interrupt_leaves_the_weights_of_the_last_complete_epoch(larger_motifs):
    options = {**QUICK, "early_stopping": False}
    classifier = LoFIClassifier(**options, callbacks=[RaisesIn(KeyboardInterrupt(), epoch=3)])
    with pytest.warns(UserWarning, match="the weights of epoch 2"):
        classifier.fit(*larger_motifs)
    expected = LoFIClassifier(**{**options, "max_epochs": 2}).fit(*larger_motifs)
    assert_array_equal(
        classifier.predict_proba(larger_motifs[0]), expected.predict_proba(larger_motifs[0])
    )


def test_ctrl_c_between_epochs_is_told_as_well(larger_motifs, monkeypatch):
    def interrupt(self, net, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLog, "on_epoch_end", interrupt)
    with pytest.warns(UserWarning, match="interrupted in epoch 2"):
        LoFIClassifier(**QUICK, verbose=2).fit(*larger_motifs)


class Idle(Callback):
    pass


def test_ctrl_c_is_told_beside_callbacks_of_the_user(larger_motifs, monkeypatch):
    def interrupt(self, net, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLog, "on_epoch_end", interrupt)
    with pytest.warns(UserWarning, match="interrupted in epoch 2"):
        LoFIClassifier(**QUICK, verbose=2, callbacks=[Idle()]).fit(*larger_motifs)


# Divergence


def test_a_callback_cannot_stop_with_weights_that_are_nan(larger_motifs):
    stop = EarlyStopping(monitor="train_loss", patience=1)
    options = {**QUICK, "lr": 1e30, "early_stopping": False}
    with pytest.warns(ConvergenceWarning, match="can be used"):
        classifier = LoFIClassifier(**options, callbacks=[stop]).fit(*larger_motifs)
    assert np.isfinite(classifier.predict_proba(larger_motifs[0])).all()


@pytest.mark.parametrize("early_stopping", [True, False])
def test_a_diverging_loss_leaves_the_last_good_weights(larger_motifs, early_stopping):
    classifier = LoFIClassifier(**{**QUICK, "lr": 1e30, "early_stopping": early_stopping})
    with pytest.warns(ConvergenceWarning, match=r"(became|grew to) .* in epoch \d.*lr=1e\+30"):
        classifier.fit(*larger_motifs)
    assert np.isfinite(classifier.predict_proba(larger_motifs[0])).all()
    # And it can be trained on, with another learning rate.
    classifier.set_params(lr=0.01, max_epochs=40, warm_start=True).fit(*larger_motifs)
    assert classifier.score(*larger_motifs) > 0.9


def test_the_last_good_weights_are_those_of_the_epoch_before(larger_motifs):
    class Poison(Callback):
        def on_epoch_begin(self, net, **kwargs):
            if len(net.history) == 3:
                net.module_.layers[0].temperature.data.fill_(np.nan)

    options = {**QUICK, "early_stopping": False}
    classifier = LoFIClassifier(**options, callbacks=[Poison()])
    with pytest.warns(ConvergenceWarning, match=r"became nan in epoch 3.* weights of epoch 2"):
        classifier.fit(*larger_motifs)
    expected = LoFIClassifier(**{**options, "max_epochs": 2}).fit(*larger_motifs)
    assert_array_equal(
        classifier.predict_proba(larger_motifs[0]), expected.predict_proba(larger_motifs[0])
    )
