"""Learning on graphs for people who think in scikit-learn."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import lazy_loader

__version__ = "0.1.0"

# Everything is imported on first use: graphs and kernels do not wait for torch.
_load_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


# The public names of the submodules that are not rooms with a stub of their own.
_MODULES = {
    "sklofi.cluster": ("on_cluster",),
    "sklofi.comparison": (
        *("Comparison", "Failure", "corrected_t_test"),
        *("multilabel_roc_auc", "multilabel_roc_auc_scorer"),
        *("multioutput_r2", "multioutput_r2_scorer", "multioutput_mean_absolute_error"),
        "neg_multioutput_mean_absolute_error_scorer",
    ),
    "sklofi.testing": ("check_graph_estimator", "graph_estimator_checks"),
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return _load_name(name)
    hint = next((f"; write from {module} import {name}" for module in _homes(name)), "")
    raise AttributeError(f"module 'sklofi' has no attribute {name!r}{hint}")


def _homes(name: str) -> Iterator[str]:
    """The submodules that have a public name. Nothing heavy is imported to find out."""
    for module in iter_modules(__path__, f"{__name__}."):
        names = import_module(module.name).__all__ if module.ispkg else _MODULES.get(module.name)
        if name in (names or ()):
            yield module.name
