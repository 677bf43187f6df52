"""
Prediction over many files on a cluster
=======================================

A collection of graphs that is too large for one machine is kept as many files. They are converted
once, and each worker of a Dask cluster predicts some of them. Here the cluster is a small one on
this machine, but nothing changes for a large one whose workers see the same folder.
"""

# %%
# The files
# ---------
# Graphs are converted once and saved: a file holds plain arrays, which are mapped into memory when
# they are loaded. A model is a file as well, so that tasks are a few bytes: two names of files.
import logging
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

import sklofi
from sklofi import FingerprintClassifier, GraphSet
from sklofi.datasets import make_motif_graphs

motifs = [nx.cycle_graph(4), nx.path_graph(4)]
for motif in motifs:
    nx.set_node_attributes(motif, dict(enumerate("NONO")), "label")


def make_graphs(n_graphs, seed):
    graphs, y = make_motif_graphs(n_graphs, motifs=motifs, n_nodes=12, random_state=seed)
    return GraphSet.from_networkx(graphs), y


def write_files(folder):
    """A model, and eight parts of a collection with what is true of them."""
    FingerprintClassifier().fit(*make_graphs(200, seed=0)).save(folder / "model.safetensors")
    truth = {}
    for part in range(8):
        graphs, y = make_graphs(100, seed=part + 1)
        path = folder / f"part-{part}.safetensors"
        graphs.save(path)
        truth[path] = y
    return truth


# %%
# The task
# --------
# It runs on a worker, and writes its result beside the graphs: nothing large is sent. A task that
# is repeated, because its worker has died, writes the same again.
def predict_file(model, path):
    graphs = GraphSet.load(path)
    probabilities = sklofi.load(model).predict_proba(graphs)
    np.save(path.with_suffix(".npy"), probabilities.astype(np.float32))
    return path


# %%
# The cluster
# -----------
# For workers on other machines, use `Client("scheduler:8786")`. Results arrive in any order. The
# workers import this file, hence the last lines.
def main():
    folder = Path.cwd()
    truth = write_files(folder)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        tasks = client.map(predict_file, [folder / "model.safetensors"] * len(truth), list(truth))
        accuracies = {}
        for task in as_completed(tasks):
            path = task.result()
            predicted = np.load(path.with_suffix(".npy")).argmax(axis=1)
            accuracies[path.stem] = np.mean(predicted == truth[path])
            print(f"{path.stem}: {len(predicted)} graphs, accuracy {accuracies[path.stem]:.2f}")

    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    axes.bar(sorted(accuracies), [accuracies[name] for name in sorted(accuracies)])
    axes.set(ylabel="accuracy", ylim=(0, 1.1), title="Eight files, two workers")
    axes.tick_params("x", rotation=45)
    figure.savefig("predict_many_files.png", dpi=120)


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "../examples/figures/predict_many_files.png"
