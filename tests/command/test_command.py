"""The command line: CSV files in, tables out, and sentences where something is wrong."""

import csv
import subprocess
import sys

import numpy as np
import pytest

import sklofi
from sklofi import GraphSet, compare, load
from sklofi._command import main
from sklofi._command._estimators import KERNELS, make_estimator
from sklofi.baselines import FingerprintRegressor, LabelHistogramClassifier
from sklofi.graphs import scaffold_groups
from sklofi.kernels._svm import GRAPH_KERNELS

pytestmark = pytest.mark.filterwarnings("ignore:Node labels that no training graph has")

SMILES = [
    *("CCO", "CCCO", "CCCCO", "CC(C)O", "CCN", "CCCN", "CCCCN", "CC(C)N", "CCOC", "CCNC"),
    *("c1ccccc1O", "c1ccccc1N", "Cc1ccccc1O", "Cc1ccccc1N", "CCc1ccccc1O", "CCc1ccccc1N"),
    *("C1CCCCC1O", "C1CCCCC1N", "CC1CCCCC1O", "CC1CCCCC1N", "C1CCNCC1", "C1CCOCC1"),
    *("c1ccncc1", "Cc1ccncc1", "Oc1ccncc1", "c1ccc2ccccc2c1", "Oc1ccc2ccccc2c1", "CC(=O)O"),
]
HAS_OXYGEN = [int("O" in text) for text in SMILES]
N_ATOMS = [sum(letter in "CNOcno" for letter in text) + 0.5 for text in SMILES]


def write_table(path, columns, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return str(path)


def read_rows(text):
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture
def molecules(tmp_path):
    rows = zip(SMILES, HAS_OXYGEN, N_ATOMS, strict=True)
    return write_table(tmp_path / "molecules.csv", ["smiles", "oxygen", "size"], rows)


@pytest.fixture
def bad_molecules(tmp_path):
    """The same with rows that cannot be used: lines 2, 5 and 7."""
    rows = list(zip(SMILES, HAS_OXYGEN, N_ATOMS, strict=True))
    rows.insert(0, ("C1CC", 1, 3))
    rows.insert(3, ("", 1, 3))
    rows.insert(5, ("CCC", "", ""))
    return write_table(tmp_path / "bad.csv", ["smiles", "oxygen", "size"], rows)


# compare


def test_compare_prints_the_table_of_compare(molecules, capsys):
    names = ["label-histogram", "wl", "constant"]
    status = main(
        [
            *("compare", molecules, "--smiles", "smiles", "--target", "oxygen", "--folds"),
            *("4", "--estimators", *names, "--seed", "3", "--quiet"),
        ]
    )
    out, err = capsys.readouterr()
    assert status == 0
    assert f"28 molecules; 'oxygen' has 2 classes (0: {HAS_OXYGEN.count(0)}, 1: " in err
    estimators = {
        name: make_estimator(name, is_classifier=True, seed=3, settings={}, probability=False)
        for name in names
    }
    graphs = GraphSet.from_molecules(SMILES)
    expected = compare(estimators, graphs, np.array(HAS_OXYGEN), cv=4, random_state=3)
    lines, expected = out.splitlines(), str(expected).splitlines()
    assert [line.split()[:4] for line in lines] == [line.split()[:4] for line in expected]
    assert lines[0].endswith("against label-histogram")


def test_compare_of_numbers_by_scaffolds(molecules, tmp_path, capsys):
    output = tmp_path / "scores.csv"
    status = main(
        [
            *("compare", molecules, "--target", "size", "--scaffold", "--folds", "3"),
            *("--quiet", "--estimators", "fingerprint", "--output", str(output)),
        ]
    )
    out, err = capsys.readouterr()
    assert status == 0 and "3 folds" in out and " r2 " in out
    groups = scaffold_groups(SMILES)
    assert "'size' has numbers from 3.5 to 11.5." in err
    assert f"{groups.max() + 1} groups are kept together." in err
    expected = compare(
        {"fingerprint": FingerprintRegressor()},
        GraphSet.from_molecules(SMILES),
        np.array(N_ATOMS),
        cv=3,
        groups=groups,
    )
    scores = [float(row["r2"]) for row in read_rows(output.read_text())]
    np.testing.assert_allclose(scores, expected.scores[0], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:Edge labels that no training graph has")
def test_compare_takes_parameters_scores_and_groups_from_a_column(tmp_path, capsys):
    rows = [(text, y, i % 7) for i, (text, y) in enumerate(zip(SMILES, HAS_OXYGEN, strict=True))]
    path = write_table(tmp_path / "x.csv", ["SMILES", "y", "batch"], rows)
    status = main(
        [
            *("compare", path, "--target", "y", "--groups", "batch", "--folds", "3"),
            *("--quiet", "--estimators", "wl", "lofi", "--scoring", "neg_log_loss"),
            *("--set", "lofi__max_epochs=1", "lofi__n_members=1", "lofi__counts=false"),
            "wl__n_iter=1",
        ]
    )
    out, err = capsys.readouterr()
    assert status == 0
    assert "neg_log_loss" in out and "failed" not in out  # machines have probabilities for it
    assert "7 groups are kept together" in err


def test_compare_has_another_status_if_an_estimator_always_fails(molecules, capsys):
    arguments = ["--estimators", "constant", "wl", "--set", "wl__C=-1", "--folds", "2", "--quiet"]
    assert main(["compare", molecules, "--target", "oxygen", *arguments]) == 1
    out, _ = capsys.readouterr()
    assert "failed in every fold" in out


# fit and predict


@pytest.mark.parametrize("name", ["lofi", "wl-oa", "fingerprint"])
def test_fit_and_predict_are_those_of_python(molecules, tmp_path, capsys, name):
    model, output = str(tmp_path / "model.safetensors"), tmp_path / "predictions.csv"
    quick = ["--set", "max_epochs=2", "n_members=1", "counts=false"] if name == "lofi" else []
    fit = ["fit", molecules, "--target", "oxygen", "--output", model, "--estimator", name, *quick]
    assert main(fit) == 0
    assert f"is fitted to 28 molecules, and saved in {model}." in capsys.readouterr().err
    estimator = load(model)
    assert getattr(estimator, "verbose", 0) == 0
    assert main(["predict", model, molecules, "--output", str(output)]) == 0
    rows = read_rows(output.read_text())
    assert [row["smiles"] for row in rows] == SMILES
    assert [int(row["prediction"]) for row in rows] == estimator.predict(SMILES).tolist()
    probabilities = [[float(row[f"probability_{k}"]) for k in (0, 1)] for row in rows]
    np.testing.assert_allclose(probabilities, estimator.predict_proba(SMILES), rtol=1e-12)
    # As if it were fitted in Python.
    settings = dict(text.split("=") for text in quick[1:])
    again = make_estimator(name, is_classifier=True, seed=0, settings=settings, probability=True)
    again.fit(SMILES, HAS_OXYGEN)
    np.testing.assert_allclose(again.predict_proba(SMILES), probabilities, rtol=1e-6)


def test_bad_rows_are_named_and_have_no_prediction(bad_molecules, tmp_path, capsys):
    model = str(tmp_path / "model.safetensors")
    arguments = ["--target", "size", "--output", model, "--estimator", "fingerprint"]
    assert main(["fit", bad_molecules, *arguments]) == 0
    err = capsys.readouterr().err
    assert (
        "bad.csv, line 2: 'C1CC' cannot be read as a molecule: it is not valid SMILES. Left" in err
    )
    assert "bad.csv, line 5: there is no molecule in column 'smiles'. Left out." in err
    assert "bad.csv, line 7: there is no value in column 'size'. Left out." in err
    assert "28 of 31 molecules;" in err
    assert main(["predict", model, bad_molecules]) == 0
    out, err = capsys.readouterr()
    rows = read_rows(out)
    assert [i for i, row in enumerate(rows) if row["prediction"] == ""] == [0, 3]
    assert "line 2: 'C1CC' cannot be read" in err and "No prediction." in err
    expected = load(model).predict([row["smiles"] for row in rows if row["prediction"]])
    assert [float(row["prediction"]) for row in rows if row["prediction"]] == expected.tolist()


def test_only_some_of_many_bad_rows_are_named(tmp_path, capsys):
    path = write_table(
        tmp_path / "x.csv", ["smiles", "y"], [("bad", 1)] * 50 + [("C", 1), ("N", 2)]
    )
    arguments = ["--estimator", "label-histogram", "--output", str(tmp_path / "m")]
    assert main(["fit", path, "--target", "y", *arguments]) == 0
    err = capsys.readouterr().err
    assert err.count("'bad' cannot be read") == 20
    assert "30 more molecules cannot be used. Left out." in err


def test_a_table_without_a_molecule_that_can_be_read_has_no_predictions(
    tmp_path, molecules, capsys
):
    model = str(tmp_path / "model.safetensors")
    main(["fit", molecules, "--target", "size", "--output", model, "--estimator", "fingerprint"])
    path = write_table(tmp_path / "x.csv", ["smiles"], [("bad",), ("worse",)])
    capsys.readouterr()
    assert main(["predict", model, path]) == 0
    assert capsys.readouterr().out == "smiles,prediction\nbad,\nworse,\n"


def test_classes_are_as_they_are_written(tmp_path, capsys):
    names = ["yes" if y else "no" for y in HAS_OXYGEN]
    path = write_table(tmp_path / "x.csv", ["smiles", "y"], zip(SMILES, names, strict=True))
    model = str(tmp_path / "model.safetensors")
    main(["fit", path, "--target", "y", "--output", model, "--estimator", "label-histogram"])
    assert isinstance(load(model), LabelHistogramClassifier)
    capsys.readouterr()
    assert main(["predict", model, path, "--column", "has oxygen"]) == 0
    rows = read_rows(capsys.readouterr().out)
    assert [row["has oxygen"] for row in rows] == names
    assert {"probability_no", "probability_yes"} <= set(rows[0])


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_long_name_of_a_class_or_group_is_kept_once(tmp_path, capsys, monkeypatch):
    """An array of texts takes as much memory for each as for the longest, one of objects less."""
    names = ["yes" if y else "no" for y in HAS_OXYGEN]
    names[0] = "x" * 100_000
    path = write_table(tmp_path / "x.csv", ["smiles", "y"], zip(SMILES, names, strict=True))
    found = []

    def spy(estimators, X, y, *, groups, **options):
        found.extend([y, groups])
        return compare(estimators, X, y, groups=groups, **options)

    monkeypatch.setattr("sklofi._command._run.compare", spy)
    arguments = ["--target", "y", "--groups", "y", "--estimators", "constant", "--folds", "2"]
    assert main(["compare", path, *arguments]) == 0
    assert [values.dtype for values in found] == [object, object]
    assert found[0].tolist() == found[1].tolist() == names
    assert max(map(len, capsys.readouterr().err.splitlines())) < 1000


@pytest.mark.parametrize(
    "values, task, kind",
    [
        ([0, 1], None, "2 classes"),
        ([1.0, 2.0], None, "2 classes"),
        ([0.5, 1], None, "numbers"),
        (range(28), None, "numbers"),  # whole, but more than half of them differ
        (range(14), None, "14 classes"),
        (["a", "b"], None, "2 classes"),
        ([0, 1], "regression", "numbers"),
        ([0.5, 1.5], "classification", "2 classes (0.5: 14, 1.5: 14)"),
    ],
)
def test_the_target_decides_what_is_learned(tmp_path, capsys, values, task, kind):
    values = list(values) * 28
    path = write_table(tmp_path / "x.csv", ["smiles", "y"], zip(SMILES, values, strict=False))
    arguments = ["--task", task] if task else []
    main(
        [
            *("fit", path, "--target", "y", "--output", str(tmp_path / "m"), *arguments),
            *("--estimator", "label-histogram"),
        ]
    )
    said = capsys.readouterr().err
    assert f"'y' has {kind}" in said
    # Of three classes or more that are whole numbers, nobody can tell.
    assert ("pass --task regression" in said) == (kind == "14 classes")


def test_targets_that_are_no_numbers_are_bad_rows_of_a_regression(tmp_path, capsys):
    values = ["high", *N_ATOMS[1:]]
    path = write_table(tmp_path / "x.csv", ["smiles", "y"], zip(SMILES, values, strict=True))
    arguments = ["--target", "y", "--output", str(tmp_path / "m"), "--estimator", "fingerprint"]
    assert main(["fit", path, *arguments, "--task", "regression"]) == 0
    assert "x.csv, line 2: column 'y': 'high' is not a number. Left out." in capsys.readouterr().err


def test_scaffolds_are_kept_apart_when_networks_are_stopped_early(molecules, tmp_path, capsys):
    model = str(tmp_path / "model.safetensors")
    quick = ["--set", "max_epochs=2", "n_members=1", "counts=false"]
    arguments = [molecules, "--target", "size", "--output", model, "--scaffold", "--quiet"]
    assert main(["fit", *arguments, *quick]) == 0
    expected = make_estimator(
        "lofi",
        is_classifier=False,
        seed=0,
        settings={"max_epochs": "2", "n_members": "1", "counts": "false"},
        probability=False,
    )
    expected.fit(GraphSet.from_molecules(SMILES), N_ATOMS, groups=scaffold_groups(SMILES))
    np.testing.assert_allclose(load(model).predict(SMILES), expected.predict(SMILES), rtol=1e-6)
    assert main(["fit", *arguments, "--estimator", "fingerprint"]) == 0
    assert "fingerprint makes no use of --scaffold when it is fitted." in capsys.readouterr().err


# Features of whole graphs


def test_columns_beside_the_molecules_are_learned_from(tmp_path, capsys):
    doses = [i % 5 / 2 for i in range(len(SMILES))]
    sizes = [size + 3 * dose for size, dose in zip(N_ATOMS, doses, strict=True)]
    rows = [*zip(SMILES, doses, sizes, strict=True)]
    path = write_table(
        tmp_path / "x.csv",
        ["smiles", "dose", "y"],
        [*rows, ("CC", "", 1.5), ("CO", "high", 1.5)],
    )
    model = str(tmp_path / "model.safetensors")
    columns = ["--graph-features", "dose"]
    fit = [path, "--target", "y", "--estimator", "fingerprint", "--output", model, *columns]
    assert main(["fit", *fit]) == 0
    err = capsys.readouterr().err
    assert "x.csv, line 30: column 'dose': there is no value. Left out." in err
    assert "x.csv, line 31: column 'dose': 'high' is not a number. Left out." in err
    assert main(["predict", model, path, *columns]) == 0
    predicted = [row["prediction"] for row in read_rows(capsys.readouterr().out)]
    graphs = GraphSet.from_molecules(SMILES, graph_features=doses)
    expected = FingerprintRegressor().fit(graphs, [y for *_, y in rows]).predict(graphs)
    np.testing.assert_allclose([float(value) for value in predicted[:-2]], expected, rtol=1e-9)
    assert predicted[-2:] == ["", ""]
    assert main(["predict", model, path]) == 1
    assert "X has 0 graph features, but FingerprintRegressor is" in capsys.readouterr().err


def test_columns_beside_lists_of_edges_are_refused(edges, tmp_path, capsys):
    arguments = ["--target", "y", "--output", str(tmp_path / "m"), "--graph-features", "dose"]
    assert main(["fit", edges[0], *EDGES, *arguments]) == 1
    assert "--graph-features is for molecules, which --smiles names." in capsys.readouterr().err


# Lists of edges


@pytest.fixture
def edges(tmp_path):
    """Rings and paths of some sizes, with labels of nodes; graph g3 has no target."""
    rows, nodes = [], []
    for i in range(24):
        size, is_ring = 3 + i % 4, i % 2
        y = "" if i == 3 else f"ring{is_ring}"
        pairs = [(k, (k + 1) % size) for k in range(size if is_ring else size - 1)]
        rows += [(f"g{i}", a, b, "s", y) for a, b in pairs]
        nodes += [(f"g{i}", k, "ab"[k % 2]) for k in range(size)]
    rows.insert(5, ("g1", "", 2, "s", "ring1"))
    edges = write_table(tmp_path / "edges.csv", ["id", "from", "to", "kind", "y"], rows)
    return edges, write_table(tmp_path / "nodes.csv", ["id", "node", "element"], nodes)


EDGES = ["--graph", "id", "--source", "from", "--target-node", "to"]


def test_lists_of_edges_are_compared_fitted_and_predicted(edges, tmp_path, capsys):
    path, nodes = edges
    columns = [*EDGES, "--nodes", nodes, "--node-label", "element", "--edge-label", "kind"]
    arguments = ["--estimators", "fingerprint", "constant", "--folds", "3", "--quiet"]
    assert main(["compare", path, "--target", "y", *columns, *arguments]) == 0
    out, err = capsys.readouterr()
    assert "edges.csv, line 7: there is no value in column 'from'. Left out." in err
    assert "edges.csv, graph 'g3': there is no value in column 'y'. Left out." in err
    assert "23 of 24 graphs; 'y' has 2 classes (ring0: 12, ring1: 11)." in err
    assert out.splitlines()[1].split()[:2] == ["fingerprint", "1.0000"]
    model = str(tmp_path / "model.safetensors")
    fit = ["--target", "y", "--output", model, "--estimator", "fingerprint"]
    assert main(["fit", path, *columns, *fit]) == 0
    assert load(model).vectorizer_.edge_label == "label"
    capsys.readouterr()
    assert main(["predict", model, path, *columns]) == 0
    rows = read_rows(capsys.readouterr().out)
    assert [row["id"] for row in rows] == [f"g{i}" for i in range(24)]
    assert [row["prediction"] for row in rows] == [f"ring{i % 2}" for i in range(24)]


def test_targets_of_graphs_may_have_a_table_of_their_own(edges, tmp_path, capsys):
    path, _ = edges
    targets = write_table(
        tmp_path / "targets.csv", ["id", "size"], [(f"g{i}", 3.5 + i % 4) for i in range(24)]
    )
    model = ["--output", str(tmp_path / "m"), "--estimator", "label-histogram"]
    assert main(["fit", path, *EDGES, "--target", "size", "--targets", targets, *model]) == 0
    assert "24 graphs; 'size' has numbers from 3.5 to 6.5." in capsys.readouterr().err


def test_a_graph_with_several_targets_is_left_out(tmp_path, capsys):
    rows = [(f"g{i}", 0, 1, i % 2) for i in range(8)] + [("g0", 1, 2, 1)]
    path = write_table(tmp_path / "e.csv", ["id", "from", "to", "y"], rows)
    model = ["--output", str(tmp_path / "m"), "--estimator", "wl"]
    assert main(["fit", path, *EDGES, "--target", "y", *model]) == 0
    assert "graph 'g0': it has several values in column 'y'. Left out." in capsys.readouterr().err


# Errors


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["compare", "none.csv", "--target", "y"], "There is no file none.csv."),
        (["compare", "FILE", "--target", "y"], "molecules.csv has no column 'y'. Its columns are"),
        (["compare", "FILE", "--target", "size", "--smiles", "x"], "has no column 'x'"),
        (
            ["compare", "FILE", "--target", "size", "--estimators", "lofy"],
            "There is no estimator 'lofy'. Names are deepmultisets,",
        ),
        (
            ["compare", "FILE", "--target", "size", "--set", "max_epochs=2"],
            "--set max_epochs=2 names none of the estimators. Write the name of one of lofi, wl-oa,"
            " fingerprint and two underscores before the parameter, such as lofi__max_epochs=2.",
        ),
        (
            ["compare", "FILE", "--target", "size", "--set", "lofi__depth=2"],
            "lofi has no parameter 'depth'. It has ",
        ),
        (["compare", "FILE", "--target", "size", "--scoring", "best"], "best"),
        (["compare", "FILE", "--target", "size", "--graph", "smiles"], "needs --source and --targ"),
        (
            ["compare", "FILE", "--target", "size", "--smiles", "smiles", *EDGES],
            "Pass --smiles for molecules or --graph for a list of edges, not both.",
        ),
        (["compare", "FILE", "--target", "size", "--nodes", "x.csv"], "--nodes is for lists of ed"),
        (["compare", "FILE", "--target", "size", "--targets", "x"], "--targets is for lists of ed"),
        (["fit", "FILE", "--target", "size", "--output", "no/folder/m"], "There is no folder"),
        (["fit", "FILE", "--target", "size", "--output", "."], ". is a folder; name a file"),
        (
            ["fit", "FILE", "--target", "size", "--output", "m", "--estimator", "constant"],
            "constant cannot be saved. Choose another estimator.",
        ),
        (["predict", "none.safetensors", "FILE"], "There is no file none.safetensors."),
        (["predict", "FILE", "FILE"], "molecules.csv"),
        (["compare", ".", "--target", "y"], ". is a folder; pass a CSV file."),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(molecules, capsys, arguments, message, monkeypatch):
    monkeypatch.chdir(molecules.rpartition("/")[0])
    status = main([molecules if part == "FILE" else part for part in arguments])
    err = capsys.readouterr().err
    assert status == 1
    last = err.splitlines()[-1]
    assert last.startswith(f"sklofi {arguments[0]}: ") and message in last
    assert "Traceback" not in err


def test_tables_without_smiles_ask_for_their_column(tmp_path, capsys):
    path = write_table(tmp_path / "x.csv", ["mol", "y"], [("C", 1)])
    assert main(["compare", path, "--target", "y"]) == 1
    message = "x.csv has no columns 'smiles'. Name the column of molecules with --smiles, or"
    assert message in capsys.readouterr().err


def test_a_column_of_predictions_is_never_overwritten(molecules, tmp_path, capsys):
    model = str(tmp_path / "model.safetensors")
    main(["fit", molecules, "--target", "size", "--output", model, "--estimator", "fingerprint"])
    assert main(["predict", model, molecules, "--column", "size"]) == 1
    assert "has a column 'size' already. Choose another name with --column." in (
        capsys.readouterr().err
    )


def test_debug_shows_where_an_error_was_raised(molecules):
    with pytest.raises(ValueError, match="no column 'y'"):
        main(["compare", molecules, "--target", "y", "--debug"])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "the following arguments are required: COMMAND"),
        (["compare", "x.csv"], "the following arguments are required: --target"),
        (["compare", "x.csv", "--target", "y", "--folds", "1"], "'1' is not a whole number of 2"),
        (["compare", "x.csv", "--target", "y", "--set", "x"], "'x' is not of the form NAME=VALUE"),
        (["fit", "x.csv", "--target", "y"], "the following arguments are required: --output"),
    ],
)
def test_arguments_that_are_not_understood_end_with_2(capsys, arguments, message):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_an_interrupt_is_no_traceback(molecules, capsys, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("sklofi._command._run.compare", interrupt)
    assert main(["compare", molecules, "--target", "size", "--quiet"]) == 130
    assert capsys.readouterr().err.endswith("sklofi: interrupted.\n")


# Names of estimators


def test_all_estimators_have_a_name():
    assert set(KERNELS) == set(GRAPH_KERNELS)
    rooms = [name for name in sklofi.baselines.__all__ if name.endswith("Classifier")]
    for name in [*rooms, *KERNELS, "LoFI", "constant"]:
        name = name.removesuffix("Classifier")
        for is_classifier in (True, False):
            estimator = make_estimator(
                name, is_classifier=is_classifier, seed=7, settings={}, probability=False
            )
            kind = type(estimator).__name__
            assert kind.endswith(("Classifier", "SVC") if is_classifier else ("Regressor", "SVR"))
            assert estimator.get_params().get("random_state", 7) == 7
            if name in KERNELS:
                assert estimator.kernel == name
            elif name != "constant":
                assert kind.startswith(name)


def test_settings_are_values_of_python_or_texts():
    settings = {"max_epochs": "3", "lr": "1e-3", "counts": "false", "n_members": "auto"}
    estimator = make_estimator(
        "lofi", is_classifier=True, seed=0, settings=settings, probability=False
    )
    values = [getattr(estimator, name) for name in settings]
    assert values == [3, 0.001, False, "auto"]


# Processes


def test_help_is_quick_and_a_process_ends_with_the_status():
    code = (
        "import sys; from sklofi._command import main\n"
        "for words in ([], ['compare'], ['fit'], ['predict']):\n"
        "    try:\n"
        "        main([*words, '--help'])\n"
        "    except SystemExit as end:\n"
        "        assert end.code == 0\n"
        "loaded = {'torch', 'sklearn', 'numpy', 'rdkit', 'pandas'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    for text in ("sklofi compare molecules.csv", "--scaffold", "--estimators", "MODEL"):
        assert text in run.stdout
    command = [sys.executable, "-m", "sklofi"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == f"sklofi {sklofi.__version__}\n"


def test_the_command_in_a_process_of_its_own(molecules, tmp_path):
    command = [sys.executable, "-m", "sklofi"]
    model = str(tmp_path / "model.safetensors")
    fit = ["fit", molecules, "--target", "size", "--estimator", "fingerprint", "--output", model]
    subprocess.run([*command, *fit], check=True, capture_output=True)
    run = subprocess.run([*command, "predict", model, molecules], capture_output=True, text=True)
    assert run.returncode == 0
    predicted = [float(row["prediction"]) for row in read_rows(run.stdout)]
    np.testing.assert_allclose(predicted, load(model).predict(SMILES), rtol=1e-9)
    run = subprocess.run([*command, "predict", model, "none.csv"], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr == "sklofi predict: There is no file none.csv.\n"
