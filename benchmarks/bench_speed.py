"""Time and memory of training, prediction and conversion, beside the peers.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_speed [epochs predict convert ...]

All methods take turns in one process, so that a slow minute of the machine is slow for
all; medians over the rounds. Of an epoch it is the second in a row that counts, when the
caches are warm. Only GNN-LoFI with padded egonets, which takes minutes, is timed by
itself, for one or two batches, and scaled up. Results go to results/speed.json, the figure
beside it.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV, ParameterGrid
from torch.nn import functional as F

from benchmarks.data import read_tu
from benchmarks.grids import PUBLISHED_LOFI
from benchmarks.peers import PaddedBatches, PaddedLoFI, PyGNetwork, count_parameters, pyg_data
from benchmarks.timing import peak_memory, rounded, show, synthetic_graphs, take_turns, timed
from sklofi import GraphSet, LoFIClassifier

RESULTS = Path(__file__).parent / "results" / "speed.json"
FIGURE = RESULTS.with_name("speed.png")
DATA_SETS = ("MUTAG", "PTC_MR", "NCI1", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI")
SIZES = {
    "small": {"n_layers": 3, "n_masks": 16, "n_words": 16},
    "large": {"n_layers": 5, "n_masks": 32, "n_words": 32},
}
BATCH_SIZE = 32
PADDED_BATCHES = {"small": 2, "large": 1}  # of an epoch are run and scaled up
PADDED_MEMORY = 16 * 2**30  # that it may take


def fitted_classifier(X, y, size):
    """A classifier that goes on for two epochs with every fit."""
    training = {"max_epochs": 2, "early_stopping": False, "warm_start": True}
    network = LoFIClassifier(
        **PUBLISHED_LOFI, **size, **training, batch_size=BATCH_SIZE, random_state=0
    )
    return network.fit(X, y)


def second_epoch(classifier, X, y):
    return classifier.fit(X, y).history_[-1, "dur"]


def second_run(epoch):
    epoch()
    return timed(epoch)


def pyg_trainer(kind, data, size, n_features, n_outputs, n_parameters):
    from torch_geometric.loader import DataLoader

    network = PyGNetwork.of_size(
        kind, n_features, n_outputs, n_layers=size["n_layers"], n_parameters=n_parameters
    )
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    loader = DataLoader(data, BATCH_SIZE, shuffle=True)

    def epoch():
        for batch in loader:
            optimizer.zero_grad()
            F.cross_entropy(network(batch), batch.y).backward()
            optimizer.step()

    return network, epoch


def pyg_predict(network, loader):
    with torch.inference_mode():
        return torch.cat([network(batch).argmax(1) for batch in loader])


def padded_epoch(graphs, y, size_name, by_products):
    """Seconds of an epoch by the padded form, or None if it needs too much memory."""
    batches = PaddedBatches(graphs, y)
    size = SIZES[size_name]
    network = PaddedLoFI(batches.n_features, batches.n_outputs, **size, by_products=by_products)
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0)).tolist()

    def step(start):
        inputs, targets = batches.batch(order[start : start + BATCH_SIZE])
        if network.memory(inputs[1]) > PADDED_MEMORY:
            raise MemoryError
        optimizer.zero_grad()
        F.cross_entropy(network(*inputs), targets).backward()
        optimizer.step()

    n_batches = -(-len(graphs) // BATCH_SIZE)
    starts = range(0, len(graphs), BATCH_SIZE)[: PADDED_BATCHES[size_name]]
    try:
        seconds = timed(lambda: [step(start) for start in starts])
        return rounded(seconds * n_batches / len(starts))
    except MemoryError:
        return None


def bench_epochs(results):
    for name in DATA_SETS:
        graphs, y = read_tu(name)
        X = GraphSet.from_networkx(graphs)
        data, n_features, n_outputs = pyg_data(graphs, y)
        for size_name, size in SIZES.items():
            merged, single = fitted_classifier(X, y, size), fitted_classifier(X, y, size)
            single.net_.iterator_train__merge = False
            n_parameters = count_parameters(merged.module_)
            runners = {
                "sklofi": partial(second_epoch, merged, X, y),
                "sklofi, nodes not merged": partial(second_epoch, single, X, y),
            }
            row = {"n_graphs": len(graphs), "n_parameters": {"sklofi": n_parameters}}
            for kind in ("GIN", "GCN"):
                network, epoch = pyg_trainer(kind, data, size, n_features, n_outputs, n_parameters)
                row["n_parameters"][f"PyG {kind}"] = count_parameters(network)
                runners[f"PyG {kind}"] = partial(second_run, epoch)
            row["seconds"] = take_turns(runners, n_rounds=41, seconds=25)
            results.setdefault("epochs", {}).setdefault(size_name, {})[name] = row
            save(results)
            print(f"epoch    {size_name} {name:12}", show(row["seconds"]), flush=True)


def bench_padded(results):
    for name in DATA_SETS:
        graphs, y = read_tu(name)
        for size_name in SIZES:
            row = {
                "padded": padded_epoch(graphs, y, size_name, by_products=False),
                "padded, by products": padded_epoch(graphs, y, size_name, by_products=True),
            }
            results.setdefault("padded", {}).setdefault(size_name, {})[name] = row
            save(results)
            print(f"padded   {size_name} {name:12}", show(row), flush=True)


def check_padded():
    """The padded form gives the numbers of sklofi, for the same parameters."""
    graphs, y = read_tu("MUTAG")
    graphs, y = graphs[:20], y[:20]
    X = GraphSet.from_networkx(graphs)
    size = {"n_layers": 2, "n_masks": 3, "n_words": 4}
    classifier = LoFIClassifier(**PUBLISHED_LOFI, **size, random_state=0).partial_fit(
        X, y, classes=np.unique(y)
    )
    batches = PaddedBatches(graphs, y)
    # The padded form is the published one, with nothing between the layers.
    classifier.module_.node_mean.zero_()
    classifier.module_.node_scale.fill_(1)
    for by_products in (False, True):
        padded = PaddedLoFI(batches.n_features, batches.n_outputs, **size, by_products=by_products)
        for depth, layer in enumerate(classifier.module_.layers):
            padded.dictionaries[depth].data = layer.dictionary.data
            padded.histograms[depth].data = layer.histogram.data
            padded.temperatures[depth].data = layer.temperature.data[:, None]
        inputs, _ = batches.batch(list(range(20)))
        embedding = padded.embed(*inputs).detach().numpy()
        np.testing.assert_allclose(embedding, classifier.transform(X), rtol=1e-4, atol=1e-4)


def bench_predict(results):
    from torch_geometric.loader import DataLoader

    for name in DATA_SETS:
        graphs, y = read_tu(name)
        X = GraphSet.from_networkx(graphs)
        data, n_features, n_outputs = pyg_data(graphs, y)
        size = SIZES["small"]
        classifier = fitted_classifier(X, y, size)
        runners = {
            "sklofi": partial(timed, classifier.predict, X),
            # Without what the set has kept: egonets and classes are computed as well.
            "sklofi, first time": lambda predict=classifier.predict, X=X: timed(
                predict, replace(X)
            ),
        }
        for kind in ("GIN", "GCN"):
            network, _ = pyg_trainer(
                kind, data, size, n_features, n_outputs, count_parameters(classifier.module_)
            )
            network.eval()
            for batch_size in (32, 256):
                loader = DataLoader(data, batch_size)
                runners[f"PyG {kind}, batches of {batch_size}"] = partial(
                    timed, pyg_predict, network, loader
                )
        seconds = take_turns(runners, n_rounds=15, seconds=30)
        row = {key: rounded(value / len(graphs)) for key, value in seconds.items()}
        results.setdefault("predict", {})[name] = row
        save(results)
        print(f"predict  {name:12}", show(row, 1e6, "us"), flush=True)


def bench_convert(results):
    from torch_geometric.utils import from_networkx

    for name in DATA_SETS:
        graphs, _ = read_tu(name)
        has_labels = "label" in graphs[0].nodes[0]
        group = ["label"] if has_labels else None
        runners = {
            "sklofi": partial(timed, GraphSet.from_networkx, graphs),
            "PyG": lambda graphs=graphs, group=group: timed(
                lambda: [from_networkx(graph, group_node_attrs=group) for graph in graphs]
            ),
        }
        row = take_turns(runners, n_rounds=5, seconds=30)
        results.setdefault("convert", {})[name] = row
        save(results)
        print(f"convert  {name:12}", show(row), flush=True)


def bench_growth(results):
    for n_graphs in (1_000, 10_000, 100_000):
        command = [sys.executable, "-m", "benchmarks.bench_speed", "--grow", str(n_graphs)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        row = json.loads(output.splitlines()[-1])
        results.setdefault("growth", {})[str(n_graphs)] = row
        save(results)
        print(f"growth   {n_graphs:7} graphs", row, flush=True)
    rows = results["growth"]
    sizes = np.log([int(n) for n in rows])
    for what in ("epoch_seconds", "data_bytes"):
        values = np.log([rows[n][what] for n in rows])
        exponent = rounded(np.polyfit(sizes, values, 1)[0])
        results.setdefault("growth_exponents", {})[what] = exponent
        print(f"growth   {what} grows with the power {exponent:.3f} of the number of graphs")
    save(results)


def grow(n_graphs):
    """Train on synthetic graphs of 30 nodes in a process of its own, and print what it took."""
    rng = np.random.default_rng(0)
    before = peak_memory()
    X = synthetic_graphs(n_graphs, rng)
    y = rng.integers(2, size=n_graphs)
    fit = {"early_stopping": False, "max_epochs": 3, "random_state": 0}
    classifier = LoFIClassifier(**PUBLISHED_LOFI, **SIZES["small"], **fit).fit(X, y)
    seconds = float(np.median(classifier.history_[:, "dur"]))
    classifier.predict(X)
    peak = peak_memory()
    row = {"epoch_seconds": rounded(seconds), "peak_bytes": peak, "data_bytes": peak - before}
    print(json.dumps(row))


def bench_jobs(results):
    """Seconds of the same grid search with one worker and with two."""
    graphs, y = read_tu("PROTEINS")
    X = GraphSet.from_networkx(graphs)
    grid = {"lr": [0.003, 0.01], "n_words": [8, 16]}
    training = {"max_epochs": 12, "early_stopping": False, "random_state": 0}
    classifier = LoFIClassifier(**PUBLISHED_LOFI, **training)

    def search(n_jobs):
        search = GridSearchCV(classifier, grid, cv=2, n_jobs=n_jobs, refit=False)
        return timed(search.fit, X, y)

    runners = {f"n_jobs={n}": partial(search, n) for n in (1, 2)}
    row = take_turns(runners, n_rounds=3, seconds=240)
    results["jobs"] = row | {"fits": 2 * len(ParameterGrid(grid))}
    save(results)
    print("jobs    ", show(row), f"ratio {row['n_jobs=1'] / row['n_jobs=2']:.2f}", flush=True)


def draw(results):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    colors = {
        "sklofi": "#0b6e4f",
        "sklofi, nodes not merged": "#7fb069",
        "PyG GIN": "#3a5a98",
        "PyG GCN": "#9db4d8",
        "padded": "#b0413e",
        "padded, by products": "#e0a3a1",
    }
    labels = {
        "padded": "GNN-LoFI, padded egonets",
        "padded, by products": "GNN-LoFI, padded, by products",
    }
    figure, axes = plt.subplots(1, 3, figsize=(13, 5), width_ratios=(1.4, 1.4, 1))

    rows = results["epochs"]["small"]
    for method, color in colors.items():
        source = results["padded"]["small"] if method.startswith("padded") else None
        seconds = [(source[n] if source else rows[n]["seconds"])[method] for n in rows]
        per_graph = [1e3 * s / rows[n]["n_graphs"] for s, n in zip(seconds, rows, strict=True)]
        axes[0].plot(list(rows), per_graph, "o", color=color, label=labels.get(method, method))
    axes[0].set(
        yscale="log", ylabel="ms per graph", title="Training epoch, 3 layers, batches of 32"
    )
    rows = results["predict"]
    methods = {
        "sklofi": colors["sklofi"],
        "sklofi, first time": colors["sklofi, nodes not merged"],
        "PyG GIN, batches of 32": colors["PyG GCN"],
        "PyG GIN, batches of 256": colors["PyG GIN"],
    }
    for method, color in methods.items():
        times = [1e6 * rows[name][method] for name in rows]
        axes[1].plot(list(rows), times, "o", color=color, label=method)
    axes[1].set(yscale="log", ylabel="µs per graph", title="Prediction")
    for axis in axes[:2]:
        axis.tick_params(axis="x", rotation=30)
        axis.grid(axis="y", alpha=0.3)

    rows = results["growth"]
    sizes = [int(n) for n in rows]
    seconds = [rows[n]["epoch_seconds"] for n in rows]
    gigabytes = [rows[n]["peak_bytes"] / 2**30 for n in rows]
    axes[2].plot(sizes, seconds, "o-", color=colors["sklofi"], label="seconds per epoch")
    axes[2].plot(sizes, gigabytes, "s--", color="#666666", label="peak memory in GiB")
    axes[2].set(xscale="log", yscale="log", xlabel="graphs of 30 nodes", title="Growth")
    axes[2].grid(alpha=0.3)
    for axis in axes:
        axis.legend(
            fontsize=8, ncols=2, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.22)
        )
    figure.tight_layout()
    figure.savefig(FIGURE, dpi=150)


def table(results):
    """The README's table, in Markdown."""
    lines = [
        "| | sklofi | not merged | PyG GIN | PyG GCN | padded | by products | sklofi / GIN |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for size in SIZES:
        for name, row in results["epochs"][size].items():
            seconds = row["seconds"] | results["padded"][size][name]
            cells = ["-" if v is None else f"{v:.3g}" for v in seconds.values()]
            ratio = seconds["sklofi"] / seconds["PyG GIN"]
            lines.append(f"| {name}, {size} | {' | '.join(cells)} | {ratio:.2f} |")
    return "\n".join(lines)


def save(results):
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


SECTIONS = {
    "convert": bench_convert,
    "predict": bench_predict,
    "epochs": bench_epochs,
    "padded": bench_padded,
    "jobs": bench_jobs,
    "growth": bench_growth,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all if none")
    parser.add_argument("--grow", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.grow:
        return grow(arguments.grow)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    check_padded()
    results["machine"] = {"cores": os.cpu_count(), "torch": torch.__version__}
    for name in arguments.sections or SECTIONS:
        SECTIONS[name](results)
    if set(SECTIONS) <= set(results):
        print(table(results))
        draw(results)


if __name__ == "__main__":
    main()
