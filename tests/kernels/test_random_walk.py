from itertools import product

import networkx as nx
import numpy as np
import pytest
from edge_labeled import edge_labeled_lists, steps_from
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from helpers import bonded_graphs, odd_graphs, unseen_labels
from sklofi import GraphSet
from sklofi.kernels import RandomWalkKernel, RandomWalkVectorizer, linear_kernel
from sklofi.kernels import _random_walk as walks
from sklofi.kernels._random_walk import spectral_radii


def product_adjacency(first, second):
    """Adjacency of the direct product graph: pairs of nodes with the same label."""
    pairs = [
        (u, v)
        for u, v in product(first, second)
        if first.nodes[u]["label"] == second.nodes[v]["label"]
    ]
    # How many labels there are by which edges lead from a pair to a pair.
    return np.array(
        [[len(bonds(first, u, a) & bonds(second, v, b)) for a, b in pairs] for u, v in pairs],
        dtype=float,
    ).reshape(len(pairs), len(pairs))


def bonds(graph, u, v):
    return {bond for end, bond in steps_from(graph, u) if end == v}


def plain_walks(first, second, n_steps, decay):
    steps = product_adjacency(first, second)
    walks = np.ones(len(steps))
    total = walks.sum()
    for _ in range(n_steps):
        walks = decay * steps @ walks
        total += walks.sum()
    return total


@pytest.mark.parametrize("directed", [False, True])
def test_walks_equal_walks_in_the_product_graph(directed):
    graphs = odd_graphs(12, directed=directed)
    vectors = RandomWalkVectorizer(3, decay=0.3).fit_transform(graphs)
    expected = [[plain_walks(a, b, 3, 0.3) for b in graphs] for a in graphs]
    assert_allclose(linear_kernel(vectors), expected, rtol=1e-12)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("pairs_together", [1, 400, 2**22])
def test_geometric_series_equals_the_inverse(directed, pairs_together, monkeypatch):
    monkeypatch.setattr(walks, "PAIRS_TOGETHER", pairs_together)
    graphs = odd_graphs(12, directed=directed)
    kernel = RandomWalkKernel().fit(graphs)
    expected = [[plain_series(a, b, kernel.decay_) for b in graphs] for a in graphs]
    assert_allclose(kernel.transform(graphs), expected, rtol=1e-9)


def plain_series(first, second, decay):
    steps = product_adjacency(first, second)
    return np.linalg.inv(np.eye(len(steps)) - decay * steps).sum() if len(steps) else 0.0


def assert_walks_are_those_of_the_product_graph(graphs):
    vectorizer = RandomWalkVectorizer(3, decay=0.3)
    vectors = vectorizer.fit_transform(graphs)
    expected = [[plain_walks(a, b, 3, 0.3) for b in graphs] for a in graphs]
    assert_allclose(linear_kernel(vectors), expected, rtol=1e-12)
    names = vectorizer.get_feature_names_out()
    assert len(set(names)) == len(names) == vectors.shape[1]
    kernel = RandomWalkKernel().fit(graphs)
    expected = [[plain_series(a, b, kernel.decay_) for b in graphs] for a in graphs]
    assert_allclose(kernel.transform(graphs), expected, rtol=1e-9)


@settings(max_examples=50, deadline=None)
@given(edge_labeled_lists())
def test_walks_with_edge_labels_equal_walks_in_the_product_graph(graphs):
    assert_walks_are_those_of_the_product_graph(graphs)


@settings(max_examples=50, deadline=None)
@given(edge_labeled_lists(is_multi=True))
def test_parallel_edges_of_different_labels_are_two_ways(graphs):
    assert_walks_are_those_of_the_product_graph(graphs)


@pytest.mark.parametrize("kernel", [RandomWalkVectorizer(2), RandomWalkKernel()])
def test_edge_labels_can_be_ignored(kernel):
    labeled = bonded_graphs()
    bare = [graph.copy() for graph in labeled]
    for graph in bare:
        for *_, data in graph.edges(data=True):
            data.clear()
    plain = clone(kernel).set_params(edge_label=None)
    expected = _dense(kernel.fit_transform(bare))
    for X in (labeled, GraphSet.from_networkx(labeled)):
        assert_array_equal(_dense(plain.fit_transform(X)), expected)
        assert_array_equal(_dense(plain.transform(bare)), expected)
    assert not np.array_equal(_dense(kernel.fit_transform(labeled)), expected)


def _dense(values):
    return values.toarray() if hasattr(values, "toarray") else values


def test_the_series_is_the_limit_of_fixed_lengths():
    graphs = odd_graphs(8, labels="a")
    whole = RandomWalkKernel(decay=0.02).fit_transform(graphs)
    gaps = [
        np.abs(linear_kernel(RandomWalkVectorizer(n, decay=0.02).fit_transform(graphs)) - whole)
        for n in (1, 4, 16)
    ]
    assert gaps[0].max() > 1e-1 > gaps[1].max() > 1e-4 > gaps[2].max()


@unseen_labels
@pytest.mark.parametrize("make_graphs, more", [(odd_graphs, {}), (bonded_graphs, {"bonds": "xy"})])
def test_new_graphs_give_the_block_of_the_whole_matrix(make_graphs, more):
    train = make_graphs(8, labels="ab", **more)
    test = make_graphs(6, seed=1, labels="abc", **(more and {"bonds": "xyz"}))
    for normalize in (False, True):
        kernel = RandomWalkKernel(decay=0.02, normalize=normalize)
        everything = kernel.fit_transform(train + test)
        block = kernel.fit(train).transform(test)
        assert_allclose(block, everything[8:, :8], rtol=1e-9, atol=1e-12)
    assert_allclose(np.diagonal(everything), 1)


def test_names_are_the_labels_on_the_way():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "a", 1: "b"}, "label")
    vectorizer = RandomWalkVectorizer(2, decay=1).fit([graph])
    assert vectorizer.get_feature_names_out().tolist() == ["a", "b", "a-b", "b-a", "a-b-a", "b-a-b"]
    graph.edges[0, 1]["label"] = 2
    vectorizer.set_params(n_steps=1).fit([graph])
    assert vectorizer.get_feature_names_out().tolist() == ["a", "b", "a-[2]-b", "b-[2]-a"]


def test_spectral_radii_are_bounds_and_close():
    graphs = [nx.star_graph(9), nx.complete_graph(5), nx.empty_graph(2), nx.cycle_graph(7)]
    assert_allclose(spectral_radii(GraphSet.from_networkx(graphs)), [3, 4, 0, 2], atol=1e-6)
    for graph in odd_graphs():
        radius = max(abs(np.linalg.eigvals(nx.to_numpy_array(graph))))
        bound = spectral_radii(GraphSet.from_networkx([graph]))[0]
        assert radius - 1e-9 <= bound <= 1.1 * radius + 0.1


def test_a_series_that_diverges_is_refused():
    graphs = [nx.path_graph(3), nx.complete_graph(5)]
    with pytest.raises(
        ValueError, match=r"graph 1 .*spectral radius up to 4\).* decay below 0.0618"
    ):
        RandomWalkKernel(decay=0.07).fit(graphs)
    kernel = RandomWalkKernel(decay=0.06).fit(graphs)
    with pytest.raises(ValueError, match=r"Walks of graph 0 .* decay=0.06. Use a decay below"):
        kernel.transform([nx.complete_graph(9)])


def test_precision_does_not_depend_on_the_other_graphs():
    triangle = nx.complete_graph(3)
    for decay in (0.2, 0.2475):
        alone = RandomWalkKernel(decay=decay).fit_transform([triangle])[0, 0]
        crowd = RandomWalkKernel(decay=decay).fit_transform([triangle, nx.empty_graph(300)])
        assert_allclose([alone, crowd[0, 0]], 9 / (1 - 4 * decay), rtol=1e-10)


def test_labels_are_needed_at_both_times_or_at_none():
    kernel = RandomWalkKernel().fit(odd_graphs(5))
    with pytest.raises(ValueError, match="X has graphs without node labels, but RandomWalkKernel"):
        kernel.transform([nx.path_graph(2)])
    for kernel in (RandomWalkKernel(), RandomWalkVectorizer()):
        with pytest.raises(ValueError, match="X has graphs without edge labels, but RandomWalk"):
            kernel.fit(bonded_graphs()).transform(odd_graphs())


def test_too_many_walks_are_refused():
    with pytest.raises(ValueError, match=r"more than 1e\+150 walks of \d+ steps"):
        RandomWalkVectorizer(300).fit([nx.complete_graph(100)])


def test_a_fit_that_fails_leaves_nothing_half_fitted():
    kernel = RandomWalkKernel(decay=0.06).fit([nx.path_graph(3)])
    with pytest.raises(ValueError, match="grow too fast"):
        kernel.fit([nx.complete_graph(9)])
    with pytest.raises(ValueError, match="not fitted"):
        kernel.transform([nx.path_graph(3)])


def test_graphs_without_edges_have_walks_without_steps():
    bare = RandomWalkKernel().fit([nx.empty_graph(2)])
    assert_array_equal(bare.transform([nx.path_graph(2)]), [[4]])
    kernel = RandomWalkKernel().fit_transform([nx.empty_graph(2), nx.empty_graph(3)])
    assert_array_equal(kernel, [[4, 6], [6, 9]])
    vectors = RandomWalkVectorizer(2).fit_transform([nx.empty_graph(2)])
    assert_array_equal(vectors.toarray(), [[2]])


@pytest.mark.filterwarnings("ignore:The 100,001 nodes of X have:UserWarning")
def test_walks_of_too_many_kinds_are_refused_before_they_are_counted():
    """From each leaf of a star a walk of two steps leads to every other."""
    star = nx.star_graph(100_000)
    nx.set_node_attributes(star, {node: node for node in star}, "label")
    graphs = GraphSet.from_networkx([star])
    with pytest.raises(MemoryError, match=r"Walks of 2 steps could be of 10,000,\d+,\d+ kinds"):
        RandomWalkVectorizer(2).fit(graphs)


def test_pairs_of_nodes_that_do_not_fit_are_refused():
    graphs = GraphSet.from_networkx([nx.path_graph(100_000)])
    with pytest.raises(MemoryError, match=r"100,000 and 100,000 nodes .* RandomWalkVectorizer"):
        RandomWalkKernel().fit(graphs)


def test_a_fit_that_fails_leaves_no_fitted_kernel():
    kernel = RandomWalkKernel().fit([nx.path_graph(3)])
    with pytest.raises(ValueError, match="no graphs"):
        kernel.fit([])
    with pytest.raises(NotFittedError):
        kernel.transform([nx.path_graph(3)])
