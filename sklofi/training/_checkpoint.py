"""Checkpoints of a training."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch

from sklofi._messages import shorten
from sklofi._storage import DAMAGE, Arrays, decode, encode, read_file, write_file
from sklofi._validation import TrainingData
from sklofi.training._callbacks import RecordOutputs
from sklofi.training._net_state import callback_state, net_state, restore_callbacks, restore_net
from sklofi.training._skorch import Callback, NeuralNet

# A checkpoint is written at the end of an epoch if the last one is older than this.
SECONDS_BETWEEN = 1.0


class Checkpoint(Callback):
    """Write the whole state of a training to a file, to continue from there after a crash.

    Parameters
    ----------
    path : path-like
        The file. If it is a folder, a file in it, whose name is a digest of `call`.

    call : dict
        Digests of all that the training depends on; see :func:`describe_call`.
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
            self._read()

    def _read(self) -> None:
        """Read the state of the training from the file, and check that it is of the same call."""
        description, arrays = read_file(self.path)
        if (name := description.get("class")) != "checkpoint":
            raise ValueError(
                f"{self.path} holds a saved {shorten(name)}, not a checkpoint. Choose"
                " another file for the checkpoint."
            )
        with self._errors_as_damage():
            difference = self._difference(description["call"])
        if difference:
            raise ValueError(
                f"The checkpoint {self.path} belongs to a fit of {difference}. Choose another file"
                " or remove it to begin anew; a folder keeps the checkpoints of different fits"
                " apart."
            )
        with self._errors_as_damage():
            self.found = decode(description["state"], arrays)
            self._check_found()

    @contextmanager
    def _errors_as_damage(self) -> Iterator[None]:
        """Turn errors of reading into one that says that the file is damaged."""
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
        """Whether the file holds a training that has ended."""
        return self.found is not None and self.found["is_finished"]

    def random_state(self, fresh: np.random.RandomState) -> np.random.RandomState:
        """Return the source of all randomness as it was at the beginning of the first call."""
        if self.found is not None and fresh is np.random.mtrand._rand:
            fresh = self.found["random_state"]  # the global one is the user's to set
        elif self.found is not None:
            fresh.set_state(self.found["random_state"].get_state())
        self.first_random_state = np.random.RandomState()
        self.first_random_state.set_state(fresh.get_state())
        return fresh

    def resume(self, net: NeuralNet, max_epochs: int, shape: tuple[int, int]) -> int:
        """Restore the net from the file, and return the number of epochs that are left.

        `shape` is that of the outputs for all validation graphs, which the history may have.
        """
        self.n_epochs_before = len(net.history)
        if self.found is not None:
            self.n_epochs_before = self.found["n_epochs_before"]
            with self._errors_as_damage():
                restore_net(net, self.found["net"])
                _check_outputs(net, shape)
        return max_epochs - (len(net.history) - self.n_epochs_before)

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.last_written = time.monotonic()
        self._callback_states(net)  # raises an error now, not at the end of an epoch
        for _, callback in net.callbacks_:
            if hasattr(callback, "first_epoch"):
                callback.first_epoch = self.n_epochs_before
        if self.found is not None:
            # All callbacks have begun a new training; put them in the middle of the old one.
            with self._errors_as_damage():
                restore_net(net, self.found["net"])
                restore_callbacks(net, self.found["callbacks"])
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
        """Return the states of all callbacks but those that belong to the state of the net."""
        of_net = net.default_names()
        return {
            name: callback_state(name, callback)
            for name, callback in net.callbacks_
            if callback is not self and name not in of_net
        }

    def finish(self, net: NeuralNet) -> None:
        """Write that the training has ended, unless it was interrupted."""
        if not self.is_finished and not net.is_interrupted_:
            self.write(net, is_finished=True)

    def write(self, net: NeuralNet, *, is_finished: bool, **progress: Any) -> None:
        """Write the file, with what belongs to an epoch in the middle of a training."""
        state = {
            "is_finished": is_finished,
            "random_state": self.first_random_state,
            "n_epochs_before": self.n_epochs_before,
            "net": net_state(net),
            **progress,
        }
        arrays: Arrays = {}
        description = {
            "class": "checkpoint",
            "call": self.call,
            "state": encode(state, "state", arrays),
        }
        write_file(self.path, description, arrays)

    def _difference(self, found: dict[str, Any]) -> str:
        """Return in words how the call in the file differs from this one, or an empty string."""
        if found == self.call:
            return ""
        parameters = {**found["parameters"], **self.call["parameters"]}
        names = sorted(
            name
            for name in parameters
            if found["parameters"].get(name) != self.call["parameters"].get(name)
        )
        if names:
            return f"other parameters ({shorten(', '.join(names))})"
        if found.get("groups") != self.call.get("groups"):
            return "other groups"
        return "other graphs or targets"


def _check_outputs(net: NeuralNet, shape: tuple[int, int]) -> None:
    for row in net.history:
        outputs = row.get(RecordOutputs.NAME, np.empty(shape, np.float32))
        if type(outputs) is not np.ndarray or (outputs.dtype, outputs.shape) != (np.float32, shape):
            raise ValueError("the outputs in the history are not those of the validation graphs")


def describe_call(
    estimator: Any, training: TrainingData, validation: TrainingData | None, net: NeuralNet | None
) -> dict[str, Any]:
    """Return digests of all that the result of a fit depends on.

    Parameters
    ----------
    estimator : estimator
        Its parameters count, but for those that the result does not depend on.

    training, validation : TrainingData or None
        The data. Groups count if they decide which graphs are set aside for validation.

    net : NeuralNet or None
        The net to start with.

    Returns
    -------
    call : dict
        The name of the class, a digest of each parameter, and digests of data, net and groups.
    """
    learned = ("weights", "optimizer", "generator")
    start = None if net is None else [net_state(net)[name] for name in learned]
    data = [_describe_data(part) for part in (training, validation) if part is not None]
    vectors = [part.graphs.graph_vectors for part in (training, validation) if part is not None]
    groups = None if validation is not None else training.groups
    parameters = estimator.get_params(deep=False)
    parameters["callbacks"] = [_describe_callback(item) for item in parameters["callbacks"] or []]
    random_state = parameters.pop("random_state")
    if isinstance(random_state, Integral):
        parameters["random_state"] = int(random_state)
    elif random_state is not None:
        parameters["random_state"] = random_state.get_state()
    # The result does not depend on these; a checkpoint is of a single network.
    for name in ("device", "verbose", "n_jobs", "n_members", "counts"):
        parameters.pop(name, None)
    return {
        "class": type(estimator).__name__,
        "parameters": {name: joblib.hash(value) for name, value in parameters.items()},
        "data": joblib.hash(data),
        "start": joblib.hash(start),
        # Not in the files of fits without them, which are found as before.
        **({} if groups is None else {"groups": joblib.hash(groups)}),
        **({"graph features": joblib.hash(vectors)} if vectors[0] is not None else {}),
    }


def _describe_data(data: TrainingData) -> tuple[Any, ...]:
    graphs = data.graphs
    described = (graphs.fingerprint, _in_a_fixed_order(_labels_of(graphs)), data.y, data.weight)
    # Files of other fits are found as before.
    return described if data.value_weight is None else (*described, data.value_weight)


def _describe_callback(item: Any) -> Any:
    """Return the class of a callback, or of a (name, callback) pair, and its state."""
    callback = item[-1] if isinstance(item, tuple) else item
    kind = callback if isinstance(callback, type) else type(callback)
    state = {} if callback is kind else callback_state(kind.__name__, callback)
    return f"{kind.__module__}.{kind.__qualname__}", state


def _labels_of(graphs: Any) -> Any:
    return (graphs.labels, graphs.edge_labels) if graphs.edge_labels else graphs.labels


def _in_a_fixed_order(label: Any) -> Any:
    """Return a label whose digest is the same in every process, unlike that of a set of texts."""
    if isinstance(label, frozenset):
        return "frozenset", sorted(joblib.hash(_in_a_fixed_order(item)) for item in label)
    return tuple(map(_in_a_fixed_order, label)) if isinstance(label, tuple) else label
