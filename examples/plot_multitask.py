"""
Several labels at once, most of them unknown
============================================

Assays are expensive, so most molecules of a library were tested in a few of them only. One model
can learn all labels together; values that were not measured are NaN, and are ignored.
"""

# %%
# A table with holes
# ------------------
# Three labels: whether a ring, a chain or a star of two "N" and two "O" is in a graph. Of each
# label three values in four are hidden from training.
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.metrics import roc_auc_score

from sklofi import FingerprintClassifier, GraphKernelSVC, GraphSet, LoFIClassifier, compare
from sklofi.datasets import make_motif_graphs

names = ["ring", "chain", "star"]
motifs = [nx.cycle_graph(4), nx.path_graph(4), nx.star_graph(3)]
for motif in motifs:
    nx.set_node_attributes(motif, dict(enumerate("NONO")), "label")
graphs, motif_of = make_motif_graphs(300, motifs=motifs, n_nodes=12, random_state=0)
X = GraphSet.from_networkx(graphs)
truth = (motif_of[:, None] == [1, 2, 3]).astype(float)
is_hidden = np.random.default_rng(0).random(truth.shape) < 0.75
y = np.where(is_hidden, np.nan, truth)
print(y[:4], f"{np.isnan(y[:200]).mean():.0%} of the labels are unknown", sep="\n")

# %%
# Fit and predict
# ---------------
# Nothing has to be said about the holes. ``predict_proba`` has a column for each label.
network = LoFIClassifier(n_members=1, counts=False, max_epochs=40, lr=0.02, random_state=0)
together = network.fit(X[:200], y[:200]).predict_proba(X[200:])

# %%
# Together or alone?
# ------------------
# A network for a single label learns only from graphs whose label is known. In the network for all
# labels everything but the outputs is shared. Sharing helps where labels have something in
# common. Here one network for three labels is about as good as three networks, and a third of the
# work.
areas = {"together": [], "alone": []}
for column in range(3):
    known = np.flatnonzero(~np.isnan(y[:200, column]))
    alone = network.fit(X[known], y[known, column]).predict_proba(X[200:])[:, 1]
    areas["together"].append(roc_auc_score(truth[200:, column], together[:, column]))
    areas["alone"].append(roc_auc_score(truth[200:, column], alone))

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for shift, (name, values) in zip((-0.2, 0.2), areas.items(), strict=True):
    bars = axes.bar(np.arange(3) + shift, values, 0.4, label=name)
    axes.bar_label(bars, fmt="%.2f", padding=2)
axes.set_xticks(range(3), names)
axes.set(ylabel="area under the ROC curve", ylim=(0.5, 1.2), title="Three of four labels unknown")
axes.legend(loc="upper right", ncols=2)  # above the bars
figure.savefig("multitask.png", dpi=120)

# %%
# Comparisons take tables as well
# -------------------------------
# The score is the mean over the labels, each on the graphs where it is known.
machines = {"Fingerprint": FingerprintClassifier(), "WL kernel": GraphKernelSVC(n_iter=2)}
print(compare(machines, X, y, cv=3))
