"""What the command line understands. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

DESCRIPTION = """\
Learn from graphs in CSV files: molecules as SMILES, or lists of edges.

  sklofi compare   which estimator is best on these data, by cross-validation
  sklofi fit       fit an estimator, and save it
  sklofi predict   predict with a saved estimator
"""

EXAMPLES = {
    "sklofi": """\
examples:
  sklofi compare molecules.csv --smiles smiles --target logS --scaffold
  sklofi fit molecules.csv --smiles smiles --target logS --output model.safetensors
  sklofi predict model.safetensors new.csv --smiles smiles --output predictions.csv

Each command has a help of its own, such as sklofi fit --help.
""",
    "compare": """\
examples:
  sklofi compare molecules.csv --smiles smiles --target active
  sklofi compare molecules.csv --target logS --estimators lofi gin wl-oa fingerprint --scaffold
  sklofi compare edges.csv --graph graph --source a --target-node b --target y --folds 10
""",
    "fit": """\
examples:
  sklofi fit molecules.csv --smiles smiles --target active --output model.safetensors
  sklofi fit molecules.csv --target logS --output model.safetensors --set n_members=10
""",
    "predict": """\
examples:
  sklofi predict model.safetensors new.csv --smiles smiles
  sklofi predict model.safetensors new.csv --output predictions.csv
""",
}

ESTIMATORS_HELP = (
    "lofi; the kernel machines wl, wl-oa, shortest-path, random-walk and vertex-histogram;"
    " fingerprint and label-histogram; the networks gin, gcn, graphsage, gat, ecc, dgcnn,"
    " diffpool, sgin, sfagnn, rwgnn, kergnn and deep-multisets; constant, which always predicts"
    " the same"
)

# Errors that people can do something about. Their messages are sentences.
USER_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : list of str, default=None
        The arguments, by default those of the process.

    Returns
    -------
    status : int
        0 if all went well, 1 if something is wrong with the data, 130 if it was interrupted.
        Arguments that are not understood end the process with 2.
    """
    arguments = make_parser().parse_args(argv)
    from sklofi._command._run import RUN  # after --help

    try:
        with _plain_warnings():
            return RUN[arguments.command](arguments)
    except KeyboardInterrupt:
        print("sklofi: interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever reads the output has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except USER_ERRORS as error:
        if arguments.debug:
            raise
        print(f"sklofi {arguments.command}: {_as_sentence(error)}", file=sys.stderr)
        return 1


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="sklofi",
        description=DESCRIPTION,
        epilog=EXAMPLES["sklofi"],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = sys.modules["sklofi"].__version__
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_compare(commands)
    _add_fit(commands)
    _add_predict(commands)
    return parser


def _add_compare(commands: Any) -> None:
    parser = _add_command(
        commands,
        "compare",
        "Compare estimators on the same folds of the data, and test the differences.",
    )
    parser.add_argument("table", metavar="FILE", help="the CSV file")
    _add_input(parser)
    _add_target(parser)
    parser.add_argument(
        "--estimators",
        nargs="+",
        metavar="NAME",
        default=["lofi", "wl-oa", "fingerprint"],
        help=f"what to compare; the others are tested against the first (by default lofi wl-oa"
        f" fingerprint): {ESTIMATORS_HELP}",
    )
    parser.add_argument(
        "--folds", type=_folds, default=5, metavar="N", help="number of folds (default: 5)"
    )
    parser.add_argument(
        "--scoring",
        metavar="SCORE",
        help="a score by its name in scikit-learn, such as roc_auc or neg_mean_absolute_error; by"
        " default accuracy for classes and r2 for numbers",
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="number of fits that run at a time (default: 1)"
    )
    parser.add_argument("--output", metavar="FILE", help="a CSV file for the scores of all folds")
    _add_settings(parser, "of an estimator by its name, such as lofi__max_epochs=50")


def _add_fit(commands: Any) -> None:
    parser = _add_command(commands, "fit", "Fit an estimator to all of the data, and save it.")
    parser.add_argument("table", metavar="FILE", help="the CSV file")
    _add_input(parser)
    _add_target(parser)
    parser.add_argument(
        "--output", metavar="MODEL", required=True, help="file for the fitted estimator"
    )
    parser.add_argument(
        "--estimator",
        metavar="NAME",
        default="lofi",
        help=f"what to fit (by default lofi): {ESTIMATORS_HELP.rpartition(';')[0]}",
    )
    _add_settings(parser, "such as max_epochs=50")


def _add_predict(commands: Any) -> None:
    parser = _add_command(
        commands,
        "predict",
        "Predict with a saved estimator. The output is the table with further columns: the"
        " prediction and, for classes, their probabilities. Rows keep their order; those that"
        " cannot be read have empty cells.",
    )
    parser.add_argument("model", metavar="MODEL", help="a file that sklofi fit has written")
    parser.add_argument("table", metavar="FILE", help="the CSV file")
    _add_input(parser)
    parser.add_argument("--output", metavar="FILE", help="a CSV file, by default the terminal")
    parser.add_argument(
        "--column",
        metavar="NAME",
        default="prediction",
        help="name of the column of predictions (default: prediction)",
    )


def _add_command(commands: Any, name: str, description: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=description,
        description=description,
        epilog=EXAMPLES[name],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--debug", action="store_true", help="show where an error was raised")
    return parser


def _add_input(parser: argparse.ArgumentParser) -> None:
    molecules = parser.add_argument_group("molecules (needs RDKit)")
    molecules.add_argument(
        "--smiles", metavar="COLUMN", help="column with SMILES, by default smiles, in any case"
    )
    molecules.add_argument(
        "--graph-features",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns with numbers that belong to each molecule, such as a temperature",
    )
    edges = parser.add_argument_group(
        "lists of edges (needs pandas)", "each row of FILE is an edge of a graph"
    )
    edges.add_argument("--graph", metavar="COLUMN", help="column that names the graph")
    edges.add_argument("--source", metavar="COLUMN", help="column with one end of the edge")
    edges.add_argument(
        "--target-node", metavar="COLUMN", help="column with the other end of the edge"
    )
    edges.add_argument("--edge-label", metavar="COLUMN", help="column with the label of the edge")
    edges.add_argument(
        "--nodes",
        metavar="FILE",
        help="a CSV file with a row for each node, and the same column for the graph",
    )
    edges.add_argument(
        "--node", metavar="COLUMN", default="node", help="its column with the node (default: node)"
    )
    edges.add_argument("--node-label", metavar="COLUMN", help="its column with the label of nodes")


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target", metavar="COLUMN", required=True, help="column with what is to be predicted"
    )
    parser.add_argument(
        "--targets",
        metavar="FILE",
        help="for lists of edges: a CSV file with a row for each graph, which has the target; by"
        " default the list itself has it, the same in all rows of a graph",
    )
    parser.add_argument(
        "--task",
        choices=("classification", "regression"),
        help="by default regression if the target has numbers with decimals, or so many whole"
        " numbers that more than half of the rows differ, and classification otherwise",
    )
    groups = parser.add_mutually_exclusive_group()
    groups.add_argument(
        "--scaffold",
        action="store_true",
        help="keep molecules of the same Bemis-Murcko scaffold together, in folds and in the"
        " parts that networks are stopped early on",
    )
    groups.add_argument("--groups", metavar="COLUMN", help="the same for groups in a column")
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="seed of all that is random (default: 0)"
    )


def _add_settings(parser: argparse.ArgumentParser, example: str) -> None:
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        dest="settings",
        help=f"parameters {example}",
    )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def _folds(text: str) -> int:
    return _whole_number(text, 2)


def _seed(text: str) -> int:
    return _whole_number(text, 0)


def _whole_number(text: str, least: int) -> int:
    if not text.isdecimal() or len(text) > 9 or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
    return int(text)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings as sentences, without the place in the code that they come from."""

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        print(f"sklofi: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _as_sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{os.fspath(error.filename)}: {error.strerror}."
    return str(error) or type(error).__name__
