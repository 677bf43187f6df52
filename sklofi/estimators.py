"""LoFIClassifier and LoFIRegressor: GNN-LoFI as scikit-learn estimators."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from skorch.callbacks import Callback

from sklofi.graphs import DEFAULT_NODE_LABEL, as_graph_set
from sklofi.nn import KERNELS, POOLINGS, READOUTS, LoFINetwork
from sklofi.training import (
    PREDICTION_BATCH_SIZE,
    BatchLoader,
    ClassifierNet,
    EpochTasks,
    GraphDataset,
    LoFINet,
    NodeEncoder,
    ProgressLog,
    RegressorNet,
    StopWhenAsked,
    restore_best,
    split_validation,
    weighted_mean_and_scale,
)

LOSSES = {"absolute_error": torch.nn.L1Loss, "squared_error": torch.nn.MSELoss}

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9: the callback protocol is simply absent

    class CallbackSupportMixin:  # type: ignore[no-redef]
        pass

    def with_callbacks(method):  # type: ignore[no-redef]
        return method


def _check_device(device):
    """The device to train on, as a string."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f'device={device!r} cannot be used here: {error} Use "auto" to take a GPU'
            " where there is one."
        ) from error
    return str(device)


def _copy_callbacks(callbacks):
    """Copies for skorch, which sets attributes on the callbacks that it uses."""
    for item in callbacks or []:
        callback = item[-1] if isinstance(item, tuple) else item
        kind = callback if isinstance(callback, type) else type(callback)
        if not issubclass(kind, Callback):
            raise TypeError(
                f"callbacks has to hold skorch callbacks or (name, callback) pairs, got {item!r}."
            )
    return copy.deepcopy(list(callbacks)) if callbacks else None


@dataclass(kw_only=True, eq=False, repr=False)
class _BaseLoFI(CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """What classifier and regressor share: the parameters, and the road from X to net_.

    The fields of the dataclass are the parameters of scikit-learn: declared once, here,
    and assigned by the generated ``__init__`` alone.
    """

    n_layers: int = 3
    n_masks: int = 16
    n_words: int = 8
    radius: int = 1
    kernel: str = "l1"
    pooling: str = "sum"
    readout: str = "all"
    dropout: float = 0.0
    node_label: Hashable | None = DEFAULT_NODE_LABEL
    node_features: Hashable | None = None
    handle_unknown: str = "ignore"
    max_epochs: int = 200
    lr: float = 0.005
    batch_size: int = 32
    weight_decay: float = 0.0
    early_stopping: bool = True
    validation_fraction: float = 0.1
    patience: int = 30
    device: str = "auto"
    warm_start: bool = False
    callbacks: list[Any] | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_layers": [Interval(Integral, 1, None, closed="left")],
        "n_masks": [Interval(Integral, 1, None, closed="left")],
        "n_words": [Interval(Integral, 1, None, closed="left")],
        "radius": [Interval(Integral, 0, None, closed="left")],
        "kernel": [StrOptions(set(KERNELS))],
        "pooling": [StrOptions(set(POOLINGS))],
        "readout": [StrOptions(set(READOUTS))],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "node_label": "no_validation",
        "node_features": "no_validation",
        "handle_unknown": [StrOptions({"ignore", "error"})],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "device": [str, torch.device],
        "warm_start": ["boolean"],
        "callbacks": [list, tuple, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @with_callbacks
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None):
        """Fit the network to graphs and their targets.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
            Targets; several columns for regression only.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs. Graphs of weight zero are left out altogether.

        X_val : list of networkx graphs, or GraphSet, default=None
            Graphs for early stopping, in place of a part of `X`. In a `Pipeline`,
            `X_val` can be transformed the same way as `X` with
            `Pipeline(..., transform_input=["X_val"])`.

        y_val : array-like of shape (n_val,) or (n_val, n_outputs), default=None
            Targets of `X_val`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val have to be given together, or neither of them.")
        task = self._begin_task(X, y)
        resume = self.warm_start and hasattr(self, "net_")
        if not resume:
            vars(self).pop("net_", None)  # a fit that fails leaves no half-fitted estimator
        training = self._check_data(X, y, sample_weight, reset=not resume)
        if not resume:
            self._learn_encoding(*training)
        random_state = check_random_state(self.random_state)
        validation = None
        if X_val is not None:
            validation = self._check_data(X_val, y_val, None, reset=False)
        elif self.early_stopping:
            training, validation = self._split(training, random_state)

        training = self._dataset(*training)
        validation = None if validation is None else self._dataset(*validation)
        if not resume:
            self._build_net(training, random_state)
        listeners = []
        if self.verbose:
            listeners.append(ProgressLog(type(self).__name__, self.max_epochs, int(self.verbose)))
        if task is not None:
            listeners.append(tasks := EpochTasks(self, task))
        if validation is not None and self.early_stopping:
            listeners.append(restore_best(self.patience))
        if task is not None:
            listeners.append(StopWhenAsked(tasks))
        try:
            self._train(training, validation, self.max_epochs, listeners)
        except Exception:
            if not resume:
                del self.net_
            raise
        if task is not None:
            task.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    def _partial_fit(self, X, y, sample_weight):
        """One epoch over the given graphs, without early stopping."""
        self._validate_params()
        first_call = not hasattr(self, "net_")
        training = self._check_data(X, y, sample_weight, reset=False)
        if first_call:
            self._learn_encoding(*training)
        training = self._dataset(*training)
        if first_call:
            self._build_net(training, check_random_state(self.random_state))
        self._train(training, None, epochs=1, listeners=[])
        return self

    def transform(self, X):
        """Embed graphs: the pooled outputs of the layers, as the head sees them.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs to embed.

        Returns
        -------
        embedding : ndarray of shape (n_graphs, n_embedding)
            One column for each mask of each layer that is read out.
        """
        dataset = self._prediction_data(X)
        return self.net_.embed(dataset).numpy()

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of :meth:`transform`: ``layer0_mask0`` and so on.

        Parameters
        ----------
        input_features : None
            Ignored: graphs have no feature names.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        n_layers = len(self.module_.layers)
        n_masks = len(self.module_.layers[-1].temperature)
        layers = range(n_layers) if self.module_.readout == "all" else [n_layers - 1]
        names = [f"layer{layer}_mask{mask}" for layer in layers for mask in range(n_masks)]
        return np.asarray(names, dtype=object)

    @property
    def module_(self):
        """The trained :class:`~sklofi.nn.LoFINetwork`."""
        return self.net_.module_

    @property
    def history_(self):
        """skorch's record of every epoch, as in ``history_[:, "valid_loss"]``."""
        return self.net_.history

    @property
    def n_epochs_(self):
        """Number of epochs that were run."""
        return len(self.net_.history)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "net_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []  # embeddings are of 32 bits
        return tags

    def _begin_task(self, X, y):
        """The task that scikit-learn's callbacks (1.9 and later) follow, or None."""
        if not hasattr(self, "_init_callback_context"):
            return None
        context = self._init_callback_context(max_subtasks=self.max_epochs)
        return context.call_on_fit_task_begin(estimator=self, X=X, y=y)

    def _check_data(self, X, y, sample_weight, *, reset):
        """X, y and weights as arrays of the same length, without weights of zero."""
        graphs = as_graph_set(X, self.node_label, self.node_features)
        y = validate_data(self, X="no_validation", y=y, **self._target_checks)
        if len(y) != len(graphs):
            raise ValueError(
                f"X has {len(graphs)} graphs, but y has {len(y)} targets; every graph needs one."
            )
        if sample_weight is not None and not np.asarray(sample_weight).any():
            raise ValueError(
                "All sample weights are zero (sample_weight); at least one graph needs a"
                " weight above zero to be fitted to."
            )
        weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        if not weight.all():
            weighted = np.flatnonzero(weight)
            graphs, y, weight = graphs[weighted], y[weighted], weight[weighted]
        y, weight = self._check_target(y, weight, reset=reset)
        return graphs, y, weight

    def _split(self, training, random_state):
        graphs, y, weight = training
        rows, rest = split_validation(self._strata(y), self.validation_fraction, random_state)
        if not len(rest):  # too few graphs to set any aside
            return training, None
        return (graphs[rows], y[rows], weight[rows]), (graphs[rest], y[rest], weight[rest])

    def _learn_encoding(self, graphs, y, weight):
        self._encoder = NodeEncoder.fit(graphs, weight)
        self.node_labels_ = list(self._encoder.labels) if self._encoder.has_labels else []
        self._radius = self.radius  # prediction looks as far as training did

    def _dataset(self, graphs, y=None, weight=None):
        return GraphDataset(
            graphs,
            self._encoder,
            radius=self._radius,
            handle_unknown=self.handle_unknown,
            owner=type(self).__name__,
            y=None if y is None else self._network_target(y),
            weight=weight,
        )

    def _prediction_data(self, X):
        check_is_fitted(self)
        return self._dataset(as_graph_set(X, self.node_label, self.node_features))

    def _build_net(self, training, random_state):
        device = _check_device(self.device)
        generator = torch.Generator().manual_seed(int(random_state.randint(2**31 - 1)))
        self.net_ = self._net_class(
            LoFINetwork,
            module__n_features=self._encoder.n_columns,
            module__n_outputs=self._n_outputs,
            module__n_layers=self.n_layers,
            module__n_masks=self.n_masks,
            module__n_words=self.n_words,
            module__kernel=self.kernel,
            module__pooling=self.pooling,
            module__readout=self.readout,
            module__dropout=self.dropout,
            module__egonet_size=training.egonet_size,
            module__generator=generator,
            criterion=self._criterion,
            criterion__reduction="none",  # LoFINet weights the graphs itself
            optimizer=torch.optim.AdamW,
            optimizer__weight_decay=self.weight_decay,
            optimizer__fused=True,
            lr=self.lr,
            batch_size=self.batch_size,
            iterator_train=BatchLoader,
            iterator_train__generator=generator,
            iterator_valid=BatchLoader,
            iterator_valid__batch_size=max(self.batch_size, PREDICTION_BATCH_SIZE),
            callbacks=_copy_callbacks(self.callbacks),
            device=device,
            verbose=0,  # ProgressLog speaks for us
        ).initialize()
        self.net_.calibrate_(training)

    def _train(self, training, validation, epochs, listeners):
        """Run some epochs. Listeners are heard in this run and then forgotten."""
        net = self.net_
        net.set_params(
            max_epochs=epochs,
            batch_size=self.batch_size,
            lr=self.lr,
            optimizer__weight_decay=self.weight_decay,
        )
        own_callbacks = net.callbacks_
        net.callbacks_ = own_callbacks + [(type(one).__name__, one) for one in listeners]
        try:
            net.partial_fit((training, validation))
        finally:
            net.callbacks_ = own_callbacks


@dataclass(kw_only=True, eq=False, repr=False)
class LoFIClassifier(ClassifierMixin, _BaseLoFI):
    """Classifier of graphs by localized feature-based histogram intersection.

    GNN-LoFI [1]_ compares the neighbourhood of every node with learned histograms of
    node features; see :class:`sklofi.nn.LoFILayer` for the formula.

    Parameters
    ----------
    n_layers : int, default=3
        Number of LoFI layers. Each one looks `radius` steps further.

    n_masks : int, default=16
        Number of masks in each layer, the width of a node's vector.

    n_words : int, default=8
        Number of words in the dictionary of each mask, the bins of its histogram.

    radius : int, default=1
        Egonets hold all nodes at most this far from their centre (in a directed graph,
        along its edges). With 0 only the nodes count, not the edges.

    kernel : {"l1", "intersection"}, default="l1"
        How an egonet's histogram h is compared with a learned one f: as
        1 - |h - f| / 2, or as the sum of min(h, f).

    pooling : {"sum", "mean", "max"}, default="sum"
        How the vectors of a graph's nodes become one vector.

    readout : {"all", "last"}, default="all"
        Whether a graph's vector holds the pooled outputs of all layers or the last.

    dropout : float, default=0.0
        Share of node features that are dropped after each layer in training.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label: any hashable value. Under the default
        name it may be absent, then all nodes count as alike. None ignores labels.

    node_features : hashable or None, default=None
        Node attribute with a number or a vector of numbers. They are standardised over
        the training graphs and stand beside the labels. Like `node_label`, it is for
        networkx graphs: for a :class:`GraphSet` both were chosen when it was made.

    handle_unknown : {"ignore", "error"}, default="ignore"
        What to do with node labels that no training graph has: take them as an all-zero
        vector, or raise an error.

    max_epochs : int, default=200
        Largest number of passes over the training graphs.

    lr : float, default=0.005
        Learning rate of the AdamW optimiser.

    batch_size : int, default=32
        Number of graphs in a training step.

    weight_decay : float, default=0.0
        Weight decay of the AdamW optimiser.

    early_stopping : bool, default=True
        Whether to stop when the loss on validation graphs stops falling, and to go back
        to the weights that were best on them.

    validation_fraction : float, default=0.1
        Share of the training graphs to set aside for early stopping, stratified by class. Not
        used if `X_val` and `y_val` are passed to `fit`.

    patience : int, default=30
        Number of epochs without a lower validation loss after which training stops.

    device : str, default="auto"
        Where to compute, in the words of torch: "cpu", "cuda", "cuda:1"; "auto" takes a
        GPU if there is one.

    warm_start : bool, default=False
        Whether a further call of `fit` goes on from the present weights. The network
        stays as it is: of the parameters, only those of the training may change.

    callbacks : list of skorch callbacks, default=None
        Further callbacks for the training, such as learning rate schedulers. They are
        copied; the copies that were used are in ``net_.callbacks_``.

    random_state : int, RandomState instance or None, default=None
        Determines initial weights, validation graphs, batches and dropout. The global
        generators of numpy and torch are left alone if this is an int.

    verbose : int, default=0
        1 shows a progress bar on a terminal and some lines elsewhere, 2 a line for
        every epoch.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with `sample_weight`; "balanced" makes them
        inversely proportional to the frequency of the classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.

    net_ : skorch.NeuralNet
        The skorch net that was trained.

    module_ : LoFINetwork
        The PyTorch module inside it.

    history_ : skorch.history.History
        Losses and scores of all epochs: ``history_[:, "valid_loss"]``.

    n_epochs_ : int
        Number of epochs that were run.

    node_labels_ : list
        The node labels of the training graphs, in the order of the columns of the first
        layer's dictionary.

    See Also
    --------
    LoFIRegressor : The same for numerical targets.

    References
    ----------
    .. [1] L. Bicciato, L. Cosmo, G. Minello, L. Rossi, A. Torsello, "GNN-LoFI: a Novel
       Graph Neural Network through Localized Feature-based Histogram Intersection",
       Pattern Recognition, 2024.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y = make_motif_graphs(120, random_state=0)
    >>> classifier = LoFIClassifier(max_epochs=30, random_state=0)
    >>> classifier.fit(graphs[:100], y[:100]).score(graphs[100:], y[100:])
    1.0
    """

    class_weight: dict[Any, float] | str | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_BaseLoFI._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }
    _net_class: ClassVar[type[LoFINet]] = ClassifierNet
    _criterion: ClassVar[type[torch.nn.Module]] = torch.nn.CrossEntropyLoss
    _target_checks: ClassVar[dict[str, Any]] = {}

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
            classes = np.unique(classes)
            if hasattr(self, "net_") and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"classes={classes.tolist()} is not the same as in the first call to"
                    f" partial_fit: {self.classes_.tolist()}."
                )
            self.classes_ = classes
        elif not hasattr(self, "net_"):
            self.classes_ = np.unique(validate_data(self, X="no_validation", y=y))
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
        dataset = self._prediction_data(X)
        return self.classes_[self.net_.predict(dataset)]

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
        dataset = self._prediction_data(X)
        return self.net_.predict_proba(dataset)

    @property
    def _n_outputs(self):
        return len(self.classes_)

    def _check_target(self, y, weight, *, reset):
        check_classification_targets(y)
        if reset:
            self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                "Classification needs graphs of at least 2 classes, but there is only one"
                f" class: {self.classes_.tolist()[0]!r}."
            )
        if unknown := np.setdiff1d(y, self.classes_).tolist():
            raise ValueError(
                f"y has the classes {unknown}, which are not among the classes that were"
                f" fitted: {self.classes_.tolist()}."
            )
        if reset or not hasattr(self, "net_"):
            self._weights_of_classes = self._check_class_weight(y, weight)
        return y, weight * self._weights_of_classes[self._network_target(y)]

    def _check_class_weight(self, y, weight):
        """The weight of each of the classes."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        if self.class_weight == "balanced":
            # By weight, not by number, so that graphs of weight 2 count as two.
            mass = np.bincount(self._network_target(y), weight, minlength=len(self.classes_))
            return mass.sum() / (len(mass) * mass)
        classes = self.classes_.tolist()
        without = [label for label in classes if label not in self.class_weight]
        unknown = [label for label in self.class_weight if label not in classes]
        if without and unknown:
            raise ValueError(
                f"class_weight names the classes {unknown}, which y does not have,"
                f" and lacks {without}."
            )
        weights = np.array([self.class_weight.get(label, 1) for label in classes], dtype=float)
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(
                f"class_weight has to be finite, not negative, and not zero for all classes,"
                f" got {self.class_weight}."
            )
        return weights

    def _strata(self, y):
        return y

    def _network_target(self, y):
        return np.searchsorted(self.classes_, y)


@dataclass(kw_only=True, eq=False, repr=False)
class LoFIRegressor(RegressorMixin, _BaseLoFI):
    """Regressor of graphs by localized feature-based histogram intersection.

    GNN-LoFI [1]_ compares the neighbourhood of every node with learned histograms of
    node features; see :class:`sklofi.nn.LoFILayer` for the formula. The target is
    standardised inside, so its scale does not matter; it may have several columns.

    Parameters
    ----------
    n_layers : int, default=3
        Number of LoFI layers. Each one looks `radius` steps further.

    n_masks : int, default=16
        Number of masks in each layer, the width of a node's vector.

    n_words : int, default=8
        Number of words in the dictionary of each mask, the bins of its histogram.

    radius : int, default=1
        Egonets hold all nodes at most this far from their centre (in a directed graph,
        along its edges). With 0 only the nodes count, not the edges.

    kernel : {"l1", "intersection"}, default="l1"
        How an egonet's histogram h is compared with a learned one f: as
        1 - |h - f| / 2, or as the sum of min(h, f).

    pooling : {"sum", "mean", "max"}, default="sum"
        How the vectors of a graph's nodes become one vector.

    readout : {"all", "last"}, default="all"
        Whether a graph's vector holds the pooled outputs of all layers or the last.

    dropout : float, default=0.0
        Share of node features that are dropped after each layer in training.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label: any hashable value. Under the default
        name it may be absent, then all nodes count as alike. None ignores labels.

    node_features : hashable or None, default=None
        Node attribute with a number or a vector of numbers. They are standardised over
        the training graphs and stand beside the labels. Like `node_label`, it is for
        networkx graphs: for a :class:`GraphSet` both were chosen when it was made.

    handle_unknown : {"ignore", "error"}, default="ignore"
        What to do with node labels that no training graph has: take them as an all-zero
        vector, or raise an error.

    max_epochs : int, default=200
        Largest number of passes over the training graphs.

    lr : float, default=0.005
        Learning rate of the AdamW optimiser.

    batch_size : int, default=32
        Number of graphs in a training step.

    weight_decay : float, default=0.0
        Weight decay of the AdamW optimiser.

    early_stopping : bool, default=True
        Whether to stop when the loss on validation graphs stops falling, and to go back
        to the weights that were best on them.

    validation_fraction : float, default=0.1
        Share of the training graphs to set aside for early stopping. Not
        used if `X_val` and `y_val` are passed to `fit`.

    patience : int, default=30
        Number of epochs without a lower validation loss after which training stops.

    device : str, default="auto"
        Where to compute, in the words of torch: "cpu", "cuda", "cuda:1"; "auto" takes a
        GPU if there is one.

    warm_start : bool, default=False
        Whether a further call of `fit` goes on from the present weights. The network
        stays as it is: of the parameters, only those of the training may change.

    callbacks : list of skorch callbacks, default=None
        Further callbacks for the training, such as learning rate schedulers. They are
        copied; the copies that were used are in ``net_.callbacks_``.

    random_state : int, RandomState instance or None, default=None
        Determines initial weights, validation graphs, batches and dropout. The global
        generators of numpy and torch are left alone if this is an int.

    verbose : int, default=0
        1 shows a progress bar on a terminal and some lines elsewhere, 2 a line for
        every epoch.

    loss : {"absolute_error", "squared_error"}, default="absolute_error"
        What to minimise.

    Attributes
    ----------
    net_ : skorch.NeuralNet
        The skorch net that was trained.

    module_ : LoFINetwork
        The PyTorch module inside it.

    history_ : skorch.history.History
        Losses and scores of all epochs: ``history_[:, "valid_loss"]``.

    n_epochs_ : int
        Number of epochs that were run.

    node_labels_ : list
        The node labels of the training graphs, in the order of the columns of the first
        layer's dictionary.

    See Also
    --------
    LoFIClassifier : The same for classes.

    References
    ----------
    .. [1] L. Bicciato, L. Cosmo, G. Minello, L. Rossi, A. Torsello, "GNN-LoFI: a Novel
       Graph Neural Network through Localized Feature-based Histogram Intersection",
       Pattern Recognition, 2024.

    Examples
    --------
    >>> from sklofi import LoFIRegressor
    >>> from sklofi.datasets import load_graph_atlas
    >>> graphs, y = load_graph_atlas(target="spectral_radius")
    >>> regressor = LoFIRegressor(max_epochs=5, random_state=0)
    >>> bool(regressor.fit(graphs, y).score(graphs, y) > 0.9)
    True
    """

    loss: str = "absolute_error"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_BaseLoFI._parameter_constraints,
        "loss": [StrOptions(set(LOSSES))],
    }
    _net_class: ClassVar[type[LoFINet]] = RegressorNet
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
        dataset = self._prediction_data(X)
        standardised = self.net_.forward(dataset).double().numpy()
        y = self._target_mean + self._target_scale * standardised
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
        columns = y.reshape(len(y), -1)
        return ((columns - self._target_mean) / self._target_scale).astype(np.float32)
