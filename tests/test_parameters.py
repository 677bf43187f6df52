import inspect
from typing import ClassVar

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import InvalidParameterError

from sklofi._parameters import (
    Parameterized,
    ReadsNodeLabels,
    choice,
    count,
    flag,
    parameter,
    split_sections,
)


class Smooths(Parameterized):
    """A mixin with a parameter."""

    strength: float = parameter("How much.", [None, "boolean"], default=None)

    _fitted_attributes: ClassVar = {"mean_": ("float", "The mean.")}


class Smoother(Smooths, ReadsNodeLabels, BaseEstimator):
    """Averages of neighbors.

    They are weighted.

    Examples
    --------
    >>> 1 + 1
    2
    """

    width: int = count("Number of neighbors.", default=3, kw_only=False)
    kind: str = choice("What it is.", ("sum", "mean", "max"), default="mean")

    _fitted_attributes: ClassVar = {"scale_": ("float", "The scale.")}


class WideSmoother(Smoother):
    """Another default."""

    width: int = count("Number of neighbors.", least=0, default=30)
    is_fast: bool = flag("Whether it is fast.", default=True)


def test_parameters_are_assigned_and_nothing_else():
    smoother = Smoother(5, kind="max")
    expected = {"width": 5, "kind": "max", "strength": None, "node_label": "label"}
    assert vars(smoother) == smoother.get_params() == expected
    assert clone(smoother).get_params() == expected
    with pytest.raises(TypeError):
        Smoother(5, "max")


def test_parameters_are_validated():
    for value in (0, 1.5, "3"):
        with pytest.raises(InvalidParameterError, match="'width' parameter of Smoother"):
            Smoother(width=value)._validate_params()
    with pytest.raises(InvalidParameterError, match="'kind' parameter of Smoother"):
        Smoother(kind="min")._validate_params()
    WideSmoother(width=0)._validate_params()


def test_docstrings_follow_from_declarations():
    assert Smoother.__doc__ == inspect.cleandoc(
        """
        Averages of neighbors.

        They are weighted.

        Parameters
        ----------
        width : int, default=3
            Number of neighbors.

        kind : {"sum", "mean", "max"}, default="mean"
            What it is.

        strength : None or bool, default=None
            How much.

        node_label : hashable or None, default="label"
            Node attribute with a categorical label: any hashable value. Under the default
            name it may be absent, then all nodes count as alike. None ignores labels. For a
            :class:`GraphSet` it was chosen when it was made.

        Attributes
        ----------
        mean_ : float
            The mean.

        scale_ : float
            The scale.

        Examples
        --------
        >>> 1 + 1
        2
        """
    )


def test_a_subclass_may_declare_a_parameter_anew():
    assert WideSmoother().width == 30
    assert "width : int, default=30\n" in WideSmoother.__doc__
    assert WideSmoother.__doc__.count("width :") == 1
    assert Smoother().width == 3


def test_a_subclass_may_have_a_constructor_of_its_own():
    class Fixed(Smoother):
        def __init__(self, place, kind="max"):
            super().__init__(kind=kind)
            self.place = place

    assert list(inspect.signature(Fixed).parameters) == ["place", "kind"]
    assert Fixed("here").get_params() == {"kind": "max", "place": "here"}
    assert Fixed("here").width == 3

    class Inherits(Fixed):
        pass

    assert Inherits("there").place == "there" and Inherits("there").kind == "max"


def test_a_constructor_of_a_mixin_is_called():
    class Counts:
        def __init__(self, **parameters):
            super().__init__(**parameters)
            self.n_calls = 1

    counting = type("Counting", (Counts, Smoother), {})(kind="sum")
    assert (counting.n_calls, counting.kind) == (1, "sum")


def test_parameters_are_in_the_order_of_the_docstring():
    assert list(inspect.signature(Smoother).parameters) == [
        *("width", "kind", "strength", "node_label")
    ]


def test_a_parameter_needs_a_declaration():
    with pytest.raises(TypeError, match=r"Rough declares width without parameter\(text"):
        type("Rough", (Parameterized,), {"__annotations__": {"width": int}, "width": 3})


def test_a_class_without_a_docstring_gets_none():
    assert type("Silent", (Smoother,), {}).__doc__ is None


def test_sections_of_a_docstring():
    text, sections = split_sections("Title.\n\n    Notes\n    -----\n    Some.\n\n    More.")
    assert (text, sections) == ("Title.", {"Notes": "Some.\n\nMore."})
