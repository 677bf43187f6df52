"""The page of the command line: its examples, run as they are printed."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from sklofi._command import main

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
CHAIN = ["C" * n for n in range(1, 13)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = ["ethanol,CCO,1.1", "benzene,c1ccccc1,-1.64", "not drawn yet,C1CC,"]
    rows += [f"chain,{chain}O,{1.6 - 0.5 * n:.2f}" for n, chain in enumerate(CHAIN)]
    rows += [f"chain,{chain}N,{1.5 - 0.5 * n:.2f}" for n, chain in enumerate(CHAIN)]
    rows += [f"chain,{chain},{0.9 - 0.5 * n:.2f}" for n, chain in enumerate(CHAIN[1:7])]
    rows += [f"ring,{chain}c1ccccc1,{-2.2 - 0.5 * n:.2f}" for n, chain in enumerate(CHAIN[:4])]
    lines = ["name,smiles,logS", *rows]
    (tmp_path / "molecules.csv").write_text("\n".join(lines) + "\n")
    edges = ["graph,from,to,class"]
    for i in range(24):
        size, name = 4 + i // 2 % 4, ("path", "ring")[i % 2]
        edges += [f"{i},{k},{k + 1},{name}" for k in range(size)]
        edges += [f"{i},{size},0,{name}"] * (i % 2)
    (tmp_path / "edges.csv").write_text("\n".join(edges) + "\n")
    monkeypatch.chdir(tmp_path)


def test_examples_print_what_the_page_shows(folder, capsys):
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    examples = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    assert len(examples) == 5
    for example in examples:
        command, _, expected = example.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "sklofi"
        main(arguments)
        out, err = capsys.readouterr()
        assert checker.check_output(expected, err + out, flags), f"{command}\n{err}{out}"


def test_the_page_shows_the_table_that_it_uses(folder):
    text = PAGE.read_text(encoding="utf-8")
    lines = Path("molecules.csv").read_text().splitlines()[:4]
    assert "\n".join(["```", *lines, "```"]) in text
