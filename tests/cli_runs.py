"""Runs of the command line for its tests: the installed command's entry, in this process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import pytest

from pairrank.cli import main

STREAMS = ("stdin", "stdout", "stderr")


class Ended(NamedTuple):
    """How a command ended, and what it wrote."""

    exit_code: int
    stdout_bytes: bytes
    stderr_bytes: bytes

    @property
    def stdout(self) -> str:
        """Standard output as text."""
        return self.stdout_bytes.decode()

    @property
    def stderr(self) -> str:
        """Standard error as text."""
        return self.stderr_bytes.decode()


def invoke(
    arguments: Sequence[Any],
    stdin: bytes | None = None,
    stdout: str | None = None,
    closed: Sequence[int] = (),
    encoding: str = "utf-8",
) -> Ended:
    """Run a command in this process, and return how it ended.

    `stdout` may name a device; descriptors in `closed` are closed, as a shell does.
    """
    with contextlib.ExitStack() as stack:
        files: list[Any] = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        if stdout is not None:
            files[1] = stack.enter_context(open(stdout, "wb", buffering=0))
        files[0].write(stdin or b"")
        files[0].seek(0)
        with _process_of(["pairrank", *map(str, arguments)], files, closed, encoding):
            try:
                main()
                code: Any = 0
            except SystemExit as end:
                code = end.code
        written = []
        for file in files[1:]:
            file.seek(0)
            written.append(file.read() if file.readable() else b"")
    return Ended(code or 0, *written)


@contextlib.contextmanager
def _process_of(
    arguments: list[str], files: list[BinaryIO], closed: Sequence[int], encoding: str
) -> Iterator[None]:
    """Give this process a command's arguments and standard streams; all is put back after it."""
    before = [os.dup(descriptor) for descriptor in range(3)]
    streams = sys.argv, sys.stdin, sys.stdout, sys.stderr
    environment = dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if handlers[signal.SIGINT] is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = arguments
    for descriptor, (name, mode) in enumerate(zip(STREAMS, ("rb", "wb", "wb"), strict=True)):
        os.dup2(files[descriptor].fileno(), descriptor)
        file = os.fdopen(descriptor, mode, closefd=False)
        setattr(sys, name, io.TextIOWrapper(file, encoding=encoding))
    for descriptor in closed:
        os.close(descriptor)
        setattr(sys, STREAMS[descriptor], None)
    try:
        yield
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with contextlib.suppress(OSError):
                stream.flush()
        sys.argv, sys.stdin, sys.stdout, sys.stderr = streams
        for descriptor, saved in enumerate(before):
            os.dup2(saved, descriptor)
            os.close(saved)
        os.environ.clear()
        os.environ.update(environment)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def run(*arguments: Any, stdin: bytes | None = None, code: int = 0) -> Ended:
    """Run a command in this process and check how it ended."""
    result = invoke(arguments, stdin)
    assert result.exit_code == code, (result.exit_code, result.stderr)
    assert "Traceback" not in result.stderr
    return result


def record_of(*arguments: Any, stdin: bytes | None = None) -> Any:
    """Run a command with --json, and return what it says; NaN is no JSON."""
    return json.loads(run(*arguments, "--json", stdin=stdin).stdout, parse_constant=pytest.fail)


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


IMPATIENT = """
import signal, sys

class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            exec("signal.raise_signal(signal.SIGINT)")

module = sys.argv.pop(1)
sys.meta_path.insert(0, Impatient())
from pairrank.cli import main
main()
"""
"""The command line, with a Ctrl-C when the module named first is looked for.

It comes through an `exec` of text, after which Python kills itself by the signal unless it is told
not to.
"""
