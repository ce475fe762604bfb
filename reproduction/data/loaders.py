"""Readers of the registered formats; `READERS` names them for the registry."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pairrank import Pairs
from pairrank.exceptions import FileFormatError
from pairrank.io import read_rows
from reproduction.data.registry import Dataset, DatasetRecord, choose, open_file, open_text
from reproduction.data.text import load_reuters_sgml


def load_arff(record: DatasetRecord, home: Path) -> Dataset:
    """Read an ARFF file, target last.

    A nominal attribute of numbers becomes one column; one of words becomes a column of 0 and 1 per
    value, in the order of the header. Rows with a missing value are an error, unless the settings
    have `drop_missing`.
    """
    from scipy.io import arff

    (file,) = record.files
    text = open_text(record, home, newline=None)
    try:
        rows, header = arff.loadarff(text)
    except (arff.ArffError, ValueError, NotImplementedError, StopIteration) as error:
        raise FileFormatError(f"{file}: not the ARFF of numbers and nominals ({error})") from error
    if len(rows) == 0:
        raise FileFormatError(f"{file}: no rows after @data")
    missing = np.zeros(len(rows), dtype=bool)
    columns: dict[str, np.ndarray[Any, Any]] = {}
    for name in header.names():
        _, words = header[name]
        cells = rows[name]
        missing |= np.isnan(cells) if words is None else cells == b"?"
        if words is None or all(_is_number(word) for word in words):
            columns[name] = np.array([np.nan if cell == b"?" else float(cell) for cell in cells])
        else:
            columns |= {f"{name}={word}": (cells == word.encode()) * 1.0 for word in words}
    if missing.any() and not record.settings.get("drop_missing", False):
        raise FileFormatError(f"{file}, row {int(missing.argmax()) + 1}: a value is missing ('?')")
    table = np.column_stack(list(columns.values()))[~missing]
    return _target_last(record, table, list(columns)[:-1])


def load_letor_folds(
    record: DatasetRecord, home: Path, *, fold: int = 1, subset: str | None = None
) -> Dataset:
    """Read a fold of LETOR: three parts for training, one for validation, one for testing.

    Without a subset, read all five parts.
    """
    files = list(record.files)
    choose(record, "fold", fold, range(1, len(files) + 1))
    choose(record, "subset", subset, ("train", "valid", "test", None))
    turned = files[fold - 1 :] + files[: fold - 1]
    taken = {"train": turned[:-2], "valid": turned[-2:-1], "test": turned[-1:], None: files}[subset]
    return _read_parts(record, home, taken)


def load_svmlight(record: DatasetRecord, home: Path, *, subset: str | None = None) -> Dataset:
    """Read the files that the settings name by `subset`; without one, the default or all files."""
    subsets = record.settings.get("subsets", {})
    choose(record, "subset", subset, (*subsets, None))
    named = subset or record.settings.get("default")
    return _read_parts(record, home, subsets[named] if named else list(record.files))


def load_comparisons_csv(record: DatasetRecord, home: Path) -> Dataset:
    """Read comparisons between items; X is the identity, y the Pairs over the items.

    A file names the sides by `winner` and `loser`, or by `left`, `right` and a `winner` that is
    "left", "right" or "tie". The setting `groups` names the column of the Pairs' groups.
    """
    from scipy import sparse

    (file,) = record.files
    with open_text(record, home) as text:
        rows = list(csv.DictReader(text, record.settings.get("columns")))
    sides = [_sides(row, file, place) for place, row in enumerate(rows, 1)]
    names, items = np.unique([side[:2] for side in sides], return_inverse=True)
    winner, loser = items.reshape(-1, 2).T
    decided = np.array([side[2] for side in sides])
    magnitude = None if decided.all() else decided.astype(np.float64)
    X = sparse.eye_array(names.size, format="csr")
    column = record.settings.get("groups")
    groups = None if column is None else [row[column] for row in rows]
    y = Pairs(winner, loser, magnitude=magnitude, groups=groups, n_rows=names.size)
    return Dataset(X, y, None, names.tolist(), record)


def _sides(row: dict[str, str], file: str, place: int) -> tuple[str, str, bool]:
    """Return the winner, the loser, and whether there was one."""
    if "loser" in row:
        return row["winner"], row["loser"], True
    left, right, winner = row["left"], row["right"], row["winner"]
    if winner not in ("left", "right", "tie"):
        raise FileFormatError(
            f"{file}, row {place}: the winner must be left, right or tie (got {winner!r})"
        )
    return (right, left, True) if winner == "right" else (left, right, winner == "left")


def _read_parts(record: DatasetRecord, home: Path, files: Any) -> Dataset:
    """Read svmlight files and stack them."""
    from scipy import sparse

    width = record.settings["n_features"]
    is_sparse = record.settings.get("sparse", False)
    parts = [
        read_rows(open_file(record, home, file), n_features=width, zero_based=False)
        for file in files
    ]
    form = sparse.csr_array if is_sparse else _dense
    blocks = [form(part.X) for part in parts]
    X = sparse.vstack(blocks, format="csr") if is_sparse else np.concatenate(blocks)
    y = np.concatenate([part.y for part in parts if part.y is not None])
    qids = [part.qid for part in parts if part.qid is not None]
    return Dataset(X, y, np.concatenate(qids) if qids else None, None, record)


def _dense(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else X.toarray()


def _target_last(record: DatasetRecord, table: Any, names: list[str] | None) -> Dataset:
    """Return the data of a table whose last column is the target."""
    return Dataset(table[:, :-1].copy(), table[:, -1].copy(), None, names, record)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


READERS: dict[str, Callable[..., Dataset]] = {
    "arff": load_arff,
    "letor_folds": load_letor_folds,
    "svmlight": load_svmlight,
    "reuters_sgml": load_reuters_sgml,
    "comparisons_csv": load_comparisons_csv,
}
