"""Batches of egonets, in the form that LoFI takes.

The tables of :mod:`sklofi.egonets` are computed once for a set of graphs. Batches are cut from
these tables (:mod:`sklofi.training._color_blocks`), not from the graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklofi._memory import is_too_large, memory_size
from sklofi.egonets._colors import ColorTable, color_table
from sklofi.egonets._incidence import egonet_sizes, has_egonets
from sklofi.egonets._members import Relations, egonet_members
from sklofi.graphs._graph_set import GraphSet
from sklofi.nn._count_matrix import CountMatrix, take_rows
from sklofi.nn._lofi_network import LoFINetwork
from sklofi.nn._related_egonets import RelatedEgonets
from sklofi.training._color_blocks import (
    BatchBlocks,
    cut_blocks,
    gather_egonets,
    gather_graphs,
    number_colors,
    number_pairs,
)
from sklofi.training._dataset import Batch, GraphDataset, Rows
from sklofi.training._encoding import NodeEncoder
from sklofi.training._relation_encoder import RelationEncoder

# Batches are cut together up to this number of nodes, and up to this number of places in the
# scratch array (64 MiB).
NODES_TOGETHER = 2**14
SCRATCH_SIZE = 2**24

# Bytes for each number that a layer computes, which is one for each color, mask and word. In
# training all layers keep them, in prediction one layer after the other.
TRAINING_BYTES = 16
PREDICTION_BYTES = 6

# Bytes for each number of the vector of a node: as it is, and scaled to unit norm.
INPUT_BYTES = 8

# The most nodes per color that the size of a batch relies on, even if the whole set has more.
MAX_EXPECTED = 8

# Of more kinds of relations than this, a batch has only those that occur in it.
MANY_RELATIONS = 256


@dataclass(frozen=True, eq=False)
class EgonetBatch(Batch):
    """Several graphs in the form that :meth:`LoFINetwork.forward` takes."""

    x: Tensor  # (n_colors of level 0, n_columns)
    # Each (n_colors of the level, n_colors of the level below).
    egonets: tuple[CountMatrix | RelatedEgonets, ...]
    graphs: tuple[CountMatrix, ...]  # each (n_graphs, n_colors of the level)
    weight: Tensor  # (n_graphs,)
    graph_features: Tensor | None = field(default=None, kw_only=True)  # (n_graphs, n_columns)

    @property
    def inputs(self) -> tuple[Any, ...]:
        nodes = self.x, self.egonets, self.graphs
        return nodes if self.graph_features is None else (*nodes, self.graph_features)

    def copies(self, graphs: Tensor) -> EgonetBatch:
        """Return some of the graphs, each any number of times, if every node has its own color."""
        nodes = self.graphs[0].offsets.long()  # where the nodes of each graph begin
        numbers = torch.arange(len(nodes), device=nodes.device)
        return EgonetBatch(
            self.x[take_rows(nodes, graphs)[0]],
            tuple(matrix.take_blocks(graphs, nodes, nodes) for matrix in self.egonets),
            tuple(matrix.take_blocks(graphs, numbers, nodes) for matrix in self.graphs),
            self.weight[graphs.to(self.weight.device)],
            graph_features=None if self.graph_features is None else self.graph_features[graphs],
        )

    def to(self, device: str | torch.device) -> EgonetBatch:
        if self.x.device == torch.device(device):
            return self
        return EgonetBatch(
            self.x.to(device),
            tuple(matrix.to(device) for matrix in self.egonets),
            tuple(matrix.to(device) for matrix in self.graphs),
            self.weight.to(device),
            graph_features=None if self.graph_features is None else self.graph_features.to(device),
        )


class EgonetDataset(GraphDataset):
    """Encoded graphs with their egonets, and batches that are cut from their tables.

    If it saves work, the tables are those of the set that the graphs were sliced from, so that
    the folds of a search share them.

    Parameters
    ----------
    graphs, encoder, **parameters
        See :class:`GraphDataset`.

    radius : int
        Radius of the egonets.

    n_layers : int
        Number of layers of the network.

    relation_encoder : RelationEncoder, default=None
        The encoder of relations of members to the center; None for the published layer.
    """

    def __init__(
        self,
        graphs: GraphSet,
        encoder: NodeEncoder,
        *,
        radius: int,
        n_layers: int,
        relation_encoder: RelationEncoder | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(graphs, encoder, **parameters)
        self.radius = radius
        self.n_layers = n_layers
        self.relations = Relations()
        if relation_encoder is not None:
            relation_encoder.check(graphs, parameters["handle_unknown"], parameters["owner"])
            self.relations = relation_encoder.relations
        self._whole, self._rows = _source(graphs, radius)
        egonet_sizes(self._whole, radius)  # raises a MemoryError now, not in training
        self._label_columns = encoder.label_columns(self._whole)
        self._vectors = np.empty((0, 0), dtype=np.float32)
        if relation_encoder is not None:
            members = egonet_members(self._whole, radius, self.relations)
            self._vectors = relation_encoder.encode(self._whole, members)
        self._scratch = np.empty(0, dtype=np.int32)

    def table(self, merge: bool) -> ColorTable:
        """Return the table of colors of nodes, or of single nodes if they are not merged."""
        return color_table(
            self._whole,
            self.radius,
            self.n_layers,
            self.relations,
            structure=self.encoder.structure,
            merge=merge,
        )

    def nodes_per_row(self, merge: bool) -> float:
        """Return the nodes per color of the whole set.

        Of the levels below the last, the one with the most colors, or pairs, counts.
        """
        table = self.table(merge)
        offsets = table.level_offsets[:-1] if table.pair_colors is None else table.pair_offsets
        n_colors = float(np.diff(offsets).max())
        # A part of the graphs may have more than its share of the colors.
        return min(MAX_EXPECTED, self._whole.n_nodes / n_colors)

    def row_bounds(self, rows: Rows, merge: bool) -> NDArray[np.int64]:
        """Return the largest number of rows that an array of each batch can have.

        These are colors, or pairs of a color and a relation.
        """
        table = self.table(merge)
        if table.pair_colors is None:
            of_graphs = np.diff(table.color_offsets).reshape(table.n_levels, -1).max(axis=0)
        else:  # hardly more pairs than members
            offsets = egonet_members(self._whole, self.radius, self.relations).offsets
            of_graphs = np.diff(offsets[self._whole.node_offsets])
        most = self._most_rows(table)
        return np.array([min(most, of_graphs[self._rows[batch_rows]].sum()) for batch_rows in rows])

    def _most_rows(self, table: ColorTable) -> int:
        """Return the number of rows of a batch of all graphs."""
        n_rows = np.diff(table.level_offsets).max()
        return int(max(n_rows, np.diff(table.pair_offsets).max(initial=0)))

    def check_memory(
        self, rows: Rows, network: LoFINetwork, *, merge: bool, gradients: bool
    ) -> None:
        histograms: list[Any] = [layer.histogram for layer in network.layers]
        sizes = [histogram.numel() for histogram in histograms]
        per_row = TRAINING_BYTES * sum(sizes) if gradients else PREDICTION_BYTES * max(sizes)
        per_row += INPUT_BYTES * self.encoder.n_columns
        if not is_too_large(per_row * self._most_rows(self.table(merge))):
            return  # almost always: even a batch of all graphs would fit
        n_rows = self.row_bounds(rows, merge)
        if not is_too_large(per_row * n_rows.max()):
            return
        batch = int(n_rows.argmax())
        what = "different members of egonets" if self.relations.differ else "different nodes"
        raise MemoryError(
            f"A batch of {len(rows[batch])} graphs has {n_rows[batch]:,} {what}, which"
            f" take {per_row * n_rows[batch] / 2**30:.1f} GiB to compute; this machine has"
            f" {memory_size() / 2**30:.1f} GiB of memory. Use fewer masks, words or layers, a"
            " smaller batch_size, fewer distinct node labels, or leave out the largest graphs."
        )

    def batches(
        self, rows: Rows, *, merge: bool = True, gradients: bool = True
    ) -> Iterator[tuple[EgonetBatch, Tensor]]:
        """Iterate over several batches of graphs and their targets.

        Several batches are cut together, because on small graphs a call of numpy costs more than
        its work. With `gradients`, matrices get their transposes.
        """
        table = self.table(merge)
        n_colors = int(max(table.level_offsets[-1], table.pair_offsets[-1]))
        nodes_per_batch = self.graphs.n_nodes // len(rows)
        n_together = max(1, min(NODES_TOGETHER // (1 + nodes_per_batch), SCRATCH_SIZE // n_colors))
        for start in range(0, len(rows), n_together):
            yield from self._cut(rows[start : start + n_together], merge, gradients)

    def _cut(
        self, rows: Rows, merge: bool, gradients: bool
    ) -> Iterator[tuple[EgonetBatch, Tensor]]:
        """Cut several batches together; see :mod:`sklofi.training._color_blocks`."""
        table = self.table(merge)
        in_table = [self._rows[batch_rows] for batch_rows in rows]
        in_graphs = gather_graphs(table, in_table)
        scratch, pair_scratch = self._scratch_arrays(table, len(rows))
        numbering = number_colors(table, in_graphs.colors, len(rows), scratch)
        in_egonets = gather_egonets(table, numbering)
        pairs = None
        if table.pair_colors is not None:
            members, n_relations = in_egonets.colors, len(self._vectors)
            pairs = number_pairs(
                table, numbering, members, pair_scratch, n_relations, MANY_RELATIONS
            )
        cut = cut_blocks(
            table, in_table, numbering, in_graphs, in_egonets, pairs, gradients=gradients
        )
        for batch_rows, blocks in zip(rows, cut, strict=True):
            nodes = table.representatives[blocks.colors]
            x = self.encoder.encode(self._whole, nodes, self._label_columns)
            weight = self.loss_weight[batch_rows]
            egonets: Any = blocks.egonets
            if pairs is not None:
                egonets = self._relate(blocks)
            features = self.graph_features_of(batch_rows)
            batch = EgonetBatch(
                torch.from_numpy(x), egonets, blocks.graphs, weight, graph_features=features
            )
            yield batch, self.y[batch_rows]

    def _relate(self, blocks: BatchBlocks) -> tuple[RelatedEgonets, ...]:
        """Return the egonets of a batch with the vectors of the relations of members."""
        levels: Any = blocks.egonets
        vectors = torch.from_numpy(self._vectors)
        if len(vectors) > MANY_RELATIONS:
            vectors = torch.from_numpy(self._vectors[blocks.kinds])
        return tuple(RelatedEgonets(level.members, level.pairs, vectors) for level in levels)

    def _scratch_arrays(
        self, table: ColorTable, n_batches: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return arrays with a place for each color and pair of each batch, used repeatedly."""
        n_colors, n_pairs = int(table.level_offsets[-1]), int(table.pair_offsets[-1])
        size = n_batches * (n_colors + n_pairs)
        if len(self._scratch) < size:
            self._scratch = np.empty(size, dtype=np.int32)
        return self._scratch[: n_batches * n_colors], self._scratch[n_batches * n_colors :]


def _source(graphs: GraphSet, radius: int) -> tuple[GraphSet, NDArray[np.int64]]:
    """Return the set whose tables are used, and the rows of the graphs in it."""
    whole, rows = graphs.origin
    alone = graphs, np.arange(len(graphs))
    if not has_egonets(whole, radius) and 4 * graphs.n_nodes < whole.n_nodes:
        return alone
    try:
        egonet_sizes(whole, radius)
    except MemoryError:
        return alone  # the slice may leave out the graphs that are too large
    return whole, rows
