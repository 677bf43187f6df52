"""skorch and PyTorch Geometric work for the user as if sklofi had not deferred an import."""

import subprocess
import sys

import pytest

pytest.importorskip("torch_geometric")


def run(*lines):
    subprocess.run([sys.executable, "-W", "ignore", "-c", "\n".join(lines)], check=True)


def test_skorch_moves_data_of_pytorch_geometric():
    run(
        "from sklofi import LoFIClassifier",
        "import sys, torch, skorch.utils",
        "assert 'torch_geometric' not in sys.modules",
        "assert skorch.utils.TORCH_GEOMETRIC_INSTALLED",
        "from torch_geometric.data import Data",
        "data = Data(x=torch.ones(2, 1))",
        "assert skorch.utils.to_tensor(data, 'cpu') is data",
        "assert skorch.utils.torch_geometric.data.Data is Data",
    )


def test_a_later_import_of_pytorch_geometric_is_the_usual_one():
    run(
        "from sklofi import LoFIClassifier",
        "from torch_geometric.typing import SparseTensor",
        "import sys, types, torch_geometric.edge_index",
        "assert type(sys.modules['torch_geometric']) is types.ModuleType",
        "assert torch_geometric.edge_index.SparseTensor is SparseTensor",
    )


def test_nothing_is_left_behind_in_the_import_system():
    run(
        "import builtins, importlib.machinery, sys",
        "before = [*sys.meta_path]",
        "from sklofi import LoFIClassifier",
        "import skorch.utils as utils",
        "assert [*sys.meta_path] == before",
        "assert type(utils.__spec__.loader) is importlib.machinery.SourceFileLoader",
        "assert type(utils.__loader__) is importlib.machinery.SourceFileLoader",
        "assert utils.__builtins__ is vars(builtins)",
        "assert utils.to_tensor.__builtins__ is vars(builtins)",
    )


@pytest.mark.parametrize("first", ["import torch_geometric", "import skorch"])
def test_what_was_imported_before_stays(first):
    run(
        first,
        "from sklofi import LoFIClassifier",
        "import sys, skorch.utils",
        "assert skorch.utils.torch_geometric is sys.modules['torch_geometric']",
    )


def test_without_pytorch_geometric_skorch_knows_that_it_is_absent():
    run(
        "import sys",
        "class Hide:",
        "    def find_spec(self, name, path, target=None):",
        "        if name == 'torch_geometric':",
        "            raise ModuleNotFoundError(name)",
        "sys.meta_path.insert(0, Hide())",
        "from sklofi import LoFIClassifier",
        "import skorch.utils",
        "assert not skorch.utils.TORCH_GEOMETRIC_INSTALLED",
    )
