"""Threads, processes, and what the library shares with the rest of a program.

`tests/torture/test_hygiene.py` does the same for longer.
"""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import joblib
import networkx as nx
import numpy as np
import pytest
import torch
from joblib.externals import loky
from joblib.externals.loky import process_executor
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_predict

import sklofi.graphs._cache
from helpers import SURROUNDINGS, at_once, global_state, in_child, torch_default
from sklofi import GraphKernelSVC, GraphKernelSVR, GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.baselines import GINClassifier
from sklofi.datasets import make_motif_graphs
from sklofi.inspection import (
    edge_attribution,
    mask_evidence,
    mask_importance,
    node_attribution,
    read_mask,
)
from sklofi.kernels._gram import KernelCache

QUICK = {"n_layers": 2, "n_masks": 4, "n_words": 3, "max_epochs": 3, "random_state": 0}
ESTIMATORS = [
    LoFIClassifier(**QUICK),
    LoFIRegressor(**QUICK),
    GraphKernelSVC(),
    GraphKernelSVR(),
    GraphKernelSVC(solver="linear", random_state=0),
    GraphKernelSVC(probability=True, random_state=0),
]
ids = map(repr, ESTIMATORS)


def all_numbers(estimator, X):
    """What a fitted estimator says of graphs, by all ways to ask."""
    numbers = {
        name: getattr(estimator, name)(X)
        for name in ("predict", "predict_proba", "transform", "decision_function")
        if hasattr(estimator, name)
    }
    if hasattr(estimator, "module_"):
        numbers["node_attribution"] = np.concatenate(node_attribution(estimator, X).attributions)
    return numbers


def assert_same_numbers(one, other, assert_same=assert_array_equal):
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert_same(values, other[name], err_msg=name)


close = partial(assert_allclose, rtol=1e-4, atol=1e-6)


# Threads


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_threads_predict_the_same(estimator, motifs):
    graphs, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    fitted = estimator.fit(copy.copy(graphs), y)
    expected = all_numbers(fitted, motifs[0])
    for numbers in at_once([partial(all_numbers, fitted, graphs)] * 8):
        assert_same_numbers(numbers, expected, close)


def test_threads_fit_the_same_model(motifs):
    graphs, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    expected = all_numbers(LoFIClassifier(**QUICK, dropout=0.2).fit(copy.copy(graphs), y), graphs)
    fits = [partial(LoFIClassifier(**QUICK, dropout=0.2).fit, graphs, y) for _ in range(4)]
    for fitted in at_once(fits):
        assert_same_numbers(all_numbers(fitted, graphs), expected)


def test_what_is_kept_is_the_same_for_all_threads():
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    both_make_it = threading.Barrier(2)

    def make():
        both_make_it.wait(10)
        return object()

    one, other = at_once([partial(graphs.tables.get, "key", make)] * 2)
    assert one is other is graphs.tables.get("key", object)


def test_graphs_can_arrive_in_several_threads_at_once(monkeypatch):
    class Slow(dict):
        def __iter__(self):
            iterator = super().__iter__()
            time.sleep(1e-4)  # let the others come in between
            return iterator

    monkeypatch.setattr(sklofi.graphs._cache, "_received", Slow())
    messages = [pickle.dumps(GraphSet.from_networkx([nx.path_graph(n)])) for n in range(2, 8)]

    def receive(first):
        return [len(pickle.loads(messages[(first + i) % 6])) for i in range(30)]

    assert at_once([partial(receive, i) for i in range(8)]) == [[1] * 30] * 8
    assert len(sklofi.graphs._cache._received) == sklofi.graphs._cache.N_RECEIVED


# Processes


class SlowKey:
    """A key that takes its time."""

    is_being_read = threading.Event()

    def __hash__(self):
        self.is_being_read.set()
        time.sleep(0.2)
        return 0


@pytest.mark.parallel
def test_a_fork_leaves_no_lock_closed():
    shelf = KernelCache()
    thread = threading.Thread(target=shelf.take, args=[SlowKey()])
    thread.start()
    SlowKey.is_being_read.wait()
    assert in_child(lambda: shelf.put("key", "item", 1), seconds=20) == "item"
    thread.join()
    message = pickle.dumps(GraphSet.from_networkx([nx.path_graph(3)]))
    assert in_child(lambda: len(pickle.loads(message)), seconds=20) == 1


@pytest.mark.parallel
def test_a_forked_child_does_not_wait_for_the_threads_of_its_parent():
    graphs, y = make_motif_graphs(100, n_nodes=30, random_state=0)
    graphs = GraphSet.from_networkx(graphs)

    def fit():
        return LoFIClassifier(
            n_members=1, counts=False, n_layers=2, max_epochs=1, random_state=0
        ).fit(graphs, y)

    with torch_default("num_threads", 2):
        classifier = fit()
        expected = classifier.predict_proba(graphs)
        predicted = in_child(lambda: classifier.predict_proba(graphs), seconds=30)
        fitted = in_child(lambda: fit().predict_proba(graphs), seconds=30)
    assert_allclose(predicted, expected, rtol=1e-4)
    assert_allclose(fitted, expected, rtol=1e-2)  # rounding grows in training


def calls(motifs):
    """Whatever makes a forked child compute, from a fitted estimator and its graphs."""
    classifier = LoFIClassifier(**QUICK, counts=False).fit(*motifs)
    message = pickle.dumps(classifier)
    return {
        "fit": lambda: LoFIClassifier(**QUICK).fit(*motifs),
        "predict": lambda: classifier.predict(motifs[0]),
        "transform": lambda: classifier.transform(motifs[0]),
        "partial_fit": lambda: classifier.partial_fit(*motifs),
        "unpickle": lambda: pickle.loads(message),
        "read_mask": lambda: read_mask(classifier, 0, 0),
        "node_attribution": lambda: node_attribution(classifier, motifs[0]),
        "edge_attribution": lambda: edge_attribution(classifier, motifs[0]),
        "mask_importance": lambda: mask_importance(classifier, *motifs),
        "module_": lambda: classifier.module_,
    }


@pytest.mark.parallel
def test_only_a_forked_child_that_uses_an_estimator_gives_up_threads(motifs):
    def threads_after(call):
        return lambda: (torch.get_num_threads(), call(), torch.get_num_threads())[::2]

    with torch_default("num_threads", 2):
        every_call = calls(motifs)
        assert in_child(torch.get_num_threads) == 2
        for name, call in every_call.items():
            assert in_child(threads_after(call)) == (2, 1), name
        every_call["predict"]()
        assert torch.get_num_threads() == 2


@pytest.mark.parallel
def test_every_thread_of_a_forked_child_gives_up_threads(motifs):
    call = calls(motifs)["module_"]

    def child():
        before = torch.get_num_threads()  # which gives this thread a number of its own
        with ThreadPoolExecutor(1) as pool:
            elsewhere = pool.submit(lambda: (call(), torch.get_num_threads())).result()[1]
        call()
        here = torch.get_num_threads()
        torch.set_num_threads(2)  # by somebody who knows that it is safe
        call()
        return before, elsewhere, here, torch.get_num_threads()

    with torch_default("num_threads", 2):
        assert in_child(child) == (2, 1, 1, 2)


@pytest.mark.parallel
@pytest.mark.parametrize("backend", ["multiprocessing", "threading"])
def test_workers_predict_the_same(backend, motifs):
    graphs, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    for estimator in ESTIMATORS[:4]:
        fitted = estimator.fit(graphs, y)
        expected = all_numbers(fitted, graphs)
        with joblib.parallel_backend(backend, n_jobs=2):
            answers = joblib.Parallel()([joblib.delayed(all_numbers)(fitted, graphs)] * 2)
        for numbers in answers:
            assert_same_numbers(numbers, expected, close)


@pytest.mark.parallel
@pytest.mark.parametrize("estimator", [LoFIClassifier, GINClassifier])
def test_equal_numbers_of_threads_give_equal_bits(estimator, motifs):
    """Here and in workers; the words are those of the parameter random_state."""
    network = estimator(n_members=2, max_epochs=3, random_state=0)
    search = partial(cross_val_predict, network, *motifs, cv=2)
    with torch_default("num_threads", 1):
        here = search(method="predict_proba")
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        elsewhere = search(method="predict_proba", n_jobs=2)
    assert_array_equal(here, elsewhere)
    with torch_default("num_threads", 2):
        assert_array_equal(search(method="predict_proba"), search(method="predict_proba"))


@pytest.mark.parallel
def test_nobody_waits_forever_for_a_worker_that_is_replaced():
    """Not even where warnings are errors, as they are here."""

    def work():
        # Now this worker takes itself for one that leaks memory, and ends after its second task.
        process_executor._MAX_MEMORY_LEAK_SIZE = -1
        process_executor._MEMORY_LEAK_CHECK_DELAY = 0
        return os.getpid()

    try:
        pids = joblib.Parallel(n_jobs=2, batch_size=1, timeout=60)([joblib.delayed(work)()] * 8)
    finally:
        loky.get_reusable_executor().shutdown(kill_workers=True)
    assert len(set(pids)) > 2


def test_a_test_that_hangs_fails_and_shows_where(tmp_path, pytestconfig):
    (tmp_path / "test_hang.py").write_text("def test_hang():\n    while True: pass\n")
    command = [sys.executable, "-m", "pytest", "-c", pytestconfig.inipath, tmp_path]
    options = ["-o", "faulthandler_timeout=1", "-p", "no:cacheprovider"]
    done = subprocess.run(command + options, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert 'test_hang.py", line 2 in test_hang' in done.stderr
    assert float(pytestconfig.getini("faulthandler_timeout")) > 0


# What is shared with the rest of the program


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_global_state_is_left_as_it_was_found(estimator, motifs):
    graphs, y = motifs
    before = global_state()
    all_numbers(estimator.fit(graphs, y), graphs)
    for wrong in ({"X": graphs, "y": [0] * 39}, {"X": [1], "y": [0]}, {"X": graphs, "y": [None]}):
        with suppress(ValueError, TypeError):
            estimator.fit(**wrong)
            raise AssertionError("It should have failed.")
    assert global_state() == before


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_settings_of_the_user_change_no_number(name, motifs):
    graphs, y = motifs
    targets = y + np.arange(40) / 40

    def numbers():
        classifier = LoFIClassifier(**QUICK, dropout=0.1).fit(graphs, y)
        pooled = LoFIClassifier(**QUICK, pooling="max", kernel="intersection").fit(graphs, y)
        networks = LoFIClassifier(**QUICK, counts=False).fit(graphs, y)
        regressor = LoFIRegressor(**QUICK).fit(graphs, targets).partial_fit(graphs, targets)
        return {
            **all_numbers(classifier, graphs),
            "pooled": pooled.predict_proba(graphs),
            "regression": regressor.predict(graphs),
            "kernel": GraphKernelSVC(probability=True, random_state=0)
            .fit(graphs, y)
            .predict_proba(graphs),
            "importance": mask_importance(classifier, graphs, y, random_state=0).importances,
            "evidence": np.concatenate(mask_evidence(classifier, graphs).attributions),
            "edges": np.concatenate(edge_attribution(networks, graphs[:9]).attributions),
            "mask": read_mask(classifier, 0, 0).assignments,
            "related mask": read_mask(classifier, 0, 0).related_assignments,
        }

    expected = numbers()
    with SURROUNDINGS[name]():
        before = global_state()
        found = numbers()
        assert global_state() == before
    assert_same_numbers(found, expected)


def test_what_was_loaded_in_inference_mode_can_be_explained_and_trained(motifs):
    graphs, y = motifs
    message = pickle.dumps(LoFIClassifier(**QUICK).fit(graphs, y))
    one = pickle.loads(message)
    with torch.inference_mode():
        other = pickle.loads(message)
    for classifier in (one, other):
        classifier.partial_fit(graphs, y)
    assert_same_numbers(all_numbers(other, graphs), all_numbers(one, graphs))


def test_a_network_follows_the_defaults_of_torch_unless_told_otherwise():
    with SURROUNDINGS["default dtype"]():
        assert {p.dtype for p in sklofi.nn.LoFINetwork(3, 2).parameters()} == {torch.float64}
        network = sklofi.nn.LoFINetwork(3, 2, dtype=torch.float32)
    assert {t.dtype for t in network.state_dict().values()} == {torch.float32}
    with SURROUNDINGS["default device"]():
        network = sklofi.nn.LoFINetwork(3, 2, generator=torch.Generator("cpu"))
    assert {t.device.type for t in network.state_dict().values()} == {"cpu"}


# Nothing is left behind


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_nobody_holds_on_to_graphs_that_were_fitted(estimator, motifs):
    graphs, y = GraphSet.from_networkx(motifs[0]), motifs[1]
    estimator.fit(graphs, y).predict(graphs[:5])
    is_alive = weakref.ref(graphs)
    estimator.fit(motifs[0], y)
    del graphs
    gc.collect()
    assert is_alive() is None


def test_fits_leave_no_threads_and_files_open(motifs):
    graphs, y = motifs
    counts = []
    for _ in range(3):
        for estimator in ESTIMATORS:
            pickle.loads(pickle.dumps(estimator.fit(graphs, y))).predict(graphs)
        counts.append((threading.active_count(), len(os.listdir("/proc/self/fd"))))
    assert counts[1] == counts[2]
