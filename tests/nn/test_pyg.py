import pickle
import subprocess
import sys
from tempfile import TemporaryDirectory

import pytest
from stacks import build

from sklofi import baselines, nn
from sklofi.nn import GAT
from sklofi.nn._pyg import SMALLEST_LAYERS, PyGNetwork

ON_PYG = [GAT]

# In a process of its own, which writes temporary files to the folder in sys.argv[1]. `written` has
# an entry for each.
BEGINNING = """
import os, sys, tempfile
tempfile.tempdir = sys.argv[1]
written = []

def watch(event, arguments):
    if event == "tempfile.mkstemp" and "torch_geometric" in str(arguments[0]):
        written.append(event)

sys.addaudithook(watch)

def left_behind():
    return [name for name in os.listdir(sys.argv[1]) if name.endswith(".py")]
"""


def run(code, *arguments):
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", BEGINNING + code, folder, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_layers_are_written_when_the_first_network_is_built_and_leave_no_file():
    run(
        "from sklofi.baselines import GATClassifier\n"
        "from sklofi.datasets import make_motif_graphs\n"
        "from sklofi.nn._pyg import _prepared\n"
        "assert not written and not _prepared\n"
        "GATClassifier(max_epochs=1).fit(*make_motif_graphs(20))\n"
        "assert len(written) == 2 and _prepared == {'GATConv'}\n"
        "GATClassifier(max_epochs=1).fit(*make_motif_graphs(20))\n"
        "assert len(written) == 2\n"
        "assert not left_behind(), left_behind()\n"
    )


def test_threads_that_build_at_once_write_layers_once():
    run(
        "import threading\n"
        "from sklofi.nn import GAT\n"
        "sys.setswitchinterval(1e-6)\n"
        "barrier, networks = threading.Barrier(8), []\n"
        "def build():\n"
        "    barrier.wait()\n"
        "    networks.append(GAT(3, 2))\n"
        "threads = [threading.Thread(target=build) for _ in range(8)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "assert len(networks) == 8 and len(written) == 2, written\n"
        "assert not left_behind(), left_behind()\n"
    )


def test_unpickling_in_a_new_process_leaves_no_file(tmp_path):
    path = tmp_path / "network.pickle"
    path.write_bytes(pickle.dumps(build(GAT)))
    run(
        "import pickle\n"
        "network = pickle.load(open(sys.argv[2], 'rb'))\n"
        "assert type(network).__name__ == 'GAT' and len(written) == 2\n"
        "assert not left_behind(), left_behind()\n",
        str(path),
    )


def test_to_prepare_layers_draws_nothing_and_makes_nothing_meta():
    run(
        "import torch\n"
        "from sklofi.nn import GAT\n"
        "state = torch.get_rng_state()\n"
        "generator = torch.Generator().manual_seed(0)\n"
        "GAT.build(n_features=3, n_outputs=2, generator=generator, dtype=torch.float32)\n"
        "assert torch.equal(state, torch.get_rng_state())\n"
        "from torch_geometric.datasets import qm9\n"
        "assert qm9.conversion.device.type == 'cpu'\n"
    )


@pytest.mark.parametrize("network_class", ON_PYG)
def test_networks_name_all_layers_that_are_written(network_class):
    from torch_geometric.nn import MessagePassing

    modules = network_class(3, 2).modules()
    used = {type(module).__name__ for module in modules if isinstance(module, MessagePassing)}
    assert used == set(network_class.pyg_layers) <= set(SMALLEST_LAYERS)


def test_all_networks_on_pytorch_geometric_are_tested_here():
    def subclasses(cls):
        return {cls, *(below for child in cls.__subclasses__() for below in subclasses(child))}

    ours = {cls for cls in subclasses(PyGNetwork) if cls.__module__.startswith("sklofi.")}
    assert ours == {PyGNetwork, *ON_PYG}


def test_without_pytorch_geometric_other_networks_work_and_a_sentence_names_those_that_need_it():
    output = run(
        "sys.modules['torch_geometric'] = None\n"
        "from sklofi import baselines\n"
        "from sklofi.datasets import make_motif_graphs\n"
        "graphs, y = make_motif_graphs(20, random_state=0)\n"
        "names = [name for name in baselines.__all__ if name.endswith('Classifier')]\n"
        "for name in names:\n"
        "    estimator = getattr(baselines, name)()\n"
        "    if hasattr(estimator, 'max_epochs'):\n"
        "        try:\n"
        "            estimator.set_params(max_epochs=1).fit(graphs, y)\n"
        "            print(name)\n"
        "        except ImportError as error:\n"
        "            print(error)\n"
    )
    remedy = "needs PyTorch Geometric. Install it with pip install torch_geometric."
    networks = [name[:-10] for name in baselines.__all__ if name.endswith("Classifier")]
    networks = [name for name in networks if hasattr(nn, name)]
    on_pyg = [network.__name__ for network in ON_PYG]
    assert sorted(output.splitlines()) == sorted(
        f"{name} {remedy}" if name in on_pyg else f"{name}Classifier" for name in networks
    )


def test_networks_that_do_not_need_pytorch_geometric_do_not_import_it():
    run(
        "import sklofi.nn\n"
        "for name in sklofi.nn.__all__:\n"
        "    getattr(sklofi.nn, name)\n"
        "for name in sklofi.nn.__all__:\n"
        "    if hasattr(getattr(sklofi.nn, name), 'embed') and name != 'GAT':\n"
        "        if name not in ('FlatNetwork', 'LoFINetwork', 'StackedNetwork'):\n"
        "            getattr(sklofi.nn, name)(3, 2)\n"
        "assert 'torch_geometric' not in sys.modules\n"
    )
