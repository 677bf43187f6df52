"""How molecules are read: a value that graphs carry and fitted estimators remember."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklofi._messages import show

# What the label of an atom, and of a bond, can be made of, in the order in which it is written.
ATOM_PARTS = ("isotope", "element", "hydrogens", "charge", "aromatic", "chirality", "ring")
BOND_PARTS = ("order", "stereo", "conjugation", "ring")

ATOM_LABEL = ("element", "hydrogens", "charge", "aromatic")
BOND_LABEL = ("order",)
FRAGMENTS = ("all", "largest")

# What becomes of molecules that cannot be read.
ON_INVALID = ("raise", "nan")


@dataclass(frozen=True)
class MoleculeOptions:
    """How molecules become graphs; :meth:`GraphSet.from_molecules` describes the options."""

    atom_label: tuple[str, ...] = ATOM_LABEL
    bond_label: tuple[str, ...] = BOND_LABEL
    explicit_hydrogens: bool = False
    fragments: str = "all"

    def __post_init__(self) -> None:
        parts = {"atom_label": ATOM_PARTS, "bond_label": BOND_PARTS}
        for name, known in parts.items():
            object.__setattr__(self, name, _check_parts(getattr(self, name), known, name))
        if not isinstance(self.explicit_hydrogens, (bool, np.bool_)):
            raise ValueError(
                f"explicit_hydrogens has to be True or False, got {show(self.explicit_hydrogens)}."
            )
        object.__setattr__(self, "explicit_hydrogens", bool(self.explicit_hydrogens))
        if not isinstance(self.fragments, str) or self.fragments not in FRAGMENTS:
            raise ValueError(
                f"fragments has to be {_enumerate(FRAGMENTS)}, got {show(self.fragments)}."
            )
        object.__setattr__(self, "fragments", str(self.fragments))  # not numpy's

    def describe_difference(self, other: MoleculeOptions) -> str:
        """Return the options in which another value differs, as an error names them."""
        names = ("atom_label", "bond_label", "explicit_hydrogens", "fragments")
        return ", ".join(
            f"{name}={getattr(other, name)!r} instead of {getattr(self, name)!r}"
            for name in names
            if getattr(other, name) != getattr(self, name)
        )


def check_on_invalid(value: Any) -> str:
    """Return what to do with molecules that cannot be read, if there is such a choice."""
    if not isinstance(value, str) or value not in ON_INVALID:
        raise ValueError(f"on_invalid has to be {_enumerate(ON_INVALID)}, got {show(value)}.")
    return value


def _check_parts(value: Any, known: Sequence[str], name: str) -> tuple[str, ...]:
    """Return parts of a label, each once, in a fixed order."""
    parts = (value,) if isinstance(value, str) else () if value is None else value
    if not isinstance(parts, (tuple, list)) or not all(
        isinstance(part, str) and part in known for part in parts
    ):
        raise ValueError(
            f"{name} has to be made of {_enumerate(known)}, as one of them, as a tuple, or None,"
            f" got {show(value)}."
        )
    return tuple(part for part in known if part in parts)


def _enumerate(words: Sequence[str]) -> str:
    quoted = [f'"{word}"' for word in words]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}" if len(quoted) > 2 else " or ".join(quoted)
