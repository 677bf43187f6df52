"""Encoded graphs in batches of tensors.

The tables of :mod:`sklofi.egonets` are made once for a set of graphs; a batch is cut from
them without looking at a graph again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import skorch.dataset
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklofi.egonets import (
    ClassTable,
    class_table,
    egonet_sizes,
    has_egonets,
    is_too_large,
    memory_size,
)
from sklofi.fast import CountMatrix
from sklofi.graphs import GraphSet, check_same_labelling, offsets_of, take_segments
from sklofi.nn import LoFINetwork
from sklofi.reading import show
from sklofi.targets import weighted_mean_and_scale

# Batches are prepared together up to so many nodes, and up to a scratch array of so many
# numbers (64 MiB).
NODES_TOGETHER = 2**14
SCRATCH_SIZE = 2**24

# What is taken for each number that a layer computes, of each class of nodes one for each mask
# and word: by all layers in training, and by one after the other in prediction.
TRAINING_BYTES = 16
PREDICTION_BYTES = 6

# Nodes per class that the size of a batch relies on, however many the whole set has.
MAX_EXPECTED = 8


@dataclass(frozen=True, eq=False)
class NodeEncoder:
    """How the nodes of a training set become vectors.

    A node's vector is the one-hot code of its label, followed by its standardised
    features. Nodes without labels all have the same one: a constant column, which also
    keeps the magnitude of features when LoFI scales vectors to unit norm.
    """

    labels: tuple[Hashable, ...]
    has_labels: bool
    feature_mean: NDArray[np.float64]
    feature_scale: NDArray[np.float64]

    @classmethod
    def fit(cls, graphs: GraphSet, weight: NDArray[np.float64]) -> NodeEncoder:
        """Learn the labels that occur, and the weighted location and scale of features."""
        n_features = 0 if graphs.features is None else graphs.features.shape[1]
        mean, scale = np.zeros(n_features), np.ones(n_features)
        if graphs.features is not None:
            node_weight = np.repeat(weight, np.diff(graphs.node_offsets))
            mean, scale = weighted_mean_and_scale(graphs.features, node_weight)
        if graphs.label_ids is None:
            return cls((None,), False, mean, scale)
        present = np.unique(graphs.label_ids).tolist()
        return cls(tuple(graphs.labels[i] for i in present), True, mean, scale)

    @property
    def n_columns(self) -> int:
        return len(self.labels) + len(self.feature_mean)

    def check(self, graphs: GraphSet, handle_unknown: str, owner: str) -> None:
        """See that graphs can be encoded, and that their labels are known if they must be."""
        self._check_same_kind(graphs, owner)
        if handle_unknown == "ignore" or graphs.label_ids is None:
            return
        is_unknown = self.label_columns(graphs)[graphs.label_ids] == len(self.labels)
        if is_unknown.any():
            node = int(np.flatnonzero(is_unknown)[0])
            graph = int(np.searchsorted(graphs.node_offsets, node, side="right")) - 1
            name = list(graphs[graph])[node - graphs.node_offsets[graph]]
            raise ValueError(
                f"Graph {graph}, node {show(name)}, has the label"
                f" {show(graphs.labels[graphs.label_ids[node]])}, which no training graph"
                ' has. Set handle_unknown="ignore" to take it as an all-zero vector.'
            )

    def label_columns(self, graphs: GraphSet) -> NDArray[np.int64]:
        """Column of each label, ``len(self.labels)`` if it was not there in training."""
        column_of = {label: column for column, label in enumerate(self.labels)}
        return np.array([column_of.get(label, len(self.labels)) for label in graphs.labels])

    def encode(
        self, graphs: GraphSet, nodes: NDArray[np.int64], label_columns: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Vectors of some nodes, of shape (len(nodes), n_columns)."""
        n_labels = len(self.labels)
        x = np.zeros((len(nodes), self.n_columns), dtype=np.float32)
        if graphs.label_ids is None:
            x[:, 0] = 1
        else:
            columns = label_columns[graphs.label_ids[nodes]]
            known = np.flatnonzero(columns < n_labels)
            x[known, columns[known]] = 1
        if graphs.features is not None:
            with np.errstate(over="ignore", under="ignore"):
                features = (graphs.features[nodes] - self.feature_mean) / self.feature_scale
                # Far beyond anything in training; the bound keeps squares within 32 bits.
                x[:, n_labels:] = features.clip(-1e15, 1e15)
        return x

    def _check_same_kind(self, graphs: GraphSet, owner: str) -> None:
        check_same_labelling(graphs, self.has_labels, owner)
        n_features = 0 if graphs.features is None else graphs.features.shape[1]
        if n_features != len(self.feature_mean):
            raise ValueError(
                f"X has {n_features} node features, but {owner} is expecting"
                f" {len(self.feature_mean)} node features as input."
            )


@dataclass(frozen=True, eq=False)
class Batch:
    """Some graphs as the network takes them; see :meth:`LoFINetwork.forward`."""

    x: Tensor  # (n_classes of level 0, n_columns)
    egonets: tuple[CountMatrix, ...]
    graphs: tuple[CountMatrix, ...]
    weight: Tensor  # (n_graphs,)

    def __len__(self) -> int:
        return len(self.weight)

    def to(self, device: str | torch.device) -> Batch:
        if self.x.device == torch.device(device):
            return self
        return Batch(
            self.x.to(device),
            tuple(matrix.to(device) for matrix in self.egonets),
            tuple(matrix.to(device) for matrix in self.graphs),
            self.weight.to(device),
        )


class GraphDataset(skorch.dataset.Dataset):
    """Encoded graphs with their egonets, from which batches are cut.

    Tables are those of the set that the graphs were sliced from, if that pays, so that
    the folds of a search share them.
    """

    def __init__(
        self,
        graphs: GraphSet,
        encoder: NodeEncoder,
        *,
        radius: int,
        n_layers: int,
        handle_unknown: str = "ignore",
        owner: str = "the estimator",
        y: NDArray[Any] | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        encoder.check(graphs, handle_unknown, owner)
        weight = np.ones(len(graphs)) if weight is None else weight
        self.graphs = graphs
        self.encoder = encoder
        self.radius = radius
        self.n_layers = n_layers
        self.y = torch.from_numpy(np.zeros(len(graphs), np.float32) if y is None else y)
        with np.errstate(under="ignore"):
            weight = weight / weight.max()
            self.weight = torch.from_numpy((weight / weight.mean()).astype(np.float32))
        self._whole, self._rows = _source(graphs, radius)
        egonet_sizes(self._whole, radius)  # refuses what is too large, now and not in training
        self._label_columns = encoder.label_columns(self._whole)
        self._number = np.empty(0, dtype=np.int32)

    @property
    def X(self) -> GraphDataset:
        """What skorch's scoring callbacks pass to ``predict``."""
        return self

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, rows: Any) -> tuple[Batch, Tensor]:
        return self.batch(np.atleast_1d(rows))

    def table(self, merge: bool) -> ClassTable:
        """Graphs and egonets in terms of classes of nodes, or of single nodes."""
        return class_table(self._whole, self.radius, self.n_layers, merge=merge)

    def nodes_per_class(self, merge: bool) -> float:
        """Over the whole set, at the level below the last with the most classes."""
        return self._whole.n_nodes / float(np.diff(self.table(merge).level_offsets)[:-1].max())

    def class_bounds(
        self, rows: Sequence[NDArray[np.int64]] | NDArray[np.int64], merge: bool
    ) -> NDArray[np.int64]:
        """Of each of several batches, how many classes a level has at most."""
        table = self.table(merge)
        most = np.diff(table.level_offsets).max()
        of_graphs = np.diff(table.class_offsets).reshape(table.n_levels, -1).max(axis=0)
        return np.array([min(most, of_graphs[self._rows[some]].sum()) for some in rows])

    def batch(
        self, rows: NDArray[np.int64], *, merge: bool = True, gradients: bool = True
    ) -> tuple[Batch, Tensor]:
        """Some graphs and their targets; see :meth:`batches`."""
        return next(self.batches([rows], merge=merge, gradients=gradients))

    def batches(
        self, rows: Sequence[NDArray[np.int64]], *, merge: bool = True, gradients: bool = True
    ) -> Iterator[tuple[Batch, Tensor]]:
        """Several batches of graphs and their targets.

        They are prepared together, because on small graphs calls cost more than work.

        Parameters
        ----------
        rows : sequence of ndarray of shape (n_graphs,)
            The graphs of each batch.

        merge : bool, default=True
            Whether nodes that the network cannot tell apart are computed once.

        gradients : bool, default=True
            Whether the matrices get their transposes.
        """
        table = self.table(merge)
        n_levels, n_classes = table.n_levels, int(table.level_offsets[-1])
        sizes = np.array([len(some) for some in rows])
        # The classes of batch b are counted from b * n_classes.
        shifts = n_classes * np.arange(len(rows), dtype=np.int32)

        # Segments of the table: of each batch the levels, of each level the graphs.
        levels = table.n_graphs * np.arange(n_levels)[:, None]
        segments = np.concatenate([(levels + self._rows[some]).ravel() for some in rows])
        entries, class_offsets = take_segments(table.class_offsets, segments)
        shift = shifts.repeat(np.diff(class_offsets[n_levels * offsets_of(sizes)]))
        classes = table.classes.take(entries) + shift
        class_counts = table.class_counts.take(entries)

        # Number the distinct classes, level by level. Of the scratch array only places
        # that were just written are read.
        present = _sorted_distinct(classes)
        starts = np.searchsorted(present, np.add.outer(shifts, table.level_offsets[:-1]).ravel())
        starts = np.append(starts, len(present))
        if len(self._number) < len(rows) * n_classes:
            self._number = np.empty(len(rows) * n_classes, dtype=np.int32)
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
            class_offsets, self._number.take(classes), class_counts, len(present), gradients
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
            classes_0 = present[slice(*of_levels[0])] - shifts[batch]
            x = self.encoder.encode(
                self._whole, table.representatives[classes_0], self._label_columns
            )
            yield (
                Batch(
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


class BatchLoader:
    """Iterate over a :class:`GraphDataset` in batches, shuffled by a generator if given.

    It stands where skorch expects torch's DataLoader, which would fetch graph by graph
    and draw from the global random generator.

    Parameters
    ----------
    dataset : GraphDataset

    batch_size : int
        Largest number of graphs in a batch.

    generator : torch.Generator, default=None
        Source of the order of the graphs.

    max_rows : int, default=None
        About how many rows the largest array of a batch may have: nodes, or classes of
        nodes, of which there are fewer. A graph that alone has more is a batch of its own.

    merge, gradients : bool
        See :meth:`GraphDataset.batches`.

    Attributes
    ----------
    network : LoFINetwork or None
        If set, its size decides whether there is memory for a batch, and in training its
        dropout in every epoch whether nodes can be merged at all.
    """

    network: LoFINetwork | None = None

    def __init__(
        self,
        dataset: GraphDataset,
        batch_size: int,
        generator: torch.Generator | None = None,
        max_rows: int | None = None,
        merge: bool = True,
        gradients: bool = False,
    ) -> None:
        self.dataset = dataset
        self.batch_size = batch_size
        self.generator = generator
        self.max_rows = max_rows
        self.merge = merge
        self.gradients = gradients

    def __len__(self) -> int:
        return len(self._starts(np.arange(len(self.dataset))))

    def __iter__(self) -> Iterator[tuple[Batch, Tensor]]:
        n_graphs = len(self.dataset)
        order = np.arange(n_graphs)
        if self.generator is not None:
            order = torch.randperm(n_graphs, generator=self.generator, device="cpu").numpy()
        rows = [order[i:j] for i, j in pairwise([*self._starts(order), n_graphs])]
        # Dropout treats equal nodes differently.
        drops = self.gradients and self.network is not None and self.network.dropout > 0
        merge = self.merge and not drops
        self.check_size(rows, merge)
        n_classes = int(self.dataset.table(merge).level_offsets[-1])
        nodes_per_batch = self.dataset.graphs.n_nodes // len(rows)
        n_together = max(1, min(NODES_TOGETHER // (1 + nodes_per_batch), SCRATCH_SIZE // n_classes))
        for start in range(0, len(rows), n_together):
            yield from self.dataset.batches(
                rows[start : start + n_together], merge=merge, gradients=self.gradients
            )

    def check_size(
        self, rows: Sequence[NDArray[np.int64]] | NDArray[np.int64], merge: bool
    ) -> None:
        """Refuse batches that do not fit into memory, before the first of them is begun."""
        if self.network is None:
            return
        histograms: list[Any] = [layer.histogram for layer in self.network.layers]
        sizes = [histogram.numel() for histogram in histograms]
        per_class = TRAINING_BYTES * sum(sizes) if self.gradients else PREDICTION_BYTES * max(sizes)
        table = self.dataset.table(merge)
        if not is_too_large(per_class * int(np.diff(table.level_offsets).max())):
            return  # as almost always, however batches are cut
        n_classes = self.dataset.class_bounds(rows, merge)
        if not is_too_large(per_class * n_classes.max()):
            return
        batch = int(n_classes.argmax())
        raise MemoryError(
            f"A batch of {len(rows[batch])} graphs has {n_classes[batch]:,} different nodes, which"
            f" take {per_class * n_classes[batch] / 2**30:.1f} GiB to compute; this machine has"
            f" {memory_size() / 2**30:.1f} GiB of memory. Use fewer masks, words or layers, a"
            " smaller batch_size, or leave out the largest graphs."
        )

    def _starts(self, order: NDArray[np.int64]) -> Sequence[int]:
        """Where in an order of the graphs batches begin."""
        if self.max_rows is None:
            return range(0, len(order), self.batch_size)
        # A part of the graphs may have more classes than its share.
        max_nodes = self.max_rows * min(MAX_EXPECTED, self.dataset.nodes_per_class(self.merge))
        starts = [0]
        ends = np.cumsum(np.diff(self.dataset.graphs.node_offsets)[order])
        while starts[-1] < len(order):
            start = starts[-1]
            before = ends[start - 1] if start else 0
            fit = int(np.searchsorted(ends, before + max_nodes, side="right"))
            starts.append(min(start + self.batch_size, max(fit, start + 1)))
        return starts[:-1]
