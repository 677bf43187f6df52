"""Scores of tables, against those of scikit-learn column by column."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from sklofi.comparison import (
    multilabel_roc_auc,
    multilabel_roc_auc_scorer,
    multioutput_mean_absolute_error,
    multioutput_r2,
    multioutput_r2_scorer,
    neg_multioutput_mean_absolute_error_scorer,
)

NAN = float("nan")


def table(n_columns=3, n_rows=40):
    """Labels, scores, and which labels are known."""
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=(n_rows, n_columns))
    scores = np.round(y + rng.normal(size=y.shape), 1)  # with ties
    return y, scores, rng.uniform(size=y.shape) < 0.7


def test_without_holes_the_area_is_that_of_scikit_learn():
    y, scores, _ = table()
    assert multilabel_roc_auc(y, scores) == roc_auc_score(y, scores, average="macro")
    areas = roc_auc_score(y, scores, average=None)
    np.testing.assert_array_equal(multilabel_roc_auc(y, scores, average=None), areas)


def test_holes_are_left_out_column_by_column():
    y, scores, is_known = table()
    holes = np.where(is_known, y, np.nan)
    pairs = [(y[rows, j], scores[rows, j]) for j, rows in enumerate(is_known.T)]
    expected = np.mean([roc_auc_score(*pair) for pair in pairs])
    assert multilabel_roc_auc(holes, scores) == expected
    objects = np.where(is_known, y.astype(object), None)
    assert multilabel_roc_auc(objects.tolist(), scores.tolist()) == expected


def test_labels_of_which_one_class_is_known_are_left_out():
    y = [[0, 1, NAN], [1, 1, NAN], [1, NAN, NAN]]
    scores = [[0.1, 0.2, 0.3], [0.2, 0.3, 0.1], [0.0, 0.1, 0.2]]
    assert multilabel_roc_auc(y, scores) == 0.5
    np.testing.assert_array_equal(multilabel_roc_auc(y, scores, average=None), [0.5, NAN, NAN])
    with pytest.raises(ValueError, match="graphs with and graphs without a label, and there is no"):
        multilabel_roc_auc([[1, 0], [1, NAN]], [[0, 0], [1, 1]])


@pytest.mark.parametrize(
    "y_true, y_score, average, message",
    [
        ([0, 1], [0, 1], "macro", "two or more columns, .* use roc_auc"),
        ([[0, 1], [1, 0]], [0, 1], "macro", r"shape \(2, 2\), but y_score has the shape \(2,\)"),
        ([[0, 2], [1, 0]], [[0, 1], [1, 0]], "macro", "row 0, column 1 is .*2"),
        ([[0, 1], [1, 0]], [[0, 1], [1, 0]], "micro", "average has to be .* got 'micro'"),
    ],
)
def test_what_has_no_area_is_refused(y_true, y_score, average, message):
    with pytest.raises(ValueError, match=message):
        multilabel_roc_auc(y_true, y_score, average=average)


@pytest.mark.parametrize(
    "score, plain",
    [(multioutput_r2, r2_score), (multioutput_mean_absolute_error, mean_absolute_error)],
)
def test_scores_of_numbers_are_means_over_columns(score, plain):
    _, predicted, is_known = table()
    true = predicted + np.random.RandomState(1).normal(size=predicted.shape)
    weight = np.arange(1, 41.0)
    assert score(true, predicted) == pytest.approx(plain(true, predicted), rel=1e-14)
    assert score(true[:, 0], predicted[:, 0]) == plain(true[:, 0], predicted[:, 0])
    holes = np.where(is_known, true, np.nan)
    for weights in (None, weight):
        columns = [
            plain(
                true[rows, j],
                predicted[rows, j],
                sample_weight=None if weights is None else weights[rows],
            )
            for j, rows in enumerate(is_known.T)
        ]
        assert score(holes, predicted, sample_weight=weights) == np.mean(columns)


@pytest.mark.parametrize("score", [multioutput_r2, multioutput_mean_absolute_error])
@pytest.mark.parametrize("weight", [[1.0, 1.0], [1.0] * 4, [[1.0]] * 3, 1.0])
def test_weights_are_one_for_each_row(score, weight):
    y = [[1, 2], [2, NAN], [3, 5]]
    with pytest.raises(ValueError, match=r"sample_weight has the shape .* y_true .* \(3, 2\)"):
        score(y, np.zeros((3, 2)), sample_weight=weight)


def test_targets_of_which_too_little_is_known_are_left_out():
    y = [[1, NAN, NAN], [2, 5, NAN]]
    assert multioutput_r2(y, [[1, 0, 0], [2, 0, 0]]) == 1
    assert multioutput_mean_absolute_error(y, [[1, 0, 0], [2, 0, 0]]) == 2.5
    with pytest.raises(ValueError, match="R² needs two graphs"):
        multioutput_r2([[NAN, 1], [2, NAN]], [[0, 0], [0, 0]])
    with pytest.raises(ValueError, match=r"shape \(1, 2\), but y_pred"):
        multioutput_r2([[1, 2]], [1, 2])


def test_numbers_may_be_missing_in_any_way():
    predicted = [[1.0, 4.0], [2.0, 9.0], [3.0, 7.0]]
    for missing in (NAN, None, pd.NA):
        y = [[1, 5], [2, missing], [3, 7]]
        for table in (y, pd.DataFrame(y, dtype="Int64" if missing is pd.NA else None)):
            assert multioutput_mean_absolute_error(table, predicted) == 0.25


def vectors():
    X = np.random.RandomState(0).normal(size=(60, 3))
    return X, (X[:, :2] + 0.5 * X[:, 2:] > 0).astype(int)


@pytest.mark.parametrize(
    "estimator",
    [
        OneVsRestClassifier(LogisticRegression()),
        MLPClassifier((3,), max_iter=5, random_state=0),  # two labels are no two classes
        DecisionTreeClassifier(max_depth=2, random_state=0),  # whose probabilities are a list
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_the_scorer_scores_classifiers_of_scikit_learn(estimator):
    X, y = vectors()
    estimator.fit(X, y)
    if hasattr(estimator, "decision_function"):
        values = estimator.decision_function(X)
    else:
        values = estimator.predict_proba(X)
        values = np.transpose([p[:, 1] for p in values]) if isinstance(values, list) else values
    expected = np.mean([roc_auc_score(y[:, j], values[:, j]) for j in range(2)])
    assert multilabel_roc_auc_scorer(estimator, X, y) == expected


class KnowsTheFirst(ClassifierMixin, BaseEstimator):
    """Takes holes, and tells labels by the first features."""

    def __init__(self, sign=1):
        self.sign = sign

    def fit(self, X, y):
        self.classes_ = np.arange(2)
        return self

    def decision_function(self, X):
        return self.sign * X[:, :2]


def test_scorers_work_in_searches_and_cross_validation_with_holes():
    X, y = vectors()
    y = np.where(np.random.RandomState(0).uniform(size=y.shape) < 0.2, np.nan, y)
    scores = cross_val_score(KnowsTheFirst(), X, y, cv=KFold(3), scoring=multilabel_roc_auc_scorer)
    expected = [multilabel_roc_auc(y[test], X[test, :2]) for _, test in KFold(3).split(X)]
    np.testing.assert_array_equal(scores, expected)
    search = GridSearchCV(
        KnowsTheFirst(), {"sign": [-1, 1]}, cv=KFold(3), scoring=multilabel_roc_auc_scorer
    )
    assert search.fit(X, y).best_params_ == {"sign": 1}
    assert search.best_score_ > 0.8


def test_scorers_of_numbers_are_larger_if_better():
    X, _ = vectors()
    y = np.where(np.random.RandomState(0).uniform(size=X.shape) < 0.2, np.nan, 2 * X)
    regressor = LinearRegression().fit(X, X)
    assert neg_multioutput_mean_absolute_error_scorer(regressor, X, y) < 0
    assert multioutput_r2_scorer(regressor, X, y) < multioutput_r2_scorer(
        regressor.fit(X, 2 * X), X, y
    )
