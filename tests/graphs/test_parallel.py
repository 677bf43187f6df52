import copy
import pickle

import networkx as nx
import numpy as np
import pytest
from edge_graphs import (
    NAMES,
    always_the_same,
    edge_graph_lists,
    parallel_graphs,
    plain_edges,
    stored_edges,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklofi import GraphKernelSVC, GraphSet, LoFIClassifier, WLVectorizer
from sklofi.baselines import ECCClassifier, FingerprintClassifier, GINClassifier
from sklofi.egonets import egonet_incidence
from sklofi.egonets._rings import ring_sizes
from sklofi.graphs._input import as_graph_set
from sklofi.graphs._parallel import Groups, group_parallel
from sklofi.kernels import (
    FingerprintVectorizer,
    RandomWalkKernel,
    RandomWalkVectorizer,
    ShortestPathVectorizer,
)

KINDS = [nx.MultiGraph, nx.MultiDiGraph]


@always_the_same
@given(edge_graph_lists())
def test_every_edge_of_a_multigraph_is_read_and_comes_back(graphs):
    converted = GraphSet.from_networkx(graphs, **NAMES)
    converted.check_arrays()
    expected = [plain_edges(graph) for graph in graphs]
    back = converted.to_networkx()
    assert stored_edges(converted) == expected
    assert [plain_edges(graph) for graph in back] == expected
    again = GraphSet.from_networkx(back, **NAMES)
    assert stored_edges(again) == expected
    for graph, same, edges in zip(graphs, back, expected, strict=True):
        assert same.is_directed() == graph.is_directed() and list(same) == list(graph)
        assert same.is_multigraph() == (len({key[:2] for key in edges}) < len(edges))


@always_the_same
@given(edge_graph_lists(), st.data())
def test_slices_copies_and_pickles_have_the_edges_of_the_list(graphs, data):
    rows = data.draw(st.lists(st.integers(0, len(graphs) - 1), max_size=6))
    whole = GraphSet.from_networkx(graphs, **NAMES)
    expected = [plain_edges(graphs[row]) for row in rows]
    part = whole[np.array(rows, dtype=int)]
    for same in (part, copy.copy(part), copy.deepcopy(part), pickle.loads(pickle.dumps(part))):
        assert stored_edges(same) == expected
        same.check_arrays()


@always_the_same
@given(edge_graph_lists(), st.data())
def test_without_labels_parallel_edges_are_one_with_their_weights_added(graphs, data):
    names = {"edge_label": "bond", "edge_weight": "w"}
    whole = GraphSet.from_networkx(graphs, **names)
    expected = [plain_edges(graph, with_labels=False) for graph in graphs]
    bare = whole.without_edge_labels()
    bare.check_arrays()
    assert stored_edges(bare) == expected
    assert stored_edges(as_graph_set(graphs, None, edge_weight="w")) == expected
    assert stored_edges(as_graph_set(whole, None, edge_weight="w")) == expected
    rows = np.array(data.draw(st.lists(st.integers(0, len(graphs) - 1), max_size=6)), dtype=int)
    part = whole[rows].without_edge_labels()
    assert stored_edges(part) == [expected[row] for row in rows]
    assert part.origin[0].tables is bare.tables and part.origin[1].tolist() == rows.tolist()


def test_undirected_edges_have_the_same_weight_in_both_places_to_the_bit():
    weights = [0.1, 0.2, 0.3, 1e14, 0.7, 1 / 3]
    directed = nx.MultiDiGraph()
    for i, weight in enumerate(weights):
        directed.add_edge(i % 2, 1 - i % 2, key=i, w=weight)
    view = directed.to_undirected(as_view=True)  # which lists its edges by direction
    graphs = GraphSet.from_networkx([view], edge_weight="w")
    assert graphs.edge_weights[0] == graphs.edge_weights[1] == pytest.approx(sum(weights))


@pytest.mark.parametrize("kind", KINDS)
def test_features_of_edges_that_become_one_have_to_be_equal(kind):
    graph = kind()
    graph.add_edge("u", "v", label="a", x=[1])
    graph.add_edge("u", "v", label="b", x=[2])
    graphs = GraphSet.from_networkx([nx.empty_graph(2), graph], edge_features="x")
    assert graphs.edge_vectors[:2].tolist() == [[1], [2]]
    for merge in (graphs.without_edge_labels, graphs[1:].without_edge_labels):
        with pytest.raises(ValueError, match=r"edge \('u', 'v'\), has parallel edges with diff"):
            merge()
    with pytest.raises(ValueError, match=r"Graph 0, edge \('u', 'v'\), .* edge_features=None"):
        GraphSet.from_networkx([graph], edge_label=None, edge_features="x")
    graph.edges["u", "v", 1]["x"] = [1]
    bare = GraphSet.from_networkx([graph], edge_features="x").without_edge_labels()
    assert bare.edge_vectors.tolist() == [[1]] * len(bare.neighbors)


def test_slices_lose_their_edge_labels_though_graphs_outside_cannot():
    bad = nx.MultiGraph()
    bad.add_edge("u", "v", label="a", x=[1])
    bad.add_edge("u", "v", label="b", x=[2])
    good = nx.MultiGraph()
    good.add_edge("u", "v", label="a", x=[3])
    good.add_edge("u", "v", label="b", x=[3])
    whole = GraphSet.from_networkx([bad, good], edge_features="x")
    assert whole[1:].without_edge_labels().edge_vectors.tolist() == [[3], [3]]


def test_features_of_edges_that_nobody_uses_do_not_keep_parallel_edges_apart():
    graph = nx.MultiGraph()
    graph.add_edge("u", "v", label="a", x=[1])
    graph.add_edge("u", "v", label="b", x=[2])
    whole = GraphSet.from_networkx([graph, nx.empty_graph(3)], edge_features="x")
    for graphs in (whole, whole[:1]):
        bare = as_graph_set(graphs, "label", edge_label=None)
        assert bare.edge_vectors is None
        assert bare.neighbors.tolist() == [1, 0]  # one edge, stored in both directions
        with pytest.raises(ValueError, match="has parallel edges with different"):
            as_graph_set(graphs, "label", edge_label=None, edge_features="x")
    labels = as_graph_set(whole, "label", edge_label="label")  # with labels, nothing is merged
    assert labels is whole


def test_sets_without_parallel_edges_share_their_structure_without_labels():
    simple = GraphSet.from_networkx([nx.Graph([(0, 1, {"label": "a"})])])
    assert simple.without_edge_labels().tables.structure is simple.tables.structure
    assert simple.without_edge_labels().tables is simple.without_edge_labels().tables
    assert simple.without_edge_labels().without_edge_labels().edge_label_ids is None
    parallel = GraphSet.from_networkx(parallel_graphs(3))
    assert parallel.without_edge_labels().tables.structure is not parallel.tables.structure


def test_groups_keep_the_order_of_their_first_edges():
    groups = Groups.from_codes(np.array([3, 1, 3, 2, 1]))
    assert groups.first.tolist() == [0, 1, 3]
    assert groups.group_of.tolist() == [0, 1, 0, 2, 1]
    assert groups.add(np.array([1.0, 2.0, 3.0, 4.0, 5.0])).tolist() == [4, 7, 4]
    assert groups.first_difference(np.array([[1.0], [2.0], [1.0], [0.0], [2.5]])) == 4
    nothing = Groups.from_codes(np.zeros(0, np.int64))
    assert nothing.are_single and nothing.add(np.zeros(0)).dtype == np.float64


FAST = {"n_members": 1, "counts": False, "max_epochs": 2, "random_state": 0}


@pytest.mark.filterwarnings("ignore:.*does not use edge labels:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "estimator",
    [
        LoFIClassifier(**FAST),
        LoFIClassifier(edge_label=None, **FAST),
        GINClassifier(**FAST),
        ECCClassifier(**FAST),
        ECCClassifier(edge_label=None, **FAST),
        FingerprintClassifier(),
        FingerprintClassifier(edge_label=None),
        GraphKernelSVC(kernel="wl", C=1),
        GraphKernelSVC(kernel="wl", C=1, edge_label=None),
        GraphKernelSVC(kernel=RandomWalkKernel()),
    ],
)
def test_a_list_and_its_set_give_the_same_answer_with_parallel_edges(estimator, kind):
    graphs, y = parallel_graphs(kind=kind), np.arange(20) % 2
    converted = GraphSet.from_networkx(graphs)
    assert len(converted.without_edge_labels().neighbors) < len(converted.neighbors)
    part = GraphSet.from_networkx(graphs[:3] + graphs)[3:]
    method = "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"
    expected, *found = (getattr(estimator.fit(X, y), method)(X) for X in (graphs, converted, part))
    assert len(np.unique(expected)) > 4
    for answer in found:
        assert_allclose(answer, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*does not use edge labels:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "vectorizer",
    [
        WLVectorizer(edge_label=None),
        ShortestPathVectorizer(),
        RandomWalkVectorizer(edge_label=None),
    ],
)
def test_whoever_reads_no_edge_labels_sees_the_simple_graph(vectorizer, kind):
    graphs = parallel_graphs(kind=kind)
    simple = [nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph) for graph in graphs]
    expected = vectorizer.fit_transform(simple).toarray()
    for X in (graphs, GraphSet.from_networkx(graphs)):
        assert_array_equal(vectorizer.fit_transform(X).toarray(), expected)


def test_parallel_edges_are_bonds_of_their_own():
    graph = nx.MultiGraph()
    graph.add_nodes_from([0, 1], label="C")
    graph.add_edges_from([(0, 1, {"label": label}) for label in "abab"])
    vectorizer = FingerprintVectorizer(radius=1)
    counts = vectorizer.fit_transform([graph]).toarray()[0].astype(int)
    names = vectorizer.get_feature_names_out().tolist()
    assert dict(zip(names, counts.tolist(), strict=True)) == {
        "0:C": 2,
        "1:C([a]C,[b]C)": 2,
        "bond:C-[a]-C": 1,
        "bond:C-[b]-C": 1,
    }


def test_walks_along_parallel_edges_are_a_finite_series():
    """Of each step there are four, as many as labels; counted once, they would seem to shrink."""
    graph = nx.MultiGraph([(0, 1, {"label": label}) for label in "abcd"])
    kernel = RandomWalkKernel(normalize=False).fit([graph])
    step = np.kron(np.eye(2)[::-1], np.eye(2)[::-1]) * 4  # of pairs of nodes
    expected = np.linalg.inv(np.eye(4) - kernel.decay_ * step).sum()
    assert_allclose(kernel.transform([graph]), [[expected]], rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_egonets_and_rings_do_not_mind_parallel_edges(kind):
    graphs = GraphSet.from_networkx(parallel_graphs(kind=kind))
    bare = graphs.without_edge_labels()
    for radius in range(4):
        found, expected = (egonet_incidence(X, radius) for X in (graphs, bare))
        assert found.nnz == expected.nnz and (found != expected).nnz == 0
        assert set(found.data.tolist()) == {1.0}
    rings = [ring_sizes(X, 6) for X in (graphs, bare)]
    assert_array_equal(rings[0], rings[1][group_parallel(graphs).group_of])
