"""What has to agree before a release, and what package indexes are given."""

import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import sklofi

ROOT = Path(__file__).parents[1]


@pytest.fixture
def readme(monkeypatch):
    """The README for package indexes."""
    interface = SimpleNamespace(MetadataHookInterface=object)  # hatch brings it when it builds
    monkeypatch.setitem(sys.modules, "hatchling", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "hatchling.metadata", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    return hook["for_an_index"]((ROOT / "README.md").read_text(encoding="utf-8"))


def test_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == sklofi.__version__
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == sklofi.__version__


def test_readme_for_indexes_has_no_links_to_files(readme):
    assert "![" not in readme
    addresses = re.findall(r"\]\(([^)\s]+)\)", readme)
    assert addresses
    assert all(address.startswith("https://") for address in addresses)


def test_readme_for_indexes_keeps_its_text_and_code(readme):
    original = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```.*?^```$", original, re.MULTILINE | re.DOTALL)
    assert all(block in readme for block in blocks)
    assert re.findall(r"^#.*$", original, re.MULTILINE) == re.findall(
        r"^#.*$", readme, re.MULTILINE
    )
    assert "Persistence" in readme and "code](" not in readme
    assert "rustworkx or GraphML. Put" in " ".join(readme.split())  # not "GraphML (how)"
