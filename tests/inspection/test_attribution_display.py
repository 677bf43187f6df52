"""A display draws graphs with their attributions."""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from display_helpers import QUICK, disc_colors, letters, outlines, svg_of
from matplotlib.collections import EllipseCollection
from related_outputs import bonded_graphs
from sklearn.utils import Bunch

from sklofi import GraphSet, LoFIClassifier, LoFIRegressor
from sklofi.inspection import (
    AttributionDisplay,
    MaskDisplay,
    TrainingDisplay,
    edge_attribution,
    node_attribution,
)


@pytest.mark.parametrize("n_graphs", [1, 3, 16])
def test_graphs_are_drawn_with_their_attributions(motifs, classifier, n_graphs):
    graphs, y = motifs[0][:n_graphs], motifs[1][:n_graphs]
    display = AttributionDisplay.from_estimator(classifier, graphs, y)
    assert display.ax_.shape == (n_graphs,)
    result = node_attribution(classifier, graphs)
    for got, wanted in zip(display.attributions, result.attributions, strict=True):
        assert (got == wanted).all()
    predicted = classifier.predict(graphs)
    for i, ax in enumerate(display.ax_):
        assert ax.get_title().startswith(f"predicted {predicted[i]} (")
        assert ax.get_title().endswith(f", true {y[i]}")
        assert sorted(letters(ax)) == sorted(label for _, label in graphs[i].nodes(data="label"))
        colors = display.colorbar_.cmap(display.colorbar_.norm(result.attributions[i]))
        assert np.allclose(disc_colors(ax), colors)
    low, high = display.colorbar_.ax.get_ylim()
    assert low == -high  # zero is in the middle
    assert high == max(abs(values).max() for values in result.attributions)
    display.figure_.canvas.draw()


def test_titles_say_what_is_explained_where_it_is_not_the_prediction(motifs, classifier):
    graphs, y = motifs
    wrong = 1 - classifier.predict(graphs)
    display = AttributionDisplay.from_estimator(classifier, graphs[:6], target=wrong[:6])
    assert display.ax_[0].get_title().startswith(f"for {wrong[0]}: predicted")
    display = AttributionDisplay.from_estimator(classifier, graphs[:6], target=1)
    assert display.unit == "evidence for class 1 (log-odds)"
    regressor = LoFIRegressor(**QUICK).fit(graphs, np.column_stack([y, 10.0 * y]))
    display = AttributionDisplay.from_estimator(
        regressor, graphs[:2], np.array([[0, 20], [1, 30]]), target=1
    )
    assert display.ax_[1].get_title().endswith("true 30")


def test_displays_draw_where_they_are_told(motifs, classifier):
    figure, axes = plt.subplots(1, 3, figsize=(24, 6), layout="constrained")
    assert TrainingDisplay.from_estimator(classifier, ax=axes[0]).figure_ is figure
    display = AttributionDisplay.from_estimator(classifier, motifs[0][:2], ax=axes[1])
    assert display.figure_ is figure
    assert MaskDisplay.from_estimator(classifier, *motifs, k=1, ax=axes[2]).figure_ is figure
    figure.canvas.draw()
    by_hand = plt.figure().add_axes((0.5, 0.5, 0.4, 0.4))
    display = AttributionDisplay.from_estimator(classifier, motifs[0][:1], ax=by_hand)
    assert display.ax_[0].get_position().x0 >= 0.5
    with pytest.raises(TypeError, match="ax has to be one matplotlib Axes, got ndarray"):
        AttributionDisplay.from_estimator(classifier, motifs[0][:1], ax=axes)
    with pytest.raises(ValueError, match="2 graphs, but y has 1 targets"):
        AttributionDisplay.from_estimator(classifier, motifs[0][:2], [0])


def test_only_labels_that_the_network_sees_are_written(motifs):
    graphs, y = motifs
    blind = LoFIClassifier(**QUICK, node_label=None).fit(graphs, y)
    for X in (graphs[:1], GraphSet.from_networkx(graphs[:1])):
        assert letters(AttributionDisplay.from_estimator(blind, X).ax_[0]) == []


def test_edges_are_colored_by_their_attributions_where_asked_for(motifs, classifier):
    graphs = motifs[0][:3]
    plain = AttributionDisplay.from_estimator(classifier, graphs)
    display = AttributionDisplay.from_estimator(classifier, graphs, edges=True)
    result = edge_attribution(classifier, graphs)
    largest = max(abs(values).max() for values in [*result.attributions, *display.attributions])
    assert display.colorbar_.norm.vmax == largest
    for i, ax in enumerate(display.ax_):
        assert len(outlines(plain.ax_[i])) == 1
        bands, lines = outlines(ax)
        assert len(bands) == len(lines) == graphs[i].number_of_edges()
        colors = display.colorbar_.cmap(display.colorbar_.norm(result.attributions[i]))
        assert np.allclose(ax.collections[0].get_facecolor(), colors)


def test_numbers_of_parallel_edges_are_added_in_the_color_of_their_line():
    graph = nx.MultiGraph([(0, 1, {"label": "bus"}), (0, 1, {"label": "ship"}), (1, 2)])
    ends, values = np.array([[0, 1], [0, 1], [1, 2]]), np.array([1, 2, -1.5])
    of_edges = Bunch(edges=[ends], attributions=[values])
    display = AttributionDisplay([graph], [np.zeros(3)], ["a title"], edge_attributions=of_edges)
    display.plot()
    colors = display.colorbar_.cmap([1.0, 0.25])
    assert np.allclose(display.ax_[0].collections[0].get_facecolor(), colors)


def test_orders_of_bonds_are_drawn_where_the_network_sees_them():
    graphs, y = bonded_graphs()
    for graph in graphs:
        for *_, data in graph.edges(data=True):
            del data["weight"]
    for edge_label in ("bond", None):
        bonded = LoFIClassifier(**QUICK, edge_label=edge_label).fit(graphs, y)
        display = AttributionDisplay.from_estimator(bonded, graphs[:2])
        for graph, ax in zip(graphs, display.ax_, strict=False):
            n_double = [bond for *_, bond in graph.edges(data="bond")].count("double")
            n_lines = graph.number_of_edges() + (n_double if edge_label else 0)
            assert len(outlines(ax)[0]) == n_lines


def test_arguments_that_do_not_fit_are_refused(motifs, classifier):
    with pytest.raises(TypeError, match="edges must be an instance of bool, not str"):
        AttributionDisplay.from_estimator(classifier, motifs[0][:1], edges="yes")
    with pytest.raises(ValueError, match=r"^Graph 1 has 3 nodes, but 2 attributions\.$"):
        AttributionDisplay([nx.path_graph(2), nx.path_graph(3)], [np.zeros(2)] * 2, ["", ""]).plot()
    far = LoFIClassifier(**QUICK, radius=2).fit(*motifs)
    with pytest.raises(ValueError, match="fitted with radius=2"):
        AttributionDisplay.from_estimator(far, motifs[0][:1], edges=True)


SMILES = [
    *("CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C[C@H](N)C(=O)O", "CCO"),
    *("C[N+](C)(C)CC(=O)[O-]", "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "NS(=O)(=O)c1ccc(N)cc1", "O"),
    *("FC(F)(F)c1ccc(Cl)cc1Br", "C#CCNc1ccccn1", "O=[N+]([O-])c1ccccc1", "[Na+].[Cl-]"),
    *("CC12CCC3C(C1CCC2O)CCC4=CC(=O)CCC34C", "OCC1OC(O)C(O)C(O)C1O", "C=C=C", "CC(C)O"),
]


def test_sixteen_molecules_are_small_vectors_with_one_scale_of_colors():
    Chem = pytest.importorskip("rdkit.Chem")
    molecules = [Chem.MolFromSmiles(smiles) for smiles in SMILES]
    rng = np.random.default_rng(0)
    values = [rng.normal(size=molecule.GetNumAtoms()) for molecule in molecules]
    display = AttributionDisplay(molecules, values, SMILES).plot()
    assert display.ax_.shape == (16,)
    for ax, of_atoms in zip(display.ax_, values, strict=True):
        colors = display.colorbar_.cmap(display.colorbar_.norm(of_atoms))
        assert np.allclose(disc_colors(ax), colors)
    picture = svg_of(display.figure_)
    assert "<image" not in picture.split('<g id="axes_17">')[0]  # the color bar may be one
    assert len(picture) < 16 * 50_000


def test_bonds_of_molecules_of_similar_size_are_equally_long():
    Chem = pytest.importorskip("rdkit.Chem")
    molecules = [Chem.MolFromSmiles(smiles) for smiles in SMILES[4:7]]
    values = [np.zeros(molecule.GetNumAtoms()) for molecule in molecules]
    display = AttributionDisplay(molecules, values, [""] * 3).plot(n_columns=3)
    display.figure_.canvas.draw()
    scales = [ax.transData.get_matrix()[0, 0] for ax in display.ax_]
    assert np.allclose(scales, scales[0])


@pytest.fixture(scope="module")
def chemist():
    pytest.importorskip("rdkit")
    return LoFIClassifier(**QUICK).fit(SMILES, np.arange(16) % 2)


def test_smiles_and_molecules_are_drawn_with_their_atoms_and_bonds(chemist):
    Chem = pytest.importorskip("rdkit.Chem")
    of_atoms, of_bonds = node_attribution(chemist, SMILES), edge_attribution(chemist, SMILES)
    molecules = [Chem.MolFromSmiles(smiles) for smiles in SMILES]
    for X in (SMILES, molecules):
        display = AttributionDisplay.from_estimator(chemist, X, np.arange(16) % 2)
        scale = display.colorbar_.cmap, display.colorbar_.norm
        for i, ax in enumerate(display.ax_):
            assert np.allclose(disc_colors(ax), colors_of(scale, of_atoms.attributions[i]))
            if molecules[i].GetNumBonds() == 0:
                assert outlines(ax) == []
                continue
            bands = ax.collections[0]
            assert np.allclose(bands.get_facecolor(), colors_of(scale, of_bonds.attributions[i]))
            for path, (start, end) in zip(bands.get_paths(), of_bonds.edges[i], strict=True):
                # The middle of the band is the middle between the two atoms of the bond.
                atoms = atom_places(ax)
                assert molecules[i].GetBondBetweenAtoms(int(start), int(end))
                assert np.allclose(path.vertices[:4].mean(axis=0), atoms[[start, end]].mean(axis=0))
    aspirin, salt = letters(display.ax_[0]), letters(display.ax_[11])
    assert sorted(aspirin) == ["O", "O", "O", "OH"]
    assert sorted(salt) == ["Cl\N{MINUS SIGN}", "Na+"]
    assert len(svg_of(display.figure_)) < 16 * 50_000


def colors_of(scale, values):
    cmap, norm = scale
    return cmap(norm(values))


def atom_places(ax):
    (discs,) = [artist for artist in ax.collections if isinstance(artist, EllipseCollection)]
    return discs.get_offsets()


def test_molecules_are_drawn_as_they_were_read():
    pytest.importorskip("rdkit")
    X = GraphSet.from_molecules(SMILES, explicit_hydrogens=True, fragments="largest")
    classifier = LoFIClassifier(**QUICK).fit(X, np.arange(16) % 2)
    display = AttributionDisplay.from_estimator(classifier, ["CO", "[Na+].CC(=O)[O-]"])
    assert sorted(letters(display.ax_[0])) == ["H", "H", "H", "H", "O"]
    assert len(atom_places(display.ax_[0])) == 6
    assert sorted(letters(display.ax_[1])) == ["H", "H", "H", "O", "O\N{MINUS SIGN}"]


def test_bonds_have_colors_by_default_only_where_they_can_be_explained(chemist):
    far = LoFIClassifier(**QUICK, radius=2).fit(SMILES, np.arange(16) % 2)
    assert AttributionDisplay.from_estimator(far, SMILES[:1]).edge_attributions is None
    counts_alone = LoFIClassifier(**{**QUICK, "counts": True}).fit(SMILES, np.arange(16) % 2)
    counts_alone.counts_share_ = 1.0
    display = AttributionDisplay.from_estimator(counts_alone, SMILES[:1])
    assert display.edge_attributions is None
    display = AttributionDisplay.from_estimator(chemist, SMILES[:1], edges=False)
    assert display.edge_attributions is None
    graphs = GraphSet.from_molecules(SMILES[:1])  # which have no molecules anymore
    display = AttributionDisplay.from_estimator(chemist, graphs)
    assert display.edge_attributions is None
    assert "CH3" in letters(display.ax_[0])


def test_what_is_no_molecule_is_refused_by_its_row(chemist):
    with pytest.raises(ValueError, match="C1CC"):
        AttributionDisplay.from_estimator(chemist, ["CCO", "C1CC"])
