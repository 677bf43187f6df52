import sys

import pytest
import torch

from sklofi import LoFIClassifier
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
