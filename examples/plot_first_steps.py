"""
First steps: graphs in, predictions out
=======================================

Three small data sets that need no download, five folds each, and a look at what a fitted
classifier sees. This is what ``make demo`` runs.
"""

# %%
# The graphs
# ----------
# ``make_motif_graphs`` plants a small motif, an "N" between two "O", into half of its
# graphs. The other half has the same atoms, but scattered: counting labels does not help.
# ``load_graph_atlas`` has all graphs of up to seven nodes, here with two things to learn.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from sklearn.preprocessing import StandardScaler

from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.datasets import load_graph_atlas, make_motif_graphs

motifs, has_motif = make_motif_graphs(300, random_state=0)
atlas, is_connected = load_graph_atlas(target="connected")
_, spectral_radius = load_graph_atlas(target="spectral_radius")

# %%
# Cross-validation
# ----------------
# The estimators take lists of networkx graphs. A ``GraphSet`` is such a list, converted
# once instead of once per fold.
stratified, plain = (
    folds(n_splits=5, shuffle=True, random_state=0) for folds in (StratifiedKFold, KFold)
)
classifier = LoFIClassifier(max_epochs=30, random_state=0)
regressor = LoFIRegressor(max_epochs=30, random_state=0)
tasks = {
    "planted motif": (classifier, motifs, has_motif, stratified, "accuracy"),
    "connected": (classifier, atlas, is_connected, stratified, "accuracy"),
    "spectral radius": (regressor, atlas, spectral_radius, plain, "r2"),
}

print(f"{'task':<18}{'graphs':>7}{'score':>11}{'chance':>9}{'mean ± error':>18}{'s/fit':>8}")
for name, (estimator, graphs, y, folds, scoring) in tasks.items():
    X = GraphSet.from_networkx(graphs)
    results = cross_validate(estimator, X, y, cv=folds, scoring=scoring, n_jobs=2)
    scores = results["test_score"]
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    chance = max(np.mean(y), 1 - np.mean(y)) if scoring == "accuracy" else 0
    print(
        f"{name:<18}{len(X):>7}{scoring:>11}{chance:>9.3f}"
        f"{scores.mean():>11.3f} ± {error:.3f}{results['fit_time'].mean():>8.1f}"
    )

# %%
# What a fitted classifier sees
# -----------------------------
# ``history_`` holds the losses of every epoch; ``transform`` gives the vector that the
# network makes of a graph, here of graphs that it was not fitted to.
classifier = LoFIClassifier(random_state=0).fit(motifs[:200], has_motif[:200])
embedding = classifier.transform(motifs[200:])
flat = PCA(n_components=2).fit_transform(StandardScaler().fit_transform(embedding))
accuracy = classifier.score(motifs[200:], has_motif[200:])

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, label in [("train_loss", "training"), ("valid_loss", "validation")]:
    left.plot(classifier.history_[:, name], label=label)
left.set(xlabel="epoch", ylabel="cross-entropy", title="Training stops by itself", yscale="log")
left.legend()
for value, marker, label in [(0, "o", "scattered atoms"), (1, "^", "planted motif")]:
    right.scatter(*flat[has_motif[200:] == value].T, marker=marker, alpha=0.7, label=label)
right.set(
    xlabel="first principal component",
    ylabel="second",
    title=f"Embedding of 100 unseen graphs (accuracy {accuracy:.2f})",
)
right.legend()
figure.savefig("demo.png", dpi=120)
print("The figure is in demo.png.")
