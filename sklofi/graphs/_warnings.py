"""Warnings about graphs that can be used, but perhaps not as the user expects."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import show
from sklofi.graphs._edge_attributes import edges_differ
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set, find_reader
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL
from sklofi.graphs._lists import as_list
from sklofi.graphs._networkx import check_graph_list, read_networkx, warn_of_weights
from sklofi.graphs._pyg import read_pyg, warn_of_edge_numbers

# Labels are taken for names if there are at least so many nodes, and if more than this share
# of them has a label of its own.
FEWEST_NAMED_NODES = 50
SHARE_OF_NAMES = 0.8

# Unknown labels are worth a warning if they are in more than this share of the graphs.
SHARE_OF_GRAPHS = 0.1


def warn_of_training(
    X: Any,
    graphs: GraphSet,
    owner: str,
    uses_edge_labels: bool | None,
    uses_features: bool = False,
    uses_edge_weights: bool = False,
    uses_edge_features: bool = False,
    uses_graph_features: bool = False,
) -> None:
    """Warn of what an estimator does not use of training graphs, or may be misled by.

    Parameters
    ----------
    X : list of graphs, or GraphSet
        What the user has passed, with all its attributes.

    graphs : GraphSet
        What was read of it.

    owner : str
        The name of the estimator.

    uses_edge_labels : bool or None
        Whether the estimator uses them; None if it does not use edges at all.

    uses_features : bool, default=False
        Whether the estimator uses continuous node features.

    uses_edge_weights, uses_edge_features : bool, default=False
        Whether the estimator has the parameters `edge_weight` and `edge_features`.

    uses_graph_features : bool, default=False
        Whether the estimator uses features of graphs as a whole.
    """
    if not isinstance(X, GraphSet) and find_reader(X) is not read_networkx:
        if find_reader(X) is read_pyg and uses_edge_labels is False:
            warn_of_edge_numbers(as_list(X), {graphs.edge_weight, graphs.edge_features})
        # As a set that holds labels of edges, too. Its reader has warned of weights.
        X = as_graph_set(X, None, None, DEFAULT_EDGE_LABEL) if uses_edge_labels is False else graphs
    if uses_edge_labels is False:
        _warn_of_unused_edge_labels(X, owner)
    if uses_edge_labels is not None:
        _warn_of_unused_weights(X, graphs, owner, uses_edge_weights)
        if not uses_edge_features:
            _warn_of_unused_edge_features(X if isinstance(X, GraphSet) else graphs, owner)
    if not uses_features and graphs.features is not None:
        alike = "" if graphs.label_ids is not None else "; X has none, so all nodes are alike to it"
        _warn(
            f"{owner} does not use the continuous node features of X (attribute"
            f" {show(graphs.node_features)}), only categorical node labels{alike}."
            " To silence this, pass GraphSet.from_networkx(graphs, node_features=None)."
        )
    if not uses_graph_features:
        _warn_of_unused_graph_features(graphs, owner)
    _warn_of_names(graphs, owner)


def _warn_of_unused_edge_labels(X: Any, owner: str) -> None:
    if isinstance(X, GraphSet):
        ids = X.edge_label_ids
        name, differ = X.edge_label, ids is not None and len(np.unique(ids)) > 1
    else:
        name = DEFAULT_EDGE_LABEL
        differ = edges_differ(check_graph_list(X), name)
    if differ:
        _warn(
            f"{owner} does not use edge labels, but those of X differ (attribute {show(name)})."
            f" Pass edge_label={show(name)} to an estimator that has this parameter, such as LoFI"
            " and FingerprintClassifier, to use them. To silence this, pass"
            " GraphSet.from_networkx(graphs, edge_label=None)."
        )


def _warn_of_unused_weights(X: Any, graphs: GraphSet, owner: str, can_be_read: bool) -> None:
    weights = graphs.edge_weights
    if weights is None and not isinstance(X, GraphSet):  # which was warned of when it was made
        warn_of_weights(check_graph_list(X), [graphs.edge_label], can_be_read=can_be_read)
    if weights is not None and not can_be_read and (weights != weights[:1]).any():
        _warn(
            f"{owner} does not use edge weights, but those of X differ (attribute"
            f" {show(graphs.edge_weight)}): every edge counts the same. To silence this, pass"
            " GraphSet.from_networkx(graphs, edge_weight=None)."
        )


def _warn_of_unused_edge_features(graphs: GraphSet, owner: str) -> None:
    vectors = graphs.edge_vectors
    if vectors is not None and (vectors != vectors[:1]).any():
        _warn(
            f"{owner} does not use the continuous edge features of X, which differ (attribute"
            f" {show(graphs.edge_features)}). To silence this, pass"
            " GraphSet.from_networkx(graphs, edge_features=None)."
        )


def _warn_of_unused_graph_features(graphs: GraphSet, owner: str) -> None:
    vectors = graphs.graph_vectors
    if vectors is not None and (vectors != vectors[:1]).any():
        _warn(
            f"{owner} does not use the graph features of X, which differ (attribute"
            f" {show(graphs.graph_features)}). Networks and machines on counts do, such as LoFI and"
            " FingerprintClassifier. To silence this, pass graphs.with_graph_features(None)."
        )


def _warn_of_names(graphs: GraphSet, owner: str) -> None:
    if graphs.label_ids is None or graphs.n_nodes < FEWEST_NAMED_NODES:
        return
    n_labels = len(np.unique(graphs.label_ids))
    if n_labels > SHARE_OF_NAMES * graphs.n_nodes:
        _warn(
            f"The {graphs.n_nodes:,} nodes of X have {n_labels:,} different labels (attribute"
            f" {show(graphs.node_label)}), so {owner} finds hardly any two nodes alike. Labels are"
            " categories that repeat. If these are names, pass node_label=None, or name another"
            " attribute."
        )


def warn_of_unknown_labels(
    graphs: GraphSet, known: Collection[Hashable], owner: str, consequence: str
) -> None:
    """Warn of node labels that no training graph has, if they make predictions doubtful.

    They do if they are in more than a tenth of the graphs, or on most nodes of one.
    """
    if graphs.label_ids is not None:
        n_nodes = np.diff(graphs.node_offsets)
        message = _describe_unknown(graphs.labels, graphs.label_ids, n_nodes, known)
        if message:
            _warn(f"Node labels {message} {owner} {consequence}.")


def warn_of_unknown_edge_labels(
    graphs: GraphSet, known: Collection[Hashable], owner: str, consequence: str
) -> None:
    """Warn of edge labels that no training graph has, if they make predictions doubtful."""
    if graphs.edge_label_ids is not None:
        n_edges = np.diff(graphs.edge_offsets[graphs.node_offsets])
        message = _describe_unknown(graphs.edge_labels, graphs.edge_label_ids, n_edges, known)
        if message:
            _warn(f"Edge labels {message} {owner} {consequence}.")


def _describe_unknown(
    labels: Sequence[Hashable],
    label_ids: NDArray[np.int32],
    sizes: NDArray[np.int64],
    known: Collection[Hashable],
) -> str:
    """Return which labels are unknown and in how many graphs, or "" if they hardly matter.

    `sizes` says how many of the `label_ids` each graph has.
    """
    known = set(known)
    is_unknown = np.array([label not in known for label in labels], dtype=bool)[label_ids]
    if not is_unknown.any():
        return ""
    graph_of = np.repeat(np.arange(len(sizes)), sizes)
    n_unknown = np.bincount(graph_of[is_unknown], minlength=len(sizes))
    n_graphs = np.count_nonzero(n_unknown)
    if n_graphs <= SHARE_OF_GRAPHS * len(sizes) and not (2 * n_unknown > sizes).any():
        return ""
    names = [show(labels[i]) for i in np.unique(label_ids[is_unknown]).tolist()]
    others = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return (
        f"that no training graph has are in {n_graphs:,} of {len(sizes):,} graphs:"
        f" {', '.join(names[:5])}{others}. Predictions for such graphs are doubtful:"
    )


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=4)
