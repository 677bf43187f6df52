"""LoFIClassifier and LoFIRegressor: GNN-LoFI as scikit-learn estimators."""

from __future__ import annotations

from sklofi.base import network_estimator
from sklofi.lofi import BaseLoFI
from sklofi.tasks import NetworkClassifier, NetworkRegressor


@network_estimator
class LoFIClassifier(NetworkClassifier, BaseLoFI):
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
        Number of epochs after which training stops if the validation loss has not become
        lower than before, by more than 0.0001. Losses have no unit: they are cross-entropies,
        or errors of standardised targets.

    device : str, default="auto"
        Where to compute, in the words of torch: "cpu", "cuda", "cuda:1"; "auto" takes a
        GPU if there is one.

    warm_start : bool, default=False
        Whether a further call of `fit` goes on from the present weights. The network
        stays as it is: of the parameters, only those of the training may change, and
        `fit` refuses others that have. So does `partial_fit`.

    callbacks : list of skorch callbacks, default=None
        Further callbacks for the training, such as learning rate schedulers. They are
        copied; the copies that were used are in ``net_.callbacks_``.

    random_state : int, RandomState instance or None, default=None
        Determines initial weights, validation graphs, batches and dropout. The global
        generators of numpy and torch are left alone if this is an int. Equal bits need
        equal numbers of threads as well: ``torch.set_num_threads(1)`` here, and
        ``joblib.parallel_config("loky", inner_max_num_threads=1)`` for worker processes.

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


@network_estimator
class LoFIRegressor(NetworkRegressor, BaseLoFI):
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
        Number of epochs after which training stops if the validation loss has not become
        lower than before, by more than 0.0001. Losses have no unit: they are cross-entropies,
        or errors of standardised targets.

    device : str, default="auto"
        Where to compute, in the words of torch: "cpu", "cuda", "cuda:1"; "auto" takes a
        GPU if there is one.

    warm_start : bool, default=False
        Whether a further call of `fit` goes on from the present weights. The network
        stays as it is: of the parameters, only those of the training may change, and
        `fit` refuses others that have. So does `partial_fit`.

    callbacks : list of skorch callbacks, default=None
        Further callbacks for the training, such as learning rate schedulers. They are
        copied; the copies that were used are in ``net_.callbacks_``.

    random_state : int, RandomState instance or None, default=None
        Determines initial weights, validation graphs, batches and dropout. The global
        generators of numpy and torch are left alone if this is an int. Equal bits need
        equal numbers of threads as well: ``torch.set_num_threads(1)`` here, and
        ``joblib.parallel_config("loky", inner_max_num_threads=1)`` for worker processes.

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
