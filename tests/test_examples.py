import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
NEEDS = {"plot_conformal": "mapie"}  # libraries of extras, which may be absent


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_is_short(example, tmp_path):
    assert len(example.read_text(encoding="utf-8").splitlines()) < 100
    if example.stem in NEEDS:
        pytest.importorskip(NEEDS[example.stem])
    # One thread, because tests run side by side: threads that wait for a core wait for each other.
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error::FutureWarning", str(example)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.png"))
