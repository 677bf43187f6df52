"""Saving, loading, copying and pickling of estimators that hold a net."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, ClassVar, Self

import torch
from sklearn.utils._param_validation import validate_parameter_constraints
from torch import nn

from sklofi._graph_features import GraphEncoder
from sklofi._messages import shorten
from sklofi._parameters import AT_LEAST_1
from sklofi._storage import SavedEstimator
from sklofi.kernels._linear_counts import LinearCounts
from sklofi.kernels._wl import WLVectorizer
from sklofi.training._device import check_device, is_usable
from sklofi.training._encoding import NodeEncoder
from sklofi.training._ensemble import Ensemble
from sklofi.training._net import GraphNet
from sklofi.training._net_state import CRITERIA, check_architecture, net_state, restore_net
from sklofi.training._skorch import Callback
from sklofi.training._split import is_splitter


class SavedNetwork(Ensemble, SavedEstimator):
    """Mixin of the estimators that hold a net: to save it, the net becomes plain data."""

    _network: ClassVar[type[nn.Module]]
    _saved_classes: tuple[type, ...] = (NodeEncoder, GraphEncoder, LinearCounts, WLVectorizer)

    @abstractmethod
    def _make_net(
        self,
        architecture: dict[str, Any],
        criterion: type[nn.Module],
        device: str,
        generator: torch.Generator,
        callbacks: list[Any] | None = None,
    ) -> GraphNet:
        """Return a net with random weights."""

    @classmethod
    def load(  # type: ignore[override]
        cls, path: str | os.PathLike[str], *, device: str | None = None
    ) -> Self:
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

    def _saved_parameters(self) -> dict[str, Any]:
        parameters = super()._saved_parameters()
        # A subclass with a constructor of its own may have no such parameter.
        return {**parameters, **({"device": str(self.device)} if "device" in parameters else {})}

    def _left_out(self, parameters: dict[str, Any]) -> set[str]:
        share = parameters.get("validation_fraction")
        return super()._left_out(parameters) | (
            {"validation_fraction"} if is_splitter(share) else set()
        )

    def _fitted_state(self) -> dict[str, Any]:
        state = super()._fitted_state()
        # Callbacks of the user's are not plain data.
        if "_members" in state:
            state["_members"] = [
                {"net_": net_state(member.net_), "random_state": member.random_state}
                for member in self.members_
            ]
        else:
            state["net_"], _ = state["net_"]
        if "_made_with" in state:
            made_with = state["_made_with"].items()
            state["_made_with"] = {name: value for name, value in made_with if name != "callbacks"}
        return state

    def _set_fitted_state(self, state: dict[str, Any], device: str | None = None) -> None:
        if device is not None:
            self.device = device
        elif not is_usable(self.device):
            self.device = "auto"
        state = dict(state)
        saved = state.pop("_members", None)
        nets = [state.pop("net_")] if saved is None else [member["net_"] for member in saved]
        vars(self).update(state)
        for net in nets:
            self._check_net_state(net)
        restored = [self._restored_net(net, check_device(self.device)) for net in nets]
        self.net_ = restored[0]
        if saved is not None:
            self._members = [self._make_member(member["random_state"]) for member in saved]
            made_with = {**vars(self).get("_made_with", {}), "n_members": 1, "counts": False}
            for member, net in zip(self._members, restored, strict=True):
                member.net_, member._made_with = net, made_with
            self._share_with_members()

    def _check_net_state(self, net: dict[str, Any]) -> None:
        """Check that a net in a file takes what the encoders give."""
        if net["architecture"]["n_features"] != self._encoder.n_columns:
            raise ValueError("the network does not take the nodes that are described")
        encoder = self._graph_encoder
        if not isinstance(encoder, GraphEncoder | None):
            raise TypeError(f"expected features of graphs, got {shorten(encoder)}")
        n_graph_features = 0 if encoder is None else encoder.n_columns
        if net["architecture"].get("n_graph_features", 0) != n_graph_features:
            raise ValueError("the network does not take the graph features that are described")

    def _check_loaded(self) -> None:
        shape = vars(self).get("_target_shape", ())  # not in all files of old versions
        if type(shape) is not tuple or len(shape) > 1 or any(type(n) is not int for n in shape):
            raise TypeError("the shape of targets is none")
        if self._n_labels is not None and len(self.classes_) != self._n_labels:
            raise ValueError("the classes are not those of the labels that are described")
        n_outputs = [member.net_.module__n_outputs for member in self.members_]
        if self.counts_ is not None:
            if type(self.counts_) is not LinearCounts:
                raise TypeError("counts_ is no machine on counts")
            n_outputs.append(len(self.counts_.intercepts))
        if any(number != self._n_outputs for number in n_outputs):
            raise ValueError("the network does not give the outputs that are described")
        if type(self.counts_share_) is not float or not 0 <= self.counts_share_ <= 1:
            raise ValueError("the share of counts is not between 0 and 1")

    @torch.inference_mode(False)  # tensors that are made there can never be trained
    def _restored_net(self, state: dict[str, Any], device: str) -> GraphNet:
        self._check_architecture(state["architecture"])
        architecture = check_architecture(self._network, state)
        criterion = CRITERIA[state["criterion"]]
        net = self._make_net(architecture, criterion, device, torch.Generator())
        restore_net(net, state)
        net.module_.eval()
        return net

    def _check_architecture(self, architecture: dict[str, Any]) -> None:
        """Check that what a file says of the network could have been a parameter."""
        found_by_data = architecture.keys() - self._parameter_constraints.keys()
        constraints = {**self._parameter_constraints, **dict.fromkeys(found_by_data, AT_LEAST_1)}
        validate_parameter_constraints(constraints, architecture, type(self).__name__)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle, copy and skops: the net as data, so that none of them meets torch."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        if "net_" not in state:
            return state
        if "_members" in state:  # whose first has the net
            return {name: value for name, value in state.items() if name != "net_"}
        return {**state, "net_": (net_state(self.net_), self.net_.user_callbacks())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        net, callbacks = state.pop("net_", (None, []))
        super().__setstate__(state)  # type: ignore[misc]
        if "_members" in state:
            self.net_ = self._members[0].net_
        elif net is not None:
            self._set_net(net, callbacks, net["device"] if is_usable(net["device"]) else "cpu")

    def _set_net(
        self, state: dict[str, Any], callbacks: list[tuple[str, Callback]], device: str
    ) -> None:
        self.net_ = self._restored_net(state, device)
        self.net_.callbacks_ += callbacks
