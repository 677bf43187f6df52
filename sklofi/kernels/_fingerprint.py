"""Molecular fingerprints: counts of neighborhoods, bonds and rings, with all labels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sklofi._parameters import count
from sklofi.egonets._rings import edges_once, ring_sizes
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import segments_of
from sklofi.kernels._labels import label_columns
from sklofi.kernels._sparse_counts import count_codes, known_first
from sklofi.kernels._vectorizer import EdgeLabelVectorizer
from sklofi.kernels._wl import ColorVectorizer


def neighborhood_radius(*, kw_only: bool = True) -> Any:
    """Declare the radius of the neighborhoods of a fingerprint."""
    return count(
        """Neighborhoods hold what is within so many steps. With 2 they are those of the
        fingerprint ECFP4, named by its diameter.""",
        least=0,
        default=2,
        kw_only=kw_only,
    )


def largest_ring() -> Any:
    """Declare the size of the largest rings of a fingerprint."""
    return count(
        "Size of the largest rings that are counted; with 0 there are none.", least=0, default=8
    )


class FingerprintVectorizer(EdgeLabelVectorizer, ColorVectorizer):
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

    See Also
    --------
    FingerprintClassifier : A linear machine on top of this.
    WLVectorizer : The same neighborhoods, without bonds and rings.

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

    radius: int = neighborhood_radius(kw_only=False)
    max_ring: int = largest_ring()

    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "n_colors_": (
            "ndarray of shape (radius + 1,)",
            "Number of different neighborhoods of each radius in the training graphs.",
        ),
        "bonds_": (
            "ndarray of shape (n_bonds, 4)",
            """Of each bond the positions of a label in `labels_`, of its own in `edge_labels_`,
            of the other label in `labels_`, and whether it is directed.""",
        ),
        "ring_sizes_": (
            "ndarray of shape (n_ring_sizes,)",
            "The sizes of rings in the training graphs.",
        ),
    }

    @property
    def _depth(self) -> int:
        return self.radius

    def _learn(self, graphs: GraphSet) -> sp.csr_array:
        self._largest_ring = self.max_ring
        neighborhoods = super()._learn(graphs)
        self.bonds_ = np.empty((0, 4), dtype=np.int64)
        bonds, self.bonds_ = self._count_bonds(graphs)
        self.ring_sizes_ = np.empty(0, dtype=np.int64)
        rings, self.ring_sizes_ = self._count_rings(graphs)
        return sp.hstack([neighborhoods, bonds, rings], format="csr")

    def _count(self, graphs: GraphSet) -> sp.csr_array:
        parts = [super()._count(graphs), self._count_bonds(graphs)[0], self._count_rings(graphs)[0]]
        return known_first(
            parts, [int(self.n_colors_.sum()), len(self.bonds_), len(self.ring_sizes_)]
        )

    def _count_bonds(self, graphs: GraphSet) -> tuple[sp.csr_array, NDArray[np.int64]]:
        """Return how often each graph has each bond: known bonds first, then the others."""
        label_of, n_labels = label_columns(graphs, self.labels_)
        kind_of, n_kinds = self._edge_kinds(graphs)
        radices = (n_labels, max(n_kinds, 1), n_labels, 2)
        if n_labels**2 * n_kinds >= 2**62:
            raise ValueError(
                f"X has {n_labels:,} distinct node labels and {n_kinds:,} edge labels, too many to"
                " count bonds. Labels are categories; names of nodes are not."
            )
        edges, source, target, is_directed = edges_once(graphs)
        start, end = label_of[source], label_of[target]
        swaps = ~is_directed & (end < start)  # a bond without direction reads both ways
        start, end = np.where(swaps, end, start), np.where(swaps, start, end)
        kind = kind_of if isinstance(kind_of, int) else kind_of[edges]
        bonds = np.stack(np.broadcast_arrays(start, kind, end, is_directed)).astype(np.int64)
        counts, codes = count_codes(
            np.asarray(np.ravel_multi_index(tuple(bonds), radices)),
            np.asarray(np.ravel_multi_index(tuple(self.bonds_.T), radices)),
            segments_of(graphs.node_offsets, source),
            len(graphs),
        )
        return counts, np.column_stack(np.unravel_index(codes, radices)).astype(np.int64)

    def _count_rings(self, graphs: GraphSet) -> tuple[sp.csr_array, NDArray[np.int64]]:
        """Return how many edges of each graph have a smallest ring of each size, and the sizes."""
        edges, source, _, _ = edges_once(graphs)
        sizes = ring_sizes(graphs, self._largest_ring)[edges].astype(np.int64)
        graph_of = segments_of(graphs.node_offsets, source[sizes > 0])
        return count_codes(sizes[sizes > 0], self.ring_sizes_, graph_of, len(graphs))

    def _names(self) -> list[str]:
        labels, kinds = self._label_names(), self._kind_names()
        bonds = [
            f"bond:{labels[start]}{f'-{kinds[kind]}-' if kinds[kind] else '-'}{'>' * arrow}"
            f"{labels[end]}"
            for start, kind, end, arrow in self.bonds_.tolist()
        ]
        if len(set(bonds)) < len(bonds):  # labels that show what looks like a bond
            bonds = [f"{name}#{i}" for i, name in enumerate(bonds)]
        return [*super()._names(), *bonds, *(f"ring:{size}" for size in self.ring_sizes_.tolist())]
