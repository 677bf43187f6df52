"""Batches of egonets, as LoFI takes them.

The tables of :mod:`sklofi.egonets` are made once for a set of graphs; a batch is cut from
them without looking at a graph again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklofi._memory import is_too_large, memory_size
from sklofi.egonets._colors import ColorTable, color_table
from sklofi.egonets._incidence import egonet_sizes, has_egonets
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import offsets_of, take_segments
from sklofi.nn._count_matrix import CountMatrix, take_rows
from sklofi.nn._lofi_network import LoFINetwork
from sklofi.training._dataset import GraphDataset, Rows
from sklofi.training._encoding import NodeEncoder

# Batches are prepared together up to so many nodes, and up to a scratch array of so many
# numbers (64 MiB).
NODES_TOGETHER = 2**14


SCRATCH_SIZE = 2**24


# What is taken for each number that a layer computes, of each color of nodes one for each mask
# and word: by all layers in training, and by one after the other in prediction.
TRAINING_BYTES = 16


PREDICTION_BYTES = 6


# And for each number that a node enters with: as it is, and scaled to unit norm.
INPUT_BYTES = 8


# Nodes per color that the size of a batch relies on, however many the whole set has.
MAX_EXPECTED = 8


@dataclass(frozen=True, eq=False)
class EgonetBatch:
    """Some graphs as the network takes them; see :meth:`LoFINetwork.forward`."""

    x: Tensor  # (n_colors of level 0, n_columns)
    egonets: tuple[CountMatrix, ...]
    graphs: tuple[CountMatrix, ...]
    weight: Tensor  # (n_graphs,)

    @property
    def inputs(self) -> tuple[Any, ...]:
        return self.x, self.egonets, self.graphs

    def __len__(self) -> int:
        return len(self.weight)

    def copies(self, graphs: Tensor) -> EgonetBatch:
        """Some of the graphs, perhaps several times, if every node is a color of its own."""
        nodes = self.graphs[0].offsets.long()  # where those of each graph begin
        numbers = torch.arange(len(nodes), device=nodes.device)
        return EgonetBatch(
            self.x[take_rows(nodes, graphs)[0]],
            tuple(matrix.take_blocks(graphs, nodes, nodes) for matrix in self.egonets),
            tuple(matrix.take_blocks(graphs, numbers, nodes) for matrix in self.graphs),
            self.weight[graphs.to(self.weight.device)],
        )

    def to(self, device: str | torch.device) -> EgonetBatch:
        if self.x.device == torch.device(device):
            return self
        return EgonetBatch(
            self.x.to(device),
            tuple(matrix.to(device) for matrix in self.egonets),
            tuple(matrix.to(device) for matrix in self.graphs),
            self.weight.to(device),
        )


class EgonetDataset(GraphDataset):
    """Encoded graphs with their egonets, from which batches are cut.

    Tables are those of the set that the graphs were sliced from, if that pays, so that
    the folds of a search share them.
    """

    def __init__(
        self, graphs: GraphSet, encoder: NodeEncoder, *, radius: int, n_layers: int, **more: Any
    ) -> None:
        super().__init__(graphs, encoder, **more)
        self.radius = radius
        self.n_layers = n_layers
        self._whole, self._rows = _source(graphs, radius)
        egonet_sizes(self._whole, radius)  # refuses what is too large, now and not in training
        self._label_columns = encoder.label_columns(self._whole)
        self._number = np.empty(0, dtype=np.int32)

    def table(self, merge: bool) -> ColorTable:
        """Graphs and egonets in terms of colors of nodes, or of single nodes."""
        return color_table(self._whole, self.radius, self.n_layers, merge=merge)

    def nodes_per_row(self, merge: bool) -> float:
        """Of the whole set, at the level below the last with the most colors."""
        n_colors = float(np.diff(self.table(merge).level_offsets)[:-1].max())
        # A part of the graphs may have more colors than its share.
        return min(MAX_EXPECTED, self._whole.n_nodes / n_colors)

    def color_bounds(self, rows: Rows, merge: bool) -> NDArray[np.int64]:
        """Of each of several batches, how many colors a level has at most."""
        table = self.table(merge)
        most = np.diff(table.level_offsets).max()
        of_graphs = np.diff(table.color_offsets).reshape(table.n_levels, -1).max(axis=0)
        return np.array([min(most, of_graphs[self._rows[some]].sum()) for some in rows])

    def check_size(self, rows: Rows, network: LoFINetwork, *, merge: bool, gradients: bool) -> None:
        histograms: list[Any] = [layer.histogram for layer in network.layers]
        sizes = [histogram.numel() for histogram in histograms]
        per_color = TRAINING_BYTES * sum(sizes) if gradients else PREDICTION_BYTES * max(sizes)
        per_color += INPUT_BYTES * self.encoder.n_columns
        table = self.table(merge)
        if not is_too_large(per_color * int(np.diff(table.level_offsets).max())):
            return  # as almost always, however batches are cut
        n_colors = self.color_bounds(rows, merge)
        if not is_too_large(per_color * n_colors.max()):
            return
        batch = int(n_colors.argmax())
        raise MemoryError(
            f"A batch of {len(rows[batch])} graphs has {n_colors[batch]:,} different nodes, which"
            f" take {per_color * n_colors[batch] / 2**30:.1f} GiB to compute; this machine has"
            f" {memory_size() / 2**30:.1f} GiB of memory. Use fewer masks, words or layers, a"
            " smaller batch_size, fewer distinct node labels, or leave out the largest graphs."
        )

    def batches(
        self, rows: Rows, *, merge: bool = True, gradients: bool = True
    ) -> Iterator[tuple[EgonetBatch, Tensor]]:
        """Several batches of graphs and their targets.

        Some of them are prepared together, because on small graphs calls cost more than
        work. With `gradients`, matrices get their transposes.
        """
        n_colors = int(self.table(merge).level_offsets[-1])
        nodes_per_batch = self.graphs.n_nodes // len(rows)
        n_together = max(1, min(NODES_TOGETHER // (1 + nodes_per_batch), SCRATCH_SIZE // n_colors))
        for start in range(0, len(rows), n_together):
            yield from self._together(rows[start : start + n_together], merge, gradients)

    def _together(
        self, rows: Rows, merge: bool, gradients: bool
    ) -> Iterator[tuple[EgonetBatch, Tensor]]:
        table = self.table(merge)
        n_levels, n_colors = table.n_levels, int(table.level_offsets[-1])
        sizes = np.array([len(some) for some in rows])
        # The colors of batch b are counted from b * n_colors.
        shifts = n_colors * np.arange(len(rows), dtype=np.int32)

        # Segments of the table: of each batch the levels, of each level the graphs.
        levels = table.n_graphs * np.arange(n_levels)[:, None]
        segments = np.concatenate([(levels + self._rows[some]).ravel() for some in rows])
        entries, color_offsets = take_segments(table.color_offsets, segments)
        shift = shifts.repeat(np.diff(color_offsets[n_levels * offsets_of(sizes)]))
        colors = table.colors.take(entries) + shift
        color_counts = table.color_counts.take(entries)

        # Number the distinct colors, level by level. Of the scratch array only places
        # that were just written are read.
        present = _sorted_distinct(colors)
        starts = np.searchsorted(present, np.add.outer(shifts, table.level_offsets[:-1]).ravel())
        starts = np.append(starts, len(present))
        if len(self._number) < len(rows) * n_colors:
            self._number = np.empty(len(rows) * n_colors, dtype=np.int32)
        self._number[present] = np.arange(len(present), dtype=np.int32)

        shift = shifts.repeat(np.diff(starts[::n_levels]))
        entries, member_offsets = take_segments(table.member_offsets, present - shift)
        members = table.members.take(entries) + shift.repeat(np.diff(member_offsets))
        egonets = _Blocks(
            member_offsets,
            self._number.take(members),
            table.member_counts.take(entries),
            len(present),
            gradients,
        )
        graphs = _Blocks(
            color_offsets, self._number.take(colors), color_counts, len(present), gradients
        )
        bounds = list(pairwise(starts.tolist()))  # of each level of each batch
        first = 0  # segment
        for batch, some in enumerate(rows):
            of_levels = bounds[n_levels * batch : n_levels * (batch + 1)]
            segment_bounds = [
                (first + level * len(some), first + (level + 1) * len(some))
                for level in range(n_levels)
            ]
            first += n_levels * len(some)
            colors_0 = present[slice(*of_levels[0])] - shifts[batch]
            x = self.encoder.encode(
                self._whole, table.representatives[colors_0], self._label_columns
            )
            yield (
                EgonetBatch(
                    torch.from_numpy(x),
                    tuple(egonets.block(own, below) for below, own in pairwise(of_levels)),
                    tuple(map(graphs.block, segment_bounds[1:], of_levels[1:])),
                    self.weight[some],
                ),
                self.y[some],
            )


def _source(graphs: GraphSet, radius: int) -> tuple[GraphSet, NDArray[np.int64]]:
    """The set whose tables are used, and the rows of the graphs in it."""
    whole, rows = graphs.origin
    alone = graphs, np.arange(len(graphs))
    if not has_egonets(whole, radius) and 4 * graphs.n_nodes < whole.n_nodes:
        return alone
    try:
        egonet_sizes(whole, radius)
    except MemoryError:
        return alone  # what is too large may have been left out
    return whole, rows


def _sorted_distinct(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    # As numpy.unique, at a fraction of its overhead.
    numbers = np.sort(numbers)
    is_first = np.empty(len(numbers), dtype=bool)
    is_first[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]


class _Blocks:
    """A sparse matrix of which rectangles become CountMatrices.

    All layers of a batch are converted and transposed at once, because on batches of
    small graphs calls cost more than work.
    """

    def __init__(
        self,
        offsets: NDArray[np.int64],
        columns: NDArray[np.int32],
        counts: NDArray[np.float32],
        n_columns: int,
        gradients: bool,
    ) -> None:
        if offsets[-1] >= 2**31:
            raise MemoryError(
                f"A batch has {offsets[-1]:,} entries; at most {2**31 - 1:,} are possible."
                " Use a smaller batch_size or radius."
            )
        self.offsets = offsets.astype(np.int32)
        self.columns = columns
        self.counts = counts
        self.transposed = None
        if gradients:
            # numpy sorts 16-bit numbers by radix, many times faster.
            keys = columns.astype(np.uint16) if n_columns <= 2**16 else columns
            order = np.argsort(keys, kind="stable")
            rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
            column_sizes = np.bincount(columns, minlength=n_columns)
            self.transposed = _Blocks(
                offsets_of(column_sizes),
                rows.take(order),
                counts.take(order),
                len(offsets) - 1,
                gradients=False,
            )

    def block(self, rows: Sequence[int], columns: Sequence[int]) -> CountMatrix:
        """The rows from the first to the second number, all of whose entries are in the
        columns from the first to the second."""
        first_row, last_row = rows
        offsets = self.offsets[first_row : last_row + 1]
        start, stop = offsets[0], offsets[-1]
        return CountMatrix(
            torch.from_numpy(offsets - start),
            torch.from_numpy(self.columns[start:stop] - np.int32(columns[0])),
            torch.from_numpy(self.counts[start:stop]),
            None if self.transposed is None else self.transposed.block(columns, rows),
        )
