import pickle

import pytest
from skorch.callbacks import Callback, EarlyStopping
from training_helpers import QUICK

from sklofi import LoFIClassifier


class StopIn(Callback):
    """End the training as callbacks of skorch do."""

    def __init__(self, method):
        self.method = method

    def on_epoch_begin(self, net, **kwargs):
        self._stop("on_epoch_begin", net)

    def on_batch_end(self, net, **kwargs):
        self._stop("on_batch_end", net)

    def on_epoch_end(self, net, **kwargs):
        self._stop("on_epoch_end", net)

    def _stop(self, method, net):
        if method == self.method and len(net.history) == 2:
            raise KeyboardInterrupt


def test_a_callback_of_the_user_ends_training_after_an_epoch(motifs):
    classifier = LoFIClassifier(**QUICK, callbacks=[StopIn("on_epoch_end")]).fit(*motifs)
    assert classifier.n_epochs_ == 2
    assert not classifier.net_.is_interrupted_


def test_a_callback_of_the_user_ends_training_without_a_word(larger_motifs):
    stop = EarlyStopping(monitor="train_loss", patience=1, threshold=10)
    classifier = LoFIClassifier(**{**QUICK, "early_stopping": False}, callbacks=[stop])
    classifier.fit(*larger_motifs)
    assert classifier.n_epochs_ < 8
    again = pickle.loads(pickle.dumps(classifier))
    again.set_params(warm_start=True).fit(*larger_motifs)


@pytest.mark.parametrize("method", ["on_epoch_begin", "on_batch_end"])
def test_an_interrupt_within_an_epoch_is_ctrl_c(motifs, method):
    classifier = LoFIClassifier(**QUICK, callbacks=[StopIn(method)])
    with pytest.warns(UserWarning, match="interrupted in epoch 2"):
        classifier.fit(*motifs)
    assert classifier.n_epochs_ == 1
    assert classifier.net_.is_interrupted_


def test_callbacks_of_the_user_are_neither_defaults_nor_listeners(motifs):
    classifier = LoFIClassifier(**QUICK, callbacks=[("mine", StopIn(None))]).fit(*motifs)
    assert [name for name, _ in classifier.net_.user_callbacks()] == ["mine"]


def test_history_does_not_hoard_batches(larger_motifs):
    history = LoFIClassifier(**QUICK).fit(*larger_motifs).history_
    assert [len(epoch["batches"]) > 0 for epoch in history] == [False] * 7 + [True]
