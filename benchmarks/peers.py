"""What sklofi is measured against: GNN-LoFI with padded egonets, and two networks of PyG."""

import networkx as nx
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class PaddedLoFI(nn.Module):
    """GNN-LoFI written straight from its formula, as published code does it.

    Every egonet is padded to the size of the largest, its members' features are gathered,
    and each member is compared with every word of every mask, in every egonet anew.
    """

    def __init__(self, n_features, n_outputs, *, n_layers, n_masks, n_words):
        super().__init__()
        widths = [n_features] + [n_masks] * (n_layers - 1)
        self.dictionaries = nn.ParameterList(torch.randn(n_masks, n_words, w) for w in widths)
        self.histograms = nn.ParameterList(torch.rand(n_masks, n_words) for _ in widths)
        self.temperatures = nn.ParameterList(torch.full((n_masks, 1), 5.0) for _ in widths)
        n_embedding = n_layers * n_masks
        self.hidden = nn.Linear(n_embedding, n_embedding)
        self.output = nn.Linear(n_embedding, n_outputs)

    def forward(self, x, members, is_member, graph, n_graphs):
        pooled = []
        parameters = zip(self.dictionaries, self.histograms, self.temperatures, strict=True)
        for words, histogram, temperature in parameters:
            egonets = x[members]  # (n_nodes, n_padded, n_features)
            # (n_nodes, n_padded, n_masks, n_words)
            cosine = F.cosine_similarity(egonets[:, :, None, None], words, dim=-1)
            assignment = torch.softmax(temperature * cosine, dim=-1)
            h = (assignment * is_member[:, :, None, None]).sum(1)
            x = 1 - (h - histogram).abs().sum(-1) / 2
            pooled.append(x.new_zeros(n_graphs, x.shape[1]).index_add(0, graph, x))
        return self.output(torch.relu(self.hidden(torch.cat(pooled, dim=1))))

    def bytes_per_layer(self, members, n_features):
        """What one intermediate array of the cosine similarity takes."""
        n_masks, n_words, _ = self.dictionaries[0].shape
        return 4 * members.numel() * n_masks * n_words * n_features


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
