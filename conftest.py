"""For documents and docstrings: a data set to load, if the real one is not there."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.doctest import DoctestItem

sys.path.insert(0, str(Path(__file__).parent / "tests" / "support"))
from helpers import write_tu

# A page that needs a library of an extra, which may be absent.
collect_ignore = [] if find_spec("mapie") else ["docs/uncertainty.md"]


@pytest.fixture(autouse=True)
def data_sets(request, monkeypatch, tmp_path):
    """With SKLOFI_DATA set, documents are tested on real data; otherwise on two small graphs."""
    if isinstance(request.node, DoctestItem) and "SKLOFI_DATA" not in os.environ:
        write_tu(tmp_path, "MUTAG")
        monkeypatch.setenv("SKLOFI_DATA", str(tmp_path))
