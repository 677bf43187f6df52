"""Numbers at the edges.

`tests/test_numbers.py` does the same for some dozens of cases.
"""

import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest
from numeric import (
    FEATURES,
    N_GRAPHS,
    TARGETS,
    check_probabilities,
    plain_features,
    wild_weights,
    with_features,
)
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklofi import GraphKernelSVC, GraphKernelSVR, LoFIClassifier, LoFIRegressor
from sklofi.inspection import node_attribution
from sklofi.nn._choices import HISTOGRAM_KERNELS, POOLINGS

QUICK = {
    "n_layers": 2,
    "n_masks": 4,
    "n_words": 3,
    "max_epochs": 3,
    "node_features": "x",
    "random_state": 0,
}
NETWORKS = [
    {"kernel": kernel, "pooling": pooling, "n_layers": n_layers}
    for kernel, pooling, n_layers in product(HISTOGRAM_KERNELS, POOLINGS, (1, 3))
]
MACHINE = {"node_label": None, "max_iter": 10_000}
Y = np.arange(N_GRAPHS) % 3

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")  # those of numpy


def targets(seed, n_outputs=1):
    t = np.random.RandomState(seed).normal(size=(N_GRAPHS, n_outputs))
    return t[:, 0] if n_outputs == 1 else t


def check_finite(*arrays):
    for array in arrays:
        assert np.isfinite(array).all()


@pytest.mark.parametrize("name", FEATURES)
def test_features(name, tried):
    """Features of any size give finite predictions and explanations, without a warning.

    Zeros, constants, denormal numbers, columns and graphs of 1e37 beside 1e-300, offsets of
    1e12; all kernels and poolings; predicted are also graphs with features of another size.
    """
    for seed, options in enumerate(NETWORKS):
        graphs, plain = plain_features(seed)
        X, far = (
            with_features(graphs, rows)
            for rows in (
                [FEATURES[name](i, x) for i, x in enumerate(plain)],
                1e30 * plain_rows(plain),
            )
        )
        classifier = LoFIClassifier(**{**QUICK, **options}).fit(X, Y)
        regressor = LoFIRegressor(**{**QUICK, **options}).fit(X, targets(seed))
        for some in (X, far):
            check_probabilities(classifier.predict_proba(some), 3)
            check_finite(regressor.predict(some), classifier.transform(some))
            check_finite(*node_attribution(classifier, some, tol=np.inf, n_steps=2).attributions)
    tried(2 * len(NETWORKS), "fits")


def plain_rows(plain):
    """An array of arrays, which can be multiplied by a number."""
    rows = np.empty(len(plain), dtype=object)
    rows[:] = plain
    return rows


def test_units(tried):
    """The unit of features and targets does not matter.

    Each feature and each target in a random unit from 1e-300 to 1e30 (targets 1e300); the same
    predictions in the same unit, to rounding of 32 bits.
    """
    rng = np.random.RandomState(0)
    for seed, options in enumerate(5 * NETWORKS):
        graphs, plain = plain_features(seed)
        t = targets(seed, n_outputs=2)
        units = 10.0 ** rng.uniform(-300, 30, 2)
        target_units = 10.0 ** rng.uniform(-300, 300, 2)
        fit = partial(LoFIRegressor(**{**QUICK, **options}).fit)
        X = with_features(graphs, plain)
        expected = fit(X, t).predict(X)
        X = with_features(graphs, [units * x for x in plain])
        found = fit(X, target_units * t).predict(X) / target_units
        assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
        machine = GraphKernelSVR(**MACHINE)
        expected = machine.fit(X, t[:, 0]).predict(X)
        found = machine.fit(X, target_units[0] * t[:, 0]).predict(X) / target_units[0]
        assert_allclose(found, expected, atol=5e-3)  # libsvm's precision
    tried(2 * 5 * len(NETWORKS), "fits in random units")


@pytest.mark.parametrize("name", TARGETS)
def test_targets(name, tried):
    """Targets of any size give finite predictions.

    Zeros, constants, denormal numbers, 1e300 beside 1e-300, offsets of 1e12 and 1e16 with a
    spread of 1; both losses, one target and several, all kernels and poolings.
    """
    n_fits = 0
    for seed, (options, loss) in enumerate(product(NETWORKS, ("absolute_error", "squared_error"))):
        X = with_features(*plain_features(seed))
        t = TARGETS[name](targets(seed))
        several = np.column_stack([t, targets(seed)])
        make = partial(LoFIRegressor, **{**QUICK, **options}, loss=loss)
        check_finite(make().fit(X, t).predict(X), make().fit(X, several).predict(X))
        check_finite(GraphKernelSVR(**MACHINE).fit(X, t).predict(X))
        n_fits += 3
    tried(n_fits, "fits")


@pytest.mark.parametrize("solver", ["gram", "linear"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_machines(solver, tried):
    """Weights wildly mixed give finite predictions of kernel machines, or are refused in words.

    Over 60 and 600 orders of magnitude, with and without balanced classes, as they are and with
    1e9 as the largest. Only the linear solver refuses some: above 1e10 it may never end.
    """
    X = with_features(*plain_features())
    n_fits = n_refused = 0
    for seed, decades, class_weight in product(range(10), (60, 600), (None, "balanced")):
        weights = wild_weights(seed, decades)
        options = {**MACHINE, "C": 1, "solver": solver, "max_iter": 1000, "random_state": 0}
        for some in (weights, weights * (1e9 / weights.max())):
            classifier = GraphKernelSVC(**options, class_weight=class_weight)
            for machine, y in ((classifier, Y), (GraphKernelSVR(**options), targets(seed))):
                if solver == "linear" and some.max() > 1e10:
                    with pytest.raises(ValueError, match="the solver may never end"):
                        machine.fit(X, y, some)
                    n_refused += 1
                else:
                    machine.fit(X, y, some)
                    method = "decision_function" if machine is classifier else "predict"
                    check_finite(getattr(machine, method)(X))
                    n_fits += 1
    tried(n_fits, "fits")
    if n_refused:
        tried(n_refused, "refused")


def test_weights_of_networks(tried):
    """Weights wildly mixed give finite predictions, and only their ratio matters to networks.

    Over 60 and 600 orders of magnitude, with and without balanced classes, several networks with
    counts; and small weights times 1e-300 to 1e300, single networks.
    """
    X = with_features(*plain_features())
    n_fits = 0
    for seed, decades, class_weight in product(range(15), (60, 600), (None, "balanced")):
        weights = wild_weights(seed, decades)
        classifier = LoFIClassifier(**QUICK, class_weight=class_weight).fit(X, Y, weights)
        check_probabilities(classifier.predict_proba(X), 3)
        check_finite(LoFIRegressor(**QUICK).fit(X, targets(seed), weights).predict(X))
        n_fits += 2
    for seed, scale in product(range(5), (1e-300, 1e-30, 1e30, 1e300, 1e307)):
        weights = wild_weights(seed, decades=1)
        alone = LoFIClassifier(**QUICK, n_members=1, counts=False)
        one, other = (clone(alone).fit(X, Y, w) for w in (weights, scale * weights))
        assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-3)
        n_fits += 2
    tried(n_fits, "fits")


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_few_members(tried):
    """Classes of one or two members, and validation parts that cannot hold every class.

    Random sizes of classes from 1 on, parts from 1 to 99 percent; as few as two graphs.
    """
    rng = np.random.RandomState(0)
    X = with_features(*plain_features())
    for _ in range(150):
        n_graphs = rng.randint(2, N_GRAPHS + 1)
        n_classes = rng.randint(2, n_graphs + 1)
        y = np.append(np.arange(n_classes), rng.randint(n_classes, size=n_graphs - n_classes) // 2)
        options = {**QUICK, "validation_fraction": rng.uniform(0.01, 0.99)}
        classifier = LoFIClassifier(**options).fit(X[:n_graphs], rng.permutation(y))
        check_probabilities(classifier.predict_proba(X), n_classes)
    tried(150, "fits")


@pytest.mark.parametrize("lr", [1e-300, 1e-12, 1e-6, 1.0, 10.0])
def test_learning_rates(lr, tried):
    """Learning rates of any size give finite predictions.

    From 1e-300 to 10, all kernels and poolings, 20 epochs.
    """
    X = with_features(*plain_features())
    for options in NETWORKS:
        options = {**QUICK, **options, "lr": lr, "max_epochs": 20}
        check_probabilities(LoFIClassifier(**options).fit(X, Y).predict_proba(X), 3)
        check_finite(LoFIRegressor(**options).fit(X, targets(0)).predict(X))
    tried(2 * len(NETWORKS), "fits")


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("early_stopping", [True, False])
def test_a_loss_that_becomes_nan(early_stopping, tried):
    """A loss that becomes NaN or infinite stops with an explanation and the last good weights.

    Learning rates from 1e4 to 1e38, all kernels and poolings. Predictions are always finite;
    what has diverged has said so.
    """
    X = with_features(*plain_features())
    n_fits = n_told = 0
    for options, power in product(NETWORKS, range(4, 39, 2)):
        options = {**QUICK, **options, "lr": 10.0**power, "early_stopping": early_stopping}
        for estimator, y in (
            (LoFIClassifier(**options), Y),
            (LoFIRegressor(**options), targets(0)),
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                check_finite(estimator.fit(X, y).predict(X))
            losses = estimator.history_[:, "train_loss"]
            told = [str(one.message) for one in caught]
            assert np.isfinite(losses).all() or "can be used" in told[0]
            n_told += bool(told)
            n_fits += 1
    assert n_told > n_fits / 20
    tried(n_fits, "fits")
    tried(n_told, "that diverged and said so")
