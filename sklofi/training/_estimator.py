"""What all networks share as estimators: the road from X and y to a trained net.

An estimator is a network, which says what its module is and which batches it takes, and a task
(:mod:`sklofi.training._tasks`), which says what targets are. The abstract methods of
:class:`NetworkEstimator` are all that a network has to give.
"""

from __future__ import annotations

import copy
import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from sklofi._graph_features import NO_GRAPH_FEATURES, GraphEncoder
from sklofi._messages import show
from sklofi._molecules import REMEMBERED, predicts_rows
from sklofi._validation import TrainingData, check_training_data
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set
from sklofi.graphs._warnings import warn_of_training
from sklofi.training._callbacks import (
    EpochReports,
    LastGoodWeights,
    RecordOutputs,
    RestoreBest,
    StopWhenAsked,
    copy_callbacks,
)
from sklofi.training._checkpoint import Checkpoint, describe_call
from sklofi.training._dataset import BatchLoader, GraphDataset
from sklofi.training._device import check_device, check_network_memory, give_up_lost_threads
from sklofi.training._encoding import NodeEncoder
from sklofi.training._ensemble import ALONE, MOST_MEMBERS
from sklofi.training._net import GraphNet
from sklofi.training._net_state import net_state
from sklofi.training._persistence import SavedNetwork
from sklofi.training._progress import ProgressLog
from sklofi.training._skorch import Callback, History
from sklofi.training._split import is_splitter, split_validation, splits_of
from sklofi.training._training_parameters import TrainingParameters

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9: the callback protocol is simply absent

    class CallbackSupportMixin:  # type: ignore[no-redef]
        pass

    def with_callbacks(method):  # type: ignore[no-untyped-def]
        return method


class NetworkEstimator(
    SavedNetwork,
    CallbackSupportMixin,
    TrainingParameters,
    TransformerMixin,
    BaseEstimator,
):
    """Base of the estimators that train a network, or several."""

    _absent_from_files: ClassVar[dict[str, Any]] = {
        **{"n_members": 1, "counts": False, **ALONE},
        **{"graph_features": None, "_graph_encoder": NO_GRAPH_FEATURES},
    }

    # As in the splitters of scikit-learn: whoever routes groups wants them kept together.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}

    # The hooks of a network, in the order in which a fit calls them.

    @abstractmethod
    def _make_dataset(
        self, graphs: GraphSet, encoder: NodeEncoder, **arguments: Any
    ) -> GraphDataset:
        """Return graphs as a dataset, which cuts the batches that the network takes."""

    @abstractmethod
    def _architecture(self, training: GraphDataset) -> dict[str, Any]:
        """Return the arguments of the module, but for the numbers of features and outputs."""

    @property
    @abstractmethod
    def _build_module(self) -> Callable[..., nn.Module]:
        """The constructor of `_network`, or a function that calls it.

        It takes a generator, which determines the initial values, and a dtype besides the
        arguments of the network.
        """

    @abstractmethod
    def _prediction_batches(self, architecture: dict[str, Any]) -> dict[str, int]:
        """Return the arguments of :class:`BatchLoader` that bound batches of predictions."""

    def _start(self, training: GraphDataset, generator: torch.Generator) -> None:
        """Choose initial values by the training graphs, where the generator's are not enough."""

    @abstractmethod
    def _embedding_names(self) -> list[str]:
        """Return the names of the columns of the vectors of graphs, without graph features."""

    def _graph_attributes(self) -> dict[str, Any]:
        """Return the attributes of networkx graphs that are read."""
        return {
            "node_label": self.node_label,
            "node_features": self.node_features,
            "graph_features": self.graph_features,
        }

    @property
    def _uses_graph_features(self) -> bool:
        """Whether the network has an argument for features of graphs as a whole."""
        return "n_graph_features" in inspect.signature(self._network).parameters

    def _learn_encoding(self, graphs: GraphSet, weight: NDArray[np.float64]) -> None:
        """Remember how the nodes of the training graphs become vectors, and their features."""
        self._encoder = NodeEncoder.fit(graphs, weight, self.structure)
        self._graph_encoder = None
        if self._uses_graph_features:
            self._graph_encoder = GraphEncoder.fit(graphs, weight)
        self.node_labels_ = list(self._encoder.labels) if self._encoder.has_labels else []

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        groups: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit the network to graphs and their targets.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
            Targets. Of a classifier, several columns are several labels: 1 for graphs that
            have a label, 0 for those that do not. In tables NaN is for what is not known.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs. Graphs of weight zero are left out altogether, and so are
            those of which no target is known.

        X_val : list of networkx graphs, or GraphSet, default=None
            Graphs for early stopping, in place of a part of `X`; all networks are trained on
            all of `X` then, and the share of counts is found on these graphs. In a `Pipeline`,
            `X_val` can be transformed the same way as `X` with
            `Pipeline(..., transform_input=["X_val"])`.

        y_val : array-like of shape (n_val,) or (n_val, n_outputs), default=None
            Targets of `X_val`.

        sample_weight_val : array-like of shape (n_val,), default=None
            Weights of `X_val`, in the validation loss and score, and in the loss by which counts
            get their share. Graphs of weight zero are left out.

        groups : array-like of shape (n_graphs,), default=None
            Groups of graphs that are alike, such as the scaffolds of molecules
            (:func:`sklofi.graphs.scaffold_groups`). The graphs that are set aside for early
            stopping share no group with those that the network is trained on. Where scikit-learn
            routes metadata, `groups` are requested, as its splitters for groups do.

        checkpoint : path-like, default=None
            File in which the state of the training is kept, every second or so. If the
            process is killed, the same call goes on from there and ends in the same model;
            once it has ended, the same call takes the model from the file. In an existing
            folder each fit has a file of its own, so that a search can be given one. So has
            each of several networks: their number is added to the name of the file.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        _check_given_together(X_val, y_val, sample_weight_val)
        is_new = not (self.warm_start and hasattr(self, "net_"))
        if not is_new:
            self._check_same_network("warm_start=True")
        context = self._begin_fit_context(X, y)
        with self._fitted_or_not_at_all(is_new):
            X = self._read_if_molecules(X)
            data = self._read_training_data(
                X, y, sample_weight, groups, reset=is_new, is_new=is_new
            )
            held_out = None
            if X_val is not None:
                held_out = self._check_data(X_val, y_val, sample_weight_val, reset=False)
                if not held_out.loss_weight.any():
                    raise ValueError(
                        "All graphs of X_val are of classes whose weight is zero (class_weight), so"
                        " that they cannot tell when to stop. Pass graphs of other classes, too."
                    )
            # A network that partial_fit has begun goes on alone.
            if self._is_ensemble() and (is_new or "_members" in vars(self)):
                self._fit_ensemble(data, held_out, is_new, checkpoint, context)
            else:
                self._fit_net(data, held_out, is_new, checkpoint, context)
        if context is not None:
            context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    def _fit_net(
        self,
        data: TrainingData,
        held_out: TrainingData | None,
        is_new: bool,
        checkpoint: Any = None,
        context: Any = None,
    ) -> None:
        """Train a single network."""
        saved = self._open_checkpoint(checkpoint, data, held_out, is_new)
        random_state = check_random_state(self.random_state)
        if saved is not None:
            random_state = saved.random_state(random_state)
        if held_out is None and self.early_stopping:
            data, held_out = self._split(data, random_state)
        training = self._dataset_of(data)
        validation = None if held_out is None else self._dataset_of(held_out)
        if is_new:
            self._build_net(training, random_state)
        self._train(training, validation, self._listeners(context, saved, validation), saved)
        if saved is not None:
            saved.finish(self.net_)

    def _fit_part(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Train for one epoch on some graphs, without early stopping."""
        self._validate_params()
        is_new = not hasattr(self, "net_")
        if not is_new:
            self._check_same_network("partial_fit")
        with self._fitted_or_not_at_all(is_new):
            X = self._read_if_molecules(X)
            data = self._read_training_data(X, y, sample_weight, None, reset=False, is_new=is_new)
            training = self._dataset_of(data)
            if is_new and not isinstance(self.n_members, str) and self.n_members > 1:
                self._make_members(self.n_members)
            self.oof_prediction_ = self.oof_losses_ = None  # all graphs are learned from
            for member in self.members_:
                if is_new:
                    member._build_net(training, check_random_state(member.random_state))
                elif member is not self:
                    self._hand_over(member)
                member._run_epochs(training, None, 1, [], is_part=True)
            self._take_first_net()
        return self

    @predicts_rows
    def transform(self, X: Any) -> NDArray[np.float32]:
        """Embed graphs: the vectors of the graphs, as the head of the network sees them.

        If graphs have features as a whole (`graph_features`), these stand in the last columns,
        standardized. If there are several networks, their vectors stand side by side.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs to embed.

        Returns
        -------
        embedding : ndarray of shape (n_graphs, n_embedding)
            A row for each graph.
        """
        dataset = self._prediction_data(X)
        embeddings = [member.net_.embed(dataset).numpy() for member in self.members_]
        return np.concatenate(embeddings, axis=1)

    def get_feature_names_out(self, input_features: None = None) -> NDArray[np.object_]:
        """Return the names of the columns of :meth:`transform`.

        For LoFI they are ``layer0_mask0`` and so on, for its peers the name of the class,
        numbered. Features of graphs as a whole have their own names, behind ``graph_``. If there
        are several networks, ``member0_`` and so on stands before all names.

        Parameters
        ----------
        input_features : None
            Ignored: graphs have no feature names.

        Returns
        -------
        names : ndarray of str
            A name for each column.
        """
        check_is_fitted(self)
        names = self._head_input_names()
        if len(self.members_) > 1:
            names = [
                f"member{number}_{name}"
                for number, member in enumerate(self.members_)
                for name in member._head_input_names()
            ]
        return np.asarray(names, dtype=object)

    def _head_input_names(self) -> list[str]:
        of_graphs = [f"graph_{name}" for name in self._graph_feature_names()]
        return [*self._embedding_names(), *of_graphs]

    def _graph_feature_names(self) -> tuple[str, ...]:
        """Return the names of the features of graphs as a whole that the network is given."""
        return () if self._graph_encoder is None else self._graph_encoder.names

    @property
    def module_(self) -> Any:
        """The trained PyTorch module."""
        give_up_lost_threads()
        return self.net_.module_

    @property
    def history_(self) -> History:
        """The record of every epoch, as in ``history_[:, "valid_loss"]``."""
        return self.net_.history

    @property
    def best_epoch_(self) -> int | None:
        """The epoch whose weights the network has, counted from 1 as in `history_`."""
        return self.net_.best_epoch_

    @property
    def n_epochs_(self) -> int:
        """Number of epochs that were run."""
        return len(self.net_.history)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "net_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []  # embeddings are of 32 bits
        return tags

    # Reading.

    @contextmanager
    def _fitted_or_not_at_all(self, is_new: bool) -> Iterator[None]:
        """Leave no half-fitted estimator behind if the fit of a new network fails."""
        if is_new:
            self._forget()
        try:
            yield
        except BaseException:
            if is_new:
                self._forget()
            raise

    def _forget(self) -> None:
        """Forget all networks, and what was found with them."""
        for name in ("net_", "_members", "_weights_of_classes", REMEMBERED, *ALONE):
            self.__dict__.pop(name, None)

    def _read_training_data(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, *, reset: bool, is_new: bool
    ) -> TrainingData:
        """Check the data; a new network learns from them what nodes and targets are."""
        data = self._check_data(X, y, sample_weight, groups, reset=reset)
        if is_new:
            attributes = self._graph_attributes()
            warn_of_training(
                X,
                data.graphs,
                type(self).__name__,
                uses_edge_labels="edge_label" in attributes,
                uses_features=True,
                uses_edge_weights="edge_weight" in attributes,
                uses_edge_features="edge_features" in attributes,
                uses_graph_features=self._uses_graph_features,
            )
            self.__dict__.update(ALONE)
            self._remember_molecules(data.graphs)
            self._learn_encoding(data.graphs, data.weight)
            self._learn_target(data.y, data.weight)
        return data

    def _check_data(
        self, X: Any, y: Any, sample_weight: Any, groups: Any = None, *, reset: bool
    ) -> TrainingData:
        """X, y, weights and groups as arrays of the same length, without weights of zero."""
        data = check_training_data(
            self,
            X,
            y,
            sample_weight,
            groups,
            **self._reading(),
            **self._target_checks,
            is_part=not reset,
        )
        y, weight = self._check_target(data.y, data.weight, reset=reset)
        by_value = self._value_weight(y, weight)
        return data._replace(y=y, weight=weight, value_weight=by_value)

    def _split(
        self, data: TrainingData, random_state: np.random.RandomState
    ) -> tuple[TrainingData, TrainingData | None]:
        """Set graphs aside for validation, if there are enough."""
        share = self.validation_fraction
        if is_splitter(share):
            ((rows, held_out),) = splits_of(share, 1, data.graphs, data.y, data.groups)
            return data.take(rows), data.take(held_out)
        rows, held_out = split_validation(self._strata(data.y), share, random_state, data.groups)
        self._warn_of_groups(data, len(held_out))
        return (data.take(rows), data.take(held_out)) if len(held_out) else (data, None)

    def _dataset(
        self,
        graphs: GraphSet,
        y: NDArray[Any] | None = None,
        weight: NDArray[np.float64] | None = None,
        value_weight: NDArray[np.float64] | None = None,
    ) -> GraphDataset:
        give_up_lost_threads()  # here, because whatever goes through a network needs a dataset
        return self._make_dataset(
            graphs,
            self._encoder,
            handle_unknown=self.handle_unknown,
            owner=type(self).__name__,
            y=None if y is None else self._network_target(y),
            weight=weight,
            graph_encoder=self._graph_encoder,
            value_weight=value_weight,
        )

    def _dataset_of(self, data: TrainingData) -> GraphDataset:
        return self._dataset(data.graphs, data.y, data.weight, data.value_weight)

    def _prediction_data(self, X: Any) -> GraphDataset:
        check_is_fitted(self)
        return self._dataset(as_graph_set(X, **self._reading()))

    def _outputs(self, X: Any) -> Tensor:
        return self._joint_outputs(self._prediction_data(X))

    # The net.

    @torch.inference_mode(False)
    def _build_net(self, training: GraphDataset, random_state: np.random.RandomState) -> None:
        architecture = {
            "n_features": self._encoder.n_columns,
            "n_outputs": self._n_outputs,
            **self._architecture(training),
        }
        if n_graph_features := len(self._graph_feature_names()):
            architecture["n_graph_features"] = n_graph_features
        # Searches have numbers of numpy, which not all layers take, and which may overflow.
        architecture = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in architecture.items()
        }
        check_network_memory(self._network, architecture)
        generator = torch.Generator().manual_seed(int(random_state.randint(2**31 - 1)))
        callbacks = copy_callbacks(self.callbacks)
        self.net_ = self._make_net(
            architecture, self._criterion, check_device(self.device), generator, callbacks
        )
        self._made_with = {**self._network_parameters(), "device": str(self.device)}
        self._start(training, generator)

    def _make_net(
        self,
        architecture: dict[str, Any],
        criterion: type[nn.Module],
        device: str,
        generator: torch.Generator,
        callbacks: list[Any] | None = None,
    ) -> GraphNet:
        give_up_lost_threads()
        prediction = self._prediction_batches(architecture)
        net: GraphNet = self._net_class(
            self._build_module,
            **{f"module__{name}": value for name, value in architecture.items()},
            module__generator=generator,
            module__dtype=torch.float32,  # as the batches are, whatever torch's default is
            criterion=criterion,
            criterion__reduction="none",  # GraphNet weights the graphs itself
            optimizer=torch.optim.AdamW,
            optimizer__weight_decay=self.weight_decay,
            optimizer__fused=True,
            lr=self.lr,
            batch_size=self.batch_size,
            iterator_train=BatchLoader,
            iterator_train__generator=generator,
            iterator_train__gradients=True,
            iterator_valid=BatchLoader,
            **{f"iterator_valid__{name}": value for name, value in prediction.items()},
            callbacks=callbacks,
            device=device,
            verbose=0,  # ProgressLog speaks for us
        ).initialize()
        return net

    def _check_same_network(self, way: str) -> None:
        """Refuse to train a network further that parameters no longer describe."""
        now, made_with = self._network_parameters(), self._parameters_of_net()
        changed = [
            f"{name} from {show(made_with[name])} to {show(now[name])}"
            for name in now
            if name in made_with and now[name] != made_with[name]
        ]
        if changed:
            raise ValueError(
                f"{way} goes on with the network as it is, but parameters that shape it have"
                f" changed since it was made: {', '.join(changed)}. Set them back, or fit a new"
                " network with warm_start=False."
            )
        device = str(self.device)
        if device == made_with.get("device", device):
            return
        for member in self.members_:
            if check_device(device) != member.net_.device:
                callbacks = member.net_.user_callbacks()
                member._set_net(net_state(member.net_), callbacks, check_device(device))
        self._take_first_net()
        self._made_with = {**made_with, "device": device}

    def _network_parameters(self) -> dict[str, Any]:
        """The parameters that a network is made with, and keeps."""
        names = [n for n in self._parameter_constraints if n not in self._may_change]
        parameters = {name: getattr(self, name) for name in names}
        # A list may grow in the hands of the user.
        return {**parameters, "callbacks": copy.copy(self.callbacks)}

    def _parameters_of_net(self) -> dict[str, Any]:
        """Those that the present network was made with."""
        if "_made_with" in vars(self):
            return {"callbacks": None, **self._made_with}  # files have no callbacks
        # A file of a former version: what the network itself tells. Its size may have been found
        # by the graphs where a parameter is None.
        architecture = self.net_.get_params_for("module").items()
        return {k: v for k, v in architecture if getattr(self, k, None) is not None}

    # Training.

    def _begin_fit_context(self, X: Any, y: Any) -> Any:
        """What scikit-learn's callbacks (1.9 and later) follow, or None."""
        if not hasattr(self, "_init_callback_context"):
            return None
        n_members = MOST_MEMBERS if isinstance(self.n_members, str) else self.n_members
        context = self._init_callback_context(max_subtasks=n_members * self.max_epochs)
        return context.call_on_fit_task_begin(estimator=self, X=X, y=y)

    def _open_checkpoint(
        self, path: Any, data: TrainingData, held_out: TrainingData | None, is_new: bool
    ) -> Checkpoint | None:
        if path is None:
            return None
        return Checkpoint(path, describe_call(self, data, held_out, None if is_new else self.net_))

    def _listeners(
        self, context: Any, saved: Checkpoint | None, validation: GraphDataset | None
    ) -> list[Callback]:
        """Callbacks for one fit, in the order in which they hear of an epoch's end."""
        listeners: list[Callback] = []
        if self._is_recorded(validation):
            listeners.append(RecordOutputs())
        if self.verbose:
            title = vars(self).get("_title", type(self).__name__)
            listeners.append(ProgressLog(title, self.max_epochs, int(self.verbose)))
        if context is not None:
            listeners.append(reports := EpochReports(self, context))
        if validation is not None and self.early_stopping:
            listeners.append(RestoreBest(self.patience))
        if saved is not None:
            listeners.append(saved)
        if context is not None:
            listeners.append(StopWhenAsked(reports))
        return listeners

    def _train(
        self,
        training: GraphDataset,
        validation: GraphDataset | None,
        listeners: list[Callback],
        saved: Checkpoint | None,
    ) -> None:
        """Run all epochs, or those that are left after what a checkpoint has saved."""
        n_epochs = self.max_epochs
        if saved is not None:
            n_validation = 0 if validation is None else len(validation)
            shape = (n_validation, self._n_outputs)
            n_epochs = saved.resume(self.net_, self.max_epochs, shape)
            if saved.is_finished:
                return
        self._run_epochs(training, validation, n_epochs, listeners)

    @torch.inference_mode(False)  # it also allows gradients, if the caller has forbidden them
    def _run_epochs(
        self,
        training: GraphDataset,
        validation: GraphDataset | None,
        n_epochs: int,
        listeners: list[Callback],
        is_part: bool = False,
    ) -> None:
        """Run some epochs, perhaps on a part of the training graphs only.

        Listeners are heard in this run and then forgotten.
        """
        net = self.net_
        net.set_params(
            max_epochs=n_epochs,
            batch_size=self.batch_size,
            lr=self.lr,
            optimizer__weight_decay=self.weight_decay,
        )
        own_callbacks = net.callbacks_
        listeners = [LastGoodWeights(), *listeners]
        # Names that no callback of the user's has.
        net.listeners_ = [(f"sklofi {type(listener).__name__}", listener) for listener in listeners]
        net.callbacks_ = own_callbacks + net.listeners_
        net.is_part_ = is_part
        try:
            net.partial_fit((training, validation))
        finally:
            net.callbacks_ = own_callbacks
            del net.listeners_, net.is_part_


def _check_given_together(X_val: Any, y_val: Any, sample_weight_val: Any) -> None:
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val have to be given together, or neither of them.")
    if X_val is None and sample_weight_val is not None:
        raise ValueError("sample_weight_val are weights of X_val, which is not given.")
