import matplotlib
import matplotlib.pyplot as plt
import pytest
from display_helpers import QUICK

from sklofi import LoFIClassifier

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def classifier(motifs):
    return LoFIClassifier(**QUICK).fit(*motifs)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")
