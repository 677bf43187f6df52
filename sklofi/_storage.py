"""Save fitted estimators to files of plain data, and load them.

A file has the safetensors format: arrays, and before them a description in JSON. It is read
without pickle. Objects are made only of the classes that an estimator names, and only by
filling them with data, so a file cannot run code, whoever wrote it. Nor can it make a later
fit open files: parameters that do are never read. Loading takes memory in proportion to the
file.

From top to bottom: the mixin `SavedEstimator`, the file (`write_file`, `read_file`), values as
JSON and back (`encode`, `decode`), and `load`, which finds the class by itself.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import secrets
import warnings
from collections.abc import Callable, Container, Iterable
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklofi._messages import shorten, show
from sklofi.graphs._molecule_options import MoleculeOptions

Arrays = dict[str, NDArray[Any]]

# Raise it when older versions of this library could not read what is written. 2: graphs that
# belong to a kernel may have labels of edges. 3: networks may read labels, weights and features
# of edges, rings and structural labels of nodes. 4: there may be several networks, and counts
# beside them.
FORMAT = 4

# The key that says what a JSON object stands for, where it is not a dictionary.
KIND = "!"

# The errors that a description may cause which this library has not written.
DAMAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)

# Parameters that let a fit run code, open files or start processes. They are neither saved nor
# loaded, whatever a file says: only the user chooses them.
LEFT_OUT = frozenset({"callbacks", "memory", "n_jobs"})

# Attributes in which scikit-learn holds settings of an estimator; no file may set them.
BOOKKEEPING = frozenset(
    {"_metadata_request", "_parent_callback_ctx", "_skl_callbacks", "_sklearn_output_config"}
)

# What files of former versions have of these.
SAVED_BEFORE = frozenset({"_sklearn_output_config"})

# No object has more attributes than this. The members of an ensemble share many of theirs.
MOST_ATTRIBUTES = 1000

# What safetensors reads at most before the arrays.
LARGEST_HEADER = 100_000_000

# An array of texts takes as much memory for each as for the longest. All of them together may
# take so many bytes for each byte of the file.
TEXTS_PER_BYTE = 32

# Checks of objects that were filled from a file, where compiled code relies on their content.
CHECKS: dict[type, Callable[[Any], None]] = {}

LIBRARIES = ("sklofi", "numpy", "scipy", "scikit-learn", "torch", "skorch", "safetensors")


class SavedEstimator:
    """Mixin of the estimators that can be saved.

    Parameters and fitted attributes are saved as they are if they are plain data: numbers,
    texts, arrays, and objects of the classes in `_saved_classes`. A subclass that holds
    anything else overrides `_fitted_state` and `_set_fitted_state`; one whose attributes have
    to fit together overrides `_check_loaded`.
    """

    _saved_classes: tuple[type, ...] = ()
    # Parameters and fitted attributes that files of former versions do not have, and the values
    # with which the estimator predicts as it did then.
    _absent_from_files: ClassVar[dict[str, Any]] = {}
    get_params: Any  # of scikit-learn's BaseEstimator

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file.

        The file holds arrays (safetensors) and a description (JSON), no pickles. It is
        written beside the target and then moved over it, so that a crash leaves the
        former file whole.

        The parameters `callbacks` and `memory` are not saved, nor is a splitter
        (`validation_fraction`), or `n_jobs` of an estimator within: no file may let a later
        fit run code, open files or start processes. They have their defaults after loading,
        and so has what `set_output` has set; set them again if you use them.

        Parameters
        ----------
        path : str or path-like
            Where to write. By convention the name ends with ``.safetensors``.
        """
        check_is_fitted(self)
        name = type(self).__name__
        arrays: Arrays = {}
        classes = (*self._saved_classes, MoleculeOptions)
        fitted = encode(self._fitted_state(), "fitted", arrays, classes)
        parameters = self._saved_parameters()
        for key in sorted(self._left_out(parameters)):
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

        Nothing is unpickled and no code from the file is run, whatever is in it, and a
        later fit of what was loaded opens nothing that you did not give it. Whether its
        predictions can be trusted is another question.

        Parameters
        ----------
        path : str or path-like
            The file.

        **options : dict
            Options of the class, such as the device of a network.

        Returns
        -------
        estimator : object
            The fitted estimator, which predicts the same as the one that was saved. Its
            parameters `callbacks` and `memory` have their defaults.
        """
        description, arrays = read_file(path)
        if (name := description.get("class")) != cls.__name__:
            raise ValueError(
                f"{os.fspath(path)} holds a {shorten(name)}, not a {cls.__name__}; sklofi.load"
                " finds the class by itself."
            )
        try:
            classes = (*cls._saved_classes, MoleculeOptions)
            parameters = decode(description["parameters"], arrays, classes)
            absent, names = cls._absent_from_files, _parameter_names(cls)
            parameters = {**_only(absent, names), **_without(parameters, LEFT_OUT)}
            estimator = cls(**parameters)
            fitted = decode(description["fitted"], arrays, classes)
            declared = getattr(cls, "_parameter_constraints", {})
            fitted = _without(fitted, SAVED_BEFORE)
            fitted = {**_without(absent, {*names, *declared}), **fitted}
            check_attributes(cls, fitted.keys(), _parameter_names(cls))
            estimator._set_fitted_state(fitted, **options)
            _check_estimator(estimator)
        except DAMAGE as error:
            raise ValueError(
                f"{os.fspath(path)} does not describe a {cls.__name__} as this version of"
                f" sklofi knows it ({type(error).__name__}: {shorten(error)})."
            ) from error
        return estimator

    def _saved_parameters(self) -> dict[str, Any]:
        return dict(self.get_params(deep=False))

    def _left_out(self, parameters: dict[str, Any]) -> set[str]:
        """Return the names of the parameters that are not saved, because they run code."""
        return {*LEFT_OUT} & parameters.keys()

    def _fitted_state(self) -> dict[str, Any]:
        state: Any = self.__getstate__()
        # A subclass may have a constructor of its own, which sets the parameters of its base.
        declared = getattr(self, "_parameter_constraints", {})
        return _without(state, {*self.get_params(deep=False), *declared, *BOOKKEEPING})

    def _set_fitted_state(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def _check_loaded(self) -> None:
        """Raise a ValueError if compiled code could not rely on what a file has set."""


def write_file(path: str | os.PathLike[str], description: Any, arrays: Arrays) -> None:
    """Write a description and arrays, all or nothing."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    head = {"format": FORMAT, "versions": _versions(), **description}
    text = json.dumps(head, allow_nan=False)
    header = _make_header(arrays, {"sklofi": text, "checksum": _checksum(text, arrays)})
    if len(header) > LARGEST_HEADER:
        raise ValueError(
            f"This cannot be saved: its description has {len(header):,} bytes, and safetensors"
            f" allows {LARGEST_HEADER:,}. Use numbers or texts as names, and fewer labels."
        )
    n_bytes = len(header) + sum(array.nbytes for array in arrays.values())
    if is_out_of_proportion(head, n_bytes):
        raise ValueError(
            "This cannot be saved: an array of texts takes as much memory for each as for the"
            " longest, and here one is far longer than the others. Use shorter names of classes."
        )
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
            file.write(header)
            for name in _stored_order(arrays):
                file.write(arrays[name].reshape(-1).view(np.uint8).data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(os.path.dirname(target))


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the description and the arrays of a file, if this library has written it."""
    return _read(path, Path(path).read_bytes(), _read_arrays)


def map_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the same as :func:`read_file`, with arrays that the system reads when needed.

    The file has to stay as it is: it may be replaced or removed, but not be written to.
    """
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:  # which cannot be mapped
            return _read(path, b"", _read_arrays)
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    # Not as the map itself: joblib would take arrays in it for files that its workers can open
    # by their names, though these may have been replaced.
    return _read(path, memoryview(content), _map_arrays)


def _read(
    path: str | os.PathLike[str],
    content: bytes | memoryview,
    read_arrays: Callable[[Any], Arrays],
) -> tuple[dict[str, Any], Arrays]:
    name = os.fspath(path)
    try:
        arrays = read_arrays(content)
        n_header = int.from_bytes(content[:8], "little")
        metadata = json.loads(bytes(content[8 : 8 + n_header])).get("__metadata__") or {}
    except (SafetensorError, *DAMAGE) as error:
        raise ValueError(
            f"{name} is not a file that sklofi has saved, or it is damaged or incomplete"
            f" ({shorten(error)})."
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
            f"{name} has the format {shorten(file_format)} of sklofi {shorten(writer)}; this"
            f" version reads formats up to {FORMAT}. Update sklofi to load it."
        )
    if metadata.get("checksum") != _checksum(metadata["sklofi"], arrays):
        raise ValueError(f"{name} is damaged: its content does not agree with its checksum.")
    if is_out_of_proportion(description, len(content)):
        raise ValueError(
            f"{name} has only {len(content):,} bytes, but describes texts that would take more"
            f" than {TEXTS_PER_BYTE} times as many. sklofi has not saved it."
        )
    return description, arrays


def is_out_of_proportion(description: Any, n_bytes: int) -> bool:
    """Return whether arrays of texts would take far more memory than a file of this size."""
    n_characters = 0
    values = [description]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values += value.values()
            texts = value.get("value")
            if value.get(KIND) == "texts" and isinstance(texts, list):
                lengths = [len(text) for text in texts if isinstance(text, str)]
                n_characters += len(texts) * max(lengths, default=0)
        elif isinstance(value, list):
            values += value
    return 4 * n_characters > TEXTS_PER_BYTE * n_bytes


def encode(value: Any, place: str, arrays: Arrays, classes: tuple[type, ...] = ()) -> Any:
    """Return a value as JSON; its arrays are added to `arrays` under the name of their place."""

    def encode_member(member: Any, name: Any) -> Any:
        return encode(member, f"{place}.{name}", arrays, classes)

    kind = type(value)  # exactly: what is derived from str may be more than its text
    if value is None or kind in (bool, int, str) or (kind is float and np.isfinite(value)):
        return value
    if kind is float:
        return {KIND: "float", "value": repr(value)}
    if kind is bytes:
        return {KIND: "bytes", "value": value.hex()}
    if kind is list:
        return [encode_member(member, i) for i, member in enumerate(value)]
    if kind in (tuple, set, frozenset):
        return {KIND: kind.__name__, "value": encode(list(value), place, arrays, classes)}
    if kind is dict:
        if all(type(key) is str for key in value) and KIND not in value:
            return {key: encode_member(member, key) for key, member in value.items()}
        items = [encode_member(list(item), item[0]) for item in value.items()]
        return {KIND: "dict", "value": items}
    if kind is np.ndarray and not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    if kind is np.ndarray and value.dtype in STORED_DTYPES:
        while place in arrays:  # keys may have dots in them
            place += "'"
        arrays[place] = value
        return {KIND: "array", "value": place}
    if kind is np.ndarray and value.dtype.kind in "OU":
        name = "objects" if value.dtype.kind == "O" else "texts"
        members = encode_member(value.ravel().tolist(), 0)
        return {KIND: name, "shape": list(value.shape), "value": members}
    if kind is np.str_:
        return {KIND: "numpy", "dtype": "str", "value": str(value)}
    if isinstance(value, np.generic) and value.dtype in STORED_DTYPES:
        return {KIND: "numpy", "dtype": value.dtype.name, "value": encode_member(value.item(), 0)}
    if kind is sp.csr_array:
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return {KIND: "csr", "shape": list(value.shape), "value": encode_member(parts, "csr")}
    if (
        kind is np.random.RandomState
        and value.get_state(legacy=False)["bit_generator"] == "MT19937"
    ):
        state = value.get_state(legacy=False)
        return {KIND: "random state", "value": encode_member(state, "state")}
    if kind in classes:
        return {KIND: kind.__name__, "value": encode_member(_get_state(value), kind.__name__)}
    raise TypeError(
        f"{show(value)} ({place}) cannot be saved, because it is of the type {kind.__name__}: only"
        " numbers, texts, bytes, tuples and the like can be read back without running code."
        " Use such values, or joblib.dump for a file that only you will read."
    )


def decode(
    value: Any, arrays: Arrays, classes: tuple[type, ...] = (), copy_arrays: bool = True
) -> Any:
    """Return the value that :func:`encode` has turned into JSON.

    Arrays are taken out of `arrays`: each stands in one place, or a description could ask for
    any number of copies. Copies may be written to.
    """

    def decode_member(member: Any) -> Any:
        return decode(member, arrays, classes, copy_arrays)

    if isinstance(value, list):
        return [decode_member(member) for member in value]
    if not isinstance(value, dict):
        return value
    if KIND not in value:
        return {key: decode_member(member) for key, member in value.items()}
    content = value["value"]
    match value[KIND]:
        case "float":
            return float(content)
        case "bytes":
            return bytes.fromhex(content)
        case "tuple" | "set" | "frozenset" | "objects" | "texts" if type(content) is not list:
            raise TypeError(f"expected a list in a {value[KIND]}, got {shorten(content)}")
        case "tuple":
            return tuple(decode_member(content))
        case "set":
            return set(decode_member(content))
        case "frozenset":
            return frozenset(decode_member(content))
        case "dict":
            return {decode_member(key): decode_member(member) for key, member in content}
        case "objects":
            values = np.fromiter(decode_member(content), dtype=object, count=len(content))
            return values.reshape(value["shape"])
        case "texts":
            if not all(type(text) is str for text in content):
                raise TypeError("expected texts in an array of texts")
            return np.array(content, dtype=str).reshape(value["shape"])
        case "array":
            array = arrays.pop(content)
            return array.copy() if copy_arrays else array
        case "numpy" if value["dtype"] == "str" and type(content) is str:
            return np.str_(content)
        case "numpy":
            number = decode_member(content)
            if type(number) not in (bool, int, float):
                raise TypeError(f"expected a number, got {shorten(number)}")
            return SCALARS[value["dtype"]](number)
        case "csr":
            parts = [decode_member(content[name]) for name in ("data", "indices", "indptr")]
            if not all(type(part) is np.ndarray and part.dtype in STORED_DTYPES for part in parts):
                raise TypeError("a sparse matrix does not consist of arrays of numbers")
            matrix = sp.csr_array(tuple(parts), shape=value["shape"])
            matrix.check_format(full_check=True)  # compiled code does not check bounds
            return matrix
        case "random state":
            state = decode_member(content)
            if not 0 <= state["state"]["pos"] <= 624:  # numpy does not check
                raise ValueError("the state of a random generator is out of bounds")
            generator = np.random.RandomState()
            generator.set_state(state)
            return generator
    class_of_name = {kind.__name__: kind for kind in classes}
    return _build(class_of_name[value[KIND]], decode_member(content))


# The numbers that files hold, by their names in safetensors. Whatever a file names is looked up
# here and below, never parsed by numpy.
ARRAY_TYPES: dict[str, type[np.generic]] = {
    "BOOL": np.bool_,
    **{"I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64},
    **{"U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64},
    **{"F16": np.float16, "F32": np.float32, "F64": np.float64},
}
TYPE_NAMES = {kind: name for name, kind in ARRAY_TYPES.items()}
STORED_DTYPES = [np.dtype(kind) for kind in ARRAY_TYPES.values()]
SCALARS: dict[str, Callable[[Any], Any]] = {dtype.name: dtype.type for dtype in STORED_DTYPES}


def _read_arrays(content: bytes) -> Arrays:
    return {
        name: np.frombuffer(array["data"], ARRAY_TYPES[array["dtype"]]).reshape(array["shape"])
        for name, array in deserialize(content)  # type: ignore[no-untyped-call]
    }


def _map_arrays(content: memoryview) -> Arrays:
    """Return the arrays of a file without copying them, if its header fits to its size.

    safetensors itself reads arrays from bytes only.
    """
    n_header = int.from_bytes(content[:8], "little")
    if n_header > min(LARGEST_HEADER, len(content) - 8):
        raise ValueError("the header is longer than the file")
    header = json.loads(bytes(content[8 : 8 + n_header]))
    data = content[8 + n_header :]
    arrays: Arrays = {}
    begin = 0
    parts = {name: part for name, part in header.items() if name != "__metadata__"}
    for name, part in sorted(parts.items(), key=lambda item: item[1]["data_offsets"]):
        kind, shape, (start, end) = ARRAY_TYPES[part["dtype"]], part["shape"], part["data_offsets"]
        n_bytes = np.dtype(kind).itemsize
        for length in shape:
            if type(length) is not int or length < 0:
                raise ValueError("a shape is not one of numbers")
            n_bytes *= length
        if start != begin or end - start != n_bytes or end > len(data):  # gaps and overlaps
            raise ValueError("the arrays do not fill the file")
        arrays[name] = np.frombuffer(data[start:end], kind).reshape(shape)
        begin = end
    if begin != len(data):
        raise ValueError("the arrays do not fill the file")
    return arrays


def _make_header(arrays: Arrays, metadata: dict[str, str]) -> bytes:
    """Return what comes before the arrays: the length of a description, and the description."""
    header: dict[str, Any] = {"__metadata__": metadata}
    begin = 0
    for name in _stored_order(arrays):
        array = arrays[name]
        end = begin + array.nbytes
        kind = TYPE_NAMES[array.dtype.type]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # so that arrays are aligned
    return len(text).to_bytes(8, "little") + text


def _stored_order(arrays: Arrays) -> list[str]:
    """Return the names of arrays as they follow each other: those of long numbers first."""
    return sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))


def _get_state(value: Any) -> dict[str, Any]:
    """Return the data of an object, from which :func:`_build` makes an equal one."""
    if not isinstance(value, BaseEstimator) and is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return _without(value.__getstate__(), LEFT_OUT)


def _build(kind: Any, state: dict[str, Any]) -> Any:
    """Return an object of a class that is filled with data, and checked."""
    value: Any
    if not issubclass(kind, BaseEstimator) and is_dataclass(kind):
        value = kind(**state)  # type: ignore[operator]
    else:
        # An estimator starts with its defaults, for parameters that no file may set or that it
        # did not have in the version of scikit-learn which wrote the file.
        value = kind() if issubclass(kind, BaseEstimator) else kind.__new__(kind)
        state = {**getattr(kind, "_absent_from_files", {}), **_without(state, LEFT_OUT)}
        check_attributes(kind, state.keys() - _parameter_names(kind))
        if hasattr(value, "__setstate__"):  # scikit-learn's, which warns of other versions
            value.__setstate__(state)
        else:
            vars(value).update(state)
    if kind in CHECKS:
        CHECKS[kind](value)
    if isinstance(value, SavedEstimator):
        _check_estimator(value)
    return value


def _check_estimator(estimator: SavedEstimator) -> None:
    options = vars(estimator).get("_molecules")
    if options is not None and type(options) is not MoleculeOptions:
        raise TypeError("how molecules were read is not described as such")
    estimator._check_loaded()


def check_attributes(kind: type, names: Iterable[Any], others: Iterable[str] = ()) -> None:
    """Check that a file sets only attributes that belong to instances.

    A file may not replace what the class itself has, such as its methods and the constraints of
    its parameters, nor what is named in `others`.
    """
    names = list(names)
    if len(names) > MOST_ATTRIBUTES:
        raise ValueError(f"{len(names):,} attributes are more than a {kind.__name__} has")
    for name in names:
        if type(name) is not str or hasattr(kind, name) or name in {*others, *BOOKKEEPING}:
            raise ValueError(f"{shorten(name)} is nothing that a file may set")


def _parameter_names(kind: Any) -> set[str]:
    return set(kind._get_param_names()) if issubclass(kind, BaseEstimator) else set()


def _without(state: dict[str, Any], names: Container[str]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name not in names}


def _only(state: dict[str, Any], names: Container[str]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name in names}


def _versions() -> dict[str, str]:
    return {name: version(name) for name in LIBRARIES}


def _checksum(text: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _sync_folder(folder: str) -> None:
    """Write a folder to disk, so that a move within it survives a power failure."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
