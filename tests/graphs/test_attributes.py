from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_graphs import NoRepr, labeled_path

from sklofi import GraphSet


@pytest.mark.parametrize("values", [[1, 2], [[1], [2]], [np.float32(1), 2.0], [True, 2]])
def test_a_feature_may_be_a_number_or_a_vector(values):
    graphs = GraphSet.from_networkx([labeled_path("ab", x=values)], node_features="x")
    assert_array_equal(graphs.features, [[1], [2]])


def test_a_missing_label_is_located():
    graphs = [labeled_path("ab"), labeled_path("abc")]
    del graphs[1].nodes[2]["label"]
    with pytest.raises(ValueError, match=r"Graph 1, node 2, has no attribute 'label'.*1 of 5"):
        GraphSet.from_networkx(graphs)


@pytest.mark.parametrize(
    "values, match",
    [
        ([[1, 2], [3]], r"Graph 0, node 1, has features 'x' of shape \(1,\).*first \(2\)"),
        ([[1, 2], [3, np.nan]], "Graph 0, node 1, has NaN in its features 'x'"),
        ([[1, -np.inf], [3, 4]], "Graph 0, node 0, has an infinite"),
        ([1e300, 1], "Graph 0, node 0, has an infinite or too large value"),
        (
            [1, np.complex64(1j)],
            "Graph 0, node 1, has .* as its features 'x', which is not a number",
        ),
        ([Fraction(1, 2), np.complex64(1j)], "Graph 0, node 1, has .* which is not a number"),
        ([1, "carbon"], "Graph 0, node 1, has 'carbon' as its features 'x'.*node_label"),
        ([1, None], "node 1, has NaN|node 1, has None"),
        (["1", "2.5"], "node 0, has '1' as its features 'x'"),
        ([[], []], r"Graph 0, node 0, has features 'x' of shape \(0,\)"),
        ([[[1]], [[2]]], r"Graph 0, node 0, has features 'x' of shape \(1, 1\)"),
        ([1, [2]], "mix numbers and vectors"),
    ],
    ids=range(12),
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


def test_names_and_values_that_cannot_be_shown_are_named_by_their_type():
    graph = nx.Graph([(NoRepr(), 10**5000)])
    with pytest.raises(ValueError, match="Graph 0, node <int>, has no attribute 'label'"):
        next(iter(graph.nodes(data=True)))[1]["label"] = "a"
        GraphSet.from_networkx([graph])
    with pytest.raises(ValueError, match="node 0, has <NoRepr> as its features 'x'"):
        GraphSet.from_networkx([labeled_path("a", x=[NoRepr()])], node_features="x")


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
