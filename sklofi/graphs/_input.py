"""The border: what users pass as X becomes a GraphSet, in the same way in every estimator.

To take another form of graphs, write a module ``_<form>.py`` with a function ``read_<form>``
that checks its input and returns the fields of a :class:`GraphSet`, as
:mod:`sklofi.graphs._networkx` does. Add the class method ``GraphSet.from_<form>``, and a case
to :func:`as_graph_set` where the type of X says which reader to use.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from sklofi._messages import show
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL
from sklofi.graphs._networkx import check_graph_list, read_networkx


def as_graph_set(
    X: Any,
    node_label: Hashable | None,
    node_features: Hashable | None = None,
    edge_label: Hashable | None = None,
    *,
    is_training: bool = False,
) -> GraphSet:
    """Return the graphs that a user passes as X; every method of an estimator begins with it.

    Parameters
    ----------
    X : list, tuple or 1-D array of networkx graphs, or GraphSet
        What the user has passed.

    node_label, node_features, edge_label : hashable or None
        The attributes that the estimator reads, as in :meth:`GraphSet.from_networkx`.

    is_training : bool, default=False
        Whether to warn of attributes that may have been meant as labels.

    Returns
    -------
    graphs : GraphSet
        The same set if X is one, without node labels if `node_label` is None. It keeps its edge
        labels and features even if the estimator does not read them.
    """
    if isinstance(X, GraphSet):
        return _check_graph_set(X, node_label, node_features, edge_label)
    graphs = check_graph_list(X)
    return GraphSet(**read_networkx(graphs, node_label, node_features, edge_label, is_training))


def _check_graph_set(
    X: GraphSet,
    node_label: Hashable | None,
    node_features: Hashable | None,
    edge_label: Hashable | None,
) -> GraphSet:
    """Check that a GraphSet was made with the attributes that an estimator reads."""
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
    """Check that graphs have node labels exactly if the training graphs had them."""
    if (graphs.label_ids is not None) != has_labels:
        raise _labeling_error("node", has_labels, owner)


def has_edge_labels(graphs: GraphSet) -> bool | None:
    """Return whether the edges have labels; None if there are no edges."""
    return graphs.edge_label_ids is not None if len(graphs.neighbors) else None


def check_same_edge_labeling(graphs: GraphSet, had_labels: bool | None, owner: str) -> None:
    """Check that edges have labels exactly if those of the training graphs had them.

    `had_labels` is :func:`has_edge_labels` of the training graphs.
    """
    has_labels = has_edge_labels(graphs)
    if has_labels is not None and had_labels is not None and has_labels != had_labels:
        raise _labeling_error("edge", had_labels, owner)


def _labeling_error(what: str, had_labels: bool, owner: str) -> ValueError:
    here, there = ("without", "with") if had_labels else ("with", "without")
    return ValueError(
        f"X has graphs {here} {what} labels, but {owner} was fitted on graphs"
        f" {there} {what} labels. Convert both in the same way."
    )
