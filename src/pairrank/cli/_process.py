"""The process at a command line: signals, standard streams that are closed or full, the width."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from _thread import interrupt_main
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SOON = 0.02
_NARROWEST = 20
"""Fewer columns are no width of a terminal: some programs set COLUMNS=0."""

_received = signal.SIGINT


def prepare() -> None:
    """Make the process ready for a command, before any library is loaded."""
    for number in _SIGNALS:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, leave)
    _open_standard_streams()
    for name in ("COLUMNS", "TERMINAL_WIDTH"):
        width = os.environ.get(name, "")
        if not width.isdecimal() or int(width) < _NARROWEST:
            os.environ.pop(name, None)


def leave(number: int, frame: FrameType | None) -> None:
    """End the process at once: while libraries load there is nothing to undo.

    A KeyboardInterrupt during an import would be printed with its traceback.
    """
    os._exit(128 + number)


def interrupted_code() -> int:
    """Return the exit code after an interrupt: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + _received


class Interruptible:
    """A context in which Ctrl-C and SIGTERM raise KeyboardInterrupt; they are ignored after it.

    Signals that were ignored before, such as Ctrl-C in a shell's background jobs, stay ignored.
    Python drops a KeyboardInterrupt that is raised in a finaliser or in a callback of a C library,
    such as the compiler: it is noted, and raised again soon after.

    Attributes
    ----------
    dropped : bool
        Whether Python dropped an interrupt: what fails afterwards may fail because of it.
    """

    def __init__(self) -> None:
        self.dropped = False
        self._handled: list[signal.Signals] = []

    def __enter__(self) -> Interruptible:
        global _received
        _received = signal.SIGINT
        self._handled = [number for number in _SIGNALS if signal.getsignal(number) is leave]
        for number in self._handled:
            signal.signal(number, _interrupt)
        self._hook = sys.unraisablehook
        sys.unraisablehook = self._raise_again
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._handled:
            signal.signal(number, signal.SIG_IGN)
        sys.unraisablehook = self._hook
        _forget()

    def _raise_again(self, dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            self._hook(dropped)
            return
        self.dropped = True
        later = threading.Timer(_SOON, interrupt_main)
        later.daemon = True
        later.start()


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _received
    _received = signal.Signals(number)
    raise KeyboardInterrupt


def _forget() -> None:
    """Keep the exit code after a KeyboardInterrupt that passed through an `exec` of text.

    Python remembers such an interrupt (named tuples and compiled loops are made by `exec`) and ends
    the process by the signal, even where it was caught; the next `exec` of text clears that.
    """
    exec("", {})


class _StandardError(io.FileIO):
    """Standard error that never fails: a message that cannot be shown must not end the work."""

    def write(self, data: Any) -> int:
        """Write what can be written, and drop the rest."""
        with contextlib.suppress(OSError):
            super().write(data)
        return memoryview(data).nbytes


def _open_standard_streams() -> None:
    """Give every standard stream a file, also where the shell closed it.

    A closed descriptor would be taken by the next file that is opened, which would then receive
    what is printed. Instead it reads as empty, and writing to it fails as before.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_StandardError(2, "wb", closefd=False)),
        encoding=sys.stdout.encoding if sys.stderr is None else sys.stderr.encoding,
        errors="backslashreplace",
        line_buffering=True,
    )


def silence_stdout() -> None:
    """Point standard output at nothing, so that its last flush at exit cannot fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
