"""The border: what users pass as X becomes a GraphSet, in the same way in every estimator.

To take another form of graphs, write a module ``_<form>.py`` with a function ``read_<form>``
that checks its input and returns the fields of a :class:`GraphSet`, as
:mod:`sklofi.graphs._networkx` does. Add the class method ``GraphSet.from_<form>``, and a row
to `READERS` where the type of the graphs says which reader to use.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import networkx as nx
import scipy.sparse as sp

from sklofi._messages import show
from sklofi.graphs._graph_attributes import same_names
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL
from sklofi.graphs._lists import as_list, check_not_single
from sklofi.graphs._molecule_options import MoleculeOptions
from sklofi.graphs._molecules import (
    check_molecule_list,
    describe_rows,
    is_molecules,
    read_molecules,
)
from sklofi.graphs._networkx import check_graph_list, read_networkx
from sklofi.graphs._pyg import check_data_list, is_pyg, read_pyg
from sklofi.graphs._scipy import read_scipy

# Molecules are read in the default way, and a GraphSet is taken as it was made.
AS_MADE = "as made"

# The edge features of an estimator that has no parameter for them.
UNUSED: Any = object()

# The forms that are known by the type of a graph, and their readers. Anything else is read, or
# refused, as networkx graphs.
READERS: list[tuple[Callable[[Any], bool], Callable[..., dict[str, Any]]]] = [
    (is_pyg, read_pyg),
    (sp.issparse, read_scipy),
]


def as_graph_set(
    X: Any,
    node_label: Hashable | None,
    node_features: Hashable | None = None,
    edge_label: Hashable | None = None,
    edge_weight: Hashable | None = None,
    edge_features: Hashable | None = UNUSED,
    *,
    graph_features: Any = None,
    molecules: MoleculeOptions | str | None = AS_MADE,
    is_training: bool = False,
) -> GraphSet:
    """Return the graphs that a user passes as X; every method of an estimator begins with it.

    Parameters
    ----------
    X : list, tuple or 1-D array of graphs, or GraphSet
        What the user has passed. The first graph says which of the `READERS` reads them.

    node_label, node_features, edge_label, edge_weight, edge_features : hashable or None
        The attributes that the estimator reads, as in :meth:`GraphSet.from_networkx`.

    graph_features : hashable, list of hashable or None, default=None
        The attributes of graphs that it reads.

    molecules : MoleculeOptions, None or "as made", default="as made"
        How molecules are read, and have to have been read in a GraphSet. None refuses SMILES
        and molecules of RDKit: the estimator was fitted on other graphs. "as made" reads
        them in the default way, and takes every GraphSet.

    is_training : bool, default=False
        Whether to warn of attributes that may have been meant as labels.

    Returns
    -------
    graphs : GraphSet
        The same set if X is one, without node labels if `node_label` is None, and without edge
        labels if `edge_label` is None: parallel edges are then one, as in a list that is read
        without edge labels. A set keeps its features and weights even if their names are None:
        they were chosen when it was made. Edge features that are not used at all do not keep
        parallel edges from becoming one.
    """
    X = read_if_molecules(X, molecules)
    if isinstance(X, GraphSet):
        _check_molecules(X, molecules)
        _check_graph_features(X, graph_features)
        return _check_graph_set(
            X, node_label, node_features, edge_label, edge_weight, edge_features
        )
    if edge_features is UNUSED:
        edge_features = None
    names = (node_label, node_features, edge_label, edge_weight, edge_features)
    read = find_reader(X)
    graphs = check_graph_list(X) if read is read_networkx else as_list(X)
    return GraphSet(**read(graphs, *names, graph_features=graph_features, is_training=is_training))


def read_if_molecules(
    X: Any, options: MoleculeOptions | str | None, on_invalid: str = "raise"
) -> Any:
    """Return X as it is, or a GraphSet if it holds SMILES or molecules of RDKit.

    `options` says how to read them, as `molecules` of :func:`as_graph_set` does.
    """
    was_fitted_on_them = isinstance(options, MoleculeOptions)
    if isinstance(X, GraphSet) or not is_molecules(X, if_missing=was_fitted_on_them):
        return X
    items = check_molecule_list(X)
    if options is None:
        raise ValueError(
            "X has molecules, but the estimator was fitted on graphs of another form, so that it"
            " is not known which labels of atoms and bonds it takes. Convert both in the same"
            " way, or fit it on molecules."
        )
    read_as = MoleculeOptions() if isinstance(options, str) else options
    return GraphSet(**read_molecules(items, read_as, on_invalid=on_invalid))


def _check_molecules(X: GraphSet, options: MoleculeOptions | str | None) -> None:
    """Check that molecules were read, and in the same way as those of training."""
    there = X.molecule_options
    if there is None:
        return
    if isinstance(options, MoleculeOptions) and there != options:
        raise ValueError(
            "X is a GraphSet of molecules that were read in another way than those that the"
            f" estimator was fitted on: with {options.describe_difference(there)}. Make it with"
            " the same options, or pass the molecules themselves."
        )
    if X.missing.any():
        rows = X.missing.nonzero()[0].tolist()
        raise ValueError(
            "X is a GraphSet of molecules, of which some could not be read."
            f" {describe_rows(rows, len(X))}"
        )


def find_reader(X: Any) -> Callable[..., dict[str, Any]]:
    """Return the reader of a list of graphs, by the type of the first."""
    check_data_list(X)
    check_not_single(X, isinstance(X, nx.Graph) or sp.issparse(X))
    first = as_list(X)[0]
    return next((read for is_form, read in READERS if is_form(first)), read_networkx)


def original_graphs(X: Any, graphs: GraphSet) -> GraphSet | Sequence[nx.Graph]:
    """Return graphs to be shown: those of the user, if they are networkx graphs.

    `graphs` is what was read of X, which is a GraphSet or a list of graphs of any form.
    """
    if isinstance(X, GraphSet):
        return X
    if is_molecules(X):
        return graphs
    return check_graph_list(X) if find_reader(X) is read_networkx else graphs


def _check_graph_set(
    X: GraphSet,
    node_label: Hashable | None,
    node_features: Hashable | None,
    edge_label: Hashable | None,
    edge_weight: Hashable | None,
    edge_features: Hashable | None,
) -> GraphSet:
    """Check that a GraphSet was made with the attributes that an estimator reads."""
    if len(X) == 0:
        raise ValueError("X holds no graphs (0 samples) while a minimum of 1 is required.")
    if node_features is not None and (X.features is None or node_features != X.node_features):
        raise _made_without("node_features", node_features, "that was made without them")
    if edge_label is not None and edge_label not in (DEFAULT_EDGE_LABEL, X.edge_label):
        raise _made_without("edge_label", edge_label, "that was made without it")
    has_edges = len(X.neighbors) > 0  # without edges there is nothing that could be missing
    for name, values, made_with, parameter in [
        (edge_weight, X.edge_weights, X.edge_weight, "edge_weight"),
        (edge_features, X.edge_vectors, X.edge_features, "edge_features"),
    ]:
        is_read = name is not None and name is not UNUSED
        if has_edges and is_read and (values is None or name != made_with):
            raise _made_without(parameter, name, "that was made without them")
    if node_label is None:
        X = X.without_labels()
    elif node_label not in (DEFAULT_NODE_LABEL, X.node_label):
        raise _made_without("node_label", node_label, "with other labels")
    if edge_label is not None or X.edge_label_ids is None:
        return X
    return (X.without_edge_features() if edge_features is UNUSED else X).without_edge_labels()


def _check_graph_features(X: GraphSet, names: Any) -> None:
    """Check that a GraphSet has the graph features that an estimator reads."""
    if names is None:
        return
    if X.graph_vectors is None:
        raise ValueError(
            f"graph_features={show(names)}, but X has no graph features. Molecules have no"
            " attributes that could hold them: pass them beside, with"
            " GraphSet.from_molecules(molecules, graph_features=table), or attach them to any"
            " GraphSet with its method with_graph_features."
        )
    if not same_names(names, X.graph_features):
        raise ValueError(
            f"graph_features={show(names)}, but X is a GraphSet with the graph features"
            f" {show(X.graph_features)}. Pass graph_features=None to use those of a GraphSet,"
            " whatever they are called."
        )


def _made_without(parameter: str, name: Hashable, how: str) -> ValueError:
    return ValueError(
        f"{parameter}={show(name)}, but X is a GraphSet {how}."
        f" Make it with GraphSet.from_networkx(graphs, {parameter}={show(name)})."
    )


def check_same_labeling(graphs: GraphSet, has_labels: bool, owner: str) -> None:
    """Check that graphs have node labels exactly if the training graphs had them."""
    if (graphs.label_ids is not None) != has_labels:
        raise _converted_differently("node labels", has_labels, owner)


def has_edge_labels(graphs: GraphSet) -> bool | None:
    """Return whether the edges have labels; None if there are no edges."""
    return graphs.edge_label_ids is not None if len(graphs.neighbors) else None


def check_same_edge_labeling(graphs: GraphSet, had_labels: bool | None, owner: str) -> None:
    """Check that edges have labels exactly if those of the training graphs had them.

    `had_labels` is :func:`has_edge_labels` of the training graphs.
    """
    has_labels = has_edge_labels(graphs)
    if has_labels is not None and had_labels is not None and has_labels != had_labels:
        raise _converted_differently("edge labels", had_labels, owner)


def has_edge_weights(graphs: GraphSet) -> bool | None:
    """Return whether the edges have weights; None if there are no edges."""
    return graphs.edge_weights is not None if len(graphs.neighbors) else None


def check_same_edge_weighting(graphs: GraphSet, had_weights: bool | None, owner: str) -> None:
    """Check that edges have weights exactly if those of the training graphs had them.

    `had_weights` is :func:`has_edge_weights` of the training graphs.
    """
    has_weights = has_edge_weights(graphs)
    if has_weights is not None and had_weights is not None and has_weights != had_weights:
        raise _converted_differently("edge weights", had_weights, owner)


def count_edge_features(graphs: GraphSet) -> int | None:
    """Return the number of features of an edge, 0 without features; None if there are no edges."""
    if len(graphs.neighbors) == 0:
        return None
    return 0 if graphs.edge_vectors is None else graphs.edge_vectors.shape[1]


def check_same_edge_features(graphs: GraphSet, n_before: int | None, owner: str) -> None:
    """Check that edges have as many features as those of the training graphs.

    `n_before` is :func:`count_edge_features` of the training graphs.
    """
    n_features = count_edge_features(graphs)
    if n_features is None or n_before is None or n_features == n_before:
        return
    if n_features and n_before:
        raise ValueError(
            f"The edges of X have {n_features} features, but {owner} was fitted on graphs whose"
            f" edges have {n_before}."
        )
    raise _converted_differently("edge features", n_before > 0, owner)


def check_same_graph_features(
    graphs: GraphSet, names: Sequence[str], has_names: bool, owner: str
) -> None:
    """Check that graphs have the features that the training graphs had.

    `names` are those of the columns of the training graphs. If they are the names of columns of a
    table, others of X have to be the same, in the same order.
    """
    n_features = 0 if graphs.graph_vectors is None else graphs.graph_vectors.shape[1]
    if n_features != len(names):
        raise ValueError(
            f"X has {n_features} graph features, but {owner} is expecting {len(names)} graph"
            " features as input."
        )
    if not (has_names and isinstance(graphs.graph_features, tuple)):
        return
    here = graphs.graph_feature_names
    if n_features and here != list(names):
        raise ValueError(
            f"X has the graph features {', '.join(map(show, here))}, but {owner} was fitted on"
            f" {', '.join(map(show, names))}. Pass the same columns in the same order."
        )


def _converted_differently(what: str, had_them: bool, owner: str) -> ValueError:
    here, there = ("without", "with") if had_them else ("with", "without")
    return ValueError(
        f"X has graphs {here} {what}, but {owner} was fitted on graphs"
        f" {there} {what}. Convert both in the same way: with the same attributes, or without"
        " (edge_label=None, for instance)."
    )
