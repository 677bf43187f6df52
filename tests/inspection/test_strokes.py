import numpy as np
import pytest

from sklofi.inspection import _strokes
from sklofi.inspection._strokes import bond_orders

START, END = np.array([0.0, 0.0]), np.array([1.0, 0.0])


def heights(outlines):
    """Heights of lines from left to right."""
    return sorted({round(float(outline[:, 1].mean()), 6) for outline in outlines})


def test_names_numbers_and_signs_are_orders_of_bonds():
    assert bond_orders(["single", "DOUBLE", "Triple", "aromatic", "-", "=", "#", ":"]) == {
        **{"single": 1, "DOUBLE": 2, "Triple": 3, "aromatic": 1.5},
        **{"-": 1, "=": 2, "#": 3, ":": 1.5},
    }
    assert bond_orders([1, 2, 3.0, 1.5]) == {1: 1, 2: 2, 3: 3, 1.5: 1.5}


def test_numbers_are_orders_only_if_all_of_them_are():
    assert bond_orders([0, 1, 2, 3]) == {}
    assert bond_orders([7, "double", "bus", True, ("single",)]) == {"double": 2}


def test_types_of_rdkit_are_orders():
    kinds = pytest.importorskip("rdkit.Chem").BondType
    assert bond_orders([kinds.SINGLE, kinds.AROMATIC, kinds.DATIVE]) == {
        kinds.SINGLE: 1,
        kinds.AROMATIC: 1.5,
    }


def test_a_bond_has_as_many_lines_as_its_order():
    gap = _strokes.GAP
    assert heights(_strokes.strokes(START, END, 1.0)) == [0]
    assert np.allclose(heights(_strokes.strokes(START, END, 2.0)), [-gap / 2, gap / 2])
    assert np.allclose(heights(_strokes.strokes(START, END, 2.0, side=1)), [0, gap])
    assert np.allclose(heights(_strokes.strokes(START, END, 2.0, side=-1)), [-gap, 0])
    assert np.allclose(heights(_strokes.strokes(START, END, 3.0)), [-0.85 * gap, 0, 0.85 * gap])
    assert len(heights(_strokes.strokes(START, END, 4.0))) == 4


def test_an_aromatic_bond_is_a_line_and_a_dashed_line():
    solid, *dashes = _strokes.strokes(START, END, 1.5, side=1)
    assert np.ptp(solid[:, 0]) == 1
    assert len(dashes) == _strokes.N_DASHES
    assert sum(np.ptp(dash[:, 0]) for dash in dashes) < 0.7
    assert len(_strokes.strokes(START, END, _strokes.DASHED)) == _strokes.N_DASHES


def test_wedges_grow_from_their_stereocenter():
    solid = _strokes.wedge(START, END)
    lines = _strokes.hashes(START, END)
    for narrow, wide in [(solid[[0, 3]], solid[[1, 2]]), (lines[0], lines[-1])]:
        assert np.ptp(narrow[:, 1]) < np.ptp(wide[:, 1]) / 2
    assert lines[0][:, 0].mean() < lines[-1][:, 0].mean()


def test_second_lines_are_cut_at_corners():
    _, second = _strokes.strokes(START, END, 2.0, side=1, trim=(0.1, 0.2))
    assert np.isclose(second[:, 0].min(), 0.1) and np.isclose(second[:, 0].max(), 0.8)
