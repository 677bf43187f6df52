import json
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import safetensors.numpy
from forged_models import OTHERS, write_shortest
from hostile import Refused, in_documented_words
from hypothesis import HealthCheck, given, settings
from joblib import Parallel, delayed
from other_forms import NAMES, graphs_with_all
from sklearn.model_selection import cross_val_score
from strategies import graph_lists, tame_lists

import sklofi
from sklofi import GraphKernelSVC, GraphSet
from sklofi._storage import read_file, write_file
from sklofi.datasets import make_motif_graphs

often = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def assert_equal_fields(one, other):
    fields, others = one._data(), other._data()
    assert fields.keys() == others.keys()
    for name, value in fields.items():
        assert type(value) is type(others[name]), name
        if isinstance(value, np.ndarray):
            assert value.dtype == others[name].dtype, name
            assert [*map(repr, value.tolist())] == [*map(repr, others[name].tolist())], name
        else:
            assert repr(value) == repr(others[name]), name


def motifs(n_graphs=40):
    graphs, y = make_motif_graphs(n_graphs, random_state=0)
    return GraphSet.from_networkx(graphs), y


@often
@given(graphs_with_all())
def test_a_loaded_set_is_equal_in_all_fields(tmp_path_factory, graphs):
    path = tmp_path_factory.mktemp("sets") / "graphs.safetensors"
    saved = GraphSet.from_networkx(graphs, **NAMES)
    saved.save(path)
    loaded = GraphSet.load(path)
    assert_equal_fields(loaded, saved)
    assert loaded.fingerprint == saved.fingerprint


@often
@given(tame_lists() | graph_lists(odd=True))
def test_any_graphs_come_back_or_are_refused_in_a_sentence(tmp_path_factory, graphs):
    path = tmp_path_factory.mktemp("sets") / "graphs.safetensors"
    try:
        with in_documented_words():
            saved = GraphSet.from_networkx(graphs)
            saved.save(path)
    except Refused:
        return
    assert_equal_fields(GraphSet.load(path), saved)


@pytest.mark.parametrize("names", ["ab\ud800\x00é", ["", "long" * 100], [(1, "a"), 2.5], [7, 8]])
def test_names_of_nodes_come_back(names, tmp_path):
    saved = GraphSet.from_networkx([nx.path_graph(list(names))])
    saved.save(tmp_path / "a")
    assert list(GraphSet.load(tmp_path / "a")[0]) == list(names)


def test_molecules_come_back_with_how_they_were_read(tmp_path):
    options = {"atom_label": "element", "explicit_hydrogens": True}
    saved = GraphSet.from_molecules(["CCO", "no molecule", "c1ccccc1"], on_invalid="nan", **options)
    saved.save(tmp_path / "a")
    loaded = GraphSet.load(tmp_path / "a")
    assert_equal_fields(loaded, saved)
    assert loaded.molecule_options == saved.molecule_options
    assert loaded.missing.tolist() == [False, True, False]


def test_slices_are_saved_as_themselves(tmp_path):
    graphs, _ = motifs()
    graphs[3:7].save(tmp_path / "part")
    graphs.save(tmp_path / "whole")
    loaded = GraphSet.load(tmp_path / "part")
    assert_equal_fields(loaded, graphs[3:7])
    assert loaded.origin[0] is loaded
    sizes = [(tmp_path / name).stat().st_size for name in ("part", "whole")]
    assert sizes[0] < sizes[1] / 4
    assert_equal_fields(GraphSet.load(tmp_path / "whole")[3:7], graphs[3:7])


def test_arrays_are_mapped_and_read_only(tmp_path):
    graphs, _ = motifs()
    graphs.save(tmp_path / "a")
    loaded = GraphSet.load(tmp_path / "a")
    for name, value in loaded._data().items():
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable
            assert not value.flags.owndata, name
            assert value.ctypes.data % value.itemsize == 0
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(tmp_path / "a") in maps.read_text()


def test_a_file_may_be_replaced_while_it_is_in_use(tmp_path):
    graphs, _ = motifs()
    graphs.save(tmp_path / "a")
    loaded = GraphSet.load(tmp_path / "a")
    graphs[::-1].save(tmp_path / "a")
    assert_equal_fields(loaded, graphs)
    assert_equal_fields(pickle.loads(pickle.dumps(loaded)), graphs)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parallel
def test_workers_get_the_graphs_that_were_loaded(tmp_path):
    graphs, y = motifs()
    many = graphs[np.tile(np.arange(len(graphs)), 500)]  # arrays that loky maps, too
    many.save(tmp_path / "a")
    loaded = GraphSet.load(tmp_path / "a")
    assert max(loaded.neighbors.nbytes, loaded.edge_offsets.nbytes) > 1e6
    graphs[::-1].save(tmp_path / "a")
    parts = Parallel(n_jobs=2)(delayed(_sum)(loaded) for _ in range(2))
    assert parts == [_sum(many)] * 2
    X = GraphSet.load(tmp_path / "a")
    scores = [cross_val_score(GraphKernelSVC(), X, y[::-1], cv=2, n_jobs=n) for n in (1, 2)]
    assert scores[0].tolist() == scores[1].tolist()


def _sum(graphs):
    return int(graphs.neighbors.sum()), int(graphs.edge_offsets.sum()), len(graphs)


def test_a_crash_leaves_the_former_file_whole(tmp_path, monkeypatch):
    graphs, _ = motifs()
    graphs.save(tmp_path / "a")

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sklofi._storage.os.fsync", crash)
    with pytest.raises(KeyboardInterrupt):
        graphs[:2].save(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert len(GraphSet.load(tmp_path / "a")) == len(graphs)


def test_the_file_is_one_that_safetensors_reads(tmp_path):
    graphs, _ = motifs()
    graphs.save(tmp_path / "a")
    arrays = safetensors.numpy.load_file(tmp_path / "a")
    np.testing.assert_array_equal(arrays["fields.neighbors"], graphs.neighbors)
    description, again = read_file(tmp_path / "a")
    assert description["class"] == "GraphSet"
    assert again.keys() == arrays.keys()


def test_labels_that_cannot_be_read_back_are_refused(tmp_path):
    graph = nx.empty_graph(1)
    graph.nodes[0]["label"] = range(3)
    with pytest.raises(TypeError, match=r"range\(0, 3\) .* cannot be saved"):
        GraphSet.from_networkx([graph]).save(tmp_path / "a")


def test_estimators_and_graphs_are_told_apart(tmp_path):
    graphs, y = motifs()
    graphs.save(tmp_path / "graphs")
    GraphKernelSVC().fit(graphs, y).save(tmp_path / "model")
    with pytest.raises(ValueError, match="model holds a GraphKernelSVC, not a GraphSet"):
        GraphSet.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"graphs holds a GraphSet; read it with GraphSet\.load"):
        sklofi.load(tmp_path / "graphs")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\xff" * 40, b"\x02" + b"\0" * 7 + b"{}"])
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ValueError, match=r"a is (not a file that sklofi|a safetensors)"):
        GraphSet.load(tmp_path / "a")


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "a"
    motifs()[0].save(path)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match="damaged or incomplete"):
        GraphSet.load(path)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ValueError, match="does not agree with its checksum"):
        GraphSet.load(path)


def bonded():
    graph = nx.path_graph(["a", "b", "c"])
    nx.set_node_attributes(graph, dict(zip("abc", "CNC", strict=True)), "element")
    nx.set_node_attributes(graph, 1.0, "position")
    for name, value in (("bond", 1), ("w", 2.0), ("length", 0.5)):
        nx.set_edge_attributes(graph, value, name)
    return GraphSet.from_networkx([graph], **NAMES)


FORGED_ARRAYS = {
    "node_offsets": [[0, 2], [0, 10**8], [1, 3], [0.0, 3.0], []],
    "edge_offsets": [[0, 1, 3, 10**9], [0, 4, 3, 4]],
    "neighbors": [[1, 0, 2, 3], [1, 0, 2, -1], [1, 0, 2], [[1, 0, 2, 1]]],
    "directed": [[0], [[False]], [False, True]],
    "label_ids": [[0, 1, 2], [0, -1, 0], [0.0, 1.0, 0.0]],
    "features": [[1.0, 1.0, 1.0], [[np.nan]] * 3, [[1.0]] * 2, [[1]] * 3],
    "edge_label_ids": [[0, 0, 0, 1], [0, 0]],
    "edge_weights": [[1.0, 1.0, 1.0, -1.0], [np.inf] * 4, [1, 1, 1, 1]],
    "edge_vectors": [[1.0] * 4, [[np.nan]] * 4],
    "node_names.bytes": [[255, 254, 253], [97]],
    "node_names.lengths": [[1, 1, 2], [-1, 2, 2], [1]],
}


@pytest.mark.parametrize(
    "name, values", [(name, values) for name, some in FORGED_ARRAYS.items() for values in some]
)
def test_arrays_that_do_not_fit_are_refused(name, values, tmp_path):
    path = tmp_path / "a"
    bonded().save(path)
    description, arrays = read_file(path)
    forged = np.array(values)
    kind = np.uint8 if name.endswith("bytes") else forged.dtype
    assert f"fields.{name}" in arrays
    write_file(path, description, arrays | {f"fields.{name}": forged.astype(kind)})
    with pytest.raises(ValueError, match="does not describe a GraphSet as this version"):
        GraphSet.load(path)


def test_lengths_that_overflow_do_not_copy_names(tmp_path):
    """Their sum is right, and each second one would ask for the bytes of all names."""
    path = tmp_path / "a"
    bonded().save(path)
    description, arrays = read_file(path)
    n_bytes = 20_000
    lengths = np.full(2 * 1000 + 1, n_bytes, np.uint64)
    lengths[1::2] = 2**64 - n_bytes
    names = {"bytes": np.full(n_bytes, 97, np.uint8), "lengths": lengths}
    write_file(path, description, arrays | {f"fields.node_names.{k}": v for k, v in names.items()})
    tracemalloc.start()
    with pytest.raises(ValueError, match="the lengths of node names do not fit"):
        GraphSet.load(path)
    assert tracemalloc.get_traced_memory()[1] < 200 * path.stat().st_size
    tracemalloc.stop()


def test_made_up_descriptions_are_refused_or_harmless(tmp_path):
    """Each value is replaced by each of many, with a checksum that fits."""
    path = tmp_path / "a"
    bonded().save(path)
    n_refused = n_loaded = 0
    fields = list(read_file(path)[0]["fields"])
    for field in [*fields, "tables", "_origin", "fingerprint", "__class__"]:
        for other in OTHERS:
            description, arrays = read_file(path)
            description["fields"][field] = other
            write_shortest(path, description, arrays)
            try:
                GraphSet.load(path).check_arrays()
                n_loaded += 1
            except ValueError as error:
                assert str(path) in str(error)
                n_refused += 1
            bonded().save(path)
    assert n_refused > 2 * n_loaded


def test_loading_runs_nothing_and_opens_nothing_else(tmp_path):
    bonded().save(tmp_path / "a")
    code = (
        "import sys; from sklofi import GraphSet; import sklofi._storage\n"
        f"path = {str(tmp_path / 'a')!r}; GraphSet.load(path); seen = []\n"
        "sys.addaudithook(lambda event, args: seen.append((event, str(args[:1]))))\n"
        "GraphSet.load(path)\n"
        "bad = [s for s in seen if s[0] in ('exec', 'compile', 'import', 'pickle.find_class')"
        " or s[0] == 'open' and path not in s[1]]\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_made_up_header_takes_no_memory(tmp_path):
    part = {"dtype": "I64", "shape": [10**12], "data_offsets": [0, 8 * 10**12]}
    text = json.dumps({"__metadata__": {"sklofi": "{}"}, "x": part}).encode()
    (tmp_path / "a").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(ValueError, match="the arrays do not fill the file"):
        GraphSet.load(tmp_path / "a")
