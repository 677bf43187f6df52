"""Progress of a training: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

from sklofi.training._skorch import Callback, NeuralNet


class EpochBar(tqdm):
    """A progress bar in one line, which leaves out parts that do not fit.

    The losses are left out last. No part is cut, because half of a number is another number.
    """

    NARROWEST = 10  # characters of the bar
    LAYOUTS = (
        "{desc}: {percentage:3.0f}%|{bar}| {epochs} [{elapsed}<{remaining}{long_figures}]",
        "{desc}: {percentage:3.0f}%|{bar}| {epochs} [{elapsed}<{remaining}{figures}]",
        "{desc} |{bar}| {epochs} [{elapsed}<{remaining}{figures}]",
        "|{bar}| {epochs} [{elapsed}<{remaining}{figures}]",
        "|{bar}| {epochs} [{remaining}{figures}]",
        "{epochs} [{elapsed}<{remaining}{figures}]",
        "{epochs} [{remaining}{figures}]",
        "{epochs}{figures}",
        "{epochs}",
    )

    def __init__(self, **parameters: Any) -> None:
        self.values: dict[str, float] = {}
        self.room: int | None = None
        self.layout = 0
        super().__init__(dynamic_ncols=True, **parameters)

    def __str__(self) -> str:
        parts = dict(self.format_dict)
        room = parts.pop("ncols")
        del parts["bar_format"]
        parts["epochs"] = f"{self.n}/{self.total}"
        parts["long_figures"] = "".join(f", {name}={x:.4g}" for name, x in self.values.items())
        short = {"valid_score": "score", "valid_loss": "valid", "train_loss": "train"}
        parts["figures"] = "".join(f", {short[name]}={x:.3g}" for name, x in self.values.items())
        if room != self.room:
            self.room, self.layout = room, 0
        # A layout that did not fit is not tried again: the bar would flicker with the digits of
        # the losses.
        while room and self.layout < len(self.LAYOUTS) - 1:
            narrowest = self.LAYOUTS[self.layout].replace("{bar}", " " * self.NARROWEST)
            if len(self.format_meter(**parts, bar_format=narrowest)) <= room:
                break
            self.layout += 1
        return str(self.format_meter(**parts, ncols=room, bar_format=self.LAYOUTS[self.layout]))


class ProgressLog(Callback):
    """A progress bar on a terminal, plain lines elsewhere."""

    N_LINES = 20
    remembered = ()  # in a checkpoint

    def __init__(self, title: str, max_epochs: int, verbose: int) -> None:
        self.title = title
        self.max_epochs = max_epochs
        self.every_epoch = verbose > 1
        self.line_every = 1 if self.every_epoch else max(1, max_epochs // self.N_LINES)

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        self.first_epoch = len(net.history)
        self.bar = None
        if sys.stderr.isatty() and not self.every_epoch:
            self.bar = EpochBar(total=self.max_epochs, desc=self.title)

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        epoch = len(net.history) - self.first_epoch
        row = net.history[-1]
        names = ("valid_score", "valid_loss", "train_loss")
        values = {name: row[name] for name in names if name in row}
        if self.bar is not None:
            self.bar.values = values
            self.bar.update(epoch - self.bar.n)
        elif epoch == 1 or epoch % self.line_every == 0:
            figures = ", ".join(f"{name}={x:.4g}" for name, x in values.items())
            print(f"[{self.title}] epoch {epoch}/{self.max_epochs}: {figures}")

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        if self.bar is not None:
            self.bar.close()
        n_epochs = len(net.history) - self.first_epoch
        if n_epochs < self.max_epochs:
            print(f"[{self.title}] stopped after epoch {n_epochs} of {self.max_epochs}")
