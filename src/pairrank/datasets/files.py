"""Finding a registered file, checking its digest, and opening it."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from pathlib import Path
from typing import IO

from pairrank.datasets.record import DatasetRecord
from pairrank.exceptions import DatasetNotFoundError, FileAccessError, FileFormatError

ENVIRONMENT = "PAIRRANK_DATA"


def find_home(record: DatasetRecord, data_home: str | os.PathLike[str] | None) -> Path:
    """Return the folder of data sets: `data_home`, else the environment's PAIRRANK_DATA."""
    home = data_home if data_home is not None else os.environ.get(ENVIRONMENT)
    if not home:
        raise DatasetNotFoundError(
            f"no folder of data sets is named: pass data_home, or set {ENVIRONMENT}. "
            f"{_where(record)}"
        )
    return Path(home)


def open_file(record: DatasetRecord, home: Path, file: str) -> IO[bytes]:
    """Return the content of a registered file, decompressed, its digest checked.

    A file that is registered as `x.gz` may also lie there as `x`.

    Raises
    ------
    DatasetNotFoundError
        It is not there; the message says where the set can be had.
    FileFormatError
        It is damaged, or another than the one registered.
    """
    content = _read(record, home, file)
    digest = hashlib.sha256(content).hexdigest()
    if digest != record.files[file]:
        raise FileFormatError(
            f"{home / record.name / file}: the checksum differs from the registered one (found "
            f"{digest[:12]}..., expected {record.files[file][:12]}...); the file is damaged or of "
            f"another edition. {_where(record)}"
        )
    return io.BytesIO(content)


def _read(record: DatasetRecord, home: Path, file: str) -> bytes:
    folder = home / record.name
    path = folder / file
    if not path.exists() and file.endswith(".gz"):
        path = folder / file.removesuffix(".gz")
    if not path.exists():
        raise DatasetNotFoundError(
            f"{folder / file} is missing for the data set {record.name!r}. {_where(record)}"
        )
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path}: the compressed data is damaged or cut; {error}") from error
    except OSError as error:
        raise FileAccessError(f"cannot read {path}: {error.strerror}") from error


def _where(record: DatasetRecord) -> str:
    files = ", ".join(record.files)
    return f"Put its files ({files}) into the folder {record.name}; source: {record.source}"
