"""GraphSets in files: arrays in the safetensors format, which are memory-mapped when loaded.

As in the files of estimators (:mod:`sklofi._storage`), a description in JSON says what the arrays
are, and nothing is pickled. All fields of the dataclass are saved, so that a new one needs
nothing here but, if it is of a class of its own, an entry in `SAVED_CLASSES`.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, shorten
from sklofi.graphs._molecule_options import MoleculeOptions

# Classes of fields that are neither arrays nor plain values: dataclasses of plain values.
SAVED_CLASSES: tuple[type, ...] = (MoleculeOptions,)

# The key of node names that are stored as one array of all their bytes.
BYTES, LENGTHS = "bytes", "lengths"


def save_fields(fields: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the fields of a GraphSet to a file, all or nothing."""
    from sklofi._storage import encode, write_file

    arrays: dict[str, NDArray[Any]] = {}
    fields = fields | {"node_names": _pack_texts(fields["node_names"])}
    description = encode(fields, "fields", arrays, SAVED_CLASSES)
    write_file(path, {"class": "GraphSet", "fields": description}, arrays)


def load_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of a GraphSet from a file; arrays are read from it when they are used."""
    from sklofi._storage import decode, map_file

    description, arrays = map_file(path)
    if (name := description.get("class")) != "GraphSet":
        raise ValueError(
            f"{os.fspath(path)} holds a {shorten(name)}, not a GraphSet; sklofi.load reads"
            " estimators."
        )
    fields = attempt(decode, description.get("fields"), arrays, SAVED_CLASSES, False)
    if isinstance(fields, dict) and all(type(name) is str for name in fields):
        names = attempt(_unpack_texts, fields.get("node_names"))
        if not isinstance(names, Exception):
            return fields | {"node_names": names}
        fields = names
    raise damaged(path, fields if isinstance(fields, Exception) else "no fields")


def damaged(path: str | os.PathLike[str], reason: object) -> ValueError:
    """Return the error about a file that does not describe a GraphSet."""
    return ValueError(
        f"{os.fspath(path)} does not describe a GraphSet as this version of sklofi knows it"
        f" ({type(reason).__name__}: {shorten(reason)})."
    )


def check_plain(fields: dict[str, Any]) -> None:
    """Check fields that are no arrays: labels are distinct, and names can be names."""
    for name in ("labels", "edge_labels"):
        values = fields.get(name, ())
        if type(values) is not tuple or len(set(values)) != len(values):
            raise ValueError(f"{name} are not distinct")
    names = ("node_label", "node_features", "edge_label", "edge_weight", "edge_features")
    for name in (*names, "graph_features"):
        value: Hashable = fields.get(name, "")
        hash(value)


def _pack_texts(names: NDArray[Any] | None) -> Any:
    """Return texts as two arrays: a description of millions of them would be far larger."""
    if names is None or names.dtype != object or any(type(name) is not str for name in names):
        return names
    texts = [name.encode("utf-8", "surrogatepass") for name in names]
    content = np.frombuffer(b"".join(texts), np.uint8)
    return {BYTES: content, LENGTHS: np.array([*map(len, texts)], np.int64)}


def _unpack_texts(names: Any) -> Any:
    if not isinstance(names, dict):
        return names
    content, lengths = names[BYTES].tobytes(), names[LENGTHS]
    # Lengths whose sum overflows could ask for any number of copies of all bytes.
    is_wrong = (lengths < 0) | (lengths > len(content))
    if is_wrong.any() or lengths.sum() != len(content):
        raise ValueError("the lengths of node names do not fit")
    ends = np.cumsum(lengths).tolist()
    starts = [0, *ends[:-1]]
    texts = (
        content[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts, ends, strict=True)
    )
    return np.fromiter(texts, dtype=object, count=len(ends))
