"""Ours equals the peer's where the peer is right."""

import os

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import bonded_graphs, odd_graphs
from sklofi import GraphKernelSVC, GraphSet, WLVectorizer
from sklofi.kernels import (
    FingerprintVectorizer,
    RandomWalkKernel,
    RandomWalkVectorizer,
    ShortestPathVectorizer,
    VertexHistogramVectorizer,
    linear_kernel,
)
from sklofi.kernels._gram import GraKeLKernel

grakel = pytest.importorskip("grakel", reason="GraKeL is for Python before 3.13")

PAIRS = {
    "wl": (WLVectorizer(3), grakel.WeisfeilerLehman(n_iter=3)),
    "wl-oa": (
        WLVectorizer(3, unary=True),
        grakel.WeisfeilerLehmanOptimalAssignment(n_iter=3),
    ),
    "vertex-histogram": (VertexHistogramVectorizer(), grakel.VertexHistogram()),
    "shortest-path": (ShortestPathVectorizer(), grakel.ShortestPath()),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("directed", [False, True])
def test_kernels_equal_grakel_on_odd_graphs(name, directed):
    ours, theirs = PAIRS[name]
    if name == "wl-oa" and directed:
        pytest.skip("GraKeL loses nodes without successors here")
    train, test = (
        GraphSet.from_networkx(odd_graphs(25, seed=seed, directed=directed)) for seed in (0, 1)
    )
    peer = GraKeLKernel(theirs)
    features = ours.fit_transform(train)
    assert_array_equal(linear_kernel(features), peer.fit_graphs(train))
    assert_array_equal(linear_kernel(ours.transform(test), features), peer.transform(test))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("data_set", ["MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY"])
def test_kernels_equal_grakel_on_real_graphs(name, data_set):
    if "SKLOFI_DATA" not in os.environ:
        pytest.skip("needs the data sets that SKLOFI_DATA names")
    from benchmarks.data import read_tu

    graphs = GraphSet.from_networkx(read_tu(data_set)[0])
    ours, theirs = PAIRS[name]
    expected = GraKeLKernel(theirs).fit_graphs(graphs)
    assert_array_equal(linear_kernel(ours.fit_transform(graphs)), expected)


def test_walks_equal_grakel_but_for_walks_without_steps():
    """GraKeL counts pairs of single nodes whatever their labels are; see the definition."""
    graphs = GraphSet.from_networkx(odd_graphs(10))
    n_nodes = np.diff(graphs.node_offsets)
    histogram = VertexHistogramVectorizer().fit_transform(graphs)
    without_steps = np.outer(n_nodes, n_nodes) - linear_kernel(histogram)

    baseline = {"method_type": "baseline", "lamda": 0.02}
    theirs = GraKeLKernel(grakel.RandomWalkLabeled(p=3, **baseline)).fit_graphs(graphs)
    ours = linear_kernel(RandomWalkVectorizer(3, decay=0.02).fit_transform(graphs))
    assert_allclose(ours + without_steps, theirs, rtol=1e-12)

    theirs = GraKeLKernel(grakel.RandomWalkLabeled(**baseline)).fit_graphs(graphs)
    ours = RandomWalkKernel(decay=0.02).fit_transform(graphs)
    assert_allclose(ours + without_steps, theirs, rtol=1e-9)


def test_bonds_equal_the_edge_histogram_of_grakel():
    """The one kernel of both that looks at edge labels; GraKeL's WL and walks do not."""
    graphs = bonded_graphs(25, bonds="xyz", directed=True)
    graphs = [graph for graph in graphs if graph.edges]  # GraKeL has none without edges
    theirs = grakel.EdgeHistogram().fit_transform(
        [[list(g.edges), {}, {(u, v): b for u, v, b in g.edges(data="label")}] for g in graphs]
    )
    ours = FingerprintVectorizer(0, max_ring=0, node_label=None).fit(graphs)
    is_bond = [name.startswith("bond:") for name in ours.get_feature_names_out()]
    assert_array_equal(linear_kernel(ours.transform(graphs)[:, is_bond]), theirs)


def test_a_grakel_kernel_in_the_classifier():
    graphs = odd_graphs(40)
    y = np.array([len(graph.edges) > 4 for graph in graphs])
    kernel = grakel.WeisfeilerLehman(n_iter=2, normalize=True)
    theirs = GraphKernelSVC(kernel=kernel).fit(graphs[:30], y[:30])
    ours = GraphKernelSVC(kernel="wl", n_iter=2).fit(graphs[:30], y[:30])
    assert_allclose(
        theirs.decision_function(graphs[30:]), ours.decision_function(graphs[30:]), atol=2e-3
    )
    assert kernel.X is None  # a copy was fitted


def test_labels_are_needed_at_both_times_or_at_none():
    classifier = GraphKernelSVC(kernel=grakel.VertexHistogram())
    classifier.fit(odd_graphs(10), np.arange(10) % 2)
    with pytest.raises(ValueError, match="X has graphs without node labels, but VertexHistogram"):
        classifier.predict([nx.path_graph(2)])


def test_a_grakel_kernel_is_kept_on_disk(tmp_path, monkeypatch):
    graphs = odd_graphs(30)
    y = np.arange(30) % 2
    calls = []
    original = GraKeLKernel.fit_graphs
    monkeypatch.setattr(
        GraKeLKernel,
        "fit_graphs",
        lambda self, graphs: calls.append(len(graphs)) or original(self, graphs),
    )
    for C in (0.1, 1.0, 10.0):
        kernel = grakel.ShortestPath(normalize=False)
        GraphKernelSVC(kernel=kernel, C=C, memory=str(tmp_path), max_iter=1000).fit(graphs, y)
    assert calls == [30]
