"""What a user is told of graphs that can be used, but perhaps not as expected."""

import warnings

import networkx as nx
import numpy as np
import pytest

from helpers import bonded_graphs
from sklofi import (
    GraphKernelSVC,
    GraphSet,
    LoFIClassifier,
    WLVectorizer,
)
from sklofi.baselines import (
    ECCClassifier,
    FingerprintClassifier,
    GCNClassifier,
    LabelHistogramClassifier,
)
from sklofi.graphs._input import as_graph_set
from sklofi.graphs._warnings import warn_of_training
from sklofi.kernels import RandomWalkKernel, ShortestPathVectorizer


def labeled(graph, *labels):
    nx.set_node_attributes(graph, dict(zip(graph, labels, strict=True)), "label")
    return graph


def messages(call, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args)
    return [str(warning.message) for warning in caught]


GRAPHS = bonded_graphs(20, bonds=("single", "double"))
Y = np.arange(20) % 2
PATHS = [labeled(nx.path_graph(3), *"aba") for _ in range(20)]
FAST = {"n_members": 1, "counts": False, "max_epochs": 1, "random_state": 0}


@pytest.mark.parametrize("container", [list, GraphSet.from_networkx])
@pytest.mark.parametrize(
    "estimator, owner",
    [
        (GCNClassifier(**FAST), "GCNClassifier"),
        (GraphKernelSVC(kernel="shortest-path"), r'GraphKernelSVC\(kernel="shortest-path"\)'),
        (GraphKernelSVC(kernel=ShortestPathVectorizer(normalize=True)), "GraphKernelSVC"),
        (ShortestPathVectorizer(), "ShortestPathVectorizer"),
    ],
)
def test_whoever_does_not_use_edge_labels_says_so_once(estimator, owner, container):
    X = container(GRAPHS)
    with pytest.warns(UserWarning, match=rf"({owner}) does not use edge labels.*'label'") as caught:
        estimator.fit(X, Y)
    # The first import of PyTorch Geometric may warn of what torch deprecates.
    assert sum(issubclass(one.category, UserWarning) for one in caught) == 1
    predict = getattr(estimator, "predict", None) or estimator.transform
    assert messages(predict, X) == []


@pytest.mark.parametrize("container", [list, GraphSet.from_networkx])
@pytest.mark.parametrize(
    "estimator",
    [
        FingerprintClassifier(),
        FingerprintClassifier(edge_label=None),
        GraphKernelSVC(),
        GraphKernelSVC(edge_label=None),
        GraphKernelSVC(kernel=RandomWalkKernel()),
        ECCClassifier(**FAST),
        LabelHistogramClassifier(),
        GraphKernelSVC(kernel="vertex-histogram"),
    ],
)
def test_whoever_uses_edge_labels_or_no_edges_at_all_says_nothing(estimator, container):
    X = container(GRAPHS)
    assert messages(estimator.fit, X, Y) == []
    assert messages(estimator.predict, X) == []


def test_edge_labels_that_are_all_the_same_are_not_worth_a_word():
    graphs = [nx.path_graph(3) for _ in range(20)]
    for graph in graphs:
        nx.set_edge_attributes(graph, "single", "label")
    assert messages(LoFIClassifier(**FAST).fit, graphs, Y) == []


def test_edge_labels_can_be_left_out():
    X = GraphSet.from_networkx(GRAPHS, edge_label=None)
    assert messages(LoFIClassifier(**FAST).fit, X, Y) == []


def test_a_list_and_its_graph_set_give_the_same_answer_where_only_bonds_differ():
    graphs = [nx.path_graph(3 + i % 5) for i in range(40)]
    for i, graph in enumerate(graphs):
        nx.set_edge_attributes(graph, "=" if i % 2 else "-", "label")
    y = np.arange(40) % 2
    for X in (graphs, GraphSet.from_networkx(graphs)):
        assert FingerprintClassifier().fit(X, y).score(X, y) == 1


@pytest.mark.parametrize("estimator", [GraphKernelSVC(), LabelHistogramClassifier()])
def test_whoever_does_not_use_features_says_so(estimator):
    graphs = [labeled(nx.path_graph(3), *"aba") for _ in range(20)]
    for graph in graphs:
        nx.set_node_attributes(graph, 1.0, "x")
    X = GraphSet.from_networkx(graphs, node_features="x")
    with pytest.warns(UserWarning, match="does not use the continuous node features.*'x'"):
        estimator.fit(X, Y)


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
def test_different_weights_of_edges_are_said_to_be_unused(kind):
    graphs = [kind([(0, 1, {"weight": 2.0}), (1, 2, {"weight": 0.5})])] * 20
    with pytest.warns(UserWarning, match="differ in the attribute 'weight', which is not used"):
        GraphSet.from_networkx(graphs)
    with pytest.warns(UserWarning, match="'weight', which is not used"):
        LoFIClassifier(**FAST).fit(graphs, Y)


def test_equal_weights_are_not_worth_a_word():
    graphs = [nx.from_numpy_array(np.array([[0, 1], [1, 0]]))] * 20
    assert messages(GraphSet.from_networkx, graphs) == []
    X = GraphSet.from_networkx(graphs, edge_weight="weight", edge_features="weight")
    assert messages(GraphKernelSVC().fit, X, Y) == []


WEIGHTED = [nx.Graph([(0, 1, {"weight": 2.0}), (1, 2, {"weight": 0.5})])] * 20


@pytest.mark.parametrize(
    "estimator", [GraphKernelSVC(), GraphKernelSVC(kernel=RandomWalkKernel()), WLVectorizer()]
)
def test_whoever_does_not_use_numbers_on_edges_says_so_once(estimator):
    weighted = GraphSet.from_networkx(WEIGHTED, edge_weight="weight")
    [message] = messages(estimator.fit, weighted, Y)
    assert "does not use edge weights, but those of X differ (attribute 'weight')" in message
    featured = GraphSet.from_networkx(WEIGHTED, edge_features="weight")
    [message] = messages(estimator.fit, featured, Y)
    assert "does not use the continuous edge features of X" in message
    predict = getattr(estimator, "predict", None) or estimator.transform
    assert messages(predict, featured) == messages(predict, weighted) == []
    assert messages(LabelHistogramClassifier().fit, weighted, Y) == []


def test_the_parameter_that_reads_weights_is_named_where_there_is_one():
    graphs = as_graph_set(WEIGHTED, "label")
    unread, named = "Leave out edges that should", "Pass edge_weight='weight' to use it"
    [message] = messages(warn_of_training, WEIGHTED, graphs, "Me", False)
    assert unread in message and named not in message
    [message] = messages(warn_of_training, WEIGHTED, graphs, "Me", False, False, True)
    assert named in message
    [message] = messages(GraphSet.from_networkx, WEIGHTED)
    assert named in message
    weighted = GraphSet.from_networkx(WEIGHTED, edge_weight="weight")
    assert messages(warn_of_training, WEIGHTED, weighted, "Me", False, False, True) == []


def test_weights_as_edge_labels_are_used():
    graph = nx.Graph([(0, 1, {"weight": 2}), (1, 2, {"weight": 1})])
    assert messages(lambda: GraphSet.from_networkx([graph], edge_label="weight")) == []


@pytest.mark.parametrize(
    "estimator",
    [LoFIClassifier(**FAST), GraphKernelSVC(), GraphKernelSVC(kernel=RandomWalkKernel())],
)
def test_labels_that_were_never_seen_are_named(estimator):
    estimator.fit(PATHS, Y)
    unseen = labeled(nx.path_graph(3), "a", "Xe", "Kr")
    expected = r"Node labels .* are in 1 of 1 graphs: 'Kr', 'Xe'\. .* doubtful"
    with pytest.warns(UserWarning, match=expected):
        estimator.predict([unseen])
    with pytest.warns(UserWarning, match="1 of 20 graphs"):  # most nodes of one graph
        estimator.predict([*PATHS[1:], unseen])


def test_a_rare_label_in_few_graphs_is_not_worth_a_word():
    classifier = LoFIClassifier(**FAST).fit(PATHS, Y)
    rare = labeled(nx.path_graph(4), *"abaX")
    assert messages(classifier.predict, [*PATHS, rare]) == []
    with pytest.warns(UserWarning, match="3 of 23 graphs: 'X'"):
        classifier.predict([*PATHS, rare, rare, rare])


@pytest.mark.parametrize(
    "estimator",
    [
        FingerprintClassifier(),
        ECCClassifier(**FAST),
        GraphKernelSVC(),
        GraphKernelSVC(kernel=RandomWalkKernel()),
    ],
)
def test_edge_labels_that_were_never_seen_are_named(estimator):
    estimator.fit(GRAPHS, Y)
    unseen = labeled(nx.path_graph(3), *"aba")
    nx.set_edge_attributes(unseen, "triple", "label")
    with pytest.warns(UserWarning, match="Edge labels .* 1 of 1 graphs: 'triple'"):
        estimator.predict([unseen])


@pytest.mark.parametrize("estimator", [LoFIClassifier(**FAST), WLVectorizer(n_iter=1)])
def test_labels_that_are_names_of_nodes_are_noticed(estimator):
    graphs = [labeled(nx.path_graph(3), *(f"n{3 * i + j}" for j in range(3))) for i in range(20)]
    with pytest.warns(UserWarning, match="The 60 nodes of X have 60 different labels"):
        estimator.fit(graphs, Y)


def test_the_same_names_in_every_graph_may_be_meant():
    """As the regions of a brain."""
    assert messages(LoFIClassifier(**FAST).fit, PATHS, Y) == []


def test_a_slice_of_a_graph_set_is_warned_of_as_a_list_is():
    """Though its kernel values are taken from the matrix of the whole set."""
    others = [labeled(nx.path_graph(3), *"xyx") for _ in range(10)]
    X = GraphSet.from_networkx(PATHS + others)
    classifier = GraphKernelSVC().fit(X[:20], Y)
    with pytest.warns(UserWarning, match="10 of 10 graphs: 'x', 'y'"):
        classifier.predict(X[20:])


def test_attributes_that_may_be_labels_are_told_of_in_fit_only():
    graphs = [nx.path_graph(3) for _ in range(20)]
    for graph in graphs:
        nx.set_node_attributes(graph, "C", "atom")
        nx.set_edge_attributes(graph, 1, "bond")
    estimator = FingerprintClassifier()
    assert [text[:7] for text in messages(estimator.fit, graphs, Y)] == ["No node", "No edge"]
    assert messages(estimator.predict, graphs) == []
