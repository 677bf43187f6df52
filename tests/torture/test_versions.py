"""Versions."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(target):
    """The exit code of ``make target`` and what it printed."""
    # what pytest says of this run is not for that one
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    run = subprocess.run(
        ["make", target],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return run.returncode, run.stdout


def test_oldest_versions(tried):
    """All tests pass on the oldest versions that pyproject.toml allows.

    `make test-oldest` installs what stands in constraints-oldest.txt and runs the tests.
    """
    code, printed = make(".venv-oldest/.installed-test")
    # pins that contradict each other are our fault, a network that is not there is not
    assert "ResolutionImpossible" not in printed, printed[-5000:]
    if code:
        lines = [line.strip() for line in printed.splitlines()]
        errors = [line for line in lines if line.startswith("ERROR")]
        pytest.skip(f"cannot be installed: {(errors or lines)[-1]}")
    code, printed = make("test-oldest")
    summary = printed.strip().splitlines()[-1] if not code else printed[-5000:]
    assert code == 0, summary
    tried(int(re.search(r"(\d+) passed", summary).group(1)), "tests")
