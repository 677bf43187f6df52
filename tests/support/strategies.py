"""Graphs, attributes, targets and weights of every kind, for hypothesis to choose from.

Most cases are odd in one respect only: what is odd everywhere is refused at the first look.
"""

import datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
from hypothesis import strategies as st

from sklofi import (
    GraphKernelSVC,
    GraphKernelSVR,
    GraphSet,
    LoFIClassifier,
    LoFIRegressor,
    baselines,
)
from sklofi.nn._choices import POOLINGS

# Objects that people write by accident. They are classes of a module, so that they can be
# pickled.


class Plain:
    """Equal to itself only."""


class BrokenEq:
    def __eq__(self, other):
        raise RuntimeError("no comparisons")

    def __hash__(self):
        return 1


class BrokenHash:
    def __hash__(self):
        raise RuntimeError("no hash")


class BrokenRepr:
    def __repr__(self):
        raise RuntimeError("no repr")


class ArrayEq:
    """Compares entry by entry, as arrays do."""

    def __eq__(self, other):
        return np.array([True, False])

    def __hash__(self):
        return 1


class EqualToAll:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class EqualToNone:
    def __eq__(self, other):
        return False

    def __hash__(self):
        return 1


class BrokenFloat:
    def __float__(self):
        raise RuntimeError("no float")


class BrokenArray:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array")


class OwnGraph(nx.Graph):
    """People derive classes from those of networkx."""


# networkx allows any hashable name but None.
NAMES = st.one_of(
    st.integers(0, 8),
    st.sampled_from("abcé\ud800\x00"),
    st.sampled_from([0.5, -0.0, float("nan"), float("inf"), True, False, b"", b"\xff"]),
    st.sampled_from([2**63, -(2**63), 2**64, 10**30, np.int64(3), np.float32(0.1), np.bool_(True)]),
    st.sampled_from([(), (1, "a"), ((), (None,)), frozenset(), frozenset({1, "a"})]),
    st.sampled_from([Decimal("1.5"), Fraction(1, 3), 1j, datetime.date(2020, 1, 1), nx.Graph]),
    st.sampled_from([Plain, BrokenRepr, EqualToNone]).map(lambda kind: kind()),
)

TAME_LABELS = st.sampled_from(["a", "b", "c", 0, 1, (1, "a"), None, frozenset({1})])

HASHABLE = [
    None,
    *(True, False, 0, -1, 2**63, 10**30, 10**5000, 0.0, -0.0, 0.1, 1e308, 5e-324),
    *(float("inf"), float("-inf"), 1j, complex(float("nan"), 1)),
    *("", "a", "\ud800", "\x00", "a\u0301", "\U0001f600", "nan", "1", "x" * 1000),
    *(b"", b"a", b"\xff"),
    *((), (1, "a"), (None,), (1, (2, (3,))), ("a", float("nan")), frozenset({1, "a"}), frozenset()),
    *(np.int8(1), np.uint64(2**64 - 1), np.float32(0.1), np.float16(3), np.longdouble(1)),
    *(np.bool_(True), np.str_("a"), np.bytes_(b"a"), np.complex64(1j)),
    *(np.datetime64("2020-01-01"), np.timedelta64(1, "D")),
    *(Decimal("1.5"), Decimal("Infinity"), Decimal("1e1000"), Fraction(1, 3), Fraction(10**400)),
    *(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(1)),
    *(range(2), Ellipsis, int, len, nx.Graph()),
]
OBJECTS = [Plain, BrokenEq, BrokenHash, BrokenRepr, ArrayEq, EqualToAll, EqualToNone]
OBJECTS += [BrokenFloat, BrokenArray]
MISSING = [float("nan"), np.float64("nan"), np.datetime64("NaT"), pd.NA, pd.NaT]
MISSING += [Decimal("NaN"), Decimal("sNaN")]
UNHASHABLE = [[], [1, 2], {}, {"a": 1}, {1}, bytearray(b"a"), np.array([1, 2]), np.array(1), ([],)]

# What somebody may have put where one value is expected.
VALUES = st.one_of(
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(HASHABLE),
    st.sampled_from(OBJECTS).map(lambda kind: kind()),
    st.sampled_from(MISSING),
    st.sampled_from(UNHASHABLE),
)
VECTORS = st.one_of(
    VALUES,
    st.lists(st.floats(-1e3, 1e3), max_size=3),
    st.lists(st.floats(), min_size=1, max_size=3).map(np.array),
    st.lists(VALUES, max_size=3),
    st.sampled_from([[[1.0]], np.ones((1, 2)), np.array([1, 2], np.int8), np.array(["1", "2"])]),
    st.sampled_from([np.array([1 + 1j]), np.ma.masked_array([1.0], [True]), pd.Series([1.0, 2.0])]),
)


RARELY = st.integers(0, 9).map(lambda number: number == 7)


def one_of(values):
    """As hypothesis' sampled_from, which would hash and show the values."""
    return st.integers(0, len(values) - 1).map(lambda i: values[i])


EDGE_WEIGHTS = st.sampled_from([0, 0.5, 1, 1.0, 3, 1e-300, 1e15])
EDGE_VECTORS = [(0.0, 1.0), (0.5, -2.0), (1e30, 0.0)]


KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph, OwnGraph]


def _subgraph(graph):
    return graph.subgraph(list(graph)[::2])


def _edge_subgraph(graph):
    return graph.edge_subgraph(list(graph.edges)[1:])


def _filtered(graph):
    kept = {id(node) for node in list(graph)[1:]}
    return nx.subgraph_view(graph, filter_node=lambda node: id(node) in kept)


def _turned(graph):
    return graph.reverse(copy=False) if graph.is_directed() else graph.to_directed(as_view=True)


VIEWS = [_subgraph, _edge_subgraph, _filtered, _turned, nx.freeze, nx.Graph.copy]
VIEWS += [partial(nx.Graph.to_undirected, as_view=True), lambda graph: graph.copy(as_view=True)]


@st.composite
def single_graphs(
    draw, *, names=NAMES, min_nodes=1, attributes=None, bonds=None, edge_attributes=None
):
    """A graph of any kind.

    `attributes` of nodes and `edge_attributes` are strategies by name, `bonds` are labels of edges.
    """
    graph = draw(st.sampled_from(KINDS))()
    graph.add_nodes_from(draw(st.lists(names, min_size=min_nodes, max_size=5)))
    nodes = list(graph)
    if nodes:
        node = st.integers(0, len(nodes) - 1)
        pairs = draw(st.lists(st.tuples(node, node), max_size=6))
        graph.add_edges_from((nodes[i], nodes[j]) for i, j in pairs)
    for name, values in (attributes or {}).items():
        for node in nodes:
            graph.nodes[node][name] = draw(values)
    for edge in graph.edges.values() if bonds is not None else ():
        edge["label"] = draw(bonds)
    for name, values in (edge_attributes or {}).items():
        for edge in graph.edges.values():
            edge[name] = draw(values)
    return graph


@st.composite
def graph_lists(
    draw, *, min_graphs=1, max_graphs=5, odd=False, labels=None, features=None, weighted=None
):
    """Graphs that have all the same attributes, or some nodes lack them if they are odd.

    Edges may have weights and vectors, by chance if `weighted` is None.
    """
    attributes = {}
    if labels is not None:
        attributes["label"] = labels
    if features is not None:
        attributes["x"] = features
    if odd:
        # Few values, so that nodes share them.
        which = draw(st.integers(0, 5))
        if which < 4:
            attributes["label"] = one_of(draw(st.lists(VALUES, min_size=1, max_size=3)))
        if which > 2:
            attributes["x"] = one_of(draw(st.lists(VECTORS, min_size=1, max_size=2)))
    bonds = draw(st.sampled_from([None, None, st.sampled_from("-=")]))
    if odd and bonds is not None:
        bonds = one_of(draw(st.lists(VALUES, min_size=1, max_size=2)))
    edge_attributes = {}
    if weighted or (weighted is None and draw(RARELY)):
        edge_attributes = {"weight": EDGE_WEIGHTS, "vector": st.sampled_from(EDGE_VECTORS)}
    if odd and edge_attributes:
        edge_attributes["weight"] = one_of(draw(st.lists(VALUES, min_size=1, max_size=2)))
        edge_attributes["vector"] = one_of(draw(st.lists(VECTORS, min_size=1, max_size=2)))
    may_be_empty = odd and draw(RARELY)
    one = single_graphs(
        attributes=attributes,
        min_nodes=0 if may_be_empty else 1,
        bonds=bonds,
        edge_attributes=edge_attributes,
    )
    graphs = draw(st.lists(one, min_size=min_graphs, max_size=max_graphs))
    if odd and draw(RARELY):  # attributes on some nodes only
        for _, data in list(graphs[0].nodes(data=True))[:1]:
            data.clear()
    if odd and draw(RARELY):  # or on some edges
        for data in list(graphs[0].edges.values())[:1]:
            data.clear()
    if draw(RARELY):  # the same graph twice
        graphs[-1] = graphs[0]
    views = st.sampled_from([None, *VIEWS])
    shown = [graph if (view := draw(views)) is None else view(graph) for graph in graphs]
    # A view may have lost all nodes.
    return [
        view if may_be_empty or len(view) else graph
        for view, graph in zip(shown, graphs, strict=True)
    ]


TAME = [
    {},
    {"labels": TAME_LABELS},
    {"features": st.floats(-10, 10, width=32)},
    {"labels": TAME_LABELS, "features": st.tuples(st.floats(-10, 10, width=32), st.just(1))},
]


def tame_lists(**sizes):
    return st.sampled_from(TAME).flatmap(lambda kind: graph_lists(**kind, **sizes))


KERNELS = ["wl", "wl-oa", "shortest-path", "random-walk", "vertex-histogram"]


@st.composite
def lofi(draw, kind, node_label="label", node_features=None, edge_weight=None, edge_features=None):
    structures = [None, None, "degree", "triangles", "rings", "walks", ("degree", "rings")]
    one_of = {
        "distances": [True, False],
        "edge_label": ["label", "label", "label", None, "order"],
        "max_ring": [8, 0, 3, 10**12],
        "structure": structures,
        "n_layers": [1, 2],
        "radius": [1, 0, 2],
        "kernel": ["l1", "intersection"],
        "pooling": [*POOLINGS],
        "readout": ["all", "last"],
        "dropout": [0.0, 0.5],
        "handle_unknown": ["ignore", "error"],
        "max_epochs": [1, 2],
        "early_stopping": [True, False],
        "n_members": [1, 1, 1, 2],
        "counts": [False, False, True],
    }
    return kind(
        **{name: draw(st.sampled_from(values)) for name, values in one_of.items()},
        n_masks=2,
        n_words=3,
        node_label=node_label,
        node_features=node_features,
        edge_weight=edge_weight,
        edge_features=edge_features,
        random_state=0,
    )


@st.composite
def kernel_machines(draw, kind, node_label="label"):
    return kind(
        kernel=draw(st.sampled_from(KERNELS)),
        n_iter=draw(st.integers(0, 3)),
        normalize=draw(st.sampled_from([True, True, False])),
        solver=draw(st.sampled_from(["auto", "gram", "linear"])),
        node_label=node_label,
        random_state=0,
    )


NETWORKS = [
    kind for name in baselines.__all__ if hasattr(kind := getattr(baselines, name), "_network")
]
COUNTS = [
    *(baselines.FingerprintClassifier, baselines.FingerprintRegressor),
    *(baselines.LabelHistogramClassifier, baselines.LabelHistogramRegressor),
]


@st.composite
def networks(
    draw, kind, node_label="label", node_features=None, edge_weight=None, edge_features=None
):
    one_of = {
        "edge_weight": [edge_weight],
        "n_layers": [1, 2],
        "pooling": [*POOLINGS],
        "dropout": [0.0, 0.5],
        "handle_unknown": ["ignore", "error"],
        "max_epochs": [1, 2],
        "early_stopping": [True, False],
        "edge_label": ["label", "label", None, "order"],
        "n_hidden": [3],
    }
    own = {name: values for name, values in one_of.items() if name in kind().get_params()}
    return kind(
        **{name: draw(st.sampled_from(values)) for name, values in own.items()},
        node_label=node_label,
        node_features=node_features,
        random_state=0,
    )


# Each of ours as often as one of the peers.
KINDS_OF_ESTIMATORS = st.one_of(
    st.sampled_from([LoFIClassifier, LoFIRegressor, GraphKernelSVC, GraphKernelSVR]),
    st.sampled_from([*NETWORKS, *COUNTS]),
)


@st.composite
def estimators(draw, graphs):
    """An estimator that reads what the graphs have, or at times what they do not have."""
    kind = draw(KINDS_OF_ESTIMATORS)
    names = {name for graph in graphs for _, data in graph.nodes(data=True) for name in data}
    node_label = draw(st.sampled_from(["label"] * 16 + [None, None, "y", ("a", 1)]))
    if kind in (GraphKernelSVC, GraphKernelSVR):
        return draw(kernel_machines(kind, node_label))
    if kind in COUNTS:
        return kind(node_label=node_label, C=draw(st.sampled_from([1.0, 0.01])))
    usual = "x" if "x" in names else None
    node_features = draw(st.sampled_from([usual] * 16 + [None, None, "x", "label"]))
    strategy = networks if kind in NETWORKS else lofi
    return draw(strategy(kind, node_label, node_features, **draw(edge_words(graphs))))


@st.composite
def edge_words(draw, graphs):
    """The names of weights and vectors of edges, where graphs have them, or at times not."""
    names = {name for graph in graphs for data in graph.edges.values() for name in data}
    weight, vector = ((name if name in names else None) for name in ("weight", "vector"))
    return {
        "edge_weight": draw(st.sampled_from([weight] * 8 + [None, "weight"])),
        "edge_features": draw(st.sampled_from([vector] * 8 + [None, None, "weight"])),
    }


@st.composite
def related(draw):
    """LoFI that reads all of the edges that there is, or some of it, and graphs to read."""
    kind = draw(st.sampled_from(TAME))
    graphs = draw(graph_lists(min_graphs=2, weighted=True, **kind))
    node_features = "x" if "features" in kind else None
    words = draw(edge_words(graphs))
    estimator = draw(st.sampled_from([LoFIClassifier, LoFIRegressor]))
    return draw(lofi(estimator, node_features=node_features, **words)), graphs


def tame_targets(n_graphs):
    """The first two targets differ."""
    more = st.lists(st.integers(0, 2), min_size=n_graphs - 2, max_size=n_graphs - 2)
    return more.map(lambda rest: np.array([0, 1, *rest]))


def _as_container(kind, values):
    try:
        return kind(values)
    except Exception:  # what cannot be made cannot be passed
        return values


def _object_array(values):
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


TARGET_VALUES = [
    st.integers(-1, 1),
    st.sampled_from(["a", "b", "", "\ud800", "1", "nan", "inf"]),
    st.sampled_from([True, False, np.bool_(True), np.str_("a"), np.int8(1), np.float32(0.5)]),
    st.sampled_from([0.0, 1.0, 0.5, 1e308, -1e308, 1.7e308, 1e-308, 5e-324]),
    st.sampled_from([2**63, -(2**63), 10**30, 10**5000, Fraction(1, 3), Decimal("1e1000")]),
    st.floats(),
    VALUES,
]


@st.composite
def odd_targets(draw, n_graphs):
    """Targets that are few values, of an odd shape or number or container."""
    which = draw(st.integers(0, len(TARGET_VALUES) - 1))  # mixed only where VALUES are
    pool = draw(st.lists(TARGET_VALUES[which], min_size=1, max_size=3))
    size = draw(st.sampled_from([n_graphs] * 15 + [0, n_graphs - 1, n_graphs + 1]))
    index = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    values = [pool[i % len(pool)] for i in [0, 1, *index][:size]]  # at least two of them, mostly
    shape = draw(st.integers(0, 19))
    if shape == 3:
        values = [[value] for value in values]
    elif shape == 4:
        values = [[value, value] for value in values]
    elif shape == 5:
        values = [values]
    kind = draw(
        st.sampled_from(
            [list, tuple, np.array, _object_array, pd.Series, pd.DataFrame, pd.Categorical]
        )
    )
    whole = st.sampled_from([None, "labels", 3, 0.5, {}, {"a": 1}, {0, 1}, iter([0, 1]), Plain()])
    return draw(whole) if draw(RARELY) else _as_container(kind, values)


WEIGHT_VALUES = st.one_of(
    st.sampled_from([0, 1, 2.5, 1e-308, 5e-324, 1e308, 1.7e308, 1e-30, 1e30, -1, -1e-300, True]),
    VALUES,
)


@st.composite
def odd_weights(draw, n_graphs):
    size = draw(st.sampled_from([n_graphs] * 15 + [0, n_graphs - 1, n_graphs + 1]))
    # Mostly numbers that are odd, because anything else is refused.
    extreme = [0, 0.0, 1, 2.5, 1e-308, 5e-324, 1e308, 1.7e308, 1e-30, 1e30, True]
    of_all = draw(st.sampled_from([st.sampled_from(extreme), st.floats(0, 1e308), WEIGHT_VALUES]))
    values = draw(st.lists(of_all, min_size=size, max_size=size))
    if draw(RARELY):
        values = [[value] for value in values]
    kind = draw(st.sampled_from([list, tuple, np.array, _object_array, pd.Series]))
    whole = st.sampled_from(["balanced", 2, 0, float("nan"), {}, {0: 1}, iter([1, 1]), Plain()])
    return draw(whole) if draw(RARELY) else _as_container(kind, values)


CONTAINERS = [
    list,
    tuple,
    _object_array,
    pd.Series,
    lambda graphs: pd.Series(graphs, index=range(5, 5 + len(graphs))),
    GraphSet.from_networkx,
    lambda graphs: GraphSet.from_networkx(graphs * 2)[len(graphs) :],
    lambda graphs: GraphSet.from_networkx(graphs)[np.arange(len(graphs))],
    lambda graphs: GraphSet.from_networkx(graphs)[:0],
    lambda graphs: GraphSet.from_networkx(graphs).to_networkx(),
    # What is not a list of graphs.
    iter,
    lambda graphs: (graph for graph in graphs),
    lambda graphs: graphs[0],
    lambda graphs: None,
    lambda graphs: [],
    lambda graphs: dict(enumerate(graphs)),
    lambda graphs: dict(enumerate(graphs)).values(),
    lambda graphs: set(graphs),
    lambda graphs: "graphs",
    lambda graphs: b"graphs",
    lambda graphs: [graphs],
    lambda graphs: [[graph] for graph in graphs],
    lambda graphs: [*graphs[1:], None],
    lambda graphs: [*graphs[1:], "graph"],
    lambda graphs: [*graphs[1:], nx.Graph],
    lambda graphs: [nx.to_numpy_array(nx.path_graph(3)) for _ in graphs],
    lambda graphs: np.array([nx.path_graph(2)] * len(graphs)),
    lambda graphs: np.zeros((len(graphs), 3)),
    lambda graphs: np.zeros(len(graphs)),
    lambda graphs: np.array(3),
    lambda graphs: pd.DataFrame({"graph": pd.Series(graphs)}),
    lambda graphs: range(len(graphs)),
    lambda graphs: 3,
    lambda graphs: Plain(),
    lambda graphs: GraphSet,
]
