from ._graph_set import GraphSet as GraphSet
from ._molecule_transformer import MoleculesToGraphs as MoleculesToGraphs
