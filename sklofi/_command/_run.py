"""What each command does."""

from __future__ import annotations

import csv
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

from sklofi._command._estimators import make_estimator
from sklofi._command._samples import Samples, Target, name_problems, read_samples, read_target
from sklofi._load import load
from sklofi._messages import shorten
from sklofi.comparison import compare
from sklofi.graphs._input import read_if_molecules


def run_compare(arguments: Namespace) -> int:
    """Compare estimators, and print the table."""
    _check_folder(arguments.output)
    names = list(dict.fromkeys(arguments.estimators))
    settings = _settings_by_name(names, arguments.settings)
    samples = read_samples(arguments)
    target = read_target(samples, arguments)
    _describe(samples, target, arguments)
    estimators = {
        name: make_estimator(
            name,
            is_classifier=target.is_classification,
            seed=arguments.seed,
            settings=settings[name],
            probability=_needs_probabilities(arguments.scoring),
        )
        for name in names
    }
    comparison = compare(
        estimators,
        samples.graphs(target.rows),
        target.y,
        cv=arguments.folds,
        scoring=arguments.scoring,
        groups=target.groups,
        random_state=arguments.seed,
        n_jobs=arguments.jobs,
        verbose=0 if arguments.quiet else 1,
    )
    print(comparison)
    if arguments.output is not None:
        with _output(arguments.output) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["estimator", "fold", comparison.metric, "fit_seconds"])
            for name, scores, seconds in zip(
                comparison.names, comparison.scores, comparison.fit_times, strict=True
            ):
                for fold, (score, time) in enumerate(zip(scores, seconds, strict=True)):
                    writer.writerow([name, fold, *map(_format, (score, time))])
    return int(np.isnan(comparison.scores).all(axis=1).any())


def run_fit(arguments: Namespace) -> int:
    """Fit an estimator, and save it."""
    _check_folder(arguments.output)
    samples = read_samples(arguments)
    target = read_target(samples, arguments)
    _describe(samples, target, arguments)
    estimator = make_estimator(
        arguments.estimator,
        is_classifier=target.is_classification,
        seed=arguments.seed,
        settings=dict(arguments.settings),
        probability=True,
    )
    if not hasattr(estimator, "save"):
        raise ValueError(f"{arguments.estimator} cannot be saved. Choose another estimator.")
    if "verbose" in estimator.get_params() and not arguments.quiet:
        estimator.set_params(verbose=1)
    groups = {}
    if target.groups is not None:
        if has_fit_parameter(estimator, "groups"):
            groups = {"groups": target.groups}
        else:
            option = "--scaffold" if arguments.scaffold else "--groups"
            _say(f"{arguments.estimator} makes no use of {option} when it is fitted.")
    estimator.fit(samples.graphs(target.rows), target.y, **groups)
    if "verbose" in estimator.get_params():
        estimator.set_params(verbose=0)
    estimator.save(arguments.output)
    _say(
        f"{type(estimator).__name__} is fitted to {len(target.rows):,} {samples.what}, and saved in"
        f" {arguments.output}."
    )
    return 0


def run_predict(arguments: Namespace) -> int:
    """Predict with a saved estimator, and write the table with further columns."""
    _check_folder(arguments.output)
    if not os.path.exists(arguments.model):
        raise ValueError(f"There is no file {arguments.model}.")
    estimator = load(arguments.model)
    if not hasattr(estimator, "predict"):
        raise ValueError(
            f"{arguments.model} has a {type(estimator).__name__}, which does not predict."
        )
    samples = read_samples(arguments)
    problems = [f"{samples.describe(row)}: {text}" for row, text in samples.problems.items()]
    name_problems(problems, samples.what, then="No prediction.")
    rows = samples.usable()
    columns = _predict(estimator, samples, rows, arguments.column)
    if clash := [name for name in columns if name in samples.table.columns]:
        raise ValueError(
            f"{samples.table.name} has a column {clash[0]!r} already. Choose another name with"
            " --column."
        )
    place = {row: i for i, row in enumerate(rows.tolist())}
    with _output(arguments.output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*samples.table.columns, *columns])
        for row, cells in enumerate(samples.table.rows):
            i = place.get(row)
            writer.writerow(
                [*cells, *("" if i is None else values[i] for values in columns.values())]
            )
    if arguments.output is not None:
        _say(f"{len(rows):,} {samples.what} are predicted in {arguments.output}.")
    return 0


RUN: dict[str, Callable[[Namespace], int]] = {
    "compare": run_compare,
    "fit": run_fit,
    "predict": run_predict,
}


def _say(text: str) -> None:
    print(f"sklofi: {text}", file=sys.stderr)


def _check_folder(path: str | None) -> None:
    """Check that a file can be written, before the work begins."""
    if path is None:
        return
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder; name a file with --output.")
    if not Path(path).absolute().parent.is_dir():
        raise ValueError(f"There is no folder {Path(path).parent} to write {Path(path).name} to.")


def _settings_by_name(
    names: list[str], settings: list[tuple[str, str]]
) -> dict[str, dict[str, str]]:
    """Return the parameters of each estimator."""
    result: dict[str, dict[str, str]] = {name: {} for name in names}
    for key, value in settings:
        name, underscores, parameter = key.partition("__")
        if not underscores or name not in result:
            raise ValueError(
                f"--set {key}={value} names none of the estimators. Write the name of one of"
                f" {', '.join(names)} and two underscores before the parameter, such as"
                f" {names[0]}__{parameter or name}={value}."
            )
        result[name][parameter] = value
    return result


def _needs_probabilities(scoring: str | None) -> bool:
    """Return whether a score of scikit-learn is one of probabilities."""
    if scoring is None:
        return False
    from sklearn.metrics import get_scorer

    return getattr(get_scorer(scoring), "_response_method", "predict") == "predict_proba"


def _describe(samples: Samples, target: Target, arguments: Namespace) -> None:
    """Say what was read, and what the target was taken for."""
    n_all, n_used = len(samples.table.rows), len(target.rows)
    used = f"{n_used:,}" if n_used == n_all else f"{n_used:,} of {n_all:,}"
    classes, sizes = np.unique(target.y, return_counts=True)
    if target.is_classification:
        names = map(shorten, classes[:5])
        shown = [f"{name}: {size:,}" for name, size in zip(names, sizes[:5], strict=True)]
        figures = f"{len(classes)} classes ({', '.join(shown)}{', ...' * (len(classes) > 5)})"
    else:
        figures = f"numbers from {target.y.min():.4g} to {target.y.max():.4g}"
    is_guess = arguments.task is None and target.is_classification and target.y.dtype.kind == "i"
    hint = " To predict numbers, pass --task regression." if is_guess and len(classes) > 2 else ""
    _say(f"{used} {samples.what}; {arguments.target!r} has {figures}.{hint}")
    if target.groups is not None:
        _say(f"{len(np.unique(target.groups)):,} groups are kept together.")


def _predict(
    estimator: Any, samples: Samples, rows: NDArray[np.int64], column: str
) -> dict[str, list[str]]:
    """Return the cells of further columns, by their names."""
    if len(rows) == 0:
        return {column: []}
    graphs = _graphs_for(estimator, samples, rows)
    predicted = np.asarray(estimator.predict(graphs))
    columns = {column: list(map(_format, predicted))} if predicted.ndim == 1 else {}
    if predicted.ndim == 2:
        columns = {
            f"{column}_{number}": list(map(_format, values))
            for number, values in enumerate(predicted.T)
        }
    if is_classifier(estimator) and hasattr(estimator, "predict_proba"):
        for name, values in zip(estimator.classes_, estimator.predict_proba(graphs).T, strict=True):
            columns[f"probability_{name}"] = list(map(_format, values))
    return columns


def _graphs_for(estimator: Any, samples: Samples, rows: NDArray[np.int64]) -> Any:
    """Return graphs, or molecules, which estimators read as those that they were fitted to."""
    if samples.smiles is None:
        return samples.graphs(rows)
    texts = samples.texts(rows)
    if not samples.graph_features:
        return texts
    return samples.with_features(read_if_molecules(texts, estimator._molecule_options()), rows)


def _format(value: Any) -> str:
    """Return a value as a cell; numbers with all their digits, NaN as nothing."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return "" if value != value else repr(value)
    return str(value)


@contextmanager
def _output(path: str | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
    else:
        with open(path, "w", encoding="utf-8", newline="") as file:
            yield file
