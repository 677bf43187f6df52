"""Data sets in the TUDataset format, and files that are not what they should be."""

import tracemalloc
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers import SMALL_SET, write_tu
from sklofi.datasets import _tu as tudataset
from sklofi.datasets._tu import Source, build_graphs, content_digest, read_tables


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
        ({"A": "1, 2\n2\n"}, r"SMALL_A.txt, line 2: '2' is not a line of 2 whole numbers"),
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


TOO_LARGE = ("9223372036854775808", "-9223372036854775809", "1e300", "99999999999999999999")
INTEGERS = ("A", "graph_indicator", "node_labels", "edge_labels", "graph_labels")
NUMBERS = ("node_attributes", "edge_attributes", "graph_attributes")
N_LINES = {"A": 6, "edge_labels": 6, "edge_attributes": 6, "graph_labels": 2, "graph_attributes": 2}


def with_bad_line(what, line, bad):
    """A file of ones whose line has something else in it."""
    lines = ["1, 2" if what == "A" else "1"] * N_LINES.get(what, 5)
    lines[line - 1] = f"1, {bad}" if what == "A" else bad
    return {what: "\n".join(lines) + "\n"}


@pytest.mark.parametrize("bad", [*TOO_LARGE, "nan", "inf", "-inf", "1 2", "1_0", "0x1", "#"])
@pytest.mark.parametrize("what", INTEGERS)
def test_what_is_no_integer_of_64_bits_is_named(tmp_path, what, bad):
    write_tu(tmp_path, **with_bad_line(what, 2, bad))
    with pytest.raises(ValueError, match=rf"SMALL_{what}.txt, line 2"):
        read(tmp_path)


@pytest.mark.parametrize("what", INTEGERS[:-1])  # classes may be real numbers
def test_what_is_not_whole_is_named(tmp_path, what):
    write_tu(tmp_path, **with_bad_line(what, 2, "1.5"))
    with pytest.raises(ValueError, match=rf"SMALL_{what}.txt, line 2: .*1.5' is not a line of"):
        read(tmp_path)


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf", "1e400", "1, 2", "1 2", "1_0", "C"])
@pytest.mark.parametrize("what", NUMBERS)
def test_what_is_no_finite_number_is_named(tmp_path, what, bad):
    write_tu(tmp_path, **with_bad_line(what, 2, bad))
    with pytest.raises(ValueError, match=rf"SMALL_{what}.txt, line 2"):
        read(tmp_path)


@pytest.mark.parametrize("line", [1, 2, 99, 100, 101, 10_000, 10_001, 20_199, 20_300])
def test_the_line_is_found_in_long_files(tmp_path, line):
    n_nodes = 20_300
    ones = {"graph_indicator": "1\n" * n_nodes, "graph_labels": "1\n"}
    labels = ["1"] * n_nodes
    labels[line - 1] = "x"
    write_tu(tmp_path, **ones, node_labels="\n".join(labels), as_zip=False)
    with pytest.raises(ValueError, match=rf"SMALL_node_labels.txt, line {line}: 'x'"):
        read(tmp_path)


@pytest.mark.parametrize("blank", ["", " ", "\t", "\r"])
@pytest.mark.parametrize("what", [*INTEGERS, *NUMBERS])
def test_blank_lines_are_refused_but_at_the_end(tmp_path, what, blank):
    lines = ["1, 2" if what == "A" else "1"] * N_LINES.get(what, 5)
    if what == "graph_indicator":
        lines = SMALL_SET[what].split()
    write_tu(tmp_path, "END", **{what: "\n".join([*lines, blank, blank])})
    read(tmp_path, "END")
    for place in (0, 1):
        name = f"SMALL{place}"
        write_tu(tmp_path, name, **{what: "\n".join([*lines[:place], blank, *lines[place:]])})
        with pytest.raises(ValueError, match=rf"{name}_{what}.txt, line {place + 1} is blank"):
            read(tmp_path, name)


def test_lines_may_end_as_on_windows(tmp_path):
    write_tu(tmp_path, **{what: text.replace("\n", "\r\n") for what, text in SMALL_SET.items()})
    write_tu(tmp_path, "UNIX")
    assert content_digest(read(tmp_path)) == content_digest(read(tmp_path, "UNIX"))


def test_classes_keep_all_their_digits(tmp_path):
    largest = 2**63 - 1
    write_tu(tmp_path, graph_labels=f"{largest}\n{largest - 1}\n")
    assert read(tmp_path).graph_labels.tolist() == [[largest], [largest - 1]]


@pytest.mark.parametrize(
    "labels, line, here, first, there",
    [
        ("3\n4\n1\n1\n1\n1\n", 2, "4", 1, "3"),
        ("3\n3\n1\n1\n1\n2\n", 6, "2", 5, "1"),
        ("3, 1\n3, 1\n1, 1\n1, 2\n1, 0\n2, 0\n", 4, "1, 2", 3, "1, 1"),
    ],
)
def test_two_labels_of_one_edge_are_refused(tmp_path, labels, line, here, first, there):
    write_tu(tmp_path, edge_labels=labels)
    message = (
        rf"SMALL_edge_labels.txt, line {line}: .* label {here} here, but {there} in line {first};"
    )
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


def test_an_edge_that_is_listed_twice_needs_one_label(tmp_path):
    twice = {"A": SMALL_SET["A"] * 2}
    write_tu(tmp_path, **twice, edge_labels="3\n3\n4\n4\n5\n5\n" * 2)
    path, edge = build_graphs(read(tmp_path))
    assert list(path.edges(data="label")) == [(0, 1, 3), (1, 2, 4)]
    assert list(edge.edges(data="label")) == [(0, 1, 5)]
    write_tu(tmp_path, "OTHER", **twice, edge_labels="3\n3\n4\n4\n5\n5\n3\n3\n4\n4\n6\n6\n")
    message = (
        r"OTHER_edge_labels.txt, line 11: the edge of the nodes 4 and 5 .* 6 here, but 5 in line 5"
    )
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "OTHER")


def test_two_attributes_of_one_edge_are_told(tmp_path):
    write_tu(tmp_path, edge_attributes="0.1\n0.1\n0.2\n-0.2\n0.3\n-0.3\n")
    message = r"SMALL_edge_attributes.txt, line 4: .* than in line 3\. .* last line; .* 2 lines"
    with pytest.warns(UserWarning, match=message):
        tables = read(tmp_path)
    path, _ = build_graphs(tables)
    assert_array_equal(path.edges[1, 2]["attributes"], [-0.2])


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


def test_zips_of_many_short_lines_are_refused(tmp_path):
    """Each becomes hundreds of bytes of a networkx graph."""
    write_tu(tmp_path, A="1,1\n" * 20_000, edge_labels=None)
    with zipfile.ZipFile(tmp_path / "SMALL.zip", "a") as archive:
        archive.writestr("padding", np.random.default_rng(0).bytes(5_000))
    with pytest.raises(ValueError, match=r"bytes, but SMALL_A.txt in it has 20,000 lines"):
        read(tmp_path)


def test_what_zips_may_hold_together_takes_bounded_memory(tmp_path):
    """As many nodes and bonds as there may be for each byte, all with labels and attributes."""
    n_bytes = 30_000
    n_lines = int(1.95 * n_bytes)
    files = dict.fromkeys(("graph_indicator", "node_labels", "edge_labels"), "1\n" * n_lines)
    files |= dict.fromkeys(("node_attributes", "edge_attributes"), "0\n" * n_lines)
    write_tu(tmp_path, **files, A="1,1\n" * n_lines, graph_labels="1\n")
    path = tmp_path / "SMALL.zip"
    with zipfile.ZipFile(path, "a") as archive:
        noise = np.random.default_rng(0).bytes(n_bytes - path.stat().st_size)
        archive.writestr(zipfile.ZipInfo("noise"), noise)
    tracemalloc.start()
    assert len(build_graphs(read(tmp_path))[0]) == n_lines
    assert tracemalloc.get_traced_memory()[1] < 2_000 * path.stat().st_size
    tracemalloc.stop()


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
