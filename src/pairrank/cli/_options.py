"""The options that several commands share, each spelt once."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from pairrank.cli._graphs import check_graph


class Format(StrEnum):
    """How rows are written down in a file."""

    auto = "auto"
    svmlight = "svmlight"
    csv = "csv"
    parquet = "parquet"


class Reduction(StrEnum):
    """What the sum over pairs is multiplied by."""

    auto = "auto"
    rows = "rows"
    query = "query"
    sum = "sum"


class Regularization(StrEnum):
    """What keeps the weights of least squares small."""

    tikhonov = "tikhonov"
    iteration = "iteration"
    hybrid = "hybrid"


class Dtype(StrEnum):
    """How the features are held in memory."""

    float32 = "float32"
    float64 = "float64"


Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="Rows: svmlight/LETOR, CSV or Parquet; - is stdin."),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file of pairrank train.")]
Label = Annotated[
    str, typer.Option("--label", metavar="COLUMN", help="CSV, Parquet: the label's column.")
]
Qid = Annotated[
    str | None, typer.Option("--qid", metavar="COLUMN", help="CSV, Parquet: the query's column.")
]
Weight = Annotated[
    str | None, typer.Option("--weight", metavar="COLUMN", help="CSV, Parquet: the row weights.")
]
GraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph",
        metavar="GRAPH",
        callback=check_graph,
        help="Which labels are above which: full (every higher one), chain (the next higher one), "
        "or edges: 'low<fair<high,bad<high'; full if left out, chain with hull.",
    ),
]
ReductionOption = Annotated[
    Reduction | None,
    typer.Option(
        "--reduction",
        help="rows (auto): the same -C, --alpha for any size; sum: plain.",
    ),
]
PairsOption = Annotated[
    str | None,
    typer.Option(
        "--pairs",
        metavar="FILE",
        help="Comparisons, CSV or Parquet: columns i, j[, weight[, magnitude]], row i of DATA "
        "preferred to row j, rows from 0. Labels are not looked at.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="CSV, Parquet: leave out; may be repeated."),
]
FormatOption = Annotated[
    Format, typer.Option("--format", help="The data's format; auto goes by the file's name.")
]
DtypeOption = Annotated[Dtype, typer.Option("--dtype", help="Digits of the features in memory.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]


def one_of(table: dict[str, Any]) -> Callable[[str], str]:
    """Return a check that an option's value is a name in a table."""

    def check(name: str) -> str:
        if name not in table:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(sorted(table))}")
        return name

    return check


def positive(value: float | None) -> float | None:
    """Check that an option's value is a positive finite number."""
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"{value} is no positive number")
    return value


def not_negative(value: float | None) -> float | None:
    """Check that an option's value is a finite number of 0 or more."""
    if value is not None and not 0 <= value < math.inf:
        raise typer.BadParameter(f"{value} is no number of 0 or more")
    return value


def fraction(value: float | None) -> float | None:
    """Check that an option's value lies between 0 and 1, both left out."""
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter(f"{value} is not between 0 and 1")
    return value


def given(**params: Any) -> dict[str, Any]:
    """Return the parameters that were given at the command line."""
    return {name: value for name, value in params.items() if value is not None}
