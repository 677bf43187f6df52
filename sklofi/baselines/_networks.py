"""The networks that GNN-LoFI was compared with, as estimators with the same contract.

A peer is a network (a class of PyTorch), a class that declares its parameters, and two
estimators. Networks are trained, stopped, weighted and saved by the same code as LoFI.
"""

from __future__ import annotations

from math import ceil
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils._param_validation import Interval

from sklofi._parameters import NOT_NEGATIVE, SHARE, choice, count, flag, parameter
from sklofi._scaling import weighted_quantile
from sklofi.nn._choices import AGGREGATIONS, POOLINGS
from sklofi.nn._deep_multisets import DeepMultisets
from sklofi.nn._dgcnn import DGCNN
from sklofi.nn._diffpool import DiffPool
from sklofi.nn._ecc import ECC
from sklofi.nn._gin import GIN, SGIN
from sklofi.nn._message_passing import GAT, GCN, GraphSAGE
from sklofi.nn._sfa import SFAGNN
from sklofi.nn._walk_filters import RWGNN, KerGNN
from sklofi.training._dataset import GraphDataset
from sklofi.training._flat_estimator import (
    FlatEstimator,
    LabeledEdgesEstimator,
    OptionalEdgeLabelsEstimator,
    WeightedEdgesEstimator,
    width,
)
from sklofi.training._tasks import NetworkClassifier, NetworkRegressor
from sklofi.training._training_parameters import learning_rate

# Standard deviation of what RWGNN's sigmoid is given at first.
INITIAL_SPREAD = 2.0

EXAMPLES: dict[type, str] = {
    NetworkClassifier: """\
>>> from sklofi.baselines import {name}
>>> from sklofi.datasets import make_motif_graphs
>>> graphs, y = make_motif_graphs(40, random_state=0)
>>> {name}(max_epochs=3, random_state=0).fit(graphs, y).predict_proba(graphs).shape
(40, 2)""",
    NetworkRegressor: """\
>>> from sklofi.baselines import {name}
>>> from sklofi.datasets import load_graph_atlas
>>> graphs, y = load_graph_atlas(target="spectral_radius")
>>> {name}(max_epochs=1, random_state=0).fit(graphs[:40], y[:40]).predict(graphs[:3]).shape
(3,)""",
}


def _layers(
    text: str = "Number of layers. Each one looks one step further.", *, default: int
) -> Any:
    return count(text, default=default)


def _dropout(
    text: str = "Share of numbers that are dropped in training.", *, default: float
) -> Any:
    return parameter(text, SHARE, default=default)


def _pooling(
    text: str = "How the vectors of nodes become that of a graph.", *, default: str
) -> Any:
    return choice(text, POOLINGS, default=default)


def _aggregation() -> Any:
    return choice("How the neighbors of a node become one vector.", AGGREGATIONS, default="mean")


class Peer(FlatEstimator):
    """Base of the estimators that GNN-LoFI was compared with."""

    # Each network has some of these.
    _search_space: ClassVar[dict[str, list[Any]]] = {
        "n_layers": [1, 2, 3, 4, 5],
        "n_hidden": [16, 32, 64, 128],
        "aggregation": list(AGGREGATIONS),
        "pooling": list(POOLINGS),
        "train_eps": [False, True],
        "n_heads": [2, 4, 8],
        "n_edge_hidden": [8, 16, 32],
        "n_points": [4, 8, 16],
        "n_dense": [32, 64, 128],
        "cluster_ratio": [0.1, 0.25, 0.5],
        "n_hidden_graphs": [8, 16, 32],
        "hidden_graph_size": [4, 5, 6, 8],
        "n_filters": [8, 16, 32],
        "filter_size": [4, 6, 8],
        "n_steps": [1, 2, 3],
        "n_penultimate": [16, 32, 64],
    }

    @classmethod
    def _more_sections(cls) -> dict[str, str]:
        examples = [text for task, text in EXAMPLES.items() if issubclass(cls, task)]
        examples = [text.format(name=cls.__name__) for text in examples]
        return {**super()._more_sections(), "Examples": "".join(examples)}


class BaseDeepMultisets(Peer):
    n_layers: int = _layers("Number of layers over nodes.", default=1)
    n_hidden: int = width("Width of the hidden layers.", default=128)
    dropout: float = _dropout(default=0.0)
    pooling: str = _pooling(default="sum")

    _network = DeepMultisets


class DeepMultisetsClassifier(NetworkClassifier, BaseDeepMultisets):
    """A graph as the multiset of its nodes, without edges (Zaheer et al., 2017), for classes."""


class DeepMultisetsRegressor(NetworkRegressor, BaseDeepMultisets):
    """A graph as the multiset of its nodes, without edges (Zaheer et al., 2017), for numbers."""


class BaseGCN(Peer, WeightedEdgesEstimator):
    n_layers: int = _layers(default=3)
    n_hidden: int = width(default=64)
    dropout: float = _dropout(default=0.0)
    pooling: str = _pooling(default="mean")

    _network = GCN


class GCNClassifier(NetworkClassifier, BaseGCN):
    """Graph convolutional network (Kipf and Welling, 2017), for classes."""


class GCNRegressor(NetworkRegressor, BaseGCN):
    """Graph convolutional network (Kipf and Welling, 2017), for numbers."""


class BaseGraphSAGE(Peer, OptionalEdgeLabelsEstimator, WeightedEdgesEstimator):
    n_layers: int = _layers(default=3)
    n_hidden: int = width(default=64)
    aggregation: str = _aggregation()
    dropout: float = _dropout(default=0.0)
    pooling: str = _pooling(default="max")

    _network = GraphSAGE


class GraphSAGEClassifier(NetworkClassifier, BaseGraphSAGE):
    """Sample and aggregate (Hamilton et al., 2017), with all neighbors, for classes."""


class GraphSAGERegressor(NetworkRegressor, BaseGraphSAGE):
    """Sample and aggregate (Hamilton et al., 2017), with all neighbors, for numbers."""


class IsomorphismPeer(Peer, WeightedEdgesEstimator):
    """Base of GIN and of its variant."""

    n_layers: int = _layers(default=4)
    n_hidden: int = width(default=32)
    train_eps: bool = flag(
        "Whether the weight of the node itself is learned (GIN-epsilon), or is one (GIN-0).",
        default=False,
    )
    dropout: float = _dropout(
        "Share of the pooled numbers that are dropped in training.", default=0.5
    )
    pooling: str = _pooling(default="sum")
    # Sums over graphs are large, and so are their gradients.
    lr: float = learning_rate(default=0.001)


class BaseGIN(IsomorphismPeer, OptionalEdgeLabelsEstimator):
    _network = GIN


class GINClassifier(NetworkClassifier, BaseGIN):
    """Graph isomorphism network (Xu et al., 2019), for classes."""


class GINRegressor(NetworkRegressor, BaseGIN):
    """Graph isomorphism network (Xu et al., 2019), for numbers."""


class BaseSGIN(IsomorphismPeer):
    _network = SGIN


class SGINClassifier(NetworkClassifier, BaseSGIN):
    """(s)GIN, a GIN with an enlarged neighborhood (Di et al., 2020), for classes."""


class SGINRegressor(NetworkRegressor, BaseSGIN):
    """(s)GIN, a GIN with an enlarged neighborhood (Di et al., 2020), for numbers."""


class BaseGAT(Peer, OptionalEdgeLabelsEstimator):
    n_layers: int = _layers(default=3)
    n_hidden: int = width("Width of each head of a node's vector.", default=16)
    n_heads: int = count("Number of heads.", default=4)
    dropout: float = _dropout(default=0.0)
    pooling: str = _pooling(default="mean")

    _network = GAT


class GATClassifier(NetworkClassifier, BaseGAT):
    """Graph attention network (Velickovic et al., 2018), for classes."""


class GATRegressor(NetworkRegressor, BaseGAT):
    """Graph attention network (Velickovic et al., 2018), for numbers."""


class BaseECC(Peer, LabeledEdgesEstimator):
    n_layers: int = _layers(default=3)
    n_hidden: int = width(default=32)
    n_edge_hidden: int = width("Hidden width of the perceptrons over edges.", default=16)
    aggregation: str = _aggregation()
    dropout: float = _dropout(default=0.05)
    pooling: str = _pooling(default="mean")

    _network = ECC


class ECCClassifier(NetworkClassifier, BaseECC):
    """Edge-conditioned convolution (Simonovsky and Komodakis, 2017), for classes."""


class ECCRegressor(NetworkRegressor, BaseECC):
    """Edge-conditioned convolution (Simonovsky and Komodakis, 2017), for numbers."""


class BaseSFAGNN(Peer):
    n_layers: int = _layers(default=3)
    n_hidden: int = width("Number of sets of points, the width of a node's vector.", default=16)
    n_points: int = count("Number of points in each set.", default=8)
    dropout: float = _dropout(default=0.0)
    pooling: str = _pooling(default="sum")

    _network = SFAGNN


class SFAGNNClassifier(NetworkClassifier, BaseSFAGNN):
    """SFA-GNN (Bicciato et al., 2022), features aligned softly, a reconstruction, for classes."""


class SFAGNNRegressor(NetworkRegressor, BaseSFAGNN):
    """SFA-GNN (Bicciato et al., 2022), features aligned softly, a reconstruction, for numbers."""


class BaseDGCNN(Peer, WeightedEdgesEstimator):
    n_layers: int = _layers(
        "Number of graph convolutions, without that of a single channel.", default=3
    )
    n_hidden: int = width("Channels of each of them.", default=32)
    n_sorted: int | None = count(
        """Number of nodes to keep of each graph, at least 10. None takes the size that 60 %
        of the training graphs, by weight, do not exceed, as the authors do.""",
        default=None,
    )
    n_dense: int = width("Width of the hidden layer of the perceptron.", default=128)
    dropout: float = _dropout("Share of that layer to drop in training.", default=0.5)

    _network = DGCNN

    def _architecture(self, training: GraphDataset) -> dict[str, Any]:
        found = weighted_quantile(
            np.diff(training.graphs.node_offsets), training.weight.double().numpy(), 0.6
        )
        return {**super()._architecture(training), "n_sorted": self.n_sorted or int(found)}


class DGCNNClassifier(NetworkClassifier, BaseDGCNN):
    """Sorted nodes and convolutions along them (Zhang et al., 2018), for classes."""


class DGCNNRegressor(NetworkRegressor, BaseDGCNN):
    """Sorted nodes and convolutions along them (Zhang et al., 2018), for numbers."""


class BaseDiffPool(Peer):
    n_layers: int = _layers("Number of layers of each stack.", default=3)
    n_hidden: int = width("Width of all layers but the last.", default=64)
    n_last: int = width("Width of the last layer of the stacks that describe nodes.", default=128)
    n_poolings: int = count("How often nodes are merged.", default=1)
    n_clusters: int | None = count(
        """Number of clusters that the nodes of a graph are assigned to. None takes
        `cluster_ratio` times the nodes of the largest training graph, as the authors do.""",
        default=None,
    )
    aggregation: str = _aggregation()
    cluster_ratio: float = parameter(
        "The number of clusters of the next pooling as a share of the number before.",
        [Interval(Real, 0, 1, closed="right")],
        default=0.1,
    )
    pooling: str = _pooling(
        "What makes one vector of those of the nodes of a level.", default="max"
    )
    n_dense: int = width("Width of the hidden layer of the perceptron.", default=50)
    dropout: float = _dropout("Share of that layer to drop in training.", default=0.0)
    penalty: float = parameter(
        "Weight of the penalty on the assignment.", NOT_NEGATIVE, default=1.0
    )

    _network = DiffPool

    def _architecture(self, training: GraphDataset) -> dict[str, Any]:
        largest = int(np.diff(training.graphs.node_offsets).max())
        found = ceil(self.cluster_ratio * largest)
        return {**super()._architecture(training), "n_clusters": self.n_clusters or found}


class DiffPoolClassifier(NetworkClassifier, BaseDiffPool):
    """GraphSAGE whose nodes are merged level by level (Ying et al., 2018), for classes."""


class DiffPoolRegressor(NetworkRegressor, BaseDiffPool):
    """GraphSAGE whose nodes are merged level by level (Ying et al., 2018), for numbers."""


class BaseRWGNN(Peer):
    n_hidden_graphs: int = count("Number of graphs to compare with.", default=16)
    hidden_graph_size: int = count("Number of nodes of each of them.", default=5)
    n_steps: int = count("Length of the longest walks.", least=0, default=2)
    n_hidden: int = width("Width that node features are mapped to.", default=16)
    n_penultimate: int = width("Width of the hidden layer of the perceptron.", default=32)
    dropout: float = _dropout(default=0.2)

    _network = RWGNN

    def _start(self, training: GraphDataset, generator: torch.Generator) -> None:
        """Let the sigmoid tell nodes apart.

        With weights as small as Glorot's, all nodes are nearly alike, and for dozens of epochs
        kernels see little but the sizes of graphs.
        """
        weight = self.module_.inputs.weight
        # A node has a one for each of its labels, and standardized features.
        n_ones = 1 + len(self._encoder.structure)
        norm = (n_ones + len(self._encoder.feature_mean)) ** 0.5
        with torch.no_grad():
            weight.mul_(INITIAL_SPREAD / (norm * weight.square().mean().sqrt()))


class RWGNNClassifier(NetworkClassifier, BaseRWGNN):
    """Random walk kernels with learned graphs (Nikolentzos and Vazirgiannis, 2020), for classes."""


class RWGNNRegressor(NetworkRegressor, BaseRWGNN):
    """Random walk kernels with learned graphs (Nikolentzos and Vazirgiannis, 2020), for numbers."""


class BaseKerGNN(Peer):
    n_layers: int = _layers(default=2)
    n_filters: int = count("Number of graph filters of a layer.", default=16)
    filter_size: int = count("Number of nodes of each of them.", default=6)
    n_steps: int = count("Length of the longest walks.", least=0, default=2)
    radius: int = count(
        "Largest distance of members of an egonet from its center.", least=0, default=1
    )
    n_hidden: int = width("Width that node features are mapped to.", default=16)
    n_penultimate: int = width("Width of the hidden layer of the perceptron.", default=32)
    pooling: str = _pooling(default="sum")
    dropout: float = _dropout(default=0.2)

    _network = KerGNN


class KerGNNClassifier(NetworkClassifier, BaseKerGNN):
    """Egonets compared with learned graphs by walks (Feng et al., 2022), for classes."""


class KerGNNRegressor(NetworkRegressor, BaseKerGNN):
    """Egonets compared with learned graphs by walks (Feng et al., 2022), for numbers."""
