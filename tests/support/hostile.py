"""What holds for any input at all: the properties that the strategies are there to break.

Each takes what hypothesis has drawn. `tests/test_hostile.py` tries a few hundred cases,
`tests/torture/test_hostile.py` many thousands.
"""

import copy
import linecache
import pickle
import re
import signal
import tempfile
import traceback
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

import networkx as nx
import numpy as np
import sklearn
import strategies
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier

import sklofi
from sklofi import GraphSet

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what its import warns of is not ours
    import torch_geometric.nn  # noqa: F401

# Seconds after which a case counts as hanging; the slowest take a tenth of one.
PATIENCE = 60

PACKAGES = tuple(str(Path(package.__file__).parent) for package in (sklofi, sklearn))

DOCUMENTED_WARNINGS = re.compile(
    "No (node|edge) has the attribute"
    "|The edges of X differ in the attribute 'weight', which is not used"
    "|.* does not use (edge labels|the continuous node features)"
    "|The .* nodes of X have .* different labels"
    "|(Node|Edge) labels that no training graph has"
    "|A column-vector y was passed when a 1d array was expected"
    "|The number of unique classes is greater than 50% of the number of samples"
    "|Liblinear failed to converge"
    "|(Weights grew to|The variance of a layer became infinite) .* has ended the training"
    "|.* does not use (edge weights|the continuous edge features|the graph features)"
    "|Column [0-9]+ of y has one class only"
)


class Refused(Exception):
    """The library has said in a sentence why it does not go on."""


@contextmanager
def in_documented_words():
    """Let only documented errors pass, as `Refused`, and only documented warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except (ValueError, TypeError, MemoryError) as error:
            assert _is_meant(error), "".join(traceback.format_exception(error))
            raise Refused(str(error)) from error
        finally:
            for one in caught:
                assert issubclass(one.category, UserWarning), one
                assert DOCUMENTED_WARNINGS.match(str(one.message)), one


def _is_meant(error):
    """Whether it comes from a raise statement of sklofi or scikit-learn, not by accident."""
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    file = frame.f_code.co_filename
    statement = linecache.getline(file, line).strip()
    return file.startswith(PACKAGES) and statement.startswith("raise ") and str(error)


@contextmanager
def not_for_ever():
    def stop(signum, frame):
        raise AssertionError(f"still running after {PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outputs(estimator, X):
    """All that a fitted estimator says about graphs, by the name of the method."""
    names = ["predict", "predict_proba", "decision_function", "transform"]
    return {name: getattr(estimator, name)(X) for name in names if hasattr(estimator, name)}


def check_outputs(estimator, X):
    said = outputs(estimator, X)
    for name, values in said.items():
        assert len(values) == len(X)
        if name == "predict" and is_classifier(estimator):
            # Of several labels at once, whether a graph has them.
            classes = estimator.classes_.tolist() if values.ndim == 1 else [0, 1]
            assert set(values.ravel().tolist()) <= set(classes)
        else:
            assert np.isfinite(values).all(), (name, values)
    if hasattr(estimator, "kernel_"):
        names = estimator.kernel_.get_feature_names_out()
        assert len(names) == estimator.kernel_.n_features_out_
    return said


def portrait(graph):
    """What must not change: names and attributes themselves, not what they say they equal."""
    return (
        [(id(node), {k: id(v) for k, v in data.items()}) for node, data in graph.nodes(data=True)],
        [(id(u), id(v)) for u, v in graph.edges()],
    )


def structure(graph):
    """Nodes by number, for names that do not even equal themselves."""
    number = {id(node): i for i, node in enumerate(graph)}
    edges = [(number[id(u)], number[id(v)]) for u, v in graph.edges()]
    if not graph.is_directed():
        edges = [tuple(sorted(edge)) for edge in edges]
    return len(graph), sorted(set(edges)), graph.is_directed()


# The properties. Each is a function of what its strategy draws.


@st.composite
def hostile_graphs(draw):
    graphs = draw(strategies.graph_lists(min_graphs=2, odd=True))
    estimator = draw(strategies.estimators(graphs))
    return estimator, graphs, draw(strategies.tame_targets(len(graphs)))


def fits_hostile_graphs(case):
    estimator, graphs, y = case
    before = [portrait(graph) for graph in graphs], y.copy()
    with suppress(Refused), in_documented_words():
        check_outputs(estimator.fit(graphs, y), graphs)
    assert [portrait(graph) for graph in graphs] == before[0]
    assert_array_equal(y, before[1])


@st.composite
def hostile_graphs_later(draw):
    training = draw(strategies.tame_lists(min_graphs=2, max_graphs=3))
    odd = draw(strategies.graph_lists(max_graphs=3, odd=True))
    tame = strategies.tame_lists(max_graphs=3)
    return (
        draw(strategies.estimators(training)),
        training,
        odd if draw(st.booleans()) else draw(tame),
    )


def predicts_hostile_graphs(case):
    estimator, training, graphs = case
    before = [portrait(graph) for graph in graphs]
    with suppress(Refused), in_documented_words():
        estimator.fit(training, np.arange(len(training)) % 2)
        check_outputs(estimator, graphs)
    assert [portrait(graph) for graph in graphs] == before


@st.composite
def hostile_targets(draw):
    graphs = draw(strategies.tame_lists(min_graphs=2))
    estimator = draw(strategies.estimators(graphs))
    return estimator, graphs, draw(strategies.odd_targets(len(graphs)))


def fits_hostile_targets(case):
    estimator, graphs, y = case
    before = _frozen(y)
    with suppress(Refused), in_documented_words():
        check_outputs(estimator.fit(graphs, y), graphs)
    assert _frozen(y) == before


def _frozen(y):
    """Targets by identity, which survives where comparisons do not."""
    if isinstance(y, np.ndarray):
        return y.tobytes()
    return [id(one) for one in y] if isinstance(y, (list, tuple)) else None


@st.composite
def hostile_weights(draw):
    graphs = draw(strategies.tame_lists(min_graphs=2))
    estimator = draw(strategies.estimators(graphs))
    y = draw(strategies.tame_targets(len(graphs)))
    return estimator, graphs, y, draw(strategies.odd_weights(len(graphs)))


def fits_hostile_weights(case):
    estimator, graphs, y, weight = case
    before = _frozen(weight)
    with suppress(Refused), in_documented_words():
        check_outputs(estimator.fit(graphs, y, sample_weight=weight), graphs)
    assert _frozen(weight) == before


@st.composite
def hostile_containers(draw):
    graphs = draw(strategies.tame_lists(min_graphs=2))
    estimator = draw(strategies.estimators(graphs))
    containers = st.sampled_from(strategies.CONTAINERS)
    return estimator, graphs, draw(containers), draw(containers)


def takes_hostile_containers(case):
    estimator, graphs, of_training, of_prediction = case
    with suppress(Refused), in_documented_words():
        X, new = of_training(graphs), of_prediction(graphs)
        estimator.fit(X, np.arange(len(graphs)) % 2)
        check_outputs(estimator, new)


@st.composite
def other_names(draw):
    graphs = draw(strategies.tame_lists(min_graphs=2))
    estimator = draw(strategies.estimators(graphs))
    names = st.lists(st.integers(), min_size=5, max_size=5, unique=True)
    renamed = []
    for graph in graphs:
        nodes = draw(st.permutations(list(range(len(graph)))))
        renamed.append(rename(graph, nodes, draw(names)))
    return estimator, graphs, renamed


def rename(graph, order, names):
    """The same graph, its nodes in another order and under other names."""
    nodes = list(graph)
    name_of = {id(nodes[i]): name for i, name in zip(order, names, strict=False)}
    undirected, directed = (nx.Graph, nx.DiGraph)
    if graph.is_multigraph():
        undirected, directed = (nx.MultiGraph, nx.MultiDiGraph)
    other = directed() if graph.is_directed() else undirected()
    for i in order:
        other.add_node(name_of[id(nodes[i])], **graph.nodes[nodes[i]])
    edges = [(name_of[id(u)], name_of[id(v)], data) for u, v, data in graph.edges(data=True)]
    other.add_edges_from(edges[::-1])
    return other


def knows_no_names(case):
    estimator, graphs, renamed = case
    try:
        with in_documented_words():
            estimator.fit(graphs, np.arange(len(graphs)) % 2)
            one, other = outputs(estimator, graphs), outputs(estimator, renamed)
    except Refused:
        return
    for name, values in one.items():
        if name == "predict" and is_classifier(estimator):
            continue  # of equal evidence rounding decides
        assert_allclose(values, other[name], rtol=1e-4, atol=1e-5)


def graph_lists_to_keep():
    odd = strategies.graph_lists(odd=True)
    return st.one_of(odd, strategies.tame_lists(), strategies.tame_lists())


def come_back(graphs):
    try:
        with in_documented_words():
            converted = GraphSet.from_networkx(graphs)
    except Refused:
        return
    for kept in (converted, pickle.loads(pickle.dumps(converted)), copy.deepcopy(converted)):
        back = kept.to_networkx()
        assert list(map(structure, back)) == list(map(structure, graphs))
        assert [[type(v) for v in g] for g in back] == [[type(v) for v in g] for g in graphs]
    for one, other in zip(converted, graphs, strict=True):
        assert all(u is v for u, v in zip(one, other, strict=True) if type(v) is not int)
        assert [v for v in one if type(v) is int] == [v for v in other if type(v) is int]
        if converted.label_ids is not None:
            labels = [[data["label"] for _, data in g.nodes(data=True)] for g in (one, other)]
            assert all(a is b or a == b for a, b in zip(*labels, strict=True))
    half = converted[::2].to_networkx()
    assert list(map(structure, half)) == list(map(structure, graphs[::2]))


@st.composite
def lists_and_sets(draw):
    graphs = draw(strategies.tame_lists(min_graphs=2))
    return draw(strategies.estimators(graphs)), graphs


def lists_equal_sets(case):
    estimator, graphs = case
    features = getattr(estimator, "node_features", None)
    try:
        with in_documented_words():
            words = {
                name: getattr(estimator, name, None) for name in ("edge_weight", "edge_features")
            }
            label = getattr(estimator, "edge_label", None) or "label"
            converted = GraphSet.from_networkx(
                graphs, estimator.node_label, features, label, **words
            )
            estimator.fit(graphs, np.arange(len(graphs)) % 2)
            said = outputs(estimator, graphs)
            others = [converted, pickle.loads(pickle.dumps(converted)), converted[:]]
            said_of_others = [outputs(estimator, other) for other in others]
    except Refused:
        return
    for other in said_of_others:
        for name, values in said.items():
            assert_array_equal(values, other[name])


@st.composite
def relations(draw):
    estimator, graphs = draw(strategies.related())
    names = st.lists(st.integers(), min_size=5, max_size=5, unique=True)
    renamed = [
        rename(graph, draw(st.permutations(list(range(len(graph))))), draw(names))
        for graph in graphs
    ]
    return estimator, graphs, renamed


def relations_are_kept(case):
    """What was fitted predicts the same after pickling and saving, under whatever names."""
    estimator, graphs, renamed = case
    try:
        with in_documented_words():
            estimator.fit(graphs, np.arange(len(graphs)) % 2)
            said = check_outputs(estimator, graphs)
            said_of_renamed = outputs(estimator, renamed)
    except Refused:
        return
    with tempfile.TemporaryDirectory() as folder:
        estimator.save(path := Path(folder) / "model")
        copies = [sklofi.load(path), pickle.loads(pickle.dumps(estimator))]
    with in_documented_words():
        for copied in copies:
            for name, values in outputs(copied, graphs).items():
                assert_array_equal(values, said[name])
    for name, values in said.items():
        if name != "predict" or not is_classifier(estimator):
            assert_allclose(values, said_of_renamed[name], rtol=1e-3, atol=1e-4)


# Where cases come from, and what has to hold for them.
PROPERTIES = {
    "hostile graphs in training": (hostile_graphs(), fits_hostile_graphs),
    "hostile graphs in prediction": (hostile_graphs_later(), predicts_hostile_graphs),
    "hostile targets": (hostile_targets(), fits_hostile_targets),
    "hostile weights": (hostile_weights(), fits_hostile_weights),
    "hostile containers": (hostile_containers(), takes_hostile_containers),
    "other names and orders of nodes": (other_names(), knows_no_names),
    "there and back": (graph_lists_to_keep(), come_back),
    "lists and sets": (lists_and_sets(), lists_equal_sets),
    "relations": (relations(), relations_are_kept),
}


def cases_tried(name, n_cases):
    """Try a property on so many cases, always the same, and count them."""
    cases, check = PROPERTIES[name]
    n_tried = 0

    @settings(
        max_examples=n_cases,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(cases)
    def try_one(case):
        nonlocal n_tried
        with not_for_ever():
            check(case)
        n_tried += 1

    try_one()
    return n_tried
