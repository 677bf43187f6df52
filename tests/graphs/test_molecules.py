"""The reader of molecules, against loops over RDKit's atoms and bonds."""

import contextlib
import io
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from sklofi import GraphSet
from sklofi.graphs._molecule_options import ATOM_LABEL, ATOM_PARTS, BOND_PARTS, MoleculeOptions
from sklofi.graphs._molecules import describe_atom, describe_bond, molecules_of
from tests.support.molecules import (
    PEPTIDE,
    UNUSUAL,
    as_networkx,
    bond_order,
    molecule_lists,
    rich_atom,
)


def edges_of(graphs):
    """Neighbors of all nodes, with labels of edges, in an order of their own."""
    nodes = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.edge_offsets))
    labels = [None] * len(nodes)
    if graphs.edge_label_ids is not None:
        labels = [graphs.edge_labels[i] for i in graphs.edge_label_ids]
    return sorted(zip(nodes.tolist(), graphs.neighbors.tolist(), labels, strict=True))


def assert_same_graphs(graphs, expected):
    """Equal fields, but for the names of node labels, which have to be one to one."""
    assert graphs.node_offsets.tolist() == expected.node_offsets.tolist()
    assert graphs.directed.tolist() == expected.directed.tolist()
    assert edges_of(graphs) == edges_of(expected)
    pairs = {
        (graphs.labels[i], expected.labels[j])
        for i, j in zip(graphs.label_ids, expected.label_ids, strict=True)
    }
    assert len(pairs) == len(graphs.labels) == len(expected.labels)


@settings(max_examples=100, deadline=None)
@given(molecule_lists)
def test_fields_equal_those_by_way_of_networkx(molecules):
    graphs = GraphSet.from_molecules(molecules)
    by_loops = [as_networkx(molecule, rich_atom, bond_order) for molecule in molecules]
    assert_same_graphs(graphs, GraphSet.from_networkx(by_loops))


@settings(max_examples=50, deadline=None)
@given(
    molecule_lists,
    st.sets(st.sampled_from(ATOM_PARTS), min_size=1),
    st.sets(st.sampled_from(BOND_PARTS), min_size=1),
)
def test_labels_tell_apart_what_their_parts_do(molecules, atom_parts, bond_parts):
    get = {
        "isotope": lambda atom: atom.GetIsotope(),
        "element": lambda atom: atom.GetAtomicNum(),
        "hydrogens": lambda atom: atom.GetTotalNumHs(),
        "charge": lambda atom: atom.GetFormalCharge(),
        "aromatic": lambda atom: atom.GetIsAromatic(),
        "chirality": lambda atom: atom.GetPropsAsDict().get("_CIPCode"),
        "ring": lambda atom: atom.IsInRing(),
    }
    get_of_bond = {
        "order": bond_order,
        "stereo": lambda bond: bond.GetPropsAsDict().get("_CIPCode"),
        "conjugation": lambda bond: bond.GetIsConjugated(),
        "ring": lambda bond: bond.IsInRing(),
    }
    options = {"atom_label": tuple(atom_parts), "bond_label": tuple(bond_parts)}
    graphs = GraphSet.from_molecules(molecules, **options)
    read = molecules_of(molecules, MoleculeOptions(**options))
    by_loops = [
        as_networkx(
            molecule,
            lambda atom: tuple(str(get[part](atom)) for part in sorted(atom_parts)),
            lambda bond: describe_bond(bond, bond_parts),
        )
        for molecule in read
    ]
    assert_same_graphs(graphs, GraphSet.from_networkx(by_loops))
    bonds = [bond for molecule in read for bond in molecule.GetBonds()]
    pairs = {
        (describe_bond(bond, bond_parts), tuple(get_of_bond[p](bond) for p in sorted(bond_parts)))
        for bond in bonds
    }
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)


@settings(max_examples=50, deadline=None)
@given(molecule_lists)
def test_molecules_of_rdkit_give_the_same_as_their_smiles(molecules):
    from_text = GraphSet.from_molecules(molecules)
    from_rdkit = GraphSet.from_molecules([Chem.MolFromSmiles(text) for text in molecules])
    assert from_text.labels == from_rdkit.labels
    assert from_text.fingerprint == from_rdkit.fingerprint


@pytest.mark.parametrize("molecule", [*UNUSUAL, PEPTIDE])
def test_unusual_molecules_equal_loops_over_their_atoms(molecule):
    graphs = GraphSet.from_molecules([molecule])
    assert_same_graphs(
        graphs, GraphSet.from_networkx([as_networkx(molecule, rich_atom, bond_order)])
    )


def test_labels_are_written_almost_as_in_smiles():
    graphs = GraphSet.from_molecules(["CC[NH3+].[O-]C(=O)c1c[nH]c2ccccc12", "[Ca+2]", "*C", "[HH]"])
    assert graphs.labels == (
        *("*", "C", "CH2", "CH3", "Ca+2", "HH", "NH3+", "O", "O-", "c", "cH", "nH"),
    )
    assert graphs.edge_labels == ("aromatic", "double", "single")


def test_further_parts_of_labels_are_words():
    parts = {"atom_label": ATOM_PARTS, "bond_label": BOND_PARTS}
    graphs = GraphSet.from_molecules(["C[C@H](O)C1CC1", "F/C=C/[13CH3]", "C=CC=C"], **parts)
    assert "CH S" in graphs.labels and "CH ring" in graphs.labels and "13CH3" in graphs.labels
    assert graphs.edge_labels == (
        *("double E", "double conjugated", "single", "single conjugated", "single ring"),
    )


def test_metals_have_dative_bonds_and_wildcards_unspecified_ones():
    graphs = GraphSet.from_molecules(["[NH3][Pt]([NH3])(Cl)Cl", "C~C", "C$C"])
    assert graphs.edge_labels == ("dative", "quadruple", "single", "unspecified")


def test_stereo_is_read_by_option_only():
    left, right = "C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"
    trans, cis = "F/C=C/F", "F/C=C\\F"
    plain = GraphSet.from_molecules([left, right, trans, cis])
    assert plain[[0]].fingerprint == plain[[1]].fingerprint
    assert plain[[2]].fingerprint == plain[[3]].fingerprint
    options = {"atom_label": ("element", "chirality"), "bond_label": ("order", "stereo")}
    told_apart = GraphSet.from_molecules([left, right, trans, cis], **options)
    assert {"C R", "C S"} <= set(told_apart.labels)
    assert {"double E", "double Z"} <= set(told_apart.edge_labels)


def test_chirality_does_not_depend_on_how_smiles_is_written():
    molecule = Chem.MolFromSmiles("C[C@H](N)C(=O)OCC[C@@H](F)Cl")
    labels = set()
    for seed in range(10):
        text = Chem.MolToRandomSmilesVect(molecule, 1, seed)[0]
        graphs = GraphSet.from_molecules([text], atom_label=("element", "chirality"))
        labels.add(tuple(sorted(graphs.labels[i] for i in graphs.label_ids)))
    assert len(labels) == 1


def test_hydrogens_are_nodes_by_option():
    graphs = GraphSet.from_molecules(["CO"], explicit_hydrogens=True)
    assert graphs.labels == ("C", "H", "O") and graphs.n_nodes == 6
    without = GraphSet.from_molecules([Chem.AddHs(Chem.MolFromSmiles("CO"))])
    assert without.labels == ("CH3", "OH") and without.n_nodes == 2
    with_them = GraphSet.from_molecules(
        [Chem.AddHs(Chem.MolFromSmiles("CO"))], explicit_hydrogens=True
    )
    assert with_them.fingerprint == graphs.fingerprint


def test_salts_are_read_whole_or_as_their_largest_fragment():
    salt = "[Na+].CC(=O)[O-]"
    assert GraphSet.from_molecules([salt]).n_nodes == 5
    largest = GraphSet.from_molecules([salt, "C.O", "CCO"], fragments="largest")
    alone = GraphSet.from_molecules(["CC(=O)[O-]", "C", "CCO"])
    assert largest.labels == alone.labels and largest.fingerprint == alone.fingerprint


def test_the_largest_fragment_does_not_depend_on_the_order():
    for pair in (("CCO", "CCN"), ("C=C", "CC"), ("O", "N")):
        a, b = (
            GraphSet.from_molecules([".".join(p)], fragments="largest") for p in (pair, pair[::-1])
        )
        assert a.labels == b.labels


def test_isotopes_and_atom_maps_are_not_read():
    graphs = GraphSet.from_molecules(["[13CH3:7]O", "CO"])
    assert graphs[[0]].fingerprint == graphs[[1]].fingerprint
    isotopes = GraphSet.from_molecules(["[13CH3:7]O", "CO"], atom_label=("element", "isotope"))
    assert isotopes.labels == ("13C", "C", "O")


def test_no_parts_are_no_labels():
    graphs = GraphSet.from_molecules(["CCO"], atom_label=None, bond_label=())
    assert graphs.label_ids is None and graphs.edge_label_ids is None
    assert graphs.neighbors.tolist() == [1, 0, 2, 1]


def test_containers_of_molecules_are_read_alike():
    molecules = ["CCO", "c1ccccc1"]
    expected = GraphSet.from_molecules(molecules).fingerprint
    column = pd.Series(molecules, index=[7, 3])
    for X in (tuple(molecules), np.array(molecules), np.array(molecules, dtype=object), column):
        assert GraphSet.from_molecules(X).fingerprint == expected
    assert GraphSet.from_molecules(column.astype("string")).fingerprint == expected
    assert GraphSet.from_molecules(column.to_frame()).fingerprint == expected


def test_many_molecules_are_read_as_few_are(monkeypatch):
    molecules = [*UNUSUAL, "C(C"] * 3
    whole = GraphSet.from_molecules(molecules, on_invalid="nan")
    monkeypatch.setattr("sklofi.graphs._molecules.CHUNK", 7)
    parts = GraphSet.from_molecules(molecules, on_invalid="nan")
    assert parts.labels == whole.labels and parts.edge_labels == whole.edge_labels
    assert parts.fingerprint == whole.fingerprint


@pytest.mark.parallel
def test_processes_read_as_one_does(monkeypatch):
    monkeypatch.setattr("sklofi.graphs._molecules.CHUNK", 20)
    alone, together = (GraphSet.from_molecules(UNUSUAL, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert alone.labels == together.labels and alone.fingerprint == together.fingerprint


def test_slices_pickles_and_files_know_how_molecules_were_read(tmp_path):
    graphs = GraphSet.from_molecules(["CCO", "CC"], atom_label="element", fragments="largest")
    expected = MoleculeOptions(("element",), ("order",), False, "largest")
    graphs.save(tmp_path / "graphs.safetensors")
    loaded = GraphSet.load(tmp_path / "graphs.safetensors")
    pickled = pickle.loads(pickle.dumps(graphs))
    for others in (graphs, graphs[:1], pickled, graphs.without_labels(), loaded):
        assert others.molecule_options == expected
    assert GraphSet.from_networkx(graphs.to_networkx()).molecule_options is None


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("C(C", "it is not valid SMILES"),
        ("ethanol", "it is not valid SMILES"),
        ("c1cccc1", 'RDKit says "Can\'t kekulize mol. Unkekulized atoms: 0 1 2 3 4"'),
        (
            "CC(C)(C)(C)C",
            "RDKit says 'Explicit valence for atom # 1 C, 5, is greater than permitted'",
        ),
        ("", "it has no atoms"),
        (" ", "it is not valid SMILES"),
        ("C\0C", "it is not valid SMILES"),
        ("\ud800", "'utf-8' codec can't encode character"),
    ],
)
def test_what_is_no_molecule_is_refused_with_row_text_and_reason(smiles, reason, capfd):
    with pytest.raises(ValueError) as error:
        GraphSet.from_molecules(["C", smiles, "CC"])
    text = str(error.value)
    assert text.startswith(f"Row 1 of X, {smiles!r}, cannot be read as a molecule: {reason}")
    assert "1 of 3 rows is invalid (1). Correct them or leave them out;" in text
    assert capfd.readouterr().err == ""  # RDKit writes a log of its own otherwise


@pytest.mark.parametrize("n_bonds", [200, 1000])
def test_atoms_with_more_bonds_than_rdkit_can_count_are_invalid(n_bonds):
    crowded = "C" + "(C)" * n_bonds
    with pytest.raises(ValueError, match=r"Row 1 of X.* cannot be read as a molecule"):
        GraphSet.from_molecules(["CC", crowded])
    graphs = GraphSet.from_molecules(["CC", crowded], on_invalid="nan")
    assert graphs.missing.tolist() == [False, True]


def test_all_invalid_rows_are_counted_and_the_first_are_named():
    molecules = ["C", *["Q"] * 8, "C", None]
    with pytest.raises(ValueError, match=r"9 of 11 rows are invalid \(1, 2, 3, 4, 5 and 4 more\)"):
        GraphSet.from_molecules(molecules)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA])
def test_missing_molecules_are_invalid_rows(missing):
    with pytest.raises(ValueError, match=r"Row 1 of X cannot be read .* it is missing \("):
        GraphSet.from_molecules(["CC", missing])
    graphs = GraphSet.from_molecules(["CC", missing], on_invalid="nan")
    assert graphs.missing.tolist() == [False, True]


def test_bad_entries_of_an_sdf_are_named():
    molecules = [Chem.MolFromSmiles("CC"), None, Chem.MolFromSmiles("CO")]
    with pytest.raises(ValueError, match=r"Row 1 of X cannot be read .* it is missing \(None\)\."):
        GraphSet.from_molecules(molecules)


def test_molecules_that_were_not_sanitized_are_read_as_sanitized_ones():
    molecule = Chem.MolFromSmiles("C1=CC=CC=C1O", sanitize=False)
    graphs = GraphSet.from_molecules([molecule])
    assert graphs.labels == ("OH", "c", "cH")
    assert not molecule.GetAtomWithIdx(0).GetIsAromatic()  # the user's is as it was
    with pytest.raises(ValueError, match="Row 0 of X cannot be read as a molecule: RDKit says"):
        GraphSet.from_molecules([Chem.MolFromSmiles("c1cccc1", sanitize=False)])
    with pytest.raises(ValueError, match=r"Row 0 of X cannot be read .* it has no atoms"):
        GraphSet.from_molecules([Chem.Mol()])


@pytest.mark.parametrize(
    ("molecules", "message"),
    [
        (["C", 3], "Row 1 of X is of type int, which is no molecule."),
        (["C", b"C"], "Row 1 of X is of type bytes, which is no molecule."),
        (["C", ["C"]], "Row 1 of X is of type list, which is no molecule."),
        ("CCO", "X is a single string; pass a list, for one molecule"),
        (Chem.MolFromSmiles("CC"), "X is a single molecule; pass a list"),
        (
            ["C", Chem.MolFromSmiles("CC")],
            "Row 1 of X is a molecule of RDKit, but the first molecule is a SMILES string.",
        ),
    ],
)
def test_what_is_neither_smiles_nor_rdkit_is_refused(molecules, message):
    with pytest.raises(TypeError, match=message):
        GraphSet.from_molecules(molecules)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"atom_label": "color"}, "atom_label has to be made of .* got 'color'"),
        ({"bond_label": ("order", 3)}, "bond_label has to be made of"),
        ({"fragments": "smallest"}, 'fragments has to be "all" or "largest", got \'smallest\''),
        ({"explicit_hydrogens": "no"}, "explicit_hydrogens has to be True or False, got 'no'"),
        ({"on_invalid": "drop"}, 'on_invalid has to be "raise" or "nan", got \'drop\''),
    ],
)
def test_options_that_there_are_not_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        GraphSet.from_molecules(["C"], **options)


def test_options_are_equal_in_whatever_order_they_are_given():
    assert MoleculeOptions(ATOM_LABEL[::-1], ["order"]) == MoleculeOptions()
    assert hash(MoleculeOptions(explicit_hydrogens=np.True_)) == hash(
        MoleculeOptions(explicit_hydrogens=True)
    )


def test_invalid_rows_are_graphs_without_nodes_by_option(tmp_path):
    graphs = GraphSet.from_molecules(["Q", "CCO", None, "C"], on_invalid="nan")
    assert graphs.missing.tolist() == [True, False, True, False]
    assert [graph.number_of_nodes() for graph in graphs] == [0, 3, 0, 1]
    rest = graphs[~graphs.missing]
    assert rest.fingerprint == GraphSet.from_molecules(["CCO", "C"]).fingerprint
    assert rest.origin[0] is rest  # tables are never made of graphs without nodes
    graphs.check_arrays()
    graphs.save(tmp_path / "graphs.safetensors")
    loaded = GraphSet.load(tmp_path / "graphs.safetensors")
    assert loaded.missing.tolist() == graphs.missing.tolist()


def test_nothing_but_invalid_rows_can_be_read():
    graphs = GraphSet.from_molecules(["Q", None], on_invalid="nan")
    assert len(graphs) == 2 and graphs.n_nodes == 0 and graphs.missing.all()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_any_text_is_a_molecule_or_an_invalid_row(texts):
    with contextlib.redirect_stderr(io.StringIO()):
        graphs = GraphSet.from_molecules(texts, on_invalid="nan")
    assert len(graphs) == len(texts)
    graphs.check_arrays()
    if graphs.missing.any():
        row = int(np.flatnonzero(graphs.missing)[0])
        with pytest.raises(ValueError, match=f"^Row {row} of X"):
            GraphSet.from_molecules(texts)


def test_long_texts_are_read_or_refused_with_a_short_message():
    assert GraphSet.from_molecules(["C" * 3000]).n_nodes == 3000
    with pytest.raises(ValueError) as error:
        GraphSet.from_molecules(["C(" * 1000])
    assert len(str(error.value)) < 500


def test_molecules_of_rdkit_are_not_changed():
    molecule = Chem.AddHs(Chem.MolFromSmiles("C[C@H](N)O.Cl"))
    before = molecule.ToBinary(Chem.PropertyPickleOptions.AllProps)
    GraphSet.from_molecules([molecule], atom_label=ATOM_PARTS, fragments="largest")
    assert molecule.ToBinary(Chem.PropertyPickleOptions.AllProps) == before


def test_molecules_of_gives_the_atoms_that_are_nodes():
    options = MoleculeOptions(explicit_hydrogens=True, fragments="largest")
    (molecule,) = molecules_of(["CC(=O)[O-].[Na+]"], options)
    graphs = GraphSet.from_molecules(
        ["CC(=O)[O-].[Na+]"], explicit_hydrogens=True, fragments="largest"
    )
    labels = [describe_atom(atom, ATOM_LABEL) for atom in molecule.GetAtoms()]
    assert labels == [graphs.labels[i] for i in graphs.label_ids]
    own = Chem.MolFromSmiles("CCO")
    assert molecules_of([own])[0] is own
    with pytest.raises(ValueError, match="Row 1 of X, 'Q', cannot be read as a molecule"):
        molecules_of(["C", "Q", "C"])


def test_without_rdkit_the_extra_is_named():
    code = (
        "import sys; sys.modules['rdkit'] = None\n"
        "from sklofi import FingerprintRegressor\n"
        "try: FingerprintRegressor().fit(['CC', 'CCC', 'C'], [1.0, 2.0, 3.0])\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == (
        "Reading molecules needs RDKit. Install it with pip install rdkit."
    )
