"""The command line: pairrank train, predict, evaluate, compare, export, info, convert, demo."""

from __future__ import annotations


def main() -> None:
    """Run the command line; the entry point of the installed `pairrank`."""
    from pairrank.cli._process import prepare

    prepare()
    from pairrank.cli.app import run

    run()
