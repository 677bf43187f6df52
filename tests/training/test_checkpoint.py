import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import skorch.callbacks
import torch
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV
from skorch.callbacks import Callback, LRScheduler
from torch.optim.lr_scheduler import CosineAnnealingLR

import sklofi.training._checkpoint
from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi._storage import read_file, write_file
from sklofi.training._net import GraphNet

TINY = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 3,
    "n_words": 2,
    "max_epochs": 6,
    "random_state": 0,
}


@pytest.fixture(autouse=True)
def _every_epoch(monkeypatch):
    monkeypatch.setattr(sklofi.training._checkpoint, "SECONDS_BETWEEN", 0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.safetensors"


class Crash(Exception):
    """Stands for the end of the process: nothing is cleaned up by the net."""


@pytest.fixture
def crash_in(monkeypatch):
    """Let training end in the middle of an epoch."""
    original = GraphNet.train_step

    def crash_in(epoch):
        def train_step(self, *args, **kwargs):
            if len(self.history) == epoch:
                raise Crash
            return original(self, *args, **kwargs)

        monkeypatch.setattr(GraphNet, "train_step", train_step)

    return crash_in


def losses(estimator):
    names = ("train_loss", "valid_loss", "train_loss_best", "epoch")
    return [[row.get(name) for name in names] for row in estimator.history_]


OPTIONS = {
    "default": {},
    "dropout": {"dropout": 0.3},
    "no validation": {"early_stopping": False},
    "stops early": {"patience": 1},
    "schedule": {"callbacks": [LRScheduler(CosineAnnealingLR, T_max=9)]},
    "plateau": {"callbacks": [("lr", LRScheduler("ReduceLROnPlateau", patience=1))]},
    "per batch": {"callbacks": [LRScheduler("StepLR", step_size=2, step_every="batch")]},
    "max": {"pooling": "max", "readout": "last", "class_weight": "balanced"},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_fit_that_crashed_ends_in_the_same_model(motifs, path, crash_in, name):
    options = {**TINY, **OPTIONS[name]}
    whole = LoFIClassifier(**options).fit(*motifs)
    for epoch in (1, 2, 5):
        crash_in(epoch)
        estimator = LoFIClassifier(**options)
        if epoch <= whole.n_epochs_:
            with pytest.raises(Crash):
                estimator.fit(*motifs, checkpoint=path)
            assert not hasattr(estimator, "net_")
    crash_in(None)
    resumed = LoFIClassifier(**options).fit(*motifs, checkpoint=path)
    crash_in(1)  # now it is not trained at all
    finished = LoFIClassifier(**options).fit(*motifs, checkpoint=path)
    crash_in(None)
    for classifier in (resumed, finished):
        assert losses(classifier) == losses(whole)
        assert_array_equal(classifier.predict_proba(motifs[0]), whole.predict_proba(motifs[0]))
    for classifier in (whole, resumed, finished):  # optimizers and generators are the same, too
        classifier.set_params(class_weight=None).partial_fit(*motifs)
        assert_array_equal(classifier.predict_proba(motifs[0]), whole.predict_proba(motifs[0]))


def test_a_regressor_with_its_own_validation_graphs(motifs, path, crash_in):
    graphs, y = motifs
    validation = {"X_val": graphs[:10], "y_val": y[:10]}
    whole = LoFIRegressor(**TINY).fit(graphs, y, **validation)
    crash_in(4)
    with pytest.raises(Crash):
        LoFIRegressor(**TINY).fit(graphs, y, **validation, checkpoint=path)
    crash_in(None)
    resumed = LoFIRegressor(**TINY).fit(graphs, y, **validation, checkpoint=path)
    assert_array_equal(resumed.predict(graphs), whole.predict(graphs))
    with pytest.raises(ValueError, match="other graphs or targets"):
        LoFIRegressor(**TINY).fit(graphs, y, checkpoint=path)


@pytest.mark.parametrize("make", [lambda: None, lambda: np.random.RandomState(5)])
def test_randomness_that_is_not_an_int_is_remembered(motifs, path, crash_in, make):
    crash_in(3)
    with pytest.raises(Crash):
        LoFIClassifier(**{**TINY, "random_state": make()}).fit(*motifs, checkpoint=path)
    crash_in(None)
    copy = path.read_bytes()
    first = LoFIClassifier(**{**TINY, "random_state": make()}).fit(*motifs, checkpoint=path)
    path.write_bytes(copy)
    second = LoFIClassifier(**{**TINY, "random_state": make()}).fit(*motifs, checkpoint=path)
    assert_array_equal(first.predict_proba(motifs[0]), second.predict_proba(motifs[0]))


def test_a_random_state_is_left_where_a_whole_fit_leaves_it(motifs, path):
    after = []
    for checkpoint in (None, path, path):  # the last takes its model from the file
        random_state = np.random.RandomState(5)
        options = {**TINY, "random_state": random_state}
        LoFIClassifier(**options).fit(*motifs, checkpoint=checkpoint)
        after.append(random_state.rand())
    assert after[0] == after[1] == after[2]


def test_fits_in_a_folder_are_told_apart(motifs, tmp_path):
    def fitted(**options):
        classifier = LoFIClassifier(**{**TINY, **options})
        return classifier.fit(*motifs, checkpoint=tmp_path).predict_proba(motifs[0])

    assert not np.array_equal(fitted(random_state=np.int64(0)), fitted(random_state=np.int64(1)))
    slow, fast = (LRScheduler("StepLR", step_size=1, gamma=gamma) for gamma in (0.01, 1.0))
    assert not np.array_equal(fitted(callbacks=[slow]), fitted(callbacks=[fast]))
    with pytest.raises(ValueError, match="random_state=None cannot tell fits apart"):
        fitted(random_state=None)


def test_a_checkpoint_needs_a_folder(motifs, tmp_path):
    with pytest.raises(ValueError, match="There is no folder"):
        LoFIClassifier(**TINY).fit(*motifs, checkpoint=tmp_path / "no" / "file")


@pytest.mark.parametrize("verbose", [(1, 0), (0, 1)])
def test_verbosity_may_change(motifs, path, crash_in, verbose, capsys):
    whole = LoFIClassifier(**TINY).fit(*motifs)
    crash_in(4)
    with pytest.raises(Crash):
        LoFIClassifier(**TINY, verbose=verbose[0]).fit(*motifs, checkpoint=path)
    capsys.readouterr()
    crash_in(None)
    resumed = LoFIClassifier(**TINY, verbose=verbose[1]).fit(*motifs, checkpoint=path)
    assert_array_equal(resumed.predict_proba(motifs[0]), whole.predict_proba(motifs[0]))
    assert ("epoch 4/6" in capsys.readouterr().out) == (verbose[1] == 1)


def test_labels_have_the_same_digest_in_every_process():
    code = (
        "import joblib; from sklofi.training._checkpoint import _in_a_fixed_order as f;"
        "print(joblib.hash(f(('a', frozenset(['x', 'y', ('z', frozenset(['v', 'w']))])))))"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(digests) == 1


def test_a_warm_start_goes_on_where_it_was(motifs, path, crash_in):
    def first():
        return LoFIClassifier(**TINY, warm_start=True).fit(*motifs)

    whole = first().fit(*motifs)
    crash_in(9)
    with pytest.raises(Crash):
        first().fit(*motifs, checkpoint=path)
    crash_in(None)
    resumed = first().fit(*motifs, checkpoint=path)
    assert losses(resumed) == losses(whole)
    assert_array_equal(resumed.predict_proba(motifs[0]), whole.predict_proba(motifs[0]))
    with pytest.raises(ValueError, match=r"checkpoint .* belongs to a fit"):
        LoFIClassifier(**TINY, warm_start=True).fit(*motifs, checkpoint=path)


def test_another_fit_is_refused(motifs, path):
    graphs, y = motifs
    LoFIClassifier(**TINY).fit(graphs, y, checkpoint=path)
    with pytest.raises(ValueError, match=r"belongs to a fit of other parameters \(lr, n_masks\)"):
        LoFIClassifier(**{**TINY, "lr": 0.1, "n_masks": 4}).fit(graphs, y, checkpoint=path)
    with pytest.raises(ValueError, match="other graphs or targets"):
        LoFIClassifier(**TINY).fit(graphs, 1 - y, checkpoint=path)
    with pytest.raises(ValueError, match="other graphs or targets"):
        LoFIClassifier(**TINY).fit(graphs[:30], y[:30], checkpoint=path)
    LoFIClassifier(**TINY, verbose=0, device="cpu").fit(graphs, y, checkpoint=path)


def test_other_files_are_refused(motifs, path):
    LoFIClassifier(**TINY).fit(*motifs).save(path)
    with pytest.raises(ValueError, match="holds a saved LoFIClassifier, not a checkpoint"):
        LoFIClassifier(**TINY).fit(*motifs, checkpoint=path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match="damaged or incomplete"):
        LoFIClassifier(**TINY).fit(*motifs, checkpoint=path)


def test_a_search_keeps_the_checkpoints_of_its_fits_in_a_folder(motifs, tmp_path, crash_in):
    graphs, y = GraphSet.from_networkx(motifs[0]), motifs[1]

    def search():
        return GridSearchCV(
            LoFIClassifier(**TINY), {"n_masks": [2, 3]}, cv=2, scoring="neg_log_loss"
        )

    expected = search().fit(graphs, y)
    first = search().fit(graphs, y, checkpoint=tmp_path)
    assert len(os.listdir(tmp_path)) == 5  # four of the search, one of the best at the end
    crash_in(1)
    again = search().fit(graphs, y, checkpoint=tmp_path)
    scores = expected.cv_results_["mean_test_score"]
    for fitted in (first, again):
        assert_array_equal(fitted.cv_results_["mean_test_score"], scores)


def test_ctrl_c_leaves_the_checkpoint_to_go_on_from(motifs, path, monkeypatch):
    whole = LoFIClassifier(**TINY).fit(*motifs)
    original = GraphNet.train_step

    def train_step(self, *args, **kwargs):
        if len(self.history) == 4:
            signal.raise_signal(signal.SIGINT)
        return original(self, *args, **kwargs)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    with monkeypatch.context() as patch:
        patch.setattr(GraphNet, "train_step", train_step)
        estimator = LoFIClassifier(**TINY)
        with pytest.warns(UserWarning, match=r"interrupted in epoch 4.* best so far"):
            estimator.fit(*motifs, checkpoint=path)
    signal.signal(signal.SIGINT, before)
    best = int(np.argmin(whole.history_[:3, "valid_loss"])) + 1
    shorter = LoFIClassifier(**{**TINY, "max_epochs": best}).fit(*motifs)
    assert_array_equal(estimator.predict_proba(motifs[0]), shorter.predict_proba(motifs[0]))
    resumed = LoFIClassifier(**TINY).fit(*motifs, checkpoint=path)
    assert_array_equal(resumed.predict_proba(motifs[0]), whole.predict_proba(motifs[0]))


# Checkpoints that were forged


def forged(path, change):
    description, arrays = read_file(path)
    change(description["state"])
    write_file(path, description, arrays)


def _average(state):
    return state["net"]["callbacks"]["average_weights"]


@pytest.fixture
def crashed(motifs, path, crash_in):
    """A checkpoint of the third epoch."""
    crash_in(4)
    with pytest.raises(Crash):
        LoFIClassifier(**TINY).fit(*motifs, checkpoint=path)
    crash_in(None)
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.clear(),
        lambda state: state.update(n_epochs_before=10**9),
        lambda state: state.update(n_epochs_before=-(10**9)),
        lambda state: state.update(is_finished="yes"),
        lambda state: state.update(random_state=None),
        lambda state: state.update(dropout_generator=[1]),
        lambda state: state.update(callbacks={"nobody": {"best": 1}}),
        lambda state: state["net"].update(history=[{}] * 3),
        lambda state: state["net"].update(weights={}),
        lambda state: state["net"]["callbacks"]["average_weights"].update(on_epoch_end="x"),
        *(
            lambda state, key=key, value=value: _average(state).update({key: value})
            for key, value in [("n_steps", "x"), ("n_steps", -10), ("average", []), ("kept", [])]
        ),
        lambda state: _average(state).pop("is_in_place"),
        lambda state: state["net"]["callbacks"]["valid_loss"].update(best_score_=None),
        lambda state: state["callbacks"]["sklofi LastGoodWeights"].update(largest=[1]),
        lambda state: state["callbacks"]["sklofi LastGoodWeights"].update(weights={}),
        lambda state: state["callbacks"]["sklofi RestoreBest"].update(best_model_weights_="x"),
        lambda state: state["callbacks"]["sklofi RestoreBest"].update(dynamic_threshold_="x"),
        lambda state: state["net"]["optimizer"].update(state={}, param_groups=[]),
        lambda state: state.update(net={"!": "texts", "shape": [2], "value": [1]}),
    ],
)
def test_checkpoints_that_were_made_up_are_refused(motifs, crashed, change):
    forged(crashed, change)
    with pytest.raises(ValueError, match="is damaged: it is no whole checkpoint") as error:
        LoFIClassifier(**TINY).fit(*motifs, checkpoint=crashed)
    assert str(crashed) in str(error.value)


def test_a_checkpoint_says_nothing_about_where_callbacks_write(motifs, path, crash_in, tmp_path):
    def fit():
        keeper = skorch.callbacks.Checkpoint(monitor=None, dirname=str(tmp_path / "own"))
        return LoFIClassifier(**TINY, callbacks=[keeper]).fit(*motifs, checkpoint=path)

    whole = LoFIClassifier(**TINY).fit(*motifs)
    crash_in(4)
    with pytest.raises(Crash):
        fit()
    crash_in(None)
    other = tmp_path / "other"
    other.mkdir()
    forged(path, lambda state: state["callbacks"]["Checkpoint"].update(dirname=str(other)))
    assert_array_equal(fit().predict_proba(motifs[0]), whole.predict_proba(motifs[0]))
    assert not os.listdir(other)
    assert os.listdir(tmp_path / "own")


def test_what_callbacks_remember_is_written_once(crashed):
    """What is restored from a made-up file takes memory for each time that it is written."""
    state = read_file(crashed)[0]["state"]
    assert "average_weights" in state["net"]["callbacks"]
    assert not state["net"]["callbacks"].keys() & state["callbacks"].keys()


class Log(Callback):
    """Writes to a file whose name is no parameter."""

    def __init__(self, folder):
        self.folder = folder

    def initialize(self):
        self.files_ = [os.path.join(self.folder, "log.txt")]
        return self

    def on_epoch_end(self, net, **kwargs):
        with open(self.files_[0], "a") as file:
            file.write(".")


def test_a_checkpoint_names_no_file_that_a_callback_does_not_know(motifs, path, crash_in, tmp_path):
    def fit():
        return LoFIClassifier(**TINY, callbacks=[Log(str(tmp_path))]).fit(*motifs, checkpoint=path)

    whole = LoFIClassifier(**TINY).fit(*motifs)
    crash_in(4)
    with pytest.raises(Crash):
        fit()
    crash_in(None)
    copy, bait = path.read_bytes(), tmp_path / "bait"
    assert_array_equal(fit().predict_proba(motifs[0]), whole.predict_proba(motifs[0]))
    assert (tmp_path / "log.txt").read_text() == "." * len(whole.history_)
    as_keys = {"!": "dict", "value": [[str(bait), 0]]}
    for files in ([str(bait)], {str(bait): 0}, as_keys):
        path.write_bytes(copy)
        forged(path, lambda state, files=files: state["callbacks"]["Log"].update(files_=files))
        with pytest.raises(ValueError, match=r"'Log' does not have the text .*, which might name"):
            fit()
        assert not bait.exists()


@pytest.mark.parametrize(
    "outputs", [np.zeros((3, 2), np.int8), np.zeros((2, 2), np.float32), np.zeros(3), "x", None]
)
def test_outputs_that_were_made_up_are_refused(motifs, path, outputs):
    def fit():
        return LoFIClassifier(**{**TINY, "n_members": 2, "counts": True, "max_epochs": 2}).fit(
            *motifs, checkpoint=path
        )

    fit()
    first = path.with_name("fit-0.safetensors")
    description, arrays = read_file(first)
    row = description["state"]["net"]["history"][0]
    if isinstance(outputs, np.ndarray):
        arrays[row["valid_outputs"]["value"]] = outputs
    else:
        row["valid_outputs"] = outputs
    write_file(first, description, arrays)
    with pytest.raises(ValueError, match="are not those of the validation graphs") as error:
        fit()
    assert str(first) in str(error.value)


class Remembers(Callback):
    def on_epoch_end(self, net, **kwargs):
        self.module_ids_ = {id(net), object()}


def test_callbacks_that_cannot_be_kept_are_told(motifs, path):
    with pytest.raises(TypeError, match=r"'Remembers' cannot be kept in a checkpoint.*module_ids_"):
        LoFIClassifier(**TINY, callbacks=[Remembers()]).fit(*motifs, checkpoint=path)


def test_checkpoints_are_not_written_all_the_time(motifs, path, monkeypatch):
    monkeypatch.setattr(sklofi.training._checkpoint, "SECONDS_BETWEEN", 1000)
    written = []
    monkeypatch.setattr(
        sklofi.training._checkpoint, "write_file", lambda path, *content: written.append(path)
    )
    LoFIClassifier(**TINY).fit(*motifs, checkpoint=path)
    assert len(written) == 1  # the finished model


def test_a_checkpoint_changes_nothing(motifs, path):
    state = torch.get_rng_state()
    plain, kept = LoFIClassifier(**TINY), LoFIClassifier(**TINY)
    plain.fit(*motifs), kept.fit(*motifs, checkpoint=path)
    assert_array_equal(plain.predict_proba(motifs[0]), kept.predict_proba(motifs[0]))
    assert torch.equal(torch.get_rng_state(), state)
