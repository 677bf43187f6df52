"""
What does each method see?
==========================

The right method depends on where your classes differ. Here are eight differences and eighteen
methods. A method that cannot see a difference is right half of the time.
"""

# %%
# Eight differences
# -----------------
# Graphs come in pairs of the same size, one of each class, and differ in as little as possible.
import warnings

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from sklofi import GraphKernelSVC, GraphSet, LoFIClassifier, baselines


def ring(atoms, bonds="-", weights=(1,)):
    graph = nx.Graph()
    graph.add_nodes_from((i, {"label": atom}) for i, atom in enumerate(atoms))
    for i in graph:
        bond, weight = bonds[i % len(bonds)], weights[i % len(weights)]
        graph.add_edge(i, (i + 1) % len(atoms), label=bond, weight=weight)
    return graph


rng = np.random.RandomState(0)
pairs = {
    # As many of each label? (If not, there are other neighbors, too.)
    "labels": lambda n: (ring("NCCCCCCC" * n), ring("NNCCCCCC" * n)),
    # The same labels, but which nodes are neighbors?
    "neighbors": lambda n: (ring("NCCCNCCC" * n), ring("NNCCCCCC" * n)),
    # The same neighborhoods if their centers are not known: two N and a C, two C and an N.
    "centers": lambda n: (ring("NCNCNCNC" * n), ring("NNCCNNCC" * n)),
    # The same neighbors, and the same nodes within two steps. Which are one step away, which two?
    "distances": lambda n: (ring("NCCCNCCC" * n), ring("NCCNCCCC" * n)),
    # Three or four neighbors, and no labels.
    "degrees": lambda n: tuple(nx.random_regular_graph(d, 8 * n, seed=rng) for d in (3, 4)),
    # Which bonds are beside each other, or which weights?
    "bonds": lambda n: (ring("CCCCCCCC" * n, "-=-="), ring("CCCCCCCC" * n, "--==")),
    "weights": lambda n: tuple(ring("C" * 8 * n, "-", w) for w in [(1, 3, 1, 3), (1, 1, 3, 3)]),
    # One large ring or many triangles, no labels: all neighborhoods are the same.
    "rings": lambda n: (nx.cycle_graph(6 * n), nx.disjoint_union_all([nx.cycle_graph(3)] * 2 * n)),
}

# %%
# All methods
# -----------
# There is one network of each, as it is, but trained at the same rate and for the same time: the
# graphs are too few to set some aside that tell when to stop. Those that read bonds by option do.
training = {"max_epochs": 50, "lr": 0.02, "early_stopping": False, "random_state": 0}
methods = {"LoFI": LoFIClassifier(n_members=1, counts=False, **training)}
methods["LoFI as published"] = LoFIClassifier.published(**training)
networks = "GCN GAT GraphSAGE ECC GIN SGIN DGCNN DiffPool SFAGNN RWGNN KerGNN DeepMultisets"
for name in networks.split():
    bonds = {"edge_label": "label"} if name in ("GAT", "GraphSAGE", "GIN") else {}
    methods[name] = getattr(baselines, f"{name}Classifier")(**training, **bonds)
methods["WL kernel"] = GraphKernelSVC()
methods["shortest-path kernel"] = GraphKernelSVC(kernel="shortest-path")
methods["Fingerprint"] = baselines.FingerprintClassifier()
methods["LabelHistogram"] = baselines.LabelHistogramClassifier()

# %%
# Which method sees what?
# -----------------------
# Rings of one size are all the same, so the new graphs have other sizes than those of training.
# For distances LoFI has a single layer, which looks two steps far; others have several layers.
warnings.filterwarnings("ignore", message=".* does not use edge")
training_sizes, new_sizes = [1, 3, 5, 7] * 4, [2, 4, 6] * 2
y, y_new = np.tile([0, 1], len(training_sizes)), np.tile([0, 1], len(new_sizes))
accuracy = np.zeros((len(methods), len(pairs)))
for column, (what, make) in enumerate(pairs.items()):
    weight = "weight" if what == "weights" else None
    parts = [[graph for n in sizes for graph in make(n)] for sizes in (training_sizes, new_sizes)]
    X, X_new = (GraphSet.from_networkx(part, edge_weight=weight) for part in parts)
    depth = {"n_layers": 1, "radius": 2} if what == "distances" else {"n_layers": 5, "radius": 1}
    for row, (name, method) in enumerate(methods.items()):
        method.set_params(**(depth if "LoFI" in name else {}))
        accuracy[row, column] = method.fit(X, y).score(X_new, y_new)

# %%
# LoFI sees the distance, bond and ring of each neighbor. Networks that average over neighbors do
# not see how many there are. Neighborhoods tell nothing about rings, unless they come with the
# edges in them (KerGNN); distances and counted rings do. Half is not always blindness: after 500
# epochs GCN sees distances and weights, GAT centers, SFAGNN neighbors, and DGCNN varies by seed.
figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
axes.imshow(accuracy, cmap="Blues", vmin=0.4, vmax=1.6, aspect="auto")
for (row, column), value in np.ndenumerate(accuracy):
    weight = "bold" if value > 0.9 else "normal"
    axes.text(column, row, f"{value:.0%}", ha="center", va="center", weight=weight)
axes.set_xticks(range(len(pairs)), pairs)
axes.set_yticks(range(len(methods)), methods)
axes.tick_params(length=0, labeltop=True, labelbottom=False)
axes.set_title("Accuracy on graphs of new sizes, by what tells the classes apart")
figure.savefig("what_networks_see.png", dpi=120)
