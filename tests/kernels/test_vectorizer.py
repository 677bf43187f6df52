"""What all feature maps share."""

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from helpers import odd_graphs, unseen_labels
from sklofi import GraphSet, WLVectorizer
from sklofi.kernels import (
    RandomWalkVectorizer,
    ShortestPathVectorizer,
    VertexHistogramVectorizer,
    linear_kernel,
)
from sklofi.kernels._vectorizer import GraphVectorizer

MAPS = [
    WLVectorizer(3),
    WLVectorizer(3, unary=True),
    VertexHistogramVectorizer(),
    ShortestPathVectorizer(),
    ShortestPathVectorizer(unary=True),
    RandomWalkVectorizer(3),
]


@unseen_labels
@pytest.mark.parametrize("vectorizer", MAPS, ids=repr)
@pytest.mark.parametrize("normalize", [False, True])
def test_new_graphs_give_the_block_of_the_whole_matrix(vectorizer, normalize):
    """Also with labels, colors, distances and counts that training has not seen."""
    vectorizer.set_params(normalize=normalize)
    train = odd_graphs(20, labels="ab")
    test = [*odd_graphs(15, seed=1, labels="abcd"), nx.path_graph(15), nx.complete_graph(9)]
    for graph in test[-2:]:
        nx.set_node_attributes(graph, "a", "label")
    everything = vectorizer.fit_transform(train + test)
    features = vectorizer.fit_transform(train)
    block = linear_kernel(vectorizer.transform(test), features)
    assert_allclose(block, linear_kernel(everything)[20:, :20], rtol=1e-12, atol=1e-15)
    if not normalize and not isinstance(vectorizer, RandomWalkVectorizer):
        assert_array_equal(block, linear_kernel(everything)[20:, :20])


@pytest.mark.parametrize("vectorizer", MAPS, ids=repr)
def test_transform_of_the_training_graphs_is_fit_transform(vectorizer):
    graphs = odd_graphs()
    fitted = vectorizer.set_params(normalize=False).fit_transform(graphs)
    assert_array_equal(vectorizer.transform(graphs).toarray(), fitted.toarray())
    alone = vectorizer.transform(graphs[8:9]).toarray()
    assert_array_equal(alone, fitted.toarray()[8:9])
    assert fitted.indices.dtype == np.int32  # liblinear takes no others


@pytest.mark.parametrize("vectorizer", MAPS, ids=repr)
def test_normalized_rows_have_unit_length_or_are_zero(vectorizer):
    graphs = odd_graphs()
    vectors = vectorizer.set_params(normalize=True).fit_transform(graphs)
    lengths = np.sqrt(vectors.power(2).sum(axis=1))
    is_empty = np.array([len(graph.edges - nx.selfloop_edges(graph)) == 0 for graph in graphs])
    expected = np.ones(len(graphs))
    if isinstance(vectorizer, ShortestPathVectorizer):
        assert is_empty.any()
        expected[is_empty] = 0
    assert_allclose(lengths, expected)


@pytest.mark.parametrize("vectorizer", MAPS, ids=repr)
def test_names_are_distinct_and_fit_the_columns(vectorizer):
    odd = [True, "True", "inf", float("inf"), frozenset("ab"), object(), 1j, b"a"]
    for labels in ("abc", [1, "1", None], [("a", 1), "it's", "a,b(c)"], odd):
        graphs = odd_graphs(labels=labels)
        vectors = vectorizer.fit_transform(graphs)
        names = vectorizer.get_feature_names_out()
        assert len(set(names)) == len(names) == vectors.shape[1] == vectorizer.n_features_out_


def test_unary_names_say_at_least():
    graph = nx.empty_graph(2)
    names = VertexHistogramVectorizer(unary=True).fit([graph]).get_feature_names_out()
    assert names.tolist() == ["o>=1", "o>=2"]


def test_a_graph_set_and_its_slices_are_like_lists():
    graphs = odd_graphs()
    whole = GraphSet.from_networkx(graphs)
    vectorizer = WLVectorizer(2)
    expected = vectorizer.fit_transform(graphs[::2]).toarray()
    assert_array_equal(vectorizer.fit_transform(whole[::2]).toarray(), expected)
    assert_array_equal(
        vectorizer.transform(whole[1::2]).toarray(), vectorizer.transform(graphs[1::2]).toarray()
    )


def test_vectorizers_stand_in_pipelines():
    graphs = odd_graphs(40, labels="ab")
    y = [sum(label == "a" for _, label in g.nodes(data="label")) > len(g) / 2 for g in graphs]
    pipeline = make_pipeline(WLVectorizer(1), SelectKBest(chi2, k=5), LinearSVC())
    assert pipeline.fit(graphs, y).score(graphs, y) > 0.8
    assert len(pipeline[:-1].get_feature_names_out()) == 5


def test_labels_are_needed_at_both_times_or_at_none():
    labeled = odd_graphs()
    bare = [nx.path_graph(3)]
    message = "X has graphs without node labels, but WLVectorizer was fitted on graphs with"
    with pytest.raises(ValueError, match=message):
        WLVectorizer().fit(labeled).transform(bare)
    with pytest.raises(ValueError, match="X has graphs with node labels"):
        WLVectorizer().fit(bare).transform(labeled)
    WLVectorizer(node_label=None).fit(bare).transform(labeled)


def test_continuous_features_alone_are_not_ignored_silently():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, 0.5, "x")
    X = GraphSet.from_networkx([graph], node_features="x")
    with pytest.warns(UserWarning, match="continuous node features"):
        WLVectorizer().fit(X)


@pytest.mark.parametrize(
    "vectorizer, name",
    [
        (WLVectorizer(-1), "n_iter"),
        (WLVectorizer(normalize="yes"), "normalize"),
        (RandomWalkVectorizer(decay=0), "decay"),
    ],
)
def test_bad_parameters_are_named(vectorizer, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        vectorizer.fit(odd_graphs())


def test_a_fit_that_fails_leaves_nothing_half_fitted():
    vectorizer = WLVectorizer().fit(odd_graphs())
    with pytest.raises(ValueError, match="no graphs"):
        vectorizer.fit([])
    with pytest.raises(ValueError, match="not fitted"):
        vectorizer.transform(odd_graphs())


def test_what_was_fitted_decides_not_a_parameter_set_later():
    graphs = odd_graphs()
    vectorizer = WLVectorizer().fit(graphs)
    expected = vectorizer.transform(graphs).toarray()
    assert_array_equal(vectorizer.set_params(unary=True).transform(graphs).toarray(), expected)


@pytest.mark.parametrize("vectorizer", MAPS, ids=str)
def test_a_slice_has_no_columns_for_labels_that_are_not_in_it(vectorizer):
    whole = GraphSet.from_networkx(odd_graphs(labels="abcdefg"))
    part = whole[[0]]
    counts = vectorizer.fit_transform(part)
    alone = vectorizer.fit_transform(part.to_networkx())
    assert_array_equal(counts.toarray(), alone.toarray())
    assert len(vectorizer.get_feature_names_out()) == counts.shape[1]


def test_a_feature_map_without_its_hooks_cannot_be_made():
    class Unfinished(GraphVectorizer):
        def _names(self):
            return []

    with pytest.raises(TypeError, match=r"abstract.* Unfinished .*_count.*_learn"):
        Unfinished()
