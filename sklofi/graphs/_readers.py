"""The ways into a GraphSet from forms other than networkx graphs: a class method for each."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import scipy.sparse as sp

from sklofi.graphs._edge_list import EdgeColumns, read_edge_list
from sklofi.graphs._graph_attributes import read_graph_table
from sklofi.graphs._graphml import find_graphml, name_files, read_graphml
from sklofi.graphs._igraph import read_igraph
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL
from sklofi.graphs._lists import as_list, check_not_single
from sklofi.graphs._molecule_options import ATOM_LABEL, BOND_LABEL, MoleculeOptions
from sklofi.graphs._molecules import check_molecule_list, read_molecules
from sklofi.graphs._pyg import check_data_list, read_pyg
from sklofi.graphs._rustworkx import read_rustworkx
from sklofi.graphs._scipy import read_scipy

if TYPE_CHECKING:
    import networkx as nx


class GraphReaders:
    """Mixin of :class:`GraphSet`: a class method for each form that graphs are kept in.

    A reader returns the fields of a GraphSet, in a module of its own.
    """

    if TYPE_CHECKING:

        def __init__(self, **fields: Any) -> None: ...

        @classmethod
        def from_networkx(cls, graphs: Iterable[nx.Graph], *names: Any) -> Self: ...

    @classmethod
    def from_molecules(
        cls,
        molecules: Iterable[Any],
        *,
        atom_label: str | Iterable[str] | None = ATOM_LABEL,
        bond_label: str | Iterable[str] | None = BOND_LABEL,
        explicit_hydrogens: bool = False,
        fragments: str = "all",
        on_invalid: str = "raise",
        n_jobs: int | None = None,
        graph_features: Any = None,
    ) -> Self:
        """Read molecules: their atoms are nodes, their bonds are edges.

        It needs RDKit, the extra ``chem``. Atoms are in the order in which RDKit has them, which
        is that of the SMILES string. Not read are coordinates, atom-map numbers, radicals, names,
        and what is not named in `atom_label` and `bond_label`.

        Parameters
        ----------
        molecules : list, tuple, 1-D array or column of str or rdkit.Chem.Mol
            SMILES strings, or molecules of RDKit, which are read and never changed.

        atom_label : str, tuple of str or None, default=("element", "hydrogens", "charge", \
                "aromatic")
            What the labels of nodes are made of: some of "element", "hydrogens" (their number,
            without those that are nodes), "charge", "aromatic", "isotope", "chirality" (R or S)
            and "ring" (whether the atom is in one). A label is written almost as in SMILES,
            such as ``"CH3"``, ``"nH"`` or ``"NH3+"``, with aromatic atoms in lower case. None
            gives no labels.

        bond_label : str, tuple of str or None, default=("order",)
            What the labels of edges are made of: some of "order" (such as ``"single"``,
            ``"double"``, ``"aromatic"``, ``"dative"``), "stereo" (E or Z), "conjugation" and
            "ring". None gives no labels.

        explicit_hydrogens : bool, default=False
            Whether hydrogens are nodes. If not, those that a molecule of RDKit has as atoms are
            taken as numbers of their neighbors, as RDKit does it for SMILES: isotopes such as
            deuterium, and hydrogen alone, stay.

        fragments : {"all", "largest"}, default="all"
            Which parts of a molecule are read if it has several, as salts do: all of them, in
            one graph, or the one with the most heavy atoms.

        on_invalid : {"raise", "nan"}, default="raise"
            What to do with rows that are no molecule: raise an error that names them, or take
            them as graphs without nodes, which :attr:`missing` names. Estimators with
            ``on_invalid="nan"`` predict NaN for these.

        n_jobs : int or None, default=None
            Number of processes, -1 for as many as there are processors. None is 1 unless
            :func:`joblib.parallel_config` says otherwise. It pays from some ten thousand
            molecules on.

        graph_features : array-like of shape (n_graphs,) or (n_graphs, n_features), or data frame
            Numbers that belong to each molecule, such as conditions of a measurement or
            descriptors, in the order of the molecules. By default there are none.

        Returns
        -------
        graphs : GraphSet
            A graph for each molecule, in the same order.

        Examples
        --------
        >>> from sklofi import GraphSet
        >>> graphs = GraphSet.from_molecules(["CCO", "c1cc[nH]c1", "C[NH3+].[Cl-]"])
        >>> graphs.labels
        ('CH2', 'CH3', 'Cl-', 'NH3+', 'OH', 'cH', 'nH')
        >>> graphs.edge_labels
        ('aromatic', 'single')
        >>> GraphSet.from_molecules(["CCO"], atom_label="element").labels
        ('C', 'O')
        >>> GraphSet.from_molecules(["CO", "CCO"], graph_features=[293.0, 310.0])
        GraphSet(n_graphs=2, n_nodes=5, n_labels=3, n_edge_labels=1, n_graph_features=1)
        """
        options = MoleculeOptions(
            atom_label,  # type: ignore[arg-type]  # which it makes a tuple
            bond_label,  # type: ignore[arg-type]
            explicit_hydrogens,
            fragments,
        )
        items = check_molecule_list(molecules)
        of_graphs = read_graph_table(graph_features, len(items))
        fields = read_molecules(items, options, on_invalid=on_invalid, n_jobs=n_jobs)
        return cls(**fields, **of_graphs)

    @classmethod
    def from_pyg(
        cls,
        graphs: Sequence[Any],
        node_label: str | None = DEFAULT_NODE_LABEL,
        node_features: str | None = None,
        edge_label: str | None = DEFAULT_EDGE_LABEL,
        edge_weight: str | None = None,
        edge_features: str | None = None,
        directed: bool | None = None,
        graph_features: str | list[str] | None = None,
    ) -> Self:
        """Convert graphs of PyTorch Geometric.

        Each parameter names an attribute of the data. Categories are whole numbers, one-hot
        rows (at least two columns, of which one is 1 and the others are 0; the label is the
        number of that column), or a single column of any numbers. Several columns of whole
        numbers are tuples of them.

        The defaults read `x` and `edge_attr`: whole numbers and one-hot rows as labels, other
        numbers in `x` as features. An attribute `label` takes the place of `x`. Name the
        attributes to leave nothing to this rule.

        Parameters
        ----------
        graphs : list of torch_geometric.data.Data, or a data set of them
            The graphs. Each needs `edge_index`, and `x` or `num_nodes`.

        node_label : str or None, default="label"
            Attribute with the categories of nodes, such as ``"x"``. None ignores labels, but
            not `x` if it holds other numbers.

        node_features : str or None, default=None
            Attribute with numbers or vectors of nodes, such as ``"x"`` or ``"pos"``.

        edge_label : str or None, default="label"
            Attribute with the categories of edges, such as ``"edge_attr"``. None ignores
            labels, then parallel edges count as one.

        edge_weight : str or None, default=None
            Attribute with a number for each edge, zero or more, such as ``"edge_weight"``.

        edge_features : str or None, default=None
            Attribute with numbers or vectors of edges, such as ``"edge_attr"``.

        directed : bool or None, default=None
            Whether the graphs are directed. By default those are in which some edge has no
            equal edge, with the same attributes, in the other direction.

        graph_features : str, list of str or None, default=None
            Attribute of the data with a number or a vector of numbers for the graph as a whole,
            of shape (n_features,) or (1, n_features); or several with a number each.

        Returns
        -------
        graphs : GraphSet
            The same graphs, in the same order.

        Examples
        --------
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from sklofi import GraphSet
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> water = Data(x=torch.tensor([1, 8, 1]), edge_index=edges)
        >>> GraphSet.from_pyg([water]).labels
        (1, 8)
        """
        check_data_list(graphs)
        names = (node_label, node_features, edge_label, edge_weight, edge_features)
        data = read_pyg(
            as_list(graphs),
            *names,
            is_training=True,
            directed=directed,
            graph_features=graph_features,
        )
        return cls(**data)

    @classmethod
    def from_scipy(
        cls,
        matrices: Sequence[Any],
        labels: Sequence[Any] | None = None,
        features: Sequence[Any] | None = None,
        edge_label: str | None = DEFAULT_EDGE_LABEL,
        edge_weight: str | None = None,
        edge_features: str | None = None,
        directed: bool | None = None,
        graph_features: Any = None,
    ) -> Self:
        """Convert sparse adjacency matrices.

        An entry that is not zero is an edge from the node of its row to that of its column;
        zeros that are stored are none. Nodes are numbered by their rows. As networkx does,
        this library calls the entries "weight".

        Parameters
        ----------
        matrices : list of scipy sparse arrays or matrices
            The graphs, one square matrix for each.

        labels : list of array-like of shape (n_nodes,), default=None
            For each graph the categorical labels of its nodes.

        features : list of array-like of shape (n_nodes, n_features), default=None
            For each graph the continuous features of its nodes.

        edge_label : {"weight", "label"} or None, default="label"
            ``"weight"`` takes the entries for categories, such as orders of bonds. Otherwise
            edges have no labels.

        edge_weight : {"weight"} or None, default=None
            ``"weight"`` takes the entries, which have to be positive then, for weights.

        edge_features : {"weight"} or None, default=None
            ``"weight"`` takes the entries for a continuous feature.

        directed : bool or None, default=None
            Whether the graphs are directed. By default those are whose matrix is not symmetric.

        graph_features : array-like of shape (n_graphs,) or (n_graphs, n_features), or data frame
            Numbers that belong to each graph as a whole. By default there are none.

        Returns
        -------
        graphs : GraphSet
            The same graphs, in the same order.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from sklofi import GraphSet
        >>> formaldehyde = sp.csr_array([[0, 2, 1, 1], [2, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
        >>> graphs = GraphSet.from_scipy(
        ...     [formaldehyde], [["C", "O", "H", "H"]], edge_label="weight"
        ... )
        >>> graphs.labels, graphs.edge_labels
        (('C', 'H', 'O'), (1, 2))
        """
        check_not_single(matrices, sp.issparse(matrices))
        names = (
            None if labels is None else DEFAULT_NODE_LABEL,
            None if features is None else "features",
            *(edge_label, edge_weight, edge_features),
        )
        fields = read_scipy(
            as_list(matrices),
            *names,
            is_training=True,
            labels=labels,
            features=features,
            directed=directed,
        )
        return cls(**fields, **read_graph_table(graph_features, len(fields["directed"])))

    @classmethod
    def from_edge_list(
        cls,
        edges: Any,
        nodes: Any = None,
        *,
        graph: Hashable = "graph",
        source: Hashable = "source",
        target: Hashable = "target",
        node: Hashable = "node",
        node_label: Hashable | None = DEFAULT_NODE_LABEL,
        node_features: Hashable | list[Hashable] | None = None,
        edge_label: Hashable | None = DEFAULT_EDGE_LABEL,
        edge_weight: Hashable | None = None,
        edge_features: Hashable | list[Hashable] | None = None,
        graphs: Iterable[Hashable] | None = None,
        directed: bool = False,
        graph_features: Any = None,
    ) -> Self:
        """Convert tables of edges and nodes, with a column that names the graph.

        Parameters
        ----------
        edges : pandas DataFrame
            A row for each edge. Rows with the same ends and label are parallel edges, which
            count as one; their weights are added. In undirected graphs this includes a row
            with the ends exchanged.

        nodes : pandas DataFrame, default=None
            A row for each node. Without it, nodes are the ends of edges in the order in which
            they appear, and have no labels.

        graph : hashable, default="graph"
            Column of both tables that names the graph.

        source, target : hashable, default="source" and "target"
            Columns of `edges` with the names of the nodes that an edge connects.

        node : hashable, default="node"
            Column of `nodes` with the name of the node, which belongs to its graph: other
            graphs may use it again.

        node_label : hashable or None, default="label"
            Column of `nodes` with a category. Under the default name it may be absent.

        node_features : hashable, list of hashable or None, default=None
            Column or columns of `nodes` with numbers.

        edge_label : hashable or None, default="label"
            Column of `edges` with a category. Under the default name it may be absent.

        edge_weight : hashable or None, default=None
            Column of `edges` with a number, zero or more.

        edge_features : hashable, list of hashable or None, default=None
            Column or columns of `edges` with numbers.

        graphs : iterable of hashable, default=None
            Names of the graphs to read, in the order of the targets, such as ``y.index``. By
            default all are read in the order in which they appear, first those in `nodes`.

        directed : bool, default=False
            Whether edges lead from their source to their target only.

        graph_features : data frame, or array-like of shape (n_graphs, n_features), default=None
            Numbers that belong to each graph as a whole. The index of a data frame, or of a
            column of one, names the graphs; an array is in their order.

        Returns
        -------
        graphs : GraphSet
            The graphs.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklofi import GraphSet
        >>> edges = pd.DataFrame(
        ...     {"graph": ["a", "a", "b"], "source": [0, 1, 0], "target": [1, 2, 1]}
        ... )
        >>> GraphSet.from_edge_list(edges)
        GraphSet(n_graphs=2, n_nodes=5)
        """
        columns = EdgeColumns(
            graph=graph,
            source=source,
            target=target,
            node=node,
            node_label=node_label,
            node_features=node_features,
            edge_label=edge_label,
            edge_weight=edge_weight,
            edge_features=edge_features,
        )
        return cls(**read_edge_list(edges, nodes, columns, graphs, directed, graph_features))

    @classmethod
    def from_igraph(
        cls,
        graphs: Sequence[Any],
        node_label: str | None = DEFAULT_NODE_LABEL,
        node_features: str | None = None,
        edge_label: str | None = DEFAULT_EDGE_LABEL,
        edge_weight: str | None = None,
        edge_features: str | None = None,
        graph_features: Any = None,
    ) -> Self:
        """Convert igraph graphs.

        Parameters
        ----------
        graphs : list of igraph.Graph
            The graphs, directed or not.

        node_label, node_features : str or None, default="label" and None
            Attributes of vertices, as in :meth:`from_networkx`. The value None, which igraph
            has where an attribute was not set, counts as missing.

        edge_label, edge_weight, edge_features : str or None, default="label", None and None
            Attributes of edges, as in :meth:`from_networkx`.

        graph_features : str, list of str or None, default=None
            Attribute of the graphs (``graph[name]``) with a number or a vector of numbers, or
            several with a number each.

        Returns
        -------
        graphs : GraphSet
            The same graphs, in the same order. Nodes are named by their numbers.

        Examples
        --------
        >>> import igraph
        >>> from sklofi import GraphSet
        >>> ring = igraph.Graph.Ring(4)
        >>> ring.vs["label"] = ["N", "O", "N", "O"]
        >>> GraphSet.from_igraph([ring])
        GraphSet(n_graphs=1, n_nodes=4, n_labels=2)
        """
        names = _name(node_label, node_features, edge_label, edge_weight, edge_features)
        return cls(**read_igraph(graphs, names, graph_features))

    @classmethod
    def from_rustworkx(
        cls,
        graphs: Sequence[Any],
        node_label: Hashable | None = DEFAULT_NODE_LABEL,
        node_features: Hashable | None = None,
        edge_label: Hashable | None = DEFAULT_EDGE_LABEL,
        edge_weight: Hashable | None = None,
        edge_features: Hashable | None = None,
        graph_features: Any = None,
    ) -> Self:
        """Convert rustworkx graphs.

        What a node or an edge holds are its attributes if it is a dictionary. Any other value
        but None is an attribute that is called "label" on a node and "weight" on an edge.

        Parameters
        ----------
        graphs : list of rustworkx.PyGraph or rustworkx.PyDiGraph
            The graphs.

        node_label, node_features : hashable or None, default="label" and None
            Attributes of nodes, as in :meth:`from_networkx`.

        edge_label, edge_weight, edge_features : hashable or None, default="label", None and None
            Attributes of edges, as in :meth:`from_networkx`.

        graph_features : hashable, list of hashable or None, default=None
            Attribute of the graphs (``graph.attrs[name]``) with a number or a vector of numbers,
            or several with a number each.

        Returns
        -------
        graphs : GraphSet
            The same graphs, in the same order. Nodes are named by their indices.

        Examples
        --------
        >>> import rustworkx as rx
        >>> from sklofi import GraphSet
        >>> graph = rx.PyGraph()
        >>> carbon, oxygen = graph.add_nodes_from(["C", "O"])
        >>> graph.add_edge(carbon, oxygen, 2.0)
        0
        >>> GraphSet.from_rustworkx([graph], edge_weight="weight").edge_weights
        array([2., 2.])
        """
        names = _name(node_label, node_features, edge_label, edge_weight, edge_features)
        return cls(**read_rustworkx(graphs, names, graph_features))

    @classmethod
    def from_graphml(
        cls,
        folder: str | os.PathLike[str],
        node_label: str | None = DEFAULT_NODE_LABEL,
        node_features: str | None = None,
        edge_label: str | None = DEFAULT_EDGE_LABEL,
        edge_weight: str | None = None,
        edge_features: str | None = None,
        graph_features: Any = None,
    ) -> Self:
        """Convert the GraphML files of a folder, one graph in each.

        Files are not trusted: those with a document type, which can define entities that
        expand without end, and those above 256 MB are refused.

        Parameters
        ----------
        folder : str or path-like
            The folder. Its files that end with ``.graphml`` are read, sorted by name.

        node_label, node_features : str or None, default="label" and None
            Attributes of nodes, as in :meth:`from_networkx`.

        edge_label, edge_weight, edge_features : str or None, default="label", None and None
            Attributes of edges, as in :meth:`from_networkx`.

        graph_features : str, list of str or None, default=None
            Attribute of the graphs with a number, or several with a number each.

        Returns
        -------
        graphs : GraphSet
            The graphs, in the order of the names of their files.

        Examples
        --------
        >>> import os, tempfile
        >>> import networkx as nx
        >>> from sklofi import GraphSet
        >>> folder = tempfile.TemporaryDirectory()
        >>> nx.write_graphml(nx.path_graph(3), os.path.join(folder.name, "path.graphml"))
        >>> GraphSet.from_graphml(folder.name)
        GraphSet(n_graphs=1, n_nodes=3)
        """
        files = find_graphml(folder)
        names = (node_label, node_features, edge_label, edge_weight, edge_features, graph_features)
        return name_files(
            lambda graphs: cls.from_networkx(graphs, *names), [*map(read_graphml, files)], files
        )


def _name(
    node_label: Hashable | None,
    node_features: Hashable | None,
    edge_label: Hashable | None,
    edge_weight: Hashable | None,
    edge_features: Hashable | None,
) -> dict[str, Hashable | None]:
    """Return names of attributes by their parameters."""
    return {
        "node_label": node_label,
        "node_features": node_features,
        "edge_label": edge_label,
        "edge_weight": edge_weight,
        "edge_features": edge_features,
    }
