"""What users pass as X, taken by every estimator in the same way."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from sklofi._messages import show
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL
from sklofi.graphs._networkx import check_graph_list


def as_graph_set(
    X: Any,
    node_label: Hashable | None,
    node_features: Hashable | None = None,
    edge_label: Hashable | None = None,
    *,
    is_training: bool = False,
) -> GraphSet:
    """Take whatever a user passes as X; the border that every estimator shares.

    A :class:`GraphSet` keeps its edge labels even if none are asked for: who does not ask
    does not look at them.
    """
    if isinstance(X, GraphSet):
        return _check_graph_set(X, node_label, node_features, edge_label)
    graphs = check_graph_list(X)
    return GraphSet._read(graphs, node_label, node_features, edge_label, is_training)


def _check_graph_set(
    X: GraphSet,
    node_label: Hashable | None,
    node_features: Hashable | None,
    edge_label: Hashable | None,
) -> GraphSet:
    """A GraphSet has made its choice of attributes; see that nobody asks for others."""
    if len(X) == 0:
        raise ValueError("X holds no graphs (0 samples) while a minimum of 1 is required.")
    if node_features is not None and (X.features is None or node_features != X.node_features):
        raise ValueError(
            f"node_features={show(node_features)}, but X is a GraphSet that was made without them."
            f" Make it with GraphSet.from_networkx(graphs, node_features={show(node_features)})."
        )
    if edge_label is not None and edge_label not in (DEFAULT_EDGE_LABEL, X.edge_label):
        raise ValueError(
            f"edge_label={show(edge_label)}, but X is a GraphSet that was made without it."
            f" Make it with GraphSet.from_networkx(graphs, edge_label={show(edge_label)})."
        )
    if node_label is None:
        return X.without_labels()
    if node_label not in (DEFAULT_NODE_LABEL, X.node_label):
        raise ValueError(
            f"node_label={show(node_label)}, but X is a GraphSet with other labels."
            f" Make it with GraphSet.from_networkx(graphs, node_label={show(node_label)})."
        )
    return X


def check_same_labeling(graphs: GraphSet, has_labels: bool, owner: str) -> None:
    """Check that graphs have labels if those that an estimator was fitted on had, or none."""
    if (graphs.label_ids is not None) != has_labels:
        raise _other_labeling("node", has_labels, owner)


def has_edge_labels(graphs: GraphSet) -> bool | None:
    """Whether the edges have labels; None where there are no edges, and so no answer."""
    return graphs.edge_label_ids is not None if len(graphs.neighbors) else None


def check_same_edge_labeling(graphs: GraphSet, had_labels: bool | None, owner: str) -> None:
    """Check that edges have labels if those that an estimator was fitted on had, or none.

    `had_labels` is what :func:`has_edge_labels` said of those.
    """
    has_labels = has_edge_labels(graphs)
    if has_labels is not None and had_labels is not None and has_labels != had_labels:
        raise _other_labeling("edge", had_labels, owner)


def _other_labeling(what: str, had_labels: bool, owner: str) -> ValueError:
    here, there = ("without", "with") if had_labels else ("with", "without")
    return ValueError(
        f"X has graphs {here} {what} labels, but {owner} was fitted on graphs"
        f" {there} {what} labels. Convert both in the same way."
    )
