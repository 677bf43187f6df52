"""Several fits that differ in their seed only, and predict together."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from benchmarks.grids import PUBLISHED_LOFI
from sklofi import LoFIClassifier, LoFIRegressor


class SeedAverage(BaseEstimator):
    def __init__(self, n_seeds=5, random_state=0):
        self.n_seeds = n_seeds
        self.random_state = random_state

    def fit(self, X, y, X_val, y_val):
        first = self.n_seeds * self.random_state
        self.members_ = [
            self.member(**PUBLISHED_LOFI, random_state=first + i).fit(
                X, y, X_val=X_val, y_val=y_val
            )
            for i in range(self.n_seeds)
        ]
        return self


class AveragedClassifier(ClassifierMixin, SeedAverage):
    member = LoFIClassifier

    @property
    def classes_(self):
        return self.members_[0].classes_

    def predict_proba(self, X):
        return np.mean([member.predict_proba(X) for member in self.members_], axis=0)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class AveragedRegressor(RegressorMixin, SeedAverage):
    member = LoFIRegressor

    def predict(self, X):
        return np.mean([member.predict(X) for member in self.members_], axis=0)
