"""
Your own network in twenty lines
================================

A PyTorch module that makes a vector of each graph becomes an estimator: searches, weights, early
stopping, saving and checkpoints come with it.
"""

# %%
# The module
# ----------
# The graphs of a batch come as one large graph. This network takes the largest value among the
# neighbors of a node, which counts nothing: it only says what is there.
import matplotlib.pyplot as plt
import torch

from sklofi import GraphSet, compare
from sklofi.baselines import GCNClassifier
from sklofi.datasets import make_motif_graphs
from sklofi.nn import FlatNetwork, Perceptron, pool
from sklofi.training import FlatEstimator, NetworkClassifier, choice, width


class NeighborMaxima(FlatNetwork):
    def __init__(self, n_features, n_outputs, *, n_hidden=32, pooling="sum"):
        super().__init__()
        self.pooling = pooling
        self.layer = torch.nn.Linear(2 * n_features, n_hidden)
        self.output = Perceptron(n_hidden, n_hidden, n_outputs)

    def embed(self, graphs, generator=None):
        source, target = graphs.edge_index
        targets = target[:, None].expand(-1, graphs.x.shape[1])
        largest = torch.zeros_like(graphs.x).scatter_reduce(0, targets, graphs.x[source], "amax")
        nodes = torch.relu(self.layer(torch.cat([graphs.x, largest], dim=1)))
        return pool(nodes, graphs, self.pooling)


# %%
# The estimator
# -------------
# It names the module and declares its parameters: the constructor, the validation and the
# docstring follow.
class NeighborMaximaClassifier(NetworkClassifier, FlatEstimator):
    """A perceptron over nodes and what there is among their neighbors."""

    n_hidden: int = width(default=32)
    pooling: str = choice("How nodes become one vector.", ("sum", "mean", "max"), default="sum")
    _network = NeighborMaxima


# %%
# It is an estimator as any other
# -------------------------------
# An "N" between two "O" was planted into half of the graphs. Here the new network is compared with
# itself under another pooling and with a published one.
graphs, y = make_motif_graphs(200, random_state=0)
X = GraphSet.from_networkx(graphs)
training = {"max_epochs": 60, "lr": 0.01, "random_state": 0}
estimators = {
    "neighbor maxima": NeighborMaximaClassifier(**training),
    "the same, pooled by max": NeighborMaximaClassifier(pooling="max", **training),
    "GCN": GCNClassifier(**training),
}
comparison = compare(estimators, X, y, cv=3)
print(comparison)

# %%
figure, axes = plt.subplots(figsize=(7, 2.5), layout="constrained")
comparison.plot(ax=axes)
figure.savefig("your_own_network.png", dpi=120)
