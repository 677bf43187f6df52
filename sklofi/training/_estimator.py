"""What all networks share as estimators: the road from X and y to a trained net.

A network, LoFI or a peer of it, says what its module is and which batches it takes; a task
(:mod:`sklofi.training._tasks`) says what targets are and how outputs become predictions. See
:class:`BaseNetwork` for the few things that they have to give.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from sklofi._messages import show
from sklofi._parameters import AT_LEAST_1, learning_rate, network_estimator, parameter
from sklofi._storage import SavedEstimator
from sklofi._validation import check_training_data
from sklofi.graphs._input import as_graph_set
from sklofi.graphs._labels import DEFAULT_NODE_LABEL
from sklofi.graphs._warnings import warn_of_training
from sklofi.training._callbacks import EpochReports, LastGoodWeights, RestoreBest, StopWhenAsked
from sklofi.training._checkpoint import (
    CRITERIA,
    Checkpoint,
    check_architecture,
    describe_call,
    net_state,
    restore_net,
)
from sklofi.training._dataset import BatchLoader
from sklofi.training._device import check_device, check_size, give_up_lost_threads, is_usable
from sklofi.training._encoding import NodeEncoder
from sklofi.training._progress import ProgressLog
from sklofi.training._skorch import Callback
from sklofi.training._split import split_validation

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9: the callback protocol is simply absent

    class CallbackSupportMixin:  # type: ignore[no-redef]
        pass

    def with_callbacks(method):  # type: ignore[no-redef]
        return method


def _copy_callbacks(callbacks):
    """Copies for skorch, which sets attributes on the callbacks that it uses."""
    for item in callbacks or []:
        callback = item[-1] if isinstance(item, tuple) else item
        kind = callback if isinstance(callback, type) else type(callback)
        if not issubclass(kind, Callback):
            raise TypeError(
                f"callbacks has to hold skorch callbacks or (name, callback) pairs, got {item!r}."
            )
    return copy.deepcopy(list(callbacks)) if callbacks else None


@network_estimator
class BaseNetwork(SavedEstimator, CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators that train a network.

    A network gives `_network` (the class of the module), `_build_module` (which makes one
    with initial values), and the methods `_architecture` (the arguments of the module),
    `_make_dataset` (graphs, and how to cut batches from them), `_prediction_batches` (how
    large these may be) and `_names` (of the columns of its vectors of graphs).

    A task gives `_net_class`, `_criterion`, `_n_outputs`, the arguments `_target_checks` of
    scikit-learn's validation of y, and the methods `_check_target` (targets and weights
    checked), `_strata` (what a validation part is balanced over) and `_network_target`
    (targets as the net sees them).
    """

    node_label: Hashable | None = parameter(
        DEFAULT_NODE_LABEL,
        "no_validation",
        """Node attribute with a categorical label: any hashable value. Under the default
        name it may be absent, then all nodes count as alike. None ignores labels.""",
    )
    node_features: Hashable | None = parameter(
        None,
        "no_validation",
        """Node attribute with a number or a vector of numbers. They are standardized over
        the training graphs and stand beside the labels. Like `node_label`, it is for
        networkx graphs: for a :class:`GraphSet` both were chosen when it was made.""",
    )
    handle_unknown: str = parameter(
        "ignore",
        [StrOptions({"ignore", "error"})],
        """What to do with node labels that no training graph has: take them as an all-zero
        vector, or raise an error.""",
    )
    max_epochs: int = parameter(
        200, AT_LEAST_1, "Largest number of passes over the training graphs."
    )
    lr: float = learning_rate(0.005)
    batch_size: int = parameter(32, AT_LEAST_1, "Number of graphs in a training step.")
    weight_decay: float = parameter(
        0.0,
        [Interval(Real, 0, None, closed="left")],
        "Weight decay of the AdamW optimizer.",
    )
    early_stopping: bool = parameter(
        True,
        ["boolean"],
        """Whether to stop when the loss on validation graphs stops falling, and to go back
        to the weights that were best on them.""",
    )
    validation_fraction: float = parameter(
        0.1,
        [Interval(Real, 0, 1, closed="neither")],
        """Share of the training graphs to set aside for early stopping. Not
        used if `X_val` and `y_val` are passed to `fit`.""",
    )
    patience: int = parameter(
        30,
        AT_LEAST_1,
        """Number of epochs after which training stops if the validation loss has not become
        lower than before, by more than 0.0001. Losses have no unit: they are cross-entropies,
        or errors of standardized targets.""",
    )
    device: str = parameter(
        "auto",
        [str, torch.device],
        """Where to compute, in the words of torch: "cpu", "cuda", "cuda:1"; "auto" takes a
        GPU if there is one.""",
    )
    warm_start: bool = parameter(
        False,
        ["boolean"],
        """Whether a further call of `fit` goes on from the present weights. The network
        stays as it is: of the parameters, only those of the training may change, and
        `fit` refuses others that have. So does `partial_fit`.""",
    )
    callbacks: list[Any] | None = parameter(
        None,
        [list, tuple, None],
        """Further callbacks for the training, such as learning rate schedulers. They are
        copied; the copies that were used are in ``net_.callbacks_``.""",
    )
    random_state: int | np.random.RandomState | None = parameter(
        None,
        ["random_state"],
        """Determines initial weights, validation graphs, batches and dropout. The global
        generators of numpy and torch are left alone if this is an int. Equal bits need
        equal numbers of threads as well: ``torch.set_num_threads(1)`` here, and
        ``joblib.parallel_config("loky", inner_max_num_threads=1)`` for worker processes.""",
    )
    verbose: int = parameter(
        0,
        ["verbose"],
        """1 shows a progress bar on a terminal and some lines elsewhere, 2 a line for
        every epoch.""",
    )

    _saved_classes: ClassVar[tuple[type, ...]] = (NodeEncoder,)

    # The parameters that may change while a network is trained further.
    _training_parameters: ClassVar[frozenset[str]] = frozenset(
        {
            *("handle_unknown", "max_epochs", "lr", "batch_size", "weight_decay"),
            *("early_stopping", "validation_fraction", "patience"),
            *("device", "warm_start", "random_state", "verbose"),
        }
    )

    @with_callbacks
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, checkpoint=None):
        """Fit the network to graphs and their targets.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Training graphs.

        y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
            Targets; several columns for regression only.

        sample_weight : array-like of shape (n_graphs,), default=None
            Weights of the graphs. Graphs of weight zero are left out altogether.

        X_val : list of networkx graphs, or GraphSet, default=None
            Graphs for early stopping, in place of a part of `X`. In a `Pipeline`,
            `X_val` can be transformed the same way as `X` with
            `Pipeline(..., transform_input=["X_val"])`.

        y_val : array-like of shape (n_val,) or (n_val, n_outputs), default=None
            Targets of `X_val`.

        checkpoint : path-like, default=None
            File in which the state of the training is kept, every second or so. If the
            process is killed, the same call goes on from there and ends in the same model;
            once it has ended, the same call takes the model from the file. In an existing
            folder each fit has a file of its own, so that a search can be given one.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val have to be given together, or neither of them.")
        resume = self.warm_start and hasattr(self, "net_")
        if resume:
            self._check_same_network("warm_start=True")
        task = self._begin_task(X, y)
        if not resume:
            vars(self).pop("net_", None)  # a fit that fails leaves no half-fitted estimator
        training = self._check_data(X, y, sample_weight, reset=not resume)
        if not resume:
            self._warn_of_training(X, training[0])
            self._learn_encoding(*training)
        random_state = check_random_state(self.random_state)
        validation = None
        if X_val is not None:
            validation = self._check_data(X_val, y_val, None, reset=False)
        if checkpoint is not None:
            call = describe_call(self, training, validation, self.net_ if resume else None)
            checkpoint = Checkpoint(checkpoint, call)
            random_state = checkpoint.random_state(random_state)
        if validation is None and self.early_stopping:
            training, validation = self._split(training, random_state)

        training = self._dataset(*training)
        validation = None if validation is None else self._dataset(*validation)
        listeners = self._listeners(task, checkpoint, has_validation=validation is not None)
        try:
            if not resume:
                self._build_net(training, random_state)
            if checkpoint is None:
                self._train(training, validation, self.max_epochs, listeners)
            else:
                n_epochs = checkpoint.resume(self.net_, self.max_epochs)
                if not checkpoint.is_finished:
                    self._train(training, validation, n_epochs, listeners)
        except BaseException:
            if not resume:
                vars(self).pop("net_", None)
            raise
        if checkpoint is not None:
            checkpoint.finish(self.net_)
        if task is not None:
            task.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    def _partial_fit(self, X, y, sample_weight):
        """One epoch over the given graphs, without early stopping."""
        self._validate_params()
        first_call = not hasattr(self, "net_")
        if not first_call:
            self._check_same_network("partial_fit")
        training = self._check_data(X, y, sample_weight, reset=False)
        if first_call:
            self._warn_of_training(X, training[0])
            self._learn_encoding(*training)
        training = self._dataset(*training)
        try:
            if first_call:
                self._build_net(training, check_random_state(self.random_state))
            self._train(training, None, epochs=1, listeners=[], is_part=True)
        except BaseException:
            if first_call:
                vars(self).pop("net_", None)
            raise
        return self

    def transform(self, X):
        """Embed graphs: the vectors of the graphs, as the head of the network sees them.

        Parameters
        ----------
        X : list of networkx graphs, or GraphSet
            Graphs to embed.

        Returns
        -------
        embedding : ndarray of shape (n_graphs, n_embedding)
        """
        dataset = self._prediction_data(X)
        return self.net_.embed(dataset).numpy()

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of :meth:`transform`.

        For LoFI they are ``layer0_mask0`` and so on, for its peers the name of the class,
        numbered.

        Parameters
        ----------
        input_features : None
            Ignored: graphs have no feature names.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        return np.asarray(self._names(), dtype=object)

    @property
    def module_(self):
        """The trained PyTorch module."""
        give_up_lost_threads()
        return self.net_.module_

    @property
    def history_(self):
        """skorch's record of every epoch, as in ``history_[:, "valid_loss"]``."""
        return self.net_.history

    @property
    def n_epochs_(self):
        """Number of epochs that were run."""
        return len(self.net_.history)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "net_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []  # embeddings are of 32 bits
        return tags

    def _begin_task(self, X, y):
        """The task that scikit-learn's callbacks (1.9 and later) follow, or None."""
        if not hasattr(self, "_init_callback_context"):
            return None
        context = self._init_callback_context(max_subtasks=self.max_epochs)
        return context.call_on_fit_task_begin(estimator=self, X=X, y=y)

    def _listeners(self, task, checkpoint, *, has_validation):
        """Callbacks for one fit, in the order in which they hear of an epoch's end."""
        listeners = []
        if self.verbose:
            listeners.append(ProgressLog(type(self).__name__, self.max_epochs, int(self.verbose)))
        if task is not None:
            listeners.append(tasks := EpochReports(self, task))
        if has_validation and self.early_stopping:
            listeners.append(RestoreBest(self.patience))
        if checkpoint is not None:
            listeners.append(checkpoint)
        if task is not None:
            listeners.append(StopWhenAsked(tasks))
        return listeners

    def _check_same_network(self, way):
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
        if device != made_with.get("device", device) and check_device(device) != self.net_.device:
            callbacks = self.net_.user_callbacks()
            self._set_net(net_state(self.net_), callbacks, check_device(device))
            self._made_with = {**made_with, "device": device}

    def _network_parameters(self):
        """The parameters that a network is made with, and keeps."""
        names = [one for one in self._parameter_constraints if one not in self._training_parameters]
        parameters = {name: getattr(self, name) for name in names}
        # A list may grow in the hands of the user.
        return {**parameters, "callbacks": copy.copy(self.callbacks)}

    def _parameters_of_net(self):
        """Those that the present network was made with."""
        if "_made_with" in vars(self):
            return {"callbacks": None, **self._made_with}  # files have no callbacks
        # A file of a former version: what the network itself tells. Its size may have been found
        # by the graphs where a parameter is None.
        architecture = self.net_.get_params_for("module").items()
        return {k: v for k, v in architecture if getattr(self, k, None) is not None}

    def _check_data(self, X, y, sample_weight, *, reset):
        """X, y and weights as arrays of the same length, without weights of zero."""
        graphs, y, weight = check_training_data(
            self,
            X,
            y,
            sample_weight,
            **self._attributes(),
            **self._target_checks,
        )
        y, weight = self._check_target(y, weight, reset=reset)
        return graphs, y, weight

    def _split(self, training, random_state):
        graphs, y, weight = training
        rows, rest = split_validation(self._strata(y), self.validation_fraction, random_state)
        if not len(rest):  # too few graphs to set any aside
            return training, None
        return (graphs[rows], y[rows], weight[rows]), (graphs[rest], y[rest], weight[rest])

    def _warn_of_training(self, X, graphs):
        uses_edge_labels = "edge_label" in self._attributes()
        warn_of_training(X, graphs, type(self).__name__, uses_edge_labels, uses_features=True)

    def _learn_encoding(self, graphs, y, weight):
        self._encoder = NodeEncoder.fit(graphs, weight)
        self.node_labels_ = list(self._encoder.labels) if self._encoder.has_labels else []

    def _attributes(self):
        """The attributes of networkx graphs that are read."""
        return {"node_label": self.node_label, "node_features": self.node_features}

    def _dataset(self, graphs, y=None, weight=None):
        give_up_lost_threads()  # here, because whatever goes through a network needs a dataset
        return self._make_dataset(
            graphs,
            self._encoder,
            handle_unknown=self.handle_unknown,
            owner=type(self).__name__,
            y=None if y is None else self._network_target(y),
            weight=weight,
        )

    def _prediction_data(self, X):
        check_is_fitted(self)
        return self._dataset(as_graph_set(X, **self._attributes()))

    def _outputs(self, X):
        dataset = self._prediction_data(X)
        return self.net_.forward(dataset)

    @torch.inference_mode(False)
    def _build_net(self, training, random_state):
        architecture = {
            "n_features": self._encoder.n_columns,
            "n_outputs": self._n_outputs,
            **self._architecture(training),
        }
        # Searches have numbers of numpy, which not all layers take, and which may overflow.
        architecture = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in architecture.items()
        }
        check_size(self._network, architecture)
        generator = torch.Generator().manual_seed(int(random_state.randint(2**31 - 1)))
        callbacks = _copy_callbacks(self.callbacks)
        self.net_ = self._make_net(
            architecture, self._criterion, check_device(self.device), generator, callbacks
        )
        self._made_with = {**self._network_parameters(), "device": str(self.device)}
        self._start(training, generator)

    def _start(self, training, generator):
        """Choose initial values by the training graphs, where the generator's are not enough."""

    def _make_net(self, architecture, criterion, device, generator, callbacks=None):
        """A net with random weights."""
        give_up_lost_threads()
        prediction = self._prediction_batches(architecture)
        return self._net_class(
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

    @torch.inference_mode(False)  # it also allows gradients, if the caller has forbidden them
    def _train(self, training, validation, epochs, listeners, is_part=False):
        """Run some epochs, perhaps on a part of the training graphs only.

        Listeners are heard in this run and then forgotten.
        """
        net = self.net_
        net.set_params(
            max_epochs=epochs,
            batch_size=self.batch_size,
            lr=self.lr,
            optimizer__weight_decay=self.weight_decay,
        )
        own_callbacks = net.callbacks_
        listeners = [LastGoodWeights(), *listeners]
        # Names that no callback of the user's has.
        net.listeners_ = [(f"sklofi {type(one).__name__}", one) for one in listeners]
        net.callbacks_ = own_callbacks + net.listeners_
        net.is_part_ = is_part
        try:
            net.partial_fit((training, validation))
        finally:
            net.callbacks_ = own_callbacks
            del net.listeners_, net.is_part_

    @classmethod
    def load(cls, path, *, device=None):
        """Read an estimator from a file that :meth:`save` has written.

        Nothing is unpickled and no code from the file is run, whatever is in it, and a
        later fit of what was loaded opens nothing that you did not give it. Whether its
        predictions are to be trusted is another question.

        Parameters
        ----------
        path : str or path-like
            The file.

        device : str, default=None
            Where to compute from now on; becomes the parameter `device`. By default the
            parameter stays as it was saved, unless there is no such device here.

        Returns
        -------
        estimator : object
            The fitted estimator. On a device of the same kind it predicts the same as the
            one that was saved, to the last bit.
        """
        if device is not None:
            check_device(device)
        return super().load(path, device=device)

    def _saved_parameters(self):
        return {**super()._saved_parameters(), "device": str(self.device)}

    def _fitted_state(self):
        state = super()._fitted_state()
        net, _ = state["net_"]  # callbacks of the user's are not plain data
        state = {**state, "net_": net}
        if "_made_with" in state:
            made_with = state["_made_with"].items()
            state["_made_with"] = {name: one for name, one in made_with if name != "callbacks"}
        return state

    def _set_fitted_state(self, state, device=None):
        if device is not None:
            self.device = device
        elif not is_usable(self.device):
            self.device = "auto"
        state = dict(state)
        if state["net_"]["architecture"]["n_features"] != state["_encoder"].n_columns:
            raise ValueError("the network does not take the nodes that are described")
        net = self._restored_net(state.pop("net_"), check_device(self.device))
        vars(self).update(state, net_=net)

    def _check_loaded(self):
        if self._n_outputs != self.net_.module__n_outputs:
            raise ValueError("the network does not give the outputs that are described")

    @torch.inference_mode(False)  # tensors that are made there can never be trained
    def _restored_net(self, state, device):
        self._check_architecture(state["architecture"])
        architecture = check_architecture(self._network, state)
        criterion = CRITERIA[state["criterion"]]
        net = self._make_net(architecture, criterion, device, torch.Generator())
        restore_net(net, state)
        net.module_.eval()
        return net

    def _check_architecture(self, architecture):
        """Check that what a file says of the network could have been a parameter."""
        own = {k: v for k, v in architecture.items() if k in self._parameter_constraints}
        others = {k: v for k, v in architecture.items() if k not in own}
        constraints = {**self._parameter_constraints, **dict.fromkeys(others, AT_LEAST_1)}
        validate_parameter_constraints(constraints, {**own, **others}, type(self).__name__)

    def __getstate__(self):
        """For pickle, copy and skops: the net as data, so that none of them meets torch."""
        state = super().__getstate__()
        if "net_" not in state:
            return state
        return {**state, "net_": (net_state(self.net_), self.net_.user_callbacks())}

    def __setstate__(self, state):
        state = dict(state)
        net, callbacks = state.pop("net_", (None, []))
        super().__setstate__(state)
        if net is not None:
            self._set_net(net, callbacks, net["device"] if is_usable(net["device"]) else "cpu")

    def _set_net(self, state, callbacks, device):
        self.net_ = self._restored_net(state, device)
        self.net_.callbacks_ += callbacks
