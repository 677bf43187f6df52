"""The skorch net that trains on batches of graphs."""

from __future__ import annotations

from abc import abstractmethod
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from torch import Tensor

from sklofi.training._callbacks import AverageWeights, EndOfTraining, statistics_of
from sklofi.training._dataset import Batch, BatchLoader, GraphDataset
from sklofi.training._skorch import (
    Callback,
    EpochTimer,
    NeuralNet,
    PassthroughScoring,
    TeeGenerator,
)

# About how many graphs the statistics that belong to averaged weights are computed from.
N_STATISTICS = 512


class GraphNet(NeuralNet):
    """The skorch net that the estimators hold.

    It adds to skorch: batches of graphs, weighted losses, weights kept within their bounds, a
    validation score, and randomness from its own generator alone.

    The module takes the inputs of a batch and a generator. It returns outputs, or in training
    a pair of outputs and a penalty to add to the loss. Its methods are `head_input`, which returns
    the vectors of the graphs, and `constrain_`, which is called after each step of the optimizer.

    skorch calls the methods below: its `partial_fit` calls `get_iterator`, `train_step` and
    `get_loss` in every epoch, its `forward` calls `get_iterator` and `infer`.
    """

    is_part_ = False  # whether a training sees only a part of the training graphs
    best_epoch_: int | None = None  # whose weights it has; files of former versions do not say

    def get_default_callbacks(self) -> list[tuple[str, Callback]]:
        return [
            ("average_weights", AverageWeights()),  # first: all others see the average
            ("epoch_timer", EpochTimer()),
            ("train_loss", PassthroughScoring("train_loss", on_train=True)),
            ("valid_loss", PassthroughScoring("valid_loss")),
            ("valid_score", PassthroughScoring("valid_score", lower_is_better=False)),
        ]

    def get_split_datasets(self, X: Any, y: Any = None, **params: Any) -> tuple[Any, Any]:
        datasets: tuple[Any, Any] = X  # the estimator has split: (training, validation or None)
        return datasets

    def get_iterator(self, dataset: GraphDataset, training: bool = False) -> BatchLoader:
        iterator: BatchLoader = super().get_iterator(dataset, training=training)
        iterator.network = self.module_
        return iterator

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        # Dropout draws on the device of the net, so it needs a second generator. Its seed is not
        # drawn from the first, because that would change the order of the batches.
        seed = self.iterator_train__generator.initial_seed() + len(self.history)
        self.dropout_generator_ = torch.Generator(self.device).manual_seed(seed)
        self.is_interrupted_ = False

    def fit_loop(self, *args: Any, **kwargs: Any) -> NeuralNet:
        try:
            return super().fit_loop(*args, **kwargs)
        except EndOfTraining:
            raise
        except KeyboardInterrupt:
            self.is_interrupted_ = True
            raise

    def notify(self, method_name: str, **kwargs: Any) -> None:
        if method_name == "on_epoch_end":
            self._notify_epoch_end(**kwargs)
        else:
            super().notify(method_name, **kwargs)

    def _notify_epoch_end(self, **kwargs: Any) -> None:
        """Notify all callbacks, as skorch does, and recognize one of the user's that stops.

        The callbacks of skorch end a training by KeyboardInterrupt, after an epoch. Raised by any
        other code, or within an epoch, it means that Ctrl-C was pressed.
        """
        self.on_epoch_end(self, **kwargs)
        for _, callback in self.callbacks_:
            try:
                callback.on_epoch_end(self, **kwargs)
            except KeyboardInterrupt as interrupt:
                if any(callback is other for _, other in self.user_callbacks()):
                    raise EndOfTraining from interrupt
                raise

    def user_callbacks(self) -> list[tuple[str, Callback]]:
        """Return the callbacks of the user: neither defaults nor listeners of one training."""
        others = self.default_names() | {name for name, _ in getattr(self, "listeners_", [])}
        return [item for item in self.callbacks_ if item[0] not in others]

    def default_names(self) -> set[str]:
        """Return the names of the callbacks that every net has."""
        return {name for name, _ in self.get_default_callbacks()}

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        del self.dropout_generator_  # belongs to a device, so it must not be pickled
        self.module_.eval()
        if self.history and "train_loss" not in self.history[-1]:
            del self.history[-1]  # interrupted in the middle

    def on_epoch_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        if self.history:
            # The records of the batches have been averaged. In a long fit they would add up.
            self.history[-1]["batches"].clear()
        super().on_epoch_begin(net, **kwargs)

    def train_step(self, batch: Any, **params: Any) -> dict[str, Tensor]:
        # As in skorch, without the closure that other optimizers need.
        for group in self.optimizer_.param_groups:
            for parameter in group["params"]:
                parameter.grad = None
        step: dict[str, Tensor] = self.train_step_single(batch, **params)
        self.notify(
            "on_grad_computed",
            named_parameters=TeeGenerator(self.get_all_learnable_params()),
            batch=batch,
            training=True,
        )
        self.optimizer_.step()
        self.module_.constrain_()
        return step

    def _set_training(self, training: bool = True) -> None:
        # skorch sets the mode of all modules before every batch; our criteria have none.
        if self.module_.training != training:
            super()._set_training(training)

    def validation_step(self, batch: Any, **params: Any) -> dict[str, Tensor]:
        step: dict[str, Tensor] = super().validation_step(batch, **params)
        graphs, y = batch
        errors = self.errors(step["y_pred"].cpu(), y)
        if errors.ndim > graphs.weight.ndim:  # several targets
            errors = errors.mean(dim=1)
        self.history.record_batch("valid_score", (graphs.weight * (1 - errors)).mean().item())
        return step

    def infer(self, x: Batch, **params: Any) -> Any:
        generator = self.dropout_generator_ if self.module_.training else None
        return self.module_(*x.to(self.device).inputs, generator=generator)

    def embed(self, dataset: GraphDataset) -> Tensor:
        """Return what the head sees of all graphs: pooled vectors, and features of graphs."""
        self.module_.eval()
        with torch.no_grad():
            batches = (batch.to(self.device) for batch, _ in self.get_iterator(dataset))
            return torch.cat([self.module_.head_input(*batch.inputs).cpu() for batch in batches])

    def find_statistics(self, dataset: GraphDataset) -> None:
        """Compute the statistics of layers that normalize, if there are any, for these weights.

        Batches are as large as in prediction, or as in training if that is larger, so that a
        full batch remains one. Their graphs are drawn by a separate generator: if graphs are
        sorted by class, batches in that order would be unlike each other. A few hundred graphs
        are enough, unless weights differ: then a few graphs may have most of the weight.

        In `partial_fit`, where there may be few graphs, the earlier statistics count as much as
        a batch.
        """
        if not statistics_of(self.module_):
            return
        n_graphs, n_nodes = len(dataset), int(dataset.graphs.node_offsets[-1])
        n_fitting = self.iterator_valid__max_rows * n_graphs // n_nodes
        size = max(self.batch_size, min(self.iterator_valid__batch_size, n_fitting))
        loader = BatchLoader(dataset, size, torch.Generator().manual_seed(0))
        loader.network = self.module_
        n_batches = None if dataset.is_weighted else max(1, N_STATISTICS // size)
        batches = (batch.to(self.device).inputs for batch, _ in islice(loader, n_batches))
        has_earlier = self.is_part_ and len(self.history) > 1
        earlier = self.batch_size / (self.batch_size + n_graphs) if has_earlier else 0.0
        self.module_.find_statistics_(batches, earlier)

    def get_loss(self, y_pred: Any, y_true: Tensor, X: Batch, training: bool = False) -> Tensor:
        y_pred, penalty = y_pred if isinstance(y_pred, tuple) else (y_pred, None)
        losses = value_losses(self.criterion_, y_pred, y_true.to(self.device))
        weight = X.weight.to(self.device)
        if weight.ndim > 1:  # each target has a weight of its own
            loss: Tensor = (weight * losses).mean()
            return loss if penalty is None else loss + penalty
        if losses.ndim > 1:  # several targets
            losses = losses.mean(dim=1)
        loss = weight @ losses / len(X)
        return loss if penalty is None else loss + penalty

    @abstractmethod
    def errors(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        """Return what validation scores lack to one, for each graph or each target."""


def value_losses(criterion: Any, outputs: Tensor, target: Tensor) -> Tensor:
    """Return the losses of graphs, or of all targets of graphs.

    A table of whole numbers holds labels. Each of them is a task of two classes, with two outputs
    of the network.
    """
    if target.ndim == 2 and not target.is_floating_point():
        losses: Tensor = criterion(outputs.reshape(-1, 2), target.reshape(-1))
        return losses.reshape(target.shape)
    losses = criterion(outputs, target)
    return losses


def probabilities(logits: Tensor) -> NDArray[np.float64]:
    """Return the probability of each class, computed in 64 bits."""
    return torch.softmax(logits.detach().double(), dim=1).numpy()


class ClassifierNet(ClassifierMixin, GraphNet):
    """The net of classifiers. Classes are numbers from 0 on."""

    @property
    def classes_(self) -> NDArray[np.int64]:
        return np.arange(self.module__n_outputs)

    def errors(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        """Return 1 for each graph of another class than is predicted, so that accuracy is left."""
        return (y_pred.argmax(dim=1) != y_true).float()

    def predict_proba(self, X: GraphDataset) -> NDArray[np.float64]:
        return probabilities(self.forward(X))

    def predict(self, X: GraphDataset) -> NDArray[np.int64]:
        predictions: NDArray[np.int64] = self.predict_proba(X).argmax(axis=1)
        return predictions


class LabelsNet(ClassifierNet):
    """The net of classifiers that tell several labels at once, by two outputs for each."""

    @property
    def classes_(self) -> NDArray[np.int64]:
        return np.arange(self.module__n_outputs // 2)

    def errors(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        """Return 1 for each label that is not as predicted."""
        return (by_label(y_pred).argmax(dim=2) != y_true).float()

    def predict_proba(self, X: GraphDataset) -> NDArray[np.float64]:
        return probabilities_of_labels(self.forward(X))

    def predict(self, X: GraphDataset) -> NDArray[np.int64]:
        predictions: NDArray[np.int64] = by_label(self.forward(X)).argmax(dim=2).numpy()
        return predictions


def by_label(outputs: Tensor) -> Tensor:
    """Return the outputs for graphs as logits of both classes of each label."""
    return outputs.reshape(len(outputs), -1, 2)


def probabilities_of_labels(outputs: Tensor) -> NDArray[np.float64]:
    """Return the probability of each label, computed in 64 bits."""
    return torch.softmax(by_label(outputs.detach().double()), dim=2)[..., 1].numpy()


class RegressorNet(RegressorMixin, GraphNet):
    """The net of regressors. Targets are standardized."""

    def errors(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        """Return squared errors in variances of the training targets, so that R^2 is left."""
        return (y_pred - y_true).square()
