import os

import pytest
import torch

from sklofi.datasets import make_motif_graphs


def pytest_configure(config):
    # Two pytest workers of two threads each on two cores only get in each other's way.
    if "PYTEST_XDIST_WORKER" in os.environ:
        torch.set_num_threads(1)


def pytest_runtest_setup(item):
    if item.get_closest_marker("cuda") and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")


@pytest.fixture(scope="session")
def motifs():
    """Small labelled graphs of two classes, and their classes; nobody changes them."""
    return make_motif_graphs(40, n_nodes=8, random_state=0)
