"""Searches on a Dask cluster: the same results, graphs sent once, workers that die."""

import logging
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config, register_parallel_backend
from joblib.parallel import BACKENDS
from sklearn.model_selection import GridSearchCV

from sklofi import GraphKernelSVC, GraphSet, compare
from sklofi.cluster import on_cluster

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.parallel

PATIENT = {
    # A local cluster gives up a worker that is not back in 15 seconds.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    # Every two seconds it drops copies that no task is waiting for, and sends them anew later.
    "distributed.scheduler.active-memory-manager.start": False,
}
pickled = Counter()


class CountedSet(GraphSet):
    """Graphs that count how often they are pickled and unpickled in a process."""

    def __getstate__(self):
        pickled["sent"] += 1
        return super().__getstate__()

    def __setstate__(self, state):
        pickled["received"] += 1
        super().__setstate__(state)


class MortalSVC(GraphKernelSVC):
    """Kills its process in `fit`, until there are so many graves in a folder."""

    def __init__(self, folder=None, n_deaths=0, C=1.0):
        super().__init__(C=C)
        self.folder = folder
        self.n_deaths = n_deaths

    def fit(self, X, y):
        for i in range(self.n_deaths):
            try:
                Path(self.folder, str(i)).touch(exist_ok=False)  # of two workers, one can
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


def lofi_search():
    # Not imported above: workers import this module, and those that die would wait for torch.
    from sklofi import LoFIClassifier

    lofi = LoFIClassifier(
        n_members=1, counts=False, n_layers=1, n_masks=4, n_words=4, max_epochs=2, random_state=0
    )
    return GridSearchCV(lofi, {"n_masks": [2, 4], "lr": [0.001, 0.01]}, cv=2)


def svc_search(estimator=None, **options):
    return GridSearchCV(estimator or GraphKernelSVC(), {"C": [0.01, 0.1, 1, 10]}, cv=2, **options)


@pytest.fixture(scope="module")
def client():
    """Two worker processes; deaths are not worth a word."""
    with (
        dask.config.set(PATIENT),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def many(motifs, client):
    """Enough graphs that joblib does not send targets and rows along with each task."""
    client.run(count_and_reset)
    count_and_reset()
    graphs, y = motifs
    return CountedSet.from_networkx(graphs * 5), np.tile(y, 5)


def same_scores(search, other):
    names = [name for name in search.cv_results_ if name.startswith("split")]
    return all(np.array_equal(search.cv_results_[n], other.cv_results_[n]) for n in names)


def count_and_reset():
    counts = Counter(pickled)
    pickled.clear()
    return counts


def test_a_search_gives_the_same_results_on_a_cluster(client, motifs):
    graphs, y = motifs
    X = GraphSet.from_networkx(graphs)
    here = lofi_search().fit(X, y)
    with on_cluster(client):
        there = lofi_search().fit(X, y)
    assert same_scores(here, there)
    assert there.best_params_ == here.best_params_
    assert np.array_equal(there.predict_proba(X), here.predict_proba(X))


def test_threads_of_one_worker_give_the_same_results(motifs):
    graphs, y = motifs
    X = GraphSet.from_networkx(graphs)
    here = lofi_search().fit(X, y)
    with (
        distributed.Client(
            processes=False, n_workers=1, threads_per_worker=4, dashboard_address=":0"
        ),
        on_cluster(),  # which finds its client
    ):
        there = lofi_search().fit(X, y)
    assert same_scores(here, there)


def test_a_graph_set_is_sent_to_each_worker_once(client, many):
    X, y = many
    kernels = {name: GraphKernelSVC(kernel=name) for name in ("wl", "vertex-histogram")}
    with on_cluster(client):
        for _ in range(3):
            svc_search().fit(X, y)
        compare(kernels, X, y, cv=3)
    assert count_and_reset() == {"sent": 1}
    counts = client.run(count_and_reset).values()
    # Once, or twice if Dask moves a task to a worker that has got the graphs meanwhile.
    assert max(count["received"] for count in counts) <= 2
    assert sum(count["sent"] for count in counts) <= 1  # from one to the other


def test_joblib_alone_sends_a_graph_set_once_a_search(client, many):
    X, y = many
    with parallel_config(backend="dask"):
        svc_search().fit(X, y)
    assert count_and_reset() == {"sent": 1}
    assert max(count["received"] for count in client.run(count_and_reset).values()) == 1


def test_what_is_parallel_within_a_fit_stays_on_its_worker(client, many):
    X, y = many
    estimators = {
        "searched": svc_search(),
        "probable": GraphKernelSVC(probability=True, random_state=0),
    }
    here = compare(estimators, X, y, cv=2)
    with on_cluster(client):
        there = compare(estimators, X, y, cv=2)
    assert np.array_equal(here.scores, there.scores)
    assert sum(count["sent"] for count in client.run(count_and_reset).values()) <= 1


def test_workers_drop_the_graphs_afterwards(client, many):
    X, y = many
    with on_cluster(client):
        svc_search().fit(X, y)
        assert has_graphs(client)
    for _ in range(100):
        if not has_graphs(client):
            return
        time.sleep(0.05)
    raise AssertionError("the scheduler still has the graphs")


def has_graphs(client):
    keys = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
    return any(key.startswith("CountedSet") for key in keys)


@pytest.mark.parametrize("n_deaths", [1, 2])
def test_a_search_outlives_its_workers(client, many, tmp_path, n_deaths):
    """Both at once hold the only copies of graphs, targets and rows."""
    X, y = many
    here = svc_search(refit=False).fit(X, y)
    with on_cluster(client):
        there = svc_search(MortalSVC(tmp_path, n_deaths), refit=False).fit(X, y)
    assert len(list(tmp_path.iterdir())) == n_deaths
    assert same_scores(here, there)
    assert there.best_params_ == here.best_params_


def test_a_fit_that_kills_its_workers_ends_the_search(client, many, tmp_path, monkeypatch):
    """joblib alone would wait for it for ever."""
    X, y = many
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    with on_cluster(client), pytest.raises(distributed.KilledWorker, match="on 1 different"):
        svc_search(MortalSVC(tmp_path, n_deaths=1)).fit(X, y)


def test_a_single_worker_is_a_cluster_too(many):
    X, y = many
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        with on_cluster(client):
            svc_search().fit(X, y)
    assert count_and_reset()["sent"] == 1


@pytest.mark.filterwarnings("ignore:GraphKernelSVC does not use the continuous node features")
def test_large_sets_are_sent_without_a_warning(client, many):
    X, y = many
    X = replace(X, features=np.zeros((X.n_nodes, 1000)))  # 18 MB
    with on_cluster(client):
        assert svc_search().fit(X, y).best_score_ == 1


def test_compare_works_with_backends_that_have_no_generators(motifs):
    """Such as Ray's."""
    from joblib._parallel_backends import ThreadingBackend

    class ListsOnly(ThreadingBackend):
        supports_return_generator = False

    graphs, y = motifs
    register_parallel_backend("lists only", ListsOnly)
    try:
        with parallel_config(backend="lists only", n_jobs=2):
            assert not compare({"WL": GraphKernelSVC()}, graphs, y, cv=2).failures
    finally:
        del BACKENDS["lists only"]


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(
        ImportError, match=r'on_cluster needs Dask: pip install "dask\[distributed\]"'
    ):
        with on_cluster():
            pass
