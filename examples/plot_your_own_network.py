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
import networkx as nx
import torch

from sklofi import GraphSet, compare
from sklofi.baselines import DeepMultisetsClassifier, GINClassifier
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
# A ring, a chain or a star of two "N" and two "O" is in a graph, or the same atoms are scattered.
# The new network, which does not count neighbors, is compared with one that does and with one that
# does not look at them at all.
motifs = [nx.cycle_graph(4), nx.path_graph(4), nx.star_graph(3)]
for motif in motifs:
    nx.set_node_attributes(motif, dict(enumerate("NONO")), "label")
graphs, y = make_motif_graphs(160, motifs=motifs, n_nodes=12, random_state=0)
X = GraphSet.from_networkx(graphs)
training = {"max_epochs": 30, "lr": 0.01, "random_state": 0}
estimators = {
    "neighbor maxima": NeighborMaximaClassifier(**training),
    "GIN, which counts": GINClassifier(**training),
    "nodes alone": DeepMultisetsClassifier(**training),
}
comparison = compare(estimators, X, y, cv=4)
print(comparison)

# %%
figure, axes = plt.subplots(figsize=(7, 2.5), layout="constrained")
comparison.plot(ax=axes)
figure.savefig("your_own_network.png", dpi=120)
