"""A display of the losses of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklofi._plotting import STRONG, import_pyplot
from sklofi.inspection._fitted import fitted_lofi


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
