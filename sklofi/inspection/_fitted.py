"""Check the fitted estimator that is inspected, and the numbers of its masks."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Integral
from typing import Any

from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from sklofi._lofi import BaseLoFI
from sklofi.egonets._members import Relations
from sklofi.graphs._graph_set import GraphSet
from sklofi.training._estimator import NetworkEstimator


def fitted_lofi(estimator: Any) -> BaseLoFI:
    """Return a fitted LoFI estimator, or the one that a fitted search has found.

    Parameters
    ----------
    estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
        The fitted estimator.

    Returns
    -------
    fitted : LoFIClassifier or LoFIRegressor
        The estimator that can be inspected.

    Raises
    ------
    NotFittedError
        If it is not fitted.
    TypeError
        If there is no LoFI estimator.
    """
    found = _find_fitted(estimator)
    if not isinstance(found, BaseLoFI):
        raise TypeError(
            f"Only LoFI estimators can be looked into this way, got {type(found).__name__};"
            " of a pipeline, pass the step that is one."
        )
    return found


def fitted_network(estimator: Any) -> NetworkEstimator:
    """Return a fitted estimator that trains networks, or the one that a fitted search has found."""
    found = _find_fitted(estimator)
    if not isinstance(found, NetworkEstimator):
        raise TypeError(
            f"Only networks have losses epoch by epoch, got {type(found).__name__}; of a pipeline,"
            " pass the step that is one."
        )
    return found


def _find_fitted(estimator: Any) -> Any:
    if isinstance(estimator, type):
        raise TypeError(f"{estimator.__name__} is a class; pass a fitted estimator.")
    check_is_fitted(estimator)
    if hasattr(estimator, "best_score_") and not hasattr(estimator, "best_estimator_"):
        raise TypeError("The search has kept no estimator; search with refit=True.")
    return getattr(estimator, "best_estimator_", estimator)


def fitted_member(estimator: Any) -> BaseLoFI:
    """Return a single fitted network, whose masks can be read: of several, the first."""
    member: BaseLoFI = fitted_lofi(estimator).members_[0]
    return member


def check_mask(estimator: BaseLoFI, layer: int, mask: int = 0) -> None:
    """Check that a fitted estimator has a mask of these numbers."""
    layers = estimator.module_.layers
    check_scalar(layer, "layer", Integral, min_val=0, max_val=len(layers) - 1)
    check_scalar(mask, "mask", Integral, min_val=0, max_val=len(layers[0].temperature) - 1)


def told_apart(estimator: BaseLoFI) -> Relations:
    """Return what of the relations of members to the center a fitted estimator tells apart."""
    encoder = estimator._relation_encoder
    return Relations() if encoder is None else encoder.relations


def node_label_attribute(estimator: Any, X: Any) -> Hashable | None:
    """Return the attribute to write on nodes: what the network sees."""
    by_set = isinstance(X, GraphSet) and estimator.node_label is not None
    label: Hashable | None = X.node_label if by_set else estimator.node_label
    return label


def edge_label_attribute(estimator: Any, X: Any) -> Hashable | None:
    """Return the attribute to write on edges, None if the network does not see edge labels."""
    encoder = estimator._relation_encoder
    if encoder is None or not encoder.edge_labels:
        return None
    label: Hashable | None = X.edge_label if isinstance(X, GraphSet) else estimator.edge_label
    return label
