from ._graph_set import GraphSet as GraphSet
from ._scaffolds import scaffold_groups as scaffold_groups
