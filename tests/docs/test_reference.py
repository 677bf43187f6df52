"""Every public name is in the reference, and every estimator in a table of capabilities."""

import pkgutil
from importlib import import_module

import pytest

import sklofi
from site_tools.capabilities import TABLES, estimators, kind_of, name_of, table
from site_tools.doors import homes, public_names
from site_tools.names import target_of
from site_tools.reference import room_page

MODULES = [
    "sklofi",
    *(m.name for m in pkgutil.iter_modules(sklofi.__path__, "sklofi.") if "._" not in m.name),
]


def test_every_public_module_has_a_page():
    public = {name for name in MODULES if not name.endswith("__main__")}
    assert set(public_names()) == public


@pytest.mark.parametrize("module", public_names())
def test_every_public_name_is_on_the_page_of_its_module(module):
    found = import_module(module)
    names = [name for name in found.__all__ if f"{module}.{name}" not in public_names()]
    names.remove("__version__") if "__version__" in names else None
    assert sorted(public_names()[module]) == sorted(names)
    page = room_page(module, names)
    for name in names:
        home = homes()[name]
        entry = f"   {name}\n" if home == module else f"   {home}.{name}\n"
        assert entry in page
        assert getattr(import_module(home), name) is getattr(found, name)


@pytest.fixture(scope="module")
def capabilities():
    """Of each estimator what its table says, by the heads of the columns."""
    found = {}
    for kind in TABLES:
        head, *rows = table(kind)
        for name, *cells in rows:
            assert name not in found
            found[name] = dict(zip(head[1:], cells, strict=True))
    return found


def test_every_estimator_is_in_one_table(capabilities):
    names = {name_of(estimator) for estimator in estimators()}
    assert names == set(capabilities)
    ends = {"Classifier": "classifiers", "SVC": "classifiers", "Regressor": "regressors"}
    for estimator in estimators():
        for end, kind in ends.items():
            assert not type(estimator).__name__.endswith(end) or kind_of(estimator) == kind


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("sklofi.LoFIClassifier", "edge labels, bonds", "yes"),
        ("sklofi.LoFIClassifier", "edge weights", "by option"),
        ("sklofi.LoFIClassifier", "edge features", "by option"),
        ("sklofi.LoFIClassifier", "graph features", "by option"),
        ("sklofi.LoFIClassifier", "explanations", "yes"),
        ("sklofi.LoFIClassifier", "without torch", ""),
        ("sklofi.baselines.GINClassifier", "edge labels, bonds", "by option"),
        ("sklofi.baselines.GINClassifier", "explanations", ""),
        ("sklofi.baselines.ECCClassifier", "edge labels, bonds", "yes"),
        ("sklofi.baselines.GCNClassifier", "edge labels, bonds", ""),
        ("sklofi.GraphKernelSVC", "probabilities", "by option"),
        ("sklofi.GraphKernelSVC", "node features", ""),
        ("sklofi.GraphKernelSVC", "graph features", ""),
        ("sklofi.FingerprintClassifier", "graph features", "by option"),
        ("sklofi.GraphKernelSVC", "without torch", "yes"),
        ("sklofi.FingerprintClassifier", "probabilities", "yes"),
        ("sklofi.LoFIRegressor", "several targets", "yes"),
        ("sklofi.WLVectorizer", "edge labels, bonds", "yes"),
        ("sklofi.WLVectorizer", "without torch", "yes"),
    ],
)
def test_tables_say_what_is_known(capabilities, name, column, expected):
    assert capabilities[name][column] == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("GraphSet", "sklofi.GraphSet"),
        ('GraphKernelSVC(kernel="wl-oa")', "sklofi.GraphKernelSVC"),
        ("GraphSet.from_networkx(graphs)", "sklofi.GraphSet.from_networkx"),
        ("sklofi.nn.LoFILayer", "sklofi.nn.LoFILayer"),
        ("sklofi.graphs.GraphSet", "sklofi.GraphSet"),
        ("sklofi.baselines", "sklofi.baselines"),
        ("sklofi.load", "sklofi.load"),
        ("load", None),
        ("width", None),
        ("fit", None),
        ("GraphSet.from_nothing", None),
        ("GridSearchCV", None),
    ],
)
def test_public_names_in_the_guide_lead_to_the_reference(code, expected):
    assert target_of(code) == expected
