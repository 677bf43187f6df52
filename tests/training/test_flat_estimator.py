"""A network of one's own as an estimator, and what is said if something is forgotten."""

import pytest
import torch

from sklofi.nn import FlatNetwork, Perceptron, pool
from sklofi.training import FlatEstimator, NetworkClassifier, flag, width


class Nodes(FlatNetwork):
    """A perceptron over nodes, pooled or not."""

    def __init__(self, n_features, n_outputs, *, n_hidden=4, is_pooled=True):
        super().__init__()
        self.is_pooled = is_pooled
        self.layer = torch.nn.Linear(n_features, n_hidden)
        self.output = Perceptron(n_hidden, n_hidden, n_outputs)

    def embed(self, graphs, generator=None):
        nodes = torch.relu(self.layer(graphs.x))
        return pool(nodes, graphs) if self.is_pooled else nodes


class NodesClassifier(NetworkClassifier, FlatEstimator):
    """Nodes."""

    n_hidden: int = width(default=4)
    is_pooled: bool = flag("Whether nodes are pooled.", default=True)
    _network = Nodes


def test_forgotten_pooling_is_told(motifs):
    graphs, y = motifs
    NodesClassifier(max_epochs=1).fit(graphs, y)
    n_nodes = sum(len(graph) for graph in graphs)
    message = rf"Nodes\.embed returned {n_nodes} rows for 40 graphs with {n_nodes} nodes in all.*"
    with pytest.raises(ValueError, match=rf"{message} return pool\(nodes, graphs\)"):
        NodesClassifier(is_pooled=False, early_stopping=False, batch_size=40).fit(graphs, y)


@pytest.mark.parametrize("body", [{"n_hidden": 4}, {}], ids=["a plain default", "no default"])
def test_parameters_have_to_be_declared_with_parameter(body):
    body = {"__annotations__": {"n_hidden": int}, "_network": Nodes, "__doc__": "Nodes.", **body}
    message = (
        r"Own declares n_hidden without parameter\(.* n_hidden: int = count\(text, default=32\)"
    )
    for bases in [(NetworkClassifier, FlatEstimator), (FlatEstimator,)]:
        with pytest.raises(TypeError, match=message):
            type("Own", bases, body)


def test_an_argument_of_the_network_has_to_be_a_parameter():
    """Searches and clones would not know of it."""
    body = {"n_hidden": 4, "_network": Nodes, "__doc__": "Nodes."}
    with pytest.raises(TypeError, match="Own has n_hidden, an argument of Nodes, but not as a par"):
        type("Own", (NetworkClassifier, FlatEstimator), body)
