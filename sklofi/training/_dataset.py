"""Encoded graphs with their targets and weights, and the loader that cuts batches from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
import skorch.dataset
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklofi.graphs._graph_set import GraphSet
from sklofi.training._encoding import NodeEncoder

# Of each of several batches, the graphs.
Rows = Sequence[NDArray[np.int64]] | NDArray[np.int64]


class Batch(Protocol):
    """Some graphs as a network takes them."""

    weight: Tensor  # (n_graphs,)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The arguments of the network."""

    def __len__(self) -> int: ...

    def to(self, device: str | torch.device) -> Self: ...


class GraphDataset(skorch.dataset.Dataset):
    """Graphs, targets and weights as a network takes them.

    A subclass gives `batches`, `nodes_per_row` and `check_size`.
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
    ) -> None:
        encoder.check(graphs, handle_unknown, owner)
        weight = np.ones(len(graphs)) if weight is None else weight
        self.graphs = graphs
        self.encoder = encoder
        self.y = torch.from_numpy(np.zeros(len(graphs), np.float32) if y is None else y)
        with np.errstate(under="ignore", over="ignore"):
            weight = weight / weight.max()
            self.weight = torch.from_numpy((weight / weight.mean()).astype(np.float32))
        # Equal weights are one, and the same as none.
        self.is_weighted = bool((self.weight != 1).any())

    @property
    def X(self) -> GraphDataset:
        """What skorch's scoring callbacks pass to ``predict``."""
        return self

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, rows: Any) -> tuple[Batch, Tensor]:
        return self.batch(np.atleast_1d(rows))

    def batch(
        self, rows: NDArray[np.int64], *, merge: bool = True, gradients: bool = True
    ) -> tuple[Any, Tensor]:
        """Some graphs and their targets; see :meth:`batches`."""
        return next(self.batches([rows], merge=merge, gradients=gradients))

    def batches(
        self, rows: Rows, *, merge: bool = True, gradients: bool = True
    ) -> Iterator[tuple[Any, Tensor]]:
        """Several batches of graphs and their targets.

        Parameters
        ----------
        rows : sequence of ndarray of shape (n_graphs,)
            The graphs of each batch.

        merge : bool, default=True
            Whether nodes that the network cannot tell apart may be computed once.

        gradients : bool, default=True
            Whether they are for training.
        """
        raise TypeError(f"{type(self).__name__} has no batches.")

    def nodes_per_row(self, merge: bool) -> float:
        """How many nodes there are for each row of the arrays of a batch."""
        return 1.0

    def check_size(self, rows: Rows, network: Any, *, merge: bool, gradients: bool) -> None:
        """Refuse batches that do not fit into memory, before the first of them is begun."""


class BatchLoader:
    """Iterate over :class:`GraphDataset` in batches, shuffled by a generator if given.

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
    network : Module or None
        If set, its size decides whether there is memory for a batch, and in training its
        dropout in every epoch whether nodes can be merged at all.
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

    def __len__(self) -> int:
        return len(self._starts(np.arange(len(self.dataset))))

    def __iter__(self) -> Iterator[tuple[Any, Tensor]]:
        n_graphs = len(self.dataset)
        order = np.arange(n_graphs)
        if self.generator is not None:
            order = torch.randperm(n_graphs, generator=self.generator, device="cpu").numpy()
        rows = [order[i:j] for i, j in pairwise([*self._starts(order), n_graphs])]
        # Dropout treats equal nodes differently.
        drops = self.gradients and self.network is not None and self.network.dropout > 0
        merge = self.merge and not drops
        self.check_size(rows, merge)
        return self.dataset.batches(rows, merge=merge, gradients=self.gradients)

    def check_size(self, rows: Rows, merge: bool) -> None:
        """Refuse batches that do not fit into memory, before the first of them is begun."""
        if self.network is not None:
            self.dataset.check_size(rows, self.network, merge=merge, gradients=self.gradients)

    def _starts(self, order: NDArray[np.int64]) -> Sequence[int]:
        """Where in an order of the graphs batches begin."""
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
