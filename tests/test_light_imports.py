"""Importing a name loads what the name needs, and no more."""

import subprocess
import sys

import pytest

# Import statements, and the modules that they must not load.
UNUSED = {
    "import sklofi": ["numpy", "scipy", "sklearn", "networkx", "torch"],
    "import sklofi.nn, sklofi.training, sklofi.baselines": ["numpy", "sklearn", "torch", "skorch"],
    "from sklofi import GraphSet": ["sklearn", "pandas", "torch"],
    "from sklofi import GraphKernelSVC": ["torch", "torch_geometric", "skorch"],
    "from sklofi import WLVectorizer": ["torch", "torch_geometric", "skorch"],
    "from sklofi import FingerprintClassifier": ["torch", "torch_geometric", "skorch"],
    "from sklofi.nn import LoFILayer": ["sklearn", "networkx", "torch_geometric", "skorch"],
    "from sklofi import LoFIClassifier": ["torch_geometric", "matplotlib", "dask"],
    "from sklofi import LoFIRegressor": ["torch_geometric", "matplotlib", "dask"],
}


def run(code):
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


@pytest.mark.parametrize("statement", UNUSED)
def test_an_import_loads_no_module_that_it_does_not_need(statement):
    run(f"import sys; {statement}; assert not {{*sys.modules}} & {{*{UNUSED[statement]}}}")


def test_training_and_prediction_do_not_load_pytorch_geometric():
    run(
        "import sys; from sklofi import LoFIClassifier;"
        " from sklofi.datasets import make_motif_graphs;"
        " graphs, y = make_motif_graphs(20, random_state=0);"
        " LoFIClassifier(n_members=1, counts=False, max_epochs=2).fit(graphs, y).predict(graphs);"
        " assert 'torch_geometric' not in sys.modules"
    )
