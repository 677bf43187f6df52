"""Learning on graphs for people who think in scikit-learn."""

from importlib import import_module
from typing import Any

from sklofi.graphs import GraphSet

__version__ = "0.1.0.dev0"

__all__ = [
    "GraphKernelSVC",
    "GraphKernelSVR",
    "GraphSet",
    "LoFIClassifier",
    "LoFIRegressor",
    "WLVectorizer",
    "compare",
]

# Imported on first use, so that graphs and data sets do not wait for torch.
_LAZY = {
    "GraphKernelSVC": "sklofi.kernels",
    "GraphKernelSVR": "sklofi.kernels",
    "LoFIClassifier": "sklofi.estimators",
    "LoFIRegressor": "sklofi.estimators",
    "WLVectorizer": "sklofi.kernels",
    "compare": "sklofi.comparison",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'sklofi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
