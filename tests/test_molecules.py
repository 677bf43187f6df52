"""Estimators that take molecules: they read them, remember how, and give NaN for no molecule."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from rdkit import Chem
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import sklofi
from sklofi import (
    FingerprintClassifier,
    FingerprintRegressor,
    GraphKernelSVC,
    GraphKernelSVR,
    GraphSet,
    LoFIClassifier,
    LoFIRegressor,
    WLVectorizer,
    compare,
)
from sklofi._storage import read_file, write_file
from sklofi.baselines import DeepMultisetsClassifier, LabelHistogramRegressor
from sklofi.inspection import best_egonets, edge_attribution, node_attribution
from sklofi.kernels import FingerprintVectorizer, RandomWalkKernel

MOLECULES = [
    "C" * n + end for n in range(1, 6) for end in ("O", "N", "c1ccccc1", "C(=O)[O-]", "Cl", "C=C")
]
Y = np.array([float(len(text)) for text in MOLECULES])
CLASSES = np.where(Y > 6, "long", "short")
OPTIONS = {"atom_label": ("element", "charge"), "explicit_hydrogens": True}

ONE = {"n_members": 1, "counts": False, "max_epochs": 2, "random_state": 0}
CLASSIFIERS = [
    LoFIClassifier(**ONE),
    LoFIClassifier(**{**ONE, "n_members": 2, "counts": True}),
    DeepMultisetsClassifier(max_epochs=2, random_state=0),
    GraphKernelSVC(),
    GraphKernelSVC(kernel="wl-oa", probability=True, random_state=0),
    GraphKernelSVC(kernel=RandomWalkKernel()),
    FingerprintClassifier(),
]
REGRESSORS = [
    LoFIRegressor(**ONE),
    GraphKernelSVR(solver="linear", random_state=0),
    FingerprintRegressor(),
    LabelHistogramRegressor(),
]
TRANSFORMERS = [WLVectorizer(), FingerprintVectorizer(), RandomWalkKernel()]

# Of a network that does not look at bonds, and of the label histogram.
pytestmark = pytest.mark.filterwarnings("ignore:.*does not use edge labels")


def name_of(estimator):
    return type(estimator).__name__


def target_of(estimator):
    return CLASSES if hasattr(estimator, "predict_proba") or "SVC" in name_of(estimator) else Y


def fitted(estimator, X=MOLECULES):
    return clone(estimator).fit(X, target_of(estimator))


def answer(estimator, X):
    """What an estimator says of graphs, as numbers."""
    methods = ("predict_proba", "decision_function", "predict", "transform")
    values = getattr(estimator, next(name for name in methods if hasattr(estimator, name)))(X)
    return values.toarray() if sp.issparse(values) else values


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS + TRANSFORMERS, ids=name_of)
def test_smiles_molecules_and_the_graph_set_give_the_same(estimator):
    expected = answer(fitted(estimator, GraphSet.from_molecules(MOLECULES)), MOLECULES)
    by_smiles = fitted(estimator, pd.Series(MOLECULES))
    assert np.array_equal(answer(by_smiles, MOLECULES), expected)
    by_rdkit = fitted(estimator, [Chem.MolFromSmiles(text) for text in MOLECULES])
    assert np.array_equal(answer(by_rdkit, GraphSet.from_molecules(MOLECULES)), expected)


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS + TRANSFORMERS, ids=name_of)
def test_fitted_estimators_read_as_they_were_fitted(estimator, tmp_path):
    graphs = GraphSet.from_molecules(MOLECULES, **OPTIONS)
    estimator = fitted(estimator, graphs)
    expected = answer(estimator, graphs)
    estimator.save(tmp_path / "model.safetensors")
    for same in (
        estimator,
        pickle.loads(pickle.dumps(estimator)),
        sklofi.load(tmp_path / "model.safetensors"),
    ):
        # Kernel matrices of sets are computed in another order.
        np.testing.assert_allclose(answer(same, MOLECULES), expected, rtol=1e-9)
        with pytest.raises(
            ValueError,
            match=r"with atom_label=\('element', 'hydrogens', 'charge', 'aromatic'\) instead of"
            r" \('element', 'charge'\), explicit_hydrogens=False instead of True\.",
        ):
            answer(same, GraphSet.from_molecules(MOLECULES))


def test_a_new_fit_forgets_how_molecules_were_read():
    for estimator in (LoFIRegressor(**ONE), FingerprintRegressor()):
        estimator.fit(GraphSet.from_molecules(MOLECULES, **OPTIONS), Y)
        assert (
            estimator.fit(MOLECULES, Y)._molecules
            == GraphSet.from_molecules(["C"]).molecule_options
        )
        estimator.fit(GraphSet.from_molecules(MOLECULES, atom_label="element"), Y)


def test_training_that_goes_on_reads_as_before():
    graphs = GraphSet.from_molecules(MOLECULES, **OPTIONS)
    by_set = LoFIRegressor(**ONE, warm_start=True).fit(graphs, Y)
    by_smiles = LoFIRegressor(**ONE, warm_start=True).fit(graphs, Y)
    assert np.array_equal(
        by_set.fit(graphs, Y).predict(graphs), by_smiles.fit(MOLECULES, Y).predict(graphs)
    )
    by_set.partial_fit(graphs, Y)
    by_smiles.partial_fit(MOLECULES, Y)
    assert np.array_equal(by_set.predict(graphs), by_smiles.predict(graphs))
    with pytest.raises(ValueError, match="read in another way"):
        by_set.partial_fit(GraphSet.from_molecules(MOLECULES), Y)


def test_validation_molecules_are_read_as_the_training_molecules():
    graphs = GraphSet.from_molecules(MOLECULES, **OPTIONS)
    by_set, by_smiles = (
        LoFIRegressor(**ONE).fit(graphs, Y, X_val=X_val, y_val=Y) for X_val in (graphs, MOLECULES)
    )
    assert np.array_equal(by_set.predict(graphs), by_smiles.predict(graphs))


def test_an_estimator_of_other_graphs_does_not_guess_how_to_read():
    graphs = GraphSet.from_molecules(MOLECULES)
    estimator = FingerprintRegressor().fit(graphs.to_networkx(), Y)
    with pytest.raises(
        ValueError, match="X has molecules, but the estimator was fitted on graphs of"
    ):
        estimator.predict(MOLECULES)
    by_molecules = FingerprintRegressor().fit(MOLECULES, Y).predict(graphs.to_networkx())
    assert np.array_equal(estimator.predict(graphs), by_molecules)


def test_files_of_former_versions_do_not_guess_either(tmp_path):
    path = tmp_path / "old.safetensors"
    FingerprintRegressor().fit(GraphSet.from_molecules(MOLECULES).to_networkx(), Y).save(path)
    description, arrays = read_file(path)
    del description["fitted"]["_molecules"], description["parameters"]["on_invalid"]
    write_file(path, description, arrays)
    old = sklofi.load(path)
    assert old.on_invalid == "raise"
    with pytest.raises(ValueError, match="X has molecules, but the estimator was fitted on"):
        old.predict(MOLECULES)


def test_a_file_cannot_say_anything_else_of_molecules(tmp_path):
    path = tmp_path / "forged.safetensors"
    FingerprintRegressor().fit(MOLECULES, Y).save(path)
    description, arrays = read_file(path)
    for forged in ("as made", {"!": "MoleculeOptions", "value": {"fragments": "some"}}, 3):
        description["fitted"]["_molecules"] = forged
        write_file(path, description, {name: array.copy() for name, array in arrays.items()})
        with pytest.raises(ValueError, match="does not describe a FingerprintRegressor"):
            sklofi.load(path)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name_of)
def test_invalid_rows_have_no_probabilities(estimator):
    estimator = fitted(estimator).set_params(on_invalid="nan")
    X = [MOLECULES[0], "C(C", MOLECULES[1], None, ""]
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            predict = getattr(estimator, method)
            values = predict(X)
            assert values.shape[0] == 5 and np.isnan(values[[1, 3, 4]]).all()
            assert np.array_equal(values[[0, 2]], predict(MOLECULES[:2]))
            nothing = predict(["C(C", None])
            assert nothing.shape == (2, *values.shape[1:]) and np.isnan(nothing).all()
    with pytest.raises(
        ValueError,
        match=r"predict has no class for molecules that cannot be read \(rows 1, 3, 4\)\. Use"
        " predict_proba",
    ):
        estimator.predict(X)
    assert set(estimator.predict(MOLECULES)) <= {"long", "short"}


@pytest.mark.parametrize("estimator", REGRESSORS + TRANSFORMERS, ids=name_of)
def test_invalid_rows_are_nan_in_numbers_and_vectors(estimator):
    estimator = fitted(estimator).set_params(on_invalid="nan")
    X = [None, MOLECULES[0], "C(C", MOLECULES[1]]
    values, expected = answer(estimator, X), answer(estimator, MOLECULES[:2])
    assert np.isnan(values[[0, 2]]).all() and np.array_equal(values[[1, 3]], expected)
    graphs = GraphSet.from_molecules(X, on_invalid="nan")
    assert np.array_equal(answer(estimator, graphs), values, equal_nan=True)
    for nothing in (answer(estimator, [None]), answer(estimator, ["Q", "Q"])[:1]):
        assert nothing.shape == (1, *values.shape[1:]) and np.isnan(nothing).all()


def test_several_targets_are_nan_together():
    estimator = LoFIRegressor(**ONE, on_invalid="nan").fit(MOLECULES, np.stack([Y, -Y], axis=1))
    assert np.isnan(estimator.predict(["CC", "Q"])).tolist() == [[False] * 2, [True] * 2]
    assert estimator.predict(["Q"]).shape == (1, 2)


def test_embeddings_of_a_network_have_rows_of_nan():
    estimator = LoFIRegressor(**ONE, on_invalid="nan").fit(MOLECULES, Y)
    embedding = estimator.transform(["CCO", "Q"])
    assert embedding.dtype == np.float32
    assert np.array_equal(embedding[:1], estimator.transform(["CCO"]))
    assert np.isnan(embedding[1]).all() and estimator.transform(["Q"]).shape == embedding[:1].shape


@pytest.mark.parametrize("on_invalid", ["raise", "nan"])
@pytest.mark.parametrize(
    "estimator", [LoFIRegressor(**ONE), FingerprintRegressor(), WLVectorizer()]
)
def test_fit_refuses_invalid_rows_and_names_them(estimator, on_invalid):
    estimator = clone(estimator).set_params(on_invalid=on_invalid)
    X, y = [*MOLECULES, "C(C", "c1cccc1"], [*Y, 1.0, 1.0]
    with pytest.raises(
        ValueError, match=r"Row 30 of X, 'C\(C', .* 2 of 32 rows are invalid \(30, 31\)"
    ):
        estimator.fit(X, y)
    graphs = GraphSet.from_molecules(X, on_invalid="nan")
    with pytest.raises(ValueError, match=r"some could not be read\. 2 of 32 rows are invalid"):
        estimator.fit(graphs, y)
    with pytest.raises(NotFittedError):
        answer(estimator, MOLECULES)
    rest = ~graphs.missing
    assert np.array_equal(
        answer(estimator.fit(graphs[rest], np.array(y)[rest]), MOLECULES),
        answer(clone(estimator).fit(MOLECULES, Y), MOLECULES),
    )


def test_predictions_refuse_invalid_rows_unless_asked():
    estimator = FingerprintRegressor().fit(MOLECULES, Y)
    with pytest.raises(ValueError, match="Row 1 of X, 'Q', cannot be read as a molecule"):
        estimator.predict(["C", "Q"])
    with pytest.raises(ValueError, match=r"1 of 2 rows is invalid \(1\)"):
        estimator.predict(GraphSet.from_molecules(["C", "Q"], on_invalid="nan"))


def test_explanations_take_molecules():
    classifier = LoFIClassifier(**ONE).fit(MOLECULES, CLASSES)
    graphs = GraphSet.from_molecules(MOLECULES[:3])
    for explain in (node_attribution, edge_attribution):
        by_smiles, by_set = (explain(classifier, X) for X in (MOLECULES[:3], graphs))
        for a, b in zip(by_smiles.attributions, by_set.attributions, strict=True):
            assert np.array_equal(a, b)
    best = best_egonets(classifier, MOLECULES, k=2)
    assert all("label" in data for egonet in best.egonets for _, data in egonet.nodes(data=True))


def test_searches_and_compare_take_columns_of_smiles():
    frame = pd.DataFrame({"smiles": MOLECULES, "y": Y})
    scores = cross_val_score(FingerprintRegressor(), frame["smiles"], frame["y"], cv=3)
    by_set = cross_val_score(FingerprintRegressor(), GraphSet.from_molecules(MOLECULES), Y, cv=3)
    assert np.array_equal(scores, by_set)
    estimators = {"fingerprint": FingerprintRegressor(), "labels": LabelHistogramRegressor()}
    by_column, by_set = (
        compare(estimators, X, Y, cv=3, random_state=0).scores
        for X in (frame["smiles"], GraphSet.from_molecules(MOLECULES))
    )
    assert np.array_equal(by_column, by_set)


def test_a_function_as_kernel_sees_molecules_as_networkx_graphs():
    def count_atoms(a, b):
        sizes = [[graph.number_of_nodes() for graph in graphs] for graphs in (a, b)]
        return np.outer(*sizes)

    by_smiles, by_set = (
        GraphKernelSVR(kernel=count_atoms).fit(X, Y).predict(X)
        for X in (MOLECULES, GraphSet.from_molecules(MOLECULES))
    )
    assert np.array_equal(by_smiles, by_set)


def test_what_an_estimator_does_not_use_of_bonds_is_said():
    with pytest.warns(UserWarning, match="LabelHistogramRegressor|DeepMultisets|does not use edge"):
        GraphKernelSVR(kernel="shortest-path").fit(MOLECULES, Y)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([MOLECULES[0], 3], TypeError, "Row 1 of X is of type int, which is no molecule"),
        ([MOLECULES[0], b"C"], TypeError, "Row 1 of X is of type bytes"),
        ("CCO", TypeError, "X is a single string"),
        (["ethanol"], ValueError, "Row 0 of X, 'ethanol', cannot be read as a molecule"),
        ([b"C"], TypeError, "Graph 0 is of type bytes"),
        ([None, None], TypeError, "Graph 0 is of type NoneType"),
    ],
)
def test_what_is_no_list_of_molecules_is_refused(X, error, message):
    for estimator in (FingerprintRegressor(), LoFIRegressor(**ONE), WLVectorizer()):
        with pytest.raises(error, match=message):
            estimator.fit(X, [1.0] * len(X))


def test_attributes_of_networkx_graphs_are_not_those_of_molecules():
    with pytest.raises(ValueError, match="node_label='element', but X "):
        FingerprintRegressor(node_label="element").fit(MOLECULES, Y)
    unlabeled = FingerprintVectorizer(node_label=None, edge_label=None).fit(MOLECULES)
    assert not unlabeled.has_labels_ and not unlabeled.has_edge_labels_


def test_rows_that_are_no_molecule_have_no_spread():
    options = {**ONE, "n_members": 2, "on_invalid": "nan"}
    regressor = LoFIRegressor(**options).fit(MOLECULES, Y)
    y, std = regressor.predict(["CCO", "no molecule", "CCN"], return_std=True)
    assert np.isnan(y).tolist() == np.isnan(std).tolist() == [False, True, False]
    expected = regressor.predict(["CCO", "CCN"], return_std=True)
    np.testing.assert_array_equal([y[[0, 2]], std[[0, 2]]], expected)
    assert np.isnan(regressor.predict(["no molecule"], return_std=True)).all()
