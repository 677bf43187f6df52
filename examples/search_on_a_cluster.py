"""
A search on a cluster, and a worker that dies
=============================================

The fits of a grid search are independent of each other. Dask sends them to the workers of a
cluster. Here it is a small one on this machine, but nothing changes for a large one.
"""

# %%
# The graphs
# ----------
# Two motifs of four atoms, a ring and a chain, planted into random graphs. Graphs are converted
# once: a `GraphSet` is sent to each worker a single time, a list of graphs with every fit.
import logging
import os
import signal
import threading

import matplotlib.pyplot as plt
import networkx as nx
from dask.distributed import Client, LocalCluster
from sklearn.model_selection import GridSearchCV

from sklofi import GraphSet, LoFIClassifier
from sklofi.cluster import on_cluster
from sklofi.datasets import make_motif_graphs

motifs = [nx.cycle_graph(4), nx.path_graph(4)]
for motif in motifs:
    nx.set_node_attributes(motif, dict(enumerate("NONO")), "label")


def search_on(client):
    graphs, y = make_motif_graphs(120, motifs=motifs, n_nodes=12, random_state=0)
    X = GraphSet.from_networkx(graphs)
    lofi = LoFIClassifier(n_layers=2, n_members=1, max_epochs=15, random_state=0)
    grid = {"n_masks": [2, 4, 8], "lr": [0.003, 0.01, 0.03]}
    with on_cluster(client):
        return GridSearchCV(lofi, grid, cv=2).fit(X, y)


# %%
# The results
# -----------
# They are those of a search without a cluster, to the last digit.
def draw(search):
    print(f"Best of {len(search.cv_results_['params'])}: {search.best_params_}")
    scores = search.cv_results_["mean_test_score"].reshape(3, 3)  # lr, n_masks
    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    for lr, row in zip(search.param_grid["lr"], scores, strict=True):
        print(f"lr={lr:<6} " + "  ".join(f"{score:.3f}" for score in row))
        axes.plot(search.param_grid["n_masks"], row, "o-", label=f"lr={lr}")
    axes.set(xlabel="n_masks", ylabel="accuracy in two folds", title="Nine candidates")
    axes.legend()
    figure.savefig("search_on_a_cluster.png", dpi=120)


# %%
# The cluster
# -----------
# Two worker processes of one thread each. For workers on other machines, use
# `Client("scheduler:8786")`. The workers import this file, hence the last lines.
def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        # After three seconds one of them is killed, as if its machine had failed. Its fit is
        # repeated; nothing else is lost.
        victim = client.run(os.getpid).popitem()[1]
        accident = threading.Timer(3, os.kill, (victim, signal.SIGKILL))
        accident.start()
        search = search_on(client)
        accident.cancel()  # should the search have been faster
    draw(search)


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "../examples/figures/search_on_a_cluster.png"
