"""Draw molecules as chemists do, with colored atoms and bonds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklofi.inspection._canvas import add_discs, add_letters, add_outlines
from sklofi.inspection._layout import stand_in_rows
from sklofi.inspection._letters import box, moved, outline
from sklofi.inspection._strokes import (
    AROMATIC,
    DASHED,
    DOUBLE,
    GAP,
    WIDTH,
    arrow_head,
    hashes,
    line_outline,
    strokes,
    wave,
    wedge,
)

DISC = 0.36  # radius of a colored atom
BAND = 0.3  # width of a colored bond
CAPITAL = 0.36  # height of a letter
SMALL = 0.68  # of indices, relative to letters
WRITTEN_LAST = {8, 9, 16, 17, 34, 35, 52, 53}  # as in H2O and HCl, unlike CH4 and NH3
ROOM = 1.5  # between parts that are not connected
MINUS = "\N{MINUS SIGN}"
MARGIN = 0.07  # between a letter and the end of a bond


@dataclass(frozen=True)
class AtomLabel:
    """What is written in place of an atom."""

    text: str
    path: Any  # of matplotlib
    boxes: list[NDArray[np.float64]]  # the corners of its parts


class MoleculeDrawing:
    """A molecule in two dimensions, in units of the length of a bond.

    Parameters
    ----------
    molecule : rdkit.Chem.Mol
        The molecule. It is not changed, and its atoms are drawn as they are: hydrogens that
        are not atoms are written beside their atoms.
    """

    def __init__(self, molecule: Any) -> None:
        self.molecule = _prepared(molecule)
        self.positions = _positions(self.molecule)
        if not _has_positions(molecule) and len(parts := _fragments(molecule)) > 1:
            stand_in_rows(self.positions, parts, ROOM)
        self.labels = self._make_labels()

    @property
    def extent(self) -> NDArray[np.float64]:
        """The corners (left, bottom) and (right, top) of what is drawn."""
        low, high = self.positions.min(axis=0) - DISC, self.positions.max(axis=0) + DISC
        boxes = [corners for label in self.labels.values() for corners in label.boxes]
        lows, highs = zip(*boxes, strict=True) if boxes else ((), ())
        return np.array([np.min([low, *lows], axis=0), np.max([high, *highs], axis=0)])

    def draw(
        self,
        ax: Any,
        *,
        colors: Any = None,
        edge_colors: Mapping[tuple[int, int], Any] | None = None,
    ) -> None:
        """Draw the molecule.

        Parameters
        ----------
        ax : matplotlib Axes
            Where to draw. What they show is to be set before, see :func:`frame`.

        colors : array-like of shape (n_atoms, 4), default=None
            The color behind each atom.

        edge_colors : dict, default=None
            The color behind each bond, by the numbers of its atoms, the smaller one first.
        """
        if edge_colors:
            bands = [
                line_outline(self.positions[i], self.positions[j], BAND) for i, j in edge_colors
            ]
            add_outlines(ax, bands, list(edge_colors.values()), zorder=1)
        if colors is not None:
            add_discs(ax, self.positions, DISC, colors, zorder=1.5)
        drawn = [part for bond in self.molecule.GetBonds() for part in self._bond(bond)]
        if drawn:
            add_outlines(ax, drawn)
        for label in self.labels.values():
            add_letters(ax, label.path, label.text)

    # Atoms

    def _make_labels(self) -> dict[int, AtomLabel]:
        labels = {}
        for atom in self.molecule.GetAtoms():
            if _is_written(atom):
                center = self.positions[atom.GetIdx()]
                around = [self.positions[i] - center for i in _neighbors(atom)]
                labels[atom.GetIdx()] = _write(atom, center, around)
        return labels

    # Bonds

    def _bond(self, bond: Any) -> list[Any]:
        """Return the outlines of a bond, which ends where labels begin."""
        from rdkit.Chem import BondDir, BondType

        begin, end = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        start, stop = self._ends(begin, end)
        direction, kind = bond.GetBondDir(), bond.GetBondType()
        if direction == BondDir.BEGINWEDGE:
            return [wedge(start, stop)]
        if direction == BondDir.BEGINDASH:
            return hashes(start, stop)
        if direction == BondDir.UNKNOWN and kind == BondType.SINGLE:
            return [wave(start, stop)]
        if kind == BondType.DATIVE:
            return [line_outline(start, stop), arrow_head(start, stop, 0.25)]
        order = float(bond.GetBondTypeAsDouble())
        if kind in (BondType.ZERO, BondType.HYDROGEN, BondType.UNSPECIFIED):
            order = DASHED
        side = self._side(bond) if order in (AROMATIC, DOUBLE) else 0
        trim = [0.0 if i in self.labels else 0.65 * GAP for i in (begin, end)]
        if self.molecule.GetAtomWithIdx(begin).GetDegree() == 1:
            trim[0] = 0.0
        if self.molecule.GetAtomWithIdx(end).GetDegree() == 1:
            trim[1] = 0.0
        return strokes(start, stop, order, side=side, trim=trim)

    def _ends(self, begin: int, end: int) -> tuple[Any, Any]:
        """Return where a bond begins and ends: beside labels, or a little beyond a corner."""
        first, last = self.positions[begin], self.positions[end]
        along = last - first
        cuts = []
        for atom, center, towards in ((begin, first, along), (end, last, -along)):
            if atom in self.labels:
                cuts.append(_way_out(self.labels[atom].boxes, center, towards))
            else:
                is_corner = self.molecule.GetAtomWithIdx(atom).GetDegree() > 1
                cuts.append(-0.3 * WIDTH if is_corner else 0.0)
        if sum(cuts) > 0.8:  # labels that overlap are still connected
            cuts = [0.4, 0.4]
        return first + cuts[0] * along, last - cuts[1] * along

    def _side(self, bond: Any) -> int:
        """Return on which side of a double bond the second line is."""
        begin, end = bond.GetBeginAtom(), bond.GetEndAtom()
        start, stop = self.positions[begin.GetIdx()], self.positions[end.GetIdx()]

        def left_of(point: Any) -> float:
            (x, y), (dx, dy) = point - start, stop - start
            return float(np.sign(dx * y - dy * x))

        rings = [ring for ring in self._rings() if bond.GetIdx() in ring]
        if rings:
            best = max(rings, key=lambda ring: (self._n_double(ring), -abs(len(ring) - 6)))
            atoms = {i for number in best for i in self._bond_ends(number)}
            return int(left_of(self.positions[sorted(atoms)].mean(axis=0)))
        degrees = sorted([begin.GetDegree(), end.GetDegree()])
        is_written = begin.GetIdx() in self.labels or end.GetIdx() in self.labels
        if degrees[0] == 1 and (is_written or degrees[1] != 2):
            return 0
        others = [i for i in _neighbors(begin) + _neighbors(end)
                  if i not in (begin.GetIdx(), end.GetIdx())]  # fmt: skip
        balance = sum(left_of(self.positions[i]) for i in others)
        balance = balance or left_of(self.positions.mean(axis=0))
        return int(np.sign(balance)) or 1

    def _rings(self) -> Any:
        return self.molecule.GetRingInfo().BondRings()

    def _n_double(self, ring: Any) -> int:
        orders = [self.molecule.GetBondWithIdx(i).GetBondTypeAsDouble() for i in ring]
        return sum(order in (AROMATIC, DOUBLE) for order in orders)

    def _bond_ends(self, number: int) -> tuple[int, int]:
        bond = self.molecule.GetBondWithIdx(number)
        return bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()


def _prepared(molecule: Any) -> Any:
    """Return a copy in two dimensions, with double bonds in rings, and wedges."""
    from rdkit import Chem
    from rdkit.Chem import rdDepictor

    molecule = Chem.Mol(molecule)
    molecule.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(molecule)
    if not _has_positions(molecule):
        rdDepictor.Compute2DCoords(molecule)
        rdDepictor.StraightenDepiction(molecule)
    # If that is not possible, aromatic bonds are drawn as such.
    Chem.KekulizeIfPossible(molecule, clearAromaticFlags=True)
    Chem.WedgeMolBonds(molecule, molecule.GetConformer())
    return molecule


def _has_positions(molecule: Any) -> bool:
    """Return whether a molecule was drawn before."""
    return bool(molecule.GetNumConformers()) and not molecule.GetConformer().Is3D()


def _fragments(molecule: Any) -> Any:
    from rdkit import Chem

    return Chem.GetMolFrags(molecule)


def _positions(molecule: Any) -> NDArray[np.float64]:
    positions: NDArray[np.float64] = molecule.GetConformer().GetPositions()[:, :2]
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    lengths = [np.linalg.norm(positions[i] - positions[j]) for i, j in ends]
    return positions / (float(np.median(lengths)) if lengths else 1.5)


def _neighbors(atom: Any) -> list[int]:
    return [neighbor.GetIdx() for neighbor in atom.GetNeighbors()]


def _is_written(atom: Any) -> bool:
    """Return whether an atom is more than a corner: not carbon, or special."""
    if atom.GetAtomicNum() != 6 or atom.GetDegree() == 0:
        return True
    if atom.GetFormalCharge() or atom.GetIsotope() or atom.GetNumRadicalElectrons():
        return True
    orders = [bond.GetBondTypeAsDouble() for bond in atom.GetBonds()]
    return orders == [2.0, 2.0]  # two double bonds in a line hide their corner


def _charge(atom: Any) -> str:
    charge = atom.GetFormalCharge()
    sign = "+" if charge > 0 else MINUS
    number = "" if abs(charge) == 1 else str(abs(charge))
    return f"{number}{sign}" * bool(charge) + "•" * int(atom.GetNumRadicalElectrons())


def _write(atom: Any, center: Any, around: list[Any]) -> AtomLabel:
    """Return the symbol of an atom with its isotope, hydrogens and charge."""
    from matplotlib.path import Path

    n_hydrogens = atom.GetTotalNumHs()
    hydrogens = "H" * (n_hydrogens > 0)
    count = str(n_hydrogens) if n_hydrogens > 1 else ""
    isotope = str(atom.GetIsotope() or "")
    symbol, charge = atom.GetSymbol(), _charge(atom)
    side = _free_side(around) if hydrogens and around else "right"
    if not around and atom.GetAtomicNum() in WRITTEN_LAST:
        side = "left"
    symbol_path = moved(outline(symbol), CAPITAL, (0, -CAPITAL / 2))
    low, high = box(symbol_path)
    symbol_path = moved(symbol_path, 1, (-(low + high)[0] / 2, 0))
    parts, row = [symbol_path], _Row(symbol_path)
    if side == "right":
        parts += row.append(hydrogens, count, charge)
    else:
        parts += row.append("", "", charge)
    if isotope:
        parts += row.prepend_raised(isotope)
    if side == "left":
        parts += row.prepend(hydrogens, count)
    elif side in ("above", "below"):
        sign = 1 if side == "above" else -1
        parts += _stacked(hydrogens, count, sign * 1.22 * CAPITAL)
    parts = [moved(part, 1, center) for part in parts]
    text = isotope + symbol + hydrogens + count + charge
    return AtomLabel(text, Path.make_compound_path(*parts), [box(part) for part in parts])


class _Row:
    """Letters that are put on both sides of a symbol, with indices."""

    def __init__(self, path: Any) -> None:
        (self.left, _), (self.right, _) = box(path)

    def append(self, letters: str, lowered: str, raised: str) -> list[Any]:
        added = []
        for text, scale, height in _heights(letters, lowered, raised):
            path = moved(outline(text), scale, (0, height))
            path = moved(path, 1, (self.right + 0.12 * CAPITAL - box(path)[0, 0], 0))
            self.right = box(path)[1, 0]
            added.append(path)
        return added

    def prepend(self, letters: str, lowered: str) -> list[Any]:
        return self._before(reversed(list(_heights(letters, lowered, ""))))

    def prepend_raised(self, text: str) -> list[Any]:
        return self._before(_heights("", "", text))

    def _before(self, texts: Any) -> list[Any]:
        added = []
        for text, scale, height in texts:
            path = moved(outline(text), scale, (0, height))
            path = moved(path, 1, (self.left - 0.12 * CAPITAL - box(path)[1, 0], 0))
            self.left = box(path)[0, 0]
            added.append(path)
        return added


def _heights(letters: str, lowered: str, raised: str) -> Iterator[tuple[str, float, float]]:
    """Yield texts that there are, their sizes, and where their base lines are."""
    small = SMALL * CAPITAL
    if letters:
        yield letters, CAPITAL, -CAPITAL / 2
    if lowered:
        yield lowered, small, -CAPITAL / 2 - 0.4 * small
    if raised:
        yield raised, small, CAPITAL / 2 - 0.45 * small


def _stacked(hydrogens: str, count: str, height: float) -> list[Any]:
    """Return hydrogens above or below a symbol."""
    path = moved(outline(hydrogens), CAPITAL, (0, height - CAPITAL / 2))
    path = moved(path, 1, (-box(path).mean(axis=0)[0], 0))
    return [path, *(moved(part, 1, (0, height)) for part in _Row(path).append("", count, ""))]


def _free_side(around: list[Any]) -> str:
    """Return the side of an atom where there is most room for hydrogens."""
    if len(around) == 1:
        return "left" if around[0][0] > 1e-6 else "right"
    sides = {"right": (1, 0), "left": (-1, 0), "below": (0, -1), "above": (0, 1)}
    cosines = {
        side: max(float(np.dot(vector, towards)) / max(float(np.linalg.norm(vector)), 1e-9)
                  for vector in around)
        for side, towards in sides.items()
    }  # fmt: skip
    # The first of those that are about equally good.
    return min(sides, key=lambda side: round(cosines[side], 1))


def _way_out(boxes: list[NDArray[np.float64]], start: Any, along: Any) -> float:
    """Return which part of a line from inside of a label is inside of its parts."""
    out = 0.0
    for low, high in boxes:
        with np.errstate(divide="ignore", invalid="ignore"):
            at = np.sort(((low - MARGIN - start) / along, (high + MARGIN - start) / along), axis=0)
        is_flat = np.abs(along) < 1e-9
        at[:, is_flat] = [[-np.inf], [np.inf]]
        if (np.abs(start - (low + high) / 2) > (high - low) / 2 + MARGIN)[is_flat].any():
            continue
        enter, leave = at[0].max(), at[1].min()
        if enter < min(leave, 0.6) and leave > 0:
            out = max(out, float(leave))
    return out
