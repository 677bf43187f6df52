"""The examples in chapters, and where the gallery has their pages.

The gallery runs copies, because examples write their figures where they are. Nothing here needs
Sphinx, so that tests can read it.
"""

import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "examples"

# Chapters of the gallery, each with its folder, its title, what it is about, and its examples.
CHAPTERS = {
    "start": (
        "First steps",
        "Fit, compare and choose.",
        ("plot_first_steps", "plot_which_estimator", "plot_compare_with_kernels", "plot_search"),
    ),
    "data": (
        "Graphs of all kinds",
        "Molecules, tables and graphs of other libraries; graphs without targets.",
        ("plot_molecules", "plot_other_forms", "plot_graphs_without_labels", "plot_multitask"),
    ),
    "understand": (
        "Understand a model",
        "What networks see, what they have learned, and how sure they are.",
        (
            "plot_lofi_layer",
            "plot_explain_predictions",
            "plot_read_a_mask",
            "plot_what_networks_see",
            "plot_conformal",
        ),
    ),
    "extend": (
        "Your own networks, and many graphs",
        "A PyTorch module as an estimator, a million graphs, and clusters. The scripts for clusters"
        " are shown without being run.",
        (
            "plot_your_own_network",
            "plot_a_million_graphs",
            "predict_many_files",
            "search_on_a_cluster",
        ),
    ),
}
FOLDER = "auto_examples"

# Figures of several parts are too wide for a thumbnail: the part that says what the example is
# about, by its left, upper, right and lower end as shares of the figure.
THUMBNAILS = {
    "plot_first_steps": (0.5, 0, 1, 1),
    "plot_which_estimator": (0, 0, 0.7, 1),
    "plot_compare_with_kernels": (0, 0.12, 0.75, 1),
    "plot_molecules": (0.03, 0.02, 0.31, 0.42),
    "plot_graphs_without_labels": (0, 0, 0.53, 1),
    "plot_lofi_layer": (0, 0, 0.66, 1),
    "plot_explain_predictions": (0.02, 0.5, 0.3, 1),
    "plot_read_a_mask": (0.796, 0, 1, 0.42),
    "plot_what_networks_see": (0, 0.036, 0.694, 0.485),
    "plot_conformal": (0, 0, 0.5, 1),
    "plot_your_own_network": (0, 0, 0.83, 1),
}
INTRODUCTION = """\
Examples
========

Short scripts, each with one story. They run when this site is built, on generated graphs, without
a download.
"""


def examples() -> list[str]:
    """The names of all examples that there are."""
    return sorted(path.stem for path in EXAMPLES.glob("*.py"))


def chapter_of(name: str) -> str:
    """The chapter of an example."""
    for chapter, (_, _, names) in CHAPTERS.items():
        if name in names:
            return chapter
    raise ValueError(
        f"examples/{name}.py is in no chapter of {Path(__file__).name}; name it there."
    )


def page_of_example(name: str) -> str:
    """The page of an example, without its suffix."""
    return f"{FOLDER}/{chapter_of(name)}/{name}"


def picture_of_example(name: str) -> str:
    """The first figure of an example, as the gallery keeps it."""
    return f"{FOLDER}/{chapter_of(name)}/images/sphx_glr_{name}_001.png"


def header(title: str, text: str) -> str:
    """The text at the head of a chapter."""
    return f"{title}\n{'-' * len(title)}\n\n{text}\n"


def copy_examples(folder: Path) -> None:
    """Copy all examples into folders of chapters; what has not changed keeps its time."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "GALLERY_HEADER.rst").write_text(INTRODUCTION, encoding="utf-8")
    for chapter, (title, text, _) in CHAPTERS.items():
        (folder / chapter).mkdir(exist_ok=True)
        (folder / chapter / "GALLERY_HEADER.rst").write_text(header(title, text), encoding="utf-8")
        for old in (folder / chapter).glob("*.py"):
            if old.stem not in examples():
                old.unlink()
    for name in examples():
        shutil.copy2(EXAMPLES / f"{name}.py", folder / chapter_of(name))


def cut_thumbnails(folder: Path, size: tuple[int, int]) -> None:
    """Make thumbnails of parts of figures, after the gallery has made them of whole figures."""
    from PIL import Image, ImageOps

    for name, box in THUMBNAILS.items():
        figure = folder / picture_of_example(name)
        if figure.exists():
            with Image.open(figure) as picture:
                ends = (round(a * b) for a, b in zip(box, picture.size * 2, strict=True))
                part = picture.convert("RGB").crop(tuple(ends))
            thumbnail = figure.parent / "thumb" / f"sphx_glr_{name}_thumb.png"
            ImageOps.pad(part, size, color="white").save(thumbnail)


class InOrderOfChapters:
    """Order of the examples of a chapter, for sphinx-gallery, which calls it with a folder."""

    def __init__(self, folder: str) -> None:
        self.names = [name for _, _, names in CHAPTERS.values() for name in names]

    def __call__(self, file_name: str) -> int:
        """Return the place of an example."""
        return self.names.index(Path(file_name).stem)
