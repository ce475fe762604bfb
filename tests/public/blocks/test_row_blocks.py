"""RowBlocks: what sources and stored arrays deliver, the checks of each block, changes to X."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from block_sources import all_rows, cut, joined, rows_of
from pairrank import RankSVM, RowBlocks
from pairrank.exceptions import InputTypeError, PairrankError

X, Y, QID = rows_of(0)


@given(
    borders=st.lists(st.integers(0, 60), max_size=8).map(sorted),
    is_sparse=st.booleans(),
    is_float32=st.booleans(),
    has_weights=st.booleans(),
)
def test_blocks_hold_the_rows_in_their_order_and_none_is_empty(
    borders, is_sparse, is_float32, has_weights
):
    wanted = X.astype(np.float32) if is_float32 else X
    given_X = sparse.csr_array(wanted) if is_sparse else wanted
    weight = np.arange(60.0) if has_weights else None
    rows = cut(borders, given_X, Y, QID, weight)
    found = rows.labels()
    assert np.array_equal(joined(rows), wanted)
    assert all(part.shape[0] for part in all_rows(rows))
    assert {each.dtype for each in all_rows(rows)} == {wanted.dtype}
    assert np.array_equal(found.y, Y)
    assert np.array_equal(found.qid, QID)
    assert found.winner_weight is None
    assert np.array_equal(found.sample_weight, weight) if has_weights else not found.sample_weight


@given(batch_rows=st.integers(1, 70))
def test_arrays_are_cut_into_blocks_of_a_size(batch_rows):
    rows = RowBlocks.from_arrays(X, Y, qid=QID, batch_rows=batch_rows)
    assert [len(part) for part in all_rows(rows)][:-1] == [batch_rows] * ((60 - 1) // batch_rows)
    assert np.array_equal(joined(rows), X)
    assert np.array_equal(rows.labels().qid, QID)


@pytest.mark.parametrize("given_rows", [iter([(X, Y)]), [(X, Y)], "rows"])
def test_what_is_no_function_is_refused(given_rows):
    with pytest.raises(PairrankError, match="a function that returns a new iterator"):
        RowBlocks(given_rows)


def test_arguments_of_other_kinds_are_refused():
    with pytest.raises(PairrankError, match="has returned int: it must return a new iterator"):
        all_rows(RowBlocks(lambda: 5))
    with pytest.raises(PairrankError, match="map takes a function of X, got int"):
        cut([], X, Y).map(5)
    for wrong in (5, np.array(3.0), Lazy(np.array(3.0))):
        with pytest.raises(InputTypeError, match="y must be an array"):
            RowBlocks.from_arrays(X, wrong)
    with pytest.raises(PairrankError, match="y has 3 entries for 60 rows of X"):
        RowBlocks.from_arrays(X, Lazy(Y[:3]))
    with pytest.raises(PairrankError, match="qid has 59 entries for 60 rows"):
        RowBlocks.from_arrays(X, Y, qid=QID[:-1])
    with pytest.raises(PairrankError, match="two dimensions"):
        RowBlocks.from_arrays(Y, Y)
    with pytest.raises(PairrankError, match="n_features must be"):
        cut([], X, Y, n_features=0)
    with pytest.raises(PairrankError, match="1 names for 3 features"):
        all_rows(cut([], X, Y, feature_names=["a"]))


def test_arrays_of_any_sparse_format_are_cut():
    assert np.array_equal(joined(RowBlocks.from_arrays(sparse.coo_array(X), batch_rows=7)), X)


def test_an_iterator_that_is_returned_twice_is_refused():
    once = iter([(X, Y)])
    rows = RowBlocks(lambda: once)
    rows.labels()
    with pytest.raises(PairrankError, match=r"same iterator twice.*generator function"):
        rows.labels()


def test_names_of_features_are_those_of_the_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    rows = RowBlocks(lambda: iter([(frame[:30], Y[:30]), (frame[30:], Y[30:])]))
    assert RankSVM().fit(rows).feature_names_in_.tolist() == ["a", "b", "c"]
    other = frame.rename(columns={"a": "z"})
    mixed = RowBlocks(lambda: iter([(frame[:30],), (other[30:],)]))
    with pytest.raises(PairrankError, match=r"block 1 of .*feature names"):
        all_rows(mixed)


def test_sparse_blocks_may_have_fewer_features():
    narrow = sparse.csr_array(X[30:, :2])
    blocks = [(sparse.csr_array(X[:30]), Y[:30]), (narrow, Y[30:])]
    thin = X * (np.arange(60)[:, np.newaxis] < [60, 60, 30])
    wanted = RankSVM(tol=1e-8).fit(thin, Y).coef_
    found = RankSVM(tol=1e-8).fit(RowBlocks(lambda: iter(blocks))).coef_
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    with pytest.raises(PairrankError, match=r"block 1 of .*2 are expected; pass n_features"):
        RankSVM().fit(RowBlocks(lambda: iter(blocks[::-1])))
    ranker = RankSVM().fit(RowBlocks(lambda: iter(blocks[::-1]), n_features=3))
    assert ranker.coef_.shape == (3,)


def bad(place, value):
    changed = X.copy()
    changed[place] = value
    return changed


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        ((bad((3, 1), np.nan), Y), "NaN in row 3, feature 1"),
        ((X, Y[:-1]), "y has 59 entries for 60 rows"),
        ((X, X), "y must have one dimension"),
        ((X, np.full(60, "low")), "y is text, and numbers in the blocks before"),
        ((X,), "y is missing, and numbers in the blocks before"),
        ((X, Y, QID), "qid is numbers, and missing in the blocks before"),
        ((X[:, :2], Y), "X has 2 features, though 3 are expected"),
        ((X, Y, None, -np.ones(60)), r"sample_weight\[0\] = -1.0 is negative"),
        ((X,) * 7, "a tuple of 7 elements"),
        ((X[0], Y), "Expected 2D array"),
        (None, "yield a tuple"),
        ((sparse.csr_array(X), Y), "X is sparse, and dense in the blocks before"),
        ([X, Y], "yield a tuple"),
    ],
)
def test_an_error_names_the_block(second, complaint):
    rows = RowBlocks(lambda: iter([(X, Y), second]))
    with pytest.raises(PairrankError, match=f"block 1 of <lambda>: .*{complaint}"):
        RankSVM().fit(rows)


def test_an_error_of_the_function_itself_is_raised_as_it_is():
    def blocks():
        yield X, Y
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone") as caught:
        all_rows(RowBlocks(blocks))
    assert caught.value.__notes__ == ["while block 1 of blocks was read"]


def test_a_function_replaces_features():
    rows = cut([20], X, Y).map(lambda part: part[:, :2] * 2)
    assert np.array_equal(joined(rows), X[:, :2] * 2)
    assert np.array_equal(rows.labels().y, Y)


@pytest.mark.parametrize(
    "use",
    [
        lambda rows: make_pipeline(StandardScaler(), RankSVM()).fit(rows),
        lambda rows: make_pipeline(StandardScaler(), RankSVM()).fit(X, Y).predict(rows),
        lambda rows: cross_val_score(RankSVM(), rows),
        lambda rows: GridSearchCV(RankSVM(), {"C": [1.0, 2.0]}).fit(rows),
        np.asarray,
    ],
    ids=["fit", "predict", "cross_val_score", "search", "asarray"],
)
def test_scikit_learn_says_how_to_prepare_blocks(use):
    with pytest.raises(InputTypeError, match=r"not an array: .* \.map\(function\) or \.standard"):
        use(cut([20], X, Y))


def test_a_pipeline_of_a_ranker_alone_takes_blocks():
    rows = cut([20], X, Y)
    pipeline = make_pipeline(RankSVM()).fit(rows)
    assert np.array_equal(pipeline.predict(rows), RankSVM().fit(rows).predict(rows))


@pytest.mark.parametrize("matrix", [np.asarray, sparse.csr_array])
def test_blocks_may_reuse_the_memory_of_the_block_before(matrix):
    parts = [np.random.default_rng(number).normal(size=(50, 3)) for number in range(6)]
    buffer, y = matrix(np.ones((50, 3))), np.arange(50) % 3

    def blocks():
        for part in parts:
            if sparse.issparse(buffer):
                buffer.data[:] = part.ravel()
            else:
                buffer[:] = part
            yield buffer, y

    found = RankSVM(tol=1e-8).fit(RowBlocks(blocks))
    wanted = RankSVM(tol=1e-8).fit(np.vstack(parts), np.tile(y, 6))
    np.testing.assert_allclose(found.coef_, wanted.coef_, atol=1e-5 * abs(wanted.coef_).max())


def test_blocks_may_be_one_array_again_and_again():
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 3
    twice = RankSVM().fit(RowBlocks(lambda: iter([(X, y), (X, y)])))
    whole = RankSVM().fit(np.vstack([X, X]), np.tile(y, 2))
    assert np.abs(twice.coef_ - whole.coef_).max() <= 1e-4 * np.abs(whole.coef_).max()


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
