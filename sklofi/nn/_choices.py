"""The values that named parameters of networks can take."""

from __future__ import annotations

# How histograms are compared in a LoFI layer.
HISTOGRAM_KERNELS = ("intersection", "l1")

# How the nodes of a graph become one vector, in LoFI (LoFINetwork.pool) and in its peers (pool in
# _flat, DENSE_POOLINGS in _diffpool). A new one raises an error wherever it is not yet handled.
POOLINGS = ("sum", "mean", "max")

# How the neighbors of a node become one vector (GraphSAGE, ECC and DiffPool).
AGGREGATIONS = ("mean", "max", "sum")

# The layers of a LoFI network whose pooled outputs the head is given.
READOUTS = ("all", "last")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise a ValueError if the value of a parameter is none of its choices."""
    if value not in choices:
        raise ValueError(f"{name} has to be one of {choices}, got {value!r}.")
