import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import BaggingClassifier
from sklearn.multiclass import OneVsOneClassifier
from small_graphs import labeled_path

from sklofi import GraphKernelSVC, GraphSet
from sklofi.graphs._input import as_graph_set


def test_a_data_frame_of_one_column_is_its_column():
    graphs = [nx.path_graph(n) for n in (2, 3)]
    frame = pd.DataFrame({"graph": graphs}, index=[7, 5])
    assert len(frame.columns) == 1
    found = as_graph_set(frame, "label", None)
    assert_array_equal(found.node_offsets, GraphSet.from_networkx(graphs).node_offsets)


@pytest.mark.parametrize("container", [list, GraphSet.from_networkx])
@pytest.mark.parametrize("meta", [BaggingClassifier, OneVsOneClassifier])
def test_meta_estimators_for_tables_are_named(meta, container):
    graphs = container([labeled_path("aba") for _ in range(10)])
    with pytest.raises((TypeError, ValueError), match="tables only, such as BaggingClassifier"):
        meta(GraphKernelSVC()).fit(graphs, np.arange(10) % 2)
