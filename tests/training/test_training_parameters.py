import pytest
from training_helpers import QUICK

from sklofi import LoFIClassifier


@pytest.mark.parametrize(
    "name, value",
    [
        ("lr", 0.0), ("max_epochs", 0), ("batch_size", 0), ("weight_decay", -1), ("patience", 0),
        ("validation_fraction", 1.0), ("handle_unknown", "drop"), ("early_stopping", "yes"),
        ("device", 3), ("random_state", "seed"), ("class_weight", "heavy"), ("callbacks", 1),
    ],
)  # fmt: skip
def test_unknown_parameter_values_are_refused(larger_motifs, name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of LoFIClassifier must be"):
        LoFIClassifier(**{**QUICK, name: value}).fit(*larger_motifs)


def test_training_parameters_may_change_in_a_warm_start(larger_motifs):
    graphs, y = larger_motifs
    names = LoFIClassifier._may_change - {"device", "warm_start"}
    others = {
        **{"handle_unknown": "error", "max_epochs": 2, "lr": 0.1, "batch_size": 7},
        **{"weight_decay": 0.1, "early_stopping": False, "validation_fraction": 0.3},
        **{"patience": 1, "random_state": 1, "verbose": 0, "class_weight": {0: 2.0, 1: 1.0}},
        **{"n_jobs": 1, "on_invalid": "nan"},
    }
    assert set(others) == names
    classifier = LoFIClassifier(**QUICK, warm_start=True).fit(graphs, y)
    classifier.set_params(**others).fit(graphs, y).partial_fit(graphs, y)
    assert classifier.n_epochs_ == QUICK["max_epochs"] + 2 + 1
