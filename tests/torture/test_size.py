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

# Of each thing, how much memory it may take (GiB), and how it is refused if it is.
PAIRS = "ValueError: The graphs have .* pairs of nodes in all, too many to find the shortest"
EGONETS = "MemoryError: Egonets of radius 2 could have .* Use a smaller radius"
WALKS = "MemoryError: Walks of 2 steps could be of .* Use fewer steps"
PRODUCT = "MemoryError: Graphs of .* pairs of nodes, whose walks take .* RandomWalkVectorizer"
MATRIX = 'MemoryError: The kernel matrix of 200,000 graphs takes .* Use solver="linear"'
NOTHING = 0.2  # what reading takes, and no more

THINGS = {
    "star": {
        "default()": (0.5, None),
        "default(node_features='x')": (2, None),
        "default(radius=2)": (NOTHING, EGONETS),
        "explain small()": (0.5, None),
        "GraphKernelSVC()": (0.5, None),
        "GraphKernelSVC(kernel='wl-oa')": (0.5, None),
        "GraphKernelSVC(kernel='shortest-path')": (NOTHING, PAIRS),
        "GraphKernelSVC(kernel='random-walk')": (0.5, None),
        "GraphKernelSVC(kernel='random-walk', node_label='name')": (NOTHING, WALKS),
        "GraphKernelSVC(kernel=RandomWalkKernel())": (NOTHING, PRODUCT),
    },
    "path": {
        "default()": (1, None),
        "default(radius=2)": (1, None),
        "small(node_features='x')": (3, None),
        "explain small()": (3, None),
        "GraphKernelSVC()": (1, None),
        "GraphKernelSVC(kernel='wl-oa')": (1, None),
        "GraphKernelSVC(kernel='shortest-path')": (0.5, PAIRS),
        "GraphKernelSVC(kernel='random-walk')": (1, None),
        "GraphKernelSVC(kernel=RandomWalkKernel())": (0.5, PRODUCT),
    },
    "complete": {
        "default()": (1, None),
        "default(radius=2)": (1, None),
        "default(node_features='x')": (1.5, None),
        "explain small()": (1, None),
        "GraphKernelSVC()": (1, None),
        "GraphKernelSVC(kernel='shortest-path')": (1, None),
        "GraphKernelSVC(kernel='random-walk')": (1, None),
    },
    "tiny": {
        "default()": (1, None),
        "explain small()": (1, None),
        "GraphKernelSVC()": (1, None),
        "GraphKernelSVC(solver='gram')": (NOTHING, MATRIX),
        "GraphKernelSVC(kernel='shortest-path')": (1, None),
        "GraphKernelSVC(kernel=RandomWalkKernel())": (NOTHING, MATRIX),
    },
}


@pytest.mark.parametrize("name", THINGS)
def test_large_input_is_done_within_a_stated_memory_or_refused(name, tried):
    """Very large graphs, and very many, are done within 3 GiB or refused in a sentence before
    memory is taken.

    A star of 100,000 leaves, a path of a million nodes, a complete graph of 3,000, and 200,000 tiny
    graphs: fits, predictions and explanations of `LoFIClassifier` (also with radius 2 and features
    that differ everywhere) and fits and predictions of `GraphKernelSVC` with each kernel. Each has
    a bound of its own, most of them below 1 GiB.
    """
    things = THINGS[name]
    script = Path(__file__).with_name("sizes.py")
    done = subprocess.run(
        [sys.executable, str(script), name, *things],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    for report in reports:
        print(report)
    assert len(reports) == len(things)
    for report in reports:
        most, refusal = things[report["thing"]]
        assert re.match(refusal or "done$", report["outcome"]), report
        assert report["taken"] < most, report
    tried(len(reports), "fits and explanations")
