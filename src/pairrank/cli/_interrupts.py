"""Ctrl-C at every moment of a command: quiet, heeded, and with the exit code that is documented."""

from __future__ import annotations

import os
import signal
import sys
import threading
from _thread import interrupt_main
from types import FrameType
from typing import Any

INTERRUPTED = 130

_SOON = 0.02


def leave(signum: int, frame: FrameType | None) -> None:
    """End the process here and now."""
    os._exit(INTERRUPTED)


def leave_at_once() -> None:
    """Let Ctrl-C end the process without a word while libraries load: nothing is to be undone.

    A KeyboardInterrupt in the midst of an import would be printed with its traceback. Where Ctrl-C
    is ignored, as in a shell's background jobs, it stays so.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)


class Interruptible:
    """A context in which Ctrl-C raises KeyboardInterrupt, and after which it does nothing.

    Python drops a KeyboardInterrupt that falls into a finaliser or a callback of a C library, such
    as the compiler's: it is noted, and raised again soon after.

    Attributes
    ----------
    dropped : bool
        Whether one was dropped: whatever fails afterwards may fail for want of what was cut short.
    """

    def __init__(self) -> None:
        self.dropped = False
        self._leaving = False

    def __enter__(self) -> Interruptible:
        self._leaving = signal.getsignal(signal.SIGINT) is leave
        self._hook = sys.unraisablehook
        sys.unraisablehook = self._raise_again
        if self._leaving:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return self

    def __exit__(self, *_: object) -> None:
        if self._leaving:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.unraisablehook = self._hook
        forget()

    def _raise_again(self, dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            self._hook(dropped)
            return
        self.dropped = True
        later = threading.Timer(_SOON, interrupt_main)
        later.daemon = True
        later.start()


def forget() -> None:
    """Let the exit code stand, also where a KeyboardInterrupt went through an `exec` of text.

    Python notes one that did (named tuples are made so, and compiled loops), and kills itself by
    the signal at the end, heeded or not; the next `exec` of text clears the note.
    """
    exec("", {})
