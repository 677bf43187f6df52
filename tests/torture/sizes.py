"""Do things with one very large input and say what became of each, a line of JSON a thing.

`python sizes.py star "LoFIClassifier()" ...` makes the star once and forks for each thing, so
that the peak of each is its own.
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

from sklofi import LoFIClassifier
from sklofi.inspection import best_egonets, mask_importance, node_attribution

# Whatever goes wrong, the machine survives. Of addresses, torch takes more than of memory.
LARGEST_ADDRESS_SPACE = 14 * 2**30

GIB = 2**30


def with_attributes(graph, seed=0):
    """A number that is different at each node, and the node's number as a label of its own."""
    numbers = np.random.RandomState(seed).uniform(size=len(graph)).tolist()
    for node, number in zip(graph, numbers, strict=True):
        graph.nodes[node].update(x=number, name=node)
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
}  # fmt: skip


def fit_and_predict(estimator, X, y):
    estimator.fit(X, y).predict(X)


def explain(estimator, X, y):
    """Everything that looks at all nodes, with few steps because each takes the same memory."""
    estimator.fit(X, y)
    node_attribution(estimator, X, n_steps=1)
    mask_importance(estimator, X, y, layer=0)
    best_egonets(estimator, X)


def small(**parameters):
    return LoFIClassifier(n_layers=2, n_masks=4, max_epochs=2, random_state=0, **parameters)


def default(**parameters):
    return LoFIClassifier(max_epochs=2, random_state=0, **parameters)


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def outcome(thing, X, y):
    task = explain if thing.startswith("explain ") else fit_and_predict
    estimator = eval(thing.removeprefix("explain "))
    try:
        task(estimator, X, y)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def main(name, things):
    resource.setrlimit(resource.RLIMIT_AS, (LARGEST_ADDRESS_SPACE, LARGEST_ADDRESS_SPACE))
    warnings.simplefilter("ignore")  # that nodes have other attributes than labels
    X = INPUTS[name]()
    y = np.arange(len(X)) % 2
    for thing in things:
        before, start = resident(), time.perf_counter()
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, outcome(thing, X, y).encode())
            os._exit(0)
        _, status, usage = os.wait4(-1, 0)
        os.close(writer)
        report = {
            "thing": thing,
            "outcome": os.read(reader, 10_000).decode() or f"ended by status {status}",
            "input": before / GIB,
            "taken": usage.ru_maxrss * 1024 / GIB - before / GIB,
            "seconds": time.perf_counter() - start,
        }
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
