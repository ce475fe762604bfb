"""Kernel features: their inner products are the kernel's values, or an error says why not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from kernel_definitions import KERNELS, rows_of
from pairrank.kernels import Kernel
from pairrank.kernels import kernel as kernel_module
from pairrank.kernels.columns import KernelColumns

pytestmark = pytest.mark.numeric


def test_gamma_follows_scikit_learn():
    X = 3.0 * rows_of(50) + 1.0
    X[np.abs(X) < 1.0] = 0.0
    assert Kernel("rbf").fit(X).gamma_ == 0.25
    scale = SVC(gamma="scale").fit(X, np.arange(50) % 2)._gamma
    for form in (X, sparse.csr_array(X), X.astype(np.float32)):
        assert Kernel("rbf", gamma="scale").fit(form).gamma_ == pytest.approx(scale, rel=1e-6)
    assert Kernel("rbf", gamma="scale").fit(np.ones((5, 3))).gamma_ == 1.0


@pytest.mark.parametrize("name", KERNELS)
def test_blocks_change_nothing(name, monkeypatch):
    X = rows_of(101)
    features = Kernel(**KERNELS[name][0], method="nystroem", n_components=20).fit(X)
    whole = features.transform(X)
    monkeypatch.setattr(kernel_module, "_BLOCK_ENTRIES", 140)
    np.testing.assert_allclose(features.transform(X), whole, rtol=1e-9, atol=1e-9)


def test_a_dense_row_far_from_all_others_has_an_rbf_kernel_of_zero_with_them():
    X = rows_of(6)
    X[4, 1] = 1e200
    values = KernelColumns(Kernel("rbf"), 0.25, X)(X)
    np.testing.assert_array_equal(values[4], np.arange(6) == 4)
