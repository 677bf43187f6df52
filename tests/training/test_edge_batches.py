from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

from helpers import odd_graphs
from sklofi import GraphSet
from sklofi import _memory as memory
from sklofi.nn import FlatNetwork
from sklofi.training._dataset import BatchLoader
from sklofi.training._edge_batches import EdgeDataset
from sklofi.training._encoding import EdgeEncoder, NodeEncoder


def dataset(graphs, **kwargs):
    encoder = NodeEncoder.fit(graphs, np.ones(len(graphs)))
    return EdgeDataset(graphs, encoder, handle_unknown="ignore", owner="a network", **kwargs)


@pytest.mark.parametrize("directed", [False, True])
def test_messages_come_from_neighbors_or_successors(directed):
    graphs = odd_graphs(directed=directed)
    rows = np.array([5, 0, 11, 5])
    flat = dataset(GraphSet.from_networkx(graphs)).batch(rows)[0].graphs
    union = nx.disjoint_union_all([graphs[i] for i in rows])
    expected = {(v, u) for u in union for v in union[u]}
    assert {*map(tuple, flat.edge_index.T.tolist())} == expected
    assert flat.edge_index.shape[1] == len(expected)
    assert flat.graph.tolist() == [i for i, row in enumerate(rows) for _ in graphs[row]]
    labels = [label for _, label in union.nodes(data="label")]
    assert ["abc"[column] for column in flat.x.argmax(1)] == labels
    assert flat.n_graphs == 4


def test_edge_features_stand_beside_their_edges():
    graph = nx.Graph([(0, 1, {"label": "-"}), (1, 2, {"label": "="})])
    graphs = GraphSet.from_networkx([nx.path_graph(1), graph, graph], edge_label="label")
    data = dataset(graphs, edge_encoder=EdgeEncoder.fit(graphs))
    flat = data.batch(np.array([2, 1]))[0].graphs
    codes = flat.edge_features[flat.edge_kinds]
    for (sender, receiver), code in zip(flat.edge_index.T.tolist(), codes, strict=True):
        assert code.tolist() == ([0, 1] if {sender % 3, receiver % 3} == {1, 2} else [1, 0])


def test_edge_weights_stand_beside_their_edges_if_they_are_used():
    graph = nx.Graph([(0, 1, {"w": 2.5}), (1, 2, {"w": 1e15})])
    graphs = GraphSet.from_networkx([nx.path_graph(1), graph, graph], edge_weight="w")
    assert dataset(graphs).batch(np.array([2]))[0].graphs.edge_weight is None
    flat = dataset(graphs, uses_edge_weights=True).batch(np.array([2, 1]))[0].graphs
    assert flat.edge_weight.dtype == torch.float32
    for (sender, receiver), weight in zip(flat.edge_index.T, flat.edge_weight, strict=True):
        assert weight == (2.5 if {int(sender) % 3, int(receiver) % 3} == {0, 1} else 1e15)
    without = GraphSet.from_networkx([nx.path_graph(3)])
    assert (
        dataset(without, uses_edge_weights=True).batch(np.array([0]))[0].graphs.edge_weight is None
    )


@pytest.mark.parametrize("has_weights", [True, False])
@pytest.mark.parametrize("directed", [False, True])
def test_matrices_of_batches_are_those_of_their_edges(directed, has_weights):
    graphs = odd_graphs(directed=directed)
    rng = np.random.default_rng(0)
    for graph in graphs:
        nx.set_edge_attributes(graph, {edge: rng.random() for edge in graph.edges}, "w")
    weight = "w" if has_weights else None
    graphs = GraphSet.from_networkx(graphs, edge_label=None, edge_weight=weight)
    data = dataset(graphs, uses_edge_weights=True)
    for rows in (np.array([5, 0, 11, 5]), np.arange(len(graphs)), np.array([0])):
        flat = data.batch(rows)[0].graphs
        x = torch.randn(len(flat.x), 2, generator=torch.Generator().manual_seed(0))
        results = []
        for one in (flat, replace(flat)):  # which has no matrix yet
            leaf = x.clone().requires_grad_()
            y = one.adjacency @ leaf
            results.append((y, torch.autograd.grad((y * x).sum(), leaf)[0]))
        for found, expected in zip(*results, strict=True):
            torch.testing.assert_close(found, expected)
        assert flat.adjacency.is_symmetric == (not directed)


def test_batches_move_as_a_whole():
    graph = nx.Graph([(0, 1, {"label": "-", "w": 2})])
    graphs = GraphSet.from_networkx([graph], edge_weight="w")
    options = {"edge_encoder": EdgeEncoder.fit(graphs), "uses_edge_weights": True}
    batch = dataset(graphs, **options).batch(np.array([0]))[0]
    assert batch.to("cpu") is batch
    moved = batch.to("meta")
    assert moved.weight.is_meta and len(moved) == 1
    flat = moved.graphs
    assert all(tensor.is_meta for tensor in (flat.x, flat.edge_index, flat.graph))
    edges = (flat.edge_features, flat.edge_kinds, flat.edge_weight)
    assert all(tensor.is_meta for tensor in edges)
    assert moved.graphs.adjacency.columns.is_meta and moved.graphs.adjacency.is_symmetric


def test_the_loader_gives_every_graph_once():
    graphs = GraphSet.from_networkx([nx.path_graph(1 + i % 5) for i in range(13)])
    data = dataset(graphs, y=np.arange(13))
    batches = [*BatchLoader(data, 4, generator=torch.Generator().manual_seed(0))]
    assert sorted(i for _, y in batches for i in y.tolist()) == list(range(13))
    for batch, y in batches:
        assert torch.bincount(batch.graphs.graph).tolist() == [1 + i % 5 for i in y.tolist()]


@pytest.mark.parametrize("per_what", ["node", "edge", "graph", "member"])
def test_batches_that_do_not_fit_are_refused_before_the_first(per_what, monkeypatch):
    graphs = GraphSet.from_networkx([nx.path_graph(9), nx.path_graph(2)])
    network = FlatNetwork()
    network.radius = 2  # of egonets, if they count
    setattr(network, f"numbers_per_{per_what}", 2**20)
    monkeypatch.setattr(memory, "memory_size", lambda: 2**34)
    loader = BatchLoader(dataset(graphs), 2, gradients=True)
    loader.network = network
    assert len([*loader]) == 1
    monkeypatch.setattr(memory, "memory_size", lambda: 2**20)
    with pytest.raises(MemoryError, match="A batch of 2 graphs with 11 nodes and 18 edges takes"):
        iter(loader)
