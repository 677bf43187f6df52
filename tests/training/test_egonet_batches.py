import tracemalloc

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV
from torch.testing import assert_close
from training_helpers import QUICK

from sklofi import GraphSet, LoFIClassifier
from sklofi import _memory as memory
from sklofi.egonets import _colors, _incidence, egonet_incidence
from sklofi.egonets._incidence import has_egonets
from sklofi.nn import LoFINetwork
from sklofi.nn._choices import POOLINGS
from sklofi.training import _egonet_batches as batches
from sklofi.training._dataset import BatchLoader
from sklofi.training._egonet_batches import EgonetDataset
from sklofi.training._encoding import NodeEncoder


def labeled(labels, features=None):
    graph = nx.path_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    if features is not None:
        nx.set_node_attributes(graph, dict(enumerate(features)), "x")
    return graph


def some_graphs():
    return GraphSet.from_networkx(
        [labeled("ab", [1, 3]), labeled("c", [5]), labeled("bca", [2, 2, 0])],
        node_features="x",
    )


def dataset(graphs, *, n_layers=2, radius=1, **kwargs):
    encoder = NodeEncoder.fit(graphs, np.ones(len(graphs)))
    return EgonetDataset(graphs, encoder, radius=radius, n_layers=n_layers, **kwargs)


def dense(matrix, n_columns):
    columns = [matrix.columns.tolist(), matrix.counts.tolist()]
    result = np.zeros((len(matrix), n_columns))
    rows = np.repeat(np.arange(len(matrix)), np.diff(matrix.offsets))
    np.add.at(result, (rows, columns[0]), columns[1])
    return result


def test_nodes_become_one_hot_labels_and_standardized_features():
    data = dataset(some_graphs())
    batch, _ = data.batch(np.array([1, 0]), merge=False)
    mean, scale = 13 / 6, np.std([1, 3, 5, 2, 2, 0])
    expected = [[1, 0, 0, (1 - mean) / scale], [0, 1, 0, (3 - mean) / scale],
                [0, 0, 1, (5 - mean) / scale]]  # fmt: skip
    assert_allclose(batch.x, expected, rtol=1e-5)  # in the order of the whole set
    assert data.encoder.labels == ("a", "b", "c")
    assert data.encoder.n_columns == 4


def test_copies_of_graphs_in_a_batch_are_the_conversion_of_these_graphs():
    graphs = [labeled("abca"), labeled("c"), labeled("bc"), labeled("acb")]
    rows = np.array([3, 0, 0, 1, 3])
    data = dataset(GraphSet.from_networkx(graphs))
    copies = data.batch(np.arange(4), merge=False)[0].copies(torch.from_numpy(rows))
    repeated = GraphSet.from_networkx([graphs[i] for i in rows])
    expected, _ = EgonetDataset(repeated, data.encoder, radius=1, n_layers=2).batch(
        np.arange(5), merge=False
    )
    assert_close(copies.x, expected.x)
    for got, wanted in [
        *zip(copies.egonets, expected.egonets, strict=True),
        *zip(copies.graphs, expected.graphs, strict=True),
    ]:
        for ours, theirs in [(got, wanted), (got.transposed, wanted.transposed)]:
            assert_array_equal(dense(ours, 15), dense(theirs, 15))
            assert ours.offsets.dtype == theirs.offsets.dtype


def test_without_merging_a_batch_is_the_conversion_of_its_graphs():
    graphs = GraphSet.from_networkx([nx.gnp_random_graph(n, 0.4, seed=n) for n in (4, 1, 6, 5)])
    rows = np.array([3, 1, 0])
    batch, y = dataset(graphs, radius=2, y=np.arange(4.0)).batch(rows, merge=False)
    in_order = graphs[np.sort(rows)]  # nodes keep the order of the whole set
    assert len(batch.egonets) == len(batch.graphs) == 1  # the same for all layers
    assert_array_equal(
        dense(batch.egonets[0], in_order.n_nodes), egonet_incidence(in_order, 2).toarray()
    )
    membership = dense(batch.graphs[0], in_order.n_nodes)
    assert_array_equal(membership.sum(axis=1), [5, 1, 4])
    assert_array_equal(membership[::-1].argmax(axis=1), in_order.node_offsets[:-1])
    assert_array_equal(y, rows)
    assert len(batch) == 3


def test_colors_of_a_batch_by_hand():
    """a-b and a-b-a: at level 1 there are {a, b}, which both nodes of the first have and
    the ends of the second, and {a, a, b}."""
    graphs = GraphSet.from_networkx([labeled("c"), labeled("aba"), labeled("ab")])
    batch, _ = dataset(graphs)[[2, 1]]
    assert batch.x.tolist() == [[1, 0, 0], [0, 1, 0]]
    first, second = batch.egonets
    assert sorted(dense(first, 2).tolist()) == [[1, 1], [2, 1]]
    of_ends, of_middle = (0, 1) if dense(first, 2)[0].tolist() == [1, 1] else (1, 0)
    in_graphs = dense(batch.graphs[0], 2)
    assert in_graphs[:, of_ends].tolist() == [2, 2]
    assert in_graphs[:, of_middle].tolist() == [0, 1]
    # At level 2 there are {2 ends}, {end, middle} and {2 ends, middle}.
    assert sorted(dense(second, 2)[:, [of_ends, of_middle]].tolist()) == [[1, 1], [2, 0], [2, 1]]
    assert sorted(dense(batch.graphs[1], 3).sum(axis=1).tolist()) == [2, 3]


@pytest.mark.parametrize("merge", [True, False])
def test_transposes_are_transposes(merge):
    graphs = GraphSet.from_networkx([nx.gnp_random_graph(9, 0.3, seed=i) for i in range(5)])
    batch, _ = dataset(graphs, n_layers=3).batch(np.array([4, 0, 2]), merge=merge)
    for matrix in (*batch.egonets, *batch.graphs):
        n_columns = len(matrix.transposed)
        assert_array_equal(dense(matrix, n_columns), dense(matrix.transposed, len(matrix)).T)
    without, _ = dataset(graphs, n_layers=3).batch(np.array([1]), gradients=False)
    assert all(matrix.transposed is None for matrix in (*without.egonets, *without.graphs))


def random_graph_set(seed, *, n_labels, with_features, directed):
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(8):
        n_nodes = int(rng.integers(1, 12))
        graph = nx.gnp_random_graph(
            n_nodes, rng.uniform(0.1, 0.5), seed=int(rng.integers(1000)), directed=directed
        )
        for node in graph:
            if n_labels:
                graph.nodes[node]["label"] = int(rng.integers(n_labels))
            # From few values, so that some nodes are equal and others are not.
            graph.nodes[node]["x"] = rng.integers(3, size=2)
        graphs.append(graph)
    return GraphSet.from_networkx(
        graphs,
        node_label="label" if n_labels else None,
        node_features="x" if with_features else None,
    )


@pytest.mark.parametrize("kernel", ["l1", "intersection"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("radius", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_merged_and_single_nodes_give_the_same_losses_gradients_and_predictions(
    kernel, pooling, radius, seed
):
    graphs = random_graph_set(
        seed, n_labels=3 * (seed % 2), with_features=seed >= 2, directed=seed == 3
    )
    data = dataset(graphs, n_layers=4, radius=radius, y=np.arange(8) % 3)
    network = LoFINetwork(
        data.encoder.n_columns, 3, n_layers=4, n_masks=3, n_words=4, kernel=kernel,
        pooling=pooling, generator=torch.Generator().manual_seed(seed),
    ).double()  # fmt: skip
    results = []
    for merge in (True, False):
        batch, y = data.batch(np.array([6, 2, 7, 1, 3]), merge=merge)
        output = network(batch.x.double(), batch.egonets, batch.graphs)
        loss = torch.nn.functional.cross_entropy(output, y)
        results.append([loss, output, *torch.autograd.grad(loss, list(network.parameters()))])
    assert len(batch.x) > len(data.batch(np.array([6, 2, 7, 1, 3]))[0].x)  # merging merged
    for merged, single in zip(*results, strict=True):
        assert_close(merged, single)


def outputs(data, rows):
    network = LoFINetwork(
        data.encoder.n_columns, 2, n_layers=2, generator=torch.Generator().manual_seed(0)
    ).double()
    batch, _ = data[rows]
    return network(batch.x.double(), batch.egonets, batch.graphs)


def test_slices_share_the_tables_of_the_whole_and_give_the_same_numbers():
    networkx_graphs = [nx.gnp_random_graph(5 + i, 0.4, seed=i) for i in range(6)]
    graphs = GraphSet.from_networkx(networkx_graphs)
    part = graphs[[5, 3, 0]][[1, 2]]
    alone = GraphSet.from_networkx([networkx_graphs[3], networkx_graphs[0]])
    assert_close(outputs(dataset(part), [0, 1]), outputs(dataset(alone), [0, 1]))
    assert has_egonets(graphs, 1) and not has_egonets(part, 1)


def test_a_small_part_does_not_pay_for_the_whole():
    graphs = GraphSet.from_networkx([nx.path_graph(4)] * 20)
    part = graphs[:2]
    dataset(part)
    assert has_egonets(part, 1) and not has_egonets(graphs, 1)
    dataset(graphs)
    other = graphs[2:4]
    dataset(other)  # now the whole has them already
    assert not has_egonets(other, 1)


def test_a_graph_that_is_too_large_can_be_left_out(monkeypatch):
    monkeypatch.setattr(memory, "memory_size", lambda: 64 * 2.0**30)
    graphs = GraphSet.from_networkx([nx.path_graph(4), nx.star_graph(200_000)])
    with pytest.raises(MemoryError, match="Use a smaller radius, or leave out the largest"):
        dataset(graphs, radius=2)
    batch, _ = dataset(graphs[[0]], radius=2)[[0]]
    assert len(batch) == 1


def test_many_labels_take_memory_only_in_their_batch():
    """A table of one-hot codes of these labels would take 1.6 GB."""
    graphs = GraphSet.from_networkx([labeled(range(20_000)), labeled([3, 5])])
    tracemalloc.start()
    dataset = EgonetDataset(graphs, NodeEncoder.fit(graphs, np.ones(2)), radius=1, n_layers=2)
    batch, _ = dataset[[1]]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert batch.x.shape == (2, 20_000)
    assert peak < 100e6


def test_batches_move_as_a_whole():
    batch = dataset(some_graphs())[[0, 2]][0]
    assert batch.to("cpu") is batch
    moved = batch.to("meta")
    matrices = [*moved.egonets, *moved.graphs]
    matrices += [matrix.transposed for matrix in matrices]
    tensors = [t for m in matrices for t in (m.offsets, m.columns, m.counts)]
    assert all(tensor.device.type == "meta" for tensor in (moved.x, moved.weight, *tensors))


@pytest.mark.parametrize(
    "gradients, bytes_per_color",
    [(True, batches.TRAINING_BYTES * 2 * 3 * 4), (False, batches.PREDICTION_BYTES * 3 * 4)],
)
def test_batches_that_do_not_fit_are_refused_before_the_first(
    gradients, bytes_per_color, monkeypatch
):
    graphs = GraphSet.from_networkx([labeled(range(n)) for n in (9, 3, 2)])
    data = dataset(graphs)
    network = LoFINetwork(9, 2, n_layers=2, n_masks=3, n_words=4)
    for batch_size, n_fitting, refusal in [
        (1, 9, None),
        (1, 8, "A batch of 1 graphs has 9 different nodes, which take"),
        (3, 9, "A batch of 3 graphs has 12 different nodes, which take"),
    ]:
        size = 2.0 * n_fitting * (bytes_per_color + batches.INPUT_BYTES * 9)  # labels
        monkeypatch.setattr(memory, "memory_size", lambda size=size: size)
        loader = BatchLoader(data, batch_size, gradients=gradients)
        assert len(list(loader)) == len(loader)  # nobody knows what it is for
        loader.network = network
        if refusal is None:
            assert len(list(loader)) == len(loader)
        else:
            with pytest.raises(MemoryError, match=refusal):
                next(iter(loader))


@pytest.mark.parametrize("node_features", [None, "x"])
def test_merging_equal_nodes_changes_no_number(larger_motifs, node_features, monkeypatch):
    """Losses and predictions of a whole fit, to 32 bits."""
    graphs = [graph.copy() for graph in larger_motifs[0]]
    for graph in graphs:
        nx.set_node_attributes(graph, {v: graph.degree(v) % 2 for v in graph}, "x")
    options = {**QUICK, "node_features": node_features, "n_layers": 3, "max_epochs": 4}
    results, sizes = [], []
    table = EgonetDataset.table

    def table_of_single_nodes(self, merge):
        result = table(self, merge=False)
        sizes.append(len(result.representatives))
        return result

    for replacement in (table, table_of_single_nodes):
        monkeypatch.setattr(EgonetDataset, "table", replacement)
        classifier = LoFIClassifier(**options).fit(graphs, larger_motifs[1])
        losses = classifier.history_[:, ("train_loss", "valid_loss")]
        results.append((losses, classifier.predict_proba(graphs)))
    assert_allclose(results[0][0], results[1][0], rtol=1e-4)
    assert_allclose(results[0][1], results[1][1], rtol=1e-3)
    assert min(sizes) == sum(map(len, graphs))


def test_a_search_computes_egonets_and_colors_once(larger_motifs, monkeypatch):
    graphs, y = larger_motifs
    computed = []
    for module, name in ((_incidence, "_compute_egonets"), (_colors, "_add_level")):
        original = getattr(module, name)

        def counted(*args, name=name, original=original):
            computed.append(name)
            return original(*args)

        monkeypatch.setattr(module, name, counted)
    grid = {"n_layers": [2, 3], "n_masks": [2, 4], "radius": [1, 2], "node_label": ["label", None]}
    estimator = LoFIClassifier(n_members=1, counts=False, max_epochs=1, random_state=0)
    GridSearchCV(estimator, grid, cv=2).fit(GraphSet.from_networkx(graphs), y)
    # Two radii; three levels each, with labels and without; for 32 candidates and a refit.
    assert computed.count("_compute_egonets") == 2
    assert computed.count("_add_level") <= 12
