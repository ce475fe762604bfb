"""The options that several commands share, each spelt once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How rows are written down in a file."""

    auto = "auto"
    svmlight = "svmlight"
    csv = "csv"
    parquet = "parquet"


class Graph(StrEnum):
    """Which levels are preferred to which."""

    full = "full"
    chain = "chain"


class Normalize(StrEnum):
    """What the sum over pairs is multiplied by."""

    none = "none"
    rows = "rows"
    query = "query"


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
    Graph, typer.Option("--graph", help="full: every lower level; chain: the next lower one.")
]
NormalizeOption = Annotated[
    Normalize,
    typer.Option("--normalize", help="rows: C means the same for any size; none: the plain sum."),
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
