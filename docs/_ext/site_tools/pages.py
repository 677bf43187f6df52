"""Pages that are made of files outside of docs/, and links that lead to them."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from site_tools.gallery import cut_thumbnails
from site_tools.links import PROJECT_PAGES, ROOT, for_the_site
from site_tools.reference import write_if_changed

# Blanks that stand before a sign, or between a number and its error, at which no line may end.
BLANKS_IN_NUMBERS = re.compile(r"(?<=\d) (?=[±%])|(?<=±) (?=\d)")


def write_pages(app: Sphinx, config: Config) -> None:
    """Write the pages of the project before Sphinx looks for pages."""
    for name, page in PROJECT_PAGES.items():
        source, target = ROOT / name, Path(app.srcdir) / f"{page}.md"
        text = for_the_site(source.read_text(encoding="utf-8"), source, target)
        write_if_changed(target, text)


def rewrite_links(app: Sphinx, page: str, source: list[str]) -> None:
    """Let links of the guide to files of the repository lead to pages of the site."""
    path = Path(app.env.doc2path(page))
    if path.suffix == ".md" and path.parent == Path(app.srcdir):
        source[0] = for_the_site(source[0], path, path)


def write_thumbnails(app: Sphinx) -> None:
    """Cut the thumbnails of the gallery, which has run by now."""
    cut_thumbnails(Path(app.srcdir), app.config.sphinx_gallery_conf["thumbnail_size"])


def strip_blocks(app: Sphinx, doctree: nodes.document) -> None:
    """Leave out the blank line that ends a doctest before its fence."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            block.rawsource = block.rawsource.rstrip("\n")
            block.children = [nodes.Text(block.rawsource)]


def keep_numbers_together(app: Sphinx, doctree: nodes.document) -> None:
    """Let no line end within "87.8 ± 2.3" or "90 %"."""
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, (nodes.paragraph, nodes.strong, nodes.emphasis)):
            text.parent.replace(text, nodes.Text(BLANKS_IN_NUMBERS.sub("\u00a0", text)))


def setup(app: Sphinx) -> None:
    app.connect("config-inited", write_pages)
    app.connect("builder-inited", write_thumbnails, priority=900)
    app.connect("source-read", rewrite_links)
    app.connect("doctree-read", strip_blocks)
    app.connect("doctree-read", keep_numbers_together)
