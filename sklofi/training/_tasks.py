"""Tasks: what the targets of a network are, and how its outputs become predictions."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from torch import Tensor, nn

from sklofi._messages import show
from sklofi._molecules import predicts_rows
from sklofi._multilabel import (
    UNKNOWN,
    check_columns_known,
    known_values,
    read_labels,
    read_true_classes,
    strata_of_labels,
)
from sklofi._parameters import Parameterized, WeighsClasses, choice
from sklofi._scaling import restore_target, weighted_mean_and_scale
from sklofi._scores import multioutput_r2
from sklofi._validation import (
    check_classes,
    check_targets,
    fill_holes,
    weights_of_classes,
    weights_of_labels,
)
from sklofi.training._net import (
    ClassifierNet,
    GraphNet,
    LabelsNet,
    RegressorNet,
    by_label,
    probabilities,
    probabilities_of_labels,
)

LOSSES = {"absolute_error": nn.L1Loss, "squared_error": nn.MSELoss}


class Task(ABC):
    """What a network needs to know of its targets.

    An estimator is a network and a task: ``class LoFIClassifier(NetworkClassifier, BaseLoFI)``.
    Tasks are mixins that implement the hooks below; the estimator
    (:class:`sklofi.training._estimator.NetworkEstimator`) calls them in this order.
    """

    net_: GraphNet
    classes_: NDArray[Any]  # of a classifier

    # The arguments of `check_targets`.
    _target_checks: ClassVar[dict[str, Any]]

    @property
    @abstractmethod
    def _net_class(self) -> type[GraphNet]:
        """The skorch net."""

    @abstractmethod
    def _check_target(
        self, y: NDArray[Any], weight: NDArray[np.float64], *, reset: bool
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Check targets, and return them and the weights with which they count.

        With `reset` they are those of a new fit; otherwise they have to be of the same kind.
        """

    @abstractmethod
    def _learn_target(self, y: NDArray[Any], weight: NDArray[np.float64]) -> None:
        """Remember of the training targets what predictions need."""

    @abstractmethod
    def _value_weight(
        self, y: NDArray[Any], weight: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return weights of single targets, zero for unknown ones; None if graphs have them all."""

    @abstractmethod
    def _strata(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the groups of graphs that a validation part is balanced over."""

    @abstractmethod
    def _network_target(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return targets as the loss takes them, with any number for those that are unknown."""

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """Number of outputs of the network."""

    @property
    @abstractmethod
    def _criterion(self) -> type[nn.Module]:
        """The loss of PyTorch."""

    @abstractmethod
    def _predictions(self, outputs: Tensor) -> NDArray[Any]:
        """Return the predictions that outputs of the network stand for."""

    @abstractmethod
    def _soft_predictions(self, outputs: Tensor) -> NDArray[np.float64]:
        """Return probabilities of classes or labels, or predicted numbers, in columns."""

    # What tasks use of the estimator.

    @abstractmethod
    def _outputs(self, X: Any) -> Tensor:
        """Return the outputs of the network for graphs."""

    @abstractmethod
    def _prediction_data(self, X: Any) -> Any:
        """Return graphs as a dataset."""

    @abstractmethod
    def _joint_outputs_and_spread(self, dataset: Any) -> tuple[Tensor, Tensor]:
        """Return the outputs of several networks together, and how far they are apart."""

    @abstractmethod
    def _fit_part(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Train for one epoch on some graphs."""

    # What tasks share.

    @property
    def _n_labels(self) -> int | None:
        """The number of labels if there are several at once, None of all other targets."""
        return None

    def _check_shape(self, y: NDArray[Any]) -> None:
        """Refuse targets of another shape than those that the estimator is fitted to."""
        shape = vars(self).get("_target_shape", ())  # of one dimension in files of old versions
        if y.shape[1:] != shape:
            # Rows of which nothing is known are left out by now: their number is not the user's.
            raise ValueError(
                f"y has the shape {('n_graphs', *y.shape[1:])}, but the estimator is fitted to"
                f" targets of shape {('n_graphs', *shape)}."
            )


class NetworkClassifier(ClassifierMixin, Task, WeighsClasses):
    """Task of the networks that tell classes apart, or several labels at once.

    Each of several labels is a task of two classes, with two outputs of the network.
    """

    _target_checks: ClassVar[dict[str, Any]] = {"tables": True}

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch on the given graphs, going on from where the net is.

        The first call fixes the classes, or the number of labels, and the node labels that the
        network knows.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,) or (n_graphs, n_labels)
            Classes of the graphs; or several labels, NaN where they are not known.

        classes : array-like of shape (n_classes,), default=None
            All classes that will ever occur; needed in the first call if `y` does not
            hold them all. Not needed for several labels.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs.

        Returns
        -------
        self : object
            The estimator, trained a little further.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs all of y at once. For partial_fit pass the'
                " weights as a dict, computed with"
                " sklearn.utils.class_weight.compute_class_weight."
            )
        if (labels := read_labels(y, is_part=True)) is not None:
            if not hasattr(self, "net_"):
                self._target_shape, self.classes_ = labels.shape[1:], np.arange(labels.shape[1])
            if classes is not None and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"y has several labels, whose classes are the numbers of its columns. Leave"
                    f" out classes={show(classes)}."
                )
            return self._fit_part(X, y, sample_weight)
        if not hasattr(self, "net_"):
            self._target_shape = ()
        if classes is not None:
            classes = check_classes(classes)
            if hasattr(self, "net_") and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"classes={classes.tolist()} is not the same as in the first call to"
                    f" partial_fit: {self.classes_.tolist()}."
                )
            self.classes_ = classes
        elif not hasattr(self, "net_"):
            self.classes_ = check_classes(check_targets(self, y))
        return self._fit_part(X, y, sample_weight)

    @predicts_rows
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each graph, or its labels.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        y : ndarray of shape (n_graphs,) or (n_graphs, n_labels)
            Predicted classes; of several labels 1 for those that are predicted, otherwise 0.
        """
        return self._predictions(self._outputs(X))

    @predicts_rows
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probabilities of all classes, or labels.

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
        return self._probabilities(self._outputs(X))

    @predicts_rows
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithms of the probabilities of all classes, or labels.

        They are finite where probabilities are too small for a number.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        log_probabilities : ndarray of shape (n_graphs, n_classes)
            The columns are those of `predict_proba`.
        """
        logarithms = self._log_probabilities(self._outputs(X))
        return logarithms if self._n_labels is None else logarithms[..., 1]

    @predicts_rows
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the log-odds of the classes.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        scores : ndarray of shape (n_graphs,) or (n_graphs, n_classes)
            Of two classes, the log-odds of the second: the logarithm of its probability less
            that of the first. Of more, the logarithms of their probabilities. Of several
            labels, the log-odds of each.
        """
        logarithms = self._log_probabilities(self._outputs(X))
        scores: NDArray[np.float64] = (
            logarithms[..., 1] - logarithms[..., 0] if logarithms.shape[-1] == 2 else logarithms
        )
        return scores

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

    @property
    def _n_labels(self) -> int | None:
        shape = vars(self).get("_target_shape", ())  # not in files of old versions
        return shape[0] if shape else None

    @property
    def _net_class(self) -> type[GraphNet]:
        return ClassifierNet if self._n_labels is None else LabelsNet

    def _probabilities(self, outputs: Tensor) -> NDArray[np.float64]:
        return (probabilities if self._n_labels is None else probabilities_of_labels)(outputs)

    def _log_probabilities(self, outputs: Tensor) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities of classes, along the last axis."""
        logits = outputs.double()
        if self._n_labels is not None:
            logits = by_label(logits)
        logarithms: NDArray[np.float64] = logits.log_softmax(dim=-1).numpy()
        return logarithms

    def _soft_predictions(self, outputs: Tensor) -> NDArray[np.float64]:
        return self._probabilities(outputs)

    def _predictions(self, outputs: Tensor) -> NDArray[Any]:
        if self._n_labels is not None:
            labels: NDArray[np.int64] = by_label(outputs).argmax(dim=2).numpy()
            return labels
        predicted: NDArray[Any] = self.classes_[self._probabilities(outputs).argmax(axis=1)]
        return predicted

    @property
    def _criterion(self) -> type[nn.Module]:
        return nn.CrossEntropyLoss

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_) if self._n_labels is None else 2 * self._n_labels

    def _check_target(
        self, y: NDArray[Any], weight: NDArray[np.float64], *, reset: bool
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        if reset:
            self._target_shape = y.shape[1:]
            self.classes_ = check_classes(y) if y.ndim == 1 else np.arange(y.shape[1])
        self._check_shape(y)
        if self._n_labels is not None:
            if reset:
                _warn_of_constant_labels(y)
            self._weigh_classes(weights_of_labels, y, weight, reset=reset)
            return y, weight
        if unknown := np.setdiff1d(y, self.classes_).tolist():
            raise ValueError(
                f"y has the classes {unknown}, which are not among the classes that were"
                f" fitted: {self.classes_.tolist()}."
            )
        find = partial(weights_of_classes, classes=self.classes_)
        self._weigh_classes(find, y, weight, reset=reset)
        return y, weight * self._weights_of_classes[self._network_target(y)]

    def _weigh_classes(
        self, find: Callable[..., Any], y: NDArray[Any], weight: NDArray[np.float64], *, reset: bool
    ) -> None:
        """Find the weights of classes by the graphs of a new fit, or if the parameter changes.

        Graphs for early stopping that are given have the weights of the training graphs.
        """
        before = vars(self).get("_class_weight", self.class_weight)  # not in files of old versions
        if reset or "_weights_of_classes" not in vars(self) or self.class_weight != before:
            self._weights_of_classes = find(self.class_weight, y=y, weight=weight)
        self._class_weight = copy.copy(self.class_weight)

    def _learn_target(self, y: NDArray[Any], weight: NDArray[np.float64]) -> None:
        """Nothing: the classes are known once they are checked."""

    def _value_weight(
        self, y: NDArray[Any], weight: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        if self._n_labels is None:
            return None
        known = y != UNKNOWN
        if known.all() and (self._weights_of_classes == 1).all():
            return None
        by_class = self._weights_of_classes[np.arange(self._n_labels), self._network_target(y)]
        by_value: NDArray[np.float64] = weight[:, None] * known * by_class
        return by_value

    def _strata(self, y: NDArray[Any]) -> NDArray[Any]:
        return y if self._n_labels is None else strata_of_labels(y)

    def _network_target(self, y: NDArray[Any]) -> NDArray[np.int64]:
        target: NDArray[np.int64]
        if self._n_labels is not None:
            target = np.maximum(y, 0).astype(np.int64)  # unknown labels have no weight
        else:
            target = np.searchsorted(self.classes_, y)
        return target


def _warn_of_constant_labels(labels: NDArray[np.int8]) -> None:
    """Warn of labels that all graphs have, or none."""
    for column, values in enumerate(labels.T):
        if len(classes := np.unique(values[values != UNKNOWN])) == 1:
            warnings.warn(
                f"Column {column} of y has one class only: all labels that are known are"
                f" {classes[0]}. Hardly anything else will be predicted for it.",
                UserWarning,
                stacklevel=2,
            )


class NetworkRegressor(RegressorMixin, Task, Parameterized):
    """Task of the networks that predict numbers, which are standardized inside."""

    loss: str = choice("What to minimize.", tuple(LOSSES), default="absolute_error")

    _search_space: ClassVar[dict[str, list[Any]]] = {"loss": list(LOSSES)}

    _target_checks: ClassVar[dict[str, Any]] = {
        "tables": True,
        "multi_output": True,
        "y_numeric": True,
    }

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train for one epoch on the given graphs, going on from where the net is.

        The first call fixes the node labels that the network knows and the scale of the
        target.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
            Targets; in tables NaN where they are not known.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs.

        Returns
        -------
        self : object
            The estimator, trained a little further.
        """
        if not hasattr(self, "net_"):
            self.__dict__.pop("_target_shape", None)  # of a fit that has failed
        return self._fit_part(X, y, sample_weight)

    @predicts_rows
    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """Predict the target of each graph.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        return_std : bool, default=False
            Whether to return as well how far the networks of `members_` are apart. It takes
            several of them (`n_members`).

        Returns
        -------
        y : ndarray of shape (n_graphs,) or (n_graphs, n_outputs)
            Predicted targets, of the same number of dimensions as in `fit`.

        std : ndarray, of the shape of `y`
            The standard deviation of what the networks predict, each together with the share of
            counts, in the unit of the target. It says where networks disagree, and is no interval
            that holds the target. Only if `return_std` is True.
        """
        if not return_std:
            return self._predictions(self._outputs(X))
        outputs, spread = self._joint_outputs_and_spread(self._prediction_data(X))
        y = self._predictions(outputs)
        std = restore_target(spread.numpy(), 0, self._target_scale)
        return y, std.reshape(y.shape)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R^2.

        Of several targets it is the mean over them. Values that are not known are left out,
        and so is a target of which fewer than two are known.

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
        _, holes = fill_holes(y)
        if isinstance(holes, bool):  # there are none
            return float(super().score(X, y, sample_weight))
        return multioutput_r2(y, self.predict(X), sample_weight=sample_weight)

    def _predictions(self, outputs: Tensor) -> NDArray[np.float64]:
        y = self._soft_predictions(outputs)
        return y.reshape(len(y), *self._target_shape)

    def _soft_predictions(self, outputs: Tensor) -> NDArray[np.float64]:
        return restore_target(outputs.double().numpy(), self._target_mean, self._target_scale)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def _net_class(self) -> type[GraphNet]:
        return RegressorNet

    @property
    def _criterion(self) -> type[nn.Module]:
        return LOSSES[self.loss]

    @property
    def _n_outputs(self) -> int:
        return len(self._target_mean)

    def _check_target(
        self, y: NDArray[Any], weight: NDArray[np.float64], *, reset: bool
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        if reset or not hasattr(self, "_target_shape"):
            self._target_shape = y.shape[1:]
        self._check_shape(y)
        return y.astype(np.float64), weight

    def _learn_target(self, y: NDArray[Any], weight: NDArray[np.float64]) -> None:
        columns = y.reshape(len(y), -1)
        known = known_values(columns)
        if known.all():
            self._target_mean, self._target_scale = weighted_mean_and_scale(columns, weight)
            return
        check_columns_known(known)  # of the first graphs of partial_fit
        moments = [
            weighted_mean_and_scale(values[rows, None], weight[rows])
            for values, rows in zip(columns.T, known.T, strict=True)
        ]
        self._target_mean, self._target_scale = (
            np.concatenate(m) for m in zip(*moments, strict=True)
        )

    def _value_weight(
        self, y: NDArray[Any], weight: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        known = known_values(y)
        return None if known.all() else weight[:, None] * known

    def _strata(self, y: NDArray[Any]) -> NDArray[Any]:
        return np.zeros(len(y))

    def _network_target(self, y: NDArray[Any]) -> NDArray[np.float32]:
        columns, mean, scale = y.reshape(len(y), -1), self._target_mean, self._target_scale
        columns = np.where(known_values(columns), columns, mean)
        with np.errstate(under="ignore", over="ignore"):
            differences = columns - mean
            if not np.isfinite(differences).all():  # beyond 64 bits; those of halves are not
                differences, scale = columns / 2 - mean / 2, scale / 2
            return (differences / scale).astype(np.float32)
