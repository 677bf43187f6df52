"""Support vector machines on graph kernels: GraphKernelSVC and GraphKernelSVR.

A kernel machine is a feature map (:mod:`sklofi.kernels._vectorizer`) and a linear machine, by way
of a kernel matrix (:mod:`sklofi.kernels._gram`) or, for many graphs, without one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_memory

from sklofi._memory import is_too_large, memory_size
from sklofi._parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    SEARCHED_C,
    ReadsEdgeLabels,
    WeighsClasses,
    choice,
    count,
    flag,
    parameter,
)
from sklofi._storage import CHECKS
from sklofi._validation import TrainingData, weights_of_classes, weights_of_labels
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set, original_graphs
from sklofi.graphs._warnings import warn_of_training
from sklofi.kernels._gram import (
    FunctionKernel,
    GraKeLKernel,
    SharedKernel,
    fit_kernel,
    linear_kernel,
)
from sklofi.kernels._machine import (
    Column,
    GraphMachine,
    MachineClassifier,
    MachineRegressor,
    OneClass,
)
from sklofi.kernels._random_walk import RandomWalkKernel, RandomWalkVectorizer
from sklofi.kernels._shortest_path import ShortestPathVectorizer
from sklofi.kernels._vectorizer import GraphVectorizer
from sklofi.kernels._wl import VertexHistogramVectorizer, WLVectorizer

# Kernels by name, made of the parameters of an estimator.
GRAPH_KERNELS: dict[str, Callable[..., GraphVectorizer]] = {
    "wl": WLVectorizer,
    "wl-oa": lambda n_iter, **kwargs: WLVectorizer(n_iter, unary=True, **kwargs),
    "vertex-histogram": lambda n_iter, edge_label, **kwargs: VertexHistogramVectorizer(**kwargs),
    "shortest-path": lambda n_iter, edge_label, **kwargs: ShortestPathVectorizer(**kwargs),
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


class BaseKernelMachine(ReadsEdgeLabels, GraphMachine):
    """Base of the kernel machines: from graphs to kernel values."""

    kernel: Any = parameter(
        """How graphs are compared:

        - "wl-oa": the Weisfeiler-Lehman optimal assignment kernel, the histogram
          intersection of colors, :class:`WLVectorizer` with ``unary=True``;
        - "wl": the Weisfeiler-Lehman subtree kernel, products of the same counts;
        - "vertex-histogram": node labels alone, :class:`VertexHistogramVectorizer`;
        - "shortest-path": pairs of labels and their distance,
          :class:`ShortestPathVectorizer`, which uses no edge labels;
        - "random-walk": walks by their labels, :class:`RandomWalkVectorizer`;
        - one of these vectorizers, or a :class:`RandomWalkKernel`, with parameters of its
          own, which take the place of `node_label` and `edge_label` as well;
        - an object with the interface of GraKeL's kernels: `fit_transform` and
          `transform` that give kernel matrices. Graphs are converted for it, with their
          node labels as integers and without edge labels;
        - a callable that takes two lists of networkx graphs, as they are in `X`, and
          returns the kernel matrix between them. A :class:`GraphSet` gives its graphs back
          without attributes that were not read, and with parallel edges only where their
          labels differ.""",
        [StrOptions(set(GRAPH_KERNELS)), HasMethods(["fit_transform", "transform"]), callable],
        "str, object or callable",
        default="wl-oa",
    )
    n_iter: int = count(
        """Number of iterations of "wl" and "wl-oa", and length of the longest walks of
        "random-walk". Not used for other kernels.""",
        least=0,
        default=5,
    )
    C: float = parameter("Regularization: the smaller, the stronger.", POSITIVE, default=10.0)
    normalize: bool = flag(
        """Whether to scale a kernel that is given by its name so that every graph has
        similarity 1 with itself. Without it large graphs outweigh small ones, and the
        optimization can take very long.""",
        default=True,
    )
    solver: str = choice(
        """"gram" computes the kernel matrix and gives it to libsvm
        (:class:`sklearn.svm.SVC`, :class:`sklearn.svm.SVR`). "linear" gives the features
        behind the kernel to liblinear (:class:`sklearn.svm.LinearSVC`,
        :class:`sklearn.svm.LinearSVR`), which needs memory for the features only. Its loss
        is squared, and several classes are told apart one against the rest, so its
        predictions are near those of "gram", not the same. "auto" is "linear" for more than
        10,000 graphs (of a :class:`GraphSet`, in the whole set) if the kernel has features,
        and otherwise "gram".""",
        ("auto", "gram", "linear"),
        default="auto",
    )
    max_iter: int = count(
        """Largest number of iterations of the solver; -1 is no limit for "gram", and 10,000
        for "linear".""",
        least=-1,
        default=-1,
    )
    memory: Any = parameter(
        """Where to keep kernel matrices and features on disk, so that fits which differ in
        `C` only do not compute them again. Not used for callables; if you change the code
        of a kernel object of your own, clear it. For a :class:`GraphSet`, kernels that are
        given by name keep them in memory as well: all folds and candidates of a search
        share the matrix of the whole set. It is not saved with the estimator.""",
        [str, HasMethods(["cache"]), None],
        "str or object with the joblib.Memory interface",
        default=None,
    )
    random_state: int | np.random.RandomState | None = parameter(
        """Determines the order in which the solver "linear" visits graphs, and the folds
        that a classifier calibrates probabilities on. The global generator of numpy is left
        alone if this is an int.""",
        ["random_state"],
        default=None,
    )

    _search_space: ClassVar[dict[str, list[Any]]] = {
        "kernel": ["wl", "wl-oa", "shortest-path"],
        "n_iter": [1, 2, 3, 4, 5, 6],
        "C": SEARCHED_C,
        "epsilon": [0.01, 0.03, 0.1, 0.3],
    }
    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "kernel_": ("object", "The kernel that was fitted."),
        "solver_": ("str", '"gram" or "linear".'),
        "svm_": (
            "object",
            """The machine of :mod:`sklearn.svm` that was fitted, by a regressor to the
            standardized target; a list of one for each column of y if there are several.""",
        ),
    }
    _set_last = "svm_"
    _absent_from_files: ClassVar[dict[str, Any]] = {"edge_label": None, "_rows": None}
    _saved_classes = (
        *(WLVectorizer, VertexHistogramVectorizer, ShortestPathVectorizer, RandomWalkVectorizer),
        *(RandomWalkKernel, GraphSet, SVC, SVR, LinearSVC, LinearSVR),
        *(CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration, OneClass),
    )

    @abstractmethod
    def _make_machine(self) -> Any:
        """Return the machine of scikit-learn for the solver, before it is fitted."""

    def _graph_attributes(self) -> dict[str, Hashable | None]:
        # Vectorizers have made their choice.
        kernel = self._named_kernel() if isinstance(self.kernel, str) else self.kernel
        return {
            "node_label": getattr(kernel, "node_label", self.node_label),
            "edge_label": getattr(kernel, "edge_label", None),
        }

    def _fit_machine(self, X: Any, data: TrainingData) -> None:
        columns = self._columns(data)
        inputs = self._fit_kernel(X, data.graphs)
        for column in columns:
            self._check_weights(column.weight)
        # Of a table, the training graphs whose kernel values each machine takes.
        by_values = self._target_shape and self.solver_ == "gram"
        self._rows = [column.rows for column in columns] if by_values else None
        self._keep(self._fit_columns(columns, partial(self._fit_svm, inputs)))

    def _keep(self, machines: Any) -> None:
        """Keep the machine, or a list of one for each column."""
        self.svm_ = machines

    def _fit_kernel(self, X: Any, graphs: GraphSet) -> Any:
        """Fit the kernel, and return what the machine learns from: kernel values or features."""
        kernel = self._make_kernel()
        if not isinstance(kernel, FunctionKernel):  # which sees the graphs as they are
            uses_edge_labels = getattr(kernel, "uses_edge_labels", False)
            warn_of_training(X, graphs, self._describe(kernel), uses_edge_labels)
        self.solver_ = self._choose_solver(kernel, X, graphs)
        self._features = self._shared = None
        if isinstance(kernel, FunctionKernel):
            # Not kept on disk: a function is known by its name only, and would be taken for
            # its former self.
            self.kernel_, _, values = fit_kernel(kernel, self._networkx_graphs(X, graphs), True)
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
        if has_features and isinstance(X, GraphSet) and SharedKernel.is_worthwhile(graphs):
            self._shared = SharedKernel(kernel, graphs)
            self.kernel_, self._features = self._shared.fit(compute)
            return self._shared.values(compute)
        self.kernel_, self._features, values = compute(kernel, graphs, True)
        return values

    def _make_kernel(self) -> Any:
        """Return an unfitted object that gives features or kernel values."""
        if isinstance(self.kernel, str):
            return self._named_kernel()
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

    def _named_kernel(self) -> GraphVectorizer:
        names = ("normalize", "node_label", "edge_label")
        parameters = {name: getattr(self, name) for name in names}
        return GRAPH_KERNELS[self.kernel](self.n_iter, **parameters)

    def _describe(self, kernel: Any) -> str:
        """Return the name for warnings, with the kernel's if that one uses no edge labels."""
        name = type(self).__name__
        if isinstance(self.kernel, str) and kernel.uses_edge_labels is False:
            return f'{name}(kernel="{self.kernel}")'
        return name

    def _choose_solver(self, kernel: Any, X: Any, graphs: GraphSet) -> str:
        """Return the solver to use, if it can take as many graphs."""
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

    def _check_weights(self, weight: NDArray[np.float64]) -> None:
        """Check that the solver comes to an end."""
        with np.errstate(over="ignore"):
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

    def _fit_svm(self, inputs: Any, column: Column) -> Any:
        """Return the machine, fitted to kernel values or features."""
        if column.rows is not None:
            inputs = inputs[column.rows]
            inputs = inputs[:, column.rows] if self.solver_ == "gram" else inputs
        return self._fit_to(inputs, column)

    def _fit_to(self, inputs: Any, column: Column) -> Any:
        """Return the machine, fitted to the kernel values or features of its graphs."""
        return self._make_machine().fit(inputs, column.y, sample_weight=column.weight)

    def _fitted_machine(self, method: str) -> Any:
        return self.svm_

    def _inputs_of(self, inputs: Any, column: int) -> Any:
        rows = None if self._rows is None else self._rows[column]
        return inputs if rows is None else inputs[:, rows]

    def _feature_map(self) -> GraphVectorizer:
        if isinstance(self.kernel_, GraphVectorizer):
            return self.kernel_
        raise AttributeError(
            f"{type(self).__name__} has no names of features, because its kernel counts nothing."
        )

    def _networkx_graphs(self, X: Any, graphs: GraphSet) -> list[Any]:
        """Return the user's own graphs, as far as they are in a set that was made of them.

        Graphs of another form have all that a :class:`GraphSet` of them holds.
        """
        whole, rows = graphs.origin
        if not isinstance(X, GraphSet):
            X = original_graphs(X, whole)
            if X is not whole:
                return [X[i] for i in rows]

        # Features of graphs may have been given to the slice alone.
        names = ("graph_vectors", "graph_features")
        own = {name: getattr(graphs, name) for name in names}
        return list(replace(X.origin[0][rows], **own))

    def _linear_machines(self) -> tuple[NDArray[np.float64], Any]:
        if self.solver_ != "linear":
            raise AttributeError(
                f'{type(self).__name__} has coef_ and intercept_ with solver="linear" only, not'
                " with a kernel matrix."
            )
        return np.ones(self._feature_map().n_features_out_), self.svm_

    def _inputs(self, X: Any) -> Iterator[Any]:
        graphs = as_graph_set(X, **self._reading())
        if isinstance(self.kernel_, FunctionKernel):
            yield self.kernel_.transform(self._networkx_graphs(X, graphs))
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

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "_shared" in state:  # matrices that live with the graphs
            state = {**state, "_shared": None}
        return state

    def _check_loaded(self) -> None:
        if self._features is not None and self._features.shape[1] > self._features.nnz:
            raise ValueError("the features have columns that no training graph has")
        if isinstance(self.svm_, list) and self.solver_ == "gram":
            if type(self._rows) is not list or len(self._rows) != len(self.svm_):
                raise ValueError("the training graphs of the columns are not there")


class GraphKernelSVC(MachineClassifier, WeighsClasses, BaseKernelMachine):
    """Support vector classifier of graphs with a graph kernel.

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

    probability: bool = flag(
        """Whether to enable `predict_proba`, by calibration on up to five shuffled folds of
        the training graphs (:class:`sklearn.calibration.CalibratedClassifierCV`). `fit`
        then takes about five times as long. `predict` is the same with and without it, as
        with :class:`sklearn.svm.SVC`: it gives the class that the machine decides for,
        which is not always the most probable one, above all if classes are of very
        different sizes.""",
        default=False,
    )

    def _learn_target(self, data: TrainingData) -> TrainingData:
        data = super()._learn_target(data)
        if data.y.ndim == 2:  # weighted column by column
            return data
        by_class = weights_of_classes(self.class_weight, self.classes_, data.y, data.weight)
        weight = data.weight * by_class[np.searchsorted(self.classes_, data.y)]
        data = data._replace(weight=weight)
        if not weight.all():  # classes of weight zero are not there, as graphs are not
            return super()._learn_target(data.take(np.flatnonzero(weight)))
        return data

    def _columns(self, data: TrainingData) -> list[Column]:
        columns = super()._columns(data)
        if data.y.ndim == 2:
            weights = weights_of_labels(self.class_weight, data.y, data.weight)
            columns = list(map(_weigh_classes, columns, weights))
            for number, column in enumerate(columns):
                if len(column.y) == 0:
                    raise ValueError(
                        f"class_weight is zero for all graphs whose label is known in column"
                        f" {number} of y."
                    )
        if self.probability:  # before the kernel, which may take long
            for number, column in enumerate(columns):
                self._check_calibration(column.y, f" in column {number} of y" * (data.y.ndim - 1))
        return columns

    def _fit_to(self, inputs: Any, column: Column) -> Any:
        if not self.probability:
            return super()._fit_to(inputs, column)
        # Shuffled, because many sets are sorted by class or by something that matters.
        n_folds = min(CALIBRATION_FOLDS, np.unique(column.y, return_counts=True)[1].min())
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state)
        calibrated = CalibratedClassifierCV(self._make_machine(), ensemble=False, cv=folds)
        # Weights reach the machine whether or not the user lets scikit-learn route metadata.
        with config_context(enable_metadata_routing=False):
            calibrated.fit(inputs, column.y, sample_weight=column.weight)
        calibrated.cv = None  # the folds are no longer needed, so they are not saved
        return calibrated

    def _keep(self, machines: Any) -> None:
        self._calibrated: Any = machines if self.probability else None
        super()._keep(_without_calibration(machines) if self.probability else machines)

    def _check_calibration(self, y: NDArray[Any], where: str) -> None:
        classes, sizes = np.unique(y, return_counts=True)
        if len(classes) > 1 and sizes.min() < 2:
            raise ValueError(
                f"probability=True needs at least 2 graphs of each class to calibrate on, but"
                f" there is only one of class {classes.tolist()[sizes.argmin()]!r}{where}."
            )

    def _lacks(self, method: str) -> str | None:
        if method == "predict_proba" and not self.probability:
            name = type(self).__name__
            return f"{name} has predict_proba only with probability=True, set before fit."
        return None

    def _fitted_machine(self, method: str) -> Any:
        if method != "predict_proba":
            return super()._fitted_machine(method)
        if self._calibrated is None:
            raise NotFittedError("Call fit again: it was fitted with probability=False.")
        return self._calibrated

    def _set_fitted_state(self, state: dict[str, Any]) -> None:
        super()._set_fitted_state(state)
        if getattr(self, "_calibrated", None) is not None:
            self.svm_ = _without_calibration(self._calibrated)

    def _make_machine(self) -> Any:
        if self.solver_ == "gram":
            # libsvm draws a seed, though nothing here is random.
            return SVC(kernel="precomputed", C=self.C, max_iter=self.max_iter, random_state=0)
        max_iter = LINEAR_ITERATIONS if self.max_iter == -1 else self.max_iter
        return LinearSVC(C=self.C, max_iter=max_iter, random_state=self.random_state)


class GraphKernelSVR(MachineRegressor, BaseKernelMachine):
    """Support vector regressor of graphs with a graph kernel.

    The target is standardized inside, so that `C` and `epsilon` do not depend on its
    scale.

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

    epsilon: float = parameter(
        "Deviations up to this many standard deviations of the target cost nothing.",
        NOT_NEGATIVE,
        default=0.1,
    )

    def _make_machine(self) -> Any:
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


def _weigh_classes(column: Column, weights: NDArray[np.float64]) -> Column:
    """Return the targets of a label with the weights of its classes, without weights of zero."""
    weight = column.weight * weights[column.y]
    some = None if weight.all() else np.flatnonzero(weight)
    return column._replace(weight=weight).take(some)


def _without_calibration(calibrated: Any) -> Any:
    """Return the machine within, or those of a list."""
    if isinstance(calibrated, list):
        return list(map(_without_calibration, calibrated))
    if isinstance(calibrated, OneClass):
        return calibrated
    return calibrated.calibrated_classifiers_[0].estimator


def _check_svm(svm: Any) -> None:
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
