"""What the paper of GNN-LoFI says of each method, in other folds and with other grids than ours."""

# In this order; the other columns of the protocol were not published.
PUBLISHED_SETS = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "NCI1", "ZINC")

# Accuracy in % over ten folds (mean absolute error for ZINC), from the paper.
PUBLISHED = {
    "GNN-LoFI": (86.78, 65.73, 75.10, 76.56, 48.80, 79.45, 0.27),
    "WL kernel + C-SVM": (82.67, 55.39, 74.16, 71.80, 43.33, 79.32, 1.24),
    "GIN": (78.13, 56.72, 70.98, 71.10, 46.93, 78.63, 0.38),
    "GCN": (83.95, 55.34, 70.63, 49.30, 33.27, 62.51, 0.51),
    "DiffPool": (81.35, 55.87, 73.13, 67.80, 44.93, 75.72, 0.49),
    "DGCNN": (85.06, 53.50, 74.31, 53.00, 41.80, 76.56, 0.60),
    "ECC": (79.68, 54.43, 73.76, 68.30, 44.33, 73.48, 0.73),
    "GraphSAGE": (77.57, 59.87, 73.11, 68.80, 47.20, 75.89, 0.46),
    "sGIN": (84.09, 56.37, 73.59, 71.30, 48.60, 77.54, 0.37),
    "SFA-GNN": (84.04, 63.18, 75.13, 62.42, 35.95, 78.51, 0.37),
    "KerGNN": (82.43, 53.15, 72.96, 67.90, 44.87, 74.16, 0.57),
    "RWGNN": (82.51, 55.47, 73.95, 69.90, 46.20, 72.94, 0.55),
    "baseline (fingerprint, deep multisets)": (78.57, 58.34, 73.05, 49.50, 32.00, 68.50, 0.66),
}

# The names of our methods there, where they differ.
NAMES_THERE = {
    **dict.fromkeys(("LoFI", "LoFI, defaults", "LoFI, published"), "GNN-LoFI"),
    "WL": "WL kernel + C-SVM",
    **dict.fromkeys(("Fingerprint", "DeepMultisets"), "baseline (fingerprint, deep multisets)"),
}


def published_score(method: str, name: str) -> float | None:
    """The published accuracy in %, or error, of one of our methods on a data set, or None."""
    row = PUBLISHED.get(NAMES_THERE.get(method, method))
    return None if row is None or name not in PUBLISHED_SETS else row[PUBLISHED_SETS.index(name)]
