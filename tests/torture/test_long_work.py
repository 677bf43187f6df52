"""Long work survives."""

import multiprocessing
import os
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

import sklofi.training._checkpoint
from sklofi import GraphSet, LoFIClassifier
from sklofi.datasets import make_motif_graphs

OPTIONS = {
    "plain": {},
    "dropout": {"dropout": 0.2},
    "no validation": {"early_stopping": False},
    "max": {"pooling": "max", "class_weight": "balanced"},
}
N_KILLS = 100  # of fits with each of the options
N_KILLS_OF_SEARCHES = 60
N_INTERRUPTS = 150
TIMEOUT = 120
SECONDS_TO_PRESS_AGAIN = 10

context = multiprocessing.get_context("forkserver")
# torch imports its compiler with the first optimizer, which would take longer than the fits here.
context.set_forkserver_preload(
    ["torch._dynamo", "sklofi._lofi", "sklofi.datasets", "sklearn.model_selection"]
)


def motifs():
    return make_motif_graphs(100, random_state=0)


def classifier(options):
    options = {"max_epochs": 40, "patience": 40, "random_state": 0, **options}
    return LoFIClassifier(n_members=1, counts=False, n_layers=2, n_masks=4, n_words=4, **options)


def fit(options, folder):
    """The same call, again and again, until it comes to its end."""
    sklofi.training._checkpoint.SECONDS_BETWEEN = 0
    graphs, y = motifs()
    Path(folder, "ready").touch()
    estimator = classifier(options).fit(graphs, y, checkpoint=Path(folder, "checkpoint"))
    np.save(Path(folder, "result.npy"), estimator.predict_proba(graphs))


def search(folder):
    sklofi.training._checkpoint.SECONDS_BETWEEN = 0
    graphs, y = motifs()
    graphs = GraphSet.from_networkx(graphs)
    grid = GridSearchCV(classifier({"max_epochs": 15}), {"lr": [0.005, 0.02]}, cv=3)
    checkpoints = Path(folder, "checkpoints")
    checkpoints.mkdir(exist_ok=True)
    Path(folder, "ready").touch()
    grid.fit(graphs, y, checkpoint=checkpoints)
    np.save(Path(folder, "result.npy"), grid.predict_proba(graphs))


def kill_until_done(target, arguments, folder, n_kills, rng, longest):
    """Start a process and kill it, many times, then let it end; the number of kills."""
    kills = 0
    while True:
        Path(folder, "ready").unlink(missing_ok=True)
        process = context.Process(target=target, args=arguments)
        process.start()
        start = time.monotonic()
        while not Path(folder, "ready").exists() and time.monotonic() < start + TIMEOUT:
            time.sleep(0.002)
        process.join(rng.uniform(0, longest) if kills < n_kills else TIMEOUT)
        is_done = not process.is_alive()
        assert is_done or kills < n_kills, "it does not come to its end"
        process.kill()
        process.join()
        if is_done or process.exitcode == 0:  # just before it could be killed
            assert process.exitcode == 0
            return kills
        kills += 1


def test_a_fit_that_is_killed_ends_in_the_same_model(tmp_path, tried):
    """After `kill -9` at any moment the same call goes on and ends in exactly the same model.

    Fits (plain, with dropout, without validation, with class weights and max pooling) with a
    checkpoint after every epoch are killed at random moments and called again, many times, until
    they come to their end. Probabilities are those of an uninterrupted fit, to the last bit.
    """
    rng = np.random.default_rng(0)
    n_kills = n_fits = 0
    for name, options in OPTIONS.items():
        folder = tmp_path / name
        folder.mkdir()
        kill_until_done(fit, (options, folder), folder, 0, rng, 0)
        expected = np.load(folder / "result.npy")
        kills = 0
        while kills < N_KILLS:
            (folder / "checkpoint").unlink()
            kills += kill_until_done(fit, (options, folder), folder, N_KILLS - kills, rng, 0.4)
            np.testing.assert_array_equal(np.load(folder / "result.npy"), expected)
            n_fits += 1
        n_kills += kills
    tried(n_kills, "kills")
    tried(n_fits, "fits that ended in the same model")


def test_a_search_that_is_killed_goes_on(tmp_path, tried):
    """A search with a folder for its checkpoints goes on as well.

    GridSearchCV is killed at random moments and called again until it comes to its end.
    """
    rng = np.random.default_rng(1)
    kill_until_done(search, (tmp_path,), tmp_path, 0, rng, 0)
    expected = np.load(tmp_path / "result.npy")
    kills = n_searches = 0
    while kills < N_KILLS_OF_SEARCHES:
        for path in (tmp_path / "checkpoints").iterdir():
            path.unlink()
        left = N_KILLS_OF_SEARCHES - kills
        kills += kill_until_done(search, (tmp_path,), tmp_path, left, rng, 1.0)
        np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), expected)
        n_searches += 1
    tried(kills, "kills")
    tried(n_searches, "searches with the same result")


def interrupted_fit(folder, early_stopping, connection):
    """Tell what came of a fit that somebody interrupts, and how often Python lost an interrupt."""
    lost = []
    sys.unraisablehook = lambda event: lost.append(event.exc_type)
    graphs, y = motifs()
    estimator = classifier(
        {"max_epochs": 10**6, "patience": 10**6, "early_stopping": early_stopping}
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            connection.send("ready")  # from here on it may be interrupted
            estimator.fit(graphs, y)
        except KeyboardInterrupt:  # before the training or after it
            connection.send(("raised", not hasattr(estimator, "net_"), "", len(lost)))
            return
    finite = bool(np.isfinite(estimator.predict_proba(graphs)).all())
    connection.send(("usable", finite, str(caught[0].message) if caught else "", len(lost)))


def test_ctrl_c_leaves_a_usable_estimator(tmp_path, tried):
    """Ctrl-C leaves an estimator with the best weights so far, and says so.

    Fits are interrupted (SIGINT) at random moments. Each one is usable, predicts finite
    probabilities and has told in a warning which weights it has; or, if it had not begun to
    train, has raised KeyboardInterrupt and is not fitted. Python loses an interrupt that comes
    while it runs a destructor or a callback of the garbage collector ("Exception ignored"); where
    a fit goes on for some seconds, Ctrl-C is pressed again, at most twice, as a user does, and
    Python has to have told of the loss.
    """
    rng = np.random.default_rng(2)
    counts = {"usable": 0, "raised": 0}
    n_again, longest = 0, 0.3
    for i in range(N_INTERRUPTS):
        ours, theirs = context.Pipe()
        process = context.Process(target=interrupted_fit, args=(tmp_path, i % 2 == 0, theirs))
        process.start()
        assert ours.poll(TIMEOUT) and ours.recv() == "ready"
        time.sleep(rng.uniform(0, longest))
        os.kill(process.pid, signal.SIGINT)
        again = 0
        while again < 2 and not ours.poll(SECONDS_TO_PRESS_AGAIN):
            os.kill(process.pid, signal.SIGINT)
            again += 1
        assert ours.poll(TIMEOUT), "the fit goes on"
        what, is_sound, told, n_lost = ours.recv()
        assert again <= n_lost, "it was not Python that lost the interrupt"
        n_again += again
        process.join(TIMEOUT)
        assert is_sound
        assert what == "raised" or "Training was interrupted in epoch" in told
        counts[what] += 1
        # On a busy machine the training begins later.
        longest = np.clip(longest * (1.2 if what == "raised" else 0.95), 0.2, 10)
    assert counts["usable"] > N_INTERRUPTS / 2
    tried(counts["usable"], "interrupts in training")
    tried(counts["raised"], "before it")
    tried(n_again, "times Ctrl-C had to be pressed again")
