"""Methods that an estimator has or has not, depending on its parameters."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any


def available_unless(reason: Callable[[Any], str | None]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a method that an estimator has unless there is a reason against it.

    As scikit-learn's `available_if`, but the AttributeError gives the reason.

    Parameters
    ----------
    reason : callable
        Takes the estimator, returns None or a sentence.

    Returns
    -------
    decorator : callable
        Takes the method.

    Examples
    --------
    >>> from sklofi._available import available_unless
    >>> class Box:
    ...     is_open = False
    ...
    ...     @available_unless(lambda self: None if self.is_open else "The box is not open.")
    ...     def look(self):
    ...         return "empty"
    >>> box = Box()
    >>> hasattr(box, "look")
    False
    >>> box.is_open = True
    >>> box.look()
    'empty'
    """
    return lambda method: _ConditionalMethod(method, reason)


class _ConditionalMethod:
    def __init__(self, method: Callable[..., Any], reason: Callable[[Any], str | None]) -> None:
        self.method = method
        self.reason = reason

    def __get__(self, estimator: Any, owner: type | None = None) -> Callable[..., Any]:
        if estimator is None:
            return self.method
        if (text := self.reason(estimator)) is not None:
            raise AttributeError(text)
        return MethodType(self.method, estimator)
