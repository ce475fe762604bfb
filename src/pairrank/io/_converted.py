"""Folders of converted files: made once, and used again as long as the text stays the same."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pairrank.exceptions import FileAccessError, FileFormatError, InputTypeError
from pairrank.io._atomic import atomic_write
from pairrank.io._leftovers import delete_leftovers, writing_into
from pairrank.io.query_sizes import query_sizes_of

_MANIFEST = "manifest.json"
_DIGEST_SIZE = 12
_FOLDER = re.compile(f"[0-9a-f]{{{2 * _DIGEST_SIZE}}}")
_VERSION = 2
"""To be raised if converted files or manifests change: folders of another version are not read."""


class ConvertedFiles:
    """The files of a conversion in a folder of their own in `cache`.

    A manifest, written last of all, holds size, time of change and digest of each text file.

    Parameters
    ----------
    paths : str, path-like or sequence of them
        The files of text.
    cache : str or path-like
        The folder of all conversions; it is made if there is none.
    options : sequence
        What else the conversion depends on; JSON can write it.
    what : str
        The format of the text, in messages.
    """

    def __init__(
        self, paths: Any, cache: str | os.PathLike[str], options: Sequence[Any], what: str
    ) -> None:
        single = isinstance(paths, str | os.PathLike)
        try:
            self.paths = [os.path.abspath(path) for path in ([paths] if single else paths)]
            cache = os.fspath(cache)
        except TypeError as error:
            raise InputTypeError(f"paths and cache must be names of files: {error}") from error
        if not self.paths:
            raise FileAccessError(f"no {what} file is named: give at least one path")
        self.what = what
        more = len(self.paths) - 1
        self.name = self.paths[0] + f" and {more} more" * bool(more)
        key = json.dumps([_VERSION, self.paths, *options]).encode()
        self.folder = Path(cache, hashlib.blake2b(key, digest_size=_DIGEST_SIZE).hexdigest())

    def manifest(self) -> dict[str, Any] | None:
        """Return the manifest of an earlier conversion of the same text, if there is one."""
        return self._manifest_in(self.folder)

    def adopted(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """Take the folder of a conversion of the same text by other options, if its manifest fits.

        Returns the manifest, None if there is none that fits.
        """
        with contextlib.suppress(OSError):
            for folder in sorted(self.folder.parent.iterdir()):
                manifest = self._manifest_in(folder) if _FOLDER.fullmatch(folder.name) else None
                if manifest is not None and fits(manifest):
                    self.folder = folder
                    return manifest
        return None

    def _manifest_in(self, folder: Path) -> dict[str, Any] | None:
        """Return the manifest of a folder, None if it is not of this text as it is now."""
        try:
            manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_text("utf-8"))
            known = [(size, changed, digest) for size, changed, digest in manifest["files"]]
            if manifest["text"] != [_VERSION, self.what, *self.paths]:
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        for path, (size, changed, digest) in zip(self.paths, known, strict=True):
            now = stat_of_file(path)
            if now.st_size != size:
                return None
            if now.st_mtime_ns != changed and _digest(path) != digest:
                return None
        return manifest

    @contextlib.contextmanager
    def converting(self) -> Iterator[list[tuple[int, int, int]]]:
        """Make the folder, delete the manifest, and yield what identifies the text.

        What killed conversions have left in any folder of the cache is deleted.
        """
        for path in self.paths:
            stat_of_file(path)
        with contextlib.ExitStack() as stack:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                for folder in self.folder.parent.iterdir():
                    if _FOLDER.fullmatch(folder.name):
                        delete_leftovers(folder)
                stack.enter_context(writing_into(self.folder))
                # files will not be those it names
                (self.folder / _MANIFEST).unlink(missing_ok=True)
            except OSError as error:
                raise FileAccessError(
                    f"cannot write the cache {self.folder}: {error.strerror}; name another folder"
                ) from error
            yield [_identity(path) for path in self.paths]

    def finish(self, manifest: dict[str, Any], written: set[str]) -> dict[str, Any]:
        """Write the manifest, and delete what an earlier conversion of longer text has left."""
        manifest = {**manifest, "text": [_VERSION, self.what, *self.paths]}
        with atomic_write(self.folder / _MANIFEST, "w") as text:
            text.write(json.dumps(manifest))
        for path in self.folder.glob("block-*"):
            if path.name not in written:
                path.unlink(missing_ok=True)
        return manifest

    def refuse_side_files(self) -> None:
        """Raise an error if a file of rows per query lies beside text without queries."""
        side = next(filter(None, map(query_sizes_of, self.paths)), None)
        if side is not None:
            raise FileFormatError(
                f"{side}: rows per query in a file of their own are not read for blocks; write qid "
                "into the rows (pairrank convert), or move the file away"
            )

    def damaged(self, path: Path, error: BaseException) -> FileFormatError:
        """Return the error about a damaged file or folder."""
        return FileFormatError(
            f"{path}: the cache is damaged ({error}); delete the folder {self.folder}, it is made "
            "again"
        )


def stat_of_file(path: str) -> os.stat_result:
    """Return what the system knows of a file; refuse folders, pipes and devices."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise FileAccessError(f"cannot read {path}: {error.strerror}; check the path") from error
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe or a device, read once only"
        raise FileAccessError(f"cannot read {path} for blocks: it is {what}; name files on a disk")
    return found


def _identity(path: str) -> tuple[int, int, int]:
    """Return size, time of change and digest of a file."""
    found = stat_of_file(path)
    return found.st_size, found.st_mtime_ns, _digest(path)


def _digest(path: str) -> int:
    """Return the CRC-32 of a file."""
    digest = 0
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 22):
                digest = zlib.crc32(block, digest)
    except OSError as error:
        raise FileAccessError(f"cannot read {path}: {error.strerror}; check the path") from error
    return digest
