"""Parameters of estimators, declared once with their constraint and their text."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval


def parameter(default, constraint, text):
    """A field of a dataclass that is a parameter of scikit-learn: declared and described once."""
    return field(default=default, metadata={"constraint": constraint, "text": text})


def learning_rate(default):
    constraint = [Interval(Real, 0, None, closed="neither")]
    return parameter(default, constraint, "Learning rate of the AdamW optimizer.")


AT_LEAST_0 = [Interval(Integral, 0, None, closed="left")]


AT_LEAST_1 = [Interval(Integral, 1, None, closed="left")]


def network_estimator(cls):
    """Decorator of estimators: a dataclass whose fields are parameters.

    The generated ``__init__`` assigns them and does nothing else. What the fields say about
    themselves becomes the table of constraints that scikit-learn checks.

    Of a field that several bases have, the nearest declaration counts, as with all attributes.
    A dataclass alone takes it from its first base, though that one may have inherited it.
    """
    own = dict(inspect.get_annotations(cls))
    taken, nearest = {}, {}
    for base in filter(is_dataclass, reversed(cls.__mro__[1:])):
        taken |= {one.name: one for one in fields(base)}
        nearest |= {name: taken[name] for name in inspect.get_annotations(base) if name in taken}
    for name, one in nearest.items():
        if one is not taken[name] and name not in own:
            own[name] = one.type
            setattr(cls, name, field(default=one.default, metadata=one.metadata))
    cls.__annotations__ = own
    cls = dataclass(kw_only=True, eq=False, repr=False)(cls)
    for one in fields(cls):
        if "constraint" not in one.metadata or one.default is MISSING:
            raise TypeError(
                f"{cls.__name__} declares {one.name} without parameter(default, constraint, text)"
                " of sklofi.training, which says which values it may have and what it does. For a"
                f" width write {one.name}: int = width(32), with sklofi.training.width."
            )
    cls._parameter_constraints = {one.name: one.metadata["constraint"] for one in fields(cls)}
    return cls
