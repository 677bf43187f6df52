"""How much each node of a graph moves a prediction."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
import torch
from sklearn.base import is_classifier
from sklearn.utils import Bunch, check_scalar
from torch import Tensor

from sklofi.batches import Batch
from sklofi.fast import standardise
from sklofi.graphs import GraphSet, as_graph_set
from sklofi.lofi import BaseLoFI, check_place, fitted_lofi
from sklofi.nn import LoFINetwork

# Numbers in an array of a layer that stays in the cache of a core (2 MiB).
PIECE_SIZE = 2**19


@torch.inference_mode(False)  # it also allows gradients, if the caller has forbidden them
def node_attribution(estimator: Any, X: Any, *, target: Any = None, n_steps: int = 32) -> Bunch:
    r"""Share out the prediction of each graph among its nodes.

    Let every node :math:`u` be there to a degree :math:`p_u` between 0 and 1: it counts
    :math:`p_u` times in each egonet that it is a member of, and in the pooled sum or mean
    (but not where the largest value is pooled). The
    attribution of a node is the integral of the derivative by its presence along the way
    from the empty graph to the graph as it is, on which all nodes appear together:

    .. math::
        a_u = \int_0^1 \frac{\partial f}{\partial p_u} (t, \dots, t) \, dt

    These are integrated gradients [1]_, or the Aumann-Shapley values of a game whose
    players are the nodes. Therefore

    - the attributions of a graph sum to its output less that of the baseline;
    - a node whose presence changes nothing gets 0;
    - nodes that an automorphism of the graph, its labels and its features maps onto each
      other get the same;
    - the attributions of a sum of outputs are the sums of their attributions, up to the
      residuals below.

    How faithful this is beside other methods is in ``benchmarks/RESULTS.md``.

    Parameters
    ----------
    estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
        The fitted estimator.

    X : list of networkx graphs, or GraphSet
        The graphs to explain.

    target : class, int or array-like of shape (n_graphs,), default=None
        Of a classifier, the class whose evidence is explained, one for all graphs or one
        for each; by default the class that is predicted. Of a regressor with several
        outputs, the number of the output; it has to be given.

    n_steps : int, default=32
        Number of points on the way. More are more exact and take longer: by default,
        residuals are a few hundredths of what is explained, and halve with twice as many.

    Returns
    -------
    result : Bunch
        Dictionary-like object, with the attributes

        attributions : list of ndarray of shape (n_nodes,)
            Of each graph one number for each node, in the order of its nodes. Of classes
            the logit of the target is explained, less the mean of the others: of two
            classes these are the log-odds. Regression is explained in units of the target.
        outputs, baselines : ndarray of shape (n_graphs,)
            What is explained, for the graph and for the baseline: the graph without
            nodes. With `pooling` "mean" or "max", which know no empty graphs, all its
            egonets are empty instead.
        residuals : ndarray of shape (n_graphs,)
            What the sum over `n_steps` points missed of the integral. It is contained in
            the attributions, in proportion to their size.
        targets : ndarray of shape (n_graphs,)
            The class or output that was explained.

    References
    ----------
    .. [1] M. Sundararajan, A. Taly, Q. Yan, "Axiomatic Attribution for Deep Networks",
       ICML 2017.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> from sklofi.inspection import node_attribution
    >>> graphs, y, motif_nodes = make_motif_graphs(100, random_state=0, return_motif_nodes=True)
    >>> classifier = LoFIClassifier(max_epochs=30, random_state=0).fit(graphs, y)
    >>> result = node_attribution(classifier, graphs[3:4], target=1)
    >>> int(result.attributions[0].argmax()) in motif_nodes[3]
    True
    """
    estimator = fitted_lofi(estimator)
    check_scalar(n_steps, "n_steps", Integral, min_val=1)
    graphs = as_graph_set(X, estimator.node_label, estimator.node_features)
    module = estimator.module_
    parts = [
        _attribute(module, batch, weight, n_steps)
        for batch, weight in _explained(estimator, graphs, target)
    ]
    attributions, outputs, baselines, residuals, explained = (
        torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True)
    )
    targets = explained
    if is_classifier(estimator):
        targets = estimator.classes_[explained]
    else:
        mean, scale = estimator._target_mean[explained], estimator._target_scale[explained]
        outputs, baselines = mean + scale * outputs, mean + scale * baselines
        residuals = scale * residuals
        attributions = attributions * scale.repeat(np.diff(graphs.node_offsets))
    return Bunch(
        attributions=np.split(attributions, graphs.node_offsets[1:-1]),
        outputs=outputs,
        baselines=baselines,
        residuals=residuals,
        targets=targets,
    )


@torch.inference_mode(False)
def mask_evidence(
    estimator: Any,
    X: Any,
    layer: int = 0,
    mask: int = 0,
    *,
    target: Any = None,
    n_steps: int = 32,
) -> Bunch:
    """What reaches the predictions through one mask, by the labels of nodes.

    The same integral as that of :func:`node_attribution`, but nodes come and go only for
    one mask of one layer, as members of the egonets that it sees.

    Parameters
    ----------
    estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
        The fitted estimator.

    X : list of networkx graphs, or GraphSet
        The graphs whose predictions are explained.

    layer, mask : int, default=0
        Which mask, counted from 0.

    target, n_steps
        As for :func:`node_attribution`.

    Returns
    -------
    result : Bunch
        Dictionary-like object, with the attributes

        attributions : list of ndarray of shape (n_nodes,)
            Of each graph one number for each node, in units of :func:`node_attribution`.
        by_label : dict
            Their mean over all nodes with a label, the largest first; of graphs without
            labels, over all nodes under None.
    """
    estimator = fitted_lofi(estimator)
    check_scalar(n_steps, "n_steps", Integral, min_val=1)
    check_place(estimator, layer, mask)
    graphs = as_graph_set(X, estimator.node_label, estimator.node_features)
    parts = [
        _attribute_through(estimator.module_, batch, weight, n_steps, layer, mask)
        for batch, weight in _explained(estimator, graphs, target)
    ]
    flat, explained = (torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True))
    if not is_classifier(estimator):
        flat = flat * estimator._target_scale[explained].repeat(np.diff(graphs.node_offsets))
    labels: tuple[Hashable, ...] = (None,) if graphs.label_ids is None else graphs.labels
    label_ids = np.zeros(len(flat), int) if graphs.label_ids is None else graphs.label_ids
    means = {labels[i]: float(flat[label_ids == i].mean()) for i in np.unique(label_ids).tolist()}
    return Bunch(
        attributions=np.split(flat, graphs.node_offsets[1:-1]),
        by_label=dict(sorted(means.items(), key=lambda item: -item[1])),
    )


def _explained(
    estimator: BaseLoFI, graphs: GraphSet, target: Any
) -> Iterator[tuple[Batch, Tensor]]:
    """Batches of nodes, and the weights with which outputs add up to what is explained."""
    module = estimator.module_
    columns = _columns(estimator, target, len(graphs))
    max_rows = PIECE_SIZE // module.layers[0].histogram.numel()
    first = 0  # graph of the batch
    for batch in estimator._node_batches(graphs, max_rows=max_rows, gradients=True):
        if columns is None:
            with torch.no_grad():
                some = module(batch.x, batch.egonets, batch.graphs).argmax(dim=1)
        else:
            some = columns[first : first + len(batch)].to(batch.x.device)
        first += len(batch)
        n_outputs = module.output.out_features
        others = -1 / (n_outputs - 1) if is_classifier(estimator) else 0.0
        weight = batch.x.new_full((len(batch), n_outputs), others)
        weight.scatter_(1, some[:, None], 1)
        yield batch, weight


def _columns(estimator: BaseLoFI, target: Any, n_graphs: int) -> Tensor | None:
    """The output to explain of each graph; None if predictions decide."""
    if is_classifier(estimator):
        if target is None:
            return None
        column_of = {label: i for i, label in enumerate(estimator.classes_.tolist())}
        choices: dict[Hashable, int] = column_of
        what = f"the classes {list(column_of)}"
    else:
        n_outputs = len(estimator._target_mean)
        if target is None:
            if n_outputs > 1:
                raise ValueError(
                    f"The estimator has {n_outputs} outputs; say with target= which of them"
                    f" to explain, from 0 to {n_outputs - 1}."
                )
            target = 0
        choices = {i: i for i in range(n_outputs)}
        what = f"the outputs 0 to {n_outputs - 1}"
    values = np.asarray(target)
    if values.dtype == object and values.ndim == 0:  # a set, for instance
        raise TypeError(f"target has to be one of {what}, or one for each graph, got {target!r}.")
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_graphs):
        raise ValueError(
            f"target has the shape {values.shape}; pass one for all graphs, or one for each"
            f" of the {n_graphs}."
        )
    wanted = np.broadcast_to(values, n_graphs).tolist()
    if unknown := [one for one in wanted if one not in choices]:
        raise ValueError(f"target={unknown[0]!r} is none of {what}.")
    return torch.tensor([choices[one] for one in wanted], device="cpu")


def _attribute(
    module: LoFINetwork, batch: Batch, weight: Tensor, n_steps: int
) -> tuple[Tensor, ...]:
    """Attributions of all nodes; outputs, baselines, residuals and columns of all graphs."""
    node_graph = batch.graphs[0].rows()

    def output(presence: Tensor | None, pooled_presence: Tensor | None) -> Tensor:
        outputs = module.layer_outputs(batch.x, batch.egonets, presence=presence)
        embedding = module.pool(outputs, batch.graphs, pooled_presence)
        return (weight * module.head(embedding)).sum(dim=1)

    def per_graph(values: Tensor) -> Tensor:
        return values.new_zeros(len(batch)).index_add(0, node_graph, values)

    with torch.no_grad():
        none = batch.x.new_zeros(len(batch.x))
        full = output(None, None).double()
        empty = output(none, none if module.pooling == "sum" else None).double()
    attributions = torch.zeros_like(none, dtype=torch.float64)
    for presence in _way(none, n_steps):
        (gradient,) = torch.autograd.grad(output(presence, presence).sum(), presence)
        attributions += gradient / n_steps
    residuals = full - empty - per_graph(attributions)
    sizes = attributions.abs()
    share = residuals / per_graph(sizes).clamp_min(torch.finfo(torch.float64).tiny)
    attributions += share[node_graph] * sizes
    return attributions, full, empty, residuals, weight.argmax(dim=1)


def _attribute_through(
    module: LoFINetwork, batch: Batch, weight: Tensor, n_steps: int, layer: int, mask: int
) -> tuple[Tensor, Tensor]:
    """What reaches the output through one mask, of all nodes; columns of all graphs."""
    between = module._between()
    is_mask = torch.arange(module.node_mean.shape[1], device=batch.x.device) == mask
    attributions = batch.x.new_zeros(len(batch.x), dtype=torch.float64)
    for presence in _way(batch.x.new_zeros(len(batch.x)), n_steps):
        constant = presence.detach()
        through_mask = torch.where(is_mask, presence[:, None], constant[:, None])
        x = batch.x
        outputs: list[Tensor] = []
        for depth, egonets in enumerate(module._per_layer(batch.egonets)):
            if depth > 0:
                x = standardise(outputs[-1], between[depth - 1])
            there = through_mask if depth == layer else constant
            outputs.append(module.layers[depth](x, egonets, there))
        embedding = module.pool(outputs, batch.graphs, constant)
        explained = (weight * module.head(embedding)).sum()
        (gradient,) = torch.autograd.grad(explained, presence)
        attributions += gradient / n_steps
    return attributions, weight.argmax(dim=1)


def _way(none: Tensor, n_steps: int) -> Iterator[Tensor]:
    """Presences of nodes from nothing to all, in the middle of equal steps."""
    for step in range(n_steps):
        yield torch.full_like(none, (step + 0.5) / n_steps).requires_grad_()
