"""Read data sets in the TUDataset format: text files in a folder or a zip.

What is in the files is not trusted. Nothing is extracted, sizes are bounded, and what does
not fit is refused with the file and the line.
"""

from __future__ import annotations

import hashlib
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

LARGEST_FILE = 2 * 2**30  # bytes of a single text file


# How many times as large as its zip a data set may be, and its file with a line for each node,
# which becomes hundreds of bytes of a networkx graph. Zips of public data sets are unpacked to
# 5 to 9 times their size; that file has at most as many bytes as the zip.
LARGEST_UNPACKED = 32
LARGEST_UNPACKED_NODES = 4

# Lines of a file for each byte of the zip: a line of edges becomes hundreds of bytes, too, however
# short it is. Public data sets have at most 0.6.
MOST_LINES = 2


# Digests of the contents (graphs, node labels, classes) of data sets that results of this
# library were measured on; see `content_digest`.
DIGESTS = {
    "MUTAG": "06f4cbda03d8172268433506aac61fdab0221a04d76fc4e5853b3704609bd4fc",
    "PTC_MR": "f92d1c212eb885aaa6fea25890e1f0d3bf1114ede926f92a4a26d619754aa271",
    "PROTEINS": "b9f55cd84a369e47df12714eb641be737cc976d3ae151a80c94a2453671aab6a",
    "IMDB-BINARY": "09f260193a83c90fd8024456cc4eddd91e3eb974d791bfb17b630885b0aa87bc",
    "IMDB-MULTI": "44c6cbceb536e54d8a09861f9ab9a6ed0e8fa7b46020c10383fda7b995345bc1",
    "NCI1": "78726440d304367e7251fc27d9b4faaf265b6174728fadea16a6be6fd7bea7c4",
}


@dataclass(frozen=True, eq=False)
class TUTables:
    """The tables of a data set, nodes and graphs counted from 0."""

    name: str
    graph_of: NDArray[np.int64]  # (n_nodes,)
    edges: NDArray[np.int64]  # (n_lines, 2)
    node_labels: NDArray[np.int64] | None = None  # (n_nodes, n_columns)
    node_attributes: NDArray[np.float64] | None = None
    edge_labels: NDArray[np.int64] | None = None  # (n_lines, n_columns)
    edge_attributes: NDArray[np.float64] | None = None
    graph_labels: NDArray[Any] | None = None  # (n_graphs, n_columns)
    graph_attributes: NDArray[np.float64] | None = None

    @property
    def n_graphs(self) -> int:
        return int(self.graph_of[-1]) + 1


class Source:
    """The text files of a data set, in a folder or in a zip."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    @classmethod
    def find(cls, folder: Path, name: str) -> Source | None:
        """The data set in a folder: as a folder of its own, or as a zip."""
        for path in (folder / name, folder / f"{name}.zip"):
            if path.is_dir() or path.is_file():
                return cls(path, name)
        return None

    def read(self, what: str) -> bytes | None:
        """The content of the file NAME_what.txt, or None if there is none."""
        file_name = f"{self.name}_{what}.txt"
        if self.path.is_dir():
            path = self.path / file_name
            if not path.is_file():
                return None
            self._check_size(file_name, path.stat().st_size)
            return path.read_bytes()
        try:
            with zipfile.ZipFile(self.path) as archive:
                # By their exact names; whatever else is inside is not looked at.
                check_packing(self.path, archive.infolist())
                members = {info.filename: info for info in archive.infolist()}
                info = members.get(f"{self.name}/{file_name}") or members.get(file_name)
                if info is None:
                    return None
                self._check_size(file_name, info.file_size)
                with archive.open(info) as file:
                    content = file.read(info.file_size + 1)
        # RuntimeError: encrypted, or packed in a way that this Python does not know.
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise ValueError(
                f"{self.path} is not a zip that can be read ({error}). Delete it, or put a whole"
                " one in its place."
            ) from error
        self._check_size(file_name, len(content))
        n_packed, n_lines = self.path.stat().st_size, content.count(b"\n")
        if n_lines > MOST_LINES * n_packed:
            raise ValueError(
                f"{self.path} has {n_packed:,} bytes, but {file_name} in it has {n_lines:,} lines."
                f" More than {MOST_LINES} for each byte are not read of a zip. If you trust it,"
                f" unpack it as the folder {self.path.stem} beside it."
            )
        return content

    def _check_size(self, file_name: str, n_bytes: int) -> None:
        if n_bytes > LARGEST_FILE:
            raise ValueError(
                f"{file_name} in {self.path} has more than the {LARGEST_FILE:,} bytes that are"
                " read of a file."
            )


def check_packing(path: Path, members: list[zipfile.ZipInfo]) -> None:
    """Refuse a zip that is far larger when it is unpacked, before it is."""
    n_packed = path.stat().st_size
    nodes = [info for info in members if info.filename.endswith("_graph_indicator.txt")]
    for what, counted, most in (
        ("all files", members, LARGEST_UNPACKED),
        ("the files of nodes (graph_indicator)", nodes, LARGEST_UNPACKED_NODES),
    ):
        n_unpacked = sum(info.file_size for info in counted)
        if n_unpacked > most * n_packed:
            raise ValueError(
                f"{path} has {n_packed:,} bytes, but {what} in it together have {n_unpacked:,}."
                f" More than {most} times as many are not read of a zip. If you trust it, unpack it"
                f" as the folder {path.stem} beside it."
            )
    for info in members:
        # Other ways of packing can take any amount of memory to unpack the first byte.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(
                f"{path} is packed by another method than deflate, which is not read. Unpack it as"
                f" the folder {path.stem} beside it."
            )


def read_tables(source: Source) -> TUTables:
    """Read and check all files of a data set."""
    indicator = _integers(source, "graph_indicator", n_columns=1, required=True)[:, 0]
    graph_of = _check_indicator(source, indicator)
    edges = _integers(source, "A", n_columns=2, required=True) - 1
    _check_edges(source, edges, graph_of)
    n_graphs = int(graph_of[-1]) + 1
    edge_labels = _integers(source, "edge_labels", n_rows=len(edges))
    edge_attributes = _numbers(source, "edge_attributes", n_rows=len(edges))
    _check_edge_labels(source, edges, edge_labels)
    _warn_of_lost_attributes(source, edges, edge_attributes)
    return TUTables(
        name=source.name,
        graph_of=graph_of,
        edges=edges,
        node_labels=_integers(source, "node_labels", n_rows=len(graph_of)),
        node_attributes=_numbers(source, "node_attributes", n_rows=len(graph_of)),
        edge_labels=edge_labels,
        edge_attributes=edge_attributes,
        graph_labels=_classes(source, n_rows=n_graphs),
        graph_attributes=_numbers(source, "graph_attributes", n_rows=n_graphs),
    )


def build_graphs(tables: TUTables, rows: NDArray[np.int64] | None = None) -> list[nx.Graph]:
    """networkx graphs, all or some of them, with the nodes 0, 1, 2, ... and the attributes
    "label" and "attributes" on nodes and edges, as far as the data set has them."""
    first = np.concatenate([[0], np.cumsum(np.bincount(tables.graph_of))])
    graph_of_line = tables.graph_of[tables.edges[:, 0]]
    order = np.argsort(graph_of_line, kind="stable")
    bounds = np.searchsorted(graph_of_line[order], np.arange(tables.n_graphs + 1))
    graphs = []
    for i in range(tables.n_graphs) if rows is None else rows.tolist():
        nodes = np.arange(first[i], first[i + 1])
        lines = order[bounds[i] : bounds[i + 1]]
        graph = nx.Graph()
        node_data = _attributes(tables.node_labels, tables.node_attributes, nodes)
        graph.add_nodes_from(zip(range(len(nodes)), node_data, strict=True))
        edge_data = _attributes(tables.edge_labels, tables.edge_attributes, lines)
        ends = (tables.edges[lines] - first[i]).tolist()
        graph.add_edges_from((u, v, data) for (u, v), data in zip(ends, edge_data, strict=True))
        graphs.append(graph)
    return graphs


def content_digest(tables: TUTables) -> str:
    """A digest of the graphs, node labels and classes, however they are written down."""
    digest = hashlib.sha256()
    ends = np.sort(tables.edges, axis=1)
    parts = [tables.graph_of, np.unique(ends, axis=0), tables.node_labels, tables.graph_labels]
    for part in parts:
        if part is not None:
            digest.update(str(part.shape).encode())
            digest.update(np.ascontiguousarray(part, dtype="<i8").data)
    return digest.hexdigest()


def _attributes(
    labels: NDArray[np.int64] | None,
    attributes: NDArray[np.float64] | None,
    rows: NDArray[np.int64],
) -> Iterator[dict[str, Any]]:
    """A dictionary for each row: its label (several columns are a tuple) and attributes.

    They are made one by one, because networkx copies them.
    """
    columns: dict[str, Iterable[Any]] = {}
    if labels is not None:
        values = labels[rows].tolist()
        columns["label"] = (value[0] if len(value) == 1 else tuple(value) for value in values)
    if attributes is not None:
        columns["attributes"] = attributes[rows]
    of_rows = zip(*columns.values(), strict=True) if columns else repeat((), len(rows))
    return (dict(zip(columns, values, strict=True)) for values in of_rows)


def _integers(source: Source, what: str, **checks: Any) -> Any:
    return _table(source, what, np.int64, **checks)


def _numbers(source: Source, what: str, **checks: Any) -> Any:
    return _table(source, what, np.float64, **checks)


def _classes(source: Source, n_rows: int) -> NDArray[Any] | None:
    """Graph labels: whole numbers if all of them are, real numbers otherwise."""
    classes = _table(source, "graph_labels", np.float64, n_rows=n_rows)
    if classes is None or (classes % 1 != 0).any():
        return classes
    if (np.abs(classes) < 2**53).all():  # as floating-point numbers they are exact
        return classes.astype(np.int64)
    return _table(source, "graph_labels", np.int64, n_rows=n_rows)


def _table(
    source: Source,
    what: str,
    dtype: Any,
    *,
    n_rows: int | None = None,
    n_columns: int | None = None,
    required: bool = False,
) -> NDArray[Any] | None:
    content = source.read(what)
    file_name = f"{source.name}_{what}.txt"
    if content is None:
        if required:
            raise ValueError(
                f"There is no {file_name} in {source.path}, which every data set in the TUDataset"
                " format has."
            )
        return None
    content = content.rstrip()
    if not content:
        if what == "A":
            return np.empty((0, 2), dtype=dtype)  # graphs without edges
        raise ValueError(f"{file_name} has no lines.")
    # numpy skips a blank line, which would shift all values below it by one.
    if blank := re.search(rb"(?:^|\n)[ \t\r]*\n", content):
        line = content.count(b"\n", 0, blank.end())
        raise ValueError(f"{file_name}, line {line} is blank, but there are lines below it.")
    n_columns = n_columns or content.partition(b"\n")[0].count(b",") + 1
    table = _parse(content, dtype, n_columns)
    if table is None:
        raise _line_error(content, file_name, dtype, n_columns)
    if n_rows is not None and len(table) != n_rows:
        raise ValueError(f"{file_name} has {len(table):,} lines, but there have to be {n_rows:,}.")
    return table


def _parse(content: bytes, dtype: Any, n_columns: int) -> NDArray[Any] | None:
    """The numbers in some lines, or None if they are not what they should be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # numbers that are not whole
            stream = io.BytesIO(content)
            table = np.loadtxt(stream, delimiter=",", dtype=dtype, ndmin=2, comments=None)
    except (ValueError, OverflowError, DeprecationWarning):
        return None
    return table if np.isfinite(table).all() and table.shape[1] == n_columns else None


def _line_error(content: bytes, file_name: str, dtype: Any, n_columns: int) -> ValueError:
    """Find the first line that does not fit."""
    lines = content.split(b"\n")
    start = 0
    # By blocks first: numpy takes as long for one line as for a hundred.
    for size in (10_000, 100, 1):
        while start + size < len(lines):
            if _parse(b"\n".join(lines[start : start + size]), dtype, n_columns) is None:
                break
            start += size
    text = lines[start].decode("ascii", errors="replace").strip()
    shown = text if len(text) <= 60 else text[:60] + "..."
    kind = "whole numbers of at most 64 bits" if dtype is np.int64 else "numbers"
    return ValueError(
        f"{file_name}, line {start + 1}: {shown!r} is not a line of {n_columns} {kind} between"
        " commas."
    )


def _check_indicator(source: Source, indicator: NDArray[np.int64]) -> NDArray[np.int64]:
    steps = np.diff(indicator, prepend=0)
    bad = np.flatnonzero((steps < 0) | (steps > 1) | ((np.arange(len(steps)) == 0) & (steps != 1)))
    if len(bad):
        line = int(bad[0]) + 1
        raise ValueError(
            f"{source.name}_graph_indicator.txt, line {line}: graph {indicator[line - 1]} does not"
            " follow on the graph before it; graphs are numbered 1, 2, 3, ... and each has nodes."
        )
    return indicator - 1


def _check_edges(source: Source, edges: NDArray[np.int64], graph_of: NDArray[np.int64]) -> None:
    file_name = f"{source.name}_A.txt"
    outside = np.flatnonzero(((edges < 0) | (edges >= len(graph_of))).any(axis=1))
    if len(outside):
        line = int(outside[0])
        raise ValueError(
            f"{file_name}, line {line + 1}: nodes {edges[line, 0] + 1} and {edges[line, 1] + 1} are"
            f" not both among the nodes 1 to {len(graph_of)}."
        )
    across = np.flatnonzero(graph_of[edges[:, 0]] != graph_of[edges[:, 1]])
    if len(across):
        line = int(across[0])
        raise ValueError(
            f"{file_name}, line {line + 1}: nodes {edges[line, 0] + 1} and {edges[line, 1] + 1} are"
            f" in different graphs."
        )


def _lines_that_differ(
    edges: NDArray[np.int64], values: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lines whose value is not that of the first line of the same edge, in either direction,
    and those first lines."""
    ends = np.sort(edges, axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))  # stable: first lines stay first
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (np.diff(ends[order], axis=0) != 0).any(axis=1)
    first = np.empty_like(order)
    first[order] = order[is_first][np.cumsum(is_first) - 1]
    lines = np.flatnonzero((values != values[first]).any(axis=1))
    return lines, first[lines]


def _check_edge_labels(
    source: Source, edges: NDArray[np.int64], labels: NDArray[np.int64] | None
) -> None:
    if labels is None or not len(edges):
        return
    lines, first_lines = _lines_that_differ(edges, labels)
    if len(lines):
        line, first = int(lines[0]), int(first_lines[0])
        u, v = (edges[line] + 1).tolist()
        here, there = (", ".join(map(str, labels[i].tolist())) for i in (line, first))
        raise ValueError(
            f"{source.name}_edge_labels.txt, line {line + 1}: the edge of the nodes {u} and {v} has"
            f" the label {here} here, but {there} in line {first + 1}; edges have no direction, so"
            " all lines of an edge need the same label."
        )


def _warn_of_lost_attributes(
    source: Source, edges: NDArray[np.int64], attributes: NDArray[np.float64] | None
) -> None:
    """Unlike labels, attributes do differ in published data sets: in Cuneiform by direction."""
    if attributes is None or not len(edges):
        return
    lines, first_lines = _lines_that_differ(edges, attributes)
    if len(lines):
        warnings.warn(
            f"{source.name}_edge_attributes.txt, line {lines[0] + 1}: the edge has other attributes"
            f" than in line {first_lines[0] + 1}. Edges have no direction here, and each of them"
            f" keeps the attributes of its last line; this concerns {len(lines):,} lines.",
            UserWarning,
            stacklevel=2,
        )
