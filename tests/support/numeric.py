"""Numbers at the edges of what a computer can hold, for the tests of numbers.

Every case is a name and a change of features, targets or weights.
"""

import networkx as nx
import numpy as np

N_GRAPHS = 30


def plain_features(seed=0, n_features=2):
    """Graphs without attributes, and numbers for their nodes."""
    rng = np.random.RandomState(seed)
    graphs = [nx.gnp_random_graph(rng.randint(1, 8), 0.4, seed=i) for i in range(N_GRAPHS)]
    return graphs, [rng.normal(size=(len(graph), n_features)) for graph in graphs]


def with_features(graphs, features):
    graphs = [graph.copy() for graph in graphs]
    for graph, rows in zip(graphs, features, strict=True):
        nx.set_node_attributes(graph, dict(zip(graph, rows, strict=True)), "x")
    return graphs


# Of the number of the graph and its features; below 3.4e38, beyond which they are refused.
FEATURES = {
    "zeros": lambda i, x: 0 * x,
    "constant": lambda i, x: 0 * x + 0.1,
    "constant and huge": lambda i, x: 0 * x + 3e38,
    "one constant": lambda i, x: x * [1, 0] + [0, 1e-30],
    "far from zero": lambda i, x: x + 1e12,
    "barely different": lambda i, x: 1 + 1e-15 * x,
    "huge and tiny columns": lambda i, x: x * [1e37, 1e-300],
    "huge and tiny graphs": lambda i, x: x * (1e37 if i % 2 else 1e-300),
    "one huge graph": lambda i, x: x * (1e37 if i == 3 else 1),
    "zero but for one": lambda i, x: x * (i == 3),
    "denormal": lambda i, x: np.round(10 * x) * 5e-324,
    "signs only": lambda i, x: np.sign(x) * 3e38,
}

# Of standard normal targets.
TARGETS = {
    "zeros": lambda t: 0 * t,
    "constant": lambda t: 0 * t + 0.1,
    "constant and huge": lambda t: 0 * t + 1.7e308,
    "constant and tiny": lambda t: 0 * t + 1e-320,
    "far from zero": lambda t: t + 1e12,
    "further from zero": lambda t: t + 1e16,
    "one huge": lambda t: np.where(np.arange(len(t)) == 3, 1e300, t),
    "huge and tiny": lambda t: np.where(t > 0, 1e300, 1e-300),
    "huge of both signs": lambda t: 1e307 * np.sign(t),
    "denormal": lambda t: np.round(10 * t) * 5e-324,
}

SCALES = (1e-310, 1e-300, 1e-160, 1e-45, 1e-30, 1e-10, 1e10, 1e30)


def wild_weights(seed, decades):
    """Weights over so many orders of magnitude, half of them above 1."""
    exponents = np.random.RandomState(seed).uniform(-decades / 2, decades / 2, N_GRAPHS)
    return 10.0**exponents


def check_probabilities(probabilities, n_classes):
    assert probabilities.shape[1] == n_classes
    assert np.isfinite(probabilities).all() and (probabilities >= 0).all()
    assert np.allclose(probabilities.sum(axis=1), 1)
