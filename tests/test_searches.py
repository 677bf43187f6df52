"""Search spaces: what the estimators offer can be drawn, validated and fitted."""

import pytest
from sklearn.model_selection import ParameterSampler, RandomizedSearchCV

import sklofi
from sklofi import GraphSet, baselines
from sklofi.datasets import make_motif_graphs
from sklofi.training import FlatEstimator, NetworkClassifier, NetworkEstimator

NAMES = ("GraphKernelSVC", "GraphKernelSVR", "LoFIClassifier", "LoFIRegressor")
KINDS = [getattr(sklofi, name) for name in NAMES]
KINDS += [getattr(baselines, name) for name in baselines.__all__]
KINDS = [one for one in KINDS if hasattr(one, "param_distributions")]

# What a search is not about.
NEVER = {"random_state", "callbacks", "device", "n_jobs", "verbose", "memory", "n_members"}


@pytest.fixture(scope="module")
def graphs():
    graphs, y = make_motif_graphs(30, n_nodes=7, random_state=0)
    return GraphSet.from_networkx(graphs), y


def name_of(kind):
    return kind.__name__


def quick(kind):
    if not issubclass(kind, NetworkEstimator):
        return kind()
    return kind(max_epochs=1, n_members=1, counts=False, random_state=0)


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_every_name_is_a_parameter_and_every_draw_is_valid(kind):
    space = kind.param_distributions()
    assert space.keys() <= kind().get_params().keys() - NEVER
    for parameters in ParameterSampler(space, 20, random_state=0):
        kind(**parameters)._validate_params()
    for name, values in space.items():  # also those that were not drawn
        assert len(set(map(repr, values))) == len(values) > 1
        for value in values:
            kind(**{name: value})._validate_params()


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_a_draw_can_be_fitted(kind, graphs):
    (parameters,) = ParameterSampler(kind.param_distributions(), 1, random_state=1)
    estimator = quick(kind).set_params(**parameters).fit(*graphs)
    assert len(estimator.predict(graphs[0])) == 30


def test_twenty_draws_of_a_random_search(graphs):
    estimator = baselines.FingerprintClassifier()
    space = estimator.param_distributions()
    search = RandomizedSearchCV(estimator, space, n_iter=20, cv=2, random_state=0).fit(*graphs)
    assert len(search.cv_results_["params"]) == 20
    assert search.best_params_.keys() == space.keys()


def test_the_dict_is_the_callers():
    space = baselines.FingerprintClassifier.param_distributions()
    space["C"].clear()
    del space["radius"]
    assert len(baselines.FingerprintClassifier.param_distributions()["C"]) == 21
    assert "radius" in baselines.FingerprintClassifier.param_distributions()


def test_networks_of_ones_own_have_the_parameters_of_training():
    class OwnClassifier(NetworkClassifier, FlatEstimator):
        """Not a peer."""

    assert OwnClassifier.param_distributions().keys() == {"structure", "lr", "weight_decay"}
