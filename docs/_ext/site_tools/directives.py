"""The directive that puts a table of capabilities on a page."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from site_tools.capabilities import table


class Capabilities(SphinxDirective):
    """A table of estimators; the argument says of which."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        head, *rows = table(self.arguments[0])
        lines = [".. list-table::", "   :header-rows: 1", "   :class: capabilities", ""]
        names = ([f":class:`~{row[0]}`", *row[1:]] for row in rows)
        for cells in [head, *names]:
            lines += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(cells)]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> None:
    app.add_directive("capabilities", Capabilities)
