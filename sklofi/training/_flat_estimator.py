"""Estimators around a :class:`sklofi.nn.FlatNetwork`, as LoFI's peers are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import nn

from sklofi._parameters import (
    ReadsEdgeLabels,
    ReadsEdgeWeights,
    choice,
    count,
    flag,
    parameter,
    split_sections,
)
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import check_same_edge_weighting, has_edge_weights
from sklofi.nn._flat import FlatNetwork
from sklofi.training._dataset import GraphDataset
from sklofi.training._edge_batches import EdgeDataset
from sklofi.training._encoding import EdgeEncoder, NodeEncoder
from sklofi.training._estimator import NetworkEstimator

__all__ = [
    "FlatEstimator",
    "choice",
    "count",
    "flag",
    "parameter",
    "width",
]

# The most graphs, about how many nodes of them, and numbers that these enter with, in a batch of
# prediction.
PREDICTION_GRAPHS = 256
PREDICTION_NODES = 2**13
PREDICTION_NUMBERS = 2**24


class FlatEstimator(NetworkEstimator):
    """Base of the estimators around a :class:`FlatNetwork`.

    A subclass has a `_network` and declares, as parameters, the arguments of its constructor.

    Examples
    --------
    >>> from sklofi.datasets import make_motif_graphs
    >>> from sklofi.nn import FlatNetwork, Perceptron, pool
    >>> from sklofi.training import FlatEstimator, NetworkClassifier, width
    >>> class NodeCounts(FlatNetwork):
    ...     def __init__(self, n_features, n_outputs, *, n_hidden=8):
    ...         super().__init__()
    ...         self.output = Perceptron(n_features, n_hidden, n_outputs)
    ...
    ...     def embed(self, graphs, generator=None):
    ...         return pool(graphs.x, graphs)
    >>> class NodeCountsClassifier(NetworkClassifier, FlatEstimator):
    ...     n_hidden: int = width(default=8)
    ...     _network = NodeCounts
    >>> graphs, y = make_motif_graphs(40, random_state=0)
    >>> NodeCountsClassifier(max_epochs=2).fit(graphs, y).predict_proba(graphs).shape
    (40, 2)
    """

    _network: ClassVar[type[FlatNetwork]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in inspect.signature(getattr(cls, "_network", cls)).parameters:
            if hasattr(cls, name) and name not in cls._parameter_constraints:
                raise TypeError(
                    f"{cls.__name__} has {name}, an argument of {cls._network.__name__}, but not as"
                    f" a parameter. Declare it as {name}: int = width(default=32), with"
                    " sklofi.training.width."
                )

    @classmethod
    def _more_sections(cls) -> dict[str, str]:
        """The references of the network, and where its formula is."""
        if not hasattr(cls, "_network"):
            return {}
        network = cls._network
        _, sections = split_sections(network.__doc__ or "")
        notes = f"The formula is in the docstring of :class:`sklofi.nn.{network.__name__}`."
        return {"Notes": notes, "References": sections.get("References", "")}

    def _make_dataset(
        self, graphs: GraphSet, encoder: NodeEncoder, **arguments: Any
    ) -> GraphDataset:
        return EdgeDataset(graphs, encoder, **arguments)

    def _architecture(self, training: GraphDataset) -> dict[str, Any]:
        names = inspect.signature(self._network).parameters
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    @property
    def _build_module(self) -> Callable[..., nn.Module]:
        return self._network.build

    def _prediction_batches(self, architecture: dict[str, Any]) -> dict[str, int]:
        n_nodes = min(PREDICTION_NODES, PREDICTION_NUMBERS // architecture["n_features"])
        return {"batch_size": PREDICTION_GRAPHS, "max_rows": max(1, n_nodes)}

    def _embedding_names(self) -> list[str]:
        name = type(self).__name__.lower()
        n_columns = self.module_.n_embedding - len(self._graph_feature_names())
        return [f"{name}{i}" for i in range(n_columns)]


class LabeledEdgesEstimator(FlatEstimator, ReadsEdgeLabels):
    """Base of the estimators whose network reads edge labels, if `edge_label` names them.

    The network has the argument ``n_edge_features``, and takes the vectors of edges from
    ``edge_features`` and ``edge_kinds`` of :class:`sklofi.nn.FlatGraphs`.
    """

    _saved_classes = (*FlatEstimator._saved_classes, EdgeEncoder)

    def _graph_attributes(self) -> dict[str, Any]:
        attributes = super()._graph_attributes()
        # Where None is the default, it does not say that labels are meant to be ignored.
        if self.edge_label is None and type(self).edge_label is None:
            return attributes
        return {**attributes, "edge_label": self.edge_label}

    def _learn_encoding(self, graphs: GraphSet, weight: NDArray[np.float64]) -> None:
        super()._learn_encoding(graphs, weight)
        # A GraphSet may have labels that are to be ignored.
        self._edge_encoder = None if self.edge_label is None else EdgeEncoder.fit(graphs)

    def _make_dataset(
        self, graphs: GraphSet, encoder: NodeEncoder, **arguments: Any
    ) -> GraphDataset:
        # Files from before a network read labels have no encoder of them.
        edge_encoder = getattr(self, "_edge_encoder", None)
        return super()._make_dataset(graphs, encoder, edge_encoder=edge_encoder, **arguments)

    def _architecture(self, training: GraphDataset) -> dict[str, Any]:
        architecture = super()._architecture(training)
        if self._edge_encoder is None:  # the default of the network is its form without labels
            return architecture
        return {**architecture, "n_edge_features": self._edge_encoder.n_columns}


class ReadsEdgeLabelsByOption(ReadsEdgeLabels):
    """Mixin of the estimators whose published network does not read edge labels."""

    edge_label: Hashable | None = parameter(
        """Edge attribute with a categorical label: any hashable value. None, the default,
        ignores labels, as the publication does. Under the name "label" it may be absent, then
        all edges count as alike. For a :class:`GraphSet` it was chosen when it was made.""",
        "no_validation",
        "hashable or None",
        default=None,
    )


class OptionalEdgeLabelsEstimator(ReadsEdgeLabelsByOption, LabeledEdgesEstimator):
    """Base of the estimators whose network reads edge labels by option only."""


class WeightedEdgesEstimator(FlatEstimator, ReadsEdgeWeights):
    """Base of the estimators whose network uses weights of edges, where graphs have them.

    The network takes them from ``edge_weight`` of :class:`sklofi.nn.FlatGraphs`.
    """

    def _graph_attributes(self) -> dict[str, Any]:
        return {**super()._graph_attributes(), "edge_weight": self.edge_weight}

    def _learn_encoding(self, graphs: GraphSet, weight: NDArray[np.float64]) -> None:
        super()._learn_encoding(graphs, weight)
        self._has_edge_weights = has_edge_weights(graphs)

    def _make_dataset(
        self, graphs: GraphSet, encoder: NodeEncoder, **arguments: Any
    ) -> GraphDataset:
        # Files from before networks used weights say nothing of them.
        had_weights = getattr(self, "_has_edge_weights", False)
        check_same_edge_weighting(graphs, had_weights, type(self).__name__)
        return super()._make_dataset(graphs, encoder, uses_edge_weights=True, **arguments)


def width(text: str = "Width of a node's vector.", *, default: int) -> Any:
    """Declare the parameter for the width of vectors.

    Parameters
    ----------
    text : str
        What the docstring says of it.

    default : int
        Its default.

    Returns
    -------
    field : dataclasses.Field
        What the class assigns to the annotated attribute.
    """
    return count(text, default=default)
