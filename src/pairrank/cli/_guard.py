"""The one place where errors become a sentence and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from pairrank.cli._interrupts import INTERRUPTED, Interruptible
from pairrank.exceptions import PairrankError

BAD_INPUT = 1
BROKEN_PIPE = 141

_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


class GuardedGroup(TyperGroup):
    """Commands whose every failure is one sentence on standard error.

    Bad input ends with 1, Ctrl-C with 130, and a reader that went away with 141 and no word. Wrong
    usage (2) is typer's own. An error that no input explains is a fault of pairrank: it is named as
    one, and PAIRRANK_DEBUG=1 lets its traceback through.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name, and answer for what it raises."""
        interrupts = Interruptible()
        try:
            with interrupts, one_line_warnings():
                result = super().invoke(ctx)
                sys.stdout.flush()
                return result
        except (Exception, KeyboardInterrupt) as error:
            if hasattr(error, "exit_code") or isinstance(error, typer.Abort):
                raise
            if interrupts.dropped or stems_from(error, KeyboardInterrupt):
                complain("interrupted; nothing was written")
                raise typer.Exit(INTERRUPTED) from None
            if stems_from(error, BrokenPipeError):
                silence_stdout()
                raise typer.Exit(BROKEN_PIPE) from None
            if os.environ.get("PAIRRANK_DEBUG"):
                raise
            complain(sentence(error))
            raise typer.Exit(BAD_INPUT) from None


def complain(message: str, *, kind: str = "error") -> None:
    """Print one line on standard error."""
    typer.echo(f"pairrank: {kind}: {' '.join(message.split())}", err=True)


def sentence(error: BaseException) -> str:
    """Return what went wrong, as one line that a user can act on."""
    if isinstance(error, PairrankError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}; name a file that can be read or written"
    if isinstance(error, MemoryError):
        return "memory ran out; use --dtype float32, or fewer rows or features"
    if isinstance(error, (ValueError, OSError, ImportError)):
        return str(error) or type(error).__name__
    return (
        f"a fault in pairrank, {type(error).__name__}: {error}; "
        "set PAIRRANK_DEBUG=1 to see where, and report it, please"
    )


def stems_from(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Tell whether an error is of a kind or was raised because of one, however it was wrapped."""
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False


def silence_stdout() -> None:
    """Point standard output at nothing, so that its last flush at exit cannot fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Show each warning once as a line on standard error."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        ours = not issubclass(category, _FOR_DEVELOPERS)
        if ours and str(message) not in shown:
            shown.add(str(message))
            complain(str(message), kind="warning")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield
