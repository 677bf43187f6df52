"""Time this code against another clone of it, in one run.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_against OTHER [--python INTERPRETER]
    [--sets NAME ...]

A process in each clone has the same tasks, and the two take turns: first one, then the other.
The table has medians of the seconds and the ratio of this code to the other, with the smallest
and the largest ratio of a turn. Only names that are public in both are used.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
DATA_SETS = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY")
SMALL = {"n_layers": 3, "n_masks": 16, "n_words": 16}
LARGE = {"n_layers": 5, "n_masks": 32, "n_words": 32}
ONE = {"n_members": 1, "counts": False}
N_TURNS = 9


def set_known(estimator, parameters):
    """The estimator with those of the parameters that it has, also in versions without some."""
    names = parameters.keys() & estimator.get_params().keys()
    return estimator.set_params(**{name: parameters[name] for name in names})


def published(estimator):
    """The estimator as one network without relations and edge labels."""
    parameters = {"distances": False, "edge_label": None, "max_ring": 0}
    return set_known(estimator, parameters | ONE)


def tasks():
    """Functions that return seconds, by name."""
    import torch

    from sklofi import GraphKernelSVC, GraphSet, LoFIClassifier
    from sklofi.baselines import FingerprintClassifier, GINClassifier
    from sklofi.datasets import fetch_tu

    torch.set_num_threads(1)
    going_on = {"max_epochs": 2, "early_stopping": False, "warm_start": True, "random_state": 0}

    def timed(function, *arguments):
        start = time.perf_counter()
        function(*arguments)
        return time.perf_counter() - start

    found = {}
    for name in DATA_SETS:
        graphs, y = fetch_tu(name, return_X_y=True)
        graphs, y = graphs[::2], y[::2]
        X = GraphSet.from_networkx(graphs)

        def epoch(estimator, X=X, y=y):
            return estimator.fit(X, y).history_[-1, "dur"]

        found[f"{name}: conversion"] = lambda g=graphs: timed(GraphSet.from_networkx, g)
        for size, parameters in (("small", SMALL), ("large", LARGE)):
            lofi = published(LoFIClassifier(**parameters, **going_on)).fit(X, y)
            found[f"{name}: epoch of LoFI, {size}"] = lambda e=lofi, run=epoch: run(e)
        related = set_known(LoFIClassifier(**going_on), ONE).fit(X, y)
        found[f"{name}: epoch with relations"] = lambda e=related, run=epoch: run(e)
        found[f"{name}: prediction"] = lambda e=lofi, X=X: timed(e.predict, X)
        gin = set_known(GINClassifier(**going_on), ONE).fit(X, y)
        found[f"{name}: epoch of GIN"] = lambda e=gin, run=epoch: run(e)
        for title, estimator in {
            "fit of LoFI": published(LoFIClassifier(max_epochs=3, random_state=0)),
            "fit of WL-OA": published(GraphKernelSVC(kernel="wl-oa")),
            "fit of Fingerprint": FingerprintClassifier(),
        }.items():
            # From a list, so that nothing is taken from tables of an earlier turn.
            found[f"{name}: {title}"] = lambda e=estimator, g=graphs, y=y: timed(e.fit, g, y)
    return found


def work():
    """Answer with the seconds of each task whose name comes in."""
    import warnings

    warnings.simplefilter("ignore")
    found = tasks()
    print("\t".join(found), flush=True)
    for line in sys.stdin:
        print(found[line.rstrip("\n")](), flush=True)


class Worker:
    """A process in a clone."""

    def __init__(self, python, folder):
        self.process = subprocess.Popen(
            [python, str(Path(__file__).resolve()), "--work"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.tasks = self.process.stdout.readline().rstrip("\n").split("\t")

    def seconds(self, task):
        print(task, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", nargs="?", type=Path, help="folder of the other clone")
    parser.add_argument("--python", default=sys.executable, help="interpreter for the other clone")
    parser.add_argument("--sets", nargs="+", default=DATA_SETS, help="data sets, all by default")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        return work()
    this, other = Worker(sys.executable, HERE), Worker(arguments.python, arguments.other)
    print(f"{'':34} {'other':>9} {'this':>9}  ratio (of single turns)")
    for task in this.tasks:
        if task.split(":")[0] not in arguments.sets:
            continue
        turns = [(other.seconds(task), this.seconds(task)) for _ in range(N_TURNS)]
        before, after = (statistics.median(seconds) for seconds in zip(*turns, strict=True))
        ratios = sorted(new / old for old, new in turns)
        spread = f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
        ratio = f"{statistics.median(ratios):5.2f} {spread}"
        print(f"{task:34} {before:8.3f}s {after:8.3f}s  {ratio}", flush=True)
    return None


if __name__ == "__main__":
    main()
