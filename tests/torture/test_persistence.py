"""Safe persistence."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import sklofi
from sklofi._storage import read_file

# Processes that are started here import this module, too.
HERE = Path(__file__)
sys.path.insert(0, str(HERE.parents[1] / "support"))
from forged_models import Watch, forge, write_shortest  # noqa: E402
from saved_models import (  # noqa: E402
    DATA,
    FORMAT,
    fitted_estimators,
    graphs_and_targets,
    outputs,
)

N_KILLS = 200
N_DAMAGED = 5_000
N_FORGED = 5_000


def save_for_ever(path, sources):
    """Write different models in turn until somebody kills us."""
    models = [sklofi.load(source) for source in sources]
    Path(f"{path}.ready").touch()
    while True:
        for model in models:
            model.save(path)


def test_a_crash_while_saving_leaves_a_whole_file(tmp_path, tried):
    """A file is replaced all at once, whenever the process dies.

    A process writes two models to the same file in turn and is killed (SIGKILL) after a random
    time; the file is then loaded, and has to be one of the two.
    """
    path = tmp_path / "model.safetensors"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sklofi._lofi", "sklofi.kernels"])
    rng = np.random.default_rng(0)
    graphs = graphs_and_targets()[0]
    sources = [DATA / f"format-{FORMAT}" / f"{name}.safetensors" for name in ("svc", "classifier")]
    expected = [sklofi.load(source).predict(graphs).tolist() for source in sources]
    for _ in range(N_KILLS):
        ready = Path(f"{path}.ready")
        ready.unlink(missing_ok=True)
        process = context.Process(target=save_for_ever, args=(path, sources))
        process.start()
        while not ready.exists():
            assert process.is_alive()
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.1))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        if path.exists():  # perhaps the first was killed before it had written anything
            assert sklofi.load(path).predict(graphs).tolist() in expected
    assert path.exists()
    tried(N_KILLS, "kills")


def damage(content, rng):
    """Some bytes changed, cut out, doubled, or cut off."""
    content = bytearray(content)
    start = int(rng.integers(len(content)))
    size = int(rng.integers(1, 200))
    match int(rng.integers(5)):
        case 0:
            content[start] ^= 1 << int(rng.integers(8))
        case 1:
            del content[start : start + size]
        case 2:
            content[start:start] = content[start : start + size]
        case 3:
            del content[start:]
        case 4:
            content[start : start + size] = rng.bytes(size)
    return bytes(content)


def load_under_watch(folder, kind, n_cases):
    """In a process of its own: count what was refused and what was loaded."""
    rng = np.random.default_rng(0)
    graphs = graphs_and_targets()[0]
    path = Path(folder) / "model.safetensors"
    originals = []
    for estimator in fitted_estimators().values():
        estimator.save(path)
        originals.append((path.read_bytes(), outputs(sklofi.load(path), graphs)))
    watch = Watch()
    counts = {"refused": 0, "loaded": 0, "failed in use": 0}
    for case in range(n_cases):
        content, expected = originals[case % len(originals)]
        if kind == "damaged":
            path.write_bytes(damage(content, rng))
        else:
            path.write_bytes(content)
            description, arrays = read_file(path)
            forge(description, rng, f"{folder}/bait")
            write_shortest(path, description, arrays)
        try:
            loaded = watch.over(sklofi.load, path, allowed=[path])
        except ValueError as error:
            assert str(path) in str(error)
            counts["refused"] += 1
            continue
        counts["loaded"] += 1
        if kind == "damaged":  # white space in the header, nothing else
            for one, other in zip(outputs(loaded, graphs), expected, strict=True):
                np.testing.assert_array_equal(one, other)
        else:
            try:
                outputs(loaded, graphs)
            except Exception:
                counts["failed in use"] += 1
    assert not watch.seen, watch.seen
    print(json.dumps(counts))


def in_a_process(tmp_path, kind, n_cases):
    code = f"import {HERE.stem} as t; t.load_under_watch({str(tmp_path)!r}, {kind!r}, {n_cases})"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), *sys.path]),
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_damaged_files_are_refused(tmp_path, tried):
    """A truncated or altered file is refused in a sentence.

    Bytes of saved files of all kinds of estimators are changed, cut out, doubled or cut off.
    Each file is refused with a ValueError that names it, or says exactly the same as before
    (white space in the header); nothing is unpickled, compiled, imported or started.
    """
    counts = in_a_process(tmp_path, "damaged", N_DAMAGED)
    assert counts["refused"] > 0.95 * N_DAMAGED
    tried(N_DAMAGED, "files")


def test_forged_files_run_no_code(tmp_path, tried):
    """No code runs from a file, whatever is in it.

    Values of the description are replaced, removed or added anywhere, among them long texts and
    names of devices, types and folders, and the checksum made to fit. An audit hook of Python
    watches the load: nothing is unpickled, compiled, imported, started, or opened beside the file.
    What is loaded all the same is used, which may fail with an error, but does not crash.
    """
    counts = in_a_process(tmp_path, "forged", N_FORGED)
    assert sum(counts.values()) >= N_FORGED
    tried(counts["refused"], "files refused")
    tried(counts["loaded"], "files loaded without running code")


def test_files_say_the_same_in_another_process(tmp_path, tried):
    """Predictions after loading are equal to the last bit.

    All kinds of estimators are saved here and loaded in a new process, on the same device.
    """
    graphs = graphs_and_targets()[0]
    estimators = fitted_estimators()
    for name, estimator in estimators.items():
        estimator.save(tmp_path / f"{name}.safetensors")
        np.savez(tmp_path / f"{name}.npz", *outputs(estimator, graphs))
    code = (
        "import numpy as np, sklofi, saved_models, pathlib, sys\n"
        "graphs = saved_models.graphs_and_targets()[0]\n"
        "for path in pathlib.Path(sys.argv[1]).glob('*.safetensors'):\n"
        "    expected = np.load(path.with_suffix('.npz'))\n"
        "    said = saved_models.outputs(sklofi.load(path), graphs)\n"
        "    for one, name in zip(said, expected, strict=True):\n"
        "        np.testing.assert_array_equal(one, expected[name])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment, check=True)
    tried(len(estimators), "estimators")
