"""
First steps: graphs in, predictions out
=======================================

Three small tasks that need no download, five folds each, LoFI beside a kernel machine, and a
look at what a fitted classifier sees. This is what ``make demo`` runs.
"""

# %%
# The graphs
# ----------
# ``make_motif_graphs`` plants a small motif, an "N" between two "O", into half of its
# graphs. The other half has the same atoms, but scattered: counting labels does not help.
# ``load_graph_atlas`` has all graphs of up to seven nodes. Every other one is taken here, with two
# things to learn.
import matplotlib.pyplot as plt
from sklearn.cross_decomposition import PLSRegression
from sklearn.dummy import DummyClassifier, DummyRegressor

from sklofi import (
    GraphKernelSVC,
    GraphKernelSVR,
    GraphSet,
    LoFIClassifier,
    LoFIRegressor,
    compare,
)
from sklofi.datasets import load_graph_atlas, make_motif_graphs

motifs, has_motif = make_motif_graphs(300, random_state=0)
atlas, is_connected = load_graph_atlas(target="connected")
_, spectral_radius = load_graph_atlas(target="spectral_radius")
atlas, is_connected, spectral_radius = atlas[::2], is_connected[::2], spectral_radius[::2]

# %%
# Cross-validation
# ----------------
# The estimators take lists of networkx graphs. A ``GraphSet`` is such a list, converted
# once instead of once per fold. LoFI is compared with a support vector machine with the
# Weisfeiler-Lehman kernel on the same folds; ``compare`` tests whether a difference is
# significant. To be quick, LoFI is a single network here; by default it is several.
quick = {"n_members": 1, "counts": False, "random_state": 0}
classifiers = {
    "LoFI": LoFIClassifier(max_epochs=10, **quick),
    "WL-kernel SVM": GraphKernelSVC(kernel="wl"),
    "constant": DummyClassifier(),
}
regressors = {
    "LoFI": LoFIRegressor(max_epochs=10, **quick),
    "WL-kernel SVM": GraphKernelSVR(kernel="wl"),
    "constant": DummyRegressor(),
}
tasks = {
    "planted motif": (classifiers, motifs, has_motif),
    "connected": (classifiers, atlas, is_connected),
    "spectral radius": (regressors, atlas, spectral_radius),
}

for name, (estimators, graphs, y) in tasks.items():
    X = GraphSet.from_networkx(graphs)
    comparison = compare(estimators, X, y, cv=5, n_jobs=2)
    print(f"{name}, {len(X)} graphs\n{comparison}\n")

# %%
# What a fitted classifier sees
# -----------------------------
# ``history_`` holds the losses of every epoch; ``transform`` gives the vector that the
# network makes of a graph. Two directions of it are drawn, chosen on the training graphs by
# partial least squares, for graphs that it was not fitted to.
classifier = LoFIClassifier(**quick).fit(motifs[:200], has_motif[:200])
flatten = PLSRegression(n_components=2).fit(classifier.transform(motifs[:200]), has_motif[:200])
flat = flatten.transform(classifier.transform(motifs[200:]))
accuracy = classifier.score(motifs[200:], has_motif[200:])

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, label in [("train_loss", "training"), ("valid_loss", "validation")]:
    left.plot(classifier.history_[:, name], label=label)
left.set(xlabel="epoch", ylabel="cross-entropy", title="Training stops by itself", yscale="log")
left.legend()
for value, marker, label in [(0, "o", "scattered atoms"), (1, "^", "planted motif")]:
    right.scatter(*flat[has_motif[200:] == value].T, marker=marker, alpha=0.7, label=label)
right.set(
    xlabel="direction that tells classes apart",
    ylabel="second direction",
    title=f"Embedding of 100 unseen graphs (accuracy {accuracy:.2f})",
)
right.legend(loc="lower right")
figure.savefig("demo.png", dpi=120)
print("The figure is in demo.png.")
