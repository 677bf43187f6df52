"""Graphs and targets out of tables, and what is wrong with some of their rows."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import show
from sklofi._tables import Table, is_missing, read_table, to_number
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._molecules import try_molecules
from sklofi.graphs._scaffolds import scaffold_groups

# Problems that are named one by one.
MOST_NAMED = 20


class Samples(NamedTuple):
    """What there is to learn from or to predict: molecules, or graphs of an edge list.

    Rows are those of a table with one row for each molecule or graph.
    """

    what: str  # "molecules" or "graphs"
    table: Table
    problems: dict[int, str]  # of rows that cannot be used

    # Of molecules the columns of SMILES and of what else belongs to each; of edge lists the tables,
    # and the names of columns.
    smiles: str | None = None
    graph_features: tuple[str, ...] = ()
    edges: Any = None
    nodes: Any = None
    columns: dict[str, Any] | None = None

    def usable(self) -> NDArray[np.int64]:
        """Return the rows without a problem."""
        rows = [row for row in range(len(self.table.rows)) if row not in self.problems]
        return np.array(rows, dtype=np.int64)

    def texts(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the SMILES of some rows."""
        cells = self.table.column(str(self.smiles))
        return [cells[row].strip() for row in rows]

    def graphs(self, rows: NDArray[np.int64]) -> GraphSet:
        """Return the graphs of some rows."""
        if self.smiles is not None:
            return self.with_features(GraphSet.from_molecules(self.texts(rows)), rows)
        names = [self.table.rows[row][0] for row in rows]
        return GraphSet.from_edge_list(self.edges, self.nodes, graphs=names, **(self.columns or {}))

    def with_features(self, graphs: GraphSet, rows: NDArray[np.int64]) -> GraphSet:
        """Return the graphs of some rows with the numbers in further columns, if there are any."""
        if not self.graph_features:
            return graphs
        columns = [self.table.column(name) for name in self.graph_features]
        values = [[to_number(cells[row]) for cells in columns] for row in rows]
        return graphs.with_graph_features(values, self.graph_features)

    def describe(self, row: int) -> str:
        """Return how messages name a row."""
        if self.smiles is not None:
            return f"{self.table.name}, line {self.table.lines[row]}"
        return f"{self.table.name}, graph {show(self.table.rows[row][0])}"


def read_samples(arguments: Namespace) -> Samples:
    """Read the table that the arguments name."""
    table = _read_file(arguments.table)
    names = ("graph", "source", "target_node")
    given = [name for name in names if getattr(arguments, name) is not None]
    if not given:
        for name in ("nodes", "edge_label", "node_label"):
            if getattr(arguments, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise ValueError(f"{option} is for lists of edges, which need --graph, too.")
        return _read_molecules(table, arguments.smiles, tuple(arguments.graph_features))
    if arguments.smiles is not None:
        raise ValueError("Pass --smiles for molecules or --graph for a list of edges, not both.")
    if arguments.graph_features:
        raise ValueError("--graph-features is for molecules, which --smiles names.")
    if absent := [f"--{name.replace('_', '-')}" for name in names if name not in given]:
        raise ValueError(f"A list of edges needs {' and '.join(absent)} as well.")
    return _read_edges(table, arguments)


def _read_file(path: str) -> Table:
    if not os.path.exists(path):
        raise ValueError(f"There is no file {path}.")
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder; pass a CSV file.")
    return read_table(path)


def _read_molecules(
    table: Table, column: str | None, graph_features: tuple[str, ...] = ()
) -> Samples:
    if column is None:
        columns = [name for name in table.columns if name.lower() == "smiles"]
        if len(columns) != 1:
            raise ValueError(
                f"{table.name} has {len(columns) or 'no'} columns 'smiles'. Name the column of"
                " molecules with --smiles, or those of a list of edges with --graph, --source and"
                f" --target-node. Columns are {', '.join(map(repr, table.columns))}."
            )
        (column,) = columns
    cells = table.column(column)
    texts: list[Any] = [None if cell.strip() == "" else cell.strip() for cell in cells]
    problems = {}
    for row, reason in try_molecules(texts)[1].items():
        text = texts[row]
        problems[row] = (
            f"there is no molecule in column {column!r}"
            if text is None
            else f"{show(text)} cannot be read as a molecule: {reason}"
        )
    for name in graph_features:
        for row, cell in enumerate(table.column(name)):
            if (problem := _lacks_number(cell)) is not None:
                problems.setdefault(row, f"column {name!r}: {problem}")
    return Samples("molecules", table, problems, smiles=column, graph_features=graph_features)


def _lacks_number(cell: str) -> str | None:
    """Return what is wrong with a cell that has to be a number, None if it is one."""
    if is_missing(cell):
        return "there is no value"
    try:
        to_number(cell)
    except ValueError as error:
        return str(error)
    return None


def _read_edges(table: Table, arguments: Namespace) -> Samples:
    options = ("graph", "source", "target_node", "edge_label", "node", "node_label")
    columns = {name: getattr(arguments, name) for name in options}
    columns = {name: column for name, column in columns.items() if column is not None}
    columns["target"] = columns.pop("target_node")
    if "edge_label" in columns:
        table.position(columns["edge_label"])
    if "node_label" in columns and arguments.nodes is None:
        raise ValueError("--node-label is a column of the file that --nodes names.")
    ends = [columns[name] for name in ("graph", "source", "target")]
    edges = _read_frame(table, ends, "edges")
    nodes = None
    if arguments.nodes is not None:
        node_table = _read_file(arguments.nodes)
        if "node_label" in columns:
            node_table.position(columns["node_label"])
        nodes = _read_frame(node_table, [columns["graph"], columns["node"]], "nodes")
    names = list(edges[arguments.graph])
    if nodes is not None:
        names = [*nodes[arguments.graph], *names]
    if not names:
        raise ValueError(f"{table.name} has no edges.")
    rows = [[name] for name in dict.fromkeys(names)]
    graphs = Table(table.name, [arguments.graph], rows, [])
    return Samples("graphs", graphs, {}, edges=edges, nodes=nodes, columns=columns)


def _read_frame(table: Table, columns: list[str], what: str) -> Any:
    """Return a table as a data frame, without rows that lack a graph or a node."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("Lists of edges need pandas: pip install pandas.") from error
    positions = [table.position(column) for column in columns]
    problems = {}
    for row, cells in enumerate(table.rows):
        lacking = [table.columns[i] for i in positions if is_missing(cells[i])]
        if lacking:
            where = f"{table.name}, line {table.lines[row]}"
            problems[row] = f"{where}: there is no value in column {lacking[0]!r}"
    name_problems(list(problems.values()), what)
    rows = [cells for row, cells in enumerate(table.rows) if row not in problems]
    return pandas.DataFrame(rows, columns=table.columns)


def name_problems(problems: list[str], what: str, then: str = "Left out.") -> None:
    """Name what cannot be used on stderr, one by one up to some number, and what follows."""
    for problem in problems[:MOST_NAMED]:
        print(f"sklofi: {problem}. {then}", file=sys.stderr)
    if len(problems) > MOST_NAMED:
        n_more = len(problems) - MOST_NAMED
        print(f"sklofi: {n_more:,} more {what} cannot be used. {then}", file=sys.stderr)


class Target(NamedTuple):
    """What is to be predicted, of the rows that can be used."""

    rows: NDArray[np.int64]
    y: NDArray[Any]
    groups: NDArray[Any] | None
    is_classification: bool


def read_target(samples: Samples, arguments: Namespace) -> Target:
    """Read targets and groups; rows without one are named and left out."""
    if arguments.scaffold and samples.smiles is None:
        raise ValueError("--scaffold is for molecules, which --smiles names.")
    if arguments.targets is not None and samples.smiles is not None:
        raise ValueError("--targets is for lists of edges; molecules have --target in FILE.")
    problems = dict(samples.problems)
    cells = _cells_of(samples, arguments, arguments.target, problems)
    group_cells = None
    if arguments.groups is not None:
        group_cells = _cells_of(samples, arguments, arguments.groups, problems)
    are_numbers = _are_numbers(cells, problems, arguments)
    rows = samples._replace(problems=problems).usable()
    name_problems(
        [f"{samples.describe(row)}: {problems[row]}" for row in sorted(problems)], samples.what
    )
    if len(rows) == 0:
        raise ValueError(f"None of the {samples.what} can be used.")
    # As objects: an array of texts takes as much memory for each as for the longest.
    texts = np.array([cells[row].strip() for row in rows], dtype=object)
    values, is_classification = _interpret(texts, are_numbers, arguments.task)
    groups = None
    if arguments.scaffold:
        groups = scaffold_groups(samples.texts(rows))
    elif group_cells is not None:
        groups = np.array([group_cells[row].strip() for row in rows], dtype=object)
    return Target(rows, values, groups, is_classification)


def _cells_of(
    samples: Samples, arguments: Namespace, column: str, problems: dict[int, str]
) -> list[str]:
    """Return the cells of a column for all rows; a row without one has a problem."""
    if samples.smiles is not None:
        cells = samples.table.column(column)
    else:
        cells = _cells_of_graphs(samples, arguments, column, problems)
    for row, cell in enumerate(cells):
        if is_missing(cell):
            problems.setdefault(row, f"there is no value in column {column!r}")
    return cells


def _cells_of_graphs(
    samples: Samples, arguments: Namespace, column: str, problems: dict[int, str]
) -> list[str]:
    """Return the value of each graph, from the table of targets or from its edges."""
    if arguments.targets is not None:
        table = _read_file(arguments.targets)
        names, values = table.column(arguments.graph), table.column(column)
    else:
        table = Table(samples.table.name, list(samples.edges.columns), [], [])
        table.position(column)
        names, values = list(samples.edges[arguments.graph]), list(samples.edges[column])
    found: dict[str, str] = {}
    several = set()
    for name, value in zip(names, values, strict=True):
        if found.setdefault(name, value) != value:
            several.add(name)
    for row, (name,) in enumerate(samples.table.rows):
        if name in several:
            problems.setdefault(row, f"it has several values in column {column!r}")
    return [found.get(name, "") for (name,) in samples.table.rows]


def _are_numbers(cells: list[str], problems: dict[int, str], arguments: Namespace) -> bool:
    """Return whether targets are numbers. For regression, those that are not have a problem."""
    usable = [row for row in range(len(cells)) if row not in problems]
    bad = {}
    for row in usable:
        try:
            to_number(cells[row])
        except ValueError as error:
            bad[row] = f"column {arguments.target!r}: {error}"
    if arguments.task == "regression":
        problems.update(bad)
        return True
    return not bad and bool(usable)


def _interpret(
    texts: NDArray[np.object_], are_numbers: bool, task: str | None
) -> tuple[NDArray[Any], bool]:
    """Return targets as classes or as numbers, and whether they are classes."""
    if not are_numbers:
        return texts, True
    numbers = texts.astype(np.float64)
    are_whole = bool((numbers == np.floor(numbers)).all())
    # Of many whole numbers of which most differ, scikit-learn warns that they are no classes.
    most_differ = len(numbers) > 20 and 2 * len(np.unique(numbers)) > len(numbers)
    if task == "regression" or (task is None and (most_differ or not are_whole)):
        return numbers, False
    return numbers.astype(np.int64) if are_whole else texts, True
