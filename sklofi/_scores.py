"""Scores of tables: several labels or numbers for each graph, of which some may be unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score

from sklofi._multilabel import UNKNOWN, is_missing, read_labels

Floats = NDArray[np.float64]


def multilabel_roc_auc(y_true: Any, y_score: Any, *, average: str | None = "macro") -> Any:
    """Return the area under the ROC curve of several labels, over what is known of them.

    Without missing labels it is :func:`sklearn.metrics.roc_auc_score` of a table.

    Parameters
    ----------
    y_true : array-like of shape (n_graphs, n_labels)
        For each label 1 where a graph has it, 0 where it does not, and NaN where nobody
        knows.

    y_score : array-like of shape (n_graphs, n_labels)
        The larger, the more likely the label is there: probabilities, or what
        `decision_function` returns.

    average : {"macro"} or None, default="macro"
        "macro" is the mean over labels. Labels of which only one class is known are left
        out. None gives an array with the area of each label, and NaN for those.

    Returns
    -------
    area : float or ndarray of shape (n_labels,)
        Areas under the curves.

    Examples
    --------
    >>> from sklofi.comparison import multilabel_roc_auc
    >>> unknown = float("nan")
    >>> y_true = [[0, 1], [1, unknown], [unknown, 0], [0, 0]]
    >>> y_score = [[0.2, 0.9], [0.8, 0.1], [0.9, 0.3], [0.1, 0.4]]
    >>> multilabel_roc_auc(y_true, y_score)
    1.0
    """
    if average not in ("macro", None):
        raise ValueError(f'average has to be "macro" or None, got {average!r}.')
    labels = read_labels(y_true, is_part=True)
    if labels is None:
        raise ValueError(
            "multilabel_roc_auc needs y_true with two or more columns, one for each label. For"
            " one label use roc_auc."
        )
    scores = np.asarray(y_score, dtype=np.float64)
    _check_shapes(labels, scores, "y_score")
    areas = np.array(list(map(_area, labels.T, scores.T)))
    if average is None:
        return areas
    return _mean_over_columns(areas, "ROC AUC needs graphs with and graphs without a label")


def multioutput_r2(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the mean over targets of R², over the values that are known.

    Without missing values it is :func:`sklearn.metrics.r2_score`.

    Parameters
    ----------
    y_true : array-like of shape (n_graphs, n_targets)
        The true values, NaN where they are not known. Targets of which fewer than two
        values are known are left out.

    y_pred : array-like of shape (n_graphs, n_targets)
        The predicted values.

    sample_weight : array-like of shape (n_graphs,), default=None
        Weights of the graphs.

    Returns
    -------
    score : float
        1.0 for predictions without an error.

    Examples
    --------
    >>> from sklofi.comparison import multioutput_r2
    >>> unknown = float("nan")
    >>> multioutput_r2([[1, 5], [2, unknown], [3, 7]], [[1, 5], [2, 9], [3, 7]])
    1.0
    """
    scores = _scores_of_columns(r2_score, y_true, y_pred, sample_weight, least=2)
    return _mean_over_columns(scores, "R² needs two graphs of which a target is known")


def multioutput_mean_absolute_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None
) -> float:
    """Return the mean over targets of the mean absolute error, over the values that are known.

    Without missing values it is :func:`sklearn.metrics.mean_absolute_error`.

    Parameters
    ----------
    y_true : array-like of shape (n_graphs, n_targets)
        The true values, NaN where they are not known. Targets of which no value is known
        are left out.

    y_pred : array-like of shape (n_graphs, n_targets)
        The predicted values.

    sample_weight : array-like of shape (n_graphs,), default=None
        Weights of the graphs.

    Returns
    -------
    error : float
        0.0 for predictions without an error.

    Examples
    --------
    >>> from sklofi.comparison import multioutput_mean_absolute_error
    >>> unknown = float("nan")
    >>> multioutput_mean_absolute_error([[1, 5], [2, unknown]], [[1, 4], [2, 9]])
    0.5
    """
    errors = _scores_of_columns(mean_absolute_error, y_true, y_pred, sample_weight, least=1)
    return _mean_over_columns(errors, "An error needs a graph of which a target is known")


def multilabel_roc_auc_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score a classifier of several labels by the area under its ROC curves.

    For searches, `cross_val_score` and :func:`compare`.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier.

    X : list of networkx graphs, or GraphSet
        Graphs, or whatever the estimator takes.

    y : array-like of shape (n_graphs, n_labels)
        True labels, NaN where they are not known.

    Returns
    -------
    score : float
        The larger, the better.

    See Also
    --------
    multilabel_roc_auc : The score.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from sklofi import FingerprintClassifier
    >>> from sklofi.comparison import multilabel_roc_auc_scorer
    >>> from sklofi.datasets import load_graph_atlas
    >>> graphs, y = load_graph_atlas(target="spectral_radius")
    >>> graphs, y = graphs[::10], y[::10]
    >>> y = np.column_stack([y > 2.5, [len(graph.edges) > 9 for graph in graphs]])
    >>> y = np.where(np.arange(len(y))[:, None] % 4 == [0, 1], np.nan, y)  # not known
    >>> folds = KFold(3, shuffle=True, random_state=0)
    >>> scores = cross_val_score(
    ...     FingerprintClassifier(), graphs, y, cv=folds, scoring=multilabel_roc_auc_scorer
    ... )
    >>> bool((scores > 0.8).all())
    True
    """
    # scikit-learn's own scorers take two labels for two classes.
    if hasattr(estimator, "decision_function"):
        values = estimator.decision_function(X)
    else:
        values = estimator.predict_proba(X)
    if isinstance(values, list):  # of trees and the like: a table of two classes for each label
        values = np.column_stack([table[:, -1] for table in values])
    return float(multilabel_roc_auc(y, values))


def multioutput_r2_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score a regressor of several targets by R².

    For searches, `cross_val_score` and :func:`compare`.

    Parameters
    ----------
    estimator : estimator
        A fitted regressor.

    X : list of networkx graphs, or GraphSet
        Graphs, or whatever the estimator takes.

    y : array-like of shape (n_graphs, n_targets)
        True values, NaN where they are not known.

    Returns
    -------
    score : float
        The larger, the better.

    See Also
    --------
    multioutput_r2 : The score.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from sklofi import FingerprintRegressor
    >>> from sklofi.comparison import multioutput_r2_scorer
    >>> from sklofi.datasets import load_graph_atlas
    >>> graphs, y = load_graph_atlas(target="spectral_radius")
    >>> graphs, y = graphs[::10], y[::10]
    >>> y = np.column_stack([y, [len(graph.edges) for graph in graphs]])
    >>> y[::4, 0] = np.nan  # not known
    >>> folds = KFold(3, shuffle=True, random_state=0)
    >>> scores = cross_val_score(
    ...     FingerprintRegressor(), graphs, y, cv=folds, scoring=multioutput_r2_scorer
    ... )
    >>> bool((scores > 0.5).all())
    True
    """
    return multioutput_r2(y, estimator.predict(X))


def neg_multioutput_mean_absolute_error_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score a regressor of several targets by its mean absolute error, times -1.

    For searches, `cross_val_score` and :func:`compare`.

    Parameters
    ----------
    estimator : estimator
        A fitted regressor.

    X : list of networkx graphs, or GraphSet
        Graphs, or whatever the estimator takes.

    y : array-like of shape (n_graphs, n_targets)
        True values, NaN where they are not known.

    Returns
    -------
    score : float
        The larger, the better.

    See Also
    --------
    multioutput_mean_absolute_error : The score.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from sklofi import FingerprintRegressor
    >>> from sklofi.comparison import neg_multioutput_mean_absolute_error_scorer
    >>> from sklofi.datasets import load_graph_atlas
    >>> graphs, y = load_graph_atlas(target="spectral_radius")
    >>> graphs, y = graphs[::10], y[::10]
    >>> y = np.column_stack([y, [len(graph.edges) for graph in graphs]])
    >>> y[::4, 0] = np.nan  # not known
    >>> folds = KFold(3, shuffle=True, random_state=0)
    >>> scores = cross_val_score(
    ...     FingerprintRegressor(),
    ...     graphs,
    ...     y,
    ...     cv=folds,
    ...     scoring=neg_multioutput_mean_absolute_error_scorer,
    ... )
    >>> bool((scores > -1).all())
    True
    """
    return -multioutput_mean_absolute_error(y, estimator.predict(X))


# By their names for `compare`.
SCORERS: dict[str, Callable[[Any, Any, Any], float]] = {
    "multilabel_roc_auc": multilabel_roc_auc_scorer,
    "multioutput_r2": multioutput_r2_scorer,
    "neg_multioutput_mean_absolute_error": neg_multioutput_mean_absolute_error_scorer,
}


def read_numbers(values: Any) -> Floats:
    """Return numbers as an array, with NaN for those that are missing in any way."""
    numbers = np.asarray(values)
    if numbers.dtype.kind == "O":
        is_hole = np.vectorize(is_missing, otypes=[bool])(numbers)
        numbers = np.where(is_hole, np.nan, numbers)
    return numbers.astype(np.float64)


def _area(labels: NDArray[np.int8], scores: Floats) -> float:
    """Return the area of one label, or NaN if not both classes are known."""
    is_known = labels != UNKNOWN
    if len(np.unique(labels[is_known])) < 2:
        return np.nan
    return float(roc_auc_score(labels[is_known], scores[is_known]))


def _scores_of_columns(
    score: Callable[..., float], y_true: Any, y_pred: Any, sample_weight: Any, *, least: int
) -> Floats:
    """Return the score of each column, and NaN where less than so many values are known."""
    true, predicted = read_numbers(y_true), read_numbers(y_pred)
    _check_shapes(true, predicted, "y_pred")
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight is not None and weight.shape != true.shape[:1]:
        raise ValueError(
            f"sample_weight has the shape {weight.shape}, but y_true has the shape {true.shape}."
            " Pass one weight for each row."
        )
    scores = []
    for column, values in zip(*(x.reshape(len(x), -1).T for x in (true, predicted)), strict=True):
        rows = np.flatnonzero(~np.isnan(column))
        weights = {} if weight is None else {"sample_weight": weight[rows]}
        is_enough = len(rows) >= least
        scores.append(score(column[rows], values[rows], **weights) if is_enough else np.nan)
    return np.array(scores)


def _check_shapes(true: NDArray[Any], values: Floats, name: str) -> None:
    if true.shape != values.shape:
        raise ValueError(
            f"y_true has the shape {true.shape}, but {name} has the shape {values.shape}."
        )


def _mean_over_columns(scores: Floats, need: str) -> float:
    if np.isnan(scores).all():
        raise ValueError(f"{need}, and there is no column of y_true with that.")
    return float(np.mean(scores[~np.isnan(scores)]))
