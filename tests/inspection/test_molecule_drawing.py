import matplotlib.pyplot as plt
import numpy as np
import pytest
from display_helpers import disc_colors, letters, outlines

from sklofi.inspection._canvas import frame
from sklofi.inspection._molecule_drawing import MINUS, MoleculeDrawing

Chem = pytest.importorskip("rdkit.Chem")


def drawing_of(smiles, **options):
    return MoleculeDrawing(Chem.MolFromSmiles(smiles, **options))


def drawn(smiles, **options):
    drawing = drawing_of(smiles)
    figure, ax = plt.subplots()
    frame([ax], [drawing.extent])
    drawing.draw(ax, **options)
    figure.canvas.draw()
    return drawing, ax


@pytest.mark.parametrize(
    "smiles, expected",
    [
        ("CCC", []),
        ("CCO", ["OH"]),
        ("C", ["CH4"]),
        ("O", ["OH2"]),
        ("C[NH3+]", ["NH3+"]),
        ("CC(=O)[O-]", ["O", f"O{MINUS}"]),
        ("[Ca+2].[O-2]", ["Ca2+", f"O2{MINUS}"]),
        ("[13CH3]C", ["13CH3"]),
        ("[2H]C", ["2H"]),
        ("C=C=C", ["C"]),
        ("C[CH2]", ["CH2•"]),
        ("Clc1cc[nH]c1", ["Cl", "NH"]),
        ("*C", ["*"]),
    ],
)
def test_only_atoms_that_are_no_corners_of_carbon_are_written(smiles, expected):
    assert sorted(letters(drawn(smiles)[1])) == sorted(expected)


@pytest.mark.parametrize(
    "smiles, n_lines",
    [("CC", 1), ("C=C", 2), ("C#C", 3), ("C=CC=C", 5), ("c1ccccc1", 9), ("CC=O", 3), ("O", 0)],
)
def test_bonds_have_as_many_lines_as_their_order(smiles, n_lines):
    assert sum(len(lines) for lines in outlines(drawn(smiles)[1])) == n_lines


def test_bonds_have_length_one_wherever_coordinates_come_from():
    for drawing in (drawing_of("CCCCCC"), drawing_of("c1ccccc1")):
        steps = np.linalg.norm(np.diff(drawing.positions, axis=0), axis=1)
        assert np.allclose(steps, 1, atol=0.02)
    molecule = Chem.MolFromSmiles("CCO")
    conformer = Chem.Conformer(3)
    for i, place in enumerate([(0, 0, 0), (40, 0, 0), (40, 40, 0)]):
        conformer.SetAtomPosition(i, place)
    conformer.Set3D(False)
    molecule.AddConformer(conformer)
    assert np.allclose(MoleculeDrawing(molecule).positions, [(0, 0), (1, 0), (1, 1)])
    conformer.Set3D(True)
    molecule.RemoveAllConformers()
    molecule.AddConformer(conformer)
    positions = MoleculeDrawing(molecule).positions
    assert not np.allclose(positions, [(0, 0), (1, 0), (1, 1)], atol=0.1)


def test_the_molecule_is_drawn_as_it_is_and_not_changed():
    molecule = Chem.AddHs(Chem.MolFromSmiles("c1ccccc1[C@H](O)F"))
    before = molecule.ToBinary()
    drawing = MoleculeDrawing(molecule)
    assert molecule.ToBinary() == before
    assert len(drawing.positions) == molecule.GetNumAtoms()
    hydrogens = [atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetSymbol() == "H"]
    assert {drawing.labels[i].text for i in hydrogens} == {"H"}


def test_second_lines_of_rings_are_inside():
    drawing = drawing_of("c1ccccc1")
    middle = drawing.positions.mean(axis=0)
    for bond in drawing.molecule.GetBonds():
        if bond.GetBondTypeAsDouble() == 2:
            first, second = (part.mean(axis=0) for part in drawing._bond(bond))
            assert np.linalg.norm(second - middle) < np.linalg.norm(first - middle)


def test_hydrogens_stand_where_there_is_room():
    for smiles in ("CO", "OC"):
        drawing = drawing_of(smiles)
        ((atom, label),) = drawing.labels.items()
        (other,) = {0, 1} - {atom}
        towards = drawing.positions[other] - drawing.positions[atom]
        hydrogen = label.boxes[1].mean(axis=0) - drawing.positions[atom]
        assert towards @ hydrogen < 0
    drawing = drawing_of("C1CCNCC1")
    ((atom, label),) = drawing.labels.items()
    outwards = drawing.positions[atom] - drawing.positions.mean(axis=0)
    assert outwards @ (label.boxes[1].mean(axis=0) - drawing.positions[atom]) > 0
    water = drawing_of("O").labels[0]
    assert water.boxes[1][1, 0] < water.boxes[0][0, 0]  # H2O, and not OH2


@pytest.mark.parametrize(
    "smiles", ["CC(N)C(=O)O", "C[N+](C)(C)CC(=O)[O-]", "NS(=O)(=O)c1ccc(N)cc1"]
)
def test_bonds_do_not_run_through_letters(smiles):
    drawing = drawing_of(smiles)
    corners = np.concatenate(
        [part for bond in drawing.molecule.GetBonds() for part in drawing._bond(bond)]
    )
    for label in drawing.labels.values():
        for low, high in label.boxes:
            assert not ((corners > low) & (corners < high)).all(axis=1).any(), label.text


def bond_shapes(molecule):
    drawing = MoleculeDrawing(molecule)
    return drawing, [drawing._bond(bond) for bond in drawing.molecule.GetBonds()]


def test_stereocenters_have_wedges_which_their_mirror_images_have_not():
    kinds = []
    for smiles in ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"):
        drawing = drawing_of(smiles)
        directions = {str(bond.GetBondDir()) for bond in drawing.molecule.GetBonds()}
        kinds.append(directions - {"NONE"})
        shapes = [drawing._bond(bond) for bond in drawing.molecule.GetBonds()]
        is_hashed = any(len(parts) > 3 for parts in shapes)
        assert is_hashed == (kinds[-1] == {"BEGINDASH"})
    assert sorted(map(sorted, kinds)) == [["BEGINDASH"], ["BEGINWEDGE"]]
    _, plain = bond_shapes(Chem.MolFromSmiles("CC(N)C(=O)O"))
    assert sorted(map(len, plain)) == [1, 1, 1, 1, 2]


def test_what_cannot_be_kekulized_is_drawn_with_dashed_lines():
    molecule = Chem.MolFromSmiles("c1cccc1", sanitize=False)
    _, shapes = bond_shapes(molecule)
    assert [len(parts) for parts in shapes] == [6] * 5


def test_dative_and_zero_order_bonds():
    _, (dative,) = bond_shapes(Chem.MolFromSmiles("[NH3]->[Fe]"))
    assert [len(part) for part in dative] == [4, 3]  # a line and a head
    editable = Chem.RWMol(Chem.MolFromSmiles("N.O"))
    editable.AddBond(0, 1, Chem.BondType.ZERO)
    _, (dashed,) = bond_shapes(editable.GetMol())
    assert len(dashed) == 5


def test_colors_are_behind_atoms_and_bonds():
    colors = np.random.default_rng(0).uniform(size=(3, 4))
    _, ax = drawn("CCO", colors=colors, edge_colors={(1, 2): (0, 1, 1, 1)})
    assert np.allclose(disc_colors(ax), colors)
    bands, lines = outlines(ax)
    assert len(bands) == 1 and len(lines) == 2


@pytest.mark.parametrize(
    "smiles",
    ["[Na+].[Cl-]", "[H][H]", "[Pt](Cl)(Cl)([NH3])[NH3]", "C1CC2CCC1C2", "NCC(=O)" * 80 + "O"],
)
def test_unusual_molecules_are_drawn_within_their_extent(smiles):
    drawing = MoleculeDrawing(Chem.MolFromSmiles(smiles, sanitize=False))
    assert np.isfinite(drawing.positions).all()
    low, high = drawing.extent
    parts = [part for bond in drawing.molecule.GetBonds() for part in drawing._bond(bond)]
    parts += [corners for label in drawing.labels.values() for corners in label.boxes]
    assert (np.concatenate(parts) >= low).all() and (np.concatenate(parts) <= high).all()


def test_parts_of_salts_do_not_overlap():
    drawing = drawing_of("[Na+].[Cl-].CC(=O)[O-].[NH4+]")
    boxes = [label.boxes for label in drawing.labels.values()]
    for i, of_label in enumerate(boxes):
        for low, high in of_label:
            for other_low, other_high in (corners for other in boxes[:i] for corners in other):
                assert ((low > other_high) | (other_low > high)).any()
