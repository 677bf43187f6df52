import numpy as np
import pytest

from sklofi.inspection._letters import box, fitted, outline, shorten


@pytest.mark.parametrize("text", ["C", "Cl", "carbo…", "g", "$", "$x", "mmmmmm", "."])
def test_texts_fit_into_circles(text):
    path = fitted(text, (2.0, 1.0), 0.5)
    assert np.linalg.norm(path.vertices - [2, 1], axis=1).max() <= 0.5
    assert np.allclose(box(path).mean(axis=0), [2, 1])


def test_capital_letters_have_height_one():
    assert np.allclose(np.ptp(outline("H").vertices, axis=0)[1], 1)


def test_long_labels_are_cut_and_have_one_line():
    assert shorten("carbon") == "carbon"
    assert shorten("carbonyl") == "carbo…"
    assert shorten(("a\n", 1)) == "('a\\n…"
    assert shorten("a\nb") == "a b"
    assert shorten("bus, train", 12) == "bus, train"
