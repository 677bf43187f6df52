"""Scaffolds of molecules: groups of those that share their rings and the links between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi.graphs._molecules import molecules_of


def scaffold_groups(molecules: Any) -> NDArray[np.int64]:
    """Group molecules by their Bemis-Murcko scaffolds [1]_.

    The scaffold of a molecule is what is left if its side chains are cut off: its rings, the
    chains between them, and atoms that are bound to these by double bonds. Molecules of one
    series share it. A model that has seen the series knows more of a test molecule than it will
    know of a new one, so scores of random folds are too good. Folds of whole groups do not have
    this fault.

    Molecules without a ring have no scaffold. They are all in one group, as is usual; in sets of
    small molecules it is a large one. Stereochemistry does not count. A molecule of several
    fragments, such as a salt, has a scaffold of all of them.

    It needs RDKit, the extra ``chem``.

    Parameters
    ----------
    molecules : list, tuple, 1-D array or column of str or rdkit.Chem.Mol
        SMILES strings, or molecules of RDKit.

    Returns
    -------
    groups : ndarray of shape (n_molecules,)
        The number of the scaffold of each molecule, in the order in which they first occur: for
        :class:`sklearn.model_selection.GroupKFold` and other splitters, for
        :func:`sklofi.compare`, and for `fit` of the networks.

    Raises
    ------
    ValueError
        If a molecule cannot be read. The error names its row.

    References
    ----------
    .. [1] G. W. Bemis, M. A. Murcko, "The properties of known drugs. 1. Molecular frameworks",
       Journal of Medicinal Chemistry 39, 1996.

    Examples
    --------
    >>> from sklofi.graphs import scaffold_groups
    >>> scaffold_groups(["Cc1ccccc1", "CCO", "OCc1ccccc1", "C1CC1c1ccccc1", "CCN"])
    array([0, 1, 0, 2, 1])
    """
    numbers: dict[str, int] = {}
    groups = [
        numbers.setdefault(_scaffold(molecule), len(numbers))
        for molecule in molecules_of(molecules)
    ]
    return np.array(groups, dtype=np.int64)


def _scaffold(molecule: Any) -> str:
    """Return the scaffold as SMILES, an empty text if there is none."""
    from rdkit.Chem.Scaffolds import MurckoScaffold

    write: Any = MurckoScaffold.MurckoScaffoldSmiles  # which has no types
    scaffold: str = write(mol=molecule, includeChirality=False)
    return scaffold
