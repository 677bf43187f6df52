"""Parameters of estimators: each is declared once, with its text, constraint and default.

A class that derives from :class:`Parameterized` declares a parameter as an annotated attribute::

    class Smoother(Parameterized, BaseEstimator):
        \"\"\"Averages of neighbors.\"\"\"

        width: int = count("Number of neighbors to average.", default=3)

The constructor, scikit-learn's validation and the docstring follow from the declaration.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, ClassVar, dataclass_transform

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from sklofi._documentation import LinksToDocumentation
from sklofi.graphs._labels import DEFAULT_EDGE_LABEL, DEFAULT_NODE_LABEL

AT_LEAST_1 = [Interval(Integral, 1, None, closed="left")]
# Weights of regularization that are tried in a search: 21 powers of two, from 0.001 to 1000.
SEARCHED_C = [2.0**exponent for exponent in range(-10, 11)]
POSITIVE = [Interval(Real, 0, None, closed="neither")]
NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]
SHARE = [Interval(Real, 0, 1, closed="left")]
# How docstrings name what scikit-learn's validation knows by a word.
KINDS = {
    "boolean": "bool",
    "verbose": "int",
    "random_state": "int, RandomState instance or None",
}


def parameter(
    text: str, constraint: Any, kind: str | None = None, *, default: Any, kw_only: bool = True
) -> Any:
    """Declare a parameter of an estimator.

    Parameters
    ----------
    text : str
        What the docstring says of it.

    constraint : list or "no_validation"
        Which values it may have, in the words of scikit-learn's validation.

    kind : str, default=None
        Its type as the docstring names it; by default derived from the constraint.

    default : object
        Its default.

    kw_only : bool, default=True
        Whether the constructor takes it by name only.

    Returns
    -------
    field : dataclasses.Field
        What the class assigns to the annotated attribute.

    See Also
    --------
    choice : One of a few words.
    count : A whole number.
    flag : A switch.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from sklofi._parameters import Parameterized, parameter
    >>> class Scaler(Parameterized, BaseEstimator):
    ...     factor: float = parameter("What to multiply by.", [float], default=2.0)
    >>> Scaler(factor=3.0)
    Scaler(factor=3.0)
    """
    metadata = {
        "text": inspect.cleandoc(text),
        "constraint": constraint,
        "kind": kind or _enumerate([*map(_kind, constraint)]),
    }
    return field(default=default, metadata=metadata, kw_only=kw_only)


def count(text: str, least: int = 1, *, default: Any, kw_only: bool = True) -> Any:
    """Declare a parameter that is a whole number; None is allowed if it is the default.

    Parameters
    ----------
    text : str
        What the docstring says of it.

    least : int, default=1
        The least value.

    default : int or None
        Its default.

    kw_only : bool, default=True
        Whether the constructor takes it by name only.

    Returns
    -------
    field : dataclasses.Field
        What the class assigns to the annotated attribute.
    """
    constraint = [Interval(Integral, least, None, closed="left")]
    constraint += [None] if default is None else []
    return parameter(text, constraint, default=default, kw_only=kw_only)


def choice(text: str, choices: Sequence[str], *, default: str) -> Any:
    """Declare a parameter that is one of a few words.

    Parameters
    ----------
    text : str
        What the docstring says of it.

    choices : sequence of str
        The words.

    default : str
        Its default.

    Returns
    -------
    field : dataclasses.Field
        What the class assigns to the annotated attribute.
    """
    kind = "{" + ", ".join(map(_quote, choices)) + "}"
    return parameter(text, [StrOptions(set(choices))], kind, default=default)


def flag(text: str, *, default: bool) -> Any:
    """Declare a parameter that is a switch.

    Parameters
    ----------
    text : str
        What the docstring says of it.

    default : bool
        Its default.

    Returns
    -------
    field : dataclasses.Field
        What the class assigns to the annotated attribute.
    """
    return parameter(text, ["boolean"], default=default)


def _enumerate(kinds: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(kinds[:-1]), kinds[-1]]))


def _kind(constraint: Any) -> str:
    """A constraint of scikit-learn as docstrings name it."""
    if constraint is None:
        return "None"
    if isinstance(constraint, str):
        return KINDS[constraint]
    if isinstance(constraint, StrOptions):
        return ", ".join(map(_quote, sorted(constraint.options)))
    if isinstance(constraint, Interval):
        return "int" if constraint.type is Integral else "float"
    return str(constraint.__name__)


def _quote(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


@dataclass_transform(
    kw_only_default=True, eq_default=False, field_specifiers=(parameter, count, choice, flag)
)
class Parameterized(LinksToDocumentation):
    """Base of all classes that declare parameters.

    Each subclass becomes a dataclass whose fields are its parameters: the constructor assigns
    them and does nothing else. Its docstring gets the sections that follow from declarations:
    the parameters, and the attributes that `_fitted_attributes` describes.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    __signature__: ClassVar[inspect.Signature]

    # Of each fitted attribute its type and its text, for the docstring. Subclasses add to it.
    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own_docstring = cls.__doc__
        # A constructor that was written by hand, here or in the nearest base with one, stays.
        before: Any = cls.__init__
        is_written = before is not object.__init__ and not hasattr(before, "is_generated")
        dataclass(kw_only=True, eq=False, repr=False, init=not is_written)(cls)
        if not is_written:
            constructor: Any = cls.__init__
            constructor.is_generated = True
        for declared in _fields(cls):
            _check_declaration(cls, declared)
        cls._parameter_constraints = {f.name: f.metadata["constraint"] for f in _in_order(cls)}
        cls.__signature__ = _signature_in_order(cls)
        cls.__doc__ = None if own_docstring is None else cls._complete(own_docstring)

    @classmethod
    def _complete(cls, docstring: str) -> str:
        """The docstring with all sections, in the order of numpydoc."""
        summary, sections = split_sections(docstring)
        sections = {
            "Parameters": "\n\n".join(map(_describe, _in_order(cls))),
            "Attributes": "\n\n".join(
                _entry(f"{name} : {kind}", text) for name, (kind, text) in _attributes_of(cls)
            ),
            **cls._more_sections(),
            **sections,
        }
        order = ("Parameters", "Attributes", "See Also", "Notes", "References", "Examples")
        parts = [_section(title, sections[title]) for title in order if sections.get(title)]
        return "\n\n".join([summary, *parts])

    @classmethod
    def _more_sections(cls) -> dict[str, str]:
        """Further sections that a family of classes shares, by their titles."""
        return {}


def split_sections(docstring: str) -> tuple[str, dict[str, str]]:
    """The text before the first section of a docstring, and the sections by their titles."""
    parts = re.split(r"^(\w[\w ]*)\n-+$", inspect.cleandoc(docstring), flags=re.MULTILINE)
    titles, bodies = parts[1::2], parts[2::2]
    sections = {title: body.strip("\n") for title, body in zip(titles, bodies, strict=True)}
    return parts[0].strip(), sections


def _check_declaration(cls: type, declared: Field[Any]) -> None:
    if "constraint" not in declared.metadata or declared.default is MISSING:
        name = declared.name
        raise TypeError(
            f"{cls.__name__} declares {name} without parameter(text, constraint, default=...) of"
            " sklofi.training, which says what it does and which values it may have. For a whole"
            f" number write {name}: int = count(text, default=32), with sklofi.training.count."
        )


def _fields(cls: Any) -> tuple[Field[Any], ...]:
    return fields(cls)


def _in_order(cls: type) -> list[Field[Any]]:
    """The parameters of a class: positional ones first, those of mixins last."""
    declared = {f.name: f for f in _fields(cls)}
    bases = [base for base in cls.__mro__ if "__dataclass_fields__" in vars(base)]
    estimators = [base for base in reversed(bases) if issubclass(base, BaseEstimator)]
    mixins = [base for base in bases if not issubclass(base, BaseEstimator)]
    names: dict[str, None] = {}
    for base in (*estimators, *mixins):
        names |= dict.fromkeys(n for n in inspect.get_annotations(base) if n in declared)
    return sorted((declared[name] for name in names), key=lambda f: bool(f.kw_only))


def _signature_in_order(cls: type) -> inspect.Signature:
    """The signature of a class, with its parameters in the order of the docstring.

    A subclass may have a constructor of its own, with other parameters.
    """
    _, *parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
    order = [declared.name for declared in _in_order(cls)]
    if {parameter.name for parameter in parameters} == set(order):
        parameters.sort(key=lambda parameter: order.index(parameter.name))
    return inspect.Signature(parameters)


def _attributes_of(cls: type) -> Iterator[tuple[str, tuple[str, str]]]:
    attributes: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__):
        attributes |= vars(base).get("_fitted_attributes", {})
    return iter(attributes.items())


def _describe(declared: Field[Any]) -> str:
    kind, default = declared.metadata["kind"], _quote(declared.default)
    return _entry(f"{declared.name} : {kind}, default={default}", declared.metadata["text"])


def _section(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{body}"


def _entry(title: str, text: str) -> str:
    return f"{title}\n{textwrap.indent(inspect.cleandoc(text), '    ')}"


class Searchable(Parameterized):
    """Mixin of the estimators whose parameters can be searched.

    A family says once, in `_search_space`, which values of its parameters are worth a try. The
    names may be more than those that an estimator has, and subclasses add to them.
    """

    _search_space: ClassVar[dict[str, list[Any]]] = {}

    @classmethod
    def param_distributions(cls) -> dict[str, list[Any]]:
        """Return a small search space, for a random search.

        As in ``RandomizedSearchCV(estimator, estimator.param_distributions(), n_iter=20)``. It
        holds what changes predictions, no seeds, callbacks or devices.

        Returns
        -------
        distributions : dict of str to list
            For each parameter the values to draw from. The dict is new, and yours to change.
        """
        space: dict[str, list[Any]] = {}
        for base in reversed(cls.__mro__):
            space |= vars(base).get("_search_space", {})
        return {name: list(space[name]) for name in cls._parameter_constraints if name in space}


class ReadsNodeLabels(Parameterized):
    """Mixin of all that read categorical labels of nodes."""

    node_label: Hashable | None = parameter(
        """Node attribute with a categorical label: any hashable value. Under the default
        name it may be absent, then all nodes count as alike. None ignores labels. For a
        :class:`GraphSet` it was chosen when it was made.""",
        "no_validation",
        "hashable or None",
        default=DEFAULT_NODE_LABEL,
    )


class ReadsEdgeLabels(Parameterized):
    """Mixin of all that read categorical labels of edges."""

    edge_label: Hashable | None = parameter(
        """Edge attribute with a categorical label: any hashable value. Under the default
        name it may be absent, then all edges count as alike. None ignores labels. For a
        :class:`GraphSet` it was chosen when it was made.""",
        "no_validation",
        "hashable or None",
        default=DEFAULT_EDGE_LABEL,
    )


class ReadsEdgeWeights(Parameterized):
    """Mixin of all that read weights of edges."""

    edge_weight: Hashable | None = parameter(
        """Edge attribute with a weight: a number, zero or more. None takes all edges as equal,
        except for a :class:`GraphSet`, for which it was chosen when it was made.""",
        "no_validation",
        "hashable or None",
        default=None,
    )


class ReadsEdgeFeatures(Parameterized):
    """Mixin of all that read continuous features of edges."""

    edge_features: Hashable | None = parameter(
        """Edge attribute with continuous features: a number or a vector of numbers, of the same
        length on every edge. For a :class:`GraphSet` it was chosen when it was made.""",
        "no_validation",
        "hashable or None",
        default=None,
    )


class ReadsGraphFeatures(Parameterized):
    """Mixin of all that read features of graphs as a whole."""

    graph_features: Any = parameter(
        """Attribute of the graphs themselves with a number or a vector of numbers, such as a
        temperature, or a list of attributes with a number each. They are standardized over the
        training graphs. For a :class:`GraphSet` it was chosen when it was made.""",
        "no_validation",
        "hashable, list of hashable or None",
        default=None,
    )


class HasClasses(Parameterized):
    """Mixin of all classifiers."""

    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "classes_": (
            "ndarray of shape (n_classes,)",
            "The classes; of several labels at once, the numbers of their columns.",
        )
    }


class WeighsClasses(HasClasses):
    """Mixin of the classifiers with weights of classes."""

    class_weight: dict[Any, float] | list[dict[Any, float]] | str | None = parameter(
        """Weights of the classes, multiplied with `sample_weight`; "balanced" makes them
        inversely proportional to the frequency of the classes. Of several labels at once each has
        the classes 0 and 1: a dict holds for all labels, a list has one dict for each, and
        "balanced" is by what is known of each.""",
        [dict, list, StrOptions({"balanced"}), None],
        default=None,
    )
