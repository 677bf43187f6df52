"""Threads, processes and the rest of the program.

`tests/test_hygiene.py` does the same for moments.
"""

import copy
import gc
import getpass
import multiprocessing
import os
import pickle
import tempfile
import threading
import warnings
from contextlib import nullcontext, suppress
from functools import partial
from inspect import signature
from itertools import product
from pathlib import Path

import joblib
import numpy as np
import pytest
import sklearn
import torch
import torch._inductor.config  # the first optimizer imports it, which adds filters of warnings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from helpers import (
    SETTINGS,
    SURROUNDINGS,
    at_once,
    eager_threads,
    global_state,
    in_child,
    odd_graphs,
    torch_default,
)
from sklofi import (
    GraphKernelSVC,
    GraphKernelSVR,
    GraphSet,
    LoFIClassifier,
    LoFIRegressor,
    baselines,
)
from sklofi.datasets import make_motif_graphs
from sklofi.inspection import mask_importance, node_attribution
from sklofi.kernels import RandomWalkKernel
from sklofi.nn._choices import HISTOGRAM_KERNELS, POOLINGS

QUICK = {"n_layers": 2, "n_masks": 4, "n_words": 3, "max_epochs": 3, "random_state": 0}
ESTIMATORS = {
    "LoFIClassifier": LoFIClassifier(**QUICK),
    "LoFIRegressor": LoFIRegressor(**QUICK),
    "GraphKernelSVC": GraphKernelSVC(probability=True, random_state=0),
    "GraphKernelSVR": GraphKernelSVR(),
}
SURROUNDINGS = {
    **SURROUNDINGS,
    **{
        f"{name}={SETTINGS[name]}": partial(sklearn.config_context, **{name: SETTINGS[name]})
        for name in SETTINGS
    },
}
METHODS = ("predict", "predict_proba", "transform", "decision_function")

# A slice may use tables and matrices of the whole set or its own, which rounds otherwise.
close = partial(assert_allclose, rtol=1e-4, atol=1e-6)


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param])


def data(seed=0, n_graphs=60):
    graphs, y = make_motif_graphs(n_graphs, n_nodes=8, random_state=seed)
    return GraphSet.from_networkx(graphs), y


def ways(estimator):
    """All ways to ask a fitted estimator about graphs, by name."""
    found = {name: getattr(estimator, name) for name in METHODS if hasattr(estimator, name)}
    if isinstance(estimator, LoFIClassifier | LoFIRegressor):
        found["node_attribution"] = lambda X: np.concatenate(
            node_attribution(estimator, X, tol=np.inf, n_steps=4).attributions
        )
    return found


def all_numbers(estimator, X):
    return {name: ask(X) for name, ask in ways(estimator).items()}


def test_predictions_of_threads(estimator, tried):
    """Eight threads that use one estimator and one `GraphSet` at once get the same predictions.

    All methods and `node_attribution`, in every order, on the whole set and on slices of it,
    while threads take turns every microsecond; each round begins with a set whose tables have
    not been made. Equal to rounding: a slice uses the tables of the whole set if they are there.
    """
    graphs, y = data()
    fitted = estimator.fit(graphs, y)
    names = list(ways(fitted))
    parts = [slice(None), slice(0, 7), slice(20, 60)]
    expected = [all_numbers(fitted, copy.copy(graphs[part])) for part in parts]

    def ask(shared, seed):
        questions = np.random.RandomState(seed).permutation(len(names) * len(parts))
        for question in questions:
            name, part = names[question % len(names)], question // len(names)
            values = ways(fitted)[name](shared[parts[part]])
            close(values, expected[part][name], err_msg=f"{name} of {parts[part]}")
        return len(questions)

    n_calls = 0
    for round_ in range(40):
        shared = copy.copy(graphs)
        n_calls += sum(at_once([partial(ask, shared, 8 * round_ + i) for i in range(8)]))
    tried(n_calls, "calls in 8 threads")


@pytest.mark.parametrize("options", [{}, {"dropout": 0.3}, {"n_layers": 4}], ids=str)
def test_fits_of_threads(options, tried):
    """Fits at once on one `GraphSet` with the same `random_state` are equal bit for bit.

    Eight threads, networks of different depths beside each other, which add to the same
    tables, on sets without tables.
    """
    graphs, y = data()
    make = partial(LoFIClassifier, **{**QUICK, **options})
    expected = make().fit(copy.copy(graphs), y).module_.state_dict()
    for _ in range(15):
        shared = copy.copy(graphs)
        others = [LoFIClassifier(**{**QUICK, "n_layers": n}) for n in (1, 3, 5, 6)]
        fitted = at_once(
            [partial(one.fit, shared, y) for one in [*others, *map(clone, [make()] * 4)]]
        )
        for one in fitted[4:]:
            for name, value in one.module_.state_dict().items():
                assert torch.equal(value, expected[name]), name
    tried(15 * 8, "fits in 8 threads")


def test_kernel_machines_fit_in_threads(tried):
    """Kernel machines that are fitted at once on one `GraphSet` predict as if alone.

    Eight threads with four kernels share the matrices that live with the graphs.
    """
    graphs, y = data()
    kernels = ["wl", "wl-oa", "shortest-path", "random-walk"]
    expected = {k: GraphKernelSVC(kernel=k).fit(copy.copy(graphs), y) for k in kernels}
    expected = {k: one.decision_function(graphs) for k, one in expected.items()}

    def fit(shared, kernel, rows):
        GraphKernelSVC(kernel=kernel).fit(shared[rows], y[rows]).predict(shared)
        return GraphKernelSVC(kernel=kernel).fit(shared, y).decision_function(shared)

    for i in range(25):
        shared = copy.copy(graphs)
        rows = np.random.RandomState(i).permutation(60)[:30]
        for kernel, values in zip(
            2 * kernels, at_once([partial(fit, shared, k, rows) for k in 2 * kernels]), strict=True
        ):
            close(values, expected[kernel])
    tried(25 * 16, "fits in 8 threads")


def test_graphs_that_arrive_in_threads(tried):
    """Threads can unpickle `GraphSet`s at once.

    Eight threads receive six different sets in turn, of which a process remembers two.
    """
    messages = [pickle.dumps(data(seed, n_graphs=4)[0]) for seed in range(6)]

    def receive(first):
        for i in range(2500):
            graphs = pickle.loads(messages[(first * i + i) % 6])
            assert graphs.tables.get("n", lambda g=graphs: g.n_nodes) == graphs.n_nodes

    at_once([partial(receive, i) for i in range(8)])
    tried(8 * 2500, "sets unpickled in 8 threads")


def test_forks_among_threads(tried):
    """A process that is forked while threads use the same graphs and estimators does not hang.

    Four threads predict, fit kernel machines and unpickle without pause, torch computes with
    two threads, and every child has to predict within a minute.
    """
    graphs, y = data(n_graphs=200)
    network = LoFIClassifier(
        n_members=1, counts=False, n_layers=2, max_epochs=2, random_state=0
    ).fit(graphs, y)
    machine = GraphKernelSVC().fit(graphs, y)
    message = pickle.dumps(graphs)
    expected = network.predict_proba(graphs), machine.decision_function(graphs)
    stop = threading.Event()

    def keep_busy(work):
        while not stop.is_set():
            work()

    def child():
        received = pickle.loads(message)
        GraphKernelSVC(n_iter=2).fit(graphs, y)
        return network.predict_proba(received), machine.decision_function(graphs)

    works = [
        lambda: network.predict(graphs),
        lambda: pickle.loads(message),
        lambda: machine.predict(graphs),
        lambda: GraphKernelSVC(n_iter=1).fit(graphs, y),
    ]
    threads = [threading.Thread(target=keep_busy, args=[work]) for work in works]
    with torch_default("num_threads", 2), eager_threads(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of such forks
        for thread in threads:
            thread.start()
        try:
            for _ in range(40):
                for values, wanted in zip(in_child(child, seconds=60), expected, strict=True):
                    close(values, wanted)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    tried(40, "forks among 4 busy threads")


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver", "loky"])
def test_predictions_of_processes(way, tried):
    """Processes that are forked, spawned or of loky predict and fit the same.

    Every estimator, fitted here and asked there, and fitted there with the same `random_state`.
    """
    graphs, y = data()
    fitted = [clone(one).fit(graphs, y) for one in ESTIMATORS.values()]
    expected = [all_numbers_of_methods(one, graphs) for one in fitted]
    tasks = [(one, graphs, y) for one in fitted] * 2
    if way == "loky":
        answers = joblib.Parallel(n_jobs=2)(joblib.delayed(ask_and_fit)(*task) for task in tasks)
    else:
        with multiprocessing.get_context(way).Pool(2) as pool:
            answers = pool.starmap_async(ask_and_fit, tasks).get(timeout=300)
    for found, wanted in zip(answers, expected * 2, strict=True):
        for numbers, (name, values) in product(found, wanted.items()):
            close(numbers[name], values, err_msg=name)
    tried(2 * len(answers), "estimators in processes")


def all_numbers_of_methods(estimator, X):
    return {n: getattr(estimator, n)(X) for n in METHODS if hasattr(estimator, n)}


def ask_and_fit(estimator, graphs, y):
    again = clone(estimator).fit(graphs, y)
    return all_numbers_of_methods(estimator, graphs), all_numbers_of_methods(again, graphs)


MEGABYTE = 2**20
MOST_GROWTH = 5 * MEGABYTE
N_FITS = 200


TORCH_FOLDER = f"torchinductor_{getpass.getuser()}"


def resources():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "memory": pages * os.sysconf("SC_PAGE_SIZE"),
        "threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
        # torch's compiler makes a folder when it is imported, if no parent has
        "temporary files": len(set(os.listdir(tempfile.gettempdir())) - {TORCH_FOLDER}),
    }


def resources_of_fits(estimator, form, folder):
    """What a process holds after some fits, and after many more."""
    tempfile.tempdir = folder
    same, y = data()
    for i in range(50 + N_FITS):
        if i == 50:  # by now all libraries have set themselves up
            before = resources()
        graphs = same
        if form != "the same set":
            graphs, y = make_motif_graphs(60, n_nodes=8, random_state=i)
            graphs = graphs if form == "lists" else GraphSet.from_networkx(graphs)
        fitted = clone(estimator).fit(graphs, y)
        fitted = pickle.loads(pickle.dumps(fitted)) if i % 10 == 0 else fitted
        fitted.predict(graphs[:20])
    return before, resources()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
@pytest.mark.parametrize("form", ["the same set", "new sets", "lists"])
def test_many_fits_leave_nothing_behind(form, estimator, tried, tmp_path, record_property):
    """Two hundred fits in one process grow neither memory nor threads nor open files.

    Fits and predictions with the same `GraphSet`, with new ones, and with new lists of graphs,
    every tenth through a pickle, after a warm-up of 50 fits in a process of their own; memory
    may grow by 5 MB, all else by nothing, and no temporary file is left.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        task = pool.apply_async(resources_of_fits, (estimator, form, str(tmp_path)))
        before, after = task.get(timeout=600)
    growth = after.pop("memory") - before.pop("memory")
    print(f"{type(estimator).__name__}, {form}: {growth / MEGABYTE:.1f} MB")
    assert growth < MOST_GROWTH
    assert after == before
    assert after["temporary files"] == 0
    tried(N_FITS, "fits")


@pytest.mark.parametrize("surroundings", [None, *SURROUNDINGS])
def test_global_state(surroundings, tried):
    """Global state is left as it was found, also by calls that fail.

    Random states of Python, numpy and torch; torch's threads, default dtype and device,
    determinism and modes of gradients; filters of warnings, numpy's handling of errors, the
    environment, path, folder, locale and the settings of scikit-learn; under every setting
    that the next row lists.
    """
    X, y = odd_graphs(30), np.arange(30) % 2
    wrong = [([1], [0]), (X, y[:-1]), (X, ["a"] * 30), (X, [np.nan] * 30), ([], []), (None, None)]
    n_calls = 0
    for one in ESTIMATORS.values():
        with SURROUNDINGS[surroundings]() if surroundings else nullcontext():
            before = global_state()
            fitted = clone(one).fit(X, y)
            assert global_state() == before
            for name, ask in ways(fitted).items():
                ask(X)
                assert global_state() == before, name
            if hasattr(fitted, "module_"):
                mask_importance(fitted, X, y, random_state=0)
                fitted.partial_fit(X, y)
                assert global_state() == before
            for graphs, targets in wrong:
                # A regressor takes any numbers that are finite.
                with suppress(ValueError, TypeError):
                    clone(one).fit(graphs, targets)
                with suppress(ValueError, TypeError):
                    fitted.predict(graphs)
                assert global_state() == before
            n_calls += 4 + 2 * len(wrong) + len(ways(fitted))
    tried(n_calls, "calls")


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_settings_of_the_user(surroundings, tried):
    """What the user has set around a call changes no number, bit for bit.

    Fits, predictions and explanations under `torch.no_grad`, `torch.inference_mode`, 64 bits as
    default dtype, a default device that cannot compute, deterministic algorithms, warnings as
    errors, numpy raising on every overflow, underflow and division by zero, and each setting of
    `sklearn.set_config`, also for those who set it between fit and predict: LoFI, all peers,
    kernel machines and linear machines on counts.
    """
    X, y = odd_graphs(30), np.arange(30) % 3
    options = [
        {"kernel": kernel, "pooling": pooling, "dropout": dropout}
        for kernel, pooling, dropout in product(HISTOGRAM_KERNELS, POOLINGS, (0, 0.2))
    ]
    machines = [LoFIClassifier(**QUICK, **one) for one in options]
    machines += [LoFIRegressor(**QUICK, **one) for one in options]
    kernels = ("wl", "wl-oa", "shortest-path", "random-walk", RandomWalkKernel())
    machines += [GraphKernelSVR(), *(GraphKernelSVC(kernel=kernel) for kernel in kernels)]
    machines += [
        GraphKernelSVC(probability=True, solver=solver, random_state=0)
        for solver in ("gram", "linear")
    ]
    peers = [getattr(baselines, name) for name in baselines.__all__ if "Vectorizer" not in name]
    machines += map(quick, peers)
    for machine in machines:
        fitted = clone(machine).fit(X, y)
        expected = all_numbers(fitted, X)
        with SURROUNDINGS[surroundings]():
            answers = [all_numbers(clone(machine).fit(X, y), X), all_numbers(fitted, X)]
        for found, (name, values) in product(answers, expected.items()):
            assert_array_equal(found[name], values, err_msg=f"{name} of {machine}")
    tried(len(machines), "estimators")


def quick(kind):
    return kind(**{n: value for n, value in QUICK.items() if n in signature(kind).parameters})
