"""Encoder of relations as vectors, learned from the training graphs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import show
from sklofi._scaling import weighted_mean_and_scale
from sklofi._storage import CHECKS
from sklofi.egonets._members import NOTHING, Members, Relations, egonet_members
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import check_same_edge_features, check_same_edge_weighting
from sklofi.graphs._segments import take_segments
from sklofi.training._encoding import EdgeEncoder, columns_of, fill_one_hot


@dataclass(frozen=True, eq=False)
class RelationEncoder:
    """Encoder of the relations of members to the center of their egonets.

    The vector of a relation is the one-hot code of its kind (distance, edge label and ring size
    together), followed by the standardized features of the edge. A kind that no training graph
    has is all zeros, and so is one that tells nothing.
    """

    distances: bool
    max_ring: int
    edges: EdgeEncoder | None  # None if edge labels are not told apart
    kinds: NDArray[np.int64]  # (n_kinds, 3): distance, position in edges.labels, ring size
    weighted: bool
    feature_mean: NDArray[np.float64]
    feature_scale: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        graphs: GraphSet,
        weight: NDArray[np.float64],
        radius: int,
        *,
        distances: bool,
        edge_labels: bool,
        max_ring: int,
    ) -> RelationEncoder:
        """Learn the relations that occur, and the weighted mean and scale of edge features."""
        mean, scale = np.zeros(0), np.ones(0)
        if graphs.edge_vectors is not None:
            n_edges = np.diff(graphs.edge_offsets[graphs.node_offsets])
            mean, scale = weighted_mean_and_scale(graphs.edge_vectors, np.repeat(weight, n_edges))
        encoder = cls(
            distances,
            max_ring,
            EdgeEncoder.fit(graphs) if edge_labels else None,
            np.empty((0, 3), dtype=np.int64),
            graphs.edge_weights is not None,
            mean,
            scale,
        )
        whole, rows = graphs.origin
        members = egonet_members(whole, radius, encoder._told_apart())
        if members.relations is None:
            return encoder
        nodes, _ = take_segments(whole.node_offsets, rows)
        occurring = np.unique(members.relations[take_segments(members.offsets, nodes)[0]])
        kinds = np.unique(encoder._known(whole, members.kinds[occurring]), axis=0)
        kinds = kinds[(kinds != NOTHING).any(axis=1)]
        return cls(**{**_fields(encoder), "kinds": kinds})

    @property
    def relations(self) -> Relations:
        """What is told apart; no relations if all that occur in training are alike."""
        return self._told_apart() if self.n_columns else Relations(edge_weights=self.weighted)

    def _told_apart(self) -> Relations:
        return Relations(
            self.distances,
            self.edges is not None and bool(self.edges.has_labels),
            self.max_ring,
            self.weighted,
            len(self.feature_mean) > 0,
        )

    @property
    def n_columns(self) -> int:
        return len(self.kinds) + len(self.feature_mean)

    @property
    def names(self) -> list[str]:
        """The names of the columns: the kinds of relations, and the features of edges."""
        features = [f"edge feature {i}" for i in range(len(self.feature_mean))]
        return [self._name(*kind) for kind in self.kinds.tolist()] + features

    def _name(self, distance: int, label: int, ring: int) -> str:
        if distance == 0:
            return "center"
        if distance > 1:
            return f"distance {distance}"
        name = "edge"
        if label != NOTHING[1]:
            known = self.edge_labels[label]
            known = known.item() if isinstance(known, np.generic) else known
            name += " without label" if known is None else f" {show(known)}"
        if self.max_ring:
            name += f" in a ring of {ring}" if ring else " outside rings"
        return name

    @property
    def edge_labels(self) -> tuple[Hashable, ...]:
        """The labels of the edges of the training graphs, () if they are not told apart."""
        return self.edges.labels if self.edges is not None and self.edges.has_labels else ()

    def check(self, graphs: GraphSet, handle_unknown: str, owner: str) -> None:
        """Check that edges are of the same kind as those of training, and their labels known."""
        if self.edges is not None:
            self.edges.check(graphs, handle_unknown, owner)
        check_same_edge_weighting(graphs, self.weighted, owner)
        check_same_edge_features(graphs, len(self.feature_mean), owner)

    def check_arrays(self) -> None:
        """Check that what a file has set fits together."""
        flags = (self.distances, self.weighted)
        is_sound = all(type(value) is bool for value in flags)
        is_sound &= type(self.max_ring) is int and self.max_ring >= 0
        is_sound &= self.edges is None or (
            type(self.edges) is EdgeEncoder and type(self.edges.labels) is tuple
        )
        features = (self.feature_mean, self.feature_scale)
        is_sound &= all(type(array) is np.ndarray and array.ndim == 1 for array in features)
        is_sound &= type(self.kinds) is np.ndarray and self.kinds.shape[1:] == (3,)
        if not (is_sound and self.kinds.dtype == np.int64):
            raise ValueError("the relations of members are not described by numbers of their kind")
        if len(self.feature_mean) != len(self.feature_scale):
            raise ValueError("the edge features do not have as many scales as means")
        largest = (np.iinfo(np.int64).max, len(self.edge_labels) - 1, self.max_ring)
        if ((self.kinds < NOTHING) | (self.kinds > largest)).any():
            raise ValueError("there are relations with edge labels or rings that are not described")

    def encode(self, graphs: GraphSet, members: Members) -> NDArray[np.float32]:
        """Return the vectors of all relations of members, of shape (n_relations, n_columns)."""
        x = np.zeros((len(members.kinds), self.n_columns), dtype=np.float32)
        number_of = {tuple(kind): number for number, kind in enumerate(self.kinds.tolist())}
        kinds = map(tuple, self._known(graphs, members.kinds).tolist())
        columns = np.array([number_of.get(kind, len(self.kinds)) for kind in kinds], dtype=np.int64)
        fill_one_hot(x, columns, len(self.kinds))
        if members.vectors.shape[1]:  # not if there are no edges
            features = (members.vectors - self.feature_mean) / self.feature_scale
            # The bound keeps squares within 32 bits. Without an edge there is nothing to tell.
            x[:, len(self.kinds) :] = np.nan_to_num(features.clip(-1e15, 1e15), nan=0)
        return x

    def _known(self, graphs: GraphSet, kinds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return kinds with positions in the labels of training in place of those of graphs."""
        labels = self.edge_labels
        columns = np.append(columns_of(graphs.edge_labels, labels), NOTHING[1])  # -1 is the last
        return np.column_stack([kinds[:, 0], columns[kinds[:, 1]], kinds[:, 2]])


def _fields(encoder: RelationEncoder) -> dict[str, Any]:
    return {field.name: getattr(encoder, field.name) for field in fields(encoder)}


CHECKS[RelationEncoder] = RelationEncoder.check_arrays
