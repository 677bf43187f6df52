"""The containers in which users pass graphs: lists, tuples, arrays and data frames."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from sklofi._messages import full_name, show

# The meta-estimators of scikit-learn that turn graphs into tables, for error messages.
TABLES_ONLY = (
    "a meta-estimator for tables only, such as BaggingClassifier, AdaBoostClassifier,"
    " OneVsOneClassifier, SelfTrainingClassifier, a chain or permutation_importance; searches,"
    " pipelines, voting, stacking, calibration and OneVsRestClassifier take graphs"
)

# What the items of X can be, for error messages.
FORMS = "networkx graphs, SMILES, RDKit molecules, PyTorch Geometric data or scipy sparse matrices"


def check_not_single(X: Any, is_graph: bool) -> None:
    """Check that X is not one graph alone."""
    if is_graph:
        kind = type(X)
        raise TypeError(
            f"X is a single {kind.__module__.split('.')[0]} {kind.__name__}; pass a list of graphs,"
            " for one graph [graph]."
        )


def is_pyg_dataset(X: Any) -> bool:
    """Return whether something is a data set of PyTorch Geometric, without importing it."""
    library = sys.modules.get("torch_geometric.data")
    return library is not None and isinstance(X, library.Dataset)


def as_list(X: Any) -> list[Any]:
    """Return the items of a list, a tuple, a 1-D array or a column of a data frame.

    Every reader begins with this. What the items are is for the reader to check.
    """
    if isinstance(X, Iterator):
        raise TypeError(
            f"X is a {type(X).__name__}, which can be read only once;"
            " pass a list of graphs: list(X)."
        )
    n_dims = getattr(X, "ndim", None)
    if n_dims == 2 and hasattr(X, "columns"):
        X, n_dims = _only_column(X), 1
    if n_dims is not None and n_dims != 1:
        raise ValueError(
            f"X is an array of {n_dims} dimensions, but a list of graphs is expected."
            " numpy.asarray turns graphs of equal size into a 2-D array of node names: pass"
            " the list itself, or an object array of shape (n_graphs,). If you did, it was"
            f" {TABLES_ONLY}."
        )
    if n_dims is None and not isinstance(X, (list, tuple)) and not is_pyg_dataset(X):
        raise TypeError(f"X has to be a list of {FORMS}, or a GraphSet, got {full_name(type(X))}.")
    items = list(X)
    if not items:
        raise ValueError("X holds no graphs (0 samples) while a minimum of 1 is required.")
    return items


def _only_column(frame: Any) -> Any:
    """Return the column of a data frame that has one."""
    names = list(frame.columns)
    if len(names) != 1:
        raise ValueError(
            f"X is a data frame with {len(names)} columns ({show(names)[1:-1]}), but a list of"
            " graphs is expected. Pass the column that holds them, X[name]."
        )
    return frame[names[0]]
