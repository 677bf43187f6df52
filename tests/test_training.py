import tracemalloc

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch.testing import assert_close

from sklofi import GraphSet
from sklofi.egonets import egonet_incidence
from sklofi.training import (
    BatchLoader,
    GraphDataset,
    NodeEncoder,
    split_validation,
    weighted_mean_and_scale,
)


def labelled(labels, features=None):
    graph = nx.path_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    if features is not None:
        nx.set_node_attributes(graph, dict(enumerate(features)), "x")
    return graph


def some_graphs():
    return GraphSet.from_networkx(
        [labelled("ab", [1, 3]), labelled("c", [5]), labelled("bca", [2, 2, 0])],
        node_features="x",
    )


def test_nodes_become_one_hot_labels_and_standardised_features():
    graphs = some_graphs()
    encoder = NodeEncoder.fit(graphs, np.ones(3))
    batch, _ = GraphDataset(graphs, encoder, radius=1)[[1, 0]]
    mean, scale = 13 / 6, np.std([1, 3, 5, 2, 2, 0])
    expected = [[0, 0, 1, (5 - mean) / scale], [1, 0, 0, (1 - mean) / scale],
                [0, 1, 0, (3 - mean) / scale]]  # fmt: skip
    assert_allclose(batch.x, expected, rtol=1e-5)
    assert encoder.labels == ("a", "b", "c")
    assert encoder.n_columns == 4


def test_a_batch_is_the_conversion_of_its_graphs():
    graphs = GraphSet.from_networkx([nx.gnp_random_graph(n, 0.4, seed=n) for n in (4, 1, 6, 5)])
    encoder = NodeEncoder.fit(graphs, np.ones(4))
    rows = np.array([3, 1, 3, 0])
    batch, y = GraphDataset(graphs, encoder, radius=2, y=np.arange(4.0))[rows]
    expected = egonet_incidence(graphs[rows], 2).toarray()
    assert_array_equal(batch.egonets.to_dense(), expected)
    assert_array_equal(batch.graph_offsets, graphs[rows].node_offsets)
    assert_array_equal(y, rows)
    assert len(batch) == 4


def test_many_labels_take_memory_only_in_their_batch():
    """A table of one-hot codes of these labels would take 1.6 GB."""
    graphs = GraphSet.from_networkx([labelled(range(20_000)), labelled([3, 5])])
    tracemalloc.start()
    dataset = GraphDataset(graphs, NodeEncoder.fit(graphs, np.ones(2)), radius=1)
    batch, _ = dataset[[1]]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert batch.x.shape == (2, 20_000)
    assert peak < 100e6


def test_loader_visits_every_graph_once_in_an_order_of_its_own():
    graphs = GraphSet.from_networkx([nx.path_graph(1 + i) for i in range(10)])
    encoder = NodeEncoder.fit(graphs, np.ones(10))
    dataset = GraphDataset(graphs, encoder, radius=1, y=np.arange(10))
    in_order = [y.tolist() for _, y in BatchLoader(dataset, 4)]
    assert in_order == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(BatchLoader(dataset, 4)) == 3
    state = torch.get_rng_state()
    shuffled = BatchLoader(dataset, 4, generator=torch.Generator().manual_seed(0))
    orders = [torch.cat([y for _, y in shuffled]).tolist() for _ in range(2)]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(10))
    assert torch.equal(torch.get_rng_state(), state)


def test_batches_move_as_a_whole():
    graphs = some_graphs()
    encoder = NodeEncoder.fit(graphs, np.ones(3))
    batch = GraphDataset(graphs, encoder, radius=1)[[0, 2]][0].to("meta")
    tensors = (batch.x, batch.egonets, batch.graph_offsets, batch.weight)
    assert all(tensor.device.type == "meta" for tensor in tensors)


def test_weights_have_mean_one_and_count_in_all_statistics():
    graphs = some_graphs()
    weight = np.array([1.0, 2.0, 3.0])
    encoder = NodeEncoder.fit(graphs, weight)
    copies = graphs[[0, 1, 1, 2, 2, 2]]
    same = NodeEncoder.fit(copies, np.ones(6))
    assert_allclose(encoder.feature_mean, same.feature_mean)
    assert_allclose(encoder.feature_scale, same.feature_scale)
    weighted = GraphDataset(graphs, encoder, radius=1, weight=weight)
    copied = GraphDataset(copies, same, radius=1)
    assert weighted.egonet_size == pytest.approx(copied.egonet_size)
    assert_close(weighted.weight, torch.tensor([0.5, 1.0, 1.5]))


def test_constant_columns_are_centred_but_not_blown_up():
    mean, scale = weighted_mean_and_scale(np.array([[0.1, 1.0], [0.1, 3.0]]), np.ones(2))
    assert_allclose(mean, [0.1, 2.0])
    assert_allclose(scale, [1.0, 1.0])


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e300])
def test_location_and_scale_of_numbers_of_any_size(size):
    values = size * np.array([[1.0], [2.0], [4.0]])
    mean, scale = weighted_mean_and_scale(values, np.array([1.0, 1.0, 2.0]))
    assert_allclose([mean / size, scale / size], [[2.75], [np.std([1, 2, 4, 4])]])


@pytest.mark.parametrize("seed", range(5))
def test_validation_parts_are_stratified(seed):
    strata = np.repeat([0, 1, 2], [60, 30, 10])
    train, validation = split_validation(strata, 0.2, np.random.RandomState(seed))
    assert_array_equal(np.sort(np.concatenate([train, validation])), np.arange(100))
    counts = np.bincount(strata[validation], minlength=3)
    assert counts.sum() == 20
    assert_allclose(counts, [12, 6, 2], atol=1)


@pytest.mark.parametrize("seed", range(20))
def test_no_class_disappears_from_training(seed):
    strata = np.array(["a", "b", "b", *"c" * 9])
    train, validation = split_validation(strata, 0.5, np.random.RandomState(seed))
    assert set(strata[train]) == {"a", "b", "c"}
    assert len(validation) == 6


def test_a_validation_part_may_be_impossible_or_smaller_than_the_classes():
    train, validation = split_validation(np.arange(4), 0.5, np.random.RandomState(0))
    assert len(train) == 4 and len(validation) == 0
    _, validation = split_validation(np.arange(20) // 2, 0.1, np.random.RandomState(0))
    assert len(validation) == 2
