"""Weisfeiler-Lehman colors against nested tuples."""

import os
import re
import subprocess
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from edge_labeled import edge_labeled_lists, steps_from
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from helpers import bonded_graphs, gram_of_counters, odd_graphs, unseen_labels
from sklofi import GraphSet, WLVectorizer
from sklofi.egonets import _colors as egonets
from sklofi.kernels import VertexHistogramVectorizer, linear_kernel
from sklofi.kernels._wl import LONGEST_NAME


def plain_wl(graph, n_iter):
    """Colors as nested tuples, straight from the definition."""
    color = dict(graph.nodes(data="label"))
    counts = Counter((0, c) for c in color.values())
    for i in range(1, n_iter + 1):
        color = {v: (color[v], tuple(sorted(repr(color[u]) for u in graph[v]))) for v in graph}
        counts += Counter((i, c) for c in color.values())
    return counts


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("unary", [False, True])
def test_wl_equals_the_definition(directed, unary):
    graphs = odd_graphs(directed=directed)
    counters = [plain_wl(graph, 3) for graph in graphs]
    vectors = WLVectorizer(3, unary=unary).fit_transform(graphs)
    expected = gram_of_counters(counters, counters, smaller=unary)
    assert_array_equal((vectors @ vectors.T).toarray(), expected)


def plain_wl_with_bonds(graph, n_iter):
    """The same over pairs of the label of an edge and the color at its end."""
    color = dict(graph.nodes(data="label"))
    counts = Counter((0, c) for c in color.values())
    for i in range(1, n_iter + 1):
        color = {
            v: (color[v], tuple(sorted(repr((bond, color[u])) for u, bond in steps_from(graph, v))))
            for v in graph
        }
        counts += Counter((i, c) for c in color.values())
    return counts


def assert_counts_bonds(graphs, n_iter=2):
    """Also in each half, with what the other half has and it has not."""
    counters = [plain_wl_with_bonds(graph, n_iter) for graph in graphs]
    for unary in (False, True):
        expected = np.array(gram_of_counters(counters, counters, smaller=unary))
        vectorizer = WLVectorizer(n_iter, unary=unary)
        vectors = vectorizer.fit_transform(graphs)
        assert_array_equal(linear_kernel(vectors), expected)
        names = vectorizer.get_feature_names_out()
        assert len(set(names)) == len(names) == vectors.shape[1]
        half = graphs[: (len(graphs) + 1) // 2]
        if len({any(graph.edges for graph in part) for part in (half, graphs)}) == 1:
            features = vectorizer.fit_transform(half)
            block = linear_kernel(vectorizer.transform(graphs), features)
            assert_array_equal(block, expected[:, : len(half)])


@unseen_labels
@settings(max_examples=150, deadline=None)
@given(edge_labeled_lists())
def test_wl_with_edge_labels_equals_the_definition(graphs):
    assert_counts_bonds(graphs)


@unseen_labels
@settings(max_examples=150, deadline=None)
@given(edge_labeled_lists(is_multi=True))
def test_parallel_edges_of_different_labels_are_two_neighbors(graphs):
    assert_counts_bonds(graphs)
    # Without labels they are one, whoever has read the graphs.
    plain = WLVectorizer(2, edge_label=None)
    simple = [(nx.DiGraph if graph.is_directed() else nx.Graph)(graph) for graph in graphs]
    expected = plain.fit_transform(simple).toarray()
    assert_array_equal(plain.fit_transform(graphs).toarray(), expected)
    assert_array_equal(plain.fit_transform(GraphSet.from_networkx(graphs)).toarray(), expected)


def subdivided(graph):
    """A directed graph with a node in the middle of each step, labeled as the edge."""
    between = nx.DiGraph()
    between.add_nodes_from(graph.nodes(data=True))
    for v in graph:
        for number, (u, bond) in enumerate(steps_from(graph, v)):
            middle = (v, number)
            between.add_node(middle, label=("edge", bond))
            between.add_edges_from([(v, middle), (middle, u)])
    return between


@settings(max_examples=100, deadline=None)
@given(edge_labeled_lists())
def test_edge_labels_are_nodes_in_the_middle_of_edges(graphs):
    """Two iterations without edge labels go as far as one with them."""
    n_iter = 2
    with_bonds = WLVectorizer(n_iter)
    counts = with_bonds.fit_transform(graphs).toarray()
    plain = WLVectorizer(2 * n_iter)
    twice = plain.fit_transform([subdivided(graph) for graph in graphs]).toarray()
    # Columns of the nodes that were there before, by iteration.
    names = plain.get_feature_names_out().tolist()
    levels = np.repeat(np.arange(n_iter + 1), with_bonds.n_colors_)
    for iteration in range(n_iter + 1):
        of_nodes = [bool(re.match(rf"{2 * iteration}:[abc]", name)) for name in names]
        expected = sorted(twice[:, of_nodes].T.tolist())
        assert sorted(counts[:, levels == iteration].T.tolist()) == expected


def test_edge_labels_can_be_read_and_ignored():
    double, single = nx.path_graph(2), nx.path_graph(2)
    nx.set_edge_attributes(double, "=", "label")
    nx.set_edge_attributes(single, "-", "label")
    graphs = [double, single]
    vectorizer = WLVectorizer(1)
    assert_array_equal(vectorizer.fit_transform(graphs).toarray(), [[2, 2, 0], [2, 0, 2]])
    assert vectorizer.get_feature_names_out().tolist() == ["0:o", "1:o(['=']o)", "1:o(['-']o)"]
    assert vectorizer.edge_labels_ == ["-", "="] and vectorizer.has_edge_labels_
    for X in (graphs, GraphSet.from_networkx(graphs)):
        plain = WLVectorizer(1, edge_label=None)
        assert_array_equal(plain.fit_transform(X).toarray(), [[2, 2], [2, 2]])
        assert plain.get_feature_names_out().tolist() == ["0:o", "1:o(o)"]
        assert plain.has_edge_labels_ is False


@unseen_labels
@pytest.mark.parametrize("unary", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
def test_unseen_edge_labels_match_nothing_and_count_in_the_norm(normalize, unary):
    vectorizer = WLVectorizer(2, normalize=normalize, unary=unary)
    train = bonded_graphs(20, labels="ab", bonds=("x", "y"))
    test = bonded_graphs(15, seed=1, labels="abcd", bonds=("y", "z", "x", "w"))
    everything = linear_kernel(vectorizer.fit_transform(train + test))
    features = vectorizer.fit_transform(train)
    block = linear_kernel(vectorizer.transform(test), features)
    assert_allclose(block, everything[20:, :20], rtol=1e-12, atol=1e-15)


def test_unseen_edge_labels_are_told_of():
    train, test = bonded_graphs(10, bonds="xy"), bonded_graphs(10, bonds="z")
    with pytest.warns(UserWarning, match=r"Edge labels that no training graph has .* 'z'\."):
        WLVectorizer(1).fit(train).transform(test)
    WLVectorizer(1, edge_label=None).fit(train).transform(test)


def test_edges_need_labels_at_both_times_or_at_none():
    labeled, bare = bonded_graphs(), odd_graphs()
    with pytest.raises(ValueError, match="X has graphs without edge labels, but WLVectorizer was"):
        WLVectorizer(1).fit(labeled).transform(bare)
    with pytest.raises(ValueError, match="X has graphs with edge labels"):
        WLVectorizer(1).fit(bare).transform(labeled)
    for fitted, other in [(labeled, bare), (bare, labeled)]:
        WLVectorizer(1, edge_label=None).fit(fitted).transform(other)


def test_names_with_edge_labels_are_distinct_whatever_the_labels_are():
    odd = [True, "True", float("inf"), frozenset("ab"), object(), object(), 1j, b"a", -1, "a-b"]
    for bonds in ((1, "1", None), odd, [("a", 1), "it's", "a]-b"]):
        vectorizer = WLVectorizer(3)
        vectors = vectorizer.fit_transform(bonded_graphs(labels=odd, bonds=bonds))
        names = vectorizer.get_feature_names_out()
        assert len(set(names)) == len(names) == vectors.shape[1]


def test_colors_are_counted_where_they_belong():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a"}, "label")
    vectorizer = WLVectorizer(2)
    counts = vectorizer.fit_transform([graph]).toarray()[0]
    names = vectorizer.get_feature_names_out().tolist()
    assert dict(zip(names, counts.tolist(), strict=True)) == {
        "0:a": 2,
        "0:b": 1,
        "1:a(b)": 2,
        "1:b(2*a)": 1,
        "2:a(b(2*a))": 2,
        "2:b(2*a(b))": 1,
    }
    assert vectorizer.n_colors_.tolist() == [2, 2, 2]
    assert vectorizer.labels_ == ["a", "b"]


def test_names_of_numbers_cannot_be_misread():
    """Three of 2, not one of 32."""
    star = nx.star_graph(3)
    nx.set_node_attributes(star, {0: 1, 1: 2, 2: 2, 3: 2}, "label")
    other = nx.path_graph(2)
    nx.set_node_attributes(other, {0: 1, 1: 32}, "label")
    names = WLVectorizer(1).fit([star, other]).get_feature_names_out().tolist()
    assert "1:1(3*2)" in names and "1:1(32)" in names


def test_long_names_are_cut_and_stay_distinct():
    graphs = [nx.gnp_random_graph(40, 0.3, seed=seed) for seed in range(3)]
    vectorizer = WLVectorizer(4).fit(graphs)
    names = vectorizer.get_feature_names_out().tolist()
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= LONGEST_NAME + len("4:")
    assert "neighbors)#" in names[-1]
    assert names[0] == "0:o"


def test_vertex_histogram_is_wl_without_iterations():
    graphs = odd_graphs()
    assert_array_equal(
        VertexHistogramVectorizer().fit_transform(graphs).toarray(),
        WLVectorizer(0).fit_transform(graphs).toarray(),
    )


def test_colliding_hashes_do_not_merge_colors(monkeypatch):
    """Neighborhoods are verified: bad hashes cost time, not correctness."""
    graphs = odd_graphs()
    expected = WLVectorizer(2).fit(graphs)
    good = egonets._hash_factors

    def bad_at_first(n_columns, attempt):
        return np.zeros(n_columns, np.uint64) if attempt == 0 else good(n_columns, attempt)

    monkeypatch.setattr(egonets, "_hash_factors", bad_at_first)
    collided = WLVectorizer(2)
    assert_array_equal(
        collided.fit_transform(graphs).toarray(), expected.transform(graphs).toarray()
    )
    assert_array_equal(collided.get_feature_names_out(), expected.get_feature_names_out())


def test_columns_are_the_same_in_every_process():
    code = (
        "import networkx as nx; from sklofi import WLVectorizer\n"
        "graphs = [nx.gnp_random_graph(8, 0.3, seed=s) for s in range(9)]\n"
        "kinds = ['x', frozenset(['C', 'N', 'O']), ('y', frozenset('ab'))]\n"
        "for g in graphs: nx.set_node_attributes(g, {v: kinds[v % 3] for v in g}, 'label')\n"
        "v = WLVectorizer(3); print(v.fit_transform(graphs).toarray().tolist())\n"
        "print(v.get_feature_names_out().tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def test_rings_of_any_size_may_be_asked_for():
    graphs = [nx.cycle_graph(n) for n in (3, 4, 5)] + [nx.path_graph(4)]
    plain = WLVectorizer(2, max_ring=5).fit(graphs)
    huge = WLVectorizer(2, max_ring=10**9).fit(graphs)
    assert huge.get_feature_names_out().tolist() == plain.get_feature_names_out().tolist()
    others = [*graphs, nx.cycle_graph(9)]  # larger than all that were fitted
    assert_array_equal(huge.transform(others).toarray(), plain.transform(others).toarray())
