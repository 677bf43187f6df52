from ._graph_set import GraphSet as GraphSet
