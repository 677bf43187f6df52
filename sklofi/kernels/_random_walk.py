"""Random walks: as counts of walks of a fixed length, and as a kernel of walks of any length."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sklofi._memory import is_too_large, memory_size
from sklofi._molecules import predicts_rows
from sklofi._parameters import POSITIVE, ReadsEdgeLabels, count, flag, parameter
from sklofi._storage import CHECKS
from sklofi.egonets._incidence import adjacency, neighbor_nodes
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
from sklofi.kernels._gram import normalize_kernel
from sklofi.kernels._labels import (
    edge_label_columns,
    edge_labels_of,
    label_columns,
    labels_of,
)
from sklofi.kernels._sparse_counts import known_first, number_codes
from sklofi.kernels._vectorizer import EdgeLabelVectorizer

# Pairs of nodes whose walks are counted together (32 MiB).
PAIRS_TOGETHER = 2**22

# What may remain of the series of walks, relative to its sum.
WALK_PRECISION = 1e-12

# The factor from a term of the series to the next, in the long run. Nearer to 1, it would
# take thousands of terms.
LARGEST_GROWTH = 0.99

# What it takes at its peak to count walks by their start, for each entry of the result.
BYTES_PER_ENTRY = 80

# What walks between the nodes of two graphs take, for each pair of nodes.
BYTES_PER_PAIR = 40

# Squares of counts have to be numbers, too.
MOST_WALKS = 1e150

REFERENCES = """\
.. [1] T. Gärtner, P. Flach, S. Wrobel, "On Graph Kernels: Hardness Results and
   Efficient Alternatives", COLT, 2003."""


class RandomWalkVectorizer(EdgeLabelVectorizer):
    """Counts of walks by the labels on their way.

    Walks may turn back and visit nodes again; a walk of k steps has k + 1 labels of nodes,
    and k labels of edges where edges have them. Counts of walks of k steps are weighted
    with the square root of ``decay ** k``, so that the inner product is the random-walk
    kernel [1]_ of labeled graphs, a geometric series over pairs of walks with the same
    labels, up to a length of `n_steps`. For the whole series see :class:`RandomWalkKernel`.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi.kernels import RandomWalkVectorizer
    >>> graph = nx.path_graph(3)
    >>> nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a"}, "label")
    >>> vectorizer = RandomWalkVectorizer(n_steps=2, decay=1)
    >>> vectorizer.fit_transform([graph]).toarray()
    array([[2., 1., 2., 2., 4., 2.]])
    >>> vectorizer.get_feature_names_out().tolist()
    ['a', 'b', 'a-b', 'b-a', 'a-b-a', 'b-a-b']
    """

    n_steps: int = count(
        """Length of the longest walks. The number of columns can grow exponentially with
        it.""",
        least=0,
        default=4,
        kw_only=False,
    )
    decay: float = parameter("Weight of a step in the inner product.", POSITIVE, default=0.1)

    @classmethod
    def _more_sections(cls) -> dict[str, str]:
        return {"References": REFERENCES}

    def _learn(self, graphs: GraphSet) -> sp.csr_array:
        nothing = np.empty((0, 3), dtype=np.int64)
        levels, self._walks = self._count_walks(graphs, [nothing] * self.n_steps)
        return sp.hstack(levels, format="csr", dtype=np.float64)

    def _count(self, graphs: GraphSet) -> sp.csr_array:
        levels, _ = self._count_walks(graphs, self._walks)
        return known_first(levels, [len(self.labels_), *map(len, self._walks)])

    def _count_walks(
        self, graphs: GraphSet, known_walks: Sequence[NDArray[np.int64]]
    ) -> tuple[list[sp.csr_array], list[NDArray[np.int64]]]:
        """Return the weighted walks of each length in each graph, and what they are made of.

        A walk is the label that it starts with, the label of its first edge, and the number
        of the shorter walk that follows. Known walks keep their numbers, others get further
        ones.
        """
        label_of, n_labels = label_columns(graphs, self.labels_)
        kind_of, n_kinds = self._edge_kinds(graphs)
        n_walks = n_labels
        steps = adjacency(graphs, np.float64)
        # Entry (v, w): how many walks of the kind w start at node v.
        starts = sp.csr_array(
            (np.ones(graphs.n_nodes), label_of, np.arange(graphs.n_nodes + 1)),
            shape=(graphs.n_nodes, n_walks),
        )
        levels = [_sum_of_nodes(graphs, starts)]
        walks: list[NDArray[np.int64]] = []
        for known in known_walks:
            _check_number_of_walks(graphs, steps @ np.diff(starts.indptr), len(walks) + 1)
            radices = (n_labels, max(n_kinds, 1), n_walks)
            _check_number_of_codes(radices, len(walks) + 1)
            # A walk that goes on by an edge of the kind k is k * n_walks + its number.
            starts, rest = _go_on(graphs, steps, kind_of, starts)
            first = np.repeat(label_of, np.diff(starts.indptr)).astype(np.int64)
            known_first_labels, known_kinds, known_rest = _parts_of_walks(known)
            column, codes = number_codes(
                first * (radices[1] * n_walks) + rest,
                (known_first_labels * radices[1] + known_kinds) * n_walks + known_rest,
            )
            starts = sp.csr_array(
                (starts.data, column, starts.indptr), shape=(graphs.n_nodes, len(codes))
            )
            walks.append(np.column_stack(np.unravel_index(codes, radices)).astype(np.int64))
            n_walks = max(len(codes), 1)
            levels.append(self.decay ** (len(walks) / 2) * _sum_of_nodes(graphs, starts))
            if starts.nnz and not levels[-1].data.max() < MOST_WALKS:
                raise ValueError(
                    f"There are more than {MOST_WALKS:.0e} walks of {len(walks)} steps in a graph"
                    " (n_steps), too many to be counted. Use fewer steps."
                )
        return levels, walks

    def _names(self) -> list[str]:
        labels = longer = self._label_names()
        # As bonds are named: a-b, or a-[1]-b.
        links = [f"-{name}-" if name else "-" for name in self._kind_names()]
        names = list(labels)
        for walks in self._walks:
            parts = zip(*(part.tolist() for part in _parts_of_walks(walks)), strict=True)
            longer = [f"{labels[first]}{links[kind]}{longer[rest]}" for first, kind, rest in parts]
            names += longer
        return names


class RandomWalkKernel(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ReadsEdgeLabels, GraphEstimator
):
    """Random-walk kernel of labeled graphs: the whole geometric series.

    Sums ``decay ** k`` over all pairs of walks of k steps, one in each graph, that meet
    the same labels of nodes and of edges on their way, for all k [1]_. Pairs of walks are
    walks in the product graph, whose nodes are the pairs of nodes with the same label and
    whose edges are the pairs of edges with the same label; the sum is found by iterating
    ``f = 1 + decay * A f`` over all pairs of nodes of all graphs at once. That takes time
    quadratic in the number of nodes: for larger sets, see :class:`RandomWalkVectorizer`.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi.kernels import RandomWalkKernel
    >>> RandomWalkKernel(decay=0.5).fit_transform([nx.path_graph(1), nx.path_graph(2)])
    array([[1., 2.],
           [2., 8.]])
    """

    decay: float | None = parameter(
        """Weight of a further step. The series converges only if this is below 1 over the
        product of the spectral radii of both graphs, and has to stay 1 % away from that.
        By default half of what the training graphs allow.""",
        [*POSITIVE, None],
        default=None,
        kw_only=False,
    )
    normalize: bool = flag(
        "Whether to scale the kernel so that each graph has similarity 1 with itself.",
        default=False,
    )

    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "decay_": ("float", "The weight of a further step that is used.")
    }
    _saved_classes = (GraphSet,)
    _set_last = "decay_"
    _absent_from_files: ClassVar[dict[str, Any]] = {
        "edge_label": None,
        "_edge_labels": [None],
        "_has_edge_labels": False,
    }
    uses_edge_labels = True

    @classmethod
    def _more_sections(cls) -> dict[str, str]:
        return {"References": REFERENCES}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the training graphs.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted kernel.
        """
        with self._fitted_or_not_at_all():
            X = self._read_if_molecules(X)
            graphs = self._read(X, is_training=True)
            warn_of_training(X, graphs, type(self).__name__, self.uses_edge_labels)
            return self._fit(graphs)

    def _fit(self, graphs: GraphSet) -> Self:
        self._validate_params()
        self._remember_molecules(graphs)
        _check_pairs_fit_memory(graphs, graphs)
        radii = spectral_radii(graphs)
        # Without edges there are no steps to weigh.
        decay = self.decay or 0.5 / max(radii.max() ** 2, 1)
        # Without the names of nodes, which may be anything and could not be saved.
        self._graphs = replace(
            graphs, node_names=None, edge_weights=None, edge_vectors=None, molecule_options=None
        )
        self._labels, self._edge_labels = labels_of(graphs), edge_labels_of(graphs)
        self._has_edge_labels = has_edge_labels(graphs)
        self._largest_radius = radii.max()
        self._self = self._self_similarities(graphs, decay) if self.normalize else None
        self._n_steps(decay, radii, self._largest_radius)
        self.decay_ = decay
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Keep the training graphs and compare them with each other.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : None
            Ignored.

        Returns
        -------
        kernel : ndarray of shape (n_graphs, n_graphs)
            Similarities of all pairs of graphs.
        """
        X = self._read_if_molecules(X)
        return self.fit(X).transform(X)

    def fit_graphs(self, graphs: GraphSet) -> NDArray[np.float64]:
        """Do the same as :meth:`fit_transform`, without warnings.

        Parameters
        ----------
        graphs : GraphSet
            Training graphs. The caller has warned the user of what is not used of them.

        Returns
        -------
        kernel : ndarray of shape (n_graphs, n_graphs)
            Similarities of all pairs of graphs.
        """
        self._forget()
        graphs = self._read(graphs)
        return self._fit(graphs).transform(graphs)

    @predicts_rows
    def transform(self, X: Any) -> NDArray[np.float64]:
        """Compare graphs with the training graphs.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs.

        Returns
        -------
        kernel : ndarray of shape (n_graphs, n_training_graphs)
            Similarities of the graphs with the training graphs.
        """
        check_is_fitted(self)
        graphs, name = self._read(X), type(self).__name__
        check_same_labeling(graphs, self._graphs.label_ids is not None, name)
        check_same_edge_labeling(graphs, self._has_edge_labels, name)
        warn_of_unknown_labels(graphs, self._labels, name, "finds no walk through their nodes")
        if self._has_edge_labels:
            warn_of_unknown_edge_labels(
                graphs, self._edge_labels, name, "finds no walk through their edges"
            )
        _check_pairs_fit_memory(graphs, self._graphs)
        n_steps = self._n_steps(self.decay_, spectral_radii(graphs), self._largest_radius)
        rows = [
            np.hstack([self._walks(a, b, self.decay_, n_steps) for b in _blocks(self._graphs)])
            for a in _blocks(graphs)
        ]
        kernel = np.vstack(rows)
        if self.normalize:
            self_x = self._self_similarities(graphs, self.decay_)
            kernel = normalize_kernel(kernel, self_x, self._self)
        return kernel

    @property
    def _n_features_out(self) -> int:  # a column for each training graph
        return len(self._graphs)

    def _read(self, X: Any, *, is_training: bool = False) -> GraphSet:
        """Return X as a set of graphs, with the labels that count."""
        return as_graph_set(X, **self._reading(), is_training=is_training)

    def _n_steps(
        self,
        decay: float,
        radii: NDArray[np.float64],
        other_radii: NDArray[np.float64] | np.float64,
    ) -> int:
        """Return the number of steps after which nothing that counts is left of the series.

        In undirected graphs the term of k steps is at most growth ** k times that of
        none, and so the rest is at most growth ** (k + 1) / (1 - growth) times that.
        """
        growths = decay * radii * other_radii
        graph = int(np.argmax(growths))
        growth = growths[graph]
        if growth > LARGEST_GROWTH:
            raise ValueError(
                f"Walks of graph {graph} grow too fast (spectral radius up to"
                f" {radii[graph]:.4g}) for the series to converge with decay={decay:.4g}. Use a"
                f" decay below {LARGEST_GROWTH * decay / growth:.4g}, or walks of a fixed length:"
                " RandomWalkVectorizer."
            )
        if growth == 0:
            return 0
        return int(np.ceil(np.log(WALK_PRECISION * (1 - growth)) / np.log(growth)))

    def _self_similarities(self, graphs: GraphSet, decay: float) -> NDArray[np.float64]:
        radii = spectral_radii(graphs)
        n_steps = self._n_steps(decay, radii, radii)
        singles = (graphs[[row]] for row in range(len(graphs)))
        return np.array([self._walks(g, g, decay, n_steps)[0, 0] for g in singles])

    def _product_steps(
        self, a: GraphSet, b: GraphSet
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return the function that adds values of pairs of nodes over all pairs of next nodes.

        It multiplies with the adjacency of the product graph, of edges with the same label.
        """
        if a.edge_label_ids is None or b.edge_label_ids is None:  # or one has no edges
            step_a, step_b = (adjacency(graphs, np.float64) for graphs in (a, b))
            return lambda values: (step_b @ (step_a @ values).T).T
        steps_a, steps_b = (_steps_by_kind(graphs, self._edge_labels) for graphs in (a, b))
        both = [(*steps_a[kind], *steps_b[kind]) for kind in steps_a if kind in steps_b]

        def add_up(values: NDArray[np.float64]) -> NDArray[np.float64]:
            sums = np.zeros_like(values)
            for rows_a, step_a, rows_b, step_b in both:
                sums[np.ix_(rows_a, rows_b)] += (step_b @ (step_a @ values).T).T
            return sums

        return add_up

    def _walks(self, a: GraphSet, b: GraphSet, decay: float, n_steps: int) -> NDArray[np.float64]:
        label_a, label_b = (label_columns(graphs, self._labels)[0] for graphs in (a, b))
        start = (label_a[:, None] == label_b).astype(np.float64)
        go_on = self._product_steps(a, b)
        walks, added, step = start.copy(), start, 0
        # Walks along directed edges may come to their growth rate later.
        while step < n_steps or added.sum() > WALK_PRECISION * walks.sum():
            added = decay * start * go_on(added)
            walks += added
            step += 1
            if not added.any():
                break
        by_graph = np.add.reduceat(walks, a.node_offsets[:-1], axis=0)
        return np.add.reduceat(by_graph, b.node_offsets[:-1], axis=1)


def _parts_of_walks(
    walks: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the first labels of walks, the kinds of their first edges, and the shorter walks.

    Files of former versions have no kinds.
    """
    kinds = walks[:, 1] if walks.shape[1] == 3 else np.zeros(len(walks), dtype=np.int64)
    return walks[:, 0], kinds, walks[:, -1]


def _go_on(
    graphs: GraphSet,
    steps: sp.csr_array,
    kind_of: NDArray[np.int32] | int,
    starts: sp.csr_array,
) -> tuple[sp.csr_array, NDArray[np.integer]]:
    """Return counts of walks that are a step longer, by their start, and the codes of entries.

    `starts` has a row for each node and a column for each walk; `steps` is the adjacency. The
    code of a walk that goes on with walk w by an edge of the kind k is ``k * n_walks + w``.
    """
    if isinstance(kind_of, int):
        longer = steps @ starts
        return longer, longer.indices
    # The end of an edge is a node and a kind; each that occurs has a row of walks.
    n_kinds = np.int64(kind_of.max(initial=0)) + 1
    ends, end_of = np.unique(neighbor_nodes(graphs) * n_kinds + kind_of, return_inverse=True)
    nodes, kinds = np.divmod(ends, n_kinds)
    to_ends = sp.csr_array(
        (np.ones(len(end_of)), end_of, graphs.edge_offsets), shape=(graphs.n_nodes, len(ends))
    )
    walks = starts[nodes]
    codes = np.repeat(kinds, np.diff(walks.indptr)) * starts.shape[1] + walks.indices
    # Columns for those that occur: many kinds times many walks are too many.
    used, columns = np.unique(codes, return_inverse=True)
    longer = to_ends @ sp.csr_array(
        (walks.data, columns, walks.indptr), shape=(len(ends), len(used))
    )
    return longer, used[longer.indices]


def _check_number_of_codes(radices: tuple[int, int, int], n_steps: int) -> None:
    """Refuse walks that cannot be numbered: too many labels, times walks that may follow."""
    n_labels, n_kinds, n_walks = radices
    if n_labels * n_kinds * n_walks >= 2**62:
        raise ValueError(
            f"X has {n_labels:,} distinct node labels and {n_kinds:,} edge labels, too many to"
            f" count walks of {n_steps} steps. Labels are categories; names of nodes are not."
        )


def _check_number_of_walks(graphs: GraphSet, n_kinds: NDArray[np.float64], n_steps: int) -> None:
    """Refuse walks of more kinds than fit into memory, given an upper bound for each node."""
    needed = BYTES_PER_ENTRY * n_kinds.sum()
    if is_too_large(needed):
        graph = int(np.add.reduceat(n_kinds, graphs.node_offsets[:-1]).argmax())
        raise MemoryError(
            f"Walks of {n_steps} steps could be of {n_kinds.sum():,.0f} kinds, counted at each"
            f" node, which take {needed / 2**30:.1f} GiB; this machine has"
            f" {memory_size() / 2**30:.1f} GiB of memory. The most are in graph {graph}. Use"
            " fewer steps (n_iter of a kernel machine), or labels that more nodes share."
        )


def _sum_of_nodes(graphs: GraphSet, rows: sp.csr_array) -> sp.csr_array:
    """Add the rows of the nodes of each graph."""
    sums = sp.csr_array(
        (rows.data, rows.indices, rows.indptr[graphs.node_offsets]),
        shape=(len(graphs), rows.shape[1]),
        copy=True,
    )
    sums.sum_duplicates()
    return sums


def _steps_by_kind(
    graphs: GraphSet, known: list[Hashable]
) -> dict[int, tuple[NDArray[np.int64], sp.csr_array]]:
    """Return, for each label of edges, the nodes that such edges lead from, and the steps.

    The steps are the rows of these nodes in the adjacency of edges with that label. Labels have
    the numbers of :func:`edge_label_columns`.
    """
    kind_of, _ = edge_label_columns(graphs, known)
    source = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.edge_offsets))
    target = neighbor_nodes(graphs)
    steps = {}
    for kind in np.unique(kind_of).tolist():
        edges = np.flatnonzero(kind_of == kind)
        nodes, row = np.unique(source[edges], return_inverse=True)
        matrix = sp.coo_array(
            (np.ones(len(edges)), (row, target[edges])), shape=(len(nodes), graphs.n_nodes)
        )
        steps[kind] = nodes, matrix.tocsr()
    return steps


def spectral_radii(graphs: GraphSet) -> NDArray[np.float64]:
    """Return an upper bound of the spectral radius of each graph's adjacency matrix.

    For a matrix A without negative entries and any positive x, the radius is at most the
    largest entry of (A x) / x (Collatz and Wielandt); iterating tightens the bound. A + 1
    instead of A keeps x positive and the iteration from swinging.
    """
    steps = adjacency(graphs, np.float64)
    n_nodes = np.diff(graphs.node_offsets)
    x = np.ones(graphs.n_nodes)
    bound = np.full(len(graphs), np.inf)
    for _ in range(100):
        grown = x + steps @ x
        bound = np.minimum(bound, np.maximum.reduceat(grown / x, graphs.node_offsets[:-1]))
        largest = np.maximum.reduceat(grown, graphs.node_offsets[:-1])
        x = np.maximum(grown / np.repeat(largest, n_nodes), 1e-200)
    return bound - 1


CHECKS[GraphSet] = GraphSet.check_arrays


def _check_pairs_fit_memory(a: GraphSet, b: GraphSet) -> None:
    """Refuse graphs whose pairs of nodes do not fit into memory."""
    n_a, n_b = (int(np.diff(graphs.node_offsets).max()) for graphs in (a, b))
    needed = BYTES_PER_PAIR * n_a * n_b
    if is_too_large(needed):
        raise MemoryError(
            f"Graphs of {n_a:,} and {n_b:,} nodes have {n_a * n_b:,} pairs of nodes, whose walks"
            f" take {needed / 2**30:.1f} GiB; this machine has {memory_size() / 2**30:.1f} GiB of"
            " memory. Leave out the largest graphs, or use RandomWalkVectorizer."
        )


def _blocks(graphs: GraphSet) -> Iterator[GraphSet]:
    """Yield parts of a set with about as many nodes as a block has on each side."""
    side = int(PAIRS_TOGETHER**0.5)
    part_of = graphs.node_offsets[:-1] // side
    for rows in np.split(np.arange(len(graphs)), np.flatnonzero(np.diff(part_of)) + 1):
        yield graphs[rows]
