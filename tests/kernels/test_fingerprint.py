"""Fingerprints against counts by a plain dictionary."""

import os
import subprocess
import sys
from collections import Counter

import networkx as nx
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import bonded_graphs, odd_graphs, ring_of, unseen_labels
from sklofi import GraphSet, WLVectorizer
from sklofi.kernels import FingerprintVectorizer, linear_kernel
from sklofi.testing import graph_estimator_checks

# The second path: dictionaries, straight from the definitions.


def plain_fingerprint(graph, radius, max_ring):
    name = dict(graph.nodes(data="label"))
    counts = Counter(("circle", 0, label) for label in name.values())
    for step in range(1, radius + 1):
        name = {
            v: (name[v], tuple(sorted(repr((graph[v][u].get("label"), name[u])) for u in graph[v])))
            for v in graph
        }
        counts.update(("circle", step, neighborhood) for neighborhood in name.values())
    label = graph.nodes(data="label")
    for u, v, bond in graph.edges(data="label"):
        ends = (label[u], label[v])
        if not graph.is_directed():
            ends = tuple(sorted(ends))
        counts["bond", graph.is_directed(), ends, bond] += 1
        size = ring_of(graph, u, v)
        if size is not None and size <= max_ring:
            counts["ring", size] += 1
    return counts


def assert_same_columns(vectors, counters):
    """The same columns, in whatever order."""
    parts = sorted({part for counter in counters for part in counter}, key=repr)
    expected = [[counter[part] for counter in counters] for part in parts]
    assert sorted(vectors.toarray().T.tolist()) == sorted(expected)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("radius, max_ring", [(0, 0), (1, 3), (2, 8), (3, 1), (1, 2)])
def test_counts_equal_the_definition(radius, max_ring, directed):
    graphs = bonded_graphs(directed=directed)
    vectorizer = FingerprintVectorizer(radius, max_ring=max_ring)
    counters = [plain_fingerprint(graph, radius, max_ring) for graph in graphs]
    assert_same_columns(vectorizer.fit_transform(graphs), counters)
    n_rings = len({part[1] for counter in counters for part in counter if part[0] == "ring"})
    assert len(vectorizer.ring_sizes_) == n_rings
    assert_array_equal(
        vectorizer.transform(graphs).toarray(), vectorizer.fit_transform(graphs).toarray()
    )


def test_directed_and_undirected_graphs_stand_side_by_side():
    graphs = bonded_graphs(15) + bonded_graphs(15, directed=True)
    vectors = FingerprintVectorizer().fit_transform(graphs)
    assert_same_columns(vectors, [plain_fingerprint(graph, 2, 8) for graph in graphs])


@unseen_labels
@pytest.mark.parametrize("edge_label", ["label", None])
@pytest.mark.parametrize("make_graphs", [odd_graphs, bonded_graphs])
def test_neighborhoods_are_those_of_weisfeiler_and_lehman(make_graphs, edge_label):
    train, test = make_graphs(25, labels="ab"), make_graphs(20, seed=1, labels="abc")
    wl = WLVectorizer(3, edge_label=edge_label).fit(train)
    vectorizer = FingerprintVectorizer(3, edge_label=edge_label).fit(train)
    n_wl = int(vectorizer.n_colors_.sum())
    for graphs in (train, test):
        expected = wl.transform(graphs).toarray()
        assert_array_equal(vectorizer.transform(graphs).toarray()[:, :n_wl], expected)
    assert_array_equal(vectorizer.get_feature_names_out()[:n_wl], wl.get_feature_names_out())


@unseen_labels
@pytest.mark.parametrize("unary", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
def test_new_graphs_give_the_block_of_the_whole_matrix(normalize, unary):
    """Also with labels, bonds and rings that training has not seen."""
    vectorizer = FingerprintVectorizer(normalize=normalize, unary=unary)
    train = bonded_graphs(20, labels="ab", bonds=("x", "y"))
    test = bonded_graphs(15, seed=1, labels="abcd", bonds=("y", "z", "x", "w"))
    everything = linear_kernel(vectorizer.fit_transform(train + test))
    features = vectorizer.fit_transform(train)
    block = linear_kernel(vectorizer.transform(test), features)
    assert_allclose(block, everything[20:, :20], rtol=1e-12, atol=1e-15)


def test_names_can_be_read():
    graph = nx.cycle_graph(3)
    nx.set_node_attributes(graph, {0: "C", 1: "C", 2: "O"}, "label")
    nx.set_edge_attributes(graph, {(0, 1): 2, (1, 2): 1, (0, 2): 1}, "label")
    vectorizer = FingerprintVectorizer(1)
    counts = vectorizer.fit_transform([graph]).toarray()[0].tolist()
    assert dict(zip(vectorizer.get_feature_names_out().tolist(), counts, strict=True)) == {
        "0:C": 2,
        "0:O": 1,
        "1:C([2]C,[1]O)": 2,
        "1:O(2*[1]C)": 1,
        "bond:C-[2]-C": 1,
        "bond:C-[1]-O": 2,
        "ring:3": 3,
    }
    assert vectorizer.edge_labels_ == [1, 2] and vectorizer.has_edge_labels_
    plain = FingerprintVectorizer(0, edge_label=None).fit([graph, graph.to_directed()])
    assert plain.get_feature_names_out().tolist() == [
        *("0:C", "0:O", "bond:C-C", "bond:C->C", "bond:C-O", "bond:C->O", "bond:O->C"),
        *("ring:2", "ring:3"),
    ]


def test_names_are_distinct_whatever_the_labels_are():
    odd = [True, "True", float("inf"), frozenset("ab"), object(), object(), 1j, b"a", -1, "a-b"]
    for bonds in ((1, "1", None), odd, [("a", 1), "it's", "a]-b"]):
        graphs = bonded_graphs(labels=odd, bonds=bonds)
        vectorizer = FingerprintVectorizer()
        vectors = vectorizer.fit_transform(graphs)
        names = vectorizer.get_feature_names_out()
        assert len(set(names)) == len(names) == vectors.shape[1]


def test_labels_of_edges_as_many_as_edges():
    """Many kinds of edges times many neighborhoods, of which only few occur."""
    graphs = [nx.gnp_random_graph(12, 0.4, seed=seed) for seed in range(40)]
    for i, graph in enumerate(graphs):
        labels = {edge: (i, number) for number, edge in enumerate(graph.edges)}
        nx.set_edge_attributes(graph, labels, "label")
        nx.set_node_attributes(graph, "a", "label")
    vectorizer = FingerprintVectorizer(2)
    vectors = vectorizer.fit_transform(graphs)
    assert_same_columns(vectors, [plain_fingerprint(graph, 2, 8) for graph in graphs])
    assert_array_equal(vectorizer.transform(graphs).toarray(), vectors.toarray())


def test_sets_and_their_slices_are_like_lists():
    graphs = bonded_graphs()
    whole = GraphSet.from_networkx(graphs, edge_label="label")
    vectorizer = FingerprintVectorizer()
    expected = vectorizer.fit_transform(graphs[::2]).toarray()
    assert_array_equal(vectorizer.fit_transform(whole[::2]).toarray(), expected)
    expected = vectorizer.transform(graphs[1::2]).toarray()
    assert_array_equal(vectorizer.transform(whole[1::2]).toarray(), expected)


def test_edges_need_labels_at_both_times_or_at_none():
    labeled, bare = bonded_graphs(), odd_graphs()
    message = "X has graphs without edge labels, but FingerprintVectorizer was fitted on"
    with pytest.raises(ValueError, match=message):
        FingerprintVectorizer().fit(labeled).transform(bare)
    with pytest.raises(ValueError, match="X has graphs with edge labels"):
        FingerprintVectorizer().fit(bare).transform(labeled)
    for fitted, other in [(labeled, bare), (bare, labeled)]:
        FingerprintVectorizer(edge_label=None).fit(fitted).transform(other)
    other_name = FingerprintVectorizer(edge_label="bond")
    with pytest.raises(ValueError, match=r"attribute 'bond' \(edge_label\); the edges have the"):
        other_name.fit(labeled)
    with pytest.raises(ValueError, match="edge_label='bond', but X is a GraphSet"):
        other_name.fit(GraphSet.from_networkx(labeled))


@unseen_labels
def test_graphs_without_edges_fit_to_any():
    labeled, bare = bonded_graphs(), odd_graphs()
    empty = [nx.empty_graph(3), nx.empty_graph(1)]
    for graph in empty:
        nx.set_node_attributes(graph, "a", "label")
    in_a_set = GraphSet.from_networkx([*labeled, *empty], edge_label="label")[-2:]
    for none in (empty, in_a_set):
        for graphs in (labeled, bare):
            vectors = FingerprintVectorizer().fit(graphs).transform(none)
            assert vectors.sum(axis=1).tolist() == [9, 3]  # nodes without neighbors, thrice
            vectorizer = FingerprintVectorizer().fit(none)
            assert vectorizer.has_edge_labels_ is None
            assert vectorizer.get_feature_names_out().tolist() == ["0:a", "1:a()", "2:a()"]
            assert vectorizer.transform(graphs).shape == (len(graphs), 3)
            isolated = sum(g.nodes[v]["label"] == "a" for g in graphs for v in nx.isolates(g))
            assert vectorizer.transform(graphs).toarray()[:, 1].sum() == isolated


def test_columns_are_the_same_in_every_process():
    code = (
        "import networkx as nx; from sklofi.kernels import FingerprintVectorizer\n"
        "graphs = [nx.gnp_random_graph(8, 0.3, seed=s) for s in range(9)]\n"
        "kinds = ['x', frozenset(['C', 'N', 'O']), ('y', frozenset('ab'))]\n"
        "for g in graphs:\n"
        "    nx.set_node_attributes(g, {v: kinds[v % 3] for v in g}, 'label')\n"
        "    nx.set_edge_attributes(g, {e: kinds[sum(e) % 3] for e in g.edges}, 'label')\n"
        "v = FingerprintVectorizer(); print(v.fit_transform(graphs).toarray().tolist())\n"
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


def test_what_was_fitted_decides_not_a_parameter_set_later():
    graphs = bonded_graphs()
    vectorizer = FingerprintVectorizer().fit(graphs)
    expected = vectorizer.transform(graphs).toarray()
    vectorizer.set_params(radius=0, max_ring=3)
    assert_array_equal(vectorizer.transform(graphs).toarray(), expected)


@pytest.mark.parametrize("name", ["radius", "max_ring"])
def test_bad_parameters_are_named(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        FingerprintVectorizer().set_params(**{name: -1}).fit(bonded_graphs(2), [0, 1])


def test_what_was_saved_counts_the_same(tmp_path):
    graphs = bonded_graphs()
    path = tmp_path / "model.safetensors"
    vectorizer = FingerprintVectorizer().fit(graphs)
    vectorizer.save(path)
    loaded = FingerprintVectorizer.load(path)
    assert_array_equal(loaded.transform(graphs).toarray(), vectorizer.transform(graphs).toarray())
    assert_array_equal(loaded.get_feature_names_out(), vectorizer.get_feature_names_out())


ESTIMATORS = {
    "FingerprintVectorizer": FingerprintVectorizer(),
    "FingerprintVectorizer-unary": FingerprintVectorizer(1, normalize=True, unary=True),
}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{name}-{check_name}")
        for name, estimator in ESTIMATORS.items()
        for check_name, check in graph_estimator_checks(estimator)
    ],
)
def test_graph_checks_pass(check):
    check()  # raises what it finds; test_testing.py shows that it does
