import warnings

import networkx as nx
import numpy as np
import pytest
import torch
from edge_graphs import always_the_same
from hostile import Refused, in_documented_words, outputs
from hypothesis import given
from hypothesis import strategies as st
from other_forms import LENGTHS, assert_same_graphs, both_ways, graphs_with_all
from sklearn.base import clone
from torch_geometric.data import Batch, Data, InMemoryDataset

from sklofi import FingerprintClassifier, GraphKernelSVC, GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.baselines import GCNClassifier, GINClassifier

ORDER = {"a": 1, "b": 2, "c": 3}
NAMES = {
    "node_label": "element",
    "node_features": "position",
    "edge_label": "bond",
    "edge_weight": "w",
    "edge_features": "length",
}


def to_pyg(graph):
    edges = both_ways(graph)
    nodes = [data for _, data in graph.nodes(data=True)]
    return Data(
        edge_index=torch.tensor([[u for u, *_ in edges], [v for _, v, _ in edges]]).long(),
        num_nodes=len(graph),
        element=torch.tensor([data["element"] for data in nodes]),
        position=torch.tensor([data["position"] for data in nodes], dtype=torch.double),
        bond=torch.tensor([[ORDER[data["bond"]]] for *_, data in edges]).reshape(-1, 1).long(),
        w=torch.tensor([data["w"] for *_, data in edges]),
        length=torch.tensor([data["length"] for *_, data in edges]).reshape(-1, 2),
    )


def as_read(graph):
    """The networkx graph that PyG data stand for: directed only if some edge has no counterpart."""
    edges = [(u, v, data["bond"], data["w"]) for u, v, data in both_ways(graph)]
    is_directed = sorted(edges) != sorted((v, u, *rest) for u, v, *rest in edges)
    other = nx.MultiDiGraph()
    other.add_nodes_from(graph.nodes(data=True))
    other.add_edges_from(
        (u, v, {**data, "bond": ORDER[data["bond"]]}) for u, v, data in both_ways(graph)
    )
    return other, is_directed


@always_the_same
@given(graphs_with_all())
def test_fields_equal_those_by_way_of_networkx(graphs):
    found = GraphSet.from_pyg([*map(to_pyg, graphs)], **NAMES)
    others, directed = zip(*map(as_read, graphs), strict=True)
    assert_same_graphs(found, GraphSet.from_networkx(others, **NAMES), but=["directed"])
    assert found.directed.tolist() == list(directed)


@always_the_same
@given(graphs_with_all(kinds=(nx.Graph,)))
def test_undirected_graphs_come_back_as_they_were(graphs):
    found = GraphSet.from_pyg([*map(to_pyg, graphs)], **NAMES)
    assert not found.directed.any()
    for back, graph in zip(found.to_networkx(), graphs, strict=True):
        assert nx.utils.nodes_equal(back, graph)
        assert {frozenset(e) for e in back.edges} == {frozenset(e) for e in graph.edges}
        assert all(
            data["w"] == graph.edges[u, v]["w"] and data["bond"] == ORDER[graph.edges[u, v]["bond"]]
            for u, v, data in back.edges(data=True)
        )
    assert set(LENGTHS) == set(ORDER)


EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def data(x=None, edge_index=EDGES, **attributes):
    return Data(x=x, edge_index=edge_index, num_nodes=3, **attributes)


ONE_HOT = torch.eye(3)[[0, 2, 0]]


@pytest.mark.parametrize(
    "x, labels, ids",
    [
        (torch.tensor([6, 8, 6]), (6, 8), [0, 1, 0]),
        (torch.tensor([[6], [8], [6]]), (6, 8), [0, 1, 0]),
        (torch.tensor([[6, 0], [6, 1], [6, 0]]), ((6, 0), (6, 1)), [0, 1, 0]),
        (ONE_HOT, (0, 2), [0, 1, 0]),
        (ONE_HOT.long(), (0, 2), [0, 1, 0]),
        (torch.tensor([True, False, True]), (False, True), [1, 0, 1]),
    ],
)
@pytest.mark.parametrize("node_label", ["label", "x"])
def test_whole_numbers_and_one_hot_rows_are_labels(x, labels, ids, node_label):
    found = GraphSet.from_pyg([data(x)], node_label=node_label)
    assert found.labels == labels
    assert found.label_ids.tolist() == ids
    assert (found.node_label, found.features) == ("x", None)


def test_other_numbers_in_x_are_features():
    found = GraphSet.from_pyg([data(torch.tensor([[0.5, 1], [0, 1], [1, 0]]))])
    assert found.label_ids is None
    assert found.features.tolist() == [[0.5, 1], [0, 1], [1, 0]]
    assert found.node_features == "x"
    named = GraphSet.from_pyg([data(ONE_HOT)], node_features="x")
    assert named.label_ids is None
    assert named.features.tolist() == ONE_HOT.tolist()
    assert GraphSet.from_pyg([data(ONE_HOT)], node_label=None).features is None


def test_numbers_in_x_are_features_if_labels_are_ignored():
    numbers = [data(torch.rand(3, 2)) for _ in range(10)]
    assert GraphSet.from_pyg(numbers, node_label=None).features.shape == (30, 2)
    y = np.arange(10) % 2
    regressor = LoFIRegressor(
        node_label=None, n_members=1, counts=False, max_epochs=2, random_state=0
    )
    expected = regressor.fit(numbers, y).predict(numbers)
    X = GraphSet.from_pyg(numbers)
    np.testing.assert_allclose(regressor.fit(X, y).predict(X), expected, rtol=1e-6)
    labeled = data(torch.rand(3, 2), label=["C", "N", "C"])
    for found in (GraphSet.from_pyg([labeled]), GraphSet.from_pyg([labeled], node_label=None)):
        assert found.features is None


def test_an_attribute_that_is_called_label_comes_first():
    found = GraphSet.from_pyg([data(torch.tensor([1, 2, 3]), label=["C", "N", "C"])])
    assert found.labels == ("C", "N")


def test_whole_numbers_in_edge_attr_are_labels_of_edges():
    found = GraphSet.from_pyg([data(edge_attr=torch.tensor([1, 1, 2, 2]))])
    assert found.edge_labels == (1, 2)
    assert found.edge_label_ids.tolist() == [0, 0, 1, 1]
    assert (
        GraphSet.from_pyg([data(edge_attr=torch.tensor([1, 1, 2, 2]))], edge_label=None).edge_labels
        == ()
    )


def test_graphs_without_edges_need_no_attributes_of_edges():
    empty = Data(x=torch.tensor([1]), edge_index=torch.empty((2, 0), dtype=torch.long))
    full = data(torch.tensor([1, 1, 2]), edge_attr=torch.tensor([1, 1, 2, 2]))
    found = GraphSet.from_pyg([empty, full])
    assert np.diff(found.node_offsets).tolist() == [1, 3]
    assert found.edge_labels == (1, 2)
    assert GraphSet.from_pyg([empty], edge_label="edge_attr", edge_weight="w").edge_weights is None


def test_direction_is_found_by_attributes_too_or_chosen():
    relative = data(edge_attr=torch.tensor([1.0, -1.0, 1.0, -1.0]))
    found = GraphSet.from_pyg([data(), relative], edge_label=None)
    assert found.directed.tolist() == [False, True]
    assert GraphSet.from_pyg([data()], directed=True).directed.all()
    with pytest.raises(ValueError, match=r"Graph 0, edge \(1, 0\), has no equal .*ToUndirected"):
        GraphSet.from_pyg([relative], edge_label=None, directed=False)


def test_tensors_may_have_gradients_and_short_floats():
    x = torch.tensor([[0.5, 1.0]] * 3, dtype=torch.bfloat16, requires_grad=True)
    assert GraphSet.from_pyg([data(x)]).features.tolist() == [[0.5, 1.0]] * 3


LONG = torch.tensor([[0, 3], [1, 0]])
NEGATIVE = torch.tensor([[0, 1], [1, -1]])


@pytest.mark.parametrize(
    "X, names, error, match",
    [
        (
            [data(), nx.path_graph(2)],
            {},
            TypeError,
            "Graph 1 is of type networkx.*not a torch_geom",
        ),
        ([Batch.from_data_list([data()])], {}, TypeError, "Graph 0 .*Batch, not a torch_geometric"),
        ([data(), data(edge_index=LONG)], {}, ValueError, r"Graph 1, edge \(3, 0\), of edge_index"),
        ([data(edge_index=NEGATIVE)], {}, ValueError, r"edge \(1, -1\), of edge_index leads out"),
        (
            [data(edge_index=EDGES.T)],
            {},
            ValueError,
            r"Graph 0 has an edge_index of shape \(4, 2\)",
        ),
        ([data(edge_index=EDGES.float())], {}, ValueError, "edge_index .* type float32; two rows"),
        (
            [data(edge_index=None)],
            {},
            ValueError,
            r"Graph 0 has no edge_index.*torch.empty\(\(2, 0",
        ),
        ([Data(edge_index=EDGES)], {}, ValueError, "Graph 0 does not say how many nodes it has"),
        ([data(torch.ones(2, 2))], {}, ValueError, "Graph 0 has 'x' with 2 rows, but 3 are needed"),
        ([data(torch.ones(3, 1, 1))], {}, ValueError, "Graph 0 has 'x' that is no array of one or"),
        (
            [data(ONE_HOT), data()],
            {},
            ValueError,
            r"Graph 1 has no 'x', .*\(1 of 2 graphs lack it\)",
        ),
        ([data(ONE_HOT), data(torch.eye(3)[:, :2])], {}, ValueError, "Graph 1 has 'x' of shape"),
        (
            [data(torch.full((3, 2), torch.nan))],
            {},
            ValueError,
            "Graph 0, node 0, has NaN in its feat",
        ),
        (
            [data(torch.full((3,), torch.nan))],
            {"node_label": "x"},
            ValueError,
            "node 0, has the label",
        ),
        (
            [data(torch.rand(3, 2))],
            {"node_label": "x"},
            ValueError,
            "no categories; pass node_features='x'",
        ),
        (
            [data()],
            {"node_label": "z"},
            ValueError,
            "No graph has the attribute 'z' .*have edge_index",
        ),
        ([data()], {"edge_weight": "z"}, ValueError, "No graph has the attribute 'z' .edge_weight"),
        (
            [data(w=-torch.ones(4))],
            {"edge_weight": "w"},
            ValueError,
            r"edge \(0, 1\), has the negative",
        ),
        (
            [data(w=torch.ones(4, 2))],
            {"edge_weight": "w"},
            ValueError,
            "as its weight 'w', which is not",
        ),
        ([data(w=torch.eye(4).to_sparse())], {"edge_features": "w"}, ValueError, "dense tensor"),
        ([data()], {"node_label": []}, TypeError, r"name one attribute each, got \[\]"),
        ([Data(edge_index=EDGES[:, :0], num_nodes=0)], {}, ValueError, "Graph 0 has no nodes"),
    ],
    ids=range(22),
)
def test_what_cannot_be_read_is_refused_by_graph(X, names, error, match):
    with pytest.raises(error, match=match):
        GraphSet.from_pyg(X, **names)


def test_a_single_graph_and_a_batch_are_refused():
    with pytest.raises(TypeError, match="X is a single torch_geometric Data; pass a list"):
        GraphKernelSVC().fit(data(), [0])
    with pytest.raises(TypeError, match=r"a torch_geometric Batch; pass X.to_data_list\(\)"):
        GraphKernelSVC().fit(Batch.from_data_list([data()]), [0])


def random_data(n_graphs=20):
    rng = np.random.RandomState(0)
    graphs = []
    for i in range(n_graphs):
        graph = nx.gnp_random_graph(6 + i % 3, 0.5, seed=i)
        ends = np.array([(u, v) for u, v, _ in both_ways(graph)]).reshape(-1, 2).T
        bonds = {frozenset(e): int(rng.randint(3)) for e in graph.edges}
        graphs.append(
            Data(
                x=torch.eye(3)[rng.randint(3, size=len(graph))],
                edge_index=torch.tensor(ends).long(),
                edge_attr=torch.tensor([bonds[frozenset(e)] for e in ends.T.tolist()]),
            )
        )
    return graphs


@pytest.mark.filterwarnings("ignore:GINClassifier does not use edge labels")
@pytest.mark.parametrize(
    "estimator",
    [
        GraphKernelSVC(),
        FingerprintClassifier(node_label="x", edge_label="edge_attr"),
        LoFIClassifier(max_epochs=2, random_state=0),
        LoFIClassifier(node_label=None, node_features="x", max_epochs=2, random_state=0),
        GINClassifier(max_epochs=2, random_state=0),
    ],
    ids=repr,
)
def test_a_list_and_the_set_made_of_it_give_the_same_answer(estimator):
    graphs, y = random_data(), np.arange(20) % 2
    own = estimator.get_params()
    names = {name: own[name] for name in ("node_label", "node_features") if name in own}
    X = GraphSet.from_pyg(graphs, **names)
    of_set = outputs(clone(estimator).fit(X, y), X)
    fitted = estimator.fit(graphs, y)
    expected = outputs(fitted, graphs)
    for container in (list, tuple, _Kept):
        for name, values in outputs(fitted, container(graphs)).items():
            np.testing.assert_array_equal(values, expected[name])
    for name, values in outputs(fitted, X).items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-12)
        np.testing.assert_allclose(of_set[name], expected[name], rtol=1e-12)


class _Kept(InMemoryDataset):
    def __init__(self, graphs):
        super().__init__()
        self.data, self.slices = self.collate(graphs)


def test_what_is_not_used_is_named():
    numbers = data(edge_attr=torch.rand(4))
    with pytest.warns(
        UserWarning, match="The edges of X differ in 'edge_attr', whose numbers"
    ) as seen:
        GraphSet.from_pyg([numbers])
    assert seen[0].filename == __file__
    weighted = data(edge_weight=torch.rand(4))
    with pytest.warns(UserWarning, match="differ in the attribute 'edge_weight'") as seen:
        GraphSet.from_pyg([weighted])
    assert seen[0].filename == __file__
    bonded = [data(torch.tensor([1, 2, 1]), edge_attr=torch.tensor([1, 1, 2, 2]))] * 4
    with pytest.warns(UserWarning, match="does not use edge labels, .* differ .*edge_attr"):
        GraphKernelSVC(kernel="shortest-path").fit(bonded, [0, 1, 0, 1])
    # Also by estimators that read no labels of edges, once, and not by those that use the numbers.
    lists = [data(torch.tensor([1, 2, 1]), edge_attr=torch.rand(4)) for _ in range(4)]
    for estimator in (GCNClassifier(max_epochs=1), GraphKernelSVC(kernel="shortest-path")):
        with pytest.warns(UserWarning, match="The edges of X differ in 'edge_attr'") as seen:
            estimator.fit(lists, [0, 1, 0, 1])
        assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weighted = GCNClassifier(max_epochs=1, edge_weight="edge_attr")
        weighted.fit(lists, [0, 1, 0, 1])
        LoFIClassifier(max_epochs=1, edge_label=None).fit(lists, [0, 1, 0, 1])


@always_the_same
@given(st.data())
def test_any_attributes_are_read_or_refused_in_a_sentence(draws):
    kinds = [torch.float, torch.long, torch.bool, torch.complex64]
    shapes = [(3,), (3, 1), (3, 2), (4,), (4, 2), (0,), (), (3, 0), (4, 0), (4, 1, 1)]

    def tensor():
        shape, kind = draws.draw(st.sampled_from(shapes)), draws.draw(st.sampled_from(kinds))
        values = draws.draw(st.sampled_from([0, 1, -1, 7, float("nan"), float("inf")]))
        is_whole = (kind == torch.long and values != values) or abs(values) > 9
        return torch.full(shape, 0 if is_whole else values).to(kind)

    graph = Data(edge_index=EDGES, num_nodes=3)
    for name in ("x", "edge_attr", "edge_weight", "label"):
        if draws.draw(st.booleans()):
            graph[name] = draws.draw(
                st.one_of(st.builds(tensor), st.sampled_from(["a", None, [1, 2, 3]]))
            )
    names = {
        "node_label": draws.draw(st.sampled_from(["label", "x", None])),
        "node_features": draws.draw(st.sampled_from([None, "x"])),
        "edge_label": draws.draw(st.sampled_from(["label", "edge_attr", None])),
        "edge_weight": draws.draw(st.sampled_from([None, "edge_weight"])),
        "edge_features": draws.draw(st.sampled_from([None, "edge_attr"])),
    }
    try:
        with in_documented_words():
            GraphSet.from_pyg([graph], **names).check_arrays()
    except Refused as refused:
        assert "raph" in str(refused) or "label" in str(refused)
