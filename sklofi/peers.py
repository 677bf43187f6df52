"""What the peers of LoFI share as estimators: the shell of all networks, with flat batches."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sklofi.base import AT_LEAST_1, BaseNetwork, network_estimator, parameter
from sklofi.flat import FlatDataset
from sklofi.networks import POOLINGS, FlatNetwork

# About how many numbers an array for all nodes of a batch has in prediction; see BatchLoader.
PREDICTION_SIZE = 2**22

SHARE = [Interval(Real, 0, 1, closed="left")]


@network_estimator
class Peer(BaseNetwork):
    """Base of the estimators around a :class:`FlatNetwork`.

    A peer is a class with a `_network` and, as fields, the parameters of its constructor.
    """

    _network: ClassVar[type[FlatNetwork]]

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of :meth:`transform`: those of the class, numbered.

        Parameters
        ----------
        input_features : None
            Ignored: graphs have no feature names.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self.module_.n_embedding)], dtype=object)

    @property
    def _build_module(self):
        return self._network.build

    def _make_dataset(self, graphs, encoder, **more):
        return FlatDataset(graphs, encoder, **more)

    def _architecture(self, training):
        names = inspect.signature(self._network).parameters
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def _prediction_batches(self, architecture):
        return {"batch_size": sys.maxsize, "max_rows": PREDICTION_SIZE // 64}


@dataclass(kw_only=True, eq=False, repr=False)
class LayerParameters:
    """What most networks are made of."""

    n_layers: int = parameter(
        3, AT_LEAST_1, "Number of layers. Each one looks one step further."
    )
    n_hidden: int = parameter(32, AT_LEAST_1, "Width of a node's vector.")
    dropout: float = parameter(0.0, SHARE, "Share of features that are dropped in training.")


@dataclass(kw_only=True, eq=False, repr=False)
class PoolingParameters(LayerParameters):
    """And how most of them become one vector."""

    pooling: str = parameter(
        "sum",
        [StrOptions(set(POOLINGS))],
        "How the vectors of a graph's nodes become one vector.",
    )


def peer(cls: Any) -> Any:
    """Decorator of peers: an estimator whose docstring has a section for its parameters."""
    cls = network_estimator(cls)
    lines = ["Parameters", "----------"]
    for one in fields(cls):
        kind = type(one.default).__name__ if one.default is not None else "object"
        lines += [f"{one.name} : {kind}, default={one.default!r}"]
        text = inspect.cleandoc(one.metadata["text"]).splitlines()
        lines += [f"    {line}" for line in text] + [""]
    cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__), "", *lines])
    return cls
