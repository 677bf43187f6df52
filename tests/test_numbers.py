"""Numbers at the edges of what a computer can hold stay sound.

`tests/torture/test_numbers.py` does the same for many more.
"""

import numpy as np
import pytest
from numeric import (
    FEATURES,
    N_GRAPHS,
    SCALES,
    TARGETS,
    check_probabilities,
    plain_features,
    wild_weights,
    with_features,
)
from numpy.testing import assert_allclose

from sklofi import GraphKernelSVC, GraphKernelSVR, LoFIClassifier, LoFIRegressor

QUICK = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 4,
    "n_words": 3,
    "max_epochs": 3,
    "node_features": "x",
    "random_state": 0,
}
GRAPHS, PLAIN = plain_features()
X = with_features(GRAPHS, PLAIN)
Y = np.arange(N_GRAPHS) % 2
T = np.random.RandomState(1).normal(size=N_GRAPHS)
# They take labels only, and say so if there are none.
MACHINE = {"node_label": None, "max_iter": 10_000}

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")  # those of numpy


@pytest.mark.parametrize("name", FEATURES)
def test_features_of_any_size_give_finite_predictions(name):
    changed = with_features(GRAPHS, [FEATURES[name](i, x) for i, x in enumerate(PLAIN)])
    classifier = LoFIClassifier(**QUICK).fit(changed, Y)
    for graphs in (changed, X):
        check_probabilities(classifier.predict_proba(graphs), 2)
        assert np.isfinite(classifier.transform(graphs)).all()
    assert np.isfinite(LoFIRegressor(**QUICK).fit(changed, T).predict(changed)).all()


@np.errstate(over="ignore")  # which numpy 1 says of the smallest numbers, divided
@pytest.mark.parametrize("scale", SCALES)
def test_predictions_do_not_depend_on_the_unit_of_features_and_targets(scale):
    scaled = with_features(GRAPHS, [scale * x for x in PLAIN])
    expected = LoFIRegressor(**QUICK).fit(X, T).predict(X)
    found = LoFIRegressor(**QUICK).fit(scaled, scale * T).predict(scaled)
    assert_allclose(found / scale, expected, rtol=1e-4, atol=1e-4)
    expected = GraphKernelSVR(**MACHINE).fit(X, T).predict(X)
    found = GraphKernelSVR(**MACHINE).fit(X, scale * T).predict(X)
    assert_allclose(found / scale, expected, atol=2e-3)  # libsvm's precision


@pytest.mark.parametrize("name", TARGETS)
def test_targets_of_any_size_give_finite_predictions(name):
    targets = TARGETS[name](T)
    for loss in ("absolute_error", "squared_error"):
        assert np.isfinite(LoFIRegressor(**QUICK, loss=loss).fit(X, targets).predict(X)).all()
    assert np.isfinite(GraphKernelSVR(**MACHINE).fit(X, targets).predict(X)).all()


@pytest.mark.parametrize("weight", [1e-320, 1e-300, 1e-30, 1e30, 1e300, 1e308])
def test_only_the_ratio_of_weights_matters(weight):
    weights = np.full(N_GRAPHS, weight)
    for make, y in ((LoFIClassifier, Y), (LoFIRegressor, T)):
        expected = make(**QUICK).fit(X, y).transform(X)
        assert_allclose(make(**QUICK).fit(X, y, weights).transform(X), expected, rtol=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("decades", [60, 600])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_weights_wildly_mixed_give_finite_predictions(decades, class_weight):
    weights = wild_weights(0, decades)
    classifier = LoFIClassifier(**QUICK, class_weight=class_weight).fit(X, Y, weights)
    check_probabilities(classifier.predict_proba(X), 2)
    assert np.isfinite(LoFIRegressor(**QUICK).fit(X, T, weights).predict(X)).all()
    machine = GraphKernelSVC(**MACHINE, class_weight=class_weight).fit(X, Y, weights)
    assert np.isfinite(machine.decision_function(X)).all()
    assert np.isfinite(GraphKernelSVR(**MACHINE).fit(X, T, weights).predict(X)).all()


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("validation_fraction", [0.01, 0.1, 0.97])
@pytest.mark.parametrize("sizes", [(29, 1), (28, 2), (26, 2, 1, 1), (2,) * 15, (1,) * 30], ids=str)
def test_classes_of_few_members(sizes, validation_fraction):
    y = np.repeat(np.arange(len(sizes)), sizes)
    options = {**QUICK, "validation_fraction": validation_fraction}
    check_probabilities(LoFIClassifier(**options).fit(X, y).predict_proba(X), len(sizes))


@pytest.mark.parametrize("lr", [1e-300, 1e-12, 10.0])
def test_learning_rates_of_any_size(lr):
    check_probabilities(LoFIClassifier(**QUICK, lr=lr).fit(X, Y).predict_proba(X), 2)
    assert np.isfinite(LoFIRegressor(**QUICK, lr=lr).fit(X, T).predict(X)).all()
