"""The application: commands, version and the handling of errors."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from pairrank.cli._commands import ModelCommand, spread
from pairrank.cli._errors import GuardedGroup
from pairrank.cli.compare import compare
from pairrank.cli.demo import demo
from pairrank.cli.evaluate import evaluate, predict, report
from pairrank.cli.files import convert, export, info
from pairrank.cli.ratings import ratings
from pairrank.cli.train import train

app = typer.Typer(
    cls=GuardedGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 bad input, 2 wrong usage, 130 interrupted, 143 terminated.",
)
for command in train, predict, evaluate, report, compare, ratings, export, info, convert, demo:
    app.command(cls=ModelCommand if command in (train, ratings) else None)(spread(command))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pairrank {version('pairrank')}")
        raise typer.Exit


@app.callback()
def common(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and stop."
        ),
    ] = False,
) -> None:
    """Learn to rank from preferences: every pair, at the price of a pointwise model."""


def run() -> None:
    """Run the command of the arguments, and end the process with its exit code."""
    try:
        app(prog_name="pairrank")
    except OSError as error:
        raise SystemExit(GuardedGroup.report(error)) from None
