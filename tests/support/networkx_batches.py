"""Graphs of networkx as flat batches, and a comparison of gradients."""

import numpy as np
import torch
from torch.testing import assert_close

from sklofi.nn import FlatGraphs


def flatten(graphs, n_features=3, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    n_nodes = [len(graph) for graph in graphs]
    starts = np.cumsum([0, *n_nodes])
    edges = [
        (start + v, start + w)
        for start, graph in zip(starts, graphs, strict=False)
        for v, w in graph.to_directed().edges
    ]
    return FlatGraphs(
        torch.rand(sum(n_nodes), n_features, generator=generator, dtype=dtype),
        torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T,
        torch.arange(len(graphs)).repeat_interleave(torch.tensor(n_nodes)),
        len(graphs),
    )


def assert_same_with_gradients(ours, theirs, leaves):
    """The same values, and the same gradients of a sum with some weights."""
    assert_close(ours, theirs)
    weights = torch.linspace(-1, 1, ours.numel(), dtype=ours.dtype).reshape(ours.shape)
    gradients = [torch.autograd.grad((y * weights).sum(), leaves) for y in (ours, theirs)]
    assert all((gradient != 0).any() for gradient in gradients[0])
    assert_close(*gradients)
