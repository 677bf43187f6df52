"""The pages of the reference: one for each room, written from its door, and one for each name.

Sphinx is imported where it is used, so that tests can read the pages without it.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from site_tools.doors import homes, public_names

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment

FOLDER = "api"
HOMES = homes()

# Pages of scikit-learn that the docstrings of its own methods refer to, which estimators inherit.
SCIKIT_LEARN = "https://scikit-learn.org/stable"
THEIR_PAGES = {
    "metadata_routing": "metadata_routing.html",
    "meta-estimator": "glossary.html#term-meta-estimator",
    "df_output_transform": "modules/df_output_transform.html",
    "sphx_glr_auto_examples_miscellaneous_plot_set_output.py": (
        "auto_examples/miscellaneous/plot_set_output.html"
    ),
}

GROUPS = {"Classes": inspect.isclass, "Functions": lambda found: not inspect.isclass(found)}

INDEX = """\
API reference
=============

Every public name, by the module that it is imported from. Names that begin with an underscore are
private and may change.

.. toctree::
   :hidden:

"""


def first_sentence(module: str) -> str:
    """What the docstring of a module says first."""
    docstring = inspect.getdoc(importlib.import_module(module)) or ""
    return docstring.split("\n\n")[0].replace("\n", " ")


def room_page(module: str, names: list[str]) -> str:
    """The page of a module: what it is, and a table of its names."""
    lines = [module, "=" * len(module), "", f".. py:module:: {module}", ""]
    lines += [inspect.getdoc(importlib.import_module(module)) or "", ""]
    lines += [f".. currentmodule:: {module}", ""]
    found = {name: getattr(importlib.import_module(module), name) for name in sorted(names)}
    for title, is_one in GROUPS.items():
        here = [name for name in found if is_one(found[name]) and HOMES[name] == module]
        there = [name for name in found if is_one(found[name]) and HOMES[name] != module]
        if here or there:
            lines += [title, "-" * len(title), ""]
        if here:
            lines += [".. autosummary::", "   :toctree:", "   :nosignatures:", ""]
            lines += [*(f"   {name}" for name in here), ""]
        if there:
            lines += ["Also under a shorter name:", "", ".. autosummary::", "   :nosignatures:", ""]
            lines += [*(f"   {HOMES[name]}.{name}" for name in there), ""]
    return "\n".join(lines)


def write_if_changed(path: Path, text: str) -> None:
    """Leave a file that is as it should be alone, so that Sphinx need not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_pages(app: Sphinx, config: Config) -> None:
    """Write the pages of all rooms before Sphinx looks for pages."""
    folder = Path(app.srcdir) / FOLDER
    names = public_names()
    index = INDEX + "".join(f"   {module}\n" for module in names)
    rows = [f"   * - :mod:`{module}`\n     - {first_sentence(module)}\n" for module in names]
    index += "\n.. list-table::\n   :widths: 30 70\n\n" + "".join(rows)
    write_if_changed(folder / "index.rst", index)
    for old in folder.glob("sklofi*.rst"):
        if old.stem not in {*names, *(f"{module}.{name}" for name, module in HOMES.items())}:
            old.unlink()  # a name that is no longer public
    for module in names:
        write_if_changed(folder / f"{module}.rst", room_page(module, names[module]))


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.reference | None:
    """Find a public name, or a method of one, from wherever a docstring mentions it.

    Docstrings write ``:class:`GraphSet` `` in every room, as their readers do.
    """
    from sphinx.util.nodes import make_refnode

    if node.get("refdomain") != "py":
        return None
    parts = str(node["reftarget"]).split(".")
    place = next((i for i, part in enumerate(parts) if part in HOMES), None)
    candidates = [".".join([str(node.get("py:class") or ""), *parts])]
    if place is not None:
        candidates.append(".".join([HOMES[parts[place]], *parts[place:]]))
    objects = env.domains.python_domain.objects
    for name in candidates:
        if name in objects:
            found = objects[name]
            return make_refnode(
                app.builder, node["refdoc"], found.docname, found.node_id, content, name
            )
    return None


def resolve_theirs(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.reference | None:
    """Find what inherited docstrings of scikit-learn refer to, on the site of scikit-learn."""
    from docutils import nodes

    target = str(node["reftarget"])
    if node.get("refdomain") != "std" or target not in THEIR_PAGES:
        return None
    address = f"{SCIKIT_LEARN}/{THEIR_PAGES[target]}"
    return nodes.reference("", "", content, internal=False, refuri=address)


def is_skipped(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool:
    """Whether a member has no place in the reference.

    These are what torch and Python give to all classes, and classes that a class uses.
    """
    if what == "class" and inspect.isclass(obj):
        return True
    owner = getattr(inspect.unwrap(obj) if callable(obj) else obj, "__module__", None) or ""
    return skip or str(owner).split(".")[0] in ("torch", "collections", "enum", "abc")


def setup(app: Sphinx) -> None:
    app.connect("config-inited", write_pages)
    app.connect("missing-reference", resolve)
    app.connect("missing-reference", resolve_theirs)
    app.connect("autodoc-skip-member", is_skipped)
