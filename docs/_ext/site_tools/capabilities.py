"""Tables of what each estimator can do, found out by asking the estimators.

Nothing here needs Sphinx, so that tests can read it.
"""

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import networkx as nx
import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils import get_tags

from site_tools.doors import homes

YES, BY_OPTION, NO = "yes", "by option", ""

# Fits in a process in which torch cannot be imported, and prints the names of those that can.
WITHOUT_TORCH = """
import json, sys
from importlib import import_module
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ImportError(name)
sys.meta_path.insert(0, NoTorch())
import networkx as nx
able = []
graphs = [nx.path_graph(n) for n in (2, 3, 4, 5)] * 3
molecules = ["C", "CC", "CO", "CN"] * 3
for name in json.loads(sys.argv[1]):
    module, _, kind = name.rpartition(".")
    try:
        X = molecules if "Molecules" in kind else graphs
        getattr(import_module(module), kind)().fit(X, [0, 1, 0, 1] * 3)
    except ImportError:
        continue
    able.append(name)
print(json.dumps(able))
"""


def by_parameter(name: str) -> Callable[[Any], str]:
    """Whether an estimator has a parameter, and whether it has to be set."""

    def ask(estimator: Any) -> str:
        parameters = estimator.get_params(deep=False)
        if name not in parameters:
            return NO
        return BY_OPTION if parameters[name] is None else YES

    return ask


def by_tag(name: str) -> Callable[[Any], str]:
    """Whether a tag of scikit-learn says so, as in "target_tags.multi_output"."""

    def ask(estimator: Any) -> str:
        found: Any = get_tags(estimator)
        for part in name.split("."):
            found = getattr(found, part, None)
        return YES if found else NO

    return ask


def by_method(name: str) -> Callable[[Any], str]:
    """Whether there is a method, and whether a parameter has to allow it."""

    def ask(estimator: Any) -> str:
        if hasattr(estimator, name):
            return YES
        return BY_OPTION if hasattr(type(estimator), name) else NO

    return ask


def is_explained(estimator: Any) -> str:
    from sklofi._lofi import BaseLoFI  # the functions of inspection look into nothing else

    return YES if isinstance(estimator, BaseLoFI) else NO


def takes_holes(estimator: Any) -> str:
    """Whether targets may be a table of which some values are missing: it is tried."""
    if not any(by_tag(name)(estimator) for name in SEVERAL):
        return NO
    values = estimator.get_params(deep=False)
    short = {name: value for name, value in SHORT.items() if name in values}
    graphs = [nx.path_graph(n) for n in (2, 3, 4, 5)] * 3
    y = np.array([[0, 1], [1, np.nan], [1, 0], [0, 1]] * 3)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(estimator).set_params(**short).fit(graphs, y)
    except ValueError:
        return NO
    return YES


SEVERAL = ("classifier_tags.multi_label", "target_tags.multi_output")
SHORT = {"n_members": 1, "counts": False, "max_epochs": 1}  # a fit that only has to happen
READING = {
    "edge labels, bonds": by_parameter("edge_label"),
    "edge weights": by_parameter("edge_weight"),
    "node features": by_parameter("node_features"),
    "edge features": by_parameter("edge_features"),
    "graph features": by_parameter("graph_features"),
}
WITHOUT = {"without torch": lambda estimator: YES if name_of(estimator) in WORKING else NO}
TABLES: dict[str, dict[str, Callable[[Any], str]]] = {
    "classifiers": {
        **READING,
        "probabilities": by_method("predict_proba"),
        "several labels": by_tag(SEVERAL[0]),
        "missing labels": takes_holes,
        "explanations": is_explained,
        **WITHOUT,
    },
    "regressors": {
        **READING,
        "several targets": by_tag(SEVERAL[1]),
        "missing targets": takes_holes,
        "explanations": is_explained,
        **WITHOUT,
    },
    "transformers": {**READING, **WITHOUT},
}
WORKING: set[str] = set()


def name_of(estimator: Any) -> str:
    name = type(estimator).__name__
    return f"{HOMES[name]}.{name}"


HOMES = homes()


def estimators() -> Iterator[Any]:
    """All public estimators, as they are without parameters."""
    for name, module in HOMES.items():
        found = getattr(import_module(module), name)
        if isinstance(found, type) and issubclass(found, BaseEstimator) and hasattr(found, "fit"):
            if not getattr(found, "__abstractmethods__", None):
                yield found()


def kind_of(estimator: Any) -> str:
    """The table that an estimator is in."""
    if is_classifier(estimator):
        return "classifiers"
    return "regressors" if is_regressor(estimator) else "transformers"


def working_without_torch(names: list[str]) -> set[str]:
    """Those of some estimators that fit where torch is not installed."""
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT_TORCH, json.dumps(names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def table(kind: str) -> list[list[str]]:
    """A table of estimators, with their names in the first column and a head of its own."""
    rows = sorted((e for e in estimators() if kind_of(e) == kind), key=lambda e: order(name_of(e)))
    if not WORKING:
        WORKING.update(working_without_torch([name_of(e) for e in estimators()]))
    columns = TABLES[kind]
    return [
        ["", *columns],
        *([name_of(e), *(ask(e) for ask in columns.values())] for e in rows),
    ]


def order(name: str) -> tuple[int, str]:
    """Top names first, then the rooms."""
    return name.count("."), name
