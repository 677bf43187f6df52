"""Classes or numbers: what the targets of a network are, and how its outputs become predictions."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions

from sklofi._parameters import network_estimator, parameter
from sklofi._validation import (
    check_classes,
    check_targets,
    restore_target,
    weighted_mean_and_scale,
    weights_of_classes,
)
from sklofi.training._estimator import BaseNetwork
from sklofi.training._net import ClassifierNet, GraphNet, RegressorNet, probabilities

LOSSES = {"absolute_error": torch.nn.L1Loss, "squared_error": torch.nn.MSELoss}


@network_estimator
class NetworkClassifier(ClassifierMixin, BaseNetwork):
    """Base of the networks that tell classes apart."""

    class_weight: dict[Any, float] | str | None = parameter(
        None,
        [StrOptions({"balanced"}), dict, None],
        """Weights of the classes, multiplied with `sample_weight`; "balanced" makes them
        inversely proportional to the frequency of the classes.""",
    )

    _net_class: ClassVar[type[GraphNet]] = ClassifierNet
    _criterion: ClassVar[type[torch.nn.Module]] = torch.nn.CrossEntropyLoss
    _target_checks: ClassVar[dict[str, Any]] = {}
    _training_parameters = BaseNetwork._training_parameters | {"class_weight"}

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Train for one epoch on the given graphs, going on from where the net is.

        The first call fixes the classes and the node labels that the network knows.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,)
            Classes of the graphs.

        classes : array-like of shape (n_classes,), default=None
            All classes that will ever occur; needed in the first call if `y` does not
            hold them all.

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
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X):
        """Predict the class of each graph.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        y : ndarray of shape (n_graphs,)
            Predicted classes.
        """
        return self._predictions(self._outputs(X))

    def predict_proba(self, X):
        """Predict the probabilities of all classes.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        probabilities : ndarray of shape (n_graphs, n_classes)
            The columns are in the order of `classes_`.
        """
        return self._probabilities(self._outputs(X))

    _probabilities = staticmethod(probabilities)

    def _predictions(self, outputs):
        return self.classes_[self._probabilities(outputs).argmax(axis=1)]

    @property
    def _n_outputs(self):
        return len(self.classes_)

    def _check_target(self, y, weight, *, reset):
        if reset:
            self.classes_ = check_classes(y)
        if unknown := np.setdiff1d(y, self.classes_).tolist():
            raise ValueError(
                f"y has the classes {unknown}, which are not among the classes that were"
                f" fitted: {self.classes_.tolist()}."
            )
        before = vars(self).get("_class_weight", self.class_weight)  # not in files of old versions
        if reset or not hasattr(self, "net_") or self.class_weight != before:
            self._weights_of_classes = weights_of_classes(
                self.class_weight, self.classes_, y, weight
            )
        self._class_weight = copy.copy(self.class_weight)
        return y, weight * self._weights_of_classes[self._network_target(y)]

    def _strata(self, y):
        return y

    def _network_target(self, y):
        return np.searchsorted(self.classes_, y)


@network_estimator
class NetworkRegressor(RegressorMixin, BaseNetwork):
    """Base of the networks that predict numbers, which are standardized inside."""

    loss: str = parameter("absolute_error", [StrOptions(set(LOSSES))], "What to minimize.")

    _net_class: ClassVar[type[GraphNet]] = RegressorNet
    _target_checks: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    def partial_fit(self, X, y, sample_weight=None):
        """Train for one epoch on the given graphs, going on from where the net is.

        The first call fixes the node labels that the network knows and the scale of the
        target.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
            Targets.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs.

        Returns
        -------
        self : object
            The estimator, trained a little further.
        """
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X):
        """Predict the target of each graph.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        y : ndarray of shape (n_graphs,) or (n_graphs, n_outputs)
            Predicted targets, of the same number of dimensions as in `fit`.
        """
        return self._predictions(self._outputs(X))

    def _predictions(self, outputs):
        y = restore_target(outputs.double().numpy(), self._target_mean, self._target_scale)
        return y.reshape(len(y), *self._target_shape)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def _criterion(self):
        return LOSSES[self.loss]

    @property
    def _n_outputs(self):
        return len(self._target_mean)

    def _check_target(self, y, weight, *, reset):
        if reset or not hasattr(self, "_target_shape"):
            self._target_shape = y.shape[1:]
        if y.shape[1:] != self._target_shape:
            raise ValueError(
                f"y has the shape {y.shape}, but the estimator is fitted to targets of shape"
                f" {('n_graphs', *self._target_shape)}."
            )
        return y.astype(np.float64), weight

    def _learn_encoding(self, graphs, y, weight):
        super()._learn_encoding(graphs, y, weight)
        columns = y.reshape(len(y), -1)
        self._target_mean, self._target_scale = weighted_mean_and_scale(columns, weight)

    def _strata(self, y):
        return np.zeros(len(y))

    def _network_target(self, y):
        columns, mean, scale = y.reshape(len(y), -1), self._target_mean, self._target_scale
        with np.errstate(under="ignore", over="ignore"):
            differences = columns - mean
            if not np.isfinite(differences).all():  # beyond 64 bits; those of halves are not
                differences, scale = columns / 2 - mean / 2, scale / 2
            return (differences / scale).astype(np.float32)
