"""Runs of the command line for its tests."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from pairrank.cli._models import MODELS
from pairrank.cli.app import app

PLAIN = [name for name, model in MODELS.items() if model.library is None]
"""The models that need no optional library."""


def run(*arguments: Any, stdin: bytes | None = None, code: int = 0) -> Any:
    """Run a command in this process and check how it ended."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], input=stdin)
    assert result.exit_code == code, (result.exit_code, result.stderr, result.exception)
    assert "Traceback" not in result.stderr
    return result


def refused(*arguments: Any, stdin: bytes | None = None) -> str:
    """Run a command that must fail on its input, and return the sentence that it says."""
    result = run(*arguments, stdin=stdin, code=1)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("pairrank: error: ")
    assert "fault in pairrank" not in lines[0]
    return str(lines[0])


def misused(*arguments: Any) -> str:
    """Run a command that must be refused as wrong usage, and return what it says in one line."""
    result = run(*arguments, code=2)
    assert result.stdout == ""
    assert "Usage" in result.stderr
    return " ".join(result.stderr.replace("│", " ").split())
