"""Several networks that answer together, and a linear machine on counts beside them.

Each network, a *member*, leaves out another part of the training graphs, on which it is stopped
early. Together they learn from all graphs, and each graph is predicted by a network that has not
been trained with it. By these predictions the machine on counts gets its share in the outputs:
``(1 - share) * mean of the networks + share * counts``.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import joblib
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from sklofi._graph_features import GraphEncoder
from sklofi._scaling import tame_weights
from sklofi._storage import BOOKKEEPING
from sklofi._validation import TrainingData
from sklofi.graphs._graph_set import GraphSet
from sklofi.kernels._linear_counts import LinearCounts
from sklofi.kernels._wl import WLVectorizer
from sklofi.training._callbacks import RecordOutputs
from sklofi.training._dataset import GraphDataset
from sklofi.training._encoding import NodeEncoder
from sklofi.training._net import value_losses
from sklofi.training._split import Split, cross_parts, is_splitter, splits_of
from sklofi.training._tasks import Task

# With n_members="auto" there are from FEWEST_MEMBERS to MOST_MEMBERS, and between these so many
# that they see at most GRAPHS_OF_ALL graphs in an epoch, all together. From more graphs than that
# a single network learns, for which a tenth of them is enough to be stopped by.
FEWEST_MEMBERS = 3
MOST_MEMBERS = 10
GRAPHS_OF_ALL = 6_000

# The outputs of every epoch are kept up to so many numbers. Beyond it, with thousands of held-out
# graphs, the epochs at which networks are stopped may as well be chosen by these graphs.
MOST_RECORDED = 2**22

# Iterations of the refinement whose colors are counted.
COUNTED_DEPTH = 3

# The shares of counts that are tried.
SHARES = np.linspace(0, 1, 21)

# Of outputs, and of the rows of the graphs that they belong to.
Losses = Callable[[NDArray[Any], NDArray[np.int64]], NDArray[np.float64]]

# The attributes of an ensemble that its members do not share, as those of a single network.
ALONE: dict[str, Any] = {
    "counts_": None,
    "counts_share_": 0.0,
    "oof_prediction_": None,
    "oof_losses_": None,
}
NOT_SHARED = frozenset({*ALONE, "_members", "net_", "_callback_fit_ctx", *BOOKKEEPING})


class Ensemble(Task):
    """Mixin of the estimators that may hold several networks."""

    n_members: Any  # parameters of the estimator
    counts: Any
    n_jobs: Any
    device: Any
    random_state: Any
    early_stopping: Any
    validation_fraction: Any
    max_epochs: Any
    _parameter_constraints: ClassVar[dict[str, Any]]

    counts_: LinearCounts | None
    counts_share_: float
    oof_prediction_: NDArray[np.float64] | None
    oof_losses_: dict[str, float] | None
    _members: list[Any]
    _encoder: NodeEncoder
    _graph_encoder: GraphEncoder | None

    # What an ensemble uses of the estimator.

    @abstractmethod
    def _graph_attributes(self) -> dict[str, Any]:
        """Return the attributes of networkx graphs that are read."""

    @abstractmethod
    def _dataset(
        self,
        graphs: GraphSet,
        y: NDArray[Any] | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> GraphDataset:
        """Return graphs as a dataset."""

    @abstractmethod
    def _fit_net(
        self,
        data: TrainingData,
        held_out: TrainingData | None,
        is_new: bool,
        checkpoint: Any = None,
        context: Any = None,
    ) -> None:
        """Train a single network."""

    @abstractmethod
    def _network_parameters(self) -> dict[str, Any]:
        """The parameters that a network is made with, and keeps."""

    @property
    def members_(self) -> list[Any]:
        """The networks, each as a fitted estimator."""
        members: list[Any] = vars(self).get("_members", [self])
        return members

    def _is_ensemble(self) -> bool:
        """Whether parameters ask for more than a single network."""
        return self.n_members != 1 or bool(self.counts)

    def _fit_ensemble(
        self,
        data: TrainingData,
        held_out: TrainingData | None,
        is_new: bool,
        checkpoint: Any,
        context: Any,
    ) -> None:
        """Train all members, and find the share of counts."""
        if checkpoint is not None and self.random_state is None:
            raise ValueError(
                "Networks that leave out different graphs (n_members, counts) can go on from a"
                " checkpoint only if random_state is set, to an int: it says which graphs."
            )
        if is_new:
            self._make_members(self._n_members(len(data.y)))
        members = self._members
        for number, member in enumerate(members):
            self._hand_over(member)
            member._title = f"{type(self).__name__} {number + 1}/{len(members)}"
        if held_out is None:
            splits = self._splits(data, len(members))
            self._warn_of_groups(data, len(splits[0].held_out))
        tasks = [
            (
                member,
                data,
                held_out if held_out is not None else splits[number],
                is_new,
                _path_of_member(checkpoint, number, len(members)),
            )
            for number, member in enumerate(members)
        ]
        trained: list[Any] = []
        try:
            if joblib.effective_n_jobs(self.n_jobs) > 1 and len(tasks) > 1:
                jobs = (joblib.delayed(_fit_member)(*task) for task in tasks)
                trained = joblib.Parallel(self.n_jobs)(jobs)
            else:
                for task in tasks:
                    trained.append(_fit_member(*task, context))
                    if getattr(trained[-1].net_, "is_interrupted_", False):
                        break
        finally:
            for member in (*members, *trained):
                vars(member).pop("_title", None)  # from now on an estimator like others
        # After an interrupt those that are trained are the ensemble, now or before.
        self._members = trained if is_new else trained + members[len(trained) :]
        self._share_with_members()
        self._take_first_net()
        if held_out is not None:
            splits = [Split(np.arange(len(data.y)), np.arange(len(held_out.y)))] * len(members)
        self._weigh(data, held_out, splits[: len(self._members)])

    def _splits(self, data: TrainingData, n_members: int) -> list[Split]:
        """Return what each member learns from, and what it leaves out."""
        share = self.validation_fraction
        if is_splitter(share):
            return splits_of(share, n_members, data.graphs, data.y, data.groups)
        parts = cross_parts(self._strata(data.y), share, n_members, self._seed, data.groups)
        everything = np.arange(len(data.y))
        return [Split(np.setdiff1d(everything, part), part) for part in parts]

    def _warn_of_groups(self, data: TrainingData, n_held_out: int) -> None:
        """Warn if groups are so large that nothing can be set aside."""
        is_member = "_title" in vars(self)  # whose ensemble has warned
        if data.groups is not None and n_held_out == 0 and not is_member:
            warnings.warn(
                "None of the groups can be set aside for early stopping: each one has all graphs"
                f" of a class, or more than half of all graphs. {type(self).__name__} is trained"
                " without early stopping, for max_epochs epochs.",
                UserWarning,
                stacklevel=2,
            )

    def _n_members(self, n_graphs: int) -> int:
        if isinstance(self.n_members, str):
            if n_graphs > GRAPHS_OF_ALL:
                return 1
            return int(np.clip(GRAPHS_OF_ALL // n_graphs, FEWEST_MEMBERS, MOST_MEMBERS))
        return int(self.n_members)

    def _make_members(self, n_members: int) -> None:
        """Make estimators for single networks, before these are built."""
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        seeds = np.random.RandomState(self._seed).randint(2**31 - 1, size=n_members)
        self._members = [self._make_member(seed) for seed in seeds.tolist()]
        self._share_with_members()

    def _make_member(self, seed: int) -> Any:
        member = type(self).__new__(type(self))
        vars(member).update(ALONE)
        self._hand_over(member)
        member.n_members, member.counts, member.n_jobs = 1, False, None
        member.random_state = seed
        return member

    def _hand_over(self, member: Any) -> None:
        """Give a member the present parameters."""
        names = self._parameter_constraints.keys() - {"n_members", "counts", "n_jobs"}
        for name in names - {"random_state"}:
            setattr(member, name, getattr(self, name))

    def _share_with_members(self) -> None:
        """Let members read graphs and targets in the same way."""
        shared = vars(self).keys() - NOT_SHARED - self._parameter_constraints.keys()
        for member in self._members:
            own = {"_made_with": member._made_with} if hasattr(member, "_made_with") else {}
            vars(member).update({name: vars(self)[name] for name in shared} | own)

    def _take_first_net(self) -> None:
        """Let the net of the first member stand for all, where one has to."""
        if "_members" in vars(self):
            self.net_ = self._members[0].net_
            self._made_with = {**self._network_parameters(), "device": str(self.device)}

    def _weigh(
        self,
        data: TrainingData,
        held_out: TrainingData | None,
        splits: Sequence[Split],
    ) -> None:
        """Fit counts, and find their share by what networks say of graphs they have not seen.

        What each member has left out are rows of the held-out graphs, or of the training graphs.
        """
        rows = [split.held_out for split in splits]
        source = data if held_out is None else held_out
        losses, weight = self._losses_by_graph(source)
        # A graph may have been left out several times.
        distinct, which = np.unique(np.concatenate(rows), return_inverse=True)
        n_times = np.bincount(which, minlength=len(distinct))[:, None]

        def mean_by_graph(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
            sums = np.zeros((len(distinct), outputs.shape[1]))
            np.add.at(sums, which, outputs)
            return sums / n_times

        def loss(outputs: NDArray[np.float64]) -> float:
            total = weight[distinct].sum()  # 0 if what was left out hardly counts
            return float(losses(outputs, distinct).sum() / total) if total > 0 else 0.0

        together = nets = mean_by_graph(self._outputs_for_others(source, rows, losses))
        if len(distinct) == 0:
            return
        self.oof_losses_ = {"networks": loss(nets)}
        if self.counts:
            parts: list[Any] = list(splits)
            combine: Callable[[NDArray[np.float64]], NDArray[np.float64]] = mean_by_graph
            if held_out is not None:  # the same graphs for every member, predicted once
                parts, combine = [(splits[0].training, held_out.graphs)], lambda values: values
            self.counts_, outputs = LinearCounts.fit(
                self._count_vectorizer(),
                data.graphs,
                self._network_target(data.y),
                self._n_outputs,
                tame_weights(data.loss_weight),
                parts,
                lambda values: loss(combine(values)),
                self._graph_encoder,
            )
            counts = combine(outputs)
            mixed = [loss((1 - share) * nets + share * counts) for share in SHARES]
            self.counts_share_ = float(SHARES[np.argmin(mixed)])
            self.oof_losses_ |= {"counts": loss(counts), "together": min(mixed)}
            together = (1 - self.counts_share_) * nets + self.counts_share_ * counts
        predictions = self._soft_predictions(torch.from_numpy(together))
        self.oof_prediction_ = np.full((len(source.y), predictions.shape[1]), np.nan)
        self.oof_prediction_[distinct] = predictions

    def _losses_by_graph(self, source: TrainingData) -> tuple[Losses, NDArray[np.float64]]:
        """Return a function of outputs and of the rows that they belong to: weighted losses.

        The weights of all rows are returned as well.
        """
        weight = tame_weights(source.loss_weight)
        criterion = self._criterion(reduction="none")
        target = torch.from_numpy(self._network_target(source.y))
        target = target.double() if target.is_floating_point() else target

        def losses(outputs: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
            double = torch.from_numpy(outputs).double()
            values = value_losses(criterion, double, target[rows]).numpy()
            if weight.ndim > 1:
                of_values: NDArray[np.float64] = (weight[rows] * values).mean(axis=1)
                return of_values
            weighted: NDArray[np.float64] = weight[rows] * values.reshape(len(rows), -1).mean(
                axis=1
            )
            return weighted

        return losses, weight if weight.ndim == 1 else weight.mean(axis=1)

    def _outputs_for_others(
        self, source: TrainingData, rows: Sequence[NDArray[np.int64]], losses: Losses
    ) -> NDArray[np.float64]:
        """Return the outputs of members for the graphs that they left out, one after the other.

        Each member was stopped at the epoch that was best for just these graphs, of which there
        may be few: its loss on them is too good. Here all have the outputs of one epoch, the best
        for all of them together; members that have stopped before have those of their last.
        """
        outputs = [_recorded(member) for member in self._members]
        n_epochs = max(map(len, outputs))
        curves = np.zeros(n_epochs)
        for of_member, part in zip(outputs, rows, strict=True):
            if of_member:
                curve = [losses(of_epoch, part).sum() for of_epoch in of_member]
                curves += np.pad(curve, (0, n_epochs - len(curve)), mode="edge")
        # A training that diverges ends with an epoch that has no loss.
        best = int(np.nan_to_num(curves, nan=np.inf).argmin()) if n_epochs else 0
        if not self.early_stopping:  # networks have the weights of the last epoch
            best = n_epochs - 1
        chosen = []
        for member, of_member, part in zip(self._members, outputs, rows, strict=True):
            if of_member:
                chosen.append(of_member[min(best, len(of_member) - 1)])
            elif len(part):
                graphs = source.graphs[part]
                chosen.append(member.net_.forward(member._dataset(graphs)).numpy())
            else:
                chosen.append(np.zeros((0, member._n_outputs)))
        return np.concatenate(chosen).astype(np.float64)

    def _is_recorded(self, validation: Any) -> bool:
        """Whether the outputs for validation graphs are kept, epoch by epoch."""
        is_member = "_title" in vars(self)  # that is being trained
        if not is_member or validation is None:
            return False
        n_numbers = len(validation) * self._n_outputs * self.max_epochs
        return bool(n_numbers <= MOST_RECORDED)

    def _count_vectorizer(self) -> WLVectorizer:
        """Return the feature map of counts. It sees the edges that the network sees."""
        reads_labels = self._graph_attributes().get("edge_label") is not None
        return WLVectorizer(
            COUNTED_DEPTH,
            max_ring=int(getattr(self, "max_ring", 0)),
            node_label=self._graph_attributes()["node_label"],
            edge_label="label" if reads_labels else None,
            unary=True,
        )

    def _joint_outputs(self, dataset: Any) -> Tensor:
        """Return the outputs of all members and counts together."""
        if "_members" not in vars(self):
            outputs: Tensor = self.net_.forward(dataset)
            return outputs
        return self._with_counts(dataset, self._outputs_of_members(dataset).mean(dim=0))

    def _joint_outputs_and_spread(self, dataset: Any) -> tuple[Tensor, Tensor]:
        """Return the joint outputs, and how far those of the members are apart.

        The spread is the standard deviation over members, each together with the share of counts
        that they have in common.
        """
        if len(self.members_) < 2:
            raise ValueError(
                f"This {type(self).__name__} has a single network, and return_std=True asks how"
                " far several are apart. Fit it with several, such as n_members=5."
            )
        if self.counts_share_ == 1:
            warnings.warn(
                "The counts make the whole prediction (counts_share_ is 1), and all networks have"
                " them in common: the standard deviation is 0, and says nothing of errors.",
                stacklevel=4,
            )
        nets = self._outputs_of_members(dataset)
        spread = (1 - self.counts_share_) * nets.std(dim=0, correction=0)
        return self._with_counts(dataset, nets.mean(dim=0)), spread

    def _outputs_of_members(self, dataset: Any) -> Tensor:
        """Return the outputs of all networks, one upon another."""
        return torch.stack([member.net_.forward(dataset).double() for member in self._members])

    def _with_counts(self, dataset: Any, nets: Tensor) -> Tensor:
        """Return outputs of networks together with the share of counts."""
        if self.counts_ is None or self.counts_share_ == 0:
            return nets
        counts = torch.from_numpy(self.counts_.outputs(dataset.graphs))
        return (1 - self.counts_share_) * nets + self.counts_share_ * counts


def _recorded(member: Any) -> list[NDArray[Any]]:
    """Take the outputs of all epochs out of the history of a member."""
    rows = [row for row in member.net_.history if RecordOutputs.NAME in row]
    return [row.pop(RecordOutputs.NAME) for row in rows]


def _fit_member(
    member: Any,
    data: TrainingData,
    held_out: TrainingData | Split,
    is_new: bool,
    checkpoint: Any,
    context: Any = None,
) -> Any:
    """Train a member on all graphs but those that are held out, and return it."""
    training = data
    if isinstance(held_out, Split):
        training, held_out = data.take(held_out.training), data.take(held_out.held_out)
    validation = held_out if len(held_out.y) else None
    member._fit_net(training, validation, is_new, checkpoint, context)
    return member


def _path_of_member(path: Any, number: int, n_members: int) -> Any:
    """Return where a member keeps its checkpoint: a file of its own, or the folder of all."""
    if path is None or n_members == 1 or Path(path).is_dir():
        return path
    path = Path(path)
    return path.with_name(f"{path.stem}-{number}{path.suffix}")
