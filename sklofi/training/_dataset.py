"""Encoded graphs with targets and weights, and the loader that iterates over their batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklofi._graph_features import GraphEncoder
from sklofi.graphs._graph_set import GraphSet
from sklofi.training._encoding import NodeEncoder
from sklofi.training._skorch import Dataset

# The graphs of each of several batches.
Rows = Sequence[NDArray[np.int64]] | NDArray[np.int64]

# Batches that are the same in every epoch are kept, up to this number.
MOST_KEPT = 8


class Batch(ABC):
    """Several graphs in the form that a network takes."""

    weight: Tensor  # what losses are multiplied by: (n_graphs,) or (n_graphs, n_targets)

    @property
    @abstractmethod
    def inputs(self) -> tuple[Any, ...]:
        """The arguments of the network."""

    @abstractmethod
    def to(self, device: str | torch.device) -> Self:
        """Return the batch on a device, the same object if it is there."""

    def __len__(self) -> int:
        """Return the number of graphs."""
        return len(self.weight)


class GraphDataset(Dataset, ABC):
    """Graphs, targets and weights in the form that a network takes.

    Parameters
    ----------
    graphs : GraphSet
        The graphs.

    encoder : NodeEncoder
        The encoder of their nodes.

    handle_unknown : {"ignore", "error"}, default="ignore"
        Whether node labels that the encoder does not know raise an error.

    owner : str, default="the estimator"
        Name of the estimator, for errors and warnings.

    y : ndarray of shape (n_graphs,) or (n_graphs, n_outputs), default=None
        Targets; zeros if None.

    weight : ndarray of shape (n_graphs,), default=None
        Weights of the graphs; equal if None. They are scaled to a mean of one.

    graph_encoder : GraphEncoder, default=None
        The encoder of the features of graphs; None if the network takes none.

    value_weight : ndarray of shape (n_graphs, n_targets), default=None
        Weights of single targets, if they are not those of their graphs: zero for targets that
        are not known. They are scaled to a mean of one.
    """

    def __init__(
        self,
        graphs: GraphSet,
        encoder: NodeEncoder,
        *,
        handle_unknown: str = "ignore",
        owner: str = "the estimator",
        y: NDArray[Any] | None = None,
        weight: NDArray[np.float64] | None = None,
        graph_encoder: GraphEncoder | None = None,
        value_weight: NDArray[np.float64] | None = None,
    ) -> None:
        encoder.check(graphs, handle_unknown, owner)
        self.graph_features: Tensor | None = None  # (n_graphs, n_graph_features)
        if graph_encoder is not None:
            features = graph_encoder.encode(graphs, owner)
            if graph_encoder.n_columns:
                self.graph_features = torch.from_numpy(features.astype(np.float32))
        weight = np.ones(len(graphs)) if weight is None else weight
        self.graphs = graphs
        self.encoder = encoder
        self.y = torch.from_numpy(np.zeros(len(graphs), np.float32) if y is None else y)
        self.weight = _with_mean_one(weight)
        # What losses are multiplied by, so that each target counts as much as any other.
        self.loss_weight = self.weight
        if value_weight is not None:
            self.loss_weight = _with_mean_one(value_weight)
        # Equal weights are one, and the same as none.
        self.is_weighted = bool((self.weight != 1).any())

    def graph_features_of(self, rows: NDArray[np.int64]) -> Tensor | None:
        """Return the features of some graphs, None if there are none."""
        return None if self.graph_features is None else self.graph_features[rows]

    @property
    def X(self) -> GraphDataset:
        """The argument that skorch's scoring callbacks pass to ``predict``."""
        return self

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, rows: Any) -> tuple[Batch, Tensor]:
        return self.batch(np.atleast_1d(rows))

    def batch(
        self, rows: NDArray[np.int64], *, merge: bool = True, gradients: bool = True
    ) -> tuple[Any, Tensor]:
        """Return a batch of graphs and their targets; see :meth:`batches`."""
        return next(self.batches([rows], merge=merge, gradients=gradients))

    @abstractmethod
    def batches(
        self, rows: Rows, *, merge: bool = True, gradients: bool = True
    ) -> Iterator[tuple[Batch, Tensor]]:
        """Iterate over several batches of graphs and their targets.

        Parameters
        ----------
        rows : sequence of ndarray of shape (n_graphs,)
            The graphs of each batch.

        merge : bool, default=True
            Whether nodes that the network cannot tell apart may be computed once.

        gradients : bool, default=True
            Whether the batches are for training.

        Returns
        -------
        batches : iterator of (Batch, Tensor)
        """

    @abstractmethod
    def nodes_per_row(self, merge: bool) -> float:
        """Return how many nodes there are for each row of the arrays of a batch.

        Parameters
        ----------
        merge : bool
            See :meth:`batches`.

        Returns
        -------
        nodes_per_row : float
            1 if every node has a row, more if nodes share one.
        """

    @abstractmethod
    def check_memory(self, rows: Rows, network: Any, *, merge: bool, gradients: bool) -> None:
        """Raise a MemoryError if a batch does not fit into memory, before any is computed.

        Parameters
        ----------
        rows : sequence of ndarray of shape (n_graphs,)
            The graphs of each batch.

        network : Module
            The network that computes them.

        merge, gradients : bool
            See :meth:`batches`.
        """


def _with_mean_one(weight: NDArray[np.float64]) -> Tensor:
    if not weight.any():  # a few graphs, all of a class of weight zero
        return torch.zeros(weight.shape)
    with np.errstate(under="ignore", over="ignore"):
        weight = weight / weight.max()
        return torch.from_numpy((weight / weight.mean()).astype(np.float32))


class BatchLoader:
    """Iterate over :class:`GraphDataset` in batches, shuffled by a generator if given.

    skorch uses it in place of torch's DataLoader, which would load graph by graph and draw from
    the global random generator.

    Parameters
    ----------
    dataset : GraphDataset
        The graphs.

    batch_size : int
        Largest number of graphs in a batch.

    generator : torch.Generator, default=None
        Source of the order of the graphs.

    max_rows : int, default=None
        About how many rows the largest array of a batch may have: nodes, or colors of nodes, of
        which there are fewer. A graph that has more rows than this is alone in its batch.

    merge, gradients : bool
        See :meth:`GraphDataset.batches`.

    Attributes
    ----------
    network : Module or None
        If set, its size decides whether there is memory for a batch, and in training its
        dropout, which may change from epoch to epoch, whether nodes can be merged.
    """

    network: Any = None

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
        self.n_iterations = 0
        self.kept: list[tuple[Any, Tensor]] | None = None

    def __len__(self) -> int:
        return len(self._starts(np.arange(len(self.dataset))))

    def __iter__(self) -> Iterator[tuple[Any, Tensor]]:
        """Iterate over the batches. Those of validation graphs are cut once or twice, then kept."""
        self.n_iterations += 1
        is_same = self.generator is None and not self.gradients
        # Who iterates only once, as predictions do, needs no more memory than for one batch.
        if is_same and self.n_iterations > 1 and len(self) <= MOST_KEPT:
            if self.kept is None:
                self.kept = list(self._cut())
            return iter(self.kept)
        return self._cut()

    def _cut(self) -> Iterator[tuple[Any, Tensor]]:
        n_graphs = len(self.dataset)
        order = np.arange(n_graphs)
        if self.generator is not None:
            order = torch.randperm(n_graphs, generator=self.generator, device="cpu").numpy()
        rows = [order[i:j] for i, j in pairwise([*self._starts(order), n_graphs])]
        # Dropout treats equal nodes differently.
        drops = self.gradients and self.network is not None and self.network.dropout > 0
        merge = self.merge and not drops
        self.check_memory(rows, merge)
        return self.dataset.batches(rows, merge=merge, gradients=self.gradients)

    def check_memory(self, rows: Rows, merge: bool) -> None:
        """Raise a MemoryError if a batch does not fit into memory, before any is computed."""
        if self.network is not None:
            self.dataset.check_memory(rows, self.network, merge=merge, gradients=self.gradients)

    def _starts(self, order: NDArray[np.int64]) -> Sequence[int]:
        """Return the positions in an order of the graphs at which batches begin."""
        if self.max_rows is None:
            return range(0, len(order), self.batch_size)
        max_nodes = self.max_rows * self.dataset.nodes_per_row(self.merge)
        starts = [0]
        ends = np.cumsum(np.diff(self.dataset.graphs.node_offsets)[order])
        while starts[-1] < len(order):
            start = starts[-1]
            before = ends[start - 1] if start else 0
            fit = int(np.searchsorted(ends, before + max_nodes, side="right"))
            starts.append(min(start + self.batch_size, max(fit, start + 1)))
        return starts[:-1]
