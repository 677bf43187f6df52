import torch

from sklofi.devices import check_device


def test_auto_is_the_gpu_where_there_is_one(monkeypatch):
    for available, device in [(True, "cuda"), (False, "cpu")]:
        monkeypatch.setattr(torch.cuda, "is_available", lambda answer=available: answer)
        assert check_device("auto") == device
