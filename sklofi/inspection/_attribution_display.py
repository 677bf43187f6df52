"""A display of graphs whose nodes are colored by their attributions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_scalar

from sklofi._plotting import draw_graph, import_pyplot, place_on_figure
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._networkx import check_graph_list
from sklofi.inspection._attribution import node_attribution
from sklofi.inspection._fitted import fitted_lofi, node_label_attribute


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
            node_label=node_label_attribute(estimator, graphs),
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
        figure, place = place_on_figure("AttributionDisplay", ax, size)
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
