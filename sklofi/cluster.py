"""Searches and comparisons on the workers of a Dask cluster, any of which may die.

joblib's own Dask backend leaves large arguments (graphs, targets, the rows of a fold) with some
worker and remembers nothing but where they are. When this worker dies they are lost, and the
search ends with an error. Here they are results of tasks, which the scheduler repeats.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from joblib import parallel_config
from joblib._dask import DaskDistributedBackend

from sklofi.graphs._graph_set import GraphSet

__all__ = ["on_cluster"]

# Seconds to wait if there is no worker at all, such as after the death of the only one.
WAIT_FOR_WORKERS = 60


@contextmanager
def on_cluster(client: Any = None) -> Iterator[None]:
    """Run what is parallel inside on the workers of a Dask cluster.

    Searches, cross-validation and :func:`compare` send their fits to the workers, as within
    ``joblib.parallel_config(backend="dask")``, and with the same results. Beyond that:

    - A worker that dies loses nothing but the fits it was at, and these are repeated. A fit
      that was interrupted by the deaths of more than 3 workers is taken for their cause and
      ends the search; Dask's setting ``distributed.scheduler.allowed-failures`` changes the
      number.
    - A :class:`GraphSet` is sent once, however many fits and searches are run inside, and
      workers pass it on to each other. A list of graphs is sent with every fit: convert it
      first.
    - A fit stays on its worker with all that is parallel in it, such as a search within a
      comparison, where it shares kernel matrices and neighborhoods with other fits.

    Parameters
    ----------
    client : dask.distributed.Client, default=None
        The client of the cluster, by default the one that was made last.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklofi import GraphKernelSVC, GraphSet
    >>> from sklofi.cluster import on_cluster
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y = make_motif_graphs(200, random_state=0)
    >>> X = GraphSet.from_networkx(graphs)
    >>> search = GridSearchCV(GraphKernelSVC(), {"n_iter": [1, 2, 3]}, cv=2)
    >>> with Client(processes=False, dashboard_address=":0") as client, on_cluster(client):
    ...     search = search.fit(X, y)
    >>> bool(search.best_score_ > 0.9)
    True
    """
    try:
        from dask.distributed import get_client
    except ImportError as error:
        raise ImportError('on_cluster needs Dask: pip install "dask[distributed]".') from error
    lasting = _LastingClient(get_client() if client is None else client)
    backend = _Backend(client=lasting, wait_for_workers_timeout=WAIT_FOR_WORKERS)
    try:
        with parallel_config(backend=backend):
            yield
    finally:
        lasting.forget()


class _Backend(DaskDistributedBackend):
    """joblib's backend, corrected where it would wait for ever or not send anything."""

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Cores of the cluster. If there is but one, joblib would fit in this process."""
        return max(2, int(super().effective_n_jobs(n_jobs)))

    def submit(self, func: Any, callback: Any = None) -> Any:
        outcome = super().submit(func, callback)

        def report_failure(done: Any) -> None:
            # Such as a fit that killed its workers. joblib calls back for results alone, and
            # would wait for this one.
            if done.exception() is not None:
                callback(done.exception())

        outcome.add_done_callback(report_failure)
        return outcome

    def retrieve_result_callback(self, out: Any) -> Any:
        if isinstance(out, BaseException):
            raise out
        return super().retrieve_result_callback(out)

    async def _to_func_args(self, func: Any) -> Any:
        batch, tasks = await super()._to_func_args(func)
        return batch, [(_run_here, [task, *args], named) for task, args, named in tasks]


class _LastingClient:
    """What joblib asks of a client, with data that outlive the workers that hold them."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._graph_sets: WeakKeyDictionary[GraphSet, Any] = WeakKeyDictionary()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def scatter(self, data: Any, **_: Any) -> Any:
        """The future of some data, which joblib passes to tasks in place of them.

        The scheduler keeps the pickled data, and has any worker unpickle them again if all
        that had them are gone.
        """
        if not isinstance(data, GraphSet):  # an array may have changed since it was sent
            return self._send(data)
        if data not in self._graph_sets:
            self._graph_sets[data] = self._send(data)
        return self._graph_sets[data]

    def forget(self) -> None:
        """Let the workers drop the graphs, even if joblib still holds on to this client."""
        self._graph_sets.clear()

    def _send(self, data: Any) -> Any:
        import cloudpickle
        import dask

        # It is meant to be large.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            return self._client.submit(
                pickle.loads,
                cloudpickle.dumps(data, protocol=pickle.HIGHEST_PROTOCOL),
                key=f"{type(data).__name__}-{uuid.uuid4().hex}",
            )


def _run_here(task: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Run a task without sending parts of it to other workers, which joblib would do."""
    with parallel_config(backend="sequential"):
        return task(*arguments, **named)
