"""A display draws what the functions return of a mask."""

import builtins

import numpy as np
import pytest
from display_helpers import QUICK, letters, outlines
from related_outputs import bonded_graphs

from sklofi import GraphSet, LoFIClassifier
from sklofi.inspection import MaskDisplay, TrainingDisplay, mask_importance, read_mask


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
    assert sorted(letters(display.ax_["egonets"][0])) == sorted(
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
        for egonet, ax in zip(display.best.egonets, display.ax_["egonets"], strict=True):
            assert sorted(letters(ax)) == sorted(label for _, label in egonet.nodes(data="label"))
            orders = [bond for *_, bond in egonet.edges(data="bond")]
            assert len(outlines(ax)[0]) == orders.count("single") + 2 * orders.count("double")
        display.figure_.canvas.draw()
    plain = LoFIClassifier(**QUICK, distances=False, max_ring=0, edge_label=None).fit(graphs, y)
    display = MaskDisplay.from_estimator(plain, graphs, y, k=1)
    assert "offsets" not in display.ax_
    (lines,) = outlines(display.ax_["egonets"][0])
    assert len(lines) == display.best.egonets[0].number_of_edges()


def test_deeper_masks_are_drawn_in_terms_of_those_below(motifs, classifier):
    display = MaskDisplay.from_estimator(classifier, GraphSet.from_networkx(motifs[0]), motifs[1],
                                         layer=1, mask=2)  # fmt: skip
    names = [label.get_text() for label in display.ax_["dictionary"].get_xticklabels()]
    assert display.mask == 2 and names == [f"mask {i}" for i in range(4)]


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
