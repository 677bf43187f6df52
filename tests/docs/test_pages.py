"""The sources of the site hold together, without building it."""

import re
from pathlib import Path

import pytest

from site_tools.gallery import CHAPTERS, THUMBNAILS, examples, page_of_example
from site_tools.links import (
    DOCS,
    PROJECT_PAGES,
    ROOT,
    anchors,
    for_the_site,
    links,
    place_on_site,
)

GUIDE = sorted(DOCS.glob("*.md"))
DOCUMENTS = [*GUIDE, *(ROOT / name for name in PROJECT_PAGES), ROOT / "README.md"]
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def in_toctrees(page):
    """The pages that a page names in its tables of contents."""
    for block in TOCTREE.findall(page.read_text(encoding="utf-8")):
        lines = (line for line in block.splitlines() if line and not line.startswith(":"))
        yield from (re.sub(r".*<(.*)>", r"\1", line) for line in lines)  # without titles


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings(document):
    for path, anchor in links(document.read_text(encoding="utf-8")):
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"there is no {path}"
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"no #{anchor} in {path}"


def test_every_page_is_in_one_table_of_contents():
    listed = [page for source in GUIDE for page in in_toctrees(source)]
    generated = {"auto_examples/index", "api/index"}
    pages = {path.stem for path in GUIDE} - {"index"} | set(PROJECT_PAGES.values()) | generated
    assert sorted(listed) == sorted(pages)


def test_every_example_is_in_one_chapter_of_the_gallery():
    named = [name for _, _, names in CHAPTERS.values() for name in names]
    assert len(named) == len(set(named))
    assert set(examples()) == set(named)
    assert set(THUMBNAILS) <= set(named)


def test_links_to_files_become_links_to_pages():
    page = DOCS / "networks.md"
    text = "[a](../examples/plot_search.py) [b](graphs.md#x) `[c](../README.md)` [d](../LICENSE)"
    assert for_the_site(text, page, page) == (
        "[a](auto_examples/start/plot_search.rst) [b](graphs.md#x) `[c](../README.md)`"
        " [d](../LICENSE)"
    )
    text = "[a](docs/graphs.md) [b](benchmarks/RESULTS.md)"
    place = place_on_site(ROOT / "CHANGELOG.md")
    assert (
        for_the_site(text, ROOT / "CHANGELOG.md", place) == "[a](../graphs.md) [b](benchmarks.md)"
    )


def test_blocks_of_the_guide_are_tested():
    """Python is a doctest; only data, commands and tables of contents are not."""
    for page in GUIDE:
        for kind, block in re.findall(
            r"^```(\S*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        ):
            if kind == "python":
                assert block.startswith(">>> "), f"{page.name}: {block}"
            else:
                # tests/command runs what is in a console
                known = {"", "sh", "console", "text", "{toctree}", "{capabilities}"}
                assert kind in known, f"{page.name}: {kind}"


def test_pages_of_examples_have_the_names_of_the_gallery():
    assert page_of_example("plot_first_steps") == "auto_examples/start/plot_first_steps"
    with pytest.raises(ValueError, match=r"plot_nothing\.py is in no chapter"):
        page_of_example("plot_nothing")


def test_the_site_asks_no_other_host():
    """Neither its settings nor its styles; what the theme brings is checked by `make docs`."""
    for path in [DOCS / "conf.py", *Path(DOCS / "_static").iterdir()]:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "//" not in text
