"""The command line: pairrank train, predict, evaluate, info, convert, demo."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; the entry point of the installed `pairrank`."""
    try:
        from pairrank.cli.app import app
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="pairrank")
