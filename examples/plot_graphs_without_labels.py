"""
Embed and cluster graphs that have no targets
=============================================

Without targets there is nothing to train a network for, but neighborhoods can be counted. The
counts are columns, and with columns everything of scikit-learn works.
"""

# %%
# The graphs
# ----------
# Four ways to make a network at random, with as many nodes, about as many edges, and no attributes.
# Which graph was made in which way is not told to anybody until the end.
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from sklofi import GraphSet, WLVectorizer

makers = {
    "random": lambda seed: nx.gnm_random_graph(40, 76, seed=seed),
    "small world": lambda seed: nx.watts_strogatz_graph(40, 4, 0.2, seed=seed),
    "preferential": lambda seed: nx.barabasi_albert_graph(40, 2, seed=seed),
    "lattice": lambda seed: nx.watts_strogatz_graph(40, 4, 0.03, seed=seed),
}
graphs = [make(seed) for make in makers.values() for seed in range(40)]
made_by = np.repeat(list(makers), 40)
X = GraphSet.from_networkx(graphs)

# %%
# From neighborhoods to a plane
# -----------------------------
# Each column of the counts is a kind of neighborhood: here of one step, and told apart by the
# smallest ring through each edge. The square root keeps the frequent ones from deciding alone.
counts = WLVectorizer(n_iter=1, max_ring=4).fit_transform(X).astype(float).sqrt()
plane = make_pipeline(Normalizer(), TruncatedSVD(3, random_state=0)).fit_transform(counts)
print(f"{counts.shape[1]} kinds of neighborhoods in {len(X)} graphs")

# %%
# Groups
# ------
# KMeans finds groups that can be compared with the truth: 1 is agreement, 0 is chance.
groups = KMeans(4, n_init=10, random_state=0).fit_predict(plane)
agreement = adjusted_rand_score(made_by, groups)
print(f"agreement with how the graphs were made: {agreement:.2f}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for name in makers:
    left.scatter(*plane[made_by == name, 1:].T, s=14, label=name)
left.legend(fontsize="small")
left.set_title("how they were made")
right.scatter(*plane[:, 1:].T, s=14, c=groups, cmap="Set2")
right.set_title(f"groups that were found (agreement {agreement:.2f})")
figure.savefig("graphs_without_labels.png", dpi=120)
