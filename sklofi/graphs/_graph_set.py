"""The container of graphs: flat arrays that scikit-learn can slice.

:class:`GraphSet` is the form in which graphs pass through the library: checked once by a reader
(:mod:`sklofi.graphs._networkx`, for instance), a handful of numpy arrays afterwards.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt
from sklofi.graphs._cache import TableCache
from sklofi.graphs._consistency import is_consistent
from sklofi.graphs._files import check_plain, damaged, load_fields, save_fields
from sklofi.graphs._graph_attributes import (
    DEFAULT_GRAPH_FEATURES,
    names_of_columns,
    read_graph_table,
)
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL
from sklofi.graphs._lists import TABLES_ONLY
from sklofi.graphs._molecule_options import MoleculeOptions
from sklofi.graphs._networkx import (
    WEIGHT,
    build_networkx,
    check_graph_list,
    read_networkx,
    warn_of_weights,
)
from sklofi.graphs._parallel import merge_parallel
from sklofi.graphs._readers import GraphReaders
from sklofi.graphs._segments import take_segments


@dataclass(frozen=True, eq=False, repr=False)
class GraphSet(GraphReaders):
    """A sequence of graphs in flat arrays, ready to be sliced by scikit-learn.

    Make one with :meth:`from_networkx`, or with the method of another form, such as
    :meth:`from_molecules` or :meth:`from_edge_list`. Every estimator of this library takes a list
    of graphs or a ``GraphSet``; the second is converted once instead of once per fit, and travels
    to worker processes as plain arrays. :meth:`save` keeps it in a file.

    A ``GraphSet`` is a sequence: ``len(graphs)``, ``graphs[3]`` (a networkx graph) and
    iteration work as for a list, while ``graphs[key]`` with a slice, an integer array or
    a boolean mask gives another ``GraphSet``. Nothing in the library changes one.

    Tables that estimators derive from the graphs (egonets, colors of nodes) are computed
    once and kept with them, so the arrays are read-only. Slices use the tables of the set
    that they were taken from, and so keep it alive; ``copy.copy(graphs)`` has tables of
    its own. Tables are not pickled.

    Parameters
    ----------
    node_offsets : ndarray of shape (n_graphs + 1,)
        The nodes of graph ``i`` are those from ``node_offsets[i]`` up to
        ``node_offsets[i + 1]``, in the order of the networkx graph.

    edge_offsets : ndarray of shape (n_nodes + 1,)
        The neighbors (successors, in a directed graph) of node ``v`` are
        ``neighbors[edge_offsets[v] : edge_offsets[v + 1]]``.

    neighbors : ndarray of shape (n_edges,)
        Numbers of the neighbors, each counted from the first node of its own graph.
        An undirected edge stands here twice, an undirected loop once. Parallel edges stand
        here once if they have the same label, or if labels of edges were not read; with
        different labels they are separate entries.

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

    edge_weights : ndarray of shape (n_edges,) or None
        For each entry of `neighbors` the weight of that edge, zero or more. An undirected
        edge has the same in both places. The weights of parallel edges that are one entry
        are added.

    edge_weight : hashable
        The edge attribute that weights came from and go back to.

    edge_vectors : ndarray of shape (n_edges, n_edge_features) or None
        For each entry of `neighbors` the continuous features of that edge. An undirected
        edge has the same in both places.

    edge_features : hashable
        The edge attribute that features came from and go back to.

    graph_vectors : ndarray of shape (n_graphs, n_graph_features) or None
        Continuous features of each graph as a whole, such as a temperature.

    graph_features : hashable
        The graph attribute that these came from and go back to; a tuple of names if each column
        has its own.

    molecule_options : MoleculeOptions or None
        How molecules were read, if the graphs are molecules.

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
    edge_weights: NDArray[np.float64] | None = None
    edge_weight: Hashable = WEIGHT
    edge_vectors: NDArray[np.float64] | None = None
    edge_features: Hashable = "features"
    graph_vectors: NDArray[np.float64] | None = None
    graph_features: Hashable = DEFAULT_GRAPH_FEATURES
    molecule_options: MoleculeOptions | None = None

    # Not data: neither pickled nor saved. A slice has an origin, its whole set and rows there.
    tables: TableCache = field(default_factory=TableCache, init=False)
    _origin: tuple[GraphSet, NDArray[np.int64]] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._make_read_only()

    @classmethod
    def from_networkx(
        cls,
        graphs: Iterable[nx.Graph],
        node_label: Hashable | None = DEFAULT_NODE_LABEL,
        node_features: Hashable | None = None,
        edge_label: Hashable | None = DEFAULT_EDGE_LABEL,
        edge_weight: Hashable | None = None,
        edge_features: Hashable | None = None,
        graph_features: Any = None,
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
            other name has to exist if there are edges. An edge without a label among
            labeled ones is refused: give it a label of its own. Parallel edges with equal
            labels count as one. None ignores labels, then all parallel edges do.

        edge_weight : hashable or None, default=None
            Edge attribute that holds a number, zero or more. Every edge needs one. The
            weights of parallel edges that count as one are added.

        edge_features : hashable or None, default=None
            Edge attribute that holds a number or a vector of numbers, of the same length
            on every edge. Parallel edges that count as one need the same features.

        graph_features : hashable, list of hashable or None, default=None
            Attribute of the graphs themselves (``graph.graph[name]``) that holds a number or
            a vector of numbers, of the same length in every graph; or a list of attributes
            that hold a number each.

        Returns
        -------
        graphs : GraphSet
            The same graphs, in the same order.

        Examples
        --------
        >>> import networkx as nx
        >>> from sklofi import GraphSet
        >>> water = nx.Graph([("H1", "O"), ("O", "H2")])
        >>> nx.set_node_attributes(water, {"H1": "H", "O": "O", "H2": "H"}, "element")
        >>> graphs = GraphSet.from_networkx([water], node_label="element")
        >>> graphs.labels
        ('H', 'O')
        >>> graphs.label_ids
        array([0, 1, 0], dtype=int32)
        """
        graphs = check_graph_list(graphs)
        names = (edge_label, edge_weight, edge_features)
        data = read_networkx(
            graphs,
            node_label,
            node_features,
            *names,
            is_training=True,
            graph_features=graph_features,
        )
        if edge_weight is None:
            warn_of_weights(graphs, names, can_be_read=True)
        return cls(**data)

    def to_networkx(self) -> list[nx.Graph]:
        """Convert the graphs back to networkx graphs.

        Nodes keep their names and order, edges their direction, labels, weights and features,
        also of graphs, the attributes they came from. Parallel edges that counted as one and
        other attributes were not kept.

        Returns
        -------
        graphs : list of networkx Graph, DiGraph, MultiGraph or MultiDiGraph
            New graphs, which may be changed. Those with parallel edges are multigraphs.

        Examples
        --------
        >>> import networkx as nx
        >>> from sklofi import GraphSet
        >>> graphs = GraphSet.from_networkx([nx.path_graph(["a", "b", "c"])])
        >>> graphs.to_networkx()[0].edges
        EdgeView([('a', 'b'), ('b', 'c')])
        """
        return list(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graphs to a file, so that they are converted once.

        The file holds arrays (safetensors) and a description (JSON), no pickles. It is
        written beside the target and then moved over it, so that a crash leaves the former
        file whole. Labels and names of nodes have to be plain values, such as numbers, texts
        and tuples of them. Tables that are kept with the graphs are not saved.

        Parameters
        ----------
        path : str or path-like
            Where to write. By convention the name ends with ``.safetensors``.
        """
        save_fields(self._data(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GraphSet:
        """Read graphs from a file that :meth:`save` has written.

        Arrays are mapped into memory: the system reads them when they are used, and
        processes on one machine share them. The file may be replaced or removed meanwhile,
        but not written to. Nothing is unpickled and no code from the file is run, whatever
        is in it; what does not fit together is refused.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        graphs : GraphSet
            The graphs, equal in all fields to those that were saved.

        Examples
        --------
        >>> import os, tempfile
        >>> import networkx as nx
        >>> from sklofi import GraphSet
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "graphs.safetensors")
        >>> GraphSet.from_networkx([nx.path_graph(3), nx.star_graph(4)]).save(path)
        >>> GraphSet.load(path)
        GraphSet(n_graphs=2, n_nodes=8)
        """
        data = load_fields(path)
        graphs = attempt(cls._check_loaded, data)
        if isinstance(graphs, Exception):
            raise damaged(path, graphs) from graphs
        return graphs

    @classmethod
    def _check_loaded(cls, data: dict[str, Any]) -> GraphSet:
        """Return the graphs with fields from a file, if they are graphs."""
        check_plain(data)
        graphs = cls(**data)
        graphs.check_arrays()
        return graphs

    @property
    def shape(self) -> tuple[int]:
        """``(n_graphs,)``, which tells scikit-learn how to slice."""
        return (len(self),)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return int(self.node_offsets[-1])

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no graph, because they were no molecules (``on_invalid="nan"``)."""
        missing: NDArray[np.bool_] = self.node_offsets[1:] == self.node_offsets[:-1]
        return missing

    @property
    def origin(self) -> tuple[GraphSet, NDArray[np.int64]]:
        """The set that this one was sliced from, and the rows that were taken."""
        return self._origin or (self, np.arange(len(self)))

    @property
    def fingerprint(self) -> bytes:
        """A digest of all that tables are derived from.

        They do not depend on graph features, nor on the names of nodes and labels.
        """
        return self.tables.get("fingerprint", self._compute_fingerprint)

    def check_arrays(self) -> None:
        """Check that the arrays fit together, as they may not if they come from a file."""
        if not is_consistent(self):
            raise ValueError("the arrays of the graphs do not fit together")

    def without_labels(self) -> GraphSet:
        """Return the same graphs without node labels; all other attributes stay.

        Returns
        -------
        graphs : GraphSet
            The graphs, which share what does not depend on labels.
        """
        if self.label_ids is None:
            return self
        bare = replace(self, label_ids=None, labels=())
        if self._origin is None:
            vars(bare)["tables"] = self.tables.without_labels()
        else:
            whole, rows = self._origin
            vars(bare)["_origin"] = (whole.without_labels(), rows)
        return bare

    def without_edge_labels(self) -> GraphSet:
        """Return the same graphs without edge labels, in which parallel edges are one.

        The weights of parallel edges are added. Their features have to be equal.

        Returns
        -------
        graphs : GraphSet
            The graphs, which share what does not depend on labels if no two edges have
            become one.

        Examples
        --------
        >>> import networkx as nx
        >>> from sklofi import GraphSet
        >>> graph = nx.MultiGraph()
        >>> graph.add_edges_from([(0, 1, {"label": "bus"}), (0, 1, {"label": "train"})])
        [0, 1]
        >>> graphs = GraphSet.from_networkx([graph])
        >>> len(graphs.neighbors), len(graphs.without_edge_labels().neighbors)
        (4, 2)
        """
        if self.edge_label_ids is None:
            return self
        merged = merge_parallel(self)
        bare = replace(self, **merged)
        if self._origin is None:
            is_same = "neighbors" not in merged
            vars(bare)["tables"] = self.tables.without_edge_labels(is_same_structure=is_same)
        else:
            whole, rows = self._origin
            bare_whole = attempt(whole.without_edge_labels)
            if isinstance(bare_whole, GraphSet):  # graphs outside the slice may not allow it
                vars(bare)["_origin"] = (bare_whole, rows)
        return bare

    def without_edge_features(self) -> GraphSet:
        """Return the same graphs without features of edges; all other attributes stay.

        Returns
        -------
        graphs : GraphSet
            The graphs, which share what depends on nodes and edges only.
        """
        if self.edge_vectors is None:
            return self
        bare = replace(self, edge_vectors=None)
        if self._origin is None:
            vars(bare)["tables"] = self.tables.without_edge_features()
        else:
            whole, rows = self._origin
            vars(bare)["_origin"] = (whole.without_edge_features(), rows)
        return bare

    def with_graph_features(self, values: Any, names: Any = None) -> GraphSet:
        """Return the same graphs with features of each graph as a whole, in place of others.

        Parameters
        ----------
        values : array-like of shape (n_graphs,) or (n_graphs, n_features), data frame or None
            A number or a row of numbers for each graph, in the order of the graphs. None
            leaves out the features that graphs have.

        names : hashable or list of hashable, default=None
            What the features are called, all together or one by one. By default columns of a
            data frame have their names, and others are called "features".

        Returns
        -------
        graphs : GraphSet
            The graphs, which share all that is derived from nodes and edges.

        Examples
        --------
        >>> import networkx as nx
        >>> import pandas as pd
        >>> from sklofi import GraphSet
        >>> graphs = GraphSet.from_networkx([nx.path_graph(3), nx.star_graph(4)])
        >>> conditions = pd.DataFrame({"temperature": [293.0, 310.0], "dose": [1, 5]})
        >>> graphs.with_graph_features(conditions)
        GraphSet(n_graphs=2, n_nodes=8, n_graph_features=2)
        """
        fields: dict[str, Any] = {"graph_vectors": None, "graph_features": DEFAULT_GRAPH_FEATURES}
        other = replace(self, **(fields | read_graph_table(values, len(self), names)))
        # Tables depend on nodes and edges only.
        vars(other).update(tables=self.tables, _origin=self._origin)
        return other

    @property
    def graph_feature_names(self) -> list[str]:
        """A name for each column of `graph_vectors`."""
        if self.graph_vectors is None:
            return []
        return names_of_columns(self.graph_features, self.graph_vectors.shape[1])

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    def __iter__(self) -> Iterator[nx.Graph]:
        return (build_networkx(self, index) for index in range(len(self)))

    def __getitem__(self, key: Any) -> GraphSet | nx.Graph:
        if isinstance(key, tuple):  # scikit-learn asks for X[rows, ...]
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("A GraphSet has one axis: use graphs[rows].")
            key = key[0]
        graphs = np.arange(len(self))[key]  # numpy knows every kind of index
        if graphs.ndim == 0:
            return build_networkx(self, int(graphs))
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
            edge_weights=None if self.edge_weights is None else self.edge_weights[edges],
            edge_vectors=None if self.edge_vectors is None else self.edge_vectors[edges],
            graph_vectors=None if self.graph_vectors is None else self.graph_vectors[graphs],
        )
        # Tables are for graphs with nodes; a set with others has none to share.
        if self.molecule_options is None or not self.missing.any():
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
        if self.edge_vectors is not None:
            parts.append(f"n_edge_features={self.edge_vectors.shape[1]}")
        if self.edge_weights is not None:
            parts.append("weighted=True")
        if self.graph_vectors is not None:
            parts.append(f"n_graph_features={self.graph_vectors.shape[1]}")
        return f"GraphSet({', '.join(parts)})"

    def __sizeof__(self) -> int:
        # Schedulers ask this to decide how to ship the data, so it has to count what
        # the arrays point to as well.
        size = object.__sizeof__(self) + sys.getsizeof(self.__dict__)
        for value in self._data().values():
            if isinstance(value, np.ndarray):
                size += value.nbytes + sys.getsizeof(value[:0])
                if value.dtype == object:
                    size += sum(map(sys.getsizeof, value))
            elif isinstance(value, tuple):
                size += sys.getsizeof(value) + sum(map(sys.getsizeof, value))
        return size

    def __getstate__(self) -> dict[str, Any]:
        return self._data() | {"fingerprint": self.fingerprint}

    def __setstate__(self, state: dict[str, Any]) -> None:
        data = dict(state)
        directed = np.packbits(data["directed"]).tobytes()
        tables = TableCache.receive(data.pop("fingerprint"), directed)
        vars(self).update(data, tables=tables, _origin=None)
        self._make_read_only()

    def __copy__(self) -> GraphSet:
        return replace(self)  # the arrays are never changed

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphSet:
        return replace(self)

    def _data(self) -> dict[str, Any]:
        """Return the fields that are data, by their names."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    def _make_read_only(self) -> None:
        """Make the arrays read-only, though not those of the caller."""
        for name, value in self._data().items():
            if isinstance(value, np.ndarray):
                vars(self)[name] = view = value.view()
                view.flags.writeable = False

    def _compute_fingerprint(self) -> bytes:
        digest = hashlib.blake2b(digest_size=16)
        structure = ["node_offsets", "edge_offsets", "neighbors"]
        if self.directed.any():  # rings depend on it
            structure.append("directed")
        edges = ("edge_label_ids", "edge_weights", "edge_vectors")
        for name in (*structure, "label_ids", "features", *edges):
            value = getattr(self, name)
            if value is not None:
                digest.update(f"{name} {value.dtype} {value.shape}".encode())
                digest.update(np.ascontiguousarray(value).data)
        return digest.digest()
