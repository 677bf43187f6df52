"""
A million graphs: read in parts, saved once, predicted from the file
====================================================================

Arrays of numbers need little memory, lists of networkx graphs a lot. So graphs are read in parts,
kept in files that are mapped into memory, and predicted some at a time. Here are 6,000 graphs; with
``n_graphs = 1_000_000`` the same lines run for an hour.
"""

# %%
# Read in parts
# -------------
# Graphs come from a generator, as they might from a data base. Each part becomes a file; only one
# part is in memory as networkx graphs.
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sklofi import FingerprintClassifier, GraphSet
from sklofi.datasets import make_motif_graphs

n_graphs, n_per_part = 6_000, 1_000
files, truth, rates = [], [], {}


def measure(step, n_graphs, function, *args):
    start = time.perf_counter()
    result = function(*args)
    rates[step] = n_graphs / (time.perf_counter() - start)
    return result


for part in range(n_graphs // n_per_part):
    graphs, y = make_motif_graphs(n_per_part, n_nodes=12, random_state=part)
    X = measure("convert", n_per_part, GraphSet.from_networkx, graphs)
    files.append(Path(f"part-{part}.safetensors"))
    measure("save", n_per_part, X.save, files[-1])
    truth.append(y)
print(f"{len(files)} files of {files[0].stat().st_size / n_per_part:.0f} bytes per graph")

# %%
# Fit on some
# -----------
# A part is enough to learn from, for a Fingerprint as for a network, and it is loaded in no time:
# nothing is converted again.
X = measure("load", n_per_part, GraphSet.load, files[0])
classifier = measure("fit", n_per_part, FingerprintClassifier().fit, X, truth[0])

# %%
# Predict all
# -----------
# One file after the other; what is predicted needs no more memory than a part. On several machines,
# each takes some of the files: see the example of predictions on a cluster.
correct = []
for file, y in zip(files[1:], truth[1:], strict=True):
    X = GraphSet.load(file)
    correct.append(measure("predict", len(X), classifier.predict, X) == y)
print(f"accuracy on {n_graphs - n_per_part} graphs: {np.mean(correct):.3f}")

# %%
# How fast is it?
# ---------------
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
bars = axes.barh(list(rates), list(rates.values()), color="tab:blue")
axes.bar_label(bars, [f"{rate:,.0f}" for rate in rates.values()], padding=4)
most = max(rates.values())
axes.set(xscale="log", xlabel="graphs per second, on one core", xlim=(100, 30 * most))
axes.invert_yaxis()
figure.savefig("a_million_graphs.png", dpi=120)
