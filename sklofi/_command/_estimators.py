"""Estimators by the names that the command line has for them."""

from __future__ import annotations

import ast
from importlib import import_module
from typing import Any

from sklofi._messages import shorten

KERNELS = ("wl", "wl-oa", "shortest-path", "random-walk", "vertex-histogram")


def make_estimator(
    name: str, *, is_classifier: bool, seed: int, settings: dict[str, str], probability: bool
) -> Any:
    """Return an estimator by its name.

    Parameters
    ----------
    name : str
        Such as "lofi" or "wl-oa", in any case.

    is_classifier : bool
        Whether it has to tell classes apart, or to predict numbers.

    seed : int
        Seed of all that is random in it.

    settings : dict of str to str
        Parameters, as they are written on the command line.

    probability : bool
        Whether kernel machines are to give probabilities, which takes longer.

    Returns
    -------
    estimator : object
        An estimator that is not fitted.
    """
    kind = "Classifier" if is_classifier else "Regressor"
    plain = _plain(name)
    kernels = {_plain(kernel): kernel for kernel in KERNELS}
    if plain in kernels:
        estimator = _kernel_machine(kernels[plain], is_classifier, probability)
    elif plain == "constant":
        estimator = getattr(import_module("sklearn.dummy"), f"Dummy{kind}")()
    else:
        room, class_name = _find_class(name, kind)
        estimator = getattr(import_module(room), class_name)()
    parameters = estimator.get_params()
    if "random_state" in parameters:
        estimator.set_params(random_state=seed)
    for parameter, text in settings.items():
        if parameter not in parameters:
            known = shorten(", ".join(sorted(parameters)), 600)
            raise ValueError(f"{name} has no parameter {parameter!r}. It has {known}.")
        estimator.set_params(**{parameter: _parse(text)})
    return estimator


def _plain(name: str) -> str:
    """Return a name without what people write differently."""
    return name.lower().replace("-", "").replace("_", "")


def _kernel_machine(kernel: str, is_classifier: bool, probability: bool) -> Any:
    kernels = import_module("sklofi.kernels")
    if is_classifier:
        return kernels.GraphKernelSVC(kernel=kernel, probability=probability)
    return kernels.GraphKernelSVR(kernel=kernel)


def _find_class(name: str, kind: str) -> tuple[str, str]:
    """Return the room and the name of a class."""
    classes = {"lofi": ("sklofi", f"LoFI{kind}")}
    for class_name in import_module("sklofi.baselines").__all__:
        if class_name.endswith(kind):
            classes[class_name.removesuffix(kind).lower()] = ("sklofi.baselines", class_name)
    if _plain(name) not in classes:
        known = ", ".join([*sorted(classes), *KERNELS, "constant"])
        raise ValueError(f"There is no estimator {name!r}. Names are {known}.")
    return classes[_plain(name)]


def _parse(text: str) -> Any:
    """Return a number, True, None and so on, or the text itself."""
    try:
        return ast.literal_eval({"true": "True", "false": "False", "none": "None"}.get(text, text))
    except (ValueError, SyntaxError):
        return text
