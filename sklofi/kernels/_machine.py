"""Machines of scikit-learn that learn from graphs: what targets are, and how they are predicted.

A graph machine turns graphs into what a machine of scikit-learn takes, kernel values
(:mod:`sklofi.kernels._svm`) or counts (:mod:`sklofi.baselines._counts`). A table of targets takes
a machine for each column, which learns from the graphs whose target is known; what they learn
from is computed once.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklofi._available import available_unless
from sklofi._messages import attempt
from sklofi._molecules import predicts_rows
from sklofi._multilabel import known_values, read_true_classes
from sklofi._parameters import HasClasses, Searchable
from sklofi._scaling import restore_target, standardize_target
from sklofi._scores import multioutput_r2
from sklofi._storage import CHECKS
from sklofi._validation import TrainingData, check_classes, check_training_data
from sklofi.kernels._estimator import GraphEstimator
from sklofi.kernels._vectorizer import GraphVectorizer


class Column(NamedTuple):
    """What one machine learns from: targets and weights of some training graphs, or of all."""

    y: NDArray[Any]
    weight: NDArray[np.float64]
    rows: NDArray[np.int64] | None = None

    def take(self, some: NDArray[np.int64] | None) -> Column:
        """Return the same for some of these graphs."""
        if some is None:
            return self
        rows = some if self.rows is None else self.rows[some]
        return Column(self.y[some], self.weight[some], rows)


@dataclass(frozen=True)
class OneClass:
    """Stands for the machine of a label that all graphs have of which it is known, or none."""

    label: int

    def predict(self, X: Any) -> NDArray[np.int64]:
        return np.full(X.shape[0], self.label)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return np.tile([1.0 - self.label, float(self.label)], (X.shape[0], 1))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        return np.full(X.shape[0], 2.0 * self.label - 1)


class GraphMachine(Searchable, GraphEstimator):
    """Base of the estimators that hold a machine of scikit-learn.

    A task (:class:`MachineClassifier`, :class:`MachineRegressor`) implements the hooks for targets,
    a family of machines the others.
    """

    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "coef_": (
            "ndarray of shape (n_features,) or (n_outputs, n_features)",
            """What each count adds to the output, if the machine is linear in them. Predicted
            numbers, or what `decision_function` returns, are
            ``counts @ coef_.T + intercept_``.""",
        ),
        "intercept_": (
            "float or ndarray of shape (n_outputs,)",
            "The output for a graph in which nothing is counted, if the machine is linear.",
        ),
        "feature_names_": (
            "ndarray of shape (n_features,)",
            "The names of what is counted, in the order of `coef_`.",
        ),
    }

    @abstractmethod
    def _target_checks(self, y: Any) -> dict[str, Any]:
        """Return the arguments of the validation of y."""

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
        """Return the machine whose method answers, or a list of one for each column."""

    @abstractmethod
    def _predictions(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Return the predictions that outputs of the machine stand for."""

    @abstractmethod
    def _in_units(
        self, coef: NDArray[np.float64], intercept: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a linear map to outputs of the machine as one to what is predicted."""

    def _feature_map(self) -> GraphVectorizer:
        """Return what counts, or raise an AttributeError that says why nothing does."""
        raise AttributeError(f"{type(self).__name__} has no names of features: it does not count.")

    def _linear_machines(self) -> tuple[NDArray[np.float64], Any]:
        """Return what counts are divided by, and the machine or machines that are linear in them.

        An AttributeError says why there is none.
        """
        raise AttributeError(f"{type(self).__name__} has no coef_ and no intercept_.")

    def _inputs_of(self, inputs: Any, column: int) -> Any:
        """Return what the machine of a column takes."""
        return inputs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator to graphs and their targets.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
            Targets: classes for a classifier, numbers for a regressor. Several columns are
            labels (1 for graphs that have it, 0 for those that do not) or numbers, and NaN
            where they are not known. Each column has a machine of its own.

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
            checks = {**self._reading(), **self._target_checks(y)}
            data = check_training_data(self, X, y, sample_weight, **checks)
            self._remember_molecules(data.graphs)
            self._target_shape = data.y.shape[1:]
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
        y : ndarray of shape (n_graphs,) or (n_graphs, n_outputs)
            Predicted classes or numbers. Of several labels, 1 where a graph has it.
        """
        return self._predictions(self._outputs("predict", X))

    @property
    def coef_(self) -> NDArray[np.float64]:
        """What each count adds to the output, if the machine is linear in them."""
        return self._linear_map()[0]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The output for a graph in which nothing is counted, if the machine is linear."""
        return self._linear_map()[1]

    @property
    def feature_names_(self) -> NDArray[np.object_]:
        """The names of what is counted."""
        check_is_fitted(self)
        names: NDArray[np.object_] = self._feature_map().get_feature_names_out()
        return names

    def _columns(self, data: TrainingData) -> list[Column]:
        """Return what each machine learns from."""
        if data.y.ndim == 1:
            return [Column(data.y, data.weight)]
        columns = []
        for y, is_known in zip(data.y.T, known_values(data.y).T, strict=True):
            rows = None if is_known.all() else np.flatnonzero(is_known)
            columns.append(Column(y.copy(), data.weight).take(rows))
        return columns

    def _fit_columns(self, columns: list[Column], fit: Callable[[Column], Any]) -> Any:
        """Return a fitted machine, or for a table a list of them."""
        machines = [self._fit_column(number, column, fit) for number, column in enumerate(columns)]
        return machines if self._target_shape else machines[0]

    def _fit_column(self, number: int, column: Column, fit: Callable[[Column], Any]) -> Any:
        return fit(column)

    def _outputs(self, method: str, X: Any) -> NDArray[Any]:
        """Return what a method of the machine says of graphs."""
        check_is_fitted(self)
        machines = self._fitted_machine(method)
        return np.concatenate(
            [self._answers(machines, method, inputs) for inputs in self._inputs(X)]
        )

    def _answers(self, machines: Any, method: str, inputs: Any) -> NDArray[Any]:
        if not isinstance(machines, list):
            return np.asarray(getattr(machines, method)(inputs))
        answers = [
            getattr(machine, method)(self._inputs_of(inputs, number))
            for number, machine in enumerate(machines)
        ]
        if method == "predict_proba":
            answers = [answer[:, 1] for answer in answers]
        return np.column_stack(answers)

    def _linear_map(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coefficients and intercepts of raw counts."""
        check_is_fitted(self)
        scale, machines = self._linear_machines()
        if not isinstance(machines, list):
            return self._in_units(*_linear_map_of(machines, scale))
        maps = [_linear_map_of(machine, scale) for machine in machines]
        coef = np.stack([of_column.reshape(-1) for of_column, _ in maps])
        intercept = np.array([of_column.reshape(-1)[0] for _, of_column in maps])
        return self._in_units(coef, intercept)


def _linear_map_of(
    machine: Any, scale: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients and intercepts of a machine that has learned from scaled counts."""
    if isinstance(machine, OneClass):
        return np.zeros(len(scale)), machine.decision_function(scale[:1])
    coef = machine.coef_.toarray() if sp.issparse(machine.coef_) else machine.coef_
    with np.errstate(under="ignore"):
        return coef / scale, np.asarray(machine.intercept_, dtype=np.float64)


def _available_unless_lacking(method: str) -> Callable[[Callable[..., Any]], Any]:
    return available_unless(lambda classifier: classifier._lacks(method))


class MachineClassifier(ClassifierMixin, HasClasses, GraphMachine):
    """Base of the machines that tell classes apart, or several labels at once."""

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
            The columns are in the order of `classes_`. Of several labels, each one has a
            probability of its own.
        """
        return self._outputs("predict_proba", X)

    @_available_unless_lacking("predict_proba")
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithms of the probabilities, if the machine has them.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        log_probabilities : ndarray of shape (n_graphs, n_classes)
            The columns are those of `predict_proba`.
        """
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(probabilities)
        return logarithms

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
            For two classes, above zero for the second; otherwise one column for each. Of
            several labels, one column for each, above zero where the graph has it.
        """
        return self._outputs("decision_function", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of graphs that are predicted rightly.

        Of several labels, all labels of a graph have to be right.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        y : array-like of shape (n_graphs,) or (n_graphs, n_labels)
            True classes or labels.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs.

        Returns
        -------
        score : float
            The accuracy.
        """
        return float(super().score(X, read_true_classes(y), sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _target_checks(self, y: Any) -> dict[str, Any]:
        return {"tables": True}

    def _learn_target(self, data: TrainingData) -> TrainingData:
        if data.y.ndim == 2:
            self.classes_ = np.arange(data.y.shape[1])
            return data._replace(y=data.y.astype(np.int64))
        self.classes_ = check_classes(data.y)
        return data

    def _fit_column(self, number: int, column: Column, fit: Callable[[Column], Any]) -> Any:
        if len(classes := np.unique(column.y)) > 1:
            return super()._fit_column(number, column, fit)
        warnings.warn(
            f"Column {number} of y has one class only: all labels that are known are"
            f" {classes[0]}. It is predicted for all graphs.",
            UserWarning,
            stacklevel=2,
        )
        return OneClass(int(classes[0]))

    def _predictions(self, outputs: NDArray[Any]) -> NDArray[Any]:
        return outputs

    def _in_units(
        self, coef: NDArray[np.float64], intercept: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return coef, intercept


class MachineRegressor(RegressorMixin, GraphMachine):
    """Base of the machines that predict numbers, from standardized targets."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R².

        Of several targets it is the mean over them. Values that are not known are left
        out, and so is a target of which fewer than two are known.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
            True targets; in tables NaN where they are not known.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs.

        Returns
        -------
        score : float
            1.0 for predictions without an error.
        """
        if not _has_columns(y):
            return float(super().score(X, y, sample_weight))
        return multioutput_r2(y, self.predict(X), sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _target_checks(self, y: Any) -> dict[str, Any]:
        if _has_columns(y):
            return {"y_numeric": True, "tables": True, "multi_output": True}
        return {"y_numeric": True}

    def _learn_target(self, data: TrainingData) -> TrainingData:
        standardize: Callable[..., Any] = (
            standardize_target if data.y.ndim == 1 else _standardize_columns
        )
        y, self._target_mean, self._target_scale = standardize(data.y, data.weight)
        return data._replace(y=y)

    def _predictions(self, outputs: NDArray[Any]) -> NDArray[Any]:
        return restore_target(outputs, self._target_mean, self._target_scale)

    def _in_units(
        self, coef: NDArray[np.float64], intercept: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        scale = np.asarray(self._target_scale)
        with np.errstate(under="ignore", over="ignore"):
            return scale[..., None] * coef, self._target_mean + scale * intercept


def _standardize_columns(
    y: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return what `standardize_target` returns for the known values of each column."""
    standardized, (means, scales) = y.copy(), np.empty((2, y.shape[1]))
    for number, is_known in enumerate(known_values(y).T):
        standardized[is_known, number], means[number], scales[number] = standardize_target(
            y[is_known, number], weight[is_known]
        )
    return standardized, means, scales


def _has_columns(y: Any) -> bool:
    """Whether y is a table; a single column is taken for targets of one dimension."""
    shape = attempt(np.shape, y)
    return isinstance(shape, tuple) and len(shape) == 2 and shape[1] > 1


def _check_one_class(machine: OneClass) -> None:
    if type(machine.label) is not int or machine.label not in (0, 1):
        raise ValueError("a label is not 0 or 1")


CHECKS[OneClass] = _check_one_class
