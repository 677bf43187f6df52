"""LoFIClassifier and LoFIRegressor: GNN-LoFI as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import validate_data

from sklofi.base import BaseLoFI
from sklofi.targets import check_classes, weighted_mean_and_scale, weights_of_classes
from sklofi.training import ClassifierNet, LoFINet, RegressorNet, probabilities

LOSSES = {"absolute_error": torch.nn.L1Loss, "squared_error": torch.nn.MSELoss}


@dataclass(kw_only=True, eq=False, repr=False)
class LoFIClassifier(ClassifierMixin, BaseLoFI):
    """Classifier of graphs by localized feature-based histogram intersection.

    GNN-LoFI [1]_ compares the neighbourhood of every node with learned histograms of
    node features; see :class:`sklofi.nn.LoFILayer` for the formula.

    Parameters
    ----------
    n_layers : int, default=5
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
        **BaseLoFI._parameter_constraints,
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
            classes = check_classes(classes)
            if hasattr(self, "net_") and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"classes={classes.tolist()} is not the same as in the first call to"
                    f" partial_fit: {self.classes_.tolist()}."
                )
            self.classes_ = classes
        elif not hasattr(self, "net_"):
            self.classes_ = check_classes(validate_data(self, X="no_validation", y=y))
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
        if reset or not hasattr(self, "net_"):
            self._weights_of_classes = weights_of_classes(
                self.class_weight, self.classes_, y, weight
            )
        return y, weight * self._weights_of_classes[self._network_target(y)]

    def _strata(self, y):
        return y

    def _network_target(self, y):
        return np.searchsorted(self.classes_, y)


@dataclass(kw_only=True, eq=False, repr=False)
class LoFIRegressor(RegressorMixin, BaseLoFI):
    """Regressor of graphs by localized feature-based histogram intersection.

    GNN-LoFI [1]_ compares the neighbourhood of every node with learned histograms of
    node features; see :class:`sklofi.nn.LoFILayer` for the formula. The target is
    standardised inside, so its scale does not matter; it may have several columns.

    Parameters
    ----------
    n_layers : int, default=5
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
        **BaseLoFI._parameter_constraints,
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
        return self._predictions(self._outputs(X))

    def _predictions(self, outputs):
        with np.errstate(under="ignore"):
            y = self._target_mean + self._target_scale * outputs.double().numpy()
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
        with np.errstate(under="ignore"):
            return ((columns - self._target_mean) / self._target_scale).astype(np.float32)
