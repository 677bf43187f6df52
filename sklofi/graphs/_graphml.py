"""The reader of folders of GraphML files.

networkx parses them, after a look at what a file brings along: a document type can define
entities that expand to gigabytes, so files that have one are refused before that.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from xml.parsers import expat

import networkx as nx

from sklofi._messages import attempt, shorten

SUFFIX = ".graphml"

# networkx takes about a hundred bytes for each byte of a file.
LARGEST_FILE = 2**28

# Names of elements and attributes are read with the address of their namespace before them. All
# of them together may have so many characters for each byte of the file.
CHARACTERS_PER_BYTE = 16

T = TypeVar("T")


def find_graphml(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the GraphML files of a folder, sorted by name."""
    place = Path(folder)
    if not place.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder. Pass one that holds GraphML files.")
    files = sorted(path for path in place.iterdir() if path.suffix.lower() == SUFFIX)
    if not files:
        raise FileNotFoundError(f"The folder {folder} has no files that end with {SUFFIX}.")
    return files


def read_graphml(path: Path) -> nx.Graph:
    """Return the graph in a file as a networkx graph."""
    if (n_bytes := path.stat().st_size) > LARGEST_FILE:
        raise ValueError(
            f"{path} has {n_bytes:,} bytes. Files above {LARGEST_FILE:,} bytes are not read: their"
            " graphs would take a hundred times as much memory. Read it with a library of your"
            " choice, and keep the parts that you need."
        )
    content = path.read_bytes()
    _check_harmless(path, content)
    graphs = attempt(_parse, content)
    if isinstance(graphs, Exception):
        raise ValueError(f"{path} cannot be read as GraphML ({shorten(graphs)}).")
    if len(graphs) != 1:
        raise ValueError(f"{path} holds {len(graphs)} graphs; put each into a file of its own.")
    return graphs[0]


def name_files(convert: Callable[[list[nx.Graph]], T], graphs: list[nx.Graph], files: Any) -> T:
    """Return ``convert(graphs)``; in its errors, a graph is named by its file, too."""
    try:
        return convert(graphs)
    except (TypeError, ValueError) as error:
        if (found := re.match(r"Graph (\d+)", str(error))) is None:
            raise
        name = files[int(found[1])].name
        raise type(error)(f"{error} Graph {found[1]} is the file {name}.") from error


def _check_harmless(path: Path, content: bytes) -> None:
    """Check that a file is XML without a document type, and no namespace has a long address."""
    parser = expat.ParserCreate()
    has_type = False
    n_names = longest_address = 0

    def note(*_: Any) -> None:
        nonlocal has_type
        has_type = True
        raise ValueError("document type")

    def measure(_: str, attributes: dict[str, str]) -> None:
        nonlocal n_names, longest_address
        n_names += 1 + sum(":" in name for name in attributes)
        addresses = [text for name, text in attributes.items() if name.startswith("xmlns")]
        longest_address = max(longest_address, *map(len, addresses), 0)

    parser.StartDoctypeDeclHandler = note
    parser.StartElementHandler = measure
    error = attempt(parser.Parse, content, True)
    if has_type:
        raise ValueError(
            f"{path} has a document type (<!DOCTYPE ...>), which can define entities that expand"
            " without end. GraphML needs none: remove that line if you trust the file."
        )
    if isinstance(error, Exception):
        raise ValueError(f"{path} is not XML ({shorten(error)}).")
    if n_names * longest_address > CHARACTERS_PER_BYTE * len(content):
        raise ValueError(
            f"{path} has only {len(content):,} bytes, but {n_names:,} names of a namespace whose"
            f" address has {longest_address:,} characters, which each of them would repeat."
        )


def _parse(content: bytes) -> list[nx.Graph]:
    # Not by a path: networkx would unpack a file by its name.
    graphs = list(nx.readwrite.graphml.GraphMLReader()(path=io.BytesIO(content)))
    if not graphs:  # perhaps the header has no namespace
        graphs = [nx.read_graphml(io.BytesIO(content))]
    return graphs
