"""The memory of the machine, and what is too large for it."""

from __future__ import annotations

import os
from pathlib import Path

# Where Linux says how much memory a container may use.
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def is_too_large(n_bytes: float) -> bool:
    """Return whether something takes more than half of the memory, so that it should be refused."""
    return n_bytes > memory_size() / 2


def memory_size() -> float:
    """Return the memory of this machine in bytes, or of the container that limits it."""
    try:
        size = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not a Unix
        return 8 * 2.0**30
    try:
        return min(size, float(CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or no limit ("max")
        return size
