import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from rdkit import Chem
from sklearn.model_selection import GroupKFold, GroupShuffleSplit

from sklofi.graphs import scaffold_groups

SERIES = [
    *("Cc1ccccc1", "OCc1ccccc1", "c1ccccc1[N+](=O)[O-]"),  # benzene
    *("CCO", "CC(C)C", "[Na+].[Cl-]", "O"),  # no rings
    *("c1ccc(Cc2ccccc2)cc1", "Cc1ccc(Cc2ccccc2)cc1"),  # two rings and a link
    "O=C1CCCCC1",  # the oxygen belongs to the ring
    "CC1CCCCC1",
    *("C[C@H]1CC[C@@H](C)N1", "C[C@@H]1CC[C@H](C)N1"),  # whatever their stereochemistry
]
EXPECTED = [0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4, 5, 5]


def test_molecules_of_one_scaffold_are_a_group():
    groups = scaffold_groups(SERIES)
    assert_array_equal(groups, EXPECTED)
    assert groups.dtype == np.int64


def test_molecules_of_rdkit_and_strings_have_the_same_groups():
    assert_array_equal(scaffold_groups([Chem.MolFromSmiles(text) for text in SERIES]), EXPECTED)
    with_hydrogens = [Chem.AddHs(Chem.MolFromSmiles(text)) for text in SERIES]
    assert_array_equal(scaffold_groups(with_hydrogens), EXPECTED)
    assert_array_equal(scaffold_groups(np.array(SERIES)), EXPECTED)


def test_molecules_in_two_groups_differ_after_side_chains_are_cut_off():
    """A second path: atoms of degree one are cut off until there are none, by networkx."""

    def rings_and_links(text):
        molecule = Chem.MolFromSmiles(text)
        graph = nx.Graph()
        graph.add_nodes_from(
            (atom.GetIdx(), {"z": atom.GetSymbol()}) for atom in molecule.GetAtoms()
        )
        graph.add_edges_from(
            (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()
        )
        return nx.weisfeiler_lehman_graph_hash(nx.k_core(graph, 2), node_attr="z")

    texts = ["Cc1ccccc1", "CCc1ccccc1C", "CCc1ccccn1", "CC1CC1C", "Oc1ccccc1", "Nc1ncccc1", "N1CC1"]
    cores = [rings_and_links(text) for text in texts]
    groups = scaffold_groups(texts)
    for i in range(len(texts)):
        assert_array_equal(groups == groups[i], [core == cores[i] for core in cores])


def test_splitters_of_scikit_learn_take_them():
    groups = scaffold_groups(SERIES)
    for splitter in (GroupKFold(3), GroupShuffleSplit(3, random_state=0)):
        for train, test in splitter.split(SERIES, groups=groups):
            assert not set(groups[train]) & set(groups[test])


def test_a_bad_molecule_is_named_by_its_row():
    with pytest.raises(ValueError, match=r"Row 1 of X, 'C1CC', cannot be read as a molecule"):
        scaffold_groups(["CCO", "C1CC"])
    with pytest.raises(ValueError, match="Row 2 of X cannot be read as a molecule: it is missing"):
        scaffold_groups(["CCO", "C", None])
    with pytest.raises(TypeError, match="X is a single string; pass a list"):
        scaffold_groups("CCO")
