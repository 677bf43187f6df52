"""CPU time of an epoch of each peer, beside the same network written plainly.

SKLOFI_DATA=folder/with/zips OMP_NUM_THREADS=1 python -m benchmarks.bench_peers [--sets MUTAG ...]
python -m benchmarks.bench_peers --tables

The plain networks are layers of torch_geometric.nn one after the other, with batches of
torch_geometric.loader.DataLoader, and the widths, batch sizes, loss and optimizer of the
estimators. Before anything is timed, a plain network with the weights of ours has to give equal
outputs and gradients. Then both take turns on one thread, five epochs each; what counts is the
median of the ratios of a turn. The epochs of an estimator are those of a call of fit, with all that
it checks, the average of its weights and the statistics that belong to it. Every pair of a set and
a method is appended to results/peers.jsonl at once; --tables prints the last of each.
"""

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.data import read_tu, with_bonds
from benchmarks.peers import pyg_data
from benchmarks.timing import rounded
from sklofi import baselines
from sklofi import nn as ours
from sklofi.nn import FlatGraphs

RESULTS = Path(__file__).parent / "results" / "peers.jsonl"
SETS = ("MUTAG", "NCI1", "IMDB-BINARY", "PROTEINS")
EPSILON = 1e-3  # of batch normalization
N_EPOCHS = 5  # of a turn
N_CHECKED = 40  # graphs that outputs and gradients are compared on


class Head(nn.Module):
    def __init__(self, n_inputs: int, n_hidden: int, n_outputs: int, dropout: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(n_inputs, n_hidden)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(n_hidden, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.dropout(torch.relu(self.hidden(x))))


class PlainGCN(nn.Module):
    def __init__(self, n_features: int, n_outputs: int, sizes: dict[str, int]) -> None:
        from torch_geometric.nn import GCNConv

        super().__init__()
        widths = [n_features, 64, 64, 64]
        self.layers = nn.ModuleList(GCNConv(*width) for width in pairwise(widths))
        self.output = Head(64, 64, n_outputs, 0.0)

    def forward(self, data: Any) -> Tensor:
        from torch_geometric.nn import global_mean_pool

        x = data.x
        for layer in self.layers:
            x = torch.relu(layer(x, data.edge_index))
        return self.output(global_mean_pool(x, data.batch, data.num_graphs))


class PlainGIN(nn.Module):
    def __init__(self, n_features: int, n_outputs: int, sizes: dict[str, int]) -> None:
        from torch_geometric.nn import GINConv

        super().__init__()
        self.layers = nn.ModuleList()
        for n_inputs in (n_features, 32, 32, 32):
            perceptron = nn.Sequential(
                nn.Linear(n_inputs, 32),
                nn.BatchNorm1d(32, EPSILON),
                nn.ReLU(),
                nn.Linear(32, 32),
                nn.BatchNorm1d(32, EPSILON),
            )
            self.layers.append(GINConv(perceptron))
        self.dropout = nn.Dropout(0.5)
        self.output = nn.Linear(n_features + 4 * 32, n_outputs)

    def forward(self, data: Any) -> Tensor:
        from torch_geometric.nn import global_add_pool

        outputs = [data.x]
        for layer in self.layers:
            outputs.append(torch.relu(layer(outputs[-1], data.edge_index)))
        pooled = [global_add_pool(x, data.batch, data.num_graphs) for x in outputs]
        return self.output(self.dropout(torch.cat(pooled, 1)))


class PlainGraphSAGE(nn.Module):
    def __init__(self, n_features: int, n_outputs: int, sizes: dict[str, int]) -> None:
        from torch_geometric.nn import SAGEConv

        super().__init__()
        widths = [n_features, 64, 64, 64]
        self.layers = nn.ModuleList(SAGEConv(*width) for width in pairwise(widths))
        self.output = Head(3 * 64, 64, n_outputs, 0.0)

    def forward(self, data: Any) -> Tensor:
        from torch_geometric.nn import global_max_pool

        outputs = [data.x]
        for layer in self.layers:
            outputs.append(torch.relu(layer(outputs[-1], data.edge_index)))
        x = torch.cat(outputs[1:], 1)
        return self.output(global_max_pool(x, data.batch, data.num_graphs))


class PlainGAT(nn.Module):
    def __init__(self, n_features: int, n_outputs: int, sizes: dict[str, int]) -> None:
        from torch_geometric.nn import GATConv

        super().__init__()
        self.layers = nn.ModuleList(GATConv(n, 16, heads=4) for n in (n_features, 64, 64))
        self.output = Head(64, 64, n_outputs, 0.0)

    def forward(self, data: Any) -> Tensor:
        from torch_geometric.nn import global_mean_pool

        x = data.x
        for layer in self.layers:
            x = F.elu(layer(x, data.edge_index))
        return self.output(global_mean_pool(x, data.batch, data.num_graphs))


class PlainDGCNN(nn.Module):
    def __init__(self, n_features: int, n_outputs: int, sizes: dict[str, int]) -> None:
        from torch_geometric.nn import SimpleConv, SortAggregation

        super().__init__()
        widths = [n_features, 32, 32, 32, 1]
        n_sorted = sizes["n_sorted"]
        self.average = SimpleConv("mean", combine_root="self_loop")
        self.layers = nn.ModuleList(nn.Linear(*width) for width in pairwise(widths))
        self.sort = SortAggregation(n_sorted)
        self.row = nn.Linear(97, 16)
        self.window = nn.Conv1d(16, 32, 5)
        self.output = Head(32 * (n_sorted // 2 - 4), 128, n_outputs, 0.5)

    def forward(self, data: Any) -> Tensor:
        outputs = [data.x]
        for layer in self.layers:
            outputs.append(torch.tanh(self.average(layer(outputs[-1]), data.edge_index)))
        rows = self.sort(torch.cat(outputs[1:], 1), data.batch, dim_size=data.num_graphs)
        x = torch.relu(self.row(rows.view(data.num_graphs, -1, 97))).transpose(1, 2)
        x = torch.relu(self.window(F.max_pool1d(x, 2)))
        return self.output(x.flatten(1))


class PlainStack(nn.Module):
    """Layers of GraphSAGE over nodes, or over clusters, of which no row is padding."""

    def __init__(self, convolution: Any, widths: list[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(convolution(*width) for width in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width, EPSILON) for width in widths[1:-1])

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        outputs = []
        for layer, norm in zip(self.layers, self.norms, strict=False):
            x = torch.relu(layer(x, edges))
            x = norm(x.flatten(0, -2)).view_as(x)
            outputs.append(x)
        return torch.cat([*outputs, self.layers[-1](x, edges)], -1)


class PlainAssigner(nn.Module):
    def __init__(self, widths: list[int]) -> None:
        from torch_geometric.nn import SAGEConv

        super().__init__()
        self.stack = PlainStack(SAGEConv, widths)
        self.output = nn.Linear(sum(widths[1:]), widths[-1])

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        return F.softmax(self.output(self.stack(x, edges)), -1)


class PlainDiffPool(nn.Module):
    def __init__(self, n_features: int, n_outputs: int, sizes: dict[str, int]) -> None:
        from torch_geometric.nn import DenseSAGEConv, SAGEConv

        super().__init__()
        self.describers = nn.ModuleList(
            [
                PlainStack(SAGEConv, [n_features, 64, 64, 128]),
                PlainStack(DenseSAGEConv, [256, 64, 64, 128]),
            ]
        )
        self.assigners = nn.ModuleList([PlainAssigner([n_features, 64, 64, sizes["n_clusters"]])])
        self.output = Head(512, 50, n_outputs, 0.0)

    def forward(self, data: Any) -> tuple[Tensor, Tensor]:
        from torch_geometric.nn import global_max_pool
        from torch_geometric.utils import to_dense_adj, to_dense_batch

        z = self.describers[0](data.x, data.edge_index)
        shares = self.assigners[0](data.x, data.edge_index)
        (nodes, mask), (s, _) = to_dense_batch(z, data.batch), to_dense_batch(shares, data.batch)
        a = to_dense_adj(data.edge_index, data.batch).to(z.dtype)  # (n_graphs, n_padded, n_padded)
        n_nodes = mask.sum(1)
        distance = (a - s @ s.mT).square().sum((1, 2)).sqrt() / n_nodes**2
        entropy = -(s * (s + 1e-15).log()).sum((1, 2)) / n_nodes
        clusters = self.describers[1](s.mT @ nodes, s.mT @ a @ s)
        pooled = [global_max_pool(z, data.batch, data.num_graphs), clusters.amax(1)]
        return self.output(torch.cat(pooled, 1)), (distance + entropy).mean()


class PlainECC(nn.Module):
    def __init__(self, n_features: int, n_outputs: int, sizes: dict[str, int]) -> None:
        from torch_geometric.nn import NNConv

        super().__init__()
        widths, n_kinds = [n_features, 32, 32, 32], sizes["n_edge_features"]
        self.layers, self.norms = nn.ModuleList(), nn.ModuleList()
        for n_inputs, n_hidden in pairwise(widths):
            filters = nn.Linear(16, n_inputs * n_hidden)
            perceptron = nn.Sequential(nn.Linear(n_kinds, 16), nn.ReLU(), filters)
            self.layers.append(NNConv(n_inputs, n_hidden, perceptron, aggr="mean"))
            self.norms.append(nn.BatchNorm1d(n_hidden, EPSILON))
        self.dropout = nn.Dropout(0.05)
        self.output = Head(32, 32, n_outputs, 0.05)

    def forward(self, data: Any) -> Tensor:
        from torch_geometric.nn import global_mean_pool

        x = data.x
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = torch.relu(norm(layer(x, data.edge_index, data.edge_attr)))
            x = self.dropout(x)
        return self.output(global_mean_pool(x, data.batch, data.num_graphs))


def names_of_ecc(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of our ECC by the names, and in the forms, of those of NNConv."""
    plain = {}
    for name, tensor in tensors.items():
        if not name.startswith("layers"):
            plain[name] = tensor
            continue
        _, number, part, *kind = name.split(".")
        layer = f"layers.{number}"
        if part == "filters":
            plain[f"{layer}.nn.2.weight"] = tensor[:-1].flatten(1).T
            plain[f"{layer}.nn.2.bias"] = tensor[-1].flatten()
        elif part == "norm":
            plain[f"norms.{number}.{kind[0]}"] = tensor
        elif part == "mixture":
            plain[f"{layer}.nn.0.{kind[0]}"] = tensor
        else:
            plain[{"weight": f"{layer}.lin.weight", "bias": f"{layer}.bias"}[kind[0]]] = tensor
    return plain


PLAIN: dict[str, Any] = {
    "GCN": PlainGCN,
    "GIN": PlainGIN,
    "GraphSAGE": PlainGraphSAGE,
    "GAT": PlainGAT,
    "DGCNN": PlainDGCNN,
    "DiffPool": PlainDiffPool,
    "ECC": PlainECC,
}


def read(name: str) -> tuple[Any, np.ndarray, list[Any], int, dict[str, int]]:
    """The graphs for both, and the numbers that sizes of networks depend on."""
    graphs, y = read_tu(name, edge_labels=True)
    data, n_features, n_outputs = pyg_data(graphs, y)
    bonds = [[b for *_, b in nx.to_edgelist(graph.to_directed())] for graph in graphs]
    labels = sorted({bond.get("label") for of_graph in bonds for bond in of_graph}, key=str)
    for one, of_graph in zip(data, bonds, strict=True):
        kinds = torch.tensor([labels.index(bond.get("label")) for bond in of_graph]).long()
        one.edge_attr = F.one_hot(kinds, len(labels)).float()
    sizes = {"n_features": n_features, "n_edge_features": len(labels)}
    return with_bonds(graphs), y, data, n_outputs, sizes


def outputs_and_penalty(found: Any) -> tuple[Tensor, Any]:
    return found if isinstance(found, tuple) else (found, 0.0)


def check_equal(method: str, data: list[Any], n_outputs: int, sizes: dict[str, int]) -> None:
    """Check that a plain network with our weights has our outputs and gradients."""
    from torch_geometric.data import Batch

    argument = {"DGCNN": "n_sorted", "DiffPool": "n_clusters", "ECC": "n_edge_features"}.get(method)
    more = {} if argument is None else {argument: sizes[argument]}
    torch.manual_seed(0)
    network = getattr(ours, method)(sizes["n_features"], n_outputs, dropout=0.0, **more).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.3)
    rename = names_of_ecc if method == "ECC" else dict
    plain = PLAIN[method](sizes["n_features"], n_outputs, sizes).double()
    plain.load_state_dict(rename(network.state_dict()))
    for module in plain.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    batch = Batch.from_data_list([one.clone() for one in data[:N_CHECKED]])
    batch.x, batch.edge_attr = batch.x.double(), batch.edge_attr.double()
    edge_features, edge_kinds = torch.eye(batch.edge_attr.shape[1]).double(), batch.edge_attr
    graphs = FlatGraphs(
        batch.x,
        batch.edge_index,
        batch.batch,
        batch.num_graphs,
        edge_features,
        edge_kinds.argmax(1),
    )
    gradients = []
    for module, inputs in ((network, graphs), (plain, batch)):
        outputs, penalty = outputs_and_penalty(module(inputs))
        loss = F.cross_entropy(outputs, batch.y) + penalty
        parameters = dict(module.named_parameters())
        found = torch.autograd.grad(loss, [*parameters.values()], materialize_grads=True)
        gradients.append({"": outputs} | dict(zip(parameters, found, strict=True)))
    gradients[0] = rename(gradients[0])
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[1].items():
        torch.testing.assert_close(gradients[0][name], gradient, msg=lambda m: f"{method}: {m}")


def plain_trainer(method: str, data: list[Any], n_outputs: int, sizes: dict[str, int], lr: float):
    from torch_geometric.loader import DataLoader

    network = PLAIN[method](sizes["n_features"], n_outputs, sizes)
    optimizer = torch.optim.AdamW(network.parameters(), lr=lr, weight_decay=0.0, fused=True)
    loader = DataLoader(data, batch_size=32, shuffle=True)

    def train() -> None:
        for _ in range(N_EPOCHS):
            for batch in loader:
                optimizer.zero_grad()
                outputs, penalty = outputs_and_penalty(network(batch))
                (F.cross_entropy(outputs, batch.y) + penalty).backward()
                optimizer.step()

    return train


def time_epochs(name: str, methods: list[str], n_turns: int) -> None:
    X, y, data, n_outputs, sizes = read(name)
    for method in methods:
        estimator = getattr(baselines, f"{method}Classifier")(
            **{"n_members": 1, "counts": False, "early_stopping": False},
            **{"max_epochs": N_EPOCHS, "warm_start": True, "random_state": 0},
        ).fit(X, y)
        if method == "DGCNN":
            sizes["n_sorted"] = estimator.module_.n_sorted
        if method == "DiffPool":
            sizes["n_clusters"] = estimator.module_.assigners[0].output.out_features
        check_equal(method, data, n_outputs, sizes)
        runners = {
            "sklofi": lambda estimator=estimator: estimator.fit(X, y),
            "plain": plain_trainer(method, data, n_outputs, sizes, estimator.lr),
        }
        runners["plain"]()  # warms up, as fit has
        seconds: dict[str, list[float]] = {runner: [] for runner in runners}
        for _ in range(n_turns):
            for runner, run in runners.items():
                start = time.process_time()
                run()
                seconds[runner].append((time.process_time() - start) / N_EPOCHS)
        ratios = np.divide(seconds["sklofi"], seconds["plain"])
        row: dict[str, Any] = {"set": name, "method": method, "n_turns": n_turns}
        row |= {runner: rounded(np.median(taken)) for runner, taken in seconds.items()}
        row["ratio"] = rounded(np.median(ratios))
        with RESULTS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


def print_tables() -> None:
    """Print the CPU seconds of an epoch, ours and plain, and their ratio."""
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    last = {(row["set"], row["method"]): row for row in rows}
    names = list(dict.fromkeys(name for name, _ in last))
    print("| | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for method in PLAIN:
        cells = []
        for name in names:
            row = last.get((name, method))
            cells.append(
                f"{row['sklofi']:.3g} / {row['plain']:.3g} = **{row['ratio']:.2f}**" if row else ""
            )
        print(f"| {method} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", default=list(PLAIN))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--tables", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.tables:
        return print_tables()
    for name in arguments.sets:
        time_epochs(name, arguments.methods, arguments.turns)


if __name__ == "__main__":
    main()
