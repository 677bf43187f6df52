"""`make torture` tries every promise many times over and writes the table of RELIABILITY.md.

One test is one promise: the first line of its docstring is the promise, what follows says how
it is tried. Tests say how often with the fixture `tried`.
"""

import inspect
import platform
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

INTRODUCTION = """\
# Reliability

What sklofi promises, and what came of trying to break it. This page is written by `make torture`
(do not edit it: the words are docstrings in `tests/torture`); `make test` tries the same
promises on fewer cases. Each row is repeated by `.venv/bin/python -m pytest` with what stands in
its last column; with `--reliability RELIABILITY.md` that renews the chapter.
"""


def pytest_addoption(parser):
    parser.addoption("--reliability", metavar="FILE", help="where to write the table of promises")


@pytest.fixture
def tried(record_property):
    """Call ``tried(200, "kills")`` when 200 kills have been survived."""
    return lambda n, what: record_property("tried", (n, what))


@pytest.fixture
def parallel_tests_are_marked():
    """Not here: `make test-parallel` does not run these tests."""


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent != Path(__file__).parent:
            continue
        module = inspect.getdoc(item.module)
        promise, _, how = inspect.getdoc(item.function).partition("\n\n")
        item.user_properties.append(("promise", (module.splitlines()[0], promise, how)))


def pytest_terminal_summary(terminalreporter, config):
    target = config.getoption("--reliability")
    if target is None:
        return
    reports = [
        report
        for outcome in ("passed", "failed", "skipped")
        for report in terminalreporter.stats.get(outcome, [])
        if report.when == "call" or outcome == "skipped"
    ]
    path = Path(target)
    chapters = read_chapters(path.read_text(encoding="utf-8")) if path.exists() else {}
    chapters |= write_chapters(reports)
    text = "".join(f"\n## {title}\n\n{chapters[title]}\n" for title in sorted(chapters))
    path.write_text(INTRODUCTION + text, encoding="utf-8")


def read_chapters(text):
    """Of a page that was written before, the text of each chapter by its title."""
    parts = [part.partition("\n") for part in text.split("\n## ")[1:]]
    return {title: body.strip() for title, _, body in parts}


def write_chapters(reports):
    """One chapter for each module, one row for each test function, whatever its parameters."""
    modules = defaultdict(lambda: defaultdict(list))
    for report in sorted(reports, key=lambda one: one.location):
        chapter, *_ = dict(report.user_properties)["promise"]
        modules[chapter.rstrip(".")][report.nodeid.partition("[")[0]].append(report)
    chapters = {}
    for title, functions in modules.items():
        seconds = sum(report.duration for own in functions.values() for report in own)
        names = ("torch", "skorch", "scikit-learn")
        versions = ", ".join(f"{name} {version(name)}" for name in names)
        lines = [
            "| promise | how it is tried | tried | outcome | command |",
            "|---|---|---|---|---|",
            *(row(node, own) for node, own in functions.items()),
            "",
            f"Python {platform.python_version()}, {versions}; {seconds / 60:.1f} minutes.",
        ]
        chapters[title] = "\n".join(lines)
    return chapters


def row(node, reports):
    _, promise, how = dict(reports[0].user_properties)["promise"]
    tries = defaultdict(int)
    for report in reports:
        for name, value in report.user_properties:
            if name == "tried":
                tries[value[1]] += value[0]
    outcomes = defaultdict(int)
    for report in reports:
        outcomes[report.outcome] += 1
    if set(outcomes) == {"passed"}:
        outcome = "held"
    elif "failed" in outcomes:
        outcome = f"**BROKEN** ({outcomes['failed']} of {len(reports)})"
    else:
        outcome = f"not tried here ({reports[-1].longrepr[-1].removeprefix('Skipped: ')})"
    cells = (
        " ".join(promise.split()),
        " ".join(how.split()),
        ", ".join(f"{n:,} {what}" for what, n in tries.items()),
        outcome,
        f"`{node}`",
    )
    return "| " + " | ".join(cells) + " |"
