"""How much each edge of a graph moves a prediction."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.utils import Bunch
from torch import Tensor
from torch.nn import functional as F

from sklofi.egonets._incidence import neighbor_nodes
from sklofi.egonets._members import Relations, egonet_members
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set
from sklofi.graphs._parallel import Groups
from sklofi.graphs._segments import offsets_of, segments_of
from sklofi.inspection._attribution import Presence, attribute, explain
from sklofi.inspection._fitted import fitted_lofi, told_apart
from sklofi.nn._count_matrix import CountMatrix
from sklofi.nn._lofi_autograd import standardize
from sklofi.nn._lofi_network import LoFINetwork
from sklofi.nn._related_egonets import RelatedEgonets
from sklofi.training._egonet_batches import EgonetBatch


@torch.inference_mode(False)
def edge_attribution(
    estimator: Any, X: Any, *, target: Any = None, tol: float = 0.01, n_steps: int = 4096
) -> Bunch:
    r"""Share out the prediction of each graph among its edges.

    Let every edge :math:`e` be there to a degree :math:`p_e` between 0 and 1: the member that
    it makes of an egonet counts :math:`p_e` times what it counts by itself, which is once or
    the weight of the edge. An undirected edge makes a member of two egonets, those of its
    ends, and has one presence for both. All nodes are there, each in its own egonet and in
    what is pooled. The attribution of an edge is the integral of the derivative by its
    presence along the path from the graph without edges to the graph as it is, on which all
    edges appear together:

    .. math::
        a_e = \int_0^1 \frac{\partial f}{\partial p_e} (t, \dots, t) \, dt

    This is what :func:`node_attribution` does with nodes, and the same holds of it: up to
    the residuals, the attributions of a graph sum to its output less that of the baseline,
    an edge whose presence changes nothing gets 0, and edges that an automorphism maps onto
    each other get the same.

    What an edge is stays as it is along the path: its label, its features and the size of the
    smallest ring through it, even if other edges of the ring are hardly there. So do
    structural labels of nodes, such as degrees.

    The radius of the egonets has to be 1. With a larger one, members are reached by several
    edges, of which there may be several ways to choose, and no single one makes them.

    Of several networks it is the mean. What counts add (see `counts` of the estimator) belongs to
    no single edge and is left out, of the outputs and baselines as well.

    Parameters
    ----------
    estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
        The fitted estimator, with ``radius=1``.

    X : list of networkx graphs, or GraphSet
        The graphs to explain.

    target : class, int or array-like of shape (n_graphs,), default=None
        The class, label or output that is explained; see :func:`node_attribution`.

    tol : float, default=0.01
        How exact integrals have to be; see :func:`node_attribution`.

    n_steps : int, default=4096
        The most steps that the path of a graph is divided into. Where they are not enough, a
        warning says so.

    Returns
    -------
    result : Bunch
        Dictionary-like object, with the attributes

        attributions : list of ndarray of shape (n_edges,)
            Of each graph one number for each edge, in the order of its edges, which is that
            of ``graph.edges`` in networkx. Parallel edges with the same label, or of an
            estimator that reads no edge labels, are one.
        edges : list of ndarray of shape (n_edges, 2)
            Positions of the two ends of each edge among the nodes of its graph, the first of
            them the one that comes first, or that a directed edge begins at.
        edge_labels : list of list
            The label of each edge; None if edge labels are not read.
        outputs, baselines : ndarray of shape (n_graphs,)
            What is explained, for the graph and for the graph without edges.
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
        If the tolerance is not reached for some graphs; see :func:`node_attribution`.
    UserWarning
        If counts alone make the predictions, so that all attributions are zero.

    See Also
    --------
    node_attribution : The same for nodes.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> from sklofi.inspection import edge_attribution
    >>> graphs, y, motif_nodes = make_motif_graphs(100, random_state=0, return_motif_nodes=True)
    >>> classifier = LoFIClassifier(max_epochs=10, random_state=0).fit(graphs, y)
    >>> result = edge_attribution(classifier, graphs[3:4], target=1)
    >>> u, v = list(graphs[3].edges)[result.attributions[0].argmax()]
    >>> u in motif_nodes[3] and v in motif_nodes[3]
    True
    """
    found = fitted_lofi(estimator)
    if found._radius != 1:
        raise ValueError(
            f"Edges can be explained for radius=1, and the estimator was fitted with"
            f" radius={found._radius}, where members of egonets do not depend on single edges."
            " Use node_attribution, or fit with radius=1."
        )
    if found.counts_share_ == 1:
        warnings.warn(
            f"Counts alone make the predictions of this {type(found).__name__} (counts_share_ is"
            " 1), and belong to no single edge: all attributions are zero. Use node_attribution, or"
            " fit with counts=False.",
            UserWarning,
            stacklevel=3,  # beyond the decorator
        )
    graphs = as_graph_set(X, **found._reading())
    if graphs.origin[0] is not graphs:
        graphs = copy.copy(graphs)  # as the batches, so that both have the same tables
    table = _edge_table(graphs, told_apart(found))
    result, (attributions,) = attribute(found, graphs, target, tol, n_steps, EdgePresence(table))
    n_edges = np.diff(table.edge_offsets)
    ends = np.cumsum(n_edges)[:-1]
    labels: Any = [None] * len(table.first)
    if graphs.edge_label_ids is not None:
        labels = [graphs.edge_labels[i] for i in graphs.edge_label_ids[table.first]]
    return Bunch(
        # Graphs without edges have one that is not there, for a path needs something to go.
        attributions=[values[:n] for values, n in zip(attributions, n_edges, strict=True)],
        edges=np.split(_ends(graphs, table.first), ends),
        edge_labels=[labels[i:j] for i, j in pairwise(table.edge_offsets.tolist())],
        **result,
    )


class _EdgeTable(NamedTuple):
    """The edges of graphs, and which members of egonets they make.

    Entries are those of the matrix of members, row after row, as batches have them.
    """

    edge_offsets: NDArray[np.int64]  # (n_graphs + 1,)
    first: NDArray[np.int64]  # (n_edges,): where each edge first stands in `neighbors`
    entry_offsets: NDArray[np.int64]  # (n_graphs + 1,)
    shares: sp.csr_array  # (n_entries, n_edges): how much of each entry is by each edge


def _edge_table(graphs: GraphSet, relations: Relations) -> _EdgeTable:
    """Find the entries of the egonets of radius 1 that the edges of graphs make."""
    n_nodes, n_graphs = graphs.n_nodes, len(graphs)
    centers = np.repeat(np.arange(n_nodes), np.diff(graphs.edge_offsets))
    nodes = neighbor_nodes(graphs).astype(np.int64)
    edges = _group_directions(graphs, centers, nodes)
    # A row for each member: first the centers, then what edges make.
    itself = np.arange(n_nodes)
    rows = np.concatenate([itself, centers])
    keys = (_relation_numbers(graphs, relations), np.concatenate([itself, nodes]), rows)
    entry_of, n_entries = _number_rows(keys)
    of_edges = entry_of[n_nodes:]
    weights = np.ones(len(nodes))
    if relations.edge_weights and graphs.edge_weights is not None:
        weights = graphs.edge_weights
    elif not relations.differ:  # then a member counts once, however many edges lead to it
        weights = 1 / np.bincount(of_edges, minlength=n_entries)[of_edges]
    if not relations.differ:
        weights = np.where(centers == nodes, 0.0, weights)  # a loop only repeats the center
    shape = (n_entries, len(edges.first))
    shares = sp.csr_array((weights, (of_edges, edges.group_of)), shape=shape)
    # What only edges of weight zero make is left out of batches.
    is_kept = shares.sum(axis=1).astype(np.float32) > 0
    is_kept[entry_of[:n_nodes]] = True
    row_of_entry = np.empty(n_entries, dtype=np.int64)
    row_of_entry[entry_of] = rows
    in_graphs = segments_of(graphs.node_offsets, row_of_entry[is_kept])
    edges_in_graphs = segments_of(graphs.node_offsets, centers[edges.first])
    return _EdgeTable(
        offsets_of(np.bincount(edges_in_graphs, minlength=n_graphs)),
        edges.first,
        offsets_of(np.bincount(in_graphs, minlength=n_graphs)),
        shares[is_kept],
    )


def _relation_numbers(graphs: GraphSet, relations: Relations) -> NDArray[np.integer]:
    """Return the relation of each node to itself, and then of each neighbor to its center."""
    members = egonet_members(graphs, 1, relations)
    if members.relations is None:
        return np.zeros(graphs.n_nodes + len(graphs.neighbors), dtype=np.int64)
    is_edge = np.ones(len(members.nodes), dtype=bool)
    is_edge[members.offsets[:-1]] = False  # the first member of each egonet is its center
    return np.concatenate([members.relations[~is_edge], members.relations[is_edge]])


def _group_directions(
    graphs: GraphSet, centers: NDArray[np.int64], nodes: NDArray[np.int64]
) -> Groups:
    """Return the entries of `neighbors` in groups that are one edge."""
    directed = graphs.directed[segments_of(graphs.node_offsets, centers)]
    labels = graphs.edge_label_ids
    keys = (
        np.zeros(len(nodes), dtype=np.int64) if labels is None else labels,
        np.where(directed, nodes, np.maximum(centers, nodes)),
        np.where(directed, centers, np.minimum(centers, nodes)),
    )
    return Groups.from_codes(_number_rows(keys)[0])


def _number_rows(keys: tuple[NDArray[np.integer], ...]) -> tuple[NDArray[np.int64], int]:
    """Number rows of several keys, the last of which counts most; equal rows get the same."""
    order = np.lexsort(keys)
    is_new = np.zeros(len(order), dtype=bool)
    for key in keys:
        is_new[1:] |= np.diff(key[order]) != 0
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_new)
    return numbers, int(is_new.sum()) + (len(order) > 0)


def _ends(graphs: GraphSet, entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the two ends of edges, each counted from the first node of its graph."""
    centers = segments_of(graphs.edge_offsets, entries)
    first_nodes = graphs.node_offsets[segments_of(graphs.node_offsets, centers)]
    return np.column_stack([centers - first_nodes, graphs.neighbors[entries]])


@dataclass(frozen=True, eq=False)
class _EdgeBatch(EgonetBatch):
    """A batch in which every node has its own color, with its edges."""

    shares: CountMatrix  # (n_entries, n_edges): how much of each member is by each edge
    edges: CountMatrix  # (n_graphs, n_edges); a graph without edges has one that is not there

    def copies(self, graphs: Tensor) -> _EdgeBatch:
        copied = super().copies(graphs)
        nodes = self.graphs[0].offsets.long()
        entries = _members(self.egonets[0]).offsets.long()[nodes]  # first ones of graphs
        edges = self.edges.offsets.long()
        numbers = torch.arange(len(edges), device=edges.device)
        return _EdgeBatch(
            copied.x,
            copied.egonets,
            copied.graphs,
            copied.weight,
            self.shares.take_blocks(graphs, entries, edges),
            self.edges.take_blocks(graphs, numbers, edges),
            graph_features=copied.graph_features,
        )


class _DerivableCounts(CountMatrix):
    """A CountMatrix whose products have gradients with respect to the counts, too."""

    def __matmul__(self, x: Tensor) -> Tensor:
        if not x.requires_grad:  # torch 2.4 has gradients for counts only beside those for x
            x = x.detach().requires_grad_()
        return F.embedding_bag(
            self.columns,
            x,
            self.offsets,
            mode="sum",
            per_sample_weights=self.counts.to(x),
            include_last_offset=True,
        )


class EdgePresence(Presence):
    """Edges: how much the members that they make count in egonets."""

    def __init__(self, table: _EdgeTable) -> None:
        self.table = table

    def prepare(self, batches: Iterator[EgonetBatch]) -> Iterator[EgonetBatch]:
        first = 0  # graph of the batch
        for batch in batches:
            yield self._with_edges(batch, first)
            first += len(batch)

    def _with_edges(self, batch: EgonetBatch, first: int) -> _EdgeBatch:
        stop = first + len(batch)
        rows, columns = self.table.entry_offsets, self.table.edge_offsets
        shares = self.table.shares[rows[first] : rows[stop], columns[first] : columns[stop]]
        n_edges = np.diff(columns[first : stop + 1])
        # A place for an edge that is not there in each graph without edges.
        slots = offsets_of(np.maximum(n_edges, 1))
        of_edges = np.arange(shares.shape[1]) + np.repeat(
            slots[:-1] - (columns[first:stop] - columns[first]), n_edges
        )
        shares = sp.csr_array(
            (shares.data, of_edges[shares.indices], shares.indptr),
            shape=(shares.shape[0], slots[-1]),
        )
        in_graphs = sp.csr_array(
            (np.ones(slots[-1]), np.arange(slots[-1]), slots), shape=(len(batch), slots[-1])
        )
        device = batch.x.device
        return _EdgeBatch(
            batch.x,
            batch.egonets,
            batch.graphs,
            batch.weight,
            CountMatrix.from_scipy(shares).to(device),
            CountMatrix.from_scipy(in_graphs).to(device),
            graph_features=batch.graph_features,
        )

    def parts(self, batch: EgonetBatch) -> CountMatrix:
        assert isinstance(batch, _EdgeBatch)
        return batch.edges

    def start(
        self, module: LoFINetwork, batch: EgonetBatch, weight: Tensor
    ) -> tuple[Tensor, float]:
        none = batch.x.new_zeros(len(self.parts(batch).columns))
        return self._outputs(module, batch, weight, none), 0.0

    def derive(
        self, module: LoFINetwork, batch: EgonetBatch, weight: Tensor, presence: Tensor
    ) -> tuple[Tensor, Sequence[Tensor]]:
        explained = self._outputs(module, batch, weight, presence)
        return explained, torch.autograd.grad(explained.sum(), presence)

    def _outputs(
        self, module: LoFINetwork, batch: EgonetBatch, weight: Tensor, presence: Tensor
    ) -> Tensor:
        """Return what is explained of graphs whose edges are there to a degree."""
        assert isinstance(batch, _EdgeBatch)
        egonets = batch.egonets[0]  # of all layers, as every node has its own color
        members = _members(egonets)
        counts = members.counts + (batch.shares @ (presence - 1)[:, None])[:, 0]
        scaled: Any = _DerivableCounts(members.offsets, members.columns, counts)
        if isinstance(egonets, RelatedEgonets):
            scaled = replace(egonets, members=scaled)
        between = module.node_constants()
        # Nodes are all there. That it is said by a matrix makes layers go by their formula,
        # which autograd can derive by the counts.
        there = batch.x.new_ones(len(batch.x), 1)
        x, outputs = batch.x, []
        for depth, layer in enumerate(module.layers):
            outputs.append(layer(x, scaled, there))
            if depth < len(between):
                x = standardize(outputs[-1], between[depth])
        embedding = module.pool(outputs, batch.graphs)
        return explain(module, batch, weight, embedding)


def _members(egonets: CountMatrix | RelatedEgonets) -> CountMatrix:
    return egonets.members if isinstance(egonets, RelatedEgonets) else egonets
