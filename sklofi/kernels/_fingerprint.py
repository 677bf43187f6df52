"""Molecular fingerprints: counts of neighborhoods, bonds and rings, with all labels."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from sklofi.egonets._rings import edges_once, smallest_rings
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set, check_same_edge_labeling, has_edge_labels
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL
from sklofi.graphs._segments import segments_of
from sklofi.graphs._warnings import warn_of_unknown_edge_labels
from sklofi.kernels._vectorizer import (
    GraphVectorizer,
    count_codes,
    edge_label_columns,
    edge_labels_of,
    label_columns,
    label_names,
)
from sklofi.kernels._wl import WLVectorizer, known_first


class FingerprintVectorizer(WLVectorizer):
    """Counts of neighborhoods, bonds and rings, as a molecular fingerprint holds them.

    Three families of parts are counted, one after the other:

    - circular neighborhoods up to some radius, as in extended-connectivity fingerprints
      [1]_. The identifier of a node is at first its label; in each round it becomes the
      present one together with the multiset of pairs (label of the edge, identifier of
      the neighbor). Identifiers are exact, not hashed into a vector of bits, and two
      neighborhoods of the same nodes both count;
    - bonds: edges by the labels of their ends and their own;
    - rings: edges by the size of the smallest ring that they are part of.

    In a directed graph neighbors are successors, bonds have a direction, and rings are
    directed cycles. A loop is a ring of size 1.

    Parameters
    ----------
    radius : int, default=2
        Number of rounds: neighborhoods hold what is within so many steps. With 2 they
        are those of the fingerprint ECFP4, named by its diameter.

    max_ring : int, default=8
        Size of the largest rings that are counted; with 0 there are none.

    normalize : bool, default=False
        Whether to scale vectors to unit length, parts that are in no training graph
        included.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label; see :class:`WLVectorizer`.

    edge_label : hashable or None, default="label"
        Edge attribute with a categorical label. Under the default name it may be absent,
        then all edges are alike. None ignores labels. For a :class:`GraphSet` it was
        chosen when it was made.

    unary : bool, default=False
        Whether to write counts in unary; see :class:`WLVectorizer`.

    Attributes
    ----------
    n_features_out_ : int
        Number of columns.

    n_colors_ : ndarray of shape (radius + 1,)
        Number of different neighborhoods of each radius in the training graphs.

    bonds_ : ndarray of shape (n_bonds, 4)
        Of each bond the positions of a label in `labels_`, of its own in `edge_labels_`, of
        the other label in `labels_`, and whether it is directed.

    ring_sizes_ : ndarray of shape (n_ring_sizes,)
        The sizes of rings in the training graphs.

    labels_, edge_labels_ : list
        The labels of nodes and of edges in the training graphs.

    has_labels_ : bool
        Whether the nodes of the training graphs have labels.

    has_edge_labels_ : bool or None
        Whether the edges of the training graphs have labels; None if there are no edges.

    See Also
    --------
    FingerprintClassifier : A linear machine on top of this.
    WLVectorizer : Neighborhoods alone, and without the labels of edges.

    References
    ----------
    .. [1] D. Rogers, M. Hahn, "Extended-Connectivity Fingerprints", Journal of Chemical
       Information and Modeling 50(5), 2010.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi.kernels import FingerprintVectorizer
    >>> formaldehyde = nx.Graph()
    >>> formaldehyde.add_nodes_from([(0, {"label": "C"}), (1, {"label": "O"})])
    >>> formaldehyde.add_nodes_from([2, 3], label="H")
    >>> formaldehyde.add_edge(0, 1, label=2)
    >>> formaldehyde.add_edges_from([(0, 2), (0, 3)], label=1)
    >>> vectorizer = FingerprintVectorizer(radius=1)
    >>> counts = vectorizer.fit_transform([formaldehyde]).toarray()[0].astype(int)
    >>> names = vectorizer.get_feature_names_out()
    >>> dict(zip(names.tolist(), counts.tolist()))
    {'0:C': 1, '0:H': 2, '0:O': 1, '1:C(2*[1]H,[2]O)': 1, '1:O([2]C)': 1, '1:H([1]C)': 2,
     'bond:C-[1]-H': 2, 'bond:C-[2]-O': 1}
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "radius": [Interval(Integral, 0, None, closed="left")],
        "max_ring": [Interval(Integral, 0, None, closed="left")],
        "edge_label": "no_validation",
        **GraphVectorizer._parameter_constraints,
    }
    uses_edge_labels = True

    def __init__(
        self,
        radius: int = 2,
        *,
        max_ring: int = 8,
        normalize: bool = False,
        node_label: Hashable | None = DEFAULT_NODE_LABEL,
        edge_label: Hashable | None = DEFAULT_EDGE_LABEL,
        unary: bool = False,
    ) -> None:
        self.radius = radius
        self.max_ring = max_ring
        self.normalize = normalize
        self.node_label = node_label
        self.edge_label = edge_label
        self.unary = unary

    def _check_graphs(self, X: Any, *, is_training: bool = False) -> GraphSet:
        graphs = as_graph_set(X, self.node_label, None, self.edge_label, is_training=is_training)
        if self.edge_label is None and graphs.edge_label_ids is not None:
            graphs = replace(graphs, edge_label_ids=None, edge_labels=())
        return graphs

    def warn_of_unknown(self, graphs: GraphSet) -> None:
        super().warn_of_unknown(graphs)
        if self.has_edge_labels_:  # otherwise labels of edges are refused, or ignored
            warn_of_unknown_edge_labels(
                graphs, self.edge_labels_, type(self).__name__, "does not count them"
            )

    def _learn(self, graphs: GraphSet) -> sp.csr_array:
        self.has_edge_labels_ = has_edge_labels(graphs)
        self.edge_labels_ = edge_labels_of(graphs)
        self._largest_ring = self.max_ring
        neighborhoods = super()._learn(graphs)
        self.bonds_ = np.empty((0, 4), dtype=np.int64)
        bonds, self.bonds_ = self._count_bonds(graphs)
        self.ring_sizes_ = np.empty(0, dtype=np.int64)
        rings, self.ring_sizes_ = self._count_rings(graphs)
        return sp.hstack([neighborhoods, bonds, rings], format="csr")

    def _count(self, graphs: GraphSet) -> sp.csr_array:
        check_same_edge_labeling(graphs, self.has_edge_labels_, type(self).__name__)
        parts = [super()._count(graphs), self._count_bonds(graphs)[0], self._count_rings(graphs)[0]]
        return known_first(
            parts, [int(self.n_colors_.sum()), len(self.bonds_), len(self.ring_sizes_)]
        )

    @property
    def _depth(self) -> int:
        return self.radius

    def _kinds_of_edges(self, graphs: GraphSet) -> tuple[NDArray[np.int32], int]:
        kinds, n_kinds = edge_label_columns(graphs, self.edge_labels_)
        return kinds, max(n_kinds, len(self.edge_labels_))  # fewer where there are no edges

    def _count_bonds(self, graphs: GraphSet) -> tuple[sp.csr_array, NDArray[np.int64]]:
        """How often each graph has each bond: known ones first, then the others."""
        label_of, n_labels = label_columns(graphs, self.labels_)
        kind_of, n_kinds = self._kinds_of_edges(graphs)
        radices = (n_labels, max(n_kinds, 1), n_labels, 2)
        if n_labels**2 * n_kinds >= 2**62:
            raise ValueError(
                f"X has {n_labels:,} distinct node labels and {n_kinds:,} edge labels, too many to"
                " count bonds. Labels are categories; names of nodes are not."
            )
        edges, source, target, is_directed = edges_once(graphs)
        one, other = label_of[source], label_of[target]
        swaps = ~is_directed & (other < one)  # a bond without direction reads both ways
        one, other = np.where(swaps, other, one), np.where(swaps, one, other)
        bonds = np.stack([one, kind_of[edges], other, is_directed]).astype(np.int64)
        counts, codes = count_codes(
            np.asarray(np.ravel_multi_index(tuple(bonds), radices)),
            np.asarray(np.ravel_multi_index(tuple(self.bonds_.T), radices)),
            segments_of(graphs.node_offsets, source),
            len(graphs),
        )
        return counts, np.column_stack(np.unravel_index(codes, radices)).astype(np.int64)

    def _count_rings(self, graphs: GraphSet) -> tuple[sp.csr_array, NDArray[np.int64]]:
        """How many edges of each graph have a smallest ring of each size."""
        source, sizes = smallest_rings(graphs, self._largest_ring)
        graph_of = segments_of(graphs.node_offsets, source)
        return count_codes(sizes, self.ring_sizes_, graph_of, len(graphs))

    def _names(self) -> list[str]:
        labels, kinds = self._label_names(), self._kind_names()
        bonds = [
            f"bond:{labels[one]}{f'-{kinds[kind]}-' if kinds[kind] else '-'}{'>' * arrow}"
            f"{labels[other]}"
            for one, kind, other, arrow in self.bonds_.tolist()
        ]
        if len(set(bonds)) < len(bonds):  # labels that show what looks like a bond
            bonds = [f"{name}#{i}" for i, name in enumerate(bonds)]
        return [*super()._names(), *bonds, *(f"ring:{size}" for size in self.ring_sizes_.tolist())]

    def _kind_names(self) -> list[str]:
        if not self.has_edge_labels_:
            return [""] * len(self.edge_labels_)
        return [f"[{name}]" for name in label_names(self.edge_labels_)]
