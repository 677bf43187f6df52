"""Time of graph kernels beside GraKeL, and growth with the number of graphs.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_kernels [speed growth search]

From graphs in memory (a GraphSet, and GraKeL's own Graph objects) to the kernel matrix.
Both take turns in one process; medians over the rounds. Before a pair is timed, its
matrices are compared to the last digit. GraKeL's optimal assignment kernel compares every
pair of graphs by a vector as long as the number of all colors: it is run on as many
graphs as it does in about a minute, and scaled up with the square of their number; the
factor is stored, and ours is given for the same graphs as well. Results go to
results/kernels.json.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import grakel
import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks.data import read_tu
from benchmarks.timing import peak_memory, rounded, show, synthetic_graphs, take_turns, timed
from sklofi import GraphKernelSVC, GraphSet, WLVectorizer
from sklofi.kernels import ShortestPathVectorizer, VertexHistogramVectorizer, linear_kernel

RESULTS = Path(__file__).parent / "results" / "kernels.json"
FIGURE = RESULTS.with_name("kernels.png")
N_ITER = 4
DATA_SETS = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "NCI1")
PAIRS = {
    "wl": (WLVectorizer(N_ITER), partial(grakel.WeisfeilerLehman, n_iter=N_ITER)),
    "wl-oa": (
        WLVectorizer(N_ITER, unary=True),
        partial(grakel.WeisfeilerLehmanOptimalAssignment, n_iter=N_ITER),
    ),
    "shortest-path": (ShortestPathVectorizer(), grakel.ShortestPath),
    "vertex-histogram": (VertexHistogramVectorizer(), grakel.VertexHistogram),
}
GOALS = {("wl", "NCI1"): 10, ("wl-oa", "NCI1"): 10, ("shortest-path", "PROTEINS"): 5}
SLOW_KERNEL_GRAPHS = 400  # of the larger sets, for GraKeL's optimal assignment


def grakel_graphs(graphs):
    """GraKeL's objects, made beforehand; labels where there are none are all the same."""
    converted = grakel.graph_from_networkx(graphs, node_labels_tag="label", as_Graph=False)
    return [grakel.Graph(edges, labels) for edges, labels, _ in converted]


def our_matrix(vectorizer, X):
    return linear_kernel(vectorizer.fit_transform(X))


def their_matrix(make_kernel, graphs):
    return make_kernel().fit_transform(graphs)


def bench_speed(results):
    for name in DATA_SETS:
        graphs, _ = read_tu(name)
        if "label" not in graphs[0].nodes[0]:
            for graph in graphs:
                for node in graph:
                    graph.nodes[node]["label"] = 0
        for kernel, (vectorizer, make_kernel) in PAIRS.items():
            X, some = GraphSet.from_networkx(graphs), graphs
            part, factor = X, 1.0
            if kernel == "wl-oa" and len(graphs) > SLOW_KERNEL_GRAPHS:
                rows = np.linspace(0, len(graphs) - 1, SLOW_KERNEL_GRAPHS).astype(int)
                part, some = X[rows], [graphs[i] for i in rows]
                factor = (len(graphs) / len(rows)) ** 2
            np.testing.assert_array_equal(
                our_matrix(vectorizer, part), their_matrix(make_kernel, grakel_graphs(some))
            )
            # New objects in every round: GraKeL's keep their shortest paths.
            runners = {
                "sklofi": lambda v=vectorizer, X=X: timed(our_matrix, v, replace(X)),
                "GraKeL": lambda k=make_kernel, g=some: timed(their_matrix, k, grakel_graphs(g)),
            }
            if factor > 1:
                runners["sklofi, part"] = lambda v=vectorizer, X=part: timed(our_matrix, v, X)
            row = take_turns(runners, n_rounds=5, seconds=60)
            if factor > 1:
                row |= {"GraKeL, part": row["GraKeL"], "n_part": len(part), "factor": factor}
                row["GraKeL"] = rounded(factor * row["GraKeL, part"])
            row["ratio"] = rounded(row["GraKeL"] / row["sklofi"])
            results.setdefault("speed", {}).setdefault(kernel, {})[name] = row
            save(results)
            print(f"{kernel:17}{name:12}", show(row, unit=""), flush=True)
    for (kernel, name), goal in GOALS.items():
        ratio = results["speed"][kernel][name]["ratio"]
        assert ratio >= goal, f"{kernel} on {name}: {ratio} times, {goal} are promised"


def bench_growth(results):
    """Fit and predict in a process of its own, with and without a kernel matrix."""
    for kernel in ("wl", "wl-oa"):
        for n_graphs in (1_000, 10_000, 100_000):
            command = [sys.executable, "-m", "benchmarks.bench_kernels", "--grow", kernel]
            output = subprocess.run(
                [*command, str(n_graphs)], check=True, capture_output=True, text=True
            ).stdout
            row = json.loads(output.splitlines()[-1])
            results.setdefault("growth", {}).setdefault(kernel, {})[str(n_graphs)] = row
            save(results)
            print(f"growth   {kernel:6} {n_graphs:7} graphs", row, flush=True)


def grow(kernel, n_graphs):
    """Fit to synthetic graphs of 30 nodes and print what it took."""
    rng = np.random.default_rng(0)
    before = peak_memory()
    X = synthetic_graphs(n_graphs, rng)
    # Something to learn: which of two labels is more frequent.
    counts = VertexHistogramVectorizer().fit_transform(X).toarray()
    y = (counts[:, 0] > counts[:, 1]).astype(int)
    vectorizer = WLVectorizer(N_ITER, unary=kernel == "wl-oa", normalize=True)
    features = timed(vectorizer.fit_transform, X)
    classifier = GraphKernelSVC(kernel=kernel, n_iter=N_ITER, random_state=0)
    row = {
        "features_seconds": rounded(features),
        "fit_seconds": rounded(timed(classifier.fit, X, y)),
        "predict_seconds": rounded(timed(classifier.predict, X)),
        "solver": classifier.solver_,
        "accuracy": rounded(classifier.score(X, y)),
        "data_bytes": peak_memory() - before,
        "peak_bytes": peak_memory(),
    }
    print(json.dumps(row))


def bench_search(results):
    """A grid over C, from a GraphSet and by computing the matrix for every fit."""
    graphs, y = read_tu("NCI1")
    X = GraphSet.from_networkx(graphs)
    grid = {"C": [0.01, 0.1, 1, 10]}

    def seconds(X):
        search = GridSearchCV(GraphKernelSVC(kernel="wl-oa"), grid, cv=5, refit=False)
        start = time.perf_counter()
        search.fit(X, y)
        return time.perf_counter() - start

    runners = {
        "GraphSet": lambda: seconds(GraphSet.from_networkx(graphs)),
        "list of graphs": lambda: seconds(graphs),
        "only the machine": lambda: machine_seconds(X, y, grid["C"]),
    }
    results["search"] = take_turns(runners, n_rounds=1, seconds=1)
    save(results)
    print("search  ", show(results["search"]), flush=True)


def machine_seconds(X, y, grid):
    """The same fits of libsvm, with the matrix given."""
    from sklearn.svm import SVC

    kernel = linear_kernel(WLVectorizer(5, unary=True, normalize=True).fit_transform(X))
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": grid}, cv=5, refit=False)
    return timed(search.fit, kernel, y)


def draw(results):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    colors = {"wl": "#0b6e4f", "wl-oa": "#7fb069", "shortest-path": "#3a5a98"}
    for kernel, color in colors.items():
        rows = results["speed"][kernel]
        ratios = [rows[name]["ratio"] for name in rows]
        axes[0].plot(list(rows), ratios, "o", color=color, label=kernel, ms=7)
    axes[0].axhline(1, color="0.6", lw=1, ls=":")
    axes[0].set(yscale="log", ylabel="times faster than GraKeL", title="From graphs to the matrix")
    axes[0].tick_params(axis="x", rotation=20)
    for kernel, rows in results["growth"].items():
        sizes = [int(n) for n in rows]
        for what, line in (("fit_seconds", "o-"), ("features_seconds", "s--")):
            label = f"{kernel}, {'fit' if what == 'fit_seconds' else 'features alone'}"
            seconds = [rows[n][what] for n in rows]
            axes[1].plot(sizes, seconds, line, color=colors[kernel], label=label)
    axes[1].set(
        xscale="log", yscale="log", xlabel="graphs of 30 nodes", ylabel="seconds", title="Growth"
    )
    axes[1].axvline(10_000, color="0.6", lw=1, ls=":")
    axes[1].annotate("kernel matrix ", (10_000, 0.06), ha="right", color="0.4")
    axes[1].annotate(" linear SVM", (10_000, 0.06), ha="left", color="0.4")
    for axis in axes:
        axis.grid(axis="y", alpha=0.3)
        axis.legend(frameon=False, fontsize=9)
    figure.savefig(FIGURE, dpi=130)


def save(results):
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


SECTIONS = {"speed": bench_speed, "growth": bench_growth, "search": bench_search}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all if none")
    parser.add_argument("--grow", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.grow:
        return grow(arguments.grow[0], int(arguments.grow[1]))
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in arguments.sections or SECTIONS:
        SECTIONS[name](results)
    if {"speed", "growth"} <= set(results):
        draw(results)


if __name__ == "__main__":
    main()
