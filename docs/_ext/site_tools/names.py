"""Public names in the guide become links to the reference, once on each page.

Pages write `GraphSet` as code, so that they read well without the site. Sphinx is imported where it
is used, so that tests can ask for targets without it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from site_tools.doors import homes, public_names

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

HOMES = homes()
# Pages use these words for other things, too: they are links only if the module stands before them.
NOT_ALONE = {"choice", "count", "flag", "load", "parameter", "pool", "width"}


def target_of(code: str) -> str | None:
    """The public name that code on a page begins with, in full; None if it is no public name."""
    name = code.split("(")[0]
    if name in public_names():
        return name
    module = max((m for m in public_names() if name.startswith(f"{m}.")), key=len, default="")
    first, _, rest = name.removeprefix(f"{module}.").partition(".")
    if first not in HOMES or (first in NOT_ALONE and not module):
        return None
    found = getattr(import_module(HOMES[first]), first)
    if rest and (rest.startswith("_") or not hasattr(found, rest)):
        return None
    return ".".join(filter(None, (HOMES[first], first, rest)))


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Link the first mention of each public name on a page of the guide."""
    from docutils import nodes
    from sphinx.addnodes import pending_xref

    page = Path(app.env.doc2path(app.env.docname))
    if page.suffix != ".md" or page.parent != Path(app.srcdir):
        return
    linked = set()
    for code in list(doctree.findall(nodes.literal)):
        target = target_of(code.astext())
        if target and target not in linked and not is_in_link_or_title(code):
            linked.add(target)
            kind = "mod" if target in public_names() else "obj"
            link = pending_xref("", refdomain="py", reftype=kind, reftarget=target)
            link["refexplicit"], link["refdoc"] = True, app.env.docname
            code.replace_self(link)
            link += code


def is_in_link_or_title(node: nodes.Element) -> bool:
    """Whether a node is where a link would be wrong."""
    from docutils import nodes
    from sphinx.addnodes import pending_xref

    while node is not None:
        if isinstance(node, (nodes.reference, nodes.title, pending_xref)):
            return True
        node = node.parent
    return False


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", link_names)
