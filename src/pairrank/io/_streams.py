"""Open paths, compressed files, standard streams and file objects."""

from __future__ import annotations

import bz2
import contextlib
import functools
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io._atomic import STANDARD_STREAM, atomic_write

_COMPRESSORS: dict[str, Any] = {
    ".gz": lambda file: gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0),
    ".bz2": functools.partial(bz2.BZ2File, mode="wb"),
    ".xz": functools.partial(lzma.LZMAFile, mode="wb"),
}
COMPRESSED_SUFFIXES = tuple(_COMPRESSORS)

_MAGIC: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK = 4 << 20
ReadingCallback = Callable[[int, int, int], object]
"""Called with the bytes read so far, the file's size and the rows so far; 0 is unknown."""
_DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError)


def name_of(source: Any) -> str:
    """Return the name of a source or target in messages."""
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        return "standard input" if name == STANDARD_STREAM else name
    return str(getattr(source, "name", "the file object"))


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


def read_bytes(source: Any, callback: ReadingCallback | None = None) -> bytes:
    """Return the decompressed content of a path, "-" (standard input) or a binary file object."""
    with open_source(source) as stream:
        if callback is None:
            return stream.read()
        content = io.BytesIO()
        while block := stream.read(_BLOCK):
            content.write(block)
            callback(*position_in(stream, content.tell()), 0)
        return content.getvalue()


def position_in(stream: IO[bytes], n_read: int) -> tuple[int, int]:
    """Return the bytes read so far and the size of a stream's file, both compressed, if it is.

    The size of other streams is 0, unknown; `n_read` bytes of them have been read.
    """
    try:
        position, size = os.lseek(stream.fileno(), 0, os.SEEK_CUR), size_of(stream)
    except (AttributeError, OSError):
        return n_read, 0
    return (position, size) if size else (n_read, 0)


def size_of(stream: IO[bytes]) -> int:
    """Return the bytes of a file on disk (compressed, if it is), or 0 for another stream."""
    try:
        return os.fstat(stream.fileno()).st_size
    except (AttributeError, OSError):
        return 0


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
    with atomic_write(target, "wb") as file, compress(file) as compressed:
        yield compressed
