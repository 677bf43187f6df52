"""Weisfeiler-Lehman colors against nested tuples."""

import os
import subprocess
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers import gram_of_counters, odd_graphs
from sklofi import WLVectorizer
from sklofi.egonets import _colors as egonets
from sklofi.kernels import VertexHistogramVectorizer
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
