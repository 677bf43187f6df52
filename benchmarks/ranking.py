"""Who is better: scores, ranks, and who is on the Pareto front of score and cost.

`fits` is what `Run.chosen` gives of a method on a data set: one fit per fold.
"""

from typing import Any

import numpy as np
from scipy import stats

from benchmarks import protocol

Fits = list[dict[str, Any]]

REFERENCE = "LoFI"
DEFAULTS = "LoFI, defaults"
VARIANTS = (
    DEFAULTS,
    "LoFI, published",
    "LoFI, 5 seeds averaged",
)  # do not compete with LoFI itself


def label(method: str, name: str | None = None) -> str:
    """A method's name, with a mark if it sees more than others, on a data set or on some."""
    sees_more = protocol.METHODS[method].sees_bonds and name in (None, *protocol.WITH_BONDS)
    return f"{method} (bonds)" if sees_more else method


def scores(fits: Fits, name: str) -> np.ndarray:
    """Accuracies in %, or errors, in the order of the folds."""
    values = np.array([fit["test"] for fit in sorted(fits, key=lambda fit: fit["fold"])])
    return 100 * values if protocol.has_classes(name) else values


def cost(fits: Fits) -> float:
    """CPU seconds per fold, with all configurations."""
    return float(np.mean([fit["total_cpu_seconds"] for fit in fits]))


def on_shared_folds(
    fits: dict[tuple[str, str], Fits], name: str, variants: tuple[str, ...] = ()
) -> dict[str, Fits]:
    """Fits of all methods on a data set, of those folds that all of them have.

    Methods that have no fit at all are left out, and variants of LoFI that are not named.
    """
    methods = [m for m in protocol.METHODS if m not in VARIANTS or m in variants]
    folds = {m: {fit["fold"] for fit in fits[m, name]} for m in methods if fits[m, name]}
    shared = set.intersection(*folds.values()) if folds else set()
    if not shared:
        return {}
    return {m: [fit for fit in fits[m, name] if fit["fold"] in shared] for m in folds}


def ranks(fits: dict[str, Fits], name: str) -> dict[str, float]:
    """The rank of each method on a data set, 1 for the best; equals share one."""
    means = np.array([scores(own, name).mean() for own in fits.values()])
    # Rounded, so that equals are equal whatever the order of a sum.
    best_first = np.round(-means if protocol.has_classes(name) else means, 9)
    return dict(zip(fits, stats.rankdata(best_first).tolist(), strict=True))


def n_folds(fits: dict[str, Fits]) -> str:
    """How many folds methods share, in words."""
    count = len(next(iter(fits.values())))
    return f"{count} fold{'s' * (count > 1)}"


def rank_table(fits: dict[tuple[str, str], Fits]) -> str | None:
    """Ranks on each data set and their mean, the best method first; or None."""
    shared = {name: own for name in protocol.SETS if len(own := on_shared_folds(fits, name)) > 1}
    of_set = {name: ranks(own, name) for name, own in shared.items()}
    rows = []
    for method in protocol.METHODS:
        own = [found[method] for found in of_set.values() if method in found]
        if own:
            note = "" if len(own) == len(of_set) else f" ({len(own)} sets)"
            cells = [f"{found[method]:g}" if method in found else "" for found in of_set.values()]
            shown = f"**{label(method)}**" if method == REFERENCE else label(method)
            rows.append((-len(own), np.mean(own), [shown, *cells, f"{np.mean(own):.1f}{note}"]))
    names = [f"{name}: {n_folds(own)}, of {len(own)}" for name, own in shared.items()]
    head = ["", *names, "mean rank"]
    return table(head, [cells for *_, cells in sorted(rows)]) if rows else None


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def is_on_front(costs: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Whether no other point costs at most as much and gains at least as much, one strictly."""
    at_most = costs[:, None] <= costs  # [i, j]: i costs at most as much as j
    at_least = gains[:, None] >= gains
    strictly = (costs[:, None] < costs) | (gains[:, None] > gains)
    return ~(at_most & at_least & strictly).any(axis=0)
