"""Links of Markdown files: what they lead to in the repository, and what to on the site.

Pages link to files, such as `../examples/plot_first_steps.py`, so that they can be read and
followed without the site. On the site these files are pages of their own. Nothing here needs
Sphinx, so that tests can read it.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from site_tools.gallery import examples, page_of_example, picture_of_example

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"

# Files outside of docs/ that are pages of the site, by the names of these pages.
PROJECT_PAGES = {
    "CHANGELOG.md": "project/changelog",
    "CONTRIBUTING.md": "project/contributing",
    "RELIABILITY.md": "project/reliability",
    "SECURITY.md": "project/security",
    "benchmarks/RESULTS.md": "project/benchmarks",
    "benchmarks/STUDY.md": "project/study",
}
# What has no page of its own but is told on one.
TOLD_ON = {"README.md": "index.md", "examples": "auto_examples/index.rst"}

CODE = re.compile(r"^```.*?^```$|``[^\n]+?``|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")


def without_code(text: str) -> str:
    """Markdown with blanks in place of its code, so that places in it stay the same."""
    return CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def links(text: str) -> Iterator[tuple[str, str]]:
    """The relative links of Markdown, each as a path and an anchor, either of which may be ""."""
    for found in LINK.finditer(without_code(text)):
        if "://" not in found[2] and not found[2].startswith("mailto:"):
            path, _, anchor = found[2].partition("#")
            yield path, anchor


def anchors(text: str) -> set[str]:
    """The anchors of the headings of Markdown, as code hosts and the site name them."""
    lines = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL).splitlines()
    titles = (line.lstrip("#").strip() for line in lines if re.match(r"#+ ", line))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def place_on_site(path: Path) -> Path:
    """Where a file of the repository is on the site, as a path in docs/; itself if it is not."""
    name = path.relative_to(ROOT).as_posix()
    if name in PROJECT_PAGES:
        return DOCS / f"{PROJECT_PAGES[name]}.md"
    if name in TOLD_ON:
        return DOCS / TOLD_ON[name]
    if path.parent == ROOT / "examples" and path.suffix == ".py":
        return DOCS / f"{page_of_example(path.stem)}.rst"
    if path.parent == ROOT / "examples" / "figures":
        example = next(name for name in examples() if name.removeprefix("plot_") == path.stem)
        picture = DOCS / picture_of_example(example)
        return picture if picture.exists() else path  # as it was drawn some time ago
    return path


def for_the_site(text: str, source: Path, target: Path) -> str:
    """Markdown of a file with links that hold on the page that is made of it."""
    code = without_code(text)

    def rewrite(found: re.Match[str]) -> str:
        path, mark, anchor = found[2].partition("#")
        is_in_code = code[found.start()] == " "
        if is_in_code or not path or "://" in path or path.startswith("mailto:"):
            return found[0]
        place = place_on_site((source.parent / path).resolve())
        return f"{found[1]}({Path(os.path.relpath(place, target.parent)).as_posix()}{mark}{anchor})"

    return LINK.sub(rewrite, text)
