"""The contract of scikit-learn, held by scikit-learn's own checks and by ours."""

import networkx as nx
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from sklofi import (
    GraphKernelSVC,
    GraphKernelSVR,
    LoFIClassifier,
    LoFIRegressor,
    WLVectorizer,
)
from sklofi.kernels import (
    RandomWalkKernel,
    RandomWalkVectorizer,
    ShortestPathVectorizer,
    VertexHistogramVectorizer,
)
from sklofi.testing import graph_estimator_checks

SMALL = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 8,
    "n_words": 4,
    "max_epochs": 60,
    "random_state": 0,
}


class RowsToGraphs(TransformerMixin, BaseEstimator):
    """Turn each row of a table into a star: a leaf for every column, with the column as
    its label and the value as its feature."""

    def fit(self, X, y=None):
        validate_data(self, X)
        return self

    def transform(self, X):
        graphs = []
        for row in validate_data(self, X, reset=False):
            graph = nx.star_graph(len(row))
            graph.nodes[0].update(label="row", x=0.0)
            for column, value in enumerate(row.tolist(), start=1):
                graph.nodes[column].update(label=column, x=value)
            graphs.append(graph)
        return graphs

    def set_output(self, *, transform=None):
        return self  # graphs stay graphs


class TablePipeline(Pipeline):
    """A Pipeline whose fit shows that it takes weights, so that they are checked too."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y, lofi__sample_weight=sample_weight)


def table_pipeline(estimator_class, **params):
    estimator = estimator_class(**{**SMALL, "node_features": "x", **params})
    return TablePipeline([("graphs", RowsToGraphs()), ("lofi", estimator)])


def expected_failures(pipeline):
    in_place = "a Pipeline fits its steps in place; check_parameters_are_not_changed passes"
    batches = "random batches part copies; test_weight_k_is_k_copies_in_a_full_batch passes"
    return {
        "check_estimators_overwrite_params": in_place,
        "check_dont_overwrite_parameters": in_place,
        "check_sample_weight_equivalence_on_dense_data": batches,
    }


@parametrize_with_checks(
    [table_pipeline(LoFIClassifier), table_pipeline(LoFIRegressor)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks_pass_through_a_pipeline(estimator, check):
    if check.func.__name__ == "check_methods_subset_invariance":
        # To 1e-7, which sums of 32 bits reach or not, depending on their order.
        pytest.skip("test_predictions_do_not_depend_on_the_batch tests it to 32 bits")
    check(estimator)  # raises what it finds


def count_of_nodes(graphs, others):
    """A kernel function: products of the numbers of nodes with each label."""
    vectorizer = VertexHistogramVectorizer(normalize=True)
    features = vectorizer.fit_transform(others)
    return (vectorizer.transform(graphs) @ features.T).toarray()


GRAPH_ESTIMATORS = {
    "LoFIClassifier": LoFIClassifier(max_epochs=5, n_masks=4),
    "LoFIRegressor": LoFIRegressor(max_epochs=20, n_masks=4),
    "wl": GraphKernelSVC(kernel="wl", n_iter=2),
    "wl-oa": GraphKernelSVC(kernel="wl-oa", n_iter=2),
    "vertex-histogram": GraphKernelSVC(kernel="vertex-histogram"),
    "shortest-path": GraphKernelSVC(kernel="shortest-path"),
    "random-walk": GraphKernelSVC(kernel="random-walk", n_iter=2),
    "RandomWalkKernel": GraphKernelSVC(kernel=RandomWalkKernel(decay=0.001)),
    "vectorizer": GraphKernelSVC(kernel=ShortestPathVectorizer(normalize=True, unary=True)),
    "function": GraphKernelSVC(kernel=count_of_nodes),
    "probability": GraphKernelSVC(n_iter=2, probability=True),
    "linear": GraphKernelSVC(n_iter=2, solver="linear"),
    "linear-probability": GraphKernelSVC(kernel="wl-oa", solver="linear", probability=True),
    "SVR": GraphKernelSVR(n_iter=2),
    "SVR-linear": GraphKernelSVR(kernel="wl-oa", n_iter=2, solver="linear"),
    "WLVectorizer": WLVectorizer(2),
    "WLVectorizer-unary": WLVectorizer(2, normalize=True, unary=True),
    "VertexHistogramVectorizer": VertexHistogramVectorizer(),
    "ShortestPathVectorizer": ShortestPathVectorizer(normalize=True),
    "RandomWalkVectorizer": RandomWalkVectorizer(2),
    "RandomWalkKernel-alone": RandomWalkKernel(decay=0.001),
}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{name}-{check_name}")
        for name, estimator in GRAPH_ESTIMATORS.items()
        for check_name, check in graph_estimator_checks(estimator)
    ],
)
def test_graph_checks_pass(check):
    check()  # raises what it finds; test_testing.py shows that it does
