"""Devices that a network can be computed on, and the memory that it takes."""

from __future__ import annotations

import math
import os
import re
from threading import local
from typing import Any

import torch

from sklofi._memory import is_too_large, memory_size

# The types of devices that networks can be trained on.
DEVICES = ("cpu", "cuda", "mps", "xpu")

# 4 each for the weight, its gradient, the two averages of the optimizer, the last good value and
# the best value so far.
BYTES_PER_WEIGHT = 24


class _Threads(local):
    """In each thread, the process that the threads of torch belong to."""

    process = os.getpid()


_threads = _Threads()


def give_up_lost_threads() -> None:
    """Let torch compute with one thread if this process was forked from another.

    The threads of torch do not survive a fork, and a child process that uses them waits forever.
    Only a child that uses an estimator calls this; others keep the settings of their parent. It
    takes effect once, so that a later `torch.set_num_threads` counts, but once in every thread,
    because torch has a number of threads for each.
    """
    process = os.getpid()
    if _threads.process != process:
        torch.set_num_threads(1)
        _threads.process = process


def check_device(device: str | torch.device) -> str:
    """Return the device to train on, as a string."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    name = str(device)
    if not re.fullmatch(rf"({'|'.join(DEVICES)})(:[0-9]{{1,3}})?", name):
        # For other names, torch imports modules, or computes shapes without numbers.
        raise ValueError(
            f'device={name[:100]!r} cannot be used here: it has to be "auto" or one of {DEVICES},'
            ' perhaps with a number as in "cuda:1".'
        )
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f'device={name!r} cannot be used here: {error} Use "auto" to take a GPU'
            " where there is one."
        ) from error
    return name


def is_usable(device: str | torch.device) -> bool:
    """Return whether a device can be used here."""
    try:
        check_device(device)
    except ValueError:
        return False
    return True


def check_network_memory(network: type[torch.nn.Module], architecture: dict[str, Any]) -> None:
    """Raise an error if a network does not fit into memory, before it takes any."""
    n_weights: float
    try:
        with torch.device("meta"):  # where weights have sizes, but no values
            n_weights = sum(weight.numel() for weight in network(**architecture).parameters())
    except RuntimeError as error:
        if "overflow" not in str(error):
            raise
        n_weights = math.inf  # torch cannot count them
    n_bytes = BYTES_PER_WEIGHT * n_weights
    if is_too_large(n_bytes):
        raise MemoryError(
            f"A network of {n_weights:,} weights takes {n_bytes / 2**30:,.1f} GiB to train; this"
            f" machine has {memory_size() / 2**30:.1f} GiB of memory. Use a smaller network: its"
            f" parameters are {', '.join(f'{k}={v}' for k, v in architecture.items())}."
        )
