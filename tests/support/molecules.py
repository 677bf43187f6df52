"""Molecules for tests: SMILES of every kind, and graphs of networkx made of them by RDKit."""

import networkx as nx
from hypothesis import strategies as st
from rdkit import Chem

# What a reader of molecules meets: salts, metals, isotopes, wildcards, atom maps, stereo.
UNUSUAL = [
    *(
        "C",
        "[H][H]",
        "[He]",
        "[Na+].[Cl-]",
        "CC(=O)[O-].[Na+]",
        "O.O.O",
        "[2H]C([2H])[2H]",
        "[13CH4]",
    ),
    *("[CH3:1][OH:2]", "*", "*C", "*1ccccc1", "[*:1]CC[*:2]", "C~C", "C$C", "[Cu+2]~O"),
    *("N->[Pt](<-N)(Cl)Cl", "[NH3][Pt]([NH3])(Cl)Cl", "[Fe]12345C6C1C2C3C4C56", "[Fe+2]", "B(O)O"),
    *(
        "F/C=C/F",
        "F/C=C\\F",
        "C[C@H](N)C(=O)O",
        "C[C@@H](N)C(=O)O",
        "[O-][N+](=O)c1ccccc1",
        "[SeH2]",
    ),
    *(
        "c1ccc2[nH]ccc2c1",
        "c1ccsc1",
        "C[Si](C)(C)C",
        "CP(=O)(O)O",
        "[CH2]",
        "[OH-]",
        "C#N",
        "C=C=C",
    ),
    *(
        "[N-]=[N+]=NC",
        "[As](c1ccccc1)(c1ccccc1)c1ccccc1",
        "C1CC1.C1CCC1",
        "[Hg](C)C",
        "CS(=O)(=O)C",
    ),
]

PEPTIDE = "N" + "[C@@H](CC(=O)O)C(=O)NCC(=O)N" * 30 + "CC(=O)O"  # more than 300 atoms

# Parts that can be put one after the other.
FRAGMENTS = [
    *(
        "C",
        "CC",
        "C(C)",
        "O",
        "N",
        "S",
        "C(=O)",
        "C(O)",
        "C(=O)N",
        "C(=O)[O-]",
        "[NH2+]",
        "C(F)(F)",
    ),
    *("c1ccc(cc1)", "c1ccncc1", "C1CCC(CC1)", "c1cn(C)cc1", "C=C", "C#C", "S(=O)(=O)", "C(Cl)"),
    *("[13CH2]", "N(C)", "OC", "[C@H](C)", "[C@@H](N)", "/C=C/", "P(=O)(O)", "[Si](C)(C)", "C(Br)"),
]


def is_readable(smiles):
    return Chem.MolFromSmiles(smiles) is not None


@st.composite
def smiles(draw):
    """A valid SMILES of a few fragments, sometimes with an ion beside it."""
    text = "".join(draw(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6)))
    text += draw(st.sampled_from(["", "", ".[Na+]", ".Cl", ".[Fe+2]"]))
    return text


molecule_lists = st.lists(
    st.one_of(smiles(), st.sampled_from(UNUSUAL)).filter(is_readable), min_size=1, max_size=5
)


def as_networkx(molecule, node_label, edge_label):
    """A molecule as a graph of networkx, by loops over its atoms and bonds."""
    if isinstance(molecule, str):
        molecule = Chem.MolFromSmiles(molecule)
    graph = nx.Graph()
    for atom in molecule.GetAtoms():
        graph.add_node(atom.GetIdx(), label=node_label(atom))
    for bond in molecule.GetBonds():
        ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        graph.add_edge(*ends, label=edge_label(bond))
    return graph


def rich_atom(atom):
    """What the default label of an atom stands for, as a tuple."""
    return (
        atom.GetAtomicNum(),
        atom.GetTotalNumHs(),
        atom.GetFormalCharge(),
        atom.GetIsAromatic(),
    )


def bond_order(bond):
    return str(bond.GetBondType()).lower()
