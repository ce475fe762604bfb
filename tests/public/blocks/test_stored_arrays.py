"""RowBlocks.from_arrays on arrays of zarr and h5py, and on other things with slices of rows."""

from __future__ import annotations

import numpy as np
import pytest

from block_sources import joined, rows_of
from pairrank import RankSVM, RowBlocks
from pairrank.exceptions import InputTypeError, PairrankError

X, Y, QID = rows_of(0)


def check(rows):
    labels = rows.labels()
    assert np.array_equal(joined(rows), X)
    assert np.array_equal(labels.y, Y)
    assert np.array_equal(labels.qid.astype(str), QID.astype(str))
    wanted = RankSVM(tol=1e-9).fit(X, Y, qid=QID)
    fitted = RankSVM(tol=1e-9).fit(rows)
    assert np.abs(fitted.coef_ - wanted.coef_).max() <= 1e-6 * np.abs(wanted.coef_).max()
    assert fitted.n_queries_ == wanted.n_queries_


@pytest.mark.extras
def test_arrays_of_zarr_are_blocks(tmp_path):
    zarr = pytest.importorskip("zarr", reason="needs zarr: pip install zarr")
    group = zarr.open_group(tmp_path / "rows.zarr", mode="w")
    for name, values in {"X": X, "y": Y, "qid": QID}.items():
        chunks = (7, *values.shape[1:])
        array = group.create_array(name, shape=values.shape, chunks=chunks, dtype=values.dtype)
        array[:] = values
    check(RowBlocks.from_arrays(group["X"], group["y"], qid=group["qid"], batch_rows=20))


@pytest.mark.extras
@pytest.mark.parametrize("qid", [QID, [f"{query}" for query in QID]], ids=["numbers", "text"])
def test_arrays_of_h5py_are_blocks(tmp_path, qid):
    h5py = pytest.importorskip("h5py", reason="needs h5py: pip install h5py")
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["X"], file["y"], file["qid"] = X, Y, qid
        rows = RowBlocks.from_arrays(file["X"], file["y"], qid=file["qid"], batch_rows=20)
        labels = rows.labels().qid
        texts = [each.decode() if isinstance(each, bytes) else str(each) for each in labels]
        assert texts == [str(query) for query in QID]
        assert RankSVM().fit(rows).n_queries_ == 5
        if labels.dtype.kind in "iu":
            check(rows)


class Lazy:
    """An array on disk that has a shape and slices of rows, but no length, as that of zarr."""

    def __init__(self, values):
        self._values, self.shape, self.dtype = values, values.shape, values.dtype

    def __getitem__(self, rows):
        return self._values[rows]


def test_arrays_need_no_length():
    check(RowBlocks.from_arrays(Lazy(X), Lazy(Y), qid=Lazy(QID), batch_rows=20))
    check(RowBlocks.from_arrays(X, list(Y), qid=list(QID), batch_rows=20))


def test_what_is_no_array_of_the_same_rows_is_refused():
    with pytest.raises(PairrankError, match="y has 3 entries for 60 rows of X"):
        RowBlocks.from_arrays(X, Lazy(Y[:3]))
    for wrong in (3, np.array(3.0), Lazy(np.array(3.0))):
        with pytest.raises(InputTypeError, match="y must be an array"):
            RowBlocks.from_arrays(X, wrong)
