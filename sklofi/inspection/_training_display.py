"""A display of the losses of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklofi._plotting import STRONG, import_pyplot
from sklofi.inspection._fitted import fitted_network


class TrainingDisplay:
    """Losses of training and validation over the epochs.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    train_loss : array-like of shape (n_epochs,), or list of these
        Mean training loss of each epoch; of several networks, a curve for each.

    valid_loss : array-like of shape (n_epochs,), or list of these, default=None
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
        """Draw the losses of a fitted estimator, of each network if it has several.

        Parameters
        ----------
        estimator : estimator that trains networks, or a fitted search for one
            The fitted estimator: LoFI, one of its peers, or one of your own.

        ax : matplotlib Axes, default=None
            Where to draw; by default on a new figure.

        Returns
        -------
        display : TrainingDisplay
            The display, which holds the figure.
        """
        histories = [member.history_ for member in fitted_network(estimator).members_]
        train = [history[:, "train_loss"] for history in histories]
        valid = [[row.get("valid_loss", np.nan) for row in history] for history in histories]
        return cls(train, valid).plot(ax=ax)

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
        train, valid = _curves(self.train_loss), _curves(self.valid_loss)
        for label, color, curves in (("training", "0.5", train), ("validation", STRONG, valid)):
            for i, losses in enumerate(curves):
                ax.plot(
                    np.arange(1, 1 + len(losses)),
                    losses,
                    label=None if i else label,
                    color=color,
                    alpha=1 if len(train) == 1 else 0.5,
                )
        _mark_lowest(ax, valid)
        ax.set(xlabel="epoch", ylabel="loss", yscale="log")
        ax.legend(loc="lower left")
        self.figure_, self.ax_ = ax.figure, ax
        return self


def _curves(losses: Any) -> list[Any]:
    """Return the losses of one network, or of several, as a list of curves that can be drawn."""
    if losses is None:
        return []
    curves = [losses] if np.ndim(losses[0]) == 0 else losses
    return [curve for curve in curves if not np.isnan(curve).all()]


def _mark_lowest(ax: Any, curves: list[Any]) -> None:
    """Mark the lowest point of each curve, and say after which epochs they are."""
    if not curves:
        return
    lowest = [int(np.nanargmin(losses)) for losses in curves]
    for losses, best in zip(curves, lowest, strict=True):
        ax.plot(1 + best, losses[best], "o", color=STRONG)
    first, last = 1 + min(lowest), 1 + max(lowest)
    if first == last:
        ax.axvline(first, color=STRONG, lw=0.8, ls=":")
        text = f" lowest after epoch {first}"
    else:
        text = f" lowest after epochs {first} to {last}"
    ax.annotate(
        text,
        (first, 0.97),
        xycoords=("data", "axes fraction"),
        va="top",
        ha="left" if first <= max(map(len, curves)) / 2 else "right",
        fontsize="small",
    )
