"""
Which estimator when: accuracy and time on three small tasks
============================================================

A method that wins on one task loses on another. Here are four methods and three tasks that ask for
different things: which motif is there, how nodes are bound, and what a continuous feature says.
"""

# %%
# Three tasks
# -----------
# A planted motif is seen by every method that looks at neighbors. Bonds are labels of edges: rings
# of the same atoms, whose bonds alternate or come in pairs. The heat of a node is a number; nodes
# of class 1 are warm side by side, those of class 0 anywhere.
import time
import warnings

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from sklofi import FingerprintClassifier, GraphKernelSVC, GraphSet, LoFIClassifier
from sklofi.baselines import DeepMultisetsClassifier
from sklofi.datasets import make_motif_graphs

rng = np.random.default_rng(0)


def make_ring(label):
    graph = nx.cycle_graph(4 * int(rng.integers(2, 6)))
    bonds = ("-=-=" if label else "--==") * (len(graph) // 4)
    nx.set_edge_attributes(graph, dict(zip(graph.edges, bonds, strict=True)), "label")
    return graph


def make_warm_graph(label):
    graph = nx.cycle_graph(16)
    heat = np.sort(rng.normal(size=16)) if label else rng.normal(size=16)
    nx.set_node_attributes(graph, dict(enumerate(heat)), "heat")
    return graph


y = np.arange(160) % 2
motifs, has_motif = make_motif_graphs(160, random_state=0)
warm = GraphSet.from_networkx([make_warm_graph(label) for label in y], node_features="heat")
tasks = {
    "planted motif": (GraphSet.from_networkx(motifs), has_motif),
    "bonds": (GraphSet.from_networkx([make_ring(label) for label in y]), y),
    "continuous feature": (warm, y),
}

# %%
# Four methods
# ------------
# LoFI is a single network here, so that the times are those of one fit. Deep Multisets ignore
# edges. Kernels and fingerprints ignore features, and warn about it.
methods = {
    "LoFI": LoFIClassifier(n_members=1, counts=False, max_epochs=60, lr=0.02, random_state=0),
    "WL-OA kernel": GraphKernelSVC(kernel="wl-oa"),
    "Fingerprint": FingerprintClassifier(),
    "nodes alone": DeepMultisetsClassifier(max_epochs=60, random_state=0),
}
warnings.filterwarnings("ignore", message=".* does not use")
accuracy, seconds = np.zeros((2, len(methods), len(tasks)))
for column, (X, target) in enumerate(tasks.values()):
    for row, method in enumerate(methods.values()):
        start = time.perf_counter()
        method.fit(X[:110], target[:110])
        seconds[row, column] = time.perf_counter() - start
        accuracy[row, column] = method.score(X[110:], target[110:])

# %%
# What to start with
# ------------------
# Counted neighborhoods are quick, and enough where labels decide. Where features decide, a network
# is needed. Whether edges matter at all is told by the method that does not see them.
figure, axes = plt.subplots(figsize=(7.5, 3), layout="constrained")
axes.imshow(accuracy, cmap="Blues", vmin=0.4, vmax=1.6, aspect="auto")
for (row, column), value in np.ndenumerate(accuracy):
    weight = "bold" if value > 0.9 else "normal"
    text = f"{value:.0%} in {seconds[row, column]:.1f} s"
    axes.text(column, row, text, ha="center", va="center", weight=weight)
axes.set_xticks(range(len(tasks)), tasks)
axes.set_yticks(range(len(methods)), methods)
axes.tick_params(length=0, labeltop=True, labelbottom=False)
figure.savefig("which_estimator.png", dpi=120)
