"""Whatever the user has set in scikit-learn, estimators work and predict the same."""

import os
import subprocess
import sys
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
import torch
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, LinearSVC

from helpers import SETTINGS, bonded_graphs
from sklofi import GraphKernelSVC, GraphKernelSVR, LoFIClassifier, LoFIRegressor, baselines
from sklofi.baselines import FingerprintClassifier
from sklofi.kernels import (
    RandomWalkKernel,
    RandomWalkVectorizer,
    ShortestPathVectorizer,
    VertexHistogramVectorizer,
    WLVectorizer,
)

pytestmark = pytest.mark.filterwarnings("ignore:.* does not use edge labels:UserWarning")

GRAPHS, Y = bonded_graphs(24), np.arange(24) % 2
SMALL = {"max_epochs": 1, "n_hidden": 4, "n_masks": 3, "n_layers": 2, "random_state": 0}


def small(kind):
    names = signature(kind).parameters
    return kind(**{name: value for name, value in SMALL.items() if name in names})


def of_nodes(graphs, others):
    """A kernel function that uses transformers of its own."""
    sizes = [[[len(graph)] for graph in some] for some in (others, graphs)]
    scaler = MinMaxScaler().fit(sizes[0])
    theirs, ours = map(scaler.transform, sizes)
    return np.asarray(ours) @ np.asarray(theirs).T


VECTORIZERS = [
    WLVectorizer(1),
    VertexHistogramVectorizer(normalize=True),
    ShortestPathVectorizer(unary=True),
    RandomWalkVectorizer(2),
    baselines.FingerprintVectorizer(),
]
ESTIMATORS = [
    *(small(kind) for kind in (LoFIClassifier, LoFIRegressor)),
    *(small(getattr(baselines, name)) for name in baselines.__all__),
    *(GraphKernelSVC(kernel=kernel) for kernel in ("wl", "wl-oa", "vertex-histogram")),
    *(GraphKernelSVC(kernel=kernel) for kernel in ("shortest-path", "random-walk", of_nodes)),
    GraphKernelSVC(kernel=RandomWalkKernel()),
    GraphKernelSVC(kernel=RandomWalkKernel().set_output(transform="pandas")),
    GraphKernelSVC(kernel=ShortestPathVectorizer()),
    GraphKernelSVC(probability=True, random_state=0),
    GraphKernelSVC(probability=True, solver="linear", random_state=0),
    *(GraphKernelSVR(solver=solver, random_state=0) for solver in ("gram", "linear")),
    FingerprintClassifier(estimator=CalibratedClassifierCV(LinearSVC(random_state=0), cv=2)),
    RandomWalkKernel(),
    *VECTORIZERS,
]


def all_numbers(estimator):
    names = ("predict", "predict_proba", "transform", "decision_function")
    values = {n: getattr(estimator, n)(GRAPHS) for n in names if hasattr(estimator, n)}
    return {
        name: value.toarray() if sp.issparse(value) else np.asarray(value)
        for name, value in values.items()
    }


def test_every_setting_of_scikit_learn_is_tried():
    config = sklearn.get_config()
    assert {*SETTINGS, "array_api_dispatch"} == set(config)
    assert all(value != config[name] for name, value in SETTINGS.items())


# Without the address of a function, which differs in the processes that pytest-xdist starts.
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: repr(one).split(" at 0x")[0])
def test_settings_of_scikit_learn_change_no_number(estimator):
    """All at once; tests/torture tries them one by one."""
    fitted = estimator.fit(GRAPHS, Y)
    expected = all_numbers(fitted)
    with sklearn.config_context(**SETTINGS):
        other = clone(estimator).fit(GRAPHS, Y)
        numbers = [all_numbers(other), all_numbers(fitted)]
    numbers.append(all_numbers(other))
    for found in numbers:
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            assert_array_equal(found[name], values, err_msg=name)


def test_tensors_that_scikit_learn_keeps_change_no_number():
    """In a process of its own, because scipy has to be told before it is imported."""
    if "sparse_interface" not in sklearn.get_config():  # before 1.9, which has a copy of its own
        pytest.importorskip("array_api_compat")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    ran = subprocess.run(
        [*command, "-k", "settings_of_scikit_learn or can_be_tensors"],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{len(ESTIMATORS) + len(TENSORS)} passed" in ran.stdout, ran.stdout


TENSORS = [
    small(LoFIClassifier),
    small(LoFIRegressor),
    GraphKernelSVC(probability=True, random_state=0),
    GraphKernelSVR(),
    baselines.FingerprintClassifier(),
    baselines.LabelHistogramRegressor(),
]


@pytest.mark.skipif("array_api_dispatch" not in SETTINGS, reason="scipy does not know of it")
@pytest.mark.parametrize("estimator", TENSORS, ids=repr)
def test_targets_and_weights_can_be_tensors(estimator):
    weight = np.arange(24) % 3 + 1.0
    expected = estimator.fit(GRAPHS, Y, sample_weight=weight).predict(GRAPHS)
    with sklearn.config_context(array_api_dispatch=True):
        tensors = torch.tensor(Y), torch.tensor(weight)
        other = clone(estimator).fit(GRAPHS, tensors[0], sample_weight=tensors[1])
        assert_array_equal(other.predict(GRAPHS), expected)
        if hasattr(estimator, "partial_fit"):
            clone(estimator).partial_fit(GRAPHS, tensors[0], sample_weight=tensors[1])


@pytest.mark.parametrize("estimator", TENSORS, ids=repr)
def test_targets_that_are_nan_are_refused_whatever_is_assumed(estimator):
    with sklearn.config_context(assume_finite=True), pytest.raises(ValueError, match="NaN"):
        clone(estimator).fit(GRAPHS, np.where(Y, np.nan, 0))


# Data frames


@pytest.mark.parametrize("vectorizer", VECTORIZERS, ids=repr)
def test_vectorizers_have_no_set_output_as_those_of_texts(vectorizer):
    assert not hasattr(CountVectorizer(), "set_output")
    assert not hasattr(vectorizer, "set_output")
    pipeline = make_pipeline(clone(vectorizer), LinearSVC(random_state=0))
    expected = pipeline.fit(GRAPHS, Y).predict(GRAPHS)
    with sklearn.config_context(transform_output="pandas"):
        assert sp.issparse(clone(vectorizer).fit_transform(GRAPHS))
        assert_array_equal(clone(pipeline).fit(GRAPHS, Y).predict(GRAPHS), expected)


def test_vectorizers_of_ones_own_stay_sparse_as_well():
    class Halves(VertexHistogramVectorizer):
        def transform(self, X):
            return super().transform(X) / 2

    with sklearn.config_context(transform_output="pandas"):
        assert sp.issparse(Halves().fit(GRAPHS).transform(GRAPHS))


@pytest.mark.parametrize("estimator", [small(LoFIClassifier), RandomWalkKernel()], ids=repr)
def test_what_is_dense_becomes_a_data_frame(estimator):
    estimator = clone(estimator).fit(GRAPHS, Y)
    with sklearn.config_context(transform_output="pandas"):
        frame = estimator.transform(GRAPHS)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == estimator.get_feature_names_out().tolist()


def test_kernel_machines_never_see_data_frames():
    with sklearn.config_context(transform_output="pandas"):
        for kernel in ("wl", RandomWalkKernel()):
            machine = GraphKernelSVC(kernel=kernel).fit(GRAPHS, Y).svm_
            assert isinstance(machine, SVC) and not hasattr(machine, "feature_names_in_")


# Metadata


@pytest.mark.parametrize(
    "estimator",
    [
        GraphKernelSVC(probability=True, random_state=0),
        GraphKernelSVC(probability=True, solver="linear", random_state=0),
        FingerprintClassifier(),
    ],
    ids=repr,
)
def test_weights_reach_the_machine_while_metadata_is_routed(estimator):
    plain = clone(estimator).fit(GRAPHS, Y).predict_proba(GRAPHS)
    weighted = estimator.fit(GRAPHS, Y, sample_weight=1 + Y).predict_proba(GRAPHS)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(estimator).fit(GRAPHS, Y, sample_weight=1 + Y).predict_proba(GRAPHS)
    assert_array_equal(routed, weighted)
    assert (weighted != plain).any()
