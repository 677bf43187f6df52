"""Graph-kernel machines: GraphKernelSVC and GraphKernelSVR, and what they are made of.

A kernel machine is a feature map (:mod:`sklofi.kernels._vectorizer`) and a linear machine, by way
of a kernel matrix (:mod:`sklofi.kernels._gram`) or, for many graphs, without one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_memory

from sklofi._memory import is_too_large, memory_size
from sklofi._storage import CHECKS, SavedEstimator
from sklofi._validation import (
    available_unless,
    check_classes,
    check_training_data,
    restore_target,
    standardize_target,
    weights_of_classes,
)
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set
from sklofi.graphs._labels import DEFAULT_NODE_LABEL
from sklofi.graphs._networkx import check_graph_list
from sklofi.graphs._warnings import warn_of_training
from sklofi.kernels._gram import (
    FunctionKernel,
    GraKeLKernel,
    SharedKernel,
    fit_kernel,
    linear_kernel,
)
from sklofi.kernels._random_walk import RandomWalkKernel, RandomWalkVectorizer
from sklofi.kernels._shortest_path import ShortestPathVectorizer
from sklofi.kernels._vectorizer import GraphVectorizer
from sklofi.kernels._wl import VertexHistogramVectorizer, WLVectorizer

# Kernels by name, made of the parameters of an estimator.
GRAPH_KERNELS: dict[str, Callable[..., GraphVectorizer]] = {
    "wl": WLVectorizer,
    "wl-oa": lambda n_iter, **kwargs: WLVectorizer(n_iter, unary=True, **kwargs),
    "vertex-histogram": lambda n_iter, **kwargs: VertexHistogramVectorizer(**kwargs),
    "shortest-path": lambda n_iter, **kwargs: ShortestPathVectorizer(**kwargs),
    "random-walk": RandomWalkVectorizer,
}


# For more training graphs than this the kernel matrix (0.8 GB) is avoided where it can be.
LARGEST_MATRIX = 10_000


# What the computation of a kernel matrix takes at its peak, for each value.
BYTES_PER_VALUE = 24


# Kernel values that are computed at a time in prediction (256 MB).
VALUES_TOGETHER = 2**25


# Folds that probabilities are calibrated on, if every class has as many graphs.
CALIBRATION_FOLDS = 5


LINEAR_ITERATIONS = 10_000


# C times the weight of a graph. libsvm goes towards it by steps of bounded length, so that
# beyond this it may never arrive.
LARGEST_C = 1e10


@dataclass(kw_only=True, eq=False, repr=False)
class BaseKernelMachine(SavedEstimator, BaseEstimator):
    """Base of the kernel machines: the road from graphs to kernel values.

    A subclass gives `_machine`, the estimator of scikit-learn for kernel values or for
    features.
    """

    kernel: Any = "wl"
    n_iter: int = 5
    C: float = 1.0
    normalize: bool = True
    node_label: Hashable | None = DEFAULT_NODE_LABEL
    solver: str = "auto"
    max_iter: int = -1
    memory: Any = None
    random_state: int | np.random.RandomState | None = None

    _saved_classes: ClassVar[tuple[type, ...]] = (
        *(WLVectorizer, VertexHistogramVectorizer, ShortestPathVectorizer, RandomWalkVectorizer),
        *(RandomWalkKernel, GraphSet, SVC, SVR, LinearSVC, LinearSVR),
        *(CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration),
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [
            StrOptions(set(GRAPH_KERNELS)),
            HasMethods(["fit_transform", "transform"]),
            callable,
        ],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "normalize": ["boolean"],
        "node_label": "no_validation",
        "solver": [StrOptions({"auto", "gram", "linear"})],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "memory": [str, HasMethods(["cache"]), None],
        "random_state": ["random_state"],
    }

    def __sklearn_is_fitted__(self):
        return hasattr(self, "svm_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def __getstate__(self):
        state = super().__getstate__()
        if "_shared" in state:  # matrices that live with the graphs
            state = {**state, "_shared": None}
        return state

    def _set_fitted_state(self, state):
        super()._set_fitted_state(state)
        if getattr(self, "_calibrated", None) is not None:
            self.svm_ = self._calibrated.calibrated_classifiers_[0].estimator

    def _check_loaded(self):
        if self._features is not None and self._features.shape[1] > self._features.nnz:
            raise ValueError("the features have columns that no training graph has")

    def _attributes(self):
        """The attributes that are read; kernels of our own have made their choice."""
        return {
            "node_label": getattr(self.kernel, "node_label", self.node_label),
            "edge_label": getattr(self.kernel, "edge_label", None),
        }

    def _fit_kernel(self, X, graphs):
        """What the machine learns from: kernel values, or features."""
        kernel = self._make_kernel()
        if not isinstance(kernel, FunctionKernel):  # which sees the graphs as they are
            uses_edge_labels = getattr(kernel, "uses_edge_labels", False)
            warn_of_training(X, graphs, type(self).__name__, uses_edge_labels)
        self.solver_ = self._choose_solver(kernel, X, graphs)
        self._features = self._shared = None
        if isinstance(kernel, FunctionKernel):
            # Not kept on disk: a function is known by its name only, and would be taken for
            # its former self.
            self.kernel_, _, values = fit_kernel(kernel, _networkx_graphs(X, graphs), True)
            return values
        compute = check_memory(self.memory).cache(fit_kernel)
        if self.solver_ == "linear":
            self.kernel_, features, _ = compute(kernel, graphs, False)
            if features.shape[1] == 0:
                raise ValueError(
                    f"{type(kernel).__name__} finds nothing to count in the training graphs."
                )
            return features
        has_features = isinstance(kernel, GraphVectorizer)
        if has_features and isinstance(X, GraphSet) and SharedKernel.pays(graphs):
            self._shared = SharedKernel(kernel, graphs)
            self.kernel_, self._features = self._shared.fit(compute)
            return self._shared.values(compute)
        self.kernel_, self._features, values = compute(kernel, graphs, True)
        return values

    def _choose_solver(self, kernel, X, graphs):
        has_features = isinstance(kernel, GraphVectorizer)
        if self.solver == "linear" and not has_features:
            raise ValueError(
                f'solver="linear" needs a kernel with features, but {self.kernel!r} gives only'
                f' kernel values. Use solver="gram", or one of {sorted(GRAPH_KERNELS)}.'
            )
        solver = self.solver
        if solver == "auto":
            # By the size of the whole set, so that all folds of a search choose the same.
            n_graphs = len(graphs.origin[0]) if isinstance(X, GraphSet) else len(graphs)
            solver = "linear" if has_features and n_graphs > LARGEST_MATRIX else "gram"
        needed = BYTES_PER_VALUE * len(graphs) ** 2
        if solver == "gram" and is_too_large(needed):
            raise MemoryError(
                f"The kernel matrix of {len(graphs):,} graphs takes {needed / 2**30:.1f} GiB to"
                f" compute; this machine has {memory_size() / 2**30:.1f} GiB of memory. Use"
                f' solver="linear" with one of {sorted(GRAPH_KERNELS)}, or fewer graphs.'
            )
        return solver

    def _check_weights(self, weight):
        """Check that the solver comes to an end."""
        largest = self.C * weight.max()
        is_linear = self.solver_ == "linear"  # which does not always obey max_iter
        if (is_linear or self.max_iter == -1) and not largest <= LARGEST_C:
            raise ValueError(
                f"C times the largest weight of a graph is {largest:.3g}; above {LARGEST_C:.0e} the"
                " solver may never end. Scale sample_weight down, or use a smaller C."
            )
        if is_linear and largest < 1 / LARGEST_C:
            raise ValueError(
                f"C times the largest weight of a graph is {largest:.3g}; below {1 / LARGEST_C:.0e}"
                " the linear solver may never end. Scale sample_weight up, or use a larger C."
            )

    def _make_kernel(self):
        """An unfitted object that gives features or kernel values."""
        if isinstance(self.kernel, str):
            parameters = {"normalize": self.normalize, "node_label": self.node_label}
            return GRAPH_KERNELS[self.kernel](self.n_iter, **parameters)
        if isinstance(self.kernel, type):
            raise TypeError(
                f"kernel has to be an instance, got the class {self.kernel.__name__}:"
                f" write kernel={self.kernel.__name__}()."
            )
        if isinstance(self.kernel, (GraphVectorizer, RandomWalkKernel)):
            return clone(self.kernel)
        if hasattr(self.kernel, "get_feature_names_out"):
            raise TypeError(
                f"kernel={self.kernel!r} gives features, not kernel values. Put it before a"
                " linear machine in a pipeline: make_pipeline(vectorizer, LinearSVC())."
            )
        if hasattr(self.kernel, "fit_transform"):
            return GraKeLKernel(self.kernel)
        return FunctionKernel(self.kernel)

    def _machine_inputs(self, X) -> Iterator[Any]:
        """The same as in training for other graphs, some of them at a time."""
        check_is_fitted(self)
        graphs = as_graph_set(X, **self._attributes())
        if isinstance(self.kernel_, FunctionKernel):
            yield self.kernel_.transform(_networkx_graphs(X, graphs))
        elif self._shared and (values := self._shared.values_of(graphs)) is not None:
            self.kernel_.warn_of_unknown(graphs)
            yield values
        elif self.solver_ == "linear":
            yield self.kernel_.transform(graphs)
        elif self._features is None:
            yield np.asarray(self.kernel_.transform(graphs))  # perhaps a data frame
        else:
            features = self.kernel_.transform(graphs)
            n_together = max(1, VALUES_TOGETHER // self._features.shape[0])
            for start in range(0, len(graphs), n_together):
                yield linear_kernel(features[start : start + n_together], self._features)


def _lacks_probabilities(estimator):
    if estimator.probability:
        return None
    return (
        f"{type(estimator).__name__} has predict_proba only with probability=True, set before fit."
    )


@dataclass(kw_only=True, eq=False, repr=False)
class GraphKernelSVC(ClassifierMixin, BaseKernelMachine):
    """Support vector classifier of graphs with a graph kernel.

    Parameters
    ----------
    kernel : str, object or callable, default="wl"
        How graphs are compared:

        - "wl": the Weisfeiler-Lehman subtree kernel, :class:`WLVectorizer`;
        - "wl-oa": the Weisfeiler-Lehman optimal assignment kernel, the histogram
          intersection of the same colors;
        - "vertex-histogram": node labels alone, :class:`VertexHistogramVectorizer`;
        - "shortest-path": pairs of labels and their distance,
          :class:`ShortestPathVectorizer`;
        - "random-walk": walks by their labels, :class:`RandomWalkVectorizer`;
        - one of these vectorizers, or a :class:`RandomWalkKernel`, with parameters of its
          own;
        - an object with the interface of GraKeL's kernels: `fit_transform` and
          `transform` that give kernel matrices. Graphs are converted for it, with their
          node labels as integers;
        - a callable that takes two lists of networkx graphs, as they are in `X`, and
          returns the kernel matrix between them. A :class:`GraphSet` gives its graphs back
          without parallel edges and without attributes that were not read.

    n_iter : int, default=5
        Number of iterations of "wl" and "wl-oa", and length of the longest walks of
        "random-walk". Not used for other kernels.

    C : float, default=1.0
        Regularization: the smaller, the stronger.

    normalize : bool, default=True
        Whether to scale a kernel that is given by its name so that every graph has
        similarity 1 with itself. Without it large graphs outweigh small ones, and the
        optimization can take very long.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label: any hashable value. Under the default
        name it may be absent, then all nodes count as alike. None ignores labels. For a
        :class:`GraphSet`, and for vectorizers as kernels, it was chosen when they were
        made.

    solver : {"auto", "gram", "linear"}, default="auto"
        "gram" computes the kernel matrix and gives it to libsvm
        (:class:`sklearn.svm.SVC`). "linear" gives the features behind the kernel to
        liblinear (:class:`sklearn.svm.LinearSVC`), which needs memory for the features
        only; its loss is the squared hinge, several classes are told apart one against
        the rest, so its predictions are near those of "gram", not the same. "auto" is
        "linear" for more than 10,000 graphs (of a :class:`GraphSet`, in the whole set) if
        the kernel has features, and otherwise "gram".

    max_iter : int, default=-1
        Largest number of iterations of the solver; -1 is no limit for "gram", and 10,000
        for "linear".

    memory : str or object with the joblib.Memory interface, default=None
        Where to keep kernel matrices and features on disk, so that fits which differ in
        `C` only do not compute them again. Not used for callables; if you change the code
        of a kernel object of your own, clear it. For a :class:`GraphSet`, kernels that are
        given by name keep them in memory as well: all folds and candidates of a search
        share the matrix of the whole set. It is not saved with the estimator.

    random_state : int, RandomState instance or None, default=None
        Determines the order in which the solver "linear" visits graphs, and the folds
        that probabilities are calibrated on. The global generator of numpy is left alone
        if this is an int.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with `sample_weight`; "balanced" makes them
        inversely proportional to the frequency of the classes.

    probability : bool, default=False
        Whether to enable `predict_proba`, by calibration on up to five shuffled folds of
        the training graphs (:class:`sklearn.calibration.CalibratedClassifierCV`). `fit`
        then takes about five times as long. `predict` is the same with and without it, as
        with :class:`sklearn.svm.SVC`: it gives the class that the machine decides for,
        which is not always the most probable one, above all if classes are of very
        different sizes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.

    kernel_ : object
        The kernel that was fitted.

    solver_ : str
        "gram" or "linear".

    svm_ : SVC or LinearSVC
        The machine of scikit-learn that was fitted.

    See Also
    --------
    GraphKernelSVR : The same for numerical targets.
    LoFIClassifier : A graph neural network for the same task.
    compare : Which of them is better on some data.

    Examples
    --------
    >>> from sklofi import GraphKernelSVC
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y = make_motif_graphs(120, random_state=0)
    >>> classifier = GraphKernelSVC(kernel="wl-oa", n_iter=2)
    >>> classifier.fit(graphs[:100], y[:100]).score(graphs[100:], y[100:])
    1.0
    """

    class_weight: dict[Any, float] | str | None = None
    probability: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseKernelMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "probability": ["boolean"],
    }

    def fit(self, X, y, sample_weight=None):
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
        self._validate_params()
        vars(self).pop("svm_", None)  # a fit that fails leaves no half-fitted estimator
        graphs, y, weight = check_training_data(self, X, y, sample_weight, **self._attributes())
        self.classes_ = check_classes(y)
        class_of = np.searchsorted(self.classes_, y)
        weight = weight * weights_of_classes(self.class_weight, self.classes_, y, weight)[class_of]
        if not weight.all():  # classes of weight zero are not there, as graphs are not
            weighted = np.flatnonzero(weight)
            graphs, y, weight = graphs[weighted], y[weighted], weight[weighted]
            self.classes_ = check_classes(y)
            class_of = np.searchsorted(self.classes_, y)
        n_folds = min(CALIBRATION_FOLDS, np.bincount(class_of).min())
        if self.probability and n_folds < 2:
            rare = self.classes_.tolist()[np.bincount(class_of).argmin()]
            raise ValueError(
                f"probability=True needs at least 2 graphs of each class to calibrate on, but"
                f" there is only one of class {rare!r}."
            )
        inputs = self._fit_kernel(X, graphs)
        self._check_weights(weight)
        machine = self._machine()
        self._calibrated = None
        if self.probability:
            # Shuffled, because many sets are sorted by class or by something that matters.
            folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state)
            self._calibrated = CalibratedClassifierCV(machine, ensemble=False, cv=folds)
            # Weights reach the machine whether or not the user lets scikit-learn route metadata.
            with config_context(enable_metadata_routing=False):
                self._calibrated.fit(inputs, y, sample_weight=weight)
            self._calibrated.cv = None  # the folds are no longer needed, so they are not saved
            self.svm_ = self._calibrated.calibrated_classifiers_[0].estimator
        else:
            self.svm_ = machine.fit(inputs, y, sample_weight=weight)
        return self

    def decision_function(self, X):
        """How clearly graphs belong to the classes.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        values : ndarray of shape (n_graphs,) or (n_graphs, n_classes)
            For two classes, above zero for the second; otherwise one column for each.
        """
        return np.concatenate([self.svm_.decision_function(x) for x in self._machine_inputs(X)])

    def predict(self, X):
        """Predict the class of each graph, as the machine decides, calibrated or not.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        y : ndarray of shape (n_graphs,)
            Predicted classes.
        """
        return np.concatenate([self.svm_.predict(x) for x in self._machine_inputs(X)])

    @available_unless(_lacks_probabilities)
    def predict_proba(self, X):
        """Predict the probabilities of all classes. Only with `probability=True`.

        The most probable class is not always the one that `predict` gives.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        probabilities : ndarray of shape (n_graphs, n_classes)
            The columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        if self._calibrated is None:
            raise NotFittedError("Call fit again: it was fitted with probability=False.")
        inputs = self._machine_inputs(X)
        return np.concatenate([self._calibrated.predict_proba(x) for x in inputs])

    def _machine(self):
        if self.solver_ == "gram":
            # libsvm draws a seed, though nothing here is random.
            return SVC(kernel="precomputed", C=self.C, max_iter=self.max_iter, random_state=0)
        max_iter = LINEAR_ITERATIONS if self.max_iter == -1 else self.max_iter
        return LinearSVC(C=self.C, max_iter=max_iter, random_state=self.random_state)


@dataclass(kw_only=True, eq=False, repr=False)
class GraphKernelSVR(RegressorMixin, BaseKernelMachine):
    """Support vector regressor of graphs with a graph kernel.

    The target is standardized inside, so that `C` and `epsilon` do not depend on its
    scale.

    Parameters
    ----------
    kernel : str, object or callable, default="wl"
        How graphs are compared; see :class:`GraphKernelSVC`.

    n_iter : int, default=5
        Number of iterations of "wl" and "wl-oa", and length of the longest walks of
        "random-walk". Not used for other kernels.

    C : float, default=1.0
        Regularization: the smaller, the stronger.

    normalize : bool, default=True
        Whether to scale a kernel that is given by its name so that every graph has
        similarity 1 with itself. Without it large graphs outweigh small ones, and the
        optimization can take very long.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label: any hashable value. Under the default
        name it may be absent, then all nodes count as alike. None ignores labels. For a
        :class:`GraphSet`, and for vectorizers as kernels, it was chosen when they were
        made.

    solver : {"auto", "gram", "linear"}, default="auto"
        "gram" computes the kernel matrix and gives it to libsvm
        (:class:`sklearn.svm.SVR`). "linear" gives the features behind the kernel to
        liblinear (:class:`sklearn.svm.LinearSVR`, with the squared loss), which needs
        memory for the features only. "auto" is "linear" for more than 10,000 graphs (of a
        :class:`GraphSet`, in the whole set) if the kernel has features, and otherwise
        "gram".

    max_iter : int, default=-1
        Largest number of iterations of the solver; -1 is no limit for "gram", and 10,000
        for "linear".

    memory : str or object with the joblib.Memory interface, default=None
        Where to keep kernel matrices and features on disk, so that fits which differ in
        `C` only do not compute them again. Not used for callables; if you change the code
        of a kernel object of your own, clear it. For a :class:`GraphSet`, kernels that are
        given by name keep them in memory as well: all folds and candidates of a search
        share the matrix of the whole set. It is not saved with the estimator.

    random_state : int, RandomState instance or None, default=None
        Determines the order in which the solver "linear" visits graphs.

    epsilon : float, default=0.1
        Deviations up to this many standard deviations of the target cost nothing.

    Attributes
    ----------
    kernel_ : object
        The kernel that was fitted.

    solver_ : str
        "gram" or "linear".

    svm_ : SVR or LinearSVR
        The machine of scikit-learn that was fitted, to the standardized target.

    See Also
    --------
    GraphKernelSVC : The same for classes.
    LoFIRegressor : A graph neural network for the same task.

    Examples
    --------
    >>> from sklofi import GraphKernelSVR
    >>> from sklofi.datasets import load_graph_atlas
    >>> graphs, y = load_graph_atlas(target="spectral_radius")
    >>> regressor = GraphKernelSVR(n_iter=2)
    >>> bool(regressor.fit(graphs, y).score(graphs, y) > 0.9)
    True
    """

    epsilon: float = 0.1

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseKernelMachine._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def fit(self, X, y, sample_weight=None):
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
        self._validate_params()
        vars(self).pop("svm_", None)  # a fit that fails leaves no half-fitted estimator
        graphs, y, weight = check_training_data(
            self, X, y, sample_weight, **self._attributes(), y_numeric=True
        )
        y, self._target_mean, self._target_scale = standardize_target(y, weight)
        inputs = self._fit_kernel(X, graphs)
        self._check_weights(weight)
        self.svm_ = self._machine().fit(inputs, y, sample_weight=weight)
        return self

    def predict(self, X):
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
        standardized = np.concatenate([self.svm_.predict(x) for x in self._machine_inputs(X)])
        return restore_target(standardized, self._target_mean, self._target_scale)

    def _machine(self):
        if self.solver_ == "gram":
            machine = SVR(
                kernel="precomputed", C=self.C, epsilon=self.epsilon, max_iter=self.max_iter
            )
            machine.random_state = 0  # not a parameter, yet libsvm draws a seed here as well
            return machine
        return LinearSVR(
            C=self.C,
            epsilon=self.epsilon,
            loss="squared_epsilon_insensitive",
            dual="auto",
            max_iter=LINEAR_ITERATIONS if self.max_iter == -1 else self.max_iter,
            random_state=self.random_state,
        )


def _check_svm(svm):
    """Check that a machine from a file is sound: libsvm would read beyond the ends of arrays."""
    if "support_" not in vars(svm):  # it cannot predict
        return
    n_graphs, n_vectors = svm.shape_fit_[0], len(svm.support_)
    n_sides = len(svm.classes_) if isinstance(svm, SVC) else 2
    if not (
        svm.kernel == "precomputed"
        and svm._sparse is False
        and ((svm.support_ >= 0) & (svm.support_ < n_graphs)).all()
        and len(svm._n_support) == n_sides
        and (svm._n_support >= 0).all()
        and svm._n_support[: None if isinstance(svm, SVC) else 1].sum() == n_vectors
        and svm.dual_coef_.shape == svm._dual_coef_.shape == (n_sides - 1, n_vectors)
        and len(svm._probA) == len(svm._probB) == 0
        and len(svm.intercept_) == len(svm._intercept_) == n_sides * (n_sides - 1) // 2
    ):
        raise ValueError("the support vectors do not fit together")


CHECKS[SVC] = CHECKS[SVR] = _check_svm


def _networkx_graphs(X, graphs):
    """The user's own graphs, as far as they are in a set that was made of them."""
    if isinstance(X, GraphSet):
        return graphs.to_networkx()
    X = check_graph_list(X)
    return [X[i] for i in graphs.origin[1]]
