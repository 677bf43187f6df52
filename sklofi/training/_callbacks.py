"""Callbacks of a training: averaged weights, early stopping, recovery from a failure."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from sklofi.training._dataset import GraphDataset
from sklofi.training._skorch import Callback, EarlyStopping, NeuralNet

# Products of larger weights may not fit into 32 bits. Where a network starts with large ones, such
# as histograms of egonets with large weights of edges, they may grow by a factor.
LARGEST_WEIGHT = 1e6
LARGEST_GROWTH = 1e3


def statistics_of(module: torch.nn.Module) -> list[Tensor]:
    """Return the means and variances of layers that normalize, if a module has such layers."""
    compute: Any = getattr(module, "statistics", list)
    statistics: list[Tensor] = compute()
    return statistics


def tensors_of(module: torch.nn.Module) -> list[Tensor]:
    """Return the tensors of a module that change in training: weights, then statistics."""
    return [*module.parameters(), *statistics_of(module)]


class AverageWeights(Callback):
    """Validate and keep an average of the weights over the last steps.

    On most data sets that were tried, the validation loss of the average is lower, and varies
    less from epoch to epoch. Training itself continues with the weights of the last step.

    Averages of the means and variances of batch normalization would not belong to the averaged
    weights. They are computed for these after each epoch, in another pass without gradients, over
    all training graphs or about 500 of them.
    """

    DECAY = 0.99  # about the last 100 steps; fewer at the beginning

    def initialize(self) -> AverageWeights:
        self.kept: list[Tensor] | None = None
        self.last: list[Tensor] = []
        self.dataset: GraphDataset | None = None
        return self

    @property
    def remembered(self) -> list[str]:
        """The names of the attributes that belong in a checkpoint."""
        return [name for name in vars(self) if name != "dataset"]

    def __getstate__(self) -> dict[str, Any]:
        # During a training the average may be on a GPU, and this may be unpickled without one.
        state = {key: value for key, value in vars(self).items() if key != "average"}
        return {**state, "dataset": None}

    def check_state(self, net: NeuralNet, state: dict[str, Any]) -> None:
        """Check that the averages in a file have the sizes of the weights."""
        expected = [(weight.shape, torch.float32) for weight in tensors_of(net.module_)]
        none_yet = state.get("kept") is None and not state.get("last")
        names = [*([] if none_yet else ["kept", "last"]), *(["average"] * ("average" in state))]
        for name in names:
            if [(tensor.shape, tensor.dtype) for tensor in state[name]] != expected:
                raise ValueError("the averages of the weights do not have their size")
        if "average" in state:
            n_steps, is_in_place = state["n_steps"], state["is_in_place"]
            if type(n_steps) is not int or n_steps < 0 or type(is_in_place) is not bool:
                raise ValueError("the averages are not of a number of steps")

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.is_started = False

    def on_epoch_begin(
        self, net: NeuralNet, dataset_train: GraphDataset | None = None, **kwargs: Any
    ) -> None:
        self.dataset = dataset_train
        # Only now, when other callbacks may have set the weights.
        if not (self.is_started and hasattr(self, "average")):
            self.start(net)
        if self.is_in_place:
            self.exchange(net)

    def start(self, net: NeuralNet) -> None:
        """Continue where the last training ended, unless the weights were replaced since."""
        weights = [weight.detach().clone() for weight in tensors_of(net.module_)]
        self.is_started = True
        self.is_in_place = self.kept is not None and all(
            torch.equal(kept.cpu(), weight.cpu())
            for kept, weight in zip(self.kept, weights, strict=True)
        )
        if self.is_in_place:
            self.average = [last.to(net.device, copy=True) for last in self.last]
        else:
            self.average = weights
            self.n_steps = 0

    def on_batch_begin(self, net: NeuralNet, training: bool = False, **kwargs: Any) -> None:
        if not training:
            self.put_in_place(net)

    @torch.no_grad()
    def on_batch_end(self, net: NeuralNet, training: bool = False, **kwargs: Any) -> None:
        if training:
            self.n_steps += 1
            decay = min(self.DECAY, (1 + self.n_steps) / (10 + self.n_steps))
            weights = list(net.module_.parameters())
            torch._foreach_lerp_(self.average[: len(weights)], weights, 1 - decay)

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        self.put_in_place(net)

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if not self.is_started:  # interrupted before the first epoch
            return
        if not self.is_in_place:  # interrupted in the middle of an epoch
            self.exchange(net)
        self.dataset = None
        # On the CPU, so that a net that was trained on a GPU can be unpickled without one.
        self.kept = [weight.detach().cpu().clone() for weight in tensors_of(net.module_)]
        self.last = [weight.cpu() for weight in self.average]
        del self.average

    def put_in_place(self, net: NeuralNet) -> None:
        """Put the average in the place of the weights, with the statistics that belong to it."""
        if not self.is_in_place:
            self.exchange(net)
            net.find_statistics(self.dataset)
            # Training normalizes batches of a single row by these, too.
            n_weights = len(list(net.module_.parameters()))
            for other, computed in zip(
                self.average[n_weights:], statistics_of(net.module_), strict=True
            ):
                other.copy_(computed)

    @torch.no_grad()
    def exchange(self, net: NeuralNet) -> None:
        """Exchange the average and the weights of the last step."""
        for weight, average in zip(tensors_of(net.module_), self.average, strict=True):
            weight.data, average.data = average.data, weight.data
        self.is_in_place = not self.is_in_place


class EndOfTraining(KeyboardInterrupt):  # by which the callbacks of skorch end a training
    """A callback has ended the training; Ctrl-C was not pressed."""


class LastGoodWeights(Callback):
    """Go back to the last good epoch if training diverges or is interrupted."""

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.problem: str | None = None
        self.largest = max(LARGEST_WEIGHT, LARGEST_GROWTH * self.find_largest(net))
        self.store_weights(net, "with which it started", net.best_epoch_ or 0)

    def on_epoch_end(
        self, net: NeuralNet, dataset_train: GraphDataset | None = None, **kwargs: Any
    ) -> None:
        self.find_problem(net, dataset_train)
        if self.problem is not None:
            raise EndOfTraining
        epoch = net.history[-1, "epoch"]
        self.store_weights(net, f"of epoch {epoch}", epoch)

    def find_problem(self, net: NeuralNet, dataset: GraphDataset | None = None) -> None:
        """Set `problem` if the losses, weights or outputs of the last epoch are too large."""
        row = net.history[-1]
        for name in ("train_loss", "valid_loss"):
            if not np.isfinite(row.get(name, 0)):
                self.problem = f"The loss became {row[name]}"
        largest = self.find_largest(net)
        if not largest <= self.largest:
            self.problem = self.problem or f"Weights grew to {largest:.1g}"
        if not all(buffer.isfinite().all() for buffer in net.module_.buffers()):
            self.problem = self.problem or "The variance of a layer became infinite"
        if dataset is not None and "valid_loss" not in row:
            # The training loss was measured before the last step, with other weights.
            batch = dataset.batch(np.arange(min(len(dataset), net.batch_size)), gradients=False)
            if not net.evaluation_step(batch).isfinite().all():
                self.problem = self.problem or "The outputs became infinite"

    def find_largest(self, net: NeuralNet) -> float:
        """Return the largest weight, or NaN if one is."""
        largest: float = max(weight.abs().max().item() for weight in net.module_.parameters())
        return largest

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if net.history and not net.is_interrupted_:
            self.find_problem(net)  # a callback before this one may have ended the training
        which, net.best_epoch_ = self.which, self.epoch
        is_sound = self.problem is None and not net.is_interrupted_
        if is_sound and net.history:
            net.best_epoch_ = net.history[-1, "epoch"]
        for _, callback in net.callbacks_:
            if isinstance(callback, RestoreBest) and callback.best_model_weights_ is not None:
                net.best_epoch_ = callback.best_epoch_
                which = f"of epoch {callback.best_epoch_}, the best so far on the validation graphs"
        if is_sound:
            return
        net.module_.load_state_dict(self.weights)
        if self.problem is None:
            warnings.warn(
                f"Training was interrupted in epoch {len(net.history) + 1}. The estimator can be"
                f" used; it has the weights {which}.",
                UserWarning,
                stacklevel=2,
            )
        else:
            net.optimizer_.state.clear()  # its averages are lost
            warnings.warn(
                f"{self.problem} in epoch {len(net.history)}, which has ended the training. The"
                f" estimator can be used; it has the weights {which}. Lower the learning rate"
                f" (lr={net.lr}).",
                ConvergenceWarning,
                stacklevel=2,
            )

    def store_weights(self, net: NeuralNet, which: str, epoch: int) -> None:
        """Store the present weights, what a warning calls them, and their epoch."""
        self.weights = {name: value.clone() for name, value in net.module_.state_dict().items()}
        self.which, self.epoch = which, epoch


class RecordOutputs(Callback):
    """Record the outputs for the validation graphs in the history, epoch by epoch."""

    NAME = "valid_outputs"

    def initialize(self) -> RecordOutputs:
        self.batches: list[Any] = []
        return self

    def on_epoch_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.batches = []

    def on_batch_end(self, net: NeuralNet, training: bool = False, **kwargs: Any) -> None:
        if not training:
            self.batches.append(kwargs["y_pred"].detach().cpu().numpy())

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        net.history.record(self.NAME, np.concatenate(self.batches))
        self.batches = []


class EpochReports(Callback):
    """Report every epoch to the callbacks of scikit-learn (1.9 and later)."""

    remembered = ()

    def __init__(self, estimator: Any, context: Any) -> None:
        self.estimator = estimator
        self.context = context
        self.epoch: Any = None
        self.stop = False

    def on_epoch_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.epoch = self.context.subcontext(task_name="epoch")
        self.epoch.call_on_fit_task_begin(estimator=self.estimator)

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        self._end_epoch()

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if self.epoch is not None:  # another callback has ended the training
            self._end_epoch()

    def _end_epoch(self) -> None:
        # The estimator has its fitted attributes while it trains, so a copy of it can predict:
        # nothing has to be reconstructed.
        self.stop = self.epoch.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes={}
        )
        self.epoch = None


class StopWhenAsked(Callback):
    """End the training if a callback of scikit-learn asks for it, after all other callbacks."""

    remembered = ()

    def __init__(self, reports: EpochReports) -> None:
        self.reports = reports

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if self.reports.stop:
            raise EndOfTraining


class RestoreBest(EarlyStopping):
    """Stop when the validation loss stops falling, and go back to the best weights."""

    def __init__(self, patience: int) -> None:
        # An absolute threshold: on separable classes the loss falls toward zero, by smaller and
        # smaller amounts, until the last epoch.
        super().__init__(
            "valid_loss", patience=patience, threshold=1e-4, threshold_mode="abs", load_best=True
        )

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        try:
            super().on_epoch_end(net, **kwargs)
        except KeyboardInterrupt:
            if self.misses_ < self.patience:
                raise
            raise EndOfTraining from None

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if net.history:  # unless interrupted in the first epoch
            super().on_train_end(net, **kwargs)


def copy_callbacks(callbacks: Any) -> list[Any] | None:
    """Copies for skorch, which sets attributes on the callbacks that it uses."""
    for item in callbacks or []:
        callback = item[-1] if isinstance(item, tuple) else item
        kind = callback if isinstance(callback, type) else type(callback)
        if not issubclass(kind, Callback):
            raise TypeError(
                f"callbacks has to hold skorch callbacks or (name, callback) pairs, got {item!r}."
            )
    return copy.deepcopy(list(callbacks)) if callbacks else None
