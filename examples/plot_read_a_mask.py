"""
Read what a network has learned
===============================

A mask of GNN-LoFI is a histogram of words that can be read: which labels it looks for, how
many of them, and which neighborhoods of your own graphs fit it best.
"""

# %%
# The graphs
# ----------
# Random graphs of "C", "H" and "S"; in half of them an "N" between two "O" is planted, in the
# others the same three atoms are scattered. A small network with few masks is easier to read
# than a large one, in which many masks share the work.

from sklofi import LoFIClassifier
from sklofi.datasets import make_motif_graphs
from sklofi.inspection import (
    MaskDisplay,
    TrainingDisplay,
    best_egonets,
    mask_evidence,
    mask_importance,
    read_mask,
)

graphs, y = make_motif_graphs(400, random_state=0)
training, test = slice(300), slice(300, None)
classifier = LoFIClassifier(n_layers=1, n_masks=4, max_epochs=400, random_state=0)
classifier.fit(graphs[training], y[training])
print(f"accuracy on 100 unseen graphs: {classifier.score(graphs[test], y[test]):.2f}")

# %%
# Training
# --------
# The validation loss decides when training stops, and which weights are kept.
display = TrainingDisplay.from_estimator(classifier)
display.figure_.savefig("training.png", dpi=100)

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
# Words are compared with labels by name; the histogram counts members of an egonet; and each
# label speaks for or against the motif through the mask.
planted = [graph for graph, label in zip(graphs[test], y[test], strict=True) if label == 1]
for mask in range(4):
    reading = read_mask(classifier, layer=0, mask=mask)
    parts = []
    for word, count in zip(reading.similarities, reading.histogram, strict=True):
        name = reading.input_names[word.argmax()]
        if count > 0.3:
            parts.append(f"{count:.1f} like {name}")
    best = best_egonets(classifier, graphs[test], layer=0, mask=mask, k=1)
    labels = "".join(sorted(label for _, label in best.egonets[0].nodes(data="label")))
    print(f"mask {mask} expects {', '.join(parts)}; the best egonet is {labels};")
    evidence = mask_evidence(classifier, planted, layer=0, mask=mask, target=1).by_label
    print("    evidence:", ", ".join(f"{key} {value:+.2f}" for key, value in evidence.items()))

# %%
# The same as pictures
# --------------------
# How much each mask matters, its words, its histogram, and the egonets that fit it best, with
# their centers outlined. Mask 2 is the motif: its leading word stands for "N" and "O" alike,
# and it expects two of them. Mask 3, which matters most, expects one among other atoms: it
# finds those that are scattered.
for mask in (2, 3):
    display = MaskDisplay.from_estimator(classifier, graphs[test], y[test], layer=0, mask=mask)
    display.figure_.savefig(f"read_mask_{mask}.png", dpi=110)
