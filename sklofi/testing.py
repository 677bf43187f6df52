"""The scikit-learn contract for estimators whose X is a list of graphs.

scikit-learn's own ``check_estimator`` builds tables, so it skips nearly everything for an
estimator of graphs. :func:`check_graph_estimator` asks the same questions with graphs.

The module is long because the contract is: over forty checks of a few lines each, which share
their data and stand in the order in which they run.
"""

from __future__ import annotations

import copy
import pickle
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks as sklearn_checks
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklofi.graphs._graph_set import GraphSet

__all__ = ["check_graph_estimator", "graph_estimator_checks"]

# What an estimator may offer, and what has to agree between two of them.
_METHODS = ("predict", "predict_proba", "decision_function", "transform")


# What parts copies of a graph from each other, or lets errors of rounding grow, under the names
# that scikit-learn, skorch and we have for it; for the check that weights are copies.
_WHOLE_AND_SHORT: dict[str, Callable[[Any], Any]] = {
    "batch_size": lambda value: 1000,
    "bootstrap": lambda value: False,
    "counts": lambda value: False,  # their share is found on parts that are set aside
    "dropout": lambda value: 0.0,
    "early_stopping": lambda value: False,  # on a part that is set aside
    "max_epochs": lambda value: min(value, 5),
    "n_members": lambda value: 1,  # each one sets another part aside
    "probability": lambda value: False,  # calibrated in folds
}


# The checks of scikit-learn that need no data, as far as the installed version has them.
_SKLEARN_CHECKS = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_valid_tag_types",
)


def check_graph_estimator(
    estimator: Any,
    *,
    expected_failed_checks: dict[str, str] | None = None,
    on_fail: str | None = "raise",
) -> list[dict[str, Any]]:
    """Hold an estimator of graphs to the contract of scikit-learn.

    The estimator is any object that scikit-learn would call one, with a ``fit`` that
    takes a list of networkx graphs, categorical labels in the node attribute "label":
    classifiers, regressors, transformers. Each check works on a clone. Where an estimator has
    the parameters ``edge_label`` and ``edge_weight``, it is also checked on graphs that have the
    edge attributes "label" and "weight", and one with the parameter ``graph_features`` on a
    :class:`GraphSet` with features of its graphs. Give the estimator parameters that make it
    fast, and whatever ``random_state`` you like.

    A weight of k has to be the same as k copies of a graph, wherever copies are not parted from
    each other: the check of that sets ``batch_size``, ``bootstrap``, ``dropout``,
    ``early_stopping`` and ``probability``, where an estimator has them, so that all graphs are
    one batch, and none is drawn or set aside. An estimator that parts copies in other ways has
    to name ``check_weights_are_copies`` in `expected_failed_checks`.

    An estimator whose tags say that it takes several labels (``multi_label``), or a regressor
    that takes several targets (``multi_output``), has to take tables of them in which some values
    are NaN, because nobody knows them.

    Parameters
    ----------
    estimator : estimator instance
        What to check.

    expected_failed_checks : dict of str to str, default=None
        Names of checks that are allowed to fail, each with the reason.

    on_fail : {"raise"} or None, default="raise"
        Whether to raise the error of the first check that fails, or to go on and only
        report it.

    Returns
    -------
    results : list of dict
        For each check its ``check_name``, its ``status`` ("passed", "failed" or "xfail"),
        the ``exception`` if there was one, and the ``expected_to_fail_reason``.

    See Also
    --------
    graph_estimator_checks : The same checks one by one, for ``pytest.mark.parametrize``.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.testing import check_graph_estimator
    >>> results = check_graph_estimator(LoFIClassifier(max_epochs=5, n_masks=4))
    >>> {result["status"] for result in results}
    {'passed'}
    """
    if on_fail not in ("raise", None):
        raise ValueError(f'on_fail has to be "raise" or None, got {on_fail!r}.')
    allowed = expected_failed_checks or {}
    checks = dict(graph_estimator_checks(estimator))
    if unknown := sorted(set(allowed) - set(checks)):
        raise ValueError(f"expected_failed_checks names checks that do not exist: {unknown}.")
    results = []
    for name, check in checks.items():
        exception, status = None, "passed"
        try:
            check()
        except Exception as error:
            if name not in allowed and on_fail == "raise":
                raise
            exception, status = error, "xfail" if name in allowed else "failed"
        results.append(
            {
                "check_name": name,
                "status": status,
                "exception": exception,
                "expected_to_fail_reason": allowed.get(name),
            }
        )
    return results


def graph_estimator_checks(estimator: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the names and the functions of all checks that apply to an estimator.

    Parameters
    ----------
    estimator : estimator instance
        What to check.

    Yields
    ------
    name : str
        Name of the check.

    check : callable without arguments
        Raises an exception if the estimator does not pass.

    Examples
    --------
    >>> import pytest
    >>> from sklofi import LoFIRegressor
    >>> from sklofi.testing import graph_estimator_checks
    >>> @pytest.mark.parametrize("name, check", graph_estimator_checks(LoFIRegressor()))
    ... def test_contract(name, check):
    ...     check()
    """
    name = type(estimator).__name__
    for check_name in _SKLEARN_CHECKS:
        if hasattr(sklearn_checks, check_name):
            check = getattr(sklearn_checks, check_name)
            yield check_name, partial(check, name, clone(estimator))
    checks = list(_CHECKS)
    tags = get_tags(estimator)
    if is_classifier(estimator):
        checks += _CLASSIFIER_CHECKS
        checks += _LABELS_CHECKS if tags.classifier_tags.multi_label else []
    if is_regressor(estimator):
        checks += _REGRESSOR_CHECKS
    if tags.target_tags.multi_output or getattr(tags.classifier_tags, "multi_label", False):
        checks += _TABLE_CHECKS
    if hasattr(estimator, "transform"):
        checks += _TRANSFORMER_CHECKS
    if has_fit_parameter(estimator, "sample_weight"):
        checks += _WEIGHT_CHECKS
    if "graph_features" in estimator.get_params():
        checks += _GRAPH_FEATURE_CHECKS
    for check in checks:
        yield check.__name__, partial(check, estimator)


# The data: small labeled graphs whose target is how often the label "a" occurs.


def _graphs(n_graphs: int = 24, seed: int = 0) -> list[nx.Graph]:
    rng = np.random.RandomState(seed)
    graphs = []
    for i in range(n_graphs):
        graph = nx.gnp_random_graph(5 + i % 4, 0.5, seed=int(rng.randint(1000)))
        share = 0.1 if i % 2 else 0.9
        labels = {node: "a" if rng.uniform() < share else "b" for node in graph}
        nx.set_node_attributes(graph, labels, "label")
        graphs.append(graph)
    return graphs


def _target(estimator: Any, graphs: list[nx.Graph]) -> Any:
    counts = [sum(label == "a" for _, label in g.nodes(data="label")) / len(g) for g in graphs]
    if is_classifier(estimator):
        return np.array([int(count > 0.5) for count in counts])
    return np.array(counts)


def _seeded(estimator: Any, seed: int = 0) -> Any:
    estimator = clone(estimator)
    seeds = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**dict.fromkeys(seeds, seed))


def _fitted(estimator: Any) -> tuple[Any, list[nx.Graph], Any]:
    graphs = _graphs()
    y = _target(estimator, graphs)
    return _seeded(estimator).fit(graphs, y), graphs, y


def _outputs(estimator: Any, X: Any) -> dict[str, Any]:
    return {name: getattr(estimator, name)(X) for name in _METHODS if hasattr(estimator, name)}


def _assert_same(
    outputs: dict[str, Any], expected: dict[str, Any], exact: bool = False, tolerance: float = 1e-3
) -> None:
    assert outputs.keys() == expected.keys()
    for name in outputs:
        found, wanted = _dense(outputs[name]), _dense(expected[name])
        if exact or found.dtype.kind not in "fc":
            assert_array_equal(found, wanted, err_msg=name)
        else:
            assert_allclose(found, wanted, rtol=tolerance, atol=tolerance / 10, err_msg=name)


def _dense(values: Any) -> NDArray[Any]:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def _assert_raises(
    errors: tuple[type[Exception], ...], what: str, call: Callable[..., Any], *args: Any
) -> str:
    try:
        call(*args)
    except errors as error:
        return str(error)
    expected = " or ".join(error.__name__ for error in errors)
    raise AssertionError(f"{what} has to raise {expected}, but nothing was raised.")


# The checks.


def check_fit_returns_self(estimator: Any) -> None:
    graphs = _graphs()
    estimator = _seeded(estimator)
    assert estimator.fit(graphs, _target(estimator, graphs)) is estimator
    check_is_fitted(estimator)


def check_one_output_per_graph(estimator: Any) -> None:
    estimator, graphs, _ = _fitted(estimator)
    for n_graphs in (1, 5):
        for name, output in _outputs(estimator, graphs[:n_graphs]).items():
            assert output.shape[0] == n_graphs, f"{name} gives {output.shape[0]} rows"
            output = _dense(output)
            if output.dtype.kind == "f":
                assert np.isfinite(output).all(), f"{name} is not finite"


def check_learns_from_labels(estimator: Any) -> None:
    if get_tags(estimator).target_tags.required is False or not hasattr(estimator, "score"):
        return
    estimator, graphs, y = _fitted(estimator)
    tags = get_tags(estimator)
    poor = getattr(tags.classifier_tags or tags.regressor_tags, "poor_score", False)
    baseline = max(np.bincount(y)) / len(y) if is_classifier(estimator) else 0
    assert poor or estimator.score(graphs, y) > baseline, "no better than a constant"


def check_lists_tuples_and_arrays_are_alike(estimator: Any) -> None:
    estimator, graphs, y = _fitted(estimator)
    expected = _outputs(estimator, graphs)
    array = np.fromiter(graphs, dtype=object, count=len(graphs))
    for X in (tuple(graphs), array):
        _assert_same(_outputs(_seeded(estimator).fit(X, y), X), expected, exact=True)


def check_graph_set_is_like_a_list(estimator: Any) -> None:
    estimator, graphs, y = _fitted(estimator)
    X = GraphSet.from_networkx(graphs)
    expected = _outputs(estimator, graphs)
    # Not to the last bit: kernel machines were seen to differ in it on one processor and not
    # on another.
    _assert_same(_outputs(_seeded(estimator).fit(X, y), X), expected, tolerance=1e-12)
    scores = cross_validate(_seeded(estimator), X, y, cv=2, scoring=_no_score, error_score="raise")
    assert len(scores["test_score"]) == 2


def check_graph_set_is_like_a_list_where_edges_have_labels(estimator: Any) -> None:
    """Labels and weights of edges are the same in both, also of parallel edges and of loops."""
    estimator, graphs, y = _fitted_to_edges(estimator)
    with _unused_attributes():
        X = GraphSet.from_networkx(graphs, edge_weight=estimator.get_params().get("edge_weight"))
        of_graph_set = _outputs(_seeded(estimator).fit(X, y), X)
        _assert_same(of_graph_set, _outputs(estimator, graphs), tolerance=1e-5)


def check_node_and_edge_order_do_not_matter_where_edges_have_labels(estimator: Any) -> None:
    estimator, graphs, _ = _fitted_to_edges(estimator)
    rng = np.random.RandomState(0)
    renamed = []
    for graph in graphs:
        names = {node: f"node {node}" for node in graph}
        other = graph.__class__()
        for node in rng.permutation(len(graph)).tolist():
            other.add_node(names[node], **graph.nodes[node])
        edges = [(names[u], names[v], data) for u, v, data in graph.edges(data=True)]
        for i in rng.permutation(len(edges)).tolist():
            u, v, data = edges[i]
            other.add_edge(*((u, v) if graph.is_directed() else (v, u)), **data)
        renamed.append(other)
    with _unused_attributes():
        _assert_same(_outputs(estimator, renamed), _outputs(estimator, graphs))


def check_copies_predict_the_same_where_edges_have_labels(estimator: Any) -> None:
    """Pickles, deep copies and a second fit of a clone."""
    estimator, graphs, y = _fitted_to_edges(estimator)
    with _unused_attributes():
        expected = _outputs(estimator, graphs)
        copies = [pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)]
        copies.append(_seeded(estimator).fit(graphs, y))
        for copied in copies:
            _assert_same(_outputs(copied, graphs), expected, exact=True)


def check_unseen_edge_labels_are_handled(estimator: Any) -> None:
    estimator, graphs, _ = _fitted_to_edges(estimator)
    for _, _, data in graphs[0].edges(data=True):
        data["label"] = "never seen"
    with _unused_attributes():
        outputs = _outputs(estimator, graphs)
    for name, output in outputs.items():
        output = _dense(output)
        assert output.dtype.kind != "f" or np.isfinite(output).all(), name


def _fitted_to_edges(estimator: Any) -> tuple[Any, list[nx.Graph], Any]:
    """Return an estimator that reads all of the edges that it can, fitted to graphs."""
    estimator = _seeded(estimator)
    names = {"edge_label": "label", "edge_weight": "weight"}
    parameters = estimator.get_params(deep=False)
    estimator.set_params(**{name: names[name] for name in names if name in parameters})
    graphs = _graphs_with_edge_attributes()
    y = _target(estimator, graphs)
    with _unused_attributes():
        return estimator.fit(graphs, y), graphs, y


def _graphs_with_edge_attributes() -> list[nx.Graph]:
    """Return graphs of every kind: labeled, weighted and parallel edges, and loops."""
    rng = np.random.RandomState(1)
    kinds = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
    graphs = []
    for i, graph in enumerate(_graphs(16)):
        other = kinds[i // 2 % 4]()
        other.add_nodes_from(graph.nodes(data=True))
        # Edges of a multigraph are parallel by chance, some of them with equal labels.
        pairs = [*graph.edges, *list(graph.edges)[:4], (0, 0), (0, 0)]
        for u, v in pairs:
            other.add_edge(u, v, label="-=#"[rng.randint(3)], weight=float(rng.randint(1, 4)))
        graphs.append(other)
    return graphs


@contextmanager
def _unused_attributes() -> Iterator[None]:
    """Silence the warnings that say what of the graphs is not used, or not known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def check_node_names_and_order_do_not_matter(estimator: Any) -> None:
    estimator, graphs, _ = _fitted(estimator)
    rng = np.random.RandomState(0)
    renamed = []
    for graph in graphs:
        names = {node: (node, f"node {node}") for node in graph}
        other = nx.Graph()
        for node in rng.permutation(len(graph)).tolist():
            other.add_node(names[node], **graph.nodes[node])
        other.add_edges_from((names[v], names[u]) for u, v in graph.edges)
        renamed.append(other)
    _assert_same(_outputs(estimator, renamed), _outputs(estimator, graphs))


def check_graphs_do_not_influence_each_other(estimator: Any) -> None:
    estimator, graphs, _ = _fitted(estimator)
    together = _outputs(estimator, graphs)
    one_by_one = [_outputs(estimator, [graph]) for graph in reversed(graphs)]
    joined = {
        name: np.concatenate([_dense(outputs[name]) for outputs in reversed(one_by_one)])
        for name in together
    }
    _assert_same(joined, together)


def check_every_kind_of_graph(estimator: Any) -> None:
    """Directed and parallel edges, loops, isolated and single nodes are taken."""
    graphs: list[nx.Graph] = []
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
        graph = kind()
        graph.add_nodes_from("uvwx", label="a")
        graph.add_node("isolated", label="b")
        graph.add_edges_from(["uv", "vw", "uv", "vu", "xx"])
        single = kind()
        single.add_node(frozenset(), label="b")
        no_edges = kind()
        no_edges.add_nodes_from(range(3), label="a")
        graphs += [graph, single, no_edges]
    graphs += _graphs(12)
    estimator = _seeded(estimator).fit(graphs, _target(estimator, graphs))
    for name, output in _outputs(estimator, graphs).items():
        assert output.shape[0] == len(graphs), name


def check_graphs_without_attributes(estimator: Any) -> None:
    graphs = [nx.path_graph(2 + i % 5) for i in range(20)]
    y = np.arange(20) % 5 < 2
    y = y if is_classifier(estimator) else y.astype(float)
    _outputs(_seeded(estimator).fit(graphs, y), graphs)


def check_input_is_not_changed(estimator: Any) -> None:
    graphs = _graphs()
    y = _target(estimator, graphs)
    graphs_before, y_before = copy.deepcopy(graphs), y.copy()
    _outputs(_seeded(estimator).fit(graphs, y), graphs)
    assert_array_equal(y, y_before)
    for graph, before in zip(graphs, graphs_before, strict=True):
        assert list(graph.nodes(data=True)) == list(before.nodes(data=True))
        assert list(graph.edges(data=True)) == list(before.edges(data=True))
        assert graph.graph == before.graph


def check_parameters_are_not_changed(estimator: Any) -> None:
    estimator = _seeded(estimator)
    before = copy.deepcopy(estimator.get_params())
    graphs = _graphs()
    _outputs(estimator.fit(graphs, _target(estimator, graphs)), graphs)
    assert repr(estimator.get_params()) == repr(before)


def check_bad_graphs_are_refused(estimator: Any) -> None:
    fitted, graphs, y = _fitted(estimator)
    refused = (ValueError, TypeError)
    node_names = np.array([[0, 1, 2]] * len(graphs))
    bad_inputs = {
        "A single graph": graphs[0],
        "A generator": (graph for graph in graphs),
        "A 2-D array of node names": node_names,
        "An empty list": [],
        "A list of strings": ["graph"] * len(graphs),
        "None": None,
        "A graph without nodes": [*graphs[:-1], nx.Graph()],
    }
    method = next(name for name in _METHODS if hasattr(fitted, name))
    for what, X in bad_inputs.items():
        _assert_raises(refused, f"{what} in fit", _seeded(estimator).fit, X, y)
        _assert_raises(refused, f"{what} in {method}", getattr(fitted, method), X)


def check_missing_attribute_is_refused(estimator: Any) -> None:
    graphs = _graphs()
    y = _target(estimator, graphs)
    del graphs[3].nodes[1]["label"]
    message = _assert_raises(
        (ValueError,), "A label missing on one node", _seeded(estimator).fit, graphs, y
    )
    assert "3" in message, f"the message does not name the graph: {message}"


def check_y_has_to_fit(estimator: Any) -> None:
    if not get_tags(estimator).target_tags.required:
        return
    graphs = _graphs()
    y = _target(estimator, graphs)
    _assert_raises((ValueError,), "y of another length", _seeded(estimator).fit, graphs, y[:-1])
    _assert_raises((ValueError,), "y=None", _seeded(estimator).fit, graphs, None)


def check_unfitted_raises_not_fitted(estimator: Any) -> None:
    unfitted, graphs = clone(estimator), _graphs(4)
    for name in _METHODS:
        if hasattr(unfitted, name):
            what = f"{name} before fit"
            _assert_raises((NotFittedError,), what, getattr(unfitted, name), graphs)


def check_same_seed_same_result(estimator: Any) -> None:
    estimator, graphs, y = _fitted(estimator)
    expected = _outputs(estimator, graphs)
    _assert_same(_outputs(_seeded(estimator).fit(graphs, y), graphs), expected, exact=True)
    # A second fit starts anew.
    _assert_same(_outputs(estimator.fit(graphs, y), graphs), expected, exact=True)


def check_global_generators_are_left_alone(estimator: Any) -> None:
    estimator, graphs, y = _fitted(estimator)  # imports whatever it needs
    state = _global_random_state()
    _outputs(_seeded(estimator).fit(graphs, y), graphs)
    assert _global_random_state() == state, "fit or predict has drawn from a global generator"


def _global_random_state() -> list[Any]:
    """Return the states of the global generators of Python, numpy and torch."""
    numpy_state: Any = np.random.get_state()
    states = [random.getstate(), numpy_state[1].tobytes(), *numpy_state[2:]]
    if "torch" in sys.modules:
        states.append(sys.modules["torch"].get_rng_state().numpy().tobytes())
    return states


def check_prediction_leaves_no_trace(estimator: Any) -> None:
    estimator, graphs, _ = _fitted(estimator)
    names = sorted(vars(estimator))
    first = _outputs(estimator, graphs)
    _outputs(estimator, graphs[:3])
    _assert_same(_outputs(estimator, graphs), first, exact=True)
    assert sorted(vars(estimator)) == names


def check_copies_predict_the_same(estimator: Any) -> None:
    estimator, graphs, _ = _fitted(estimator)
    expected = _outputs(estimator, graphs)
    for copied in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        _assert_same(_outputs(copied, graphs), expected, exact=True)


def check_clone_is_not_fitted(estimator: Any) -> None:
    estimator, _, _ = _fitted(estimator)
    check_unfitted_raises_not_fitted(clone(estimator))


def check_searches_and_pipelines(estimator: Any) -> None:
    graphs = _graphs()
    y = _target(estimator, graphs)
    pipeline = make_pipeline(_seeded(estimator))
    search = GridSearchCV(pipeline, {}, cv=2, scoring=_no_score, n_jobs=2, error_score="raise")
    search.fit(graphs, y)
    expected = _outputs(_seeded(estimator).fit(graphs, y), graphs)
    _assert_same(_outputs(search.best_estimator_, graphs), expected)


def _no_score(estimator: Any, X: Any, y: Any) -> float:
    """Score any kind of estimator by a number that says nothing."""
    return float(sum(len(output.shape) for output in _outputs(estimator, X).values()))


def check_unseen_labels_are_handled(estimator: Any) -> None:
    estimator, graphs, _ = _fitted(estimator)
    for node in graphs[0]:
        graphs[0].nodes[node]["label"] = "never seen"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # which say so
        outputs = _outputs(estimator, graphs)
    for name, output in outputs.items():
        output = _dense(output)
        assert output.dtype.kind != "f" or np.isfinite(output).all(), name


def check_classes_of_any_type(estimator: Any) -> None:
    graphs = _graphs()
    codes = _target(estimator, graphs)
    for names in (["no", "yes"], [-1, 1], [False, True], [2.0, 3.0]):
        classes = np.array(names)
        fitted = _seeded(estimator).fit(graphs, classes[codes])
        assert_array_equal(fitted.classes_, classes)
        predicted = fitted.predict(graphs)
        assert predicted.dtype.kind == classes.dtype.kind
        assert set(predicted.tolist()) <= set(classes.tolist())


def check_three_classes_and_probabilities(estimator: Any) -> None:
    if not hasattr(estimator, "predict_proba"):
        return
    graphs = _graphs()
    y = np.arange(len(graphs)) % 3
    fitted = _seeded(estimator).fit(graphs, y)
    probabilities = fitted.predict_proba(graphs)
    assert probabilities.shape == (len(graphs), 3)
    assert (probabilities >= 0).all()
    assert_allclose(probabilities.sum(axis=1), 1)
    if hasattr(fitted, "decision_function"):
        return  # which may decide otherwise, as with SVC; see check_decisions_are_predicted
    # By probability, not by index: of classes that are as probable, any may be predicted.
    predicted = np.searchsorted(fitted.classes_, fitted.predict(graphs))
    assert_allclose(probabilities[np.arange(len(graphs)), predicted], probabilities.max(axis=1))


def check_decisions_are_predicted(estimator: Any) -> None:
    """Two classes only: with more, a machine may count votes."""
    estimator, graphs, _ = _fitted(estimator)
    if not hasattr(estimator, "decision_function"):
        return
    decisions = estimator.decision_function(graphs)
    assert decisions.shape == (len(graphs),)
    clear = np.abs(decisions) > 1e-9
    decided = estimator.classes_[(decisions > 0).astype(int)]
    assert_array_equal(estimator.predict(graphs)[clear], decided[clear])


def check_one_class_is_refused(estimator: Any) -> None:
    graphs = _graphs()
    message = _assert_raises(
        (ValueError,), "One class only", _seeded(estimator).fit, graphs, ["same"] * len(graphs)
    )
    assert "class" in message


def check_target_scale_and_list(estimator: Any) -> None:
    estimator, graphs, y = _fitted(estimator)
    predicted = estimator.predict(graphs)
    assert predicted.shape == y.shape
    assert_array_equal(_seeded(estimator).fit(graphs, y.tolist()).predict(graphs), predicted)


def check_nan_target_is_refused(estimator: Any) -> None:
    graphs = _graphs()
    y = _target(estimator, graphs)
    for bad in (np.nan, np.inf):
        y[2] = bad
        _assert_raises((ValueError,), f"{bad} in y", _seeded(estimator).fit, graphs, y)


def check_several_labels(estimator: Any) -> None:
    """Each label has one column, and a graph may have any of them."""
    graphs = _graphs()
    y = _table(estimator, graphs).astype(int)
    fitted = _seeded(estimator).fit(graphs, y)
    assert_array_equal(fitted.classes_, np.arange(y.shape[1]))
    predicted = fitted.predict(graphs)
    assert predicted.shape == y.shape
    assert set(np.unique(predicted).tolist()) <= {0, 1}
    if hasattr(fitted, "predict_proba"):
        probabilities = fitted.predict_proba(graphs)
        assert probabilities.shape == y.shape
        assert ((probabilities >= 0) & (probabilities <= 1)).all()
    if hasattr(fitted, "decision_function"):
        decisions = fitted.decision_function(graphs)
        clear = np.abs(decisions) > 1e-9
        assert_array_equal(predicted[clear], (decisions > 0)[clear])


def check_missing_targets(estimator: Any) -> None:
    """What is not known does not count, and graphs of which nothing is known are left out."""
    graphs = _graphs()
    y = _table(estimator, graphs)
    y[::3, 0] = y[1::4, 1] = y[5] = np.nan
    known = np.flatnonzero(~np.isnan(y).all(axis=1))
    fitted = _seeded(estimator).fit(graphs, y)
    assert fitted.predict(graphs).shape == y.shape
    removed = _seeded(estimator).fit([graphs[i] for i in known], y[known])
    _assert_same(_outputs(fitted, graphs), _outputs(removed, graphs))


def check_target_without_values_is_refused(estimator: Any) -> None:
    graphs = _graphs()
    y = _table(estimator, graphs)
    y[:, 1] = np.nan
    message = _assert_raises(
        (ValueError,), "A column without values", _seeded(estimator).fit, graphs, y
    )
    assert "1" in message, f"the message does not name the column: {message}"


def _table(estimator: Any, graphs: list[nx.Graph]) -> NDArray[np.float64]:
    """Return several targets of each graph."""
    y = np.asarray(_target(estimator, graphs), dtype=float)
    return np.column_stack([y, 1 - y, np.arange(len(graphs)) % 3 == 0])


def check_feature_names_out(estimator: Any) -> None:
    estimator, graphs, y = _fitted(estimator)
    embedding = estimator.transform(graphs)
    names = estimator.get_feature_names_out()
    assert embedding.shape == (len(graphs), len(names))
    assert len(set(names)) == len(names)
    together = _seeded(estimator).fit_transform(graphs, y)
    _assert_same({"transform": together}, {"transform": embedding})


def check_weights_of_one_change_nothing(estimator: Any) -> None:
    estimator, graphs, y = _fitted(estimator)
    weighted = _seeded(estimator).fit(graphs, y, sample_weight=np.ones(len(graphs)))
    _assert_same(_outputs(weighted, graphs), _outputs(estimator, graphs), exact=True)


def check_weights_of_zero_remove(estimator: Any) -> None:
    graphs = _graphs()
    y = _target(estimator, graphs)
    weight = np.arange(len(graphs)) % 5 < 2
    kept = np.flatnonzero(weight)
    misleading = np.where(weight, y, 1 - y)  # the majority tells the contrary
    weighted = _seeded(estimator).fit(graphs, misleading, sample_weight=weight.astype(float))
    removed = _seeded(estimator).fit([graphs[i] for i in kept], y[kept])
    _assert_same(_outputs(weighted, graphs), _outputs(removed, graphs))


def check_weights_are_copies(estimator: Any) -> None:
    """A weight of k is k copies, in a full batch without a part that is set aside."""
    graphs = _graphs()
    weight = 1 + np.arange(len(graphs)) % 3
    y = _target(estimator, graphs)
    y = np.where(np.arange(len(graphs)) % 4 == 1, 1 - y, y)  # so that there is something to weigh
    copies = np.repeat(np.arange(len(graphs)), weight)
    estimator = _whole_and_short(_seeded(estimator))
    weighted = clone(estimator).fit(graphs, y, sample_weight=weight)
    copied = clone(estimator).fit([graphs[i] for i in copies], y[copies])
    found, expected = _outputs(weighted, graphs), _outputs(copied, graphs)
    if is_classifier(estimator) and len(found) > 1:
        # Of classes that are as probable, any may be predicted.
        del found["predict"], expected["predict"]
    # Solvers stop, and errors of rounding grow, within a thousandth or so.
    _assert_same(found, expected, tolerance=1e-2)


def _whole_and_short(estimator: Any) -> Any:
    changed = {
        name: _WHOLE_AND_SHORT[last](value)
        for name, value in estimator.get_params().items()
        if (last := name.split("__")[-1]) in _WHOLE_AND_SHORT
    }
    return estimator.set_params(**changed)


def check_bad_weights_are_refused(estimator: Any) -> None:
    graphs = _graphs()
    y = _target(estimator, graphs)
    bad_weights = {
        "Weights of zero": np.zeros(len(graphs)),
        "Weights of another length": np.ones(len(graphs) - 1),
        "NaN in the weights": np.full(len(graphs), np.nan),
    }
    for what, weight in bad_weights.items():
        fit = partial(_seeded(estimator).fit, sample_weight=weight)
        _assert_raises((ValueError,), what, fit, graphs, y)


def check_graph_features_belong_to_their_graphs(estimator: Any) -> None:
    """Rows in another order, and slices, have the same outputs; other features are refused."""
    X, y = _graphs_with_features(estimator)
    estimator = _seeded(estimator).fit(X, y)
    expected = _outputs(estimator, X)
    rows = np.random.RandomState(0).permutation(len(X))[:-3]
    taken = {name: _dense(output)[rows] for name, output in expected.items()}
    _assert_same(_outputs(estimator, X[rows]), taken)
    method = getattr(estimator, next(iter(expected)))
    bad = {
        "Graphs without the features": X.with_graph_features(None),
        "Graphs with fewer features": X.with_graph_features(X.graph_vectors[:, :1]),
    }
    for what, other in bad.items():
        message = _assert_raises((ValueError,), what, method, other)
        assert "graph features" in message, f"the message does not say what is wrong: {message}"


def check_unit_of_graph_features_does_not_matter(estimator: Any) -> None:
    X, y = _graphs_with_features(estimator)
    other = X.with_graph_features(X.graph_vectors * [1024, 1 / 64])
    expected = _outputs(_seeded(estimator).fit(X, y), X)
    _assert_same(_outputs(_seeded(estimator).fit(other, y), other), expected)


def _graphs_with_features(estimator: Any) -> tuple[Any, Any]:
    """Return graphs with two features of each, of which the target depends on one."""
    graphs = _graphs()
    features = np.random.RandomState(0).normal(size=(len(graphs), 2))
    y = _target(estimator, graphs)
    y = y ^ (features[:, 0] > 1) if is_classifier(estimator) else y + features[:, 0]
    return GraphSet.from_networkx(graphs).with_graph_features(features), y


_CHECKS = [
    check_fit_returns_self,
    check_one_output_per_graph,
    check_learns_from_labels,
    check_lists_tuples_and_arrays_are_alike,
    check_graph_set_is_like_a_list,
    check_graph_set_is_like_a_list_where_edges_have_labels,
    check_node_names_and_order_do_not_matter,
    check_node_and_edge_order_do_not_matter_where_edges_have_labels,
    check_graphs_do_not_influence_each_other,
    check_every_kind_of_graph,
    check_graphs_without_attributes,
    check_input_is_not_changed,
    check_parameters_are_not_changed,
    check_bad_graphs_are_refused,
    check_missing_attribute_is_refused,
    check_y_has_to_fit,
    check_unfitted_raises_not_fitted,
    check_same_seed_same_result,
    check_global_generators_are_left_alone,
    check_prediction_leaves_no_trace,
    check_copies_predict_the_same,
    check_copies_predict_the_same_where_edges_have_labels,
    check_clone_is_not_fitted,
    check_searches_and_pipelines,
    check_unseen_labels_are_handled,
    check_unseen_edge_labels_are_handled,
]


_CLASSIFIER_CHECKS = [
    check_classes_of_any_type,
    check_three_classes_and_probabilities,
    check_decisions_are_predicted,
    check_one_class_is_refused,
]


_REGRESSOR_CHECKS = [check_target_scale_and_list, check_nan_target_is_refused]


_LABELS_CHECKS = [check_several_labels]


_TABLE_CHECKS = [check_missing_targets, check_target_without_values_is_refused]


_TRANSFORMER_CHECKS = [check_feature_names_out]


_GRAPH_FEATURE_CHECKS = [
    check_graph_features_belong_to_their_graphs,
    check_unit_of_graph_features_does_not_matter,
]


_WEIGHT_CHECKS = [
    check_weights_of_one_change_nothing,
    check_weights_of_zero_remove,
    check_weights_are_copies,
    check_bad_weights_are_refused,
]
