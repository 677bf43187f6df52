"""The fitted LoFI estimator that somebody wants to look into."""

from __future__ import annotations

from numbers import Integral

from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from sklofi._lofi import BaseLoFI


def fitted_lofi(estimator):
    """The fitted LoFI estimator that somebody wants to look into, perhaps found by a search."""
    if isinstance(estimator, type):
        raise TypeError(f"{estimator.__name__} is a class; pass a fitted estimator.")
    check_is_fitted(estimator)
    if hasattr(estimator, "best_score_") and not hasattr(estimator, "best_estimator_"):
        raise TypeError("The search has kept no estimator; search with refit=True.")
    found = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(found, BaseLoFI):
        raise TypeError(
            f"Only LoFI estimators can be looked into this way, got {type(found).__name__};"
            " of a pipeline, pass the step that is one."
        )
    return found


def check_place(estimator, layer, mask=0):
    """Check that a fitted estimator has such a mask."""
    layers = estimator.module_.layers
    check_scalar(layer, "layer", Integral, min_val=0, max_val=len(layers) - 1)
    check_scalar(mask, "mask", Integral, min_val=0, max_val=len(layers[0].temperature) - 1)
