"""Parts of graphs against networkx."""

import networkx as nx
import pytest
import torch
from networkx_batches import assert_same_with_gradients, flatten

from sklofi.nn import _subgraphs
from sklofi.nn._subgraphs import egonets, grouping, picking


@pytest.mark.parametrize("radius", [0, 1, 2, 3])
@pytest.mark.parametrize("directed", [False, True])
def test_egonets_equal_networkx_ego_graph(directed, radius):
    graphs = [
        nx.gnp_random_graph(9, 0.2, seed=0, directed=directed),
        nx.gnp_random_graph(7, 0.6, seed=1, directed=directed),
        nx.star_graph(6).to_directed() if directed else nx.star_graph(6),
        nx.empty_graph(2),
    ]
    graphs[1].add_edge(2, 2)
    flat = flatten(graphs)
    subgraphs = egonets(flat, radius)
    n_nodes = len(flat.x)
    nodes = subgraphs.nodes.sum_rows(torch.arange(n_nodes).double()[:, None]).flatten().long()
    owners = subgraphs.owners.transposed.columns.long()
    eye = torch.eye(len(nodes), dtype=torch.float64)
    found = {
        (int(owners[a]), int(nodes[a]), int(nodes[b]))
        for a, b in subgraphs.edges.sum_rows(eye).nonzero().tolist()
        if owners[a] == owners[b]
    }
    members, edges, start = set(), set(), 0
    for graph in graphs:
        for v in graph:
            egonet = nx.ego_graph(graph, v, radius)
            members |= {(start + v, start + w) for w in egonet}
            pairs = egonet.to_directed().edges
            edges |= {(start + v, start + w, start + u) for w, u in pairs}
        start += len(graph)
    assert len(nodes) == len(members)
    assert set(zip(owners.tolist(), nodes.tolist(), strict=True)) == members
    assert len(subgraphs.edges.columns) == len(edges)
    assert found == edges


def test_edges_inside_egonets_are_the_same_in_many_pieces(monkeypatch):
    flat = flatten([nx.gnp_random_graph(20, 0.4, seed=0), nx.star_graph(9)])
    whole = egonets(flat).edges
    monkeypatch.setattr(_subgraphs, "PAIRS_AT_ONCE", 10)
    pieces = egonets(flat).edges
    assert torch.equal(whole.offsets, pieces.offsets)
    assert torch.equal(whole.columns, pieces.columns)


def test_a_hub_costs_no_more_than_its_edges(monkeypatch):
    tried = []
    ranges = _subgraphs._ranges

    def count(starts, counts):
        tried.append(int(counts.sum()))
        return ranges(starts, counts)

    monkeypatch.setattr(_subgraphs, "_ranges", count)
    subgraphs = egonets(flatten([nx.star_graph(1000)]))
    # Each leaf has an edge there and back in its own egonet and in that of the center.
    assert len(subgraphs.edges.columns) == 4 * 1000
    assert max(tried) <= 5 * 1000


def test_picking_and_grouping_are_products_with_gradients():
    columns = torch.tensor([2, 0, 2, 1])
    x = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
    assert_same_with_gradients(picking(columns, 4) @ x, x[columns], [x])
    rows = torch.tensor([0, 0, 2, 2])
    plain = torch.zeros(4, 3, dtype=torch.float64).index_add(0, rows, x)
    assert_same_with_gradients(grouping(rows, 4) @ x, plain, [x])
