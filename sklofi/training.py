"""The skorch net that trains on batches of graphs, and its callbacks."""

from __future__ import annotations

import sys
import warnings
from itertools import islice
from traceback import walk_tb
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from skorch import NeuralNet
from skorch.callbacks import Callback, EarlyStopping, EpochTimer, PassthroughScoring
from skorch.utils import TeeGenerator
from torch import Tensor
from tqdm import tqdm

from sklofi.loading import Batch, BatchLoader, EncodedGraphs

# Products of larger weights may not fit into 32 bits.
LARGEST_WEIGHT = 1e6

# In about how many graphs the statistics are found that belong to averaged weights.
N_STATISTICS = 512


class GraphNet(NeuralNet):
    """The skorch net that the estimators hold.

    What it adds to skorch: batches of graphs, weighted losses, weights kept within their
    bounds, a validation score, and randomness from its own generator alone.

    The module takes the inputs of a batch and a generator, and gives outputs, in training
    perhaps with a penalty to add to the loss. Its methods are `embed` (vectors of the graphs)
    and `constrain_` (called after each step of the optimiser).
    """

    is_part_ = False  # whether a training sees a part of the training graphs only

    def get_default_callbacks(self) -> list[tuple[str, Callback]]:
        return [
            ("average_weights", AverageWeights()),  # first: all others see the average
            ("epoch_timer", EpochTimer()),
            ("train_loss", PassthroughScoring("train_loss", on_train=True)),
            ("valid_loss", PassthroughScoring("valid_loss")),
            ("valid_score", PassthroughScoring("valid_score", lower_is_better=False)),
        ]

    def get_split_datasets(self, X: Any, y: Any = None, **params: Any) -> tuple[Any, Any]:
        return X  # the estimator has split already: (training, validation or None)

    def get_iterator(self, dataset: EncodedGraphs, training: bool = False) -> BatchLoader:
        iterator: BatchLoader = super().get_iterator(dataset, training=training)
        iterator.network = self.module_
        return iterator

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        # Dropout draws on the device of the net, so it needs a generator of its own. The
        # seed is not drawn, because that would change the order of the batches.
        seed = self.iterator_train__generator.initial_seed() + len(self.history)
        self.dropout_generator_ = torch.Generator(self.device).manual_seed(seed)
        self.is_interrupted_ = False

    def fit_loop(self, *args: Any, **kwargs: Any) -> NeuralNet:
        try:
            return super().fit_loop(*args, **kwargs)
        except EndOfTraining:
            raise
        except KeyboardInterrupt as error:
            # A callback of the user's ends a training in the same way, but after an epoch.
            is_complete = bool(self.history) and "train_loss" in self.history[-1]
            theirs = {id(callback) for _, callback in self.user_callbacks()}
            frames = [frame for frame, _ in walk_tb(error.__traceback__)]
            by_them = any(id(frame.f_locals.get("self")) in theirs for frame in frames)
            self.is_interrupted_ = not (is_complete and by_them)
            raise

    def user_callbacks(self) -> list[tuple[str, Callback]]:
        """The callbacks that are neither the net's own nor here for one training only."""
        others = self.own_names() | {name for name, _ in getattr(self, "listeners_", [])}
        return [item for item in self.callbacks_ if item[0] not in others]

    def own_names(self) -> set[str]:
        return {name for name, _ in self.get_default_callbacks()}

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        del self.dropout_generator_  # belongs to a device, so it must not be pickled
        self.module_.eval()
        if self.history and "train_loss" not in self.history[-1]:
            del self.history[-1]  # interrupted in the middle

    def on_epoch_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        if self.history:
            # What was recorded per batch has been averaged; a long fit would drown in it.
            self.history[-1]["batches"].clear()
        super().on_epoch_begin(net, **kwargs)

    def train_step(self, batch: Any, **params: Any) -> dict[str, Tensor]:
        # As skorch does, but without what only other optimisers than ours need.
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
        step = super().validation_step(batch, **params)
        graphs, y = batch
        scores = self.scores(step["y_pred"].cpu(), y)
        self.history.record_batch("valid_score", (graphs.weight * scores).mean().item())
        return step

    def infer(self, x: Batch, **params: Any) -> Any:
        generator = self.dropout_generator_ if self.module_.training else None
        return self.module_(*x.to(self.device).inputs, generator)

    def embed(self, dataset: EncodedGraphs) -> Tensor:
        """The pooled vectors of all graphs, before the head."""
        self.module_.eval()
        with torch.no_grad():
            batches = (batch.to(self.device) for batch, _ in self.get_iterator(dataset))
            return torch.cat([self.module_.embed(*batch.inputs).cpu() for batch in batches])

    def find_statistics(self, dataset: EncodedGraphs) -> None:
        """Find the statistics of layers that normalise, if there are any, for the present weights.

        Batches are as large as in prediction, or as in training if that is larger, so that a
        full batch remains one. They are drawn by a generator of their own: batches of graphs
        that are sorted by class would be unlike each other. Some hundred graphs are enough,
        unless few of all may have most of the weight.

        In `partial_fit`, where there may be few graphs, what was found in those before counts
        as much as a batch.
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
        losses = self.criterion_(y_pred, y_true.to(self.device))
        if losses.ndim > 1:  # several targets
            losses = losses.mean(dim=1)
        loss = X.weight.to(self.device) @ losses / len(X)
        return loss if penalty is None else loss + penalty


def probabilities(logits: Tensor) -> NDArray[np.float64]:
    return torch.softmax(logits.detach().double(), dim=1).numpy()


class ClassifierNet(ClassifierMixin, GraphNet):
    @property
    def classes_(self) -> NDArray[np.int64]:
        return np.arange(self.module__n_outputs)

    def scores(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        """Accuracy, graph by graph."""
        return (y_pred.argmax(dim=1) == y_true).float()

    def predict_proba(self, X: EncodedGraphs) -> NDArray[np.float64]:
        return probabilities(self.forward(X))

    def predict(self, X: EncodedGraphs) -> NDArray[np.int64]:
        return self.predict_proba(X).argmax(axis=1)


class RegressorNet(RegressorMixin, GraphNet):
    def scores(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        """R^2 against the training targets, which are standardised, graph by graph."""
        return 1 - (y_pred - y_true).square().mean(dim=1)


def statistics_of(module: torch.nn.Module) -> list[Tensor]:
    """Means and variances of layers that normalise, of modules that have such layers."""
    statistics: Any = getattr(module, "statistics", list)
    return statistics()


def exchanged(module: torch.nn.Module) -> list[Tensor]:
    """The tensors of a module that change in training: weights, and what belongs to them."""
    return [*module.parameters(), *statistics_of(module)]


class AverageWeights(Callback):
    """Let the weights that are validated and kept be an average over the last steps.

    On most data sets that were tried it had the lower validation loss, and one that jumps
    less from epoch to epoch. Training itself goes on with the weights of the last step.

    Averages of the means and variances of batch normalisation would not belong to the averaged
    weights. They are found anew for these after each epoch, in one more pass without gradients,
    over all training graphs or about 500 of them.
    """

    DECAY = 0.99  # about the last 100 steps; fewer at the beginning

    def initialize(self) -> AverageWeights:
        self.kept: list[Tensor] | None = None
        self.last: list[Tensor] = []
        self.dataset: EncodedGraphs | None = None
        return self

    @property
    def remembered(self) -> list[str]:
        """What belongs into a checkpoint."""
        return [name for name in vars(self) if name != "dataset"]

    def __getstate__(self) -> dict[str, Any]:
        # In the middle of a training it may be on a GPU, where not everybody has one.
        state = {key: value for key, value in vars(self).items() if key != "average"}
        return {**state, "dataset": None}

    def check_state(self, net: NeuralNet, state: dict[str, Any]) -> None:
        """See that averages from a file have the sizes of the weights: optimisers do not look."""
        expected = [(weight.shape, torch.float32) for weight in exchanged(net.module_)]
        for name in ("kept", "last", "average"):
            if tensors := state.get(name):
                if [(one.shape, one.dtype) for one in tensors] != expected:
                    raise ValueError("the averages of the weights do not have their size")

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.is_started = False

    def on_epoch_begin(
        self, net: NeuralNet, dataset_train: EncodedGraphs | None = None, **kwargs: Any
    ) -> None:
        self.dataset = dataset_train
        if not self.is_started:  # only now, when other callbacks may have set the weights
            self.start(net)
        if self.is_in_place:
            self.exchange(net)

    def start(self, net: NeuralNet) -> None:
        """Go on where the last training ended, unless other weights were put in since."""
        weights = [weight.detach().clone() for weight in exchanged(net.module_)]
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
        # On the CPU, so that what was trained on a GPU can be unpickled without one.
        self.kept = [weight.detach().cpu().clone() for weight in exchanged(net.module_)]
        self.last = [weight.cpu() for weight in self.average]
        del self.average

    def put_in_place(self, net: NeuralNet) -> None:
        """Put the average where the weights are, with the statistics that belong to it."""
        if not self.is_in_place:
            self.exchange(net)
            net.find_statistics(self.dataset)
            # Batches of a single row are normalised by these in training, too.
            n_weights = len(list(net.module_.parameters()))
            for other, found in zip(
                self.average[n_weights:], statistics_of(net.module_), strict=True
            ):
                other.copy_(found)

    @torch.no_grad()
    def exchange(self, net: NeuralNet) -> None:
        for weight, average in zip(exchanged(net.module_), self.average, strict=True):
            weight.data, average.data = average.data, weight.data
        self.is_in_place = not self.is_in_place


class EndOfTraining(KeyboardInterrupt):  # which is how skorch's callbacks end a training
    """One of our callbacks has seen enough; nobody has pressed Ctrl-C."""


class LastGoodWeights(Callback):
    """Go back to the last sound epoch if training diverges or is interrupted."""

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.problem: str | None = None
        self.keep(net, "with which it started")

    def on_epoch_end(
        self, net: NeuralNet, dataset_train: EncodedGraphs | None = None, **kwargs: Any
    ) -> None:
        self.look(net, dataset_train)
        if self.problem is not None:
            raise EndOfTraining
        self.keep(net, f"of epoch {net.history[-1, 'epoch']}")

    def look(self, net: NeuralNet, dataset: EncodedGraphs | None = None) -> None:
        """Find out whether something is wrong with the last epoch."""
        row = net.history[-1]
        for name in ("train_loss", "valid_loss"):
            if not np.isfinite(row.get(name, 0)):
                self.problem = f"The loss became {row[name]}"
        largest = max(one.abs().max().item() for one in net.module_.parameters())
        if not largest <= LARGEST_WEIGHT:
            self.problem = self.problem or f"Weights grew to {largest:.1g}"
        if not all(one.isfinite().all() for one in net.module_.buffers()):
            self.problem = self.problem or "The variance of a layer became infinite"
        if dataset is not None and "valid_loss" not in row:
            # The loss of training was measured before the last step, and of other weights.
            batch = dataset.batch(np.arange(min(len(dataset), net.batch_size)), gradients=False)
            if not net.evaluation_step(batch).isfinite().all():
                self.problem = self.problem or "The outputs became infinite"

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if net.history and not net.is_interrupted_:
            self.look(net)  # a callback may have ended the training before this one heard of it
        if self.problem is None and not net.is_interrupted_:
            return
        net.module_.load_state_dict(self.weights)
        which = self.which
        for _, other in net.callbacks_:
            if isinstance(other, RestoreBest) and other.best_model_weights_ is not None:
                which = f"of epoch {other.best_epoch_}, the best so far on the validation graphs"
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

    def keep(self, net: NeuralNet, which: str) -> None:
        self.weights = {name: one.clone() for name, one in net.module_.state_dict().items()}
        self.which = which


class EpochBar(tqdm):
    """A progress bar in one line, which leaves out what there is no room for.

    The losses go last, and nothing is cut: half a number would be another one.
    """

    NARROWEST = 10  # characters of the bar
    LAYOUTS = (
        "{desc}: {percentage:3.0f}%|{bar}| {epochs} [{elapsed}<{remaining}{long_figures}]",
        "{desc}: {percentage:3.0f}%|{bar}| {epochs} [{elapsed}<{remaining}{figures}]",
        "{desc} |{bar}| {epochs} [{elapsed}<{remaining}{figures}]",
        "|{bar}| {epochs} [{elapsed}<{remaining}{figures}]",
        "|{bar}| {epochs} [{remaining}{figures}]",
        "{epochs} [{elapsed}<{remaining}{figures}]",
        "{epochs} [{remaining}{figures}]",
        "{epochs}{figures}",
        "{epochs}",
    )

    def __init__(self, **parameters: Any) -> None:
        self.values: dict[str, float] = {}
        self.room: int | None = None
        self.layout = 0
        super().__init__(dynamic_ncols=True, **parameters)

    def __str__(self) -> str:
        parts = dict(self.format_dict)
        room = parts.pop("ncols")
        del parts["bar_format"]
        parts["epochs"] = f"{self.n}/{self.total}"
        parts["long_figures"] = "".join(f", {name}={x:.4g}" for name, x in self.values.items())
        short = {"valid_score": "score", "valid_loss": "valid", "train_loss": "train"}
        parts["figures"] = "".join(f", {short[name]}={x:.3g}" for name, x in self.values.items())
        if room != self.room:
            self.room, self.layout = room, 0
        # Layouts do not return, which would flicker with the digits of the losses.
        while room and self.layout < len(self.LAYOUTS) - 1:
            narrowest = self.LAYOUTS[self.layout].replace("{bar}", " " * self.NARROWEST)
            if len(self.format_meter(**parts, bar_format=narrowest)) <= room:
                break
            self.layout += 1
        return str(self.format_meter(**parts, ncols=room, bar_format=self.LAYOUTS[self.layout]))


class ProgressLog(Callback):
    """A progress bar on a terminal, plain lines elsewhere."""

    N_LINES = 20
    remembered = ()  # in a checkpoint

    def __init__(self, title: str, max_epochs: int, verbose: int) -> None:
        self.title = title
        self.max_epochs = max_epochs
        self.every_epoch = verbose > 1
        self.line_every = 1 if self.every_epoch else max(1, max_epochs // self.N_LINES)

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.first_epoch = len(net.history)
        self.bar = None
        if sys.stderr.isatty() and not self.every_epoch:
            self.bar = EpochBar(total=self.max_epochs, desc=self.title)

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        epoch = len(net.history) - self.first_epoch
        row = net.history[-1]
        names = ("valid_score", "valid_loss", "train_loss")
        values = {name: row[name] for name in names if name in row}
        if self.bar is not None:
            self.bar.values = values
            self.bar.update(epoch - self.bar.n)
        elif epoch == 1 or epoch % self.line_every == 0:
            figures = ", ".join(f"{name}={x:.4g}" for name, x in values.items())
            print(f"[{self.title}] epoch {epoch}/{self.max_epochs}: {figures}")

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if self.bar is not None:
            self.bar.close()
        n_epochs = len(net.history) - self.first_epoch
        if n_epochs < self.max_epochs:
            print(f"[{self.title}] stopped after epoch {n_epochs} of {self.max_epochs}")


class EpochTasks(Callback):
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
        # The estimator has its fitted attributes while it trains, so a copy of it can
        # predict as it is: nothing has to be reconstructed.
        self.stop = self.epoch.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes={}
        )
        self.epoch = None


class StopWhenAsked(Callback):
    """End the training if a callback of scikit-learn wants to, after all others are done."""

    remembered = ()

    def __init__(self, tasks: EpochTasks) -> None:
        self.tasks = tasks

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if self.tasks.stop:
            raise EndOfTraining


class RestoreBest(EarlyStopping):
    """Stop when the validation loss stalls, and go back to the best weights."""

    def __init__(self, patience: int) -> None:
        # An absolute threshold: on separable classes the loss goes on shrinking towards zero,
        # by ever smaller amounts, until the last epoch.
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


def split_validation(
    strata: NDArray[Any], fraction: float, random_state: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Set a part of every stratum aside, but never its last member.

    Unlike scikit-learn's stratified splits this works for classes of one or two members
    and for parts too small to hold every class; the validation part may then be empty.
    """
    order = random_state.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    _, first = np.unique(strata[order], return_index=True)
    candidates = np.delete(order, first)
    n_validation = min(max(1, round(fraction * len(strata))), len(candidates))
    # Evenly spaced positions in an order sorted by stratum: a stratified sample.
    step = len(candidates) / max(1, n_validation)
    positions = (np.arange(n_validation) + random_state.uniform()) * step
    validation = np.sort(candidates[positions.astype(np.int64)])
    return np.setdiff1d(order, validation), validation
