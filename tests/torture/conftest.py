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
promises on fewer cases.

"""


def pytest_addoption(parser):
    parser.addoption("--reliability", metavar="FILE", help="where to write the table of promises")


@pytest.fixture
def tried(record_property):
    """Call ``tried(200, "kills")`` when 200 kills have been survived."""
    return lambda n, what: record_property("tried", (n, what))


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
    Path(target).write_text(INTRODUCTION + table(reports), encoding="utf-8")


def table(reports):
    """One table for each module, one row for each test function, whatever its parameters."""
    chapters = defaultdict(lambda: defaultdict(list))
    for report in sorted(reports, key=lambda one: one.location):
        chapter, *_ = dict(report.user_properties)["promise"]
        chapters[chapter][report.nodeid.partition("[")[0]].append(report)
    minutes = sum(report.duration for report in reports) / 60
    lines = [
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("torch", "skorch", "scikit-learn"))
        + f"; {minutes:.0f} minutes in all. Each row is repeated by"
        " `.venv/bin/python -m pytest` with what stands in its last column."
    ]
    for chapter, functions in chapters.items():
        lines += ["", f"## {chapter.rstrip('.')}", ""]
        lines += ["| promise | how it is tried | tried | outcome | command |"]
        lines += ["|---|---|---|---|---|"]
        lines += [row(node, own) for node, own in functions.items()]
    return "\n".join(lines) + "\n"


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
