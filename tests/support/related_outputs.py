"""Outputs of a fitted LoFI estimator with relations, by loops over networkx graphs.

Nodes and edges may be there to a degree. Everything is in 64 bits, and has gradients.
"""

import copy

import networkx as nx
import numpy as np
import torch
from related_members import edges_between, smallest_ring

ATTRIBUTES = {"edge_label": "bond", "edge_weight": "weight", "edge_features": "length"}


def bonded_graphs(n_graphs=24, seed=0):
    """Small graphs with rings, labels of nodes, and labels, weights and features of edges."""
    rng = np.random.RandomState(seed)
    graphs = []
    for _ in range(n_graphs):
        graph = nx.cycle_graph(int(rng.randint(3, 8)))
        for node in range(len(graph), len(graph) + 4):
            graph.add_edge(node, int(rng.randint(node)))
        nx.set_node_attributes(graph, {v: "CNO"[rng.randint(3)] for v in graph}, "label")
        for _, _, data in graph.edges(data=True):
            data["bond"] = ("single", "double")[rng.randint(2)]
            data["weight"] = (0.0, 0.5, 1.0, 2.0)[rng.randint(4)]
            data["length"] = [float(rng.randint(3)), rng.randn()]
        graphs.append(graph)
    return graphs, np.arange(n_graphs) % 2


def numbered_edges(graph, edge_label):
    """Edges as (u, v, data); parallel ones with the same label are one, their weights added."""
    found = {}
    for u, v, data in graph.edges(data=True):
        ends = (u, v) if graph.is_directed() else tuple(sorted((u, v)))
        key = *ends, data.get(edge_label)
        if key in found:
            found[key][2]["weight"] += data.get("weight", 1)
        else:
            found[key] = u, v, {"weight": 1, **data}
    return list(found.values())


def related_members(estimator, graph):
    """All members of all egonets of radius 1: (center, node, relation, weight, edge or None)."""
    encoder, nodes = estimator._relation_encoder, list(graph)
    labels = list(encoder.edge_labels)
    kinds = [tuple(kind) for kind in encoder.kinds.tolist()]
    n_features = len(encoder.feature_mean)

    def vector(kind, features=None):
        standardized = np.zeros(n_features)
        if features is not None and n_features:
            standardized = (np.array(features) - encoder.feature_mean) / encoder.feature_scale
        return torch.tensor([*(kind == known for known in kinds), *standardized]).double()

    members = [(v, v, vector((0 if encoder.distances else -1, -1, 0)), 1, None)
               for v in range(len(nodes))]  # fmt: skip
    for number, (u, v, data) in enumerate(numbered_edges(graph, estimator.edge_label)):
        assert edges_between(graph, u, v)
        label = labels.index(data[estimator.edge_label]) if labels else -1
        ring = smallest_ring(graph, u, v, encoder.max_ring) if encoder.max_ring else 0
        relation = vector((1 if encoder.distances else -1, label, ring), data.get("length"))
        weight = data["weight"] if encoder.weighted else 1
        directions = {(u, v)} if graph.is_directed() else {(u, v), (v, u)}
        for center, node in directions:
            if center == node and not encoder.n_columns:
                continue  # a loop is the center once more
            members.append((nodes.index(center), nodes.index(node), relation, weight, number))
    return members


def node_vectors(estimator, graph):
    """One-hot labels, and one-hot degrees where these are structural labels."""
    rows = []
    for v in graph:
        row = [graph.nodes[v]["label"] == label for label in estimator.node_labels_]
        encoder = estimator._encoder
        for name, values in zip(encoder.structure, encoder.structure_values, strict=True):
            assert name == "degree"
            row += [graph.degree[v] == value for value in values]
        rows.append(row)
    return torch.tensor(rows).double()


def related_outputs(estimator, graph, of_nodes=None, of_edges=None, without=None):
    """Outputs for several presences of nodes and edges, each of shape (n_presences, n_parts).

    `without` is a layer and a mask whose outputs are zero.
    """
    module = copy.deepcopy(estimator.module_).double()
    members = related_members(estimator, graph)
    given = of_nodes if of_nodes is not None else of_edges
    n_presences = 1 if given is None else len(given)
    if of_nodes is None:
        of_nodes = torch.ones(n_presences, len(graph)).double()
    centers, nodes = (torch.tensor([member[i] for member in members]) for i in (0, 1))
    relations = torch.stack([member[2] for member in members])
    counts = []
    for _, node, _, weight, edge in members:
        count = weight * of_nodes[:, node]
        counts.append(count if edge is None or of_edges is None else count * of_edges[:, edge])
    counts = torch.stack(counts, dim=1)  # (n_presences, n_members)
    x = node_vectors(estimator, graph).expand(n_presences, -1, -1)
    pooled = []
    for depth, layer in enumerate(module.layers):
        words = layer.dictionary / layer.dictionary.norm(dim=-1, keepdim=True)
        unit = x / x.norm(dim=-1, keepdim=True).clamp_min(1e-12)
        logits = layer.temperature[:, None] * torch.einsum("tuf,mwf->tumw", unit, words)[:, nodes]
        if layer.offset is not None:
            logits = logits + torch.einsum("ir,mwr->imw", relations, layer.offset)
        s = counts[:, :, None, None] * logits.softmax(dim=-1)
        h = torch.zeros(n_presences, len(graph), *s.shape[2:]).double().index_add(1, centers, s)
        difference = (h - layer.histogram).abs().sum(dim=-1)
        z = 1 - difference / 2
        if module.kernel == "intersection":
            z = (h.sum(dim=-1) + layer.histogram.sum(dim=-1) - difference) / 2
        if without is not None and without[0] == depth:
            z = z * (torch.arange(z.shape[-1]) != without[1])
        if module.pooling == "max":
            # Nodes that share the maximum, but for rounding, share its gradient.
            is_largest = z >= z.amax(dim=1, keepdim=True) - 1e-9
            pooled.append((z * is_largest).sum(dim=1) / is_largest.sum(dim=1))
        else:
            pooled.append(torch.einsum("tv,tvm->tm", of_nodes, z))
            if module.pooling == "mean":
                pooled[-1] = pooled[-1] / of_nodes.sum(dim=1, keepdim=True)
        if depth + 1 < len(module.layers):
            x = (z - module.node_mean[depth]) / module.node_scale[depth]
    return module.head(torch.cat(pooled, dim=1) if module.readout == "all" else pooled[-1])


def log_odds(estimator, graph, **presences):
    outputs = related_outputs(estimator, graph, **presences)
    return outputs[:, 1] - outputs[:, 0]


def integral(estimator, graph, part="of_nodes", n_steps=2048):
    """Integrated gradients from the middles of equal steps, by the presence of nodes or edges."""
    n_nodes, n_edges = len(graph), len(numbered_edges(graph, estimator.edge_label))
    n_parts = n_nodes if part == "of_nodes" else n_edges
    t = (torch.arange(n_steps).double() + 0.5) / n_steps
    presence = t[:, None].expand(-1, n_parts).clone().requires_grad_()
    outputs = log_odds(estimator, graph, **{part: presence})
    # A graph may have loops only, which nothing depends on.
    return (
        torch.autograd.grad((outputs + 0 * presence.sum()).sum(), presence)[0].mean(dim=0).numpy()
    )
