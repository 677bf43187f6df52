"""What all networks share: how graphs are read, how a net is trained, and what is fitted."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils._param_validation import Interval, StrOptions

from sklofi._molecules import TakesMolecules
from sklofi._parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    ReadsGraphFeatures,
    ReadsNodeLabels,
    Searchable,
    choice,
    count,
    flag,
    parameter,
)
from sklofi.egonets._structure import STRUCTURES
from sklofi.training._split import HasSplit


def learning_rate(*, default: float) -> Any:
    """Declare the learning rate, of which some networks have a default of their own."""
    return parameter("Learning rate of the AdamW optimizer.", POSITIVE, default=default)


def patience_of(*, default: int) -> Any:
    """Declare the patience of early stopping, of which LoFI has a default of its own."""
    return count(
        """Number of epochs after which training stops if the validation loss has not become
        lower than before, by more than 0.0001. Losses have no unit: they are cross-entropies,
        or errors of standardized targets.""",
        default=default,
    )


def members(*, default: int | str) -> Any:
    """Declare the number of networks."""
    return parameter(
        """Number of networks that predict together, by the mean of their outputs. If there are
        several, each leaves out another part of the training graphs, about a
        `validation_fraction` of them but at most half, on which it is stopped early; together
        they learn from all graphs. "auto" is 10 for up to 600 graphs, 6000 divided by their
        number for more, but at least 3, and 1 for more than 6000 graphs.""",
        [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        'int or "auto"',
        default=default,
    )


def with_counts(*, default: bool) -> Any:
    """Declare whether counts take part."""
    return flag(
        """Whether a linear machine on counts of Weisfeiler-Lehman colors takes part in
        predictions. Its share is found by the loss on graphs that were left out, and may be 0.
        Continuous features and weights are not counted.""",
        default=default,
    )


class TrainingParameters(ReadsNodeLabels, ReadsGraphFeatures, TakesMolecules, Searchable):
    """Mixin with the parameters that all networks share, and the attributes of a fitted one."""

    node_features: Hashable | None = parameter(
        """Node attribute with a number or a vector of numbers. They are standardized over
        the training graphs and stand beside the labels. For a :class:`GraphSet` it was
        chosen when it was made.""",
        "no_validation",
        "hashable or None",
        default=None,
    )
    structure: str | tuple[str, ...] | list[str] | None = parameter(
        """What nodes are told of the graph around them, as further labels: some of "degree"
        (number of neighbors), "triangles" (how many the node is in), "rings" (sizes of the
        smallest rings through its edges, up to 8) and "walks" (probabilities that a random walk
        of 2, 3 and 4 steps returns). Numbers above 8 are in steps of half an octave. A degree
        or number of triangles that no training graph has counts as the nearest one, unknown rings
        and walks as zeros, whatever `handle_unknown` says. In a directed graph degrees and
        walks follow the direction of edges, rings are directed cycles, and triangles leave
        directions out.""",
        [StrOptions(set(STRUCTURES)), tuple, list, None],
        "str, tuple of str or None",
        default=None,
    )
    handle_unknown: str = choice(
        """What to do with node labels that no training graph has: take them as an all-zero
        vector, or raise an error.""",
        ("ignore", "error"),
        default="ignore",
    )
    max_epochs: int = count("Largest number of passes over the training graphs.", default=200)
    lr: float = learning_rate(default=0.005)
    batch_size: int = count("Number of graphs in a training step.", default=32)
    weight_decay: float = parameter(
        "Weight decay of the AdamW optimizer.", NOT_NEGATIVE, default=0.0
    )
    early_stopping: bool = flag(
        """Whether to stop when the loss on validation graphs stops falling, and to go back
        to the weights that were best on them.""",
        default=True,
    )
    validation_fraction: Any = parameter(
        """Share of the training graphs to set aside for early stopping, of all classes in
        proportion; each of several networks sets aside others. Or a splitter of scikit-learn,
        anything with ``split(X, y, groups)``: a single network takes its first split, several
        take its splits in turn, and again from the first if there are fewer. It sees the graphs
        of weight above zero, and is not saved with the estimator. Not used if `X_val` and `y_val`
        are passed to `fit`.""",
        [Interval(Real, 0, 1, closed="neither"), HasSplit()],
        "float or splitter",
        default=0.1,
    )
    patience: int = patience_of(default=30)
    n_members: int | str = members(default=1)
    counts: bool = with_counts(default=False)
    n_jobs: int | None = parameter(
        """Number of processes in which networks are trained side by side, -1 for as many as
        there are processors. None is 1 unless :func:`joblib.parallel_config` says otherwise.""",
        [Integral, None],
        "int or None",
        default=None,
    )
    device: str = parameter(
        """Where to compute, in the words of torch: "cpu", "cuda", "cuda:1"; "auto" takes a
        GPU if there is one.""",
        [str, torch.device],
        "str",
        default="auto",
    )
    warm_start: bool = flag(
        """Whether a further call of `fit` goes on from the present weights. The network
        stays as it is: of the parameters, only those of the training may change, and
        `fit` refuses others that have. So does `partial_fit`.""",
        default=False,
    )
    callbacks: list[Any] | None = parameter(
        """Further callbacks for the training, such as learning rate schedulers. They are
        copied; the copies that were used are in ``net_.callbacks_``.""",
        [list, tuple, None],
        "list of skorch callbacks or None",
        default=None,
    )
    random_state: int | np.random.RandomState | None = parameter(
        """Determines initial weights, validation graphs, batches and dropout. The global
        generators of numpy and torch are left alone if this is an int. Equal bits need
        equal numbers of threads as well: ``torch.set_num_threads(1)`` here, and
        ``joblib.parallel_config("loky", inner_max_num_threads=1)`` for worker processes.""",
        ["random_state"],
        default=None,
    )
    verbose: int = parameter(
        """1 shows a progress bar on a terminal and some lines elsewhere, 2 a line for
        every epoch.""",
        ["verbose"],
        default=0,
    )

    _search_space: ClassVar[dict[str, list[Any]]] = {
        "structure": [None, "degree"],
        "lr": [0.001, 0.002, 0.005, 0.01],
        "weight_decay": [0.0, 0.1, 1.0],
        "dropout": [0.0, 0.1, 0.3, 0.5],
    }

    # The parameters that may change while a network is trained further.
    _may_change: ClassVar[frozenset[str]] = frozenset(
        {
            *("handle_unknown", "max_epochs", "lr", "batch_size", "weight_decay"),
            *("early_stopping", "validation_fraction", "patience", "class_weight"),
            *("device", "warm_start", "random_state", "verbose", "n_jobs", "on_invalid"),
        }
    )
    _fitted_attributes: ClassVar[dict[str, tuple[str, str]]] = {
        "net_": ("skorch.NeuralNet", "The skorch net that was trained."),
        "module_": ("torch.nn.Module", "The PyTorch module inside it."),
        "history_": (
            "skorch.history.History",
            'Losses and scores of all epochs: ``history_[:, "valid_loss"]``.',
        ),
        "n_epochs_": ("int", "Number of epochs that were run."),
        "best_epoch_": (
            "int or None",
            """The epoch whose weights the network has, counted from 1 as in `history_`: the best
            on validation graphs, or the last. 0 if no epoch has ended, and None if the network is
            from a file that does not say.""",
        ),
        "node_labels_": (
            "list",
            "The node labels of the training graphs, in the order of the columns that the\n"
            "network sees.",
        ),
        "members_": (
            "list of estimators",
            """The networks, each as a fitted estimator of its own; of a single network without
            counts, the estimator itself. `net_`, `module_`, `history_`, `n_epochs_` and
            `best_epoch_` are those of the first.""",
        ),
        "counts_": ("object or None", "The linear machine on counts; None if there is none."),
        "counts_share_": ("float", "Its share in the outputs, from 0 to 1."),
        "oof_prediction_": (
            "ndarray or None",
            """What was predicted for each training graph, of weight above zero and with a known
            target, by a network that was not trained with it and by counts that were not fitted
            to it: probabilities of shape (n_graphs, n_classes) or (n_graphs, n_labels), or
            numbers of shape (n_graphs, n_outputs); NaN where no network has left a graph out. It
            is that of a new fit: after `partial_fit` it is None, and in a warm start networks may
            have seen these graphs before. If `X_val` was passed, it is of these graphs instead.
            None of a single network without counts.""",
        ),
        "oof_losses_": (
            "dict or None",
            """The losses of these predictions: of "networks" and of "counts" alone, and
            "together".""",
        ),
    }
