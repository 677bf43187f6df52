"""Size.

What is said of memory is beyond what networkx takes for the graphs, measured in a process of
its own; see `sizes.py`.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# Of each task, how much memory it may take (GiB), and how it is refused if it is.
PAIRS = "ValueError: The graphs have .* pairs of nodes in all, too many to find the shortest"
EGONETS = "MemoryError: Egonets of radius 2 could have .* Use a smaller radius"
WALKS = "MemoryError: Walks of 2 steps could be of .* Use fewer steps"
PRODUCT = "MemoryError: Graphs of .* pairs of nodes, whose walks take .* RandomWalkVectorizer"
MATRIX = 'MemoryError: The kernel matrix of 200,000 graphs takes .* Use solver="linear"'
LAYERS = (
    "MemoryError: A batch of .* different (nodes|members of egonets), which take .* Use fewer masks"
)
NOTHING = 0.2  # what reading takes, and no more

TASKS = {
    "star": {
        "lofi": (0.5, None),
        "lofi, features": (2, None),
        "lofi, radius 2": (NOTHING, EGONETS),
        "small lofi, explained": (0.5, None),
        "wl": (0.5, None),
        "wl-oa": (0.5, None),
        "shortest-path": (NOTHING, PAIRS),
        "random-walk": (0.5, None),
        "random-walk, names": (NOTHING, WALKS),
        "random-walk, whole series": (NOTHING, PRODUCT),
    },
    "path": {
        "lofi": (1, None),
        "lofi, radius 2": (1, None),
        "small lofi, features": (3, None),
        "large lofi, features": (0.5, LAYERS),
        "small lofi, explained": (3, None),
        "wl": (1, None),
        "wl-oa": (1, None),
        "shortest-path": (0.5, PAIRS),
        "random-walk": (1, None),
        "random-walk, whole series": (0.5, PRODUCT),
    },
    "complete": {  # 9 million members of egonets, and 170 bytes for each while rings are found
        "lofi": (2, None),
        "lofi, radius 2": (2, None),
        "small lofi, features": (2, None),
        "small lofi, explained": (2, None),
        "wl": (1, None),
        "shortest-path": (1, None),
        "random-walk": (1, None),
    },
    "tiny": {
        "lofi": (1, None),
        "small lofi, explained": (1, None),
        "wl": (1, None),
        "wl, matrix": (NOTHING, MATRIX),
        "shortest-path": (1, None),
        "random-walk, whole series": (NOTHING, MATRIX),
    },
    "vocabulary": {
        "lofi": (1.5, None),
        "gin": (1, None),
        "fingerprint": (0.5, None),
        "wl": (0.5, None),
        "shortest-path": (0.5, None),
    },
}


@pytest.mark.parametrize("name", TASKS)
def test_large_input_is_done_within_a_stated_memory_or_refused(name, tried):
    """Very large graphs, and very many, are done within 3 GiB or refused in a sentence before
    memory is taken.

    A star of 100,000 leaves, a path of a million nodes, a complete graph of 3,000, 200,000 tiny
    graphs, and 20,000 nodes each with a label of its own (there GIN and fingerprints, too): fits,
    predictions and explanations of `LoFIClassifier` (also with radius 2 and features that differ
    everywhere) and fits and predictions of `GraphKernelSVC` with each kernel. Each has a bound of
    its own, most of them below 1 GiB.
    """
    tasks = TASKS[name]
    script = Path(__file__).with_name("sizes.py")
    done = subprocess.run(
        [sys.executable, str(script), name, *tasks],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    for report in reports:
        print(report)
    assert len(reports) == len(tasks)
    for report in reports:
        most, refusal = tasks[report["task"]]
        assert re.match(refusal or "done$", report["outcome"]), report
        assert report["taken"] < most, report
    tried(len(reports), "fits and explanations")
