"""SvmlightBlocks: svmlight text, converted once to blocks of arrays in a folder."""

from __future__ import annotations

import functools
import itertools
import os
import zipfile
from collections.abc import Generator
from typing import Any, Literal

import numpy as np

from pairrank.exceptions import FileFormatError
from pairrank.io._atomic import atomic_write
from pairrank.io._converted import ConvertedFiles
from pairrank.io._streams import ReadingCallback, open_source, position_in, whole_lines
from pairrank.io.rows import check_dtype
from pairrank.io.svmlight import SvmlightReader, check_arguments, is_sparse, matrix_of

_TEXT_BLOCK = 2 << 20
_ENTRY_BYTES = 12
_QUERIES = "queries.npy"
_ARRAYS = ("labels", "row_ends", "indices", "values")


class SvmlightBlocks:
    """A source of blocks of svmlight files, which are parsed once.

    The blocks are written to a folder of their own in `cache`. They are used again as long as size
    and digest of each file are those of the conversion, also by a stated number of features that is
    that of the text. A block file that is damaged is an error.

    Parameters
    ----------
    paths : str, path-like or sequence of them
        Files; gzip, bzip2 and xz are decompressed. Rows of one qid are one query, in any file.
    cache : str or path-like
        The folder; it is made if there is none.
    zero_based, n_features, dtype
        As for `read_svmlight`.
    block_bytes : int
        Blocks hold about so many bytes of entries.
    callback : callable, optional
        As for `read_svmlight`; called while text is parsed.
    """

    feature_names = None

    def __init__(
        self,
        paths: Any,
        cache: str | os.PathLike[str],
        *,
        zero_based: bool | Literal["auto"] = "auto",
        n_features: int | None = None,
        dtype: Any = np.float64,
        block_bytes: int = 1 << 26,
        callback: ReadingCallback | None = None,
    ) -> None:
        check_arguments(n_features, zero_based=zero_based)
        n_features = None if n_features is None else int(n_features)
        self.dtype, self.callback = check_dtype(dtype), callback
        options = [self.dtype.str, zero_based, n_features, block_bytes]
        self._files = ConvertedFiles(paths, cache, options, "svmlight")
        self.name = self._files.name
        manifest = self._files.manifest()
        if manifest is None and (zero_based != "auto" or n_features is not None):
            kept = [self.dtype.str, "auto", None, block_bytes]
            manifest = self._files.adopted(functools.partial(_states, kept, zero_based, n_features))
        self.folder = self._files.folder
        if manifest is None:
            manifest = self._convert(options)
        self._manifest = manifest
        self.n_rows: int = manifest["n_rows"]
        self.n_features: int = manifest["n_features"]

    @property
    def zero_based(self) -> bool:
        """Whether the text counts features from 0."""
        return bool(self._manifest["shift"] == 0)

    def read(self, start: int, *, labelled: bool) -> Generator[tuple[Any, ...], None, None]:
        """Yield the blocks from number `start` on."""
        has_queries = self._manifest["has_queries"]
        names = self._loaded(_QUERIES) if has_queries and labelled else None
        for number in range(start, len(self._manifest["sizes"])):
            found = self._block(number, labelled=labelled)
            indices = found["indices"] - np.int32(self._manifest["shift"])
            X = matrix_of(
                found["row_ends"],
                indices,
                found["values"],
                self.n_features,
                sparse=self._manifest["sparse"],
            )
            qid = None if names is None else names[found["codes"]]
            yield (X, found["labels"], qid) if labelled else (X,)
            del found, X, indices

    def _block(self, number: int, *, labelled: bool) -> dict[str, Any]:
        """Return the arrays of a block file; its size is checked, and each array by its CRC-32."""
        wanted = ("labels", "codes") if labelled else ()
        size = self._manifest["sizes"][number]
        return self._loaded(_file(number), size, (*_ARRAYS[1:], *wanted))

    def _loaded(self, name: str, size: int | None = None, wanted: tuple[str, ...] = ()) -> Any:
        """Return the array of a file of the cache, or the wanted arrays by name."""
        path = self.folder / name
        try:
            if size is not None and path.stat().st_size != size:
                raise FileFormatError("its size is another")
            stored = np.load(path)
            if not wanted:
                return stored
            with stored:
                return {each: stored[each] for each in wanted}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise self._files.damaged(path, error) from error

    def _convert(self, options: list[Any]) -> dict[str, Any]:
        """Parse the text, write the block files, and last of all the manifest; return it."""
        with self._files.converting() as files:
            return self._written(files, options)

    def _written(self, files: Any, options: list[Any]) -> dict[str, Any]:
        """Write the block files and the manifest; `files` is what identifies the text."""
        _, zero_based, n_features, limit = options
        reader = SvmlightReader(self._files.paths[0], self.dtype, comments=False)
        sizes: list[int] = []
        n_rows = n_entries = 0
        for _ in self._parsed(reader, limit):
            n_rows, n_entries = n_rows + len(reader.labels), n_entries + len(reader.values)
            sizes.append(self._write(reader, len(sizes)))
        if not n_rows:
            raise FileFormatError(f"{self.name}: no rows; the files hold nothing, or comments only")
        has_queries = bool(reader.code_of)
        if not has_queries:
            self._files.refuse_side_files()
        shift = reader.shift(zero_based)
        width = reader.width(shift, n_features, n_rows, n_entries)
        if has_queries:
            with atomic_write(self.folder / _QUERIES) as file:
                np.save(file, reader.qid_names(), allow_pickle=False)
        manifest = {
            "files": files,
            "options": options,
            "n_rows": n_rows,
            "n_features": width,
            "shift": shift,
            "sparse": is_sparse(n_entries, n_rows * width),
            "has_queries": has_queries,
            "sizes": sizes,
        }
        return self._files.finish(manifest, {_file(number) for number in range(len(sizes))})

    def _parsed(self, reader: SvmlightReader, limit: int) -> Generator[None, None, None]:
        """Parse the files; yield where the reader holds a block, and at the end."""
        for path in self._files.paths:
            reader.name, reader.line, before = path, 1, reader.n_bytes
            with open_source(path) as stream:
                blocks = whole_lines(stream, _TEXT_BLOCK)
                while some := list(itertools.islice(blocks, reader.n_blocks)):
                    reader.take(some)
                    if self.callback is not None:
                        position = position_in(stream, reader.n_bytes - before)
                        self.callback(*position, len(reader.labels))
                    if len(reader.values) * _ENTRY_BYTES >= limit:
                        yield
        if len(reader.labels):
            yield

    def _write(self, reader: SvmlightReader, number: int) -> int:
        """Write what the reader holds as a block file; return the file's size."""
        arrays = {name: getattr(reader, name).take() for name in (*_ARRAYS, "codes")}
        reader.n_entries = 0
        path = self.folder / _file(number)
        with atomic_write(path) as file:
            np.savez(file, **arrays)
        return path.stat().st_size


def _states(
    options: list[Any], zero_based: Any, n_features: int | None, manifest: dict[str, Any]
) -> bool:
    """Whether files converted by these options are those that the arguments ask for."""
    found = manifest["shift"] == 0, manifest["n_features"]
    counts_alike = zero_based == "auto" or zero_based == found[0]
    return manifest["options"] == options and counts_alike and n_features in (None, found[1])


def _file(number: int) -> str:
    return f"block-{number:06d}.npz"
