import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from small_graphs import NoComparison, NoHash, labeled_path

from sklofi import GraphSet
from sklofi.graphs._labels import sort_labels


def test_labels_of_any_hashable_type_are_numbered_in_a_fixed_order():
    labels = ["C", 1, ("x", 2), None, frozenset({1})]
    graphs = GraphSet.from_networkx([labeled_path(labels)])
    backward = GraphSet.from_networkx([labeled_path(labels[::-1])])
    assert graphs.labels == backward.labels
    assert [graphs.labels[i] for i in graphs.label_ids] == labels


def test_the_order_of_labels_is_the_same_in_every_process():
    code = (
        "from sklofi.graphs._labels import sort_labels;"
        "labels = {frozenset({'x', 'y'}), frozenset({'y', 'z'}), ('b', 1), 'a', 2, None};"
        "print([sorted(x) if isinstance(x, frozenset) else x for x in sort_labels(labels)])"
    )
    orders = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert orders == {"[None, 2, 'a', ('b', 1), ['x', 'y'], ['y', 'z']]\n"}


def test_labels_of_unknown_types_stay_in_the_order_of_the_nodes():
    class Atom:
        pass

    atoms = [Atom(), Atom(), Atom()]
    assert GraphSet.from_networkx([labeled_path(atoms)]).labels == tuple(atoms)


def test_labels_sort_by_value_where_they_can():
    assert sort_labels({10, 9, 1}) == [1, 9, 10]
    assert sort_labels({"b", 1, "a"}) == [1, "a", "b"]
    assert sort_labels([2.5, True, np.int64(2)]) == [True, 2, 2.5]
    assert sort_labels([1e300, np.float16(3)]) == [3, 1e300]
    assert sort_labels([np.timedelta64(1, "D"), 2]) == [2, np.timedelta64(1, "D")]


def test_an_unhashable_label_is_located():
    graphs = [labeled_path("ab"), labeled_path(["a", [1, 2]])]
    with pytest.raises(TypeError, match=r"Graph 1, node 1, .*\[1, 2\].*node_features"):
        GraphSet.from_networkx(graphs)


@pytest.mark.parametrize("label", [NoComparison(), NoHash(), [1]])
def test_labels_of_classes_that_fail_are_located(label):
    with pytest.raises(TypeError, match=r"Graph 0, node 1, .*cannot be hashed and compared"):
        GraphSet.from_networkx([labeled_path(["a", label])])


def test_a_nan_label_is_located():
    with pytest.raises(ValueError, match="Graph 0, node 1, has the label NaN"):
        GraphSet.from_networkx([labeled_path(["a", float("nan")])])


@pytest.mark.parametrize("label", [("C", float("nan")), frozenset([("C", (float("nan"),))])])
def test_a_nan_inside_a_label_is_located(label):
    """It equals itself as long as it is the same object: not after saving or pickling."""
    with pytest.raises(ValueError, match="Graph 0, node 1, has NaN in its label"):
        GraphSet.from_networkx([labeled_path(["a", label])])


@pytest.mark.parametrize("scalar", [torch.tensor, np.array])
def test_scalars_of_torch_and_numpy_are_labels_by_their_value(scalar):
    labels = [scalar(1), scalar(2), scalar(1), ("C", scalar(1)), ("C", scalar(1))]
    graphs = GraphSet.from_networkx([labeled_path(labels)])
    assert graphs.labels == (1, 2, ("C", 1))
    assert graphs.label_ids.tolist() == [0, 1, 0, 2, 2]


@pytest.mark.parametrize("label", [torch.tensor([1]), np.array([1]), ("C", torch.tensor([1]))])
def test_arrays_are_no_labels(label):
    with pytest.raises(TypeError, match=r"Graph 0, node 1, has the label .* node_features"):
        GraphSet.from_networkx([labeled_path(["a", label])])


def test_a_nan_in_a_tensor_is_located():
    with pytest.raises(ValueError, match="Graph 0, node 1, has the label NaN"):
        GraphSet.from_networkx([labeled_path(["a", torch.tensor(float("nan"))])])


def test_labels_that_are_missing_in_pandas_are_located():
    with pytest.raises(ValueError, match="Graph 0, node 0, has the label NaN"):
        GraphSet.from_networkx([labeled_path([pd.NA, "a"])])
