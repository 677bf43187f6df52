"""Checks of the site as it was built: every link and picture is there, and no other host is asked.

Sphinx checks references before it writes pages. This reads what it has written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What a browser loads by itself, as opposed to what a reader clicks on.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
STYLE_LOADS = re.compile(r"(?:@import\s+|url\()[\"']?(?:https?:)?//[^\"')\s]+")


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag says."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif value and (tag, name) in LOADED:
                self.loaded.append(value)
            elif value and (tag, name) == ("a", "href"):
                self.links.append(value)


def findings(folder: Path) -> Iterator[str]:
    """What is wrong with a site, a sentence each."""
    files = (path for path in folder.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    for path, page in pages.items():
        name = path.relative_to(folder)
        for address in page.loaded:
            if is_elsewhere(address):
                yield f"{name} loads {address} from another host."
        for address in page.links + page.loaded:
            if not is_elsewhere(address):
                yield from (
                    f"{name} links to {address}, {why}" for why in missing(address, path, pages)
                )
    for path in folder.rglob("*.css"):
        for found in STYLE_LOADS.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(folder)} loads {found} from another host."


def is_elsewhere(address: str) -> bool:
    """Whether an address is not one of the site."""
    parts = urlsplit(address)
    return bool(parts.scheme and parts.scheme != "file") or bool(parts.netloc)


def missing(address: str, page: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Why an address of the site leads nowhere, if it does."""
    parts = urlsplit(address)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        yield "which does not exist."
    elif parts.fragment and target in pages:
        if unquote(parts.fragment) not in pages[target].anchors:
            yield "which has no such heading."


def check(app: Sphinx, exception: Exception | None) -> None:
    """End the build with an error if something is wrong."""
    from sphinx.errors import ExtensionError

    if exception is None and app.builder.format == "html":
        found = sorted(set(findings(Path(app.outdir).resolve())))
        if found:
            raise ExtensionError("\n".join(["The site is not whole:", *found]))


def setup(app: Sphinx) -> None:
    app.connect("build-finished", check, priority=900)
