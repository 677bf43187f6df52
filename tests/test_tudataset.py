"""Data sets in the TUDataset format, and files that are not what they should be."""

import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers import write_tu
from sklofi import tudataset
from sklofi.tudataset import Source, build_graphs, content_digest, read_tables


def read(folder, name="SMALL"):
    return read_tables(Source.find(folder, name))


@pytest.mark.parametrize("as_zip", [True, False])
def test_graphs_are_as_they_are_written(tmp_path, as_zip):
    write_tu(tmp_path, as_zip=as_zip)
    path, edge = build_graphs(read(tmp_path))
    assert list(path.nodes(data=True)) == [(0, {"label": 0}), (1, {"label": 7}), (2, {"label": 0})]
    assert set(path.edges) == {(0, 1), (1, 2)}
    assert list(edge.nodes(data="label")) == [(0, 7), (1, 7)]
    assert list(edge.edges(data=True)) == [(0, 1, {})]


def test_all_optional_files_are_read(tmp_path):
    write_tu(
        tmp_path,
        node_labels="0, 1\n1, 1\n0, 0\n2, 2\n2, 3\n",
        node_attributes="0.5, 1\n1.5, 1e-3\n-2, 0\n3, 4\n 5.000, 6\n",
        edge_labels="3\n3\n4\n4\n5\n5\n",
        edge_attributes="0.1\n0.1\n0.2\n0.2\n0.3\n0.3\n",
        graph_attributes="0.25\n-1\n",
    )
    tables = read(tmp_path)
    path, edge = build_graphs(tables)
    assert path.nodes[1]["label"] == (1, 1)
    assert_array_equal(path.nodes[1]["attributes"], [1.5, 0.001])
    assert path.edges[1, 2]["label"] == 4
    assert_array_equal(edge.edges[0, 1]["attributes"], [0.3])
    assert_array_equal(tables.graph_attributes, [[0.25], [-1]])


def test_files_at_the_top_of_a_zip_and_lines_in_any_order(tmp_path):
    write_tu(tmp_path, as_zip=False, A="5,4\n3,2\n2,3\n1,2\n4,5\n2,1\n")
    with zipfile.ZipFile(tmp_path / "FLAT.zip", "w") as archive:
        for path in (tmp_path / "SMALL").iterdir():
            archive.write(path, path.name.replace("SMALL", "FLAT"))
    graphs = build_graphs(read(tmp_path, "FLAT"))
    assert [set(graph.edges) for graph in graphs] == [{(0, 1), (1, 2)}, {(0, 1)}]
    write_tu(tmp_path, "SORTED")
    assert content_digest(read(tmp_path, "FLAT")) == content_digest(read(tmp_path, "SORTED"))


def test_digests_see_every_change(tmp_path):
    write_tu(tmp_path)
    digests = {content_digest(read(tmp_path))}
    changes = [
        {"A": "1, 2\n2, 1\n1, 3\n3, 1\n4, 5\n5, 4\n"},
        {"node_labels": "0\n7\n0\n7\n6\n"},
        {"node_labels": None},
        {"graph_labels": "1\n1\n"},
        {"graph_indicator": "1\n1\n1\n2\n2\n3\n", "node_labels": None, "graph_labels": "1\n1\n1\n"},
    ]
    for i, change in enumerate(changes):
        write_tu(tmp_path, f"SET{i}", **change)
        digests.add(content_digest(read(tmp_path, f"SET{i}")))
    assert len(digests) == 1 + len(changes)


def test_graphs_without_edges(tmp_path):
    write_tu(tmp_path, A="")
    assert [len(graph.edges) for graph in build_graphs(read(tmp_path))] == [0, 0]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"A": "1, 2\n2; 1\n"}, r"SMALL_A.txt, line 2: '2; 1' is not a line of 2 whole numbers"),
        ({"A": "1, 2\n\n2\n"}, r"SMALL_A.txt, line 3: '2' is not a line of 2 whole numbers"),
        ({"A": "1, 2, 3\n"}, r"SMALL_A.txt, line 1: '1, 2, 3' is not a line of 2 whole numbers"),
        ({"A": "1, 2\n2, 9\n"}, r"SMALL_A.txt, line 2: nodes 2 and 9 are not both among .* 1 to 5"),
        ({"A": "0, 2\n"}, r"SMALL_A.txt, line 1: nodes 0 and 2 are not both among"),
        ({"A": "1, 2\n3, 4\n"}, r"SMALL_A.txt, line 2: nodes 3 and 4 are in different graphs"),
        ({"A": None}, r"There is no SMALL_A.txt in .*SMALL.zip"),
        ({"A": "1, 99999999999999999999\n"}, r"SMALL_A.txt, line 1"),
        (
            {"graph_indicator": "1\n1\n3\n3\n3\n"},
            r"SMALL_graph_indicator.txt, line 3: graph 3",
        ),
        (
            {"graph_indicator": "2\n2\n2\n2\n2\n"},
            r"SMALL_graph_indicator.txt, line 1: graph 2",
        ),
        (
            {"graph_indicator": "1\n2\n1\n2\n2\n"},
            r"SMALL_graph_indicator.txt, line 3: graph 1",
        ),
        ({"graph_indicator": ""}, r"SMALL_graph_indicator.txt has no lines"),
        ({"node_labels": "0\n1\n"}, r"SMALL_node_labels.txt has 2 lines, but there have to be 5"),
        ({"node_labels": "0\n1\nC\n1\n1\n"}, r"SMALL_node_labels.txt, line 3: 'C' is not a line"),
        ({"graph_labels": "1\n"}, r"SMALL_graph_labels.txt has 1 lines, but there have to be 2"),
        ({"node_attributes": "1\n2\nnan\n4\n5\n"}, r"SMALL_node_attributes.txt, line 3: 'nan'"),
        ({"node_attributes": "1\n2,3\n3\n4\n5\n"}, r"SMALL_node_attributes.txt, line 2: '2,3'"),
        ({"node_labels": "\x00\xff\n" * 5}, r"SMALL_node_labels.txt, line 1"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, change, message):
    write_tu(tmp_path, **change)
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


@pytest.mark.parametrize("as_zip", [True, False])
def test_sizes_are_bounded(tmp_path, monkeypatch, as_zip):
    write_tu(tmp_path, as_zip=as_zip, node_labels="0\n" * 3000)  # which a zip makes small
    monkeypatch.setattr(tudataset, "LARGEST_FILE", 4000)
    with pytest.raises(ValueError, match=r"SMALL_node_labels.txt in .* more than the 4,000 bytes"):
        read(tmp_path)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"node_labels": "0\n" * 100_000}, "all files in it together have 200,"),
        ({"graph_indicator": "1\n" * 5000}, r"files of nodes \(graph_indicator\) .* have 10,000"),
    ],
)
def test_zips_that_unpack_to_far_more_are_refused(tmp_path, change, message):
    """Some kilobytes could take gigabytes. The same files in a folder are what they are."""
    write_tu(tmp_path, **change)
    with pytest.raises(ValueError, match=rf"SMALL.zip has .* bytes, but .*{message}"):
        read(tmp_path)
    with zipfile.ZipFile(tmp_path / "SMALL.zip") as archive:
        archive.extractall(tmp_path)
    with pytest.raises(ValueError, match="have to be"):
        read(tmp_path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(tmp_path, method):
    """They take memory as the file says, before a byte is there."""
    write_tu(tmp_path, as_zip=False)
    with zipfile.ZipFile(tmp_path / "OTHER.zip", "w", method) as archive:
        for path in (tmp_path / "SMALL").iterdir():
            archive.write(path, path.name.replace("SMALL", "OTHER"))
    with pytest.raises(ValueError, match=r"OTHER.zip is packed by another method than deflate"):
        read(tmp_path, "OTHER")


def test_paths_inside_a_zip_lead_nowhere(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    write_tu(home)
    with zipfile.ZipFile(home / "SMALL.zip", "a") as archive:
        archive.writestr("../outside.txt", "no")
        archive.writestr("/outside.txt", "no")
        archive.writestr("SMALL/../../SMALL_edge_labels.txt", "no")
    assert len(build_graphs(read(home))) == 2
    assert {path.name for path in tmp_path.rglob("*")} == {"home", "SMALL.zip"}


@pytest.mark.parametrize("content", [b"", b"not a zip", "truncated"])
def test_what_is_no_zip_is_refused(tmp_path, content):
    write_tu(tmp_path)
    path = tmp_path / "SMALL.zip"
    path.write_bytes(path.read_bytes()[:200] if content == "truncated" else content)
    with pytest.raises(ValueError, match=r"SMALL.zip is not a zip that can be read .* Delete it"):
        read(tmp_path)


@pytest.mark.parametrize("position", range(12))
def test_altered_bytes_in_a_zip_are_noticed(tmp_path, position):
    """By the packing itself, or by the check sum of what was unpacked."""
    write_tu(tmp_path)
    path = tmp_path / "SMALL.zip"
    content = bytearray(path.read_bytes())
    content[content.index(b"SMALL_A.txt") + len(b"SMALL_A.txt") + position] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a zip that can be read"):
        read(tmp_path)


def test_classes_may_be_real_numbers(tmp_path):
    write_tu(tmp_path, graph_labels="0.5\n1\n")
    assert_array_equal(read(tmp_path).graph_labels, [[0.5], [1.0]])
    write_tu(tmp_path, "WHOLE", graph_labels="2.0\n1\n")
    assert read(tmp_path, "WHOLE").graph_labels.dtype == np.int64
