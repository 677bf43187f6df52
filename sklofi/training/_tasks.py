"""Tasks: what the targets of a network are, and how its outputs become predictions."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from torch import Tensor, nn

from sklofi._molecules import predicts_rows
from sklofi._parameters import Parameterized, WeighsClasses, choice
from sklofi._scaling import restore_target, weighted_mean_and_scale
from sklofi._validation import check_classes, check_targets, weights_of_classes
from sklofi.training._net import ClassifierNet, GraphNet, RegressorNet, probabilities

LOSSES = {"absolute_error": nn.L1Loss, "squared_error": nn.MSELoss}


class Task(ABC):
    """What a network needs to know of its targets.

    An estimator is a network and a task: ``class LoFIClassifier(NetworkClassifier, BaseLoFI)``.
    Tasks are mixins that implement the hooks below; the estimator
    (:class:`sklofi.training._estimator.NetworkEstimator`) calls them in this order.
    """

    net_: GraphNet
    classes_: NDArray[Any]  # of a classifier

    # The skorch net, and the arguments of scikit-learn's validation of y.
    _net_class: ClassVar[type[GraphNet]]
    _target_checks: ClassVar[dict[str, Any]]

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
    def _strata(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the groups of graphs that a validation part is balanced over."""

    @abstractmethod
    def _network_target(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return targets as the loss takes them."""

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
        """Return probabilities of classes, or predicted numbers, in columns."""

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


class NetworkClassifier(ClassifierMixin, Task, WeighsClasses):
    """Task of the networks that tell classes apart."""

    _net_class = ClassifierNet
    _target_checks: ClassVar[dict[str, Any]] = {}

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
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
        return self._fit_part(X, y, sample_weight)

    @predicts_rows
    def predict(self, X: Any) -> NDArray[Any]:
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

    @predicts_rows
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
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
            that of the first. Of more, the logarithms of their probabilities.
        """
        outputs = self._outputs(X).double().log_softmax(dim=1).numpy()
        scores: NDArray[np.float64] = (
            outputs[:, 1] - outputs[:, 0] if outputs.shape[1] == 2 else outputs
        )
        return scores

    _probabilities = staticmethod(probabilities)

    def _soft_predictions(self, outputs: Tensor) -> NDArray[np.float64]:
        return self._probabilities(outputs)

    def _predictions(self, outputs: Tensor) -> NDArray[Any]:
        predicted: NDArray[Any] = self.classes_[self._probabilities(outputs).argmax(axis=1)]
        return predicted

    @property
    def _criterion(self) -> type[nn.Module]:
        return nn.CrossEntropyLoss

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_)

    def _check_target(
        self, y: NDArray[Any], weight: NDArray[np.float64], *, reset: bool
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
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

    def _learn_target(self, y: NDArray[Any], weight: NDArray[np.float64]) -> None:
        """Nothing: the classes are known once they are checked."""

    def _strata(self, y: NDArray[Any]) -> NDArray[Any]:
        return y

    def _network_target(self, y: NDArray[Any]) -> NDArray[np.int64]:
        return np.searchsorted(self.classes_, y)


class NetworkRegressor(RegressorMixin, Task, Parameterized):
    """Task of the networks that predict numbers, which are standardized inside."""

    loss: str = choice("What to minimize.", tuple(LOSSES), default="absolute_error")

    _search_space: ClassVar[dict[str, list[Any]]] = {"loss": list(LOSSES)}

    _net_class = RegressorNet
    _target_checks: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        if y.shape[1:] != self._target_shape:
            raise ValueError(
                f"y has the shape {y.shape}, but the estimator is fitted to targets of shape"
                f" {('n_graphs', *self._target_shape)}."
            )
        return y.astype(np.float64), weight

    def _learn_target(self, y: NDArray[Any], weight: NDArray[np.float64]) -> None:
        columns = y.reshape(len(y), -1)
        self._target_mean, self._target_scale = weighted_mean_and_scale(columns, weight)

    def _strata(self, y: NDArray[Any]) -> NDArray[Any]:
        return np.zeros(len(y))

    def _network_target(self, y: NDArray[Any]) -> NDArray[np.float32]:
        columns, mean, scale = y.reshape(len(y), -1), self._target_mean, self._target_scale
        with np.errstate(under="ignore", over="ignore"):
            differences = columns - mean
            if not np.isfinite(differences).all():  # beyond 64 bits; those of halves are not
                differences, scale = columns / 2 - mean / 2, scale / 2
            return (differences / scale).astype(np.float32)
