"""A figure of scores against costs, one panel per data set."""

from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, NullFormatter
from scipy import stats

from benchmarks import protocol
from benchmarks.figures import save
from benchmarks.labels import place_labels
from benchmarks.ranking import (
    DEFAULTS,
    REFERENCE,
    cost,
    is_on_front,
    label,
    n_folds,
    on_shared_folds,
    scores,
)

OURS, FRONT, OTHER = "#0072B2", "#222222", "#8a8a8a"  # everybody can tell blue from grays
MARKERS = {"network": "o", "kernel": "s", "baseline": "^"}


def draw_pareto(fits) -> Path:
    """Scores against CPU seconds, on the folds that all methods have."""
    figure, axes = plt.subplots(4, 2, figsize=(11, 15))
    figure.subplots_adjust(0.065, 0.04, 0.985, 0.975, wspace=0.15, hspace=0.3)
    panels = [
        draw_panel(ax, fits, name) for ax, name in zip(axes.flat, protocol.SETS, strict=False)
    ]
    for ax in axes.flat[len(protocol.SETS) :]:
        draw_key(ax)
    figure.canvas.draw()  # now limits are final, and labels can find their places
    for panel in panels:
        if panel is not None:
            write_labels(*panel)
    return save(figure, "pareto.png")


def draw_panel(ax, fits, name):
    """Points, error bars and front; returns what their labels need."""
    shared = on_shared_folds(fits, name, variants=(DEFAULTS,))
    if not shared:
        return ax.set_axis_off()
    methods = list(shared)
    is_accuracy = protocol.has_classes(name)
    values = [scores(own, name) for own in shared.values()]
    means = np.array([value.mean() for value in values])
    errors = np.array([stats.sem(value) if len(value) > 1 else 0.0 for value in values])
    costs = np.array([cost(own) for own in shared.values()])
    on_front = is_on_front(costs, means if is_accuracy else -means)
    colors = [color_of(*pair) for pair in zip(methods, on_front, strict=True)]
    for i, method in enumerate(methods):
        ax.errorbar(costs[i], means[i], errors[i], color=colors[i], alpha=0.3, linewidth=1.2)
        ax.plot(costs[i], means[i], **style_of(method, colors[i]))
    ax.set_xscale("log")
    ax.margins(x=0.14, y=0.08)
    ax.set_xlim(ax.get_xlim())  # fixed, so that the front can end at the border
    if not is_accuracy:
        ax.invert_yaxis()
    # A staircase: the best score that can be had at a cost.
    order = np.flatnonzero(on_front)[np.argsort(costs[on_front])]
    front = np.column_stack([costs[order].repeat(2)[1:], means[order].repeat(2)[:-1]])
    front = np.vstack([front, [ax.get_xlim()[1], means[order[-1]]]])
    ax.plot(*front.T, color=FRONT, linewidth=1, alpha=0.35, zorder=2)
    title = f"{name}, {n_folds(shared)}" if is_accuracy else name
    ax.set_title(title, loc="left", fontweight="bold", fontsize=11)
    ax.set_xlabel("CPU seconds per fold", fontsize=8.5)
    ax.set_ylabel("accuracy in %" if is_accuracy else "mean absolute error", fontsize=8.5)
    tidy(ax)
    names = [label(method, name) for method in methods]
    return ax, np.column_stack([costs, means]), errors, front, names, colors


def color_of(method, is_front):
    return OURS if method.startswith(REFERENCE) else FRONT if is_front else OTHER


def style_of(method, color):
    """A large dot for LoFI, an empty one for its defaults, and small ones for others."""
    is_ours, is_empty = method.startswith(REFERENCE), method == DEFAULTS
    return {
        "marker": MARKERS[protocol.METHODS[method].family],
        "markersize": 9 if is_ours else 5.5,
        "markerfacecolor": "white" if is_empty else color,
        "markeredgecolor": color if is_empty else "white",
        "markeredgewidth": 1.7 if is_empty else 0.7,
        "linestyle": "none",
        "zorder": 4 if is_ours else 3,
    }


def write_labels(ax, points, errors, front, names, colors):
    pixels = ax.transData.transform(points)
    bars = [ax.transData.transform(points + np.outer(errors, [0, sign])) for sign in (-1, 1)]
    bars = np.hstack([np.minimum(*bars), np.maximum(*bars)])
    corners = ax.transData.transform(front)
    lines = [np.linspace(a, b, 40) for a, b in pairwise(corners)]
    # LoFI first, and then those with the nearest neighbors, which have the least choice.
    distances = np.linalg.norm(pixels[:, None] - pixels, axis=-1)
    nearest = np.sort(distances, axis=1)[:, :3].sum(axis=1)
    order = sorted(range(len(names)), key=lambda i: (colors[i] != OURS, nearest[i]))
    texts = [
        ax.text(
            0.5, 0.5, names[i], transform=ax.transAxes, ha="center", va="center", zorder=5,
            color="#606060" if colors[i] == OTHER else colors[i],
            fontsize=9 if colors[i] == OURS else 7.5,
            fontweight="bold" if colors[i] == OURS else "normal",
            path_effects=[withStroke(linewidth=2, foreground="white", alpha=0.8)],
        )
        for i in order
    ]  # fmt: skip
    dots = np.hstack([pixels - 5, pixels + 5])
    place_labels(ax, pixels[order], texts, np.vstack([dots, bars]), lines)


def tidy(ax):
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#bbbbbb")
    ax.tick_params(which="both", labelsize=8, color="#bbbbbb")
    low, high = ax.get_xlim()
    ax.xaxis.set_major_locator(LogLocator(subs=(1,) if high / low > 300 else (1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="y", color="#eeeeee", linewidth=0.8)
    ax.set_axisbelow(True)


def draw_key(ax):
    """How to read the figure, in the place of a panel."""
    ax.set_axis_off()

    def entry(text, **style):
        return Line2D([], [], label=text, **style)

    dot = {"linestyle": "none", "markeredgecolor": "white"}
    entries = [
        entry("LoFI, best of its grid", color=OURS, marker="o", markersize=9, **dot),
        entry("LoFI, defaults: no search", color=OURS, marker="o", markersize=8,
              markerfacecolor="white", markeredgewidth=1.7, linestyle="none"),
        entry("Pareto front: nobody is both cheaper and better", color=FRONT, marker="o",
              markersize=5.5, markeredgecolor="white", linewidth=1),
        entry("network", color=OTHER, marker=MARKERS["network"], **dot),
        entry("kernel machine", color=OTHER, marker=MARKERS["kernel"], **dot),
        entry("baseline that learns no structure", color=OTHER, marker=MARKERS["baseline"], **dot),
    ]  # fmt: skip
    legend = ax.legend(
        handles=entries, loc="upper left", frameon=False, fontsize=9.5, labelspacing=0.9,
        bbox_to_anchor=(0, 0.97), title="Up and to the left is better", alignment="left",
    )  # fmt: skip
    legend.get_title().set(fontweight="bold", fontsize=11)
    ax.text(
        0.02, 0.2,
        "The cost is that of all configurations of a method's grid.\n"
        "Bars are standard errors over the folds; ZINC has one split,\n"
        "and its axis points down. (bonds): also sees types of edges.",
        transform=ax.transAxes, fontsize=9, color="#444444", va="center", linespacing=1.5,
    )  # fmt: skip
