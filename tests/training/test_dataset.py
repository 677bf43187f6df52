import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from skorch.callbacks import Callback
from torch.testing import assert_close
from training_helpers import QUICK

from sklofi import GraphSet, LoFIClassifier
from sklofi.training._dataset import Batch, BatchLoader, GraphDataset
from sklofi.training._edge_batches import EdgeDataset
from sklofi.training._egonet_batches import EgonetDataset
from sklofi.training._encoding import NodeEncoder


def dataset(graphs, **parameters):
    encoder = NodeEncoder.fit(graphs, np.ones(len(graphs)))
    return EgonetDataset(graphs, encoder, radius=1, n_layers=2, **parameters)


def edge_dataset(graphs, **parameters):
    return EdgeDataset(graphs, NodeEncoder.fit(graphs, np.ones(len(graphs))), **parameters)


def test_the_hooks_are_abstract():
    assert Batch.__abstractmethods__ == {"inputs", "to"}
    assert GraphDataset.__abstractmethods__ == {"batches", "nodes_per_row", "check_memory"}
    graphs = GraphSet.from_networkx([nx.path_graph(2)])
    with pytest.raises(TypeError, match="abstract"):
        GraphDataset(graphs, NodeEncoder.fit(graphs, np.ones(1)))


def test_loader_visits_every_graph_once_in_an_order_of_its_own():
    graphs = GraphSet.from_networkx([nx.path_graph(1 + i) for i in range(10)])
    data = dataset(graphs, y=np.arange(10))
    in_order = [y.tolist() for _, y in BatchLoader(data, 4)]
    assert in_order == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(BatchLoader(data, 4)) == 3
    state = torch.get_rng_state()
    shuffled = BatchLoader(data, 4, generator=torch.Generator().manual_seed(0))
    orders = [torch.cat([y for _, y in shuffled]).tolist() for _ in range(2)]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(10))
    assert torch.equal(torch.get_rng_state(), state)


def test_batches_that_do_not_change_are_cut_anew_once_and_then_kept():
    graphs = GraphSet.from_networkx([nx.path_graph(1 + i) for i in range(10)])
    data = dataset(graphs, y=np.arange(10))
    loader = BatchLoader(data, 4)
    first, second, third = ([*loader] for _ in range(3))
    for (batch, y), (kept, y_kept), (same, _) in zip(first, second, third, strict=True):
        assert kept is same
        assert kept is not batch
        assert_close(kept.x, batch.x)
        assert_close(kept.egonets[0].columns, batch.egonets[0].columns)
        assert_close(y_kept, y)


@pytest.mark.parametrize(
    "parameters", [{"generator": torch.Generator()}, {"gradients": True}, {"batch_size": 1}]
)
def test_batches_of_training_or_too_many_are_not_kept(parameters):
    graphs = GraphSet.from_networkx([nx.path_graph(1 + i) for i in range(10)])
    loader = BatchLoader(dataset(graphs), **{"batch_size": 4, **parameters})
    _, second, third = ([*loader] for _ in range(3))
    assert all(batch is not again for (batch, _), (again, _) in zip(second, third, strict=True))


def test_batches_can_be_limited_by_their_nodes():
    graphs = GraphSet.from_networkx([nx.path_graph(n) for n in (3, 4, 9, 2, 2, 2, 2, 1)])
    data = dataset(graphs, y=np.arange(8))
    loader = BatchLoader(data, 3, max_rows=7, merge=False)
    assert [y.tolist() for _, y in loader] == [[0, 1], [2], [3, 4, 5], [6, 7]]
    assert len(loader) == 4
    # 25 nodes have 3 colors at level 1 (alone, ends, middles) and 1 at level 0.
    assert data.nodes_per_row(merge=True) == 8  # not 25 / 3: a part may have more colors
    assert len(BatchLoader(data, 8, max_rows=2)) == 2


def test_weights_have_mean_one_and_count_in_all_statistics():
    nodes = [(0, {"x": 1}), (1, {"x": 3}), (2, {"x": 5}), (3, {"x": 0})]
    graphs = []
    for size in (2, 1, 4):
        graph = nx.empty_graph()
        graph.add_nodes_from(nodes[:size])
        graphs.append(graph)
    graphs = GraphSet.from_networkx(graphs, node_features="x")
    weight = np.array([1.0, 2.0, 3.0])
    encoder = NodeEncoder.fit(graphs, weight)
    copies = graphs[[0, 1, 1, 2, 2, 2]]
    same = NodeEncoder.fit(copies, np.ones(6))
    assert_allclose(encoder.feature_mean, same.feature_mean)
    assert_allclose(encoder.feature_scale, same.feature_scale)
    weighted = EgonetDataset(graphs, encoder, radius=1, n_layers=2, weight=weight)
    assert_close(weighted.weight, torch.tensor([0.5, 1.0, 1.5]))


def test_weights_are_relative():
    graphs = GraphSet.from_networkx([nx.path_graph(2)] * 2)
    batch, _ = edge_dataset(graphs, weight=np.array([1e-300, 3e-300])).batch(np.array([0, 1]))
    assert_close(batch.weight, torch.tensor([0.5, 1.5]))


def test_dropout_treats_equal_nodes_differently(larger_motifs, monkeypatch):
    """In training, from the epoch on in which it begins; in prediction there is none."""
    merged = []
    batches = EgonetDataset.batches

    def spy(self, rows, *, merge, gradients):
        merged.append((gradients, merge))
        return batches(self, rows, merge=merge, gradients=gradients)

    class DropLater(Callback):
        def on_epoch_end(self, net, **kwargs):
            net.module_.dropout = 0.2

    monkeypatch.setattr(EgonetDataset, "batches", spy)
    options = {**QUICK, "max_epochs": 2}
    LoFIClassifier(**options, dropout=0.2).fit(*larger_motifs)
    assert set(merged) == {(True, False), (False, True)}
    merged.clear()
    LoFIClassifier(**options, callbacks=[DropLater()]).fit(*larger_motifs)
    assert [merge for gradients, merge in merged if gradients] == [True, False]


def test_predictions_do_not_depend_on_the_batch(larger_motifs):
    graphs, y = larger_motifs
    classifier = LoFIClassifier(**QUICK).fit(graphs, y)
    expected = classifier.predict_proba(graphs)
    assert_allclose(classifier.predict_proba(graphs * 10), np.tile(expected, (10, 1)), rtol=1e-5)
    one_by_one = [classifier.predict_proba([graph])[0] for graph in graphs]
    assert_allclose(one_by_one, expected, rtol=1e-5)
    classifier.net_.iterator_valid__max_rows = 50
    assert_allclose(classifier.predict_proba(graphs), expected, rtol=1e-5)
