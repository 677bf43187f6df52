"""Formulas as MathML, which browsers draw by themselves: no script, no font, no network."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

# A fraction of two digits without braces, which docutils takes for a numerator of two digits.
SHORT_FRACTION = re.compile(r"(\\[td]?frac)\s*(\d)\s*(\d)")
# Dots whose place LaTeX finds out by itself, which docutils does not know: those of a list.
DOTS = re.compile(r"\\dots(?![a-zA-Z])")

logger = logging.getLogger(__name__)


def to_mathml(formula: str, *, is_block: bool = False) -> str:
    """A formula in LaTeX as MathML; several lines are aligned at their ampersands."""
    formula = SHORT_FRACTION.sub(r"\1{\2}{\3}", formula)
    formula = DOTS.sub(r"\\dotsc", formula)
    if is_block and "\\\\" in formula and "\\begin" not in formula:
        formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
    mathml = tex2mathml(formula, as_block=is_block)
    # In the cells of a table sums would be small, with what they run over beside them.
    return mathml.replace("<mtable", '<mtable displaystyle="true"') if is_block else mathml


def render(translator: Any, node: nodes.Element, *, is_block: bool) -> None:
    formula = node.astext()
    try:
        translator.body.append(to_mathml(formula, is_block=is_block))
    except MathError as error:
        logger.warning("a formula cannot be drawn: %s: %s", error, formula, location=node)
        translator.body.append(f"<code>{translator.encode(formula)}</code>")
    raise nodes.SkipNode


def visit_math(translator: Any, node: nodes.math) -> None:
    render(translator, node, is_block=False)


def visit_math_block(translator: Any, node: nodes.math_block) -> None:
    render(translator, node, is_block=True)


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
