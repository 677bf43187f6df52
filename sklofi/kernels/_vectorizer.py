"""What all feature maps share: graphs in, sparse matrices of counts out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklofi._molecules import predicts_rows
from sklofi._parameters import ReadsEdgeLabels, flag
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import (
    as_graph_set,
    check_same_edge_labeling,
    check_same_labeling,
    has_edge_labels,
)
from sklofi.graphs._warnings import (
    warn_of_training,
    warn_of_unknown_edge_labels,
    warn_of_unknown_labels,
)
from sklofi.kernels._estimator import GraphEstimator
from sklofi.kernels._labels import (
    edge_label_columns,
    edge_labels_of,
    label_names,
    labels_of,
)
from sklofi.kernels._sparse_counts import column_maxima, unary_counts, with_short_indices


class GraphVectorizer(TransformerMixin, GraphEstimator, auto_wrap_output_keys=None):
    """Base of the feature maps.

    Counts stay a sparse matrix, whatever ``sklearn.set_config(transform_output=...)`` says:
    like `CountVectorizer`, feature maps have no `set_output`.
    """

    normalize: bool = flag(
        """Whether to scale vectors to unit length, which includes what no training graph has.
        A graph with nothing to count stays a vector of zeros.""",
        default=False,
    )

    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "n_features_out_": ("int", "Number of columns."),
        "labels_": ("list", "The labels of the nodes of the training graphs."),
        "has_labels_": ("bool", "Whether the nodes of the training graphs have labels."),
    }
    _set_last = "n_features_out_"
    _is_sparse = True

    # None if that is no question, because edges are not used.
    uses_edge_labels: ClassVar[bool | None] = False

    def __init_subclass__(cls, auto_wrap_output_keys: None = None, **kwargs: Any) -> None:
        # scikit-learn would make data frames of what a subclass returns unless told not to.
        super().__init_subclass__(auto_wrap_output_keys=auto_wrap_output_keys, **kwargs)

    # The hooks of a feature map.

    @abstractmethod
    def _learn(self, graphs: GraphSet) -> sp.csr_array:
        """Make a vocabulary of the training graphs, and return their counts."""

    @abstractmethod
    def _count(self, graphs: GraphSet) -> sp.csr_array:
        """Return the counts of graphs: the vocabulary first, everything else in further columns."""

    @abstractmethod
    def _names(self) -> list[str]:
        """Return the names of what is in the vocabulary."""

    @property
    def _writes_unary(self) -> bool:
        """Whether counts become ones."""
        return False

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
            A row for each graph.
        """
        with self._fitted_or_not_at_all():
            X = self._read_if_molecules(X)
            graphs = self._read(X, is_training=True)
            warn_of_training(X, graphs, type(self).__name__, self.uses_edge_labels)
            return self.fit_graphs(graphs)

    def fit_graphs(self, graphs: GraphSet) -> sp.csr_array:
        """Do the same as :meth:`fit_transform`, without warnings.

        Parameters
        ----------
        graphs : GraphSet
            Training graphs. The caller has warned the user of what is not used of them.

        Returns
        -------
        counts : scipy.sparse.csr_array of shape (n_graphs, n_features)
            A row for each graph.
        """
        self._validate_params()
        self._forget()
        graphs = self._read(graphs)
        self._remember_molecules(graphs)
        self._learn_labels(graphs)
        counts = self._learn(graphs)
        self._largest = column_maxima(counts) if self._writes_unary else None
        vectors = self._scale(counts, counts.shape[1])
        self.n_features_out_ = vectors.shape[1]
        return vectors

    @predicts_rows
    def transform(self, X: Any) -> sp.csr_array:
        """Count in other graphs what was found in the training graphs.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        counts : scipy.sparse.csr_array of shape (n_graphs, n_features)
            A row for each graph. What no training graph has is not in it, but counts in
            the norm if `normalize` is true.
        """
        check_is_fitted(self)
        graphs = self._read(X)
        self._check_labels(graphs)
        self.warn_of_unknown(graphs)
        return self.count_graphs(graphs)

    def count_graphs(self, graphs: GraphSet) -> sp.csr_array:
        """Do the same as :meth:`transform`, without warnings.

        Parameters
        ----------
        graphs : GraphSet
            Graphs.

        Returns
        -------
        counts : scipy.sparse.csr_array of shape (n_graphs, n_features)
            A row for each graph.
        """
        graphs = self._read(graphs)
        self._check_labels(graphs)
        n_known = self.n_features_out_ if self._largest is None else len(self._largest)
        return self._scale(self._count(graphs), n_known)

    def warn_of_unknown(self, graphs: GraphSet) -> None:
        """Warn of labels that no training graph has.

        Parameters
        ----------
        graphs : GraphSet
            Other graphs.
        """
        warn_of_unknown_labels(graphs, self.labels_, type(self).__name__, "does not count them")

    def get_feature_names_out(self, input_features: None = None) -> NDArray[np.object_]:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : None
            Ignored: graphs have no feature names.

        Returns
        -------
        names : ndarray of str
            A name for each column.
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:  # the name that scikit-learn looks for
        return int(self.n_features_out_)

    def _check_loaded(self) -> None:
        largest = vars(self).get("_largest")
        if largest is not None and not (
            largest.dtype == np.int64
            and largest.ndim == 1
            and (largest >= 0).all()
            and sum(largest.tolist()) == self.n_features_out_ < 2**63
        ):
            raise ValueError("there are not as many columns as the largest counts take")

    def _read(self, X: Any, *, is_training: bool = False) -> GraphSet:
        """Return X as a set of graphs, with the labels that count."""
        return as_graph_set(X, **self._reading(), is_training=is_training)

    def _learn_labels(self, graphs: GraphSet) -> None:
        """Remember the labels of the training graphs."""
        self.has_labels_ = graphs.label_ids is not None
        self.labels_ = labels_of(graphs)

    def _check_labels(self, graphs: GraphSet) -> None:
        """Check that other graphs have labels where the training graphs have them."""
        check_same_labeling(graphs, self.has_labels_, type(self).__name__)

    def _label_names(self) -> list[str]:
        return label_names(self.labels_) if self.has_labels_ else ["o"]

    def _scale(self, counts: sp.csr_array, n_known: int) -> sp.csr_array:
        """Scale counts, and leave out what is not known, in that order."""
        is_unary = self._largest is not None
        norms = np.sqrt((counts if is_unary else counts.power(2)).sum(axis=1))
        counts = counts[:, :n_known] if n_known < counts.shape[1] else counts
        if is_unary:
            counts = unary_counts(counts, self._largest)
        if self.normalize:
            norms[norms == 0] = 1  # nothing to count, nothing to scale
            counts.data /= np.repeat(norms, np.diff(counts.indptr))
        return with_short_indices(counts)


class UnaryVectorizer(GraphVectorizer):
    """Base of the feature maps with whole numbers, which can be written in unary."""

    unary: bool = flag(
        """Whether to write counts in unary: a count of three becomes three ones, "at least
        1", "at least 2" and "at least 3". The inner product of such vectors is the sum of
        the smaller counts, the histogram intersection.""",
        default=False,
    )

    @property
    def _writes_unary(self) -> bool:
        return self.unary


class EdgeLabelVectorizer(ReadsEdgeLabels, GraphVectorizer):
    """Base of the feature maps that use the labels of edges."""

    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "edge_labels_": ("list", "The labels of the edges of the training graphs."),
        "has_edge_labels_": (
            "bool or None",
            "Whether the edges of the training graphs have labels; None if there are none.",
        ),
    }
    _absent_from_files: ClassVar[dict[str, Any]] = {
        "edge_label": None,
        "edge_labels_": [None],
        "has_edge_labels_": False,
    }
    uses_edge_labels = True

    def warn_of_unknown(self, graphs: GraphSet) -> None:
        """Warn of labels of nodes and of edges that no training graph has.

        Parameters
        ----------
        graphs : GraphSet
            Other graphs.
        """
        super().warn_of_unknown(graphs)
        # Where training had none, labels of edges are refused. Where they are not read, a
        # caller may pass graphs that have them.
        if self.has_edge_labels_ and self.edge_label is not None:
            warn_of_unknown_edge_labels(
                graphs, self.edge_labels_, type(self).__name__, "does not count them"
            )

    def _learn_labels(self, graphs: GraphSet) -> None:
        super()._learn_labels(graphs)
        self.has_edge_labels_ = has_edge_labels(graphs)
        self.edge_labels_ = edge_labels_of(graphs)

    def _check_labels(self, graphs: GraphSet) -> None:
        super()._check_labels(graphs)
        check_same_edge_labeling(graphs, self.has_edge_labels_, type(self).__name__)

    def _edge_kinds(self, graphs: GraphSet) -> tuple[NDArray[np.int32] | int, int]:
        """Return the number of each edge's label, known ones first, and how many there are.

        The number is one for all if edges have no labels.
        """
        if graphs.edge_label_ids is None:
            return 0, max(1, len(self.edge_labels_))  # more where there are no edges here
        return edge_label_columns(graphs, self.edge_labels_)

    def _kind_names(self) -> list[str]:
        """Return what names of features say of each known label."""
        if not self.has_edge_labels_:
            return [""] * len(self.edge_labels_)
        return [f"[{name}]" for name in label_names(self.edge_labels_)]
