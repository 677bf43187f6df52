"""The grids of all methods, by name of the method and of the grid.

``small`` is ours: what two cores can run. Peers have four configurations on MUTAG and PTC_MR, two
sizes and two ways to train each; on the larger sets one size, in batches of 128 graphs, and both
ways; on ZINC, where a fit takes minutes, that one size and at most 100 epochs of the default way.
``paper`` is what was published, in our words; where only settings without alternatives were
published, they are the grid. A grid is written as scikit-learn's ParameterGrid takes it, and
``"small, ZINC"`` stands in place of ``"small"`` on ZINC.

Sources:

- [fair] F. Errica, M. Podda, D. Bacciu, A. Micheli, "A fair comparison of graph neural
  networks for graph classification", ICLR 2020, the files config_*.yml of
  github.com/diningphil/gnn-comparison. Our optimizer is AdamW throughout (theirs is SGD for
  ECC), we stop early by the loss only (they by loss or accuracy), and rates stay as they are
  (theirs are halved every 50 epochs for GIN).
- [gin] K. Xu, W. Hu, J. Leskovec, S. Jegelka, "How powerful are graph neural networks?",
  ICLR 2019, and github.com/weihua916/powerful-gnns.
- [lofi] comparisons.md of github.com/gdl-unive/Histogram-Intersection-Kernel, by the authors of
  GNN-LoFI: what they searched for GIN and sGIN (as [gin]), RWGNN and KerGNN.
- Others are named where they are used.
"""

from typing import Any

Grid = dict[str, list[Any]] | list[dict[str, list[Any]]]

NO_GRID: dict[str, Grid] = {"small": {}, "paper": {}}

# ---- LoFI and the kernels

# The network as it was published: without distances, edge labels and rings, alone, and with the
# patience that it was measured with. protocol.jsonl has been measured with it.
PUBLISHED_LOFI: dict[str, Any] = {
    **{"distances": False, "edge_label": None, "max_ring": 0},
    **{"n_members": 1, "counts": False, "patience": 30},
}

LOFI_PAPER = {
    "n_layers": [1, 3, 5, 7, 9, 11, 13],
    "dropout": [0.0, 0.1],
    "radius": [1, 2, 3],
    "n_masks": [4, 8, 16, 32],
    "n_words": [6, 8, 16, 32],
}
LOFI_ZINC = {
    "n_layers": [5],
    "n_masks": [32],
    "batch_size": [128],
    "lr": [0.01],
    "max_epochs": [400],
}
LOFI: dict[str, Grid] = {
    "small": {"n_layers": [1, 3, 5], "radius": [1, 2]},
    "small, ZINC": [  # a fit takes minutes
        LOFI_ZINC,
        LOFI_ZINC | {"n_layers": [8]},
        LOFI_ZINC | {"patience": [60]},
    ],
    "paper": LOFI_PAPER,
    "paper-plain": LOFI_PAPER | {"dropout": [0.0]},  # without dropout, which is slower to train
    # Candidates for the defaults of the library, besides those in "small".
    "defaults": [
        {},
        {"lr": [0.01]},
        {"n_masks": [32]},
        {"n_words": [16]},
        {"dropout": [0.1]},
        {"readout": ["last"]},
        {"pooling": ["mean"]},
        {"kernel": ["intersection"]},
    ],
    # What the figures show one by one.
    "depth": {"n_layers": [1, 3, 5], "radius": [1, 2, 3]},
    "masks": {"n_masks": [4, 8, 16, 32]},
    "words": {"n_words": [6, 8, 16, 32]},
}

# For the training of the paper as well, which takes hours.
LOFI_AS_PUBLISHED: dict[str, Grid] = {"paper": LOFI_PAPER}

MACHINE = {"C": [0.01, 0.1, 1, 10, 100, 1000], "n_iter": [1, 2, 3, 4, 5, 6]}
KERNEL: dict[str, Grid] = {"small": MACHINE, "paper": MACHINE}

# ---- Peers: what all of a kind share

# As patient as the most patient LoFI on ZINC, and with its batches.
ZINC_TRAINING = {"max_epochs": [100], "patience": [20]}
# Errica and others train for 1000 epochs if not said otherwise, and wait for 500.
FAIR_TRAINING = {"max_epochs": [1000], "patience": [500]}

# The other way to train: at a smaller rate than the default of 0.005, or, where sums over
# graphs are large, with another pooling. [fair] searched both poolings for GIN, whose default
# rate is as small as that already.
SLOWER = {"lr": [0.001]}
OTHER_POOLING = {"pooling": ["mean"]}


def small(
    grid: dict[str, list[Any]], other: dict[str, list[Any]] = SLOWER, **expensive: Any
) -> dict[str, Grid]:
    """A grid as it is and trained in another way; less of it where fits are expensive."""
    one = grid | {name: [value] for name, value in expensive.items()} | {"batch_size": [128]}
    large: Grid = [one, one | other]
    larger_sets = ("PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "NCI1")
    return {
        "small": [grid, grid | other],
        **{f"small, {name}": large for name in larger_sets},
        "small, ZINC": one | ZINC_TRAINING,
    }


# [gin], section 7: 16 or 32 units for molecules and proteins, 64 for social networks; the
# same for the GCN of their table. Their five layers count the input.
GIN_PAPER = {
    "n_layers": [4],
    "n_hidden": [16, 32, 64],
    "batch_size": [32, 128],
    "dropout": [0.0, 0.5],
    "lr": [0.01],
    "max_epochs": [350],
}

# How GraphSAGE, ECC and DiffPool join neighbors. Means cannot see how many there are.
AGGREGATIONS: dict[str, Grid] = {"aggregation": {"aggregation": ["mean", "max", "sum"]}}

# ---- Peers, one by one

GCN: dict[str, Grid] = {
    **small({"n_layers": [2, 5], "n_hidden": [64]}, n_layers=5),
    "paper": [
        GIN_PAPER,
        # T. N. Kipf, M. Welling, ICLR 2017, for the nodes of citation networks.
        {
            "n_layers": [2],
            "n_hidden": [16],
            "dropout": [0.5],
            "lr": [0.01],
            "weight_decay": [5e-4],
        },
    ],
}
GRAPH_SAGE: dict[str, Grid] = {
    **AGGREGATIONS,
    **small({"n_layers": [2, 5], "n_hidden": [64]}, n_layers=5),
    # [fair]
    "paper": {
        "n_layers": [3, 5],
        "n_hidden": [32, 64],
        "aggregation": ["sum", "max", "mean"],
        "lr": [1e-4, 1e-3, 1e-2],
        "batch_size": [32],
        **FAIR_TRAINING,
    },
}
GIN_FAIR = {
    "batch_size": [32, 128],
    "dropout": [0.0, 0.5],
    "pooling": ["mean", "sum"],
    "train_eps": [True, False],
    "lr": [0.01],
    **FAIR_TRAINING,
}
GIN: dict[str, Grid] = {
    **small({"n_layers": [2, 5], "n_hidden": [64]}, OTHER_POOLING, n_layers=5),
    # [fair]: four lists of hidden units.
    "paper": [
        {"n_layers": [4], "n_hidden": [32, 64], **GIN_FAIR},
        {"n_layers": [2], "n_hidden": [32], **GIN_FAIR},
        {"n_layers": [1], "n_hidden": [64], **GIN_FAIR},
    ],
}
GAT: dict[str, Grid] = {
    **small({"n_layers": [2, 4], "n_hidden": [16], "n_heads": [4]}, n_layers=4),
    # P. Veličković and others, "Graph attention networks", ICLR 2018, github.com/PetarV-/GAT,
    # for the nodes of citation networks: 8 heads of 8 units.
    "paper": {
        "n_layers": [2],
        "n_hidden": [8],
        "n_heads": [8],
        "dropout": [0.6],
        "lr": [0.005],
        "weight_decay": [5e-4],
        "patience": [100],
    },
}
ECC: dict[str, Grid] = {
    **AGGREGATIONS,
    **small({"n_layers": [2, 3], "n_hidden": [32]}, n_layers=3),
    # [fair]; their dropout of the last layer is 0.1 throughout.
    "paper": {
        "n_layers": [2],
        "n_hidden": [32, 64],
        "dropout": [0.05, 0.25],
        "lr": [0.1, 0.01],
        "batch_size": [32],
        **FAIR_TRAINING,
    },
}
# [fair]: how many nodes are kept, so that 60 % or 90 % of the graphs have no more than that;
# the same by our count where they have no such set.
DGCNN_SORTED = {
    "MUTAG": [19, 24],
    "PTC_MR": [15, 23],
    "PROTEINS": [32, 81],
    "IMDB-BINARY": [18, 31],
    "IMDB-MULTI": [11, 22],
    "NCI1": [30, 46],
    "ZINC": [24, 29],
}
DGCNN_PAPER = {
    "n_layers": [2, 3, 4],
    "n_hidden": [32, 64],
    "dropout": [0.5],
    "lr": [1e-4, 1e-5],
    "batch_size": [50],
    **FAIR_TRAINING,
}
DGCNN: dict[str, Grid] = {
    **small({"n_layers": [2, 4], "n_hidden": [32]}, n_layers=4),
    **{f"paper, {name}": DGCNN_PAPER | {"n_sorted": n} for name, n in DGCNN_SORTED.items()},
}
DIFF_POOL: dict[str, Grid] = {
    **AGGREGATIONS,
    **small({"n_hidden": [32, 64]}, n_hidden=64),
    # [fair]
    "paper": {
        "n_poolings": [2],
        "n_hidden": [64],
        "n_last": [128],
        "n_dense": [50],
        "lr": [1e-3, 1e-4, 1e-5],
        "batch_size": [8],
        "max_epochs": [3000],
        "patience": [500],
    },
}
SGIN: dict[str, Grid] = {
    **small({"n_layers": [2, 5], "n_hidden": [64]}, OTHER_POOLING, n_layers=5),
    # X. Di, P. Yu, R. Bu, M. Sun, "Mutual information maximization in graph neural networks",
    # IJCNN 2020, enlarge the neighborhoods of GIN; no grid of their own is known to us.
    "paper": GIN_PAPER,
}
SFA_GNN: dict[str, Grid] = {
    **small({"n_layers": [2, 5], "n_hidden": [16]}, OTHER_POOLING, n_layers=5),
    # A. Bicciato and others, "Classifying me softly: a novel graph neural network based on
    # features soft-alignment", S+SSPR 2022; no grid is known to us, so that of LoFI, which has
    # the same authors.
    "paper": {
        "n_layers": LOFI_PAPER["n_layers"],
        "dropout": LOFI_PAPER["dropout"],
        "n_hidden": LOFI_PAPER["n_masks"],
        "n_points": LOFI_PAPER["n_words"],
    },
}
# The rate and the batches of its authors, and patience: at first nothing seems to happen for dozens
# of epochs.
RW_GNN_TRAINING = {"lr": [0.01], "batch_size": [64], "patience": [100]}
RW_GNN: dict[str, Grid] = {
    **small({"n_steps": [2, 3]}, RW_GNN_TRAINING, n_steps=3),
    "paper": [
        # G. Nikolentzos, M. Vazirgiannis, "Random walk graph neural networks", NeurIPS 2020:
        # results for one, two and three steps; the rest as in github.com/giannisnik/rwgnn, whose
        # default of two "steps" is walks of length 0 and 1.
        {
            "n_steps": [1, 2, 3],
            "n_hidden_graphs": [16],
            "hidden_graph_size": [5],
            "n_hidden": [4],
            "n_penultimate": [32],
            "dropout": [0.2],
            "lr": [0.01],
            "batch_size": [64],
        },
        # [lofi]
        {"n_steps": [3], "n_hidden_graphs": [8], "hidden_graph_size": [6], "lr": [1e-3]},
    ],
}
KER_GNN_PAPER = {
    "n_filters": [32],
    "radius": [2],
    "n_steps": [0, 1],  # the default of their code is walks of length 0 alone
    "n_hidden": [16],
    "n_penultimate": [16],
    "dropout": [0.4],
    "lr": [0.01],
    "batch_size": [64],
    "max_epochs": [400],
}
KER_GNN: dict[str, Grid] = {
    **small({"n_layers": [1, 2]}, n_layers=2),
    # A. Feng, C. You, S. Wang, L. Tassiulas, "KerGNNs: interpretable graph neural networks with
    # graph kernels", AAAI 2022: the two networks that github.com/asFeng/kergnns shows.
    "paper": [
        {"n_layers": [1], "filter_size": [6], **KER_GNN_PAPER},
        {"n_layers": [2], "filter_size": [4], **KER_GNN_PAPER},
        # [lofi]; their deep kernel and their cut of egonets at 8 to 16 members are not ours.
        {
            "n_layers": [1],
            "n_hidden": [16],
            "n_filters": [32],
            "filter_size": [6],
            "radius": [1, 2, 3],
            "n_steps": [0, 1],
            "n_penultimate": [16, 32, 64],
            "dropout": [0.0, 0.4, 0.5],
            "lr": [1e-2, 1e-3],
        },
    ],
}
DEEP_MULTISETS: dict[str, Grid] = {
    **small({"n_hidden": [32, 128]}, n_hidden=128),
    # [fair], the file for IMDB.
    "paper": {
        "n_hidden": [32, 128, 256],
        "lr": [1e-6, 1e-3, 1e-1],
        "weight_decay": [1e-4, 1e-3, 1e-2],
        "batch_size": [32, 128],
        "max_epochs": [3000],
        "patience": [500],
    },
}

# ---- Baselines without a network: cheap, so that all sets have the whole grid. [fair] has a
# network behind its fingerprints, ours are linear machines: there is nothing to take over.

STRENGTHS = {"C": [0.001, 0.01, 0.1, 1, 10]}
FINGERPRINT: dict[str, Grid] = {
    "small": STRENGTHS | {"radius": [1, 2, 3]},
    "paper": STRENGTHS | {"radius": [1, 2, 3]},
}
LABEL_HISTOGRAM: dict[str, Grid] = {"small": STRENGTHS, "paper": STRENGTHS}
