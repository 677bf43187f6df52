"""The figures of RESULTS.md: published ablations repeated, and learning curves."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.protocol import METHODS, N_FOLDS, Run

FOLDER = Path(__file__).parent / "results"
SETS = ("NCI1", "PROTEINS")
LINES = {"masks": "n_masks", "words": "n_words"}


def accuracies(run: Run, name: str, configuration: dict) -> np.ndarray:
    """Test accuracy in % of a configuration in all folds that have it."""
    fits = [run.fits(name, "LoFI", fold, [configuration]) for fold in range(N_FOLDS)]
    return np.array([100 * fit[0]["test"] for fit in fits if fit])


def with_error(values: np.ndarray) -> tuple[float, float]:
    if not len(values):
        return np.nan, np.nan
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return values.mean(), error


def draw_depth(ax, run, name):
    grid = METHODS["LoFI"].grids["depth"]
    layers, radii = grid["n_layers"], grid["radius"]
    cells = [[{"n_layers": n, "radius": radius} for n in layers] for radius in radii]
    values = np.array([[with_error(accuracies(run, name, c))[0] for c in row] for row in cells])
    image = ax.imshow(values, cmap="viridis", aspect="auto", origin="lower")
    middle = np.nanmean(values) if np.isfinite(values).any() else 0
    for row, column in np.ndindex(values.shape):
        value = values[row, column]
        if np.isfinite(value):
            color = "white" if value < middle else "black"
            ax.text(column, row, f"{value:.1f}", ha="center", va="center", color=color)
    ax.set(xlabel="layers", ylabel="radius", title=f"{name}: layers and radius")
    ax.set_xticks(range(len(layers)), layers)
    ax.set_yticks(range(len(radii)), radii)
    ax.figure.colorbar(image, ax=ax, label="test accuracy in %")


def draw_line(ax, run, name, grid):
    parameter = LINES[grid]
    numbers = METHODS["LoFI"].grids[grid][parameter]
    points = [with_error(accuracies(run, name, {parameter: number})) for number in numbers]
    ax.errorbar(range(len(numbers)), *np.transpose(points), fmt="o-", capsize=4)
    ax.set_xticks(range(len(numbers)), numbers)
    ax.set(xlabel=grid, ylabel="test accuracy in %", title=f"{name}: number of {grid}")
    ax.grid(alpha=0.3)


def draw_ablations(run: Run) -> Path:
    figure, axes = plt.subplots(2, 3, figsize=(12, 6.5), layout="constrained")
    for row, name in zip(axes, SETS, strict=True):
        draw_depth(row[0], run, name)
        for ax, grid in zip(row[1:], LINES, strict=True):
            draw_line(ax, run, name, grid)
        low = min(ax.get_ylim()[0] for ax in row[1:])
        high = max(ax.get_ylim()[1] for ax in row[1:])
        for ax in row[1:]:
            ax.set_ylim(low, high)
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
            ax.legend()
    return save(figure, "learning_curves.png")


def save(figure, name: str) -> Path:
    path = FOLDER / name
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
