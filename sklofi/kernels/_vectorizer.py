"""What all feature maps share: graphs in, sparse matrices of counts out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklofi._memory import is_too_large
from sklofi._messages import show
from sklofi._storage import SavedEstimator
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set, check_same_labeling
from sklofi.graphs._labels import used_labels
from sklofi.graphs._segments import offsets_of
from sklofi.graphs._warnings import warn_of_training, warn_of_unknown_labels

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
        check_same_labeling(graphs, self.has_labels_, type(self).__name__)
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
    >>> from sklofi.kernels._vectorizer import unary_counts
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
