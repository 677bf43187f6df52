"""Fit estimators to one very large input and say what became of each, in a line of JSON.

`python sizes.py star "wl" "wl-oa"` makes the star once and forks for each estimator, so that the
peak of each is its own.
"""

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import networkx as nx
import numpy as np

from sklofi import GraphKernelSVC, LoFIClassifier
from sklofi.baselines import FingerprintClassifier, GINClassifier
from sklofi.inspection import best_egonets, mask_importance, node_attribution
from sklofi.kernels import RandomWalkKernel

# Whatever goes wrong, the machine survives. Of addresses, torch takes more than of memory.
LARGEST_ADDRESS_SPACE = 14 * 2**30

GIB = 2**30


def with_attributes(graph, seed=0):
    """A number that is different at each node, and the node's number as a label of its own."""
    numbers = np.random.RandomState(seed).uniform(size=len(graph)).tolist()
    for node, number in zip(graph, numbers, strict=True):
        graph.nodes[node].update(x=number, name=node)
    return graph


def with_names(graph, first):
    """Labels that no other graph has."""
    nx.set_node_attributes(graph, {node: first + node for node in graph}, "label")
    return graph


def with_small_ones(graph):
    others = [nx.path_graph(5), nx.cycle_graph(5), nx.star_graph(4)]
    return [with_attributes(one) for one in (graph, *others)]


INPUTS = {
    "star": lambda: with_small_ones(nx.star_graph(100_000)),
    "path": lambda: with_small_ones(nx.path_graph(1_000_000)),
    "complete": lambda: with_small_ones(nx.complete_graph(3000)),
    "tiny": lambda: [nx.path_graph(2 + i % 3) if i % 2 else nx.star_graph(1 + i % 5)
                     for i in range(200_000)],
    "vocabulary": lambda: [with_names(nx.path_graph(20), 20 * i) for i in range(1000)],
}  # fmt: skip


def fit_and_predict(estimator, X, y):
    estimator.fit(X, y).predict(X)


def explain(estimator, X, y):
    """Everything that looks at all nodes, with few steps because each takes the same memory."""
    estimator.fit(X, y)
    node_attribution(estimator, X, tol=np.inf, n_steps=1)
    mask_importance(estimator, X, y, layer=0)
    best_egonets(estimator, X)


def lofi(**parameters):
    return LoFIClassifier(n_members=1, counts=False, max_epochs=2, random_state=0, **parameters)


def small_lofi(**parameters):
    return lofi(n_layers=2, n_masks=4, **parameters)


TASKS = {
    "lofi": (fit_and_predict, lofi()),
    "lofi, radius 2": (fit_and_predict, lofi(radius=2)),
    "lofi, features": (fit_and_predict, lofi(node_features="x")),
    "small lofi, features": (fit_and_predict, small_lofi(node_features="x")),
    "large lofi, features": (fit_and_predict, lofi(n_masks=64, n_words=32, node_features="x")),
    "gin": (fit_and_predict, GINClassifier(max_epochs=2, random_state=0)),
    "fingerprint": (fit_and_predict, FingerprintClassifier()),
    "small lofi, explained": (explain, small_lofi()),
    "wl": (fit_and_predict, GraphKernelSVC(kernel="wl")),
    "wl, matrix": (fit_and_predict, GraphKernelSVC(kernel="wl", solver="gram")),
    "wl-oa": (fit_and_predict, GraphKernelSVC(kernel="wl-oa")),
    "shortest-path": (fit_and_predict, GraphKernelSVC(kernel="shortest-path")),
    "random-walk": (fit_and_predict, GraphKernelSVC(kernel="random-walk")),
    "random-walk, names": (
        fit_and_predict,
        GraphKernelSVC(kernel="random-walk", node_label="name"),
    ),
    "random-walk, whole series": (fit_and_predict, GraphKernelSVC(kernel=RandomWalkKernel())),
}


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def outcome(name, X, y):
    task, estimator = TASKS[name]
    try:
        task(estimator, X, y)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def main(name, tasks):
    resource.setrlimit(resource.RLIMIT_AS, (LARGEST_ADDRESS_SPACE, LARGEST_ADDRESS_SPACE))
    warnings.simplefilter("ignore")  # that nodes have other attributes than labels
    X = INPUTS[name]()
    y = np.arange(len(X)) % 2
    for task in tasks:
        start = time.perf_counter()
        reader, writer = os.pipe()
        if os.fork() == 0:
            before = resident()
            os.write(writer, json.dumps([before, outcome(task, X, y)]).encode())
            os._exit(0)
        _, status, usage = os.wait4(-1, 0)
        os.close(writer)
        before, became = json.loads(os.read(reader, 2**16) or f'[0, "ended by status {status}"]')
        report = {
            "task": task,
            "outcome": became,
            "input": before / GIB,
            "taken": usage.ru_maxrss * 1024 / GIB - before / GIB,
            "seconds": time.perf_counter() - start,
        }
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
