"""Kernel features: their inner products are the kernel's values, or an error says why not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from kernel_definitions import KERNELS, NAMED, assert_gram, rows_of
from pairrank.exceptions import PairrankError
from pairrank.kernels import Kernel, landmarks
from pairrank.kernels import kernel as kernel_module
from pairrank.kernels.columns import KernelColumns
from pairrank.kernels.landmarks import spectrum_of

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize(
    ("how", "n_components", "n_rows", "expected"),
    [
        ("auto", None, landmarks.EXACT_UP_TO, ("exact", landmarks.EXACT_UP_TO)),
        ("auto", None, landmarks.EXACT_UP_TO + 1, ("nystroem", landmarks.DEFAULT_COMPONENTS)),
        ("auto", 50, 50, ("exact", 50)),
        ("auto", 50, 51, ("nystroem", 50)),
        ("auto", 3000, 5000, ("nystroem", 3000)),
        ("nystroem", None, 30, ("nystroem", 30)),
        ("nystroem", 30, 30, ("nystroem", 30)),
        ("exact", None, 10_000, ("exact", 10_000)),
    ],
)
def test_the_rule_for_landmarks(how, n_components, n_rows, expected):
    assert landmarks.plan_landmarks(how, n_components, n_rows) == expected


def test_gamma_follows_scikit_learn():
    X = 3.0 * rows_of(50) + 1.0
    X[np.abs(X) < 1.0] = 0.0
    assert Kernel("rbf").fit(X).gamma_ == 0.25
    scale = SVC(gamma="scale").fit(X, np.arange(50) % 2)._gamma
    for form in (X, sparse.csr_array(X), X.astype(np.float32)):
        assert Kernel("rbf", gamma="scale").fit(form).gamma_ == pytest.approx(scale, rel=1e-6)
    assert Kernel("rbf", gamma="scale").fit(np.ones((5, 3))).gamma_ == 1.0


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("how", ["exact", "nystroem"])
def test_sparse_and_dense_rows_agree(name, how, monkeypatch):
    monkeypatch.setattr(kernel_module, "_BLOCK_ENTRIES", 300)
    X = np.where(np.random.default_rng(2).random((80, 6)) < 0.6, 0.0, rows_of(80, 6))
    dense = Kernel(**KERNELS[name][0], method=how).fit(X)
    thin = Kernel(**KERNELS[name][0], method=how).fit(sparse.csr_array(X))
    expected = dense.transform(X) @ dense.transform(X).T
    for features in (dense, thin):
        for form in (X, sparse.csr_array(X), sparse.csr_matrix(X)):
            assert isinstance(features.transform(form), np.ndarray)
            assert_gram(features.transform(form), features.transform(X), expected)


@pytest.mark.parametrize("name", KERNELS)
def test_blocks_change_nothing(name, monkeypatch):
    X = rows_of(101)
    features = Kernel(**KERNELS[name][0], method="nystroem", n_components=20).fit(X)
    whole = features.transform(X)
    monkeypatch.setattr(kernel_module, "_BLOCK_ENTRIES", 140)
    np.testing.assert_allclose(features.transform(X), whole, rtol=1e-9, atol=1e-9)


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
