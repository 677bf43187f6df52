"""A linear machine on counts of colors that tells how sure it is of graphs it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from sklofi._graph_features import GraphEncoder
from sklofi._storage import CHECKS
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._segments import offsets_of
from sklofi.kernels._wl import WLVectorizer

Floats = NDArray[np.float64]
# Rows to learn from, and what is predicted then: other rows, or other graphs.
Split = tuple[NDArray[np.int64], NDArray[np.int64] | GraphSet]

# The regularization is chosen among these, from the strongest to the weakest.
STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)

# Iterations of the optimizer. What has not converged by then is a weakly regularized machine,
# and hardly ever the one that is chosen.
MAX_ITER = 100

# Largest derivative at which the optimizer may stop. Most counts are zero in most graphs, so that
# derivatives are small long before the end.
TOLERANCE = 1e-5


# What errors call the machine, which is a part of an estimator.
OWNER = "the machine on counts"

# Log-odds of a class that no graph has.
ABSENT = -10.0


@dataclass(frozen=True, eq=False)
class LinearCounts:
    """Counts of Weisfeiler-Lehman colors in unary, and a linear map of them to outputs.

    Outputs are what a network would give: logits of classes (multinomial logistic regression),
    of both classes of each label where there are several, or values of standardized targets
    (ridge regression).
    """

    vectorizer: WLVectorizer
    scale: float  # what counts are divided by
    strength: float  # the larger, the weaker the regularization
    coefficients: Floats = field(repr=False)  # (n_features, n_outputs): counts, graph features
    intercepts: Floats = field(repr=False)  # (n_outputs,)
    graph_encoder: GraphEncoder | None = None  # of graph features that stand beside the counts

    @classmethod
    def fit(
        cls,
        vectorizer: WLVectorizer,
        graphs: GraphSet,
        target: NDArray[Any],
        n_outputs: int,
        weight: Floats,
        splits: Sequence[Split],
        loss: Callable[[Floats], float],
        graph_encoder: GraphEncoder | None = None,
    ) -> tuple[Self, Floats]:
        """Fit to all graphs, with the strength that has the least loss on held-out graphs.

        Parameters
        ----------
        vectorizer : WLVectorizer
            The feature map, which is fitted here.

        graphs : GraphSet
            Training graphs.

        target : ndarray of shape (n_graphs,) of int, or (n_graphs, n_targets) of int or float
            Classes from 0 on; several labels, each 0 or 1; or standardized numbers.

        n_outputs : int
            Number of classes, of which some may be missing, of targets, or twice that of labels.

        weight : ndarray of shape (n_graphs,) or (n_graphs, n_targets)
            Weights of the graphs, or of single targets: each one is learned from those graphs
            that have a weight above zero for it, by a machine of its own.

        splits : sequence of (training rows, held-out rows or graphs)
            What is held out, for each machine that is fitted on the way.

        loss : callable
            The loss of the outputs for all held-out graphs, split by split.

        graph_encoder : GraphEncoder, default=None
            The encoder of the features of graphs as a whole, if they are to be learned from.

        Returns
        -------
        counts : LinearCounts
            The machine.
        held_out : ndarray of shape (n_held_out, n_outputs)
            Outputs for all held-out graphs, split by split, by machines that have not seen them.
        """
        features = vectorizer.fit_graphs(graphs)
        # Rows have a norm of about one, so that strengths mean the same for all sets.
        scale = float(np.sqrt(features.power(2).sum(axis=1).mean())) or 1.0
        features = beside_counts(features / scale, graphs, graph_encoder)
        paths = []
        for rows, held_out in splits:
            if isinstance(held_out, GraphSet):
                others = vectorizer.count_graphs(held_out) / scale
                others = beside_counts(others, held_out, graph_encoder)
            else:
                others = features[held_out]
            machines = _fit_path(features[rows], target[rows], n_outputs, weight[rows], STRENGTHS)
            paths.append([others @ machine[0] + machine[1] for machine in machines])
        candidates = [np.concatenate(outputs) for outputs in zip(*paths, strict=True)]
        best = int(np.argmin([loss(outputs) for outputs in candidates]))
        # Along the same path, so that it is as close to its optimum as those that were held out.
        *_, machine = _fit_path(features, target, n_outputs, weight, STRENGTHS[: best + 1])
        counts = cls(vectorizer, scale, STRENGTHS[best], *machine, graph_encoder)
        return counts, candidates[best]

    def outputs(self, graphs: GraphSet) -> Floats:
        """Return the outputs for graphs.

        Parameters
        ----------
        graphs : GraphSet
            Graphs.

        Returns
        -------
        outputs : ndarray of shape (n_graphs, n_outputs)
            Logits, or values of standardized targets.
        """
        counts = self.vectorizer.count_graphs(graphs) / self.scale
        features = beside_counts(counts, graphs, self.graph_encoder)
        outputs: Floats = features @ self.coefficients + self.intercepts
        return outputs

    def outputs_of_features(self, graphs: GraphSet) -> Floats:
        """Return what the features of graphs as a whole add to the outputs.

        Parameters
        ----------
        graphs : GraphSet
            Graphs.

        Returns
        -------
        outputs : ndarray of shape (n_graphs, n_outputs)
            Zeros if there are no such features.
        """
        if self.graph_encoder is None:
            return np.zeros((len(graphs), len(self.intercepts)))
        coefficients = self.coefficients[len(self.coefficients) - self.graph_encoder.n_columns :]
        outputs: Floats = self.graph_encoder.encode(graphs, OWNER) @ coefficients
        return outputs

    def contributions(self, graphs: GraphSet) -> Floats:
        """Share out the outputs for graphs among their nodes.

        What a color adds to the output of a graph is shared equally by the nodes that have it.

        Parameters
        ----------
        graphs : GraphSet
            Graphs.

        Returns
        -------
        contributions : ndarray of shape (n_nodes, n_outputs)
            They sum to the outputs less the intercepts and what graph features add, graph by
            graph.
        """
        vectorizer, n_outputs = self.vectorizer, len(self.intercepts)
        largest: Any = vectorizer._largest
        graph_of = np.repeat(np.arange(len(graphs)), np.diff(graphs.node_offsets))
        starts = offsets_of(largest)  # of each color, its first coefficient
        sums = np.vstack([np.zeros((1, n_outputs)), np.cumsum(self.coefficients, axis=0)])
        contributions = np.zeros((graphs.n_nodes, n_outputs))
        first = 0  # color of the level
        for colors, n_known in zip(vectorizer.colors(graphs), vectorizer.n_colors_, strict=True):
            nodes = np.flatnonzero(colors < n_known)
            pairs, which, counts = np.unique(
                graph_of[nodes] * np.int64(n_known) + colors[nodes],
                return_inverse=True,
                return_counts=True,
            )
            columns = first + pairs % n_known
            ends = starts[columns] + np.minimum(counts, largest[columns])
            values = (sums[ends] - sums[starts[columns]]) / counts[:, None]
            contributions[nodes] += values[which.reshape(-1)]
            first += int(n_known)
        return contributions / self.scale


def beside_counts(
    counts: sp.csr_array, graphs: GraphSet, encoder: GraphEncoder | None, owner: str = OWNER
) -> sp.csr_array:
    """Return counts with the standardized features of graphs in further columns, if any."""
    if encoder is None:
        return counts
    features = encoder.encode(graphs, owner)
    if encoder.n_columns == 0:
        return counts
    return sp.csr_array(sp.hstack([counts, sp.csr_array(features)], format="csr"))


def _fit_path(
    features: sp.csr_array,
    target: NDArray[Any],
    n_outputs: int,
    weight: Floats,
    strengths: Sequence[float],
) -> Iterator[tuple[Floats, Floats]]:
    """Yield coefficients and intercepts for one strength after the other."""
    features, column_of, share = _merge_equal_columns(features)
    is_label = target.ndim == 2 and target.dtype.kind in "iu"
    if is_label or weight.ndim == 2:
        columns = _fit_columns(features, target, n_outputs // target.shape[1], weight, strengths)
    else:
        columns = _fit_machines(features, target, n_outputs, weight, strengths)
    for coefficients, intercepts in columns:
        yield coefficients[column_of] * share[:, None], intercepts


def _fit_columns(
    features: sp.csr_array,
    target: NDArray[Any],
    n_outputs: int,
    weight: Floats,
    strengths: Sequence[float],
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the same of several targets, each learned from the graphs of which it is known."""
    paths = []
    for column, values in enumerate(target.T):
        of_column = weight if weight.ndim == 1 else weight[:, column]
        paths.append(_fit_machines(features, values, n_outputs, of_column, strengths))
    for machines in zip(*paths, strict=True):
        coefficients, intercepts = zip(*machines, strict=True)
        yield np.hstack(coefficients), np.concatenate(intercepts)


def _fit_machines(
    features: sp.csr_array,
    target: NDArray[Any],
    n_outputs: int,
    weight: Floats,
    strengths: Sequence[float],
) -> Iterator[tuple[Floats, Floats]]:
    """Yield coefficients and intercepts of one target, or of several without holes.

    Only graphs with a weight above zero are learned from: of a part there may be none.
    """
    if not weight.all():
        rows = np.flatnonzero(weight)
        features, target, weight = features[rows], target[rows], weight[rows]
    is_class = target.dtype.kind in "iu"
    n_features = features.shape[1]
    present = np.unique(target) if is_class else np.arange(n_outputs)
    if len(target) == 0 or (is_class and len(present) == 1):  # there is nothing to tell apart
        intercepts = np.full(n_outputs, 0.0 if len(target) == 0 else ABSENT)
        intercepts[present] = 0.0
        for _ in strengths:
            yield np.zeros((n_features, n_outputs)), intercepts
        return
    machine: Any = Ridge(solver="sparse_cg", tol=1e-6)
    if is_class:
        machine = LogisticRegression(max_iter=MAX_ITER, tol=TOLERANCE, warm_start=True)
    for strength in strengths:
        machine.set_params(**({"C": strength} if is_class else {"alpha": 1 / strength}))
        with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(features, target, sample_weight=weight)
        coefficients = np.atleast_2d(machine.coef_).T
        intercepts = np.atleast_1d(machine.intercept_).copy()
        if is_class and coefficients.shape[1] == 1:  # two classes: log-odds
            coefficients = np.hstack([-coefficients, coefficients]) / 2
            intercepts = np.hstack([-intercepts, intercepts]) / 2
        if coefficients.shape[1] < n_outputs:  # classes that are missing here
            some = (coefficients, intercepts)
            coefficients = np.zeros((n_features, n_outputs))
            intercepts = np.full(n_outputs, some[1].min() + ABSENT)
            coefficients[:, present], intercepts[present] = some
        yield coefficients, intercepts


def _merge_equal_columns(
    features: sp.csr_array,
) -> tuple[sp.csr_array, NDArray[np.int64], Floats]:
    """Merge columns that are equal, as those of colors that one graph alone has.

    Regularized machines are the same: k equal columns with a coefficient each are one column,
    sqrt(k) times as large, whose coefficient is divided among them.

    Returns
    -------
    merged : csr_array of shape (n_graphs, n_merged)
        The distinct columns, scaled.
    column_of : ndarray of shape (n_features,)
        The merged column of each column.
    share : ndarray of shape (n_features,)
        What the coefficient of the merged column is multiplied by.
    """
    columns = features.tocsc()
    # Equal columns have equal sums of random integers, which wrap around; others hardly ever do.
    random = np.random.default_rng(0).integers(2**63, size=features.shape[0], dtype=np.int64)
    entries = random[columns.indices] * (2 * columns.data.view(np.int64) + 1)
    sums = np.concatenate([[0], np.cumsum(entries)])
    keys = sums[columns.indptr[1:]] - sums[columns.indptr[:-1]]
    _, first, column_of, sizes = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    scale = np.sqrt(sizes)
    merged = sp.csr_array(columns[:, first] * scale)
    return merged, column_of, 1 / scale[column_of]


def _check(counts: LinearCounts) -> None:
    """Check that what was read from a file fits together."""
    if not isinstance(counts.graph_encoder, GraphEncoder | None):
        raise TypeError("the features of graphs are not described")
    n_features = counts.vectorizer.n_features_out_
    n_features += 0 if counts.graph_encoder is None else counts.graph_encoder.n_columns
    coefficients, intercepts = counts.coefficients, counts.intercepts
    if (
        type(counts.vectorizer) is not WLVectorizer
        or any(type(array) is not np.ndarray for array in (coefficients, intercepts))
        or any(array.dtype != np.float64 for array in (coefficients, intercepts))
        or coefficients.shape != (n_features, len(intercepts))
    ):
        raise ValueError("the coefficients of counts do not belong to them")
    if not (type(counts.scale) is float and type(counts.strength) is float and counts.scale > 0):
        raise ValueError("the scale of counts is not one")


CHECKS[LinearCounts] = _check
