"""Attributes of nodes and edges that graphs have by name, as those of igraph and rustworkx do."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from sklofi._messages import attempt, show
from sklofi.graphs._arrays import GraphArrays
from sklofi.graphs._attributes import MISSING, describe_names
from sklofi.graphs._edge_attributes import WORDS
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL, number_labels
from sklofi.graphs._networkx import WEIGHT, warn_of_other_attributes, warn_of_weight

# The attributes that are looked for without being asked for.
MAY_BE_ABSENT = [("node_label", DEFAULT_NODE_LABEL), ("edge_label", DEFAULT_EDGE_LABEL)]


def collect_attributes(
    arrays: GraphArrays,
    names: dict[str, Hashable | None],
    node_values: Callable[[Hashable], list[Any]],
    edge_values: Callable[[Hashable], list[Any]],
    known_names: Callable[[str], list[Hashable]],
) -> dict[str, Any]:
    """Return the attributes of graphs that have them by name, for :meth:`GraphArrays.build`.

    `node_values` and `edge_values` return the values of an attribute, `MISSING` where it does
    not exist; `known_names` returns the names of all that "node" or "edge" have.
    """
    found: dict[str, Any] = {}
    for parameter, name in names.items():
        if name is None:
            continue
        kind, what = parameter.split("_")
        locate = arrays.locate_node if kind == "node" else arrays.locate_edge
        if isinstance(attempt(hash, name), Exception):
            raise TypeError(
                f"{parameter} names one attribute, got {show(name)} of type {type(name).__name__}."
            )
        values = (node_values if kind == "node" else edge_values)(name)
        if not _are_present(values, locate, parameter, name, known_names):
            continue
        if what == "label":
            advice = f"; pass vectors through {kind}_features"
            found[f"{kind}_labels"] = number_labels(values, locate, name, advice)
        else:
            found["edge_weights" if what == "weight" else parameter] = values
    _warn_of_unread(names, found, edge_values, known_names)
    return found


def _are_present(
    values: list[Any],
    locate: Callable[[int], str],
    parameter: str,
    name: Hashable,
    known_names: Callable[[str], list[Hashable]],
) -> bool:
    """Return whether all nodes or edges have an attribute; raise an error if only some do."""
    kind, _, what = parameter.partition("_")
    n_missing = sum(value is MISSING for value in values)
    if n_missing == len(values):
        if values and (parameter, name) not in MAY_BE_ABSENT:
            raise ValueError(
                f"No {kind} of any graph has the attribute {show(name)} ({parameter}); the {kind}s"
                f" have {describe_names(known_names(kind))}. Pass {parameter}=None for graphs"
                f" without {kind} {what.rstrip('s')}s."
            )
        return False
    if n_missing:
        position = next(i for i, value in enumerate(values) if value is MISSING)
        raise ValueError(
            f"{locate(position)} has no attribute {show(name)}, which other {kind}s have"
            f" ({n_missing} of {len(values)} {kind}s lack it). Set it on every {kind}, or pass"
            f" {parameter}=None to ignore it."
        )
    return True


def _warn_of_unread(
    names: dict[str, Hashable | None],
    found: dict[str, Any],
    edge_values: Callable[[Hashable], list[Any]],
    known_names: Callable[[str], list[Hashable]],
) -> None:
    """Warn of attributes that may have been meant as labels or weights, as for networkx graphs."""
    read = {*names.values(), WEIGHT}
    for kind in ("node", "edge"):
        is_unlabeled = f"{kind}_labels" not in found and names[f"{kind}_label"] is not None
        if is_unlabeled and not (kind == "node" and names["node_features"] is not None):
            others = [name for name in known_names(kind) if name not in read]
            advice = " (categories) or node_features= (numbers)" if kind == "node" else ""
            warn_of_other_attributes(kind, others, advice, stacklevel=6)
    is_read = WEIGHT in [names[parameter] for parameter in WORDS]
    if not is_read and WEIGHT in known_names("edge"):
        values = [value for value in edge_values(WEIGHT) if value is not MISSING]
        if any(value != values[0] for value in values):
            warn_of_weight(WEIGHT, f"Pass edge_weight={WEIGHT!r} to use it", stacklevel=6)
