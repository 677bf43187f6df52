"""Counts of Weisfeiler-Lehman colors, and of labels alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sklofi._parameters import count
from sklofi.egonets._colors import count_colors, distinct_rows, first_positions
from sklofi.egonets._incidence import neighbor_nodes
from sklofi.egonets._rings import ring_sizes
from sklofi.graphs._graph_set import GraphSet
from sklofi.kernels._labels import label_columns
from sklofi.kernels._sparse_counts import known_first
from sklofi.kernels._vectorizer import EdgeLabelVectorizer, UnaryVectorizer

# Names of features that would be longer are cut short.
LONGEST_NAME = 100


class ColorVectorizer(UnaryVectorizer):
    """Base of the feature maps that count colors of nodes, refined iteration by iteration."""

    @property
    @abstractmethod
    def _depth(self) -> int:
        """Number of iterations."""

    def _edge_kinds(self, graphs: GraphSet) -> tuple[NDArray[np.int32] | int, int]:
        """Return the number of each edge's kind, known ones first, and the number of kinds.

        Here all edges are alike.
        """
        return 0, 1

    def _kind_names(self) -> list[str]:
        """Return, for each known kind of edges, what stands before the neighbors at their ends."""
        return [""]

    def _learn(self, graphs: GraphSet) -> sp.csr_array:
        self._neighborhoods: list[sp.csr_array] = []
        levels = []
        for rows, colors, n_colors in self._color(graphs, [None] * self._depth):
            levels.append(count_colors(colors, graphs.node_offsets, n_colors))
            if rows is not None:
                self._neighborhoods.append(rows[first_positions(colors)])
        self.n_colors_ = np.array([level.shape[1] for level in levels])
        return sp.hstack(levels, format="csr", dtype=np.float64)

    def _count(self, graphs: GraphSet) -> sp.csr_array:
        levels = [
            count_colors(colors, graphs.node_offsets, n_colors)
            for _, colors, n_colors in self._color(graphs, self._neighborhoods)
        ]
        return known_first(levels, self.n_colors_.tolist())

    def colors(self, graphs: GraphSet) -> list[NDArray[np.int32]]:
        """Return the colors of all nodes, iteration by iteration.

        Parameters
        ----------
        graphs : GraphSet
            Graphs, read as the vectorizer reads them.

        Returns
        -------
        colors : list of ndarray of shape (n_nodes,)
            The numbers of colors; those that no training graph has are `n_colors_` or more.
        """
        graphs = self._read(graphs)
        return [colors for _, colors, _ in self._color(graphs, self._neighborhoods)]

    def _color(
        self, graphs: GraphSet, known: Sequence[sp.csr_array | None]
    ) -> Iterator[tuple[sp.csr_array | None, NDArray[np.int32], int]]:
        """Yield, for each iteration, the neighborhoods that colors stand for, the colors of all
        nodes, and the number of colors.

        Known neighborhoods keep their numbers.
        """
        colors, n_colors = label_columns(graphs, self.labels_)
        kinds, n_kinds = self._edge_kinds(graphs)
        yield None, colors, n_colors
        is_fitted = len(known) > 0 and known[0] is not None
        n_known_kinds = len(self._kind_names()) if is_fitted else n_kinds
        for known_rows in known:
            if known_rows is not None:
                known_rows = _with_more_kinds(known_rows, n_known_kinds, n_kinds)
            rows = _colored_neighborhoods(graphs, colors, n_colors, kinds, n_kinds)
            colors, n_colors = _number_rows(rows, known_rows)
            yield rows, colors, n_colors

    def _names(self) -> list[str]:
        roots = shorter = self._label_names()
        kinds = self._kind_names()
        names = [f"0:{name}" for name in roots]
        root_of = np.arange(len(roots))
        for iteration, rows in enumerate(self._neighborhoods, start=1):
            centers, neighbors_of = _parts_of_neighborhoods(rows, len(kinds))
            root_of = root_of[centers]  # a color knows the label that it grew from
            longer = []
            for color, neighbors in enumerate(neighbors_of):
                parts = (
                    f"{f'{n}*' if n > 1 else ''}{kinds[kind]}{shorter[c]}"
                    for c, kind, n in neighbors
                )
                name = f"{roots[root_of[color]]}({','.join(parts)})"
                if len(name) > LONGEST_NAME:
                    n_neighbors = sum(n for _, _, n in neighbors)
                    name = f"{roots[root_of[color]]}({n_neighbors} neighbors)#{color}"
                longer.append(name)
            names += [f"{iteration}:{name}" for name in longer]
            shorter = longer
        return names


class WLVectorizer(EdgeLabelVectorizer, ColorVectorizer):
    """Counts of Weisfeiler-Lehman colors.

    A node's first color is its label. In each iteration its new color is its present
    one together with the multiset of its neighbors' (in a directed graph, of its
    successors'), so that a color of iteration k describes everything within k steps that
    a walker could see. Where edges have labels, it is the multiset of pairs of the
    label of the edge and the color of the neighbor; with `max_ring`, the size of the smallest
    ring through the edge is part of the pair as well, which no walker could see. The inner
    product of two vectors of counts is the Weisfeiler-Lehman subtree kernel [1]_; with
    `unary=True` it is the Weisfeiler-Lehman optimal assignment kernel [2]_.

    Colors are found by hashing and then verified entry by entry, so that two different
    neighborhoods cannot end in the same column. Columns are ordered by iteration, labels
    as they sort and later colors as they turn up.

    See Also
    --------
    GraphKernelSVC : A kernel machine on top of this.
    FingerprintVectorizer : The same colors, with bonds and rings.

    References
    ----------
    .. [1] N. Shervashidze, P. Schweitzer, E. J. van Leeuwen, K. Mehlhorn,
       K. M. Borgwardt, "Weisfeiler-Lehman Graph Kernels", JMLR 12, 2011.

    .. [2] N. M. Kriege, P.-L. Giscard, R. C. Wilson, "On Valid Optimal Assignment Kernels
       and Applications to Graph Classification", NIPS, 2016.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi import WLVectorizer
    >>> water = nx.Graph([(0, 1), (0, 2)])
    >>> nx.set_node_attributes(water, {0: "O", 1: "H", 2: "H"}, "label")
    >>> vectorizer = WLVectorizer(n_iter=1)
    >>> vectorizer.fit_transform([water]).toarray()
    array([[2., 1., 1., 2.]])
    >>> vectorizer.get_feature_names_out().tolist()
    ['0:H', '0:O', '1:O(2*H)', '1:H(O)']
    >>> nx.set_edge_attributes(water, "single", "label")
    >>> vectorizer.fit([water]).get_feature_names_out().tolist()
    ['0:H', '0:O', '1:O(2*[single]H)', '1:H([single]O)']
    """

    n_iter: int = count(
        "Number of iterations. With 0 the labels alone are counted.",
        least=0,
        default=4,
        kw_only=False,
    )
    max_ring: int = count(
        """Neighbors are told apart by the size of the smallest ring through the edge to them,
        up to this size; with 0 they are not.""",
        least=0,
        default=0,
    )

    _absent_from_files: ClassVar[dict[str, Any]] = {
        **EdgeLabelVectorizer._absent_from_files,
        "max_ring": 0,
        "_largest_ring": 0,
    }
    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "n_colors_": (
            "ndarray of shape (n_iter + 1,)",
            "Number of colors of each iteration in the training graphs, labels first.",
        )
    }

    @property
    def _depth(self) -> int:
        return self.n_iter

    def _learn(self, graphs: GraphSet) -> sp.csr_array:
        # No ring is larger than a graph. Those of other graphs may be, and are not looked for.
        self._largest_ring = min(self.max_ring, int(np.diff(graphs.node_offsets).max()))
        return super()._learn(graphs)

    def _edge_kinds(self, graphs: GraphSet) -> tuple[NDArray[np.int32] | int, int]:
        """Return pairs of a label and a ring as numbers, and how many there are."""
        labels, n_labels = super()._edge_kinds(graphs)
        if not self._largest_ring:
            return labels, n_labels
        n_sizes = self._largest_ring + 1  # 0 for edges in no such ring
        sizes = ring_sizes(graphs, self._largest_ring)
        n_kinds = n_labels * n_sizes
        dtype: Any = np.int64 if n_kinds >= 2**31 else np.int32
        kinds: NDArray[Any] = np.asarray(labels, dtype=dtype) * n_sizes + sizes
        return kinds, n_kinds

    def _kind_names(self) -> list[str]:
        rings = ["", *(f"[ring {size}]" for size in range(1, self._largest_ring + 1))]
        return [label + ring for label in super()._kind_names() for ring in rings]


class VertexHistogramVectorizer(ColorVectorizer):
    """Counts of node labels, whatever the edges are.

    The inner product is the vertex histogram kernel, the Weisfeiler-Lehman kernel without
    any iteration.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi.kernels import VertexHistogramVectorizer
    >>> graph = nx.path_graph(3)
    >>> nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a"}, "label")
    >>> VertexHistogramVectorizer().fit_transform([graph]).toarray()
    array([[2., 1.]])
    """

    uses_edge_labels = None  # nor edges, as the name says

    @property
    def _depth(self) -> int:
        return 0

    def _names(self) -> list[str]:
        return self._label_names()


def _colored_neighborhoods(
    graphs: GraphSet,
    colors: NDArray[np.int32],
    n_colors: int,
    kinds: NDArray[np.int32] | int,
    n_kinds: int,
) -> sp.csr_array:
    """Return a row for each node, which describes its neighborhood.

    It has a one in column ``(n_kinds + 1) * c`` if the color of the node is c, and in column
    ``(n_kinds + 1) * c + 1 + k`` the number of its neighbors of the color c at the other end of
    edges of the kind k.
    """
    n_nodes, width = graphs.n_nodes, n_kinds + 1
    if width * n_colors >= 2**31:
        colors = colors.astype(np.int64)
    # Segment v holds node v itself, then its neighbors.
    offsets = graphs.edge_offsets + np.arange(n_nodes + 1)
    entries = np.empty(offsets[-1], dtype=colors.dtype)
    is_neighbor = np.ones(len(entries), dtype=bool)
    is_neighbor[offsets[:-1]] = False
    entries[offsets[:-1]] = width * colors
    entries[is_neighbor] = width * colors[neighbor_nodes(graphs)] + 1 + kinds
    return count_colors(entries, offsets, width * n_colors)


def _with_more_kinds(rows: sp.csr_array, n_kinds: int, n_more: int) -> sp.csr_array:
    """Return the same neighborhoods, numbered as if there were more kinds of edges."""
    if n_kinds == n_more:
        return rows
    colors, parts = np.divmod(rows.indices.astype(np.int64), n_kinds + 1)
    n_columns = rows.shape[1] // (n_kinds + 1) * (n_more + 1)
    indices = colors * (n_more + 1) + parts
    return sp.csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], n_columns))


def _number_rows(
    rows: sp.csr_array, known: sp.csr_array | None = None
) -> tuple[NDArray[np.int32], int]:
    """Return a number for each row, the same for equal rows, and how many numbers there are.

    Known rows come first; the others are numbered in the order in which they turn up.
    """
    n_known = 0
    if known is not None:
        n_known = known.shape[0]
        known = sp.csr_array(
            (known.data, known.indices, known.indptr), shape=(n_known, rows.shape[1])
        )
        rows = sp.vstack([known, rows], format="csr")
    color_of = distinct_rows(_without_gaps(rows))
    # Known rows come first and are distinct, so the order of turning up is their own.
    order = np.argsort(first_positions(color_of))
    number_of = np.empty(len(order), dtype=np.int32)
    number_of[order] = np.arange(len(order), dtype=np.int32)
    return number_of[color_of[n_known:]], len(order)


def _parts_of_neighborhoods(
    rows: sp.csr_array, n_kinds: int
) -> tuple[NDArray[np.int64], Iterator[list[tuple[int, int, int]]]]:
    """Return the color of the center of each neighborhood, and an iterator over the neighbors.

    It yields, for each row of :func:`_colored_neighborhoods`, the colors of the neighbors, the
    kinds of their edges, and how many there are.
    """
    colors, parts = np.divmod(rows.indices, n_kinds + 1)  # part 0 is the node itself

    def neighbors() -> Iterator[list[tuple[int, int, int]]]:
        entries = list(zip(colors.tolist(), (parts - 1).tolist(), rows.data.tolist(), strict=True))
        for start, stop in pairwise(rows.indptr.tolist()):
            yield [entry for entry in entries[start:stop] if entry[1] >= 0]

    return colors[parts == 0], neighbors()


def _without_gaps(rows: sp.csr_array) -> sp.csr_array:
    """Return the same rows without empty columns, if most columns are empty.

    Many colors times many kinds of edges are more than there is memory for.
    """
    if rows.shape[1] <= 2 * rows.nnz:
        return rows
    used, indices = np.unique(rows.indices, return_inverse=True)
    return sp.csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], len(used)))
