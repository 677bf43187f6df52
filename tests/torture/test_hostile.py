"""Hostile and odd input.

The cases are chosen by hypothesis, always the same; see `tests/support/hostile.py`.
"""

import hostile
import pytest

# In all 21,000 cases.
N_CASES = {
    "hostile graphs in training": 4000,
    "hostile graphs in prediction": 3000,
    "hostile targets": 4000,
    "hostile weights": 3000,
    "hostile containers": 2000,
}
N_CASES_OF_RELATIONS = 2000
N_CASES_OF_EQUALITY = {
    "other names and orders of nodes": 1500,
    "there and back": 2500,
    "lists and sets": 1000,
}


@pytest.mark.parametrize("name", N_CASES)
def test_any_input_gives_finite_predictions_or_a_documented_error(name, tried):
    """Whatever comes as graphs, targets and weights, predictions are finite or an error says in a
    sentence what is wrong; nothing else happens, and nothing of the input is changed.

    Graphs of every kind and view with nodes of any name and attributes of any type on nodes and
    edges, X in any container, y and sample_weight of any type, shape and size, for LoFI, kernel
    machines, fingerprints and all peers; an error has to come from a `raise` statement of sklofi
    or scikit-learn, a warning from a list of them, within a minute.
    """
    n_tried = hostile.cases_tried(name, N_CASES[name])
    assert n_tried >= N_CASES[name]
    tried(n_tried, "cases")


@pytest.mark.parametrize("name", N_CASES_OF_EQUALITY)
def test_equal_graphs_get_equal_predictions(name, tried):
    """Names and order of nodes, and the container that graphs come in, make no difference.

    Predictions for the same graphs under other names and in another order, to 32-bit rounding;
    for a list, a `GraphSet`, a slice and a pickle of it, exactly; graphs that were read come back
    with the same nodes, edges and labels.
    """
    n_tried = hostile.cases_tried(name, N_CASES_OF_EQUALITY[name])
    assert n_tried >= N_CASES_OF_EQUALITY[name]
    tried(n_tried, "cases")


def test_what_reads_edges_predicts_the_same_wherever_it_comes_from(tried):
    """Whatever LoFI reads of edges, what was fitted predicts the same after saving and loading.

    Multigraphs, directed graphs and loops with labels, weights and features of edges, and LoFI
    with any choice of `distances`, `edge_label`, `max_ring`, `edge_weight`, `edge_features` and
    `structure`: fitted, used on the same graphs under other names and in another order (to 32-bit
    rounding), saved and loaded, and pickled (exactly).
    """
    n_tried = hostile.cases_tried("relations", N_CASES_OF_RELATIONS)
    assert n_tried >= N_CASES_OF_RELATIONS
    tried(n_tried, "cases")
