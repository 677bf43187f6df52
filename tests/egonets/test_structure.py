"""Structural labels against networkx and powers of matrices."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import odd_structures

from helpers import ring_of
from sklofi import GraphSet
from sklofi.egonets import _rings as rings
from sklofi.egonets import _structure as structure
from sklofi.egonets._structure import STRUCTURES, check_structure, structure_columns


def in_steps(number):
    """Exact up to 8, then half octaves."""
    if number <= 8:
        return number
    begins = [9, *(int(np.ceil(8 * 2 ** (i / 2))) for i in range(1, 60))]
    return 8 + sum(number >= begin for begin in begins)


def plain_columns(graph):
    """The four labels of each node by plain loops."""
    simple = nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    looped = nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph)
    triangles = nx.triangles(nx.Graph(simple))
    matrix = nx.to_numpy_array(simple)
    steps = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    rows = []
    for i, node in enumerate(graph):
        sizes = {ring_of(looped, node, other) for other in looped[node]}
        ring_set = sum(2 ** (size - 1) for size in sizes if size is not None and size <= 8)
        walks = 0
        for n_steps in (2, 3, 4):
            chance = np.linalg.matrix_power(steps, n_steps)[i, i]
            level = 0 if chance < 2**-6.5 else 7 + round(np.log2(chance))
            walks = 8 * walks + level
        rows.append([in_steps(simple.degree[node]), in_steps(triangles[node]), ring_set, walks])
        if graph.is_directed():
            rows[-1][0] = in_steps(simple.out_degree[node])
    return rows


def assert_plain(graphs):
    columns = structure_columns(GraphSet.from_networkx(graphs, None), STRUCTURES)
    assert columns.tolist() == [row for graph in graphs for row in plain_columns(graph)]


def test_structure_of_odd_graphs_equals_plain_loops():
    assert_plain([*odd_structures(), nx.star_graph(40), nx.complete_graph(20), nx.wheel_graph(30)])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 25), st.floats(0, 1), st.booleans(), st.booleans(), st.integers(0, 99)
        ),
        min_size=1,
        max_size=4,
    )
)
def test_structure_of_any_random_graphs_equals_plain_loops(kinds):
    graphs = []
    for n_nodes, density, directed, has_loop, seed in kinds:
        graphs.append(nx.gnp_random_graph(n_nodes, density, seed=seed, directed=directed))
        graphs[-1].add_edges_from([(0, 0)] * has_loop)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rings, "WALKS_PER_NODE", 1e9)
        assert_plain(graphs)


def test_structure_does_not_depend_on_how_much_is_computed_at_a_time(monkeypatch):
    monkeypatch.setattr(rings, "STEPS_TOGETHER", 3)
    assert_plain([nx.gnp_random_graph(15, 0.3, seed=seed) for seed in range(5)])


def test_steps_are_those_of_the_docstring():
    numbers = [0, 1, 8, 9, 11, 12, 15, 16, 22, 23, 31, 32, 2**40]
    assert structure._in_steps(np.array(numbers))[:-1].tolist() == [
        0, 1, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13,
    ]  # fmt: skip
    assert structure._in_steps(np.array([10**9])) == in_steps(10**9)


def test_structure_is_computed_once_and_slices_take_it(monkeypatch):
    graphs = [nx.gnp_random_graph(10, 0.3, seed=seed) for seed in range(6)]
    whole = GraphSet.from_networkx(graphs)
    before = structure_columns(whole[[4, 4, 1]], STRUCTURES)
    structure_columns(whole, STRUCTURES)
    monkeypatch.setattr(structure, "_compute", None)
    assert structure_columns(whole[[4, 4, 1]], STRUCTURES).tolist() == before.tolist()


def test_names_of_structure_are_checked():
    assert check_structure(None) == ()
    assert check_structure("degree") == ("degree",)
    assert check_structure(["walks", "rings"]) == ("walks", "rings")
    for wrong in (["degrees"], [3], [["rings"]]):
        with pytest.raises(ValueError, match='structure has to be some of "degree", "triangles"'):
            check_structure(wrong)
    with pytest.raises(ValueError, match="twice"):
        check_structure(["rings", "rings"])


def test_a_graph_that_is_too_dense_for_walks_is_named(monkeypatch):
    monkeypatch.setattr(structure, "MAX_STEPS", 10)
    graphs = GraphSet.from_networkx([nx.path_graph(2), nx.complete_graph(9)])
    with pytest.raises(ValueError, match=r'Graph 1, with 9 nodes, .* Leave "walks" out'):
        structure_columns(graphs, ["walks"])
