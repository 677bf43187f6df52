"""Values as error messages show them."""

from __future__ import annotations

from typing import Any

# Longer texts of values are cut short in messages.
LONGEST_SHOWN = 100


def show(value: Any) -> str:
    """A value as a message shows it, short and whatever it is."""
    try:
        text = repr(value)
    except Exception:  # a class of somebody else, or an integer of thousands of digits
        return f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def _full_name(kind: type) -> str:
    """The name of a type with its module: many libraries have a Graph."""
    is_builtin = kind.__module__ == "builtins"
    return kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}"


def brief(value: object) -> str:
    """A value of a file as it is shown in a sentence."""
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
