"""Networks on the layers of PyTorch Geometric, which is imported when the first one is made.

PyTorch Geometric writes a Python file when a class of layers is first used, imports the file and
leaves it behind. Here this is done once for each class of layers, by one thread, and the file is
removed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, Self

import torch

from sklofi.nn._flat import FlatNetwork

# Arguments of the smallest layer of each class that PyTorch Geometric writes a file for.
SMALLEST_LAYERS: dict[str, tuple[int, ...]] = {
    "GATConv": (1, 1),
}


# The classes of layers that are ready for use in this process.
_prepared: set[str] = set()


# No thread holds it while the process forks: the child would wait for it forever.
_preparing = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_preparing.acquire,
        after_in_parent=_preparing.release,
        after_in_child=_preparing.release,
    )


class PyGNetwork(FlatNetwork):
    """Base of the networks on layers of PyTorch Geometric.

    A subclass names the classes of these layers in `pyg_layers`, and imports them in its
    methods. They are prepared before an instance is built, loaded, copied or unpickled.
    """

    pyg_layers: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        for name in cls.pyg_layers:
            if name not in _prepared:
                prepare_layer(name, needed_by=cls.__name__)
        return super().__new__(cls)


def prepare_layer(name: str, needed_by: str) -> None:
    """Let PyTorch Geometric write and import the code of a class of layers.

    Parameters
    ----------
    name : str
        Name of the class in ``torch_geometric.nn``.

    needed_by : str
        The network that needs it, for the error.

    Raises
    ------
    ImportError
        If PyTorch Geometric is not installed.
    """
    with _preparing:
        if name in _prepared:
            return
        try:
            with torch.device("cpu"):  # networks are built on "meta", where tensors have no values
                from torch_geometric import nn as pyg
        except ImportError as error:
            raise ImportError(
                f"{needed_by} needs PyTorch Geometric. Install it with pip install torch_geometric."
            ) from error
        layer_class = getattr(pyg, name)
        with torch.device("meta"):  # draws nothing from torch's global generator
            layer_class(*SMALLEST_LAYERS[name])
        for method in ("propagate", "edge_updater"):
            written = sys.modules.get(f"{layer_class.__module__}_{name}_{method}")
            if written is not None:
                Path(str(written.__file__)).unlink(missing_ok=True)
        _prepared.add(name)
