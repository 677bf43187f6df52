import copy
import pickle

import networkx as nx

from sklofi import GraphSet
from sklofi.graphs._cache import TableCache


def test_what_is_kept_is_made_once_and_neither_pickled_nor_copied():
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    size = len(pickle.dumps(graphs))
    made = [graphs.tables.get("key", lambda: bytearray(10_000)) for _ in range(2)]
    assert made[0] is made[1]
    assert len(pickle.dumps(graphs)) == size
    for copied in (copy.copy(graphs), copy.deepcopy(graphs)):
        assert copied.tables.get("key", lambda: "new") == "new"


def test_a_worker_that_is_sent_the_same_graphs_again_keeps_their_tables():
    def sent(*sizes):
        return pickle.dumps(GraphSet.from_networkx([nx.path_graph(n) for n in sizes]))

    def table(message):
        return pickle.loads(message).tables.get("key", object)

    assert sent(3, 4) == sent(3, 4)  # joblib hashes pickles
    training, validation, other = sent(3, 4), sent(5), sent(6)
    kept = [table(training), table(validation)]
    assert [table(training), table(validation)] == kept
    table(other)
    assert table(training) is not kept[0]  # only the last two are held


def test_without_labels_slices_still_share_their_tables():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, "a", "label")
    graphs = GraphSet.from_networkx([graph, graph])
    part, rest = graphs[[1]].without_labels(), graphs[[0]].without_labels()
    assert part.label_ids is None and part.labels == ()
    kept = part.origin[0].tables.get("key", object)
    assert rest.origin[0].tables.get("key", object) is kept
    assert graphs.without_labels().tables.get("key", object) is kept
    assert graphs.tables.get("key", object) is not kept
    assert graphs.without_labels().tables.structure is graphs.tables.structure
    assert part.without_labels() is part


def test_a_table_can_be_replaced_by_a_larger_one():
    tables = TableCache()
    assert "levels" not in tables
    assert tables.get("levels", lambda: [0]) == [0]
    tables.put("levels", [0, 1])
    assert "levels" in tables
    assert tables.get("levels", lambda: [0]) == [0, 1]


def test_tables_of_the_structure_are_apart_from_those_that_depend_on_labels():
    tables = TableCache()
    tables.structure.get("key", lambda: "structure")
    assert tables.get("key", lambda: "labels") == "labels"
    assert tables.without_labels().get("key", lambda: "no labels") == "no labels"
    assert tables.without_labels().structure.get("key", object) == "structure"


def test_a_worker_keeps_tables_of_directed_graphs_apart():
    """Rings depend on the direction, which the fingerprint does not have."""
    kinds = [nx.cycle_graph(3), nx.cycle_graph(3).to_directed()]
    sent = [pickle.dumps(GraphSet.from_networkx([graph])) for graph in kinds]
    tables = [pickle.loads(message).tables for message in sent]
    assert tables[0] is not tables[1]
    assert pickle.loads(sent[0]).tables is tables[0]
