"""How much each node of a graph moves a prediction."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_scalar
from torch import Tensor

from sklofi._lofi import BaseLoFI
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set
from sklofi.inspection._fitted import check_mask, fitted_lofi, fitted_member
from sklofi.inspection._quadrature import Floats, Integrals, Ints, integrate
from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._flat import beside
from sklofi.nn._lofi_autograd import NUMBERS_IN_CACHE, standardize
from sklofi.nn._lofi_network import LoFINetwork
from sklofi.nn._related_egonets import RelatedEgonets
from sklofi.training._egonet_batches import EgonetBatch

# What a member of an egonet takes, twice: column, count, and where it is copied from.
NUMBERS_PER_MEMBER = 8


# Where the derivative at the beginning of the path is taken: at 0 itself, that of a mean over
# nodes that are not there is not defined.
BESIDE_0 = 2.0**-10


# How often the attributions of several networks are computed, with smaller tolerances from one
# time to the next, where they cancel: by this and a factor of two at most.
TRIES, MOST_FINER = 3, 8


# Stands for a tolerance of zero, of graphs to which nothing is attributed.
TINY = np.finfo(np.float64).tiny


@torch.inference_mode(False)  # it also allows gradients, if the caller has forbidden them
def node_attribution(
    estimator: Any, X: Any, *, target: Any = None, tol: float = 0.01, n_steps: int = 4096
) -> Bunch:
    r"""Share out the prediction of each graph among its nodes.

    Let every node :math:`u` be there to a degree :math:`p_u` between 0 and 1: it counts
    :math:`p_u` times in each egonet that it is a member of, and in the pooled sum or mean
    (but not where the largest value is pooled). The
    attribution of a node is the integral of the derivative by its presence along the path
    from the empty graph to the graph as it is, on which all nodes appear together:

    .. math::
        a_u = \int_0^1 \frac{\partial f}{\partial p_u} (t, \dots, t) \, dt

    These are integrated gradients [1]_, or the Aumann-Shapley values of a game whose
    players are the nodes. Therefore, up to the residuals below,

    - the attributions of a graph sum to its output less that of the baseline;
    - a node whose presence changes nothing gets 0;
    - nodes that an automorphism of the graph, its labels and its features maps onto each
      other get the same;
    - the attributions of a sum of outputs are the sums of their attributions.

    The first of these is a check of the integral: nothing is added to the attributions to make
    it hold. Steps of the path are halved until it holds for each of them, see `tol`.

    Of several networks it is the mean. What counts add (see `counts` of the estimator) is linear
    in the number of nodes of a color, and is shared by these nodes; without nodes it is the
    intercept.

    Features of a graph as a whole, such as a temperature, belong to no node. They keep their
    values along the path, also in the baseline: the attributions sum to what the nodes add under
    these conditions. What the features themselves are worth is the question of
    :func:`graph_feature_importance`.

    How faithful this is beside other methods is in ``benchmarks/RESULTS.md``.

    Parameters
    ----------
    estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
        The fitted estimator.

    X : list of networkx graphs, or GraphSet
        The graphs to explain.

    target : class, int or array-like of shape (n_graphs,), default=None
        Of a classifier, the class whose evidence is explained, one for all graphs or one
        for each; by default the class that is predicted. Of a classifier of several labels or
        a regressor with several outputs, the number of the label or output; it has to be given.

    tol : float, default=0.01
        How exact integrals have to be. The residual of a graph may be at most `tol` times the
        sum of the absolute values of its attributions, and so may the root of the summed
        squares of the residuals of single steps, so that none is small by chance. Smaller
        tolerances take longer. What 32-bit numbers cannot tell apart is always tolerated.
        Errors of single nodes can cancel in the sum: they are mostly a few times `tol`, and in
        networks of few masks more.

    n_steps : int, default=4096
        The most steps that the path of a graph is divided into. Where they are not enough, a
        warning says so.

    Returns
    -------
    result : Bunch
        Dictionary-like object, with the attributes

        attributions : list of ndarray of shape (n_nodes,)
            Of each graph one number for each node, in the order of its nodes. Of classes
            the logit of the target is explained, less the mean of the others: of two
            classes these are the log-odds, and so they are of a label. Regression is
            explained in units of the target.
        outputs, baselines : ndarray of shape (n_graphs,)
            What is explained, for the graph and for the baseline: the graph without
            nodes, with the same features of the graph as a whole. With `pooling` "mean" or
            "max", which know no empty graphs, all its egonets are empty instead.
        residuals : ndarray of shape (n_graphs,)
            Outputs less baselines, less the sum of the attributions: what the numerical
            integral misses.
        n_steps : ndarray of shape (n_graphs,)
            The number of steps that were taken.
        targets : ndarray of shape (n_graphs,)
            The class, label or output that was explained.

    Warns
    -----
    ConvergenceWarning
        If the tolerance is not reached for some graphs. Besides too few steps, the reason can be
        that the output jumps along the path: a jump has no derivative, and remains in the
        residual. This is so in networks with several layers of a single mask, because vectors of
        nodes are scaled to unit norm, and those of one number are then 1 or -1.

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
    >>> classifier = LoFIClassifier(max_epochs=10, random_state=0).fit(graphs, y)
    >>> result = node_attribution(classifier, graphs[3:4], target=1)
    >>> int(result.attributions[0].argmax()) in motif_nodes[3]
    True
    """
    found = fitted_lofi(estimator)
    graphs = as_graph_set(X, **found._reading())
    result, (attributions,) = attribute(found, graphs, target, tol, n_steps, NodePresence())
    return Bunch(attributions=attributions, **result)


@torch.inference_mode(False)
def mask_evidence(
    estimator: Any,
    X: Any,
    layer: int = 0,
    mask: int = 0,
    *,
    target: Any = None,
    tol: float = 0.01,
    n_steps: int = 4096,
) -> Bunch:
    """Return what reaches the predictions through one mask, by the labels of nodes.

    The same integral as that of :func:`node_attribution`, along the same steps, but nodes come
    and go only for one mask of one layer, as members of the egonets that it sees.

    Parameters
    ----------
    estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
        The fitted estimator.

    X : list of networkx graphs, or GraphSet
        The graphs whose predictions are explained.

    layer, mask : int, default=0
        Which mask, counted from 0.

    target : class, int or array-like of shape (n_graphs,), default=None
        The class, label or output that is explained; see :func:`node_attribution`.

    tol : float, default=0.01
        How exact integrals have to be; see :func:`node_attribution`.

    n_steps : int, default=4096
        The most steps that the path of a graph is divided into.

    Returns
    -------
    result : Bunch
        Dictionary-like object, with the attributes

        attributions : list of ndarray of shape (n_nodes,)
            Of each graph one number for each node, in units of :func:`node_attribution`.
        by_label : dict
            Their mean over all nodes with a label, the largest first; of graphs without
            labels, over all nodes under None.
        residuals : ndarray of shape (n_graphs,)
            As of :func:`node_attribution`: what is missed of all that is explained, whichever
            way it takes.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> from sklofi.inspection import mask_evidence
    >>> graphs, y = make_motif_graphs(100, random_state=0)
    >>> classifier = LoFIClassifier(max_epochs=5, random_state=0).fit(graphs, y)
    >>> evidence = mask_evidence(classifier, graphs[:5], layer=0, mask=3, target=1)
    >>> sorted(evidence.by_label)
    ['C', 'H', 'N', 'O', 'S']
    """
    found = fitted_member(estimator)
    check_mask(found, layer, mask)
    graphs = as_graph_set(X, **found._reading())
    presence = NodePresenceForMask(layer, mask)
    result, (_, attributions) = attribute(found, graphs, target, tol, n_steps, presence)
    flat = np.concatenate(attributions)
    labels: tuple[Hashable, ...] = (None,) if graphs.label_ids is None else graphs.labels
    label_ids = np.zeros(len(flat), int) if graphs.label_ids is None else graphs.label_ids
    means = {labels[i]: float(flat[label_ids == i].mean()) for i in np.unique(label_ids).tolist()}
    return Bunch(
        attributions=attributions,
        by_label=dict(sorted(means.items(), key=lambda item: -item[1])),
        residuals=result["residuals"],
    )


def explain(module: LoFINetwork, batch: EgonetBatch, weight: Tensor, embedding: Tensor) -> Tensor:
    """Return what is explained of graphs, by their pooled vectors, with their own features."""
    return (weight * module.head(beside(embedding, batch.graph_features))).sum(dim=1)


class Presence(ABC):
    """Parts of graphs that are there to a degree, and how outputs depend on it."""

    def prepare(self, batches: Iterator[EgonetBatch]) -> Iterator[EgonetBatch]:
        """Yield the batches in the form that the other methods take."""
        return batches

    @abstractmethod
    def parts(self, batch: EgonetBatch) -> CountMatrix:
        """Return which parts each graph of a batch has, of shape (n_graphs, n_parts)."""

    @abstractmethod
    def start(
        self, module: LoFINetwork, batch: EgonetBatch, weight: Tensor
    ) -> tuple[Tensor, float]:
        """Return outputs without any part, and the presence, 0 or almost, to derive there."""

    @abstractmethod
    def derive(
        self, module: LoFINetwork, batch: EgonetBatch, weight: Tensor, presence: Tensor
    ) -> tuple[Tensor, Sequence[Tensor]]:
        """Return outputs of graphs, and their derivatives by the presence of their parts.

        Other derivatives that are asked for, one number for each part, may follow.
        """


class NodePresence(Presence):
    """Nodes: how much they count in egonets, and in the pooled sum or mean."""

    def parts(self, batch: EgonetBatch) -> CountMatrix:
        return batch.graphs[0]

    def start(
        self, module: LoFINetwork, batch: EgonetBatch, weight: Tensor
    ) -> tuple[Tensor, float]:
        none = batch.x.new_zeros(len(batch.x))
        outputs = module.layer_outputs(batch.x, batch.egonets, presence=none)
        embedding = module.pool(outputs, batch.graphs, none if module.pooling == "sum" else None)
        return explain(module, batch, weight, embedding), BESIDE_0

    def derive(
        self, module: LoFINetwork, batch: EgonetBatch, weight: Tensor, presence: Tensor
    ) -> tuple[Tensor, Sequence[Tensor]]:
        outputs = module.layer_outputs(batch.x, batch.egonets, presence=presence)
        embedding = module.pool(outputs, batch.graphs, presence)
        explained = explain(module, batch, weight, embedding)
        return explained, torch.autograd.grad(explained.sum(), presence)


class NodePresenceForMask(NodePresence):
    """The same, and besides the presence of nodes for one mask of one layer alone."""

    def __init__(self, layer: int, mask: int) -> None:
        self.layer = layer
        self.mask = mask

    def derive(
        self, module: LoFINetwork, batch: EgonetBatch, weight: Tensor, presence: Tensor
    ) -> tuple[Tensor, Sequence[Tensor]]:
        between = module.node_constants()
        is_mask = torch.arange(module.node_mean.shape[1], device=batch.x.device) == self.mask
        for_mask = presence.detach().clone().requires_grad_()
        x = batch.x
        outputs: list[Tensor] = []
        for depth, egonets in enumerate(module.per_layer(batch.egonets)):
            if depth > 0:
                x = standardize(outputs[-1], between[depth - 1])
            there = presence
            if depth == self.layer:
                there = torch.where(is_mask, for_mask[:, None], presence[:, None])
            outputs.append(module.layers[depth](x, egonets, there))
        embedding = module.pool(outputs, batch.graphs, presence)
        explained = explain(module, batch, weight, embedding)
        others, through_mask = torch.autograd.grad(explained.sum(), (presence, for_mask))
        return explained, (others + through_mask, through_mask)


def attribute(
    estimator: BaseLoFI,
    graphs: GraphSet,
    target: Any,
    tol: float,
    n_steps: int,
    presence: Presence,
) -> tuple[dict[str, NDArray[Any]], list[list[Floats]]]:
    """Return what is known of graphs, and for each derived column the integrals of all parts.

    Of several networks it is the mean, times what is not the share of counts, and for nodes what
    counts add. Attributions of these may cancel, so that a sum is less exact than its parts:
    then the parts are computed again with a smaller tolerance.
    """
    members, is_sum = estimator.members_, _is_sum(estimator)
    if is_sum and target is None and is_classifier(estimator) and estimator._n_labels is None:
        target = estimator.predict(graphs)
    check_scalar(tol, "tol", Real, min_val=0, include_boundaries="neither")
    check_scalar(n_steps, "n_steps", Integral, min_val=1)
    most_steps = n_steps if estimator.counts_share_ < 1 else 1  # where networks say nothing
    tol_of_parts = tol
    is_exact: Any = None
    for tries_left in reversed(range(TRIES)):
        parts = [
            _attribute(member, graphs, target, tol_of_parts, most_steps, presence)
            for member in members
        ]
        result, columns = _mean(estimator, parts) if is_sum else parts[0]
        if estimator.counts_ is not None and isinstance(presence, NodePresence):
            _add_counts(estimator, graphs, result, columns[0])
        is_reached, rounding = result.pop("is_reached"), result.pop("rounding")
        is_exact = is_reached if is_exact is None else is_exact  # by the tolerance of the user
        size = np.array([np.abs(values).sum() for values in columns[0]])
        with np.errstate(under="ignore"):  # also where the user lets numpy raise errors
            allowed = tol * np.maximum(size, TINY) + rounding
        missed = np.abs(result["residuals"])
        cancels = is_sum & is_exact & (missed > allowed)
        if tries_left == 0 or not cancels.any():
            break
        ratio = (missed[cancels] / np.maximum(allowed[cancels], TINY)).max()
        tol_of_parts /= 2 * min(float(ratio), MOST_FINER)
    if (is_bad := ~is_exact | cancels).any():
        _warn_of_residuals(result, is_bad, tol, n_steps, only_in_sum=bool(is_exact.all()))
    return result, columns


def _is_sum(estimator: BaseLoFI) -> bool:
    """Whether attributions are sums of several, which may cancel."""
    return len(estimator.members_) > 1 or estimator.counts_ is not None


def _mean(
    estimator: BaseLoFI, parts: Sequence[tuple[dict[str, NDArray[Any]], list[list[Floats]]]]
) -> tuple[dict[str, NDArray[Any]], list[list[Floats]]]:
    """Return the mean of what single networks give, times what is not the share of counts."""
    results, columns = zip(*parts, strict=True)
    weight = (1 - estimator.counts_share_) / len(parts)
    result = {
        name: weight * np.sum([of_member[name] for of_member in results], axis=0)
        for name in ("outputs", "baselines", "residuals", "rounding")
    }
    result["n_steps"] = np.max([of_member["n_steps"] for of_member in results], axis=0)
    is_reached = np.all([of_member["is_reached"] for of_member in results], axis=0)
    result["is_reached"] = is_reached | (weight == 0)
    result["targets"] = results[0]["targets"]
    return result, [
        [weight * np.sum(values, axis=0) for values in zip(*of_members, strict=True)]
        for of_members in zip(*columns, strict=True)
    ]


def _add_counts(
    estimator: BaseLoFI,
    graphs: GraphSet,
    result: dict[str, NDArray[Any]],
    attributions: list[Floats],
) -> None:
    """Add the share of counts to what is explained and to the attributions of nodes."""
    counts: Any = estimator.counts_
    if is_classifier(estimator):
        weight = _output_weights(estimator, np.searchsorted(estimator.classes_, result["targets"]))
        mean = np.zeros(len(graphs))
    else:
        columns = result["targets"]
        weight = _output_weights(estimator, columns) * estimator._target_scale[columns, None]
        mean = estimator._target_mean[columns]
    share = estimator.counts_share_
    of_nodes = np.split(counts.contributions(graphs), graphs.node_offsets[1:-1])
    for graph, values in enumerate(of_nodes):
        attributions[graph] = attributions[graph] + share * values @ weight[graph]
    baselines = mean + weight @ counts.intercepts
    baselines = baselines + (weight * counts.outputs_of_features(graphs)).sum(axis=1)
    outputs = mean + (weight * counts.outputs(graphs)).sum(axis=1)
    result["baselines"] = result["baselines"] + share * baselines
    result["outputs"] = result["outputs"] + share * outputs


def _attribute(
    estimator: BaseLoFI,
    graphs: GraphSet,
    target: Any,
    tol: float,
    n_steps: int,
    presence: Presence,
) -> tuple[dict[str, NDArray[Any]], list[list[Floats]]]:
    """Return the same for a single network."""
    # Without gradients of its parameters, which take as long.
    module = copy.deepcopy(estimator.module_).requires_grad_(False)
    parts, columns, sizes = [], [], []
    for batch, chosen in _explained(estimator, module, graphs, target, presence):
        weight = torch.from_numpy(_output_weights(estimator, chosen)).to(batch.x)
        parts.append(_integrate(module, batch, weight, presence, tol, n_steps))
        columns.append(chosen)
        sizes.append(presence.parts(batch).offsets.diff().cpu().numpy())
    explained, n_parts = np.concatenate(columns), np.concatenate(sizes)
    baselines, outputs, residuals, rounding, n_taken, is_reached, components = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in (
            *("starts", "ends", "residuals", "rounding"),
            *("n_steps", "is_reached", "components"),
        )
    )
    targets = explained
    if is_classifier(estimator):
        targets = estimator.classes_[explained]
    else:
        mean, scale = estimator._target_mean[explained], estimator._target_scale[explained]
        outputs, baselines = mean + scale * outputs, mean + scale * baselines
        residuals, rounding = scale * residuals, scale * rounding
        components = components * scale.repeat(n_parts)[:, None]
    result = {
        "outputs": outputs,
        "baselines": baselines,
        "residuals": residuals,
        "rounding": rounding,
        "n_steps": n_taken,
        "is_reached": is_reached,
        "targets": targets,
    }
    ends = np.cumsum(n_parts)[:-1]
    return result, [np.split(column, ends) for column in components.T]


def _warn_of_residuals(
    result: dict[str, NDArray[Any]],
    is_bad: NDArray[np.bool_],
    tol: float,
    n_steps: int,
    *,
    only_in_sum: bool,
) -> None:
    bad = np.flatnonzero(is_bad)
    worst = bad[np.abs(result["residuals"][bad]).argmax()]
    difference = result["outputs"][worst] - result["baselines"][worst]
    remedy = f"Allow more steps than n_steps={n_steps}, or a larger tol."
    if only_in_sum:
        remedy = "Those of single networks do, and cancel each other. Pass a smaller tol."
    elif (result["n_steps"][bad] < n_steps).all():
        remedy = "More steps do not help: along the path, the output jumps."
    warnings.warn(
        f"The attributions of {len(bad)} of {len(is_bad)} graphs do not reach tol={tol}. The worst"
        f" are those of graph {worst}, which miss {result['residuals'][worst]:.3g} of its output"
        f" less the baseline, {difference:.3g}. {remedy}",
        ConvergenceWarning,
        stacklevel=5,
    )


def _explained(
    estimator: BaseLoFI,
    module: LoFINetwork,
    graphs: GraphSet,
    target: Any,
    presence: Presence,
) -> Iterator[tuple[EgonetBatch, Ints]]:
    """Yield batches of nodes, and the numbers of the classes, labels or outputs to explain."""
    columns = _columns(estimator, target, len(graphs))
    first = 0  # graph of the batch
    batches = estimator._node_batches(graphs, max_rows=_max_rows(module), gradients=True)
    for batch in presence.prepare(batches):
        if columns is None:
            with torch.no_grad():
                outputs = module(*batch.inputs)
                explained = outputs.argmax(dim=1).cpu().numpy()
        else:
            explained = columns[first : first + len(batch)]
        first += len(batch)
        yield batch, explained


def _output_weights(estimator: BaseLoFI, explained: Ints) -> NDArray[np.float64]:
    """Return the weights with which outputs add up to what is explained of each graph."""
    others = 0.0
    if is_classifier(estimator) and estimator._n_labels is None:
        others = -1 / (estimator._n_outputs - 1)
    weight = np.full((len(explained), estimator._n_outputs), others)
    rows = np.arange(len(explained))
    if estimator._n_labels is None:
        weight[rows, explained] = 1
    else:  # log-odds
        weight[rows, 2 * explained], weight[rows, 2 * explained + 1] = -1, 1
    return weight


def _columns(estimator: BaseLoFI, target: Any, n_graphs: int) -> Ints | None:
    """Return what to explain of each graph, as a number; None if predictions decide."""
    if is_classifier(estimator) and estimator._n_labels is None:
        if target is None:
            return None
        column_of = {label: i for i, label in enumerate(estimator.classes_.tolist())}
        choices: dict[Hashable, int] = column_of
        what = f"the classes {list(column_of)}"
    else:
        n_targets, name = estimator._n_outputs, "outputs"
        if estimator._n_labels is not None:
            n_targets, name = estimator._n_labels, "labels"
        if target is None:
            if n_targets > 1:
                raise ValueError(
                    f"The estimator has {n_targets} {name}; say with target= which of them"
                    f" to explain, from 0 to {n_targets - 1}."
                )
            target = 0
        choices = {i: i for i in range(n_targets)}
        what = f"the {name} 0 to {n_targets - 1}"
    values = np.asarray(target)
    if values.dtype == object and values.ndim == 0:  # a set, for instance
        raise TypeError(f"target has to be one of {what}, or one for each graph, got {target!r}.")
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_graphs):
        raise ValueError(
            f"target has the shape {values.shape}; pass one for all graphs, or one for each"
            f" of the {n_graphs}."
        )
    wanted = np.broadcast_to(values, n_graphs).tolist()
    if unknown := [choice for choice in wanted if choice not in choices]:
        raise ValueError(f"target={unknown[0]!r} is none of {what}.")
    return np.array([choices[choice] for choice in wanted])


def _max_rows(module: LoFINetwork) -> int:
    """Return how many nodes are computed together."""
    return max(1, NUMBERS_IN_CACHE // module.layers[0].histogram.numel())  # type: ignore[operator]


def _integrate(
    module: LoFINetwork,
    batch: EgonetBatch,
    weight: Tensor,
    presence: Presence,
    tol: float,
    n_steps: int,
) -> Integrals:
    """Return integrals along the paths of all graphs of a batch."""
    offsets = batch.graphs[0].offsets.cpu()
    egonets = batch.egonets[0]
    members = egonets.members if isinstance(egonets, RelatedEgonets) else egonets
    n_members = members.offsets.cpu()[offsets].diff().numpy().astype(np.int64)
    n_hidden = module.layers[0].histogram.numel()  # type: ignore[operator]
    # Where members stand in relations to the center, there is a row for each pair.
    n_rows = n_members if isinstance(egonets, RelatedEgonets) else offsets.diff().numpy()
    numbers = n_rows * n_hidden + n_members * NUMBERS_PER_MEMBER
    with torch.no_grad():
        first_outputs, first_place = presence.start(module, batch, weight)
        baselines = first_outputs.double().cpu().numpy()

    def evaluate_piece(graphs: Ints, t: Floats) -> tuple[Floats, Floats]:
        rows = torch.from_numpy(graphs).to(batch.x.device)
        copies = batch.copies(rows)
        place = torch.from_numpy(np.where(t == 0, first_place, t)).to(batch.x)
        there = place[presence.parts(copies).rows()].requires_grad_()
        output, gradients = presence.derive(module, copies, weight[rows], there)
        values = np.where(t == 0, baselines[graphs], output.detach().double().cpu().numpy())
        return values, torch.stack([*gradients], dim=1).cpu().numpy()

    def evaluate(graphs: Ints, t: Floats) -> tuple[Floats, Floats]:
        # In pieces that take as much memory as a batch may, or of about one graph.
        piece = np.cumsum(numbers[graphs]) // max(NUMBERS_IN_CACHE, int(numbers.max()))
        bounds = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(graphs)]
        parts = [evaluate_piece(graphs[i:j], t[i:j]) for i, j in pairwise(bounds)]
        values, gradients = zip(*parts, strict=True)
        return np.concatenate(values), np.concatenate(gradients)

    eps = torch.finfo(batch.x.dtype).eps
    sizes = presence.parts(batch).offsets.diff().cpu().numpy()
    return integrate(evaluate, sizes, tol=tol, n_steps=n_steps, eps=eps)
