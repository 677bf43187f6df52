import numpy as np


def structure_columns(graphs, names):
    return np.empty((graphs.n_nodes, 0), dtype=np.int32)
