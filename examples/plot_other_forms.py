"""
Graphs from tables, and from other libraries
============================================

Graphs often come as a table of edges, or as objects of another library. All forms become the same
``GraphSet``, and a model that was fitted on one predicts another.
"""

# %%
# A table of edges
# ----------------
# A row for each edge, with the name of its graph; a second table has the labels of nodes. Here are
# teams: who reports to whom, and what they do. Teams succeed if their lead has a tester.
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp

from sklofi import FingerprintClassifier, GraphSet, WLVectorizer

rng = np.random.default_rng(0)
edges, nodes, success = [], [], {}
for team in (f"team {i:03}" for i in range(150)):
    size = int(rng.integers(6, 12))
    jobs = ["lead", "tester", "tester", *["developer"] * (size - 3)]
    boss = [0, *(int(rng.integers(person)) for person in range(1, size))]
    order = np.r_[0, 1 + rng.permutation(size - 1)]
    nodes += [{"team": team, "person": i, "label": jobs[order[i]]} for i in range(size)]
    edges += [{"team": team, "from": boss[i], "to": i} for i in range(1, size)]
    success[team] = any(jobs[order[i]] == "tester" and boss[i] == 0 for i in range(1, size))
edges, nodes, success = pd.DataFrame(edges), pd.DataFrame(nodes), pd.Series(success)
print(edges.head(3), nodes.head(3), sep="\n")

# %%
# ``graphs`` puts the graphs in the order of the targets.
X = GraphSet.from_edge_list(
    edges,
    nodes,
    graph="team",
    source="from",
    target="to",
    node="person",
    node_label="label",
    graphs=success.index,
)
classifier = FingerprintClassifier().fit(X[:100], success[:100])
print(X, f"accuracy on 50 other teams: {classifier.score(X[100:], success[100:]):.2f}", sep="\n")

# %%
# The same graphs in other forms
# ------------------------------
# A sparse matrix for each graph, or objects of networkx, igraph and rustworkx: predictions are the
# same.
teams = X[100:]
as_networkx = teams.to_networkx()
as_matrices = [sp.csr_array(nx.to_scipy_sparse_array(graph)) for graph in as_networkx]
labels = [[job for _, job in graph.nodes(data="label")] for graph in as_networkx]
forms = {"networkx": as_networkx, "scipy": GraphSet.from_scipy(as_matrices, labels)}
try:
    import igraph
    import rustworkx
except ImportError:
    print("igraph or rustworkx is not installed.")
else:
    as_igraph = [igraph.Graph.from_networkx(graph) for graph in as_networkx]
    as_rustworkx = [rustworkx.networkx_converter(g, keep_attributes=True) for g in as_networkx]
    forms["igraph"] = GraphSet.from_igraph(as_igraph)
    forms["rustworkx"] = GraphSet.from_rustworkx(as_rustworkx)
for name, form in forms.items():
    print(f"{name}: {np.mean(classifier.predict(form) == classifier.predict(teams)):.0%} the same")

# %%
# What tells the teams apart?
# ---------------------------
# The names of the columns of a vectorizer can be read.
vectorizer = WLVectorizer(n_iter=1)
present = vectorizer.fit_transform(X).toarray() > 0
contrast = pd.Series(
    present[success].mean(axis=0) - present[~success].mean(axis=0),
    index=vectorizer.get_feature_names_out(),
)
figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
contrast.sort_values().iloc[[0, 1, 2, -3, -2, -1]].plot.barh(ax=axes)
axes.set_xlabel("more frequent in teams that succeed")
figure.savefig("other_forms.png", dpi=120)
