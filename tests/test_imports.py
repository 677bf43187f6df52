"""The arrows of the architecture: which room may import which."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sklofi

PACKAGE = Path(sklofi.__file__).parent

# What several rooms need.
SHARED = {
    *(
        "_available",
        "_documentation",
        "_graph_features",
        "_groups",
        "_memory",
        "_messages",
        "_molecules",
        "_multilabel",
        "_parameters",
        "_plotting",
    ),
    *("_scaling", "_scores", "_statistics", "_storage", "_tables", "_validation"),
}

# The road of the data: from each room, the rooms that it may import. The shared modules import
# no room but graphs, so that rooms which come after it may import them.
ARROWS = {
    "graphs": {"_messages", "_parameters", "_storage"},  # for a transformer, and for files
    "egonets": {"graphs", "_memory"},
    "nn": set(),  # torch alone
    "kernels": {"graphs", "egonets", *SHARED},
    "training": {"graphs", "egonets", "kernels", "nn", *SHARED},  # kernels, for counts
    "_lofi": {"graphs", "training", "nn", *SHARED},
    "baselines": {"graphs", "kernels", "training", "nn", *SHARED},
    "inspection": {"graphs", "egonets", "nn", "training", "_lofi", *SHARED},
    "datasets": {"_tables"},
    "_load": {"_messages", "_storage"},
    # Takes any estimator.
    "comparison": {"_groups", "_multilabel", "_plotting", "_scores", "_statistics"},
    "_statistics": set(),
    "_command": {"graphs", "comparison", "_load", "_messages", "_tables"},
    "__main__": {"_command"},
    "cluster": {"graphs"},
    "testing": {"graphs"},
    **{module: {"graphs", *SHARED} for module in SHARED},
    "__init__": set(),  # everything on first use
}
KNOW_NETWORKX = {"graphs", "datasets", "testing"}
KNOW_TORCH = {"nn", "training", "_lofi", "baselines", "inspection"}
KNOW_TORCH_GEOMETRIC = {"nn/_pyg", "nn/_message_passing"}

MODULES = sorted(path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py"))
MODULES = [module.as_posix() for module in MODULES]


def room_of(module):
    return module.split("/")[0]


def imported(module):
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            yield node.module


def test_every_room_has_its_place():
    assert {room_of(module) for module in MODULES} == set(ARROWS)


@pytest.mark.parametrize("module", MODULES)
def test_modules_import_each_other_by_their_names(module):
    """Not through the package or a room, whose lazy names could lead anywhere."""
    others = {name for name in imported(module) if name.split(".")[0] == "sklofi"}
    assert all((PACKAGE.parent / f"{name.replace('.', '/')}.py").exists() for name in others)


@pytest.mark.parametrize("module", MODULES)
def test_rooms_import_only_what_comes_before_them(module):
    room = room_of(module)
    others = {name.split(".")[1] for name in imported(module) if name.startswith("sklofi.")}
    assert others - {room} <= ARROWS[room]


@pytest.mark.parametrize("module", MODULES)
def test_only_the_border_knows_networkx_and_only_the_core_torch(module):
    roots, room = {name.split(".")[0] for name in imported(module)}, room_of(module)
    assert room in KNOW_NETWORKX or "networkx" not in roots
    assert room in KNOW_TORCH or not roots & {"torch", "skorch"}
    assert module in KNOW_TORCH_GEOMETRIC or "torch_geometric" not in roots


@pytest.mark.parametrize("module", [one for one in MODULES if room_of(one) == "nn"])
def test_networks_import_torch_alone(module):
    roots = {name.split(".")[0] for name in imported(module)}
    assert roots - sys.stdlib_module_names - {"sklofi", "lazy_loader"} <= {
        "torch",
        "torch_geometric",
    }


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
        assert getattr(sklofi, name).__name__.split(".")[-1] == name
    with pytest.raises(AttributeError, match=r"no attribute 'LoFICluster'$"):
        sklofi.LoFICluster  # noqa: B018


ROOMS = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]


@pytest.mark.parametrize("module", [*ROOMS, "cluster", "comparison", "testing"])
def test_public_names_of_submodules_say_where_they_are(module):
    module = import_module(f"sklofi.{module}")
    assert all(hasattr(module, name) for name in module.__all__)
    for name in set(module.__all__) - set(sklofi.__all__):
        with pytest.raises(AttributeError, match=f"from sklofi.* import {name}$") as error:
            getattr(sklofi, name)
        home = str(error.value).split()[-3]
        assert getattr(import_module(home), name) is getattr(module, name)


def test_to_say_where_a_name_is_loads_nothing():
    code = (
        "import sys, sklofi; assert not hasattr(sklofi, 'GINClassifier');"
        " assert not {'torch', 'sklearn', 'sklofi.baselines._networks'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
