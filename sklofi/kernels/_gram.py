"""Kernel matrices: of count vectors, and by kernels of other makers."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from sklofi.graphs._cache import fork_safe_lock
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import check_same_labeling
from sklofi.graphs._warnings import warn_of_unknown_labels
from sklofi.kernels._vectorizer import GraphVectorizer, label_columns, labels_of, unary_counts

# Columns in which more than this share of the rows have an entry are multiplied as a dense
# matrix: that many more multiplications are still faster than jumping through memory.
DENSE_SHARE = 0.05


# A set of graphs keeps what kernels make of it up to this size.
KEPT_BYTES = 2**30


# A part of a set of graphs uses the kernel matrix of the whole if it is this share of it.
SHARE_OF_WHOLE = 0.25


# Raise it when features change, so that those of former versions on disk are not used.
EDITION = 1


def linear_kernel(X: sp.csr_array, Y: sp.csr_array | None = None) -> NDArray[np.float64]:
    """Inner products of the rows of sparse matrices, as a dense matrix.

    Of whole numbers it is exact up to 2 ** 53.

    Parameters
    ----------
    X : scipy.sparse matrix of shape (n_x, n_features)
    Y : scipy.sparse matrix of shape (n_y, n_features), default=None
        By default `X`.

    Returns
    -------
    kernel : ndarray of shape (n_x, n_y)

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklofi.kernels import linear_kernel
    >>> linear_kernel(sp.csr_array([[2.0, 0.0], [1.0, 3.0]]))
    array([[ 4.,  2.],
           [ 2., 10.]])
    """
    X = sp.csr_array(X, dtype=np.float64)
    Y = X if Y is None else sp.csr_array(Y, dtype=np.float64)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} columns and Y has {Y.shape[1]}; both have to come from the"
            " same vectorizer."
        )
    shares = [np.bincount(m.indices, minlength=m.shape[1]) / max(m.shape[0], 1) for m in (X, Y)]
    is_frequent = shares[0] * shares[1] > DENSE_SHARE**2
    frequent, rare = np.flatnonzero(is_frequent), np.flatnonzero(~is_frequent)
    dense_x, sparse_x = X[:, frequent].toarray(), X[:, rare]
    # The same object twice lets BLAS compute only half of it.
    dense_y, sparse_y = (dense_x, sparse_x) if Y is X else (Y[:, frequent].toarray(), Y[:, rare])
    kernel = (sparse_x @ sparse_y.T).toarray()
    kernel += dense_x @ dense_y.T
    return kernel


def intersection_kernel(X: sp.csr_array, Y: sp.csr_array | None = None) -> NDArray[np.float64]:
    """Histogram intersections of the rows of sparse matrices of counts.

    The intersection of two histograms is the sum of the smaller entries.

    Parameters
    ----------
    X : scipy.sparse matrix of shape (n_x, n_features)
        Whole numbers, none negative.

    Y : scipy.sparse matrix of shape (n_y, n_features), default=None
        By default `X`.

    Returns
    -------
    kernel : ndarray of shape (n_x, n_y)

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklofi.kernels import intersection_kernel
    >>> intersection_kernel(sp.csr_array([[2.0, 0.0], [1.0, 3.0]]))
    array([[2., 1.],
           [1., 4.]])
    """
    both = sp.csr_array(X, copy=True) if Y is None else sp.vstack([X, Y], format="csr")
    both.sum_duplicates()
    if both.nnz and (both.data.min() < 0 or (both.data % 1).any()):
        raise ValueError("Histogram intersection needs counts: whole numbers, none negative.")
    ones = unary_counts(both)
    if Y is None:
        return linear_kernel(ones)
    return linear_kernel(ones[: X.shape[0]], ones[X.shape[0] :])


def normalize_kernel(
    kernel: NDArray[np.float64],
    self_x: NDArray[np.float64] | None = None,
    self_y: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Scale a kernel to k(x, y) / sqrt(k(x, x) k(y, y)).

    Where a graph has no similarity with itself, and so with none, the value stays 0.

    Parameters
    ----------
    kernel : ndarray of shape (n_x, n_y)
    self_x : ndarray of shape (n_x,), default=None
        k(x, x), by default the diagonal of the kernel.

    self_y : ndarray of shape (n_y,), default=None
        k(y, y), by default the same as `self_x`.

    Returns
    -------
    kernel : ndarray of shape (n_x, n_y)

    Examples
    --------
    >>> import numpy as np
    >>> from sklofi.kernels import normalize_kernel
    >>> normalize_kernel(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1., 0.],
           [0., 0.]])
    """
    self_x = np.diagonal(kernel) if self_x is None else self_x
    self_y = self_x if self_y is None else self_y
    scale_x, scale_y = (np.sqrt(np.where(s > 0, s, 1)) for s in (self_x, self_y))
    return kernel / scale_x[:, None] / scale_y


def fit_kernel(
    kernel: Any, graphs: Any, with_values: bool, edition: int = EDITION
) -> tuple[Any, sp.csr_array | None, NDArray[np.float64] | None]:
    """The fitted kernel, the features if it has them, and kernel values if asked for.

    A function of its arguments alone, so that joblib can keep what it returns.
    """
    if isinstance(kernel, GraphVectorizer):
        features = kernel.fit_graphs(graphs)
        return kernel, features, linear_kernel(features) if with_values else None
    return kernel, None, np.asarray(kernel.fit_graphs(graphs))  # perhaps a data frame


class KernelCache:
    """What was computed last, up to some size; safe to use from several threads."""

    def __init__(self) -> None:
        self._items: dict[Hashable, tuple[Any, int]] = {}  # used longest ago first

    def take(self, key: Hashable) -> Any:
        """What was put under a key, or None."""
        with fork_safe_lock:
            if key not in self._items:
                return None
            item = self._items[key] = self._items.pop(key)
            return item[0]

    def put(self, key: Hashable, item: Any, n_bytes: int) -> Any:
        with fork_safe_lock:
            self._items.pop(key, None)
            self._items[key] = item, n_bytes
            while sum(size for _, size in self._items.values()) > KEPT_BYTES:
                del self._items[next(iter(self._items))]
        return item


class SharedKernel:
    """A kernel on a part of a set of graphs, of which other parts are asked for as well.

    The kernel matrix of the whole set is computed once and kept with the set, and so is
    what was fitted to each part. A kernel with features looks at no other graphs than the
    two that it compares, so a block of the matrix is the same as if it had been computed
    for its graphs alone.
    """

    def __init__(self, kernel: GraphVectorizer, graphs: GraphSet) -> None:
        self.whole, self.rows = graphs.origin
        self.graphs = graphs
        self.kernel = kernel
        self.shelf = kernel_cache(self.whole)
        self.key = (type(kernel), joblib.hash(kernel.get_params()), *_told_apart(self.whole))

    @staticmethod
    def pays(graphs: GraphSet) -> bool:
        """Whether the part is large enough, and the whole small enough."""
        n_whole = len(graphs.origin[0])
        return SHARE_OF_WHOLE * n_whole <= len(graphs) and 8 * n_whole**2 <= KEPT_BYTES

    def fit(self, compute: Callable[..., Any]) -> tuple[GraphVectorizer, sp.csr_array]:
        """The kernel fitted to this part, and the features of its graphs."""
        key = (*self.key, hashlib.blake2b(self.rows.tobytes()).digest())
        fitted = self.shelf.take(key)
        if fitted is None:
            kernel, features, _ = compute(self.kernel, self.graphs, False)
            # A vocabulary is about as large as the features.
            fitted = self.shelf.put(key, (kernel, features), 2 * 12 * features.nnz)
        return copy.copy(fitted[0]), fitted[1]

    def values(self, compute: Callable[..., Any]) -> NDArray[np.float64]:
        """The kernel matrix of this part."""
        matrix = self.shelf.take(self.key)
        if matrix is None:
            matrix = compute(clone(self.kernel), self.whole, True)[2]
            self.shelf.put(self.key, matrix, matrix.nbytes)
        return matrix[np.ix_(self.rows, self.rows)]

    def values_of(self, graphs: GraphSet) -> NDArray[np.float64] | None:
        """Kernel values of another part and this one, if they are there to be taken."""
        whole, rows = graphs.origin
        if kernel_cache(whole) is not self.shelf or _told_apart(whole) != _told_apart(self.whole):
            return None
        matrix = self.shelf.take(self.key)
        return None if matrix is None else matrix[np.ix_(rows, self.rows)]


def _told_apart(whole: GraphSet) -> tuple[Any, ...]:
    """What may differ in sets of the same arrays, which share a shelf: names, and direction."""
    return whole.labels, whole.edge_labels, whole.directed.tobytes()


def kernel_cache(whole: GraphSet) -> KernelCache:
    return whole.tables.get("kernels", KernelCache)


class GraKeLKernel:
    """A kernel with the interface of GraKeL, for the graphs of a GraphSet."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = clone(kernel, safe=False)

    def fit_graphs(self, graphs: GraphSet) -> NDArray[np.float64]:
        self.labels, self.has_labels = labels_of(graphs), graphs.label_ids is not None
        values = self.kernel.fit_transform(self._convert(graphs))
        self.n_graphs = len(graphs)
        return _check_values(values, self.kernel, (len(graphs), self.n_graphs))

    def transform(self, graphs: GraphSet) -> NDArray[np.float64]:
        owner = type(self.kernel).__name__
        check_same_labeling(graphs, self.has_labels, owner)
        warn_of_unknown_labels(graphs, self.labels, owner, "has not seen them")
        values = self.kernel.transform(self._convert(graphs))
        return _check_values(values, self.kernel, (len(graphs), self.n_graphs))

    def _convert(self, graphs: GraphSet) -> list[list[dict[int, Any]]]:
        """Of each graph the neighbors and the labels of its nodes, as dictionaries.

        Labels are numbers, because GraKeL sorts them, with those of training first.
        """
        label_of = label_columns(graphs, self.labels)[0].tolist()
        neighbors, ends = graphs.neighbors.tolist(), graphs.edge_offsets.tolist()
        starts = graphs.node_offsets.tolist()
        return [
            [
                {
                    v - first: dict.fromkeys(neighbors[ends[v] : ends[v + 1]], 1.0)
                    for v in range(first, last)
                },
                dict(enumerate(label_of[first:last])),
            ]
            for first, last in pairwise(starts)
        ]


class FunctionKernel:
    """A function of two lists of graphs."""

    def __init__(self, function: Callable[[list[Any], list[Any]], Any]) -> None:
        self.function = function

    def fit_graphs(self, graphs: list[Any]) -> NDArray[np.float64]:
        self.graphs = graphs
        return self.transform(graphs)

    def transform(self, graphs: list[Any]) -> NDArray[np.float64]:
        values = self.function(graphs, self.graphs)
        return _check_values(values, self.function, (len(graphs), len(self.graphs)))


def _check_values(values: Any, kernel: Any, shape: tuple[int, int]) -> NDArray[np.float64]:
    values = np.asarray(values, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(
            f"The kernel {kernel!r} returned an array of shape {values.shape} for {shape[0]} and"
            f" {shape[1]} graphs; it has to be {shape}."
        )
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0].tolist()
        raise ValueError(
            f"The kernel {kernel!r} returned {values[row, column]} for graph {row} and training"
            f" graph {column}; values have to be finite."
        )
    return values
