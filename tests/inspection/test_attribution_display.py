"""A display draws graphs with their attributions."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from display_helpers import QUICK, texts

from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.inspection import AttributionDisplay, MaskDisplay, TrainingDisplay, node_attribution


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
