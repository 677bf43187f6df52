"""The directive that puts a table of capabilities on a page."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from site_tools.capabilities import BY_OPTION, YES, table

MARKS = {YES: "✓", BY_OPTION: "(✓)"}


def to_markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown, with names that link to the reference."""
    marked = ([name, *(MARKS.get(cell, cell) for cell in cells)] for name, *cells in rows)
    named = [[f"{{py:class}}`~{name}`", *cells] for name, *cells in marked]
    lines = [head, ["---", *[":-:"] * (len(head) - 1)], *named]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


class Capabilities(SphinxDirective):
    """A table of estimators on a page in Markdown; the argument says of which."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        head, *rows = table(self.arguments[0])
        found = self.parse_text_to_nodes(to_markdown(head, rows))
        for node in found:
            node["classes"].append("capabilities")
        return found


def setup(app: Sphinx) -> None:
    app.add_directive("capabilities", Capabilities)
