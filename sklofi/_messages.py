"""Error messages about values of any class, whose own methods may raise errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

# Texts are cut in messages beyond so many characters: values, and other texts such as errors.
LONGEST_VALUE = 100
LONGEST_TEXT = 200

T = TypeVar("T")


def attempt(function: Callable[..., T], *args: Any) -> T | Exception:
    """Return ``function(*args)``, or the exception that it raises.

    Use it where a method of a user's class is called: labels, features, targets and weights
    are of any class, and ``__eq__``, ``__hash__``, ``__repr__``, ``__float__`` and ``__array__``
    may raise any exception. The caller can then raise an error that names the value and says
    what to do, or go on without it. A lack of memory is no fault of the value and is raised.

    Parameters
    ----------
    function : callable
        What to call. Pass a small function, so that no error of this library is hidden.

    *args : objects
        Its arguments.

    Returns
    -------
    result : object or Exception
        What the function returns, or an Exception if it fails.

    Examples
    --------
    >>> from sklofi._messages import attempt
    >>> attempt(float, "2.5")
    2.5
    >>> attempt(hash, [])
    TypeError("unhashable type: 'list'")
    """
    try:
        return function(*args)
    except MemoryError:
        raise
    except Exception as error:
        return error


def show(value: Any) -> str:
    """Return a value of any class as messages show it: its repr, cut if it is long."""
    text = attempt(repr, value)
    if isinstance(text, Exception):  # also of an integer of thousands of digits
        return f"<{type(value).__name__}>"
    return shorten(text, LONGEST_VALUE)


def shorten(text: object, longest: int = LONGEST_TEXT) -> str:
    """Return a text, or an error or a number as text, cut after so many characters."""
    text = str(text)
    return text if len(text) <= longest else f"{text[:longest]}..."


def full_name(kind: type) -> str:
    """Return the name of a type with its module: many libraries have a Graph."""
    is_builtin = kind.__module__ == "builtins"
    return kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}"
