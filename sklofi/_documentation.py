"""Where the documentation is, for the links in HTML representations of estimators."""

from __future__ import annotations

import os
import sys

# The address of the site that `make docs` builds, without a slash at its end. The site is not
# published yet, so there is none: then no links are shown. SKLOFI_DOCS names a copy of one's own.
ADDRESS: str | None = os.environ.get("SKLOFI_DOCS")


class LinksToDocumentation:
    """Mixin of all estimators: scikit-learn asks these attributes for the address of a page."""

    _doc_link_module = "sklofi"

    @property
    def _doc_link_template(self) -> str:
        return f"{ADDRESS.rstrip('/')}/api/{{page}}.html" if ADDRESS else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"page": page_of(type(self))}


def page_of(kind: type) -> str:
    """Return the name of the page of a public class: the shortest under which it is imported."""
    room, *parts = kind.__module__.split(".")
    if kind.__name__ not in sys.modules[room].__all__:
        room = f"{room}.{parts[0]}"
    return f"{room}.{kind.__name__}"
