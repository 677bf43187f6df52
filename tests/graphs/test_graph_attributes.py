"""Features of whole graphs: from their attributes, or from a table beside them."""

import copy
import pickle
import warnings
from dataclasses import replace

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import rustworkx as rx
import scipy.sparse as sp
import torch
from numpy.testing import assert_array_equal
from torch_geometric.data import Data

from helpers import odd_graphs
from sklofi import GraphKernelSVC, GraphSet, LoFIClassifier, WLVectorizer
from sklofi.graphs._input import as_graph_set
from sklofi.kernels import RandomWalkKernel

VECTORS = np.array([[293.0, 0.5], [310.0, -1.0], [273.5, 4.0], [280.0, 0.0]])
TABLE = pd.DataFrame(VECTORS, columns=["temperature", "dose"])
NAMES = ["temperature", "dose"]


def paths():
    """Four paths with their features as a vector, and one by one."""
    graphs = [nx.path_graph(2 + i) for i in range(4)]
    for graph, row in zip(graphs, VECTORS, strict=True):
        graph.graph.update(conditions=row, temperature=row[0], dose=row[1])
    return graphs


def other_form(form, graphs):
    """The graphs as a reader takes them, with `temperature`, `dose` and `conditions`."""
    if form == "pyg":
        edges = [torch.tensor(list(graph.edges)).reshape(-1, 2).T for graph in graphs]
        both = [torch.cat([ends, ends.flip(0)], dim=1) for ends in edges]
        rows = [(graph.graph, len(graph)) for graph in graphs]
        return [
            Data(
                edge_index=ends,
                num_nodes=n_nodes,
                conditions=torch.tensor(data["conditions"])[None],
                temperature=data["temperature"],
                dose=torch.tensor(data["dose"]),
            )
            for ends, (data, n_nodes) in zip(both, rows, strict=True)
        ]
    if form == "igraph":
        found = [igraph.Graph(len(graph), list(graph.edges)) for graph in graphs]
        for other, graph in zip(found, graphs, strict=True):
            for name, value in graph.graph.items():
                other[name] = value
        return found
    found = [rx.PyGraph(attrs=graph.graph) for graph in graphs]
    for other, graph in zip(found, graphs, strict=True):
        other.add_nodes_from([None] * len(graph))
        other.add_edges_from([(u, v, None) for u, v in graph.edges])
    return found


def attached(values=TABLE, **arguments):
    return GraphSet.from_networkx(paths()).with_graph_features(values, **arguments)


@pytest.mark.parametrize("form", ["networkx", "pyg", "igraph", "rustworkx"])
def test_every_form_with_attributes_has_the_same_features(form):
    graphs = paths() if form == "networkx" else other_form(form, paths())
    read = getattr(GraphSet, f"from_{form}")
    for names in ("conditions", NAMES):
        found = read(graphs, graph_features=names)
        assert found.graph_vectors.dtype == np.float64
        assert_array_equal(found.graph_vectors, VECTORS)
    assert read(graphs).graph_vectors is None


def test_graphml_has_numbers(tmp_path):
    for i, graph in enumerate(paths()):
        del graph.graph["conditions"]
        graph.graph.update({name: float(graph.graph[name]) for name in NAMES})
        nx.write_graphml(graph, tmp_path / f"{i}.graphml")
    found = GraphSet.from_graphml(tmp_path, graph_features=NAMES)
    assert_array_equal(found.graph_vectors, VECTORS)


def test_molecules_and_matrices_have_a_table_beside_them():
    molecules = GraphSet.from_molecules(["CO", "CCO", "CN", "C"], graph_features=TABLE)
    matrices = [sp.csr_array(nx.to_scipy_sparse_array(graph)) for graph in paths()]
    for found in (molecules, GraphSet.from_scipy(matrices, graph_features=TABLE)):
        assert_array_equal(found.graph_vectors, VECTORS)
        assert found.graph_feature_names == NAMES


def test_rows_of_molecules_that_cannot_be_read_stay_with_theirs():
    graphs = GraphSet.from_molecules(
        ["CO", "C1CC", "CN", "C"], graph_features=TABLE, on_invalid="nan"
    )
    assert_array_equal(graphs[~graphs.missing].graph_vectors, VECTORS[[0, 2, 3]])


def test_the_index_of_a_table_names_the_graphs_of_edge_lists():
    edges = pd.DataFrame({"graph": list("aabcd"), "source": [0, 1, 0, 0, 0], "target": 2})
    table = TABLE.set_index(pd.Index(list("dbca")))
    found = GraphSet.from_edge_list(edges, graph_features=table, graphs=["b", "a"])
    assert_array_equal(found.graph_vectors, VECTORS[[1, 3]])
    found = GraphSet.from_edge_list(edges, graph_features=VECTORS)  # in the order of the graphs
    assert_array_equal(found.graph_vectors, VECTORS)
    with pytest.raises(ValueError, match=r"^Graph 'a' has no row in graph_features, a table whose"):
        GraphSet.from_edge_list(edges, graph_features=table[:3])
    with pytest.raises(ValueError, match=r"^Graph 'd' is twice in the index of graph_features"):
        GraphSet.from_edge_list(edges, graph_features=table.iloc[[0, 0, 1, 2, 3]])


@pytest.mark.parametrize(
    "values",
    [VECTORS, VECTORS.tolist(), TABLE, TABLE.astype("Float64"), TABLE.astype(object)],
    ids=["array", "lists", "frame", "nullable", "objects"],
)
def test_a_table_can_be_of_any_kind(values):
    assert_array_equal(attached(values).graph_vectors, VECTORS)


def test_a_column_alone_is_one_feature():
    for values in (VECTORS[:, 0], TABLE["temperature"], [293, 310, np.float32(273.5), 280]):
        assert_array_equal(attached(values).graph_vectors, VECTORS[:, :1])
    assert attached(TABLE["dose"]).graph_feature_names == ["dose"]


def test_features_have_names():
    assert attached(VECTORS).graph_feature_names == ["features0", "features1"]
    assert attached(VECTORS, names="x").graph_feature_names == ["x0", "x1"]
    assert attached(VECTORS, names=["a", 2]).graph_feature_names == ["a", "2"]
    assert attached(None).graph_feature_names == []
    assert repr(attached()) == "GraphSet(n_graphs=4, n_nodes=14, n_graph_features=2)"


def test_slicing_takes_the_features_along():
    graphs = attached()
    for rows in ([2, 0, 0], slice(1, 3), np.array([True, False, False, True])):
        assert_array_equal(graphs[rows].graph_vectors, VECTORS[rows])
    assert_array_equal(graphs[[3, 1, 0]][[2, 1]].graph_vectors, VECTORS[[0, 1]])
    assert_array_equal(graphs[1:].with_graph_features([1, 2, 3])[1:].graph_vectors, [[2], [3]])


def test_networkx_graphs_get_them_back():
    for graph, row in zip(attached(), VECTORS, strict=True):
        assert graph.graph == {"temperature": row[0], "dose": row[1]}
    (graph, *_) = GraphSet.from_networkx(paths(), graph_features="conditions").to_networkx()
    assert graph.graph.keys() == {"conditions"}
    assert_array_equal(graph.graph["conditions"], VECTORS[0])


@pytest.mark.parametrize("values", [TABLE, VECTORS], ids=["named", "unnamed"])
def test_files_pickles_and_copies_keep_them(tmp_path, values):
    graphs = attached(values)
    graphs.save(tmp_path / "graphs.safetensors")
    loaded = GraphSet.load(tmp_path / "graphs.safetensors")
    for other in (loaded, pickle.loads(pickle.dumps(graphs)), copy.copy(graphs), graphs[:]):
        assert_array_equal(other.graph_vectors, VECTORS)
        assert other.graph_features == graphs.graph_features
        assert not other.graph_vectors.flags.writeable


def test_sets_with_other_features_share_their_tables():
    graphs = GraphSet.from_networkx(paths())
    first = graphs.with_graph_features(VECTORS)
    assert first.tables is graphs.tables and first.fingerprint == graphs.fingerprint
    assert first[:2].origin[0] is first
    part = graphs[1:].with_graph_features(VECTORS[1:])
    assert part.origin[0] is graphs and graphs.graph_vectors is None


def test_without_labels_the_features_stay():
    graphs = GraphSet.from_networkx(odd_graphs(4)).with_graph_features(TABLE)
    for bare in (graphs.without_labels(), graphs.without_edge_labels(), graphs[:].without_labels()):
        assert_array_equal(bare.graph_vectors, VECTORS)


@pytest.mark.parametrize(
    "values, message",
    [
        (TABLE[:3], "^graph_features has 3 rows, but there are 4 graphs. Pass a row for each"),
        ([1, 2, np.nan, 4], "^Graph 2 has NaN in its features 'features'. Impute or remove it"),
        (TABLE.replace(4.0, np.inf), "^Graph 2 has an infinite or too large value .* 'dose'"),
        ([1, 2, 1e39, 4], "^Graph 2 has an infinite or too large value"),
        ([1, "hot", 3, 4], "^Graph 1 has 'hot' as its features .* write categories as numbers"),
        (TABLE.assign(dose=["low"] * 4), "^Graph 0 has 'low' as its features 'dose'"),
        ([[1, 2], [3, 4], [5], [6, 7]], "^Graph 2 has features 'features' of shape .1,., but"),
        (np.zeros((4, 2, 2)), "^Graph 0 has features 'features' of shape .2, 2."),
        (np.zeros((4, 0)), "^Graph 0 has features 'features' of shape .0,."),
        (TABLE[[]], "without columns"),
        (pd.concat([TABLE, TABLE], axis=1), "two columns 'temperature'"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        attached(values)


@pytest.mark.parametrize("values", [3.0, "hot", {"a": 1}, sp.eye_array(4)])
def test_what_is_no_table_is_refused(values):
    with pytest.raises(TypeError, match=r"^graph_features has to be an array or a data frame"):
        attached(values)


def test_names_have_to_fit_the_columns():
    with pytest.raises(ValueError, match=r"^graph_features has 2 columns, but 1 names"):
        attached(VECTORS, names=["a"])


def test_an_attribute_that_graphs_lack_is_named():
    graphs = paths()
    with pytest.raises(ValueError, match=r"^No graph has the attribute 'pH' .* attributes 'cond"):
        GraphSet.from_networkx(graphs, graph_features="pH")
    with pytest.raises(
        ValueError, match=r"^The graphs have vectors of 2 numbers as their features"
    ):
        GraphSet.from_networkx(graphs, graph_features=["dose", "conditions"])
    with pytest.raises(ValueError, match="is an empty list"):
        GraphSet.from_networkx(graphs, graph_features=[])
    with pytest.raises(TypeError, match=r"with_graph_features\(array\)\.$"):
        GraphSet.from_networkx(graphs, graph_features=VECTORS)
    del graphs[2].graph["dose"]
    with pytest.raises(ValueError, match=r"^Graph 2 has no attribute 'dose' .* \(1 of 4 graphs"):
        GraphSet.from_networkx(graphs, graph_features=NAMES)


def test_estimators_read_what_they_are_told_to():
    from_list = as_graph_set(paths(), None, graph_features=NAMES)
    assert_array_equal(from_list.graph_vectors, VECTORS)
    assert as_graph_set(attached(), None).graph_vectors is not None  # chosen when it was made
    assert as_graph_set(attached(), None, graph_features=NAMES).graph_vectors is not None
    with pytest.raises(ValueError, match=r"^graph_features='pH', but X is a GraphSet with the"):
        as_graph_set(attached(), None, graph_features="pH")
    with pytest.raises(
        ValueError, match=r"GraphSet.from_molecules.molecules, graph_features=table"
    ):
        as_graph_set(["CO", "CN"], None, graph_features="dose")
    with pytest.raises(ValueError, match="but a matrix has no attributes"):
        as_graph_set([sp.eye_array(2)], None, graph_features="dose")


@pytest.mark.parametrize("estimator", [GraphKernelSVC(), WLVectorizer(), RandomWalkKernel()])
def test_kernels_warn_of_features_that_they_do_not_use(estimator):
    graphs = GraphSet.from_networkx(odd_graphs(8, labels="ab"))
    y = [0, 1] * 4
    with pytest.warns(UserWarning, match="does not use the graph features of X, which differ"):
        estimator.fit(graphs.with_graph_features(range(8)), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit(graphs.with_graph_features(np.ones(8)), y)


def test_networks_do_not_warn():
    graphs = GraphSet.from_networkx(odd_graphs(8, labels="ab")).with_graph_features(range(8))
    network = LoFIClassifier(n_members=1, counts=False, max_epochs=1, early_stopping=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network.fit(graphs, [0, 1] * 4)


def test_arrays_that_do_not_fit_are_refused():
    graphs = attached()
    for bad in (
        {"graph_vectors": VECTORS[:3]},
        {"graph_vectors": VECTORS[:, 0]},
        {"graph_vectors": VECTORS * np.nan},
        {"graph_vectors": VECTORS[:, :1]},  # of two names
        {"graph_vectors": VECTORS.astype(int)},
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            replace(graphs, **bad).check_arrays()
