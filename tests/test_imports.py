"""The arrows of the architecture: which module may import which."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sklofi

PACKAGE = Path(sklofi.__file__).parent

# The road of the data. A new module has to be given its place here.
ALLOWED = {
    "__init__": {"graphs", "storage"},  # the rest is imported on first use
    "reading": set(),
    "storage": set(),
    "graphs": {"reading"},
    "graph_warnings": {"reading", "graphs"},
    "memory": set(),
    "methods": set(),
    "devices": {"memory"},
    "egonets": {"graphs", "memory"},
    "fast": set(),
    "nn": {"fast"},
    "networks": set(),
    "message_passing": {"networks"},
    "edge_filters": {"networks"},
    "soft_alignment": {"networks"},
    "hierarchies": {"networks"},
    "graph_filters": {"fast", "networks"},
    "targets": {"reading", "graphs"},
    "vectorizers": {"graph_warnings", "reading", "storage", "graphs", "memory", "egonets"},
    "rings": {"graphs", "egonets"},
    "fingerprints": {"graph_warnings", "reading", "graphs", "vectorizers", "rings"},
    "count_machines": {
        *("graph_warnings", "reading", "storage", "graphs", "methods", "targets", "vectorizers"),
        "fingerprints",
    },
    "paths": {"reading", "graphs", "vectorizers"},
    "gram": {"graph_warnings", "graphs", "vectorizers"},
    "walks": {
        "graph_warnings",
        "reading",
        "storage",
        "graphs",
        "memory",
        "egonets",
        "vectorizers",
        "gram",
    },
    "kernels": {
        *("reading", "storage", "graphs", "memory", "methods", "targets", "vectorizers", "paths"),
        *("gram", "walks", "graph_warnings"),
    },
    "comparison": {"drawing"},  # takes any estimator
    "encoding": {"graph_warnings", "reading", "graphs", "targets"},
    "loading": {"graphs", "encoding"},
    "batches": {"graphs", "memory", "egonets", "fast", "nn", "encoding", "loading"},
    "cluster": {"graphs"},
    "flat": {"graphs", "memory", "egonets", "networks", "encoding", "loading"},
    "training": {"loading"},
    "checkpoints": {"storage"},
    # The shell of all networks, and the two tasks.
    "base": {
        *("reading", "graphs", "devices", "storage", "targets", "encoding", "loading"),
        *("training", "checkpoints", "graph_warnings"),
    },
    "tasks": {"base", "targets", "training"},
    "peers": {"base", "networks", "flat"},
    "baselines": {
        *("reading", "base", "tasks", "peers", "encoding", "flat", "networks", "message_passing"),
        *("edge_filters", "soft_alignment", "hierarchies", "graph_filters", "fingerprints"),
        *("count_machines", "targets"),
    },
    "lofi": {"base", "nn", "batches", "loading", "targets"},
    "estimators": {"base", "tasks", "lofi"},
    "quadrature": {"graphs"},
    "attribution": {"graphs", "fast", "nn", "batches", "lofi", "quadrature"},
    "masks": {"reading", "graphs", "egonets", "batches", "lofi"},
    "drawing": set(),
    "inspection": {"reading", "graphs", "lofi", "attribution", "masks", "drawing"},
    "downloads": set(),
    "tudataset": set(),
    "datasets": {"downloads", "tudataset"},
    "testing": {"graphs"},
}
KNOW_NETWORKX = {"reading", "graphs", "tudataset", "datasets", "testing", "drawing"}
KNOW_TORCH = {
    *("devices", "fast", "nn", "networks", "message_passing", "edge_filters", "soft_alignment"),
    *("hierarchies", "graph_filters"),
    *("loading", "batches", "flat", "training", "checkpoints", "base", "tasks"),
    *("lofi", "estimators", "peers", "baselines", "attribution", "masks"),
}


def imported(module):
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_module_has_its_place():
    assert {path.stem for path in PACKAGE.glob("*.py")} == set(ALLOWED)


@pytest.mark.parametrize("module", ALLOWED)
def test_modules_import_each_other_by_their_names(module):
    """Not through the package, whose lazy names could lead anywhere."""
    assert "sklofi" not in imported(module)


@pytest.mark.parametrize("module", ALLOWED)
def test_modules_import_only_what_comes_before_them(module):
    names = [name.split(".")[1] for name in imported(module) if name.startswith("sklofi.")]
    assert {name for name in names if name in ALLOWED} <= ALLOWED[module]


@pytest.mark.parametrize("module", ALLOWED)
def test_only_the_border_knows_networkx_and_only_the_core_torch(module):
    roots = {name.split(".")[0] for name in imported(module)}
    assert module in KNOW_NETWORKX or "networkx" not in roots
    assert module in KNOW_TORCH or not roots & {"torch", "skorch"}


@pytest.mark.parametrize("module", ["fast", "nn", "networks"])
def test_the_core_imports_torch_alone(module):
    roots = {name.split(".")[0] for name in imported(module)}
    assert roots - sys.stdlib_module_names - {"sklofi"} == {"torch"}


def test_graphs_kernels_and_data_sets_do_not_load_torch():
    code = (
        "import sys; from sklofi import GraphKernelSVC, GraphSet, compare;"
        " import sklofi.datasets, sklofi.egonets, sklofi.testing;"
        " graphs, y = sklofi.datasets.make_motif_graphs(20);"
        " compare({'wl': GraphKernelSVC(probability=True)}, graphs, y, cv=2);"
        " assert 'torch' not in sys.modules;"
        " from sklofi import LoFIClassifier; assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_are_there():
    assert set(sklofi.__all__) <= set(dir(sklofi))
    for name in sklofi.__all__:
        assert getattr(sklofi, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'LoFICluster'"):
        sklofi.LoFICluster  # noqa: B018


@pytest.mark.parametrize("module", ALLOWED)
def test_public_names_of_submodules_say_where_they_are(module):
    module = import_module(f"sklofi.{module}" if module != "__init__" else "sklofi")
    for name in set(getattr(module, "__all__", [])) - set(sklofi.__all__):
        with pytest.raises(AttributeError, match=f"from sklofi.* import {name}$") as error:
            getattr(sklofi, name)
        home = str(error.value).split()[-3]
        assert getattr(import_module(home), name) is getattr(module, name)


def test_all_places_that_are_named_are_right():
    for name, home in sklofi._ELSEWHERE.items():
        assert hasattr(import_module(home), name), name


def test_to_say_where_a_name_is_loads_nothing():
    code = (
        "import sys, sklofi; assert not hasattr(sklofi, 'GINClassifier');"
        " assert not {'torch', 'torch_geometric', 'sklofi.baselines'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
