"""What LoFI adds to the shell of all networks: its parameters, egonets, and a start at the data."""

from __future__ import annotations

import copy
import sys
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sklofi.base import AT_LEAST_0, AT_LEAST_1, BaseNetwork, network_estimator, parameter
from sklofi.batches import GraphDataset
from sklofi.loading import BatchLoader
from sklofi.nn import KERNELS, POOLINGS, READOUTS, LoFINetwork
from sklofi.targets import weighted_mean_and_scale

# About how many numbers an intermediate array has in prediction (16 MiB); see BatchLoader.
PREDICTION_SIZE = 2**22

# The most graphs, and nodes in them, that masks may start at; fewer nodes where these have so
# many columns that there would be more numbers than this.
N_EXAMPLES = 256
N_EXAMPLE_NODES = 2**14
N_EXAMPLE_NUMBERS = 2**26


def fitted_lofi(estimator):
    """The fitted LoFI estimator that somebody wants to look into, perhaps found by a search."""
    if isinstance(estimator, type):
        raise TypeError(f"{estimator.__name__} is a class; pass a fitted estimator.")
    check_is_fitted(estimator)
    if hasattr(estimator, "best_score_") and not hasattr(estimator, "best_estimator_"):
        raise TypeError("The search has kept no estimator; search with refit=True.")
    found = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(found, BaseLoFI):
        raise TypeError(
            f"Only LoFI estimators can be looked into this way, got {type(found).__name__};"
            " of a pipeline, pass the step that is one."
        )
    return found


def check_place(estimator, layer, mask=0):
    """See that a fitted estimator has such a mask."""
    layers = estimator.module_.layers
    check_scalar(layer, "layer", Integral, min_val=0, max_val=len(layers) - 1)
    check_scalar(mask, "mask", Integral, min_val=0, max_val=len(layers[0].temperature) - 1)


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
        """Egonets hold all nodes at most this far from their centre (in a directed graph,
        along its edges). With 0 only the nodes count, not the edges.""",
    )
    kernel: str = parameter(
        "l1",
        [StrOptions(set(KERNELS))],
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
        return GraphDataset(graphs, encoder, radius=self._radius, n_layers=self._n_layers, **more)

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
