"""A display of one mask of a fitted estimator."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from sklofi._plotting import STRONG, import_pyplot, place_on_figure
from sklofi.inspection._canvas import frame
from sklofi.inspection._fitted import edge_label_attribute, fitted_member, node_label_attribute
from sklofi.inspection._graph_drawing import GraphDrawing, all_orders
from sklofi.inspection._masks import best_egonets, mask_importance, read_mask

PALE = "#d6c2c0"


class MaskDisplay:
    """A mask: how much it matters, its words, its histogram, the egonets that fit it.

    Make one with :meth:`from_estimator`. A word has a row in three panels: how similar it is to
    the inputs, what the relations of members to the center add to its logit, and how many
    members the mask expects of it. Without relations there are two. Egonets are drawn with the
    labels of edges, if the network sees them: orders of bonds (see :class:`AttributionDisplay`) as
    lines, others as texts.

    Parameters
    ----------
    importance : Bunch
        What :func:`mask_importance` returns for the layer.

    reading : Bunch
        What :func:`read_mask` returns for the mask.

    best : Bunch
        What :func:`best_egonets` returns for the mask.

    layer, mask : int
        Which mask it is.

    node_label : hashable or None
        The node attribute that is written on nodes.

    edge_label : hashable or None
        The edge attribute that is drawn as orders of bonds, or written on edges.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure.

    ax_ : dict of matplotlib Axes
        "importance", "dictionary", "histogram", a list under "egonets", and "offsets" if
        members of egonets have relations to the center.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> from sklofi.inspection import MaskDisplay
    >>> graphs, y = make_motif_graphs(100, random_state=0)
    >>> classifier = LoFIClassifier(max_epochs=5, random_state=0).fit(graphs, y)
    >>> display = MaskDisplay.from_estimator(classifier, graphs, y, layer=1)
    >>> display.figure_.savefig("mask.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        importance: Bunch,
        reading: Bunch,
        best: Bunch,
        *,
        layer: int = 0,
        mask: int = 0,
        node_label: Hashable | None = "label",
        edge_label: Hashable | None = None,
    ) -> None:
        self.importance = importance
        self.reading = reading
        self.best = best
        self.layer = layer
        self.mask = mask
        self.node_label = node_label
        self.edge_label = edge_label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        layer: int = 0,
        mask: int | None = None,
        *,
        k: int = 5,
        scoring: Any = None,
        random_state: Any = 0,
        label_names: Mapping[Hashable, str] | None = None,
        ax: Any = None,
    ) -> MaskDisplay:
        """Look into a mask and draw it.

        Parameters
        ----------
        estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
            The fitted estimator.

        X : list of networkx graphs, or GraphSet
            Graphs, better not those of the training.

        y : array-like of shape (n_graphs,) or (n_graphs, n_outputs)
            Their targets.

        layer : int, default=0
            The layer of the mask.

        mask : int, default=None
            The mask, by default the most important one of the layer.

        k : int, default=5
            Number of egonets that are drawn.

        scoring : str or callable, default=None
            The score that importances are measured by; see :func:`mask_importance`.

        random_state : int, RandomState instance or None, default=0
            Determines the bootstrap samples of :func:`mask_importance`.

        label_names : dict, default=None
            What to write in place of node labels.

        ax : matplotlib Axes, default=None
            What to draw in place of; by default on a new figure.

        Returns
        -------
        display : MaskDisplay
            The display, which holds the figure.
        """
        import_pyplot("MaskDisplay")
        estimator = fitted_member(estimator)
        importance = mask_importance(
            estimator, X, y, scoring=scoring, layer=layer, random_state=random_state
        )
        mask = int(importance.importances_mean.argmax()) if mask is None else mask
        display = cls(
            importance,
            read_mask(estimator, layer, mask),
            best_egonets(estimator, X, layer, mask, k),
            layer=layer,
            mask=mask,
            node_label=node_label_attribute(estimator, X),
            edge_label=edge_label_attribute(estimator, X),
        )
        return display.plot(label_names=label_names, ax=ax)

    def plot(
        self, *, label_names: Mapping[Hashable, str] | None = None, ax: Any = None
    ) -> MaskDisplay:
        """Draw the mask.

        Parameters
        ----------
        label_names : dict, default=None
            What to write in place of node labels.

        ax : matplotlib Axes, default=None
            What to draw in place of; by default on a new figure.

        Returns
        -------
        display : MaskDisplay
            The display, which holds the figure.
        """
        widths = {"importance": 1.1, "dictionary": 1.5, "offsets": 1.5, "histogram": 1}
        if not self.reading.relation_names:
            del widths["offsets"]
        size = (11 + 3 * ("offsets" in widths), 5.4 + 0.6 * ("offsets" in widths))
        figure, place = place_on_figure("MaskDisplay", ax, size)
        n_egonets = len(self.best.egonets)
        upper, lower = place.subgridspec(2, 1, height_ratios=[1.3, 1], hspace=0.12)
        columns = upper.subgridspec(1, len(widths), width_ratios=list(widths.values()))
        self.figure_ = figure
        self.ax_ = {name: figure.add_subplot(columns[i]) for i, name in enumerate(widths)}
        self.ax_["egonets"] = [figure.add_subplot(cell) for cell in lower.subgridspec(1, n_egonets)]
        self._draw_importance(self.ax_["importance"])
        order = np.argsort(-self.reading.histogram, kind="stable")
        self._draw_words(self.ax_["dictionary"], order, label_names)
        if "offsets" in widths:
            self._draw_offsets(self.ax_["offsets"], order)
        self._draw_histogram(self.ax_["histogram"], order)
        self._draw_egonets(self.ax_["egonets"], label_names)
        return self

    def _draw_egonets(self, axes: Any, label_names: Any) -> None:
        best = self.best
        orders = all_orders(best.egonets, self.edge_label)
        drawings = [
            GraphDrawing(
                egonet,
                node_label=self.node_label,
                edge_label=self.edge_label,
                orders=orders,
                label_names=label_names,
            )
            for egonet in best.egonets
        ]
        frame(axes, [drawing.extent for drawing in drawings])
        for ax, drawing, center, score, count in zip(
            axes, drawings, best.centers, best.scores, best.counts, strict=True
        ):
            drawing.draw(ax, outlined=center)
            ax.set_title(f"output {score:.2f}, found {count:,} x", fontsize="small")

    def _draw_importance(self, ax: Any) -> None:
        mean, spread = self.importance.importances_mean, self.importance.importances_std
        numbers = np.arange(len(mean))
        colors = np.where(numbers == self.mask, STRONG, PALE)
        ax.bar(numbers, mean, yerr=spread, color=colors, ecolor="0.4", capsize=2)
        ax.axhline(0, color="0.4", lw=0.8)
        ax.set_title(f"What is lost without each mask of layer {self.layer}", fontsize="medium")
        ax.set(xlabel="mask", ylabel="importance")
        ax.set_xticks(numbers[:: max(1, len(numbers) // 8)])

    def _draw_words(self, ax: Any, order: Any, label_names: Any) -> None:
        inputs = list(self.reading.input_names)
        for i, label in enumerate(self.reading.labels):
            inputs[i] = str((label_names or {}).get(label, label))
        words = self.reading.similarities[order]
        self._draw_heat_map(ax, words, inputs, 1, cmap="RdBu_r", label="cosine")
        ax.set_title(f"Words of mask {self.mask}", fontsize="medium")

    def _draw_offsets(self, ax: Any, order: Any) -> None:
        offsets = self.reading.offsets[order]
        largest = float(np.abs(offsets).max()) or 1.0
        names = [_short(name) for name in self.reading.relation_names]
        self._draw_heat_map(ax, offsets, names, largest, cmap="PuOr_r", label="offset")
        ax.set_title("Preferred relations", fontsize="medium")

    def _draw_heat_map(
        self, ax: Any, values: Any, names: list[str], largest: float, *, cmap: str, label: str
    ) -> None:
        """Draw a row for each word; of many columns, those in which words differ most."""
        shown = _most_different(values, 20)
        image = ax.imshow(
            values[:, shown],
            cmap=cmap,
            vmin=-largest,
            vmax=largest,
            aspect="auto",
            interpolation="none",
        )
        self.figure_.colorbar(image, ax=ax, location="left", label=label, shrink=0.8)
        is_long = max(len(names[i]) for i in shown) * len(shown) > 40
        ax.set_xticks(
            range(len(shown)),
            [names[i] for i in shown],
            rotation=90 if is_long else 0,
            fontsize="small" if is_long else "medium",
        )
        ax.set_yticks([])

    def _draw_histogram(self, ax: Any, order: Any) -> None:
        ax.barh(range(len(order)), self.reading.histogram[order], color=STRONG)
        ax.set_ylim(len(order) - 0.5, -0.5)
        ax.set_yticks(range(len(order)), [f"word {i}" for i in order], fontsize="small")
        ax.set_xlabel("members of an egonet")
        ax.set_title("Learned histogram", fontsize="medium")


def _short(relation_name: str) -> str:
    """Return the name of a relation in fewer letters, as it is written along an axis."""
    return relation_name.replace(" in a ring of ", ", ring ").replace(" outside rings", ", no ring")


def _most_different(words: Any, n_most: int) -> Any:
    """Return the inputs to which words are most similar or opposed, in their order."""
    return np.sort(np.argsort(-np.abs(words).max(axis=0), kind="stable")[:n_most])
