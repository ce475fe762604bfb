"""What the registry states of a data set, and what readers and `load` return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairrank.exceptions import PairrankError

if TYPE_CHECKING:
    from scipy import sparse

    from pairrank.preferences import Pairs


@dataclass(frozen=True)
class DatasetRecord:
    """A data set as the registry knows it.

    Attributes
    ----------
    name : str
        Also the folder under `data_home`.
    title, source, licence, target : str
        `source` is where the set can be had and whom to cite; `target` what the labels are.
    n_rows, n_columns : int
        Rows, and columns of X, as `load(name)` returns them without options.
    files : mapping of str to str
        SHA-256 of each file's content. A file named .gz may also be there uncompressed: the digest
        is that of the uncompressed content. Zip archives are digested as they are.
    reader : str
        Which of `loaders.READERS` reads it.
    settings : mapping
        Arguments of the reader.
    options : tuple of str
        The options of `load` for this set, in words.
    papers : tuple of str
        Which papers use it.
    notes : str
        How it is handled where that is not obvious.
    """

    name: str
    title: str
    source: str
    licence: str
    target: str
    n_rows: int
    n_columns: int
    files: Mapping[str, str]
    reader: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()
    notes: str = ""


class Dataset(NamedTuple):
    """A loaded data set.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
    y : ndarray of float64, shape (n_rows,), or Pairs
    qid : ndarray of shape (n_rows,) or None
    feature_names : list of str or None
    record : DatasetRecord
    """

    X: np.ndarray[Any, Any] | sparse.csr_array
    y: Any
    qid: np.ndarray[Any, Any] | None
    feature_names: list[str] | None
    record: DatasetRecord


class Parts(NamedTuple):
    """What a reader returns: the first four parts of a Dataset."""

    X: Any
    y: np.ndarray[Any, Any] | Pairs
    qid: np.ndarray[Any, Any] | None
    feature_names: list[str] | None


def choose(record: DatasetRecord, option: str, value: Any, allowed: Any) -> Any:
    """Return `value` if it is among `allowed`, else say which are."""
    if value not in allowed:
        listed = ", ".join(repr(one) for one in allowed)
        raise PairrankError(f"{record.name}: {option}={value!r}; choose one of {listed}")
    return value
