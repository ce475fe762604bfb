"""Options that several commands share, and the panels of their help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from pairrank.cli._graphs import read_graph
from pairrank.exceptions import PairrankError
from pairrank.metrics._names import metric_named, metric_names

PANELS = ("Data", "Model", "Strength", "Validation", "Solver", "Output")
"""The groups of options in help, in this order."""


def reader(words: tuple[Any, ...], number: type | None = None) -> Callable[[Any], Any]:
    """Return a parser of an option's text, which is one of some words or a number."""

    def read(text: Any) -> Any:
        for word in words:
            if str(word) == str(text):
                return word
        try:
            if number is not None:
                return number(text)
        except ValueError:
            pass
        kind = "" if number is None else f"a number{' or ' * bool(words)}"
        listed = "" if not words else f"one of {', '.join(map(str, words))}"
        raise typer.BadParameter(f"{text!r} is not {kind}{listed}.")

    return read


def choice(*words: str) -> dict[str, Any]:
    """Return the arguments of an option that takes one of some words."""
    return {"parser": reader(words), "metavar": "|".join(words)}


def data_option(*names: str, help: str, **more: Any) -> Any:
    """Return an option in the panel of data."""
    return typer.Option(*names, rich_help_panel="Data", help=help, **more)


@dataclass(frozen=True)
class Columns:
    """The format of a data file and the names of its columns; see `spread`."""

    label: Annotated[
        str | None, data_option(metavar="COLUMN", help="CSV, Parquet: the label's column.")
    ] = "label"
    qid: Annotated[
        str | None, data_option(metavar="COLUMN", help="CSV, Parquet: the query's column.")
    ] = None
    weight: Annotated[
        str | None, data_option(metavar="COLUMN", help="CSV, Parquet: the row weights.")
    ] = None
    drop: Annotated[
        list[str] | None,
        data_option(metavar="COLUMN", help="CSV, Parquet: not a feature; may be repeated."),
    ] = None
    format: Annotated[
        str,
        data_option(
            help="The data's format; auto: by the file's name.",
            **choice("auto", "svmlight", "csv", "parquet"),
        ),
    ] = "auto"
    dtype: Annotated[
        str,
        data_option(help="The features' precision in memory.", **choice("float32", "float64")),
    ] = "float64"


def _check_metric(names: Any) -> Any:
    """Check that an option's value is the name of a metric, or a list of them."""
    try:
        for name in [names] if isinstance(names, str) else names or ():
            metric_named(name)
    except PairrankError as error:
        raise typer.BadParameter(f"{error}.") from None
    return names


METRIC: dict[str, Any] = {"metavar": "NAME", "callback": _check_metric}
"""The arguments of an option that names metrics."""

METRIC_NAMES = metric_names()

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        rich_help_panel="Data",
        help="Rows: svmlight/LETOR, CSV or Parquet; - is stdin.",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file of pairrank train.")]
GRAPH: dict[str, Any] = {"metavar": "GRAPH", "parser": read_graph}
GraphOption = Annotated[
    Any,
    data_option(
        help="Which labels are preferred to which: full (every higher one), chain (the next higher "
        "one), or edges: 'low<fair<high,bad<high'.",
        **GRAPH,
    ),
]
PairsOption = Annotated[
    str | None,
    data_option(
        metavar="FILE",
        help="Comparisons, CSV or Parquet: columns i, j, and perhaps weight, magnitude; row i of "
        "DATA is preferred to row j, rows from 0. Labels are ignored.",
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", rich_help_panel="Output", help="Print one JSON object on stdout."),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", rich_help_panel="Output", help="No progress and no summary."),
]
