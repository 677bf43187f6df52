import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from edge_graphs import always_the_same
from hostile import outputs
from hypothesis import given
from hypothesis import strategies as st
from other_forms import assert_same_graphs, graphs_with_all
from sklearn.base import clone

from sklofi import FingerprintClassifier, GraphKernelSVC, GraphSet, LoFIClassifier

SIMPLE = (nx.Graph, nx.DiGraph)
MAKERS = [sp.csr_array, sp.csc_array, sp.coo_array, sp.lil_array, sp.csr_matrix, sp.dok_array]


def path(n_nodes=3, dtype=float):
    return nx.to_scipy_sparse_array(nx.path_graph(n_nodes), dtype=dtype)


def by_networkx(matrices, **names):
    """The networkx road. A matrix that is symmetric is that of an undirected graph."""
    graphs = []
    for matrix in matrices:
        is_symmetric = (matrix != matrix.T).nnz == 0
        kind = nx.Graph if is_symmetric else nx.DiGraph
        graphs.append(nx.from_scipy_sparse_array(matrix, create_using=kind))
    return GraphSet.from_networkx(graphs, edge_label=None, **names), graphs


@always_the_same
@given(graphs_with_all(kinds=SIMPLE), st.sampled_from(MAKERS))
def test_fields_equal_those_by_way_of_networkx(graphs, make):
    matrices = [nx.to_scipy_sparse_array(graph, weight="w") for graph in graphs]
    weighted = {"edge_weight": "weight", "edge_features": "weight"}
    expected, _ = by_networkx(matrices, **weighted)
    found = GraphSet.from_scipy([*map(make, matrices)], edge_label=None, **weighted)
    assert_same_graphs(found, expected)


@always_the_same
@given(graphs_with_all(kinds=SIMPLE))
def test_labels_and_features_equal_those_by_way_of_networkx(graphs):
    matrices = [nx.to_scipy_sparse_array(graph, weight=None) for graph in graphs]
    _, others = by_networkx(matrices)
    labels, features = [], []
    for graph, other in zip(graphs, others, strict=True):
        labels.append([data["element"] for _, data in graph.nodes(data=True)])
        features.append(np.array([data["position"] for _, data in graph.nodes(data=True)]))
        nx.set_node_attributes(other, dict(enumerate(labels[-1])), "label")
        nx.set_node_attributes(other, dict(enumerate(features[-1])), "features")
    names = {"node_features": "features", "edge_label": "weight"}
    expected = GraphSet.from_networkx(others, **names)
    assert_same_graphs(
        GraphSet.from_scipy(matrices, labels, features, edge_label="weight"), expected
    )
    arrays = [np.array(part) for part in labels]
    assert GraphSet.from_scipy(matrices, arrays, features).labels == expected.labels


def test_zeros_that_are_stored_are_no_edges():
    stored = sp.coo_array(([1.0, 0.0, 1.0, 0.0], ([0, 1, 1, 2], [1, 2, 0, 1])), shape=(3, 3))
    bare = stored.copy()
    bare.eliminate_zeros()
    assert_same_graphs(GraphSet.from_scipy([stored]), GraphSet.from_scipy([bare]))
    assert stored.nnz == 4  # the matrix of the user has not changed


def test_entries_in_one_place_are_added():
    twice = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    found = GraphSet.from_scipy([twice], edge_weight="weight")
    assert found.edge_weights.tolist() == [3.0]
    assert twice.nnz == 2


def test_direction_is_found_or_chosen():
    one_way = sp.csr_array(([1.0], ([0], [1])), shape=(2, 2))
    assert GraphSet.from_scipy([path(), one_way]).directed.tolist() == [False, True]
    assert GraphSet.from_scipy([path(), one_way], directed=True).directed.all()
    with pytest.raises(ValueError, match=r"Graph 1, edge \(0, 1\), has no equal edge in the other"):
        GraphSet.from_scipy([path(), one_way], directed=False)


NAN = sp.csr_array(([np.nan], ([0], [1])), shape=(2, 2))


@pytest.mark.parametrize(
    "X, options, error, match",
    [
        (
            path(),
            {},
            TypeError,
            r"single scipy csr_array; pass a list of graphs, for one .*\[graph\]",
        ),
        ([path(), sp.csr_array((2, 3))], {}, ValueError, r"Graph 1 is a matrix of shape \(2, 3\)"),
        ([path(dtype=complex)], {}, ValueError, "Graph 0 is a matrix of complex128 numbers"),
        ([path(), sp.csr_array((0, 0))], {}, ValueError, "Graph 1 has no nodes"),
        ([path(), NAN], {}, ValueError, r"Graph 1, edge \(0, 1\), has the entry NaN"),
        ([path(), nx.path_graph(2)], {}, TypeError, "Graph 1 .* networkx.*, not a scipy sparse"),
        (
            [path()],
            {"edge_weight": "w"},
            ValueError,
            "one attribute, its entries: pass edge_weight='w",
        ),
        (
            [-path()],
            {"edge_weight": "weight"},
            ValueError,
            r"edge \(0, 1\), has the negative weight",
        ),
        ([path()], {"labels": ["ab"]}, ValueError, r"Graph 0 has 3 nodes, but labels\[0\] is 'ab'"),
        ([path()], {"labels": []}, ValueError, "labels has to be a list of 1 arrays"),
        ([path()], {"labels": 3}, ValueError, "labels has to be a list of 1 arrays.* got 3"),
        ([path()], {"labels": [[1, 2, np.nan]]}, ValueError, "Graph 0, node 2, has the label NaN"),
        ([path()], {"features": [np.ones((2, 2))]}, ValueError, "Graph 0 has features with 2 rows"),
        (
            [path(), path()],
            {"features": [np.ones((3, 2)), np.ones((3, 1))]},
            ValueError,
            r"Graph 1 has features of shape \(3, 1\), but .* \(3, 2\): all graphs need the same",
        ),
        (
            [path()],
            {"features": [[[1, np.nan]] * 3]},
            ValueError,
            "node 0, has NaN in its features",
        ),
        ([path()], {"features": [["a", "b", "c"]]}, ValueError, "node 0, has .*not a number"),
    ],
    ids=range(16),
)
def test_what_cannot_be_read_is_refused_by_graph(X, options, error, match):
    with pytest.raises(error, match=match):
        GraphSet.from_scipy(X, **options)


def test_an_estimator_refuses_a_single_matrix():
    with pytest.raises(TypeError, match="X is a single scipy csr_array; pass a list of graphs"):
        GraphKernelSVC().fit(path(), [0])


def test_an_estimator_that_reads_labels_of_nodes_says_how_to_pass_them():
    with pytest.raises(ValueError, match=r"GraphSet.from_scipy\(matrices, labels=...\)"):
        GraphKernelSVC(node_label="element").fit([path()] * 2, [0, 1])
    with pytest.raises(ValueError, match=r"GraphSet.from_scipy\(matrices, features=...\)"):
        LoFIClassifier(node_features="x").fit([path()] * 2, [0, 1])


@pytest.mark.parametrize(
    "estimator",
    [
        GraphKernelSVC(),
        FingerprintClassifier(),
        LoFIClassifier(max_epochs=2, random_state=0),
        LoFIClassifier(edge_weight="weight", max_epochs=2, random_state=0),
    ],
    ids=repr,
)
def test_a_list_and_the_set_made_of_it_give_the_same_answer(estimator):
    graphs = [nx.gnp_random_graph(6 + i % 3, 0.5, seed=i) for i in range(20)]
    matrices = [nx.to_scipy_sparse_array(graph) for graph in graphs]
    y = np.arange(20) % 2
    weight = getattr(estimator, "edge_weight", None)
    X = GraphSet.from_scipy(matrices, edge_weight=weight)
    of_set = outputs(clone(estimator).fit(X, y), X)
    fitted = estimator.fit(matrices, y)
    expected = outputs(fitted, matrices)
    for container in (list, tuple):
        for name, values in outputs(fitted, container(matrices)).items():
            np.testing.assert_array_equal(values, expected[name])
    for name, values in outputs(fitted, X).items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-12)
        np.testing.assert_allclose(of_set[name], expected[name], rtol=1e-12)


def test_entries_that_differ_and_are_not_used_are_named():
    matrix = path()
    matrix.data[:2] = 2
    with pytest.warns(UserWarning, match="The edges of X differ in the attribute 'weight'") as seen:
        GraphSet.from_scipy([matrix])
    assert seen[0].filename == __file__
