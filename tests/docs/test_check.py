"""The checks of the site that was built find what they are for."""

import pytest

from site_tools.check import findings

STYLE = "a { background: url(bird.png) }"


def write_site(folder, body, style=STYLE):
    """Two pages and a style; the second page has a heading."""
    (folder / "guide").mkdir()
    (folder / "bird.png").touch()
    (folder / "index.html").write_text(f"<html><body>{body}</body></html>")
    (folder / "guide" / "index.html").write_text('<h1 id="first">x</h1><a href="..">up</a>')
    (folder / "site.css").write_text(style)
    return list(findings(folder))


@pytest.mark.parametrize(
    "body",
    [
        '<a href="guide/index.html#first">x</a> <a href="guide">x</a> <a href="#">x</a>',
        '<p id="here"></p><a href="#here">x</a> <img src="bird.png?1">',
        '<a href="https://elsewhere.test">a link that a reader may click on</a>',
    ],
)
def test_nothing_is_found_on_a_site_that_is_whole(body, tmp_path):
    assert write_site(tmp_path, body) == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('<a href="no.html">x</a>', "index.html links to no.html, which does not exist."),
        (
            '<a href="guide/index.html#last">x</a>',
            "index.html links to guide/index.html#last, which has no such heading.",
        ),
        ('<img src="fish.png">', "index.html links to fish.png, which does not exist."),
        (
            '<script src="//cdn.test/x.js"></script>',
            "index.html loads //cdn.test/x.js from another host.",
        ),
    ],
)
def test_what_leads_nowhere_or_elsewhere_is_found(body, found, tmp_path):
    assert write_site(tmp_path, body) == [found]


def test_styles_that_load_from_elsewhere_are_found(tmp_path):
    (message,) = write_site(tmp_path, "", '@import "https://fonts.test/f.css";')
    assert message.startswith("site.css loads") and "fonts.test" in message


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"\tfrac12 |h - f|_1", "<mn>1</mn>\n    <mn>2</mn>\n  </mfrac>"),
        (r"a &= \sum_{u \in N_v} s(x_u) \\ b &= \bigl( c \bigr)", "<mtable"),
        (r"p = 0, \dots, P", "…"),
    ],
)
def test_formulas_become_mathml(formula, expected):
    pytest.importorskip("docutils", minversion="0.22", reason="older ones know less of LaTeX")
    from site_tools.mathml import to_mathml

    drawn = to_mathml(formula, is_block="&" in formula)
    assert drawn.lstrip().startswith("<math") and expected in drawn
