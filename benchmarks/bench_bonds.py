"""What edge labels are worth to the Weisfeiler-Lehman kernels, on molecules with bonds.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_bonds [MUTAG PTC_MR]

WL and WL-OA with and without edge labels, on the same ten folds. In each fold, C and the number
of iterations are chosen by five-fold cross-validation inside the training graphs. Results go to
results/bonds.json after every data set; what is there is not run again.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.bench_kernel_accuracy import tuned
from benchmarks.data import read_tu
from sklofi import GraphSet, compare

RESULTS = Path(__file__).parent / "results" / "bonds.json"
KERNELS = ("wl", "wl-oa")


def run(name):
    """Accuracies of all folds, by the kernel and whether it sees bonds."""
    graphs, y = read_tu(name, edge_labels=True)
    X = GraphSet.from_networkx(graphs)
    assert X.edge_label_ids is not None
    estimators = {}
    for kernel in KERNELS:
        for edge_label, how in ((None, "without"), ("label", "with")):
            search = tuned(kernel)
            estimators[f"{kernel}, {how}"] = search.set_params(estimator__edge_label=edge_label)
    folds = StratifiedKFold(10, shuffle=True, random_state=1)
    comparison = compare(estimators, X, y, cv=folds)
    assert not comparison.failures
    return dict(zip(estimators, comparison.scores.round(4).tolist(), strict=True))


def describe(scores):
    """Mean and standard error, in percent."""
    scores = 100 * np.asarray(scores)
    return f"{scores.mean():.1f} ± {scores.std(ddof=1) / len(scores) ** 0.5:.1f}"


def table(results):
    """Accuracies and paired differences, in Markdown."""
    lines = ["| | kernel | without edge labels | with | difference |", "|---|---|---|---|---|"]
    for name, scores in results.items():
        for kernel in KERNELS:
            without, with_bonds = (
                np.array(scores[f"{kernel}, {how}"]) for how in ("without", "with")
            )
            cells = map(describe, (without, with_bonds, with_bonds - without))
            lines.append(f"| {name} | {kernel} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["MUTAG", "PTC_MR"])
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in parser.parse_args().names:
        if name not in results:
            results[name] = run(name)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
