"""The output of commands: tables and JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pairrank.cli._errors import print_message
from pairrank.cli._process import silence_stdout
from pairrank.exceptions import PairrankError


def print_json(record: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output; NaN and infinity become null."""
    typer.echo(json.dumps(_plain(record), allow_nan=False))


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def report(
    title: str, summary: Mapping[str, Any], output: str, *, quiet: bool, as_json: bool
) -> None:
    """Show a summary after the output is written; warn if its table cannot be shown."""
    try:
        if as_json:
            print_json(summary)
        elif not quiet:
            print_facts(title, summary, err=output == "-")
            sys.stdout.flush()
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        silence_stdout()
        if as_json:
            raise PairrankError(
                f"{output} is written, but standard output does not take the JSON: "
                f"{error.strerror}; redirect it to a place that can be written"
            ) from None
        print_message(f"{output} is written; no summary: {error.strerror}.", kind="warning")


def print_facts(title: str, record: Mapping[str, Any], *, err: bool = False) -> None:
    """Print a table of names and values."""
    print_table(title, ["", ""], record.items(), err=err)


def print_table(
    title: str, columns: list[str], rows: Iterable[Iterable[Any]], *, err: bool = False
) -> None:
    """Print a table with text in the first column and numbers in the others."""
    table = Table(show_header=any(columns))
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(figure(each)) for each in row))
    console = Console(stderr=err)
    console.print(Text(title), soft_wrap=True)
    console.print(table)


def print_lines(*lines: str) -> None:
    """Print lines as they are."""
    Console().print(Text("\n".join(lines)), soft_wrap=True)


def figure(value: Any) -> str:
    """Return a value as text for a table: integers in full, other numbers to six digits."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
