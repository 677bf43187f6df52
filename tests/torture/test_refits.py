"""Refits of loaded files."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__)
N_FORGED = 3_000
N_CHECKPOINTS = 500


def in_a_process(call):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE.parents[1]), *sys.path]),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import forged_models; forged_models.{call}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_what_was_loaded_opens_nothing_when_it_is_fitted_again(tmp_path, tried):
    """What a file says cannot make a later fit open, import or start anything.

    Files of all kinds of estimators are forged: values are replaced, removed or added anywhere,
    parameters that open files among them (`memory`, `callbacks`, `n_jobs`). What is loaded all the
    same is fitted again under an audit hook of Python, which hears of nothing that a fit of an
    honest file does not do.
    """
    counts = in_a_process(f"refit_under_watch({str(tmp_path)!r}, {N_FORGED})")
    assert counts["fitted again"] > 0.1 * N_FORGED
    tried(counts["refused"], "files refused")
    tried(counts["fitted again"], "files loaded and fitted again")


def test_forged_checkpoints_open_nothing(tmp_path, tried):
    """A checkpoint cannot make the fit that finds it open, import or start anything.

    Checkpoints of a fit that was interrupted are forged in the same way, and the fit is called
    again, with a callback that writes a file of its own: it goes on, or refuses the file in a
    sentence, and writes nowhere else.
    """
    counts = in_a_process(f"resume_under_watch({str(tmp_path)!r}, {N_CHECKPOINTS})")
    assert counts["refused"] > 0.1 * N_CHECKPOINTS
    assert counts["went on"] > 0.1 * N_CHECKPOINTS
    tried(counts["refused"], "checkpoints refused")
    tried(counts["went on"], "checkpoints that a fit went on from")
