"""How long the smallest rings of all edges take, on sparse and on dense graphs.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_rings

Seconds, and seconds for a million edges, for rings of up to 8 edges; the walks of four steps from a
node on average, by which the size of rings is limited (`WALKS_PER_NODE`), the steps for triangles
and squares (`MAX_STEPS` bounds those of a single graph), and the sizes that were found.
"""

import time

import networkx as nx
import numpy as np

from benchmarks.data import read_tu
from sklofi import GraphSet
from sklofi.datasets import fetch_zinc
from sklofi.egonets import egonet_incidence
from sklofi.egonets._rings import ring_sizes

MAX_SIZE = 8


def families():
    """Names and graphs, one family at a time."""
    yield "ZINC", fetch_zinc(verbose=False).data
    for name in ("NCI1", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI"):
        yield name, read_tu(name)[0]
    for degree in (4, 8, 12, 16, 32, 64):
        yield f"regular, degree {degree}", [nx.random_regular_graph(degree, 2000, seed=0)]
    for n_nodes in (2_000, 20_000):
        yield f"Barabasi-Albert, {n_nodes:,}", [nx.barabasi_albert_graph(n_nodes, 3, seed=0)]
    yield "K_2,n, n = 50,000", [nx.complete_bipartite_graph(2, 50_000)]
    yield "star, 100,000", [nx.star_graph(100_000)]
    yield "path, 100,000", [nx.path_graph(100_000)]
    yield "balanced tree, 7^6", [nx.balanced_tree(7, 6)]
    yield "grid, 200 x 200", [nx.grid_2d_graph(200, 200)]
    yield "complete, 500", [nx.complete_graph(500)]
    yield "K_n,n, n = 400", [nx.complete_bipartite_graph(400, 400)]
    rng = np.random.RandomState(0)
    sizes = rng.randint(5, 60, size=30)
    cliques = [nx.windmill_graph(2, int(size)) for size in sizes]  # as COLLAB has them
    yield "two cliques at a node, 30 graphs", cliques
    yield "directed, degree 4", [nx.gnp_random_graph(2000, 4 / 2000, seed=0, directed=True)]
    yield "directed, degree 16", [nx.gnp_random_graph(2000, 16 / 2000, seed=0, directed=True)]


def main():
    print(f"{'':34}{'edges':>10}{'seconds':>9}{'per M':>8}{'walks':>10}{'steps':>9}  sizes")
    for name, graphs in families():
        graphs = GraphSet.from_networkx(graphs, None, edge_label=None)
        start = time.perf_counter()
        sizes = ring_sizes(graphs, MAX_SIZE)
        seconds = time.perf_counter() - start
        n_edges = len(graphs.neighbors)
        adjacency = egonet_incidence(graphs, 1).astype(float)
        adjacency.setdiag(0)
        degrees = adjacency.sum(axis=1)
        walks = np.ones(graphs.n_nodes)
        for _ in range(MAX_SIZE // 2):
            walks = adjacency @ walks
        source, target = adjacency.nonzero()
        steps = np.minimum(degrees[source], degrees[target]).sum() / 2
        found = ", ".join(map(str, np.unique(sizes).tolist()))
        print(
            f"{name:34}{n_edges:>10,}{seconds:>9.2f}{1e6 * seconds / n_edges:>8.1f}"
            f"{walks.mean():>10.0f}{steps:>9.1e}  {found}",
            flush=True,
        )


if __name__ == "__main__":
    main()
