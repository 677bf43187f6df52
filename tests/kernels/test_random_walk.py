from itertools import product

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from helpers import odd_graphs, unseen_labels
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
    return np.array(
        [[first.has_edge(u, a) and second.has_edge(v, b) for a, b in pairs] for u, v in pairs],
        dtype=float,
    ).reshape(len(pairs), len(pairs))


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


def test_the_series_is_the_limit_of_fixed_lengths():
    graphs = odd_graphs(8, labels="a")
    whole = RandomWalkKernel(decay=0.02).fit_transform(graphs)
    gaps = [
        np.abs(linear_kernel(RandomWalkVectorizer(n, decay=0.02).fit_transform(graphs)) - whole)
        for n in (1, 4, 16)
    ]
    assert gaps[0].max() > 1e-1 > gaps[1].max() > 1e-4 > gaps[2].max()


@unseen_labels
def test_new_graphs_give_the_block_of_the_whole_matrix():
    train, test = odd_graphs(8, labels="ab"), odd_graphs(6, seed=1, labels="abc")
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
