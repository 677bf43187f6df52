"""What estimators share that take molecules: how they were read, and rows that are none.

A fitted estimator remembers how the molecules that it was fitted on were read, and reads others in
the same way. At prediction, rows that cannot be read get NaN if the user wants it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from sklofi._parameters import Parameterized, choice
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import AS_MADE, read_if_molecules
from sklofi.graphs._molecule_options import ON_INVALID, MoleculeOptions
from sklofi.graphs._molecules import MOST_ROWS

Method = TypeVar("Method", bound=Callable[..., Any])

# The attribute in which a fitted estimator remembers how molecules were read; None if it was
# fitted on other graphs. It is not declared, because it is neither a parameter nor the class's.
REMEMBERED = "_molecules"


class TakesMolecules(Parameterized):
    """Mixin of the estimators that take molecules, and all other forms of graphs."""

    on_invalid: str = choice(
        """What to do with molecules that cannot be read, when predicting: raise an error that
        names them, or give their rows NaN. `predict` of a classifier has no NaN, and raises an
        error in both cases. So does `fit`.""",
        ON_INVALID,
        default="raise",
    )

    # Whether `transform` returns a sparse matrix.
    _is_sparse: ClassVar[bool] = False

    if TYPE_CHECKING:  # what it uses of the estimator

        def _graph_attributes(self) -> dict[str, Any]: ...

        def __sklearn_is_fitted__(self) -> bool: ...

    def _reading(self) -> dict[str, Any]:
        """Return how graphs are read, as arguments of `as_graph_set`."""
        return {**self._graph_attributes(), "molecules": self._molecule_options()}

    def _molecule_options(self) -> MoleculeOptions | str | None:
        """Return how molecules are read, as those that the estimator was fitted on."""
        # Files of former versions do not say: these were fitted on other graphs.
        unknown = None if self.__sklearn_is_fitted__() else AS_MADE
        remembered: MoleculeOptions | str | None = vars(self).get(REMEMBERED, unknown)
        return remembered

    def _remember_molecules(self, graphs: GraphSet) -> None:
        setattr(self, REMEMBERED, graphs.molecule_options)

    def _read_if_molecules(self, X: Any, on_invalid: str = "raise") -> Any:
        """Return X, or its molecules as a GraphSet."""
        return read_if_molecules(X, self._molecule_options(), on_invalid)


def predicts_rows(method: Method) -> Method:
    """Let a method, which returns a row for each graph, take molecules that cannot be read.

    With ``on_invalid="nan"`` the method sees the others only.
    """

    @wraps(method)
    def predict(self: Any, X: Any, **options: Any) -> Any:
        check_is_fitted(self)
        # A subclass with a constructor of its own may have no such parameter.
        on_invalid = getattr(self, "on_invalid", "raise")
        X = self._read_if_molecules(X, on_invalid)
        if on_invalid == "raise" or not isinstance(X, GraphSet) or not X.missing.any():
            return method(self, X, **options)
        missing = X.missing
        if method.__name__ == "predict" and is_classifier(self):
            raise _no_class(np.flatnonzero(missing).tolist())
        if missing.all():
            rows = _all_missing(self, method.__name__, len(missing))
            return (rows, rows.copy()) if options.get("return_std") else rows
        values = method(self, X[~missing], **options)
        if isinstance(values, tuple):
            return tuple(_with_nan(part, missing) for part in values)
        return _with_nan(values, missing)

    return cast(Method, predict)


def _no_class(rows: list[int]) -> ValueError:
    names = ", ".join(map(str, rows[:MOST_ROWS])) + (", ..." if len(rows) > MOST_ROWS else "")
    return ValueError(
        f"predict has no class for molecules that cannot be read (rows {names}). Use"
        " predict_proba or decision_function, which give such rows NaN, or leave out those that"
        ' GraphSet.from_molecules(molecules, on_invalid="nan").missing names.'
    )


def _with_nan(values: Any, missing: NDArray[np.bool_]) -> Any:
    """Return the rows of the others, and rows of NaN between them."""
    if sp.issparse(values):
        nothing = sp.csr_array(np.full((1, values.shape[1]), np.nan))
        order = np.full(len(missing), values.shape[0])
        order[~missing] = np.arange(values.shape[0])
        return sp.vstack([values, nothing], format="csr")[order]
    kind = values.dtype if values.dtype.kind == "f" else np.float64
    rows = np.full((len(missing), *values.shape[1:]), np.nan, dtype=kind)
    rows[~missing] = values
    return rows


def _all_missing(estimator: Any, method: str, n_rows: int) -> Any:
    """Return rows of NaN only."""
    if method == "transform":
        shape: tuple[int, ...] = (len(estimator.get_feature_names_out()),)
    elif method == "predict" or vars(estimator).get("_target_shape"):  # of several labels
        shape = vars(estimator).get("_target_shape", ())
    else:
        n_classes = len(estimator.classes_)
        shape = () if method == "decision_function" and n_classes == 2 else (n_classes,)
    rows = np.full((n_rows, *shape), np.nan)
    return sp.csr_array(rows) if method == "transform" and estimator._is_sparse else rows
