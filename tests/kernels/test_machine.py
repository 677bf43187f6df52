"""What machines of scikit-learn on graphs share, with the smallest one."""

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from sklofi.graphs._input import as_graph_set
from sklofi.kernels._machine import GraphMachine, MachineClassifier, MachineRegressor

PATHS = [nx.path_graph(n) for n in (2, 3, 5, 8)]


class SizeMachine(GraphMachine):
    """Learns from the number of nodes, and takes one graph at a time."""

    _set_last = "machine_"

    def _fit_machine(self, X, data):
        self.machine_ = self.machine().fit(sizes(data.graphs), data.y, sample_weight=data.weight)

    def _inputs(self, X):
        yield from np.split(sizes(as_graph_set(X, None)), len(X))

    def _fitted_machine(self, method):
        return self.machine_


class SizeRegressor(MachineRegressor, SizeMachine):
    machine = LinearRegression


class SizeClassifier(MachineClassifier, SizeMachine):
    machine = DecisionTreeClassifier

    def _lacks(self, method):
        return "Trees decide for nothing." if method == "decision_function" else None


def sizes(graphs):
    return np.diff(graphs.node_offsets)[:, None].astype(float)


def test_targets_are_standardized_inside_and_restored():
    regressor = SizeRegressor().fit(PATHS, [20, 30, 50, 80])
    assert_allclose(regressor.predict([nx.path_graph(10), nx.path_graph(1)]), [100, 10])
    assert regressor.machine_.intercept_ < 10


def test_classes_and_probabilities_are_those_of_the_machine():
    classifier = SizeClassifier().fit(PATHS, ["small", "small", "large", "large"])
    assert classifier.classes_.tolist() == ["large", "small"]
    assert classifier.predict(PATHS[1:3]).tolist() == ["small", "large"]
    assert_array_equal(classifier.predict_proba(PATHS[1:3]), [[0, 1], [1, 0]])


def test_a_method_that_the_machine_lacks_is_not_there_and_says_why():
    with pytest.raises(AttributeError, match=r"Trees decide for nothing\."):
        SizeClassifier().decision_function  # noqa: B018


@pytest.mark.parametrize("y", [[1, 2], [1, 2, np.nan, 4]])
def test_a_fit_that_fails_leaves_no_fitted_estimator(y):
    regressor = SizeRegressor().fit(PATHS, [1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"targets|NaN"):
        regressor.fit(PATHS, y)
    with pytest.raises(NotFittedError):
        regressor.predict(PATHS)


def test_a_machine_without_its_hooks_cannot_be_made():
    class Unfinished(MachineRegressor):
        pass

    with pytest.raises(TypeError, match=r"abstract.* Unfinished .*_fit_machine.*_inputs"):
        Unfinished()
