import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from small_graphs import bonded_path, labeled_path

from sklofi import GraphSet
from sklofi.graphs._input import (
    as_graph_set,
    check_same_edge_features,
    check_same_edge_labeling,
    check_same_edge_weighting,
    count_edge_features,
    has_edge_labels,
    has_edge_weights,
)


def test_a_set_is_not_taken_for_what_it_is_not():
    graphs = GraphSet.from_networkx([labeled_path("ab", x=[1, 2], element="CN")])
    with pytest.raises(ValueError, match="node_features='x', but X is a GraphSet that was made"):
        as_graph_set(graphs, "label", "x")
    with pytest.raises(ValueError, match="node_label='element', but X is a GraphSet with other"):
        as_graph_set(graphs, "element", None)
    assert as_graph_set(graphs, "label", None) is graphs
    assert as_graph_set(graphs, None, None).label_ids is None


@pytest.mark.parametrize(
    "X, error, match",
    [
        (nx.path_graph(2), TypeError, r"single networkx Graph; .*\[graph\]"),
        (iter([nx.path_graph(2)]), TypeError, "list_iterator, which can be read only once"),
        ((g for g in [nx.path_graph(2)]), TypeError, r"generator.*list\(X\)"),
        (np.array([nx.path_graph(3)] * 2), ValueError, "array of 2 dimensions.*node names"),
        ([], ValueError, "no graphs"),
        (["ring"], ValueError, "Row 0 of X, 'ring', cannot be read as a molecule"),
        ({"a": nx.path_graph(2)}, TypeError, "list of networkx graphs.*got dict"),
        ("graphs", TypeError, "X is a single string; pass a list"),
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


def test_an_empty_set_is_refused():
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    with pytest.raises(ValueError, match="no graphs"):
        as_graph_set(graphs[:0], "label", None)


def test_a_set_is_not_taken_for_one_with_other_labels_of_edges():
    graphs = GraphSet.from_networkx([bonded_path("ab")], edge_label="bond")
    for edge_label in ("label", "bond"):
        assert as_graph_set(graphs, "label", None, edge_label) is graphs
    assert as_graph_set(graphs, "label", None, None).edge_label_ids is None
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
    assert [has_edge_labels(graphs) for graphs in (bare, labeled, empty)] == [False, True, None]
    with pytest.raises(ValueError, match="X has graphs without edge labels, but Me was fitted on"):
        check_same_edge_labeling(bare, True, "Me")
    with pytest.raises(ValueError, match="X has graphs with edge labels, but Me was fitted on"):
        check_same_edge_labeling(labeled, False, "Me")
    for graphs, had_labels in [(bare, False), (labeled, True), (empty, True), (labeled, None)]:
        check_same_edge_labeling(graphs, had_labels, "Me")


def test_numbers_on_edges_are_those_that_the_set_was_made_with():
    graph = nx.Graph([(0, 1, {"w": 1.0, "x": [1.0, 2.0]})])
    bare = GraphSet.from_networkx([graph], edge_label=None)
    full = GraphSet.from_networkx([graph], edge_label=None, edge_weight="w", edge_features="x")
    assert as_graph_set(full, "label") is full  # whoever reads them needs not name them
    assert as_graph_set(full, "label", edge_weight="w", edge_features="x") is full
    for name in ("edge_weight", "edge_features"):
        for graphs in (bare, full):
            with pytest.raises(ValueError, match=rf"{name}='y', but .*\(graphs, {name}='y'\)"):
                as_graph_set(graphs, "label", **{name: "y"})
        with pytest.raises(ValueError, match="that was made without them"):
            as_graph_set(bare, "label", **{name: "w"})
    empty = GraphSet.from_networkx([nx.empty_graph(1)])
    assert as_graph_set(empty, "label", edge_weight="w", edge_features="x") is empty
    read = as_graph_set([graph], "label", edge_weight="w", edge_features="x")
    assert read.edge_weights.tolist() == [1, 1] and read.edge_vectors.tolist() == [[1, 2]] * 2


def test_edges_have_the_same_numbers_at_both_times():
    graph = nx.Graph([(0, 1, {"w": 1.0, "x": [1.0, 2.0]})])
    bare, empty = (GraphSet.from_networkx([g], edge_label=None) for g in (graph, nx.empty_graph(1)))
    full, other = (
        GraphSet.from_networkx([graph], edge_label=None, edge_weight="w", edge_features=name)
        for name in "xw"
    )
    assert [*map(has_edge_weights, (bare, full, empty))] == [False, True, None]
    assert [*map(count_edge_features, (bare, full, other, empty))] == [0, 2, 1, None]
    with pytest.raises(ValueError, match="X has graphs without edge weights, but Me was fitted on"):
        check_same_edge_weighting(bare, True, "Me")
    with pytest.raises(ValueError, match="X has graphs with edge features, but Me was fitted on"):
        check_same_edge_features(full, 0, "Me")
    with pytest.raises(ValueError, match=r"edges of X have 1 features, but Me .* have 2"):
        check_same_edge_features(other, 2, "Me")
    for graphs, before in itertools.product((bare, full, other, empty), repeat=2):
        if graphs is before or empty in (graphs, before):
            check_same_edge_weighting(graphs, has_edge_weights(before), "Me")
            check_same_edge_features(graphs, count_edge_features(before), "Me")
