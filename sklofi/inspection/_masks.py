"""The masks of a fitted estimator: what they are made of, and which of them matter."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_random_state, check_scalar, get_tags
from sklearn.utils.metaestimators import available_if
from torch import Tensor
from torch.nn import functional as F

from sklofi._lofi import BaseLoFI
from sklofi._multilabel import known_values
from sklofi.egonets._colors import node_colors
from sklofi.graphs._input import as_graph_set, original_graphs
from sklofi.graphs._segments import segments_of
from sklofi.inspection._fitted import check_mask, fitted_member, told_apart
from sklofi.nn._flat import beside
from sklofi.training._egonet_batches import EgonetBatch
from sklofi.training._net import value_losses


def mask_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    layer: int | None = None,
    n_resamples: int = 30,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Measure how much worse predictions get without each mask.

    The output of one mask after the other is set to zero at all nodes, and all that comes
    after it is computed anew. Importances of masks that say the same are small, as each of
    them can stand in for the other.

    Parameters
    ----------
    estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
        The fitted estimator. If it has several networks, the masks are those of the first; pass
        ``estimator.members_[k]`` for another.

    X : list of networkx graphs, or GraphSet
        Graphs, better not those of the training.

    y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
        Their targets; in tables NaN where they are not known.

    scoring : str or callable, default=None
        A score in the words of scikit-learn; its X are numbers of graphs, so that it can
        look at predictions only. By default the loss that the estimator is trained by,
        with its class weights, or for standardized targets.

    layer : int, default=None
        The layer whose masks are switched off, counted from 0; by default all layers.

    n_resamples : int, default=30
        Number of bootstrap samples of the graphs, for the spread; of a classifier, every
        sample has as many graphs of each class.

    random_state : int, RandomState instance or None, default=None
        Determines the bootstrap samples.

    Returns
    -------
    result : Bunch
        Dictionary-like object, with the attributes

        importances_mean, importances_std : ndarray of shape (n_layers, n_masks)
            By how much the loss grows, or the score falls, without each mask: over all
            graphs, and its standard deviation over the bootstrap samples. For one
            layer, of shape (n_masks,).
        importances : ndarray of shape (n_layers, n_masks, n_resamples)
            The same for every bootstrap sample.
        baseline : float
            The loss, or the score, with all masks.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> from sklofi.inspection import mask_importance
    >>> graphs, y = make_motif_graphs(100, random_state=0)
    >>> classifier = LoFIClassifier(n_layers=2, n_members=1, max_epochs=30, random_state=0).fit(
    ...     graphs, y
    ... )
    >>> mask_importance(classifier, graphs, y, random_state=0).importances_mean.shape
    (2, 16)
    """
    estimator = fitted_member(estimator)
    module = estimator.module_
    check_scalar(n_resamples, "n_resamples", Integral, min_val=1)
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise TypeError(f"scoring has to be one score, a str or a callable, got {scoring!r}.")
    layers = list(range(len(module.layers))) if layer is None else [layer]
    check_mask(estimator, layers[0])
    data = estimator._check_data(X, y, None, reset=False)
    graphs, y, weight = data.graphs, data.y, data.loss_weight
    dataset = estimator._dataset(graphs, y)

    full, without = [], []
    with torch.no_grad():
        for batch, _ in estimator.net_.get_iterator(dataset):
            batch = batch.to(estimator.net_.device)
            outputs = module.layer_outputs(batch.x, batch.egonets)
            embedding = module.pool(outputs, batch.graphs)
            full.append(module.head(beside(embedding, batch.graph_features)).cpu())
            without.append(_outputs_without(module, batch, outputs, layers).cpu())
    outputs, ablated = torch.cat(full), torch.cat(without, dim=1)

    samples = _bootstrap(estimator._strata(y), n_resamples, check_random_state(random_state))
    if scoring is None:
        losses = np.array(
            [_losses(estimator, values, dataset.y, weight) for values in (outputs, *ablated)]
        )
        weight = weight if weight.ndim == 1 else weight.mean(axis=1)
        counts = np.array([np.bincount(rows, minlength=len(y)) for rows in samples])
        # (1 + n_masks, 1 + n_resamples)
        scores = -losses @ counts.T / (counts @ weight)
        baseline = -scores[0, 0]
    else:
        scorer = check_scoring(estimator, scoring=scoring)
        if y.ndim == 2:
            y = np.where(known_values(y), y, np.nan)
        scores = np.array(
            [
                [scorer(FixedOutputs(estimator, values), rows, y[rows]) for rows in samples]
                for values in (outputs, *ablated)
            ]
        )
        baseline = scores[0, 0]
    importances = (scores[0] - scores[1:]).reshape(len(layers), -1, 1 + n_resamples)
    if layer is not None:
        importances = importances[0]
    return Bunch(
        importances_mean=importances[..., 0],
        importances_std=importances[..., 1:].std(axis=-1),
        importances=importances[..., 1:],
        baseline=float(baseline),
    )


def _bootstrap(
    strata: NDArray[Any], n_resamples: int, random_state: np.random.RandomState
) -> NDArray[np.int64]:
    """Return rows of numbers of graphs: all of them, then as many of each stratum, at random."""
    parts = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    drawn = [
        np.concatenate([part[None], random_state.choice(part, (n_resamples, len(part)))])
        for part in parts
    ]
    return np.concatenate(drawn, axis=1)


def _outputs_without(module: Any, batch: EgonetBatch, outputs: list[Tensor], layers: Any) -> Tensor:
    """Return the outputs of graphs without each mask, of shape (n_masks, n_graphs, n_outputs)."""
    changed = []
    for depth in layers:
        for mask in range(outputs[depth].shape[1]):
            z = outputs[depth].clone()
            z[:, mask] = 0
            above = module.layer_outputs(z, batch.egonets, first_layer=depth + 1)
            embedding = module.pool([*outputs[:depth], z, *above], batch.graphs)
            changed.append(module.head(beside(embedding, batch.graph_features)))
    return torch.stack(changed)


def _losses(
    estimator: BaseLoFI, outputs: Tensor, y: Tensor, weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the loss of each graph, times its weight."""
    y = y.double() if y.is_floating_point() else y
    losses = value_losses(estimator.net_.criterion_, outputs.double(), y)
    if weight.ndim > 1:
        of_values: NDArray[np.float64] = (weight * losses.numpy()).mean(axis=1)
        return of_values
    of_graphs: NDArray[np.float64] = np.asarray(losses if losses.ndim == 1 else losses.mean(dim=1))
    return of_graphs * weight


class FixedOutputs(BaseEstimator):
    """An estimator whose outputs are known; its X are the numbers of graphs."""

    def __init__(self, estimator: BaseLoFI, outputs: Tensor) -> None:
        self.estimator = estimator
        self.outputs = outputs
        if is_classifier(estimator):
            self.classes_ = estimator.classes_

    def predict(self, X: NDArray[np.int64]) -> Any:
        return self.estimator._predictions(self.outputs[X])

    @available_if(lambda self: is_classifier(self.estimator))
    def predict_proba(self, X: NDArray[np.int64]) -> Any:
        return self.estimator._probabilities(self.outputs[X])

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


def read_mask(estimator: Any, layer: int = 0, mask: int = 0) -> Bunch:
    """Return what a mask looks for: its words by name, and how often it expects them.

    Parameters
    ----------
    estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
        The fitted estimator. If it has several networks, the masks are those of the first; pass
        ``estimator.members_[k]`` for another.

    layer, mask : int, default=0
        Which mask, counted from 0.

    Returns
    -------
    result : Bunch
        Dictionary-like object, with the attributes

        similarities : ndarray of shape (n_words, n_inputs)
            Cosine of each word and each input: 1 if they are the same, 0 if they have
            nothing in common.
        input_names : list of str
            What the inputs are: node labels and features for layer 0, for a deeper layer
            the masks of the layer below. How much a node has of them is measured from
            their mean over the training graphs, but for labels.
        labels : list
            The node labels themselves, the first of the inputs of layer 0.
        assignments : ndarray of shape (n_inputs, n_words)
            To which words a node is assigned that has this input and no other, and no
            known relation to the center of the egonet.
        relation_names : list of str
            What a member of an egonet can be to its center; empty for the published network.
        offsets : ndarray of shape (n_words, n_relations)
            What each relation adds to the logit of each word. Only the differences between
            words matter, so that the mean over words is 0. Of the features of edges, it is
            what is added for one standard deviation.
        related_assignments : ndarray of shape (n_relations, n_inputs, n_words)
            To which words a node is assigned that has this input and no other, as a member
            in this relation to the center.
        descriptions : list of str
            What each word stands for: the most similar input, the relation with the largest
            offset, and in brackets the share of such a member that is assigned to the word.
        histogram : ndarray of shape (n_words,)
            The learned histogram: how many members of an egonet the mask expects to be
            assigned to each word.
        temperature : float
            How sharply nodes are assigned: at 0 to all words alike.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> from sklofi.inspection import read_mask
    >>> graphs, y = make_motif_graphs(100, random_state=0)
    >>> classifier = LoFIClassifier(n_members=1, max_epochs=5, n_words=4, random_state=0).fit(
    ...     graphs, y
    ... )
    >>> reading = read_mask(classifier, layer=0, mask=3)
    >>> reading.input_names
    ['C', 'H', 'N', 'O', 'S']
    >>> reading.similarities.shape
    (4, 5)
    >>> reading.relation_names[:3]
    ['center', 'edge outside rings', 'edge in a ring of 3']
    """
    estimator = fitted_member(estimator)
    check_mask(estimator, layer, mask)
    module = estimator.module_.layers[layer]
    with torch.no_grad():
        words = F.normalize(module.dictionary[mask], dim=-1).cpu().double().numpy()
        reading = Bunch(
            similarities=words,
            input_names=_input_names(estimator, layer),
            labels=list(estimator.node_labels_) if layer == 0 else [],
            assignments=_assign(module, mask),
            relation_names=_relation_names(estimator),
            offsets=np.empty((len(words), 0)),
            related_assignments=np.empty((0, *words.T.shape)),
            histogram=module.histogram[mask].cpu().double().numpy(),
            temperature=float(module.temperature[mask]),
        )
        if module.offset is not None:
            offsets = module.offset[mask].cpu().double().numpy()
            reading.offsets = offsets - offsets.mean(axis=0)
            shares = [_assign(module, mask, relation) for relation in range(offsets.shape[1])]
            reading.related_assignments = np.stack(shares)
    reading.descriptions = [_describe(reading, word) for word in range(len(words))]
    return reading


def _assign(module: Any, mask: int, relation: int | None = None) -> NDArray[np.float64]:
    """Return the shares of nodes with one input each in the words of a mask."""
    n_inputs = module.dictionary.shape[2]
    inputs = torch.from_numpy(np.eye(n_inputs)).to(module.dictionary)
    relations = None
    if relation is not None:
        relations = module.offset.new_zeros(n_inputs, module.offset.shape[2])
        relations[:, relation] = 1
    shares = module.assign(inputs, slice(mask, mask + 1), relations)[:, 0]
    return np.asarray(shares.cpu().double())


def _describe(reading: Bunch, word: int) -> str:
    """Return the input and the relation that a word prefers to all others."""
    best = int(reading.similarities[word].argmax())
    if not reading.relation_names:
        return f"{reading.input_names[best]} ({reading.assignments[best, word]:.0%})"
    relation = int(reading.offsets[word].argmax())
    share = reading.related_assignments[relation, best, word]
    return f"{reading.input_names[best]}, {reading.relation_names[relation]} ({share:.0%})"


def _relation_names(estimator: BaseLoFI) -> list[str]:
    encoder = estimator._relation_encoder
    return [] if encoder is None else encoder.names


def _input_names(estimator: BaseLoFI, layer: int) -> list[str]:
    if layer > 0:
        return [f"mask {mask}" for mask in range(len(estimator.module_.layers[0].temperature))]
    labels = [str(label) for label in estimator.node_labels_] or ["any node"]
    n_features = len(estimator._encoder.feature_mean)
    name = "feature" if estimator.node_features is None else str(estimator.node_features)
    features = [name] if n_features == 1 else [f"{name} {i}" for i in range(n_features)]
    return labels + features + estimator._encoder.structure_columns


def best_egonets(estimator: Any, X: Any, layer: int = 0, mask: int = 0, k: int = 5) -> Bunch:
    """Find the egonets of given graphs that fit a mask best.

    What a mask of layer ``l`` sees of a node are all nodes within ``(l + 1) * radius``
    steps. Of egonets that the network cannot tell apart one is returned; those that differ
    in what it sees of edges, such as their labels and the rings through them, are apart. A
    ring may pass through nodes outside of the egonet.

    Parameters
    ----------
    estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
        The fitted estimator. If it has several networks, the masks are those of the first; pass
        ``estimator.members_[k]`` for another.

    X : list of networkx graphs, or GraphSet
        Where to look for them.

    layer, mask : int, default=0
        Which mask, counted from 0.

    k : int, default=5
        Number of egonets; fewer are returned if there are no more.

    Returns
    -------
    result : Bunch
        Dictionary-like object with lists of up to k things, the best first:

        egonets : list of networkx graphs
            Copies of parts of the graphs in `X`.
        scores : ndarray of shape (n_egonets,)
            The output of the mask.
        centers : list
            The node in the middle of each egonet.
        graphs : ndarray of shape (n_egonets,)
            The position in `X` of the graph that each egonet is from.
        counts : ndarray of shape (n_egonets,)
            How many egonets like this one there are in `X`.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> from sklofi.inspection import best_egonets
    >>> graphs, y = make_motif_graphs(100, random_state=0)
    >>> classifier = LoFIClassifier(n_members=1, max_epochs=5, random_state=0).fit(graphs, y)
    >>> best = best_egonets(classifier, graphs, layer=0, mask=3, k=2)
    >>> len(best.egonets), bool(best.scores[0] >= best.scores[1])
    (2, True)
    """
    estimator = fitted_member(estimator)
    check_mask(estimator, layer, mask)
    check_scalar(k, "k", Integral, min_val=1)
    graphs = as_graph_set(X, **estimator._reading())
    z = np.concatenate([*_node_outputs(estimator, graphs, layer)])[:, mask]
    colors = node_colors(
        graphs,
        estimator._radius,
        layer + 1,
        told_apart(estimator),
        estimator._encoder.structure,
    )
    order = np.argsort(-z, kind="stable")
    _, first = np.unique(colors[order], return_index=True)
    nodes = order[np.sort(first)[:k]]
    positions = segments_of(graphs.node_offsets, nodes)
    originals = original_graphs(X, graphs)
    egonets, centers = [], []
    for node, position in zip(nodes, positions.tolist(), strict=True):
        graph: Any = originals[position]
        center = list(graph)[node - graphs.node_offsets[position]]
        egonets.append(graph.subgraph(_within(graph, center, (layer + 1) * estimator._radius)))
        centers.append(center)
    return Bunch(
        egonets=[egonet.copy() for egonet in egonets],
        scores=z[nodes],
        centers=centers,
        graphs=positions,
        counts=np.bincount(colors)[colors[nodes]],
    )


def _node_outputs(estimator: BaseLoFI, graphs: Any, layer: int) -> Iterator[NDArray[np.float32]]:
    """Yield the outputs of a layer at all nodes, in their order, in pieces."""
    max_rows = estimator.net_.iterator_valid__max_rows
    with torch.no_grad():
        for batch in estimator._node_batches(graphs, max_rows=max_rows):
            outputs = estimator.module_.layer_outputs(batch.x, batch.egonets)
            yield outputs[layer].cpu().numpy()


def _within(graph: Any, center: Hashable, n_steps: int) -> set[Hashable]:
    """Return the nodes that can be reached in some steps, along the edges of directed graphs."""
    found, frontier = {center}, {center}
    for _ in range(n_steps):
        frontier = {other for node in frontier for other in graph[node]} - found
        found |= frontier
    return found
