"""Options that several commands share, and the panels of their help."""

from __future__ import annotations

import contextlib
import inspect
import math
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import typer

from pairrank.cli._models import wrong_usage
from pairrank.exceptions import PairrankError
from pairrank.io.rows import ROW_COLUMNS
from pairrank.metrics._names import metric_named, metric_names
from pairrank.preferences import Graph, OrderGraph

PANELS = ("Data", "Model", "Strength", "Validation", "Solver", "Output")
"""The groups of options in help, in this order."""


def reader(words: tuple[Any, ...], number: type | None = None) -> Callable[[Any], Any]:
    """Return a parser of an option's text, which is one of some words or a number."""
    kinds = [] if number is None else ["a number" if number is float else "a whole number"]
    kinds += [f"one of {', '.join(map(str, words))}"] if words else []

    def read(text: Any) -> Any:
        for word in words:
            if str(word) == str(text):
                return word
        with contextlib.suppress(ValueError):
            if number is not None:
                return number(text)
        raise typer.BadParameter(f"{text!r} is not {' or '.join(kinds)}.")

    return read


def choice(*words: str) -> dict[str, Any]:
    """Return the arguments of an option that takes one of some words."""

    def complete(incomplete: str) -> list[str]:
        return [each for each in words if each.startswith(incomplete)]

    return {"parser": reader(words), "metavar": "|".join(words), "autocompletion": complete}


def option(panel: str, help: str, *flags: str, **more: Any) -> Any:
    """Return an option in a panel of the help."""
    return typer.Option(*flags, rich_help_panel=panel, help=help, **more)


def output(help: str, metavar: str) -> Any:
    """Return the option --output of a command."""
    return option("Output", help, "--output", "-o", metavar=metavar)


def column(help: str) -> Any:
    """Return an option that names a column."""
    return option("Data", help, metavar="COLUMN")


def parameter(name: str, kind: Any, shown: Any, default: Any = None) -> inspect.Parameter:
    """Return the parameter by keyword of an option."""
    by_keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, by_keyword, default=default, annotation=Annotated[kind, shown])


_HOLDS = {role: f"{each.holds}." for role, each in ROW_COLUMNS.items()}
_HOLDS["label"] += r" \[default: label]"
_HOLDS |= {"time": "times, which may be censored.", "event": "events: 1 observed, 0 censored."}
_QUERY_SIZES = (
    "Rows per query, one number per line, if DATA has no queries; if left out, the file DATA.query "
    "or DATA.group, if there is one."
)
_DROP = "CSV, Parquet: columns that are not features, A,B; may be repeated."
_DROP_TEXT = "CSV, Parquet: columns of text are not features."
_FORMAT = option(
    "Data",
    "The data's format; auto: by the file's name.",
    **choice("auto", "svmlight", "csv", "parquet"),
)
_DTYPE = option("Data", "The features' precision in memory.", **choice("float32", "float64"))
COLUMNS = (
    *(
        parameter(role, str | None, column(f"CSV, Parquet: the column of {holds}"))
        for role, holds in _HOLDS.items()
    ),
    parameter("drop", list[str] | None, column(_DROP)),
    parameter("drop_text", bool, option("Data", _DROP_TEXT, "--drop-text"), False),
    parameter("query_sizes", str | None, option("Data", _QUERY_SIZES, metavar="FILE")),
    parameter("format", str, _FORMAT, "auto"),
    parameter("dtype", str, _DTYPE, "float64"),
)
"""The options for the format of a data file and the names of its columns."""

Columns = Annotated[dict[str, Any], COLUMNS]
"""The values of COLUMNS, most of them arguments of `read_rows`, in a parameter `columns`."""


def read_bytes_named(text: Any) -> float:
    """Return the bytes that a text names: a number, perhaps with kB, MB, GB or TB.

    Examples
    --------
    >>> read_bytes_named("2GB"), read_bytes_named("5e8")
    (2000000000.0, 500000000.0)
    """
    found = re.fullmatch(r"(\d+\.?\d*(?:e\d+)?) ?([kmgt]b)?", str(text).strip().lower())
    size = float(found[1]) * _BYTES.get(found[2], 1.0) if found else 0.0
    if not 0 < size < math.inf:
        raise typer.BadParameter(f"{text!r} is not a number of bytes, such as 2GB.")
    return size


_BYTES = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_STREAM = (
    "Read Parquet block by block, again in each pass: a file, a folder, or a pattern in quotes."
)
_LIMIT = "--stream: the memory to use, such as 4GB; 1GB if left out. More keeps blocks in memory."
STREAM = (
    parameter("stream", bool, option("Data", _STREAM, "--stream"), False),
    parameter(
        "memory_limit", Any, option("Data", _LIMIT, metavar="BYTES", parser=read_bytes_named)
    ),
)
StreamedColumns = Annotated[dict[str, Any], (*COLUMNS, *STREAM)]
"""`Columns` of a command that can also read block by block."""

Unlabelled = Annotated[str | None, column("CSV, Parquet: a label's column, ignored.")]


def _check_metric(names: Any) -> Any:
    """Check that an option's value is the name of a metric, or a list of them."""
    with wrong_usage(kind=typer.BadParameter):
        for name in [names] if isinstance(names, str) else names or ():
            metric_named(name)
    return names


METRIC: dict[str, Any] = {"metavar": "NAME", "callback": _check_metric}
"""The arguments of an option that names metrics."""

METRIC_NAMES = metric_names()

Metrics = Annotated[
    list[str] | None,
    option(
        "Validation",
        "A metric; may be repeated, the first one sorts; if left out, those that suit the labels. "
        f"One of {METRIC_NAMES}; options after a colon: rbp:persistence=0.9.",
        **METRIC,
    ),
]
Against = Annotated[
    str | None,
    option("Validation", "Another model, beside which the first one is shown.", metavar="MODEL"),
]
PerQuery = Annotated[
    str | None,
    option(
        "Output", "Write the metrics of each query, one row each: .csv, .parquet.", metavar="FILE"
    ),
]


def read_graph(text: Any) -> Graph:
    """Return the graph of an option's value, labels of edges as text without blanks around them.

    Examples
    --------
    >>> read_graph("low<fair<high,bad<high")
    OrderGraph([('low', 'fair'), ('fair', 'high'), ('bad', 'high')])
    """
    if isinstance(text, OrderGraph) or text in ("full", "chain"):
        return text
    chains = [[end.strip() for end in chain.split("<")] for chain in text.split(",")]
    if not all(len(chain) > 1 and all(chain) for chain in chains):
        raise typer.BadParameter(
            f"{text!r} is neither full nor chain nor edges between labels, such as "
            "'low<fair<high,bad<high'."
        )
    with wrong_usage(kind=typer.BadParameter):
        return OrderGraph(edge for chain in chains for edge in pairwise(chain))


def graph_of(graph: Any, labels: Any) -> Graph:
    """Return a graph whose edges name labels of the data's kind, numbers or text.

    Examples
    --------
    >>> graph_of(read_graph("0<1<2,0<5"), np.array([0.0, 1.0]))
    OrderGraph([(0.0, 1.0), (1.0, 2.0), (0.0, 5.0)])
    """
    if labels is None:
        raise PairrankError("the rows have no labels: name their column with --label")
    is_text = np.asarray(labels).dtype.kind not in "biuf"
    if is_text and not isinstance(graph, OrderGraph):
        some = " and ".join(repr(str(label)) for label in np.unique(labels)[:2])
        raise PairrankError(
            f"the labels are text, such as {some}, which has no order: give their order with "
            "--graph 'low<high,...', or use labels that are numbers"
        )
    if is_text or not isinstance(graph, OrderGraph):
        return graph
    return OrderGraph((_as_number(low), _as_number(high)) for low, high in graph.edges)


def _as_number(end: Any) -> float:
    try:
        return float(end)
    except ValueError:
        raise PairrankError(
            f"--graph names the label {end!r}, but the labels are numbers: name edges as 0<1"
        ) from None


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
