"""The methods that GNN-LoFI was compared with, as estimators with the same contract.

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

from sklofi._parameters import AT_LEAST_0, AT_LEAST_1, learning_rate, parameter
from sklofi._validation import weighted_quantile
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL
from sklofi.nn._deep_multisets import DeepMultisets
from sklofi.nn._dgcnn import DGCNN
from sklofi.nn._diffpool import DiffPool
from sklofi.nn._ecc import ECC
from sklofi.nn._gin import GIN, SGIN
from sklofi.nn._message_passing import GAT, GCN, GraphSAGE
from sklofi.nn._sfa import SFAGNN
from sklofi.nn._walk_filters import RWGNN, KerGNN
from sklofi.training._edge_batches import EdgeDataset
from sklofi.training._encoding import EdgeEncoder, NodeEncoder
from sklofi.training._peer import Peer, choice, dropped, layers, parameters, peer, pooled, width
from sklofi.training._tasks import NetworkClassifier, NetworkRegressor

# Standard deviation of what RWGNN's sigmoid is given at first.
INITIAL_SPREAD = 2.0


NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]


@parameters
class BaseDeepMultisets(Peer):
    n_layers: int = layers(1, "Number of layers over nodes.")
    n_hidden: int = width(128, "Width of the hidden layers.")
    dropout: float = dropped(0.0)
    pooling: str = pooled("sum")

    _network: ClassVar[Any] = DeepMultisets


@peer
class DeepMultisetsClassifier(NetworkClassifier, BaseDeepMultisets):
    """A graph as the multiset of its nodes, without edges (Zaheer et al., 2017), for classes."""


@peer
class DeepMultisetsRegressor(NetworkRegressor, BaseDeepMultisets):
    """A graph as the multiset of its nodes, without edges (Zaheer et al., 2017), for numbers."""


@parameters
class BaseGCN(Peer):
    n_layers: int = layers(3)
    n_hidden: int = width(64)
    dropout: float = dropped(0.0)
    pooling: str = pooled("mean")

    _network: ClassVar[Any] = GCN


@peer
class GCNClassifier(NetworkClassifier, BaseGCN):
    """Graph convolutional network (Kipf and Welling, 2017), for classes."""


@peer
class GCNRegressor(NetworkRegressor, BaseGCN):
    """Graph convolutional network (Kipf and Welling, 2017), for numbers."""


@parameters
class BaseGraphSAGE(Peer):
    n_layers: int = layers(3)
    n_hidden: int = width(64)
    aggregation: str = choice(
        "mean", ("mean", "max", "sum"), "How the neighbors of a node become one vector."
    )
    dropout: float = dropped(0.0)
    pooling: str = pooled("max")

    _network: ClassVar[Any] = GraphSAGE


@peer
class GraphSAGEClassifier(NetworkClassifier, BaseGraphSAGE):
    """Sample and aggregate (Hamilton et al., 2017), with all neighbors, for classes."""


@peer
class GraphSAGERegressor(NetworkRegressor, BaseGraphSAGE):
    """Sample and aggregate (Hamilton et al., 2017), with all neighbors, for numbers."""


@parameters
class BaseGIN(Peer):
    n_layers: int = layers(4)
    n_hidden: int = width(32)
    train_eps: bool = parameter(
        False,
        ["boolean"],
        "Whether the weight of the node itself is learned (GIN-epsilon), or is one (GIN-0).",
    )
    dropout: float = dropped(0.5, "Share of the pooled numbers that are dropped in training.")
    pooling: str = pooled("sum")
    lr: float = learning_rate(0.001)  # sums over graphs are large, and so are their gradients

    _network: ClassVar[Any] = GIN


@peer
class GINClassifier(NetworkClassifier, BaseGIN):
    """Graph isomorphism network (Xu et al., 2019), for classes."""


@peer
class GINRegressor(NetworkRegressor, BaseGIN):
    """Graph isomorphism network (Xu et al., 2019), for numbers."""


@parameters
class BaseSGIN(BaseGIN):
    _network: ClassVar[Any] = SGIN


@peer
class SGINClassifier(NetworkClassifier, BaseSGIN):
    """(s)GIN, a GIN with an enlarged neighborhood (Di et al., 2020), for classes."""


@peer
class SGINRegressor(NetworkRegressor, BaseSGIN):
    """(s)GIN, a GIN with an enlarged neighborhood (Di et al., 2020), for numbers."""


@parameters
class BaseGAT(Peer):
    n_layers: int = layers(3)
    n_hidden: int = width(16, "Width of each head of a node's vector.")
    n_heads: int = parameter(4, AT_LEAST_1, "Number of heads.")
    dropout: float = dropped(0.0)
    pooling: str = pooled("mean")

    _network: ClassVar[Any] = GAT


@peer
class GATClassifier(NetworkClassifier, BaseGAT):
    """Graph attention network (Velickovic et al., 2018), for classes."""


@peer
class GATRegressor(NetworkRegressor, BaseGAT):
    """Graph attention network (Velickovic et al., 2018), for numbers."""


@parameters
class BaseECC(Peer):
    edge_label: Any = parameter(
        DEFAULT_EDGE_LABEL,
        "no_validation",
        """Edge attribute with a categorical label: any hashable value. Under the default
        name it may be absent, then all edges count as alike. None ignores labels. For a
        :class:`GraphSet` it was chosen when it was made.""",
    )
    n_layers: int = layers(3)
    n_hidden: int = width(32)
    n_edge_hidden: int = width(16, "Hidden width of the perceptrons over edges.")
    dropout: float = dropped(0.05)
    pooling: str = pooled("mean")

    _network: ClassVar[Any] = ECC
    _saved_classes: ClassVar[tuple[type, ...]] = (NodeEncoder, EdgeEncoder)

    def _attributes(self):
        return {**super()._attributes(), "edge_label": self.edge_label}

    def _learn_encoding(self, graphs, y, weight):
        super()._learn_encoding(graphs, y, weight)
        # A GraphSet may have labels that are to be ignored.
        self._edge_encoder = None if self.edge_label is None else EdgeEncoder.fit(graphs)

    def _make_dataset(self, graphs, encoder, **more):
        return EdgeDataset(graphs, encoder, edge_encoder=self._edge_encoder, **more)

    def _architecture(self, training):
        n_edge_features = 1 if self._edge_encoder is None else self._edge_encoder.n_columns
        return {**super()._architecture(training), "n_edge_features": n_edge_features}


@peer
class ECCClassifier(NetworkClassifier, BaseECC):
    """Edge-conditioned convolution (Simonovsky and Komodakis, 2017), for classes."""


@peer
class ECCRegressor(NetworkRegressor, BaseECC):
    """Edge-conditioned convolution (Simonovsky and Komodakis, 2017), for numbers."""


@parameters
class BaseSFAGNN(Peer):
    n_layers: int = layers(3)
    n_hidden: int = width(16, "Number of sets of points, the width of a node's vector.")
    n_points: int = parameter(8, AT_LEAST_1, "Number of points in each set.")
    dropout: float = dropped(0.0)
    pooling: str = pooled("sum")

    _network: ClassVar[Any] = SFAGNN


@peer
class SFAGNNClassifier(NetworkClassifier, BaseSFAGNN):
    """SFA-GNN (Bicciato et al., 2022), features aligned softly, a reconstruction, for classes."""


@peer
class SFAGNNRegressor(NetworkRegressor, BaseSFAGNN):
    """SFA-GNN (Bicciato et al., 2022), features aligned softly, a reconstruction, for numbers."""


@parameters
class BaseDGCNN(Peer):
    n_layers: int = layers(3, "Number of graph convolutions, without that of a single channel.")
    n_hidden: int = width(32, "Channels of each of them.")
    n_sorted: int | None = parameter(
        None,
        [*AT_LEAST_1, None],
        """Number of nodes to keep of each graph, at least 10. None takes the size that 60 %
        of the training graphs, by weight, do not exceed, as the authors do.""",
    )
    n_dense: int = width(128, "Width of the hidden layer of the perceptron.")
    dropout: float = dropped(0.5, "Share of that layer to drop in training.")

    _network: ClassVar[Any] = DGCNN

    def _architecture(self, training):
        found = weighted_quantile(
            np.diff(training.graphs.node_offsets), training.weight.double().numpy(), 0.6
        )
        return {**super()._architecture(training), "n_sorted": self.n_sorted or int(found)}


@peer
class DGCNNClassifier(NetworkClassifier, BaseDGCNN):
    """Sorted nodes and convolutions along them (Zhang et al., 2018), for classes."""


@peer
class DGCNNRegressor(NetworkRegressor, BaseDGCNN):
    """Sorted nodes and convolutions along them (Zhang et al., 2018), for numbers."""


@parameters
class BaseDiffPool(Peer):
    n_layers: int = layers(3, "Number of layers of each stack.")
    n_hidden: int = width(64, "Width of all layers but the last.")
    n_last: int = width(128, "Width of the last layer of the stacks that describe nodes.")
    n_poolings: int = parameter(1, AT_LEAST_1, "How often nodes are merged.")
    n_clusters: int | None = parameter(
        None,
        [*AT_LEAST_1, None],
        """Number of clusters that the nodes of a graph are assigned to. None takes
        `cluster_ratio` times the nodes of the largest training graph, as the authors do.""",
    )
    cluster_ratio: float = parameter(
        0.1,
        [Interval(Real, 0, 1, closed="right")],
        "The number of clusters of the next pooling as a share of the number before.",
    )
    pooling: str = pooled("max", "What makes one vector of those of the nodes of a level.")
    n_dense: int = width(50, "Width of the hidden layer of the perceptron.")
    dropout: float = dropped(0.0, "Share of that layer to drop in training.")
    penalty: float = parameter(1.0, NOT_NEGATIVE, "Weight of the penalty on the assignment.")

    _network: ClassVar[Any] = DiffPool

    def _architecture(self, training):
        largest = int(np.diff(training.graphs.node_offsets).max())
        found = ceil(self.cluster_ratio * largest)
        return {**super()._architecture(training), "n_clusters": self.n_clusters or found}


@peer
class DiffPoolClassifier(NetworkClassifier, BaseDiffPool):
    """GraphSAGE whose nodes are merged level by level (Ying et al., 2018), for classes."""


@peer
class DiffPoolRegressor(NetworkRegressor, BaseDiffPool):
    """GraphSAGE whose nodes are merged level by level (Ying et al., 2018), for numbers."""


@parameters
class BaseRWGNN(Peer):
    n_hidden_graphs: int = parameter(16, AT_LEAST_1, "Number of graphs to compare with.")
    hidden_graph_size: int = parameter(5, AT_LEAST_1, "Number of nodes of each of them.")
    n_steps: int = parameter(2, AT_LEAST_0, "Length of the longest walks.")
    n_hidden: int = width(16, "Width that node features are mapped to.")
    n_penultimate: int = width(32, "Width of the hidden layer of the perceptron.")
    dropout: float = dropped(0.2)

    _network: ClassVar[Any] = RWGNN

    def _start(self, training, generator):
        """Let the sigmoid tell nodes apart.

        With weights as small as Glorot's, all nodes are nearly alike, and for dozens of epochs
        kernels see little but the sizes of graphs.
        """
        weight = self.module_.inputs.weight
        # A node has a one for its label, and standardized features.
        norm = (1 + len(self._encoder.feature_mean)) ** 0.5
        with torch.no_grad():
            weight.mul_(INITIAL_SPREAD / (norm * weight.square().mean().sqrt()))


@peer
class RWGNNClassifier(NetworkClassifier, BaseRWGNN):
    """Random walk kernels with learned graphs (Nikolentzos and Vazirgiannis, 2020), for classes."""


@peer
class RWGNNRegressor(NetworkRegressor, BaseRWGNN):
    """Random walk kernels with learned graphs (Nikolentzos and Vazirgiannis, 2020), for numbers."""


@parameters
class BaseKerGNN(Peer):
    n_layers: int = layers(2)
    n_filters: int = parameter(16, AT_LEAST_1, "Number of graph filters of a layer.")
    filter_size: int = parameter(6, AT_LEAST_1, "Number of nodes of each of them.")
    n_steps: int = parameter(2, AT_LEAST_0, "Length of the longest walks.")
    radius: int = parameter(
        1, AT_LEAST_0, "Largest distance of members of an egonet from its center."
    )
    n_hidden: int = width(16, "Width that node features are mapped to.")
    n_penultimate: int = width(32, "Width of the hidden layer of the perceptron.")
    pooling: str = pooled("sum")
    dropout: float = dropped(0.2)

    _network: ClassVar[Any] = KerGNN


@peer
class KerGNNClassifier(NetworkClassifier, BaseKerGNN):
    """Egonets compared with learned graphs by walks (Feng et al., 2022), for classes."""


@peer
class KerGNNRegressor(NetworkRegressor, BaseKerGNN):
    """Egonets compared with learned graphs by walks (Feng et al., 2022), for numbers."""
