"""Read data sets in the TUDataset format: text files in a folder or a zip.

What is in the files is not trusted. Nothing is extracted, sizes are bounded, and what does
not fit is refused with the file and the line.
"""

from __future__ import annotations

import hashlib
import io
import math
import warnings
import zipfile
import zlib
from dataclasses import dataclass
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
    for what, some, most in (
        ("all files", members, LARGEST_UNPACKED),
        ("the files of nodes (graph_indicator)", nodes, LARGEST_UNPACKED_NODES),
    ):
        n_unpacked = sum(info.file_size for info in some)
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
    indicator = _integers(source, "graph_indicator", required=True)[:, 0]
    graph_of = _check_indicator(source, indicator)
    edges = _integers(source, "A", n_columns=2, required=True) - 1
    _check_edges(source, edges, graph_of)
    n_graphs = int(graph_of[-1]) + 1
    graph_labels = _numbers(source, "graph_labels", n_rows=n_graphs)
    if graph_labels is not None and (graph_labels % 1 == 0).all():
        graph_labels = graph_labels.astype(np.int64)
    return TUTables(
        name=source.name,
        graph_of=graph_of,
        edges=edges,
        node_labels=_integers(source, "node_labels", n_rows=len(graph_of)),
        node_attributes=_numbers(source, "node_attributes", n_rows=len(graph_of)),
        edge_labels=_integers(source, "edge_labels", n_rows=len(edges)),
        edge_attributes=_numbers(source, "edge_attributes", n_rows=len(edges)),
        graph_labels=graph_labels,
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
) -> list[dict[str, Any]]:
    """A dictionary for each row: its label (several columns are a tuple) and attributes."""
    data: list[dict[str, Any]] = [{} for _ in rows]
    if labels is not None:
        for row, value in zip(data, labels[rows].tolist(), strict=True):
            row["label"] = value[0] if len(value) == 1 else tuple(value)
    if attributes is not None:
        for row, vector in zip(data, attributes[rows], strict=True):
            row["attributes"] = vector
    return data


def _integers(source: Source, what: str, **checks: Any) -> Any:
    return _table(source, what, np.int64, **checks)


def _numbers(source: Source, what: str, **checks: Any) -> Any:
    return _table(source, what, np.float64, **checks)


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
    if what == "A" and not content.strip():
        return np.empty((0, 2), dtype=dtype)  # graphs without edges
    try:
        if not content.strip():
            raise ValueError("no lines")
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # numbers that are not whole
            stream = io.BytesIO(content)
            table = np.loadtxt(stream, delimiter=",", dtype=dtype, ndmin=2, comments=None)
        if not np.isfinite(table).all() or table.shape[1] != (n_columns or table.shape[1]):
            raise ValueError("not finite, or too many columns")
    except (ValueError, OverflowError, DeprecationWarning) as error:
        raise _line_error(content, file_name, dtype, n_columns) from error
    if n_rows is not None and len(table) != n_rows:
        raise ValueError(f"{file_name} has {len(table):,} lines, but there have to be {n_rows:,}.")
    return table


def _line_error(content: bytes, file_name: str, dtype: Any, n_columns: int | None) -> ValueError:
    """Find the first line that does not fit."""
    kind = "whole numbers" if dtype is np.int64 else "numbers"
    for number, raw in enumerate(content.splitlines(), start=1):
        text = raw.decode("ascii", errors="replace").strip()
        if not text:
            continue
        cells = text.split(",")
        n_columns = len(cells) if n_columns is None else n_columns
        try:
            if dtype is np.int64:
                are_numbers = all(abs(int(cell)) < 2**63 for cell in cells)
            else:
                are_numbers = all(math.isfinite(float(cell)) for cell in cells)
        except ValueError:
            are_numbers = False
        if not are_numbers or len(cells) != n_columns:
            shown = text if len(text) <= 60 else text[:60] + "..."
            return ValueError(
                f"{file_name}, line {number}: {shown!r} is not a line of {n_columns} {kind}"
                " between commas."
            )
    return ValueError(f"{file_name} has no lines.")


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
