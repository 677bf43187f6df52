import networkx as nx
import numpy as np
import pytest
import torch
from skorch.callbacks import Callback
from torch.testing import assert_close

from sklofi import GraphSet, LoFIClassifier
from sklofi import _lofi as lofi
from sklofi.nn import LoFINetwork

QUICK = {"n_layers": 2, "n_masks": 3, "n_words": 2, "max_epochs": 4, "random_state": 0}


class StopIn(Callback):
    """End the training as callbacks of skorch do."""

    def __init__(self, method):
        self.method = method

    def on_epoch_begin(self, net, **kwargs):
        self._stop("on_epoch_begin", net)

    def on_batch_end(self, net, **kwargs):
        self._stop("on_batch_end", net)

    def on_epoch_end(self, net, **kwargs):
        self._stop("on_epoch_end", net)

    def _stop(self, method, net):
        if method == self.method and len(net.history) == 2:
            raise KeyboardInterrupt


def test_a_callback_of_the_user_ends_training_after_an_epoch(motifs):
    classifier = LoFIClassifier(**QUICK, callbacks=[StopIn("on_epoch_end")]).fit(*motifs)
    assert classifier.n_epochs_ == 2
    assert not classifier.net_.is_interrupted_


@pytest.mark.parametrize("method", ["on_epoch_begin", "on_batch_end"])
def test_an_interrupt_within_an_epoch_is_ctrl_c(motifs, method):
    classifier = LoFIClassifier(**QUICK, callbacks=[StopIn(method)])
    with pytest.warns(UserWarning, match="interrupted in epoch 2"):
        classifier.fit(*motifs)
    assert classifier.n_epochs_ == 1
    assert classifier.net_.is_interrupted_


def test_callbacks_of_the_user_are_neither_defaults_nor_listeners(motifs):
    classifier = LoFIClassifier(**QUICK, callbacks=[("mine", StopIn(None))]).fit(*motifs)
    assert [name for name, _ in classifier.net_.user_callbacks()] == ["mine"]


def weights_of(module):
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()]).clone()


def start_of(graphs, n_layers=3, weight=None):
    """The layers as they are before training."""
    classifier = LoFIClassifier(
        n_layers=n_layers, n_masks=4, max_epochs=1, lr=1e-30, early_stopping=False, random_state=0
    ).fit(graphs, np.arange(len(graphs)) % 2, sample_weight=weight)
    return weights_of(classifier.module_.layers)


def test_a_list_and_a_slice_start_alike_however_deep():
    cliques = [nx.ring_of_cliques(2 + i % 4, 3 + i % 5) for i in range(40)]
    for i, graph in enumerate(cliques):
        graph.add_edge(0, len(graph) // (2 + i % 3))
    others = [nx.gnp_random_graph(9, 0.4, seed=i) for i in range(40)]
    whole = GraphSet.from_networkx(
        [graph for pair in zip(others, cliques, strict=True) for graph in pair]
    )
    alike = start_of(cliques, n_layers=13), start_of(whole[1::2], n_layers=13)
    assert_close(*alike, rtol=1e-3, atol=1e-3)


def test_masks_start_at_few_graphs_of_large_sets_and_none_without_weight(monkeypatch):
    started = []
    start = LoFINetwork.start_at_data_

    def recorded(self, x, egonets, graphs, weight, generator):
        started.append((len(weight), len(x), graphs[0].row_sums()))
        start(self, x, egonets, graphs, weight, generator)

    monkeypatch.setattr(LoFINetwork, "start_at_data_", recorded)
    monkeypatch.setattr(lofi, "N_EXAMPLES", 10)
    graphs = [nx.path_graph(5 + i % 2) for i in range(60)]
    heavy = np.where(np.arange(60) % 2, 1.0, 1e-60)  # gone in 32 bits
    start_of(graphs, weight=heavy)
    assert started[-1][0] == 10 and (started[-1][2] == 6).all()
    monkeypatch.setattr(lofi, "N_EXAMPLE_NODES", 27)
    start_of(graphs)
    assert started[-1][0] in (4, 5)
    monkeypatch.setattr(lofi, "N_EXAMPLE_NODES", 1)
    start_of(graphs)
    assert started[-1][0] == 1
