"""Machines that learn from counts: fingerprints, or labels without any structure.

An ordinary machine of scikit-learn stands on top of a feature map. What a network learns
beyond them is what its layers are worth.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import has_fit_parameter

from sklofi._graph_features import NO_GRAPH_FEATURES, GraphEncoder
from sklofi._parameters import (
    POSITIVE,
    SEARCHED_C,
    ReadsEdgeLabels,
    ReadsGraphFeatures,
    parameter,
)
from sklofi._validation import TrainingData
from sklofi.graphs._input import as_graph_set
from sklofi.graphs._warnings import warn_of_training
from sklofi.kernels._fingerprint import (
    FingerprintVectorizer as FingerprintVectorizer,  # a name of sklofi.baselines, too
)
from sklofi.kernels._fingerprint import largest_ring, neighborhood_radius
from sklofi.kernels._linear_counts import beside_counts
from sklofi.kernels._machine import (
    Column,
    GraphMachine,
    MachineClassifier,
    MachineRegressor,
    OneClass,
)
from sklofi.kernels._vectorizer import GraphVectorizer
from sklofi.kernels._wl import VertexHistogramVectorizer

# C times the weight of a graph, or one by it, at most. Beyond that numbers overflow.
LARGEST_C = 1e10


class CountMachine(ReadsGraphFeatures, GraphMachine):
    """Base of the estimators that count: from graphs to scaled counts and a machine.

    Features of graphs as a whole stand beside the counts.
    """

    estimator: Any = parameter(
        """A classifier or regressor of scikit-learn that learns from the scaled counts, a
        sparse matrix. It is cloned, never changed. By default a
        :class:`sklearn.linear_model.LogisticRegression` for classes, and a
        :class:`sklearn.linear_model.Ridge` for numbers.""",
        [HasMethods(["fit", "predict"]), None],
        "estimator instance",
        default=None,
    )
    C: float = parameter(
        "Regularization of the default estimator: the smaller, the stronger.",
        POSITIVE,
        default=1.0,
    )
    random_state: int | np.random.RandomState | None = parameter(
        """Seed of the estimator, where it has a random_state that is None. The default one
        has nothing random in it.""",
        ["random_state"],
        default=None,
    )

    _search_space: ClassVar[dict[str, list[Any]]] = {
        "radius": [1, 2, 3],
        "max_ring": [0, 6, 8],
        "C": SEARCHED_C,
    }
    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "vectorizer_": (
            "object",
            "The feature map that was fitted; it has the names of the counts.",
        ),
        "estimator_": (
            "object",
            """The estimator of scikit-learn that was fitted, by a regressor to the standardized
            target; a list of one for each column of y if there are several.""",
        ),
    }
    _set_last = "estimator_"
    _saved_classes = (
        *(FingerprintVectorizer, VertexHistogramVectorizer),
        *(LogisticRegression, Ridge, OneClass, GraphEncoder),
    )
    _absent_from_files: ClassVar[dict[str, Any]] = {
        "graph_features": None,
        "_graph_encoder": NO_GRAPH_FEATURES,
    }

    def _graph_attributes(self) -> dict[str, Any]:
        return {**super()._graph_attributes(), "graph_features": self.graph_features}

    @abstractmethod
    def _make_vectorizer(self) -> GraphVectorizer:
        """Return the feature map, before it is fitted."""

    @abstractmethod
    def _default_machine(self) -> Any:
        """Return the machine that is used if the user gives none."""

    def _fit_machine(self, X: Any, data: TrainingData) -> None:
        graphs, weight = data.graphs, data.weight
        machine = self._make_machine()
        self._check_weights(weight)
        takes_weights = has_fit_parameter(machine, "sample_weight")
        if not takes_weights and (weight != weight[0]).any():
            raise ValueError(
                f"sample_weight differs between graphs, but {type(machine).__name__} (estimator)"
                " takes no weights in fit. Use an estimator that does, or no weights."
            )
        self.vectorizer_ = self._make_vectorizer()
        uses_edge_labels, owner = self.vectorizer_.uses_edge_labels, type(self).__name__
        warn_of_training(X, graphs, owner, uses_edge_labels, uses_graph_features=True)
        counts = self.vectorizer_.fit_graphs(graphs)
        self._scale = _spread(counts, weight)
        self._graph_encoder = GraphEncoder.fit(graphs, weight)
        inputs = beside_counts(_divide(counts, self._scale), graphs, self._graph_encoder)
        # Weights of one are not passed on: where scikit-learn routes metadata, an estimator of
        # several would ask what to do with weights that the user has not given.
        is_weighted = takes_weights and bool((weight != 1).any())

        def fit(column: Column) -> Any:
            weights = {"sample_weight": column.weight} if is_weighted else {}
            rows = inputs if column.rows is None else inputs[column.rows]
            return clone(machine).fit(rows, column.y, **weights)

        self.estimator_ = self._fit_columns(self._columns(data), fit)

    def _check_weights(self, weight: NDArray[np.float64]) -> None:
        largest = float(self.C) * float(weight.max())  # which may overflow
        if self.estimator is None and not 1 / LARGEST_C <= largest <= LARGEST_C:
            raise ValueError(
                f"C times the largest weight of a graph is {largest:.3g}; it has to be between"
                f" {1 / LARGEST_C:.0e} and {LARGEST_C:.0e}. Scale sample_weight, or use another C."
            )

    def _make_machine(self) -> Any:
        """Return the machine before it is fitted, with seeds of ours where it has none."""
        machine = self._default_machine() if self.estimator is None else clone(self.estimator)
        unset = [
            name
            for name, value in sorted(machine.get_params().items())
            if name.split("__")[-1] == "random_state" and value is None
        ]
        if unset and self.random_state is not None:
            seeds = check_random_state(self.random_state).randint(2**31 - 1, size=len(unset))
            machine.set_params(**dict(zip(unset, seeds.tolist(), strict=True)))
        return machine

    def _inputs(self, X: Any) -> Iterator[sp.csr_array]:
        graphs = as_graph_set(X, **self._reading())
        counts = _divide(self.vectorizer_.transform(graphs), self._scale)
        yield beside_counts(counts, graphs, self._graph_encoder, type(self).__name__)

    def _fitted_machine(self, method: str) -> Any:
        return self.estimator_

    def _feature_map(self) -> GraphVectorizer:
        return self.vectorizer_

    def _linear_machines(self) -> tuple[NDArray[np.float64], Any]:
        machine = _example_of(self.estimator_)
        if not (hasattr(machine, "coef_") and hasattr(machine, "intercept_")):
            raise AttributeError(
                f"{type(self).__name__} has no coef_ and no intercept_, because"
                f" {type(machine).__name__} (estimator) has none."
            )
        return np.concatenate([self._scale, self._graph_encoder.scale]), self.estimator_

    def _linear_map(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        coef, intercept = super()._linear_map()
        of_features = coef[..., len(self._scale) :]  # as they are, not standardized
        return coef, intercept - of_features @ self._graph_encoder.mean

    @property
    def feature_names_(self) -> NDArray[np.object_]:
        """The names of what is counted, and behind ``graph_`` those of graph features."""
        counted = super().feature_names_
        names = [f"graph_{name}" for name in self._graph_encoder.names]
        return np.array([*counted, *names], dtype=object)


class CountClassifier(MachineClassifier, CountMachine):
    """Base of the classifiers."""

    def _default_machine(self) -> LogisticRegression:
        return LogisticRegression(C=self.C, max_iter=1000)

    def _make_machine(self) -> Any:
        machine = super()._make_machine()
        if is_regressor(machine):
            raise ValueError(f"estimator has to be a classifier, got {self.estimator!r}.")
        return machine

    def _lacks(self, method: str) -> str | None:
        machine = _example_of(vars(self).get("estimator_", self.estimator))
        if machine is None or hasattr(machine, method):  # the default machine has them all
            return None
        name = type(self).__name__
        return f"{name} has no {method}, because {type(machine).__name__} (estimator) has none."


class CountRegressor(MachineRegressor, CountMachine):
    """Base of the regressors."""

    def _default_machine(self) -> Ridge:
        return Ridge(alpha=1 / self.C, solver="sparse_cg", tol=1e-8)

    def _make_machine(self) -> Any:
        machine = super()._make_machine()
        if is_classifier(machine):
            raise ValueError(f"estimator has to be a regressor, got {self.estimator!r}.")
        return machine


class BaseFingerprint(ReadsEdgeLabels, CountMachine):
    """Base of the machines on fingerprints, whatever their task."""

    radius: int = neighborhood_radius()
    max_ring: int = largest_ring()

    def _make_vectorizer(self) -> FingerprintVectorizer:
        return FingerprintVectorizer(
            self.radius,
            max_ring=self.max_ring,
            node_label=self.node_label,
            edge_label=self.edge_label,
        )


class BaseLabelHistogram(CountMachine):
    """Base of the machines on counts of labels, whatever their task."""

    def _make_vectorizer(self) -> VertexHistogramVectorizer:
        return VertexHistogramVectorizer(node_label=self.node_label)


class FingerprintClassifier(CountClassifier, BaseFingerprint):
    """Linear classifier of graphs by their fingerprints.

    Neighborhoods, bonds and rings are counted (:class:`FingerprintVectorizer`), counts are
    divided by their standard deviation over the training graphs where that is above 1, and
    a linear machine learns from them.

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


class FingerprintRegressor(CountRegressor, BaseFingerprint):
    """Linear regressor of graphs by their fingerprints.

    Neighborhoods, bonds and rings are counted (:class:`FingerprintVectorizer`), counts are
    divided by their standard deviation over the training graphs where that is above 1, and
    a linear machine learns from them. The target is standardized inside.

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


class LabelHistogramClassifier(CountClassifier, BaseLabelHistogram):
    """Linear classifier of graphs by how many nodes have each label.

    It does not look at edges at all (:class:`VertexHistogramVectorizer`). What structure is
    worth on some data is what other estimators gain over this one.

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


class LabelHistogramRegressor(CountRegressor, BaseLabelHistogram):
    """Linear regressor of graphs by how many nodes have each label.

    It does not look at edges at all (:class:`VertexHistogramVectorizer`). What structure is
    worth on some data is what other estimators gain over this one. The target is
    standardized inside.

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


def _example_of(machines: Any) -> Any:
    """Return one of several machines, rather one that has learned something."""
    if not isinstance(machines, list):
        return machines
    return next((one for one in machines if not isinstance(one, OneClass)), machines[0])


def _spread(counts: sp.csr_array, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviations of the columns, but at least 1.

    Divided by less, a part that one graph in a thousand has would count thirty times as
    much as one that half of them have.
    """
    with np.errstate(under="ignore", over="ignore"):
        weight = weight / weight.max()  # so that the sum does not overflow
        weight = weight / weight.sum()
        variance = counts.power(2).T @ weight - (counts.T @ weight) ** 2
    spread: NDArray[np.float64] = np.sqrt(np.maximum(variance, 1))
    return spread


def _divide(counts: sp.csr_array, scale: NDArray[np.float64]) -> sp.csr_array:
    """Return counts divided by the scales of their columns."""
    return sp.csr_array(
        (counts.data / scale[counts.indices], counts.indices, counts.indptr), shape=counts.shape
    )
