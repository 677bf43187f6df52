"""The README can be pasted: its Python blocks run in order and print what it shows."""

import contextlib
import doctest
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"

# A block of Python and, if it prints anything, the block of text after it.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_blocks_of_the_readme_print_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # files that are written
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text = README.read_text(encoding="utf-8")
    namespace = {}
    for block in BLOCK.finditer(text):
        first_line = text[: block.start(1)].count("\n")
        code = compile("\n" * first_line + block[1], str(README), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        shown = block[2] or ""
        matches = doctest.OutputChecker().check_output(shown, printed.getvalue(), LOOSELY)
        assert matches, f"line {first_line + 1}: {printed.getvalue()}"
    assert text.count("```python\n") == len(BLOCK.findall(text)) > 0


def test_the_readme_is_read_in_five_minutes():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200
