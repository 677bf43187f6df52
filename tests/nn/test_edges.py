import pytest
import torch
from stacks import EDGES, SIZES, flat_graphs

from sklofi.nn._edges import (
    average_messages,
    edge_inputs,
    labeled_messages,
    largest_messages,
    sum_messages,
)

PLAIN = {
    sum_messages: lambda messages, weights: (weights[:, None] * messages).sum(0),
    average_messages: lambda messages, weights: (
        (weights[:, None] * messages).sum(0) / (weights.sum() or 1.0)
    ),
    largest_messages: lambda messages, weights: (weights[:, None] * messages).amax(0),
}


def random_messages(seed):
    """Messages of up to 30 edges to up to 6 nodes, some of weight 0."""
    generator = torch.Generator().manual_seed(seed)
    n_nodes, n_edges = (int(torch.randint(*bounds, (), generator=generator)) for bounds in SPAN)
    messages = torch.randn(n_edges, 3, generator=generator, dtype=torch.float64)
    target = torch.randint(n_nodes, (n_edges,), generator=generator)
    weight = torch.randint(4, (n_edges,), generator=generator).double() / 2
    return n_nodes, messages, target, weight


SPAN = [(1, 7), (0, 31)]


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("aggregate", PLAIN)
@pytest.mark.parametrize("seed", range(30))
def test_messages_of_a_node_become_one_vector(aggregate, weighted, seed):
    n_nodes, messages, target, weight = random_messages(seed)
    found = aggregate(messages, target, n_nodes, weight if weighted else None)
    for node in range(n_nodes):
        heard = target == node
        weights = weight[heard] if weighted else torch.ones(int(heard.sum())).double()
        expected = torch.zeros(3).double()
        if heard.any():
            expected = PLAIN[aggregate](messages[heard], weights)
        torch.testing.assert_close(found[node], expected)


def test_a_weight_of_two_is_two_edges_and_a_weight_of_zero_none():
    n_nodes, messages, target, _ = random_messages(3)
    copies = torch.arange(len(target)) % 3
    for aggregate in (sum_messages, average_messages):
        weighted = aggregate(messages, target, n_nodes, copies.double())
        copied = aggregate(
            messages.repeat_interleave(copies, 0), target.repeat_interleave(copies), n_nodes
        )
        torch.testing.assert_close(weighted, copied)


def test_means_of_large_and_small_weights_are_finite():
    messages, target = torch.full((3, 1), 1e15), torch.tensor([0, 0, 1])
    weight = torch.tensor([1e15, 1e15, 1e-30])
    assert torch.equal(average_messages(messages, target, 2, weight), messages[:2])


def test_messages_of_labeled_edges_are_computed_edge_by_edge():
    graphs = flat_graphs(SIZES, EDGES, torch.Generator().manual_seed(0))
    vectors = torch.randn(4, 3, generator=torch.Generator().manual_seed(1)).double()
    found = labeled_messages(graphs.x, graphs.edge_index[0], vectors, graphs.edge_kinds)
    for (source, _), kind, message in zip(EDGES, graphs.edge_kinds, found, strict=True):
        assert torch.equal(message, torch.relu(graphs.x[source] + vectors[kind]))


def test_edges_are_given_to_networks_that_read_them():
    graphs = flat_graphs(SIZES, EDGES, torch.Generator().manual_seed(0))
    assert edge_inputs(graphs, 0) == (None, None)
    assert edge_inputs(graphs, 2) == (graphs.edge_features, graphs.edge_kinds)
