import pickle

from training_helpers import QUICK

from sklofi import LoFIClassifier


def test_a_pickle_from_a_device_that_is_not_here_is_trained_further(larger_motifs):
    classifier = LoFIClassifier(**QUICK, warm_start=True).fit(*larger_motifs)
    classifier.device = classifier._made_with["device"] = "cuda:63"
    further = pickle.loads(pickle.dumps(classifier)).fit(*larger_motifs)
    assert further.net_.device == "cpu"
    assert further.n_epochs_ > classifier.n_epochs_


def test_a_model_from_the_gpu_predicts_on_the_cpu(larger_motifs):
    """No device but the net's own, which skorch maps, may be remembered in a pickle."""
    net = LoFIClassifier(**QUICK).fit(*larger_motifs).net_
    devices = [name for name, value in vars(net).items() if value in ("cpu", "cuda")]
    assert devices == ["device"]
