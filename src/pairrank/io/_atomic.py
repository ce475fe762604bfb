"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pairrank.exceptions import FileAccessError

STANDARD_STREAM = "-"


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open `path` for writing; it appears, or changes, only when the block ends without an error.

    What is written goes to a temporary file in the same folder, is flushed to the disk, and takes
    the name by `os.replace`. On any failure the temporary file goes away and the old file stands.
    A path that is no regular file (a pipe, a device) is written to directly; "-" is standard
    output.

    Parameters
    ----------
    path : str or path-like
    mode : {"wb", "w"}
        Bytes, or text in UTF-8 with line ends as written.

    Yields
    ------
    file object
        Its `name` is the path that is really being written.

    Raises
    ------
    FileAccessError
        A folder that does not exist or may not be written, a full disk.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "scores.txt")
    >>> with atomic_write(path, "w") as file:
    ...     _ = file.write("0.5")
    >>> path.read_text()
    '0.5'
    >>> folder.cleanup()
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"mode is 'wb' or 'w', not {mode!r}")
    name = os.fspath(path)
    try:
        with _open_for_writing(name, mode) as file:
            yield file
    except FileAccessError:
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileAccessError(_sentence(name, error)) from error


def _open_for_writing(name: str, mode: str) -> contextlib.AbstractContextManager[IO[Any]]:
    if name == STANDARD_STREAM:
        return _standard_output(mode)
    target = os.path.realpath(name)
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return _replacing(target, mode, _default_permissions())
    if stat.S_ISREG(old.st_mode):
        return _replacing(target, mode, stat.S_IMODE(old.st_mode))
    return open(target, mode, **_text_options(mode))


@contextlib.contextmanager
def _replacing(target: str, mode: str, permissions: int) -> Iterator[IO[Any]]:
    folder, base = os.path.split(target)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{base[:100]}.", suffix=".part", dir=folder)
    try:
        os.close(descriptor)
        with open(temporary, mode, **_text_options(mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, permissions)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _standard_output(mode: str) -> Iterator[IO[Any]]:
    file = sys.stdout if mode == "w" else sys.stdout.buffer
    if not isinstance(file, io.TextIOWrapper):
        yield file
        file.flush()
        return
    encoding, errors = file.encoding, file.errors
    file.reconfigure(encoding="utf-8", errors="strict")
    try:
        yield file
        file.flush()
    finally:
        file.reconfigure(encoding=encoding, errors=errors)


def _text_options(mode: str) -> dict[str, Any]:
    return {"encoding": "utf-8", "newline": ""} if mode == "w" else {}


def _default_permissions() -> int:
    """Return what a plain `open` would give a new file."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sentence(name: str, error: OSError) -> str:
    shown = "standard output" if name == STANDARD_STREAM else name
    reason = error.strerror or str(error)
    return (
        f"cannot write {shown}: {reason}; nothing was left half-written. "
        "Choose another place, or make room there"
    )
