"""The state of a net as plain data, and checkpoints of a training."""

from __future__ import annotations

import os
import time
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

from sklofi.storage import Arrays, decode, encode, read_file, write_file

# A checkpoint is written at the end of an epoch if the last one is older than this.
SECONDS_BETWEEN = 1.0

CRITERIA = {
    criterion.__name__: criterion
    for criterion in (torch.nn.CrossEntropyLoss, torch.nn.L1Loss, torch.nn.MSELoss)
}
ARCHITECTURE = (
    *("n_features", "n_outputs", "n_layers", "n_masks", "n_words"),
    *("kernel", "pooling", "readout", "dropout"),
)


def net_state(net: NeuralNet) -> dict[str, Any]:
    """All that a net has learned, as arrays and plain values."""
    defaults = _default_names(net)
    return {
        "architecture": {name: getattr(net, f"module__{name}") for name in ARCHITECTURE},
        "criterion": net.criterion.__name__,
        "device": str(net.device),
        "weights": _to_arrays(net.module_.state_dict()),
        "optimizer": _to_arrays(net.optimizer_.state_dict()),
        "generator": _to_arrays(net.iterator_train__generator.get_state()),
        "history": [
            {name: value for name, value in row.items() if name != "batches"} for row in net.history
        ],
        "callbacks": {
            name: _callback_state(name, callback)
            for name, callback in net.callbacks_
            if name in defaults
        },
    }


def user_callbacks(net: NeuralNet) -> list[tuple[str, Callback]]:
    """The callbacks of a net that are neither its own nor here for one training only."""
    others = _default_names(net) | {name for name, _ in getattr(net, "listeners_", [])}
    return [item for item in net.callbacks_ if item[0] not in others]


def _default_names(net: NeuralNet) -> set[str]:
    return {name for name, _ in net.get_default_callbacks()}


def check_architecture(state: dict[str, Any]) -> dict[str, Any]:
    """The size of the network, if it is that of the weights.

    A file may claim any size; nothing is built before this is known to be true.
    """
    size, weights = state["architecture"], state["weights"]
    n_layers, n_masks = size["n_layers"], size["n_masks"]
    n_embedding = n_masks * (n_layers if size["readout"] == "all" else 1)
    expected = {
        "layers.0.dictionary": (n_masks, size["n_words"], size["n_features"]),
        "hidden.weight": (n_embedding, n_embedding),
        "output.weight": (size["n_outputs"], n_embedding),
    }
    n_found = sum(name.endswith(".dictionary") for name in weights)
    if n_found != n_layers or any(weights[k].shape != shape for k, shape in expected.items()):
        raise ValueError("the weights do not have the size of the network that is described")
    return {name: size[name] for name in ARCHITECTURE}


def restore_net(net: NeuralNet, state: dict[str, Any]) -> None:
    """Put what a net had learned into one of the same architecture."""
    net.module_.load_state_dict(_to_tensors(state["weights"], "cpu"))
    net.optimizer_.load_state_dict(_to_tensors(state["optimizer"], "cpu"))
    net.iterator_train__generator.set_state(_to_tensors(state["generator"], "cpu"))
    net.history = History()
    net.history.extend({"batches": [], **row} for row in state["history"])
    _restore_callbacks(net, state["callbacks"])


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
        if self.path.is_dir():
            self.path /= f"{joblib.hash(call)}.safetensors"
        self.call = call
        self.found: dict[str, Any] | None = None
        if self.path.exists():
            description, arrays = read_file(self.path)
            if (name := description.get("class")) != "checkpoint":
                raise ValueError(
                    f"{self.path} holds a saved {name}, not a checkpoint. Choose"
                    " another file for the checkpoint."
                )
            self._check_call(description["call"])
            self.found = decode(description["state"], arrays)

    @property
    def is_finished(self) -> bool:
        return self.found is not None and self.found["is_finished"]

    def random_state(self, fresh: np.random.RandomState) -> np.random.RandomState:
        """The source of all randomness as it was at the beginning of the first call."""
        if self.found is not None:
            fresh = self.found["random_state"]
        self.first_random_state = np.random.RandomState()
        self.first_random_state.set_state(fresh.get_state())
        return fresh

    def resume(self, net: NeuralNet, max_epochs: int) -> int:
        """Put what was found into the net; the number of epochs that are left to be run."""
        self.n_epochs_before = len(net.history)
        if self.found is not None:
            self.n_epochs_before = self.found["n_epochs_before"]
            restore_net(net, self.found["net"])
        return max_epochs - (len(net.history) - self.n_epochs_before)

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.last_written = time.monotonic()
        if self.found is not None:
            # Now that all have begun anew, let them be in the middle.
            restore_net(net, self.found["net"])
            _restore_callbacks(net, self.found["callbacks"])
            net.dropout_generator_.set_state(torch.from_numpy(self.found["dropout_generator"]))

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if time.monotonic() - self.last_written >= SECONDS_BETWEEN:
            self.write(
                net,
                is_finished=False,
                dropout_generator=net.dropout_generator_.get_state().numpy(),
                callbacks={
                    name: _callback_state(name, callback)
                    for name, callback in net.callbacks_
                    if callback is not self
                },
            )
            self.last_written = time.monotonic()

    def finish(self, net: NeuralNet) -> None:
        if not net.is_interrupted_:
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

    def _check_call(self, found: dict[str, Any]) -> None:
        if found == self.call:
            return
        others = {**found["parameters"], **self.call["parameters"]}
        names = sorted(
            name
            for name in others
            if found["parameters"].get(name) != self.call["parameters"].get(name)
        )
        what = f"other parameters ({', '.join(names)})" if names else "other graphs or targets"
        raise ValueError(
            f"The checkpoint {self.path} belongs to a fit of {what}. Choose another file or remove"
            " it to begin anew; a folder keeps the checkpoints of different fits apart."
        )


def describe_call(
    estimator: Any, training: Any, validation: Any, net: NeuralNet | None
) -> dict[str, Any]:
    """What the result of a fit depends on: parameters, data, and a net to start with."""
    learned = ("weights", "optimizer", "generator")
    start = None if net is None else [net_state(net)[name] for name in learned]
    data = [
        (graphs.fingerprint, graphs.labels, y, weight)
        for graphs, y, weight in filter(None, (training, validation))
    ]
    parameters = estimator.get_params(deep=False)
    parameters["callbacks"] = [
        type(item[-1] if isinstance(item, tuple) else item).__name__
        for item in parameters["callbacks"] or []
    ]
    if not isinstance(parameters["random_state"], int):
        del parameters["random_state"]  # the checkpoint remembers what it gave
    del parameters["device"], parameters["verbose"]  # which the result does not depend on
    return {
        "class": type(estimator).__name__,
        "parameters": {name: joblib.hash(value) for name, value in parameters.items()},
        "data": joblib.hash(data),
        "start": joblib.hash(start),
    }


def _callback_state(name: str, callback: Callback) -> dict[str, Any]:
    """The attributes of a callback that change in training."""
    state = {}
    for attribute in getattr(callback, "remembered", vars(callback)):
        value = getattr(callback, attribute)
        if isinstance(value, type | FunctionType):
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
        for attribute, value in state.items():
            value = _to_tensors(value, net.device)
            present: Any = getattr(callbacks[name], attribute, None)
            if hasattr(present, "load_state_dict"):
                present.load_state_dict(value)
            else:
                setattr(callbacks[name], attribute, value)


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
