import dataclasses

import networkx as nx
import numpy as np
import pytest

from sklofi import GraphSet


@pytest.mark.parametrize(
    "ids, labels", [([0, 0, 0], "a"), ([0, 0, 0, 1], "a"), ([0, 0, 0, -1], "a")]
)
def test_labels_of_edges_that_do_not_fit_are_noticed(ids, labels):
    graphs = GraphSet.from_networkx([nx.path_graph(3)])
    wrong = dataclasses.replace(graphs, edge_label_ids=np.array(ids), edge_labels=("a",))
    with pytest.raises(ValueError, match="do not fit together"):
        wrong.check_arrays()
