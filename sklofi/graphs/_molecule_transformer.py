"""A transformer of molecules to graphs, for pipelines and searches."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from sklofi._parameters import Parameterized, choice, flag, parameter
from sklofi.graphs._graph_set import GraphSet
from sklofi.graphs._molecule_options import (
    ATOM_LABEL,
    BOND_LABEL,
    FRAGMENTS,
    ON_INVALID,
    MoleculeOptions,
)


class MoleculesToGraphs(Parameterized, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Transformer of molecules to a :class:`GraphSet`.

    Estimators read molecules by themselves. Use this one in front of them to choose how molecules
    are read, or to search for it. It needs RDKit, the extra ``chem``, and learns nothing.

    See Also
    --------
    GraphSet.from_molecules : The same as a function.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklofi import FingerprintRegressor, MoleculesToGraphs
    >>> alcohols = ["CO", "CCO", "CCCO", "CCCCO", "CCCCCO"]
    >>> boiling_points = [65, 78, 97, 118, 138]
    >>> pipeline = make_pipeline(MoleculesToGraphs(atom_label="element"), FingerprintRegressor())
    >>> bool(pipeline.fit(alcohols, boiling_points).score(alcohols, boiling_points) > 0.9)
    True
    """

    atom_label: Any = parameter(
        """What the labels of atoms are made of: some of "element", "hydrogens", "charge",
        "aromatic", "isotope", "chirality" and "ring"; see :meth:`GraphSet.from_molecules`.""",
        [str, tuple, list, None],
        "str, tuple of str or None",
        default=ATOM_LABEL,
    )
    bond_label: Any = parameter(
        """What the labels of bonds are made of: some of "order", "stereo", "conjugation" and
        "ring".""",
        [str, tuple, list, None],
        "str, tuple of str or None",
        default=BOND_LABEL,
    )
    explicit_hydrogens: bool = flag("Whether hydrogens are nodes.", default=False)
    fragments: str = choice(
        "Which parts of a molecule are read if it has several, as salts do.",
        FRAGMENTS,
        default="all",
    )
    on_invalid: str = choice(
        """What to do with rows that are no molecule: raise an error that names them, or take them
        as graphs without nodes, for which estimators with ``on_invalid="nan"`` predict NaN.""",
        ON_INVALID,
        default="raise",
    )
    n_jobs: int | None = parameter(
        """Number of processes, -1 for as many as there are processors. None is 1 unless
        :func:`joblib.parallel_config` says otherwise.""",
        [Integral, None],
        "int or None",
        default=None,
    )

    def __init_subclass__(cls, auto_wrap_output_keys: None = None, **kwargs: Any) -> None:
        # There is nothing that could be made a data frame.
        super().__init_subclass__(auto_wrap_output_keys=auto_wrap_output_keys, **kwargs)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X : list, tuple, 1-D array or column of str or rdkit.Chem.Mol
            Molecules, which are not read.

        y : None
            Ignored.

        Returns
        -------
        self : object
            The transformer.
        """
        self._validate_params()
        return self

    def transform(self, X: Any) -> GraphSet:
        """Read molecules.

        Parameters
        ----------
        X : list, tuple, 1-D array or column of str or rdkit.Chem.Mol
            Molecules. A GraphSet of molecules, which may have features of its graphs, is returned
            as it is if it was made with the same options.

        Returns
        -------
        graphs : GraphSet
            A graph for each molecule.
        """
        self._validate_params()
        if isinstance(X, GraphSet):
            return self._check_options(X)
        return GraphSet.from_molecules(X, **self.get_params(deep=False))

    def _check_options(self, graphs: GraphSet) -> GraphSet:
        """Return graphs if they are molecules that were read with the same options."""
        options = MoleculeOptions(
            self.atom_label, self.bond_label, self.explicit_hydrogens, self.fragments
        )
        there = graphs.molecule_options
        if there is None:
            raise ValueError("X is a GraphSet of graphs that are no molecules. Pass molecules.")
        if there != options:
            raise ValueError(
                "X is a GraphSet of molecules that were read in another way than"
                f" {type(self).__name__} reads them: with {options.describe_difference(there)}."
                " Make it with the same options, or pass the molecules themselves."
            )
        return graphs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = []
        return tags
