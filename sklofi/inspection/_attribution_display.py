"""A display of graphs and molecules whose nodes are colored by their attributions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import Bunch, check_scalar

from sklofi._multilabel import UNKNOWN
from sklofi._plotting import import_pyplot, place_on_figure
from sklofi._validation import check_targets
from sklofi.graphs._input import as_graph_set, original_graphs
from sklofi.graphs._molecules import is_mol, is_molecules, molecules_of
from sklofi.inspection._attribution import node_attribution
from sklofi.inspection._canvas import CELL, LONE_CELL, frame
from sklofi.inspection._edge_attribution import edge_attribution
from sklofi.inspection._fitted import (
    edge_label_attribute,
    fitted_lofi,
    fitted_member,
    node_label_attribute,
)
from sklofi.inspection._graph_drawing import GraphDrawing, all_orders
from sklofi.inspection._molecule_drawing import MoleculeDrawing

# The ends of a color map are too dark for black lines and letters on them.
LIGHT = np.linspace(0.13, 0.87, 256)


class AttributionDisplay:
    """Graphs or molecules, with nodes colored by how much they move the prediction.

    Make one with :meth:`from_estimator`. Molecules are drawn as chemists do. Other graphs are
    drawn so that distances on paper are those in the graph, with labels in nodes that are large
    enough. Labels of edges that are orders of bonds ("single", "double", "triple", "aromatic",
    1, 2, 3 or 1.5) are drawn as lines, and others are written on edges.

    Everything is drawn in vectors, and stays sharp in figures saved as SVG or PDF.

    Parameters
    ----------
    graphs : list of networkx graphs or rdkit.Chem.Mol
        The graphs or molecules.

    attributions : list of ndarray
        A number for each node or atom of each graph.

    titles : list of str
        What is written above each graph.

    unit : str
        What the numbers are.

    node_label : hashable or None
        The node attribute that is written on nodes.

    edge_label : hashable or None
        The edge attribute that is drawn as orders of bonds, or written on edges.

    edge_attributions : Bunch or None
        What :func:`edge_attribution` returns for the same graphs, to color their edges.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure.

    ax_ : ndarray of matplotlib Axes
        One for each graph.

    colorbar_ : matplotlib Colorbar
        What colors stand for, in all graphs.

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
        edge_label: Hashable | None = None,
        edge_attributions: Bunch | None = None,
    ) -> None:
        self.graphs = graphs
        self.attributions = attributions
        self.titles = titles
        self.unit = unit
        self.node_label = node_label
        self.edge_label = edge_label
        self.edge_attributions = edge_attributions

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        graphs: Any,
        y: Any = None,
        *,
        target: Any = None,
        edges: bool | str = "auto",
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

        graphs : list of SMILES, of rdkit.Chem.Mol or of networkx graphs, or GraphSet
            The graphs, at best not more than about 16. A list of graphs of another form that
            the estimator takes is drawn as networkx graphs, and so are the molecules of a
            GraphSet, which has only their graphs.

        y : array-like of shape (n_graphs,) or (n_graphs, n_outputs), default=None
            Their true classes, labels or values, for the titles.

        target : class, int or array-like of shape (n_graphs,), default=None
            The class, label or output that is explained; see :func:`node_attribution`.

        edges : bool or "auto", default="auto"
            Whether edges are colored by :func:`edge_attribution`, too. This is another
            explanation of the same prediction: the numbers of edges sum to the difference
            from the graph without edges, and add nothing to those of nodes. "auto" colors the
            bonds of molecules, if the estimator was fitted with ``radius=1`` and does not
            predict by counts alone.

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
        graphs, drawn = _read(estimator, graphs)
        if y is not None:
            y = _true_targets(estimator, graphs, y)
        precision = {"target": target, "tol": tol, "n_steps": n_steps}
        result = node_attribution(estimator, graphs, **precision)
        of_edges = None
        if _colors_edges(edges, estimator, drawn):
            of_edges = edge_attribution(estimator, graphs, **precision)
        display = cls(
            drawn,
            result.attributions,
            _titles(estimator, graphs, y, result.targets),
            unit=_unit(estimator, target, result.targets),
            node_label=node_label_attribute(estimator, graphs),
            edge_label=edge_label_attribute(fitted_member(estimator), graphs),
            edge_attributions=of_edges,
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
            A diverging color map; its middle stands for zero. The darkest colors at both ends
            are left out, because lines and letters on them could not be read.

        ax : matplotlib Axes, default=None
            What to draw in place of; by default on a new figure.

        Returns
        -------
        display : AttributionDisplay
            The display, which holds the figure.
        """
        plt = import_pyplot("AttributionDisplay")
        self._check()
        n_graphs = len(self.graphs)
        if n_columns is None:
            n_columns = min(4, int(np.ceil(np.sqrt(n_graphs))))
        check_scalar(n_columns, "n_columns", Integral, min_val=1)
        n_rows = -(-n_graphs // n_columns)
        width, height = LONE_CELL if n_graphs == 1 else CELL
        size = (1.2 + width * n_columns, 0.3 + height * n_rows)
        figure, place = place_on_figure("AttributionDisplay", ax, size)
        cells = place.subgridspec(n_rows, n_columns)
        axes = [figure.add_subplot(cells[i // n_columns, i % n_columns]) for i in range(n_graphs)]
        colors = plt.cm.ScalarMappable(*self._color_scale(plt, cmap))
        self._draw(axes, colors, label_names)
        for cell, title in zip(axes, self.titles, strict=True):
            cell.set_title(title, fontsize="small")
        self.colorbar_ = figure.colorbar(
            colors, ax=axes, label=self.unit, shrink=0.9 if n_rows < 3 else 0.5, aspect=25
        )
        self.figure_, self.ax_ = figure, np.array(axes)
        return self

    def _check(self) -> None:
        for i, (graph, values) in enumerate(zip(self.graphs, self.attributions, strict=True)):
            n_nodes = graph.GetNumAtoms() if is_mol(graph) else len(graph)
            if len(values) != n_nodes:
                raise ValueError(f"Graph {i} has {n_nodes} nodes, but {len(values)} attributions.")

    def _color_scale(self, plt: Any, cmap: str) -> tuple[Any, Any]:
        """Return how numbers become colors: zero is in the middle."""
        from matplotlib.colors import ListedColormap

        values = [*self.attributions]
        if self.edge_attributions is not None:
            values += [list(edges.values()) for edges in map(self._edges, range(len(values)))]
        largest = max(float(np.abs(of_graph).max(initial=0)) for of_graph in values) or 1.0
        light = ListedColormap(plt.get_cmap(cmap)(LIGHT), name=f"light {cmap}")
        return plt.Normalize(-largest, largest), light

    def _edges(self, graph: int) -> dict[tuple[int, int], float]:
        """Return the numbers of the edges of a graph; those of parallel edges are added."""
        found: dict[tuple[int, int], float] = {}
        of_edges: Any = self.edge_attributions
        ends, values = np.sort(of_edges.edges[graph], axis=1), of_edges.attributions[graph]
        for (i, j), value in zip(ends.tolist(), values, strict=True):
            found[i, j] = found.get((i, j), 0.0) + float(value)
        return found

    def _draw(self, axes: list[Any], colors: Any, label_names: Any) -> None:
        orders = all_orders((graph for graph in self.graphs if not is_mol(graph)), self.edge_label)
        drawings = [
            MoleculeDrawing(graph)
            if is_mol(graph)
            else GraphDrawing(
                graph,
                node_label=self.node_label,
                edge_label=self.edge_label,
                orders=orders,
                label_names=label_names,
            )
            for graph in self.graphs
        ]
        # Chemists expect bonds of the same length.
        most = 2.0 if all(map(is_mol, self.graphs)) else 1.3
        frame(axes, [drawing.extent for drawing in drawings], most)
        for i, (ax, drawing) in enumerate(zip(axes, drawings, strict=True)):
            edges = None
            if self.edge_attributions is not None:
                numbers = self._edges(i)
                edges = dict(zip(numbers, colors.to_rgba(list(numbers.values())), strict=True))
            drawing.draw(ax, colors=colors.to_rgba(self.attributions[i]), edge_colors=edges)


def _read(estimator: Any, X: Any) -> tuple[Any, list[Any]]:
    """Return what the estimator reads, and what is drawn: molecules as they are read."""
    graphs = as_graph_set(X, **estimator._reading())
    if is_molecules(X):
        return graphs, molecules_of(X, graphs.molecule_options)
    return X, list(original_graphs(X, graphs))


def _colors_edges(edges: Any, estimator: Any, drawn: list[Any]) -> bool:
    """Return whether edges are explained as well."""
    if edges == "auto":
        can_be_explained = estimator._radius == 1 and estimator.counts_share_ < 1
        return can_be_explained and is_mol(drawn[0])
    check_scalar(edges, "edges", bool)
    return bool(edges)


def _true_targets(estimator: Any, graphs: Any, y: Any) -> NDArray[Any]:
    """Return the targets of all graphs, also of those of which nothing is known."""
    y = check_targets(estimator, y, **estimator._target_checks)
    if len(y) != len(graphs):
        raise ValueError(
            f"X has {len(graphs)} graphs, but y has {len(y)} targets; every graph needs one."
        )
    targets: NDArray[Any] = estimator._check_target(y, np.ones(len(y)), reset=False)[0]
    return targets


def _unit(estimator: Any, target: Any, targets: Any) -> str:
    """Return what the attributions of a figure are."""
    if not is_classifier(estimator):
        return "contribution to the prediction"
    if estimator._n_labels is not None:
        which = str(targets[0]) if len(np.unique(targets)) == 1 else "named first"
        return f"evidence for label {which} (log-odds)"
    scale = "log-odds" if len(estimator.classes_) == 2 else "logits"
    if len(np.unique(targets)) == 1:
        return f"evidence for class {targets[0]} ({scale})"
    which = "predicted" if target is None else "named first"
    return f"evidence for the class {which} ({scale})"


def _titles(estimator: Any, graphs: Any, y: Any, targets: Any) -> list[str]:
    """Return what was predicted, and what is true if that is known."""
    outputs = estimator._outputs(graphs)
    predicted = estimator._predictions(outputs)
    if estimator._n_labels is not None:
        rows = np.arange(len(targets))
        chances = estimator._probabilities(outputs)[rows, targets]
        titles = [
            f"label {label}: {chance:.0%}" for label, chance in zip(targets, chances, strict=True)
        ]
        answers = {0: "no", 1: "yes", UNKNOWN: "unknown"}
        true = None if y is None else [answers[label] for label in y[rows, targets].tolist()]
    elif is_classifier(estimator):
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
