"""The protocol of the benchmarks, on a data set of a few graphs."""

import json

import numpy as np
import pytest

from benchmarks import protocol
from helpers import write_tu
from sklofi import GraphKernelSVC, GraphKernelSVR

METHOD = protocol.Method(
    GraphKernelSVC, GraphKernelSVR, {"small": {"C": [0.01, 100], "n_iter": [1]}, "paper": {}}
)


@pytest.fixture
def small_set(tmp_path, monkeypatch):
    """Paths and triangles with a tail, forty of each."""
    edges, indicator, labels = [], [], []
    for i in range(80):
        first = 4 * i + 1
        ends = [(0, 1), (1, 2), (2, 3)] + [(0, 2)] * (i % 2)
        edges += [f"{first + u}, {first + v}" for a, b in ends for u, v in ((a, b), (b, a))]
        indicator += [str(i + 1)] * 4
        labels.append(str(i % 2))
    files = {"A": edges, "graph_indicator": indicator, "graph_labels": labels}
    write_tu(tmp_path, "MUTAG", {name: "\n".join(lines) for name, lines in files.items()})
    monkeypatch.setenv("SKLOFI_DATA", str(tmp_path))
    monkeypatch.setattr(protocol, "CLASSIFICATION", ("MUTAG",))
    monkeypatch.setattr(protocol, "FOLDS", tmp_path / "folds.json")
    monkeypatch.setattr(protocol, "RESULTS", tmp_path / "results.jsonl")
    monkeypatch.setattr(protocol, "METHODS", {"kernel": METHOD})
    protocol.load.cache_clear()
    yield tmp_path
    protocol.load.cache_clear()


def run_main(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["protocol", "--sets", "MUTAG", "--n-jobs", "1", *arguments])
    protocol.main()


def test_parts_of_a_fold_are_apart_and_balanced(small_set):
    protocol.FOLDS.write_text(json.dumps(protocol.make_folds()))
    _, y, splits = protocol.load("MUTAG")
    assert len(splits) == 10
    for training, validation, test in splits:
        assert sorted(np.concatenate([training, validation, test])) == list(range(80))
        assert (len(training), len(validation), len(test)) == (65, 7, 8)
        assert y[test].mean() == 0.5
    assert sorted(np.concatenate([test for *_, test in splits])) == list(range(80))


def test_a_run_goes_on_where_it_was(small_set, monkeypatch, capsys):
    run_main(monkeypatch, "--folds", "0", "1")
    lines = protocol.RESULTS.read_text().splitlines()
    assert len(lines) == 4
    # A crash in the middle of a line loses that line only.
    for end in (40, lines[3].index("}") + 1):
        protocol.RESULTS.write_text("\n".join(lines[:3]) + "\n" + lines[3][:end])
        assert len(protocol.read_results()) == 3
    run_main(monkeypatch, "--folds", "0", "1", "2")
    assert "3 fits to do, 3 are done." in capsys.readouterr().out
    records = protocol.read_results()
    assert len(records) == 6
    assert all(record["cpu_seconds"] >= 0 for record in records.values())


def test_the_validation_part_chooses(small_set):
    def record(fold, C, loss, test):
        return {
            "set": "MUTAG",
            "method": "kernel",
            "fold": fold,
            "configuration": {"C": C, "n_iter": 1},
            "loss": loss,
            "test": test,
            "cpu_seconds": 1.0,
        }

    fits = [record(0, 0.01, 0.3, 0.9), record(0, 100, 0.2, 0.7), record(1, 100, 0.1, 1.0)]
    records = {protocol.key_of(fit): fit for fit in fits}
    (winner,) = protocol.chosen(records, "MUTAG", "kernel", "small")  # fold 1 is not finished
    assert winner["test"] == 0.7
    assert winner["total_cpu_seconds"] == 2
