import numpy as np

import sklofi.training._estimator
from sklofi import LoFIClassifier
from sklofi.datasets import make_motif_graphs


def test_the_validation_part_is_stratified(monkeypatch):
    graphs, _ = make_motif_graphs(60, random_state=0)
    y = np.array([0] * 50 + [1] * 10)
    strata = []
    original = sklofi.training._estimator.split_validation

    def spy(y, *args):
        train, validation = original(y, *args)
        strata.append(np.bincount(y[validation].astype(int)).tolist())
        return train, validation

    monkeypatch.setattr(sklofi.training._estimator, "split_validation", spy)
    for seed in range(10):
        LoFIClassifier(max_epochs=1, validation_fraction=0.2, random_state=seed).fit(graphs, y)
    np.testing.assert_allclose(strata, [[10, 2]] * 10, atol=1)
