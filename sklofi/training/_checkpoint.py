"""The state of a net as plain data, and checkpoints of a training."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from numbers import Integral
from pathlib import Path
from types import FunctionType
from typing import Any

import joblib
import numpy as np
import torch
from skorch import NeuralNet
from skorch.callbacks import Callback
from skorch.history import History
from torch import Tensor

from sklofi._messages import shorten
from sklofi._storage import DAMAGE, Arrays, check_attributes, decode, encode, read_file, write_file

# A checkpoint is written at the end of an epoch if the last one is older than this.
SECONDS_BETWEEN = 1.0


CRITERIA = {
    criterion.__name__: criterion
    for criterion in (torch.nn.CrossEntropyLoss, torch.nn.L1Loss, torch.nn.MSELoss)
}


def net_state(net: NeuralNet) -> dict[str, Any]:
    """All that a net has learned, as arrays and plain values."""
    arguments = net.get_params_for("module")
    return {
        "architecture": {k: v for k, v in arguments.items() if k not in ("generator", "dtype")},
        "criterion": net.criterion.__name__,
        "device": str(net.device),
        "weights": _to_arrays(net.module_.state_dict()),
        "optimizer": _to_arrays(net.optimizer_.state_dict()),
        "generator": _to_arrays(net.iterator_train__generator.get_state()),
        "frozen": [name for name, one in net.module_.named_parameters() if not one.requires_grad],
        "history": [
            {name: _to_arrays(value) for name, value in row.items() if name != "batches"}
            for row in net.history
        ],
        "callbacks": {
            name: _callback_state(name, callback)
            for name, callback in net.callbacks_
            if name in net.own_names()
        },
    }


def check_architecture(network: type[torch.nn.Module], state: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a network, if its size is that of the weights.

    A file may claim any size, so the network is first made where weights take no memory. Layers
    do, so a shallow one is made to grow, and given up when it has more weights than there are.
    """
    size, weights = dict(state["architecture"]), state["weights"]
    if not all(type(value) in (bool, int, float, str) for value in size.values()):
        raise ValueError("the network is not described by plain numbers and texts")
    n_numbers = sum(array.size for array in weights.values())
    if any(not 0 <= value <= n_numbers for value in size.values() if type(value) is int):
        raise ValueError("the network that is described is larger than its weights")
    for some in _growing(size):
        with torch.device("meta"):
            expected = {name: one.shape for name, one in network(**some).state_dict().items()}
        if len(expected) > len(weights):
            raise ValueError("the network that is described is larger than its weights")
    if expected != {name: array.shape for name, array in weights.items()}:
        raise ValueError("the weights do not have the size of the network that is described")
    return size


def _growing(size: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same size with 1, 2, 4, ... layers, at last with all of them."""
    depths = {name: size[name] for name in size if name in ("n_layers", "n_poolings")}
    for n_most in (2**i for i in count()):
        some = {name: min(depth, n_most) for name, depth in depths.items()}
        yield {**size, **some}
        if some == depths:
            return


def restore_net(net: NeuralNet, state: dict[str, Any]) -> None:
    """Put what a net had learned into one of the same architecture."""
    parameters = list(net.module_.named_parameters())
    for name, parameter in parameters:
        parameter.requires_grad_(name not in state["frozen"])
    net.module_.load_state_dict(_to_tensors(state["weights"], "cpu"))
    _check_optimizer(state["optimizer"], [parameter for _, parameter in parameters])
    net.optimizer_.load_state_dict(_to_tensors(state["optimizer"], "cpu"))
    net.iterator_train__generator.set_state(_to_tensors(state["generator"], "cpu"))
    if not all("epoch" in row for row in state["history"]):
        raise ValueError("the history has rows that belong to no epoch")
    net.history = History()
    net.history.extend({"batches": [], **row} for row in state["history"])
    _restore_callbacks(net, state["callbacks"])


def _check_optimizer(state: dict[str, Any], parameters: list[Tensor]) -> None:
    """Check that averages have the sizes of their parameters: the optimizer does not look."""
    (group,) = state["param_groups"]
    is_sound = list(group["params"]) == list(range(len(parameters))) and group["fused"] is True
    for index, own in state["state"].items():
        shape = tuple(parameters[index].shape)
        is_sound &= index >= 0
        is_sound &= own.keys() == {"step", "exp_avg", "exp_avg_sq"} and own["step"].size == 1
        is_sound &= own["exp_avg"].shape == own["exp_avg_sq"].shape == shape
        is_sound &= own["exp_avg"].dtype == own["exp_avg_sq"].dtype == np.float32
    if not is_sound:
        raise ValueError("the state of the optimizer does not have the size of the weights")


class Checkpoint(Callback):
    """Keep the whole state of a training in a file, to go on from there after a crash.

    Parameters
    ----------
    path : path-like
        The file; in a folder, one whose name is made of the parameters and the data.

    call : dict
        What the training depends on, in digests; see :func:`describe_call`.
    """

    def __init__(self, path: str | os.PathLike[str], call: dict[str, Any]) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise ValueError(f"There is no folder {self.path.parent} to keep a checkpoint in.")
        if self.path.is_dir():
            if "random_state" not in call["parameters"]:
                raise ValueError(
                    "random_state=None cannot tell fits apart that keep their checkpoints in a"
                    " folder. Set random_state to an int."
                )
            self.path /= f"{joblib.hash(call)}.safetensors"
        self.call = call
        self.found: dict[str, Any] | None = None
        if self.path.exists():
            description, arrays = read_file(self.path)
            if (name := description.get("class")) != "checkpoint":
                raise ValueError(
                    f"{self.path} holds a saved {shorten(name)}, not a checkpoint. Choose"
                    " another file for the checkpoint."
                )
            with self._taken_for_damage():
                others = self._differences(description["call"])
            if others:
                raise ValueError(
                    f"The checkpoint {self.path} belongs to a fit of {others}. Choose another file"
                    " or remove it to begin anew; a folder keeps the checkpoints of different fits"
                    " apart."
                )
            with self._taken_for_damage():
                self.found = decode(description["state"], arrays)
                self._check_found()

    @contextmanager
    def _taken_for_damage(self) -> Iterator[None]:
        """Say of what fails that the file is damaged."""
        try:
            yield
        except DAMAGE as error:
            raise ValueError(
                f"{self.path} is damaged: it is no whole checkpoint ({type(error).__name__}:"
                f" {shorten(error)}). Remove it to begin anew."
            ) from error

    def _check_found(self) -> None:
        found: Any = self.found
        n_epochs, n_before = len(found["net"]["history"]), found["n_epochs_before"]
        if type(n_before) is not int or not 0 <= n_before <= n_epochs:
            raise ValueError("the history does not have the epochs that are said to be in it")
        if type(found["is_finished"]) is not bool:
            raise TypeError("is_finished is not a bool")
        if type(found["random_state"]) is not np.random.RandomState:
            raise TypeError("random_state is not one")

    @property
    def is_finished(self) -> bool:
        return self.found is not None and self.found["is_finished"]

    def random_state(self, fresh: np.random.RandomState) -> np.random.RandomState:
        """The source of all randomness as it was at the beginning of the first call."""
        if self.found is not None and fresh is np.random.mtrand._rand:
            fresh = self.found["random_state"]  # the global one is not for us to set
        elif self.found is not None:
            fresh.set_state(self.found["random_state"].get_state())
        self.first_random_state = np.random.RandomState()
        self.first_random_state.set_state(fresh.get_state())
        return fresh

    def resume(self, net: NeuralNet, max_epochs: int) -> int:
        """Put what was found into the net; the number of epochs that are left to be run."""
        self.n_epochs_before = len(net.history)
        if self.found is not None:
            self.n_epochs_before = self.found["n_epochs_before"]
            with self._taken_for_damage():
                restore_net(net, self.found["net"])
        return max_epochs - (len(net.history) - self.n_epochs_before)

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.last_written = time.monotonic()
        self._callback_states(net)  # those that cannot be kept are refused now
        for _, callback in net.callbacks_:
            if hasattr(callback, "first_epoch"):
                callback.first_epoch = self.n_epochs_before
        if self.found is not None:
            # Now that all have begun anew, let them be in the middle.
            with self._taken_for_damage():
                restore_net(net, self.found["net"])
                _restore_callbacks(net, self.found["callbacks"])
                net.dropout_generator_.set_state(torch.from_numpy(self.found["dropout_generator"]))

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if time.monotonic() - self.last_written >= SECONDS_BETWEEN:
            self.write(
                net,
                is_finished=False,
                dropout_generator=net.dropout_generator_.get_state().numpy(),
                callbacks=self._callback_states(net),
            )
            self.last_written = time.monotonic()

    def _callback_states(self, net: NeuralNet) -> dict[str, Any]:
        return {
            name: _callback_state(name, callback)
            for name, callback in net.callbacks_
            if callback is not self
        }

    def finish(self, net: NeuralNet) -> None:
        if not self.is_finished and not net.is_interrupted_:
            self.write(net, is_finished=True)

    def write(self, net: NeuralNet, *, is_finished: bool, **more: Any) -> None:
        state = {
            "is_finished": is_finished,
            "random_state": self.first_random_state,
            "n_epochs_before": self.n_epochs_before,
            "net": net_state(net),
            **more,
        }
        arrays: Arrays = {}
        description = {
            "class": "checkpoint",
            "call": self.call,
            "state": encode(state, "state", arrays),
        }
        write_file(self.path, description, arrays)

    def _differences(self, found: dict[str, Any]) -> str:
        """In what another call differs from ours, or nothing."""
        if found == self.call:
            return ""
        others = {**found["parameters"], **self.call["parameters"]}
        names = sorted(
            name
            for name in others
            if found["parameters"].get(name) != self.call["parameters"].get(name)
        )
        if names:
            return f"other parameters ({shorten(', '.join(names))})"
        return "other graphs or targets"


def describe_call(
    estimator: Any, training: Any, validation: Any, net: NeuralNet | None
) -> dict[str, Any]:
    """What the result of a fit depends on: parameters, data, and a net to start with."""
    learned = ("weights", "optimizer", "generator")
    start = None if net is None else [net_state(net)[name] for name in learned]
    data = [
        (graphs.fingerprint, _in_a_fixed_order(_labels_of(graphs)), y, weight)
        for graphs, y, weight in filter(None, (training, validation))
    ]
    parameters = estimator.get_params(deep=False)
    parameters["callbacks"] = [_describe_callback(one) for one in parameters["callbacks"] or []]
    random_state = parameters.pop("random_state")
    if isinstance(random_state, Integral):
        parameters["random_state"] = int(random_state)
    elif random_state is not None:
        parameters["random_state"] = random_state.get_state()
    del parameters["device"], parameters["verbose"]  # which the result does not depend on
    return {
        "class": type(estimator).__name__,
        "parameters": {name: joblib.hash(value) for name, value in parameters.items()},
        "data": joblib.hash(data),
        "start": joblib.hash(start),
    }


def _describe_callback(item: Any) -> Any:
    callback = item[-1] if isinstance(item, tuple) else item
    kind = callback if isinstance(callback, type) else type(callback)
    state = {} if callback is kind else _callback_state(kind.__name__, callback)
    return f"{kind.__module__}.{kind.__qualname__}", state


def _labels_of(graphs: Any) -> Any:
    return (graphs.labels, graphs.edge_labels) if graphs.edge_labels else graphs.labels


def _in_a_fixed_order(label: Any) -> Any:
    """A label whose digest is the same in every process, which sets of texts have not."""
    if isinstance(label, frozenset):
        return "frozenset", sorted(joblib.hash(_in_a_fixed_order(one)) for one in label)
    return tuple(map(_in_a_fixed_order, label)) if isinstance(label, tuple) else label


def _callback_state(name: str, callback: Callback) -> dict[str, Any]:
    """The attributes of a callback that change in training."""
    state = {}
    for attribute in getattr(callback, "remembered", vars(callback)):
        value = getattr(callback, attribute)
        if isinstance(value, type | FunctionType | partial):
            continue  # the callback has it in the next run as well
        value = _to_arrays(value.state_dict() if hasattr(value, "state_dict") else value)
        try:
            encode(value, "", {})
        except TypeError:
            if not attribute.endswith("_"):
                continue  # a parameter, by the convention of scikit-learn and skorch
            raise TypeError(
                f"The callback {name!r} cannot be kept in a checkpoint, because its attribute"
                f" {attribute} is of the type {type(value).__name__}."
            ) from None
        state[attribute] = value
    return state


def _restore_callbacks(net: NeuralNet, states: dict[str, dict[str, Any]]) -> None:
    callbacks = dict(net.callbacks_)
    for name, state in states.items():
        if not state:  # perhaps of one that is not here, such as a progress bar
            continue
        kind = type(callbacks[name])
        # What the user gave to a callback, perhaps the name of a file to write, is there already.
        state = {key: state[key] for key in state.keys() - _parameter_names(kind)}
        check_attributes(kind, state)
        state = _to_tensors(state, net.device)
        if name == "average_weights":
            callbacks[name].check_state(net, state)
        for attribute, value in state.items():
            present: Any = getattr(callbacks[name], attribute, None)
            if hasattr(present, "load_state_dict"):
                present.load_state_dict(value)
            else:
                setattr(callbacks[name], attribute, value)


def _parameter_names(kind: type) -> set[str]:
    """What the constructors of a class and of its bases take."""
    constructors = [vars(one).get("__init__") for one in kind.__mro__]
    return {
        name
        for one in constructors
        if isinstance(one, FunctionType)  # not that of object
        for name in inspect.signature(one).parameters
    }


def _to_arrays(value: Any) -> Any:
    """The same with arrays in place of tensors."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy().copy()
    if isinstance(value, dict):
        return {key: _to_arrays(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_to_arrays, value))
    return value


def _to_tensors(value: Any, device: str | torch.device) -> Any:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy()).to(device)
    if isinstance(value, dict):
        return {key: _to_tensors(one, device) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_to_tensors(one, device) for one in value)
    return value
