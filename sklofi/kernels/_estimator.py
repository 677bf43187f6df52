"""What feature maps, kernels and kernel machines share as estimators of graphs."""

from __future__ import annotations

from abc import ABC
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from sklofi._molecules import REMEMBERED, TakesMolecules
from sklofi._parameters import ReadsNodeLabels
from sklofi._storage import SavedEstimator


class GraphEstimator(SavedEstimator, ReadsNodeLabels, TakesMolecules, BaseEstimator, ABC):
    """Base of the estimators of graphs that train no network."""

    # The attribute that a fit sets after all others: an estimator that has it is fitted.
    _set_last: ClassVar[str]

    def _graph_attributes(self) -> dict[str, Hashable | None]:
        """Return the attributes of networkx graphs that are read."""
        return {"node_label": self.node_label, "edge_label": getattr(self, "edge_label", None)}

    @contextmanager
    def _fitted_or_not_at_all(self) -> Iterator[None]:
        """Leave no half-fitted estimator behind if a fit fails."""
        self._forget()
        try:
            yield
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        for name in (self._set_last, REMEMBERED):
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._set_last)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags
