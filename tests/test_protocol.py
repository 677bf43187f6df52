"""The protocol of the benchmarks, on a data set of a few graphs."""

import json
import sys
from functools import partial
from types import SimpleNamespace
from zipfile import ZipFile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from benchmarks import protocol, ranking
from benchmarks.averages import AveragedClassifier
from benchmarks.data import read_tu
from benchmarks.grids import PUBLISHED_LOFI
from helpers import write_tu
from sklofi import GraphKernelSVC, GraphKernelSVR, GraphSet, LoFIClassifier

ALL_METHODS = protocol.METHODS  # tests replace them
METHOD = protocol.Method(
    GraphKernelSVC,
    GraphKernelSVR,
    {"small": {"C": [0.01, 100], "n_iter": [1]}, "paper": {}, "defaults": {}},
)


@pytest.fixture
def small_set(tmp_path, monkeypatch):
    """Paths and triangles with a tail, forty of each."""
    edges, indicator, labels = [], [], []
    for i in range(80):
        first = 4 * i + 1
        ends = [(0, 1), (1, 2), (2, 3)] + [(0, 2)] * (i % 2)
        edges += [f"{first + u}, {first + v}" for a, b in ends for u, v in ((a, b), (b, a))]
        indicator += [str(i + 1)] * 4
        labels.append(str(i % 2))
    files = {"A": edges, "graph_indicator": indicator, "graph_labels": labels}
    write_tu(tmp_path, "MUTAG", {name: "\n".join(lines) for name, lines in files.items()})
    monkeypatch.setenv("SKLOFI_DATA", str(tmp_path))
    monkeypatch.setattr(protocol, "CLASSIFICATION", ("MUTAG",))
    monkeypatch.setattr(protocol, "FOLDS", tmp_path / "folds.json")
    monkeypatch.setattr(protocol, "RESULTS", tmp_path / "results.jsonl")
    monkeypatch.setattr(protocol, "METHODS", {"kernel": METHOD})
    protocol.load.cache_clear()
    yield tmp_path
    protocol.load.cache_clear()


def run_main(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["protocol", "--sets", "MUTAG", "--n-jobs", "1", *arguments])
    protocol.main()


def test_parts_of_a_fold_are_apart_and_balanced(small_set):
    protocol.FOLDS.write_text(json.dumps(protocol.make_folds()))
    _, y, splits = protocol.load("MUTAG")
    assert len(splits) == 10
    for training, validation, test in splits:
        assert sorted(np.concatenate([training, validation, test])) == list(range(80))
        assert (len(training), len(validation), len(test)) == (65, 7, 8)
        assert y[test].mean() == 0.5
    assert sorted(np.concatenate([test for *_, test in splits])) == list(range(80))


def test_a_run_goes_on_where_it_was(small_set, monkeypatch, capsys):
    run_main(monkeypatch, "--folds", "0", "1")
    lines = protocol.RESULTS.read_text().splitlines()
    assert len(lines) == 4
    # A crash in the middle of a line loses that line only.
    for end in (40, lines[3].index("}") + 1):
        protocol.RESULTS.write_text("\n".join(lines[:3]) + "\n" + lines[3][:end])
        assert len(protocol.read_results()) == 3
    run_main(monkeypatch, "--folds", "0", "1", "2")
    assert "3 fits to do, 3 are done." in capsys.readouterr().out
    records = protocol.read_results()
    assert len(records) == 6
    assert all(record["cpu_seconds"] >= 0 for record in records.values())


def test_a_run_with_nothing_to_do_prints_its_row_and_changes_no_file(
    small_set, monkeypatch, capsys
):
    monkeypatch.setattr(protocol, "METHODS", {"WL": METHOD})
    run_main(monkeypatch, "--folds", "0", "1", "--methods", "WL")
    files = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in small_set.iterdir()}
    capsys.readouterr()
    run_main(monkeypatch, "--methods", "WL", "--folds", "0", "1")
    text = capsys.readouterr().out
    assert "0 fits to do" in text
    fits = protocol.Run().chosen("MUTAG", "WL", "small")
    mean = 100 * np.mean([fit["test"] for fit in fits])
    assert f"  WL: {mean:.1f} ± " in text and "(2 folds, " in text and "published 82.67" in text
    assert files == {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in small_set.iterdir()
    }


def test_further_sets_have_folds_drawn_in_the_same_way(small_set, monkeypatch, capsys):
    drawn = protocol.make_folds()["MUTAG"]
    protocol.FOLDS.write_text("{}")
    _, _, splits = protocol.load("MUTAG")
    assert [test.tolist() for _, _, test in splits] == [fold["test"] for fold in drawn]
    assert [part.tolist() for _, part, _ in splits] == [fold["validation"] for fold in drawn]
    run_main(monkeypatch, "--folds", "3")
    assert protocol.FOLDS.read_text() == "{}"
    assert "kernel: " in capsys.readouterr().out


def test_lofi_as_published_runs_by_one_option(small_set, monkeypatch, capsys):
    of_paper = protocol.Method(
        LoFIClassifier.published, None, {"paper": {"n_words": [2, 3], "max_epochs": [1]}}
    )
    methods = {"kernel": METHOD, protocol.AS_PUBLISHED: of_paper}
    monkeypatch.setattr(protocol, "METHODS", methods)
    monkeypatch.setattr(protocol, "RUNGS", (None,))
    run_main(monkeypatch, "--published", "--folds", "0")
    assert "LoFI, published: " in (text := capsys.readouterr().out) and "published 86.78" in text
    assert {record["method"] for record in protocol.read_results().values()} == {"LoFI, published"}
    estimator = ALL_METHODS[protocol.AS_PUBLISHED].estimator("MUTAG", {"n_words": 6}, seed=0)
    expected = LoFIClassifier.published(n_words=6, random_state=0)
    assert estimator.get_params() == expected.get_params()


def test_methods_without_a_grid_have_nothing_to_do(small_set, monkeypatch, capsys):
    monkeypatch.setattr(protocol, "GRIDS", ("depth",))
    for search in ([], ["--halving"]):
        run_main(monkeypatch, "--grid", "depth", *search)
    assert "0 fits to do" in capsys.readouterr().out
    run = protocol.Run()
    assert run.chosen("MUTAG", "kernel", "depth") == []
    assert run.chosen_by_halving("MUTAG", "kernel", "depth") == []


def test_peers_that_cannot_be_imported_are_left_out_with_a_sentence(small_set, monkeypatch, capsys):
    methods = {"peer": protocol.peer("Nobody", {"small": {}}, "nowhere"), "kernel": METHOD}
    monkeypatch.setattr(protocol, "METHODS", methods)
    run_main(monkeypatch, "--folds", "0")
    assert "(No module named 'sklofi.nowhere'): peer. pip install" in capsys.readouterr().out
    assert {record["method"] for record in protocol.read_results().values()} == {"kernel"}
    # As soon as there is such a module, they run.
    parts = {"NobodyClassifier": GraphKernelSVC, "NobodyRegressor": GraphKernelSVR}
    monkeypatch.setitem(sys.modules, "sklofi.nowhere", SimpleNamespace(**parts))
    run_main(monkeypatch, "--folds", "0")
    assert "Left out" not in capsys.readouterr().out
    assert len(protocol.Run().chosen("MUTAG", "peer", "small")) == 1


@pytest.mark.filterwarnings("ignore:.* does not use edge labels:UserWarning")
def test_bonds_are_there_and_change_nothing_for_those_who_ignore_them(small_set):
    n_lines = 40 * 6 + 40 * 8  # both directions of three edges, or of four
    labels = ["01"[i // 2 % 3 > 0] for i in range(n_lines)]
    with ZipFile(small_set / "MUTAG.zip", "a") as archive:
        archive.writestr("MUTAG/MUTAG_edge_labels.txt", "\n".join(labels))
        archive.writestr("MUTAG/MUTAG_node_attributes.txt", "\n".join(["0.5"] * 320))
    protocol.FOLDS.write_text(json.dumps(protocol.make_folds()))
    X, y, _ = protocol.load("MUTAG")
    plain = GraphSet.from_networkx(read_tu("MUTAG")[0])
    assert len(X.edge_labels) == 2 and plain.edge_label_ids is None
    assert X.features is None
    for method, quick in (("LoFI", {"max_epochs": 2}), ("WL", {})):
        estimator = ALL_METHODS[method].estimator("MUTAG", quick, seed=0)
        predict = "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"
        one, other = (getattr(clone(estimator).fit(graphs, y), predict)(graphs)
                      for graphs in (X, plain))  # fmt: skip
        np.testing.assert_array_equal(one, other)


def test_degrees_are_labels_on_the_same_folds(small_set, monkeypatch):
    monkeypatch.setattr(protocol, "WITH_DEGREES", {"MUTAG, degrees": "MUTAG"})
    protocol.FOLDS.write_text(json.dumps(protocol.make_folds()))
    plain, y, splits = protocol.load("MUTAG")
    X, same_y, same_splits = protocol.load("MUTAG, degrees")
    assert plain.label_ids is None
    for graph in X:
        assert dict(graph.nodes(data="label")) == dict(graph.degree)
    np.testing.assert_array_equal(y, same_y)
    for parts, same_parts in zip(splits, same_splits, strict=True):
        for part, same_part in zip(parts, same_parts, strict=True):
            np.testing.assert_array_equal(part, same_part)
    run_main(monkeypatch, "--sets", "MUTAG, degrees", "--folds", "3")
    assert {(one["set"], one["fold"]) for one in protocol.read_results().values()} == {
        ("MUTAG, degrees", 3)
    }
    assert len(protocol.Run().chosen("MUTAG, degrees", "kernel", "small")) == 1


def test_a_run_begins_with_the_cheap_data_sets(small_set, monkeypatch):
    assert sorted(protocol.CHEAP_FIRST) == sorted([*protocol.SETS, *protocol.WITH_DEGREES])
    monkeypatch.setattr(protocol, "CLASSIFICATION", protocol.SETS[:-1])
    protocol.FOLDS.write_text("")
    tasks = []
    monkeypatch.setattr(protocol.Run, "fit", lambda self, some: tasks.extend(some))
    monkeypatch.setattr("sys.argv", ["protocol", "--folds", "0", "1"])
    protocol.main()
    names = [task["name"] for task in tasks]
    assert list(dict.fromkeys(names)) == list(protocol.CHEAP_FIRST)
    assert [task["fold"] for task in tasks if task["name"] == "MUTAG"] == [0, 0, 1, 1]


def test_committed_results_are_found_by_the_grids():
    run = protocol.Run()
    for method in ("LoFI", "LoFI, defaults", "WL", "WL-OA"):
        for name in protocol.SETS:
            folds = protocol.folds_of(name, list(range(protocol.N_FOLDS)))
            assert len(run.chosen(name, method, "small")) == len(folds), (method, name)


def test_committed_results_show_that_all_methods_have_learned():
    """Two thirds of the molecules of MUTAG are mutagenic."""
    run = protocol.Run()
    for method in protocol.METHODS.keys() - {protocol.AS_PUBLISHED}:
        scores = [fit["test"] for fit in run.chosen("MUTAG", method, "small")]
        assert len(scores) == protocol.N_FOLDS, method
        assert np.mean(scores) > 0.7, method


def peer_names():
    return [name for name, m in protocol.METHODS.items() if isinstance(m.classifier, str)]


def test_peers_are_searched_less_where_fits_are_expensive():
    assert len(peer_names()) == 14
    for method in (protocol.METHODS[name] for name in peer_names()):
        for name in protocol.SETS:
            assert method.configurations(name, "paper")
            n_configurations = len(method.configurations(name, "small"))
            if method.family == "network":
                assert n_configurations == {"MUTAG": 4, "PTC_MR": 4, "ZINC": 1}.get(name, 2)


@pytest.mark.parametrize("method", protocol.METHODS)
def test_grids_have_parameters_of_their_estimators_and_values_that_these_take(method):
    if method in peer_names():
        pytest.importorskip("sklofi.baselines")
    method = protocol.METHODS[method]
    for grid in method.grids.values():
        for configuration in ParameterGrid(grid):
            for name in ("MUTAG", "ZINC"):  # classifier and regressor
                estimator = method.estimator(name, configuration, seed=0)
                assert configuration.items() <= estimator.get_params().items()
                if hasattr(estimator, "_parameter_constraints"):
                    estimator._validate_params()


def test_an_average_of_seeds_averages(small_set, monkeypatch):
    protocol.FOLDS.write_text(json.dumps(protocol.make_folds()))
    X, y, _ = protocol.load("MUTAG")
    quick = staticmethod(partial(LoFIClassifier, max_epochs=2))  # binds no self, like a class
    monkeypatch.setattr(AveragedClassifier, "member", quick)
    together = AveragedClassifier(n_seeds=2, random_state=3).fit(X, y, X, y)
    published = {"max_epochs": 2, **PUBLISHED_LOFI}
    alone = [LoFIClassifier(**published, random_state=seed) for seed in (6, 7)]
    expected = [one.fit(X, y, X_val=X, y_val=y).predict_proba(X) for one in alone]
    assert np.abs(expected[0] - expected[1]).max() > 1e-3
    np.testing.assert_allclose(together.predict_proba(X), np.mean(expected, axis=0))
    assert together.score(X, y) == np.mean(together.predict(X) == y)


def test_the_validation_part_chooses(small_set):
    def record(fold, C, loss, test):
        return {
            "set": "MUTAG",
            "method": "kernel",
            "fold": fold,
            "configuration": {"C": C, "n_iter": 1},
            "loss": loss,
            "test": test,
            "cpu_seconds": 1.0,
        }

    fits = [record(0, 0.01, 0.3, 0.9), record(0, 100, 0.2, 0.7), record(1, 100, 0.1, 1.0)]
    run = protocol.Run()
    run.records = {protocol.key_of(fit): fit for fit in fits}
    (winner,) = run.chosen("MUTAG", "kernel", "small")  # fold 1 is not finished
    assert winner["test"] == 0.7
    assert winner["total_cpu_seconds"] == 2


def test_halving_goes_on_with_the_best_third(small_set, monkeypatch):
    grid = {"n_layers": [1, 2, 3], "n_masks": [2, 3, 4]}
    net = {"n_words": 2}
    methods = {"LoFI": protocol.Method(LimitedLoFI, None, {"small": grid}, net)}
    monkeypatch.setattr(protocol, "METHODS", methods)
    monkeypatch.setattr(protocol, "RUNGS", (1, 2, None))
    run_main(monkeypatch, "--folds", "0", "--halving", "--methods", "LoFI")
    run = protocol.Run()
    fits, last, is_done = run.halve("MUTAG", "LoFI", 0, "small")
    assert is_done
    assert [fit["n_epochs"] for fit in fits] == [1] * 9 + [2] * 3 + [8]
    best = sorted(fits[:9], key=lambda fit: fit["loss"])[:3]
    assert [fit["configuration"] | {"max_epochs": 2} for fit in best] == [
        fit["configuration"] for fit in fits[9:12]
    ]
    (winner,) = run.chosen_by_halving("MUTAG", "LoFI", "small")
    assert winner["configuration"] == last[0]
    assert winner["total_cpu_seconds"] == pytest.approx(sum(fit["cpu_seconds"] for fit in fits))


def LimitedLoFI(max_epochs=8, **parameters):
    return LoFIClassifier(max_epochs=max_epochs, early_stopping=False, **parameters)


def test_the_table_keeps_ours_and_published_apart(small_set, monkeypatch):
    from benchmarks import table

    methods = {"LoFI": METHOD, "LoFI, defaults": METHOD, "WL": METHOD}
    for module in (protocol, table):
        monkeypatch.setattr(module, "METHODS", methods)
        monkeypatch.setattr(module, "CLASSIFICATION", ("MUTAG",))
    monkeypatch.setattr(table, "TARGET", small_set / "RESULTS.md")
    for function in ("draw_ablations", "draw_learning_curves", "draw_pareto"):
        monkeypatch.setattr(table, function, lambda _: small_set / "figure.png")
    run_main(monkeypatch, "--methods", "LoFI", "WL")
    table.write("small")
    ours, published = (small_set / "RESULTS.md").read_text().split("## LoFI beside")
    fits = protocol.Run().chosen("MUTAG", "WL", "small")
    mean = 100 * np.mean([fit["test"] for fit in fits])
    assert f"| WL | {mean:.2f} ± " in ours
    assert "| WL | +0.00 (p = 1.000) |" in ours  # the same machine as "LoFI" here
    assert "86.78" not in ours
    row = next(line for line in published.splitlines() if line.startswith("| MUTAG | "))
    assert row.endswith(" | 86.78 |") and row.count("86.78") == 1  # in a column of its own


def test_halving_is_compared_on_the_folds_that_have_both(small_set, monkeypatch):
    from benchmarks import table

    grid = {"n_layers": [1, 2, 3]}
    methods = {"LoFI": protocol.Method(LimitedLoFI, None, {"small": grid}, {"n_words": 2})}
    for module in (protocol, table):
        monkeypatch.setattr(module, "METHODS", methods)
    monkeypatch.setattr(protocol, "RUNGS", (1, None))
    run_main(monkeypatch, "--folds", "0", "1")
    assert table.halving_row(protocol.Run(), "MUTAG", "small") is None
    run_main(monkeypatch, "--folds", "1", "--halving")
    run = protocol.Run()
    row = table.halving_row(run, "MUTAG", "small")
    assert row[:3] == ["MUTAG", "small, 3 configurations", "1"]
    (halved,) = run.chosen_by_halving("MUTAG", "LoFI", "small")
    whole = run.chosen("MUTAG", "LoFI", "small")[1]
    assert row[3:5] == [f"{whole['loss']:.3f}", f"{halved['loss']:.3f}"]
    assert row[-1] == f"{halved['total_cpu_seconds'] / whole['total_cpu_seconds']:.2f}"


def test_candidates_are_compared_by_validation_loss_on_the_folds_that_have_both(monkeypatch):
    from benchmarks import table

    monkeypatch.setattr(table, "CLASSIFICATION", ("A", "B"))
    losses = {
        ("A", 0, 1): 0.4, ("A", 0, 2): 0.2, ("A", 1, 1): 0.6, ("A", 1, 2): 0.3, ("A", 2, 2): 9.0,
        ("B", 0, 1): 0.5, ("B", 0, 2): 0.75,
    }  # fmt: skip
    run = protocol.Run()
    run.records = {}
    for (name, fold, n_layers), loss in losses.items():
        record = {"set": name, "method": "LoFI", "fold": fold, "loss": loss}
        record["configuration"] = {"n_layers": n_layers}
        run.records[protocol.key_of(record)] = record
    row = table.candidate_row(run, {"n_layers": 2}, {"n_layers": 1})
    assert row == ["n_layers=2", "0.500 (2)", "1.500 (1)", "1.000"]
    assert table.candidate_row(run, {"n_layers": 3}, {"n_layers": 1}) is None


def test_figures_are_drawn_of_what_is_there(small_set, monkeypatch):
    from benchmarks import figures

    monkeypatch.setattr(figures, "FOLDER", small_set)
    monkeypatch.setattr(figures, "SETS", ("MUTAG", "MUTAG"))
    grids = {"depth": {"n_layers": [1, 2], "radius": [1]}, "masks": {"n_masks": [2, 3]}}
    grids |= {"words": {"n_words": [2, 3]}, "small": {}}
    methods = {
        "LoFI": protocol.Method(LimitedLoFI, None, grids),
        "LoFI, defaults": protocol.Method(LimitedLoFI, None, grids, keep_history=True),
    }
    for module in (protocol, figures):
        monkeypatch.setattr(module, "METHODS", methods)
    monkeypatch.setattr(protocol, "GRIDS", tuple(grids))
    run_main(monkeypatch, "--folds", "0", "1", "--grid", "masks", "--methods", "LoFI")
    run_main(monkeypatch, "--folds", "0", "--methods", "LoFI, defaults")
    run = protocol.Run()
    assert figures.accuracies(run, "MUTAG", "masks").shape == (2, 2)
    assert figures.accuracies(run, "MUTAG", "words").shape == (0, 2)
    (fit,) = run.chosen("MUTAG", "LoFI, defaults", "small")
    assert len(fit["train_loss"]) == len(fit["valid_loss"]) == fit["n_epochs"]
    for draw in (figures.draw_ablations, figures.draw_learning_curves):
        assert draw(run).stat().st_size > 10_000


def some_fits(*tests, cpu_seconds=1.0):
    return [
        {"fold": i, "test": test, "total_cpu_seconds": cpu_seconds} for i, test in enumerate(tests)
    ]


@pytest.fixture
def three_methods(monkeypatch):
    """Fits of three methods and a variant on two sets, ten folds of A and one of ZINC."""
    from benchmarks import table

    bonds = protocol.peer("Bonds", {"small": {"C": [1, 2]}}, sees_bonds=True)
    methods = {"LoFI": METHOD, "LoFI, defaults": METHOD, "GIN": METHOD, "ECC": bonds}
    for module in (protocol, table):
        monkeypatch.setattr(module, "METHODS", methods)
        monkeypatch.setattr(module, "CLASSIFICATION", ("A",))
        monkeypatch.setattr(module, "SETS", ("A", "ZINC"))
        monkeypatch.setattr(module, "WITH_DEGREES", {"A, degrees": "A"})
    return {
        ("LoFI", "A"): some_fits(*[0.7, 0.9] * 5),
        ("LoFI, defaults", "A"): some_fits(*[0.99] * 10),
        ("GIN", "A"): some_fits(*[0.8] * 10, cpu_seconds=3),
        ("ECC", "A"): some_fits(*[0.9] * 5),
        ("LoFI", "A, degrees"): some_fits(*[0.8] * 10),
        ("LoFI, defaults", "A, degrees"): [],
        ("GIN", "A, degrees"): some_fits(*[0.9] * 10),
        ("ECC", "A, degrees"): some_fits(*[0.5] * 10),
        ("LoFI", "ZINC"): some_fits(0.25, cpu_seconds=5),
        ("LoFI, defaults", "ZINC"): some_fits(0.1),
        ("GIN", "ZINC"): some_fits(0.35),
        ("ECC", "ZINC"): some_fits(0.2, cpu_seconds=0.05),
    }


def test_ranks_are_on_the_folds_that_all_have_and_equals_share_one(three_methods):
    def ranks(name):
        return ranking.ranks(ranking.on_shared_folds(three_methods, name), name)

    assert ranks("A") == {"LoFI": 3, "GIN": 2, "ECC": 1}  # of the first five folds
    assert ranks("ZINC") == {"LoFI": 2, "GIN": 3, "ECC": 1}
    three_methods["ECC", "A"] = []
    assert ranks("A") == {"LoFI": 1.5, "GIN": 1.5}
    shared = ranking.on_shared_folds(three_methods, "A", variants=("LoFI, defaults",))
    assert list(shared) == ["LoFI", "LoFI, defaults", "GIN"]
    three_methods["GIN", "A"] = [{"fold": 10, "test": 0.5}]
    assert ranking.on_shared_folds(three_methods, "A") == {}


def test_the_table_of_ranks_has_the_best_of_those_with_all_sets_first(three_methods):
    from benchmarks import table

    three_methods["ECC", "A"] = []
    head, _, *rows = table.rank_table(three_methods).splitlines()
    assert head == "|  | A: 10 folds, of 2 | ZINC: 1 fold, of 3 | mean rank |"
    assert rows == [
        "| **LoFI** | 1.5 | 2 | 1.8 |",
        "| GIN | 1.5 | 3 | 2.2 |",
        "| ECC (bonds) |  | 1 | 1.0 (1 sets) |",
    ]


def test_degrees_stand_beside_what_there_is_without(three_methods):
    from benchmarks import table

    *_, text = table.degree_sections(three_methods)
    assert text.splitlines() == [
        "|  | A | A, degrees | rank: 10 folds, of 3 |",
        "|---|---|---|---|",
        "| LoFI | 80.00 ± 3.33 | 80.00 ± 0.00 | 2 |",
        "| GIN | 80.00 ± 0.00 | 90.00 ± 0.00 | 1 |",
        "| ECC | 90.00 ± 0.00 (5 folds) | 50.00 ± 0.00 | 3 |",
    ]
    three_methods |= {(method, "A, degrees"): [] for method in protocol.METHODS}
    assert table.degree_sections(three_methods) == []


def test_the_table_of_ways_counts_the_folds_that_chose_the_other(three_methods, monkeypatch):
    from benchmarks import table

    two_ways = [{"C": [1, 2]}, {"C": [1, 2], "lr": [0.1], "pooling": ["mean"]}]
    monkeypatch.setitem(protocol.METHODS, "GIN", protocol.peer("GIN", {"small": two_ways}))
    for number, fit in enumerate(three_methods["GIN", "A"]):
        fit["configuration"] = {"C": 1, "lr": 0.1, "pooling": "mean" if number < 3 else "sum"}
    head, _, *rows = table.ways_table(three_methods).splitlines()
    assert head == "|  | the other way | A |"
    assert rows == ["| GIN | lr=0.1, pooling='mean' | 3 of 10 |"]


def test_cells_tell_folds_configurations_and_who_sees_bonds(three_methods, monkeypatch):
    from benchmarks import table

    monkeypatch.setattr(table, "draw_pareto", lambda _: table.TARGET)
    scores, *_, costs, _, _, _, _, differences = table.our_sections(
        three_methods, list(protocol.METHODS), "small"
    )
    assert "| LoFI | 80.00 ± 3.33 | 0.250 |" in scores
    assert "| ECC (bonds) | 90.00 ± 0.00 (5 folds) | 0.200 |" in scores
    assert "| GIN | 3.0 (2 of 1.5) | 1.0 (2 of 0.5) | 0.01 |" in costs
    assert "| ECC (bonds) | 1.0 (2 of 0.5) | 0.05 (2 of 0.025) | 0.00 |" in costs
    assert "| ECC (bonds) | +12.00 (p = 0.126, 5 folds) |  |" in differences
    assert ranking.label("ECC", "A") == "ECC"  # where edges have no labels
    assert ranking.label("ECC", "ZINC") == "ECC (bonds)"


def test_the_front_is_who_is_not_beaten_in_cost_and_gain():
    rng = np.random.RandomState(0)
    for _ in range(20):
        costs, gains = rng.randint(6, size=(2, 9))  # many are equal
        points = list(zip(costs, gains, strict=True))
        expected = [
            not any(c <= cost and g >= gain and (c, g) != (cost, gain) for c, g in points)
            for cost, gain in points
        ]
        assert ranking.is_on_front(costs, gains).tolist() == expected


def test_labels_stand_apart_and_inside():
    import matplotlib.pyplot as plt

    from benchmarks.labels import n_overlaps, place_labels

    figure, ax = plt.subplots()
    points = ax.transAxes.transform(np.random.RandomState(0).uniform(0.3, 0.6, (18, 2)))
    texts = [ax.text(0.5, 0.5, f"method {i}", fontsize=7, ha="center", va="center",
                     transform=ax.transAxes) for i in range(18)]  # fmt: skip
    figure.canvas.draw()
    place_labels(ax, points, texts, np.hstack([points - 4, points + 4]))
    figure.canvas.draw()
    extents = np.array([text.get_window_extent().extents for text in texts])
    assert (n_overlaps(extents, extents, margin=0) == 1).all()  # each meets itself only
    assert (extents[:, :2] >= ax.bbox.min).all() and (extents[:, 2:] <= ax.bbox.max).all()
    plt.close(figure)


def test_the_pareto_figure_shows_the_folds_that_all_have(three_methods, monkeypatch, tmp_path):
    from benchmarks import figures, pareto

    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    panels = []
    monkeypatch.setattr(pareto, "write_labels", lambda *panel: panels.append(panel))
    assert pareto.draw_pareto(three_methods).stat().st_size > 10_000
    (ax, points, _, front, names, colors), (*_, zinc_names, _) = panels
    assert ax.get_title(loc="left") == "A, 5 folds"
    assert names == ["LoFI", "LoFI, defaults", "GIN", "ECC"]
    assert zinc_names == [*names[:-1], "ECC (bonds)"]
    np.testing.assert_allclose(points[0], [1, 78])  # LoFI has 80 in ten folds
    assert front[0].tolist() == [1.0, 99.0]  # LoFI, defaults is as cheap as LoFI, and better
    assert colors == [pareto.OURS, pareto.OURS, pareto.OTHER, pareto.OTHER]
