"""Any input at all gives finite predictions or a documented error: a few hundred cases.

`make torture` tries the same properties on many thousands.
"""

import hostile
import pytest


@pytest.mark.parametrize("name", hostile.PROPERTIES)
def test_any_input_gives_finite_predictions_or_a_documented_error(name):
    assert hostile.cases_tried(name, 60) >= 60


@pytest.mark.parametrize(
    "raising",
    [
        lambda: int("one"),  # a ValueError, though nobody's sentence
        lambda: {}["key"],
        lambda: [][0],
    ],
)
def test_accidents_are_not_taken_for_documented_errors(raising):
    with pytest.raises((AssertionError, LookupError)), hostile.in_documented_words():
        raising()
