"""The figures of RESULTS.md: published ablations repeated, and learning curves."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.protocol import METHODS, N_FOLDS, Run

FOLDER = Path(__file__).parent / "results"
SETS = ("NCI1", "PROTEINS")
LINES = {"masks": "n_masks", "words": "n_words"}


def accuracies(run: Run, name: str, grid: str) -> np.ndarray:
    """Test accuracy in %, of shape (n_folds, n_configurations), in folds that have them all."""
    candidates = METHODS["LoFI"].configurations(name, grid)
    fits = [run.fits(name, "LoFI", fold, candidates) for fold in range(N_FOLDS)]
    rows = [[100 * fit["test"] for fit in of_fold] for of_fold in fits if of_fold]
    return np.array(rows).reshape(-1, len(candidates))


def draw_depth(ax, run, name):
    grid = METHODS["LoFI"].grids["depth"]
    layers, radii = grid["n_layers"], grid["radius"]
    folds = accuracies(run, name, "depth")
    if not len(folds):
        return ax.set_axis_off()
    values = folds.mean(axis=0).reshape(len(layers), len(radii)).T  # the radius varies fastest
    image = ax.imshow(values, cmap="viridis", aspect="auto", origin="lower")
    for (row, column), value in np.ndenumerate(values):
        color = "white" if value < (values.min() + values.max()) / 2 else "black"
        ax.text(column, row, f"{value:.1f}", ha="center", va="center", color=color)
    title = f"{name}: layers and radius, {len(folds)} folds"
    ax.set(xlabel="layers", ylabel="radius", title=title)
    ax.set_xticks(range(len(layers)), layers)
    ax.set_yticks(range(len(radii)), radii)
    ax.figure.colorbar(image, ax=ax, label="test accuracy in %")


def draw_line(ax, run, name, grid):
    parameter = LINES[grid]
    numbers = METHODS["LoFI"].grids[grid][parameter]
    folds = accuracies(run, name, grid)
    if not len(folds):
        return ax.set_axis_off()
    error = folds.std(axis=0, ddof=1) / len(folds) ** 0.5 if len(folds) > 1 else None
    ax.errorbar(range(len(numbers)), folds.mean(axis=0), error, fmt="o-", capsize=4)
    ax.set_xticks(range(len(numbers)), numbers)
    ax.set(xlabel=grid, ylabel="test accuracy in %", title=f"{name}: {grid}, {len(folds)} folds")
    ax.grid(alpha=0.3)


def draw_ablations(run: Run) -> Path:
    figure, axes = plt.subplots(2, 3, figsize=(12, 6.5), layout="constrained")
    for row, name in zip(axes, SETS, strict=True):
        draw_depth(row[0], run, name)
        for ax, grid in zip(row[1:], LINES, strict=True):
            draw_line(ax, run, name, grid)
        drawn = [ax for ax in row[1:] if ax.axison]
        limits = np.array([ax.get_ylim() for ax in drawn]).reshape(-1, 2)
        for ax in drawn:
            ax.set_ylim(limits.min(), limits.max())
    return save(figure, "ablations.png")


def draw_learning_curves(run: Run) -> Path:
    figure, axes = plt.subplots(2, 2, figsize=(10, 6.5), layout="constrained", sharex="row")
    for row, name in zip(axes, SETS, strict=True):
        fits = [run.fits(name, "LoFI, defaults", fold, [{}]) for fold in range(N_FOLDS)]
        fits = [fit[0] for fit in fits if fit]
        panels = [["train_loss", "valid_loss"], ["valid_score"]]
        for ax, keys in zip(row, panels, strict=True):
            for key, color in zip(keys, ["tab:blue", "tab:orange"], strict=False):
                for i, fit in enumerate(fits):
                    label = key.replace("train", "training").replace("valid", "validation")
                    label = label.replace("_score", " accuracy").replace("_", " ")
                    ax.plot(
                        np.arange(1, len(fit[key]) + 1), fit[key], color=color, alpha=0.45,
                        linewidth=1, label=label if i == 0 else None,
                    )  # fmt: skip
            ax.set(xlabel="epoch", title=f"{name}, a line per fold")
            ax.grid(alpha=0.3)
            if fits:
                ax.legend()
    return save(figure, "learning_curves.png")


def save(figure, name: str) -> Path:
    path = FOLDER / name
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
