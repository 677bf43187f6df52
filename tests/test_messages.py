import pytest
from small_graphs import NoRepr

from sklofi._messages import LONGEST_TEXT, LONGEST_VALUE, attempt, full_name, shorten, show


def raise_error(error):
    raise error


def test_an_attempt_returns_a_result_or_the_exception():
    assert attempt(int, "12") == 12
    error = RuntimeError("of some class")
    assert attempt(raise_error, error) is error


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_attempt_does_not_hide_interrupts_and_a_lack_of_memory(error):
    with pytest.raises(error):
        attempt(raise_error, error)


def test_values_are_shown_by_their_repr_if_they_have_one():
    assert show("a") == "'a'"
    assert show(NoRepr()) == "<NoRepr>"
    assert show(10**5000) == "<int>"


def test_long_texts_are_cut():
    assert show("a" * 1000) == "'" + "a" * (LONGEST_VALUE - 1) + "..."
    assert shorten("a" * 1000) == "a" * LONGEST_TEXT + "..."
    assert shorten("a" * LONGEST_TEXT) == "a" * LONGEST_TEXT
    assert shorten(ValueError("no")) == "no"


def test_types_are_named_with_their_module():
    assert full_name(int) == "int"
    assert full_name(NoRepr) == "small_graphs.NoRepr"
