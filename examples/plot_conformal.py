"""
Conformal prediction: intervals and sets with a guarantee
=========================================================

A prediction comes without a guarantee. Conformal prediction adds one: intervals of numbers, or sets
of classes, that contain the truth in 90 % of cases, whatever the model is. MAPIE makes them around
any estimator of this library (extra ``uncertainty``).
"""

# %%
# Numbers
# -------
# The largest eigenvalue of small graphs, measured with noise. A Fingerprint learns from a part of
# the graphs, and MAPIE finds on another part how wide intervals have to be.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from mapie.classification import CrossConformalClassifier
from mapie.regression import CrossConformalRegressor, SplitConformalRegressor
from sklearn.model_selection import KFold

from sklofi import FingerprintClassifier, FingerprintRegressor, GraphSet
from sklofi.datasets import load_graph_atlas, make_motif_graphs

rng = np.random.default_rng(0)
graphs, radius = load_graph_atlas(target="spectral_radius")
order = rng.permutation(len(graphs))
X, y = GraphSet.from_networkx(graphs)[order], radius[order] + rng.normal(scale=0.2, size=len(order))
training, calibration, test = np.split(np.arange(len(y)), [300, 600])
levels = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]

# MAPIE looks for attributes that estimators of tables have, and warns if there are none.
warnings.filterwarnings("ignore", message="Estimator does not appear fitted")
split = SplitConformalRegressor(
    FingerprintRegressor().fit(X[training], y[training]), confidence_level=levels, prefit=True
).conformalize(X[calibration], y[calibration])
predicted, intervals = split.predict_interval(X[test])

# %%
# Nothing set aside
# -----------------
# Cross conformal prediction uses all graphs for both: each is predicted by a model that has not
# learned from it.
both, folds = np.r_[training, calibration], KFold(5, shuffle=True, random_state=0)
cross = CrossConformalRegressor(FingerprintRegressor(), confidence_level=levels, cv=folds)
cross_intervals = cross.fit_conformalize(X[both], y[both]).predict_interval(X[test])[1]


def coverage_of(intervals):
    truth = y[test][:, None]
    return ((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])).mean(axis=0)


for name, found in (("split", intervals), ("cross", cross_intervals)):
    width = (found[:, 1] - found[:, 0]).mean(axis=0)[levels.index(0.9)]
    print(f"{name}: coverage {coverage_of(found)[levels.index(0.9)]:.3f}, mean width {width:.2f}")

# %%
# Classes
# -------
# Two classes, with or without a motif. A quarter of the labels are random, so no classifier can be
# right more often than seven times out of eight: where 90 % are asked for, some sets have both.
graphs, classes = make_motif_graphs(600, random_state=0)
classes = np.where(rng.random(600) < 0.25, rng.integers(2, size=600), classes)
Z = GraphSet.from_networkx(graphs)
sets = CrossConformalClassifier(FingerprintClassifier(), confidence_level=levels, cv=folds)
sets = sets.fit_conformalize(Z[:400], classes[:400]).predict_set(Z[400:])[1]
set_coverage = sets[np.arange(200), classes[400:]].mean(axis=0)
for level, coverage, size in zip(levels, set_coverage, sets.sum(axis=1).mean(axis=0), strict=True):
    print(f"{level:.0%} asked for: {coverage:.0%} of the sets contain it, mean size {size:.2f}")

# %%
# The guarantee holds
# -------------------
# Left: intervals at 90 %, those that miss the truth in red. Right: how many contain it, for each
# level of confidence. This needs test graphs like those of the calibration; for molecules of new
# scaffolds it does not hold.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
shown = np.argsort(predicted)[::8]
low, high = intervals[shown, :, levels.index(0.9)].T
truth = y[test][shown]
missed = (truth < low) | (truth > high)
left.vlines(range(len(shown)), low, high, colors=np.where(missed, "#b2182b", "0.75"), lw=3)
left.scatter(range(len(shown)), truth, c=np.where(missed, "#b2182b", "0.2"), s=12, zorder=2)
left.set(xlabel="test graphs, by prediction", ylabel="largest eigenvalue, with noise")
right.plot([0.45, 1], [0.45, 1], color="0.8", lw=1, label="as guaranteed")
right.plot(levels, coverage_of(intervals), "o-", color="0.4", label="intervals, split")
right.plot(levels, coverage_of(cross_intervals), "s-", color="0.6", label="intervals, cross")
right.plot(levels, set_coverage, "^-", color="#b2182b", label="sets of classes, cross")
right.set(xlabel="confidence that is asked for", ylabel="share that contains the truth")
right.legend()
figure.savefig("conformal.png", dpi=150)
