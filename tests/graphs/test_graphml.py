import gzip

import networkx as nx
import pytest
from other_forms import assert_same_graphs

from sklofi import GraphSet
from sklofi.graphs import _graphml

HEAD = '<?xml version="1.0"?>'
GRAPH = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'
NODE = '<graph edgedefault="undirected"><node id="a"/></graph>'


def ring(kind=nx.Graph):
    graph = nx.cycle_graph(4, create_using=kind)
    nx.set_node_attributes(graph, dict(enumerate("CNCO")), "label")
    nx.set_edge_attributes(graph, 1.5, "length")
    return graph


def test_files_are_read_sorted_by_name_as_networkx_reads_them(tmp_path):
    graphs = {"b": ring(nx.DiGraph), "a": ring(), "c": nx.compose(ring(), nx.path_graph([3, 9]))}
    graphs["c"].nodes[9]["label"] = "H"
    graphs["c"].edges[3, 9]["length"] = 2.5
    for name, graph in graphs.items():
        nx.write_graphml(graph, tmp_path / f"{name}.graphml")
    (tmp_path / "notes.txt").write_text("not a graph")
    found = GraphSet.from_graphml(tmp_path, edge_features="length", edge_label=None)
    renamed = [nx.relabel_nodes(graphs[name], str) for name in "abc"]
    expected = GraphSet.from_networkx(renamed, edge_features="length", edge_label=None)
    assert_same_graphs(found, expected)


def test_a_file_without_a_namespace_is_read(tmp_path):
    (tmp_path / "a.graphml").write_text(HEAD + f"<graphml>{NODE}</graphml>")
    assert GraphSet.from_graphml(tmp_path).n_nodes == 1


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
BOMB = f'<!DOCTYPE graphml [<!ENTITY l0 "ha">{LAUGHS}]>'
FILE = '<!DOCTYPE graphml [<!ENTITY file SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize(
    "content, match",
    [
        (HEAD + BOMB + GRAPH.format(NODE.replace("a", "&l9;")), "has a document type .*DOCTYPE"),
        (HEAD + FILE + GRAPH.format("&file;"), "has a document type"),
        (HEAD.replace('"1.0"', '"1.0" encoding="UTF-16"') + BOMB + GRAPH, "has a document type"),
        ("graph", "a.graphml is not XML"),
        ("", "a.graphml is not XML"),
        (HEAD + GRAPH.format(NODE)[:-5], "is not XML"),
        (HEAD + GRAPH.format(NODE * 2), "holds 2 graphs; put each into a file of its own"),
        (HEAD + "<svg/>", "cannot be read as GraphML"),
        (
            HEAD + GRAPH.format(NODE.replace("<node", "<hyperedge/><node")),
            "cannot be read as GraphML",
        ),
        (
            HEAD + GRAPH.format('<graph edgedefault="undirected"/>'),
            "Graph 0 has no nodes.* Graph 0 is the file a.graphml",
        ),
    ],
    ids=range(10),
)
def test_hostile_files_are_refused_by_their_name(content, match, tmp_path):
    encoding = "utf-16" if "UTF-16" in content else "utf-8"
    (tmp_path / "a.graphml").write_text(content, encoding=encoding)
    with pytest.raises(ValueError, match=match):
        GraphSet.from_graphml(tmp_path)


def test_long_addresses_of_namespaces_are_not_repeated_for_every_name(tmp_path):
    """networkx reads <a:x/> as the address and x, so that a small file would take gigabytes."""

    def write(address, n_names):
        names = "".join(f"<a:x{i}/>" for i in range(n_names))
        text = HEAD + GRAPH.format(NODE + names)
        text = text.replace("<graphml", f'<graphml xmlns:a="{address}"')
        (tmp_path / "a.graphml").write_text(text)

    write("u" * 10_000, 200)
    with pytest.raises(ValueError, match=r"a.graphml has only .* 20\d names .* has 10,000 charac"):
        GraphSet.from_graphml(tmp_path)
    write("http://example.org/what-an-editor-adds", 200)
    assert GraphSet.from_graphml(tmp_path).n_nodes == 1


def test_files_that_are_too_large_are_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(_graphml, "LARGEST_FILE", 10)
    (tmp_path / "a.graphml").write_text(" " * 11)
    with pytest.raises(ValueError, match=r"a.graphml has 11 bytes. Files above 10 bytes"):
        GraphSet.from_graphml(tmp_path)


def test_nothing_is_unpacked(tmp_path):
    content = (HEAD + GRAPH.format(NODE)).encode()
    (tmp_path / "a.graphml").write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match="is not XML"):
        GraphSet.from_graphml(tmp_path)


def test_errors_name_the_file(tmp_path):
    graph = ring()
    nx.write_graphml(graph, tmp_path / "a.graphml")
    del graph.nodes[2]["label"]
    nx.write_graphml(graph, tmp_path / "b.graphml")
    with pytest.raises(ValueError, match=r"Graph 1, node '2', .* Graph 1 is the file b.graphml\.$"):
        GraphSet.from_graphml(tmp_path, edge_label=None)


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no files that end with \.graphml"):
        GraphSet.from_graphml(tmp_path)
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        GraphSet.from_graphml(tmp_path / "a")
