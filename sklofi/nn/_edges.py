"""Messages along edges with labels and weights, for the networks that read them.

Edges of a kind have one vector, so what a layer makes of vectors is computed once for each kind.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sklofi.nn._flat import FlatGraphs, largest_rows


def edge_inputs(graphs: FlatGraphs, n_edge_features: int) -> tuple[Tensor | None, Tensor | None]:
    """Return the features of each kind of edge and the kind of each edge, if they are read.

    Parameters
    ----------
    graphs : FlatGraphs
        The graphs. Edges without features have the constant one.

    n_edge_features : int
        Width of the features that the network reads; 0 if it reads none.

    Returns
    -------
    features : Tensor of shape (n_kinds, n_edge_features) or None
        Features of each kind of edge.

    kinds : Tensor of shape (n_edges,) or None
        The kind of each edge, a row of `features`.
    """
    if n_edge_features == 0:
        return None, None
    if graphs.edge_features is None or graphs.edge_kinds is None:
        return graphs.x.new_ones(1, 1), torch.zeros_like(graphs.edge_index[0])
    return graphs.edge_features, graphs.edge_kinds


def labeled_messages(x: Tensor, source: Tensor, vectors: Tensor, kinds: Tensor) -> Tensor:
    """Return ReLU(x_u + vector of the edge) for each edge, of shape (n_edges, n_features).

    Parameters
    ----------
    x : Tensor of shape (n_nodes, n_features)
        Vectors of nodes.

    source : Tensor of shape (n_edges,)
        The node that each message comes from.

    vectors : Tensor of shape (n_kinds, n_features)
        A vector for each kind of edge.

    kinds : Tensor of shape (n_edges,)
        The kind of each edge.

    Returns
    -------
    messages : Tensor of shape (n_edges, n_features)
        The messages.
    """
    return torch.relu(x.index_select(0, source) + vectors.index_select(0, kinds))


def sum_messages(
    messages: Tensor, target: Tensor, n_nodes: int, edge_weight: Tensor | None = None
) -> Tensor:
    """Return the sums of the messages to each node, of shape (n_nodes, n_features).

    Parameters
    ----------
    messages : Tensor of shape (n_edges, n_features)
        Messages along edges.

    target : Tensor of shape (n_edges,)
        The node that each message goes to.

    n_nodes : int
        Number of nodes.

    edge_weight : Tensor of shape (n_edges,), default=None
        What each message is multiplied by.

    Returns
    -------
    sums : Tensor of shape (n_nodes, n_features)
        The sums; 0 for a node without messages.
    """
    if edge_weight is not None:
        messages = edge_weight[:, None] * messages
    # Unlike index_add, this keeps no messages for the derivative.
    index = target[:, None].expand_as(messages)
    return messages.new_zeros(n_nodes, messages.shape[1]).scatter_add(0, index, messages)


def average_messages(
    messages: Tensor, target: Tensor, n_nodes: int, edge_weight: Tensor | None = None
) -> Tensor:
    """Return the means of the messages to each node, by weight if edges have weights.

    Parameters
    ----------
    messages, target, n_nodes, edge_weight
        See :func:`sum_messages`.

    Returns
    -------
    means : Tensor of shape (n_nodes, n_features)
        The means; 0 for a node without messages, or with messages of weight 0 only.
    """
    if edge_weight is None:
        edge_weight = messages.new_ones(len(target))
    total = messages.new_zeros(n_nodes).index_add(0, target, edge_weight)
    # Divided first: a large weight beside others is about one, and no product overflows.
    share = edge_weight / torch.where(total == 0, 1, total).index_select(0, target)
    return sum_messages(messages, target, n_nodes, share)


def largest_messages(
    messages: Tensor, target: Tensor, n_nodes: int, edge_weight: Tensor | None = None
) -> Tensor:
    """Return the maxima of the messages to each node, each times its weight.

    Parameters
    ----------
    messages, target, n_nodes, edge_weight
        See :func:`sum_messages`.

    Returns
    -------
    maxima : Tensor of shape (n_nodes, n_features)
        The maxima; 0 for a node without messages.
    """
    if edge_weight is not None:
        messages = edge_weight[:, None] * messages
    return largest_rows(messages, target, n_nodes)


# How messages become one vector of the node that they go to.
AGGREGATE = {"mean": average_messages, "max": largest_messages, "sum": sum_messages}
