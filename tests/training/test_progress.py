import re
import struct
import sys
from functools import partial
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
from training_helpers import QUICK

from sklofi import LoFIClassifier
from sklofi.training._progress import EpochBar, ProgressLog

FIGURES = {
    "usual": {"valid_score": 0.8125, "valid_loss": 0.43218765, "train_loss": 0.51230001},
    "wide": {"valid_score": -1.2345e-5, "valid_loss": 1.2345e-5, "train_loss": 1.2345e12},
    "training only": {"train_loss": 0.51230001},
}


def frames_on_a_terminal(monkeypatch, n_columns, title, max_epochs, figures, seconds):
    """What is drawn, line by line, on a terminal of this width."""
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, n_columns, 0, 0))
    net = SimpleNamespace(history=[])
    clock = iter(np.linspace(0, seconds, 1000))
    with open(theirs, "w", encoding="utf-8") as terminal, open(ours, "rb") as screen:
        monkeypatch.setattr(sys, "stderr", terminal)
        log = ProgressLog(title, max_epochs, verbose=1)
        log.on_train_begin(net)
        log.bar._time, log.bar.start_t, log.bar.last_print_t = partial(next, clock), 0, 0
        for epoch in (1, max_epochs // 3, max_epochs):
            net.history += [figures] * (epoch - len(net.history))
            log.on_epoch_end(net)
            log.bar.refresh()
        log.on_train_end(net)
        terminal.write("the end")
        terminal.flush()
        drawn = b""
        while not drawn.endswith(b"the end"):
            drawn += screen.read1(10_000)
    text = drawn.decode("utf-8").removesuffix("the end")
    return [frame.rstrip() for frame in re.split(r"[\r\n]+", text) if frame.strip()]


@pytest.mark.parametrize("figures", FIGURES)
@pytest.mark.parametrize("n_columns", [40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("title", ["LoFIClassifier", "LabelHistogramClassifier"])
@pytest.mark.parametrize("max_epochs, seconds", [(50, 20), (100_000, 400_000)])
def test_the_progress_bar_fits_the_terminal(
    monkeypatch, n_columns, title, max_epochs, seconds, figures
):
    values = FIGURES[figures]
    frames = frames_on_a_terminal(monkeypatch, n_columns, title, max_epochs, values, seconds)
    assert len(frames) >= 4
    for frame in frames:
        assert len(frame) <= n_columns
        bar = re.search(r"\|([^|]*)\|", frame)
        assert bar is None or len(bar.group(1)) >= 10
    for frame in frames[1:]:  # the first one is drawn before the first epoch
        shown = [float(x) for x in re.findall(r"=([^,\]]+)", frame)]
        if shown or n_columns >= 80:
            assert shown == pytest.approx(list(values.values()), rel=0.005)
        assert "[" not in frame or frame.endswith("]")
    assert f"{max_epochs}/{max_epochs}" in frames[-1]


def test_the_progress_bar_on_a_terminal_of_80_columns(monkeypatch):
    frames = frames_on_a_terminal(
        monkeypatch, 80, "LoFIClassifier", 1000, FIGURES["usual"], seconds=100
    )
    pattern = r"\|█{10,}\| 1000/1000 \[\d\d:\d\d<00:00, score=0.812, valid=0.432, train=0.512\]"
    assert re.fullmatch(pattern, frames[-1])
    frames = frames_on_a_terminal(
        monkeypatch, 140, "LoFIClassifier", 1000, FIGURES["usual"], seconds=100
    )
    assert re.match(
        r"LoFIClassifier: 100%\|█{10,}\| 1000/1000 \[.*, valid_score=0.8125,", frames[-1]
    )


def test_the_progress_bar_does_not_flicker_but_follows_the_terminal():
    bar = EpochBar(total=100, desc="LoFIClassifier", file=StringIO())
    width = [80]
    bar.dynamic_ncols = lambda file: (width[0], 24)
    bar.values = FIGURES["training only"]
    assert str(bar).startswith("LoFIClassifier")
    bar.values = FIGURES["wide"]
    assert str(bar).startswith("|")
    bar.values = FIGURES["training only"]
    assert str(bar).startswith("|")
    width[0] = 81
    assert str(bar).startswith("LoFIClassifier")
    bar.close()


def test_verbose_prints_lines_where_there_is_no_terminal(larger_motifs, capsys):
    LoFIClassifier(**QUICK, verbose=1).fit(*larger_motifs)
    out, err = capsys.readouterr()
    assert re.search(r"\[LoFIClassifier\] epoch 8/8: valid_score=[\d.]+, valid_loss=", out)
    assert "train_loss=" in out
    assert err == ""
    LoFIClassifier(**{**QUICK, "max_epochs": 1000}, patience=2, verbose=1).fit(*larger_motifs)
    out, _ = capsys.readouterr()
    assert len(out.splitlines()) <= 22
    assert re.search(r"stopped after epoch \d+ of 1000", out)


def test_verbose_shows_a_bar_on_a_terminal(larger_motifs, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)  # the bar would fit a narrow terminal
    LoFIClassifier(**QUICK, verbose=1).fit(*larger_motifs)
    out, err = capsys.readouterr()
    bar = r"LoFIClassifier: 100%\|█+\| 8/8 \[[^\r]*, valid_score=[\d.]+, valid_loss=[\d.]+"
    shown = re.search(bar, err).group()
    assert len(shown.replace("█", "")) < 80  # a narrow terminal cuts what comes behind
    assert out == ""


def test_nothing_is_printed_by_default(larger_motifs, capsys):
    LoFIClassifier(**{**QUICK, "max_epochs": 50}, patience=1).fit(*larger_motifs)
    assert capsys.readouterr() == ("", "")
