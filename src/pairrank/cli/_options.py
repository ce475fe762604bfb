"""Options that several commands share, and the panels of their help."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.markup import escape

from pairrank.cli._graphs import read_graph
from pairrank.exceptions import PairrankError
from pairrank.io.rows import ROW_COLUMNS
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
        whole = "whole " * (number is int)
        kind = "" if number is None else f"a {whole}number{' or ' * bool(words)}"
        listed = "" if not words else f"one of {', '.join(map(str, words))}"
        raise typer.BadParameter(f"{text!r} is not {kind}{listed}.")

    return read


def choice(*words: str) -> dict[str, Any]:
    """Return the arguments of an option that takes one of some words."""
    return {
        "parser": reader(words),
        "metavar": "|".join(words),
        "autocompletion": lambda incomplete: [
            each for each in words if each.startswith(incomplete)
        ],
    }


def option(panel: str, help: str, *flags: str, **more: Any) -> Any:
    """Return an option in a panel of the help."""
    return typer.Option(*flags, rich_help_panel=panel, help=help, **more)


def output(help: str, metavar: str) -> Any:
    """Return the option --output of a command."""
    return option("Output", help, "--output", "-o", metavar=metavar)


def parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """Return a parameter by keyword."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _column(holds: str, default: str = "") -> Any:
    text = f"CSV, Parquet: the column of {holds}.{default}"
    return option("Data", escape(text), metavar="COLUMN")


Columns = dict[str, Any]
"""The values of COLUMNS: arguments of `read_rows`. A command's parameter `columns` holds them."""

FORMAT = choice("auto", "svmlight", "csv", "parquet")
_DROP = option(
    "Data", "CSV, Parquet: columns that are not features, A,B; may be repeated.", metavar="COLUMN"
)
_DROP_TEXT = option("Data", "CSV, Parquet: columns of text are not features.", "--drop-text")
_QUERY_SIZES = option(
    "Data",
    "Rows per query, one number per line, if DATA has no queries; if left out, the file DATA.query "
    "or DATA.group, if there is one.",
    metavar="FILE",
)
_FORMAT = option("Data", "The data's format; auto: by the file's name.", **FORMAT)
_DTYPE = option("Data", "The features' precision in memory.", **choice("float32", "float64"))
COLUMNS = (
    *(
        parameter(
            role,
            Annotated[
                str | None, _column(column.holds, " [default: label]" if role == "label" else "")
            ],
            None,
        )
        for role, column in ROW_COLUMNS.items()
    ),
    parameter("time", Annotated[str | None, _column("times, which may be censored")], None),
    parameter("event", Annotated[str | None, _column("events: 1 observed, 0 censored")], None),
    parameter("drop", Annotated[list[str] | None, _DROP], None),
    parameter("drop_text", Annotated[bool, _DROP_TEXT], False),
    parameter("query_sizes", Annotated[str | None, _QUERY_SIZES], None),
    parameter("format", Annotated[str, _FORMAT], "auto"),
    parameter("dtype", Annotated[str, _DTYPE], "float64"),
)
"""The options for the format of a data file and the names of its columns."""

Unlabelled = Annotated[
    str | None, option("Data", "CSV, Parquet: a label's column, ignored.", metavar="COLUMN")
]


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
    typer.Argument(metavar="DATA", help="Rows: svmlight/LETOR, CSV or Parquet; - is stdin."),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file of pairrank train.")]
GRAPH: dict[str, Any] = {"metavar": "GRAPH", "parser": read_graph}
GraphOption = Annotated[
    Any,
    option(
        "Data",
        "Which labels are preferred to which: full (every higher one), chain (the next higher "
        "one), or edges: 'low<fair<high,bad<high'.",
        **GRAPH,
    ),
]
PairsOption = Annotated[
    str | None,
    option(
        "Data",
        "Comparisons, CSV or Parquet: columns i, j, and perhaps weight, magnitude, group; row i of "
        "DATA is preferred to row j, rows from 0. Labels are ignored.",
        metavar="FILE",
    ),
]
Json = Annotated[bool, option("Output", "Print one JSON object on stdout.", "--json")]
Quiet = Annotated[bool, option("Output", "No progress and no summary.", "--quiet", "-q")]


def read_bytes_named(text: Any) -> float:
    """Return the bytes that a text names: a number, perhaps with kB, MB, GB or TB.

    Examples
    --------
    >>> read_bytes_named("2GB"), read_bytes_named("5e8")
    (2000000000.0, 500000000.0)
    """
    lowered = str(text).strip().lower()
    unit = next((each for each in _BYTES if lowered.endswith(each)), "")
    try:
        size = float(lowered.removesuffix(unit)) * _BYTES.get(unit, 1.0)
    except ValueError:
        size = math.nan
    if not 0 < size < math.inf:
        raise typer.BadParameter(f"{text!r} is not a number of bytes, such as 2GB.")
    return size


_BYTES = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
Stream = Annotated[
    bool,
    option(
        "Data",
        "Read Parquet block by block, again in each pass: a file, a folder, or a pattern in "
        "quotes.",
        "--stream",
    ),
]
MemoryLimit = Annotated[
    Any,
    option(
        "Data",
        "--stream: the memory to use, such as 4GB; 1GB if left out. More keeps blocks in memory.",
        metavar="BYTES",
        parser=read_bytes_named,
    ),
]
