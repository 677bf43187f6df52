"""Estimators side by side: the same folds, honest tests, nothing swallowed."""

import re
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, log_loss, make_scorer, mean_pinball_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from sklofi import FingerprintClassifier, GraphKernelSVC, GraphKernelSVR, GraphSet, compare
from sklofi._multilabel import read_labels, strata_of_labels
from sklofi.comparison import (
    Comparison,
    _make_folds,
    _merge_rare,
    corrected_t_test,
    multilabel_roc_auc_scorer,
)
from sklofi.datasets import load_graph_atlas, make_motif_graphs

KERNELS = {name: GraphKernelSVC(kernel=name, n_iter=2) for name in ("wl", "vertex-histogram")}


class FailsOnOddNumbers(ClassifierMixin, BaseEstimator):
    """An estimator that cannot be fitted to every fold."""

    def fit(self, X, y):
        if sum(map(len, X)) % 2:
            raise RuntimeError("an odd number of nodes")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.fixture(scope="module")
def motifs():
    return make_motif_graphs(80, random_state=0)


def comparison_of(scores, **parameters):
    scores = np.asarray(scores, dtype=float)
    parameters = {"test_share": 1 / 9, "baseline": "a", **parameters}
    names = tuple("abcdefgh"[: len(scores)])
    return Comparison(names, scores, np.ones_like(scores), np.ones_like(scores), **parameters)


def test_scores_are_those_of_cross_validate(motifs):
    graphs, y = motifs
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    comparison = compare(KERNELS, graphs, y, cv=folds)
    for name, scores in zip(comparison.names, comparison.scores, strict=True):
        assert_array_equal(scores, cross_validate(KERNELS[name], graphs, y, cv=folds)["test_score"])
    assert comparison.test_share == pytest.approx(1 / 3)
    assert (comparison.fit_times > 0).all() and (comparison.score_times > 0).all()


@pytest.mark.parallel
def test_workers_lists_and_graph_sets_give_the_same(motifs):
    graphs, y = motifs
    expected = compare(KERNELS, graphs, y, cv=3).scores
    assert_array_equal(compare(KERNELS, GraphSet.from_networkx(graphs), y, cv=3).scores, expected)
    assert_array_equal(compare(KERNELS, graphs, list(y), cv=3, n_jobs=2).scores, expected)
    X = GraphSet.from_networkx(graphs)
    assert_array_equal(compare(KERNELS, X, y, cv=3, n_jobs=2).scores, expected)


def test_a_number_of_folds_is_shuffled_and_stratified():
    graphs, y = make_motif_graphs(60, random_state=0)
    order = np.argsort(y, kind="stable")  # sorted by class, as files often are
    graphs, y = [graphs[i] for i in order], y[order]
    comparison = compare(KERNELS, graphs, y, cv=5)
    assert comparison.scores.shape == (2, 5)
    assert comparison.means()["wl"] > 0.8
    again = compare(KERNELS, graphs, y, cv=5)
    assert_array_equal(comparison.scores, again.scores)
    other = compare(KERNELS, graphs, y, cv=5, random_state=1)
    assert not np.array_equal(comparison.scores, other.scores)


def test_regressors_and_their_score():
    graphs, y = load_graph_atlas(target="spectral_radius")
    estimators = {"mean": DummyRegressor(), "wl": GraphKernelSVR(n_iter=1)}
    comparison = compare(estimators, graphs[::5], y[::5], cv=3)
    assert comparison.metric == "r2"
    assert comparison.means()["mean"] < 0.1 < 0.9 < comparison.means()["wl"]
    comparison = compare(estimators, graphs[::5], y[::5], cv=3, scoring="neg_mean_absolute_error")
    assert comparison.metric == "neg_mean_absolute_error"
    assert comparison.rows()[1]["verdict"].startswith("better")


def test_searches_and_other_splitters(motifs):
    graphs, y = motifs
    search = GridSearchCV(GraphKernelSVC(n_iter=1), {"C": [0.01, 100]}, cv=2)
    estimators = {"tuned": search, "constant": DummyClassifier()}
    random = compare(estimators, graphs, y, cv=ShuffleSplit(3, test_size=0.25, random_state=0))
    assert random.test_share == pytest.approx(1 / 3)
    assert not hasattr(search, "best_params_")  # a clone was fitted
    grouped = compare(estimators, graphs, y, cv=GroupKFold(4), groups=np.arange(80) % 4)
    assert grouped.scores.shape == (2, 4)


class RemembersGroups(ClassifierMixin, BaseEstimator):
    """An estimator that is right if no test graph is in a group of its training graphs."""

    def fit(self, X, y, groups=None):
        self.classes_, self.groups_ = np.unique(y), groups
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def score(self, X, y):
        return float(not {graph.graph["group"] for graph in X} & set(self.groups_))


def score_by_groups(estimator, X, y):
    return getattr(estimator, "best_estimator_", estimator).score(X, y)


@pytest.fixture
def grouped_motifs(motifs):
    graphs, y = motifs
    groups = np.array(list("abcdefghijklmnop"))[np.arange(80) // 5]
    graphs = [graph.copy() for graph in graphs]
    for graph, group in zip(graphs, groups, strict=True):
        graph.graph["group"] = group
    return graphs, y, groups


def test_folds_keep_groups_together_and_estimators_get_them(grouped_motifs):
    graphs, y, groups = grouped_motifs
    for cv in (4, None, GroupKFold(4)):
        comparison = compare(
            {"a": RemembersGroups()}, graphs, y, cv=cv, scoring=score_by_groups, groups=groups
        )
        assert not comparison.failures
        assert (comparison.scores == 1).all()
    without = compare({"a": RemembersGroups()}, graphs, y, cv=4, groups=groups)
    assert without.scores.shape == (1, 4)


def test_folds_of_groups_are_stratified_shuffled_and_of_like_size(motifs):
    graphs, y = motifs
    groups = np.random.RandomState(0).randint(20, size=80)
    folds = {seed: _make_folds(4, graphs, y, groups, y, seed) for seed in (0, 1, 0)}
    for train, test in folds[0]:
        assert not set(groups[train]) & set(groups[test])
        assert 10 <= len(test) <= 30
        assert abs(y[test].mean() - y.mean()) < 0.2
    assert any(a[1].tolist() != b[1].tolist() for a, b in zip(folds[0], folds[1], strict=True))
    numbers = _make_folds(4, graphs, np.linspace(0, 1, 80), groups, None, 0)
    assert all(10 <= len(test) <= 30 for _, test in numbers)
    assert_array_equal(np.sort(np.concatenate([test for _, test in numbers])), np.arange(80))


def test_groups_reach_searches_and_what_is_routed(grouped_motifs):
    graphs, y, groups = grouped_motifs
    search = GridSearchCV(GraphKernelSVC(), {"C": [1, 2]}, cv=GroupKFold(2), error_score="raise")
    comparison = compare({"search": search}, graphs, y, cv=3, groups=groups)
    assert not comparison.failures  # its splitter would fail without groups
    with config_context(enable_metadata_routing=True):
        asks = RemembersGroups().set_fit_request(groups=True)
        search = GridSearchCV(asks, {}, cv=GroupKFold(2), error_score="raise")
        comparison = compare(
            {"search": search, "tree": DummyClassifier()},
            graphs,
            y,
            cv=3,
            groups=groups,
            scoring=lambda estimator, X, y: (
                score_by_groups(estimator, X, y) if hasattr(estimator, "cv") else 0.5
            ),
        )
    assert not comparison.failures
    assert (comparison.scores[0] == 1).all()


def test_groups_that_cannot_be_folds_are_refused(motifs):
    graphs, y = motifs
    with pytest.raises(
        ValueError, match=r"There are 3 groups, which is too few for 5 folds: every"
    ):
        compare(KERNELS, graphs, y, cv=5, groups=np.arange(80) % 3)
    with pytest.raises(ValueError, match="X has 80 graphs, but groups has 79 values"):
        compare(KERNELS, graphs, y, cv=5, groups=np.arange(79))
    with pytest.raises(ValueError, match="Value 2 of groups is None"):
        compare(KERNELS, graphs, y, cv=GroupKFold(2), groups=[1, 0, None, *range(77)])


@pytest.mark.parallel
def test_a_failure_is_reported_and_the_others_go_on(motifs):
    graphs, y = motifs
    estimators = {"constant": DummyClassifier(), "fails": FailsOnOddNumbers(), **KERNELS}
    splits = [(np.arange(40, 80), np.arange(40)), (np.arange(41, 80), np.arange(41))]
    n_nodes = [sum(len(graphs[i]) for i in train) for train, _ in splits]
    failed = [fold for fold in (0, 1) if n_nodes[fold] % 2]
    assert len(failed) == 1
    comparison = compare(estimators, graphs, y, cv=splits, n_jobs=2)
    assert_array_equal(np.isnan(comparison.scores).sum(axis=1), [0, 1, 0, 0])
    (failure,) = comparison.failures
    assert (failure.name, failure.fold) == ("fails", failed[0])
    assert failure.message == "RuntimeError: an odd number of nodes"
    assert "in fit" in failure.traceback
    text = f"fails failed in fold {failed[0]}: RuntimeError: an odd number of nodes"
    assert text in str(comparison)
    row = comparison.rows()[1]
    assert row["n_failed"] == 1 and row["mean"] > 0
    assert row["verdict"] == "too few folds to tell"


def test_an_estimator_that_always_fails_says_so(motifs):
    comparison = compare({"a": KERNELS["wl"], "b": GraphKernelSVC(C=-1)}, *motifs, cv=2)
    assert comparison.rows()[1]["verdict"] == "failed in every fold"
    assert len(comparison.failures) == 2
    assert "'C' parameter" in comparison.failures[0].message
    assert comparison.p_values() == pytest.approx({"b": np.nan}, nan_ok=True)
    comparison.plot()


def test_all_are_scored_alike_whatever_they_were_tuned_for(motifs):
    plain = GraphKernelSVC(n_iter=1, C=0.01)
    tuned = GridSearchCV(plain, {"C": [0.01]}, scoring="roc_auc", cv=2)
    comparison = compare({"tuned": tuned, "plain": plain}, *motifs, cv=3)
    assert comparison.metric == "accuracy"
    assert_array_equal(*comparison.scores)


@pytest.mark.parametrize("value, name", [("nan", "NaN"), ("inf", "infinite"), ("-inf", "infinite")])
def test_a_score_that_is_no_number_is_a_failure(motifs, value, name):
    def no_number(estimator, X, y):
        return float(value)

    comparison = compare(KERNELS, *motifs, cv=2, scoring=no_number)
    assert comparison.metric == "no_number"
    assert [failure.message for failure in comparison.failures] == [
        f"ValueError: the score is {name}"
    ] * 4


def test_without_a_baseline_there_is_no_verdict(motifs):
    estimators = {"fails": GraphKernelSVC(C=-1), "wl": KERNELS["wl"]}
    verdicts = [row["verdict"] for row in compare(estimators, *motifs, cv=2).rows()]
    assert verdicts == ["failed in every fold", "the baseline failed"]


def test_folds_by_a_number_of_numpy(motifs):
    assert_array_equal(
        compare(KERNELS, *motifs, cv=np.int64(3)).scores, compare(KERNELS, *motifs, cv=3).scores
    )


def of_numbers(n_samples=90):
    """Regressors, vectors and targets, where two regressors are good."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_samples, 3))
    y = X @ [2.0, 1.0, 0.1] + 0.3 * np.sin(3 * X[:, 0]) + 0.2 * rng.normal(size=n_samples)
    regressors = {
        "linear": LinearRegression(),
        "neighbors": KNeighborsRegressor(3),
        "mean": DummyRegressor(),
        "fewer": make_pipeline(SelectFirst(2), LinearRegression()),
    }
    return regressors, X, y


class SelectFirst(TransformerMixin, BaseEstimator):
    def __init__(self, n_columns):
        self.n_columns = n_columns

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, : self.n_columns]


def largest_error(estimator, X, y):
    return -np.abs(estimator.predict(X) - y).max()


@pytest.mark.parametrize("unit", [1e-100, 1e-6, 1e-2, 100, 1e6, 1e100])
@pytest.mark.parametrize(
    "scoring",
    [
        *("r2", "neg_mean_absolute_error", "neg_mean_squared_error", "neg_median_absolute_error"),
        *("neg_root_mean_squared_error", "neg_max_error", "explained_variance"),
        make_scorer(mean_pinball_loss, greater_is_better=False),
        largest_error,
    ],
)
def test_no_verdict_depends_on_the_unit_of_the_target(scoring, unit):
    regressors, X, y = of_numbers()
    expected = compare(regressors, X, y, cv=6, scoring=scoring)
    changed = compare(regressors, X, unit * (y + 10), cv=6, scoring=scoring)
    assert changed.p_values() == pytest.approx(expected.p_values(), rel=1e-6)
    verdicts = [[row["verdict"] for row in one.rows()] for one in (expected, changed)]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0][2].startswith("worse")


def test_graphs_whose_target_has_another_unit_are_compared_alike():
    graphs, y = load_graph_atlas(target="spectral_radius")
    estimators = {"mean": DummyRegressor(), "wl": GraphKernelSVR(n_iter=1)}
    setting = {"cv": 3, "scoring": "neg_mean_absolute_error"}
    expected = compare(estimators, graphs[::9], y[::9], **setting).p_values()["wl"]
    assert expected < 0.05
    for unit in (1e-6, 1e6):
        changed = compare(estimators, graphs[::9], unit * y[::9], **setting).p_values()["wl"]
        assert changed == pytest.approx(expected, rel=0.01)  # libsvm has a tolerance


@pytest.mark.parametrize("form", [np.asarray, list, pd.Series])
def test_targets_of_32_bits_are_compared_in_64(form):
    """In 32 bits squares of small errors would be zero, if an estimator predicts such numbers."""
    graphs, y = load_graph_atlas(target="spectral_radius")
    estimators = {"wl": GraphKernelSVR(n_iter=1), "mean": DummyRegressor()}
    means, verdicts = [], []
    for unit in (1, 1e-28):
        numbers = (y[::9] * unit).astype(np.float32)
        comparison = compare(estimators, graphs[::9], form(numbers), cv=3)
        means.append(comparison.means()["mean"])
        verdicts.append(comparison.rows()[1]["verdict"])
    assert means[1] == pytest.approx(means[0], rel=1e-4)
    assert verdicts[0] == verdicts[1] and verdicts[0].startswith("worse")


def test_mistakes_may_cost_euros_or_cents(motifs):
    """A cost in whole numbers looks like an accuracy, and so do errors of whole numbers."""

    def cost_in(unit):
        return make_scorer(
            lambda y, p: unit * np.mean(3 * (y > p) + (y < p)), greater_is_better=False
        )

    p_values = [
        compare(KERNELS, *motifs, cv=4, scoring=cost_in(unit)).p_values()["vertex-histogram"]
        for unit in (1, 100, 1e-6)
    ]
    assert_allclose(p_values, p_values[0])


def test_log_losses_may_be_counted_in_bits(motifs):
    graphs, y = motifs
    X = np.array([[len(graph.edges), *np.bincount([d for _, d in graph.degree], minlength=9)[:9]]
                  for graph in graphs])  # fmt: skip
    estimators = {
        "prior": DummyClassifier(),
        "tree": DecisionTreeClassifier(max_depth=2, random_state=0),
    }
    nats, bits = (
        make_scorer(partial(loss_in, unit), response_method="predict_proba")
        for unit in (1, np.log(2))
    )
    named = compare(estimators, X, y, cv=5, scoring="neg_log_loss")
    for scoring in (nats, bits):
        comparison = compare(estimators, X, y, cv=5, scoring=scoring)
        assert comparison.p_values() == pytest.approx(named.p_values())


def loss_in(unit, y, probabilities):
    return -log_loss(y, probabilities) / unit


@pytest.mark.parametrize(
    "scoring, expected",
    [
        *((name, 1 / 20) for name in ("accuracy", "balanced_accuracy", "f1_macro", None)),
        ("roc_auc", 1 / 100),  # a pair of ten graphs of each class
        (make_scorer(accuracy_score), 1 / 20),
        (make_scorer(accuracy_score, normalize=False), 1),
        *((name, 0) for name in ("neg_log_loss", "neg_brier_score")),
        (largest_error, 0),
    ],
)
def test_only_shares_of_graphs_come_in_steps(motifs, scoring, expected):
    estimators = {"a": DummyClassifier(), "b": DummyClassifier(strategy="uniform")}
    comparison = compare(estimators, *motifs, cv=4, scoring=scoring)
    assert not comparison.failures
    assert comparison.resolution == pytest.approx(expected)


def test_the_verdicts_on_accuracies_and_ranks_that_do_not_vary(motifs):
    """Right about every graph, against half of them, in all folds."""
    _, y = motifs
    estimators = {"constant": DummyClassifier(), "right": DecisionTreeClassifier()}
    for scoring in ("accuracy", "roc_auc"):
        comparison = compare(estimators, y[:, None], y, cv=4, scoring=scoring)
        assert comparison.rows()[1]["verdict"] == "better (p < 0.001)"


def test_rounding_errors_are_no_differences():
    base = np.linspace(0.7, 0.8, 10)
    comparison = comparison_of([base, base * (1 + 1e-15), base + 0.1, base * (1 + 1e-6)])
    assert [row["verdict"] for row in comparison.rows()[1:]] == [
        "no clear difference (p = 1.000)",
        "the same difference in every fold",
        "better (p < 0.001)",
    ]


def test_several_p_values_are_adjusted_by_holm():
    rng = np.random.RandomState(0)
    base = rng.normal(0.8, 0.01, size=10)
    scores = [base, base + 0.02, base + rng.normal(0.01, 0.01, 10), base + rng.normal(0, 0.01, 10)]
    scores[1][0] += 0.01
    comparison = comparison_of(scores)
    raw = [corrected_t_test(s - scores[0], 1 / 9) for s in scores[1:]]
    order = np.argsort(raw)
    expected = np.maximum.accumulate(np.array(raw)[order] * [3, 2, 1]).clip(max=1)
    adjusted = np.array(list(comparison.p_values().values()))
    assert_allclose(adjusted[order], expected)
    assert "a" not in comparison.p_values()


def test_verdicts():
    base = np.linspace(0.7, 0.8, 10)
    wiggle = 0.001 * np.arange(10)
    comparison = comparison_of(
        [base, base + 0.05 + wiggle, base - 0.05 + wiggle, base[::-1]], alpha=0.05
    )
    verdicts = [row["verdict"] for row in comparison.rows()]
    assert verdicts == [
        "baseline",
        "better (p < 0.001)",
        "worse (p < 0.001)",
        "no clear difference (p = 1.000)",
    ]
    assert comparison.rows()[1]["difference"] == pytest.approx(0.05 + wiggle.mean())


def test_text_and_frames(motifs):
    comparison = compare(KERNELS, *motifs, cv=4, baseline="vertex-histogram")
    text = str(comparison)
    assert repr(comparison) == text
    lines = text.splitlines()
    assert lines[0].split() == [
        *("estimator", "accuracy", "fit", "s", "predict", "s"),
        *("against", "vertex-histogram"),
    ]
    assert lines[1].startswith("wl ") and "better (p " in lines[1]
    frame = comparison.to_frame()
    assert frame.index.tolist() == ["wl", "vertex-histogram"]
    assert frame.loc["wl", "mean"] == comparison.means()["wl"]
    assert frame.loc["wl", "standard_error"] == pytest.approx(stats.sem(comparison.scores[0]))
    folds = comparison.to_frame(folds=True)
    assert len(folds) == 8
    assert_array_equal(folds.query("estimator == 'wl'")["score"], comparison.scores[0])


def test_columns_are_wide_enough():
    regressors, X, y = of_numbers()
    comparison = compare(regressors, X, -1e-6 * y, cv=3, scoring="neg_root_mean_squared_error")
    lines = str(comparison).splitlines()[:5]
    assert ")e-06 " in lines[3] and "0.0000" not in str(comparison)
    ends = [re.search(r"(error|e-\d\d)  ", line).end(1) for line in lines]
    assert len(set(ends)) == 1


@pytest.mark.parametrize("name, call", [("pandas", "to_frame"), ("matplotlib.pyplot", "plot")])
def test_what_is_missing_is_named(name, call, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"{call} needs {name.split('.')[0]}: pip install"):
        getattr(comparison_of(np.ones((2, 3))), call)()


def test_plot_shows_every_fold_and_verdict(motifs):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    comparison = compare(KERNELS, *motifs, cv=4)
    axes = comparison.plot()
    strips = [line for line in axes.lines if len(line.get_xdata()) == 4]
    assert_array_equal([line.get_xdata() for line in strips], comparison.scores)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["wl", "vertex-histogram"]
    assert axes.texts[1].get_text() == comparison.rows()[1]["verdict"]
    assert comparison.plot(ax=axes) is axes


def test_progress_is_shown_if_asked_for(motifs, capsys):
    compare(KERNELS, *motifs, cv=2)
    assert capsys.readouterr().err == ""
    compare(KERNELS, *motifs, cv=2, verbose=1)
    assert "4/4" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"estimators": {}}, "nothing to compare"),
        ({"baseline": "gin"}, r"baseline='gin' is none of the estimators \['wl', 'vertex-h"),
        ({"estimators": list(KERNELS.values())}, "estimators has to be a dict .* got list"),
        ({"scoring": 7}, "scoring has to be a score, .* got 7"),
        ({"scoring": []}, "nothing to compare by"),
        ({"scoring": ["f1", "f1"]}, r"two scores of one name, in \['f1', 'f1'\]"),
        ({"alpha": 7}, "alpha has to be between 0 and 1, got 7"),
        ({"cv": []}, "no folds to compare on"),
    ],
)
def test_bad_arguments_are_refused(arguments, message, motifs):
    arguments = {"estimators": KERNELS, **arguments}
    with pytest.raises((TypeError, ValueError), match=message):
        compare(X=motifs[0], y=motifs[1], **arguments)


class CountsFits(DummyClassifier):
    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        return super().fit(X, y)


def test_several_scores_are_of_the_same_fits(motifs):
    estimators = {"prior": CountsFits(), "wl": GraphKernelSVC(probability=True, random_state=0)}
    names = ("accuracy", "roc_auc", "neg_log_loss")
    CountsFits.fits = 0
    comparison = compare(estimators, *motifs, cv=3, scoring=names)
    assert CountsFits.fits == 3
    assert comparison.metrics == names
    for name in names:
        alone, one = compare(estimators, *motifs, cv=3, scoring=name), comparison[name]
        assert_array_equal(one.scores, alone.scores)
        assert one.p_values() == alone.p_values()
        assert (one.metric, one.resolution, one.others) == (name, alone.resolution, ())
    assert_array_equal(comparison.scores, comparison["accuracy"].scores)
    assert comparison.means() == comparison["accuracy"].means()
    with pytest.raises(KeyError, match=r"'f1' is none of the scores \['accuracy', 'roc_auc'"):
        comparison["f1"]


def test_scores_may_have_names_of_ones_own(motifs):
    scoring = {"share": "accuracy", "error": largest_error}
    estimators = {"most": DummyClassifier(), "other": DummyClassifier(strategy="uniform")}
    comparison = compare(estimators, *motifs, cv=3, scoring=scoring)
    assert comparison.metrics == ("share", "error")
    assert comparison["share"].resolution > 0 == comparison["error"].resolution


def test_text_frames_and_plots_of_several_scores(motifs):
    names = ["accuracy", "neg_log_loss"]
    estimators = {"prior": DummyClassifier(), "wl": GraphKernelSVC(probability=True)}
    comparison = compare(estimators, *motifs, cv=3, scoring=names)
    lines = str(comparison).splitlines()
    assert lines[0].split() == ["estimator", *names, "fit", "s"]
    assert lines[2].split()[0] == "wl" and lines[2].count("±") == 2
    assert lines[4].split() == ["against", "prior", *names]
    assert [row["verdict"] in lines[5] for row in comparison["neg_log_loss"].rows()] == [0, 1]
    assert lines[6].startswith("3 folds; ")
    frame = comparison.to_frame()
    assert frame.index.names == ["metric", "estimator"]
    for name in names:
        pd.testing.assert_frame_equal(frame.loc[name], comparison[name].to_frame())
    folds = comparison.to_frame(folds=True)
    assert len(folds) == 12
    selected = folds.query("metric == 'neg_log_loss' and estimator == 'wl'")["score"]
    assert_array_equal(selected, comparison["neg_log_loss"].scores[1])
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = comparison.plot(metric="neg_log_loss")
    assert axes.get_xlabel().startswith("neg_log_loss in 3 folds")
    assert comparison.plot().get_xlabel().startswith("accuracy in 3 folds")


def test_a_score_that_cannot_be_computed_leaves_the_others(motifs):
    estimators = {"svm": KERNELS["wl"], "fails": GraphKernelSVC(C=-1)}
    comparison = compare(estimators, *motifs, cv=2, scoring=["neg_log_loss", "accuracy"])
    assert np.isnan(comparison.scores).all()
    assert_array_equal(np.isnan(comparison["accuracy"].scores), [[False] * 2, [True] * 2])
    found = [(failure.name, failure.fold, failure.metric) for failure in comparison.failures]
    assert found == [
        *[("svm", 0, "neg_log_loss"), ("fails", 0, None)],
        *[("svm", 1, "neg_log_loss"), ("fails", 1, None)],
    ]
    assert [failure.name for failure in comparison["accuracy"].failures] == ["fails"] * 2
    assert "svm failed in fold 0 (neg_log_loss): AttributeError" in str(comparison)


class KnowsLabels(ClassifierMixin, BaseEstimator):
    """Knows the labels of graphs, or the opposite, or some of both."""

    def __init__(self, share=1.0):
        self.share = share

    def fit(self, X, y):
        self.classes_ = np.arange(3)
        return self

    def decision_function(self, X):
        wrong = np.random.RandomState(0).uniform(size=(len(X), 3)) > self.share
        return np.where(wrong, 1 - X, X)


def several_labels(n_graphs=90):
    """Labels of which the last one is rare, and the same with holes."""
    rng = np.random.RandomState(0)
    labels = (rng.uniform(size=(n_graphs, 3)) < [0.5, 0.4, 0.2]).astype(int)
    return labels, np.where(rng.uniform(size=labels.shape) < 0.2, np.nan, labels)


def test_several_labels_with_holes_are_compared_by_their_ranks():
    labels, holes = several_labels()
    estimators = {"knows": KnowsLabels(), "doubts": KnowsLabels(0.6)}
    for y in (holes, holes.tolist(), pd.DataFrame(holes)):
        comparison = compare(estimators, labels, y, cv=3)
        assert comparison.metric == "multilabel_roc_auc"
        assert (comparison.scores[0] == 1).all() and (comparison.scores[1] < 1).all()
        assert comparison.resolution == pytest.approx(4 / 30**2 / 3)
    for scoring in ("multilabel_roc_auc", multilabel_roc_auc_scorer):
        same = compare(estimators, labels, holes, cv=3, scoring=scoring)
        assert same.metric == "multilabel_roc_auc"
        assert_array_equal(same.scores, comparison.scores)
    assert compare(estimators, labels, labels, cv=3, scoring="roc_auc").means()["knows"] == 1


@pytest.mark.parametrize(
    "cv",
    [5, StratifiedKFold(5), RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0)],
    ids=["number", "StratifiedKFold", "RepeatedStratifiedKFold"],
)
def test_folds_are_balanced_over_what_is_rare(cv):
    y = several_labels()[1]
    strata = strata_of_labels(read_labels(y))
    groups = np.arange(len(y)) // 3
    for numbers in (None, groups) if cv == 5 else (None,):
        folds = _make_folds(cv, y, y, numbers, strata, 0)
        assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(90))
        rare = [np.nansum(y[test, 2]) for _, test in folds]
        assert max(rare) - min(rare) <= (2 if numbers is None else 4)


def test_strata_of_which_folds_cannot_have_one_each_are_merged():
    strata = np.repeat([0, 1, 2, 4, 5], [1, 2, 4, 3, 2])
    assert _merge_rare(strata, 3).tolist() == [0] * 3 + [1] * 4 + [2] * 5
    assert _merge_rare(strata, 20).tolist() == [0] * 12
    assert_array_equal(_merge_rare(strata, 1), np.repeat(range(5), [1, 2, 4, 3, 2]))


def test_splitters_of_others_get_the_labels_themselves():
    y = several_labels()[1]
    seen = []

    class Splitter(KFold):
        def split(self, X, y=None, groups=None):
            seen.append(y)
            return super().split(X, y, groups)

    _make_folds(Splitter(3), y, y, None, strata_of_labels(read_labels(y)), 0)
    assert seen[0] is y


def test_numbers_with_holes_are_compared_by_what_is_known():
    _, X, y = of_numbers()
    table = np.column_stack([y, -y])
    estimators = {"linear": LinearRegression(), "mean": DummyRegressor()}
    assert compare(estimators, X, table, cv=3).metric == "r2"
    holes = table.copy()
    holes[::7, 0] = np.nan
    comparison = compare({"wise": KnowsTargets(), **estimators}, table, holes, cv=3)
    assert comparison.metric == "multioutput_r2"
    assert_array_equal(comparison.scores[0], 1)
    assert len(comparison.failures) == 6  # which take no holes


class KnowsTargets(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return X


def test_kernel_machines_and_machines_on_counts_are_compared_on_several_labels(motifs):
    graphs, y = motifs
    labels = np.column_stack([y, [len(graph.edges) > 24 for graph in graphs]]).astype(float)
    labels[::5, 0] = labels[1::5, 1] = np.nan
    estimators = {"wl": KERNELS["wl"], "fingerprint": FingerprintClassifier(radius=1)}
    comparison = compare(estimators, GraphSet.from_networkx(graphs), labels, cv=3)
    assert not comparison.failures
    assert comparison.means()["fingerprint"] > 0.8


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1 / 3, 1e5])
@pytest.mark.parametrize("shift", [10, 1e9])
def test_differences_that_vary_by_rounding_are_the_same_in_every_unit(unit, shift):
    """Scores are rounded, not their differences, which may be a thousand times smaller."""
    y = (shift + np.random.RandomState(0).rand(100)) * unit
    estimators = {
        name: DummyRegressor(strategy="constant", constant=constant * unit)
        for name, constant in {"A": 0.0, "B": shift / 1e4}.items()
    }
    comparison = compare(
        estimators, np.zeros((100, 1)), y, scoring="neg_mean_absolute_error", random_state=0
    )
    assert np.isnan(comparison.p_values()["B"])
