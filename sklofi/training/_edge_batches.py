"""Batches of nodes and edges, in the form that networks by message passing take."""

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
from sklofi.graphs._segments import offsets_of, take_segments
from sklofi.graphs._symmetry import is_symmetric
from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._flat import FlatGraphs, FlatNetwork
from sklofi.training._dataset import Batch, GraphDataset, Rows
from sklofi.training._encoding import EdgeEncoder, NodeEncoder

# Bytes for each number that a network keeps: in training it has a gradient, and becomes others.
TRAINING_BYTES = 12
PREDICTION_BYTES = 8

# Bytes for each number of the vector of a node. Some networks sum it over neighbors first.
INPUT_BYTES = 12

# Larger weights of edges are cut, so that products with nodes, which encoders bound by the same
# number, stay finite in 32 bits.
LARGEST_WEIGHT = 1e15


@dataclass(frozen=True, eq=False)
class EdgeBatch(Batch):
    """Several graphs in the form that a :class:`FlatNetwork` takes."""

    graphs: FlatGraphs
    weight: Tensor  # (n_graphs,)

    @property
    def inputs(self) -> tuple[FlatGraphs]:
        return (self.graphs,)

    def to(self, device: str | torch.device) -> EdgeBatch:
        if self.weight.device == torch.device(device):
            return self
        return EdgeBatch(self.graphs.to(device), self.weight.to(device))


class EdgeDataset(GraphDataset):
    """Encoded graphs, and batches that are cut from their flat arrays.

    Messages go to a node from its neighbors. In a directed graph they come from its successors,
    so that they come from the nodes of its egonet, as LoFI has it.

    Parameters
    ----------
    graphs, encoder, **parameters
        See :class:`GraphDataset`.

    edge_encoder : EdgeEncoder, default=None
        The encoder of the edges, for networks that look at their labels.

    uses_edge_weights : bool, default=False
        Whether the network is given the weights of edges.
    """

    def __init__(
        self,
        graphs: GraphSet,
        encoder: NodeEncoder,
        *,
        edge_encoder: EdgeEncoder | None = None,
        uses_edge_weights: bool = False,
        **parameters: Any,
    ) -> None:
        super().__init__(graphs, encoder, **parameters)
        if edge_encoder is not None:
            edge_encoder.check(graphs, parameters["handle_unknown"], parameters["owner"])
            self._edge_features = edge_encoder.features()
            self._edge_kinds = edge_encoder.kinds(graphs)
            n_used = int(self._edge_kinds.max(initial=0)) + 1
            self._edge_features = self._edge_features[:n_used]  # the last kind is seldom there
        self.edge_encoder = edge_encoder
        self._edge_weights = None
        if uses_edge_weights and graphs.edge_weights is not None:
            with np.errstate(under="ignore"):
                weights = graphs.edge_weights.clip(max=LARGEST_WEIGHT).astype(np.float32)
            self._edge_weights = torch.from_numpy(weights)
        self._degrees = np.diff(graphs.edge_offsets)
        self._edges_of_graphs = graphs.edge_offsets[graphs.node_offsets]
        self._is_symmetric = is_symmetric(graphs, with_weights=self._edge_weights is not None)
        self._label_columns = encoder.label_columns(graphs)

    def batches(
        self, rows: Rows, *, merge: bool = True, gradients: bool = True
    ) -> Iterator[tuple[EdgeBatch, Tensor]]:
        return ((self._batch(batch_rows), self.y[batch_rows]) for batch_rows in rows)

    def _batch(self, rows: NDArray[np.int64]) -> EdgeBatch:
        graphs = self.graphs
        nodes, node_offsets = take_segments(graphs.node_offsets, rows)
        edges, edges_of_graphs = take_segments(self._edges_of_graphs, rows)
        graph = np.repeat(np.arange(len(rows)), np.diff(node_offsets))
        degrees = self._degrees[nodes]
        receivers = np.repeat(np.arange(len(nodes)), degrees)
        senders = np.repeat(node_offsets[:-1], np.diff(edges_of_graphs))
        senders += graphs.neighbors[edges]
        x = self.encoder.encode(graphs, nodes, self._label_columns)
        edge_features = edge_kinds = None
        if self.edge_encoder is not None:
            edge_features = torch.from_numpy(self._edge_features)
            edge_kinds = torch.from_numpy(self._edge_kinds[edges])
        edge_weight = None if self._edge_weights is None else self._edge_weights[edges]
        weight = self.weight[rows]
        flat = FlatGraphs(
            torch.from_numpy(x),
            torch.from_numpy(np.stack([senders, receivers])),
            torch.from_numpy(graph),
            len(rows),
            edge_features,
            edge_kinds,
            weight if self.is_weighted else None,
            edge_weight,
            self.graph_features_of(rows),
        )
        # Edges are sorted by receivers already.
        ones = torch.from_numpy(np.ones(len(senders), dtype=np.float32))
        matrix = CountMatrix(
            torch.from_numpy(offsets_of(degrees).astype(np.int32)),
            torch.from_numpy(senders.astype(np.int32)),
            ones if edge_weight is None else edge_weight,
            is_symmetric=self._is_symmetric,
        )
        flat.matrices["links" if edge_weight is None else "adjacency"] = matrix
        return EdgeBatch(flat, self.loss_weight[rows])

    def nodes_per_row(self, merge: bool) -> float:
        return 1.0  # nodes are never merged

    def check_memory(
        self, rows: Rows, network: FlatNetwork, *, merge: bool, gradients: bool
    ) -> None:
        offsets = self.graphs.node_offsets
        n_nodes, n_edges = np.diff(offsets), np.diff(self.graphs.edge_offsets[offsets])
        n_members = n_nodes
        if network.numbers_per_member:
            sizes = egonet_sizes(self.graphs, network.radius)  # or a MemoryError
            n_members = np.add.reduceat(sizes.astype(np.int64), offsets[:-1])
        for batch_rows in rows:
            n_batch_nodes, n_batch_edges, n_batch_members = (
                int(sizes[batch_rows].sum()) for sizes in (n_nodes, n_edges, n_members)
            )
            n_numbers = (
                n_batch_nodes * network.numbers_per_node
                + n_batch_edges * network.numbers_per_edge
                + n_batch_members * network.numbers_per_member
                + len(batch_rows) * network.numbers_per_graph
            )
            n_bytes = n_numbers * (TRAINING_BYTES if gradients else PREDICTION_BYTES)
            n_bytes += INPUT_BYTES * n_batch_nodes * self.encoder.n_columns
            if is_too_large(n_bytes):
                raise MemoryError(
                    f"A batch of {len(batch_rows)} graphs with {n_batch_nodes:,} nodes and"
                    f" {n_batch_edges:,} edges takes {n_bytes / 2**30:.1f} GiB to compute;"
                    f" this machine has {memory_size() / 2**30:.1f} GiB of memory. Use a smaller"
                    " network or batch_size, fewer distinct node labels, or leave out the largest"
                    " graphs."
                )
