"""Estimators side by side on the same folds, and whether a difference means anything.

Half of the lines are docstrings: what a verdict means has to be said.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn import get_config, metrics
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    KFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _num_samples, has_fit_parameter
from tqdm import tqdm

from sklofi._groups import check_groups
from sklofi._multilabel import read_labels, strata_of_labels
from sklofi._plotting import import_pyplot
from sklofi._scores import (
    SCORERS,
    multilabel_roc_auc,
    multilabel_roc_auc_scorer,
    multioutput_mean_absolute_error,
    multioutput_r2,
    multioutput_r2_scorer,
    neg_multioutput_mean_absolute_error_scorer,
    read_numbers,
)
from sklofi._statistics import (
    ROUNDING,
    corrected_t_test,
    format_figures,
    mean_of,
    standard_error,
)

__all__ = [
    "Comparison",
    "Failure",
    "compare",
    "corrected_t_test",
    "multilabel_roc_auc",
    "multilabel_roc_auc_scorer",
    "multioutput_mean_absolute_error",
    "multioutput_r2",
    "multioutput_r2_scorer",
    "neg_multioutput_mean_absolute_error_scorer",
]


# Scores that count the graphs which are classified rightly, as a share, and those that count the
# pairs of graphs which are ranked rightly. Others may come in any unit, in which one test graph is
# no amount.
SHARES = (
    metrics.accuracy_score,
    metrics.balanced_accuracy_score,
    metrics.cohen_kappa_score,
    metrics.f1_score,
    metrics.fbeta_score,
    metrics.hamming_loss,
    metrics.jaccard_score,
    metrics.matthews_corrcoef,
    metrics.precision_score,
    metrics.recall_score,
    metrics.top_k_accuracy_score,
    metrics.zero_one_loss,
)


SHARES_OF_PAIRS = (
    metrics.average_precision_score,
    metrics.roc_auc_score,
    multilabel_roc_auc_scorer,
)


# Splitters that balance classes, and take strata for classes.
STRATIFIED = (
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)


def compare(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    scoring: Any = None,
    baseline: str | None = None,
    alpha: float = 0.05,
    groups: Any = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare estimators on the same folds.

    Each estimator is fitted and scored once in every fold, on the same training and test
    graphs as the others. What has to be tuned should be tuned inside, on the training
    graphs: pass a search (such as `GridSearchCV`) in place of the estimator.

    What a :class:`GraphSet` keeps is computed by the estimator that needs it first, which
    shows in its time.

    Parameters
    ----------
    estimators : dict of str to estimator
        What to compare. Estimators are cloned, not changed.

    X : list of networkx graphs, or GraphSet
        The graphs, or whatever the estimators take. A :class:`GraphSet` is converted once,
        and kernel matrices and neighborhoods are shared between folds.

    y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
        The targets. In several columns they may be NaN where they are not known.

    cv : int, cross-validation splitter or iterable, default=10
        The folds. A number gives so many shuffled folds, which keep `groups` together if
        there are any. For classifiers they are stratified by class, or, where y has
        several labels, by the rarest of them that a graph has.

    scoring : str, callable, list, dict or None, default=None
        The score, in the words of scikit-learn; larger is better. A list of names, or a
        dict of names and scores, computes several, on the same fits.

        By default it is accuracy if the first estimator is a classifier, and otherwise R².
        For several labels it is "multilabel_roc_auc", and for numbers of which some are
        missing "multioutput_r2", which leave out what is not known
        (:func:`multilabel_roc_auc`, :func:`multioutput_r2`); so does
        "neg_multioutput_mean_absolute_error".

        Verdicts do not depend on the unit of the score or of the targets, as far as numbers of
        64 bits can hold them and, for R², squares of errors; errors of several
        targets in different units are averaged, so that their units weigh them. Only the
        scores of scikit-learn and these are known to count graphs, so that a difference of
        one graph in every fold is no proof; a function of your own, such as accuracy in
        percent, is taken for a measurement.

    baseline : str, default=None
        The estimator that the others are tested against, by default the first.

    alpha : float, default=0.05
        Level of significance of the verdicts.

    groups : array-like of shape (n_graphs,), default=None
        Groups of graphs that are alike, such as the scaffolds of molecules
        (:func:`sklofi.graphs.scaffold_groups`): no group is in both the training and the
        test graphs of a fold, if `cv` is a number or a splitter for groups. Estimators whose
        `fit` takes groups get those of their training graphs, and so do searches, for
        their own splitters, and all that scikit-learn would route them to.

    random_state : int or None, default=0
        Determines the shuffling if `cv` is a number or None. Estimators have their own.

    n_jobs : int or None, default=None
        Number of fits that run at a time.

    verbose : int, default=0
        Whether to show a progress bar.

    Returns
    -------
    comparison : Comparison
        Scores and times of all folds. A fit that failed has the score NaN, and its error
        is in `comparison.failures`. Of several scores it has the first one, and
        `comparison["name"]` is the comparison by another.

    Examples
    --------
    >>> from sklofi import GraphKernelSVC, compare
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y = make_motif_graphs(100, random_state=0)
    >>> kernels = {name: GraphKernelSVC(kernel=name) for name in ("wl", "vertex-histogram")}
    >>> comparison = compare(kernels, graphs, y, cv=5)
    >>> comparison.means()["wl"] > comparison.means()["vertex-histogram"]
    True
    """
    if not isinstance(estimators, Mapping):
        raise TypeError(
            f"estimators has to be a dict of names and estimators, got {type(estimators).__name__}."
        )
    estimators = {str(name): estimator for name, estimator in estimators.items()}
    if not estimators:
        raise ValueError("There is nothing to compare: estimators is empty.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha has to be between 0 and 1, got {alpha}.")
    baseline = next(iter(estimators)) if baseline is None else baseline
    if baseline not in estimators:
        raise ValueError(f"baseline={baseline!r} is none of the estimators {list(estimators)}.")
    first = next(iter(estimators.values()))
    is_classification = is_classifier(first)
    labels = read_labels(y, is_part=True) if is_classification else None
    scorings = _read_scoring(scoring, _default_score(is_classification, labels, y))
    strata = None
    if is_classification:
        strata = y if labels is None else strata_of_labels(labels)
    folds = _make_folds(cv, X, y, groups, strata, random_state)
    if not folds:
        raise ValueError("There are no folds to compare on: cv is empty.")
    if np.asarray(y).dtype in (np.float16, np.float32):  # in which some scores would be computed
        y = y.astype(np.float64) if hasattr(y, "astype") else np.asarray(y, dtype=np.float64)
    scorers = {
        name: {metric: _make_scorer(estimator, score) for metric, score in scorings.items()}
        for name, estimator in estimators.items()
    }

    # All estimators on one fold before the next, so that early results compare fairly and
    # a cache that holds one fold is used.
    tasks = [(name, fold) for fold in range(len(folds)) for name in estimators]
    # Every task carries all estimators, so that a worker imports what they need with its
    # first task; what it imports later, loky would take for a leak of memory.
    # Results one by one are for the progress bar; Ray's backend can give them all at once only.
    run = Parallel(n_jobs=n_jobs, return_as="generator" if verbose else "list")(
        delayed(_fit_and_score)(estimators, name, scorers[name], X, y, groups, *folds[fold])
        for name, fold in tasks
    )
    shape = (len(estimators), len(folds))
    fit_times = np.full(shape, np.nan)
    scores, score_times = (np.full((len(scorings), *shape), np.nan) for _ in range(2))
    failures = []
    row = {name: i for i, name in enumerate(estimators)}
    bar = tqdm(zip(tasks, run, strict=True), total=len(tasks), disable=not verbose)
    for (name, fold), result in bar:
        bar.set_postfix_str(f"{name}, fold {fold}")
        at = row[name], fold
        fit_times[at], scores[:, *at], score_times[:, *at], errors = result
        failures += [Failure(name, fold, *error) for error in errors]
    n_test = [len(test) for _, test in folds]
    n_labels = 1 if labels is None else labels.shape[1]
    comparisons = [
        Comparison(
            names=tuple(estimators),
            scores=scores[i],
            fit_times=fit_times,
            score_times=score_times[i],
            test_share=float(np.mean([len(test) / len(train) for train, test in folds])),
            baseline=baseline,
            metric=metric,
            resolution=_resolution(scorer, n_test, n_labels),
            alpha=alpha,
            failures=tuple(error for error in failures if error.metric in (None, metric)),
        )
        for i, (metric, scorer) in enumerate(next(iter(scorers.values())).items())
    ]
    return replace(comparisons[0], failures=tuple(failures), others=tuple(comparisons[1:]))


def _default_score(is_classification: bool, labels: Any, y: Any) -> str:
    """Return the name of the score that is used if the user names none."""
    if is_classification:
        return "accuracy" if labels is None else "multilabel_roc_auc"
    return "multioutput_r2" if _has_holes(y) else "r2"


def _has_holes(y: Any) -> bool:
    """Whether y is a table of numbers of which some are missing."""
    return np.ndim(y) == 2 and bool(np.isnan(read_numbers(y)).any())


def _read_scoring(scoring: Any, default: str) -> dict[str, Any]:
    """Return scores, as strings or callables, by their names."""
    if isinstance(scoring, Mapping):
        scorings = {str(name): score for name, score in scoring.items()}
    else:
        listed = list(scoring) if isinstance(scoring, (list, tuple)) else [scoring or default]
        scorings = {_name_of(score): score for score in listed}
        if len(scorings) < len(listed):
            raise ValueError(
                f"scoring has two scores of one name, in {[*map(_name_of, listed)]}. Pass a dict"
                " of names and scores."
            )
    if not scorings:
        raise ValueError("There is nothing to compare by: scoring is empty.")
    for score in scorings.values():
        if not (isinstance(score, str) or callable(score)):
            raise TypeError(
                "scoring has to be a score, which is a str or a callable, or a list or dict of"
                f" scores, got {score!r}."
            )
    return scorings


def _name_of(score: Any) -> str:
    if isinstance(score, str):
        return score
    ours = (name for name, scorer in SCORERS.items() if scorer is score)
    return next(ours, getattr(score, "__name__", "score"))


def _make_scorer(estimator: Any, score: Any) -> Any:
    """Return a callable that takes a fitted estimator, X and y."""
    if isinstance(score, str) and score in SCORERS:
        return SCORERS[score]
    return check_scoring(estimator, scoring=score)


def _make_folds(
    cv: Any, X: Any, y: Any, groups: Any, strata: Any, random_state: int | None
) -> list[tuple[Any, Any]]:
    """Return the training and test rows of all folds, stratified if there are strata."""
    if groups is not None:
        numbers = check_groups(groups, _num_samples(X))
    has_labels = strata is not None and strata is not y  # strata that are no classes of the user
    if not (cv is None or isinstance(cv, Integral)):
        if has_labels and isinstance(cv, STRATIFIED):
            y = _merge_rare(strata, max(2, getattr(cv, "cvargs", vars(cv))["n_splits"]))
        return list(check_cv(cv).split(X, y, groups))
    n_folds, shuffle = 5 if cv is None else int(cv), {"shuffle": True, "random_state": random_state}
    if has_labels:
        strata = _merge_rare(strata, n_folds)
    if groups is None:
        kind = KFold if strata is None else StratifiedKFold
        return list(kind(n_folds, **shuffle).split(X, y if strata is None else strata))
    n_groups = len(np.unique(numbers))
    if n_groups < n_folds:
        raise ValueError(
            f"There are {n_groups} groups, which is too few for {n_folds} folds: every fold needs"
            " a group of its own. Use fewer folds (cv)."
        )
    # Shuffled folds of GroupKFold have equal numbers of groups, which may be of any size. These
    # have about equal numbers of graphs, also if there is a single class.
    strata = np.zeros(len(numbers), dtype=np.int64) if strata is None else strata
    return list(StratifiedGroupKFold(n_folds, **shuffle).split(X, strata, numbers))


def _merge_rare(strata: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Merge strata with the next until each has at least so many graphs, if there are as many."""
    merged, size = np.zeros(strata.max() + 2, dtype=np.int64), 0
    for stratum, n_graphs in enumerate(np.bincount(strata)):
        merged[stratum + 1] = merged[stratum] + (size >= least)
        size = n_graphs + (0 if size >= least else size)
    if size < least:  # the last ones go with those before
        merged = merged.clip(max=max(0, merged[-1] - 1))
    return merged[1:][strata]


def _takes_groups(estimator: Any) -> bool:
    """Whether `fit` takes groups, or passes them on to what does."""
    if has_fit_parameter(estimator, "groups"):
        return True
    if get_config()["enable_metadata_routing"]:
        return "groups" in get_routing_for_object(estimator).consumes("fit", ["groups"])
    return isinstance(estimator, BaseSearchCV)  # whose splitter gets them


def _resolution(scorer: Any, n_test: list[int], n_labels: int = 1) -> float:
    """Return the smallest difference between two scores if they count graphs, else 0."""
    function = getattr(scorer, "_score_func", scorer)  # scorers of one's own have none
    n_graphs = float(np.mean(n_test))
    if any(function is share for share in SHARES_OF_PAIRS):
        return 4 / n_graphs**2 / n_labels  # of as many pairs at most, for each label
    if not any(function is share for share in SHARES):
        return 0.0
    if not scorer._kwargs.get("normalize", True):
        return 1.0  # a number of graphs instead
    return 1 / n_graphs


Errors = list[tuple[str, str, str | None]]  # message, traceback, and the score


def _fit_and_score(
    estimators: dict[str, Any],
    name: str,
    scorers: dict[str, Any],
    X: Any,
    y: Any,
    groups: Any,
    train: Any,
    test: Any,
) -> tuple[float, list[float], list[float], Errors]:
    """Return seconds of fitting, the scores, seconds of scoring, and the errors that there were."""
    nothing = [float("nan")] * len(scorers)
    start = time.perf_counter()
    try:
        estimator = clone(estimators[name])
        arguments = {}
        if groups is not None and _takes_groups(estimator):
            arguments["groups"] = _safe_indexing(groups, train)
        estimator.fit(_safe_indexing(X, train), _safe_indexing(y, train), **arguments)
    except Exception as error:  # the others go on; this one is reported
        return float("nan"), nothing, nothing, [(*_describe(error), None)]
    fit_time = time.perf_counter() - start
    scores, score_times = list(nothing), list(nothing)
    errors: Errors = []
    for i, (metric, scorer) in enumerate(scorers.items()):
        start = time.perf_counter()
        try:
            score = float(scorer(estimator, _safe_indexing(X, test), _safe_indexing(y, test)))
            score_times[i] = time.perf_counter() - start
            if not np.isfinite(score):
                raise ValueError(f"the score is {'NaN' if np.isnan(score) else 'infinite'}")
            scores[i] = score
        except Exception as error:
            errors.append((*_describe(error), metric))
    return fit_time, scores, score_times, errors


def _describe(error: Exception) -> tuple[str, str]:
    return f"{type(error).__name__}: {error}", traceback.format_exc()


@dataclass(frozen=True)
class Failure:
    """A fit or prediction that raised an error.

    Parameters
    ----------
    name : str
        The estimator.

    fold : int
        The fold, counted from 0.

    message : str
        Type and text of the error.

    traceback : str
        Where it was raised.

    metric : str or None, default=None
        The score that could not be computed; None if it was the fit that failed.

    Examples
    --------
    >>> from sklofi.comparison import Failure
    >>> failure = Failure("wl", 3, "ValueError: no graphs", "Traceback ...")
    >>> failure.message
    'ValueError: no graphs'
    """

    name: str
    fold: int
    message: str
    traceback: str
    metric: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The scores and times of estimators on the same folds, as :func:`compare` returns them.

    Print it for a table, or use :meth:`to_frame` and :meth:`plot`. Where several scores were
    computed, all methods tell of the first one, and ``comparison["neg_log_loss"]`` is the
    comparison by another; the printed table and the data frame have all of them.

    Parameters
    ----------
    names : tuple of str
        The estimators.

    scores, fit_times, score_times : ndarray of shape (n_estimators, n_folds)
        Score, seconds of fitting and seconds of predicting and scoring in each fold; NaN
        where it failed.

    test_share : float
        Test graphs for each training graph.

    baseline : str
        The estimator that the others are tested against.

    metric : str, default="score"
        Name of the score.

    resolution : float, default=0.0
        The smallest difference between two scores: 1 over the number of test graphs for
        accuracies and other shares of graphs, 0 for all other scores.

    alpha : float, default=0.05
        Level of significance.

    failures : tuple of Failure, default=()
        Errors, with `name`, `fold`, `message`, `traceback` and `metric`.

    others : tuple of Comparison, default=()
        The comparisons of the same fits by other scores.

    Examples
    --------
    >>> from sklofi import GraphKernelSVC, compare
    >>> from sklofi.datasets import make_motif_graphs
    >>> graphs, y = make_motif_graphs(100, random_state=0)
    >>> kernels = {name: GraphKernelSVC(kernel=name) for name in ("wl", "vertex-histogram")}
    >>> comparison = compare(kernels, graphs, y, cv=5)
    >>> comparison.scores.shape
    (2, 5)
    >>> [row["estimator"] for row in comparison.rows()]
    ['wl', 'vertex-histogram']
    """

    names: tuple[str, ...]
    scores: NDArray[np.float64]
    fit_times: NDArray[np.float64]
    score_times: NDArray[np.float64]
    test_share: float
    baseline: str
    metric: str = "score"
    resolution: float = 0.0
    alpha: float = 0.05
    failures: tuple[Failure, ...] = ()
    others: tuple[Comparison, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all scores."""
        return (self.metric, *(other.metric for other in self.others))

    def __getitem__(self, metric: str) -> Comparison:
        """Return the comparison by one of the scores."""
        for comparison in self._by_metric():
            if comparison.metric == metric:
                return comparison
        raise KeyError(f"{metric!r} is none of the scores {list(self.metrics)}.")

    def _by_metric(self) -> tuple[Comparison, ...]:
        """Return a comparison for each score."""
        failures = tuple(error for error in self.failures if error.metric in (None, self.metric))
        return (replace(self, failures=failures, others=()), *self.others)

    def means(self) -> dict[str, float]:
        """Return the mean score of each estimator over the folds that did not fail.

        Returns
        -------
        means : dict of str to float
            Mean scores by the names of estimators.
        """
        return {row["estimator"]: row["mean"] for row in self.rows()}

    def p_values(self) -> dict[str, float]:
        """Return the p-values of the differences from the baseline.

        The test is the paired t-test of Nadeau and Bengio, which allows for the overlap
        of training sets; see :func:`corrected_t_test`. Where several estimators are
        tested, p-values are adjusted by the method of Holm.

        Returns
        -------
        p_values : dict of str to float
            How likely a difference of at least this size would be without a true one, by the
            names of all estimators but the baseline; NaN where it cannot be told.
        """
        raw = {
            name: corrected_t_test(
                self._differences(i), self.test_share, self.resolution, self._rounding(i)
            )
            for i, name in enumerate(self.names)
            if name != self.baseline
        }
        tested = sorted((p, name) for name, p in raw.items() if p == p)
        adjusted, largest = dict(raw), 0.0
        for i, (p, name) in enumerate(tested):
            largest = max(largest, min(1.0, (len(tested) - i) * p))
            adjusted[name] = largest
        return adjusted

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as a list of dictionaries, one for each estimator.

        Returns
        -------
        rows : list of dict
            With the keys "estimator", "mean", "standard_error", "difference" (from the baseline),
            "p_value", "verdict", "fit_seconds", "predict_seconds" and "n_failed".
        """
        p_values = self.p_values()
        rows = []
        for i, name in enumerate(self.names):
            scores = self.scores[i][~np.isnan(self.scores[i])]
            rows.append(
                {
                    "estimator": name,
                    "mean": mean_of(scores),
                    "standard_error": standard_error(scores),
                    "difference": self._difference(i),
                    "p_value": p_values.get(name, np.nan),
                    "verdict": self._verdict(i, p_values),
                    "fit_seconds": mean_of(self.fit_times[i]),
                    "predict_seconds": mean_of(self.score_times[i]),
                    "n_failed": int(np.isnan(self.scores[i]).sum()),
                }
            )
        return rows

    def to_frame(self, *, folds: bool = False) -> Any:
        """Return the results as a pandas DataFrame.

        Parameters
        ----------
        folds : bool, default=False
            Whether to give a row for each fold instead of one for each estimator.

        Returns
        -------
        frame : pandas.DataFrame
            A row for each estimator, or for each fold of each. Of several scores there
            are as many such tables, one below the other, with the name of the score in
            the index, or in a column.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas.") from error
        if self.others:
            frames = {one.metric: one.to_frame(folds=folds) for one in self._by_metric()}
            frame = pd.concat(frames, names=["metric"])
            return frame.reset_index("metric").reset_index(drop=True) if folds else frame
        if not folds:
            return pd.DataFrame(self.rows()).set_index("estimator")
        n_folds = self.scores.shape[1]
        return pd.DataFrame(
            {
                "estimator": np.repeat(self.names, n_folds),
                "fold": np.tile(np.arange(n_folds), len(self.names)),
                "score": self.scores.ravel(),
                "fit_seconds": self.fit_times.ravel(),
                "predict_seconds": self.score_times.ravel(),
            }
        )

    def plot(self, ax: Any = None, *, metric: str | None = None) -> Any:
        """Draw the scores of all folds, means with standard errors, and the verdicts.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default on a new figure.

        metric : str, default=None
            Which of several scores to draw, by default the first one.

        Returns
        -------
        ax : matplotlib Axes
            Where it is drawn.
        """
        if metric is not None:
            return self[metric].plot(ax)
        plt = import_pyplot("plot")
        if ax is None:
            size = (7, 1.2 + 0.6 * len(self.names))
            _, ax = plt.subplots(figsize=size, layout="constrained")
        jitter = np.linspace(-0.16, 0.16, self.scores.shape[1])
        for place, (row, scores) in enumerate(zip(self.rows(), self.scores, strict=True)):
            color = f"C{place}"
            ax.plot(scores, place + jitter, "o", color=color, alpha=0.35, ms=5, mew=0)
            half_width = np.nan_to_num(row["standard_error"])
            ax.errorbar(row["mean"], place, xerr=half_width, fmt="D", color=color, ms=7, capsize=4)
            ax.annotate(
                row["verdict"],
                (1.01, place),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize="small",
            )
        ax.axvline(self.means()[self.baseline], color="0.6", lw=1, ls=":", zorder=0)
        ax.set_yticks(range(len(self.names)), self.names)
        ax.set_ylim(len(self.names) - 0.5, -0.5)  # the first on top
        ax.set_xlabel(f"{self.metric} in {self.scores.shape[1]} folds, mean ± standard error")
        return ax

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        n_folds = self.scores.shape[1]
        lines = self._table_of_scores() if self.others else self._table()
        lines.append(f"{n_folds} folds; mean ± standard error; corrected paired t-test.")
        for failure in self.failures:
            score = f" ({failure.metric})" if self.others and failure.metric else ""
            lines.append(f"{failure.name} failed in fold {failure.fold}{score}: {failure.message}")
        return "\n".join(lines)

    def _table(self) -> list[str]:
        """Return the lines of the table for one score."""
        figures, rows = self._figures(), self.rows()
        width = max(len("estimator"), *map(len, self.names))
        wide = max(18, len(self.metric), *map(len, figures))
        lines = [
            f"{'estimator':<{width}}  {self.metric:>{wide}}  {'fit s':>8}  {'predict s':>9}  "
            f"against {self.baseline}"
        ]
        for row, figure in zip(rows, figures, strict=True):
            lines.append(
                f"{row['estimator']:<{width}}  {figure:>{wide}}  {row['fit_seconds']:>8.2f}  "
                f"{row['predict_seconds']:>9.3f}  {self._outcome(row)}"
            )
        return lines

    def _table_of_scores(self) -> list[str]:
        """Return the lines of two tables: all scores, and their verdicts."""
        comparisons = self._by_metric()
        rows = [one.rows() for one in comparisons]
        figures = [one._figures() for one in comparisons]
        seconds = [f"{row['fit_seconds']:.2f}" for row in rows[0]]
        scores = [["estimator", *self.metrics, "fit s"]]
        scores += [list(line) for line in zip(self.names, *figures, seconds, strict=True)]
        verdicts = [[f"against {self.baseline}", *self.metrics]]
        for i, name in enumerate(self.names):
            if name != self.baseline:
                verdicts.append(
                    [name, *(one._outcome(rows[j][i]) for j, one in enumerate(comparisons))]
                )
        return [*_align(scores, ">"), "", *_align(verdicts, "<")]

    def _figures(self) -> list[str]:
        """Return mean ± standard error of each estimator."""
        return format_figures([(row["mean"], row["standard_error"]) for row in self.rows()])

    def _outcome(self, row: dict[str, Any]) -> str:
        """Return the verdict on an estimator, and in how many folds it failed."""
        has_failed = 0 < row["n_failed"] < self.scores.shape[1]
        failed = f", failed in {row['n_failed']} folds" if has_failed else ""
        return f"{row['verdict']}{failed}"

    def _differences(self, i: int) -> NDArray[np.float64]:
        """Return the differences from the baseline in each fold."""
        scores, reference = self.scores[i], self.scores[self.names.index(self.baseline)]
        is_same = np.isclose(scores, reference, rtol=ROUNDING, atol=0)
        return np.where(is_same, 0.0, scores - reference)

    def _rounding(self, i: int) -> float:
        """Return how much differences from the baseline may vary by rounding errors alone."""
        scores = self.scores[[i, self.names.index(self.baseline)]]
        return ROUNDING * float(np.nanmax(np.abs(scores), initial=0.0))

    def _difference(self, i: int) -> float:
        return mean_of(self._differences(i))

    def _verdict(self, i: int, p_values: dict[str, float]) -> str:
        name = self.names[i]
        if np.isnan(self.scores[i]).all():
            return "failed in every fold"
        if name == self.baseline:
            return "baseline"
        p = p_values[name]
        if np.isnan(self.scores[self.names.index(self.baseline)]).all():
            return "the baseline failed"
        if np.isnan(p):
            n_pairs = np.count_nonzero(~np.isnan(self._differences(i)))
            return "too few folds to tell" if n_pairs < 2 else "the same difference in every fold"
        size = f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"
        if p >= self.alpha:
            return f"no clear difference ({size})"
        return f"{'better' if self._difference(i) > 0 else 'worse'} ({size})"


def _align(rows: list[list[str]], side: str) -> list[str]:
    """Return the lines of a table: names on the left, and all else on one side of its column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{'<' if i == 0 else side}{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
