"""The contract of scikit-learn, held by running scikit-learn's own checks and tools."""

import networkx as nx
import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from sklofi import LoFIClassifier, LoFIRegressor
from sklofi.testing import graph_estimator_checks

SMALL = {"n_layers": 2, "n_masks": 8, "n_words": 4, "max_epochs": 60}


class RowsToGraphs(TransformerMixin, BaseEstimator):
    """Each row of a table becomes a star: one leaf for each column, a label for the column
    and the value as a continuous feature."""

    def fit(self, X, y=None):
        validate_data(self, X)
        return self

    def transform(self, X):
        X = validate_data(self, X, reset=False)
        graphs = []
        for row in X:
            graph = nx.star_graph(len(row))
            graph.nodes[0].update(label="row", x=0.0)
            for column, value in enumerate(row.tolist(), start=1):
                graph.nodes[column].update(label=column, x=value)
            graphs.append(graph)
        return graphs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.no_validation = False
        return tags


class TableClassifier(Pipeline):
    """A pipeline that scikit-learn's checks take for a classifier of tables."""


def _pipeline(estimator):
    estimator.set_params(node_features="x", random_state=0)
    return Pipeline([("graphs", RowsToGraphs()), ("lofi", estimator)])


@parametrize_with_checks(
    [_pipeline(LoFIClassifier(**SMALL)), _pipeline(LoFIRegressor(**SMALL))],
)
def test_scikit_learn_checks_pass_through_a_pipeline(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name, check",
    [
        pytest.param(name, check, id=f"{type(estimator).__name__}-{name}")
        for estimator in (
            LoFIClassifier(max_epochs=5, n_masks=4),
            LoFIRegressor(max_epochs=5, n_masks=4),
        )
        for name, check in graph_estimator_checks(estimator)
    ],
)
def test_graph_checks_pass(name, check):
    check()
