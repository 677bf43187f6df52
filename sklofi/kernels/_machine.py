"""Machines of scikit-learn that learn from graphs: what targets are, and how they are predicted.

A graph machine turns graphs into what a machine of scikit-learn takes, kernel values
(:mod:`sklofi.kernels._svm`) or counts (:mod:`sklofi.baselines._counts`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sklofi._available import available_unless
from sklofi._molecules import predicts_rows
from sklofi._parameters import HasClasses, Searchable
from sklofi._scaling import restore_target, standardize_target
from sklofi._validation import TrainingData, check_classes, check_training_data
from sklofi.kernels._estimator import GraphEstimator


class GraphMachine(Searchable, GraphEstimator):
    """Base of the estimators that hold a machine of scikit-learn.

    A task (:class:`MachineClassifier`, :class:`MachineRegressor`) implements the hooks for targets,
    a family of machines the others.
    """

    # The arguments of scikit-learn's validation of y.
    _target_checks: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def _learn_target(self, data: TrainingData) -> TrainingData:
        """Remember what predictions need of the targets, and return them as the machine's."""

    @abstractmethod
    def _fit_machine(self, X: Any, data: TrainingData) -> None:
        """Fit the machine to the training graphs, read from X, and keep it."""

    @abstractmethod
    def _inputs(self, X: Any) -> Iterator[Any]:
        """Yield what the fitted machine takes, for some graphs at a time."""

    @abstractmethod
    def _fitted_machine(self, method: str) -> Any:
        """Return the machine whose method answers."""

    @abstractmethod
    def _predictions(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Return the predictions that outputs of the machine stand for."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator to graphs and their targets.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,)
            Targets: classes for a classifier, numbers for a regressor.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs. Graphs of weight zero are left out altogether.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        with self._fitted_or_not_at_all():
            X = self._read_if_molecules(X)
            checks = {**self._reading(), **self._target_checks}
            data = check_training_data(self, X, y, sample_weight, **checks)
            self._remember_molecules(data.graphs)
            self._fit_machine(X, self._learn_target(data))
        return self

    @predicts_rows
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the target of each graph.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        y : ndarray of shape (n_graphs,)
            Predicted classes or numbers.
        """
        return self._predictions(self._outputs("predict", X))

    def _outputs(self, method: str, X: Any) -> NDArray[Any]:
        """Return what a method of the machine says of graphs."""
        check_is_fitted(self)
        answer = getattr(self._fitted_machine(method), method)
        return np.concatenate([answer(inputs) for inputs in self._inputs(X)])


def _available_unless_lacking(method: str) -> Callable[[Callable[..., Any]], Any]:
    return available_unless(lambda classifier: classifier._lacks(method))


class MachineClassifier(ClassifierMixin, HasClasses, GraphMachine):
    """Base of the machines that tell classes apart."""

    @abstractmethod
    def _lacks(self, method: str) -> str | None:
        """Return the reason why there is no such method, or None if there is."""

    @_available_unless_lacking("predict_proba")
    @predicts_rows
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probabilities of all classes, if the machine has them.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        probabilities : ndarray of shape (n_graphs, n_classes)
            The columns are in the order of `classes_`.
        """
        return self._outputs("predict_proba", X)

    @_available_unless_lacking("decision_function")
    @predicts_rows
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return how clearly graphs belong to the classes, if the machine says so.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        values : ndarray of shape (n_graphs,) or (n_graphs, n_classes)
            For two classes, above zero for the second; otherwise one column for each.
        """
        return self._outputs("decision_function", X)

    def _learn_target(self, data: TrainingData) -> TrainingData:
        self.classes_ = check_classes(data.y)
        return data

    def _predictions(self, outputs: NDArray[Any]) -> NDArray[Any]:
        return outputs


class MachineRegressor(RegressorMixin, GraphMachine):
    """Base of the machines that predict numbers, from standardized targets."""

    _target_checks: ClassVar[dict[str, Any]] = {"y_numeric": True}

    def _learn_target(self, data: TrainingData) -> TrainingData:
        y, self._target_mean, self._target_scale = standardize_target(data.y, data.weight)
        return data._replace(y=y)

    def _predictions(self, outputs: NDArray[Any]) -> NDArray[Any]:
        return restore_target(outputs, self._target_mean, self._target_scale)
