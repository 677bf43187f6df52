import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

from sklofi import LoFIClassifier
from sklofi._storage import encode
from sklofi.nn import LoFINetwork
from sklofi.training._net_state import check_architecture, net_state, restore_net

QUICK = {
    "n_members": 1,
    "counts": False,
    "n_layers": 3,
    "n_masks": 2,
    "n_words": 2,
    "max_epochs": 2,
}


@pytest.fixture(scope="module")
def classifier(motifs):
    return LoFIClassifier(**QUICK, random_state=0).fit(*motifs)


def test_the_state_is_plain_data(classifier):
    state = net_state(classifier.net_)
    encode(state, "state", {})
    assert all(type(array) is np.ndarray for array in state["weights"].values())


def test_a_net_with_the_state_of_another_is_like_it(classifier, motifs):
    other = LoFIClassifier(**QUICK, random_state=1).fit(*motifs)
    restore_net(other.net_, net_state(classifier.net_))
    assert_array_equal(other.predict_proba(motifs[0]), classifier.predict_proba(motifs[0]))
    assert other.history_[:, "train_loss"] == classifier.history_[:, "train_loss"]


def test_the_architecture_has_to_be_that_of_the_weights(classifier):
    state = net_state(classifier.net_)
    assert check_architecture(LoFINetwork, state) == state["architecture"]
    for n_layers, message in [(2, "do not have the size"), (4, "larger than its weights")]:
        forged = {**state, "architecture": {**state["architecture"], "n_layers": n_layers}}
        with pytest.raises(ValueError, match=message):
            check_architecture(LoFINetwork, forged)


def test_a_network_that_is_too_deep_is_refused_before_it_is_built(classifier):
    state = net_state(classifier.net_)
    n_numbers = sum(array.size for array in state["weights"].values())
    built = []

    class Recorded(LoFINetwork):
        def __init__(self, *arguments, n_layers, **parameters):
            built.append(n_layers)
            super().__init__(*arguments, n_layers=n_layers, **parameters)

    forged = {**state, "architecture": {**state["architecture"], "n_layers": n_numbers}}
    with pytest.raises(ValueError, match="larger than its weights"):
        check_architecture(Recorded, forged)
    assert built == [1, 2, 4]


def test_averages_of_the_optimizer_have_to_fit(classifier):
    state = net_state(classifier.net_)
    averages = state["optimizer"]["state"][0]
    averages["exp_avg"] = np.zeros(3, dtype=np.float32)
    with pytest.raises(ValueError, match="state of the optimizer does not have the size"):
        restore_net(classifier.net_, state)


def test_arrays_are_copies(classifier):
    state = net_state(classifier.net_)
    name, weight = next(iter(classifier.module_.named_parameters()))
    before = weight.detach().clone()
    state["weights"][name][:] = -1
    assert torch.equal(weight, before)
