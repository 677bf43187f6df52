"""The checks have to catch the faults they are there for."""

import networkx as nx
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sklofi import GraphSet
from sklofi.graphs._input import as_graph_set
from sklofi.testing import check_graph_estimator, graph_estimator_checks

pytestmark = pytest.mark.parallel  # one of the checks is a search in two processes


class LabelCounter(ClassifierMixin, BaseEstimator):
    """A small honest classifier: the nearest class in the counts of node labels."""

    bond = None  # the edge attribute that is read

    def fit(self, X, y, sample_weight=None):
        X = as_graph_set(X, "label", None, self.bond)
        y = validate_data(self, X="no_validation", y=y)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        if len(y) != len(X) or weight.shape != y.shape:
            raise ValueError("X, y and sample_weight differ in length")
        if not np.isfinite(weight).all() or not weight.any():
            raise ValueError("bad weights")
        self.classes_ = np.unique(y[weight > 0])
        if len(self.classes_) < 2:
            raise ValueError("only one class")
        self.labels_ = X.labels
        counts = self._counts(X)
        self.means_ = np.array(
            [np.average(counts[y == c], axis=0, weights=weight[y == c]) for c in self.classes_]
        )
        return self

    def predict(self, X):
        closest = self._closeness(X).argmax(axis=1)
        return self.classes_[closest]

    def decision_function(self, X):
        closeness = self._closeness(X)
        return closeness[:, 1] - closeness[:, 0] if len(self.classes_) == 2 else closeness

    def _closeness(self, X):
        check_is_fitted(self)
        distances = self._counts(as_graph_set(X, "label", None, self.bond))[:, None] - self.means_
        return -(distances**2).sum(axis=2)

    def _counts(self, X):
        counts = np.zeros((len(X), len(self.labels_) + 1))
        for i, graph in enumerate(X):
            for _, label in graph.nodes(data="label"):
                if label in self.labels_:
                    counts[i, self.labels_.index(label)] += 1 / len(graph)
        return counts

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


class ChangesGraphs(LabelCounter):
    def fit(self, X, y, sample_weight=None):
        for graph in X:
            graph.nodes[next(iter(graph))]["seen"] = True
        return super().fit(X, y, sample_weight)


class ForgetsToReturnSelf(LabelCounter):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)


class IgnoresWeights(LabelCounter):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


class CountsHeavyGraphsOnce(LabelCounter):
    def fit(self, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        return super().fit(X, y, np.minimum(weight, 1))


class LooksAtTheBatch(LabelCounter):
    def predict(self, X):
        predicted = super().predict(X)
        return predicted if len(X) > 1 else self.classes_[:1].repeat(len(X))


class DependsOnNodeOrder(LabelCounter):
    def _counts(self, X):
        first = [next(iter(graph.nodes(data="label")))[1] for graph in X]
        return np.array([[label == "a", label == "b"] for label in first], dtype=float)


class DrawsGlobally(LabelCounter):
    def predict(self, X):
        np.random.rand()
        return super().predict(X)


class TakesAnything(LabelCounter):
    def predict(self, X):
        return super().predict([X] if isinstance(X, nx.Graph) else X)


class SetsParameters(LabelCounter):
    def __init__(self, tolerance=None):
        self.tolerance = tolerance

    def fit(self, X, y, sample_weight=None):
        self.tolerance = 0.1
        return super().fit(X, y, sample_weight)


class DecidesOtherwise(LabelCounter):
    def decision_function(self, X):
        return np.where(self.predict(X) == self.classes_[0], 1.0, -1.0)


class CannotBePickled(LabelCounter):
    def fit(self, X, y, sample_weight=None):
        self.function_ = lambda: None
        return super().fit(X, y, sample_weight)


class BondCounter(LabelCounter):
    """Counts the labels of edges, too."""

    bond = "label"

    def _counts(self, X):
        bonds = [[self._bond(label) for _, _, label in g.edges(data="label")] for g in X]
        shares = [[own.count(bond) / max(1, len(own)) for bond in "-=#"] for own in bonds]
        return np.column_stack([super()._counts(X), shares])

    def _bond(self, label):
        return label


class DependsOnEdgeOrder(BondCounter):
    def _counts(self, X):
        first = [next(iter(graph.edges(data="label")), (0, 0, ""))[2] for graph in X]
        return np.column_stack(
            [super()._counts(X), [[label == bond for bond in "-=#"] for label in first]]
        )


class ReadsListsOtherwise(BondCounter):
    def _counts(self, X):
        return super()._counts(X) if self.is_graph_set_ else LabelCounter._counts(self, X)

    def fit(self, X, y, sample_weight=None):
        self.is_graph_set_ = isinstance(X, GraphSet)
        return super().fit(X, y, sample_weight)


class LosesBondsWhenPickled(BondCounter):
    def __getstate__(self):
        return {**super().__getstate__(), "lost_": True}

    def _bond(self, label):
        return None if hasattr(self, "lost_") else label


class KnowsAllBonds(BondCounter):
    def _bond(self, label):
        if label not in {None, "-", "=", "#"}:
            raise KeyError(label)
        return label


class TakesLabels(LabelCounter):
    """Counts for each of several labels, by the graphs of which it is known."""

    def fit(self, X, y, sample_weight=None):
        if np.ndim(y) != 2:
            return super().fit(X, y, sample_weight)
        known = ~np.isnan(y)
        if len(empty := np.flatnonzero(~known.any(axis=0))):
            raise ValueError(f"nothing is known of column {empty[0]}")
        self.classes_ = np.arange(y.shape[1])
        self.counters_ = [
            LabelCounter().fit([X[i] for i in np.flatnonzero(rows)], values[rows])
            for values, rows in zip(y.T, known.T, strict=True)
        ]
        return self

    def predict(self, X):
        if not hasattr(self, "counters_"):
            return super().predict(X)
        return np.column_stack([counter.predict(X) for counter in self.counters_]).astype(int)

    def decision_function(self, X):
        if not hasattr(self, "counters_"):
            return super().decision_function(X)
        return np.column_stack([counter.decision_function(X) for counter in self.counters_])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class TakesUnknownForNo(TakesLabels):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, np.nan_to_num(y) if np.ndim(y) == 2 else y, sample_weight)


class ForgetsLabels(TakesLabels):
    def predict(self, X):
        return super().predict(X)[:, :1] if hasattr(self, "counters_") else super().predict(X)


def test_an_honest_estimator_that_takes_labels_passes():
    names = {"check_several_labels", "check_missing_targets"}
    results = check_graph_estimator(TakesLabels())
    assert {result["status"] for result in results} == {"passed"}
    assert names <= {result["check_name"] for result in results}
    assert not names & {name for name, _ in graph_estimator_checks(LabelCounter())}


def test_an_honest_estimator_that_reads_edges_passes():
    results = check_graph_estimator(BondCounter())
    assert {result["status"] for result in results} == {"passed"}


def test_an_honest_estimator_passes():
    results = check_graph_estimator(LabelCounter())
    assert {result["status"] for result in results} == {"passed"}
    assert len(results) > 25


@pytest.mark.parametrize(
    "faulty, check",
    [
        (ChangesGraphs, "check_input_is_not_changed"),
        (ForgetsToReturnSelf, "check_fit_returns_self"),
        (IgnoresWeights, "check_weights_of_zero_remove"),
        (CountsHeavyGraphsOnce, "check_weights_are_copies"),
        (LooksAtTheBatch, "check_graphs_do_not_influence_each_other"),
        (DependsOnNodeOrder, "check_node_names_and_order_do_not_matter"),
        (DrawsGlobally, "check_global_generators_are_left_alone"),
        (TakesAnything, "check_bad_graphs_are_refused"),
        (SetsParameters, "check_parameters_are_not_changed"),
        (DecidesOtherwise, "check_decisions_are_predicted"),
        (CannotBePickled, "check_copies_predict_the_same"),
        (DependsOnEdgeOrder, "check_node_and_edge_order_do_not_matter_where_edges_have_labels"),
        (ReadsListsOtherwise, "check_graph_set_is_like_a_list_where_edges_have_labels"),
        (LosesBondsWhenPickled, "check_copies_predict_the_same_where_edges_have_labels"),
        (KnowsAllBonds, "check_unseen_edge_labels_are_handled"),
        (TakesUnknownForNo, "check_missing_targets"),
        (TakesUnknownForNo, "check_target_without_values_is_refused"),
        (ForgetsLabels, "check_several_labels"),
    ],
)
def test_every_fault_is_caught_by_its_check(faulty, check):
    results = check_graph_estimator(faulty(), on_fail=None)
    assert check in {r["check_name"] for r in results if r["status"] == "failed"}
    with pytest.raises(Exception):  # noqa: B017
        check_graph_estimator(faulty())


def test_expected_failures_are_reported_with_their_reason():
    allowed = {
        "check_bad_weights_are_refused": "no",
        "check_weights_of_zero_remove": "ignored",
        "check_weights_are_copies": "ignored",
    }
    results = check_graph_estimator(IgnoresWeights(), expected_failed_checks=allowed)
    failed = {r["check_name"]: r for r in results if r["status"] == "xfail"}
    assert set(failed) == set(allowed)
    assert failed["check_weights_of_zero_remove"]["expected_to_fail_reason"] == "ignored"


def test_unknown_names_and_modes_are_refused():
    with pytest.raises(ValueError, match=r"do not exist: \['check_beauty'\]"):
        check_graph_estimator(LabelCounter(), expected_failed_checks={"check_beauty": ""})
    with pytest.raises(ValueError, match="on_fail has to be"):
        check_graph_estimator(LabelCounter(), on_fail="warn")


def test_checks_fit_the_kind_of_estimator():
    names = {name for name, _ in graph_estimator_checks(LabelCounter())}
    assert "check_one_class_is_refused" in names
    assert "check_nan_target_is_refused" not in names
    assert "check_feature_names_out" not in names
