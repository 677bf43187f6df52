"""Fitted estimators in one file that holds data and nothing else.

The file is in the safetensors format: arrays, and before them a description in JSON. It is
read without pickle; objects are made only of the classes that an estimator names, and only
by filling them with data, so a file cannot run code, whoever wrote it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
import safetensors.numpy
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors import SafetensorError
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

Arrays = dict[str, NDArray[Any]]

# Raise it when older versions of this library could not read what is written. 2: graphs that
# belong to a kernel may have labels of edges.
FORMAT = 2

# The key that says what a JSON object stands for, where it is not a dictionary.
KIND = "!"

# What may come of a description that was not written by us.
DAMAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)

# What has to be seen to of objects that come from a file, because compiled code believes them.
CHECKS: dict[type, Callable[[Any], None]] = {}

LIBRARIES = ("sklofi", "numpy", "scipy", "scikit-learn", "torch", "skorch", "safetensors")


class SavedEstimator:
    """Mixin of the estimators that can be saved.

    Parameters and fitted attributes are saved as they are if they are plain data: numbers,
    texts, arrays, and objects of the classes in `_saved_classes`. A subclass that holds
    anything else overrides `_fitted_state` and `_set_fitted_state`.
    """

    _saved_classes: tuple[type, ...] = ()
    _parameters_left_out: tuple[str, ...] = ("callbacks", "memory")
    get_params: Any  # of scikit-learn's BaseEstimator

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file.

        The file holds arrays (safetensors) and a description (JSON), no pickles. It is
        written beside the target and then moved over it, so that a crash leaves the
        former file whole.

        Parameters
        ----------
        path : str or path-like
            Where to write. By convention the name ends with ``.safetensors``.
        """
        check_is_fitted(self)
        name = type(self).__name__
        arrays: Arrays = {}
        fitted = encode(self._fitted_state(), "fitted", arrays, self._saved_classes)
        parameters = self._saved_parameters()
        for key in {*parameters} & {*self._parameters_left_out}:
            if parameters.pop(key) is not None:
                warnings.warn(
                    f"The parameter {key} is not saved: nothing that is loaded may run code or open"
                    f" other files. It will have its default when {name} is loaded.",
                    UserWarning,
                    stacklevel=2,
                )
        parameters = encode(parameters, "parameters", arrays, self._saved_classes)
        write_file(path, {"class": name, "parameters": parameters, "fitted": fitted}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Read an estimator from a file that :meth:`save` has written.

        Nothing is unpickled and no code from the file is run, whatever is in it. Whether
        its predictions are to be trusted is another question.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        estimator : object
            The fitted estimator, which predicts the same as the one that was saved.
        """
        description, arrays = read_file(path)
        if (name := description.get("class")) != cls.__name__:
            raise ValueError(
                f"{os.fspath(path)} holds a {name}, not a {cls.__name__}; sklofi.load finds the"
                " class by itself."
            )
        try:
            classes = cls._saved_classes
            parameters = decode(description["parameters"], arrays, classes)
            estimator = cls(**parameters)
            fitted = decode(description["fitted"], arrays, classes)
            estimator._set_fitted_state(fitted, **options)
        except DAMAGE as error:
            raise ValueError(
                f"{os.fspath(path)} does not describe a {cls.__name__} as this version of"
                f" sklofi knows it ({type(error).__name__}: {error})."
            ) from error
        return estimator

    def _saved_parameters(self) -> dict[str, Any]:
        return dict(self.get_params(deep=False))

    def _fitted_state(self) -> dict[str, Any]:
        # What scikit-learn keeps there is asked for again where it is needed.
        others = {"_metadata_request", "_skl_callbacks"}
        parameters = self.get_params(deep=False)
        state: Any = self.__getstate__()
        return {name: state[name] for name in state if name not in {*parameters, *others}}

    def _set_fitted_state(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def write_file(path: str | os.PathLike[str], description: Any, arrays: Arrays) -> None:
    """Write a description and arrays, all or nothing."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    head = {"format": FORMAT, "versions": _versions(), **description}
    text = json.dumps(head, allow_nan=False)
    metadata = {"sklofi": text, "checksum": _checksum(text, arrays)}
    content = safetensors.numpy.save(arrays, metadata)
    target = os.path.realpath(path)
    name = os.fspath(path)
    if not os.path.isdir(os.path.dirname(target)):
        raise FileNotFoundError(f"There is no folder {os.path.dirname(name)} to write {name} to.")
    if os.path.isdir(target):
        raise IsADirectoryError(f"{name} is a folder; write to a file in it.")
    # Beside the target, because a move is atomic within one file system only.
    temporary = f"{target}.{secrets.token_hex(4)}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(os.path.dirname(target))


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """The description and the arrays of a file, if it is whole and one of ours."""
    content = Path(path).read_bytes()
    name = os.fspath(path)
    try:
        arrays = safetensors.numpy.load(content)
        n_header = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + n_header]).get("__metadata__") or {}
    except (SafetensorError, *DAMAGE) as error:
        raise ValueError(
            f"{name} is not a file that sklofi has saved, or it is damaged or incomplete ({error})."
        ) from error
    if "sklofi" not in metadata:
        raise ValueError(f"{name} is a safetensors file, but not one that sklofi has saved.")
    try:
        description = json.loads(metadata["sklofi"])
        file_format, writer = description["format"], description["versions"]["sklofi"]
        is_newer = file_format > FORMAT
    except DAMAGE as error:
        raise ValueError(f"{name} is damaged: its description cannot be read.") from error
    if is_newer:
        raise ValueError(
            f"{name} has the format {file_format} of sklofi {writer}; this version reads"
            f" formats up to {FORMAT}. Update sklofi to load it."
        )
    if metadata.get("checksum") != _checksum(metadata["sklofi"], arrays):
        raise ValueError(f"{name} is damaged: its content does not agree with its checksum.")
    return description, arrays


def encode(value: Any, place: str, arrays: Arrays, classes: tuple[type, ...] = ()) -> Any:
    """A value as JSON. Arrays go into `arrays` under the name of their place."""

    def inside(some: Any, name: Any) -> Any:
        return encode(some, f"{place}.{name}", arrays, classes)

    kind = type(value)  # exactly: what is derived from str may be more than its text
    if value is None or kind in (bool, int, str) or (kind is float and np.isfinite(value)):
        return value
    if kind is float:
        return {KIND: "float", "value": repr(value)}
    if kind is bytes:
        return {KIND: "bytes", "value": value.hex()}
    if kind is list:
        return [inside(one, i) for i, one in enumerate(value)]
    if kind in (tuple, set, frozenset):
        return {KIND: kind.__name__, "value": [inside(one, i) for i, one in enumerate(value)]}
    if kind is dict:
        if all(type(key) is str for key in value) and KIND not in value:
            return {key: inside(one, key) for key, one in value.items()}
        return {KIND: "dict", "value": [inside(list(item), item[0]) for item in value.items()]}
    if kind is np.ndarray and not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    if kind is np.ndarray and value.dtype in STORED_DTYPES:
        while place in arrays:  # keys may have dots in them
            place += "'"
        arrays[place] = value
        return {KIND: "array", "value": place}
    if kind is np.ndarray and value.dtype.kind in "OU":
        name = "objects" if value.dtype.kind == "O" else "texts"
        return {KIND: name, "shape": list(value.shape), "value": inside(value.ravel().tolist(), 0)}
    if kind is np.str_:
        return {KIND: "numpy", "dtype": "str", "value": str(value)}
    if isinstance(value, np.generic) and value.dtype in STORED_DTYPES:
        return {KIND: "numpy", "dtype": value.dtype.name, "value": inside(value.item(), 0)}
    if kind is sp.csr_array:
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return {KIND: "csr", "shape": list(value.shape), "value": inside(parts, "csr")}
    if (
        kind is np.random.RandomState
        and value.get_state(legacy=False)["bit_generator"] == "MT19937"
    ):
        return {KIND: "random state", "value": inside(value.get_state(legacy=False), "state")}
    if kind in classes:
        return {KIND: kind.__name__, "value": inside(_state_of(value), kind.__name__)}
    raise TypeError(
        f"{value!r} ({place}) cannot be saved, because it is of the type {kind.__name__}: only"
        " numbers, texts, bytes, tuples and the like can be read back without running code."
        " Use such values, or joblib.dump for a file that only you will read."
    )


def decode(value: Any, arrays: Arrays, classes: tuple[type, ...] = ()) -> Any:
    """What :func:`encode` has made JSON of."""

    def inside(some: Any) -> Any:
        return decode(some, arrays, classes)

    if isinstance(value, list):
        return [inside(one) for one in value]
    if not isinstance(value, dict):
        return value
    if KIND not in value:
        return {key: inside(one) for key, one in value.items()}
    content = value["value"]
    match value[KIND]:
        case "float":
            return float(content)
        case "bytes":
            return bytes.fromhex(content)
        case "tuple":
            return tuple(inside(content))
        case "set":
            return set(inside(content))
        case "frozenset":
            return frozenset(inside(content))
        case "dict":
            return {inside(key): inside(one) for key, one in content}
        case "objects":
            values = np.fromiter(inside(content), dtype=object, count=len(content))
            return values.reshape(value["shape"])
        case "texts":
            return np.array(content, dtype=str).reshape(value["shape"])
        case "array":
            return arrays[content].copy()  # which may be written to
        case "numpy" if value["dtype"] == "str":
            return np.str_(content)
        case "numpy":
            return STORED_DTYPES[STORED_DTYPES.index(value["dtype"])].type(inside(content))
        case "csr":
            parts = inside(content)
            matrix = sp.csr_array(
                (parts["data"], parts["indices"], parts["indptr"]), shape=value["shape"]
            )
            matrix.check_format(full_check=True)  # or it would be read beyond its ends
            return matrix
        case "random state":
            state = inside(content)
            if not 0 <= state["state"]["pos"] <= 624:  # numpy does not look
                raise ValueError("the state of a random generator is out of bounds")
            generator = np.random.RandomState()
            generator.set_state(state)
            return generator
    of_name = {one.__name__: one for one in classes}
    return _of_state(of_name[value[KIND]], inside(content))


STORED_DTYPES = [
    np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
]


def _state_of(value: Any) -> dict[str, Any]:
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value) if one.init}
    return dict(value.__getstate__())


def _of_state(kind: Any, state: dict[str, Any]) -> Any:
    value: Any
    if is_dataclass(kind):
        value = kind(**state)  # type: ignore[operator]
    else:
        # An estimator starts with its defaults: those parameters that it did not have in the
        # version of scikit-learn which wrote the file.
        value = kind() if issubclass(kind, BaseEstimator) else kind.__new__(kind)
        if hasattr(value, "__setstate__"):  # scikit-learn's, which warns of other versions
            value.__setstate__(state)
        else:
            vars(value).update(state)
    if kind in CHECKS:
        CHECKS[kind](value)
    return value


def _versions() -> dict[str, str]:
    return {name: version(name) for name in LIBRARIES}


def _checksum(text: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _sync_folder(folder: str) -> None:
    """Let the move survive a power failure as well, where folders can be synchronised."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
