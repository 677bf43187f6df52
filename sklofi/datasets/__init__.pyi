from ._fetch import fetch_tu as fetch_tu
from ._fetch import fetch_zinc as fetch_zinc
from ._generate import load_graph_atlas as load_graph_atlas
from ._generate import make_motif_graphs as make_motif_graphs
from ._moleculenet import fetch_moleculenet as fetch_moleculenet
