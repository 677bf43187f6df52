import sys

import pytest
import torch
from numpy.testing import assert_allclose
from training_helpers import FULL_BATCH, QUICK

from sklofi import LoFIClassifier, LoFIRegressor
from sklofi.training._device import check_device


def test_auto_is_the_gpu_where_there_is_one(monkeypatch):
    for available, device in [(True, "cuda"), (False, "cpu")]:
        monkeypatch.setattr(torch.cuda, "is_available", lambda answer=available: answer)
        assert check_device("auto") == device


@pytest.mark.parametrize(
    "device",
    [
        *(
            "hpu",
            "meta",
            "mkldnn",
            "privateuseone",
            "ipu",
            "cuda:",
            "cuda:1234",
            "cpu,cuda",
            " cpu",
        ),
        *("", "CPU", "x" * 10_000, torch.device("meta")),
    ],
)
def test_other_devices_are_refused_in_a_sentence(motifs, device):
    """torch would import a module that is not there, or train without any numbers."""
    modules = {*sys.modules}
    with pytest.raises(ValueError, match='cannot be used here: it has to be "auto"') as error:
        check_device(device)
    assert len(str(error.value)) < 300
    with pytest.raises(ValueError, match='cannot be used here: it has to be "auto"'):
        LoFIClassifier(device=device).fit(*motifs)
    assert {*sys.modules} == modules


@pytest.mark.parametrize("device", ["cpu", "cpu:0", torch.device("cpu"), torch.device("cpu", 0)])
def test_the_cpu_may_be_written_in_different_ways(device):
    assert check_device(device) == str(device)


@pytest.mark.parametrize("device", ["cuda:987", "mps:9", "xpu:99"])
def test_devices_that_are_not_here_are_refused(device):
    with pytest.raises(ValueError, match="cannot be used here"):
        check_device(device)


def test_unknown_devices_are_refused(motifs):
    with pytest.raises(ValueError, match="device='gpu' cannot be used here"):
        LoFIRegressor(**QUICK, device="gpu").fit(*motifs)


def test_auto_takes_the_gpu_where_there_is_one(larger_motifs):
    classifier = LoFIClassifier(**QUICK, device="auto").fit(*larger_motifs)
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert classifier.net_.device == expected
    assert next(classifier.module_.parameters()).device.type == expected


@pytest.mark.cuda
@pytest.mark.parametrize(
    "options", [{}, {"pooling": "mean", "kernel": "intersection"}, {"pooling": "max"}]
)
def test_the_gpu_agrees_with_the_cpu(larger_motifs, options):
    graphs, y = larger_motifs
    results = [
        LoFIClassifier(**FULL_BATCH, **options, device=device).fit(graphs, y).predict_proba(graphs)
        for device in ("cpu", "cuda")
    ]
    assert_allclose(*results, rtol=1e-2, atol=1e-3)
