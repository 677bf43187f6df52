"""Machines that learn from counts: fingerprints, or labels without any structure.

An ordinary machine of scikit-learn stands on top of a feature map. What a network learns
beyond them is what its layers are worth.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklofi._storage import SavedEstimator
from sklofi._validation import (
    available_unless,
    check_classes,
    check_training_data,
    restore_target,
    standardize_target,
)
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL
from sklofi.graphs._warnings import warn_of_training
from sklofi.kernels._fingerprint import FingerprintVectorizer
from sklofi.kernels._vectorizer import GraphVectorizer
from sklofi.kernels._wl import VertexHistogramVectorizer

# C times the weight of a graph, or one by it, at most. Beyond that numbers overflow.
LARGEST_C = 1e10


@dataclass(kw_only=True, eq=False, repr=False)
class BaseCounts(SavedEstimator, BaseEstimator):
    """Base of the estimators that count: from graphs to scaled counts and a machine.

    A subclass gives `_vectorizer`, the feature map, and `_default`, the machine of
    scikit-learn that learns from it.
    """

    estimator: Any = None
    C: float = 1.0
    node_label: Hashable | None = DEFAULT_NODE_LABEL
    random_state: int | np.random.RandomState | None = None

    _saved_classes = (
        *(FingerprintVectorizer, VertexHistogramVectorizer),
        *(LogisticRegression, Ridge),
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "node_label": "no_validation",
        "random_state": ["random_state"],
    }

    def _vectorizer(self) -> GraphVectorizer:
        raise TypeError(f"{type(self).__name__} has no feature map.")

    def _default(self) -> Any:
        raise TypeError(f"{type(self).__name__} has no machine.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _attributes(self) -> dict[str, Any]:
        """The attributes of networkx graphs that are read."""
        return {"node_label": self.node_label}

    def _check_training_data(
        self, X: Any, y: Any, sample_weight: Any, **target_checks: Any
    ) -> tuple[GraphSet, NDArray[Any], NDArray[np.float64]]:
        self._validate_params()
        self.__dict__.pop("estimator_", None)  # a fit that fails leaves no half-fitted estimator
        return check_training_data(self, X, y, sample_weight, **self._attributes(), **target_checks)

    def _fit_machine(
        self, X: Any, graphs: GraphSet, y: NDArray[Any], weight: NDArray[np.float64]
    ) -> None:
        machine = self._machine()
        self._check_weights(weight)
        takes_weights = has_fit_parameter(machine, "sample_weight")
        if not takes_weights and (weight != weight[0]).any():
            raise ValueError(
                f"sample_weight differs between graphs, but {type(machine).__name__} (estimator)"
                " takes no weights in fit. Use an estimator that does, or no weights."
            )
        self.vectorizer_ = self._vectorizer()
        owner, uses_edge_labels = type(self).__name__, self.vectorizer_.uses_edge_labels
        warn_of_training(X, graphs, owner, uses_edge_labels)
        counts = self.vectorizer_.fit_graphs(graphs)
        self._scale = _spread(counts, weight)
        # Weights of one are not passed on: where scikit-learn routes metadata, an estimator of
        # several would ask what to do with weights that nobody has given.
        weights = {"sample_weight": weight} if takes_weights and (weight != 1).any() else {}
        self.estimator_ = machine.fit(_divided(counts, self._scale), y, **weights)

    def _check_weights(self, weight: NDArray[np.float64]) -> None:
        largest = float(self.C) * float(weight.max())  # which may overflow
        if self.estimator is None and not 1 / LARGEST_C <= largest <= LARGEST_C:
            raise ValueError(
                f"C times the largest weight of a graph is {largest:.3g}; it has to be between"
                f" {1 / LARGEST_C:.0e} and {LARGEST_C:.0e}. Scale sample_weight, or use another C."
            )

    def _machine(self) -> Any:
        """The machine before it is fitted, with seeds of ours where it has none."""
        machine = self._default() if self.estimator is None else clone(self.estimator)
        unset = [
            name
            for name, value in sorted(machine.get_params().items())
            if name.split("__")[-1] == "random_state" and value is None
        ]
        if unset and self.random_state is not None:
            seeds = check_random_state(self.random_state).randint(2**31 - 1, size=len(unset))
            machine.set_params(**dict(zip(unset, seeds.tolist(), strict=True)))
        return machine

    def _inputs(self, X: Any) -> sp.csr_array:
        check_is_fitted(self)
        return _divided(self.vectorizer_.transform(X), self._scale)


def _unless_machine_lacks(method: str) -> Callable[[Callable[..., Any]], Any]:
    """For methods that need one of the machine, fitted or not; the default one has them all."""

    def reason(self: BaseCounts) -> str | None:
        machine = vars(self).get("estimator_", self.estimator)
        if machine is None or hasattr(machine, method):
            return None
        name = type(self).__name__
        return f"{name} has no {method}, because {type(machine).__name__} (estimator) has none."

    return available_unless(reason)


class CountsClassifier(ClassifierMixin, BaseCounts):
    """Base of the classifiers."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier to graphs and their classes.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,)
            Classes of the graphs.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs. Graphs of weight zero are left out altogether.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        graphs, y, weight = self._check_training_data(X, y, sample_weight)
        self.classes_ = check_classes(y)
        self._fit_machine(X, graphs, y, weight)
        return self

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
        inputs = self._inputs(X)
        return self.estimator_.predict(inputs)

    @_unless_machine_lacks("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probabilities of all classes, if the machine does.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        probabilities : ndarray of shape (n_graphs, n_classes)
            The columns are in the order of `classes_`.
        """
        inputs = self._inputs(X)
        return self.estimator_.predict_proba(inputs)

    @_unless_machine_lacks("decision_function")
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """How clearly graphs belong to the classes, if the machine says so.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        values : ndarray of shape (n_graphs,) or (n_graphs, n_classes)
            For two classes, above zero for the second; otherwise one column for each.
        """
        inputs = self._inputs(X)
        return self.estimator_.decision_function(inputs)

    def _default(self) -> LogisticRegression:
        return LogisticRegression(C=self.C, max_iter=1000)

    def _machine(self) -> Any:
        machine = super()._machine()
        if is_regressor(machine):
            raise ValueError(f"estimator has to be a classifier, got {self.estimator!r}.")
        return machine


class CountsRegressor(RegressorMixin, BaseCounts):
    """Base of the regressors."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the regressor to graphs and their targets.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,)
            Targets.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs. Graphs of weight zero are left out altogether.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        graphs, y, weight = self._check_training_data(X, y, sample_weight, y_numeric=True)
        y, self._target_mean, self._target_scale = standardize_target(y, weight)
        self._fit_machine(X, graphs, y, weight)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each graph.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        y : ndarray of shape (n_graphs,)
            Predicted targets.
        """
        inputs = self._inputs(X)
        standardized = self.estimator_.predict(inputs)
        return restore_target(standardized, self._target_mean, self._target_scale)

    def _default(self) -> Ridge:
        return Ridge(alpha=1 / self.C, solver="sparse_cg", tol=1e-8)

    def _machine(self) -> Any:
        machine = super()._machine()
        if is_classifier(machine):
            raise ValueError(f"estimator has to be a regressor, got {self.estimator!r}.")
        return machine


@dataclass(kw_only=True, eq=False, repr=False)
class FingerprintCounts(BaseCounts):
    """The parameters of fingerprints."""

    radius: int = 2
    max_ring: int = 8
    edge_label: Hashable | None = DEFAULT_EDGE_LABEL

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseCounts._parameter_constraints,
        **{
            name: FingerprintVectorizer._parameter_constraints[name]
            for name in ("radius", "max_ring", "edge_label")
        },
    }

    def _vectorizer(self) -> FingerprintVectorizer:
        return FingerprintVectorizer(self.radius, max_ring=self.max_ring, **self._attributes())

    def _attributes(self) -> dict[str, Any]:
        return {**super()._attributes(), "edge_label": self.edge_label}


@dataclass(kw_only=True, eq=False, repr=False)
class LabelCounts(BaseCounts):
    """Counts of labels, which have no parameters of their own."""

    def _vectorizer(self) -> VertexHistogramVectorizer:
        return VertexHistogramVectorizer(**self._attributes())


@dataclass(kw_only=True, eq=False, repr=False)
class FingerprintClassifier(FingerprintCounts, CountsClassifier):
    """Linear classifier of graphs by their fingerprints.

    Neighborhoods, bonds and rings are counted (:class:`FingerprintVectorizer`), counts are
    divided by their standard deviation over the training graphs where that is above 1, and
    a linear machine learns from them.

    Parameters
    ----------
    estimator : estimator instance, default=None
        A classifier of scikit-learn that learns from the scaled counts, a sparse
        matrix. It is cloned, never changed. By default a
        :class:`sklearn.linear_model.LogisticRegression`.

    C : float, default=1.0
        Regularization of the default estimator: the smaller, the stronger.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label: any hashable value. Under the default
        name it may be absent, then all nodes count as alike. None ignores labels. For a
        :class:`GraphSet` it was chosen when it was made.

    random_state : int, RandomState instance or None, default=None
        Seed of the estimator, where it has a random_state that is None. The default one
        has nothing random in it.

    radius : int, default=2
        Neighborhoods hold what is within so many steps.

    max_ring : int, default=8
        Size of the largest rings that are counted; with 0 there are none.

    edge_label : hashable or None, default="label"
        Edge attribute with a categorical label; see :class:`FingerprintVectorizer`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.

    vectorizer_ : FingerprintVectorizer
        The feature map that was fitted; it has the names of the counts.

    estimator_ : object
        The estimator of scikit-learn that was fitted.

    See Also
    --------
    FingerprintRegressor : The same for numerical targets.
    LabelHistogramClassifier : The same without any structure.

    Examples
    --------
    >>> from sklofi.baselines import FingerprintClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y = make_motif_graphs(120, random_state=0)
    >>> FingerprintClassifier().fit(graphs[:100], y[:100]).score(graphs[100:], y[100:])
    1.0
    """


@dataclass(kw_only=True, eq=False, repr=False)
class FingerprintRegressor(FingerprintCounts, CountsRegressor):
    """Linear regressor of graphs by their fingerprints.

    Neighborhoods, bonds and rings are counted (:class:`FingerprintVectorizer`), counts are
    divided by their standard deviation over the training graphs where that is above 1, and
    a linear machine learns from them. The target is standardized inside.

    Parameters
    ----------
    estimator : estimator instance, default=None
        A regressor of scikit-learn that learns from the scaled counts, a sparse
        matrix. It is cloned, never changed. By default a
        :class:`sklearn.linear_model.Ridge`.

    C : float, default=1.0
        Regularization of the default estimator: the smaller, the stronger.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label; see :class:`FingerprintClassifier`.

    random_state : int, RandomState instance or None, default=None
        Seed of the estimator, where it has a random_state that is None.

    radius : int, default=2
        Neighborhoods hold what is within so many steps.

    max_ring : int, default=8
        Size of the largest rings that are counted; with 0 there are none.

    edge_label : hashable or None, default="label"
        Edge attribute with a categorical label; see :class:`FingerprintVectorizer`.

    Attributes
    ----------
    vectorizer_ : FingerprintVectorizer
        The feature map that was fitted; it has the names of the counts.

    estimator_ : object
        The estimator of scikit-learn that was fitted, to the standardized target.

    See Also
    --------
    FingerprintClassifier : The same for classes.
    LabelHistogramRegressor : The same without any structure.

    Examples
    --------
    >>> from sklofi.baselines import FingerprintRegressor
    >>> from sklofi.datasets import load_graph_atlas
    >>> graphs, y = load_graph_atlas(target="spectral_radius")
    >>> bool(FingerprintRegressor().fit(graphs, y).score(graphs, y) > 0.9)
    True
    """


@dataclass(kw_only=True, eq=False, repr=False)
class LabelHistogramClassifier(LabelCounts, CountsClassifier):
    """Linear classifier of graphs by how many nodes have each label.

    It does not look at edges at all (:class:`VertexHistogramVectorizer`). What structure is
    worth on some data is what other estimators gain over this one.

    Parameters
    ----------
    estimator : estimator instance, default=None
        A classifier of scikit-learn that learns from the scaled counts, a sparse
        matrix. It is cloned, never changed. By default a
        :class:`sklearn.linear_model.LogisticRegression`.

    C : float, default=1.0
        Regularization of the default estimator: the smaller, the stronger.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label; see :class:`FingerprintClassifier`.

    random_state : int, RandomState instance or None, default=None
        Seed of the estimator, where it has a random_state that is None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.

    vectorizer_ : VertexHistogramVectorizer
        The feature map that was fitted; it has the names of the counts.

    estimator_ : object
        The estimator of scikit-learn that was fitted.

    See Also
    --------
    LabelHistogramRegressor : The same for numerical targets.
    FingerprintClassifier : The same with structure.

    Examples
    --------
    >>> from sklofi.baselines import LabelHistogramClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y = make_motif_graphs(120, random_state=0)
    >>> bool(LabelHistogramClassifier().fit(graphs, y).score(graphs, y) < 0.9)
    True
    """


@dataclass(kw_only=True, eq=False, repr=False)
class LabelHistogramRegressor(LabelCounts, CountsRegressor):
    """Linear regressor of graphs by how many nodes have each label.

    It does not look at edges at all (:class:`VertexHistogramVectorizer`). What structure is
    worth on some data is what other estimators gain over this one. The target is
    standardized inside.

    Parameters
    ----------
    estimator : estimator instance, default=None
        A regressor of scikit-learn that learns from the scaled counts, a sparse
        matrix. It is cloned, never changed. By default a
        :class:`sklearn.linear_model.Ridge`.

    C : float, default=1.0
        Regularization of the default estimator: the smaller, the stronger.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label; see :class:`FingerprintClassifier`.

    random_state : int, RandomState instance or None, default=None
        Seed of the estimator, where it has a random_state that is None.

    Attributes
    ----------
    vectorizer_ : VertexHistogramVectorizer
        The feature map that was fitted; it has the names of the counts.

    estimator_ : object
        The estimator of scikit-learn that was fitted, to the standardized target.

    See Also
    --------
    LabelHistogramClassifier : The same for classes.
    FingerprintRegressor : The same with structure.

    Examples
    --------
    >>> from sklofi.baselines import LabelHistogramRegressor
    >>> from sklofi.datasets import load_graph_atlas
    >>> graphs, y = load_graph_atlas(target="spectral_radius")
    >>> bool(LabelHistogramRegressor().fit(graphs, y).score(graphs, y) < 0.9)
    True
    """


def _spread(counts: sp.csr_array, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviations of the columns, but at least 1.

    Divided by less, a part that one graph in a thousand has would count thirty times as
    much as one that half of them have.
    """
    with np.errstate(under="ignore", over="ignore"):
        weight = weight / weight.max()  # so that the sum does not overflow
        weight = weight / weight.sum()
        variance = counts.power(2).T @ weight - (counts.T @ weight) ** 2
    return np.sqrt(np.maximum(variance, 1))


def _divided(counts: sp.csr_array, scale: NDArray[np.float64]) -> sp.csr_array:
    return sp.csr_array(
        (counts.data / scale[counts.indices], counts.indices, counts.indptr), shape=counts.shape
    )
