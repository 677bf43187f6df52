"""What machines of scikit-learn on graphs share, with the smallest one."""

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from sklofi.graphs._input import as_graph_set
from sklofi.kernels._machine import GraphMachine, MachineClassifier, MachineRegressor, OneClass

PATHS = [nx.path_graph(n) for n in (2, 3, 5, 8)]


class SizeMachine(GraphMachine):
    """Learns from the number of nodes, and takes one graph at a time."""

    _set_last = "machine_"

    def _fit_machine(self, X, data):
        inputs = sizes(data.graphs)

        def fit(column):
            rows = inputs if column.rows is None else inputs[column.rows]
            return self.machine().fit(rows, column.y, sample_weight=column.weight)

        self.machine_ = self._fit_columns(self._columns(data), fit)

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


UNKNOWN = np.nan


def test_each_column_has_a_machine_that_learns_from_what_is_known():
    y = [[20, 3], [30, 2], [UNKNOWN, 0], [80, UNKNOWN]]
    regressor = SizeRegressor().fit(PATHS, y)
    assert_allclose(regressor.predict([nx.path_graph(10), nx.path_graph(1)]), [[100, -5], [10, 4]])
    assert regressor.score(PATHS, y) == pytest.approx(1)
    assert get_tags(regressor).target_tags.multi_output
    alone = SizeRegressor().fit(PATHS[:3], [3, 2, 0])  # of which the second target is known
    assert_array_equal(regressor.machine_[1].coef_, alone.machine_.coef_)


def test_several_labels_have_a_probability_each():
    y = [[0, 1], [UNKNOWN, 0], [1, UNKNOWN], [1, 1]]
    classifier = SizeClassifier().fit(PATHS, y)
    assert classifier.classes_.tolist() == [0, 1]
    assert_array_equal(classifier.predict(PATHS), [[0, 1], [0, 0], [1, 0], [1, 1]])
    assert classifier.predict(PATHS).dtype == np.int64
    assert_array_equal(classifier.predict_proba(PATHS), classifier.predict(PATHS))
    with np.errstate(divide="ignore"):
        expected = np.log(classifier.predict_proba(PATHS))
    assert_array_equal(classifier.predict_log_proba(PATHS), expected)
    assert get_tags(classifier).classifier_tags.multi_label


def test_a_label_of_one_class_is_predicted_for_all_graphs_with_a_warning():
    y = [[0, 1, 0], [0, UNKNOWN, 0], [1, 1, 0], [1, 1, 0]]
    with pytest.warns(UserWarning, match="Column [12] of y has one class only") as warned:
        classifier = SizeClassifier().fit(PATHS, y)
    assert len(warned) == 2
    assert_array_equal(classifier.predict(PATHS), np.nan_to_num(y, nan=1))
    assert_array_equal(classifier.predict_proba(PATHS)[:, 1:], [[1, 0]] * 4)
    assert OneClass(1).decision_function(np.zeros((2, 3))).tolist() == [1, 1]
    assert OneClass(0).decision_function(np.zeros((2, 3))).tolist() == [-1, -1]


def test_labels_that_are_missing_have_no_accuracy():
    classifier = SizeClassifier().fit(PATHS, [[0, 1], [0, 0], [1, 0], [1, 1]])
    assert classifier.score(PATHS, [[0, 1], [0, 0], [1, 0], [0, 1]]) == 0.75
    with pytest.raises(ValueError, match=r"missing labels.*Use sklofi\.comparison\.multilabel_roc"):
        classifier.score(PATHS, [[0, 1], [0, 0], [1, 0], [1, UNKNOWN]])


@pytest.mark.parametrize("y", [[[1], [2], [3], [5]], [[1.0], [2], [2], [1]]])
def test_a_single_column_is_raveled_as_by_scikit_learn(y):
    for machine in (SizeRegressor(), SizeClassifier()):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            machine.fit(PATHS, y)
        assert machine.predict(PATHS).shape == (4,)


def test_a_column_of_which_nothing_is_known_is_refused():
    for machine in (SizeRegressor(), SizeClassifier()):
        with pytest.raises(ValueError, match="Column 1 of y has no known"):
            machine.fit(PATHS, [[1, UNKNOWN], [0, UNKNOWN], [1, UNKNOWN], [0, UNKNOWN]])


def test_a_machine_that_counts_nothing_has_no_coefficients():
    regressor = SizeRegressor().fit(PATHS, [1, 2, 3, 4])
    with pytest.raises(AttributeError, match="SizeRegressor has no coef_ and no intercept_"):
        regressor.coef_  # noqa: B018
    with pytest.raises(AttributeError, match="it does not count"):
        regressor.feature_names_  # noqa: B018
    assert not hasattr(SizeRegressor(), "coef_")
