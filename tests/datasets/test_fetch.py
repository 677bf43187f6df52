import os

import pytest
from numpy.testing import assert_array_equal

from helpers import SMALL_SET, write_tu
from sklofi.datasets import fetch_tu, fetch_zinc
from sklofi.datasets._download import data_folder
from sklofi.datasets._tu import DIGESTS, Source, content_digest, read_tables


def test_fetch_tu_reads_what_is_there(tmp_path, monkeypatch):
    write_tu(tmp_path)
    dataset = fetch_tu("SMALL", data_home=tmp_path)
    assert [len(graph) for graph in dataset.data] == [3, 2]
    assert_array_equal(dataset.target, [-1, 1])
    assert dataset.graph_attributes is None
    monkeypatch.setenv("SKLOFI_DATA", str(tmp_path))
    graphs, y = fetch_tu("SMALL", return_X_y=True)
    assert [len(graph) for graph in graphs] == [3, 2]
    assert_array_equal(y, [-1, 1])


def test_fetch_tu_of_regression_targets(tmp_path):
    write_tu(tmp_path, "ONE", graph_labels=None, graph_attributes="0.5\n1.5\n")
    assert_array_equal(fetch_tu("ONE", data_home=tmp_path).target, [0.5, 1.5])
    write_tu(tmp_path, "TWO", graph_labels=None, graph_attributes="0.5, 1\n1.5, 2\n")
    assert_array_equal(fetch_tu("TWO", data_home=tmp_path).target, [[0.5, 1], [1.5, 2]])
    write_tu(tmp_path, "BOTH", graph_attributes="0.5\n1.5\n")
    both = fetch_tu("BOTH", data_home=tmp_path)
    assert_array_equal(both.target, [-1, 1])
    assert_array_equal(both.graph_attributes, [[0.5], [1.5]])
    write_tu(tmp_path, "NONE", graph_labels=None)
    with pytest.raises(ValueError, match=r"NONE has neither NONE_graph_labels.txt nor"):
        fetch_tu("NONE", data_home=tmp_path)


def test_fetch_tu_downloads_once(server, tmp_path):
    write_tu(server)
    home = tmp_path / "home"
    with pytest.raises(OSError, match=r"SMALL is not in .*home; put SMALL.zip there"):
        fetch_tu("SMALL", data_home=home, download_if_missing=False)
    first = fetch_tu("SMALL", data_home=home, verbose=False)
    (server / "SMALL.zip").unlink()
    second = fetch_tu("SMALL", data_home=home, verbose=False)
    assert_array_equal(first.target, second.target)
    assert [path.name for path in home.iterdir()] == ["SMALL.zip"]


def test_fetch_tu_keeps_nothing_that_is_broken(server, tmp_path):
    write_tu(server, A="1, 2\n2, x\n")
    with pytest.raises(ValueError, match=r"SMALL_A.txt, line 2: '2, x'"):
        fetch_tu("SMALL", data_home=tmp_path / "home", verbose=False)
    assert list((tmp_path / "home").iterdir()) == []
    with pytest.raises(OSError, match=r"OTHER.zip could not be downloaded .* put the file"):
        fetch_tu("OTHER", data_home=tmp_path / "home", verbose=False)


def test_fetch_tu_tells_if_what_came_is_no_zip(server, tmp_path):
    (server / "SMALL.zip").write_text("<html>Please log in to this network.</html>")
    message = (
        r"SMALL.zip as downloaded from http\S+/SMALL.zip cannot be .* it is not a whole zip\.$"
    )
    with pytest.raises(ValueError, match=message):
        fetch_tu("SMALL", data_home=tmp_path / "home", verbose=False)
    assert list((tmp_path / "home").iterdir()) == []


def test_fetch_tu_tells_if_a_known_set_is_another(server, tmp_path):
    write_tu(server, "MUTAG")
    with pytest.warns(UserWarning, match="MUTAG as it was downloaded .* is not the data set"):
        fetch_tu("MUTAG", data_home=tmp_path, verbose=False)


@pytest.mark.parametrize("name", ["../MUTAG", "a/b", "", ".hidden", "MUTAG.zip"])
def test_fetch_tu_takes_names_only(name, tmp_path):
    with pytest.raises(ValueError, match="is not the name of a data set"):
        fetch_tu(name, data_home=tmp_path)


ZINC_FILES = {**SMALL_SET, "graph_labels": None, "graph_attributes": "0.5\n-1.5\n"}


def test_fetch_zinc_reads_the_subset_with_its_split(tmp_path):
    write_tu(tmp_path, "ZINC-12k", ZINC_FILES, split="train\ntest\n")
    zinc = fetch_zinc(data_home=tmp_path)
    assert len(zinc.data) == 2
    assert_array_equal(zinc.target, [0.5, -1.5])
    assert zinc.split.tolist() == ["train", "test"]
    assert len(fetch_zinc(data_home=tmp_path, return_X_y=True)) == 2


@pytest.mark.parametrize(
    "change, message",
    [
        ({"split": "train\n"}, "ZINC-12k_split.txt has 1 lines, but there are 2 graphs"),
        ({"split": "train\nfest\n"}, "ZINC-12k_split.txt, line 2: 'fest' is none of"),
        ({"split": "train\ntest\n", "graph_attributes": None}, "no ZINC-12k_graph_attributes.txt"),
    ],
)
def test_fetch_zinc_names_what_is_wrong(change, message, tmp_path):
    write_tu(tmp_path, "ZINC-12k", ZINC_FILES, **change)
    with pytest.raises(ValueError, match=message):
        fetch_zinc(data_home=tmp_path)


def test_fetch_zinc_takes_the_subset_from_the_full_set(server, tmp_path):
    for i, part in enumerate(("train", "val", "test")):
        write_tu(server, f"ZINC_{part}", ZINC_FILES, graph_attributes=f"{i}.25\n{i}.75\n")
        (server / f"{part}.index").write_text("1,0\n" if part == "train" else "1\n")
    zinc = fetch_zinc(data_home=tmp_path, verbose=False)
    assert_array_equal(zinc.target, [0.75, 0.25, 1.75, 2.75])
    assert zinc.split.tolist() == ["train", "train", "val", "test"]
    assert [len(graph) for graph in zinc.data] == [2, 3, 2, 2]
    full = fetch_zinc(subset=False, data_home=tmp_path, download_if_missing=False)
    assert full.split.tolist() == ["train"] * 2 + ["val"] * 2 + ["test"] * 2


def test_fetch_zinc_checks_the_lists(server, tmp_path):
    for part in ("train", "val", "test"):
        write_tu(server, f"ZINC_{part}", ZINC_FILES)
        (server / f"{part}.index").write_text("7")
    with pytest.raises(ValueError, match="names number 7, but ZINC_train has only 2 graphs"):
        fetch_zinc(data_home=tmp_path / "one", verbose=False)
    for bad in ("two", "", "-1", "9" * 20):
        (server / "train.index").write_text(f"1,{bad},2")
        with pytest.raises(ValueError, match=f"molecules for 'train' has '{bad}' in it"):
            fetch_zinc(data_home=tmp_path / "two", verbose=False)
    (server / "train.index").write_text("")
    with pytest.raises(ValueError, match="molecules for 'train' has '' in it"):
        fetch_zinc(data_home=tmp_path / "two", verbose=False)
    with pytest.raises(OSError, match=r"ZINC-12k_train.index is not in"):
        fetch_zinc(data_home=tmp_path / "none", download_if_missing=False)


@pytest.mark.parametrize("name", sorted(DIGESTS))
def test_known_sets_have_their_digests(name):
    source = Source.find(data_folder(None), name) if "SKLOFI_DATA" in os.environ else None
    if source is None:
        pytest.skip("needs the data sets that SKLOFI_DATA names")
    assert content_digest(read_tables(source)) == DIGESTS[name]
