"""Read a saved estimator of any class: its file names the class, which a room has."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from sklofi._messages import shorten
from sklofi._storage import SavedEstimator, read_file

# The rooms whose public estimators a file may name.
ESTIMATORS = ("sklofi", "sklofi.kernels", "sklofi.baselines")


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator of any class from a file that its method ``save`` has written.

    Nothing is unpickled and no code from the file is run, whatever is in it, and a later fit
    of what was loaded opens nothing that you did not give it. Loading takes memory in
    proportion to the file, at most 200 bytes for each of its bytes.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator : object
        The fitted estimator. To choose the device, use the method `load` of its class.

    See Also
    --------
    LoFIClassifier.save : Write an estimator to a file; every estimator here has it.

    Examples
    --------
    >>> import os, tempfile, sklofi
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y = make_motif_graphs(60, random_state=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "model.safetensors")
    >>> sklofi.GraphKernelSVC(n_iter=2).fit(graphs, y).save(path)
    >>> sklofi.load(path).score(graphs, y)
    1.0
    """
    name = read_file(path)[0].get("class")
    for room in map(import_module, ESTIMATORS):
        if isinstance(name, str) and name in room.__all__:
            estimator_class = getattr(room, name)
            if isinstance(estimator_class, type) and issubclass(estimator_class, SavedEstimator):
                return estimator_class.load(path)
    if name == "GraphSet":
        raise ValueError(f"{os.fspath(path)} holds a GraphSet; read it with GraphSet.load.")
    raise ValueError(f"{os.fspath(path)} holds a {shorten(name)}, which is no estimator of sklofi.")
