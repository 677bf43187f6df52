import copy
import dataclasses
import os
import pickle
import subprocess
import sys
import weakref
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.ensemble import BaggingClassifier
from sklearn.multiclass import OneVsOneClassifier
from sklearn.utils import _safe_indexing

from sklofi import GraphKernelSVC, GraphSet
from sklofi.graphs._input import as_graph_set, check_same_edge_labeling, has_edge_labels
from sklofi.graphs._labels import sort_labels
from sklofi.graphs._segments import take_segments


def labeled_path(labels, **attributes):
    graph = nx.path_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    for name, values in attributes.items():
        nx.set_node_attributes(graph, dict(enumerate(values)), name)
    return graph


def same_graph(one, other):
    return (
        list(one.nodes(data=True)) == list(other.nodes(data=True))
        and nx.utils.edges_equal(one.edges, other.edges)
        and one.is_directed() == other.is_directed()
    )


ODD_NAMES = ["b", ("a", 1), frozenset(), 3, 2.5, True]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_any_graph_with_any_node_names_comes_back(kind):
    graph = kind()
    graph.add_nodes_from(ODD_NAMES)
    graph.add_edges_from([("b", ("a", 1)), (("a", 1), 3), ("b", ("a", 1)), (3, 3), (2.5, True)])
    back = GraphSet.from_networkx([nx.path_graph(3), graph]).to_networkx()[1]
    simple = nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph)
    assert same_graph(back, simple)
    assert [type(name) for name in back] == [type(name) for name in graph]


def test_numbers_out_of_order_keep_their_names_and_order():
    graph = nx.Graph([(7, 2), (2, 5)])
    back = GraphSet.from_networkx([graph])[0]
    assert list(back) == [7, 2, 5]
    assert GraphSet.from_networkx([graph]).node_names.dtype == np.int64


def test_nodes_named_by_their_number_need_no_names():
    assert GraphSet.from_networkx([nx.path_graph(3), nx.star_graph(2)]).node_names is None


def test_labels_of_any_hashable_type_are_numbered_in_a_fixed_order():
    labels = ["C", 1, ("x", 2), None, frozenset({1})]
    one = GraphSet.from_networkx([labeled_path(labels)])
    other = GraphSet.from_networkx([labeled_path(labels[::-1])])
    assert one.labels == other.labels
    assert [one.labels[i] for i in one.label_ids] == labels


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_views_are_read_like_their_copies(kind):
    graph = kind([(0, 1), (0, 2), (1, 2), (3, 0), (3, 0)])
    edges = [(0, 1), (1, 2), (3, 0)]
    views = [
        graph.subgraph([0, 1, 3]),
        graph.edge_subgraph([(*e, 0) for e in edges] if graph.is_multigraph() else edges),
        nx.subgraph_view(graph, filter_edge=lambda u, v, *key: 2 not in (u, v)),
        nx.freeze(graph.copy()),
        graph.reverse(copy=False) if graph.is_directed() else graph,
    ]
    for view in views:
        back, copied = GraphSet.from_networkx([view, view.copy()])
        assert same_graph(back, copied)


def test_the_order_of_labels_is_the_same_in_every_process():
    code = (
        "from sklofi.graphs._labels import sort_labels;"
        "labels = {frozenset({'x', 'y'}), frozenset({'y', 'z'}), ('b', 1), 'a', 2, None};"
        "print([sorted(x) if isinstance(x, frozenset) else x for x in sort_labels(labels)])"
    )
    orders = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert orders == {"[None, 2, 'a', ('b', 1), ['x', 'y'], ['y', 'z']]\n"}


def test_labels_of_unknown_types_stay_in_the_order_of_the_nodes():
    class Atom:
        pass

    atoms = [Atom(), Atom(), Atom()]
    assert GraphSet.from_networkx([labeled_path(atoms)]).labels == tuple(atoms)


def test_a_set_is_not_taken_for_what_it_is_not():
    graphs = GraphSet.from_networkx([labeled_path("ab", x=[1, 2], element="CN")])
    with pytest.raises(ValueError, match="node_features='x', but X is a GraphSet that was made"):
        as_graph_set(graphs, "label", "x")
    with pytest.raises(ValueError, match="node_label='element', but X is a GraphSet with other"):
        as_graph_set(graphs, "element", None)
    assert as_graph_set(graphs, "label", None) is graphs
    assert as_graph_set(graphs, None, None).label_ids is None


def test_labels_and_features_come_back():
    graph = labeled_path("ab", x=[[1, 2], (3.5, 4)], element=["C", "N"])
    back = GraphSet.from_networkx([graph], node_label="element", node_features="x")[0]
    assert dict(back.nodes(data="element")) == {0: "C", 1: "N"}
    assert_array_equal(back.nodes[1]["x"], [3.5, 4])
    assert set(back.nodes[0]) == {"element", "x"}


@pytest.mark.parametrize("values", [[1, 2], [[1], [2]], [np.float32(1), 2.0], [True, 2]])
def test_a_feature_may_be_a_number_or_a_vector(values):
    graphs = GraphSet.from_networkx([labeled_path("ab", x=values)], node_features="x")
    assert_array_equal(graphs.features, [[1], [2]])


@pytest.mark.parametrize(
    "key",
    [[2, 0, 2], np.array([1]), np.array([True, False, True, False]), slice(1, None, 2), [-1]],
    ids=str,
)
def test_slicing_is_slicing_the_list(key):
    graphs = [labeled_path("ab"), labeled_path("c"), labeled_path("aba"), labeled_path("bb")]
    graphs = [nx.relabel_nodes(graph, lambda node: f"n{node}") for graph in graphs]
    expected = [graphs[i] for i in np.arange(4)[key]]
    sliced = GraphSet.from_networkx(graphs)[key]
    assert len(sliced) == len(expected)
    assert all(map(same_graph, sliced, expected))


def test_scikit_learn_can_slice():
    graphs = GraphSet.from_networkx([nx.path_graph(n) for n in (1, 2, 3)])
    assert graphs.shape == (3,)
    assert [len(g) for g in _safe_indexing(graphs, np.array([2, 0]))] == [3, 1]
    assert [len(g) for g in graphs[np.array([True, False, True]), ...]] == [1, 3]


def test_one_graph_of_a_set_is_a_networkx_graph():
    graphs = GraphSet.from_networkx([nx.path_graph(2), nx.star_graph(3)])
    assert same_graph(graphs[-1], nx.star_graph(3))
    with pytest.raises(IndexError):
        graphs[2]
    with pytest.raises(IndexError, match="one axis"):
        graphs[0, 1]


def test_a_set_is_cheap_to_ship():
    graphs = [nx.gnp_random_graph(30, 0.1, seed=i) for i in range(50)]
    converted = GraphSet.from_networkx(graphs)
    shipped = pickle.dumps(converted)
    arrays = (converted.node_offsets, converted.edge_offsets, converted.neighbors)
    assert len(shipped) < sum(array.nbytes for array in arrays) + 2000
    assert all(map(same_graph, pickle.loads(shipped), graphs))


def test_size_counts_the_arrays_and_the_names():
    numbers = GraphSet.from_networkx([nx.path_graph(1000)])
    arrays = (numbers.node_offsets, numbers.edge_offsets, numbers.neighbors)
    assert sys.getsizeof(numbers) > sum(array.nbytes for array in arrays)
    named = nx.relabel_nodes(nx.path_graph(1000), lambda node: f"{node:100}")
    assert sys.getsizeof(GraphSet.from_networkx([named])) > sys.getsizeof(numbers) + 100_000


def test_a_set_can_be_weakly_referenced():
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    assert weakref.ref(graphs)() is graphs


def test_a_set_cannot_be_changed():
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    with pytest.raises(AttributeError):
        graphs.labels = ("a",)


def test_graphs_are_not_changed():
    graph = labeled_path("ab", x=[[1.0], [2.0]])
    before = graph.copy()
    converted = GraphSet.from_networkx([graph], node_features="x")
    converted[0].nodes[0]["x"][:] = 9
    assert same_graph(graph, before)
    assert converted.features[0] == 1


@pytest.mark.parametrize(
    "X, error, match",
    [
        (nx.path_graph(2), TypeError, r"single networkx Graph; .*\[graph\]"),
        (iter([nx.path_graph(2)]), TypeError, "list_iterator, which can be read only once"),
        ((g for g in [nx.path_graph(2)]), TypeError, r"generator.*list\(X\)"),
        (np.array([nx.path_graph(3)] * 2), ValueError, "array of 2 dimensions.*node names"),
        ([], ValueError, "no graphs"),
        (["C1CC1"], TypeError, "Graph 0 is of type str, not a networkx graph"),
        ({"a": nx.path_graph(2)}, TypeError, "list of networkx graphs.*got dict"),
        ("graphs", TypeError, "got str"),
        (None, TypeError, "got NoneType"),
        ([nx.path_graph(2), nx.Graph()], ValueError, "Graph 1 has no nodes. Remove"),
        ([Fraction(1, 2)], TypeError, r"Graph 0 is of type fractions\.Fraction, not a networkx"),
        (Fraction(1, 2), TypeError, r"GraphSet, got fractions\.Fraction\."),
        (
            pd.DataFrame({"graph": [nx.path_graph(2)], "y": [1]}),
            ValueError,
            r"data frame with 2 columns \('graph', 'y'\).* Pass the column",
        ),
        (pd.DataFrame(), ValueError, r"data frame with 0 columns"),
    ],
    ids=range(14),
)
def test_what_is_not_a_list_of_graphs_is_refused(X, error, match):
    with pytest.raises(error, match=match):
        as_graph_set(X, "label", None)


def test_a_data_frame_of_one_column_is_its_column():
    graphs = [nx.path_graph(n) for n in (2, 3)]
    frame = pd.DataFrame({"graph": graphs}, index=[7, 5])
    assert len(frame.columns) == 1
    found = as_graph_set(frame, "label", None)
    assert_array_equal(found.node_offsets, GraphSet.from_networkx(graphs).node_offsets)


def test_an_empty_set_is_refused():
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    with pytest.raises(ValueError, match="no graphs"):
        as_graph_set(graphs[:0], "label", None)


def test_a_missing_label_is_located():
    graphs = [labeled_path("ab"), labeled_path("abc")]
    del graphs[1].nodes[2]["label"]
    with pytest.raises(ValueError, match=r"Graph 1, node 2, has no attribute 'label'.*1 of 5"):
        GraphSet.from_networkx(graphs)


def test_an_unhashable_label_is_located():
    graphs = [labeled_path("ab"), labeled_path(["a", [1, 2]])]
    with pytest.raises(TypeError, match=r"Graph 1, node 1, .*\[1, 2\].*node_features"):
        GraphSet.from_networkx(graphs)


def test_a_nan_label_is_located():
    with pytest.raises(ValueError, match="Graph 0, node 1, has the label NaN"):
        GraphSet.from_networkx([labeled_path(["a", float("nan")])])


@pytest.mark.parametrize("label", [("C", float("nan")), frozenset([("C", (float("nan"),))])])
def test_a_nan_inside_a_label_is_located(label):
    """It equals itself as long as it is the same object: not after saving or pickling."""
    with pytest.raises(ValueError, match="Graph 0, node 1, has NaN in its label"):
        GraphSet.from_networkx([labeled_path(["a", label])])


@pytest.mark.parametrize("scalar", [torch.tensor, np.array])
def test_scalars_of_torch_and_numpy_are_labels_by_their_value(scalar):
    labels = [scalar(1), scalar(2), scalar(1), ("C", scalar(1)), ("C", scalar(1))]
    graphs = GraphSet.from_networkx([labeled_path(labels)])
    assert graphs.labels == (1, 2, ("C", 1))
    assert graphs.label_ids.tolist() == [0, 1, 0, 2, 2]


@pytest.mark.parametrize("label", [torch.tensor([1]), np.array([1]), ("C", torch.tensor([1]))])
def test_arrays_are_no_labels(label):
    with pytest.raises(TypeError, match=r"Graph 0, node 1, has the label .* node_features"):
        GraphSet.from_networkx([labeled_path(["a", label])])


def test_a_nan_in_a_tensor_is_located():
    with pytest.raises(ValueError, match="Graph 0, node 1, has the label NaN"):
        GraphSet.from_networkx([labeled_path(["a", torch.tensor(float("nan"))])])


def test_labels_that_are_missing_in_pandas_are_located():
    with pytest.raises(ValueError, match="Graph 0, node 0, has the label NaN"):
        GraphSet.from_networkx([labeled_path([pd.NA, "a"])])


@pytest.mark.parametrize(
    "values, match",
    [
        ([[1, 2], [3]], r"Graph 0, node 1, has features 'x' of shape \(1,\).*first \(2\)"),
        ([[1, 2], [3, np.nan]], "Graph 0, node 1, has NaN in its features 'x'"),
        ([[1, -np.inf], [3, 4]], "Graph 0, node 0, has an infinite"),
        ([1e300, 1], "Graph 0, node 0, has an infinite or too large value"),
        ([1, "carbon"], "Graph 0, node 1, has 'carbon' as its features 'x'.*node_label"),
        ([1, None], "node 1, has NaN|node 1, has None"),
        (["1", "2.5"], "node 0, has '1' as its features 'x'"),
        ([[], []], r"Graph 0, node 0, has features 'x' of shape \(0,\)"),
        ([[[1]], [[2]]], r"Graph 0, node 0, has features 'x' of shape \(1, 1\)"),
        ([1, [2]], "mix numbers and vectors"),
    ],
    ids=range(10),
)
def test_bad_features_are_located(values, match):
    with pytest.raises(ValueError, match=match):
        GraphSet.from_networkx([labeled_path("ab", x=values)], node_features="x")


def test_a_label_name_that_nobody_has_is_an_error_unless_it_is_the_default():
    graph = nx.path_graph(2)
    assert GraphSet.from_networkx([graph]).label_ids is None
    with pytest.raises(ValueError, match="No node of any graph has the attribute 'atom'"):
        GraphSet.from_networkx([graph], node_label="atom")
    with pytest.raises(ValueError, match=r"'x' \(node_features\)"):
        GraphSet.from_networkx([graph], node_features="x")


def test_attributes_under_another_name_are_not_ignored_silently():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, "C", "element")
    with pytest.warns(UserWarning, match="although they have the attributes 'element'"):
        GraphSet.from_networkx([graph])
    assert GraphSet.from_networkx([graph], node_label=None).label_ids is None
    assert GraphSet.from_networkx([graph], node_label="element").labels == ("C",)


def test_take_segments_of_nothing_is_nothing():
    positions, offsets = take_segments(np.array([0, 2, 5]), np.array([], dtype=int))
    assert len(positions) == 0
    assert_array_equal(offsets, [0])


def test_labels_sort_by_value_where_they_can():
    assert sort_labels({10, 9, 1}) == [1, 9, 10]
    assert sort_labels({"b", 1, "a"}) == [1, "a", "b"]
    assert sort_labels([2.5, True, np.int64(2)]) == [True, 2, 2.5]
    assert sort_labels([1e300, np.float16(3)]) == [3, 1e300]
    assert sort_labels([np.timedelta64(1, "D"), 2]) == [2, np.timedelta64(1, "D")]


def test_what_is_kept_is_made_once_and_neither_pickled_nor_copied():
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    size = len(pickle.dumps(graphs))
    made = [graphs.keep("key", lambda: bytearray(10_000)) for _ in range(2)]
    assert made[0] is made[1]
    assert len(pickle.dumps(graphs)) == size
    for copied in (copy.copy(graphs), copy.deepcopy(graphs)):
        assert copied.keep("key", lambda: "new") == "new"


def test_arrays_are_read_only_though_not_those_of_the_caller():
    """Tables are derived from them; a change would go unnoticed."""
    mine = np.zeros((3, 2))
    graph = GraphSet.from_networkx([nx.path_graph(3)])
    graphs = dataclasses.replace(graph, features=mine)
    for one in (graphs, graphs[:1], pickle.loads(pickle.dumps(graphs))):
        for array in (one.features, one.neighbors, one.node_offsets):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
    mine[0] = 1


def test_a_worker_that_is_sent_the_same_graphs_again_keeps_their_tables():
    def sent(*sizes):
        return pickle.dumps(GraphSet.from_networkx([nx.path_graph(n) for n in sizes]))

    def tables(message):
        return pickle.loads(message).keep("key", object)

    assert sent(3, 4) == sent(3, 4)  # joblib hashes pickles
    training, validation, other = sent(3, 4), sent(5), sent(6)
    kept = [tables(training), tables(validation)]
    assert [tables(training), tables(validation)] == kept
    tables(other)
    assert tables(training) is not kept[0]  # only the last two are held


def test_slices_know_where_they_came_from():
    graphs = GraphSet.from_networkx([nx.path_graph(n) for n in (3, 4, 5, 6)])
    whole, rows = graphs.origin
    assert whole is graphs and rows.tolist() == [0, 1, 2, 3]
    whole, rows = graphs[1:][[2, 0], ...].origin
    assert whole is graphs and rows.tolist() == [3, 1]
    for alone in (pickle.loads(pickle.dumps(graphs[[2]])), copy.copy(graphs[[2]])):
        assert alone.origin[0] is alone and len(alone) == 1


def test_without_labels_slices_still_share_their_tables():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, "a", "label")
    graphs = GraphSet.from_networkx([graph, graph])
    one, other = graphs[[1]].without_labels(), graphs[[0]].without_labels()
    assert one.label_ids is None and one.labels == ()
    kept = one.origin[0].keep("key", object)
    assert other.origin[0].keep("key", object) is kept
    assert graphs.without_labels().keep("key", object) is kept
    assert graphs.keep("key", object) is not kept
    assert graphs.without_labels().keep("egonets", dict) is graphs.keep("egonets", dict)
    assert one.without_labels() is one


class NoRepr:
    def __repr__(self):
        raise RuntimeError


class NoComparison:
    def __eq__(self, other):
        return np.array([True, False])

    def __hash__(self):
        return 1


class NoHash:
    def __hash__(self):
        raise RuntimeError


@pytest.mark.parametrize("label", [NoComparison(), NoHash(), [1]])
def test_labels_of_classes_that_fail_are_located(label):
    with pytest.raises(TypeError, match=r"Graph 0, node 1, .*cannot be hashed and compared"):
        GraphSet.from_networkx([labeled_path(["a", label])])


def test_names_and_values_that_cannot_be_shown_are_named_by_their_type():
    graph = nx.Graph([(NoRepr(), 10**5000)])
    with pytest.raises(ValueError, match="Graph 0, node <int>, has no attribute 'label'"):
        next(iter(graph.nodes(data=True)))[1]["label"] = "a"
        GraphSet.from_networkx([graph])
    with pytest.raises(ValueError, match="node 0, has <NoRepr> as its features 'x'"):
        GraphSet.from_networkx([labeled_path("a", x=[NoRepr()])], node_features="x")


def test_names_that_do_not_compare_to_numbers_are_read():
    name = NoComparison()
    graph = nx.Graph()
    graph.add_node(name)
    assert next(iter(GraphSet.from_networkx([graph])[0])) is name


@pytest.mark.parametrize(
    "value",
    [
        1j,
        np.datetime64("2020-01-01"),
        np.timedelta64(1),
        10**400,
        NoRepr(),
        b"1",
        [Fraction(1), "1"],
    ],
    ids=range(7),
)
def test_what_numpy_would_turn_into_other_numbers_is_no_feature(value):
    with pytest.raises(ValueError, match=r"node 0, has .* which is not a number"):
        GraphSet.from_networkx([labeled_path("a", x=[value])], node_features="x")


def test_several_names_are_not_the_name_of_an_attribute():
    graph = labeled_path("ab", x=[1, 2], y=[3, 4])
    with pytest.raises(TypeError, match=r"name one attribute each, got \['x', 'y'\] of type list"):
        GraphSet.from_networkx([graph], node_features=["x", "y"])


# Labels of edges


def bonded_path(labels, kind=nx.Graph, name="bond"):
    graph = nx.path_graph(len(labels) + 1, create_using=kind)
    for (_, _, data), label in zip(graph.edges(data=True), labels, strict=True):
        data[name] = label
    return graph


def adjacency(graph):
    """Neighbors and attributes of edges as dictionaries, in both directions if there are two."""
    return {node: dict(adjacent) for node, adjacent in graph.adjacency()}


def stored_labels(graphs, edge_label="bond"):
    """Of each entry of `neighbors` the label, as the networkx graphs of the set have it."""
    return [
        data[edge_label]
        for graph in graphs
        for _, adjacent in graph.adjacency()
        for data in adjacent.values()
    ]


def test_labels_of_edges_are_read_under_the_default_name_and_can_be_left_out():
    graph = bonded_path("ab", name="label")
    assert GraphSet.from_networkx([graph]).edge_labels == ("a", "b")
    graphs = GraphSet.from_networkx([graph], edge_label=None)
    assert graphs.edge_label_ids is None and graphs.edge_labels == ()
    assert list(graphs[0].edges(data=True)) == [(0, 1, {}), (1, 2, {})]
    assert repr(graphs) == "GraphSet(n_graphs=1, n_nodes=3)"


def test_labels_of_edges_stand_beside_the_neighbors():
    graph = bonded_path(["single", "double"])
    graphs = GraphSet.from_networkx([graph], edge_label="bond")
    assert graphs.edge_labels == ("double", "single")
    assert graphs.neighbors.tolist() == [1, 0, 2, 1]
    assert graphs.edge_label_ids.tolist() == [1, 1, 0, 0]
    assert graphs.edge_label_ids.dtype == np.int32
    assert repr(graphs) == "GraphSet(n_graphs=1, n_nodes=3, n_edge_labels=2)"
    graphs.check_arrays()


ODD_LABELS = [None, "a", 1, 2.5, ("a", 1), frozenset({1}), np.int64(7), np.str_("é"), b"x"]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_labels_of_edges_come_back_whatever_they_are(kind):
    names = [("a", 1), "b", 3, 2.5, True, frozenset(), ((),), b"", (1, 2), -1]
    graph = nx.relabel_nodes(bonded_path(ODD_LABELS, kind), dict(enumerate(names)))
    u, v = names[:2]
    graph.add_edge(u, u, bond="loop")
    if graph.is_directed():
        graph.add_edge(v, u, bond="back")  # another label in the other direction
    if graph.is_multigraph():
        graph.add_edge(u, v, bond=None)  # which is the label it has
    simple = nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph)
    converted = GraphSet.from_networkx([bonded_path("ab"), graph], edge_label="bond")
    shipped = pickle.loads(pickle.dumps(converted))
    for graphs in (converted, shipped, copy.copy(converted), copy.deepcopy(converted)):
        graphs.check_arrays()
        assert graphs.edge_label == "bond"
        back = graphs.to_networkx()
        assert adjacency(back[1]) == adjacency(simple)
        assert [graphs.edge_labels[i] for i in graphs.edge_label_ids] == stored_labels(back)
        types = {type(data["bond"]) for *_, data in back[1].edges(data=True)}
        assert types == {type(label) for label in ODD_LABELS}


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_labels_of_edges_of_views_are_those_of_their_copies(kind):
    graph = kind()
    edges = [(0, 1, "a"), (0, 2, "b"), (1, 2, "c"), (3, 0, "d"), (3, 0, "d"), (2, 3, "a")]
    graph.add_edges_from((u, v, {"bond": bond}) for u, v, bond in edges)
    some = [(0, 1), (1, 2), (3, 0)]
    views = [
        graph.subgraph([0, 1, 3]),
        graph.edge_subgraph([(*e, 0) for e in some] if graph.is_multigraph() else some),
        nx.subgraph_view(graph, filter_edge=lambda u, v, *key: 2 not in (u, v)),
        nx.freeze(graph.copy()),
        graph.reverse(copy=False) if graph.is_directed() else graph.to_directed(as_view=True),
        graph.to_undirected(as_view=True),
    ]
    for view in views:
        back, copied = GraphSet.from_networkx([view, view.copy()], edge_label="bond")
        assert adjacency(back) == adjacency(copied)
        assert back.number_of_edges() > 0


def test_a_view_with_two_labels_for_one_edge_is_refused():
    graph = nx.DiGraph()
    graph.add_edge("u", "v", bond=1)
    graph.add_edge("v", "u", bond=2)
    with pytest.raises(ValueError, match=r"Graph 1, edge \('u', 'v'\), of a graph that is not"):
        GraphSet.from_networkx([graph, graph.to_undirected(as_view=True)], edge_label="bond")


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1, {"label": "a"}), (1, 2, {})],
        [(0, 1, {"label": "a"}), (0, 1, {"label": "b"})],
    ],
    ids=["a missing label", "two labels"],
)
def test_labels_of_edges_that_cannot_be_read_say_how_to_ignore_them(edges):
    """Nobody has asked for them: they are read by default."""
    graphs = [nx.MultiGraph(edges)]
    with pytest.raises(ValueError, match="pass edge_label=None to ignore"):
        GraphSet.from_networkx(graphs)
    assert GraphSet.from_networkx(graphs, edge_label=None).edge_labels == ()


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_edges_with_different_labels_are_refused(kind):
    graph = bonded_path("aba", kind)
    graph.add_edge(1, 2, bond="c")
    message = r"Graph 1, edge \(1, 2\), has parallel edges with the labels 'b' and 'c' under 'bond'"
    with pytest.raises(ValueError, match=message):
        GraphSet.from_networkx([bonded_path("a"), graph], edge_label="bond")


@pytest.mark.parametrize(
    "key", [[2, 0, 2], np.array([False, True, False]), slice(1, None)], ids=str
)
def test_slices_keep_the_labels_of_their_edges(key):
    graphs = [bonded_path("ab"), bonded_path("c", nx.DiGraph), bonded_path("bca")]
    sliced = GraphSet.from_networkx(graphs, edge_label="bond")[key]
    sliced.check_arrays()
    for one, other in zip(sliced, [graphs[i] for i in np.arange(3)[key]], strict=True):
        assert adjacency(one) == adjacency(other)


@pytest.mark.parametrize("name", ["label", "bond"])
def test_graphs_without_edges_need_no_labels_of_edges(name):
    bare = nx.empty_graph(3)
    assert GraphSet.from_networkx([bare], edge_label=name).edge_label_ids is None
    graphs = GraphSet.from_networkx([bonded_path("ab", name=name), bare], edge_label=name)
    assert graphs.edge_labels == ("a", "b")
    assert graphs[[1]].edge_label_ids.tolist() == []
    graphs[[1]].check_arrays()


def test_an_edge_label_that_nobody_has_is_an_error_unless_it_is_the_default():
    graph = bonded_path("ab")
    message = r"No edge of any graph has the attribute 'kind' \(edge_label\); the edges have the"
    with pytest.raises(ValueError, match=f"{message} attributes 'bond'"):
        GraphSet.from_networkx([graph], edge_label="kind")
    assert GraphSet.from_networkx([nx.path_graph(3)], edge_label="label").edge_label_ids is None
    with pytest.warns(UserWarning, match="No edge has the attribute 'label'.*'bond'.*edge_label="):
        assert GraphSet.from_networkx([graph], edge_label="label").edge_label_ids is None


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
def test_a_missing_label_of_an_edge_is_located_and_counted_once(kind):
    graph = nx.relabel_nodes(bonded_path("aba", kind), {2: ("x", 2)})
    del graph.edges[(1, ("x", 2), 0) if graph.is_multigraph() else (1, ("x", 2))]["bond"]
    message = r"Graph 1, edge \(1, \('x', 2\)\), has no attribute 'bond', .* \(1 of 5 edges lack it"
    with pytest.raises(ValueError, match=message):
        GraphSet.from_networkx([bonded_path("ab"), graph], edge_label="bond")


@pytest.mark.parametrize("label", [NoComparison(), NoHash(), [1], np.array([1, 2])])
def test_labels_of_edges_that_are_no_categories_are_located(label):
    message = r"Graph 0, edge \(1, 2\), has the label .* cannot be hashed and compared\. Labels are"
    with pytest.raises(TypeError, match=message):
        GraphSet.from_networkx([bonded_path(["a", label])], edge_label="bond")


@pytest.mark.parametrize("label", [float("nan"), pd.NA])
def test_nan_as_a_label_of_an_edge_is_located(label):
    with pytest.raises(ValueError, match=r"Graph 0, edge \(1, 2\), has the label NaN under 'bond'"):
        GraphSet.from_networkx([bonded_path(["a", label])], edge_label="bond")


def test_several_names_are_not_the_name_of_an_edge_attribute():
    with pytest.raises(TypeError, match=r"edge_label names one attribute, got \['a'\] of type"):
        GraphSet.from_networkx([bonded_path("a")], edge_label=["a"])


def test_a_set_is_not_taken_for_one_with_other_labels_of_edges():
    graphs = GraphSet.from_networkx([bonded_path("ab")], edge_label="bond")
    for edge_label in (None, "label", "bond"):
        assert as_graph_set(graphs, "label", None, edge_label) is graphs
    with pytest.raises(ValueError, match="edge_label='kind', but X is a GraphSet that was made"):
        as_graph_set(graphs, "label", None, "kind")
    bare = GraphSet.from_networkx([bonded_path("ab")], edge_label=None)
    assert as_graph_set(bare, "label", None, "label") is bare
    with pytest.raises(ValueError, match=r"from_networkx\(graphs, edge_label='bond'\)"):
        as_graph_set(bare, "label", None, "bond")
    assert as_graph_set([bonded_path("ab")], "label", None, "bond").edge_labels == ("a", "b")


def test_edges_have_labels_at_both_times_or_at_none():
    bare = GraphSet.from_networkx([nx.path_graph(3)])
    graphs = GraphSet.from_networkx([bonded_path("ab"), nx.empty_graph(2)], edge_label="bond")
    labeled, empty = graphs[[0]], graphs[[1]]
    assert [has_edge_labels(one) for one in (bare, labeled, empty)] == [False, True, None]
    with pytest.raises(ValueError, match="X has graphs without edge labels, but Me was fitted on"):
        check_same_edge_labeling(bare, True, "Me")
    with pytest.raises(ValueError, match="X has graphs with edge labels, but Me was fitted on"):
        check_same_edge_labeling(labeled, False, "Me")
    for graphs, had_labels in [(bare, False), (labeled, True), (empty, True), (labeled, None)]:
        check_same_edge_labeling(graphs, had_labels, "Me")


def test_labels_of_edges_count_in_the_fingerprint_and_in_the_size():
    graphs = [bonded_path("ab"), bonded_path("ba"), nx.path_graph(3)]
    one, other = (GraphSet.from_networkx([graph], edge_label="bond") for graph in graphs[:2])
    assert one.fingerprint != other.fingerprint
    bare, plain = (GraphSet.from_networkx([graph], edge_label=None) for graph in graphs[1:])
    assert bare.fingerprint == plain.fingerprint != one.fingerprint
    assert sys.getsizeof(one) > sys.getsizeof(bare) + one.edge_label_ids.nbytes
    with pytest.raises(ValueError, match="read-only"):
        one.edge_label_ids[0] = 1


def test_the_fingerprint_of_graphs_without_labels_of_edges_is_that_of_former_versions():
    graphs = GraphSet.from_networkx([labeled_path("aba")])
    assert graphs.fingerprint.hex() == "be73c9aae376ec73508584490d8202e8"


def test_sets_that_former_versions_have_pickled_can_be_loaded():
    state = GraphSet.from_networkx([labeled_path("aba")]).__getstate__()
    former = {name: value for name, value in state.items() if not name.startswith("edge_label")}
    graphs = GraphSet.__new__(GraphSet)
    graphs.__setstate__(former)
    assert graphs[:1].edge_label_ids is None
    assert same_graph(copy.copy(graphs)[0], labeled_path("aba"))


def test_without_labels_of_nodes_edges_keep_theirs():
    graph = bonded_path("ab")
    nx.set_node_attributes(graph, "a", "label")
    graphs = GraphSet.from_networkx([graph], edge_label="bond").without_labels()
    assert graphs.label_ids is None and graphs.edge_labels == ("a", "b")


@pytest.mark.parametrize(
    "ids, labels", [([0, 0, 0], "a"), ([0, 0, 0, 1], "a"), ([0, 0, 0, -1], "a")]
)
def test_labels_of_edges_that_do_not_fit_are_noticed(ids, labels):
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    wrong = dataclasses.replace(graphs, edge_label_ids=np.array(ids), edge_labels=("a",))
    with pytest.raises(ValueError, match="do not fit together"):
        wrong.check_arrays()


@pytest.mark.parametrize("container", [list, GraphSet.from_networkx])
@pytest.mark.parametrize("meta", [BaggingClassifier, OneVsOneClassifier])
def test_meta_estimators_for_tables_are_named(meta, container):
    graphs = container([labeled_path("aba") for _ in range(10)])
    with pytest.raises((TypeError, ValueError), match="tables only, such as BaggingClassifier"):
        meta(GraphKernelSVC()).fit(graphs, np.arange(10) % 2)
