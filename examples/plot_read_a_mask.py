"""
Read what a network has learned
===============================

A mask of GNN-LoFI is a histogram of words that can be read: which atoms it looks for, by which
bonds, how many of them, and which neighborhoods of your own graphs fit it best.
"""

# %%
# The graphs
# ----------
# Rings of carbon and nitrogen with branches, whose bonds are single or double at random. Each
# graph has one O: in class 1 it is bound by a double bond, in class 0 by a single one.
import networkx as nx
import numpy as np

from sklofi import LoFIClassifier
from sklofi.inspection import (
    MaskDisplay,
    best_egonets,
    edge_attribution,
    mask_importance,
    read_mask,
)


def make_graph(label, rng):
    graph = nx.cycle_graph(int(rng.choice([5, 6])))
    while len(graph) < 10:
        graph.add_edge(len(graph), int(rng.choice(len(graph))))
    nx.set_node_attributes(graph, {node: rng.choice(["C", "N"]) for node in graph}, "label")
    bonds = {edge: rng.choice(["single", "double"], p=[0.7, 0.3]) for edge in graph.edges}
    nx.set_edge_attributes(graph, bonds, "label")
    graph.add_node(10, label="O")
    graph.add_edge(10, int(rng.choice(10)), label="double" if label else "single")
    return graph


rng = np.random.default_rng(0)
y = np.arange(400) % 2
graphs = [make_graph(label, rng) for label in y]
training, test = slice(300), slice(300, None)

# %%
# A small network with few masks is easier to read than a large one, in which many masks share
# the work. Bonds are the attribute "label" of edges, which is read by default.
classifier = LoFIClassifier(
    n_layers=1, n_masks=4, n_members=1, counts=False, max_epochs=400, patience=30, random_state=0
)
classifier.fit(graphs[training], y[training])
print(f"accuracy on 100 unseen graphs: {classifier.score(graphs[test], y[test]):.2f}")

# %%
# Which masks matter?
# -------------------
# Each is switched off in turn; the spread is that of bootstrap samples of the graphs.
importance = mask_importance(classifier, graphs[test], y[test], random_state=0)
rows = zip(importance.importances_mean[0], importance.importances_std[0], strict=True)
for mask, (mean, spread) in enumerate(rows):
    print(f"without mask {mask} the loss grows by {mean:.2f} ± {spread:.2f}")

# %%
# What are they made of?
# ----------------------
# The histogram says how many members of an egonet a mask expects of each word, and a word
# prefers an atom and what it is to the center.
for mask in range(4):
    reading = read_mask(classifier, layer=0, mask=mask)
    best = best_egonets(classifier, graphs[test], layer=0, mask=mask, k=1)
    labels = "".join(sorted(label for _, label in best.egonets[0].nodes(data="label")))
    print(f"mask {mask}, whose best egonet is {labels}, expects")
    for word in np.argsort(-reading.histogram)[:3]:
        print(f"    {reading.histogram[word]:.1f} x {reading.descriptions[word]}")

# %%
# Which bonds decide?
# -------------------
# The evidence for class 1 is shared out among the edges of a graph, here in the mean over all
# bonds of a kind.
result = edge_attribution(classifier, graphs[test], target=1)
evidence = {}
for graph, ends, bonds, values in zip(
    graphs[test], result.edges, result.edge_labels, result.attributions, strict=True
):
    for (_, end), bond, value in zip(ends, bonds, values, strict=True):
        kind = f"{bond} bond" + (" of O" if graph.nodes[end]["label"] == "O" else "")
        evidence.setdefault(kind, []).append(value)
for kind, values in evidence.items():
    print(f"{np.mean(values):+.2f} by a {kind}")

# %%
# The same as a picture
# ---------------------
# How much each mask matters, its words, the relations that they prefer, its histogram, and the
# egonets that fit it best, with their centers outlined. Mask 3, which matters most, expects one
# O by a single bond outside rings: it recognizes class 0.
display = MaskDisplay.from_estimator(classifier, graphs[test], y[test], layer=0)
display.figure_.savefig("read_a_mask.png", dpi=110)
