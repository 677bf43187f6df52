"""The README as package indexes show it, for which hatch asks when it builds a package.

An index shows no file of the repository: pictures and links to files would be broken there. The
repository has no address yet that they could lead to, so pictures and links in parentheses are left
out, and of other links to files the text stays.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(
    r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n(?:\n\*.*?\*\n)?\n?", re.MULTILINE | re.DOTALL
)
# Such as " ([how](docs/graphs.md))", of which nothing worth reading would stay.
ASIDE = re.compile(r"\s\(\[[^\[\]]*\]\((?!https?:)[^)]*\)\)")
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:)[^)]*\)")


def for_an_index(readme: str) -> str:
    """The README without what only the repository has."""
    return LINK.sub(r"\1", ASIDE.sub("", PICTURE.sub("", readme)))


class ReadmeHook(MetadataHookInterface):
    """Sets the field `readme` of the metadata."""

    def update(self, metadata: dict) -> None:
        """Put the text into the metadata."""
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_an_index(readme)}
