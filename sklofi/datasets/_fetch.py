"""Data sets that are downloaded once: the TU collection, and ZINC."""

from __future__ import annotations

import os
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sklofi.datasets._download import data_folder, download
from sklofi.datasets._tu import DIGESTS, Source, TUTables, build_graphs, content_digest, read_tables

# Official addresses: of the TUDataset collection, and of the lists of ZINC's 12,000 molecules.
TU_ADDRESS = "https://www.chrsmrrs.com/graphkerneldatasets"


ZINC_LISTS_ADDRESS = (
    "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data/molecules"
)


ZINC_PARTS = ("train", "val", "test")


def fetch_tu(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = True,
) -> Any:
    """Load a data set of the TUDataset collection [1]_, downloading it once.

    It is looked for in `data_home`, as a folder ``NAME`` with the files ``NAME_A.txt`` and
    so on, or as ``NAME.zip``. What is read is checked; nothing is extracted or run.

    Edges have no direction, although the files list each of them in both: two labels of one
    edge are refused. If the attributes of an edge differ, those of its last line are kept,
    with a warning.

    Parameters
    ----------
    name : str
        Name of the data set, such as "MUTAG" or "IMDB-BINARY"; see
        https://chrsmrrs.github.io/datasets for all of them.

    data_home : str or path, default=None
        Folder of the data sets. By default the folder that the environment variable
        ``SKLOFI_DATA`` names, or ``~/.cache/sklofi``.

    download_if_missing : bool, default=True
        Whether to download what is not there.

    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.

    verbose : bool, default=True
        Whether to show a progress bar while downloading.

    Returns
    -------
    dataset : Bunch
        With these attributes:

        - data : list of networkx.Graph, with the nodes 0, 1, 2, ...; nodes and edges have
          the attributes "label" (an integer, or a tuple of several) and "attributes" (an
          array), as far as the data set has them;
        - target : ndarray of shape (n_graphs,), the classes, or the graph attributes if
          there are no classes, then of shape (n_graphs, n_targets) if there are several;
        - graph_attributes : ndarray of shape (n_graphs, n_targets) or None;
        - name : str.

    (data, target) : tuple
        If `return_X_y` is true.

    References
    ----------
    .. [1] C. Morris, N. M. Kriege, F. Bause, K. Kersting, P. Mutzel, M. Neumann, "TUDataset: A
       collection of benchmark datasets for learning with graphs", 2020.

    Examples
    --------
    >>> from sklofi.datasets import fetch_tu
    >>> graphs, y = fetch_tu("MUTAG", return_X_y=True)
    >>> len(graphs) == len(y)
    True
    """
    tables = _tables(name, data_folder(data_home), download_if_missing, verbose)
    attributes = tables.graph_attributes
    target = attributes if tables.graph_labels is None else tables.graph_labels
    if target is None:
        raise ValueError(f"{name} has neither {name}_graph_labels.txt nor graph attributes.")
    dataset = Bunch(
        data=build_graphs(tables),
        target=target[:, 0] if target.shape[1] == 1 else target,
        graph_attributes=attributes,
        name=name,
    )
    return (dataset.data, dataset.target) if return_X_y else dataset


def fetch_zinc(
    *,
    subset: bool = True,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = True,
) -> Any:
    """Load ZINC: molecules and their constrained solubility, with the official split.

    The 12,000 molecules of the benchmark [1]_ are read from ``ZINC-12k`` (a folder or a
    zip) in `data_home`, if that is there. Otherwise they are taken from the full set in the
    TUDataset collection (``ZINC_train``, ``ZINC_val`` and ``ZINC_test``) by the published lists
    of their numbers.

    Parameters
    ----------
    subset : bool, default=True
        Whether to take the 12,000 molecules of the benchmark, or all 249,456.

    data_home : str or path, default=None
        Folder of the data sets; see :func:`fetch_tu`.

    download_if_missing : bool, default=True
        Whether to download what is not there.

    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.

    verbose : bool, default=True
        Whether to show a progress bar while downloading.

    Returns
    -------
    dataset : Bunch
        With these attributes:

        - data : list of networkx.Graph; nodes have their type of atom as "label", edges their
          type of bond;
        - target : ndarray of shape (n_graphs,);
        - split : ndarray of shape (n_graphs,), "train", "val" or "test";
        - name : str.

    (data, target) : tuple
        If `return_X_y` is true.

    References
    ----------
    .. [1] V. P. Dwivedi, C. K. Joshi, A. T. Luu, T. Laurent, Y. Bengio, X. Bresson,
       "Benchmarking Graph Neural Networks", JMLR 24, 2023.

    Examples
    --------
    >>> from sklofi.datasets import fetch_zinc
    >>> zinc = fetch_zinc()  # doctest: +SKIP
    >>> is_train = zinc.split == "train"  # doctest: +SKIP
    """
    folder = data_folder(data_home)
    source = Source.find(folder, "ZINC-12k") if subset else None
    if source is not None:
        tables = read_tables(source)
        data, target = build_graphs(tables), _zinc_target(tables)
        split = _read_split(source, tables.n_graphs)
    else:
        data, targets = [], []
        for part in ZINC_PARTS:
            rows = _zinc_list(part, folder, download_if_missing, verbose) if subset else None
            tables = _tables(f"ZINC_{part}", folder, download_if_missing, verbose)
            if rows is not None and rows.max() >= tables.n_graphs:
                raise ValueError(
                    f"The list of ZINC's molecules names number {rows.max()}, but ZINC_{part}"
                    f" has only {tables.n_graphs} graphs."
                )
            data += build_graphs(tables, rows)
            targets.append(_zinc_target(tables)[slice(None) if rows is None else rows])
        target = np.concatenate(targets)
        split = np.repeat(ZINC_PARTS, [len(values) for values in targets])
    dataset = Bunch(data=data, target=target, split=split, name="ZINC-12k" if subset else "ZINC")
    return (dataset.data, dataset.target) if return_X_y else dataset


def _tables(name: str, folder: Path, download_if_missing: bool, verbose: bool) -> TUTables:
    """The checked tables of a data set, which is downloaded if it has to be."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_+-]*", name):
        raise ValueError(f"{name!r} is not the name of a data set: letters, digits, - and _.")
    source = Source.find(folder, name)
    if source is not None:
        return read_tables(source)
    target = folder / f"{name}.zip"
    if not download_if_missing:
        raise OSError(f"{name} is not in {folder}; put {target.name} there, or download it.")

    def check(path: Path) -> None:
        if not zipfile.is_zipfile(path):  # such as the page of a portal, or one that was cut
            raise ValueError("it is not a whole zip.")
        tables = read_tables(Source(path, name))
        if name in DIGESTS and content_digest(tables) != DIGESTS[name]:
            warnings.warn(
                f"{name} as it was downloaded from {TU_ADDRESS} is not the data set that the"
                " results in sklofi's README were measured on.",
                UserWarning,
                stacklevel=2,
            )

    download(f"{TU_ADDRESS}/{target.name}", target, check, show_progress=verbose)
    return read_tables(Source(target, name))


def _zinc_target(tables: TUTables) -> NDArray[np.float64]:
    if tables.graph_attributes is None:
        raise ValueError(f"There is no {tables.name}_graph_attributes.txt, which has the targets.")
    return tables.graph_attributes[:, 0]


def _read_split(source: Source, n_graphs: int) -> NDArray[np.str_]:
    file_name = f"{source.name}_split.txt"
    lines = (source.read("split") or b"").decode("ascii", errors="replace").split()
    if len(lines) != n_graphs:
        raise ValueError(
            f"{file_name} has {len(lines):,} lines, but there are {n_graphs:,} graphs."
        )
    for number, line in enumerate(lines, start=1):
        if line not in ZINC_PARTS:
            raise ValueError(f"{file_name}, line {number}: {line[:20]!r} is none of {ZINC_PARTS}.")
    return np.array(lines)


def _zinc_list(
    part: str, folder: Path, download_if_missing: bool, verbose: bool
) -> NDArray[np.int64]:
    """The numbers of the 12,000 molecules in a part of the full set."""
    path = folder / f"ZINC-12k_{part}.index"
    if not path.is_file():
        if not download_if_missing:
            raise OSError(f"{path.name} is not in {folder}; put it there, or download it.")
        url = f"{ZINC_LISTS_ADDRESS}/{part}.index"
        download(url, path, lambda path: _check_list(path, part), show_progress=verbose)
    return _check_list(path, part)


def _check_list(path: Path, part: str) -> NDArray[np.int64]:
    text = path.read_text(encoding="ascii", errors="replace")
    cells = text.replace("\n", ",").replace(" ", "").strip(",").split(",")
    for cell in cells:
        if not cell.isdecimal() or len(cell) > 18:  # which would not fit into 64 bits
            raise ValueError(f"The list of ZINC's molecules for {part!r} has {cell[:20]!r} in it.")
    return np.array(cells, dtype=np.int64)
