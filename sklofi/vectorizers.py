"""Feature maps: graphs in, sparse matrices of counts out.

Each map counts parts of a graph: labels, coloured neighbourhoods, shortest paths, walks.
The inner product of two such vectors is a graph kernel, so a kernel machine is one of
these and a linear machine; see :mod:`sklofi.kernels`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from sklofi.egonets import (
    count_classes,
    distinct_rows,
    first_positions,
    neighbor_nodes,
)
from sklofi.graph_warnings import warn_of_training, warn_of_unknown_labels
from sklofi.graphs import (
    GraphSet,
    as_graph_set,
    check_same_labelling,
    offsets_of,
    used_labels,
)
from sklofi.memory import is_too_large
from sklofi.reading import DEFAULT_NODE_LABEL, show
from sklofi.storage import SavedEstimator

# Names of features that would be longer are cut short.
LONGEST_NAME = 100

# Strings that would be taken for something else if they stood without quotes.
_LOOK_LIKE_VALUES = {"None", "True", "False", "inf", "nan"}

# What counts written in unary take at the peak, for each one; at most 2 ** 31 are possible.
BYTES_PER_ONE = 40
MOST_ONES = 2**31


class GraphVectorizer(  # type: ignore[call-arg]
    SavedEstimator, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Base of the feature maps.

    A subclass gives `_learn`, which makes a vocabulary of the graphs, `_count`, which
    counts what is in the vocabulary in its first columns and everything else in further
    ones, and `_names`.

    Counts stay a sparse matrix, whatever ``sklearn.set_config(transform_output=...)`` says:
    like `CountVectorizer`, feature maps have no `set_output`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "normalize": ["boolean"],
        "node_label": "no_validation",
        "unary": ["boolean"],
    }
    uses_edge_labels: ClassVar[bool | None] = False

    def __init_subclass__(cls, auto_wrap_output_keys: None = None, **kwargs: Any) -> None:
        # scikit-learn would make data frames of what a subclass returns unless told not to.
        super().__init_subclass__(auto_wrap_output_keys=auto_wrap_output_keys, **kwargs)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what there is to count.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> sp.csr_array:
        """Learn what there is to count, and count it.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : None
            Ignored.

        Returns
        -------
        counts : scipy.sparse.csr_array of shape (n_graphs, n_features)
        """
        self.__dict__.pop("n_features_out_", None)  # a fit that fails leaves nothing half-fitted
        graphs = self._check_graphs(X, is_training=True)
        warn_of_training(X, graphs, type(self).__name__, self.uses_edge_labels)
        return self.fit_graphs(graphs)

    def fit_graphs(self, graphs: GraphSet) -> sp.csr_array:
        """As :meth:`fit_transform`, for those who have warned a user of the graphs themselves."""
        self._validate_params()
        graphs = self._check_graphs(graphs)
        self.has_labels_ = graphs.label_ids is not None
        counts = self._learn(graphs)
        self._largest = _column_maxima(counts) if self.unary else None
        vectors = self._finish(counts, counts.shape[1])
        self.n_features_out_ = vectors.shape[1]
        return vectors

    def transform(self, X: Any) -> sp.csr_array:
        """Count in other graphs what was found in the training graphs.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        counts : scipy.sparse.csr_array of shape (n_graphs, n_features)
            What no training graph has is not in it, but counts in the norm if
            `normalize` is true.
        """
        check_is_fitted(self)
        graphs = self._check_graphs(X)
        check_same_labelling(graphs, self.has_labels_, type(self).__name__)
        self.warn_of_unknown(graphs)
        n_known = self.n_features_out_ if self._largest is None else len(self._largest)
        return self._finish(self._count(graphs), n_known)

    def warn_of_unknown(self, graphs: GraphSet) -> None:
        """Say which labels no training graph has, where they matter."""
        warn_of_unknown_labels(graphs, self.labels_, type(self).__name__, "does not count them")

    def get_feature_names_out(self, input_features: None = None) -> NDArray[np.object_]:
        """Names of the columns, as they can be read.

        Parameters
        ----------
        input_features : None
            Ignored: graphs have no feature names.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        names = self._names()
        if self._largest is not None:
            names = [
                f"{name}>={count}"
                for name, most in zip(names, self._largest.tolist(), strict=True)
                for count in range(1, most + 1)
            ]
        return np.asarray(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_out_")

    def _check_loaded(self) -> None:
        largest = vars(self).get("_largest")
        if largest is not None and not (
            largest.dtype == np.int64
            and largest.ndim == 1
            and (largest >= 0).all()
            and sum(largest.tolist()) == self.n_features_out_ < 2**63
        ):
            raise ValueError("there are not as many columns as the largest counts take")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:  # the name that scikit-learn looks for
        return self.n_features_out_

    def _label_names(self) -> list[str]:
        return label_names(self.labels_) if self.has_labels_ else ["o"]

    def _check_graphs(self, X: Any, *, is_training: bool = False) -> GraphSet:
        return as_graph_set(X, self.node_label, is_training=is_training)

    def _finish(self, counts: sp.csr_array, n_known: int) -> sp.csr_array:
        """Scale, and leave out what is not known, in that order."""
        is_unary = self._largest is not None
        norms = np.sqrt((counts if is_unary else counts.power(2)).sum(axis=1))
        counts = counts[:, :n_known] if n_known < counts.shape[1] else counts
        if is_unary:
            counts = unary_counts(counts, self._largest)
        if self.normalize:
            norms[norms == 0] = 1  # nothing to count, nothing to scale
            counts.data /= np.repeat(norms, np.diff(counts.indptr))
        return _with_short_indices(counts)


class WLVectorizer(GraphVectorizer):
    """Counts of Weisfeiler-Lehman colours.

    A node's first colour is its label. In each iteration its new colour is its present
    one together with the multiset of its neighbours' (in a directed graph, of its
    successors'), so that a colour of iteration k describes everything within k steps that
    a walker could see. The inner product of two vectors of counts is the
    Weisfeiler-Lehman subtree kernel [1]_; with `unary=True` it is the Weisfeiler-Lehman
    optimal assignment kernel [2]_.

    Colours are found by hashing and then verified entry by entry, so that two different
    neighbourhoods cannot end in the same column. Columns are ordered by iteration, labels
    as they sort and later colours as they turn up.

    Parameters
    ----------
    n_iter : int, default=4
        Number of iterations. With 0 the labels alone are counted.

    normalize : bool, default=False
        Whether to scale vectors to unit length, colours that are in no training graph
        included.

    node_label : hashable or None, default="label"
        Node attribute with a categorical label. Under the default name it may be absent,
        then all nodes start alike. None ignores labels. For a :class:`GraphSet` it was
        chosen when it was made.

    unary : bool, default=False
        Whether to write counts in unary: three nodes of a colour become three ones, "at
        least 1", "at least 2" and "at least 3". The inner product of such vectors is the
        sum of the smaller counts, the histogram intersection.

    Attributes
    ----------
    n_features_out_ : int
        Number of columns.

    n_colors_ : ndarray of shape (n_iter + 1,)
        Number of colours of each iteration in the training graphs.

    labels_ : list
        The labels of the training graphs, the colours of iteration 0.

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
            levels.append(count_classes(colors, graphs.node_offsets, n_colors))
            if rows is not None:
                self._neighborhoods.append(rows[first_positions(colors)])
        self.n_colors_ = np.array([level.shape[1] for level in levels])
        return sp.hstack(levels, format="csr", dtype=np.float64)

    def _count(self, graphs: GraphSet) -> sp.csr_array:
        levels = [
            count_classes(colors, graphs.node_offsets, n_colors)
            for _, colors, n_colors in self._color(graphs, self._neighborhoods)
        ]
        return known_first(levels, self.n_colors_.tolist())

    def _color(
        self, graphs: GraphSet, known: Sequence[sp.csr_array | None]
    ) -> Iterator[tuple[sp.csr_array | None, NDArray[np.int32], int]]:
        """Yield, for each iteration, the neighbourhoods that colours stand for, the colours
        of all nodes, and the number of colours. Known neighbourhoods keep their numbers."""
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
        """For each known kind of edges, what stands before the neighbours at their ends."""
        return [""]

    def _names(self) -> list[str]:
        roots = shorter = self._label_names()
        kinds = self._kind_names()
        names = [f"0:{name}" for name in roots]
        root_of = np.arange(len(roots))
        for iteration, rows in enumerate(self._neighborhoods, start=1):
            own, others = _parts_of_neighborhoods(rows, len(kinds))
            root_of = root_of[own]  # a colour knows the label that it grew from
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


# Labels and names.


def labels_of(graphs: GraphSet) -> list[Hashable]:
    """The labels that occur; a single None where there are none."""
    return [None] if graphs.label_ids is None else used_labels(graphs.label_ids, graphs.labels)


def edge_labels_of(graphs: GraphSet) -> list[Hashable]:
    """The labels of edges that occur; a single None where there are none."""
    if graphs.edge_label_ids is None:
        return [None]
    return used_labels(graphs.edge_label_ids, graphs.edge_labels)


def label_columns(graphs: GraphSet, known: list[Hashable]) -> tuple[NDArray[np.int32], int]:
    """Of each node the position of its label in a list, or a number beyond its end, a
    different one for each label that is not in it; and the number of numbers."""
    if graphs.label_ids is None:
        return np.zeros(graphs.n_nodes, dtype=np.int32), 1
    return _columns_of(graphs.label_ids, graphs.labels, known)


def edge_label_columns(graphs: GraphSet, known: list[Hashable]) -> tuple[NDArray[np.int32], int]:
    """The same for the labels of edges."""
    if graphs.edge_label_ids is None:
        return np.zeros(len(graphs.neighbors), dtype=np.int32), 1
    return _columns_of(graphs.edge_label_ids, graphs.edge_labels, known)


def _columns_of(
    ids: NDArray[np.int32], labels: Sequence[Hashable], known: list[Hashable]
) -> tuple[NDArray[np.int32], int]:
    column_of = {label: column for column, label in enumerate(known)}
    columns = np.zeros(len(labels), dtype=np.int32)
    for i in np.unique(ids).tolist():
        columns[i] = column_of.setdefault(labels[i], len(column_of))
    return columns[ids], len(column_of)


def label_names(labels: Sequence[Hashable]) -> list[str]:
    """Labels as they can be read, all different."""
    names = [_label_name(label) for label in labels]
    if len(set(names)) < len(names):  # labels of a type that shows nothing of itself
        names = [f"{name}#{i}" for i, name in enumerate(names)]
    return names


def _label_name(label: Hashable) -> str:
    """A label as it can be read, different for "1" and 1, the same in every process."""
    match label:
        case str() if label.isidentifier() and label not in _LOOK_LIKE_VALUES:
            return label
        case tuple():
            return f"({','.join(map(_label_name, label))})"
        case frozenset():
            return f"{{{','.join(sorted(map(_label_name, label)))}}}"
        case _:
            return show(label)


# Colours.


def _colored_neighborhoods(
    graphs: GraphSet,
    colors: NDArray[np.int32],
    n_colors: int,
    kinds: NDArray[np.int32] | int,
    n_kinds: int,
) -> sp.csr_array:
    """A row for each node: a one in column ``(n_kinds + 1) * c`` if its own colour is c, and
    in column ``(n_kinds + 1) * c + 1 + k`` how many neighbours of the colour c it has at the
    other end of edges of the kind k."""
    n_nodes, width = graphs.n_nodes, n_kinds + 1
    if width * n_colors >= 2**31:
        colors = colors.astype(np.int64)
    # Segment v holds node v itself, then its neighbours.
    offsets = graphs.edge_offsets + np.arange(n_nodes + 1)
    entries = np.empty(offsets[-1], dtype=colors.dtype)
    is_neighbor = np.ones(len(entries), dtype=bool)
    is_neighbor[offsets[:-1]] = False
    entries[offsets[:-1]] = width * colors
    entries[is_neighbor] = width * colors[neighbor_nodes(graphs)] + 1 + kinds
    return count_classes(entries, offsets, width * n_colors)


def _with_more_kinds(rows: sp.csr_array, n_kinds: int, n_more: int) -> sp.csr_array:
    """The same neighbourhoods, numbered as if there were more kinds of edges."""
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
    """The own colour of each row of :func:`_colored_neighborhoods`, and the colours of the
    neighbours with the kinds of their edges and their numbers."""
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
    """The same rows without empty columns, if most columns are: many colours times many
    kinds of edges are more than there is memory for."""
    if rows.shape[1] <= 2 * rows.nnz:
        return rows
    used, indices = np.unique(rows.indices, return_inverse=True)
    return sp.csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], len(used)))


def _column_maxima(counts: sp.csr_array) -> NDArray[np.int64]:
    largest = np.zeros(counts.shape[1], dtype=np.int64)
    np.maximum.at(largest, counts.indices, counts.data.astype(np.int64))
    return largest


def _with_short_indices(matrix: sp.csr_array) -> sp.csr_array:
    """With indices of 32 bits if they suffice; liblinear knows no others."""
    if max(matrix.nnz, *matrix.shape) < 2**31:
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def unary_counts(counts: sp.csr_array, largest: NDArray[np.int64] | None = None) -> sp.csr_array:
    """Write counts in unary, so that inner products become histogram intersections.

    Parameters
    ----------
    counts : scipy.sparse.csr_array of shape (n_rows, n_columns)
        Whole numbers, none negative.

    largest : ndarray of shape (n_columns,), default=None
        How many columns each column becomes, by default as many as its largest count.
        Larger counts are cut off.

    Returns
    -------
    ones : scipy.sparse.csr_array of shape (n_rows, largest.sum())

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklofi.vectorizers import unary_counts
    >>> unary_counts(sp.csr_array([[2.0, 1.0], [0.0, 3.0]])).toarray()
    array([[1., 1., 1., 0., 0.],
           [0., 0., 1., 1., 1.]])
    """
    n_all = counts.sum()
    if n_all > MOST_ONES or is_too_large(BYTES_PER_ONE * n_all):
        raise MemoryError(
            f"Counts of {n_all:,.0f} in all are too many to be written in unary, as histogram"
            f" intersection (unary=True) needs them. Use the linear kernel."
        )
    largest = _column_maxima(counts) if largest is None else largest
    offsets = offsets_of(largest)
    n_ones = np.minimum(counts.data.astype(np.int64), largest[counts.indices])
    ends = offsets_of(n_ones)
    columns = np.arange(ends[-1]) + np.repeat(offsets[counts.indices] - ends[:-1], n_ones)
    return sp.csr_array(
        (np.ones(len(columns)), columns, ends[counts.indptr]),
        shape=(counts.shape[0], int(offsets[-1])),
    )


def number_codes(
    codes: NDArray[np.int64], known: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Position of each code among the known ones followed by the others in ascending
    order, and that list."""
    distinct, which = np.unique(codes, return_inverse=True)
    listed = np.concatenate([known, np.setdiff1d(distinct, known)])
    order = np.argsort(listed)
    return order[np.searchsorted(listed, distinct, sorter=order)][which], listed


def count_codes(
    codes: NDArray[np.int64],
    known: NDArray[np.int64],
    graph_of: NDArray[np.int64],
    n_graphs: int,
    n_times: NDArray[np.int64] | None = None,
) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """How often each graph has each code, and the codes: known ones first, then the others.

    A code is in the graph `graph_of`, once or so many times.
    """
    columns, listed = number_codes(codes, known)
    counts = np.ones(len(codes)) if n_times is None else n_times.astype(np.float64)
    shape = (n_graphs, len(listed))
    return sp.coo_array((counts, (graph_of, columns)), shape=shape).tocsr(), listed
