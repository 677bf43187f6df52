"""MoleculesToGraphs as a step of pipelines and searches."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import (
    check_do_not_raise_errors_in_init_or_set_params,
    check_estimator_cloneable,
    check_estimator_repr,
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
    check_valid_tag_types,
)

from sklofi import FingerprintClassifier, FingerprintRegressor, GraphSet, MoleculesToGraphs

MOLECULES = ["CO", "CCN", "CCCO", "c1ccccc1N", "CN", "CCO", "CCCN", "c1ccccc1O"]
Y = np.array([1.0, 3.0, 3.0, 7.0, 2.0, 2.0, 4.0, 6.0])


def test_its_parameters_are_those_of_from_molecules():
    options = {"atom_label": "element", "explicit_hydrogens": True, "fragments": "largest"}
    transformer = MoleculesToGraphs(**options)
    graphs = transformer.fit(MOLECULES).transform(MOLECULES)
    expected = GraphSet.from_molecules(MOLECULES, **options)
    assert graphs.fingerprint == expected.fingerprint and graphs.labels == expected.labels
    assert graphs.molecule_options == expected.molecule_options
    assert transformer.atom_label == "element"  # parameters stay as they were given


def test_it_needs_no_fit_and_is_cloned():
    transformer = clone(MoleculesToGraphs(bond_label=None))
    assert transformer.transform(MOLECULES).edge_label_ids is None
    with config_context(transform_output="pandas"):
        assert isinstance(transformer.fit_transform(MOLECULES), GraphSet)


@pytest.mark.parametrize(
    "check",
    [
        check_do_not_raise_errors_in_init_or_set_params,
        check_estimator_cloneable,
        check_estimator_repr,
        check_get_params_invariance,
        check_no_attributes_set_in_init,
        check_parameters_default_constructible,
        check_set_params,
        check_valid_tag_types,
    ],
)
def test_it_keeps_the_contract_of_scikit_learn(check):
    check("MoleculesToGraphs", MoleculesToGraphs())


def test_a_search_chooses_how_molecules_are_read():
    pipeline = make_pipeline(MoleculesToGraphs(), FingerprintRegressor())
    grid = {"moleculestographs__atom_label": ["element", None, ("element", "hydrogens")]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(MOLECULES, Y)
    assert len(set(search.cv_results_["mean_test_score"])) == 3


def test_a_pipeline_gives_nan_where_its_last_step_does():
    pipeline = make_pipeline(
        MoleculesToGraphs(on_invalid="nan"), FingerprintRegressor(on_invalid="nan")
    ).fit(MOLECULES, Y)
    predicted = pipeline.predict(["CCO", "Q", "CN"])
    assert np.isnan(predicted).tolist() == [False, True, False]
    with pytest.raises(ValueError, match=r"could not be read\. 1 of 9 rows is invalid \(8\)"):
        pipeline.fit([*MOLECULES, "Q"], [*Y, 1.0])


def test_a_pipeline_predicts_as_the_estimator_alone():
    classes = Y > 2.5
    pipeline = make_pipeline(MoleculesToGraphs(), FingerprintClassifier()).fit(MOLECULES, classes)
    alone = FingerprintClassifier().fit(MOLECULES, classes)
    assert np.array_equal(pipeline.predict_proba(MOLECULES), alone.predict_proba(MOLECULES))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"atom_label": 3}, "The 'atom_label' parameter of MoleculesToGraphs must be"),
        ({"fragments": "some"}, "The 'fragments' parameter of MoleculesToGraphs must be"),
        ({"atom_label": "color"}, "atom_label has to be made of"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        MoleculesToGraphs(**parameters).transform(MOLECULES)
