"""RowBlocks of rows in memory, for tests: every kind of source gives the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pairrank import RankSVM, RowBlocks


def rows_of(seed: int, n_rows: int = 60, n_features: int = 3) -> tuple[Any, Any, Any]:
    """Return X, labels of three levels, and identifiers of five queries."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    return X, generator.integers(0, 3, n_rows).astype(float), generator.integers(0, 5, n_rows)


def cut(borders: list[int], *arrays: Any, **options: Any) -> RowBlocks:
    """Return RowBlocks of a function that cuts arrays at some rows."""

    def blocks() -> Any:
        n_rows = arrays[0].shape[0]
        for start, stop in zip([0, *borders], [*borders, n_rows], strict=True):
            yield tuple(None if array is None else array[start:stop] for array in arrays)

    return RowBlocks(blocks, **options)


def all_rows(rows: RowBlocks) -> list[Any]:
    """Return the X of all blocks, as a prediction reads them."""
    first = rows.first_block().X
    ranker = RankSVM().fit(np.arange(2.0)[:, np.newaxis] * np.ones(first.shape[1]), [0, 1])
    found: list[Any] = []

    def keep(X: Any) -> Any:
        found.append(X.copy())
        return X

    ranker.predict(rows.map(keep))
    return found


def joined(rows: RowBlocks) -> Any:
    """Return all rows of X as one dense matrix."""
    return np.vstack(
        [part.toarray() if hasattr(part, "toarray") else part for part in all_rows(rows)]
    )


def offset_rows() -> tuple[Any, Any, Any]:
    """Return 900 rows with offsets, their labels and sorted queries."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(900, 4)) * [1, 10, 0.1, 3] + 2
    y = np.rint(X @ [1, 0.2, -5, 0.5] + generator.normal(size=900)).clip(-2, 4)
    return X, y, np.sort(generator.integers(0, 30, 900))


def blocks_of(rows: tuple[Any, Any, Any], batch_rows: int = 250) -> RowBlocks:
    """Return rows as blocks of arrays."""
    X, y, qid = rows
    return RowBlocks.from_arrays(X, y, qid=qid, batch_rows=batch_rows)


NAMES = {"label": "grade", "qid": "query"}
"""The columns of `table_of`."""


def table_of(rows: slice = slice(None), dtype: Any = np.float32, **more: Any) -> Any:
    """Return some of `rows_of(0)` as a table of pyarrow."""
    X, y, qid = rows_of(0)
    features = {name: X[rows, at].astype(dtype) for at, name in enumerate("abc")}
    return pa.table({"query": qid[rows], **features, "grade": y[rows].astype("i1"), **more})


def parquet_folder(folder: Any) -> Any:
    """Write the rows of `table_of` to three files of a folder, and return it."""
    for number, rows in enumerate([slice(0, 25), slice(25, 26), slice(26, 60)]):
        pq.write_table(table_of(rows), folder / f"{number}.parquet", row_group_size=10)
    return folder
