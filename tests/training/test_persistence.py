import copy
import pickle

import numpy as np
import pytest
import skops.io
import torch
from numpy.testing import assert_allclose, assert_array_equal
from saved_models import TINY, assert_says_the_same, fitted_lofi, graphs_and_targets
from skorch.callbacks import EpochScoring, Freezer, LRScheduler
from training_helpers import QUICK

from sklofi import LoFIClassifier


@pytest.fixture(scope="module")
def estimators():
    return fitted_lofi()


@pytest.fixture(scope="module")
def graphs():
    return graphs_and_targets()[0]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


# Training after loading


@pytest.mark.parametrize("name", ["classifier", "classifier-features", "regressor-2"])
@pytest.mark.parametrize("way", ["save", "pickle", "deepcopy", "skops"])
def test_training_goes_on_as_if_nothing_had_happened(estimators, name, way, path, graphs):
    _, classes, y = graphs_and_targets()
    targets = classes if "classifier" in name else np.column_stack([y, -y])
    estimator = copy.deepcopy(estimators[name])
    estimator.class_weight = None
    estimator.save(path)
    data = skops.io.dumps(estimator)
    again = {
        "save": lambda: type(estimator).load(path),
        "pickle": lambda: pickle.loads(pickle.dumps(estimator)),
        "deepcopy": lambda: copy.deepcopy(estimator),
        "skops": lambda: skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data)),
    }[way]()
    for model in (estimator, again):
        model.partial_fit(graphs, targets)
        model.set_params(warm_start=True).fit(graphs, targets)
    assert_says_the_same(estimator, again, graphs)
    rows = zip(estimator.history_, again.history_, strict=True)
    assert all(a["train_loss"] == b["train_loss"] for a, b in rows)


def test_frozen_weights_stay_frozen(motifs, path):
    estimator = LoFIClassifier(**TINY, callbacks=[Freezer("hidden*")]).fit(*motifs)
    with pytest.warns(UserWarning, match="callbacks is not saved"):
        estimator.save(path)
    for again in (LoFIClassifier.load(path), pickle.loads(pickle.dumps(estimator))):
        assert not again.module_.hidden.weight.requires_grad
        assert again.module_.output.weight.requires_grad


# Callbacks of the user


def test_callbacks_are_not_saved_and_that_is_told(motifs, path):
    estimator = LoFIClassifier(**TINY, callbacks=[LRScheduler("StepLR", step_size=1)]).fit(*motifs)
    with pytest.warns(UserWarning, match="callbacks is not saved"):
        estimator.save(path)
    loaded = LoFIClassifier.load(path)
    assert loaded.callbacks is None
    assert_says_the_same(loaded, estimator, motifs[0])
    assert len(loaded.history_[:, "event_lr"]) == 4


def test_a_pickle_keeps_the_callbacks_of_the_user(motifs):
    scoring = EpochScoring("accuracy", name="accuracy", lower_is_better=False)
    estimator = LoFIClassifier(**TINY, callbacks=[("accuracy", scoring)]).fit(*motifs)
    again = pickle.loads(pickle.dumps(estimator))
    best = dict(estimator.net_.callbacks_)["accuracy"].best_score_
    assert dict(again.net_.callbacks_)["accuracy"].best_score_ == best
    assert_says_the_same(again, estimator, motifs[0])


# Devices


def test_a_model_of_a_device_that_is_not_here_loads(estimators, path, graphs):
    estimator = copy.deepcopy(estimators["classifier"]).set_params(device="cuda:63")
    estimator.save(path)
    loaded = LoFIClassifier.load(path)
    assert loaded.device == "auto"
    assert LoFIClassifier.load(path, device="cpu").device == "cpu"
    if not torch.cuda.is_available():
        assert_says_the_same(loaded, estimators["classifier"], graphs)
    with pytest.raises(ValueError, match="cannot be used here"):
        LoFIClassifier.load(path, device="cuda:62")


def test_a_pickle_of_a_device_that_is_not_here_loads(estimators, graphs):
    state = estimators["classifier"].__getstate__()
    state["net_"][0]["device"] = "cuda:63"
    loaded = LoFIClassifier()
    loaded.__setstate__(state)
    assert loaded.net_.device == "cpu"
    assert_array_equal(loaded.predict(graphs), estimators["classifier"].predict(graphs))


def test_a_pickle_from_a_device_that_is_not_here_is_trained_further(larger_motifs):
    classifier = LoFIClassifier(**QUICK, warm_start=True).fit(*larger_motifs)
    classifier.device = classifier._made_with["device"] = "cuda:63"
    further = pickle.loads(pickle.dumps(classifier)).fit(*larger_motifs)
    assert further.net_.device == "cpu"
    assert further.n_epochs_ > classifier.n_epochs_


@pytest.mark.cuda
def test_a_model_of_the_gpu_loads_on_the_cpu(motifs, path):
    estimator = LoFIClassifier(**TINY, device="cuda").fit(*motifs)
    estimator.save(path)
    loaded = LoFIClassifier.load(path, device="cpu")
    assert next(loaded.module_.parameters()).device.type == "cpu"
    assert_allclose(*(e.predict_proba(motifs[0]) for e in (loaded, estimator)), atol=1e-4)


def test_a_model_from_the_gpu_predicts_on_the_cpu(larger_motifs):
    """No device but the net's own, which skorch maps, may be remembered in a pickle."""
    net = LoFIClassifier(**QUICK).fit(*larger_motifs).net_
    devices = [name for name, value in vars(net).items() if value in ("cpu", "cuda")]
    assert devices == ["device"]
