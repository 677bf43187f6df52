"""The methods that GNN-LoFI was compared with, as estimators with the same contract.

Networks are trained, stopped, weighted, saved and explained to scikit-learn by the same code
as LoFI. A peer is a network (a class of PyTorch), a class with its parameters, and two
estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

try:
    import torch_geometric  # noqa: F401
except ImportError as error:
    raise ImportError(
        "sklofi.baselines needs PyTorch Geometric. Install it with"
        ' pip install "sklofi[baselines]", or pip install torch_geometric.'
    ) from error

from sklofi.base import AT_LEAST_1, parameter
from sklofi.encoding import EdgeEncoder, NodeEncoder
from sklofi.fingerprints import (
    FingerprintClassifier,
    FingerprintRegressor,
    FingerprintVectorizer,
    LabelHistogramClassifier,
    LabelHistogramRegressor,
)
from sklofi.flat import FlatDataset
from sklofi.graph_filters import RWGNN, KerGNN
from sklofi.hierarchies import DGCNN, FEWEST_SORTED, DiffPool
from sklofi.message_passing import ECC, GAT, GCN, GIN, SFAGNN, SGIN, DeepMultisets, GraphSAGE
from sklofi.networks import POOLINGS, FlatNetwork
from sklofi.peers import SHARE, LayerParameters, Peer, PoolingParameters, peer
from sklofi.reading import DEFAULT_EDGE_LABEL
from sklofi.tasks import NetworkClassifier, NetworkRegressor
