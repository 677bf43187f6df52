"""Encoders of nodes and edges as vectors, learned from the training graphs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import show
from sklofi._scaling import weighted_mean_and_scale
from sklofi.egonets._structure import ORDERED_STRUCTURES, check_structure, structure_column
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import check_same_edge_labeling, check_same_labeling, has_edge_labels
from sklofi.graphs._labels import used_labels
from sklofi.graphs._segments import segments_of
from sklofi.graphs._warnings import warn_of_unknown_edge_labels, warn_of_unknown_labels


@dataclass(frozen=True, eq=False)
class NodeEncoder:
    """Encoder of nodes as vectors.

    The vector of a node is the one-hot code of its label, followed by its standardized features
    and by a one-hot code for each structural label (:mod:`sklofi.egonets._structure`). Without
    labels there is a constant column instead. It preserves the magnitude of the features when
    LoFI scales vectors to unit norm.

    A degree or a number of triangles that training did not have is taken as the nearest one that
    it had. Unknown rings and walks are all zeros.
    """

    labels: tuple[Hashable, ...]
    has_labels: bool
    feature_mean: NDArray[np.float64]
    feature_scale: NDArray[np.float64]
    # Files of the first formats have neither.
    structure: tuple[str, ...] = ()
    structure_values: tuple[tuple[int, ...], ...] = ()  # of each name, in ascending order

    @classmethod
    def fit(
        cls,
        graphs: GraphSet,
        weight: NDArray[np.float64],
        structure: str | Sequence[str] | None = None,
    ) -> NodeEncoder:
        """Learn the labels that occur, and the weighted mean and scale of features."""
        names = check_structure(structure)
        values = tuple(tuple(np.unique(structure_column(graphs, name)).tolist()) for name in names)
        n_features = 0 if graphs.features is None else graphs.features.shape[1]
        mean, scale = np.zeros(n_features), np.ones(n_features)
        if graphs.features is not None:
            node_weight = np.repeat(weight, np.diff(graphs.node_offsets))
            mean, scale = weighted_mean_and_scale(graphs.features, node_weight)
        if graphs.label_ids is None:
            return cls((None,), False, mean, scale, names, values)
        labels = tuple(used_labels(graphs.label_ids, graphs.labels))
        return cls(labels, True, mean, scale, names, values)

    @property
    def n_columns(self) -> int:
        n_structure = sum(len(values) for values in self.structure_values)
        return len(self.labels) + len(self.feature_mean) + n_structure

    @property
    def structure_columns(self) -> list[str]:
        """The names of the columns of structural labels, which are the last ones."""
        return [
            f"{name} {value}"
            for name, values in zip(self.structure, self.structure_values, strict=True)
            for value in values
        ]

    def check(self, graphs: GraphSet, handle_unknown: str, owner: str) -> None:
        """Check that graphs can be encoded, and that their labels are known if they must be."""
        self._check_same_kind(graphs, owner)
        if graphs.label_ids is None:
            return
        if handle_unknown == "ignore":
            warn_of_unknown_labels(graphs, self.labels, owner, "takes their nodes as all zeros")
            return
        is_unknown = self.label_columns(graphs)[graphs.label_ids] == len(self.labels)
        if is_unknown.any():
            node = int(np.flatnonzero(is_unknown)[0])
            graph = int(segments_of(graphs.node_offsets, node))
            name = list(graphs[graph])[node - graphs.node_offsets[graph]]
            raise ValueError(
                f"Graph {graph}, node {show(name)}, has the label"
                f" {show(graphs.labels[graphs.label_ids[node]])}, which no training graph"
                ' has. Set handle_unknown="ignore" to take it as an all-zero vector.'
            )

    def label_columns(self, graphs: GraphSet) -> NDArray[np.int64]:
        """Return the column of each label, ``len(self.labels)`` if training did not have it."""
        return columns_of(graphs.labels, self.labels)

    def encode(
        self, graphs: GraphSet, nodes: NDArray[np.int64], label_columns: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the vectors of nodes, of shape (len(nodes), n_columns)."""
        n_labels, n_features = len(self.labels), len(self.feature_mean)
        x = np.zeros((len(nodes), self.n_columns), dtype=np.float32)
        if graphs.label_ids is None:
            x[:, 0] = 1
        else:
            fill_one_hot(x, label_columns[graphs.label_ids[nodes]], n_labels)
        if graphs.features is not None:
            with np.errstate(over="ignore", under="ignore"):
                features = (graphs.features[nodes] - self.feature_mean) / self.feature_scale
                # Far beyond all training graphs; the bound keeps squares within 32 bits.
                x[:, n_labels : n_labels + n_features] = features.clip(-1e15, 1e15)
        first = n_labels + n_features
        for name, values in zip(self.structure, self.structure_values, strict=True):
            columns = _structure_places(name, structure_column(graphs, name)[nodes], values)
            fill_one_hot(x[:, first : first + len(values)], columns, len(values))
            first += len(values)
        return x

    def _check_same_kind(self, graphs: GraphSet, owner: str) -> None:
        check_same_labeling(graphs, self.has_labels, owner)
        n_features = 0 if graphs.features is None else graphs.features.shape[1]
        if n_features != len(self.feature_mean):
            raise ValueError(
                f"X has {n_features} node features, but {owner} is expecting"
                f" {len(self.feature_mean)} node features as input."
            )


@dataclass(frozen=True, eq=False)
class EdgeEncoder:
    """Encoder of edges as vectors: the one-hot codes of their labels.

    Without labels there is a constant column instead. There are few labels and many edges, so an
    edge has the number of its kind, and each kind has a vector.
    """

    labels: tuple[Hashable, ...]
    has_labels: bool | None  # None if the training graphs had no edges

    @classmethod
    def fit(cls, graphs: GraphSet) -> EdgeEncoder:
        """Learn the labels that occur."""
        has_labels = has_edge_labels(graphs)
        if graphs.edge_label_ids is None:
            return cls((None,), has_labels)
        return cls(tuple(used_labels(graphs.edge_label_ids, graphs.edge_labels)), has_labels)

    @property
    def n_columns(self) -> int:
        return max(1, len(self.labels))  # no labels at all if the training graphs have no edges

    def check(self, graphs: GraphSet, handle_unknown: str, owner: str) -> None:
        """Check that edges can be encoded, and that their labels are known if they must be."""
        check_same_edge_labeling(graphs, self.has_labels, owner)
        if graphs.edge_label_ids is None:
            return
        if handle_unknown == "ignore":
            warn_of_unknown_edge_labels(
                graphs, self.labels, owner, "takes their edges as all zeros"
            )
            return
        columns = columns_of(graphs.edge_labels, self.labels)
        is_unknown = columns[graphs.edge_label_ids] == len(self.labels)
        if is_unknown.any():
            edge = int(np.flatnonzero(is_unknown)[0])
            node = int(segments_of(graphs.edge_offsets, edge))
            graph = int(segments_of(graphs.node_offsets, node))
            names = list(graphs[graph])
            ends = names[node - graphs.node_offsets[graph]], names[graphs.neighbors[edge]]
            raise ValueError(
                f"Graph {graph}, edge {show(ends)}, has the label"
                f" {show(graphs.edge_labels[graphs.edge_label_ids[edge]])}, which no training"
                ' graph has. Set handle_unknown="ignore" to take it as an all-zero vector.'
            )

    def features(self) -> NDArray[np.float32]:
        """Return the vectors of all kinds, of shape (n_kinds, n_columns).

        The last kind has the labels that training did not have.
        """
        n_labels = len(self.labels)
        x = np.zeros((n_labels + 1, self.n_columns), dtype=np.float32)
        fill_one_hot(x, np.arange(n_labels + 1), n_labels)
        return x

    def kinds(self, graphs: GraphSet) -> NDArray[np.int64]:
        """Return the kind of each edge."""
        if graphs.edge_label_ids is None:
            return np.zeros(len(graphs.neighbors), dtype=np.int64)
        return columns_of(graphs.edge_labels, self.labels)[graphs.edge_label_ids]


def _structure_places(
    name: str, column: NDArray[np.int32], known: Sequence[int]
) -> NDArray[np.int64]:
    """Return the position of each value among the known ones, their number if it is unknown."""
    values = np.asarray(known)
    after = np.searchsorted(values, column).clip(0, len(values) - 1)
    if name not in ORDERED_STRUCTURES:
        return np.where(values[after] == column, after, len(values))
    before = np.maximum(after - 1, 0)
    is_nearer = np.abs(column - values[before]) <= np.abs(values[after] - column)
    return np.where(is_nearer, before, after)


def columns_of(labels: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return the position of each label among the known labels, their number if it is unknown."""
    position = {label: i for i, label in enumerate(known)}
    return np.array([position.get(label, len(known)) for label in labels], dtype=np.int64)


def fill_one_hot(x: NDArray[np.float32], columns: NDArray[np.int64], n_labels: int) -> None:
    """Set a one in each row whose label is known."""
    known = np.flatnonzero(columns < n_labels)
    x[known, columns[known]] = 1
