"""The registry of data sets, and `load`; a new set is one table in registry.toml."""

from __future__ import annotations

import inspect
import os
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pairrank.exceptions import PairrankError
from reproduction.data.record import Dataset, DatasetRecord, find_home

FILE = Path(__file__).with_name("registry.toml")


@cache
def read_records(kind: str) -> dict[str, DatasetRecord]:
    """Return the records of a kind by name: "rows", which `load` reads, or "ratings"."""
    tables = tomllib.loads(FILE.read_text("utf-8"))[kind]
    return {name: DatasetRecord(name=name, **table) for name, table in tables.items()}


def list_datasets() -> list[str]:
    """Return the names of the registered sets, as `load` and `describe` take them."""
    return sorted(read_records("rows"))


def describe(name: str) -> DatasetRecord:
    """Return the record of a set: description, source, licence, shape, target, files."""
    return find_record("rows", "data set", name)


def find_record(kind: str, what: str, name: str) -> DatasetRecord:
    """Return the record of a name; the error for an unknown one lists the known ones."""
    records = read_records(kind)
    if name not in records:
        raise PairrankError(f"no {what} {name!r}; there are {', '.join(sorted(records))}")
    return records[name]


def load(name: str, data_home: str | os.PathLike[str] | None = None, **options: Any) -> Dataset:
    """Load a registered data set from a local folder, without a download.

    Parameters
    ----------
    name : str
        One of `list_datasets()`.
    data_home : path-like, optional
        The folder with one folder per set. None: the environment variable PAIRRANK_DATA.
    **options
        Keyword arguments of the set's reader, such as `fold` and `subset`.

    Returns
    -------
    Dataset
        `X`, `y`, `qid`, `feature_names`, `record`.

    Raises
    ------
    DatasetNotFoundError
        If no folder is given or a file is missing; the message names the source.
    FileFormatError
        If a file's checksum differs from the registered one.
    PairrankError
        If a name or an option is unknown.
    """
    from reproduction.data.loaders import READERS

    record = describe(name)
    reader = READERS[record.reader]
    known = [
        option
        for option, parameter in inspect.signature(reader).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    unknown = sorted(set(options) - set(known))
    if unknown:
        there = ", ".join(known) if known else "none"
        raise PairrankError(f"{name}: no option {', '.join(unknown)}; there are: {there}")
    return reader(record, find_home(record, data_home), **options)
