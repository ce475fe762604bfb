"""The registry of data sets, their files, and `load`; a new set is one table in registry.toml."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tomllib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes

from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError

if TYPE_CHECKING:
    from scipy import sparse

ENVIRONMENT = "PAIRRANK_DATA"
ALWAYS_THERE = "sklearn-diabetes"
"""A set that comes with scikit-learn and has no record."""

FILE = Path(__file__).with_name("registry.toml")


class DatasetNotFoundError(PairrankError, FileNotFoundError):
    """A registered data set is not in `data_home`; the message names its source."""


@dataclass(frozen=True)
class DatasetRecord:
    """A data set in the registry; its name is also its folder under `data_home`.

    `description` says what a row is, and anything unusual; `source` is the place to get the set
    from and whom to cite; `target` describes the labels. Rows and columns are those of X that
    `load(name)` returns without options. `files` has the SHA-256 of each file's content, after
    decompression of .gz files, which may also be there uncompressed; zip archives are not
    decompressed. `reader` is a name in `loaders.READERS`, `settings` its arguments.
    """

    name: str
    title: str
    description: str
    source: str
    licence: str
    target: str
    n_rows: int
    n_columns: int
    files: Mapping[str, str]
    reader: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class Dataset(NamedTuple):
    """A loaded data set: X dense or CSR, y in float64 or Pairs, and what else is known."""

    X: np.ndarray[Any, Any] | sparse.csr_array
    y: Any
    qid: np.ndarray[Any, Any] | None
    feature_names: list[str] | None
    record: DatasetRecord | None


def choose(record: DatasetRecord, option: str, value: Any, allowed: Any) -> Any:
    """Return `value` if it is among `allowed`, else raise a PairrankError that lists them."""
    if value not in allowed:
        listed = ", ".join(repr(one) for one in allowed)
        raise PairrankError(f"{record.name}: {option}={value!r}; choose one of {listed}")
    return value


def open_file(record: DatasetRecord, home: Path, file: str) -> IO[bytes]:
    """Return the content of a registered file, decompressed, after a check of its digest.

    A file that is registered as `x.gz` may also be there as `x`. The error for a missing file names
    the source.
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


@cache
def read_records(kind: str) -> dict[str, DatasetRecord]:
    """Return the records of a kind by name: "rows" or "ratings"."""
    tables = tomllib.loads(FILE.read_text("utf-8"))[kind]
    return {name: DatasetRecord(name=name, **table) for name, table in tables.items()}


def describe(name: str) -> DatasetRecord:
    """Return the record of a set; the error for an unknown one lists the known ones."""
    records = read_records("rows") | read_records("ratings")
    if name not in records:
        raise PairrankError(f"no data set {name!r}; there are {', '.join(sorted(records))}")
    return records[name]


def load(name: str, data_home: str | os.PathLike[str] | None = None, **options: Any) -> Any:
    """Load a registered data set from a local folder, without a download.

    It is a `Dataset`, or of ratings a table. `data_home` has one folder per set; None: the
    environment variable PAIRRANK_DATA. Options are keyword arguments of the set's reader, such as
    `fold` and `subset`. A DatasetNotFoundError names the source of a missing file, a
    FileFormatError a file with another checksum.
    """
    from reproduction.data.loaders import READERS

    if name == ALWAYS_THERE:
        X, y = load_diabetes(return_X_y=True)
        return Dataset(X, y, None, None, None)
    record = describe(name)
    home = data_home if data_home is not None else os.environ.get(ENVIRONMENT)
    if not home:
        raise DatasetNotFoundError(
            f"no folder of data sets is given: pass data_home, or set {ENVIRONMENT}. "
            f"{_where(record)}"
        )
    return READERS[record.reader](record, Path(home), **options)
