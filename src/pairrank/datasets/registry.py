"""The registry of data sets, and `load`; a new set is one record in a tuple of records."""

from __future__ import annotations

import inspect
import os
from typing import Any

from pairrank.datasets.judged import COMPARISONS, JUDGED
from pairrank.datasets.record import Dataset, DatasetRecord, find_home
from pairrank.datasets.regression import REGRESSION
from pairrank.datasets.text import TEXT
from pairrank.exceptions import PairrankError

REGISTRY: dict[str, DatasetRecord] = {
    record.name: record for record in (*REGRESSION, *JUDGED, *TEXT, *COMPARISONS)
}


def list_datasets() -> list[str]:
    """Return the names of the registered sets.

    Returns
    -------
    list of str
        As `load` and `describe` take them.

    Examples
    --------
    >>> "letor4_mq2008" in list_datasets()
    True
    """
    return sorted(REGISTRY)


def describe(name: str) -> DatasetRecord:
    """Return the record of a set: source, licence, shape, target, files, papers.

    Parameters
    ----------
    name : str
        One of `list_datasets()`.

    Returns
    -------
    DatasetRecord
        The set's record.

    Examples
    --------
    >>> describe("abalone").n_rows
    4177
    """
    if name not in REGISTRY:
        raise PairrankError(f"no data set {name!r}; there are {', '.join(list_datasets())}")
    return REGISTRY[name]


def load(name: str, data_home: str | os.PathLike[str] | None = None, **options: Any) -> Dataset:
    """Load a registered data set from a local folder, without a download.

    Parameters
    ----------
    name : str
        One of `list_datasets()`.
    data_home : path-like, optional
        The folder with one folder per set. None: the environment variable PAIRRANK_DATA.
    **options
        Options of the set, see `describe(name).options`: `fold` and `subset`, `n_bins` and others.

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
    from pairrank.datasets.loaders import READERS

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
    parts = reader(record, find_home(record, data_home), **options)
    return Dataset(parts.X, parts.y, parts.qid, parts.feature_names, record)
