"""What sklofi is measured against: GNN-LoFI with padded egonets, and two networks of PyG."""

import networkx as nx
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class PaddedLoFI(nn.Module):
    """GNN-LoFI written straight from its formula, with padded egonets as published.

    Every egonet is padded to the size of the largest, its members' features are gathered,
    and each member is compared with every word of every mask, in every egonet anew: with
    ``torch.nn.functional.cosine_similarity``, or (`by_products`) with unit vectors and one
    matrix product, which is the best that can be made of padding.
    """

    def __init__(self, n_features, n_outputs, *, n_layers, n_masks, n_words, by_products=False):
        super().__init__()
        self.by_products = by_products
        widths = [n_features] + [n_masks] * (n_layers - 1)
        self.dictionaries = nn.ParameterList(torch.randn(n_masks, n_words, w) for w in widths)
        self.histograms = nn.ParameterList(torch.rand(n_masks, n_words) for _ in widths)
        self.temperatures = nn.ParameterList(torch.full((n_masks, 1), 5.0) for _ in widths)
        n_embedding = n_layers * n_masks
        self.hidden = nn.Linear(n_embedding, n_embedding)
        self.output = nn.Linear(n_embedding, n_outputs)

    def forward(self, *inputs):
        return self.output(torch.relu(self.hidden(self.embed(*inputs))))

    def embed(self, x, members, is_member, graph, n_graphs):
        pooled = []
        parameters = zip(self.dictionaries, self.histograms, self.temperatures, strict=True)
        for words, histogram, temperature in parameters:
            egonets = x[members]  # (n_nodes, n_padded, n_features)
            # (n_nodes, n_padded, n_masks, n_words)
            if self.by_products:
                unit_words = F.normalize(words, dim=-1).flatten(0, 1)
                cosine = (F.normalize(egonets, dim=-1) @ unit_words.T).unflatten(
                    -1, words.shape[:2]
                )
            else:
                cosine = F.cosine_similarity(egonets[:, :, None, None], words, dim=-1)
            assignment = torch.softmax(temperature * cosine, dim=-1)
            h = (assignment * is_member[:, :, None, None]).sum(1)
            x = 1 - (h - histogram).abs().sum(-1) / 2
            pooled.append(x.new_zeros(n_graphs, x.shape[1]).index_add(0, graph, x))
        return torch.cat(pooled, dim=1)

    def memory(self, members):
        """About how many bytes a training step takes: cosine_similarity keeps some arrays
        of (members, words, features)."""
        width = 1 if self.by_products else self.dictionaries[-1].shape[-1]
        n_words = sum(words.shape[0] * words.shape[1] for words in self.dictionaries)
        return 4 * 4 * members.numel() * n_words * width


class PaddedBatches:
    """Batches of padded egonets, from networkx graphs."""

    def __init__(self, graphs, y):
        labels = sorted({label for g in graphs for _, label in g.nodes(data="label")}, key=str)
        column = {label: i for i, label in enumerate(labels)}
        classes = np.unique(y)
        self.n_features, self.n_outputs = len(labels), len(classes)
        self.y = torch.from_numpy(np.searchsorted(classes, y))
        self.x, self.egonets = [], []
        for graph in graphs:
            columns = torch.tensor([column[label] for _, label in graph.nodes(data="label")])
            self.x.append(F.one_hot(columns, len(labels)).float())
            self.egonets.append([torch.tensor([v, *graph[v]]) for v in graph])

    def batch(self, rows):
        sizes = torch.tensor([len(self.x[i]) for i in rows])
        first = (sizes.cumsum(0) - sizes).tolist()
        egonets = [e + f for i, f in zip(rows, first, strict=True) for e in self.egonets[i]]
        members = nn.utils.rnn.pad_sequence(egonets, batch_first=True, padding_value=-1)
        is_member = members >= 0
        graph = torch.arange(len(rows)).repeat_interleave(sizes)
        x = torch.cat([self.x[i] for i in rows])
        return (x, members.clamp(min=0), is_member, graph, len(rows)), self.y[rows]


class PyGNetwork(nn.Module):
    """Message passing by PyTorch Geometric, sum pooling, and the head of LoFINetwork."""

    def __init__(self, kind, n_features, n_outputs, *, n_layers, n_hidden):
        from torch_geometric import nn as pyg

        super().__init__()
        self.convolutions = getattr(pyg, kind)(n_features, n_hidden, n_layers)
        self.pool = pyg.global_add_pool
        self.hidden = nn.Linear(n_hidden, n_hidden)
        self.output = nn.Linear(n_hidden, n_outputs)

    def forward(self, data):
        x = self.convolutions(data.x, data.edge_index)
        x = self.pool(x, data.batch, size=data.num_graphs)
        return self.output(torch.relu(self.hidden(x)))

    @classmethod
    def of_size(cls, kind, n_features, n_outputs, *, n_layers, n_parameters):
        """The network with the number of parameters that is closest to a given one."""

        def make(n_hidden):
            return cls(kind, n_features, n_outputs, n_layers=n_layers, n_hidden=n_hidden)

        sizes = range(8, 400, 4)
        return make(min(sizes, key=lambda n: abs(count_parameters(make(n)) - n_parameters)))


def pyg_data(graphs, y):
    """networkx graphs as PyG wants them: one-hot labels, edges in both directions."""
    from torch_geometric.data import Data

    batches = PaddedBatches(graphs, y)
    data = []
    for graph, x, target in zip(graphs, batches.x, batches.y, strict=True):
        edges = nx.to_edgelist(graph.to_directed())
        edge_index = torch.tensor([(u, v) for u, v, _ in edges]).reshape(-1, 2).T.contiguous()
        data.append(Data(x=x, edge_index=edge_index, y=target))
    return data, batches.n_features, batches.n_outputs


def count_parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())
