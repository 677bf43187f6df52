"""How exact are the integrals of node_attribution, by how many steps, in what time?

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_attribution

Residuals are what attributions miss of the output less the baseline, as shares of that
difference and of the summed sizes of the attributions. Seconds are those of the processor, on
one thread, from networkx graphs to numbers.
"""

import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning

from benchmarks.data import read_tu
from sklofi import LoFIClassifier
from sklofi.inspection import node_attribution

RESULTS = Path(__file__).parent / "results" / "attribution.json"
TOL = 0.01  # the default


def explain(graphs, y, *, max_epochs=30, **parameters):
    classifier = LoFIClassifier(max_epochs=max_epochs, random_state=0, **parameters).fit(graphs, y)
    start = time.process_time()
    result = node_attribution(classifier, graphs, tol=TOL)
    seconds = time.process_time() - start
    residuals = np.abs(result.residuals)
    sizes = np.array([np.abs(values).sum() for values in result.attributions])
    of_difference = residuals / np.abs(result.outputs - result.baselines)
    return {
        "residual, largest": float((residuals / sizes).max()),
        "residual, median": float(np.median(residuals / sizes)),
        "residual of the difference, median": float(np.median(of_difference)),
        "steps, mean": float(result.n_steps.mean()),
        "steps, largest": int(result.n_steps.max()),
        "seconds": seconds,
    }


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("error", ConvergenceWarning)  # the tolerance is reached everywhere
    results = {}
    for name in ("MUTAG", "PTC_MR"):
        graphs, y = read_tu(name)
        for pooling, kernel, readout in product(
            ("sum", "mean", "max"), ("l1", "intersection"), ("all", "last")
        ):
            key = f"{name}, {pooling}, {kernel}, {readout}"
            results[key] = explain(graphs, y, pooling=pooling, kernel=kernel, readout=readout)
            print(key, results[key], flush=True)
    results["NCI1, defaults"] = explain(*read_tu("NCI1"), max_epochs=10)
    print("NCI1", results["NCI1, defaults"])
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    # Nothing has warned, so what is beyond the tolerance is the allowance for 32-bit rounding.
    assert all(one["residual, largest"] <= 1.1 * TOL for one in results.values())


if __name__ == "__main__":
    main()
