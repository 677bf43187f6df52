import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from display_helpers import disc_colors, letters, outlines, svg_of

from sklofi.inspection._canvas import frame
from sklofi.inspection._graph_drawing import GraphDrawing, all_orders


def drawn(graph, *, node_label=None, edge_label=None, label_names=None, **options):
    figure, ax = plt.subplots()
    drawing = GraphDrawing(
        graph,
        node_label=node_label,
        edge_label=edge_label,
        orders=all_orders([graph], edge_label),
        label_names=label_names,
    )
    frame([ax], [drawing.extent])
    drawing.draw(ax, **options)
    figure.canvas.draw()
    return drawing, ax


def bonded(*labels):
    graph = nx.path_graph(len(labels) + 1)
    nx.set_edge_attributes(graph, dict(zip(graph.edges, labels, strict=True)), "bond")
    return graph


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_labels_are_written_on_edges_once_for_each_line(kind):
    graph = kind([(0, 1, {"bond": "bus"}), (1, 2, {"bond": "train"}), (2, 3, {})])
    graph.add_edge(3, 3, bond="walk")
    if graph.is_multigraph():
        graph.add_edge(0, 1, bond="ship")
        graph.add_edge(0, 1, bond="ship")
    if graph.is_directed():
        graph.add_edge(2, 1, bond="plane")
    _, ax = drawn(graph, edge_label="bond")
    assert sorted(letters(ax)) == [
        "bus, ship" if graph.is_multigraph() else "bus",
        "train, plane" if graph.is_directed() else "train",
        "walk",
    ]


def test_orders_of_bonds_are_lines_and_not_texts():
    _, ax = drawn(bonded("single", "double", "triple"), edge_label="bond")
    assert letters(ax) == []
    assert [len(lines) for lines in outlines(ax)] == [1 + 2 + 3]
    _, ax = drawn(bonded(1, 2, 3), edge_label="bond")
    assert [len(lines) for lines in outlines(ax)] == [6]
    _, ax = drawn(bonded(1, 2, 3, 0), edge_label="bond")
    assert sorted(letters(ax)) == ["0", "1", "2", "3"]
    parallel = nx.MultiGraph([(0, 1, {"bond": 1}), (0, 1, {"bond": 2})])
    assert letters(drawn(parallel, edge_label="bond")[1]) == ["1, 2"]


def test_directed_edges_have_heads_that_touch_the_nodes_they_lead_to():
    drawing, ax = drawn(nx.DiGraph([(0, 1), (1, 2), (2, 1)]))
    (parts,) = outlines(ax)
    heads = [part for part in parts if len(part) == 4]  # closed triangles
    assert len(heads) == 3
    for head, node in zip(heads, [1, 2, 1], strict=True):
        distance = np.linalg.norm(head - drawing.positions[node], axis=1).min()
        assert drawing.radius < distance < 1.2 * drawing.radius


def test_labels_fit_into_nodes():
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, dict(enumerate(["C", "Cl", "carbonyl", None])), "label")
    drawing, ax = drawn(graph, node_label="label", label_names={"C": "carbon"})
    assert letters(ax) == ["carbon", "Cl", "carbo…"]
    for patch, position in zip(ax.patches, drawing.positions, strict=False):
        corners = patch.get_path().vertices
        assert np.linalg.norm(corners - position, axis=1).max() < drawing.radius


@pytest.mark.parametrize("n_nodes, is_written", [(5, True), (30, True), (400, False)])
def test_labels_are_left_out_where_they_could_not_be_read(n_nodes, is_written):
    graph = nx.random_labeled_tree(n_nodes, seed=0)
    nx.set_node_attributes(graph, "C", "label")
    drawing, ax = drawn(graph, node_label="label")
    assert len(letters(ax)) == (n_nodes if is_written else 0)
    distances = np.linalg.norm(drawing.positions[:, None] - drawing.positions[None], axis=-1)
    overlaps = np.triu(distances < 2 * drawing.radius, k=1).sum()
    assert overlaps <= 0.05 * n_nodes
    assert len(svg_of(ax.figure)) < 1000 * (50 + n_nodes)


def test_letters_are_white_on_dark_nodes():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, "C", "label")
    _, ax = drawn(graph, node_label="label", colors=np.array([[0, 0, 0.4, 1], [1, 1, 0.8, 1]]))
    assert [patch.get_facecolor()[:3] for patch in ax.patches] == [(1, 1, 1), (0, 0, 0)]


def test_colors_are_those_of_nodes_and_edges():
    colors = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]])
    _, ax = drawn(nx.path_graph(3), colors=colors, edge_colors={(1, 2): (0, 1, 1, 1)})
    assert np.allclose(disc_colors(ax), colors)
    band, lines = outlines(ax)
    assert len(band) == 1 and len(lines) == 2
    assert np.allclose(ax.collections[0].get_facecolor(), [[0, 1, 1, 1]])


def test_the_outlined_node_has_a_disc_more():
    drawing, ax = drawn(nx.path_graph(["a", "b", "c"]), outlined="b")
    sizes = [len(artist.get_offsets()) for artist in ax.collections[1:]]
    assert sizes == [3, 1, 3]
    assert np.allclose(ax.collections[2].get_offsets(), drawing.positions[1])
