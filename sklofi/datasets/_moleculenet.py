"""Molecules of MoleculeNet: SMILES and measurements, as DeepChem publishes them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sklofi._tables import Table, numbers_of, read_table
from sklofi.datasets._download import data_folder, download

# The official address: the public files that DeepChem's loaders read.
MOLECULENET_ADDRESS = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets"

FOLDER = "moleculenet"  # in the folder of data sets


class Source(NamedTuple):
    """An official file, and what is in it.

    The official files come without digests. What can be checked is that they have these columns,
    and as many rows as were published.
    """

    file: str
    smiles: str
    targets: tuple[str, ...]
    n_rows: int
    has_classes: bool
    others: tuple[str, ...] = ()  # further targets, for those who ask for them


TOX21_TARGETS = (
    *("NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma"),
    *("SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53"),
)
SIDER_TARGETS = (
    "Hepatobiliary disorders",
    "Metabolism and nutrition disorders",
    "Product issues",
    "Eye disorders",
    "Investigations",
    "Musculoskeletal and connective tissue disorders",
    "Gastrointestinal disorders",
    "Social circumstances",
    "Immune system disorders",
    "Reproductive system and breast disorders",
    "Neoplasms benign, malignant and unspecified (incl cysts and polyps)",
    "General disorders and administration site conditions",
    "Endocrine disorders",
    "Surgical and medical procedures",
    "Vascular disorders",
    "Blood and lymphatic system disorders",
    "Skin and subcutaneous tissue disorders",
    "Congenital, familial and genetic disorders",
    "Infections and infestations",
    "Respiratory, thoracic and mediastinal disorders",
    "Psychiatric disorders",
    "Renal and urinary disorders",
    "Pregnancy, puerperium and perinatal conditions",
    "Ear and labyrinth disorders",
    "Cardiac disorders",
    "Nervous system disorders",
    "Injury, poisoning and procedural complications",
)

SOURCES = {
    "ESOL": Source(
        "delaney-processed.csv",
        "smiles",
        ("measured log solubility in mols per litre",),
        1128,
        has_classes=False,
    ),
    "FreeSolv": Source("SAMPL.csv", "smiles", ("expt",), 642, has_classes=False),
    "Lipophilicity": Source("Lipophilicity.csv", "smiles", ("exp",), 4200, has_classes=False),
    "BBBP": Source("BBBP.csv", "smiles", ("p_np",), 2050, has_classes=True),
    "BACE": Source("bace.csv", "mol", ("Class",), 1513, has_classes=True, others=("pIC50",)),
    "Tox21": Source("tox21.csv.gz", "smiles", TOX21_TARGETS, 7831, has_classes=True),
    "ClinTox": Source(
        "clintox.csv.gz", "smiles", ("FDA_APPROVED", "CT_TOX"), 1484, has_classes=True
    ),
    "SIDER": Source("sider.csv.gz", "smiles", SIDER_TARGETS, 1427, has_classes=True),
    "HIV": Source("HIV.csv", "smiles", ("HIV_active",), 41127, has_classes=True),
}


def fetch_moleculenet(
    name: str,
    *,
    target: str | Sequence[str] | None = None,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = True,
) -> Any:
    """Load a data set of MoleculeNet [1]_, downloading it once.

    It is looked for in the folder ``moleculenet`` of `data_home`, and in `data_home` itself: as
    ``NAME.csv``, a table with a column ``smiles`` and then the targets, or as the official file.
    Nothing is left out: some SMILES cannot be read by RDKit, and some molecules occur twice.

    ============== ========= ======= ================================================
    name           molecules targets what was measured
    ============== ========= ======= ================================================
    ESOL               1,128       1 solubility in water (logarithm)
    FreeSolv             642       1 free energy of hydration, kcal/mol
    Lipophilicity      4,200       1 distribution coefficient of octanol and water
    BBBP               2,050       1 whether it passes the blood-brain barrier
    BACE               1,513       1 whether it inhibits beta-secretase 1
    Tox21              7,831      12 toxicity in twelve assays, with missing values
    ClinTox            1,484       2 approval, and failure in trials for toxicity
    SIDER              1,427      27 side effects by organ
    HIV               41,127       1 whether it inhibits the replication of HIV
    ============== ========= ======= ================================================

    Parameters
    ----------
    name : str
        Name of the data set, in any case.

    target : str or list of str, default=None
        The target, or several, by the names of their columns. By default all of them; of BACE,
        only the classes, not the "pIC50" that they were made of.

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

        - data : list of str, SMILES as they were published;
        - target : ndarray of shape (n_molecules,), or (n_molecules, n_targets) if there are
          several; integers for classes, floats for numbers and for classes of which some are
          missing, which are NaN;
        - target_names : list of str;
        - name : str.

    (data, target) : tuple
        If `return_X_y` is true.

    See Also
    --------
    sklofi.graphs.scaffold_groups : Groups of molecules for honest folds.

    References
    ----------
    .. [1] Z. Wu, B. Ramsundar, E. N. Feinberg, J. Gomes, C. Geniesse, A. S. Pappu, K. Leswing,
       V. Pande, "MoleculeNet: a benchmark for molecular machine learning", Chemical Science 9,
       2018.

    Examples
    --------
    >>> from sklofi.datasets import fetch_moleculenet
    >>> smiles, y = fetch_moleculenet("ESOL", return_X_y=True)  # doctest: +SKIP
    >>> tox = fetch_moleculenet("Tox21", target="NR-AhR")  # doctest: +SKIP
    """
    known = {one.lower(): one for one in SOURCES}
    if not isinstance(name, str) or name.lower() not in known:
        raise ValueError(f"name has to be one of {', '.join(SOURCES)}, got {name!r}.")
    name = known[name.lower()]
    source = SOURCES[name]
    table = read_table(
        _find_or_download(name, data_folder(data_home), download_if_missing, verbose)
    )
    smiles, names = _choose_columns(table, source, target)
    values = _read_targets(table, source, names)
    is_one = (target is None and len(names) == 1) or isinstance(target, str)
    dataset = Bunch(
        data=table.column(smiles),
        target=values[:, 0] if is_one else values,
        target_names=names,
        name=name,
    )
    return (dataset.data, dataset.target) if return_X_y else dataset


def _find_or_download(name: str, folder: Path, download_if_missing: bool, verbose: bool) -> Path:
    """Return the path of the table."""
    source = SOURCES[name]
    for place in (folder / FOLDER, folder):
        for file in (f"{name}.csv", source.file):
            if (place / file).is_file():
                return place / file
    path = folder / FOLDER / source.file
    if not download_if_missing:
        raise OSError(f"{name} is not in {folder}; put {FOLDER}/{path.name} there, or download it.")
    url = f"{MOLECULENET_ADDRESS}/{path.name}"
    download(url, path, lambda part: _check_download(part, name, path.name), show_progress=verbose)
    return path


def _check_download(part: Path, name: str, file_name: str) -> None:
    """Check that what was downloaded is the table."""
    source = SOURCES[name]
    table = read_table(part, name=file_name)
    for column in (source.smiles, *source.targets, *source.others):
        table.position(column)
    _read_targets(table, source, [*source.targets, *source.others])
    if len(table.rows) != source.n_rows:
        warnings.warn(
            f"{name} as it was downloaded from {MOLECULENET_ADDRESS} has {len(table.rows):,} rows;"
            f" {source.n_rows:,} were published.",
            UserWarning,
            stacklevel=2,
        )


def _choose_columns(
    table: Table, source: Source, target: str | Sequence[str] | None
) -> tuple[str, list[str]]:
    """Return the column of SMILES, and those of the targets."""
    smiles = source.smiles if source.smiles in table.columns else "smiles"
    table.position(smiles)
    if target is not None:
        names = [target] if isinstance(target, str) else list(target)
    elif set(source.targets) <= set(table.columns):
        names = list(source.targets)
    else:  # a table of the user's, with names of its own
        names = [column for column in table.columns if column != smiles]
    for column in names:
        table.position(column)
    if not names:
        raise ValueError(f"{table.name} has no column of targets beside {smiles!r}.")
    return smiles, names


def _read_targets(table: Table, source: Source, names: list[str]) -> NDArray[Any]:
    columns = [list(numbers_of(table, column)) for column in names]
    values = np.array(columns, dtype=np.float64).reshape(len(names), -1).T
    are_classes = source.has_classes and not set(names) & set(source.others)
    if are_classes and np.isfinite(values).all() and (values == np.floor(values)).all():
        return values.astype(np.int64)
    return values
