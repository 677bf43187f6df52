"""
Molecules from a CSV file: compare, and see which atoms decide
==============================================================

Estimators take SMILES as they are. This example reads a table of molecules, compares five methods
on folds that keep scaffolds together, and colors the atoms that decide.
"""

# %%
# The table
# ---------
# A file of your own is read with ``pandas.read_csv("molecules.csv")``. Here a small one is made:
# two rings with a side chain each, and how well each molecule dissolves in octanol rather
# than in water (logP, as RDKit estimates it), with some noise of measurement.
from itertools import product

import numpy as np
import pandas as pd
from rdkit import Chem
from rdkit.Chem.Crippen import MolLogP
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklofi import FingerprintRegressor, GraphKernelSVR, LoFIRegressor, compare
from sklofi.baselines import GINRegressor
from sklofi.graphs import scaffold_groups
from sklofi.inspection import AttributionDisplay

left = ["c1cc({})ccc1", "C1CC({})CCC1", "c1cc({})cnc1", "C1CN({})CCN1", "c1c({})scc1"]
right = ["c1ccc({})cc1", "C1CCC({})CC1", "c1ccc({})nc1", "N1CCN({})CC1", "c1ccc({})s1"]
chains = ["C", "CC", "CO", "C(=O)O", "CCCC", "C(F)(F)F", "CC#N", "C(=O)N", "CCCl"]
filled = [
    f"{first.format(chain)}C{second.format(other)}"
    for first, second, chain, other in product(left, right, chains, chains)
]
table = pd.DataFrame({"smiles": np.random.default_rng(0).choice(filled, 240, replace=False)})
noise = np.random.default_rng(1).normal(scale=0.1, size=len(table))
table["logP"] = [MolLogP(Chem.MolFromSmiles(text)) for text in table["smiles"]] + noise
print(table.head())

# %%
# Folds of scaffolds
# ------------------
# Molecules with the same rings are a series, and a series stays in one part: in the folds of the
# comparison, and in the parts on which networks are stopped early.
groups = scaffold_groups(table["smiles"])
print(len(table), "molecules,", len(set(groups)), "scaffolds")

# %%
# The comparison
# --------------
# The last method is scikit-learn's alone: a random forest on Morgan fingerprints (ECFP4).
morgan = GetMorganGenerator(radius=2, fpSize=1024)


def ecfp4(smiles):
    return np.array([morgan.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles])


estimators = {
    "LoFI": LoFIRegressor(n_members=3, max_epochs=20, random_state=0),
    "GIN": GINRegressor(edge_label="label", max_epochs=60, random_state=0),
    "WL-OA": GraphKernelSVR(kernel="wl-oa", C=10),
    "Fingerprint": FingerprintRegressor(),
    "ECFP4, forest": make_pipeline(FunctionTransformer(ecfp4), RandomForestRegressor(200)),
}
scoring = "neg_root_mean_squared_error"
smiles, y = table["smiles"].tolist(), table["logP"].to_numpy()
print(compare(estimators, smiles, y, groups=groups, cv=4, scoring=scoring))

# %%
# Which atoms decide?
# -------------------
# Red atoms and bonds raise the predicted logP, blue ones lower it: carbon and halogens go with
# octanol, oxygen and nitrogen with water. The molecules are of a fold that was left out.
test = np.isin(groups, np.unique(groups)[::4])
regressor = LoFIRegressor(n_members=3, max_epochs=20, random_state=0)
regressor.fit(table["smiles"][~test], y[~test], groups=groups[~test])
shown = np.flatnonzero(test)[np.linspace(0, test.sum() - 1, 6).astype(int)]
display = AttributionDisplay.from_estimator(regressor, [smiles[i] for i in shown])
display.figure_.savefig("molecules.png", dpi=150)
display.figure_.savefig("molecules.svg")
