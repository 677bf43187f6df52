"""Fingerprints and labels: counts by a plain dictionary, and the machines on top of them."""

import os
import pickle
import subprocess
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from helpers import odd_graphs
from sklofi import GraphSet, WLVectorizer, rings
from sklofi.fingerprints import (
    FingerprintClassifier,
    FingerprintRegressor,
    FingerprintVectorizer,
    LabelHistogramClassifier,
    LabelHistogramRegressor,
)
from sklofi.kernels import VertexHistogramVectorizer, linear_kernel
from sklofi.rings import smallest_rings
from sklofi.testing import graph_estimator_checks


def bonded_graphs(n_graphs=30, seed=0, labels="abc", bonds=(1, "2", None), directed=False):
    graphs = odd_graphs(n_graphs, seed, labels, directed)
    rng = np.random.RandomState(seed)
    for i, graph in enumerate(graphs):
        if i % 3 == 0:  # a ring, as large as the graph
            nx.add_cycle(graph, range(len(graph)))
        for *_, data in graph.edges(data=True):
            data["label"] = bonds[rng.randint(len(bonds))]
    return graphs


# The second path: dictionaries, straight from the definitions.


def ring_of(graph, u, v):
    """The size of the smallest ring through an edge, None if it is in none."""
    without = graph.copy()
    without.remove_edge(u, v)
    if nx.has_path(without, v, u):
        return nx.shortest_path_length(without, v, u) + 1
    return None


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


def test_without_labels_of_edges_neighborhoods_are_those_of_weisfeiler_and_lehman():
    train, test = odd_graphs(25, labels="ab"), odd_graphs(20, seed=1, labels="abc")
    wl = WLVectorizer(3).fit(train)
    for vectorizer, graphs in [
        (FingerprintVectorizer(3), (train, test)),
        (FingerprintVectorizer(3, edge_label=None), (bonded_graphs(25, labels="ab"), test)),
    ]:
        vectorizer.fit(graphs[0])
        n_wl = int(vectorizer.n_colors_.sum())
        for some in graphs:
            expected = wl.fit(graphs[0]).transform(some).toarray()
            assert_array_equal(vectorizer.transform(some).toarray()[:, :n_wl], expected)
        assert_array_equal(vectorizer.get_feature_names_out()[:n_wl], wl.get_feature_names_out())


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
    """Many kinds of edges times many neighbourhoods, of which only few occur."""
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
    labelled, bare = bonded_graphs(), odd_graphs()
    message = "X has graphs without edge labels, but FingerprintVectorizer was fitted on"
    with pytest.raises(ValueError, match=message):
        FingerprintVectorizer().fit(labelled).transform(bare)
    with pytest.raises(ValueError, match="X has graphs with edge labels"):
        FingerprintVectorizer().fit(bare).transform(labelled)
    for one, other in [(labelled, bare), (bare, labelled)]:
        FingerprintVectorizer(edge_label=None).fit(one).transform(other)
    other_name = FingerprintVectorizer(edge_label="bond")
    with pytest.raises(ValueError, match=r"attribute 'bond' \(edge_label\); the edges have the"):
        other_name.fit(labelled)
    with pytest.raises(ValueError, match="edge_label='bond', but X is a GraphSet"):
        other_name.fit(GraphSet.from_networkx(labelled))


def test_graphs_without_edges_fit_to_any():
    labelled, bare = bonded_graphs(), odd_graphs()
    empty = [nx.empty_graph(3), nx.empty_graph(1)]
    for graph in empty:
        nx.set_node_attributes(graph, "a", "label")
    in_a_set = GraphSet.from_networkx([*labelled, *empty], edge_label="label")[-2:]
    for none in (empty, in_a_set):
        for graphs in (labelled, bare):
            vectors = FingerprintVectorizer().fit(graphs).transform(none)
            assert vectors.sum(axis=1).tolist() == [9, 3]  # nodes without neighbours, thrice
            vectorizer = FingerprintVectorizer().fit(none)
            assert vectorizer.has_edge_labels_ is None
            assert vectorizer.get_feature_names_out().tolist() == ["0:a", "1:a()", "2:a()"]
            assert vectorizer.transform(graphs).shape == (len(graphs), 3)
            isolated = sum(g.nodes[v]["label"] == "a" for g in graphs for v in nx.isolates(g))
            assert vectorizer.transform(graphs).toarray()[:, 1].sum() == isolated


def test_columns_are_the_same_in_every_process():
    code = (
        "import networkx as nx; from sklofi.fingerprints import FingerprintVectorizer\n"
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
    for estimator in (FingerprintVectorizer(), FingerprintClassifier()):
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            estimator.set_params(**{name: -1}).fit(bonded_graphs(2), [0, 1])


# Rings


def all_rings(graphs, max_size=8):
    return Counter(smallest_rings(GraphSet.from_networkx(graphs, None), max_size)[1].tolist())


def plain_rings(graphs, max_size=8):
    sizes = (ring_of(graph, u, v) for graph in graphs for u, v in graph.edges)
    return Counter(size for size in sizes if size is not None and size <= max_size)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("max_size", [0, 1, 2, 3, 4, 5, 8, 100])
def test_rings_equal_the_shortest_way_back_without_the_edge(max_size, directed):
    graphs = [
        nx.gnp_random_graph(n, p, seed=seed, directed=directed)
        for n, p in [(8, 0.2), (12, 0.15), (25, 0.06), (9, 0.6)]
        for seed in range(8)
    ]
    for graph in graphs[::3]:
        graph.add_edge(0, 0)
    assert all_rings(graphs, max_size) == plain_rings(graphs, max_size)


def test_rings_of_well_known_graphs():
    assert all_rings([nx.cycle_graph(6), nx.cycle_graph(9), nx.path_graph(5)]) == {6: 6}
    assert all_rings([nx.petersen_graph()]) == {5: 15}
    assert all_rings([nx.heawood_graph()]) == {6: 21}
    assert all_rings([nx.tutte_graph()], 30) == plain_rings([nx.tutte_graph()], 30)
    assert all_rings([nx.complete_bipartite_graph(3, 4), nx.complete_graph(5)]) == {4: 12, 3: 10}
    assert all_rings([nx.DiGraph([(0, 1), (1, 0), (1, 2)]), nx.Graph([(0, 0), (0, 1)])]) == {
        2: 2,
        1: 1,
    }


def test_rings_do_not_depend_on_how_many_are_searched_at_a_time(monkeypatch):
    graphs = [nx.gnp_random_graph(25, 0.07, seed=seed) for seed in range(10)]
    graphs.append(nx.complete_bipartite_graph(8, 9))
    expected = all_rings(graphs)
    assert len(expected) > 4
    monkeypatch.setattr(rings, "EDGES_TOGETHER", 7)
    monkeypatch.setattr(rings, "STEPS_TOGETHER", 5)
    assert all_rings(graphs) == expected


def test_edges_of_cliques_are_done_without_a_search(monkeypatch):
    """Of which social networks are made; a search would take long."""
    searched = []
    monkeypatch.setattr(rings, "_search_rings", lambda *args: searched.append(args))
    assert all_rings([nx.complete_graph(100)]) == {3: 4950}
    assert searched == []


# The estimators


CLASSIFIERS = [FingerprintClassifier(), LabelHistogramClassifier()]
REGRESSORS = [FingerprintRegressor(), LabelHistogramRegressor()]
ESTIMATORS = {
    "FingerprintVectorizer": FingerprintVectorizer(),
    "FingerprintVectorizer-unary": FingerprintVectorizer(1, normalize=True, unary=True),
    "FingerprintClassifier": FingerprintClassifier(),
    "FingerprintRegressor": FingerprintRegressor(),
    "LabelHistogramClassifier": LabelHistogramClassifier(),
    "LabelHistogramRegressor": LabelHistogramRegressor(),
    "forest": FingerprintClassifier(estimator=RandomForestClassifier(5)),
    "svm": LabelHistogramClassifier(estimator=LinearSVC()),
    "tree": FingerprintRegressor(radius=1, estimator=DecisionTreeRegressor(max_depth=3)),
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


def targets(graphs):
    """Classes and numbers that depend on labels, edges and rings, and weights."""
    y = np.array(
        [
            sum(label == "a" for _, label in g.nodes(data="label"))
            + 2 * sum(label == "2" for *_, label in g.edges(data="label"))
            + len(nx.cycle_basis(g))
            for g in graphs
        ],
        dtype=float,
    )
    return np.array(["few", "some", "many"])[np.digitize(y, [2, 6])], y, 1 + np.arange(len(y)) % 3


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_the_default_classifier_is_logistic_regression_of_scaled_counts(estimator):
    graphs = bonded_graphs()
    y, _, weight = targets(graphs)
    is_fingerprint = isinstance(estimator, FingerprintClassifier)
    vectorizer = FingerprintVectorizer() if is_fingerprint else VertexHistogramVectorizer()
    estimator = clone(estimator).set_params(C=0.1).fit(graphs, y, sample_weight=weight)
    counts = vectorizer.fit_transform(graphs).toarray()
    scale = np.maximum(StandardScaler().fit(counts, sample_weight=weight).scale_, 1)
    assert (scale > 1).any()
    machine = LogisticRegression(C=0.1, max_iter=1000, tol=1e-8)
    machine.fit(counts / scale, y, sample_weight=weight)
    new = bonded_graphs(20, seed=5)
    expected = machine.predict_proba(vectorizer.transform(new).toarray() / scale)
    assert_allclose(estimator.predict_proba(new), expected, atol=2e-3)
    assert_array_equal(estimator.predict(new), machine.classes_[expected.argmax(axis=1)])
    assert_array_equal(estimator.classes_, ["few", "many", "some"])


@pytest.mark.parametrize("estimator", REGRESSORS, ids=repr)
@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-6])
def test_the_default_regressor_is_ridge_regression_of_scaled_counts(estimator, unit):
    graphs = bonded_graphs()
    _, y, weight = targets(graphs)
    is_fingerprint = isinstance(estimator, FingerprintRegressor)
    vectorizer = FingerprintVectorizer() if is_fingerprint else VertexHistogramVectorizer()
    estimator = clone(estimator).set_params(C=0.5).fit(graphs, unit * y, sample_weight=weight)
    counts = vectorizer.fit_transform(graphs).toarray()
    scale = np.maximum(StandardScaler().fit(counts, sample_weight=weight).scale_, 1)
    deviation = np.sqrt(np.cov(y, aweights=weight, ddof=0))  # of the target
    machine = Ridge(alpha=2).fit(counts / scale, y / deviation, sample_weight=weight)
    new = bonded_graphs(20, seed=5)
    expected = deviation * machine.predict(vectorizer.transform(new).toarray() / scale)
    assert_allclose(estimator.predict(new) / unit, expected, rtol=1e-5, atol=1e-5)


def test_structure_is_seen_by_fingerprints_and_not_by_labels():
    """Two triangles or one ring of six: the same neighbourhoods at any radius."""
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    graphs, y = [triangles, nx.cycle_graph(6)] * 10, [0, 1] * 10
    assert FingerprintClassifier().fit(graphs, y).score(graphs, y) == 1
    assert FingerprintClassifier(max_ring=0).fit(graphs, y).score(graphs, y) == 0.5
    assert LabelHistogramClassifier().fit(graphs, y).score(graphs, y) == 0.5


@pytest.mark.parametrize("as_set", [False, True])
def test_labels_of_edges_are_seen_by_fingerprints_if_they_may(as_set):
    graphs = [nx.path_graph(4) for _ in range(20)]
    for i, graph in enumerate(graphs):
        nx.set_edge_attributes(graph, i % 2, "bond")
    y = np.arange(20) % 2
    X = GraphSet.from_networkx(graphs, edge_label="bond") if as_set else graphs
    assert FingerprintClassifier(edge_label="bond").fit(X, y).score(X, y) == 1
    assert FingerprintClassifier(edge_label=None).fit(X, y).score(X, y) == 0.5
    if as_set:  # which has made its choice
        assert FingerprintClassifier().fit(X, y).score(X, y) == 1


def test_an_estimator_is_cloned_and_seeded_where_it_has_no_seed():
    graphs = bonded_graphs()
    y = targets(graphs)[0]
    given = RandomForestClassifier(3)
    estimator = FingerprintClassifier(estimator=given, random_state=1).fit(graphs, y)
    assert not hasattr(given, "estimators_") and given.random_state is None
    again = FingerprintClassifier(estimator=given, random_state=1).fit(graphs, y)
    assert_array_equal(estimator.predict_proba(graphs), again.predict_proba(graphs))
    own = FingerprintClassifier(estimator=RandomForestClassifier(3, random_state=7), random_state=1)
    assert own.fit(graphs, y).estimator_.random_state == 7


def test_a_machine_has_the_methods_that_it_has():
    for estimator in (FingerprintClassifier(estimator=LinearSVC()), FingerprintClassifier()):
        graphs = bonded_graphs()
        has_probabilities = estimator.estimator is None
        assert hasattr(estimator, "predict_proba") == has_probabilities
        estimator.fit(graphs, targets(graphs)[0])
        assert hasattr(estimator, "predict_proba") == has_probabilities
        assert estimator.decision_function(graphs).shape == (len(graphs), 3)
    assert not hasattr(FingerprintRegressor(), "predict_proba")


def test_weights_are_not_ignored_by_machines_that_take_none():
    graphs = bonded_graphs()
    y, _, weight = targets(graphs)
    estimator = FingerprintClassifier(estimator=KNeighborsClassifier(1))
    with pytest.raises(ValueError, match=r"KNeighborsClassifier .* takes no weights in fit"):
        estimator.fit(graphs, y, sample_weight=weight)
    pipeline = make_pipeline(MaxAbsScaler(), LinearSVC())
    for one in (estimator, FingerprintClassifier(estimator=pipeline)):
        for equal in (None, np.full(len(y), 2.0), weight > 1):
            one.fit(graphs, y, sample_weight=equal)
    assert estimator.score(graphs, y) > 0.5


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=repr)
def test_weights_and_c_that_would_overflow_are_refused(estimator):
    graphs = bonded_graphs(2)
    for weight in (1e308, 5e-324):
        with pytest.raises(ValueError, match=r"C times the largest weight .* is (inf|3.95e-323)"):
            clone(estimator).set_params(C=8).fit(graphs, [0, 1], sample_weight=[weight, weight])
    with pytest.raises(ValueError, match=r"weight of a graph is 1e-11; .* or use another C"):
        clone(estimator).set_params(C=1e-11).fit(graphs, [0, 1])
    clone(estimator).fit(graphs, [0, 1], sample_weight=[1e10, 5e-324])


def test_a_machine_for_another_task_is_refused():
    graphs = bonded_graphs()
    classes, y, _ = targets(graphs)
    with pytest.raises(ValueError, match=r"has to be a classifier, got LinearRegression\(\)"):
        FingerprintClassifier(estimator=LinearRegression()).fit(graphs, classes)
    with pytest.raises(ValueError, match="has to be a regressor, got DecisionTreeClassifier"):
        LabelHistogramRegressor(estimator=DecisionTreeClassifier()).fit(graphs, y)
    with pytest.raises(ValueError, match="'estimator' parameter"):
        FingerprintClassifier(estimator="forest").fit(graphs, classes)
    with pytest.raises(TypeError, match="instance"):
        FingerprintClassifier(estimator=LinearSVC).fit(graphs, classes)


def test_a_fit_that_fails_leaves_nothing_half_fitted():
    graphs = bonded_graphs()
    estimator = FingerprintClassifier().fit(graphs, targets(graphs)[0])
    with pytest.raises(ValueError, match="at least 2 classes"):
        estimator.fit(graphs, ["same"] * len(graphs))
    with pytest.raises(NotFittedError):
        estimator.predict(graphs)


def test_a_search_reaches_into_the_machine():
    graphs = GraphSet.from_networkx(bonded_graphs(), edge_label="label")
    y = targets(graphs.to_networkx())[1]
    grid = {"radius": [0, 1], "estimator__alpha": [0.1, 1.0]}
    search = GridSearchCV(FingerprintRegressor(estimator=Ridge(solver="lsqr")), grid, cv=2)
    assert search.fit(graphs, y).best_params_.keys() == grid.keys()


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=repr)
def test_what_was_saved_says_the_same_to_the_last_bit(estimator, tmp_path):
    graphs = bonded_graphs(labels=["a", 1, None, ("a", 1)])
    classes, y, _ = targets(graphs)
    estimator = clone(estimator).fit(graphs, classes if is_classifier(estimator) else y)
    path = tmp_path / "model.safetensors"
    estimator.save(path)
    new = bonded_graphs(20, seed=3, labels=["a", 1, "new"], bonds=(1, "2", "new"))
    for loaded in (type(estimator).load(path), pickle.loads(pickle.dumps(estimator))):
        assert vars(loaded).keys() == vars(estimator).keys()
        assert repr(loaded) == repr(estimator)
        assert_array_equal(loaded.predict(new), estimator.predict(new))
        if is_classifier(estimator):
            assert_array_equal(loaded.predict_proba(new), estimator.predict_proba(new))


def test_vectorizers_and_machines_of_the_default_kind_are_saved(tmp_path):
    graphs = bonded_graphs()
    path = tmp_path / "model.safetensors"
    vectorizer = FingerprintVectorizer().fit(graphs)
    vectorizer.save(path)
    loaded = FingerprintVectorizer.load(path)
    assert_array_equal(loaded.transform(graphs).toarray(), vectorizer.transform(graphs).toarray())
    assert_array_equal(loaded.get_feature_names_out(), vectorizer.get_feature_names_out())
    estimator = FingerprintClassifier(estimator=LogisticRegression(C=3, max_iter=500))
    estimator.fit(graphs, targets(graphs)[0]).save(path)
    assert FingerprintClassifier.load(path).estimator.C == 3


def test_machines_of_others_are_not_saved_and_that_is_told(tmp_path):
    graphs = bonded_graphs()
    estimator = FingerprintClassifier(estimator=DecisionTreeClassifier())
    estimator.fit(graphs, targets(graphs)[0])
    with pytest.raises(TypeError, match=r"DecisionTreeClassifier.* cannot be saved.*joblib\.dump"):
        estimator.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())
