"""Tables in CSV files, with errors that name the line."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sklofi._messages import shorten, show

# A table of more characters is refused.
LARGEST_TABLE = 2**31

# A table of more characters, or cells, than this may have so many for each byte of its file, which
# may be packed: rows that end early are filled up. So a table takes at most 4,000 bytes for each
# byte of a packed file. Those of MoleculeNet have at most 8 characters for each byte.
SMALL_TABLE = 2**20
MOST_CHARACTERS = 32
MOST_CELLS = 32

# What an empty cell may be written as, in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>"})


class Table(NamedTuple):
    """The cells of a CSV file as text, row by row."""

    name: str
    columns: list[str]
    rows: list[list[str]]
    lines: list[int]  # of the file, counted from 1, on which rows end

    def position(self, column: str) -> int:
        """Return the position of a column, or raise an error that lists them all."""
        n_times = self.columns.count(column)
        if n_times == 1:
            return self.columns.index(column)
        if n_times > 1:
            raise ValueError(f"{self.name} has {n_times} columns {column!r}; rename all but one.")
        names = shorten(", ".join(map(repr, self.columns)), 500)
        raise ValueError(f"{self.name} has no column {column!r}. Its columns are {names}.")

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        position = self.position(name)
        return [row[position] for row in self.rows]


def read_table(path: str | os.PathLike[str], *, name: str | None = None) -> Table:
    """Read a CSV file, which may be packed by gzip.

    Cells are separated by commas, or by tabs or semicolons if the first line has these and no
    comma. Rows that end early are filled up with empty cells. Empty lines are left out.

    Parameters
    ----------
    path : path-like
        The file, in UTF-8.

    name : str or None, default=None
        What errors call it, by default its own name. It is packed if that ends in ".gz".

    Returns
    -------
    table : Table
        All of its cells.

    Raises
    ------
    ValueError
        If it is no table, in a sentence that names the line.
    """
    name = Path(path).name if name is None else name
    text, n_bytes = _read_text(path, name)
    first = text.split("\n", 1)[0]
    delimiter = next((mark for mark in ",\t;" if mark in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.line_num}: {error}.") from error
    if not rows:
        raise ValueError(f"{name} is empty. It should have a line with the names of columns.")
    columns = [name.strip() for name in rows[0]]
    if len(rows) * len(columns) > max(SMALL_TABLE, MOST_CELLS * n_bytes):
        raise ValueError(
            f"{name} has {n_bytes:,} bytes, but {len(rows):,} rows of {len(columns):,}"
            " columns, of which most end early. Leave out the columns that are empty."
        )
    for row, line in zip(rows, lines, strict=True):
        if len(row) > len(columns):
            raise ValueError(
                f"{name}, line {line} has {len(row)} cells, but the first line names"
                f" {len(columns)} columns. Put cells with {delimiter!r} in them into quotes."
            )
        row += [""] * (len(columns) - len(row))
    return Table(name, columns, rows[1:], lines[1:])


def _read_text(path: str | os.PathLike[str], name: str) -> tuple[str, int]:
    """Return the text of a file, and the bytes of the file, which may be packed."""
    is_packed = name.lower().endswith(".gz")
    try:
        n_bytes = os.stat(path).st_size  # 0 of what is no file, such as a pipe
        most = min(LARGEST_TABLE, max(SMALL_TABLE, MOST_CHARACTERS * n_bytes))
        with gzip.open(path, "rb") if is_packed else open(path, "rb") as file:
            # Not more than there may be: read asks for so much memory.
            most_read = most if is_packed else min(n_bytes or LARGEST_TABLE, LARGEST_TABLE)
            content = file.read(most_read + 1)
        if is_packed and len(content) > most < LARGEST_TABLE:
            raise ValueError(
                f"{name} has {n_bytes:,} bytes, but unpacked more than {most:,}. More than"
                f" {MOST_CHARACTERS} times as many are not read. If you trust it, unpack it."
            )
        if len(content) > LARGEST_TABLE:
            raise ValueError(f"{name} has more than {LARGEST_TABLE:,} bytes.")
        if not is_packed:
            n_bytes = len(content)
        return content.decode("utf-8-sig"), n_bytes
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{name} is not a whole gzip file ({error}).") from error
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{name}, line {line} is not text in UTF-8.") from error


def is_missing(cell: str) -> bool:
    """Return whether a cell has no value."""
    return cell.strip().lower() in MISSING


def to_number(cell: str) -> float:
    """Return the number in a cell, NaN if there is none, or raise an error."""
    if is_missing(cell):
        return math.nan
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{show(cell)} is not a number")
    return number


def numbers_of(table: Table, column: str) -> Iterator[float]:
    """Yield the numbers of a column, NaN for empty cells."""
    for cell, line in zip(table.column(column), table.lines, strict=True):
        try:
            yield to_number(cell)
        except ValueError as error:
            raise ValueError(f"{table.name}, line {line}, column {column!r}: {error}.") from error
