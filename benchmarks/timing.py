"""What the benchmarks of speed share: fair turns, peaks of memory, graphs of any number."""

import time
from pathlib import Path

import numpy as np

from sklofi import GraphSet


def take_turns(runners, *, n_rounds, seconds):
    """Median seconds of each runner; all run in every round. The first round warms up."""
    times = {name: [] for name in runners}
    start = time.perf_counter()
    for round_ in range(n_rounds + 1):
        for name, run in runners.items():
            times[name].append(run())
        if round_ >= 3 and time.perf_counter() - start > seconds:
            break
    return {name: rounded(np.median(values[1:])) for name, values in times.items()}


def rounded(value):
    return float(f"{value:.4g}")


def timed(function, *args):
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def show(row, factor=1.0, unit="s"):
    return "  ".join(
        f"{name}: {'-' if value is None else f'{factor * value:.4g} {unit}'}"
        for name, value in row.items()
    )


def synthetic_graphs(n_graphs, rng, n_nodes=30, n_edges=33, n_labels=5):
    """Random graphs as flat arrays; as networkx graphs, 100,000 would fill gigabytes."""
    ends = rng.integers(n_nodes, size=(n_graphs, n_edges, 2))
    ends += n_nodes * np.arange(n_graphs)[:, None, None]
    ends = ends[ends[..., 0] != ends[..., 1]]
    pairs = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
    n_all = n_graphs * n_nodes
    degrees = np.bincount(pairs[:, 0], minlength=n_all)
    return GraphSet(
        node_offsets=n_nodes * np.arange(n_graphs + 1),
        edge_offsets=np.concatenate([[0], np.cumsum(degrees)]),
        neighbors=(pairs[:, 1] % n_nodes).astype(np.int32),
        directed=np.zeros(n_graphs, dtype=bool),
        label_ids=rng.integers(n_labels, size=n_all).astype(np.int32),
        labels=tuple(range(n_labels)),
    )


def peak_memory():
    # Not resource.getrusage, whose peak a new process inherits from the one it was made by.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])
