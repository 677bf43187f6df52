"""Egonets whose members stand in relations to the center."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sklofi.nn._count_matrix import CountMatrix, take_rows


@dataclass(frozen=True, eq=False)
class RelatedEgonets:
    """Egonets in terms of pairs: a node, and its relation to the center.

    A :class:`LoFILayer` with offsets takes it in place of the incidence of egonets. What the
    layer computes of a node is computed once for each node, what it computes of a pair once
    for each pair that occurs.

    Parameters
    ----------
    members : CountMatrix of shape (n_egonets, n_pairs)
        How often each pair is a member of each egonet.

    pairs : CountMatrix of shape (n_pairs, n_nodes + n_kinds)
        The two parts of each pair: a one in the column of its node, and then a one in the
        column of the kind of its relation. Pairs are sorted by nodes.

    vectors : Tensor of shape (n_kinds, n_relations)
        The vector of each kind of relation.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> import torch
    >>> from sklofi.nn import LoFILayer, RelatedEgonets
    >>> centers = sp.csr_array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> neighbors = sp.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])  # a path of three nodes
    >>> egonets = RelatedEgonets.from_scipy([centers, neighbors])
    >>> layer = LoFILayer(n_features=3, n_masks=4, n_words=2, n_relations=2)
    >>> layer(torch.eye(3), egonets).shape
    torch.Size([3, 4])
    """

    members: CountMatrix
    pairs: CountMatrix
    vectors: Tensor

    @classmethod
    def from_scipy(cls, incidences: Sequence[Any]) -> RelatedEgonets:
        """Join one incidence of egonets for each relation.

        Parameters
        ----------
        incidences : sequence of scipy.sparse matrices or arrays
            Of shape (n_egonets, n_nodes) each: how often each node is a member of each
            egonet, in that relation to the center.

        Returns
        -------
        egonets : RelatedEgonets
            The same egonets. The vectors of relations are unit vectors.
        """
        n_relations, (n_egonets, n_nodes) = len(incidences), incidences[0].shape
        parts = [matrix.tocoo() for matrix in incidences]
        rows, nodes, counts = (
            torch.cat([torch.from_numpy(getattr(part, name)) for part in parts])
            for name in ("row", "col", "data")
        )
        sizes = torch.tensor([part.nnz for part in parts])
        kinds = torch.arange(n_relations).repeat_interleave(sizes)
        codes, columns = torch.unique(nodes.long() * n_relations + kinds, return_inverse=True)
        members = CountMatrix.from_entries(rows.long(), columns, counts.float(), n_egonets)
        nodes, kinds = codes.div(n_relations, rounding_mode="floor"), codes % n_relations
        return cls(
            members.with_transpose(len(codes)),
            pair_matrix(nodes, kinds, n_nodes, n_relations, gradients=True),
            torch.eye(n_relations),
        )

    def __len__(self) -> int:
        return len(self.members)

    @property
    def nodes(self) -> Tensor:
        """The node of each pair."""
        return self.pairs.columns[::2]

    def to(self, device: str | torch.device) -> RelatedEgonets:
        """Move the egonets to a device.

        Parameters
        ----------
        device : str or torch.device
            Where to.

        Returns
        -------
        egonets : RelatedEgonets
            The same egonets there.
        """
        return RelatedEgonets(
            self.members.to(device), self.pairs.to(device), self.vectors.to(device)
        )

    def kinds(self, n_nodes: int) -> Tensor:
        """Return the kind of the relation of each pair.

        Parameters
        ----------
        n_nodes : int
            Number of nodes.

        Returns
        -------
        kinds : Tensor of shape (n_pairs,)
            Rows of `vectors`.
        """
        return self.pairs.columns[1::2] - n_nodes

    def scale_columns(self, presence: Tensor) -> RelatedEgonets:
        """Return the same egonets with a factor for each node, without transposes.

        Parameters
        ----------
        presence : Tensor of shape (n_nodes,)
            The factors.

        Returns
        -------
        scaled : RelatedEgonets
            The scaled egonets.
        """
        members = self.members.scale_columns(presence[self.nodes])
        return RelatedEgonets(members, self.pairs, self.vectors)

    def take_blocks(self, blocks: Tensor, rows: Tensor, columns: Tensor) -> RelatedEgonets:
        """Take the egonets of some graphs, perhaps several times.

        Parameters
        ----------
        blocks : Tensor of shape (n_taken,)
            Which graphs.

        rows, columns : Tensor of shape (n_graphs + 1,)
            Where the egonets and the nodes of each graph begin, and where the last ones end.

        Returns
        -------
        egonets : RelatedEgonets
            Their egonets, in terms of their nodes.
        """
        first_pairs = torch.searchsorted(self.nodes.contiguous(), columns.to(self.nodes))
        n_nodes = int(columns[-1])
        taken = take_rows(first_pairs, blocks)[0]
        sizes = first_pairs.diff()[blocks]
        first_nodes = columns.diff()[blocks].cumsum(0) - columns.diff()[blocks]
        shift = (first_nodes - columns[blocks]).repeat_interleave(sizes)
        nodes = self.nodes[taken] + shift
        kinds = self.kinds(n_nodes)[taken]
        has_gradients = self.pairs.transposed is not None
        n_taken = int(columns.diff()[blocks].sum())
        return RelatedEgonets(
            self.members.take_blocks(blocks, rows, first_pairs),
            pair_matrix(nodes, kinds, n_taken, len(self.vectors), gradients=has_gradients),
            self.vectors,
        )


def pair_matrix(
    nodes: Tensor, kinds: Tensor, n_nodes: int, n_kinds: int, *, gradients: bool
) -> CountMatrix:
    """Return the matrix of the two parts of each pair, with its transpose if asked for.

    `nodes` ascend.
    """
    n_pairs = len(nodes)
    columns = torch.stack([nodes, kinds + n_nodes], dim=1).flatten().int()
    offsets = torch.arange(0, 2 * n_pairs + 1, 2, dtype=torch.int32, device=nodes.device)
    ones = torch.ones(2 * n_pairs, device=nodes.device)
    transposed = None
    if gradients:
        pairs = torch.arange(n_pairs, dtype=torch.int32, device=nodes.device)
        rows = torch.cat([pairs, kinds.sort(stable=True).indices.int()])  # nodes ascend already
        sizes = torch.cat(
            [torch.bincount(nodes, minlength=n_nodes), torch.bincount(kinds, minlength=n_kinds)]
        )
        ends = sizes.cumsum(0, dtype=torch.int32)
        transposed = CountMatrix(torch.cat([offsets[:1], ends]), rows, ones)
    return CountMatrix(offsets, columns, ones, transposed)
