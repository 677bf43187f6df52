"""Beyond one machine."""

import gc
import logging
import os
import random
import signal
import threading
import time

import numpy as np
import psutil
import pytest
from sklearn.model_selection import GridSearchCV

from sklofi import GraphKernelSVC, GraphSet, compare
from sklofi.cluster import on_cluster
from sklofi.datasets import make_motif_graphs

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")


PATIENT = {
    "distributed.scheduler.allowed-failures": 100,
    "distributed.deploy.lost-worker-timeout": "10 minutes",
}


class DeadlySVC(GraphKernelSVC):
    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


def small_lofi():
    # Not imported above: workers import this module, and those that die would wait for torch.
    from sklofi import LoFIClassifier

    return LoFIClassifier(
        n_members=1, counts=False, n_layers=1, n_masks=4, n_words=4, max_epochs=2, random_state=0
    )


def cluster(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )


def motif_set(n_graphs, seed=0):
    graphs, y = make_motif_graphs(n_graphs, n_nodes=8, random_state=seed)
    return GraphSet.from_networkx(graphs), y


def scores_of(search):
    names = sorted(name for name in search.cv_results_ if name.startswith("split"))
    return np.array([search.cv_results_[name] for name in names])


class Killer(threading.Thread):
    """Kills a worker now and then, at times all of them, while a block runs."""

    def __init__(self, client, seed):
        super().__init__(daemon=True)
        self.client = client
        self.random = random.Random(seed)
        self.n_kills = 0
        self.stopped = threading.Event()

    def run(self):
        # Not without end: on a slow machine no worker would live to see the end of a fit.
        while self.n_kills < 5 and not self.stopped.wait(self.random.uniform(0.2, 8)):
            nannies = list(self.client.cluster.workers.values())
            all_of_them = self.random.random() < 0.2
            for nanny in nannies if all_of_them else [self.random.choice(nannies)]:
                if (pid := nanny.pid) is not None:
                    os.kill(pid, signal.SIGKILL)
                    self.n_kills += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.join()


def test_searches_and_comparisons_outlive_their_workers(tried):
    """A worker that is killed loses nothing but time: the results are those of one process.

    Two worker processes get SIGKILL at random moments, every fifth time both at once and with
    them all copies of the graphs, while grid searches over LoFI and kernels and a comparison
    run; scores and best parameters have to equal those without a cluster. Dask is set to forgive
    more than 3 deaths per fit (`allowed-failures`), and to wait for a worker that restarts for
    longer than 15 seconds (`lost-worker-timeout`).
    """
    X, y = motif_set(200)
    lofi = GridSearchCV(small_lofi(), {"n_masks": [2, 4, 8], "lr": [0.001, 0.003, 0.01]}, cv=3)
    wl = GridSearchCV(GraphKernelSVC(), {"C": [0.01, 0.1, 1, 10], "n_iter": [1, 2, 3]}, cv=3)
    estimators = {"LoFI": small_lofi(), "WL": GridSearchCV(GraphKernelSVC(), {"C": [0.1, 1]}, cv=2)}
    here = [scores_of(lofi.fit(X, y)), scores_of(wl.fit(X, y))]
    best = [lofi.best_params_, wl.best_params_]
    compared = compare(estimators, X, y, cv=3).scores
    n_kills = n_runs = 0
    with (
        dask.config.set(PATIENT),
        cluster(2) as workers,
        distributed.Client(workers) as client,
    ):
        end = time.monotonic() + 200
        while n_kills < 20 and (n_kills < 10 or time.monotonic() < end):
            with Killer(client, seed=n_runs) as killer, on_cluster(client):
                assert np.array_equal(scores_of(lofi.fit(X, y)), here[0])
                assert np.array_equal(scores_of(wl.fit(X, y)), here[1])
                assert [lofi.best_params_, wl.best_params_] == best
                there = compare(estimators, X, y, cv=3)
            assert not there.failures
            assert np.array_equal(there.scores, compared)
            n_kills += killer.n_kills
            n_runs += 1
    tried(n_kills, "kills")
    tried(3 * n_runs, "searches and comparisons")


def test_a_fit_that_kills_every_worker_ends_the_search(tried):
    """A fit that kills each worker it is given to ends the search with an error in words.

    An estimator that kills its own process, in a search on one worker, with Dask's default of
    3 deaths that are forgiven.
    """
    X, y = motif_set(40)
    with cluster(1) as workers, distributed.Client(workers) as client, on_cluster(client):
        search = GridSearchCV(DeadlySVC(), {"C": [1, 10]}, cv=2)
        with pytest.raises(distributed.KilledWorker, match="Attempted to run task"):
            search.fit(X, y)
    tried(1, "searches")


def resident_megabytes():
    gc.collect()
    return psutil.Process().memory_info().rss / 2**20


def test_memory_of_a_worker_does_not_grow_with_fits(tried):
    """The memory of a worker does not grow with the number of fits: less than 20 MB in 400.

    Ten searches of 40 short fits of LoFI on one worker process, the same graphs; resident memory
    after the second and after the last.
    """
    X, y = motif_set(200)
    sizes = []
    search = GridSearchCV(small_lofi(), {"lr": np.logspace(-4, -1, 20)}, cv=2, refit=False)
    with cluster(1) as workers, distributed.Client(workers) as client, on_cluster(client):
        for _ in range(10):
            search.fit(X, y)
            sizes += client.run(resident_megabytes).values()
    assert sizes[-1] - sizes[1] < 20, sizes
    tried(400, "fits")


def test_memory_of_a_worker_does_not_grow_with_data_sets(tried):
    """Nor does it grow with the number of data sets: less than 20 MB in 15 of them.

    Searches over LoFI and a kernel on 20 GraphSets of 1,000 graphs in turn, whose kernel matrices
    alone have 8 MB each, on one worker process; resident memory after the fifth and after the
    last.
    """
    sizes = []
    lofi = GridSearchCV(small_lofi(), {"n_masks": [2, 4]}, cv=2, refit=False)
    wl = GridSearchCV(GraphKernelSVC(), {"C": [0.1, 1]}, cv=2, refit=False)
    with cluster(1) as workers, distributed.Client(workers) as client, on_cluster(client):
        for seed in range(20):
            X, y = motif_set(1000, seed)
            lofi.fit(X, y)
            wl.fit(X, y)
            sizes += client.run(resident_megabytes).values()
    assert sizes[-1] - sizes[4] < 20, sizes
    tried(20, "data sets")
