import os

import pytest
import torch
from joblib.externals import loky

from sklofi.datasets import make_motif_graphs


def pytest_configure(config):
    # Two pytest workers of two threads each on two cores only get in each other's way.
    if "PYTEST_XDIST_WORKER" in os.environ:
        torch.set_num_threads(1)


def pytest_collection_modifyitems(items):
    """Mark what has no decorators: documents, examples in docstrings, a check of sklofi.testing."""
    for item in items:
        is_document = item.path.suffix == ".md" or item.path.name in ("cluster.py", "testing.py")
        if is_document or "check_searches_and_pipelines" in item.name:
            item.add_marker(pytest.mark.parallel)


def pytest_runtest_setup(item):
    if item.get_closest_marker("cuda") and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")


@pytest.fixture(autouse=True)
def parallel_tests_are_marked(request, monkeypatch):
    """So that `make test-parallel` runs all tests that start workers."""

    def refuse(*args, **kwargs):
        raise AssertionError("This test starts workers: decorate it with pytest.mark.parallel.")

    if not request.node.get_closest_marker("parallel"):
        monkeypatch.setattr(loky.ProcessPoolExecutor, "submit", refuse)


@pytest.fixture(scope="session")
def motifs():
    """Small labeled graphs of two classes, and their classes; nobody changes them."""
    return make_motif_graphs(40, n_nodes=8, random_state=0)


@pytest.fixture(scope="session")
def larger_motifs():
    """Sixty labeled graphs of two classes, and their classes; nobody changes them."""
    return make_motif_graphs(60, random_state=0)
