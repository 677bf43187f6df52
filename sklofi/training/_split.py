"""Split validation graphs off the training graphs, for early stopping and cross-fitting."""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import HasMethods

from sklofi._messages import shorten

# A validation part of groups is the best of so many draws, fewer if there are many groups.
MOST_DRAWS = 20
GROUPS_DRAWN = 20_000


class Split(NamedTuple):
    """The graphs that a network is trained on, and those that it is stopped early by."""

    training: NDArray[np.int64]
    held_out: NDArray[np.int64]


class HasSplit(HasMethods):
    """Constraint of a splitter, as those of scikit-learn; texts have another `split`."""

    def __init__(self) -> None:
        super().__init__("split")

    def is_satisfied_by(self, value: Any) -> bool:
        return is_splitter(value)


def is_splitter(value: Any) -> bool:
    """Return whether something has the method `split` of scikit-learn's splitters."""
    return callable(getattr(value, "split", None)) and not isinstance(value, str | bytes)


class _Counts(NamedTuple):
    """How many graphs of each stratum there are, in each group and in all."""

    group_of: NDArray[np.int64]  # (n_graphs,)
    by_group: NDArray[np.int64]  # (n_groups, n_strata)
    total: NDArray[np.int64]  # (n_strata,)

    @classmethod
    def of(cls, strata: NDArray[Any], groups: NDArray[np.int64] | None) -> _Counts | None:
        """Return the counts, or None if no group has several graphs."""
        if groups is None:
            return None
        names, group_of = np.unique(groups, return_inverse=True)
        if len(names) == len(groups):
            return None
        distinct, stratum_of = np.unique(strata, return_inverse=True)
        by_group = np.zeros((len(names), len(distinct)), dtype=np.int64)
        np.add.at(by_group, (group_of, stratum_of), 1)
        return cls(group_of, by_group, by_group.sum(axis=0))

    def n_wanted(self, fraction: float) -> int:
        """Return the number of graphs that a part should have."""
        return max(1, round(fraction * int(self.total.sum())))

    def may_leave(self, fraction: float, left: NDArray[np.int64] | int = 0) -> NDArray[np.bool_]:
        """Return for each group whether training can do without it, and without what has left."""
        together = left + self.by_group
        keeps_strata = ((together < self.total) | (self.by_group == 0)).all(axis=1)
        at_most = max(self.n_wanted(fraction), int(self.total.sum()) // 2)
        kept: NDArray[np.bool_] = keeps_strata & (together.sum(axis=1) <= at_most)
        return kept

    def in_groups(self, is_in: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how many graphs of each stratum some groups have."""
        counts: NDArray[np.int64] = self.by_group[is_in].sum(axis=0)
        return counts

    def misfit(self, part: NDArray[np.int64], fraction: float) -> Any:
        """Return how far parts are from the wanted size and the wanted shares of strata."""
        n_wanted, n_graphs = self.n_wanted(fraction), self.total.sum()
        by_stratum = np.abs(part - self.total * (n_wanted / n_graphs)).sum(axis=-1)
        return by_stratum + np.abs(part.sum(axis=-1) - n_wanted)


def split_validation(
    strata: NDArray[Any],
    fraction: float,
    random_state: np.random.RandomState,
    groups: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the members of all strata into a training part and a validation part.

    Every stratum keeps a member in the training part. Unlike the stratified splits of
    scikit-learn, this works for strata of one or two members, and for a validation part too small
    to have all strata. The validation part may be empty.

    No group is in both parts. Groups are drawn in random order, and those that fit are taken, so
    that the validation part comes as near to its size, and to the share of each stratum, as groups
    allow. If groups are large, it has at most half of the graphs, or none.

    Parameters
    ----------
    strata : ndarray of shape (n_graphs,)
        The stratum of each graph.

    fraction : float
        Share of the graphs in the validation part.

    random_state : RandomState
        Source of randomness.

    groups : ndarray of shape (n_graphs,), default=None
        The group of each graph. By default each graph is one of its own.

    Returns
    -------
    training, validation : ndarray
        The graphs of each part, in ascending order.
    """
    if (counts := _Counts.of(strata, groups)) is not None:
        in_validation = _draw_groups(counts, fraction, random_state)[counts.group_of]
        return np.flatnonzero(~in_validation), np.flatnonzero(in_validation)
    order = random_state.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    _, first = np.unique(strata[order], return_index=True)
    candidates = np.delete(order, first)
    n_validation = min(max(1, round(fraction * len(strata))), len(candidates))
    # Evenly spaced positions in an order sorted by stratum: a stratified sample.
    step = len(candidates) / max(1, n_validation)
    positions = (np.arange(n_validation) + random_state.uniform()) * step
    validation = np.sort(candidates[positions.astype(np.int64)])
    return np.setdiff1d(order, validation), validation


def cross_parts(
    strata: NDArray[Any],
    fraction: float,
    n_members: int,
    seed: int,
    groups: NDArray[np.int64] | None = None,
) -> list[NDArray[np.int64]]:
    """Return the graphs that each member of an ensemble leaves out.

    Graphs are cut into parts, each with all strata in proportion, and every member leaves out
    another one. If there are more members than parts, graphs are cut anew. A graph that is the
    only one of its stratum is never left out.

    All graphs of a group are in the same part. A group is never left out if it has all graphs of a
    stratum, or more than half of all graphs (or more than `fraction`, if that is larger).

    Parameters
    ----------
    strata : ndarray of shape (n_graphs,)
        The stratum of each graph.

    fraction : float
        Share of the graphs in a part.

    n_members : int
        Number of members.

    seed : int
        Seed of all that is random.

    groups : ndarray of shape (n_graphs,), default=None
        The group of each graph. By default each graph is one of its own.

    Returns
    -------
    parts : list of ndarray
        Of each member the graphs that it leaves out, in ascending order; there may be none.
    """
    random_state = np.random.RandomState(seed)
    if (counts := _Counts.of(strata, groups)) is not None:
        return _parts_of_groups(counts, fraction, n_members, random_state)
    _, codes, sizes = np.unique(strata, return_inverse=True, return_counts=True)
    n_parts = min(max(2, round(1 / fraction)), int(sizes[sizes > 1].sum()))
    if n_parts == 0:
        return [np.empty(0, dtype=np.int64)] * n_members
    parts: list[NDArray[np.int64]] = []
    while len(parts) < n_members:
        order = random_state.permutation(len(strata))
        order = order[np.argsort(codes[order], kind="stable")]
        order = order[sizes[codes[order]] > 1]
        # Dealt out in an order sorted by stratum, from some part on, to all parts in turn.
        part_of = (np.arange(len(order)) + random_state.randint(n_parts)) % n_parts
        parts += [np.sort(order[part_of == part]) for part in range(n_parts)]
    return parts[:n_members]


def splits_of(
    splitter: Any, n_splits: int, graphs: Any, y: NDArray[Any], groups: NDArray[np.int64] | None
) -> list[Split]:
    """Return the first splits of a splitter, which is asked again if it has fewer.

    Parameters
    ----------
    splitter : object with the method ``split(X, y, groups)``
        It gives pairs of rows: to train on, and to hold out.

    n_splits : int
        How many splits there have to be.

    graphs : GraphSet
        The graphs.

    y : ndarray of shape (n_graphs,) or (n_graphs, n_outputs)
        Their targets.

    groups : ndarray of shape (n_graphs,) or None
        Their groups.

    Returns
    -------
    splits : list of Split
        The splits, in ascending order of rows.

    Raises
    ------
    ValueError
        If what the splitter gives is no split of these graphs.
    """
    splits: list[Split] = []
    while len(splits) < n_splits:
        found = list(islice(splitter.split(graphs, y, groups), n_splits - len(splits)))
        if not found:
            raise ValueError(f"{_named(splitter)} gives no split.")
        splits += [_check_split(splitter, rows, held_out, len(y)) for rows, held_out in found]
    return splits


def _check_split(splitter: Any, rows: Any, held_out: Any, n_graphs: int) -> Split:
    parts = [np.asarray(part) for part in (rows, held_out)]
    if any(part.ndim != 1 or len(part) == 0 or part.dtype.kind not in "iu" for part in parts):
        raise ValueError(
            f"{_named(splitter)} has to give two parts of the graphs, each as numbers of rows,"
            " and none of them empty."
        )
    training, validation = map(np.unique, parts)
    first, last = min(training[0], validation[0]), max(training[-1], validation[-1])
    if first < 0 or last >= n_graphs:
        raise ValueError(
            f"{_named(splitter)} gives row {first if first < 0 else last}, but there are"
            f" {n_graphs} graphs to split, from 0 to {n_graphs - 1}. Graphs of weight zero are left"
            " out before."
        )
    if len(both := np.intersect1d(training, validation)):
        raise ValueError(f"{_named(splitter)} gives row {both[0]} to both parts of a split.")
    return Split(training, validation)


def _named(splitter: Any) -> str:
    return f"The splitter {shorten(splitter)} (validation_fraction)"


def _draw_groups(
    counts: _Counts, fraction: float, random_state: np.random.RandomState
) -> NDArray[np.bool_]:
    """Return for each group whether it is in the validation part: the best of some draws."""
    n_draws = int(np.clip(GROUPS_DRAWN // len(counts.by_group), 1, MOST_DRAWS))
    draws = [_draw_once(counts, fraction, random_state) for _ in range(n_draws)]
    return min(draws, key=lambda is_drawn: counts.misfit(counts.in_groups(is_drawn), fraction))


def _draw_once(
    counts: _Counts, fraction: float, random_state: np.random.RandomState
) -> NDArray[np.bool_]:
    n_wanted, by_group = counts.n_wanted(fraction), counts.by_group
    is_drawn = np.zeros(len(by_group), dtype=bool)
    drawn = np.zeros_like(counts.total)
    # Whatever fits, as far as it goes.
    for group in random_state.permutation(np.flatnonzero(counts.may_leave(fraction))):
        if drawn.sum() == n_wanted:
            return is_drawn
        row = by_group[group]
        together = drawn + row
        fits = together.sum() <= n_wanted and (together < counts.total)[row > 0].all()
        if fits and counts.misfit(together, fraction) < counts.misfit(drawn, fraction):
            is_drawn[group], drawn = True, together
    # Then groups that are too large, if that is nearer to what is wanted, or if there is no other.
    while len(candidates := np.flatnonzero(counts.may_leave(fraction, drawn) & ~is_drawn)):
        order = random_state.permutation(candidates)
        misfits = counts.misfit(drawn + by_group[order], fraction)
        best = int(misfits.argmin())
        if is_drawn.any() and misfits[best] >= counts.misfit(drawn, fraction):
            break
        is_drawn[order[best]], drawn = True, drawn + by_group[order[best]]
    return is_drawn


def _parts_of_groups(
    counts: _Counts, fraction: float, n_members: int, random_state: np.random.RandomState
) -> list[NDArray[np.int64]]:
    """Return the graphs that each member leaves out, whole groups only."""
    eligible = np.flatnonzero(counts.may_leave(fraction))
    n_parts = min(max(2, round(1 / fraction)), len(eligible))
    if n_parts == 0:
        return [np.empty(0, dtype=np.int64)] * n_members
    parts: list[NDArray[np.int64]] = []
    while len(parts) < n_members:
        part_of = _deal_groups(counts, eligible, n_parts, random_state)[counts.group_of]
        parts += [np.flatnonzero(part_of == part) for part in range(n_parts)]
    return parts[:n_members]


def _deal_groups(
    counts: _Counts,
    eligible: NDArray[np.int64],
    n_parts: int,
    random_state: np.random.RandomState,
) -> NDArray[np.int64]:
    """Return the part that each eligible group is dealt to, and -1 for all that are not left out.

    Large groups come first, and each one goes where its strata are rarest.
    """
    _, by_group, total = counts
    part_of = np.full(len(by_group), -1)
    in_part = np.zeros((n_parts, len(total)), dtype=np.int64)
    order = random_state.permutation(eligible)
    order = order[np.argsort(-by_group[order].sum(axis=1), kind="stable")]
    for group in order:
        row = by_group[group]
        is_kept = (in_part + row < total)[:, row > 0].all(axis=1)  # something of its strata
        # The squares of all shares grow by this, those of strata and that of all graphs together.
        growth = in_part @ (row / total**2) + in_part.sum(axis=1) * (row.sum() / total.sum() ** 2)
        best = int(np.where(is_kept, growth, np.inf).argmin())
        if is_kept[best]:
            part_of[group] = best
            in_part[best] += row
    return part_of
