import matplotlib
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest

from sklofi._plotting import draw_graph, layout

matplotlib.use("Agg")


@pytest.mark.parametrize(
    "graph",
    [
        nx.empty_graph(1),
        nx.empty_graph(3),
        nx.path_graph(2),
        nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(3)),
        nx.MultiDiGraph([(0, 1), (0, 1), (1, 1)]),
        nx.path_graph(300),
    ],
)
def test_layouts_keep_nodes_apart_and_are_the_same_every_time(graph):
    places = layout(graph)
    assert set(places) == set(graph)
    points = np.array([places[node] for node in graph])
    assert np.isfinite(points).all()
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert (distances[~np.eye(len(points), dtype=bool)] > 1e-3).all()
    again = layout(graph)
    assert all((places[node] == again[node]).all() for node in graph)
    figure, ax = plt.subplots()
    draw_graph(graph, ax, node_label="label")
    figure.canvas.draw()
    plt.close(figure)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_labels_are_written_on_edges_once_for_each_line(kind):
    graph = kind([(0, 1, {"bond": 1}), (1, 2, {"bond": 2}), (2, 3, {})])
    if graph.is_multigraph():
        graph.add_edge(0, 1, bond=3)
        graph.add_edge(0, 1, bond=3)
    if graph.is_directed():
        graph.add_edge(2, 1, bond=4)
    figure, ax = plt.subplots()
    draw_graph(graph, ax, node_label=None, edge_label="bond")
    figure.canvas.draw()
    written = sorted(text.get_text() for text in ax.texts)
    assert written == [
        "1, 3" if graph.is_multigraph() else "1",
        "2, 4" if graph.is_directed() else "2",
    ]
    plt.close(figure)
