"""The formulas of GNN-LoFI, one egonet at a time: a second path to the numbers of the core."""

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch

from sklofi import GraphSet
from sklofi.egonets import egonet_incidence
from sklofi.nn import CountMatrix


def random_graphs():
    graphs = [nx.gnp_random_graph(n, 0.4, seed=n) for n in (5, 1, 7, 3)]
    return [*graphs, nx.gnp_random_graph(6, 0.3, seed=1, directed=True)]


def as_matrices(graphs, radius):
    """Egonets in terms of nodes, and graphs in terms of nodes."""
    graph_set = GraphSet.from_networkx(graphs)
    n_nodes = graph_set.n_nodes
    membership = sp.csr_array(
        (np.ones(n_nodes), np.arange(n_nodes), graph_set.node_offsets),
        shape=(len(graphs), n_nodes),
    )
    egonets = egonet_incidence(graph_set, radius)
    return CountMatrix.from_scipy(egonets), CountMatrix.from_scipy(membership)


def unit(vector):
    return vector / max(vector.norm(), 1e-12)


def loop_layer(layer, x, egonet_members):
    """z[v, j] = K(h, f), node by node, mask by mask, word by word.

    A member is a node, or a node, the vector of its relation, and its weight.
    """
    n_masks, n_words, _ = layer.dictionary.shape
    rows = []
    for members in egonet_members:
        row = []
        for j in range(n_masks):
            h = torch.zeros(n_words, dtype=x.dtype)
            for member in members:
                u, relation, weight = member if isinstance(member, tuple) else (member, None, 1)
                logits = [
                    layer.temperature[j] * torch.dot(unit(x[u]), unit(layer.dictionary[j, i]))
                    for i in range(n_words)
                ]
                if relation is not None and len(relation):
                    logits = [
                        logit + torch.dot(layer.offset[j, i], relation.to(x.dtype))
                        for i, logit in enumerate(logits)
                    ]
                h = h + weight * torch.softmax(torch.stack(logits), dim=0)
            f = layer.histogram[j]
            if layer.kernel == "intersection":
                row.append(sum(min(h[i], f[i]) for i in range(n_words)))
            else:
                row.append(1 - sum(abs(h[i] - f[i]) for i in range(n_words)) / 2)
        rows.append(torch.stack(row))
    return torch.stack(rows)


def loop_network(network, graphs, x, radius, members_of=None):
    """The outputs of graphs; `members_of(graph, node)` are members as `loop_layer` takes them."""
    if members_of is None:

        def members_of(graph, node):
            return [list(graph).index(u) for u in nx.ego_graph(graph, node, radius)]

    pool = {
        "sum": lambda z: z.sum(dim=0),
        "mean": lambda z: z.mean(dim=0),
        "max": lambda z: z.amax(dim=0),
    }[network.pooling]
    outputs, first = [], 0
    for graph in graphs:
        nodes = list(graph)
        z = x[first : first + len(nodes)]
        first += len(nodes)
        members = [members_of(graph, v) for v in nodes]
        pooled = []
        for depth, layer in enumerate(network.layers):
            if depth:
                z = (z - network.node_mean[depth - 1]) / network.node_scale[depth - 1]
            z = loop_layer(layer, z, members)
            pooled.append(pool(z))
        g = torch.cat(pooled) if network.readout == "all" else pooled[-1]
        g = (g - network.embedding_mean) / network.embedding_scale
        outputs.append(network.output(torch.relu(network.hidden(g))))
    return torch.stack(outputs)


def gradients(module, output):
    """Gradients of a fixed random function of the output."""
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(5)).double()
    return torch.autograd.grad((weights * output).sum(), list(module.parameters()))
