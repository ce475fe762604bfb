"""What kernels refuse: wrong parameters, matrices that are no kernel's, values that overflow."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.exceptions import PairrankError
from pairrank.kernels import Kernel
from pairrank.kernels import kernel as kernel_module
from pairrank.kernels.columns import KernelColumns
from pairrank.kernels.landmarks import spectrum_of


def rbf(X, Y, gamma=0.3):
    return np.exp(-gamma * np.square(X[:, None, :] - Y[None, :, :]).sum(axis=2))


def rows_of(n_rows, n_features=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def test_what_lies_within_the_rounding_of_the_entries_is_dropped():
    assert spectrum_of(np.diag([1.0, 2e-6, 1e-6]), 1e-7).eigenvalues.tolist() == [1.0, 2e-6]


def test_a_dense_row_far_from_all_others_has_an_rbf_kernel_of_zero_with_them():
    X = rows_of(6)
    X[4, 1] = 1e200
    values = KernelColumns(Kernel("rbf"), 0.25, X)(X)
    np.testing.assert_array_equal(values[4], np.arange(6) == 4)


def test_a_row_that_overflows_later_is_named(monkeypatch):
    monkeypatch.setattr(kernel_module, "_BLOCK_ENTRIES", 60)
    features = Kernel("poly").fit(rows_of(10))
    X = rows_of(30)
    X[23] = 1e200
    with pytest.raises(PairrankError, match="kernel of row 23 "):
        features.transform(X)
    with pytest.raises(PairrankError, match="kernel of row 23 "):
        features.scores(X, np.ones(features.n_components_))
