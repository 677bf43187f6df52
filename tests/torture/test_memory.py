"""Memory of loading."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

# For the processes that are started here.
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from forged_models import FORGERIES, fill
from saved_models import DATA, FORMAT

# Bytes for each byte of the file, and for the work itself.
OF_A_MODEL, OF_A_ZIP = 200, 2_000
FOR_THE_WORK = 2**23

SIZES = (250_000, 2_000_000)

MEASURE = """
import json, pathlib, resource, sys
def peak():
    status = pathlib.Path("/proc/self/status")
    if status.exists():  # ru_maxrss of Linux is at least the memory of the process that started it
        return 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{first}
before = peak()
try:
    {then}
    said = "loaded"
except ValueError as error:
    said = str(error)
print(json.dumps([peak() - before, said]))
"""


def measured(first, then):
    """What a process takes for something, beyond what it took before, and a refusal."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEASURE.format(first=first, then=then)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("n_bytes", SIZES)
@pytest.mark.parametrize("forgery", FORGERIES)
def test_loading_takes_memory_in_proportion_to_the_file(tmp_path, tried, forgery, n_bytes):
    """Loading takes at most 200 bytes of memory for each byte of the file, or refuses it.

    Files are filled with what multiplies: one long text among many short ones, one array that is
    named often, numbers of layers, offsets of graphs, empty lists, and so on. A process of its own
    loads an honest file and then the forged one; its largest memory is measured.
    """
    name, change = FORGERIES[forgery]
    original = DATA / f"format-{FORMAT}" / f"{name}.safetensors"
    path = tmp_path / "model.safetensors"
    shutil.copy(original, path)
    fill(path, change, n_bytes)
    taken, said = measured(
        f"import sklofi; sklofi.load({str(original)!r})", f"sklofi.load({str(path)!r})"
    )
    assert taken < OF_A_MODEL * path.stat().st_size + FOR_THE_WORK
    assert said == "loaded" or len(said) < 500 + len(str(path))
    tried(1, "files")


BOMBS = {
    "nodes": {"graph_indicator": b"1\n", "A": b""},
    "edges": {"graph_indicator": b"", "A": b"1,1\n"},
    "bonds": {"graph_indicator": b"", "A": b"1,1\n", "edge_attributes": b"0.1\n"},
    "labels": {"graph_indicator": b"", "A": b"", "node_labels": b"1\n"},
    "columns": {"graph_indicator": b"", "A": b"", "node_attributes": b"0,"},
    "nodes and bonds": {
        **{"graph_indicator": b"1\n", "node_labels": b"1\n", "node_attributes": b"0\n"},
        **{"A": b"1,1\n", "edge_labels": b"1\n", "edge_attributes": b"0\n"},
    },
}


@pytest.mark.parametrize("n_bytes", SIZES)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("bomb", BOMBS)
def test_zips_take_memory_in_proportion_to_the_file(tmp_path, tried, bomb, share, n_bytes):
    """Reading a zip takes at most 2,000 bytes of memory for each byte of the file, or refuses it.

    A data set is filled with the same line again and again, as often as a zip of some size allows,
    and the zip with noise up to different shares, so that what is unpacked is just below the bounds
    or far above.
    """
    path = tmp_path / "BOMB.zip"
    content = {"graph_indicator": b"1\n", "graph_labels": b"1\n"}
    n_unpacked = int(1000 * n_bytes * (1 - share)) or 31 * n_bytes
    if bomb == "nodes" and share == 1:
        n_unpacked = int(3.9 * n_bytes)
    if bomb == "bonds" and share == 1:
        n_unpacked = int(7.8 * n_bytes)  # just below two lines for each byte
    for what, line in BOMBS[bomb].items():
        content[what] = content.get(what, b"") + line * (n_unpacked // len(line or b"x"))
    if bomb == "nodes and bonds":  # as many as can be of each, and of all together
        n_lines = min(n_unpacked // 14, int(1.95 * n_bytes))
        content |= {what: n_lines * line for what, line in BOMBS[bomb].items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for what, text in content.items():
            archive.writestr(f"BOMB/BOMB_{what}.txt", text)
        archive.writestr(zipfile.ZipInfo("noise"), os.urandom(int(share * 0.98 * n_bytes)))
    taken, _ = measured(
        "from sklofi.datasets import fetch_tu",
        f"fetch_tu('BOMB', data_home={str(tmp_path)!r}, download_if_missing=False)",
    )
    assert taken < OF_A_ZIP * path.stat().st_size + FOR_THE_WORK
    tried(1, "zips")
