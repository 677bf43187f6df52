"""From flat arrays of nodes and edges to the fields of a GraphSet.

What readers of forms other than networkx share: they find the ends of edges and the values of
attributes, :class:`GraphArrays` checks the values and merges parallel edges.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import full_name, show
from sklofi.graphs._attributes import stack_vectors
from sklofi.graphs._edge_attributes import check_finite, read_weights
from sklofi.graphs._parallel import Groups, pair_directions, parallel_features_error
from sklofi.graphs._segments import offsets_of, segments_of

# The number of the label of each node or edge, and the labels.
Numbered = tuple[NDArray[np.int32] | None, tuple[Hashable, ...]]

NO_LABELS: Numbered = (None, ())


@dataclass(frozen=True)
class GraphArrays:
    """Graphs as a reader finds them: nodes by their numbers, and a list of edges.

    Parameters
    ----------
    n_nodes : ndarray of shape (n_graphs,)
        Number of nodes of each graph.

    directed : ndarray of shape (n_graphs,)
        Whether each graph is directed.

    graph_of : ndarray of shape (n_edges,)
        The graph of each edge.

    source, target : ndarray of shape (n_edges,)
        The ends of each edge, counted from the first node of their graph.

    both_ways : bool, default=False
        Whether an undirected edge stands here twice, once in each direction.

    node_names : ndarray of shape (n_nodes,) or None, default=None
        The names of all nodes, or None if every graph has the nodes 0, 1, 2, ...

    graph_names : sequence or None, default=None
        What error messages call the graphs, by default 0, 1, 2, ...

    Examples
    --------
    >>> import numpy as np
    >>> from sklofi.graphs._arrays import GraphArrays
    >>> ends = np.array([0, 1]), np.array([1, 2])
    >>> path = GraphArrays(np.array([3]), np.array([False]), np.array([0, 0]), *ends)
    >>> path.build()["neighbors"]
    array([1, 0, 2, 1], dtype=int32)
    """

    n_nodes: NDArray[np.int64]
    directed: NDArray[np.bool_]
    graph_of: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    both_ways: bool = False
    node_names: NDArray[Any] | None = None
    graph_names: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        check_nodes(self.n_nodes)

    def locate_node(self, position: int) -> str:
        """Return 'Graph 3, node 'a',' for a position among all nodes."""
        offsets = offsets_of(self.n_nodes)
        graph = int(segments_of(offsets, position))
        return f"{self._show_graph(graph)}, node {self._show_node(graph, position)},"

    def locate_edge(self, edge: int) -> str:
        """Return 'Graph 3, edge ('a', 'b'),' for a position among the edges."""
        graph = int(self.graph_of[edge])
        first = int(offsets_of(self.n_nodes)[graph])
        ends = [
            self._show_node(graph, first + int(end[edge])) for end in (self.source, self.target)
        ]
        return f"{self._show_graph(graph)}, edge ({', '.join(ends)}),"

    def find_directed(self, kind: NDArray[np.integer]) -> tuple[NDArray[np.bool_], int | None]:
        """Return which graphs have edges without a counterpart, and the first such edge.

        `kind` numbers what edges have besides their ends.
        """
        first = offsets_of(self.n_nodes)[self.graph_of]
        start, end = first + self.source, first + self.target
        there, back, lonely = pair_directions(start, end, kind)
        # Nodes are numbered through all graphs, so that each graph has the same places in both.
        differs = (
            (start[there] != end[back]) | (end[there] != start[back]) | (kind[there] != kind[back])
        )
        n_lonely = np.bincount(self.graph_of[there][differs], minlength=len(self.n_nodes))
        return n_lonely > 0, lonely

    def build(
        self,
        names: dict[str, Hashable | None] | None = None,
        *,
        node_labels: Numbered = NO_LABELS,
        node_features: Any = None,
        edge_labels: Numbered = NO_LABELS,
        edge_weights: Any = None,
        edge_features: Any = None,
    ) -> dict[str, Any]:
        """Return the fields of a GraphSet.

        Features and weights are lists or arrays of values that are checked here, with one for
        each node or edge. Parallel edges with the same label become one: their weights are
        added, and their features have to be equal.
        """
        names = {key: name for key, name in (names or {}).items() if name is not None}
        vectors = self._stack(node_features, self.locate_node, names, "node")
        edge, source, target = self._directed_edges()
        weights = edge_vectors = None
        if edge_weights is not None:
            name = names["edge_weight"]
            weights = read_weights(edge_weights, self.locate_edge, name)[edge]
        if edge_features is not None:
            edge_vectors = self._stack(edge_features, self.locate_edge, names, "edge")[edge]
        ids = None if edge_labels[0] is None else edge_labels[0][edge]
        groups = self._group(source, target, ids, len(edge_labels[1]))
        first = groups.first
        if weights is not None:
            weights = groups.add(weights)
            check_finite(weights, lambda i: self.locate_edge(int(edge[first[i]])), name)
        if edge_vectors is not None:
            if (lonely := groups.first_difference(edge_vectors)) is not None:
                where = self.locate_edge(int(edge[lonely]))
                advice = "pass edge_features=None to ignore them"
                raise parallel_features_error(where, names["edge_features"], advice)
            edge_vectors = edge_vectors[first]
        return {
            "node_offsets": offsets_of(self.n_nodes),
            "edge_offsets": offsets_of(
                np.bincount(source[first], minlength=int(self.n_nodes.sum()))
            ),
            "neighbors": target[first].astype(np.int32),
            "directed": self.directed,
            "label_ids": node_labels[0],
            "labels": node_labels[1],
            "features": vectors,
            "node_names": self.node_names,
            "edge_label_ids": None if ids is None else ids[first],
            "edge_labels": edge_labels[1],
            "edge_weights": weights,
            "edge_vectors": edge_vectors,
            **names,
        }

    def _directed_edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return edges from each of their ends: which edge, its source and its target.

        They are in the order of the nodes, those of a node in the order of the edges. Sources
        are numbered through all graphs, targets within theirs.
        """
        edge, source, target = np.arange(len(self.source)), self.source, self.target
        if not self.both_ways:
            back = np.flatnonzero(~self.directed[self.graph_of] & (source != target))
            edge = np.concatenate([edge, back])
            source, target = (
                np.concatenate([source, target[back]]),
                np.concatenate([target, source[back]]),
            )
        source = source + offsets_of(self.n_nodes)[self.graph_of[edge]]
        order = np.lexsort((edge, source))
        return edge[order], source[order], target[order]

    def _group(
        self,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        ids: NDArray[np.int32] | None,
        n_labels: int,
    ) -> Groups:
        """Return parallel edges of the same label in groups, which are in the order of sources."""
        # Pairs of nodes (v, u) have the numbers from start[v] on.
        start = offsets_of(np.repeat(self.n_nodes, self.n_nodes))[:-1]
        codes = start[source] + target
        return Groups.from_codes(codes if ids is None else codes * n_labels + ids)

    def _stack(
        self, values: Any, locate: Callable[[int], str], names: dict[str, Hashable], kind: str
    ) -> Any:
        if values is None:
            return None
        return stack_vectors(values, locate, names[f"{kind}_features"], kind)

    def _show_graph(self, graph: int) -> str:
        return f"Graph {graph if self.graph_names is None else show(self.graph_names[graph])}"

    def _show_node(self, graph: int, position: int) -> str:
        if self.node_names is None:
            return str(position - int(offsets_of(self.n_nodes)[graph]))
        return show(self.node_names[position : position + 1].tolist()[0])


def check_nodes(n_nodes: NDArray[np.int64]) -> None:
    """Check that every graph has a node."""
    if empty := np.flatnonzero(n_nodes == 0).tolist():
        raise ValueError(
            f"Graph {empty[0]} has no nodes. Remove graphs without nodes"
            " (and their targets) before fitting or predicting."
        )


def check_type(graphs: Sequence[Any], is_one: Callable[[Any], bool], form: str) -> None:
    """Check that all graphs are of one form, such as 'an igraph Graph'."""
    for index, graph in enumerate(graphs):
        if not is_one(graph):
            raise TypeError(f"Graph {index} is of type {full_name(type(graph))}, not {form}.")


def number_integers(values: NDArray[np.integer | np.bool_]) -> Numbered:
    """Return whole numbers as labels, and rows of several as tuples of them.

    >>> number_integers(np.array([[6, 1], [8, 0], [6, 1]]))
    (array([0, 1, 0], dtype=int32), ((6, 1), (8, 0)))
    """
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    labels, ids = np.unique(values, axis=0, return_inverse=True)
    distinct = [tuple(row) if isinstance(row, list) else row for row in labels.tolist()]
    return ids.reshape(-1).astype(np.int32), tuple(distinct)
