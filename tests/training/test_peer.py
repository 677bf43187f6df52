"""What is said to those who bring a network of their own and forget something."""

import pytest
import torch

from sklofi._parameters import parameter
from sklofi.nn import FlatNetwork, Perceptron, pool
from sklofi.training import NetworkClassifier, Peer, parameters, peer, width


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


@peer
class NodesClassifier(NetworkClassifier, Peer):
    """Nodes."""

    n_hidden: int = width(4)
    is_pooled: bool = parameter(True, ["boolean"], "Whether nodes are pooled.")
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
    with pytest.raises(TypeError, match=r"Own declares n_hidden without parameter\(.* width\(32\)"):
        peer(type("Own", (NetworkClassifier, Peer), body))
    # Also where both tasks share them.
    base = parameters(type("Base", (Peer,), body))
    with pytest.raises(TypeError, match="Own declares n_hidden without parameter"):
        peer(type("Own", (NetworkClassifier, base), {"__doc__": "Nodes."}))


def test_an_argument_of_the_network_has_to_be_a_parameter():
    """Searches and clones would not know of it."""
    body = {"n_hidden": 4, "_network": Nodes, "__doc__": "Nodes."}
    with pytest.raises(TypeError, match="Own has n_hidden, an argument of Nodes, but not as a par"):
        peer(type("Own", (NetworkClassifier, Peer), body))
