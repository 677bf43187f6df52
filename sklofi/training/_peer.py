"""What the peers of LoFI share as estimators: the shell of all networks, with flat batches."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from sklofi._parameters import AT_LEAST_1, network_estimator, parameter
from sklofi.nn._choices import POOLINGS
from sklofi.nn._flat import FlatNetwork
from sklofi.training._edge_batches import EdgeDataset
from sklofi.training._estimator import BaseNetwork

# The most graphs, about how many nodes of them, and numbers that these enter with, in a batch of
# prediction.
PREDICTION_GRAPHS = 256


PREDICTION_NODES = 2**13


PREDICTION_NUMBERS = 2**24


@network_estimator
class Peer(BaseNetwork):
    """Base of the estimators around a :class:`FlatNetwork`.

    A subclass has a `_network` and, as fields, the parameters of its constructor.
    """

    _network: ClassVar[type[FlatNetwork]]

    def _names(self):
        name = type(self).__name__.lower()
        return [f"{name}{i}" for i in range(self.module_.n_embedding)]

    @property
    def _build_module(self):
        return self._network.build

    def _make_dataset(self, graphs, encoder, **more):
        return EdgeDataset(graphs, encoder, **more)

    def _architecture(self, training):
        names = inspect.signature(self._network).parameters
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def _prediction_batches(self, architecture):
        n_nodes = min(PREDICTION_NODES, PREDICTION_NUMBERS // architecture["n_features"])
        return {"batch_size": PREDICTION_GRAPHS, "max_rows": max(1, n_nodes)}


# What declares the parameters of a peer, for both of its estimators.
parameters = dataclass(kw_only=True, eq=False, repr=False)


def layers(default: int, text: str = "Number of layers. Each one looks one step further.") -> Any:
    return parameter(default, AT_LEAST_1, text)


def width(default: int, text: str = "Width of a node's vector.") -> Any:
    return parameter(default, AT_LEAST_1, text)


def dropped(default: float, text: str = "Share of numbers that are dropped in training.") -> Any:
    return parameter(default, [Interval(Real, 0, 1, closed="left")], text)


def pooled(default: str, text: str = "How the vectors of nodes become that of a graph.") -> Any:
    return choice(default, POOLINGS, text)


def choice(default: str, choices: tuple[str, ...], text: str) -> Any:
    return parameter(default, [StrOptions(set(choices))], text)


def peer(cls: Any) -> Any:
    """Decorator of peers: an estimator whose docstring lists its parameters, its own first."""
    cls = network_estimator(cls)
    network = cls._network
    declared = {one.name for one in fields(cls)}
    for name in inspect.signature(network).parameters:
        if hasattr(cls, name) and name not in declared:
            raise TypeError(
                f"{cls.__name__} has {name}, an argument of {network.__name__}, but not as a"
                f" parameter. Declare it as {name}: int = width(32), with sklofi.training.width, in"
                " a class with the decorator peer or parameters."
            )
    lines = [
        inspect.cleandoc(cls.__doc__),
        "",
        "The formula and the reference are in the docstring of the network,",
        f":class:`{network.__module__}.{network.__name__}`.",
        "",
        "Parameters",
        "----------",
    ]
    shared = {one.name for one in fields(BaseNetwork)}
    for one in sorted(fields(cls), key=lambda one: one.name in shared):
        lines.append(f"{one.name} : {one.type}, default={one.default!r}")
        text = inspect.cleandoc(one.metadata["text"]).splitlines()
        lines += [*(f"    {line}" for line in text), ""]
    cls.__doc__ = "\n".join(lines)
    return cls
