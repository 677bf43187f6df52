"""Displays draw what the functions return."""

import builtins

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from related_outputs import bonded_graphs

from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.inspection import (
    AttributionDisplay,
    MaskDisplay,
    TrainingDisplay,
    mask_importance,
    node_attribution,
    read_mask,
)

matplotlib.use("Agg")

QUICK = {
    "n_members": 1,
    "counts": False,
    "n_layers": 2,
    "n_masks": 4,
    "n_words": 3,
    "max_epochs": 5,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def classifier(motifs):
    return LoFIClassifier(**QUICK).fit(*motifs)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_mask_is_drawn_with_the_names_of_labels(motifs, classifier):
    display = MaskDisplay.from_estimator(classifier, *motifs, k=3, label_names={"C": "carbon"})
    importance = mask_importance(classifier, *motifs, layer=0, random_state=0)
    assert display.mask == importance.importances_mean.argmax()
    heights = [bar.get_height() for bar in display.ax_["importance"].patches]
    assert np.allclose(heights, importance.importances_mean)
    names = [label.get_text() for label in display.ax_["dictionary"].get_xticklabels()]
    assert names == ["carbon", "H", "N", "O", "S"]
    widths = [bar.get_width() for bar in display.ax_["histogram"].patches]
    assert np.allclose(widths, np.sort(read_mask(classifier, 0, display.mask).histogram)[::-1])
    assert len(display.ax_["egonets"]) == 3
    assert sorted(texts(display.ax_["egonets"][0])) == sorted(
        {"C": "carbon"}.get(label, label)
        for _, label in display.best.egonets[0].nodes(data="label")
    )
    display.figure_.canvas.draw()


def test_relations_and_bonds_are_drawn_where_there_are_some(motifs):
    graphs, y = bonded_graphs()
    for graph in graphs:
        for *_, data in graph.edges(data=True):
            del data["weight"]
    bonded = LoFIClassifier(**QUICK, edge_label="bond", max_ring=6).fit(graphs, y)
    for X in (graphs, GraphSet.from_networkx(graphs, edge_label="bond")):
        display = MaskDisplay.from_estimator(bonded, X, y, k=2)
        image = display.ax_["offsets"].images[0].get_array()
        order = np.argsort(-display.reading.histogram, kind="stable")
        assert np.allclose(image, display.reading.offsets[order])
        names = [label.get_text() for label in display.ax_["offsets"].get_xticklabels()]
        assert names[:3] == ["center", "edge 'double', no ring", "edge 'double', ring 3"]
        egonet = display.best.egonets[0]
        expected = [bond for *_, bond in egonet.edges(data="bond")]
        assert sorted(texts(display.ax_["egonets"][0])) == sorted(
            expected + [label for _, label in egonet.nodes(data="label")]
        )
        display.figure_.canvas.draw()
    plain = LoFIClassifier(**QUICK, distances=False, max_ring=0, edge_label=None).fit(graphs, y)
    display = MaskDisplay.from_estimator(plain, graphs, y, k=1)
    assert "offsets" not in display.ax_
    assert "double" not in texts(display.ax_["egonets"][0])


def test_deeper_masks_are_drawn_in_terms_of_those_below(motifs, classifier):
    display = MaskDisplay.from_estimator(classifier, GraphSet.from_networkx(motifs[0]), motifs[1],
                                         layer=1, mask=2)  # fmt: skip
    names = [label.get_text() for label in display.ax_["dictionary"].get_xticklabels()]
    assert display.mask == 2 and names == [f"mask {i}" for i in range(4)]


@pytest.mark.parametrize("n_graphs", [1, 3, 16])
def test_graphs_are_drawn_with_their_attributions(motifs, classifier, n_graphs):
    graphs, y = motifs[0][:n_graphs], motifs[1][:n_graphs]
    display = AttributionDisplay.from_estimator(classifier, graphs, y)
    assert display.ax_.shape == (n_graphs,)
    result = node_attribution(classifier, graphs)
    for got, wanted in zip(display.attributions, result.attributions, strict=True):
        assert (got == wanted).all()
    predicted = classifier.predict(graphs)
    for i, ax in enumerate(display.ax_):
        assert ax.get_title().startswith(f"predicted {predicted[i]} (")
        assert ax.get_title().endswith(f", true {y[i]}")
        assert sorted(texts(ax)) == sorted(label for _, label in graphs[i].nodes(data="label"))
    colorbar = display.figure_.axes[-1]
    low, high = colorbar.get_ylim()
    assert low == -high  # zero is in the middle
    display.figure_.canvas.draw()


def test_titles_say_what_is_explained_where_it_is_not_the_prediction(motifs, classifier):
    graphs, y = motifs
    wrong = 1 - classifier.predict(graphs)
    display = AttributionDisplay.from_estimator(classifier, graphs[:6], target=wrong[:6])
    assert display.ax_[0].get_title().startswith(f"for {wrong[0]}: predicted")
    display = AttributionDisplay.from_estimator(classifier, graphs[:6], target=1)
    assert display.unit == "evidence for class 1 (log-odds)"
    regressor = LoFIRegressor(**QUICK).fit(graphs, np.column_stack([y, 10.0 * y]))
    display = AttributionDisplay.from_estimator(
        regressor, graphs[:2], np.array([[0, 20], [1, 30]]), target=1
    )
    assert display.ax_[1].get_title().endswith("true 30")


def test_displays_draw_where_they_are_told(motifs, classifier):
    figure, axes = plt.subplots(1, 3, figsize=(24, 6), layout="constrained")
    assert TrainingDisplay.from_estimator(classifier, ax=axes[0]).figure_ is figure
    display = AttributionDisplay.from_estimator(classifier, motifs[0][:2], ax=axes[1])
    assert display.figure_ is figure
    assert MaskDisplay.from_estimator(classifier, *motifs, k=1, ax=axes[2]).figure_ is figure
    figure.canvas.draw()
    by_hand = plt.figure().add_axes((0.5, 0.5, 0.4, 0.4))
    display = AttributionDisplay.from_estimator(classifier, motifs[0][:1], ax=by_hand)
    assert display.ax_[0].get_position().x0 >= 0.5
    with pytest.raises(TypeError, match="ax has to be one matplotlib Axes, got ndarray"):
        AttributionDisplay.from_estimator(classifier, motifs[0][:1], ax=axes)
    with pytest.raises(ValueError, match="2 graphs, but y has 1 targets"):
        AttributionDisplay.from_estimator(classifier, motifs[0][:2], [0])


def test_only_labels_that_the_network_sees_are_written(motifs):
    graphs, y = motifs
    blind = LoFIClassifier(**QUICK, node_label=None).fit(graphs, y)
    for X in (graphs[:1], GraphSet.from_networkx(graphs[:1])):
        assert texts(AttributionDisplay.from_estimator(blind, X).ax_[0]) == []


def test_training_curves_are_those_of_the_history(motifs, classifier):
    display = TrainingDisplay.from_estimator(classifier)
    train, valid = display.ax_.lines[:2]
    assert list(train.get_ydata()) == classifier.history_[:, "train_loss"]
    assert list(valid.get_ydata()) == classifier.history_[:, "valid_loss"]
    best = 1 + int(np.argmin(classifier.history_[:, "valid_loss"]))
    assert texts(display.ax_) == [f" lowest after epoch {best}"]
    without = LoFIClassifier(**QUICK, early_stopping=False).fit(*motifs)
    assert len(TrainingDisplay.from_estimator(without).ax_.lines) == 1
    more = LoFIClassifier(**QUICK).fit(*motifs).partial_fit(*motifs)
    valid = TrainingDisplay.from_estimator(more).ax_.lines[1].get_ydata()
    assert np.isnan(valid).tolist() == [False] * 5 + [True]


def test_without_matplotlib_there_is_a_sentence(motifs, classifier, monkeypatch):
    really_import = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return really_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"MaskDisplay needs matplotlib: pip install matplotlib"):
        MaskDisplay.from_estimator(classifier, *motifs)
    with pytest.raises(ImportError, match="TrainingDisplay needs matplotlib"):
        TrainingDisplay.from_estimator(classifier)
