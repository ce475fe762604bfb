"""Products and scores depend on the row alone, to the bit: not on its place or its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pairrank.design import Design, KernelDesign

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
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1029, 19), (5, 2051)])
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


def test_a_kernel_matrix_is_multiplied_row_by_row():
    K = rows_of(30, 30)
    K = K @ K.T
    a = rows_of(30, 1, seed=1)[:, 0]
    expected = [lane_by_lane(row, a) for row in K]
    np.testing.assert_array_equal(KernelDesign(K).scores(a), expected)
    found = KernelDesign(sparse.csr_array(K)).scores(a)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
