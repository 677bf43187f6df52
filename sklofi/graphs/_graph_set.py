"""Graphs as people have them, turned once into flat arrays.

:class:`GraphSet` is the form in which graphs travel through the library: validated on
the way in (:mod:`sklofi.graphs._networkx`), a handful of numpy arrays afterwards. Estimators learn
about networkx here and nowhere else.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sklofi.graphs._cache import N_ARRIVALS, _arrivals, sharing
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL
from sklofi.graphs._networkx import (
    TABLES_ONLY,
    check_graph_list,
    names_array,
    read_adjacency,
    read_edge_labels,
    read_features,
    read_labels,
    warn_of_other_labels,
    warn_of_weights,
)
from sklofi.graphs._segments import offsets_of, take_segments


@dataclass(frozen=True, eq=False, repr=False)
class GraphSet:
    """A sequence of graphs in flat arrays, ready to be sliced by scikit-learn.

    Make one with :meth:`from_networkx`. Every estimator of this library takes a list of
    networkx graphs or a ``GraphSet``; the second is converted once instead of once per
    fit, and travels to worker processes as plain arrays.

    A ``GraphSet`` is a sequence: ``len(graphs)``, ``graphs[3]`` (a networkx graph) and
    iteration work as for a list, while ``graphs[key]`` with a slice, an integer array or
    a boolean mask gives another ``GraphSet``. Nothing in the library changes one.

    What estimators derive from the graphs (egonets, classes of equal nodes) is computed
    once and kept with them, so the arrays are read-only. Slices share it, and therefore
    keep the set that they were taken from alive; ``copy.copy(graphs)`` is a set of its
    own. It is not pickled.

    Attributes
    ----------
    node_offsets : ndarray of shape (n_graphs + 1,)
        The nodes of graph ``i`` are those from ``node_offsets[i]`` up to
        ``node_offsets[i + 1]``, in the order of the networkx graph.

    edge_offsets : ndarray of shape (n_nodes + 1,)
        The neighbors (successors, in a directed graph) of node ``v`` are
        ``neighbors[edge_offsets[v] : edge_offsets[v + 1]]``.

    neighbors : ndarray of shape (n_edges,)
        Numbers of the neighbors, each counted from the first node of its own graph.
        An undirected edge stands here twice, parallel edges once.

    directed : ndarray of shape (n_graphs,)
        Whether each graph is directed.

    label_ids : ndarray of shape (n_nodes,) or None
        For each node the position of its label in ``labels``.

    labels : tuple
        The distinct categorical labels, in a fixed order; empty if there are none.

    features : ndarray of shape (n_nodes, n_features) or None
        Continuous node features.

    node_names : ndarray of shape (n_nodes,) or None
        The names of the nodes, or None if every graph has the nodes 0, 1, 2, ...

    node_label, node_features : hashable
        The node attributes that labels and features came from and go back to.

    edge_label_ids : ndarray of shape (n_edges,) or None
        For each entry of `neighbors` the position of the label of that edge in
        `edge_labels`. An undirected edge has the same in both places.

    edge_labels : tuple
        The distinct categorical labels of edges, in a fixed order; empty if there are none.

    edge_label : hashable
        The edge attribute that labels came from and go back to.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklofi import GraphSet
    >>> graphs = GraphSet.from_networkx([nx.path_graph(3), nx.star_graph(4)])
    >>> graphs
    GraphSet(n_graphs=2, n_nodes=8)
    >>> graphs[[1]].n_nodes
    5
    """

    node_offsets: NDArray[np.int64]
    edge_offsets: NDArray[np.int64]
    neighbors: NDArray[np.int32]
    directed: NDArray[np.bool_]
    label_ids: NDArray[np.int32] | None = None
    labels: tuple[Hashable, ...] = ()
    features: NDArray[np.float64] | None = None
    node_names: NDArray[Any] | None = None
    node_label: Hashable = DEFAULT_NODE_LABEL
    node_features: Hashable = "features"
    edge_label_ids: NDArray[np.int32] | None = None
    edge_labels: tuple[Hashable, ...] = ()
    edge_label: Hashable = DEFAULT_EDGE_LABEL

    _origin: tuple[GraphSet, NDArray[np.int64]] | None = field(default=None, init=False)
    _tables: dict[Hashable, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._protect()

    @classmethod
    def from_networkx(
        cls,
        graphs: Iterable[nx.Graph],
        node_label: Hashable | None = DEFAULT_NODE_LABEL,
        node_features: Hashable | None = None,
        edge_label: Hashable | None = DEFAULT_EDGE_LABEL,
    ) -> GraphSet:
        """Convert networkx graphs.

        Parameters
        ----------
        graphs : list, tuple or 1-D array of networkx graphs
            Directed or not, multigraphs or not, with any node names. The graphs are
            read, never changed.

        node_label : hashable or None, default="label"
            Node attribute that holds a categorical label (any hashable value). Graphs
            that have no such attribute on any node count as unlabeled if this is left
            at its default; any other name has to exist. None ignores labels.

        node_features : hashable or None, default=None
            Node attribute that holds a number or a vector of numbers, of the same
            length on every node.

        edge_label : hashable or None, default="label"
            Edge attribute that holds a categorical label (any hashable value). Under the
            default name it may be absent on all edges, then they count as unlabeled; any
            other name has to exist if there are edges. Parallel edges, of which one is
            kept, need equal labels. None ignores labels.

        Returns
        -------
        graphs : GraphSet
        """
        graphs = check_graph_list(graphs)
        warn_of_weights(graphs, edge_label)
        return cls._read(graphs, node_label, node_features, edge_label, is_training=True)

    @classmethod
    def _read(
        cls,
        graphs: list[nx.Graph],
        node_label: Hashable | None,
        node_features: Hashable | None,
        edge_label: Hashable | None,
        is_training: bool,
    ) -> GraphSet:
        """With `is_training`, a user is told of attributes that may have been meant as labels."""
        nodes = [list(graph) for graph in graphs]
        n_nodes = np.fromiter(map(len, nodes), dtype=np.int64, count=len(graphs))
        if empty := np.flatnonzero(n_nodes == 0).tolist():
            raise ValueError(
                f"Graph {empty[0]} has no nodes. Remove graphs without nodes"
                " (and their targets) before fitting or predicting."
            )
        degrees, neighbors, names_are_numbers = read_adjacency(graphs, nodes)
        label_ids, labels = read_labels(graphs, nodes, node_label)
        edge_label_ids, edge_labels = read_edge_labels(
            graphs, nodes, degrees, neighbors, edge_label
        )
        if is_training and label_ids is None and node_label is not None and node_features is None:
            warn_of_other_labels(graphs, "node")
        if is_training and edge_label_ids is None and edge_label is not None:
            warn_of_other_labels(graphs, "edge")
        return cls(
            node_offsets=offsets_of(n_nodes),
            edge_offsets=offsets_of(degrees),
            neighbors=neighbors,
            directed=np.array([graph.is_directed() for graph in graphs]),
            label_ids=label_ids,
            labels=labels,
            features=read_features(graphs, nodes, node_features),
            node_names=None if names_are_numbers else names_array(nodes),
            node_label=cls.node_label if node_label is None else node_label,
            node_features=cls.node_features if node_features is None else node_features,
            edge_label_ids=edge_label_ids,
            edge_labels=edge_labels,
            edge_label=cls.edge_label if edge_label is None else edge_label,
        )

    def to_networkx(self) -> list[nx.Graph]:
        """Give the graphs back as networkx graphs.

        Nodes keep their names and order, edges their direction, labels and features the
        attributes they came from. Parallel edges and other attributes were not kept.

        Returns
        -------
        graphs : list of networkx Graph or DiGraph
        """
        return list(self)

    @property
    def shape(self) -> tuple[int]:
        """``(n_graphs,)``, which tells scikit-learn how to slice."""
        return (len(self),)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return int(self.node_offsets[-1])

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    def __iter__(self) -> Iterator[nx.Graph]:
        return map(self._graph, range(len(self)))

    def __getitem__(self, key: Any) -> GraphSet | nx.Graph:
        if isinstance(key, tuple):  # scikit-learn asks for X[rows, ...]
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("A GraphSet has one axis: use graphs[rows].")
            key = key[0]
        graphs = np.arange(len(self))[key]  # numpy knows every kind of index
        if graphs.ndim == 0:
            return self._graph(int(graphs))
        if graphs.ndim > 1:
            raise IndexError("A GraphSet has one axis: use graphs[rows].")
        nodes, node_offsets = take_segments(self.node_offsets, graphs)
        edges, edge_offsets = take_segments(self.edge_offsets, nodes)
        part = replace(
            self,
            node_offsets=node_offsets,
            edge_offsets=edge_offsets,
            neighbors=self.neighbors[edges],
            directed=self.directed[graphs],
            label_ids=None if self.label_ids is None else self.label_ids[nodes],
            features=None if self.features is None else self.features[nodes],
            node_names=None if self.node_names is None else self.node_names[nodes],
            edge_label_ids=None if self.edge_label_ids is None else self.edge_label_ids[edges],
        )
        whole, rows = self.origin
        vars(part)["_origin"] = (whole, rows[graphs])
        return part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(f"A GraphSet cannot be made an array, as was tried by {TABLES_ONLY}.")

    def __repr__(self) -> str:
        parts = [f"n_graphs={len(self)}", f"n_nodes={self.n_nodes}"]
        if self.label_ids is not None:
            parts.append(f"n_labels={len(self.labels)}")
        if self.features is not None:
            parts.append(f"n_features={self.features.shape[1]}")
        if self.edge_label_ids is not None:
            parts.append(f"n_edge_labels={len(self.edge_labels)}")
        return f"GraphSet({', '.join(parts)})"

    def __sizeof__(self) -> int:
        # Schedulers ask this to decide how to ship the data, so it has to count what
        # the arrays point to as well.
        size = object.__sizeof__(self) + sys.getsizeof(self.__dict__)
        for name in self._value_names():
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                size += value.nbytes + sys.getsizeof(value[:0])
                if value.dtype == object:
                    size += sum(map(sys.getsizeof, value))
            elif isinstance(value, tuple):
                size += sys.getsizeof(value) + sum(map(sys.getsizeof, value))
        return size

    def __getstate__(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in self._value_names()}
        return state | {"fingerprint": self.fingerprint}

    def __setstate__(self, state: dict[str, Any]) -> None:
        fingerprint = state.pop("fingerprint")
        with sharing:
            tables = _arrivals.pop(fingerprint, {"fingerprint": fingerprint})
            _arrivals[fingerprint] = tables  # as the last to arrive
            if len(_arrivals) > N_ARRIVALS:
                del _arrivals[next(iter(_arrivals))]
        vars(self).update(state, _origin=None, _tables=tables)
        self._protect()

    def __copy__(self) -> GraphSet:
        return replace(self)  # the arrays are never changed

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphSet:
        return replace(self)

    @property
    def fingerprint(self) -> bytes:
        """A digest of all that tables are derived from; names of nodes and labels are not."""
        return self.keep("fingerprint", self._fingerprint)

    @property
    def origin(self) -> tuple[GraphSet, NDArray[np.int64]]:
        """The set that this one was sliced from, and the rows that were taken."""
        return self._origin or (self, np.arange(len(self)))

    def keep(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What ``make()`` gives, made once and kept under a key with these graphs.

        Threads that come at once may each make it; all get what the first has made.
        """
        if key not in self._tables:
            self._tables.setdefault(key, make())
        return self._tables[key]

    def check_arrays(self) -> None:
        """Check that the arrays fit together, where they come from nobody knows where."""
        if not (self._has_sizes_that_fit() and self._has_numbers_that_fit()):
            raise ValueError("the arrays of the graphs do not fit together")

    def _has_sizes_that_fit(self) -> bool:
        """Whether the arrays are as long as the offsets say. Those may be made up and describe
        any number of nodes, so nothing of that size is made here."""
        nodes, edges = self.node_offsets, self.edge_offsets
        of_nodes, of_edges = [self.label_ids], [self.neighbors, self.edge_label_ids]
        arrays = [one for one in (nodes, edges, *of_nodes, *of_edges) if one is not None]
        return (
            all(one.ndim == 1 and one.dtype.kind == "i" for one in arrays)
            and len(nodes) > 0
            and len(edges) > 0
            and nodes[0] == edges[0] == 0
            and bool((nodes[1:] > nodes[:-1]).all())  # differences could overflow
            and bool((edges[1:] >= edges[:-1]).all())
            and nodes[-1] == len(edges) - 1
            and all(one is None or len(one) == nodes[-1] for one in (*of_nodes, self.features))
            and all(one is None or len(one) == edges[-1] for one in of_edges)
            and self.directed.shape == (len(self),)
        )

    def _has_numbers_that_fit(self) -> bool:
        """Whether neighbors and labels are there, given arrays of the right sizes."""
        n_nodes, degrees = np.diff(self.node_offsets), np.diff(self.edge_offsets)
        n_own = np.repeat(np.repeat(n_nodes, n_nodes), degrees)
        nothing = np.zeros(0, np.int32)
        ids = nothing if self.label_ids is None else self.label_ids
        edge_ids = nothing if self.edge_label_ids is None else self.edge_label_ids
        return bool(
            ((self.neighbors >= 0) & (self.neighbors < n_own)).all()
            and ((ids >= 0) & (ids < len(self.labels))).all()
            and ((edge_ids >= 0) & (edge_ids < len(self.edge_labels))).all()
        )

    def without_labels(self) -> GraphSet:
        """The same graphs, all nodes alike but for their features; edges keep their labels."""
        if self.label_ids is None:
            return self
        bare = replace(self, label_ids=None, labels=())
        if self._origin is None:
            egonets = self.keep("egonets", dict)  # which do not depend on labels
            tables = self.keep("tables without labels", lambda: {"egonets": egonets})
            vars(bare)["_tables"] = tables
        else:
            whole, rows = self._origin
            vars(bare)["_origin"] = (whole.without_labels(), rows)
        return bare

    def _protect(self) -> None:
        """Make the arrays read-only, though not those of the caller."""
        for name in self._value_names():
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                vars(self)[name] = view = value.view()
                view.flags.writeable = False

    @classmethod
    def _value_names(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.init]

    def _fingerprint(self) -> bytes:
        digest = hashlib.blake2b(digest_size=16)
        structure = ("node_offsets", "edge_offsets", "neighbors")
        for name in (*structure, "label_ids", "features", "edge_label_ids"):
            value = getattr(self, name)
            if value is not None:
                digest.update(f"{name} {value.dtype} {value.shape}".encode())
                digest.update(np.ascontiguousarray(value).data)
        return digest.digest()

    def _graph(self, index: int) -> nx.Graph:
        graph = nx.DiGraph() if self.directed[index] else nx.Graph()
        start, stop = self.node_offsets[index : index + 2].tolist()
        names = list(range(stop - start))
        if self.node_names is not None:
            names = self.node_names[start:stop].tolist()
        graph.add_nodes_from(names)
        bounds = pairwise(self.edge_offsets[start : stop + 1].tolist())
        for name, (begin, end) in zip(names, bounds, strict=True):
            others = (names[i] for i in self.neighbors[begin:end].tolist())
            if self.edge_label_ids is None:
                graph.add_edges_from((name, other) for other in others)
            else:
                labels = (self.edge_labels[i] for i in self.edge_label_ids[begin:end].tolist())
                graph.add_edges_from(
                    (name, other, {self.edge_label: label})
                    for other, label in zip(others, labels, strict=True)
                )
        if self.label_ids is not None:
            labels = (self.labels[i] for i in self.label_ids[start:stop].tolist())
            nx.set_node_attributes(graph, dict(zip(names, labels, strict=True)), self.node_label)
        if self.features is not None:
            features = dict(zip(names, self.features[start:stop].copy(), strict=True))
            nx.set_node_attributes(graph, features, self.node_features)
        return graph
