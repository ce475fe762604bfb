"""Errors and warnings as one sentence on standard error, and as an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from numpy.linalg import LinAlgError
from typer.core import TyperGroup

from pairrank.cli._process import Interruptible, interrupted_code, silence_stdout
from pairrank.exceptions import PairrankError
from pairrank.io._streams import name_of

BAD_INPUT = 1
BROKEN_PIPE = 141

UsageError: Any = typer.BadParameter.__mro__[1]
"""Wrong usage, exit code 2; typer does not export it."""

_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


class GuardedGroup(TyperGroup):
    """Commands whose failures are one sentence on standard error.

    The exit code is 1 for bad input, 130 after Ctrl-C, 143 after SIGTERM, and 141, without a
    message, after a closed pipe on standard output. Typer reports wrong usage, code 2. An error
    that input does not explain is reported as a fault of pairrank; PAIRRANK_DEBUG=1 shows its
    traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command of the arguments, and turn its errors into exit codes."""
        interrupts = Interruptible()
        try:
            with interrupts, one_line_warnings():
                result = super().invoke(ctx)
                sys.stdout.flush()
                return result
        except (Exception, KeyboardInterrupt) as error:
            if hasattr(error, "exit_code") or isinstance(error, typer.Abort):
                raise
            raise typer.Exit(self.report(error, interrupted=interrupts.dropped)) from None

    @staticmethod
    def report(error: BaseException, *, interrupted: bool = False) -> int:
        """Print what went wrong, and return the exit code."""
        if interrupted or stems_from(error, KeyboardInterrupt):
            print_message("interrupted; nothing was written")
            return interrupted_code()
        try:
            sys.stdout.flush()
        except OSError:
            silence_stdout()
        if stems_from(error, BrokenPipeError):
            return BROKEN_PIPE
        if os.environ.get("PAIRRANK_DEBUG"):
            raise error
        print_message(sentence(error))
        return BAD_INPUT


def print_message(message: str, *, kind: str = "error") -> None:
    """Print one line on standard error."""
    typer.echo(f"pairrank: {kind}: {' '.join(message.split())}", err=True)


def sentence(error: BaseException) -> str:
    """Return what went wrong, as one line that a user can act on."""
    if isinstance(error, PairrankError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = error.filename or "standard input or output"
        return f"{where}: {error.strerror}; name a file that can be read or written"
    if isinstance(error, MemoryError):
        return "memory ran out; use --dtype float32, or fewer rows or features"
    if isinstance(error, (LinAlgError, ArithmeticError)):
        return (
            "the computation broke down: the features are too large, or too different in size; "
            "subtract each feature's mean and divide it by its standard deviation"
        )
    if isinstance(error, (OSError, ImportError)):
        return str(error) or type(error).__name__
    return (
        f"a fault in pairrank, {type(error).__name__}: {error}; "
        "set PAIRRANK_DEBUG=1 to see where, and please report it"
    )


def stems_from(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Whether an error, its cause or its context, at any depth, is of a kind."""
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def named(source: str) -> Iterator[None]:
    """Prefix errors about rows with the name of their file, unless they begin with it."""
    try:
        yield
    except PairrankError as error:
        shown = name_of(source)
        if str(error).startswith(shown):
            raise
        raise type(error)(f"{shown}: {error}") from None


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Show each warning once as a line on standard error."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        ours = not issubclass(category, _FOR_DEVELOPERS)
        if ours and str(message) not in shown:
            shown.add(str(message))
            print_message(str(message), kind="warning")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield
