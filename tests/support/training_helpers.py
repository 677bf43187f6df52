"""Options of small networks that are trained quickly, and what several tests of training share."""

import torch
from skorch.callbacks import Callback

QUICK = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 8,
    "n_words": 4,
    "max_epochs": 8,
    "random_state": 0,
}
FULL_BATCH = {**QUICK, "batch_size": 1000, "early_stopping": False}


class RaisesIn(Callback):
    """Raise an error in the first step of an epoch."""

    def __init__(self, error, epoch=3):
        self.error = error
        self.epoch = epoch

    def on_batch_end(self, net, **kwargs):
        if len(net.history) == self.epoch:
            raise self.error


def weights_of(module):
    """Copies of all weights of a module, in one vector."""
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()]).clone()
