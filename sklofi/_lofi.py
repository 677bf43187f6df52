"""LoFIClassifier and LoFIRegressor: GNN-LoFI as scikit-learn estimators."""

from __future__ import annotations

import copy
import sys
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils._param_validation import Interval, StrOptions

from sklofi._parameters import AT_LEAST_0, AT_LEAST_1, network_estimator, parameter
from sklofi._validation import weighted_mean_and_scale
from sklofi.nn._choices import HISTOGRAM_KERNELS, POOLINGS, READOUTS
from sklofi.nn._lofi_network import LoFINetwork
from sklofi.training._dataset import BatchLoader
from sklofi.training._egonet_batches import EgonetDataset
from sklofi.training._estimator import BaseNetwork
from sklofi.training._tasks import NetworkClassifier, NetworkRegressor

# About how many numbers an intermediate array has in prediction (16 MiB); see BatchLoader.
PREDICTION_SIZE = 2**22


# The most graphs, and nodes in them, that masks may start at; fewer nodes where these have so
# many columns that there would be more numbers than this.
N_EXAMPLES = 256


N_EXAMPLE_NODES = 2**14


N_EXAMPLE_NUMBERS = 2**26


@dataclass(kw_only=True, eq=False, repr=False)
class LoFIParameters:
    """The parameters of the network itself, before those of the training."""

    n_layers: int = parameter(
        5, AT_LEAST_1, "Number of LoFI layers. Each one looks `radius` steps further."
    )
    n_masks: int = parameter(
        16, AT_LEAST_1, "Number of masks in each layer, the width of a node's vector."
    )
    n_words: int = parameter(
        8,
        AT_LEAST_1,
        "Number of words in the dictionary of each mask, the bins of its histogram.",
    )
    radius: int = parameter(
        1,
        AT_LEAST_0,
        """Egonets hold all nodes at most this far from their center (in a directed graph,
        along its edges). With 0 only the nodes count, not the edges.""",
    )
    kernel: str = parameter(
        "l1",
        [StrOptions(set(HISTOGRAM_KERNELS))],
        """How an egonet's histogram h is compared with a learned one f: as
        1 - |h - f| / 2, or as the sum of min(h, f).""",
    )
    pooling: str = parameter(
        "sum",
        [StrOptions(set(POOLINGS))],
        "How the vectors of a graph's nodes become one vector.",
    )
    readout: str = parameter(
        "all",
        [StrOptions(set(READOUTS))],
        "Whether a graph's vector holds the pooled outputs of all layers or the last.",
    )
    dropout: float = parameter(
        0.0,
        [Interval(Real, 0, 1, closed="left")],
        "Share of node features that are dropped after each layer in training.",
    )


@network_estimator
class BaseLoFI(BaseNetwork, LoFIParameters):
    """Base of the LoFI estimators, whatever their task."""

    _network: ClassVar[type[LoFINetwork]] = LoFINetwork
    _build_module: ClassVar[Any] = LoFINetwork

    def _names(self):
        n_layers = len(self.module_.layers)
        n_masks = len(self.module_.layers[-1].temperature)
        layers = range(n_layers) if self.module_.readout == "all" else [n_layers - 1]
        return [f"layer{layer}_mask{mask}" for layer in layers for mask in range(n_masks)]

    def _learn_encoding(self, graphs, y, weight):
        super()._learn_encoding(graphs, y, weight)
        self._radius = self.radius  # prediction looks as far as training did
        self._n_layers = self.n_layers

    def _make_dataset(self, graphs, encoder, **more):
        return EgonetDataset(graphs, encoder, radius=self._radius, n_layers=self._n_layers, **more)

    def _architecture(self, training):
        names = ("n_layers", "n_masks", "n_words", "kernel", "pooling", "readout", "dropout")
        return {name: getattr(self, name) for name in names}

    def _prediction_batches(self, architecture):
        n_hidden = architecture["n_masks"] * architecture["n_words"]
        # What a node enters with is made once, what is hidden several times.
        width = max(n_hidden, architecture["n_features"] // 4)
        return {"batch_size": sys.maxsize, "max_rows": max(1, PREDICTION_SIZE // width)}

    def _start(self, training, generator):
        """Start masks at what is in the data, and let the head see vectors of unit scale."""
        net = self.net_
        rows, weight = np.arange(len(training)), training.weight
        # Each graph alone, at least, has to fit into the memory of a training step.
        net.get_iterator(training, training=True).check_size(rows[:, None], merge=True)
        sizes = np.diff(training.graphs.node_offsets)
        most_nodes = min(N_EXAMPLE_NODES, N_EXAMPLE_NUMBERS // self._encoder.n_columns)
        if len(training) > N_EXAMPLES or sizes.sum() > most_nodes:
            # Some of them, drawn with chances in proportion to their weights.
            uniform = torch.empty_like(weight, dtype=torch.float64).uniform_(generator=generator)
            rows = (-uniform.log() / weight.double()).argsort().numpy()
            n_fitting = int(np.searchsorted(np.cumsum(sizes[rows]), most_nodes, side="right"))
            rows = rows[: max(1, min(n_fitting, N_EXAMPLES))]
            weight = torch.ones_like(weight)
        batch = training.batch(rows, gradients=False)[0].to(net.device)
        net.module_.start_at_data_(*batch.inputs, weight[rows].to(net.device), generator)
        embedding = net.embed(training).double().numpy()
        eps = float(np.finfo(np.float32).eps)
        mean, scale = weighted_mean_and_scale(embedding, training.weight.double().numpy(), eps)
        net.module_.calibrate_(torch.from_numpy(mean), torch.from_numpy(scale))

    def _node_batches(self, graphs, *, max_rows, gradients=False):
        """Batches in which every node stands for itself, in the order of the graphs."""
        # A slice may hold a graph twice, whose nodes would be one.
        is_slice = graphs.origin[0] is not graphs
        dataset = self._dataset(copy.copy(graphs) if is_slice else graphs)
        loader = BatchLoader(
            dataset, sys.maxsize, max_rows=max_rows, merge=False, gradients=gradients
        )
        loader.network = self.module_
        return (batch.to(self.net_.device) for batch, _ in loader)


@network_estimator
class LoFIClassifier(NetworkClassifier, BaseLoFI):
    """Classifier of graphs by localized feature-based histogram intersection.

    GNN-LoFI [1]_ compares the neighborhood of every node with learned histograms of
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
        Egonets hold all nodes at most this far from their center (in a directed graph,
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
        Node attribute with a number or a vector of numbers. They are standardized over
        the training graphs and stand beside the labels. Like `node_label`, it is for
        networkx graphs: for a :class:`GraphSet` both were chosen when it was made.

    handle_unknown : {"ignore", "error"}, default="ignore"
        What to do with node labels that no training graph has: take them as an all-zero
        vector, or raise an error.

    max_epochs : int, default=200
        Largest number of passes over the training graphs.

    lr : float, default=0.005
        Learning rate of the AdamW optimizer.

    batch_size : int, default=32
        Number of graphs in a training step.

    weight_decay : float, default=0.0
        Weight decay of the AdamW optimizer.

    early_stopping : bool, default=True
        Whether to stop when the loss on validation graphs stops falling, and to go back
        to the weights that were best on them.

    validation_fraction : float, default=0.1
        Share of the training graphs to set aside for early stopping, stratified by class. Not
        used if `X_val` and `y_val` are passed to `fit`.

    patience : int, default=30
        Number of epochs after which training stops if the validation loss has not become
        lower than before, by more than 0.0001. Losses have no unit: they are cross-entropies,
        or errors of standardized targets.

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

    GNN-LoFI [1]_ compares the neighborhood of every node with learned histograms of
    node features; see :class:`sklofi.nn.LoFILayer` for the formula. The target is
    standardized inside, so its scale does not matter; it may have several columns.

    Parameters
    ----------
    n_layers : int, default=5
        Number of LoFI layers. Each one looks `radius` steps further.

    n_masks : int, default=16
        Number of masks in each layer, the width of a node's vector.

    n_words : int, default=8
        Number of words in the dictionary of each mask, the bins of its histogram.

    radius : int, default=1
        Egonets hold all nodes at most this far from their center (in a directed graph,
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
        Node attribute with a number or a vector of numbers. They are standardized over
        the training graphs and stand beside the labels. Like `node_label`, it is for
        networkx graphs: for a :class:`GraphSet` both were chosen when it was made.

    handle_unknown : {"ignore", "error"}, default="ignore"
        What to do with node labels that no training graph has: take them as an all-zero
        vector, or raise an error.

    max_epochs : int, default=200
        Largest number of passes over the training graphs.

    lr : float, default=0.005
        Learning rate of the AdamW optimizer.

    batch_size : int, default=32
        Number of graphs in a training step.

    weight_decay : float, default=0.0
        Weight decay of the AdamW optimizer.

    early_stopping : bool, default=True
        Whether to stop when the loss on validation graphs stops falling, and to go back
        to the weights that were best on them.

    validation_fraction : float, default=0.1
        Share of the training graphs to set aside for early stopping. Not
        used if `X_val` and `y_val` are passed to `fit`.

    patience : int, default=30
        Number of epochs after which training stops if the validation loss has not become
        lower than before, by more than 0.0001. Losses have no unit: they are cross-entropies,
        or errors of standardized targets.

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
        What to minimize.

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
