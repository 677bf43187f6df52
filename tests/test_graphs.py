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
from numpy.testing import assert_array_equal
from sklearn.utils import _safe_indexing

from sklofi import GraphSet
from sklofi.graphs import as_graph_set, take_segments
from sklofi.reading import sort_labels


def labelled_path(labels, **attributes):
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
    one = GraphSet.from_networkx([labelled_path(labels)])
    other = GraphSet.from_networkx([labelled_path(labels[::-1])])
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
        "from sklofi.reading import sort_labels;"
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
    assert GraphSet.from_networkx([labelled_path(atoms)]).labels == tuple(atoms)


def test_a_set_is_not_taken_for_what_it_is_not():
    graphs = GraphSet.from_networkx([labelled_path("ab", x=[1, 2], element="CN")])
    with pytest.raises(ValueError, match="node_features='x', but X is a GraphSet that was made"):
        as_graph_set(graphs, "label", "x")
    with pytest.raises(ValueError, match="node_label='element', but X is a GraphSet with other"):
        as_graph_set(graphs, "element", None)
    assert as_graph_set(graphs, "label", None) is graphs
    assert as_graph_set(graphs, None, None).label_ids is None


def test_labels_and_features_come_back():
    graph = labelled_path("ab", x=[[1, 2], (3.5, 4)], element=["C", "N"])
    back = GraphSet.from_networkx([graph], node_label="element", node_features="x")[0]
    assert dict(back.nodes(data="element")) == {0: "C", 1: "N"}
    assert_array_equal(back.nodes[1]["x"], [3.5, 4])
    assert set(back.nodes[0]) == {"element", "x"}


@pytest.mark.parametrize("values", [[1, 2], [[1], [2]], [np.float32(1), 2.0], [True, 2]])
def test_a_feature_may_be_a_number_or_a_vector(values):
    graphs = GraphSet.from_networkx([labelled_path("ab", x=values)], node_features="x")
    assert_array_equal(graphs.features, [[1], [2]])


@pytest.mark.parametrize(
    "key",
    [[2, 0, 2], np.array([1]), np.array([True, False, True, False]), slice(1, None, 2), [-1]],
    ids=str,
)
def test_slicing_is_slicing_the_list(key):
    graphs = [labelled_path("ab"), labelled_path("c"), labelled_path("aba"), labelled_path("bb")]
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
    graph = labelled_path("ab", x=[[1.0], [2.0]])
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
    ],
    ids=range(10),
)
def test_what_is_not_a_list_of_graphs_is_refused(X, error, match):
    with pytest.raises(error, match=match):
        as_graph_set(X, "label", None)


def test_an_empty_set_is_refused():
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    with pytest.raises(ValueError, match="no graphs"):
        as_graph_set(graphs[:0], "label", None)


def test_a_missing_label_is_located():
    graphs = [labelled_path("ab"), labelled_path("abc")]
    del graphs[1].nodes[2]["label"]
    with pytest.raises(ValueError, match=r"Graph 1, node 2, has no attribute 'label'.*1 of 5"):
        GraphSet.from_networkx(graphs)


def test_an_unhashable_label_is_located():
    graphs = [labelled_path("ab"), labelled_path(["a", [1, 2]])]
    with pytest.raises(TypeError, match=r"Graph 1, node 1, .*\[1, 2\].*node_features"):
        GraphSet.from_networkx(graphs)


def test_a_nan_label_is_located():
    with pytest.raises(ValueError, match="Graph 0, node 1, has the label NaN"):
        GraphSet.from_networkx([labelled_path(["a", float("nan")])])


def test_labels_that_are_missing_in_pandas_are_located():
    with pytest.raises(ValueError, match="Graph 0, node 0, has the label NaN"):
        GraphSet.from_networkx([labelled_path([pd.NA, "a"])])


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
        GraphSet.from_networkx([labelled_path("ab", x=values)], node_features="x")


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
        GraphSet.from_networkx([labelled_path(["a", label])])


def test_names_and_values_that_cannot_be_shown_are_named_by_their_type():
    graph = nx.Graph([(NoRepr(), 10**5000)])
    with pytest.raises(ValueError, match="Graph 0, node <int>, has no attribute 'label'"):
        next(iter(graph.nodes(data=True)))[1]["label"] = "a"
        GraphSet.from_networkx([graph])
    with pytest.raises(ValueError, match="node 0, has <NoRepr> as its features 'x'"):
        GraphSet.from_networkx([labelled_path("a", x=[NoRepr()])], node_features="x")


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
        GraphSet.from_networkx([labelled_path("a", x=[value])], node_features="x")


def test_several_names_are_not_the_name_of_an_attribute():
    graph = labelled_path("ab", x=[1, 2], y=[3, 4])
    with pytest.raises(TypeError, match=r"name one attribute each, got \['x', 'y'\] of type list"):
        GraphSet.from_networkx([graph], node_features=["x", "y"])
