"""Displays, which draw what a fitted estimator has learned.

They follow scikit-learn: ``from_estimator`` computes and draws, ``plot`` draws again, ``figure_``
and ``ax_`` are what was drawn on. Half of the lines are docstrings; the three displays share how
they find their place on a figure, so they stay in one module.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Bunch, check_scalar

from sklofi._plotting import draw_graph, import_pyplot
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._networkx import check_graph_list
from sklofi.inspection._attribution import node_attribution
from sklofi.inspection._fitted import fitted_lofi, fitted_member
from sklofi.inspection._masks import best_egonets, mask_importance, read_mask

STRONG, PALE = "#b2182b", "#d6c2c0"


class MaskDisplay:
    """A mask: how much it matters, its words, its histogram, the egonets that fit it.

    Make one with :meth:`from_estimator`. A word has a row in three panels: how similar it is to
    the inputs, what the relations of members to the center add to its logit, and how many
    members the mask expects of it. Without relations there are two. Egonets are drawn with the
    labels of edges, if the network sees them.

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
        The edge attribute that is written on edges.

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
            node_label=_label_attribute(estimator, X),
            edge_label=_edge_label_attribute(estimator, X),
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
        figure, place = _place("MaskDisplay", ax, size)
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
        parts = zip(
            self.ax_["egonets"],
            self.best.egonets,
            self.best.centers,
            self.best.scores,
            self.best.counts,
            strict=True,
        )
        for axes, egonet, center, score, count in parts:
            draw_graph(
                egonet,
                axes,
                node_label=self.node_label,
                label_names=label_names,
                outlined=center,
                edge_label=self.edge_label,
            )
            axes.set_title(f"output {score:.2f}, found {count:,} x", fontsize="small")
        return self

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


class AttributionDisplay:
    """Graphs whose nodes are colored by how much they move the prediction.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    graphs : list of networkx graphs
        The graphs.

    attributions : list of ndarray
        A number for each node of each graph.

    titles : list of str
        What is written above each graph.

    unit : str
        What the numbers are.

    node_label : hashable or None
        The node attribute that is written on nodes.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure.

    ax_ : ndarray of matplotlib Axes
        One for each graph.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> from sklofi.inspection import AttributionDisplay
    >>> graphs, y = make_motif_graphs(100, random_state=0)
    >>> classifier = LoFIClassifier(max_epochs=5, random_state=0).fit(graphs, y)
    >>> display = AttributionDisplay.from_estimator(classifier, graphs[:4], y[:4])
    >>> len(display.ax_)
    4
    """

    def __init__(
        self,
        graphs: list[Any],
        attributions: list[Any],
        titles: list[str],
        *,
        unit: str = "attribution",
        node_label: Hashable | None = "label",
    ) -> None:
        self.graphs = graphs
        self.attributions = attributions
        self.titles = titles
        self.unit = unit
        self.node_label = node_label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        graphs: Any,
        y: Any = None,
        *,
        target: Any = None,
        tol: float = 0.01,
        n_steps: int = 4096,
        label_names: Mapping[Hashable, str] | None = None,
        n_columns: int | None = None,
        ax: Any = None,
    ) -> AttributionDisplay:
        """Explain the predictions of some graphs, and draw them.

        Parameters
        ----------
        estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
            The fitted estimator.

        graphs : list of networkx graphs, or GraphSet
            The graphs, at best not more than about 16.

        y : array-like of shape (n_graphs,) or (n_graphs, n_outputs), default=None
            Their true classes or values, for the titles.

        target : class, int or array-like of shape (n_graphs,), default=None
            The class or output that is explained; see :func:`node_attribution`.

        tol : float, default=0.01
            How exact integrals have to be; see :func:`node_attribution`.

        n_steps : int, default=4096
            The most steps that the path of a graph is divided into.

        label_names : dict, default=None
            What to write in place of node labels.

        n_columns : int, default=None
            Number of graphs side by side; by default at most four.

        ax : matplotlib Axes, default=None
            What to draw in place of; by default on a new figure.

        Returns
        -------
        display : AttributionDisplay
            The display, which holds the figure.
        """
        import_pyplot("AttributionDisplay")
        estimator = fitted_lofi(estimator)
        if y is not None:
            y = estimator._check_data(graphs, y, None, reset=False)[1]
        result = node_attribution(estimator, graphs, target=target, tol=tol, n_steps=n_steps)
        display = cls(
            list(graphs) if isinstance(graphs, GraphSet) else check_graph_list(graphs),
            result.attributions,
            _titles(estimator, graphs, y, result.targets),
            unit=_unit(estimator, target, result.targets),
            node_label=_label_attribute(estimator, graphs),
        )
        return display.plot(label_names=label_names, n_columns=n_columns, ax=ax)

    def plot(
        self,
        *,
        label_names: Mapping[Hashable, str] | None = None,
        n_columns: int | None = None,
        cmap: str = "RdBu_r",
        ax: Any = None,
    ) -> AttributionDisplay:
        """Draw the graphs.

        Parameters
        ----------
        label_names : dict, default=None
            What to write in place of node labels.

        n_columns : int, default=None
            Number of graphs side by side; by default at most four.

        cmap : str, default="RdBu_r"
            A diverging color map; its middle stands for zero.

        ax : matplotlib Axes, default=None
            What to draw in place of; by default on a new figure.

        Returns
        -------
        display : AttributionDisplay
            The display, which holds the figure.
        """
        plt = import_pyplot("AttributionDisplay")
        n_graphs = len(self.graphs)
        if n_columns is None:
            n_columns = min(4, int(np.ceil(np.sqrt(n_graphs))))
        check_scalar(n_columns, "n_columns", Integral, min_val=1)
        n_rows = -(-n_graphs // n_columns)
        size = (1.2 + 3.1 * n_columns, 0.3 + 2.7 * n_rows)
        figure, place = _place("AttributionDisplay", ax, size)
        cells = place.subgridspec(n_rows, n_columns)
        axes = [figure.add_subplot(cells[i // n_columns, i % n_columns]) for i in range(n_graphs)]
        largest = max(float(np.abs(values).max()) for values in self.attributions) or 1.0
        colors = plt.cm.ScalarMappable(plt.Normalize(-largest, largest), cmap)
        for cell, graph, values, title in zip(
            axes, self.graphs, self.attributions, self.titles, strict=True
        ):
            draw_graph(
                graph,
                cell,
                node_label=self.node_label,
                label_names=label_names,
                colors=colors.to_rgba(values),
            )
            cell.set_title(title, fontsize="small")
        figure.colorbar(colors, ax=axes, label=self.unit, shrink=0.9 if n_rows < 3 else 0.5)
        self.figure_, self.ax_ = figure, np.array(axes)
        return self


class TrainingDisplay:
    """Losses of training and validation over the epochs.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    train_loss : array-like of shape (n_epochs,)
        Mean training loss of each epoch.

    valid_loss : array-like of shape (n_epochs,), default=None
        Validation loss after each epoch, NaN where there was no validation part.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure.

    ax_ : matplotlib Axes
        Where the losses are drawn.

    Examples
    --------
    >>> from sklofi import LoFIClassifier
    >>> from sklofi.datasets import make_motif_graphs
    >>> from sklofi.inspection import TrainingDisplay
    >>> graphs, y = make_motif_graphs(100, random_state=0)
    >>> classifier = LoFIClassifier(max_epochs=5, random_state=0).fit(graphs, y)
    >>> TrainingDisplay.from_estimator(classifier).ax_.get_xlabel()
    'epoch'
    """

    def __init__(self, train_loss: Any, valid_loss: Any = None) -> None:
        self.train_loss = train_loss
        self.valid_loss = valid_loss

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> TrainingDisplay:
        """Draw the losses of a fitted estimator.

        Parameters
        ----------
        estimator : LoFIClassifier, LoFIRegressor, or a fitted search for one
            The fitted estimator.

        ax : matplotlib Axes, default=None
            Where to draw; by default on a new figure.

        Returns
        -------
        display : TrainingDisplay
            The display, which holds the figure.
        """
        history = fitted_lofi(estimator).history_
        valid_loss = [epoch.get("valid_loss", np.nan) for epoch in history]
        has_validation = not np.isnan(valid_loss).all()
        return cls(history[:, "train_loss"], valid_loss if has_validation else None).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> TrainingDisplay:
        """Draw the losses.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default on a new figure.

        Returns
        -------
        display : TrainingDisplay
            The display, which holds the figure.
        """
        plt = import_pyplot("TrainingDisplay")
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
        epochs = np.arange(1, 1 + len(self.train_loss))
        ax.plot(epochs, self.train_loss, label="training", color="0.5")
        if self.valid_loss is not None:
            ax.plot(epochs, self.valid_loss, label="validation", color=STRONG)
            best = int(np.nanargmin(self.valid_loss))
            ax.plot(epochs[best], self.valid_loss[best], "o", color=STRONG)
            ax.axvline(epochs[best], color=STRONG, lw=0.8, ls=":")
            ax.annotate(
                f" lowest after epoch {epochs[best]}",
                (epochs[best], 0.97),
                xycoords=("data", "axes fraction"),
                va="top",
                ha="left" if best < len(epochs) / 2 else "right",
                fontsize="small",
            )
        ax.set(xlabel="epoch", ylabel="loss", yscale="log")
        ax.legend(loc="lower left")
        self.figure_, self.ax_ = ax.figure, ax
        return self


def _place(what: str, ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return a figure, and the place on it where several axes can be put."""
    plt = import_pyplot(what)
    if ax is None:
        figure = plt.figure(figsize=size, layout="constrained")
        return figure, figure.add_gridspec(1, 1)[0]
    if not hasattr(ax, "get_subplotspec"):
        raise TypeError(f"ax has to be one matplotlib Axes, got {type(ax).__name__}.")
    ax.set_axis_off()
    if (place := ax.get_subplotspec()) is not None:
        return ax.figure, place
    box = ax.get_position()  # put there by hand
    sides = {"left": box.x0, "right": box.x1, "bottom": box.y0, "top": box.y1}
    return ax.figure, ax.figure.add_gridspec(1, 1, **sides)[0]


def _label_attribute(estimator: Any, X: Any) -> Hashable | None:
    """Return the attribute to write on nodes: what the network sees."""
    by_set = isinstance(X, GraphSet) and estimator.node_label is not None
    label: Hashable | None = X.node_label if by_set else estimator.node_label
    return label


def _edge_label_attribute(estimator: Any, X: Any) -> Hashable | None:
    """Return the attribute to write on edges, None if the network does not see edge labels."""
    encoder = estimator._relation_encoder
    if encoder is None or not encoder.edge_labels:
        return None
    label: Hashable | None = X.edge_label if isinstance(X, GraphSet) else estimator.edge_label
    return label


def _short(relation_name: str) -> str:
    """Return the name of a relation in fewer letters, as it is written along an axis."""
    return relation_name.replace(" in a ring of ", ", ring ").replace(" outside rings", ", no ring")


def _most_different(words: Any, n_most: int) -> Any:
    """Return the inputs to which words are most similar or opposed, in their order."""
    return np.sort(np.argsort(-np.abs(words).max(axis=0), kind="stable")[:n_most])


def _unit(estimator: Any, target: Any, targets: Any) -> str:
    """Return what the attributions of a figure are."""
    if not is_classifier(estimator):
        return "contribution to the prediction"
    scale = "log-odds" if len(estimator.classes_) == 2 else "logits"
    if len(np.unique(targets)) == 1:
        return f"evidence for class {targets[0]} ({scale})"
    which = "predicted" if target is None else "named first"
    return f"evidence for the class {which} ({scale})"


def _titles(estimator: Any, graphs: Any, y: Any, targets: Any) -> list[str]:
    """Return what was predicted, and what is true if that is known."""
    outputs = estimator._outputs(graphs)
    predicted = estimator._predictions(outputs)
    if is_classifier(estimator):
        probabilities = estimator._probabilities(outputs).max(axis=1)
        titles = [
            f"predicted {label} ({probability:.0%})"
            for label, probability in zip(predicted, probabilities, strict=True)
        ]
        if len(np.unique(targets)) > 1 and (targets != predicted).any():
            titles = [f"for {label}: {title}" for label, title in zip(targets, titles, strict=True)]
        true = None if y is None else [str(label) for label in y]
    else:
        rows = np.arange(len(targets))
        shape = (len(targets), -1)
        titles = [f"predicted {value:.3g}" for value in predicted.reshape(shape)[rows, targets]]
        true = None
        if y is not None:
            true = [f"{value:.3g}" for value in y.reshape(shape)[rows, targets]]
    if true is None:
        return titles
    return [f"{title}, true {text}" for title, text in zip(titles, true, strict=True)]
