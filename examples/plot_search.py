"""
Search for parameters: at random, or with Optuna
================================================

The estimators have parameters as those of scikit-learn do, so every search works. What to search is
a plain dictionary.
"""

# %%
# The graphs
# ----------
# Four classes: a ring, a chain or a star of two "N" and two "O", or the same atoms scattered. They
# are converted once; all fits of a search share what is derived from them.
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from scipy.stats import loguniform
from sklearn.model_selection import RandomizedSearchCV, cross_val_score

from sklofi import GraphSet, LoFIClassifier
from sklofi.datasets import make_motif_graphs

motifs = [nx.cycle_graph(4), nx.path_graph(4), nx.star_graph(3)]
for motif in motifs:
    nx.set_node_attributes(motif, dict(enumerate("NONO")), "label")
graphs, y = make_motif_graphs(120, motifs=motifs, n_nodes=12, random_state=0)
X = GraphSet.from_networkx(graphs)

# %%
# At random
# ---------
# A search is for one network; the default, which trains several, can be fitted with what is found.
# Lists are drawn from evenly, a distribution of scipy as it says. ``param_distributions()`` of an
# estimator is a small space to begin with.
network = LoFIClassifier(n_members=1, counts=False, max_epochs=15, random_state=0)
print("to begin with:", *network.param_distributions())
space = {"lr": loguniform(1e-3, 1e-1), "n_masks": [4, 8, 16, 32], "n_layers": [1, 2, 3]}
search = RandomizedSearchCV(network, space, n_iter=8, cv=2, random_state=0).fit(X, y)
print(f"accuracy {search.best_score_:.2f} with {search.best_params_}")

# %%
# With Optuna, if it is installed
# -------------------------------
# It proposes values where former ones did well. An objective is a function; nothing of sklofi has
# to know about it.
try:
    import optuna
except ImportError:
    print("Optuna is not installed.")
else:
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial):
        network.set_params(
            lr=trial.suggest_float("lr", 1e-3, 1e-1, log=True),
            n_masks=trial.suggest_categorical("n_masks", space["n_masks"]),
        )
        return cross_val_score(network, X, y, cv=2).mean()

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=6)
    print(f"accuracy {study.best_value:.2f} with {study.best_params}")

# %%
# How far candidates differ
# -------------------------
# The best candidate alone does not tell what a search was worth. Eight candidates and two folds are
# few: a real search has more of both, and is judged on graphs that it has not seen.
results = search.cv_results_
masks = np.array([candidate["n_masks"] for candidate in results["params"]])
rates = [candidate["lr"] for candidate in results["params"]]
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
points = axes.scatter(rates, results["mean_test_score"], s=6 * masks, c=masks, cmap="viridis")
axes.legend(*points.legend_elements(), title="n_masks", loc="center left", bbox_to_anchor=(1, 0.5))
axes.set(xscale="log", xlim=(5e-4, 0.2), xlabel="lr", ylabel="accuracy in two folds")
axes.margins(y=0.15)
axes.set_title("Eight random candidates")
figure.savefig("search.png", dpi=120)
