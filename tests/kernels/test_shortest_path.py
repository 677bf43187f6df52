from collections import Counter

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers import gram_of_counters, odd_graphs
from sklofi import GraphSet
from sklofi.kernels import ShortestPathVectorizer
from sklofi.kernels import _shortest_path as paths


def plain_paths(graph):
    label = dict(graph.nodes(data="label"))
    return Counter(
        (label[u], label[v], distance)
        for u, lengths in nx.all_pairs_shortest_path_length(graph)
        for v, distance in lengths.items()
        if u != v
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("pairs_together", [1, 50, 2**20])
def test_shortest_paths_equal_networkx(directed, pairs_together, monkeypatch):
    monkeypatch.setattr(paths, "PAIRS_TOGETHER", pairs_together)
    graphs = odd_graphs(directed=directed)
    counters = [plain_paths(graph) for graph in graphs]
    vectors = ShortestPathVectorizer().fit_transform(graphs)
    assert_array_equal((vectors @ vectors.T).toarray(), gram_of_counters(counters, counters))


def test_triplets_name_labels_and_distance():
    graph = nx.DiGraph([(0, 1), (1, 2)])
    nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "c"}, "label")
    vectorizer = ShortestPathVectorizer().fit([graph])
    assert vectorizer.get_feature_names_out().tolist() == ["a->b:1", "b->c:1", "a->c:2"]
    assert vectorizer.triplets_.tolist() == [[0, 1, 1], [1, 2, 1], [0, 2, 2]]


def test_graphs_without_edges_have_no_paths():
    vectors = ShortestPathVectorizer(normalize=True).fit_transform([nx.empty_graph(3)])
    assert vectors.shape == (1, 0)
    vectorizer = ShortestPathVectorizer(normalize=True).fit([nx.path_graph(2)])
    assert_array_equal(vectorizer.transform([nx.empty_graph(3)]).toarray(), [[0]])


def test_long_paths():
    vectors = ShortestPathVectorizer().fit_transform([nx.path_graph(2000)])
    assert_array_equal(vectors.toarray()[0], 2 * np.arange(1999, 0, -1))


def test_too_many_labels_are_refused(monkeypatch):
    graph = nx.path_graph(3)
    monkeypatch.setattr(paths, "label_columns", lambda graphs, known: (np.zeros(3, int), 2**31))
    with pytest.raises(ValueError, match="2,147,483,648 distinct node labels, too many"):
        ShortestPathVectorizer().fit([graph])


def test_too_many_pairs_are_refused_before_they_are_searched():
    graphs = GraphSet.from_networkx([nx.path_graph(3), nx.star_graph(100_000)])
    with pytest.raises(
        ValueError, match=r"10,000,200,010 pairs of nodes .* in graph 1, with 100,0"
    ):
        ShortestPathVectorizer().fit(graphs)


def test_counts_that_are_added_up_on_the_way_are_the_same(monkeypatch):
    graphs = odd_graphs()
    expected = ShortestPathVectorizer().fit_transform(graphs).toarray()
    monkeypatch.setattr(paths, "PARTS_TOGETHER", 2)
    assert_array_equal(ShortestPathVectorizer().fit_transform(graphs).toarray(), expected)
