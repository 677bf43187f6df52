"""LoFIClassifier and LoFIRegressor: GNN-LoFI as scikit-learn estimators."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sklofi._messages import shorten
from sklofi._parameters import (
    SHARE,
    ReadsEdgeFeatures,
    ReadsEdgeLabels,
    ReadsEdgeWeights,
    choice,
    count,
    flag,
    parameter,
)
from sklofi._scaling import weighted_mean_and_scale
from sklofi.graphs._graph_set import GraphSet
from sklofi.nn._choices import HISTOGRAM_KERNELS, POOLINGS, READOUTS
from sklofi.nn._lofi_network import LoFINetwork
from sklofi.training._dataset import BatchLoader, GraphDataset
from sklofi.training._egonet_batches import EgonetBatch, EgonetDataset
from sklofi.training._encoding import EdgeEncoder, NodeEncoder
from sklofi.training._estimator import NetworkEstimator
from sklofi.training._relation_encoder import RelationEncoder
from sklofi.training._tasks import NetworkClassifier, NetworkRegressor
from sklofi.training._training_parameters import members, patience_of, with_counts

# About how many numbers an intermediate array has in prediction (16 MiB); see BatchLoader.
PREDICTION_SIZE = 2**22

# The most graphs, and nodes in them, that masks may start at; fewer nodes where these have so
# many columns that there would be more numbers than this.
N_EXAMPLES = 256
N_EXAMPLE_NODES = 2**14
N_EXAMPLE_NUMBERS = 2**26

REFERENCES = """\
.. [1] L. Bicciato, L. Cosmo, G. Minello, L. Rossi, A. Torsello, "GNN-LoFI: a Novel
   Graph Neural Network through Localized Feature-based Histogram Intersection",
   Pattern Recognition, 2024."""


# The network and the training of the publication, which searches sizes, radius and dropout. How
# many epochs it waits before it stops is not said there.
PUBLISHED: dict[str, Any] = {
    "distances": False,
    "edge_label": None,
    "max_ring": 0,
    "kernel": "l1",
    "pooling": "sum",
    "readout": "all",
    "lr": 0.001,
    "batch_size": 32,
    "weight_decay": 0.0,
    "max_epochs": 2000,
    "patience": 100,
    "validation_fraction": 0.1,
    "n_members": 1,
    "counts": False,
}


class BaseLoFI(ReadsEdgeLabels, ReadsEdgeWeights, ReadsEdgeFeatures, NetworkEstimator):
    """Base of the LoFI estimators, whatever their task."""

    n_layers: int = count(
        "Number of LoFI layers. Each one looks `radius` steps further.", default=5
    )
    n_masks: int = count("Number of masks in each layer, the width of a node's vector.", default=16)
    n_words: int = count(
        "Number of words in the dictionary of each mask, the bins of its histogram.", default=8
    )
    radius: int = count(
        """Egonets hold all nodes at most this far from their center (in a directed graph,
        along its edges). With 0 only the nodes count, not the edges.""",
        least=0,
        default=1,
    )
    distances: bool = flag(
        """Whether masks see how far a member of an egonet is from its center: whether it is the
        center itself, a neighbor, or beyond radius 1 how many steps away. The published network
        sees nothing of this: distances=False, edge_label=None, max_ring=0.""",
        default=True,
    )
    max_ring: int = count(
        """Masks see the size of the smallest ring through the edge to a neighbor, up to this
        size; with 0 they see none. In dense graphs only smaller rings are looked for.""",
        least=0,
        default=8,
    )
    kernel: str = choice(
        """How an egonet's histogram h is compared with a learned one f: as
        ``1 - |h - f| / 2``, or as the sum of ``min(h, f)``.""",
        HISTOGRAM_KERNELS,
        default="l1",
    )
    pooling: str = choice(
        "How the vectors of a graph's nodes become one vector.", POOLINGS, default="sum"
    )
    readout: str = choice(
        "Whether a graph's vector holds the pooled outputs of all layers or the last.",
        READOUTS,
        default="all",
    )
    dropout: float = parameter(
        "Share of node features that are dropped after each layer in training.",
        SHARE,
        default=0.0,
    )
    patience: int = patience_of(default=15)
    n_members: int | str = members(default="auto")
    counts: bool = with_counts(default=True)

    _search_space: ClassVar[dict[str, list[Any]]] = {
        "n_layers": [1, 2, 3, 5, 7],
        "n_masks": [8, 16, 32],
        "n_words": [4, 8, 16],
        "radius": [1, 2],
        "max_ring": [0, 8],
        "kernel": list(HISTOGRAM_KERNELS),
        "pooling": ["sum", "mean"],
        "dropout": [0.0, 0.1, 0.3],
    }

    _network: ClassVar[type[LoFINetwork]] = LoFINetwork
    _saved_classes = (*NetworkEstimator._saved_classes, EdgeEncoder, RelationEncoder)
    _absent_from_files: ClassVar[dict[str, Any]] = {
        **NetworkEstimator._absent_from_files,
        "distances": False,
        "edge_label": None,
        "max_ring": 0,
        "edge_weight": None,
        "edge_features": None,
        "_relation_encoder": None,
    }

    @classmethod
    def published(cls, **parameters: Any) -> Self:
        """Make an estimator with the network and the training of the publication.

        A single network that sees no relations, trained for at most 2000 epochs with a learning
        rate of 0.001. Two things remain as they are here: masks start at nodes and egonets of
        the training graphs, and weights are averaged over the last steps.

        Parameters
        ----------
        **parameters : dict
            Parameters with other values, such as ``n_layers=3``.

        Returns
        -------
        estimator : object
            The estimator, which is not fitted.
        """
        return cls(**{**PUBLISHED, **parameters})

    @classmethod
    def _more_sections(cls) -> dict[str, str]:
        return {"References": REFERENCES}

    def _check_net_state(self, net: dict[str, Any]) -> None:
        super()._check_net_state(net)
        encoder = self._relation_encoder
        if not isinstance(encoder, RelationEncoder | None):
            raise TypeError(f"expected relations of members, got {shorten(encoder)}")
        n_relations = 0 if encoder is None else encoder.n_columns
        if net["architecture"].get("n_relations", 0) != n_relations:
            raise ValueError("the network does not take the relations that are described")

    def _graph_attributes(self) -> dict[str, Any]:
        return {
            **super()._graph_attributes(),
            "edge_label": self.edge_label,
            "edge_weight": self.edge_weight,
            "edge_features": self.edge_features,
        }

    def _learn_encoding(self, graphs: GraphSet, weight: NDArray[np.float64]) -> None:
        super()._learn_encoding(graphs, weight)
        self._radius = self.radius  # prediction looks as far as training did
        self._n_layers = self.n_layers
        self._relation_encoder: RelationEncoder | None = RelationEncoder.fit(
            graphs,
            weight,
            self.radius,
            distances=bool(self.distances),
            edge_labels=self.edge_label is not None,
            max_ring=int(self.max_ring),
        )

    def _make_dataset(
        self, graphs: GraphSet, encoder: NodeEncoder, **arguments: Any
    ) -> EgonetDataset:
        return EgonetDataset(
            graphs,
            encoder,
            radius=self._radius,
            n_layers=self._n_layers,
            relation_encoder=self._relation_encoder,
            **arguments,
        )

    def _architecture(self, training: GraphDataset) -> dict[str, Any]:
        names = ("n_layers", "n_masks", "n_words", "kernel", "pooling", "readout", "dropout")
        architecture = {name: getattr(self, name) for name in names}
        if self._relation_encoder is not None and self._relation_encoder.n_columns:
            architecture["n_relations"] = self._relation_encoder.n_columns
        return architecture

    @property
    def _build_module(self) -> Callable[..., nn.Module]:
        return LoFINetwork

    def _prediction_batches(self, architecture: dict[str, Any]) -> dict[str, int]:
        n_hidden = architecture["n_masks"] * architecture["n_words"]
        # What a node enters with is made once, what is hidden several times.
        width = max(n_hidden, architecture["n_features"] // 4)
        return {"batch_size": sys.maxsize, "max_rows": max(1, PREDICTION_SIZE // width)}

    def _embedding_names(self) -> list[str]:
        n_layers = len(self.module_.layers)
        n_masks = len(self.module_.layers[-1].temperature)
        layers = range(n_layers) if self.module_.readout == "all" else [n_layers - 1]
        return [f"layer{layer}_mask{mask}" for layer in layers for mask in range(n_masks)]

    def _start(self, training: GraphDataset, generator: torch.Generator) -> None:
        """Start masks at what is in the data, and let the head see vectors of unit scale."""
        net = self.net_
        rows, weight = np.arange(len(training)), training.weight
        # Each graph alone, at least, has to fit into the memory of a training step.
        net.get_iterator(training, training=True).check_memory(rows[:, None], merge=True)
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
        nodes = batch.x, batch.egonets, batch.graphs
        net.module_.start_at_data_(*nodes, weight[rows].to(net.device), generator)
        embedding = net.embed(training).double().numpy()
        eps = float(np.finfo(np.float32).eps)
        mean, scale = weighted_mean_and_scale(embedding, training.weight.double().numpy(), eps)
        net.module_.calibrate_(torch.from_numpy(mean), torch.from_numpy(scale))

    def _node_batches(
        self, graphs: GraphSet, *, max_rows: int, gradients: bool = False
    ) -> Iterator[EgonetBatch]:
        """Batches in which every node stands for itself, in the order of the graphs."""
        # A slice may hold a graph twice, whose nodes would be one.
        is_slice = graphs.origin[0] is not graphs
        dataset = self._dataset(copy.copy(graphs) if is_slice else graphs)
        loader = BatchLoader(
            dataset, sys.maxsize, max_rows=max_rows, merge=False, gradients=gradients
        )
        loader.network = self.module_
        return (batch.to(self.net_.device) for batch, _ in loader)


class LoFIClassifier(NetworkClassifier, BaseLoFI):
    """Classifier of graphs by localized feature-based histogram intersection.

    GNN-LoFI [1]_ compares the neighborhood of every node with learned histograms of
    node features; see :class:`sklofi.nn.LoFILayer` for the formula. By default several
    networks predict together, with a linear machine on counts of colors beside them;
    ``n_members=1, counts=False`` trains a single network, and :meth:`published` that of the
    publication.

    See Also
    --------
    LoFIRegressor : The same for numerical targets.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y = make_motif_graphs(120, random_state=0)
    >>> classifier = LoFIClassifier(max_epochs=10, random_state=0)
    >>> classifier.fit(graphs[:100], y[:100]).score(graphs[100:], y[100:])
    1.0
    """


class LoFIRegressor(NetworkRegressor, BaseLoFI):
    """Regressor of graphs by localized feature-based histogram intersection.

    GNN-LoFI [1]_ compares the neighborhood of every node with learned histograms of
    node features; see :class:`sklofi.nn.LoFILayer` for the formula. The target is
    standardized inside, so its scale does not matter; it may have several columns. By
    default several networks predict together, with a linear machine on counts of colors
    beside them; ``n_members=1, counts=False`` trains a single network, and :meth:`published`
    that of the publication.

    See Also
    --------
    LoFIClassifier : The same for classes.

    Examples
    --------
    >>> from sklofi import LoFIRegressor
    >>> from sklofi.datasets import load_graph_atlas
    >>> graphs, y = load_graph_atlas(target="spectral_radius")
    >>> regressor = LoFIRegressor(max_epochs=5, random_state=0)
    >>> bool(regressor.fit(graphs, y).score(graphs, y) > 0.9)
    True
    """
