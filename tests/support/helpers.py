"""Graphs and plain formulas that several test files use."""

import locale
import multiprocessing
import os
import random
import sys
import threading
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import networkx as nx
import numpy as np
import pytest
import sklearn
import torch

# For tests of what becomes of labels that training has not seen.
unseen_labels = pytest.mark.filterwarnings(
    "ignore:(Node|Edge) labels that no training graph has:UserWarning"
)


def odd_graphs(n_graphs=30, seed=0, labels="abc", directed=False):
    """Random graphs with isolated nodes, several components, loops, and single nodes."""
    rng = np.random.RandomState(seed)
    graphs = []
    for i in range(n_graphs):
        n_nodes = 1 if i % 7 == 0 else int(rng.randint(2, 12))
        graph = nx.gnp_random_graph(n_nodes, 0.2, seed=int(rng.randint(10**6)), directed=directed)
        if i % 5 == 0:
            graph.add_edge(0, 0)
        nx.set_node_attributes(graph, {v: labels[rng.randint(len(labels))] for v in graph}, "label")
        graphs.append(graph)
    return graphs


def bonded_graphs(n_graphs=30, seed=0, labels="abc", bonds=(1, "2", None), directed=False):
    """Odd graphs with labels of edges and, in every third, a ring."""
    graphs = odd_graphs(n_graphs, seed, labels, directed)
    rng = np.random.RandomState(seed)
    for i, graph in enumerate(graphs):
        if i % 3 == 0:  # as large as the graph
            nx.add_cycle(graph, range(len(graph)))
        for *_, data in graph.edges(data=True):
            data["label"] = bonds[rng.randint(len(bonds))]
    return graphs


def ring_of(graph, u, v):
    """The size of the smallest ring through an edge, None if it is in none."""
    without = graph.copy()
    without.remove_edge(u, v)
    if nx.has_path(without, v, u):
        return nx.shortest_path_length(without, v, u) + 1
    return None


def gram_of_counters(counters, others, smaller=False):
    pair = min if smaller else (lambda a, b: a * b)
    return [[sum(pair(n, b[c]) for c, n in a.items() if c in b) for b in others] for a in counters]


# Two graphs: a labeled path of three nodes and an edge, as in the TUDataset format.
SMALL_SET = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "-1\n1\n",
    "node_labels": "0\n7\n0\n7\n7\n",
}


def write_tu(folder, name="SMALL", files=None, *, as_zip=True, **more):
    """Write a data set; further files and replacements by name, None leaves one out."""
    files = {**(SMALL_SET if files is None else files), **more}
    texts = {f"{name}_{what}.txt": text for what, text in files.items() if text is not None}
    if as_zip:
        with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file_name, text in texts.items():
                archive.writestr(f"{name}/{file_name}", text)
    else:
        (folder / name).mkdir()
        for file_name, text in texts.items():
            (folder / name / file_name).write_text(text)


def global_state():
    """All that a library shares with the rest of a program, as one comparable string."""
    numpy_state = np.random.get_state()
    return repr(
        {
            "random": random.getstate(),
            "numpy": [*map(str, numpy_state), numpy_state[1].tolist()],
            "torch": torch.get_rng_state().tolist(),
            "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
            "dtype": torch.get_default_dtype(),
            "device": torch.empty(0).device,
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
            "anomalies": torch.is_anomaly_enabled(),
            "warnings": warnings.filters,
            "floating point": np.geterr(),
            "environment": dict(os.environ),
            "path": sys.path,
            "folder": os.getcwd(),
            "locale": locale.setlocale(locale.LC_ALL),
            "recursion": sys.getrecursionlimit(),
            "switch": sys.getswitchinterval(),
            "hooks": (sys.excepthook, threading.excepthook),
            "scikit-learn": sklearn.get_config(),
        }
    )


@contextmanager
def torch_default(name, value):
    """A setting of torch for some time, such as ``default_dtype``."""
    before = getattr(torch, f"get_{name}")()
    getattr(torch, f"set_{name}")(value)
    try:
        yield
    finally:
        getattr(torch, f"set_{name}")(before)


@contextmanager
def deterministic_torch():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextmanager
def warnings_as_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# What a user may have set around a call of ours.
SURROUNDINGS = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "default dtype": lambda: torch_default("default_dtype", torch.float64),
    "default device": lambda: torch.device("meta"),  # where nothing can be computed
    "deterministic": deterministic_torch,
    "warnings are errors": warnings_as_errors,
    "numpy raises": lambda: np.errstate(all="raise"),
}


# Another value than the default for each setting of scikit-learn, as far as this version knows
# it; array_api_dispatch has to be announced to scipy before it is imported.
SETTINGS = {
    "array_api_dispatch": True,
    "assume_finite": True,
    "display": "text",
    "enable_cython_pairwise_dist": False,
    "enable_metadata_routing": True,
    "pairwise_dist_chunk_size": 1,
    "print_changed_only": False,
    "skip_parameter_validation": True,
    "sparse_interface": "sparray",
    "transform_output": "pandas",
    "working_memory": 1,
}
SETTINGS = {name: value for name, value in SETTINGS.items() if name in sklearn.get_config()}
if os.environ.get("SCIPY_ARRAY_API") != "1":
    del SETTINGS["array_api_dispatch"]


@contextmanager
def eager_threads():
    """Let threads take turns as often as possible, so that they get into each other's way."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def at_once(functions):
    """What functions return that are called in threads of their own, all at the same time."""
    start = threading.Barrier(len(functions))

    def call(function):
        start.wait()
        return function()

    with eager_threads(), ThreadPoolExecutor(len(functions)) as pool:
        return [future.result(300) for future in [pool.submit(call, one) for one in functions]]


def in_child(function, seconds=120):
    """What a function returns in a forked process; a child that hangs is ended, and told of."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(function()), daemon=True)
    child.start()
    sender.close()  # now a child that fails is not waited for
    try:
        assert receiver.poll(seconds), f"The child has not answered for {seconds} seconds."
        return receiver.recv()
    finally:
        child.kill()
        child.join()
