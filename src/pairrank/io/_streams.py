"""Open paths, compressed files, standard streams and file objects; write files atomically."""

from __future__ import annotations

import bz2
import contextlib
import functools
import glob
import gzip
import io
import lzma
import os
import secrets
import shutil
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from pairrank._docstrings import described_by, entries
from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

AnyPath = str | os.PathLike[str]
AnyFile = AnyPath | IO[bytes]

STANDARD_STREAM = "-"

_SHARED = entries("""
source : str, path-like or binary file object
    "-" is standard input; gzip, bzip2 and xz are decompressed.
target : str, path-like or binary file object
    "-" is standard output; a name ending in .gz, .bz2 or .xz is compressed. Paths are written
    atomically.
rows : Rows
    The rows to write.
format : {"auto", "svmlight", "csv", "parquet"}
    "auto" follows the suffix: .txt .svm .svmlight .libsvm .dat .letor, .csv, .parquet, also
    followed by .gz, .bz2 or .xz.
dtype : float64 or float32
    The dtype of X.
callback : callable, optional
    Called while text is parsed with three numbers: the bytes read, the bytes of the file,
    compressed if it is, and the rows. 0 is an unknown number.
""")

reads = described_by(
    _SHARED,
    {
        "Raises": "FileFormatError\n"
        "    If the content is not valid; the message names the line, of Parquet the row.\n"
        "FileAccessError\n"
        "    If the file cannot be opened."
    },
)
"""Completes the docstring of a function that reads a file."""

writes = described_by(
    _SHARED,
    {
        "Raises": "PairrankError\n"
        "    If the format cannot hold what is to be written.\n"
        "FileAccessError\n"
        "    If the file cannot be written."
    },
)
"""Completes the docstring of a function that writes a file."""


@contextlib.contextmanager
def atomic_write(path: AnyPath) -> Iterator[IO[bytes]]:
    """Open `path` for writing bytes; "-" is standard output.

    The content goes to a temporary file in the same folder, which replaces the old file if the
    block ends without an error, and is removed otherwise. Anything but a regular file (a pipe, a
    device) is written to directly. An OSError becomes a FileAccessError that says what to do.
    """
    name = os.fspath(path)
    try:
        with _open_for_writing(name) as file:
            yield file
    except (FileAccessError, BrokenPipeError):
        raise
    except OSError as error:
        raise FileAccessError(
            f"cannot write {'standard output' if name == STANDARD_STREAM else name}: "
            f"{error.strerror or error}; no partial file was left. Choose another place, or free "
            "space there"
        ) from error


def delete_leftovers(path: AnyPath) -> None:
    """Delete the temporary files that killed processes have left beside `path`.

    A process that writes holds a lock on its file, which the system releases when it is killed.
    """
    folder, base = os.path.split(os.path.realpath(path))
    for left in Path(folder).glob(f".{glob.escape(base[:100])}.*.part"):
        with contextlib.suppress(OSError), open(left, "rb") as file:
            _lock(file)
            left.unlink()


def _lock(file: IO[Any]) -> None:
    """Lock a file, or raise an OSError where another process writes it; no locks on Windows."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def refuse_read_only(path: AnyPath) -> None:
    """Raise a FileAccessError if `path` is a read-only file, which `os.replace` would replace."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not stat.S_IMODE(mode) & 0o222 or not os.access(path, os.W_OK):
        raise FileAccessError(
            f"cannot write {os.fspath(path)}: the file is read-only; make it writable "
            "(chmod u+w), or name another"
        )


def _open_for_writing(name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    if name == STANDARD_STREAM:
        return _standard_output()
    target = os.path.realpath(name)
    refuse_read_only(target)
    if os.path.exists(target) and not os.path.isfile(target):
        return open(target, "wb")
    return _replacing(target)


@contextlib.contextmanager
def _replacing(target: str) -> Iterator[IO[bytes]]:
    folder, base = os.path.split(target)
    path = os.path.join(folder, f".{base[:100]}.{secrets.token_hex(4)}.part")
    try:
        with open(path, "xb") as file:
            _lock(file)
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, path)
        os.replace(path, target)
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """Yield standard output, with a buffer if it is raw (PYTHONUNBUFFERED)."""
    if sys.stdout is None:
        raise FileAccessError("cannot write standard output: it is closed; name a file instead")
    binary: Any = sys.stdout.buffer
    binary.flush()
    buffered = io.BufferedWriter(binary)
    try:
        yield buffered
    finally:
        buffered.detach()  # after it is flushed; standard output stays open
        binary.flush()


_COMPRESSORS: dict[str, Any] = {
    ".gz": lambda file: gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0),
    ".bz2": functools.partial(bz2.BZ2File, mode="wb"),
    ".xz": functools.partial(lzma.LZMAFile, mode="wb"),
}

_MAGIC: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
ReadingCallback = Callable[[int, int, int], object] | None
"""Called with the bytes read so far, the file's size and the rows so far; 0 is unknown."""
_DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError)


def name_of(source: Any) -> str:
    """Return the name of a source or target in messages."""
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        return "standard input" if name == STANDARD_STREAM else name
    return str(getattr(source, "name", "the file object"))


def uncompressed(name: str) -> str:
    """Return a file's name without .gz, .bz2 or .xz."""
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in _COMPRESSORS else name


def is_file(source: Any) -> bool:
    """Whether a source is a file on a disk, which can be read twice."""
    return isinstance(source, str | os.PathLike) and os.path.isfile(source)


@contextlib.contextmanager
def open_source(source: Any) -> Iterator[IO[bytes]]:
    """Open a path, "-" (standard input) or a binary file object for reading, decompressed.

    Compression (gzip, bzip2, xz) is recognised by the first bytes, not by the name.
    """
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(open_raw(source))
        start = first_bytes(stream)
        for magic, opener in _MAGIC.items():
            if start.startswith(magic):
                stream = stack.enter_context(opener(stream, "rb"))
        try:
            yield stream
        except (*_DAMAGE, OSError) as error:
            if isinstance(error, PairrankError) or getattr(error, "errno", None) is not None:
                raise
            raise FileFormatError(
                f"{name_of(source)}: the compressed data is damaged or cut ({error}); get or make "
                "the file again"
            ) from error


def read_bytes(source: Any) -> bytes:
    """Return the decompressed content of a path, "-" (standard input) or a binary file object."""
    with open_source(source) as stream:
        return stream.read()


def position_in(stream: IO[bytes], n_read: int) -> tuple[int, int]:
    """Return the bytes read so far and the size of a stream's file, both compressed, if it is.

    The size of other streams is 0, unknown; `n_read` bytes of them have been read.
    """
    try:
        descriptor = stream.fileno()
        position, size = os.lseek(descriptor, 0, os.SEEK_CUR), os.fstat(descriptor).st_size
    except (AttributeError, OSError):
        return n_read, 0
    return (position, size) if size else (n_read, 0)


def open_raw(source: Any) -> contextlib.AbstractContextManager[Any]:
    """Open a path, "-" (standard input) or a binary file object for reading, as it is."""
    if not isinstance(source, str | os.PathLike):
        if hasattr(source, "read") and not isinstance(source, io.TextIOBase):
            return contextlib.nullcontext(source)
        raise PairrankError(
            f"the source is a {type(source).__name__}; give a path, '-' or a file opened in binary "
            "mode"
        )
    if os.fspath(source) == STANDARD_STREAM:
        if sys.stdin is None:
            raise FileAccessError("cannot read standard input: it is closed; name a file")
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return open(source, "rb")
    except OSError as error:
        raise FileAccessError(
            f"cannot read {os.fspath(source)}: {error.strerror}; check the path and its permissions"
        ) from error


def first_bytes(stream: Any) -> bytes:
    """Return the first bytes of a stream without consuming them; none if that is impossible."""
    if hasattr(stream, "peek"):
        return bytes(stream.peek(6)[:6])
    if hasattr(stream, "seekable") and stream.seekable():
        start = stream.read(6)
        stream.seek(-len(start), io.SEEK_CUR)
        return bytes(start)
    return b""


def whole_lines(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield blocks of whole lines, of about `size` bytes; a byte order mark is ignored.

    The last line gets a line break if it has none.
    """
    rest = stream.read(len(_BYTE_ORDER_MARK))
    if rest == _BYTE_ORDER_MARK:
        rest = b""
    while data := stream.read(size):
        data = rest + data
        cut = data.rfind(b"\n") + 1
        if cut:
            yield data[:cut]
        else:
            size *= 2
        rest = data[cut:]
    if rest:
        yield rest + b"\n"


@contextlib.contextmanager
def open_target(target: Any) -> Iterator[IO[bytes]]:
    """Open a path, "-" or a binary file object for writing, compressed by the name's suffix.

    Paths are written atomically, see `atomic_write`.
    """
    if not isinstance(target, str | os.PathLike):
        yield target
        return
    suffix = os.path.splitext(target)[1].lower()
    compress = _COMPRESSORS.get(suffix, contextlib.nullcontext)
    with atomic_write(target) as file, compress(file) as compressed:
        yield compressed
