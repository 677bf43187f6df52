"""Batches of nodes and edges, as networks by message passing take them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklofi._memory import is_too_large, memory_size
from sklofi.egonets._incidence import egonet_sizes
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import take_segments
from sklofi.nn._flat import FlatGraphs, FlatNetwork
from sklofi.training._dataset import GraphDataset, Rows
from sklofi.training._encoding import EdgeEncoder, NodeEncoder

# What is taken for each number that a network keeps, with its gradient and what becomes of it.
TRAINING_BYTES = 12


PREDICTION_BYTES = 8


# And for each number that a node enters with, where some networks sum over neighbors first.
INPUT_BYTES = 12


@dataclass(frozen=True, eq=False)
class EdgeBatch:
    """Some graphs as a :class:`FlatNetwork` takes them."""

    graphs: FlatGraphs
    weight: Tensor  # (n_graphs,)

    @property
    def inputs(self) -> tuple[FlatGraphs]:
        return (self.graphs,)

    def __len__(self) -> int:
        return len(self.weight)

    def to(self, device: str | torch.device) -> EdgeBatch:
        if self.weight.device == torch.device(device):
            return self
        return EdgeBatch(self.graphs.to(device), self.weight.to(device))


class EdgeDataset(GraphDataset):
    """Encoded graphs from whose flat arrays batches are cut.

    Messages go to a node from its neighbors; in a directed graph from its successors, so
    that a node sees what LoFI sees in its egonet.
    """

    def __init__(
        self,
        graphs: GraphSet,
        encoder: NodeEncoder,
        *,
        edge_encoder: EdgeEncoder | None = None,
        **more: Any,
    ) -> None:
        super().__init__(graphs, encoder, **more)
        if edge_encoder is not None:
            edge_encoder.check(graphs, more["handle_unknown"], more["owner"])
            self._edge_features = edge_encoder.features()
            self._edge_kinds = edge_encoder.kinds(graphs)
        self.edge_encoder = edge_encoder
        self._label_columns = encoder.label_columns(graphs)

    def batches(
        self, rows: Rows, *, merge: bool = True, gradients: bool = True
    ) -> Iterator[tuple[EdgeBatch, Tensor]]:
        return ((self._batch(some), self.y[some]) for some in rows)

    def _batch(self, rows: NDArray[np.int64]) -> EdgeBatch:
        graphs = self.graphs
        nodes, node_offsets = take_segments(graphs.node_offsets, rows)
        edges, edge_offsets = take_segments(graphs.edge_offsets, nodes)
        graph = np.repeat(np.arange(len(rows)), np.diff(node_offsets))
        receivers = np.repeat(np.arange(len(nodes)), np.diff(edge_offsets))
        senders = graphs.neighbors[edges] + node_offsets[graph[receivers]]
        x = self.encoder.encode(graphs, nodes, self._label_columns)
        edge_features = edge_kinds = None
        if self.edge_encoder is not None:
            edge_features = torch.from_numpy(self._edge_features)
            edge_kinds = torch.from_numpy(self._edge_kinds[edges])
        weight = self.weight[rows]
        flat = FlatGraphs(
            torch.from_numpy(x),
            torch.from_numpy(np.stack([senders, receivers])),
            torch.from_numpy(graph),
            len(rows),
            edge_features,
            edge_kinds,
            weight if self.is_weighted else None,
        )
        return EdgeBatch(flat, weight)

    def check_size(self, rows: Rows, network: FlatNetwork, *, merge: bool, gradients: bool) -> None:
        offsets = self.graphs.node_offsets
        n_nodes, n_edges = np.diff(offsets), np.diff(self.graphs.edge_offsets[offsets])
        n_members = n_nodes
        if network.numbers_per_member:
            sizes = egonet_sizes(self.graphs, network.radius)  # or a refusal
            n_members = np.add.reduceat(sizes.astype(np.int64), offsets[:-1])
        for some in rows:
            n_numbers = (
                int(n_nodes[some].sum()) * network.numbers_per_node
                + int(n_edges[some].sum()) * network.numbers_per_edge
                + int(n_members[some].sum()) * network.numbers_per_member
                + len(some) * network.numbers_per_graph
            )
            n_bytes = n_numbers * (TRAINING_BYTES if gradients else PREDICTION_BYTES)
            n_bytes += INPUT_BYTES * int(n_nodes[some].sum()) * self.encoder.n_columns
            if is_too_large(n_bytes):
                raise MemoryError(
                    f"A batch of {len(some)} graphs with {n_nodes[some].sum():,} nodes and"
                    f" {n_edges[some].sum():,} edges takes {n_bytes / 2**30:.1f} GiB to compute;"
                    f" this machine has {memory_size() / 2**30:.1f} GiB of memory. Use a smaller"
                    " network or batch_size, fewer distinct node labels, or leave out the largest"
                    " graphs."
                )
