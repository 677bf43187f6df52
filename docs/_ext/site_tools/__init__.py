"""What the site needs beyond Sphinx and its usual extensions."""

from typing import Any


def setup(app: Any) -> dict[str, Any]:
    """Add all of it, as one extension of Sphinx."""
    # Not above, because tests use the other modules without Sphinx.
    from site_tools import check, directives, mathml, names, pages, reference

    for part in (check, directives, mathml, names, pages, reference):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
