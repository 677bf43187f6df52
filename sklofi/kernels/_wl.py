"""Counts of Weisfeiler-Lehman colors, and of labels alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from sklofi.egonets._colors import count_colors, distinct_rows, first_positions
from sklofi.egonets._incidence import neighbor_nodes
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._labels import DEFAULT_NODE_LABEL
from sklofi.kernels._vectorizer import LONGEST_NAME, GraphVectorizer, label_columns, labels_of


class WLVectorizer(GraphVectorizer):
    """Counts of Weisfeiler-Lehman colors.

    A node's first color is its label. In each iteration its new color is its present
    one together with the multiset of its neighbors' (in a directed graph, of its
    successors'), so that a color of iteration k describes everything within k steps that
    a walker could see. The inner product of two vectors of counts is the
    Weisfeiler-Lehman subtree kernel [1]_; with `unary=True` it is the Weisfeiler-Lehman
    optimal assignment kernel [2]_.

    Colors are found by hashing and then verified entry by entry, so that two different
    neighborhoods cannot end in the same column. Columns are ordered by iteration, labels
    as they sort and later colors as they turn up.

    Parameters
    ----------
    n_iter : int, default=4
        Number of iterations. With 0 the labels alone are counted.

    normalize : bool, default=False
        Whether to scale vectors to unit length, colors that are in no training graph
        included.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label. Under the default name it may be absent,
        then all nodes start alike. None ignores labels. For a :class:`GraphSet` it was
        chosen when it was made.

    unary : bool, default=False
        Whether to write counts in unary: three nodes of a color become three ones, "at
        least 1", "at least 2" and "at least 3". The inner product of such vectors is the
        sum of the smaller counts, the histogram intersection.

    Attributes
    ----------
    n_features_out_ : int
        Number of columns.

    n_colors_ : ndarray of shape (n_iter + 1,)
        Number of colors of each iteration in the training graphs.

    labels_ : list
        The labels of the training graphs, the colors of iteration 0.

    has_labels_ : bool
        Whether the training graphs have labels.

    See Also
    --------
    GraphKernelSVC : A kernel machine on top of this.

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
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        **GraphVectorizer._parameter_constraints,
    }

    def __init__(
        self,
        n_iter: int = 4,
        *,
        normalize: bool = False,
        node_label: Hashable | None = DEFAULT_NODE_LABEL,
        unary: bool = False,
    ) -> None:
        self.n_iter = n_iter
        self.normalize = normalize
        self.node_label = node_label
        self.unary = unary

    def _learn(self, graphs: GraphSet) -> sp.csr_array:
        self.labels_ = labels_of(graphs)
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

    def _color(
        self, graphs: GraphSet, known: Sequence[sp.csr_array | None]
    ) -> Iterator[tuple[sp.csr_array | None, NDArray[np.int32], int]]:
        """Yield, for each iteration, the neighborhoods that colors stand for, the colors
        of all nodes, and the number of colors. Known neighborhoods keep their numbers."""
        colors, n_colors = label_columns(graphs, self.labels_)
        kinds, n_kinds = self._kinds_of_edges(graphs)
        yield None, colors, n_colors
        for known_rows in known:
            if known_rows is not None:
                known_rows = _with_more_kinds(known_rows, len(self._kind_names()), n_kinds)
            rows = _colored_neighborhoods(graphs, colors, n_colors, kinds, n_kinds)
            colors, n_colors = _number_rows(rows, known_rows)
            yield rows, colors, n_colors

    @property
    def _depth(self) -> int:
        return self.n_iter

    def _kinds_of_edges(self, graphs: GraphSet) -> tuple[NDArray[np.int32] | int, int]:
        """Of each edge the number of its kind, known ones first, and the number of kinds.
        Here all edges are alike."""
        return 0, 1

    def _kind_names(self) -> list[str]:
        """For each known kind of edges, what stands before the neighbors at their ends."""
        return [""]

    def _names(self) -> list[str]:
        roots = shorter = self._label_names()
        kinds = self._kind_names()
        names = [f"0:{name}" for name in roots]
        root_of = np.arange(len(roots))
        for iteration, rows in enumerate(self._neighborhoods, start=1):
            own, others = _parts_of_neighborhoods(rows, len(kinds))
            root_of = root_of[own]  # a color knows the label that it grew from
            longer = []
            for color, neighbors in enumerate(others):
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


class VertexHistogramVectorizer(WLVectorizer):
    """Counts of node labels, whatever the edges are.

    The inner product is the vertex histogram kernel, the Weisfeiler-Lehman kernel without
    any iteration.

    Parameters
    ----------
    normalize : bool, default=False
        Whether to scale vectors to unit length, labels that are in no training graph
        included.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label; see :class:`WLVectorizer`.

    unary : bool, default=False
        Whether to write counts in unary; see :class:`WLVectorizer`.

    Attributes
    ----------
    n_features_out_ : int
        Number of columns.

    labels_ : list
        The labels of the training graphs, in the order of the columns.

    has_labels_ : bool
        Whether the training graphs have labels.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi.kernels import VertexHistogramVectorizer
    >>> graph = nx.path_graph(3)
    >>> nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a"}, "label")
    >>> VertexHistogramVectorizer().fit_transform([graph]).toarray()
    array([[2., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = GraphVectorizer._parameter_constraints
    uses_edge_labels = None  # nor edges, as the name says
    n_iter = 0

    def __init__(
        self,
        *,
        normalize: bool = False,
        node_label: Hashable | None = DEFAULT_NODE_LABEL,
        unary: bool = False,
    ) -> None:
        self.normalize = normalize
        self.node_label = node_label
        self.unary = unary

    def _names(self) -> list[str]:
        return self._label_names()


# Colors.


def _colored_neighborhoods(
    graphs: GraphSet,
    colors: NDArray[np.int32],
    n_colors: int,
    kinds: NDArray[np.int32] | int,
    n_kinds: int,
) -> sp.csr_array:
    """A row for each node: a one in column ``(n_kinds + 1) * c`` if its own color is c, and
    in column ``(n_kinds + 1) * c + 1 + k`` how many neighbors of the color c it has at the
    other end of edges of the kind k."""
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
    """The same neighborhoods, numbered as if there were more kinds of edges."""
    if n_kinds == n_more:
        return rows
    colors, parts = np.divmod(rows.indices.astype(np.int64), n_kinds + 1)
    n_columns = rows.shape[1] // (n_kinds + 1) * (n_more + 1)
    indices = colors * (n_more + 1) + parts
    return sp.csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], n_columns))


def _number_rows(
    rows: sp.csr_array, known: sp.csr_array | None = None
) -> tuple[NDArray[np.int32], int]:
    """Numbers of the rows: of equal known rows, or further ones in the order in which
    they turn up, the same for equal rows; and how many numbers there are."""
    n_known = 0
    if known is not None:
        n_known = known.shape[0]
        known = sp.csr_array(
            (known.data, known.indices, known.indptr), shape=(n_known, rows.shape[1])
        )
        rows = sp.vstack([known, rows], format="csr")
    class_of = distinct_rows(_without_gaps(rows))
    # Known rows come first and are distinct, so the order of turning up is their own.
    order = np.argsort(first_positions(class_of))
    number_of = np.empty(len(order), dtype=np.int32)
    number_of[order] = np.arange(len(order), dtype=np.int32)
    return number_of[class_of[n_known:]], len(order)


def _parts_of_neighborhoods(
    rows: sp.csr_array, n_kinds: int
) -> tuple[NDArray[np.int64], Iterator[list[tuple[int, int, int]]]]:
    """The own color of each row of :func:`_colored_neighborhoods`, and the colors of the
    neighbors with the kinds of their edges and their numbers."""
    colors, parts = np.divmod(rows.indices, n_kinds + 1)  # part 0 is the node itself

    def others() -> Iterator[list[tuple[int, int, int]]]:
        entries = list(zip(colors.tolist(), (parts - 1).tolist(), rows.data.tolist(), strict=True))
        for start, stop in pairwise(rows.indptr.tolist()):
            yield [entry for entry in entries[start:stop] if entry[1] >= 0]

    return colors[parts == 0], others()


# Sparse matrices.


def known_first(levels: Sequence[sp.csr_array], n_known: Sequence[int]) -> sp.csr_array:
    """Matrices side by side: the known columns of each, then all others."""
    parts = [
        *(level[:, :n] for level, n in zip(levels, n_known, strict=True)),
        *(level[:, n:] for level, n in zip(levels, n_known, strict=True)),
    ]
    return sp.hstack(parts, format="csr", dtype=np.float64)


def _without_gaps(rows: sp.csr_array) -> sp.csr_array:
    """The same rows without empty columns, if most columns are: many colors times many
    kinds of edges are more than there is memory for."""
    if rows.shape[1] <= 2 * rows.nnz:
        return rows
    used, indices = np.unique(rows.indices, return_inverse=True)
    return sp.csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], len(used)))
