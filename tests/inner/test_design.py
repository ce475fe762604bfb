"""Products and scores depend on the row alone, to the bit: not on its place or its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from pairrank.design import Design
from pairrank.kernels import Kernel
from pairrank.kernels.columns import KernelColumns
from pairrank.objective.pair_objective import KernelDesign

FORMS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "CSR": sparse.csr_array,
}
DTYPES = (np.float64, np.float32)
N_FEATURES = 5


def rows_of(n_rows, n_features=N_FEATURES, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features)).astype(dtype)


def lane_by_lane(row, w):
    """Add up a product in eight lanes, then the lanes in pairs: the order that the bits rest on."""
    lanes = np.zeros(8)
    for j in range(row.size):
        lanes[j % 8] += np.float64(row[j]) * w[j]
    while lanes.size > 1:
        lanes = lanes[: lanes.size // 2] + lanes[lanes.size // 2 :]
    return lanes[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(0, 3), (1, 1), (7, 3), (8, 5), (1029, 19), (2100, 2), (5, 2051)]
)
def test_products_of_whole_numbers_are_exact(shape, dtype, form, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, shape) * (rng.random(shape) < 0.7)
    w, values = rng.integers(-9, 10, shape[1]), rng.integers(-9, 10, shape[0])
    for entries in (1 << 20, 100):
        monkeypatch.setattr("pairrank.design._BLOCK_ENTRIES", entries)
        design = Design(FORMS[form](X.astype(dtype)))
        np.testing.assert_array_equal(design.scores(w.astype(float)), X @ w)
        np.testing.assert_array_equal(design.transposed(values.astype(float)), X.T @ values)
        squares = np.square(X).T @ np.abs(values)
        np.testing.assert_array_equal(design.squares_transposed(np.abs(values) * 1.0), squares)


@pytest.mark.parametrize("dtype", DTYPES)
def test_float32_rows_lose_nothing_that_float64_rows_keep(dtype):
    X = rows_of(3000, 3, dtype=dtype)
    w, values = np.array([1e3, -1.0, 1e-3]), rows_of(3000, 1, seed=1)[:, 0]
    double = X.astype(np.float64)
    np.testing.assert_array_equal(Design(X).scores(w), Design(double).scores(w))
    np.testing.assert_array_equal(Design(X).transposed(values), Design(double).transposed(values))


def test_rows_that_cannot_be_written_are_read():
    X = rows_of(20)
    X.flags.writeable = False
    w = np.arange(5.0)
    np.testing.assert_array_equal(Design(X).scores(w), Design(X.copy()).scores(w))


def test_what_overflows_is_not_finite_and_warns_of_nothing():
    design = Design(np.full((3, 2), 1e300))
    assert np.isinf(design.scores(np.full(2, 1e300))).all()
    assert not np.isfinite(design.transposed(np.array([1e300, 1e300, -1e300]))).any()
    assert np.isnan(design.transposed(np.full(3, np.nan))).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 150), st.sampled_from(DTYPES), st.data())
def test_a_score_depends_on_its_row_alone(seed, n_rows, dtype, data):
    n_features = data.draw(st.integers(1, 40))
    X = rows_of(n_rows, n_features, seed, dtype)
    w = rows_of(n_features, 1, seed)[:, 0]
    chosen = np.random.default_rng(seed).integers(0, n_rows, data.draw(st.integers(1, 60)))
    form = FORMS[data.draw(st.sampled_from(sorted(FORMS)))]
    whole = Design(form(X)).scores(w)
    np.testing.assert_array_equal(Design(form(X)[chosen]).scores(w), whole[chosen])
    np.testing.assert_array_equal(Design(form(X[chosen])).scores(w), whole[chosen])


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_kernel_is_symmetric_and_one_where_rows_are_equal(kernel, form):
    X = np.where(rows_of(60, 9) > 0.3, rows_of(60, 9), 0.0) * 1e3
    values = KernelColumns(Kernel(kernel), 1e-6, form(X))(form(X))
    if kernel == "rbf":
        np.testing.assert_array_equal(values.diagonal(), 1.0)
    if form is np.asarray:
        np.testing.assert_array_equal(values, values.T)


@pytest.mark.parametrize("n_rows", [0, 1, 64, 65, 200])
def test_a_callable_always_sees_tiles_of_one_size(n_rows):
    seen = []

    def kernel(X, Y):
        seen.append(X.shape[0])
        return X @ Y.T

    X = rows_of(n_rows)
    values = KernelColumns(Kernel(kernel), None, rows_of(10, seed=1))(X)
    assert values.shape == (n_rows, 10)
    assert set(seen) <= {64}
    np.testing.assert_allclose(values, X @ rows_of(10, seed=1).T, atol=1e-12)


def test_a_kernel_matrix_is_multiplied_row_by_row():
    K = rows_of(30, 30)
    K = K @ K.T
    a = rows_of(30, 1, seed=1)[:, 0]
    expected = [lane_by_lane(row, a) for row in K]
    np.testing.assert_array_equal(KernelDesign(K).scores(a), expected)
    for form in (sparse.csr_array, aslinearoperator):
        np.testing.assert_allclose(KernelDesign(form(K)).scores(a), expected, rtol=1e-10)
