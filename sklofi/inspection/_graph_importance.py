"""What the features of graphs as a whole are worth to a fitted estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._input import as_graph_set


def graph_feature_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    n_repeats: int = 5,
    random_state: Any = None,
) -> Bunch:
    """Return how much worse predictions are if a feature of graphs as a whole is permuted.

    As scikit-learn's :func:`~sklearn.inspection.permutation_importance`, which takes tables
    only: one column is exchanged among the graphs at random, and all else stays. The importance
    of the column is how much lower the score is then. Columns that say the same can stand in for
    each other, so that none of them seems important.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator that uses features of graphs, a search or a pipeline.

    X : list of networkx graphs, or GraphSet
        Graphs with the features, best those that the estimator was not fitted to. A search or a
        pipeline needs a GraphSet.

    y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
        Targets.

    scoring : str, callable or None, default=None
        A score in the words of scikit-learn, the larger the better; None is the `score` of the
        estimator.

    n_repeats : int, default=5
        How often each column is permuted.

    random_state : int, RandomState instance or None, default=None
        Determines the permutations.

    Returns
    -------
    result : Bunch
        Dictionary-like object, with the attributes

        importances_mean, importances_std : ndarray of shape (n_graph_features,)
            Mean and standard deviation of the importances of each column.
        importances : ndarray of shape (n_graph_features, n_repeats)
            How much lower the score is after each permutation.
        feature_names : list of str
            The names of the columns.

    See Also
    --------
    node_attribution : What nodes add to a prediction, under given features of the graph.

    Examples
    --------
    >>> import numpy as np
    >>> from sklofi import FingerprintRegressor, GraphSet
    >>> from sklofi.datasets import load_graph_atlas
    >>> from sklofi.inspection import graph_feature_importance
    >>> graphs, y = load_graph_atlas(target="spectral_radius")
    >>> rng = np.random.default_rng(0)
    >>> conditions = rng.normal(size=(len(y), 2))
    >>> X = GraphSet.from_networkx(graphs).with_graph_features(conditions, ["dose", "day"])
    >>> regressor = FingerprintRegressor().fit(X, y + conditions[:, 0])
    >>> result = graph_feature_importance(regressor, X, y + conditions[:, 0], random_state=0)
    >>> result.feature_names[result.importances_mean.argmax()]
    'dose'
    """
    check_is_fitted(estimator)
    check_scalar(n_repeats, "n_repeats", Integral, min_val=1)
    graphs = _read(estimator, X)
    vectors = graphs.graph_vectors
    if vectors is None:
        raise ValueError(
            "X has no graph features whose importance could be found. Read them with the graphs,"
            " or attach them with GraphSet.with_graph_features."
        )
    scorer = check_scoring(estimator, scoring=scoring)
    baseline = scorer(estimator, graphs, y)
    random_state = check_random_state(random_state)
    importances = np.empty((vectors.shape[1], n_repeats))
    for column, repeat in np.ndindex(importances.shape):
        permuted = vectors.copy()
        permuted[:, column] = random_state.permutation(permuted[:, column])
        changed = graphs.with_graph_features(permuted, graphs.graph_features)
        importances[column, repeat] = baseline - scorer(estimator, changed, y)
    return Bunch(
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        importances=importances,
        feature_names=graphs.graph_feature_names,
    )


def _read(estimator: Any, X: Any) -> GraphSet:
    """Return X as the estimator reads it."""
    if isinstance(X, GraphSet):
        return X
    if not hasattr(estimator, "_reading"):
        raise TypeError(
            f"{type(estimator).__name__} does not say how it reads graphs. Pass a GraphSet, made"
            " with GraphSet.from_networkx(graphs, graph_features=...), for instance."
        )
    return as_graph_set(X, **estimator._reading())
