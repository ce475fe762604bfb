"""The command line: pairrank train, predict, evaluate, recommend, info, convert, demo."""

from __future__ import annotations


def main() -> None:
    """Run the command line; the entry point of the installed `pairrank`."""
    from pairrank.cli._interrupts import leave_at_once

    leave_at_once()
    from pairrank.cli.app import app

    app(prog_name="pairrank")
