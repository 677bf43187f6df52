"""Features of whole graphs, as networks and machines on counts take them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklofi._scaling import weighted_mean_and_scale
from sklofi._storage import CHECKS
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import check_same_graph_features

# Features far beyond all training graphs are cut, so that squares stay within 32 bits, as those of
# nodes are.
FARTHEST = 1e15


@dataclass(frozen=True, eq=False)
class GraphEncoder:
    """Encoder of the features of whole graphs: standardized over the training graphs.

    A column that is constant there is zero everywhere: nothing can be learned of it.
    """

    names: tuple[str, ...]  # of the columns
    has_names: bool  # whether they are those of columns of a table
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]  # infinite where constant

    @classmethod
    def fit(cls, graphs: GraphSet, weight: NDArray[np.float64]) -> GraphEncoder:
        """Learn the weighted mean and scale of each column; there may be none."""
        names = tuple(graphs.graph_feature_names)
        if graphs.graph_vectors is None:
            return cls(names, False, np.zeros(0), np.ones(0))
        mean, scale = weighted_mean_and_scale(graphs.graph_vectors, weight, constant=np.inf)
        return cls(names, isinstance(graphs.graph_features, tuple), mean, scale)

    @property
    def n_columns(self) -> int:
        return len(self.names)

    def encode(self, graphs: GraphSet, owner: str) -> NDArray[np.float64]:
        """Return the features of graphs, of shape (n_graphs, n_columns), if they are the same."""
        check_same_graph_features(graphs, self.names, self.has_names, owner)
        if graphs.graph_vectors is None:
            return np.zeros((len(graphs), 0))
        with np.errstate(over="ignore", under="ignore"):
            standardized = (graphs.graph_vectors - self.mean) / self.scale
        encoded: NDArray[np.float64] = standardized.clip(-FARTHEST, FARTHEST)
        return encoded


# What estimators have that were fitted before graphs had features.
NO_GRAPH_FEATURES = GraphEncoder((), False, np.zeros(0), np.ones(0))


def _check(encoder: GraphEncoder) -> None:
    """Check that what was read from a file fits together."""
    arrays = (encoder.mean, encoder.scale)
    if (
        type(encoder.names) is not tuple
        or any(type(name) is not str for name in encoder.names)
        or any(type(array) is not np.ndarray for array in arrays)
        or any(array.dtype != np.float64 for array in arrays)
        or any(array.shape != (len(encoder.names),) for array in arrays)
        or not np.isfinite(encoder.mean).all()
        or not (encoder.scale > 0).all()
    ):
        raise ValueError("the graph features are not described by names, means and scales")


CHECKS[GraphEncoder] = _check
