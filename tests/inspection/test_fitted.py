"""Which estimators can be inspected, and which masks they have."""

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from sklofi import GraphKernelSVC, LoFIClassifier
from sklofi.inspection._fitted import check_mask, fitted_lofi

QUICK = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 4,
    "n_words": 3,
    "max_epochs": 2,
    "random_state": 0,
}


def test_only_fitted_lofi_estimators_can_be_inspected(motifs):
    with pytest.raises(NotFittedError):
        fitted_lofi(LoFIClassifier())
    with pytest.raises(TypeError, match="is a class; pass a fitted estimator"):
        fitted_lofi(LoFIClassifier)
    with pytest.raises(TypeError, match=r"Only LoFI estimators .* got GraphKernelSVC"):
        fitted_lofi(GraphKernelSVC().fit(*motifs))


def test_of_a_search_the_best_estimator_is_inspected(motifs):
    search = GridSearchCV(LoFIClassifier(**QUICK), {"radius": [1]}, cv=2).fit(*motifs)
    assert fitted_lofi(search) is search.best_estimator_
    search = GridSearchCV(LoFIClassifier(**QUICK), {"radius": [1]}, cv=2, refit=False)
    with pytest.raises(TypeError, match="search with refit=True"):
        fitted_lofi(search.fit(*motifs))


@pytest.mark.parametrize("layer, mask, name", [(2, 0, "layer"), (-1, 0, "layer"), (0, 4, "mask")])
def test_masks_that_do_not_exist_are_refused(motifs, layer, mask, name):
    classifier = LoFIClassifier(**QUICK).fit(*motifs)
    check_mask(classifier, 1, 3)
    with pytest.raises(
        ValueError, match=f"{name} == {layer if name == 'layer' else mask}, must be"
    ):
        check_mask(classifier, layer, mask)
