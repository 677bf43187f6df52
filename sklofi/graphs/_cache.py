"""Tables that are derived from graphs, made once and kept with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar, cast

T = TypeVar("T")

# Guards what threads share, for moments only. No thread holds it while the process forks: the
# child would wait for it forever.
fork_safe_lock = Lock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=fork_safe_lock.acquire,
        after_in_parent=fork_safe_lock.release,
        after_in_child=fork_safe_lock.release,
    )

# The caches of the graphs that this process received last, by the fingerprint of the graphs. A
# worker of a parallel search receives the same graphs (perhaps with others for validation) with
# every task; without this it would derive their tables anew each time.
_received: dict[bytes, TableCache] = {}

N_RECEIVED = 2


class TableCache:
    """Tables that are derived from graphs, each made on first use.

    A :class:`~sklofi.GraphSet` holds one in its attribute `tables`. Slices use the cache of the
    set that they were taken from; a copy has a new one. A cache is not pickled: a set that is
    unpickled takes the cache of the same graphs if this process has received them before.

    Parameters
    ----------
    tables : dict or None, default=None
        Tables to begin with, by their keys.

    Examples
    --------
    >>> from sklofi.graphs._cache import TableCache
    >>> tables = TableCache()
    >>> tables.get("squares", lambda: [i * i for i in range(4)])
    [0, 1, 4, 9]
    >>> tables.get("squares", list)
    [0, 1, 4, 9]
    """

    def __init__(self, tables: dict[Hashable, Any] | None = None) -> None:
        self._tables = {} if tables is None else tables

    @classmethod
    def receive(cls, fingerprint: bytes, directed: bytes = b"") -> TableCache:
        """Return the cache of graphs that arrive in this process, by their fingerprint.

        `directed` says which of them are directed, which the fingerprint does not.
        """
        key = fingerprint + directed
        with fork_safe_lock:
            cache = _received.pop(key, cls({"fingerprint": fingerprint}))
            _received[key] = cache  # as the last to arrive
            if len(_received) > N_RECEIVED:
                del _received[next(iter(_received))]
        return cache

    def __contains__(self, key: Hashable) -> bool:
        return key in self._tables

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the table under a key, which is ``make()`` on first use.

        Threads that come at once may each make it; all get what the first has made.
        """
        if key not in self._tables:
            self._tables.setdefault(key, make())
        return cast(T, self._tables[key])

    def put(self, key: Hashable, table: Any) -> None:
        """Replace the table under a key."""
        self._tables[key] = table

    @property
    def structure(self) -> TableCache:
        """The cache of tables that depend on nodes and edges only, not on their attributes."""
        return self.get("structure", TableCache)

    def without_labels(self) -> TableCache:
        """Return the cache of the same graphs without node labels."""
        return self.get("without labels", lambda: TableCache({"structure": self.structure}))

    def without_edge_features(self) -> TableCache:
        """Return the cache of the same graphs without features of edges."""
        return self.get("without edge features", lambda: TableCache({"structure": self.structure}))

    def without_edge_labels(self, *, is_same_structure: bool) -> TableCache:
        """Return the cache of the same graphs without edge labels.

        `is_same_structure` is false if edges have become one.
        """
        tables: dict[Hashable, Any] = {"structure": self.structure} if is_same_structure else {}
        return self.get("without edge labels", lambda: TableCache(tables))
