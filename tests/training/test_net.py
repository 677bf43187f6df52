import re
import struct
import sys
from functools import partial
from io import StringIO
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from skorch.callbacks import Callback
from torch.testing import assert_close

from sklofi import GraphSet, LoFIClassifier
from sklofi import _lofi as lofi
from sklofi.datasets import make_motif_graphs
from sklofi.nn import LoFINetwork
from sklofi.training._progress import EpochBar, ProgressLog
from sklofi.training._split import split_validation


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


class Recorder(Callback):
    """Weights after every step, and at the end of every epoch."""

    def on_train_begin(self, net, **kwargs):
        self.start = weights_of(net.module_)
        self.steps, self.epochs = [], []

    def on_batch_end(self, net, training=False, **kwargs):
        if training:
            self.steps.append(weights_of(net.module_))

    def on_epoch_end(self, net, **kwargs):
        self.epochs.append((len(self.steps), weights_of(net.module_)))


def weights_of(module):
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()]).clone()


@pytest.mark.parametrize("validate", [False, True])
def test_the_weights_that_are_kept_are_an_average_and_training_goes_on_from_the_last_step(validate):
    graphs, y = make_motif_graphs(40, random_state=0)
    validation = {"X_val": graphs[:10], "y_val": y[:10]} if validate else {}
    classifier = LoFIClassifier(
        max_epochs=4, batch_size=8, early_stopping=False, callbacks=[Recorder()], random_state=0
    ).fit(graphs, y, **validation)
    (recorder,) = (one for _, one in classifier.net_.callbacks_ if isinstance(one, Recorder))
    average = recorder.start
    averages = []
    for i, step in enumerate(recorder.steps, start=1):
        average = average + (step - average) * (1 - (1 + i) / (10 + i))
        averages.append(average)
    for n_steps, weights in recorder.epochs:
        assert_close(weights, averages[n_steps - 1])
    assert_close(weights_of(classifier.module_), averages[-1])
    # The first step of an epoch is one step away from the last, not from the average.
    assert [n for n, _ in recorder.epochs] == [5, 10, 15, 20]
    for last in (5, 10, 15):
        first = recorder.steps[last]
        away = (first - recorder.steps[last - 1]).abs().max()
        assert away <= 1.5 * classifier.lr < (first - averages[last - 1]).abs().max()


class LoadZeros(Callback):
    """Put weights of zero in when training begins, but for the first time."""

    def on_train_begin(self, net, **kwargs):
        with torch.no_grad():
            for parameter in net.module_.parameters() if net.history else ():
                parameter.zero_()


def test_weights_that_others_put_in_are_where_training_goes_on():
    graphs, y = make_motif_graphs(20, random_state=0)
    classifier = LoFIClassifier(
        max_epochs=2, early_stopping=False, warm_start=True, callbacks=[LoadZeros()], random_state=0
    ).fit(graphs, y)
    assert weights_of(classifier.module_).abs().max() > 1
    classifier.set_params(lr=1e-6).fit(graphs, y)
    assert weights_of(classifier.module_).abs().max() < 1e-4


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


FIGURES = {
    "usual": {"valid_score": 0.8125, "valid_loss": 0.43218765, "train_loss": 0.51230001},
    "wide": {"valid_score": -1.2345e-5, "valid_loss": 1.2345e-5, "train_loss": 1.2345e12},
    "training only": {"train_loss": 0.51230001},
}


def frames_on_a_terminal(monkeypatch, n_columns, title, max_epochs, figures, seconds):
    """What is drawn, line by line, on a terminal of this width."""
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, n_columns, 0, 0))
    net = SimpleNamespace(history=[])
    clock = iter(np.linspace(0, seconds, 1000))
    with open(theirs, "w", encoding="utf-8") as terminal, open(ours, "rb") as screen:
        monkeypatch.setattr(sys, "stderr", terminal)
        log = ProgressLog(title, max_epochs, verbose=1)
        log.on_train_begin(net)
        log.bar._time, log.bar.start_t, log.bar.last_print_t = partial(next, clock), 0, 0
        for epoch in (1, max_epochs // 3, max_epochs):
            net.history += [figures] * (epoch - len(net.history))
            log.on_epoch_end(net)
            log.bar.refresh()
        log.on_train_end(net)
        terminal.write("the end")
        terminal.flush()
        drawn = b""
        while not drawn.endswith(b"the end"):
            drawn += screen.read1(10_000)
    text = drawn.decode("utf-8").removesuffix("the end")
    return [frame.rstrip() for frame in re.split(r"[\r\n]+", text) if frame.strip()]


@pytest.mark.parametrize("figures", FIGURES)
@pytest.mark.parametrize("n_columns", [40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("title", ["LoFIClassifier", "LabelHistogramClassifier"])
@pytest.mark.parametrize("max_epochs, seconds", [(50, 20), (100_000, 400_000)])
def test_the_progress_bar_fits_the_terminal(
    monkeypatch, n_columns, title, max_epochs, seconds, figures
):
    values = FIGURES[figures]
    frames = frames_on_a_terminal(monkeypatch, n_columns, title, max_epochs, values, seconds)
    assert len(frames) >= 4
    for frame in frames:
        assert len(frame) <= n_columns
        bar = re.search(r"\|([^|]*)\|", frame)
        assert bar is None or len(bar.group(1)) >= 10
    for frame in frames[1:]:  # the first one is drawn before the first epoch
        shown = [float(x) for x in re.findall(r"=([^,\]]+)", frame)]
        if shown or n_columns >= 80:
            assert shown == pytest.approx(list(values.values()), rel=0.005)
        assert "[" not in frame or frame.endswith("]")
    assert f"{max_epochs}/{max_epochs}" in frames[-1]


def test_the_progress_bar_on_a_terminal_of_80_columns(monkeypatch):
    frames = frames_on_a_terminal(
        monkeypatch, 80, "LoFIClassifier", 1000, FIGURES["usual"], seconds=100
    )
    pattern = r"\|█{10,}\| 1000/1000 \[\d\d:\d\d<00:00, score=0.812, valid=0.432, train=0.512\]"
    assert re.fullmatch(pattern, frames[-1])
    frames = frames_on_a_terminal(
        monkeypatch, 140, "LoFIClassifier", 1000, FIGURES["usual"], seconds=100
    )
    assert re.match(
        r"LoFIClassifier: 100%\|█{10,}\| 1000/1000 \[.*, valid_score=0.8125,", frames[-1]
    )


def test_the_progress_bar_does_not_flicker_but_follows_the_terminal():
    bar = EpochBar(total=100, desc="LoFIClassifier", file=StringIO())
    width = [80]
    bar.dynamic_ncols = lambda file: (width[0], 24)
    bar.values = FIGURES["training only"]
    assert str(bar).startswith("LoFIClassifier")
    bar.values = FIGURES["wide"]
    assert str(bar).startswith("|")
    bar.values = FIGURES["training only"]
    assert str(bar).startswith("|")
    width[0] = 81
    assert str(bar).startswith("LoFIClassifier")
    bar.close()


@pytest.mark.parametrize("lr, stops", [(1e-6, True), (1e-3, False)])
def test_a_validation_loss_that_falls_by_less_than_a_ten_thousandth_does_not_count(lr, stops):
    graphs, y = make_motif_graphs(60, random_state=0)
    classifier = LoFIClassifier(
        n_layers=2, n_masks=4, max_epochs=8, lr=lr, patience=4, random_state=0
    ).fit(graphs, y, X_val=graphs, y_val=y)
    losses = classifier.history_[:, "valid_loss"]
    assert (np.diff(losses) < 0).all()  # it fell in every epoch
    assert (losses[0] - losses[4] < 1e-4) == stops
    assert classifier.n_epochs_ == (5 if stops else 8)
