"""The reader of molecules: SMILES or RDKit's molecules, straight into flat arrays.

RDKit reads and checks molecules; this module asks it for their atoms and bonds. Calls of RDKit for
each of them would take most of the time, so the usual atoms are told apart by one call each, and
the bonds of small molecules come as one matrix.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklofi._messages import attempt, full_name, shorten, show
from sklofi.graphs._labels import sort_labels
from sklofi.graphs._lists import as_list
from sklofi.graphs._molecule_options import MoleculeOptions, check_on_invalid
from sklofi.graphs._segments import offsets_of

# Molecules that a process reads at a time.
CHUNK = 2048

# The atoms whose label follows from how RDKit writes them. Not among them are metals, whose bonds
# may be dative, and wildcards, which are written alike whether or not they are aromatic.
USUAL_ATOM = re.compile(
    r"\[(H|B|C|N|O|F|Si|P|S|Cl|Se|Br|I|b|c|n|o|p|s|se)(H\d*)?([+-]\d*)?(:\d+)?\]"
)
WRITTEN_PARTS = {"element", "hydrogens", "charge", "aromatic"}

# The bonds between them, by their number in RDKit's matrix of bond orders. A bond of another
# kind that is written in SMILES has one of these characters.
USUAL_BONDS = {1.0: "single", 1.5: "aromatic", 2.0: "double", 3.0: "triple"}
UNUSUAL_BOND = re.compile(r"[<>~$]")
OTHER_BONDS = 10.0  # numbers of other bonds are counted from here

# The matrix grows with the square of the number of atoms.
LARGEST_MATRIX = 128

# Steps after which the rules of R and S are given up, about a second.
CIP_ITERATIONS = 1_250_000

# Rows that an error names.
MOST_ROWS = 5


class Unreadable(ValueError):
    """A molecule cannot be read; the message says why."""


def is_molecules(X: Any, *, if_missing: bool = False) -> bool:
    """Return whether X is a list or column of molecules, by the first that is not missing.

    `if_missing` is the answer if all of them are. One molecule alone counts, to be refused.
    """
    if isinstance(X, str) or is_mol(X):
        return True
    if not isinstance(X, (list, tuple)) and not hasattr(X, "ndim"):
        return False
    if getattr(X, "ndim", 1) != 1 and not hasattr(X, "columns"):
        return False
    first = next((item for item in as_list(X) if not _is_missing(item)), None)
    return if_missing if first is None else isinstance(first, str) or is_mol(first)


def is_mol(item: Any) -> bool:
    """Return whether an item is a molecule of RDKit, without importing it."""
    rdchem = sys.modules.get("rdkit.Chem.rdchem")
    return rdchem is not None and isinstance(item, rdchem.Mol)


def check_molecule_list(X: Any) -> list[Any]:
    """Return the molecules that a user passes as X, in whatever container, as a list.

    They are strings or molecules of RDKit, or missing (None or NaN).
    """
    if isinstance(X, str) or is_mol(X):
        what = "string" if isinstance(X, str) else "molecule"
        raise TypeError(f"X is a single {what}; pass a list, for one molecule [molecule].")
    items = as_list(X)
    kind: str | None = None
    for row, item in enumerate(items):
        if _is_missing(item):
            continue
        if not isinstance(item, str) and not is_mol(item):
            raise TypeError(
                f"Row {row} of X is of type {full_name(type(item))}, which is no molecule."
                " Molecules are SMILES strings, or molecules of RDKit."
            )
        here = "a SMILES string" if isinstance(item, str) else "a molecule of RDKit"
        kind = kind or here
        if here != kind:
            raise TypeError(
                f"Row {row} of X is {here}, but the first molecule is {kind}. Pass one kind only."
            )
    return items


def molecules_of(X: Any, options: MoleculeOptions | None = None) -> list[Any]:
    """Return molecules of RDKit whose atoms are the nodes of the graphs that are read from X.

    Parameters
    ----------
    X : list, tuple, 1-D array or column of str or rdkit.Chem.Mol
        Molecules.

    options : MoleculeOptions or None, default=None
        How they are read, with hydrogens as atoms for instance; None is the default way.

    Returns
    -------
    molecules : list of rdkit.Chem.Mol
        A molecule for each row. Those that need no change are the user's own.
    """
    items = check_molecule_list(X)
    molecules, invalid = try_molecules(items, options)
    if invalid:
        raise invalid_rows(items, invalid)
    return molecules


def try_molecules(
    items: list[Any], options: MoleculeOptions | None = None
) -> tuple[list[Any], dict[int, str]]:
    """Return molecules of RDKit as far as items can be read, and the reasons of other rows."""
    options = options or MoleculeOptions()
    molecules, invalid = [], {}
    with _silent_rdkit() as chem:
        for row, item in enumerate(items):
            try:
                molecules.append(_prepare(item, options, chem))
            except Unreadable as error:
                invalid[row] = str(error)
    return molecules, invalid


def read_molecules(
    molecules: list[Any],
    options: MoleculeOptions,
    *,
    on_invalid: str = "raise",
    n_jobs: int | None = None,
) -> dict[str, Any]:
    """Return the fields of a GraphSet of molecules, which :func:`check_molecule_list` has checked.

    With `on_invalid` "nan", a molecule that cannot be read is a graph without nodes.
    """
    check_on_invalid(on_invalid)
    _import_rdkit()  # before processes are started
    chunks = [molecules[start : start + CHUNK] for start in range(0, len(molecules), CHUNK)]
    parts = _read_chunks(chunks, options, n_jobs)
    invalid = {
        number * CHUNK + row: reason
        for number, part in enumerate(parts)
        for row, reason in part.invalid.items()
    }
    if invalid and on_invalid == "raise":
        raise invalid_rows(molecules, invalid)
    label_ids, labels = _join_labels([(part.label_ids, part.labels) for part in parts])
    bond_ids, bond_labels = _join_labels([(part.bond_ids, part.bond_labels) for part in parts])
    has_labels, has_bond_labels = bool(options.atom_label), bool(options.bond_label)
    return {
        "node_offsets": offsets_of(np.concatenate([part.n_atoms for part in parts])),
        "edge_offsets": offsets_of(np.concatenate([part.degrees for part in parts])),
        "neighbors": np.concatenate([part.neighbors for part in parts]),
        "directed": np.zeros(len(molecules), dtype=bool),
        "label_ids": label_ids if has_labels else None,
        "labels": labels if has_labels else (),
        "edge_label_ids": bond_ids if has_bond_labels else None,
        "edge_labels": bond_labels if has_bond_labels else (),
        "molecule_options": options,
    }


def invalid_rows(molecules: list[Any], invalid: dict[int, str]) -> ValueError:
    """Return the error for molecules that cannot be read, by the reasons of their rows."""
    row, reason = next(iter(invalid.items()))
    item = molecules[row]
    name = f", {show(item)}," if isinstance(item, str) else ""
    return ValueError(
        f"Row {row} of X{name} cannot be read as a molecule: {reason}."
        f" {describe_rows(list(invalid), len(molecules))}"
    )


def describe_rows(rows: list[int], n_rows: int) -> str:
    """Return how many rows of X are invalid, which ones, and what to do."""
    names = ", ".join(map(str, rows[:MOST_ROWS]))
    more = f" and {len(rows) - MOST_ROWS:,} more" if len(rows) > MOST_ROWS else ""
    many = f"{len(rows):,} of {n_rows:,} rows are" if len(rows) > 1 else f"1 of {n_rows:,} rows is"
    return (
        f"{many} invalid ({names}{more}). Correct them or leave them out; for predictions,"
        ' on_invalid="nan" gives such rows NaN.'
    )


class _Part(NamedTuple):
    """Some molecules as arrays; labels are numbered within the part."""

    n_atoms: NDArray[np.int64]
    degrees: NDArray[np.int64]
    neighbors: NDArray[np.int32]
    label_ids: NDArray[np.int32]
    labels: list[str]
    bond_ids: NDArray[np.int32]
    bond_labels: list[str]
    invalid: dict[int, str]  # reasons, by rows of the part


def _read_chunks(
    chunks: list[list[Any]], options: MoleculeOptions, n_jobs: int | None
) -> list[_Part]:
    if n_jobs in (None, 1) and len(chunks) == 1:  # joblib would not be needed
        return [_read_chunk(chunks[0], options)]
    import joblib

    # RDKit holds the interpreter's lock while it reads, so that threads would wait for each other.
    jobs = (joblib.delayed(_read_chunk)(chunk, options) for chunk in chunks)
    parts: list[_Part] = joblib.Parallel(n_jobs, prefer="processes")(jobs)
    return parts


def _read_chunk(items: list[Any], options: MoleculeOptions) -> _Part:
    with _silent_rdkit() as chem:
        return _ChunkReader(options, chem).read(items)


class _ChunkReader:
    """Reader of molecules, one after the other, which numbers labels as they come."""

    def __init__(self, options: MoleculeOptions, chem: Any) -> None:
        self.options, self.chem = options, chem
        self.label_number: dict[str, int] = {}
        self.bond_number: dict[str, int] = {}
        # The labels of atoms by how RDKit writes them, if that says all.
        self.is_written = WRITTEN_PARTS.issuperset(options.atom_label)
        self.usual_atoms: dict[str, int] = {}
        self.has_order_only = options.bond_label == ("order",)

    def read(self, items: list[Any]) -> _Part:
        n_atoms: list[int] = []
        label_ids: list[int] = []
        places: list[NDArray[np.int64]] = []  # of bonds in a matrix of all pairs of atoms
        codes: list[NDArray[np.float64]] = []  # of bonds, see _bond_ids
        invalid: dict[int, str] = {}
        for row, item in enumerate(items):
            try:
                molecule = _prepare(item, self.options, self.chem)
            except Unreadable as error:
                invalid[row] = str(error)
                n_atoms.append(0)
                places.append(np.zeros(0, np.int64))
                continue
            n_atoms.append(molecule.GetNumAtoms())
            is_usual = self._add_atoms(molecule, label_ids)
            is_usual = is_usual and type(item) is str and not UNUSUAL_BOND.search(item)
            bonds = self._read_matrix(molecule) if is_usual and self.has_order_only else None
            where, kinds = bonds or self._read_bonds(molecule)
            places.append(where)
            codes.append(kinds)
        sizes = np.array(n_atoms, dtype=np.int64)
        degrees, neighbors = _neighbors_of(sizes, places)
        return _Part(
            sizes,
            degrees,
            neighbors,
            np.array(label_ids, dtype=np.int32),
            list(self.label_number),
            self._bond_ids(np.concatenate(codes) if codes else np.zeros(0)),
            list(self.bond_number),
            invalid,
        )

    def _add_atoms(self, molecule: Any, label_ids: list[int]) -> bool:
        """Add the numbers of the labels to a list; return whether all atoms are usual ones."""
        atom, n_atoms = molecule.GetAtomWithIdx, range(molecule.GetNumAtoms())
        if self.is_written:
            written = [atom(i).GetSmarts(False, True, False) for i in n_atoms]
            try:
                label_ids += [*map(self.usual_atoms.__getitem__, written)]
                return True
            except KeyError:
                if self._learn_usual(molecule, written):
                    label_ids += [*map(self.usual_atoms.__getitem__, written)]
                    return True
        parts = self.options.atom_label
        label_ids += [_number(self.label_number, describe_atom(atom(i), parts)) for i in n_atoms]
        return False

    def _learn_usual(self, molecule: Any, written: list[str]) -> bool:
        """Learn the labels of new usual atoms, and return whether there are no others."""
        for i, text in enumerate(written):
            if text not in self.usual_atoms and USUAL_ATOM.fullmatch(text):
                label = describe_atom(molecule.GetAtomWithIdx(i), self.options.atom_label)
                self.usual_atoms[text] = _number(self.label_number, label)
        return self.usual_atoms.keys() >= set(written)

    def _read_matrix(self, molecule: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Return places and orders of bonds by way of a matrix, if all of them have an order."""
        if molecule.GetNumAtoms() > LARGEST_MATRIX:
            return None
        orders = self.chem.GetAdjacencyMatrix(molecule, True).ravel()
        where = orders.nonzero()[0]
        if len(where) != 2 * molecule.GetNumBonds():
            return None
        return where, orders[where]

    def _read_bonds(self, molecule: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return places and codes of bonds, one after the other."""
        n_atoms, parts = molecule.GetNumAtoms(), self.options.bond_label
        bonds = list(molecule.GetBonds())  # GetBondWithIdx goes through them all
        ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
        texts = [describe_bond(bond, parts) for bond in bonds]
        codes = np.array([OTHER_BONDS + _number(self.bond_number, text) for text in texts])
        first, second = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        where = np.concatenate([first * n_atoms + second, second * n_atoms + first])
        order = np.argsort(where)
        return where[order], np.tile(codes, 2)[order]

    def _bond_ids(self, codes: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the numbers of labels: of orders in a matrix, or by codes above them."""
        ids = (codes - OTHER_BONDS).astype(np.int32)
        for order, text in USUAL_BONDS.items():
            if (is_this := codes == order).any():
                ids[is_this] = _number(self.bond_number, text)
        return ids


def _number(numbers: dict[str, int], text: str) -> int:
    """Return the number of a text, the next one if it is new."""
    return numbers.setdefault(text, len(numbers))


def _neighbors_of(
    n_atoms: NDArray[np.int64], places: list[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the degrees of all atoms and their neighbors, by the places of bonds in matrices."""
    n_entries = np.fromiter(map(len, places), np.int64, count=len(places))
    size = np.repeat(n_atoms, n_entries)
    rows, columns = np.divmod(np.concatenate(places), size)
    rows += np.repeat(offsets_of(n_atoms)[:-1], n_entries)
    degrees = np.bincount(rows, minlength=int(n_atoms.sum()))
    return degrees.astype(np.int64), columns.astype(np.int32)


def _join_labels(
    parts: list[tuple[NDArray[np.int32], list[str]]],
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Return ids and labels of all parts, in the fixed order of labels that occur."""
    used = [np.unique(ids) for ids, _ in parts]
    texts = {labels[i] for ids, (_, labels) in zip(used, parts, strict=True) for i in ids.tolist()}
    order: list[Any] = sort_labels(texts)
    number = {label: i for i, label in enumerate(order)}
    joined = [
        np.array([number.get(label, 0) for label in labels] or [0], dtype=np.int32)[ids]
        for ids, labels in parts
    ]
    return np.concatenate(joined), tuple(order)


# Single molecules, atoms and bonds.


def _prepare(item: Any, options: MoleculeOptions, chem: Any) -> Any:
    """Return the molecule of RDKit whose atoms and bonds are read."""
    if isinstance(item, str):
        molecule = _parse(item, chem)
    elif is_mol(item):
        molecule = _check_mol(item, options, chem)
    else:
        raise Unreadable(f"it is missing ({show(item)})")
    if molecule.GetNumAtoms() == 0:
        raise Unreadable("it has no atoms")
    if options.fragments == "largest":
        molecule = _largest_fragment(molecule, chem)
    if options.explicit_hydrogens:
        molecule = chem.AddHs(molecule)
    if "chirality" in options.atom_label or "stereo" in options.bond_label:
        molecule = _with_stereo(molecule, chem)
    return molecule


def _parse(text: str, chem: Any) -> Any:
    if "\0" in text:  # some versions of RDKit read what stands before it
        raise Unreadable("it is not valid SMILES")
    molecule = attempt(chem.MolFromSmiles, text)
    if isinstance(molecule, Exception):  # a lone surrogate, for instance
        raise Unreadable(shorten(molecule))
    if molecule is not None:
        return molecule
    molecule = chem.MolFromSmiles(text, sanitize=False)
    problems = [] if molecule is None else attempt(chem.DetectChemistryProblems, molecule)
    if not problems or isinstance(problems, Exception):  # of an atom with 200 bonds, for instance
        raise Unreadable("it is not valid SMILES")
    raise Unreadable(_reason(problems[0].Message()))


def _check_mol(molecule: Any, options: MoleculeOptions, chem: Any) -> Any:
    """Return a molecule of the user's in the state in which RDKit reads SMILES."""
    if molecule.NeedsUpdatePropertyCache():  # it was made without checks, or by hand
        molecule = chem.Mol(molecule)
        error = attempt(chem.SanitizeMol, molecule)
        if isinstance(error, Exception):
            raise Unreadable(_reason(error))
    if not options.explicit_hydrogens and molecule.GetNumHeavyAtoms() < molecule.GetNumAtoms():
        without = attempt(chem.RemoveHs, molecule)
        if isinstance(without, Exception):
            raise Unreadable(_reason(without))
        molecule = without
    return molecule


def _largest_fragment(molecule: Any, chem: Any) -> Any:
    """Return the fragment with most heavy atoms, and the most atoms of those; else by SMILES."""
    if len(chem.GetMolFrags(molecule)) < 2:
        return molecule
    fragments = chem.GetMolFrags(molecule, asMols=True, sanitizeFrags=False)

    def size(fragment: Any) -> tuple[int, int, str]:
        n_hydrogens = sum(atom.GetTotalNumHs() for atom in fragment.GetAtoms())
        n_atoms = fragment.GetNumAtoms() + n_hydrogens
        return fragment.GetNumHeavyAtoms(), n_atoms, chem.MolToSmiles(fragment)

    return max(fragments, key=size)


def _with_stereo(molecule: Any, chem: Any) -> Any:
    """Return a copy in which atoms are marked as R or S and bonds as E or Z."""
    from rdkit.Chem.rdCIPLabeler import AssignCIPLabels

    molecule = chem.Mol(molecule)
    error = attempt(AssignCIPLabels, molecule, None, None, CIP_ITERATIONS)
    if isinstance(error, Exception):
        raise Unreadable(_reason(error))
    return molecule


def _reason(error: object) -> str:
    """Return a message of RDKit as part of a sentence."""
    text = shorten(" ".join(str(error).split())).rstrip(".")
    return f"RDKit says {show(text)}"


def describe_atom(atom: Any, parts: Iterable[str]) -> str:
    """Return the label of an atom, written almost as in SMILES: "CH3", "nH", "NH3+", "O-".

    Aromatic atoms are in lower case. What else the label is made of follows as words:
    "CH R ring".
    """
    parts = set(parts)
    symbol = "A"  # any element
    if "element" in parts:
        symbol = atom.GetSymbol() if atom.GetAtomicNum() else "*"
    if "aromatic" in parts and atom.GetIsAromatic():
        symbol = "a" if symbol == "*" else symbol.lower()
    if "isotope" in parts and atom.GetIsotope():
        symbol = f"{atom.GetIsotope()}{symbol}"
    if "hydrogens" in parts and (n_hydrogens := atom.GetTotalNumHs()):
        symbol += f"H{n_hydrogens if n_hydrogens > 1 else ''}"
    if "charge" in parts and (charge := atom.GetFormalCharge()):
        symbol += f"{'+' if charge > 0 else '-'}{abs(charge) if abs(charge) > 1 else ''}"
    words = [symbol]
    if "chirality" in parts and atom.HasProp("_CIPCode"):
        words.append(atom.GetProp("_CIPCode"))
    if "ring" in parts and atom.IsInRing():
        words.append("ring")
    return " ".join(words)


def describe_bond(bond: Any, parts: Iterable[str]) -> str:
    """Return the label of a bond: "single", "aromatic", "double E", "single conjugated ring"."""
    parts = set(parts)
    words = []
    if "order" in parts:
        words.append(str(bond.GetBondType()).lower())
    if "stereo" in parts and bond.HasProp("_CIPCode"):
        words.append(bond.GetProp("_CIPCode"))
    if "conjugation" in parts and bond.GetIsConjugated():
        words.append("conjugated")
    if "ring" in parts and bond.IsInRing():
        words.append("ring")
    return " ".join(words) or "bond"


def _is_missing(item: Any) -> bool:
    """Return whether an item is None, NaN or pandas.NA."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(item, (float, np.floating)) and bool(item != item)


def _import_rdkit() -> Any:
    try:
        from rdkit import Chem
    except ImportError as error:
        raise ImportError(
            "Reading molecules needs RDKit. Install it with pip install rdkit."
        ) from error
    return Chem


@contextmanager
def _silent_rdkit() -> Iterator[Any]:
    """Import RDKit, and let it write no log of what is raised as an error or asked for."""
    chem = _import_rdkit()
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        yield chem
