"""Tables that are derived from graphs, and shared by threads and by copies of a set."""

from __future__ import annotations

import os
from collections.abc import Hashable
from threading import Lock
from typing import Any

# The tables of the graphs that this process was sent last. A worker of a parallel search
# is sent the same graphs (perhaps with others for validation) with every task; without
# this it would forget them in between.
_arrivals: dict[bytes, dict[Hashable, Any]] = {}


N_ARRIVALS = 2


# Guards what threads share, for moments only. Nobody holds it while the process forks: the
# child would wait for it forever.
sharing = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=sharing.acquire, after_in_parent=sharing.release, after_in_child=sharing.release
    )
