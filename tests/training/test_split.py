import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, PredefinedSplit, TimeSeriesSplit

from sklofi.training._split import cross_parts, is_splitter, split_validation, splits_of


@pytest.mark.parametrize("seed", range(5))
def test_validation_parts_are_stratified(seed):
    strata = np.repeat([0, 1, 2], [60, 30, 10])
    train, validation = split_validation(strata, 0.2, np.random.RandomState(seed))
    assert_array_equal(np.sort(np.concatenate([train, validation])), np.arange(100))
    counts = np.bincount(strata[validation], minlength=3)
    assert counts.sum() == 20
    assert_allclose(counts, [12, 6, 2], atol=1)


@pytest.mark.parametrize("seed", range(20))
def test_no_class_disappears_from_training(seed):
    strata = np.array(["a", "b", "b", *"c" * 9])
    train, validation = split_validation(strata, 0.5, np.random.RandomState(seed))
    assert set(strata[train]) == {"a", "b", "c"}
    assert len(validation) == 6


def test_a_validation_part_may_be_impossible_or_smaller_than_the_classes():
    train, validation = split_validation(np.arange(4), 0.5, np.random.RandomState(0))
    assert len(train) == 4 and len(validation) == 0
    _, validation = split_validation(np.arange(20) // 2, 0.1, np.random.RandomState(0))
    assert len(validation) == 2


# Groups, and the strata of their graphs.
SETS = (
    st.integers(1, 60)
    .flatmap(
        lambda n_graphs: st.tuples(
            st.lists(st.integers(0, 12), min_size=n_graphs, max_size=n_graphs),
            st.lists(st.integers(0, 3), min_size=n_graphs, max_size=n_graphs),
        )
    )
    .map(lambda lists: tuple(map(np.array, lists)))
)


def most_of(groups, fraction):
    """The number of graphs that may be set aside, if groups have several."""
    return max(1, round(fraction * len(groups)), len(groups) // 2)


def is_needed(group, groups, strata, fraction):
    """Whether training cannot do without a group."""
    rest, n_left = groups != group, np.count_nonzero(groups == group)
    return set(strata[rest]) < set(strata) or n_left > most_of(groups, fraction)


@given(SETS, st.floats(0.05, 0.95), st.integers(0, 99))
@example((np.zeros(4, dtype=int), np.array([0, 1, 1, 0])), 0.5, 0)
def test_no_group_is_in_both_parts(data, fraction, seed):
    groups, strata = data
    train, validation = split_validation(strata, fraction, np.random.RandomState(seed), groups)
    assert_array_equal(np.sort(np.concatenate([train, validation])), np.arange(len(groups)))
    assert not set(groups[train]) & set(groups[validation])
    assert set(strata[train]) == set(strata)
    if len(np.unique(groups)) < len(groups):
        assert len(validation) <= most_of(groups, fraction)
        # It is empty only if it has to be.
        needed = [is_needed(group, groups, strata, fraction) for group in np.unique(groups)]
        assert (len(validation) == 0) == all(needed)


@given(SETS, st.floats(0.05, 0.95), st.integers(1, 12), st.integers(0, 99))
def test_parts_of_members_hold_whole_groups(data, fraction, n_members, seed):
    groups, strata = data
    parts = cross_parts(strata, fraction, n_members, seed, groups)
    assert len(parts) == n_members
    for part in parts:
        train = np.setdiff1d(np.arange(len(groups)), part)
        assert not set(groups[train]) & set(groups[part])
        assert set(strata[train]) == set(strata)


@pytest.mark.parametrize("seed", range(5))
def test_members_leave_out_every_group_once(seed):
    random_state = np.random.RandomState(seed)
    groups, strata = random_state.randint(40, size=300), random_state.randint(2, size=300)
    parts = cross_parts(strata, 0.1, 10, seed, groups)
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(300))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 8  # the size of a group
    assert_allclose([strata[part].mean() for part in parts], strata.mean(), atol=0.12)
    again = cross_parts(strata, 0.1, 12, seed, groups)[10:]
    assert len(again) == 2 and not set(groups[again[0]]) & set(groups[again[1]])


def test_groups_come_close_to_the_fraction_and_the_strata():
    deviations = []
    for seed in range(20):
        random_state = np.random.RandomState(seed)
        groups = np.repeat(np.arange(150), random_state.geometric(0.3, size=150))
        strata = (random_state.uniform(size=len(groups)) < 0.3).astype(int)
        _, validation = split_validation(strata, 0.2, random_state, groups)
        assert abs(len(validation) - 0.2 * len(groups)) <= 1
        deviations.append(abs(strata[validation].mean() - strata.mean()))
    assert np.mean(deviations) < 0.02  # of groups that are drawn without a look at strata, 0.04


def test_a_group_too_large_for_the_fraction_is_taken_if_there_is_no_other():
    groups = np.repeat([0, 1], [6, 4])
    _, validation = split_validation(np.zeros(10), 0.1, np.random.RandomState(0), groups)
    assert_array_equal(validation, [6, 7, 8, 9])


@given(st.lists(st.integers(0, 3), min_size=2, max_size=50), st.integers(0, 99))
def test_groups_of_one_graph_each_change_nothing(strata, seed):
    strata, groups = np.array(strata), 3 + 2 * np.arange(len(strata))[::-1]
    alone = split_validation(strata, 0.2, np.random.RandomState(seed))
    grouped = split_validation(strata, 0.2, np.random.RandomState(seed), groups)
    for one, other in zip(alone, grouped, strict=True):
        assert_array_equal(one, other)
    alone, grouped = (cross_parts(strata, 0.2, 7, seed, names) for names in (None, groups))
    for one, other in zip(alone, grouped, strict=True):
        assert_array_equal(one, other)


# Splitters


def graphs_of(n_graphs):
    return [f"graph {i}" for i in range(n_graphs)]


def test_splits_are_those_of_the_splitter_in_turn_and_again():
    groups = np.arange(12) // 2
    splitter = GroupKFold(3)
    expected = list(splitter.split(graphs_of(12), None, groups))
    splits = splits_of(splitter, 5, graphs_of(12), np.zeros(12), groups)
    assert len(splits) == 5
    for split, (rows, held_out) in zip(splits, [*expected, *expected[:2]], strict=True):
        assert split.training.tolist() == rows.tolist()
        assert split.held_out.tolist() == held_out.tolist()


def test_rows_that_a_splitter_leaves_out_are_in_neither_part():
    (split,) = splits_of(TimeSeriesSplit(3), 1, graphs_of(8), np.zeros(8), None)
    assert split.training.tolist() == [0, 1] and split.held_out.tolist() == [2, 3]


class Fixed:
    """Anything with a method `split` is a splitter."""

    def __init__(self, *splits):
        self.splits = splits

    def split(self, X, y, groups):
        return self.splits


@pytest.mark.parametrize(
    "splitter, match",
    [
        (Fixed(), "gives no split"),
        (Fixed(([0, 1], [])), "none of them empty"),
        (Fixed((np.ones(4, dtype=bool), [1])), "numbers of rows"),
        (Fixed(([0, 1], [4])), "gives row 4, but there are 4 graphs"),
        (Fixed(([0, -1], [2])), "gives row -1"),
        (Fixed(([0, 1, 2], [2, 3])), "gives row 2 to both"),
        (PredefinedSplit([0, 1, 0, 1, 0]), "Graphs of weight zero are left out before"),
    ],
)
def test_what_is_no_split_of_the_graphs_is_refused(splitter, match):
    with pytest.raises(ValueError, match=f"The splitter .*{match}"):
        splits_of(splitter, 1, graphs_of(4), np.zeros(4), None)


def test_texts_are_no_splitters():
    assert is_splitter(Fixed()) and is_splitter(GroupKFold(2))
    assert not any(map(is_splitter, ("0.1", b"0.1", 0.1, None)))
