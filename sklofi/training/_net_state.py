"""The state of a net as plain data: arrays, numbers and texts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from itertools import count
from numbers import Real
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklofi._messages import shorten
from sklofi._storage import check_attributes, encode
from sklofi.training._skorch import Callback, History, NeuralNet

CRITERIA = {
    criterion.__name__: criterion
    for criterion in (torch.nn.CrossEntropyLoss, torch.nn.L1Loss, torch.nn.MSELoss)
}


def net_state(net: NeuralNet) -> dict[str, Any]:
    """Return all that a net has learned, as arrays and plain values."""
    arguments = net.get_params_for("module")
    return {
        "architecture": {k: v for k, v in arguments.items() if k not in ("generator", "dtype")},
        "criterion": net.criterion.__name__,
        "device": str(net.device),
        "weights": _to_arrays(net.module_.state_dict()),
        "optimizer": _to_arrays(net.optimizer_.state_dict()),
        "generator": _to_arrays(net.iterator_train__generator.get_state()),
        "frozen": [
            name for name, weight in net.module_.named_parameters() if not weight.requires_grad
        ],
        "history": [
            {name: _to_arrays(value) for name, value in row.items() if name != "batches"}
            for row in net.history
        ],
        "best_epoch": net.best_epoch_,
        "callbacks": {
            name: callback_state(name, callback)
            for name, callback in net.callbacks_
            if name in net.default_names()
        },
    }


def check_architecture(network: type[torch.nn.Module], state: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a network, and check that its size is that of the weights.

    A file may claim any size, so the network is first built on a device where weights take no
    memory. Layers do, so shallow networks are built before deep ones, and the check fails at the
    first that has more weights than the file.
    """
    size, weights = dict(state["architecture"]), state["weights"]
    if not all(type(value) in (bool, int, float, str) for value in size.values()):
        raise ValueError("the network is not described by plain numbers and texts")
    n_numbers = sum(array.size for array in weights.values())
    if any(not 0 <= value <= n_numbers for value in size.values() if type(value) is int):
        raise ValueError("the network that is described is larger than its weights")
    for depth in _growing(size):
        with torch.device("meta"):
            described = network(**depth).state_dict()
        expected = {name: weight.shape for name, weight in described.items()}
        if len(expected) > len(weights):
            raise ValueError("the network that is described is larger than its weights")
    if expected != {name: array.shape for name, array in weights.items()}:
        raise ValueError("the weights do not have the size of the network that is described")
    return size


def _growing(size: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Iterate over the same size with 1, 2, 4, ... layers, and finally with all of them."""
    depths = {name: size[name] for name in size if name in ("n_layers", "n_poolings")}
    for n_most in (2**i for i in count()):
        bounded = {name: min(depth, n_most) for name, depth in depths.items()}
        yield {**size, **bounded}
        if bounded == depths:
            return


def restore_net(net: NeuralNet, state: dict[str, Any]) -> None:
    """Restore the state of a net in a net of the same architecture."""
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
    best_epoch = state.get("best_epoch")
    if type(best_epoch) not in (int, type(None)) or not 0 <= (best_epoch or 0) <= len(net.history):
        raise ValueError("the best epoch is not one of the history")
    net.best_epoch_ = best_epoch
    restore_callbacks(net, state["callbacks"])


def _check_optimizer(state: dict[str, Any], parameters: list[Tensor]) -> None:
    """Check that averages have the sizes of their parameters. The optimizer does not."""
    (group,) = state["param_groups"]
    is_sound = list(group["params"]) == list(range(len(parameters))) and group["fused"] is True
    for index, averages in state["state"].items():
        shape = tuple(parameters[index].shape)
        is_sound &= index >= 0
        has_names = averages.keys() == {"step", "exp_avg", "exp_avg_sq"}
        is_sound &= has_names and averages["step"].size == 1
        is_sound &= averages["exp_avg"].shape == averages["exp_avg_sq"].shape == shape
        is_sound &= averages["exp_avg"].dtype == averages["exp_avg_sq"].dtype == np.float32
    if not is_sound:
        raise ValueError("the state of the optimizer does not have the size of the weights")


def callback_state(name: str, callback: Callback) -> dict[str, Any]:
    """Return the attributes of a callback that change in training."""
    state = {}
    for attribute in getattr(callback, "remembered", vars(callback)):
        value = getattr(callback, attribute)
        if isinstance(value, type | FunctionType | partial):
            continue  # the callback has it in the next run, too
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


def restore_callbacks(net: NeuralNet, states: dict[str, dict[str, Any]]) -> None:
    """Restore the states of the callbacks of a net, by their names."""
    callbacks, of_user = dict(net.callbacks_), dict(net.user_callbacks())
    for name, state in states.items():
        if not state:  # perhaps of a callback that is absent now, such as a progress bar
            continue
        kind = type(callbacks[name])
        # The parameters of a callback, such as the name of a file to write, are the user's.
        state = {key: state[key] for key in state.keys() - _parameter_names(kind)}
        check_attributes(kind, state)
        state = _to_tensors(state, net.device)
        if name in of_user:
            _check_texts(name, of_user[name], state)
        else:
            _check_values(net, callbacks[name], state)
        if name == "average_weights":
            callbacks[name].check_state(net, state)
        for attribute, value in state.items():
            present: Any = getattr(callbacks[name], attribute, None)
            if hasattr(present, "load_state_dict"):
                present.load_state_dict(value)
            else:
                setattr(callbacks[name], attribute, value)


def _check_values(net: NeuralNet, callback: Callback, state: dict[str, Any]) -> None:
    """Check that a callback of ours can compute with what a file gives it."""
    for attribute, value in state.items():
        if isinstance(getattr(callback, attribute, None), Real) and not isinstance(value, Real):
            raise TypeError(f"expected a number for {attribute}, got {shorten(value)}")
    sizes = {name: weight.shape for name, weight in net.module_.state_dict().items()}
    for attribute in ("weights", "best_model_weights_"):
        weights = state.get(attribute)
        if weights is not None and {n: weight.shape for n, weight in weights.items()} != sizes:
            raise ValueError("the best weights do not have the size of the weights")


def _check_texts(name: str, callback: Callback, state: dict[str, Any]) -> None:
    """Check that a file gives a callback no text but its own: it might name a file to write."""
    own = {*_texts([*callback_state(name, callback).values()])}
    for text in _texts([*state.values()]):
        if text not in own:
            raise ValueError(
                f"the callback {name!r} does not have the text {shorten(text)}, which might name a"
                " file"
            )


def _texts(value: Any) -> Iterator[str | bytes]:
    """Iterate over the texts in a value, also those that are keys."""
    if isinstance(value, str | bytes):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        yield from _texts(value.ravel().tolist())


def _parameter_names(kind: type) -> set[str]:
    """Return the parameters of the constructors of a class and its bases."""
    constructors = [vars(base).get("__init__") for base in kind.__mro__]
    return {
        name
        for constructor in constructors
        if isinstance(constructor, FunctionType)  # not that of object
        for name in inspect.signature(constructor).parameters
    }


def _to_arrays(value: Any) -> Any:
    """Return the same value with arrays in place of tensors."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy().copy()
    if isinstance(value, dict):
        return {key: _to_arrays(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_to_arrays, value))
    return value


def _to_tensors(value: Any, device: str | torch.device) -> Any:
    """Return the same value with tensors in place of arrays."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy()).to(device)
    if isinstance(value, dict):
        return {key: _to_tensors(item, device) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_to_tensors(item, device) for item in value)
    return value
