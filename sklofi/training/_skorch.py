"""The names of skorch that this package uses, imported without PyTorch Geometric.

Where PyTorch Geometric is installed, ``skorch.utils`` imports it, to learn whether it is there.
That takes longer than importing torch and all else. Nothing here needs it: our nets give skorch
no data of PyTorch Geometric.

So ``skorch.utils``, and no other module, finds a stand-in when it imports ``torch_geometric``. The
stand-in becomes the real module on first use, so a skorch net of the user's takes data of PyTorch
Geometric as always. Nothing is put in ``sys.modules``: any other import of ``torch_geometric`` is
the real one. If skorch was imported before, it has made its choice, and nothing is done.

Simpler ways were not good enough. An entry None in ``sys.modules`` makes imports in other threads
fail, and leaves a skorch behind that refuses data of PyTorch Geometric. A module of
``importlib.util.LazyLoader`` in ``sys.modules`` is what the user's own import finds, too, and
``from torch_geometric.nn import ...`` then executes that subpackage twice.

All other modules import skorch from here.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

DEFERRED = "torch_geometric"
IMPORTER = "skorch.utils"


class _DeferredModule(ModuleType):
    """A stand-in for a module, which is imported when an attribute of it is needed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


class _DeferringLoader(Loader):
    """Execute a module in which ``import torch_geometric`` gives a stand-in."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        namespace = vars(module)

        def import_(name: str, *arguments: Any) -> ModuleType:
            # The first import: functions that the module defines from here on have the usual
            # builtins. Only the statements of the module itself keep these.
            namespace["__builtins__"] = vars(builtins)
            if name == DEFERRED and name not in sys.modules and find_spec(name) is not None:
                return _DeferredModule(name)
            return builtins.__import__(name, *arguments)

        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        # CPython takes the function that imports from the builtins of the module's namespace.
        namespace["__builtins__"] = {**vars(builtins), "__import__": import_}
        self.loader.exec_module(module)


class _DeferringFinder(MetaPathFinder):
    """Find ``skorch.utils``, and no other module."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == IMPORTER else None
        if spec is not None and spec.loader is not None:
            spec.loader = _DeferringLoader(spec.loader)
        return spec


@contextmanager
def _deferred_import() -> Iterator[None]:
    finder = _DeferringFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        # A new list: another thread that is in the middle of the old one would miss a finder.
        sys.meta_path = [other for other in sys.meta_path if other is not finder]


with _deferred_import():
    from skorch import NeuralNet
    from skorch.callbacks import Callback, EarlyStopping, EpochTimer, PassthroughScoring
    from skorch.dataset import Dataset
    from skorch.history import History
    from skorch.utils import TeeGenerator

__all__ = [
    "Callback",
    "Dataset",
    "EarlyStopping",
    "EpochTimer",
    "History",
    "NeuralNet",
    "PassthroughScoring",
    "TeeGenerator",
]
